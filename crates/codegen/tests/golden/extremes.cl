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

DEV void store_i64(GLB i64 *p, i64 x) { *p = x; }

DEV b8 lt_f64(f64 a, f64 b) { return (b8)(a < b); }

DEV f64 mul_f64(f64 a, f64 b) { return a * b; }

DEV b8 isnan_f64(f64 a) { return (b8)(a != a); }

#undef ix
#define ix i32
DEV f64 k74b072c8361eb8b8_at(GLB const f64 * restrict pi0, const ix si0_0, const ix n0, const ix n1, const ix d0, const ix d1) {
    const f64 v0 = load_f64(pi0 + d0 * si0_0 + d1);
    return v0;
}
KERNEL(k74b072c8361eb8b8, 128)(GLB const f64 * restrict pi0, const i64 oi0, const ix si0_0, GLB i64 * restrict po0, const i64 oo0, const ix so0_0, const ix n0, const ix n1, const i64 items, const i64 total, const i64 part, const i64 parts, GLB f64 *scratch0, GLB i64 *scratch1) {
    pi0 += oi0;
    po0 += oo0;
    EACH_X(item, (ix)items) {
        ix rest = item;
        i64 at = (i64)(rest % (ix)parts) * part;
        rest /= (ix)parts;
        const i64 end = total - at < part ? total : at + part;
        const ix d0 = rest;
        rest = (ix)at;
        ix d1 = rest;
        f64 best = k74b072c8361eb8b8_at(pi0, si0_0, n0, n1, d0, d1);
        i64 place = at;
        for (at++; at < end; at++) {
            d1++;
            const f64 x = k74b072c8361eb8b8_at(pi0, si0_0, n0, n1, d0, d1);
            if (!isnan_f64(best) && (isnan_f64(x) || lt_f64(x, best))) {
                best = x;
                place = at;
            }
        }
        scratch0[item] = best;
        scratch1[item] = place;
    }
}

#undef ix
#define ix i32
KERNEL(ka70c9d1b3f093ef0, 128)(GLB i64 * restrict po0, const i64 oo0, const ix so0_0, const ix n0, const i64 items, const i64 parts, GLB f64 *scratch0, GLB i64 *scratch1) {
    po0 += oo0;
    EACH_X(item, (ix)items) {
        ix rest = item;
        const ix d0 = rest;
        const i64 from = (i64)item * parts;
        f64 best = (f64)0;
        i64 place = 0;
        for (i64 i = 0; i < parts; i++) {
            const f64 x = scratch0[from + i];
            if (i == 0 || (!isnan_f64(best) && (isnan_f64(x) || lt_f64(x, best)))) {
                best = x;
                place = scratch1[from + i];
            }
        }
        store_i64(po0 + d0 * so0_0, place);
    }
}

#undef ix
#define ix i32
DEV f64 k34283a117dc335c3_at(GLB const f64 * restrict pi0, const ix si0_0, const ix n0, const ix n1, const ix d0, const ix d1) {
    const f64 v0 = load_f64(pi0 + d0 * si0_0 + d1);
    return v0;
}
KERNEL(k34283a117dc335c3, 128)(GLB const f64 * restrict pi0, const i64 oi0, const ix si0_0, GLB f64 * restrict po0, const i64 oo0, const ix so0_0, const ix n0, const ix n1, const i64 items) {
    pi0 += oi0;
    po0 += oo0;
    EACH_X(item, (ix)items) {
        ix rest = item;
        const ix d0 = rest;
        f64 sum = (f64)0;
        for (ix d1 = 0; d1 < n1; d1++) {
            const f64 x = k34283a117dc335c3_at(pi0, si0_0, n0, n1, d0, d1);
            sum = d1 == 0 ? x : mul_f64(sum, x);
            store_f64(po0 + d0 * so0_0 + d1, sum);
        }
    }
}
