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

DEV void store_f32(GLB f32 *p, f32 x) { *p = x; }

DEV f64 wiener(f64 mean, f64 variance, f64 center, f64 noise) {
    if (variance != variance) return variance;
    return variance > noise ? mean + (1.0 - noise / variance) * (center - mean) : mean;
}

#undef ix
#define ix i32
#ifndef PLACES
#define PLACES 1
#endif
KERNEL(k13f81d503f32de27, 128)(GLB const f64 * restrict pi0, const i64 oi0, GLB const i32 * restrict pi1, const i64 oi1, GLB const i32 * restrict pi2, const i64 oi2, GLB const f64 * restrict pi3, const i64 oi3, GLB f32 * restrict po0, const i64 oo0, const i64 items, const i64 length, const i64 parts, const i64 rows, const i64 row, const i64 taps, const i64 points, const i64 read, const i64 written, const i64 before, const i64 factor, const i64 range, const i64 brought) {
    pi0 += oi0;
    pi1 += oi1;
    pi2 += oi2;
    pi3 += oi3;
    po0 += oo0;
    LOC f64 tile[3][4][168];
    const ix begin = (ix)GROUP_X * 128;
    const ix above = begin / (ix)parts, left = (begin - above * (ix)parts) * 4;
    const ix base = above * (ix)rows + (pi1[left] < 0 ? left : pi1[left]);
    GLB const f64 *from = pi0 + base;
    for (u32 at = LOCAL_ID; at < (u32)brought && (ix)at < (ix)read - base; at += LOCAL_SIZE) {
        tile[0][at % 4][at / 4] = load_f64(from + at);
        tile[1][at % 4][at / 4] = load_f64(from + 1 * read + at);
        tile[2][at % 4][at / 4] = load_f64(from + 2 * read + at);
    }
    SYNC;
    for (u32 p = 0; p < PLACES; p++) {
        const ix item = begin + (ix)(LOCAL_ID * PLACES + p), row = 1;
        if (item >= (ix)items) break;
        const ix line = item / (ix)row, column = item - line * (ix)row;
        const ix outer = line / (ix)parts, first = (line - outer * (ix)parts) * 4;
        GLB const f64 *from = pi0 + outer * rows * row + column;
        GLB f32 *to = po0 + (outer * length + first) * row + column;
        const ix start = first + 4 <= (ix)length ? pi1[first] : -1;
        const ix near = outer * (ix)rows + start - base;
        if (start >= 0 && pi1[first + 1] == start + 1 && pi1[first + 2] == start + 2 && pi1[first + 3] == start + 3 && near >= 0 && near + (ix)taps + 3 <= (ix)brought) {
            const f64 share = pi3[2];
            const f64 c0 = tile[0][(u32)(near + (before + 0)) % 4][(u32)(near + (before + 0)) / 4];
            f64 s0 = 0, q0 = 0;
            const f64 c1 = tile[0][(u32)(near + (before + 1)) % 4][(u32)(near + (before + 1)) / 4];
            f64 s1 = 0, q1 = 0;
            const f64 c2 = tile[0][(u32)(near + (before + 2)) % 4][(u32)(near + (before + 2)) / 4];
            f64 s2 = 0, q2 = 0;
            const f64 c3 = tile[0][(u32)(near + (before + 3)) % 4][(u32)(near + (before + 3)) / 4];
            f64 s3 = 0, q3 = 0;
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (ix t = 0; t < (ix)taps + 3; t++) {
                const f64 v = tile[0][(u32)(near + t) % 4][(u32)(near + t) / 4];
                if (t < (ix)taps) { s0 = s0 + (v - c0); }
                if (t >= 1 && t < (ix)taps + 1) { s1 = s1 + (v - c1); }
                if (t >= 2 && t < (ix)taps + 2) { s2 = s2 + (v - c2); }
                if (t >= 3) { s3 = s3 + (v - c3); }
            }
            s0 = s0 * share;
            s1 = s1 * share;
            s2 = s2 * share;
            s3 = s3 * share;
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (ix t = 0; t < (ix)taps + 3; t++) {
                const f64 v = tile[0][(u32)(near + t) % 4][(u32)(near + t) / 4];
                if (t < (ix)taps) { const f64 far = (v - c0) - s0; q0 = fma_f64(far, far, q0); }
                if (t >= 1 && t < (ix)taps + 1) { const f64 far = (v - c1) - s1; q1 = fma_f64(far, far, q1); }
                if (t >= 2 && t < (ix)taps + 2) { const f64 far = (v - c2) - s2; q2 = fma_f64(far, far, q2); }
                if (t >= 3) { const f64 far = (v - c3) - s3; q3 = fma_f64(far, far, q3); }
            }
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (ix t = 0; t < (ix)taps + 3; t++) {
                const f64 v = tile[1][(u32)(near + t) % 4][(u32)(near + t) / 4];
                if (t < (ix)taps) { q0 = q0 + v; }
                if (t >= 1 && t < (ix)taps + 1) { q1 = q1 + v; }
                if (t >= 2 && t < (ix)taps + 2) { q2 = q2 + v; }
                if (t >= 3) { q3 = q3 + v; }
            }
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (ix m = 0; m < 4; m++) {
                const f64 made0 = m == 0 ? s0 + c0 : m == 1 ? s1 + c1 : m == 2 ? s2 + c2 : s3 + c3;
                const f64 made1 = m == 0 ? q0 * share : m == 1 ? q1 * share : m == 2 ? q2 * share : q3 * share;
                const f64 made2 = m == 0 ? tile[2][(u32)(near + (before + 0)) % 4][(u32)(near + (before + 0)) / 4] : m == 1 ? tile[2][(u32)(near + (before + 1)) % 4][(u32)(near + (before + 1)) / 4] : m == 2 ? tile[2][(u32)(near + (before + 2)) % 4][(u32)(near + (before + 2)) / 4] : tile[2][(u32)(near + (before + 3)) % 4][(u32)(near + (before + 3)) / 4];
                store_f32(to + m * row, (f32)(wiener(made0, made1, made2, f64_of((u64)factor))));
            }
        } else
        for (ix at = first; at < first + 4 && at < (ix)length; at++) {
            const ix own = pi1[at];
            const i64 list = own < 0 ? -1 - (i64)own : 0;
            const i64 middle = own < 0 ? pi2[at + before] : own + before;
            const f64 center = load_f64(from + middle * row);
            const f64 outside = pi3[3 * list], missing = pi3[3 * list + 1];
            const f64 share = pi3[3 * list + 2];
            f64 mean = 0, spread = 0;
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (ix t = 0; t < (ix)taps; t++) {
                const i64 there = own < 0 ? pi2[at + t] : own + t;
                if (there >= 0) {
                    const f64 v = load_f64(from + there * row);
                    mean = mean + (v - center);
                }
            }
            if (missing > 0) mean = mean + missing * (outside - center);
            mean = mean * share;
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (ix t = 0; t < (ix)taps; t++) {
                const i64 there = own < 0 ? pi2[at + t] : own + t;
                if (there >= 0) {
                    const f64 v = load_f64(from + there * row);
                    const f64 far = (v - center) - mean; spread = fma_f64(far, far, spread);
                }
            }
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (ix t = 0; t < (ix)taps; t++) {
                const i64 there = own < 0 ? pi2[at + t] : own + t;
                if (there >= 0) {
                    const f64 v = load_f64(from + 1 * read + there * row);
                    spread = spread + v;
                }
            }
            if (missing > 0) {
                const f64 far = (outside - center) - mean;
                spread = fma_f64(missing, far * far, spread);
            }
            store_f32(to + (at - first) * row, (f32)(wiener(mean + center, spread * share, load_f64(from + 2 * read + middle * row), f64_of((u64)factor))));
        }
    }
}
