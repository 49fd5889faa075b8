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

DEV void store_i32(GLB i32 *p, i32 x) { *p = x; }

DEV f64 div_f64(f64 a, f64 b) { return a / b; }

DEV f64 sqrt_f64(f64 a) { return root_f64(a); }

DEV f64 floor_f64(f64 a) { return floor_(a); }

DEV f64 max_f64(f64 a, f64 b) { return (a > b || a != a) ? a : b; }

DEV i32 whole32(f64 x) {
    return x > -2147483649.0 && x < 2147483648.0 ? (i32)x : (i32)((u32)1 << 31);
}

DEV i32 f64_to_i32(f64 x) { return (i32)whole32(x); }

DEV u32 class_f64(f64 x) { return x - x == (f64)0 ? 0u : x != x ? 1u : 2u; }

DEV u32 met_one(u32 a, u32 result, u32 infinite) {
    if (a & 1u) return 0u;
    if (result & 1u) return 8u;
    return (result & 2u) && !(a & 2u) ? infinite : 0u;
}

DEV u32 met_div(u32 a, u32 b, u32 result, b8 by_zero) {
    if ((a | b) & 1u) return 0u;
    const u32 pole = by_zero && (result & 2u) && !((a | b) & 2u) ? 1u : 0u;
    return by_zero && !(result & 1u) ? pole : pole | met_one(a | b, result, 2u);
}

// What a conversion to an integer meets: the processor has those of 32 and of 64 bits.
DEV u32 met_narrow(f64 x) { return trunc_(x) >= -2147483648.0 && trunc_(x) < 2147483648.0 ? 0u : 8u; }

#undef ix
#define ix i32
DEV f64 k477107e41181dd29_at(GLB const f64 * restrict pi0, GLB const f64 * restrict pi1, const ix n0, const ix d0) {
    const f64 v0 = load_f64(pi0 + d0);
    const f64 v1 = load_f64(pi1 + d0);
    const f64 v2 = div_f64(v0, v1);
    const f64 v3 = sqrt_f64(v2);
    return v3;
}
KERNEL(k477107e41181dd29, 128)(GLB const f64 * restrict pi0, const i64 oi0, GLB const f64 * restrict pi1, const i64 oi1, GLB f64 * restrict po0, const i64 oo0, const ix n0, const i64 items, const i64 total, const i64 part, const i64 parts, GLB f64 *scratch0) {
    pi0 += oi0;
    pi1 += oi1;
    po0 += oo0;
    EACH_X(item, (ix)items) {
        ix rest = item;
        i64 at = (i64)(rest % (ix)parts) * part;
        rest /= (ix)parts;
        const i64 end = total - at < part ? total : at + part;
        rest = (ix)at;
        ix d0 = rest;
        f64 sum = k477107e41181dd29_at(pi0, pi1, n0, d0);
        for (at++; at < end; at++) {
            d0++;
            sum = max_f64(sum, k477107e41181dd29_at(pi0, pi1, n0, d0));
        }
        scratch0[item] = sum;
    }
}

#undef ix
#define ix i32
DEV f64 k1660fcdbf479ebf7_at(GLB const f64 * restrict pi0, const ix n0, const ix d0) {
    const f64 v0 = load_f64(pi0 + d0);
    return v0;
}
KERNEL(k1660fcdbf479ebf7, 128)(GLB const f64 * restrict pi0, const i64 oi0, GLB f64 * restrict po0, const i64 oo0, const ix n0, const i64 items, const i64 piece) {
    pi0 += oi0;
    po0 += oo0;
    EACH_X(item, (ix)items) {
        ix rest = item;
        f64 sum = (f64)0;
        b8 has = 0;
        for (ix d0 = 0; d0 < n0; d0++)
        {
            const f64 x = k1660fcdbf479ebf7_at(pi0, n0, d0);
            sum = has ? max_f64(sum, x) : x;
            has = 1;
        }
        if (has) store_f64(po0, sum);
    }
}

#undef ix
#define ix i32
KERNEL(k03d8005537b9ab92, 128)(GLB const f64 * restrict pi0, const i64 oi0, GLB const f64 * restrict pi1, const i64 oi1, GLB i32 * restrict po0, const i64 oo0, const ix n0, GLB u32 *met) {
    pi0 += oi0;
    pi1 += oi1;
    po0 += oo0;
    u32 bad = 0u;
    EACH_X(d0, n0) {
        const f64 v0 = load_f64(pi0 + d0);
        const f64 v1 = load_f64(pi1 + d0);
        const f64 v2 = div_f64(v0, v1);
        const f64 v3 = sqrt_f64(v2);
        const f64 v4 = floor_f64(v3);
        const i32 v5 = f64_to_i32((f64)v4);
        store_i32(po0 + d0, v5);
        bad |= class_f64(v3);
        bad |= class_f64(v4);
        bad |= met_narrow((f64)v4);
    }
    if (bad) OR_INTO(met, bad);
}

#undef ix
#define ix i32
KERNEL(k8849744cf97a9779, 128)(GLB const f64 * restrict pi0, const i64 oi0, GLB const f64 * restrict pi1, const i64 oi1, const ix n0, GLB u32 *met) {
    pi0 += oi0;
    pi1 += oi1;
    u32 bad = 0u;
    EACH_X(d0, n0) {
        const f64 v0 = load_f64(pi0 + d0);
        const f64 v1 = load_f64(pi1 + d0);
        const f64 v2 = div_f64(v0, v1);
        const f64 v3 = sqrt_f64(v2);
        bad |= class_f64(v3);
    }
    if (bad) OR_INTO(met, bad);
}

#undef ix
#define ix i32
KERNEL(kbd4c4ed7c6a452ab, 128)(GLB const f64 * restrict pi0, const i64 oi0, GLB const f64 * restrict pi1, const i64 oi1, const ix n0, GLB u32 *met) {
    pi0 += oi0;
    pi1 += oi1;
    if (met[0] == 0u) return;
    u32 met2 = 0u;
    u32 met3 = 0u;
    u32 met4 = 0u;
    u32 met5 = 0u;
    EACH_X(d0, n0) {
        const f64 v0 = load_f64(pi0 + d0);
        const f64 v1 = load_f64(pi1 + d0);
        const f64 v2 = div_f64(v0, v1);
        const f64 v3 = sqrt_f64(v2);
        const f64 v4 = floor_f64(v3);
        const i32 v5 = f64_to_i32((f64)v4);
        met2 |= met_div(class_f64(v0), class_f64(v1), class_f64(v2), (b8)(v1 == 0));
        met3 |= met_one(class_f64(v2), class_f64(v3), 2u);
        met4 |= met_one(class_f64(v3), class_f64(v4), 2u);
        met5 |= met_narrow((f64)v4);
    }
    if (met2) OR_INTO(met + 3, met2);
    if (met3) OR_INTO(met + 4, met3);
    if (met4) OR_INTO(met + 5, met4);
    if (met5) OR_INTO(met + 6, met5);
}
