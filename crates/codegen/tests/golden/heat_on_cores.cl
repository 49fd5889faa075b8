// OpenCL C 1.2: the words of the common text.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
typedef uchar b8;
typedef char i8;
typedef short i16;
typedef int i32;
typedef long i64;
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef float f32;
typedef double f64;
typedef float f16;
typedef struct { f32 re, im; } c64;
typedef struct { f64 re, im; } c128;
#define DEV static inline
#define GLB __global
#define LOC __local
#define CONSTANT __constant
#define KERNEL(name, group) __kernel __attribute__((reqd_work_group_size(group, 1, 1))) void name
#define LOCAL_ID ((u32)get_local_id(0))
#define LOCAL_SIZE ((u32)get_local_size(0))
#define GROUP_X ((i64)get_group_id(0))
#define SYNC barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
// The grid has exactly as many groups as there are rows, so these are no loops.
#define EACH_Z(i, n) const ix i = (ix)get_group_id(2);
#define EACH_Y(i, n) const ix i = (ix)get_group_id(1);
#define EACH_X(i, n) const ix i = (ix)get_global_id(0); if (i < (n))
#define OR_INTO(p, x) atomic_or(p, x)
#define mulhi_u32 mul_hi
#define mulhi_u64 mul_hi
#define u64_of as_ulong
#define f64_of as_double
#define u32_of as_uint
#define f32_of as_float
#define fma_f32 fma
#define fma_f64 fma
#define root_f32 sqrt
#define root_f64 sqrt
#define fabs_f32 fabs
#define fabs_f64 fabs
// PoCL makes anything of these where it knows when it compiles that they are asked for something that is no number.
#define of_number(f, x) ((x) == (x) ? f(x) : (x))
#define floor_(x) of_number(floor, x)
#define ceil_(x) of_number(ceil, x)
#define trunc_(x) of_number(trunc, x)
#define rint_(x) of_number(rint, x)
#define sign_from copysign
// Numbers in two parts, and what argument reductions give.
typedef struct { f64 hi, lo; } pair;
typedef struct { f64 rounded, hi, lo; } reduced;
typedef struct { u64 quadrant; f64 hi, lo; } turned;

DEV f64 load_f64(GLB const f64 *p) { return *p; }

DEV void store_f64(GLB f64 *p, f64 x) { *p = x; }

DEV f64 add_f64(f64 a, f64 b) { return a + b; }

DEV f64 sub_f64(f64 a, f64 b) { return a - b; }

DEV f64 mul_f64(f64 a, f64 b) { return a * b; }

DEV f64 abs_f64(f64 a) { return fabs_f64(a); }

DEV u32 class_f64(f64 x) { return x - x == (f64)0 ? 0u : x != x ? 1u : 2u; }

DEV u32 met_one(u32 a, u32 result, u32 infinite) {
    if (a & 1u) return 0u;
    if (result & 1u) return 8u;
    return (result & 2u) && !(a & 2u) ? infinite : 0u;
}

DEV u32 met_two(u32 a, u32 b, u32 result, u32 infinite) { return met_one(a | b, result, infinite); }

#undef ix
#define ix i32
DEV f64 kb6e95f072a78c4b8_at(GLB const f64 * restrict pi0, const ix si0_0, GLB const f64 * restrict pi1, const ix si1_0, GLB const f64 * restrict pi2, const ix si2_0, GLB const f64 * restrict pi3, const ix si3_0, GLB const f64 * restrict pi4, const ix si4_0, GLB f64 * restrict po1, const ix so1_0, const ix n0, const ix n1, const ix d0, const ix d1) {
    const f64 v0 = load_f64(pi0 + d0 * si0_0 + d1);
    const f64 v1 = load_f64(pi1 + d0 * si1_0 + d1);
    const f64 v2 = load_f64(pi2 + d0 * si2_0 + d1);
    const f64 v3 = load_f64(pi3 + d0 * si3_0 + d1);
    const f64 v4 = load_f64(pi4 + d0 * si4_0 + d1);
    const f64 v5 = add_f64(v0, v1);
    const f64 v6 = add_f64(v5, v2);
    const f64 v7 = add_f64(v6, v3);
    const f64 v8 = add_f64(v7, v4);
    const f64 v9 = f64_of((u64)0x3fc999999999999a);
    const f64 v10 = mul_f64(v9, v8);
    const f64 v11 = sub_f64(v10, v0);
    const f64 v12 = abs_f64(v11);
    store_f64(po1 + d0 * so1_0 + d1, v10);
    return v12;
}
DEV f64 kb6e95f072a78c4b8_leaf(GLB const f64 * restrict pi0, const ix si0_0, GLB const f64 * restrict pi1, const ix si1_0, GLB const f64 * restrict pi2, const ix si2_0, GLB const f64 * restrict pi3, const ix si3_0, GLB const f64 * restrict pi4, const ix si4_0, GLB f64 * restrict po1, const ix so1_0, const ix n0, const ix n1, const i64 start, const i32 count) {
    ix rest = (ix)start;
    ix d1 = rest % n1;
    rest /= n1;
    ix d0 = rest;
    f64 v[128];
    for (i32 done = 0; done < count;) {
        const i32 left = count - done;
        const i32 row = n1 - d1 < left ? (i32)(n1 - d1) : left;
        for (i32 k = 0; k < row; k++) v[done + k] = kb6e95f072a78c4b8_at(pi0, si0_0, pi1, si1_0, pi2, si2_0, pi3, si3_0, pi4, si4_0, po1, so1_0, n0, n1, d0, d1 + (ix)k);
        done += row;
        d1 += row;
        if (d1 == n1) { d1 = 0; d0++; }
    }
    f64 sum = (f64)-0.0;
    i32 i = 0;
    if (count >= 8) {
        f64 r0 = v[i + 0];
        f64 r1 = v[i + 1];
        f64 r2 = v[i + 2];
        f64 r3 = v[i + 3];
        f64 r4 = v[i + 4];
        f64 r5 = v[i + 5];
        f64 r6 = v[i + 6];
        f64 r7 = v[i + 7];
        for (i = 8; i + 8 <= count; i += 8) {
            r0 = add_f64(r0, v[i + 0]);
            r1 = add_f64(r1, v[i + 1]);
            r2 = add_f64(r2, v[i + 2]);
            r3 = add_f64(r3, v[i + 3]);
            r4 = add_f64(r4, v[i + 4]);
            r5 = add_f64(r5, v[i + 5]);
            r6 = add_f64(r6, v[i + 6]);
            r7 = add_f64(r7, v[i + 7]);
        }
        sum = add_f64(add_f64(add_f64(r0, r1), add_f64(r2, r3)), add_f64(add_f64(r4, r5), add_f64(r6, r7)));
    }
    for (; i < count; i++) sum = add_f64(sum, v[i + 0]);
    return sum;
}
DEV f64 kb6e95f072a78c4b8_tree(GLB const f64 * restrict pi0, const ix si0_0, GLB const f64 * restrict pi1, const ix si1_0, GLB const f64 * restrict pi2, const ix si2_0, GLB const f64 * restrict pi3, const ix si3_0, GLB const f64 * restrict pi4, const ix si4_0, GLB f64 * restrict po1, const ix so1_0, const ix n0, const ix n1, i64 start, i64 count) {
    f64 left[12];
    i64 right[12];
    i32 depth = 0;
    for (;;) {
        while (count > 128) {
            const i64 less = count / 2 - count / 2 % 8;
            right[depth++] = count - less;
            count = less;
        }
        f64 sum = kb6e95f072a78c4b8_leaf(pi0, si0_0, pi1, si1_0, pi2, si2_0, pi3, si3_0, pi4, si4_0, po1, so1_0, n0, n1, start, (i32)count);
        start += count;
        for (; depth > 0 && right[depth - 1] == 0; depth--) sum = add_f64(left[depth - 1], sum);
        if (depth == 0) return sum;
        left[depth - 1] = sum;
        count = right[depth - 1];
        right[depth - 1] = 0;
    }
}
KERNEL(kb6e95f072a78c4b8, 128)(GLB const f64 * restrict pi0, const i64 oi0, const ix si0_0, GLB const f64 * restrict pi1, const i64 oi1, const ix si1_0, GLB const f64 * restrict pi2, const i64 oi2, const ix si2_0, GLB const f64 * restrict pi3, const i64 oi3, const ix si3_0, GLB const f64 * restrict pi4, const i64 oi4, const ix si4_0, GLB f64 * restrict po0, const i64 oo0, GLB f64 * restrict po1, const i64 oo1, const ix so1_0, const ix n0, const ix n1, const i64 items, const i64 run, const i64 piece, const i64 pieces, const i64 parts, GLB f64 *scratch0) {
    pi0 += oi0;
    pi1 += oi1;
    pi2 += oi2;
    pi3 += oi3;
    pi4 += oi4;
    po0 += oo0;
    po1 += oo1;
    EACH_X(item, (ix)items) {
        ix rest = item;
        const ix number = rest % (ix)parts;
        rest /= (ix)parts;
        i64 start = (i64)(rest % (ix)pieces) * piece;
        rest /= (ix)pieces;
        i64 count = run - start < piece ? run - start : piece;
        i32 depth = 0;
        while (count >> depth > 2048) depth++;
        if (number >> depth == 0) {
            for (i32 k = 0; k < depth; k++) {
                const i64 less = count / 2 - count / 2 % 8;
                if (number >> k & 1) {
                    start += less;
                    count -= less;
                } else count = less;
            }
            scratch0[item] = kb6e95f072a78c4b8_tree(pi0, si0_0, pi1, si1_0, pi2, si2_0, pi3, si3_0, pi4, si4_0, po1, so1_0, n0, n1, start, count);
        }
    }
}

#undef ix
#define ix i32
KERNEL(kfd5ac2cd0c4823d5, 128)(GLB f64 * restrict po0, const i64 oo0, const i64 items, const i64 outers, const i64 run, const i64 piece, const i64 pieces, const i64 parts, const f64 initial, GLB f64 *scratch0, GLB u32 *met, const i64 slot) {
    po0 += oo0;
    const i64 item = GROUP_X;
    f64 sum = initial;
    for (i64 at = 0; at < outers * pieces; at++) {
        GLB f64 *s = scratch0 + (item * outers * pieces + at) * parts;
        const i64 start = at % pieces * piece;
        const i64 count = run - start < piece ? run - start : piece;
        i32 depth = 0;
        while (count >> depth > 2048) depth++;
        for (u32 w = (u32)1 << depth >> 1; w > 0; w >>= 1) {
            for (u32 j = LOCAL_ID; j < w; j += LOCAL_SIZE) s[j] = add_f64(s[j], s[j + w]);
            SYNC;
        }
        if (LOCAL_ID == 0) sum = add_f64(sum, s[0]);
    }
    if (LOCAL_ID == 0) {
        ix rest = (ix)item;
        store_f64(po0, sum);
        if (class_f64(sum)) { OR_INTO(met + slot, class_f64(sum)); OR_INTO(met, 1u); }
    }
}

#undef ix
#define ix i32
KERNEL(ka6460b5e95528bac, 128)(GLB const f64 * restrict pi0, const i64 oi0, const ix si0_0, GLB const f64 * restrict pi1, const i64 oi1, const ix si1_0, GLB const f64 * restrict pi2, const i64 oi2, const ix si2_0, GLB const f64 * restrict pi3, const i64 oi3, const ix si3_0, GLB const f64 * restrict pi4, const i64 oi4, const ix si4_0, const ix n0, const ix n1, GLB u32 *met) {
    pi0 += oi0;
    pi1 += oi1;
    pi2 += oi2;
    pi3 += oi3;
    pi4 += oi4;
    if (met[0] == 0u) return;
    u32 met5 = 0u;
    u32 met6 = 0u;
    u32 met7 = 0u;
    u32 met8 = 0u;
    u32 met10 = 0u;
    u32 met11 = 0u;
    u32 met12 = 0u;
    EACH_Y(d0, n0) EACH_X(part, n1 / 256 + 1) {
        const ix start = part * 256;
        const ix end = n1 - start < 256 ? n1 : start + 256;
        for (ix d1 = start; d1 < end; d1++) {
        const f64 v0 = load_f64(pi0 + d0 * si0_0 + d1);
        const f64 v1 = load_f64(pi1 + d0 * si1_0 + d1);
        const f64 v2 = load_f64(pi2 + d0 * si2_0 + d1);
        const f64 v3 = load_f64(pi3 + d0 * si3_0 + d1);
        const f64 v4 = load_f64(pi4 + d0 * si4_0 + d1);
        const f64 v5 = add_f64(v0, v1);
        const f64 v6 = add_f64(v5, v2);
        const f64 v7 = add_f64(v6, v3);
        const f64 v8 = add_f64(v7, v4);
        const f64 v9 = f64_of((u64)0x3fc999999999999a);
        const f64 v10 = mul_f64(v9, v8);
        const f64 v11 = sub_f64(v10, v0);
        const f64 v12 = abs_f64(v11);
        met5 |= met_two(class_f64(v0), class_f64(v1), class_f64(v5), 2u);
        met6 |= met_two(class_f64(v5), class_f64(v2), class_f64(v6), 2u);
        met7 |= met_two(class_f64(v6), class_f64(v3), class_f64(v7), 2u);
        met8 |= met_two(class_f64(v7), class_f64(v4), class_f64(v8), 2u);
        met10 |= met_two(class_f64(v9), class_f64(v8), class_f64(v10), 2u);
        met11 |= met_two(class_f64(v10), class_f64(v0), class_f64(v11), 2u);
        met12 |= met_one(class_f64(v11), class_f64(v12), 2u) | class_f64(v12) << 4;
        }
    }
    if (met5) OR_INTO(met + 6, met5);
    if (met6) OR_INTO(met + 7, met6);
    if (met7) OR_INTO(met + 8, met7);
    if (met8) OR_INTO(met + 9, met8);
    if (met10) OR_INTO(met + 11, met10);
    if (met11) OR_INTO(met + 12, met11);
    if (met12) OR_INTO(met + 13, met12);
}
