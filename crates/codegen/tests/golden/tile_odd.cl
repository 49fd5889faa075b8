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

#undef ix
#define ix i32
#ifndef PLACES
#define PLACES 1
#endif
KERNEL(k6ceb443c012190ae, 128)(GLB const f64 * restrict pi0, const i64 oi0, GLB const i32 * restrict pi1, const i64 oi1, GLB const i32 * restrict pi2, const i64 oi2, GLB const f64 * restrict pi3, const i64 oi3, GLB const f64 * restrict pi4, const i64 oi4, GLB f64 * restrict po0, const i64 oo0, const i64 items, const i64 length, const i64 parts, const i64 rows, const i64 row, const i64 taps, const i64 points, const i64 read, const i64 written, const i64 brought) {
    pi0 += oi0;
    pi1 += oi1;
    pi2 += oi2;
    pi3 += oi3;
    pi4 += oi4;
    po0 += oo0;
    LOC f64 tile[1][4][168];
    const ix begin = (ix)GROUP_X * 128;
    const ix above = begin / (ix)parts, left = (begin - above * (ix)parts) * 4;
    const ix base = above * (ix)rows + (pi1[left] < 0 ? left : pi1[left]);
    GLB const f64 *from = pi0 + base;
    for (u32 at = LOCAL_ID; at < (u32)brought && (ix)at < (ix)read - base; at += LOCAL_SIZE) {
        tile[0][at % 4][at / 4] = load_f64(from + at);
    }
    SYNC;
    for (u32 p = 0; p < PLACES; p++) {
        const ix item = begin + (ix)(LOCAL_ID * PLACES + p), row = 1;
        if (item >= (ix)items) break;
        const ix line = item / (ix)row, column = item - line * (ix)row;
        const ix outer = line / (ix)parts, first = (line - outer * (ix)parts) * 4;
        GLB const f64 *from = pi0 + outer * rows * row + column;
        GLB f64 *to = po0 + (outer * length + first) * row + column;
        const ix start = first + 4 <= (ix)length ? pi1[first] : -1;
        const ix near = outer * (ix)rows + start - base;
        if (start >= 0 && pi1[first + 1] == start + 1 && pi1[first + 2] == start + 2 && pi1[first + 3] == start + 3 && near >= 0 && near + (ix)taps + 3 <= (ix)brought) {
            const ix middle = (ix)taps / 2;
            f64 weight = pi3[middle];
            f64 below0 = tile[0][(u32)(near + middle + 0) % 4][(u32)(near + middle + 0) / 4], above0 = below0;
            f64 s0 = fma_f64(weight, below0, (f64)0);
            f64 below1 = tile[0][(u32)(near + middle + 1) % 4][(u32)(near + middle + 1) / 4], above1 = below1;
            f64 s1 = fma_f64(weight, below1, (f64)0);
            f64 below2 = tile[0][(u32)(near + middle + 2) % 4][(u32)(near + middle + 2) / 4], above2 = below2;
            f64 s2 = fma_f64(weight, below2, (f64)0);
            f64 below3 = tile[0][(u32)(near + middle + 3) % 4][(u32)(near + middle + 3) / 4], above3 = below3;
            f64 s3 = fma_f64(weight, below3, (f64)0);
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (ix t = 1; t <= middle; t++) {
                weight = pi3[middle + t];
                below3 = below2; above0 = above1;
                below2 = below1; above1 = above2;
                below1 = below0; above2 = above3;
                below0 = tile[0][(u32)(near + middle - t) % 4][(u32)(near + middle - t) / 4]; above3 = tile[0][(u32)(near + middle + 3 + t) % 4][(u32)(near + middle + 3 + t) / 4];
                s0 = fma_f64(weight, above0 - below0, s0);
                s1 = fma_f64(weight, above1 - below1, s1);
                s2 = fma_f64(weight, above2 - below2, s2);
                s3 = fma_f64(weight, above3 - below3, s3);
            }
            store_f64(to + 0 * row, s0);
            store_f64(to + 1 * row, s1);
            store_f64(to + 2 * row, s2);
            store_f64(to + 3 * row, s3);
        } else
        for (ix at = first; at < first + 4 && at < (ix)length; at++) {
            const ix own = pi1[at];
            const i64 list = own < 0 ? -1 - (i64)own : 0;
            f64 s0 = (f64)0;
            if (list == 0) {
                const ix middle = (ix)taps / 2;
                const i64 center = own < 0 ? pi2[at + middle] : own + middle;
                s0 = fma_f64(pi3[middle], load_f64(from + center * row), s0);
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
                for (ix t = 1; t <= middle; t++) {
                    const i64 before = own < 0 ? pi2[at + middle - t] : own + middle - t;
                    const i64 after = own < 0 ? pi2[at + middle + t] : own + middle + t;
                    s0 = fma_f64(pi3[middle + t], load_f64(from + after * row) - load_f64(from + before * row), s0);
                }
            } else
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (ix t = 0; t < (ix)taps; t++) {
                const i64 there = own < 0 ? pi2[at + t] : own + t;
                if (there >= 0) {
                    const f64 v0 = load_f64(from + there * row);
                    s0 = fma_f64(pi3[list * 1 * taps + t], v0, s0);
                }
            }
            if (pi4[list * 1 + 0] != (f64)0) s0 = s0 + pi4[list * 1 + 0];
            store_f64(to + (at - first) * row, s0);
        }
    }
}
