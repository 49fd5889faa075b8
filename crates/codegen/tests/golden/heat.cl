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

#undef ix
#define ix i32
DEV f64 ke7d20fb077be919f_at(GLB const f64 * restrict pi0, const ix si0_0, GLB const f64 * restrict pi1, const ix si1_0, GLB const f64 * restrict pi2, const ix si2_0, GLB const f64 * restrict pi3, const ix si3_0, GLB const f64 * restrict pi4, const ix si4_0, const ix n0, const ix n1, const ix d0, const ix d1) {
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
    return v12;
}
DEV f64 ke7d20fb077be919f_leaf(GLB const f64 * restrict pi0, const ix si0_0, GLB const f64 * restrict pi1, const ix si1_0, GLB const f64 * restrict pi2, const ix si2_0, GLB const f64 * restrict pi3, const ix si3_0, GLB const f64 * restrict pi4, const ix si4_0, const ix n0, const ix n1, const i64 start, const i32 count) {
    ix rest = (ix)start;
    ix d1 = rest % n1;
    rest /= n1;
    ix d0 = rest;
    if (d1 + count > n1) {
        f64 r[8];
        f64 sum = (f64)-0.0;
        const i32 whole = count < 8 ? 0 : count - count % 8;
        for (i32 i = 0; i < count; i++) {
            const f64 x = ke7d20fb077be919f_at(pi0, si0_0, pi1, si1_0, pi2, si2_0, pi3, si3_0, pi4, si4_0, n0, n1, d0, d1);
            if (++d1 == n1) { d1 = 0; d0++; }
            if (i == whole && whole > 0) sum = add_f64(add_f64(add_f64(r[0], r[1]), add_f64(r[2], r[3])), add_f64(add_f64(r[4], r[5]), add_f64(r[6], r[7])));
            if (i >= whole) sum = add_f64(sum, x);
            else r[i % 8] = i < 8 ? x : add_f64(r[i % 8], x);
        }
        return whole == count ? add_f64(add_f64(add_f64(r[0], r[1]), add_f64(r[2], r[3])), add_f64(add_f64(r[4], r[5]), add_f64(r[6], r[7]))) : sum;
    }
    f64 sum = (f64)-0.0;
    i32 i = 0;
    if (count >= 8) {
        f64 r0 = ke7d20fb077be919f_at(pi0, si0_0, pi1, si1_0, pi2, si2_0, pi3, si3_0, pi4, si4_0, n0, n1, d0, d1 + (ix)(i + 0));
        f64 r1 = ke7d20fb077be919f_at(pi0, si0_0, pi1, si1_0, pi2, si2_0, pi3, si3_0, pi4, si4_0, n0, n1, d0, d1 + (ix)(i + 1));
        f64 r2 = ke7d20fb077be919f_at(pi0, si0_0, pi1, si1_0, pi2, si2_0, pi3, si3_0, pi4, si4_0, n0, n1, d0, d1 + (ix)(i + 2));
        f64 r3 = ke7d20fb077be919f_at(pi0, si0_0, pi1, si1_0, pi2, si2_0, pi3, si3_0, pi4, si4_0, n0, n1, d0, d1 + (ix)(i + 3));
        f64 r4 = ke7d20fb077be919f_at(pi0, si0_0, pi1, si1_0, pi2, si2_0, pi3, si3_0, pi4, si4_0, n0, n1, d0, d1 + (ix)(i + 4));
        f64 r5 = ke7d20fb077be919f_at(pi0, si0_0, pi1, si1_0, pi2, si2_0, pi3, si3_0, pi4, si4_0, n0, n1, d0, d1 + (ix)(i + 5));
        f64 r6 = ke7d20fb077be919f_at(pi0, si0_0, pi1, si1_0, pi2, si2_0, pi3, si3_0, pi4, si4_0, n0, n1, d0, d1 + (ix)(i + 6));
        f64 r7 = ke7d20fb077be919f_at(pi0, si0_0, pi1, si1_0, pi2, si2_0, pi3, si3_0, pi4, si4_0, n0, n1, d0, d1 + (ix)(i + 7));
        for (i = 8; i + 8 <= count; i += 8) {
            r0 = add_f64(r0, ke7d20fb077be919f_at(pi0, si0_0, pi1, si1_0, pi2, si2_0, pi3, si3_0, pi4, si4_0, n0, n1, d0, d1 + (ix)(i + 0)));
            r1 = add_f64(r1, ke7d20fb077be919f_at(pi0, si0_0, pi1, si1_0, pi2, si2_0, pi3, si3_0, pi4, si4_0, n0, n1, d0, d1 + (ix)(i + 1)));
            r2 = add_f64(r2, ke7d20fb077be919f_at(pi0, si0_0, pi1, si1_0, pi2, si2_0, pi3, si3_0, pi4, si4_0, n0, n1, d0, d1 + (ix)(i + 2)));
            r3 = add_f64(r3, ke7d20fb077be919f_at(pi0, si0_0, pi1, si1_0, pi2, si2_0, pi3, si3_0, pi4, si4_0, n0, n1, d0, d1 + (ix)(i + 3)));
            r4 = add_f64(r4, ke7d20fb077be919f_at(pi0, si0_0, pi1, si1_0, pi2, si2_0, pi3, si3_0, pi4, si4_0, n0, n1, d0, d1 + (ix)(i + 4)));
            r5 = add_f64(r5, ke7d20fb077be919f_at(pi0, si0_0, pi1, si1_0, pi2, si2_0, pi3, si3_0, pi4, si4_0, n0, n1, d0, d1 + (ix)(i + 5)));
            r6 = add_f64(r6, ke7d20fb077be919f_at(pi0, si0_0, pi1, si1_0, pi2, si2_0, pi3, si3_0, pi4, si4_0, n0, n1, d0, d1 + (ix)(i + 6)));
            r7 = add_f64(r7, ke7d20fb077be919f_at(pi0, si0_0, pi1, si1_0, pi2, si2_0, pi3, si3_0, pi4, si4_0, n0, n1, d0, d1 + (ix)(i + 7)));
        }
        sum = add_f64(add_f64(add_f64(r0, r1), add_f64(r2, r3)), add_f64(add_f64(r4, r5), add_f64(r6, r7)));
    }
    for (; i < count; i++) sum = add_f64(sum, ke7d20fb077be919f_at(pi0, si0_0, pi1, si1_0, pi2, si2_0, pi3, si3_0, pi4, si4_0, n0, n1, d0, d1 + (ix)(i + 0)));
    return sum;
}
DEV f64 ke7d20fb077be919f_tree(GLB const f64 * restrict pi0, const ix si0_0, GLB const f64 * restrict pi1, const ix si1_0, GLB const f64 * restrict pi2, const ix si2_0, GLB const f64 * restrict pi3, const ix si3_0, GLB const f64 * restrict pi4, const ix si4_0, const ix n0, const ix n1, i64 start, i64 count) {
    f64 left[12];
    i64 right[12];
    i32 depth = 0;
    for (;;) {
        while (count > 128) {
            const i64 less = count / 2 - count / 2 % 8;
            right[depth++] = count - less;
            count = less;
        }
        f64 sum = ke7d20fb077be919f_leaf(pi0, si0_0, pi1, si1_0, pi2, si2_0, pi3, si3_0, pi4, si4_0, n0, n1, start, (i32)count);
        start += count;
        for (; depth > 0 && right[depth - 1] == 0; depth--) sum = add_f64(left[depth - 1], sum);
        if (depth == 0) return sum;
        left[depth - 1] = sum;
        count = right[depth - 1];
        right[depth - 1] = 0;
    }
}
KERNEL(ke7d20fb077be919f, 128)(GLB const f64 * restrict pi0, const i64 oi0, const ix si0_0, GLB const f64 * restrict pi1, const i64 oi1, const ix si1_0, GLB const f64 * restrict pi2, const i64 oi2, const ix si2_0, GLB const f64 * restrict pi3, const i64 oi3, const ix si3_0, GLB const f64 * restrict pi4, const i64 oi4, const ix si4_0, GLB f64 * restrict po0, const i64 oo0, const ix n0, const ix n1, const i64 items, const i64 run, const i64 piece, const i64 pieces, const i64 parts, GLB f64 *scratch0) {
    pi0 += oi0;
    pi1 += oi1;
    pi2 += oi2;
    pi3 += oi3;
    pi4 += oi4;
    po0 += oo0;
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
            scratch0[item] = ke7d20fb077be919f_tree(pi0, si0_0, pi1, si1_0, pi2, si2_0, pi3, si3_0, pi4, si4_0, n0, n1, start, count);
        }
    }
}

#undef ix
#define ix i32
KERNEL(k4e4873a733914ba5, 128)(GLB f64 * restrict po0, const i64 oo0, const i64 items, const i64 outers, const i64 run, const i64 piece, const i64 pieces, const i64 parts, const f64 initial, GLB f64 *scratch0) {
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
    }
}

#undef ix
#define ix i32
KERNEL(k25908b1578b52615, 128)(GLB const f64 * restrict pi0, const i64 oi0, const ix si0_0, GLB const f64 * restrict pi1, const i64 oi1, const ix si1_0, GLB const f64 * restrict pi2, const i64 oi2, const ix si2_0, GLB const f64 * restrict pi3, const i64 oi3, const ix si3_0, GLB const f64 * restrict pi4, const i64 oi4, const ix si4_0, GLB f64 * restrict po0, const i64 oo0, const ix so0_0, const ix n0, const ix n1) {
    pi0 += oi0;
    pi1 += oi1;
    pi2 += oi2;
    pi3 += oi3;
    pi4 += oi4;
    po0 += oo0;
    EACH_Y(d0, n0) EACH_X(d1, n1) {
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
        store_f64(po0 + d0 * so0_0 + d1, v10);
    }
}
