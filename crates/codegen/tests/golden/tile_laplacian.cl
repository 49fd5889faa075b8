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

DEV void store_i64(GLB i64 *p, i64 x) { *p = x; }

DEV i64 near_i64(f64 x, f64 low, f64 end, i64 least, i64 most) {
    const f64 whole = rint_(x);
    if (whole != whole) return 0;
    return whole <= low ? least : whole >= end ? most : (i64)whole;
}

#undef ix
#define ix i32
#ifndef PLACES
#define PLACES 1
#endif
KERNEL(k54827294ada3de54, 128)(GLB const f64 * restrict pi0, const i64 oi0, GLB const i32 * restrict pi1, const i64 oi1, GLB const i32 * restrict pi2, const i64 oi2, GLB const f64 * restrict pi3, const i64 oi3, GLB const f64 * restrict pi4, const i64 oi4, GLB i64 * restrict po0, const i64 oo0, const i64 items, const i64 length, const i64 parts, const i64 rows, const i64 row, const i64 taps, const i64 points, const i64 read, const i64 written, const i64 brought) {
    pi0 += oi0;
    pi1 += oi1;
    pi2 += oi2;
    pi3 += oi3;
    pi4 += oi4;
    po0 += oo0;
    LOC f64 tile[2][4][168];
    const ix begin = (ix)GROUP_X * 128;
    const ix above = begin / (ix)parts, left = (begin - above * (ix)parts) * 4;
    const ix base = above * (ix)rows + (pi1[left] < 0 ? left : pi1[left]);
    GLB const f64 *from = pi0 + base;
    for (u32 at = LOCAL_ID; at < (u32)brought && (ix)at < (ix)read - base; at += LOCAL_SIZE) {
        tile[0][at % 4][at / 4] = load_f64(from + at);
        tile[1][at % 4][at / 4] = load_f64(from + 1 * read + at);
    }
    SYNC;
    for (u32 p = 0; p < PLACES; p++) {
        const ix item = begin + (ix)(LOCAL_ID * PLACES + p), row = 1;
        if (item >= (ix)items) break;
        const ix line = item / (ix)row, column = item - line * (ix)row;
        const ix outer = line / (ix)parts, first = (line - outer * (ix)parts) * 4;
        GLB const f64 *from = pi0 + outer * rows * row + column;
        GLB i64 *to = po0 + (outer * length + first) * row + column;
        const ix start = first + 4 <= (ix)length ? pi1[first] : -1;
        const ix near = outer * (ix)rows + start - base;
        if (start >= 0 && pi1[first + 1] == start + 1 && pi1[first + 2] == start + 2 && pi1[first + 3] == start + 3 && near >= 0 && near + (ix)taps + 3 <= (ix)brought) {
            f64 s0_0 = (f64)0;
            f64 s1_0 = (f64)0;
            f64 s2_0 = (f64)0;
            f64 s3_0 = (f64)0;
            f64 smooth0 = 0, smooth1 = 0, smooth2 = 0, smooth3 = 0;
            f64 derive0 = 0, derive1 = 0, derive2 = 0, derive3 = 0;
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (ix t = 0; t < (ix)taps + 3; t++) {
                smooth3 = smooth2;
                smooth2 = smooth1;
                smooth1 = smooth0;
                if (t < (ix)taps) smooth0 = pi3[t];
                derive3 = derive2;
                derive2 = derive1;
                derive1 = derive0;
                if (t < (ix)taps) derive0 = pi3[taps + t];
                const f64 v0 = tile[0][(u32)(near + t) % 4][(u32)(near + t) / 4];
                const f64 v1 = tile[1][(u32)(near + t) % 4][(u32)(near + t) / 4];
                if (t < (ix)taps) { s0_0 = fma_f64(derive0, v0, fma_f64(smooth0, v1, s0_0)); }
                if (t >= 1 && t < (ix)taps + 1) { s1_0 = fma_f64(derive1, v0, fma_f64(smooth1, v1, s1_0)); }
                if (t >= 2 && t < (ix)taps + 2) { s2_0 = fma_f64(derive2, v0, fma_f64(smooth2, v1, s2_0)); }
                if (t >= 3) { s3_0 = fma_f64(derive3, v0, fma_f64(smooth3, v1, s3_0)); }
            }
            store_i64(to + 0 * row, near_i64((f64)(s0_0), -9223372036854775808.0, 9223372036854775808.0, (i64)((u64)1 << 63), (i64)(~(u64)0 >> 1)));
            store_i64(to + 1 * row, near_i64((f64)(s1_0), -9223372036854775808.0, 9223372036854775808.0, (i64)((u64)1 << 63), (i64)(~(u64)0 >> 1)));
            store_i64(to + 2 * row, near_i64((f64)(s2_0), -9223372036854775808.0, 9223372036854775808.0, (i64)((u64)1 << 63), (i64)(~(u64)0 >> 1)));
            store_i64(to + 3 * row, near_i64((f64)(s3_0), -9223372036854775808.0, 9223372036854775808.0, (i64)((u64)1 << 63), (i64)(~(u64)0 >> 1)));
        } else
        for (ix at = first; at < first + 4 && at < (ix)length; at++) {
            const ix own = pi1[at];
            const i64 list = own < 0 ? -1 - (i64)own : 0;
            f64 s0 = (f64)0;
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (ix t = 0; t < (ix)taps; t++) {
                const i64 there = own < 0 ? pi2[at + t] : own + t;
                if (there >= 0) {
                    const f64 v0 = load_f64(from + there * row);
                    const f64 v1 = load_f64(from + 1 * read + there * row);
                    s0 = fma_f64(pi3[list * 2 * taps + taps + t], v0, fma_f64(pi3[list * 2 * taps + t], v1, s0));
                }
            }
            if (pi4[list * 2 + 1] != (f64)0) s0 = s0 + pi4[list * 2 + 1];
            store_i64(to + (at - first) * row, near_i64((f64)(s0), -9223372036854775808.0, 9223372036854775808.0, (i64)((u64)1 << 63), (i64)(~(u64)0 >> 1)));
        }
    }
}
