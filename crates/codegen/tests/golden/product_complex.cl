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

DEV c128 c128_of(f64 re, f64 im) {
    c128 z;
    z.re = re;
    z.im = im;
    return z;
}

DEV c128 load_c128(GLB const f64 *p) { return c128_of(p[0], p[1]); }

DEV void store_c128(GLB f64 *p, c128 z) {
    p[0] = z.re;
    p[1] = z.im;
}

#undef ix
#define ix i32
#ifndef PLACES
#define PLACES 1
#endif
KERNEL(k656f0c209f5b532b, 128)(GLB const f64 * restrict pi0, const i64 oi0, const ix si0_2, GLB const f64 * restrict pi1, const i64 oi1, const ix si1_3, const ix si1_4, GLB f64 * restrict po0, const i64 oo0, const ix so0_2, const ix so0_3, const ix n0, const ix n1, const ix n2, const ix n3, const ix n4) {
    pi0 += oi0;
    pi1 += oi1;
    po0 += oo0;
    LOC c128 left[16 * 33], right[16 * 33];
    c128 sum[PLACES][2][4];
    const ix wide = (n3 - 1) / 32 + 1;
    const ix top = (ix)GROUP_X / wide * 32, start = (ix)GROUP_X % wide * 32;
    EACH_Z(d0, n0) EACH_Y(d1, n1) {
    for (u32 p = 0; p < PLACES; p++)
        for (u32 i = 0; i < 2; i++)
            for (u32 j = 0; j < 4; j++) sum[p][i][j] = c128_of((f64)0, (f64)0);
    for (ix from = 0; from < n4; from += 16) {
        for (u32 at = LOCAL_ID; at < 512; at += LOCAL_SIZE) {
            {
                const ix line = (ix)(at / 16), k = from + (ix)(at % 16);
                left[(k - from) * 33 + line] = top + line < n2 && k < n4 ? load_c128(pi0 + (top + line) * si0_2 + 2 * k) : c128_of((f64)0, (f64)0);
            }
            {
                const ix line = (ix)(at % 32), k = from + (ix)(at / 32);
                right[(k - from) * 33 + line] = start + line < n3 && k < n4 ? load_c128(pi1 + (start + line) * si1_3 + k * si1_4) : c128_of((f64)0, (f64)0);
            }
        }
        SYNC;
        for (u32 p = 0; p < PLACES; p++) {
            const u32 place = LOCAL_ID * PLACES + p;
            #pragma unroll 4
            for (u32 k = 0; k < 16; k++) {
                c128 x[2], y[4];
                for (u32 i = 0; i < 2; i++) x[i] = left[k * 33 + place / 8 + i * 16];
                for (u32 j = 0; j < 4; j++) y[j] = right[k * 33 + place % 8 + j * 8];
                for (u32 i = 0; i < 2; i++)
                    for (u32 j = 0; j < 4; j++) { sum[p][i][j].re = fma_f64(x[i].re, y[j].re, fma_f64(-x[i].im, y[j].im, sum[p][i][j].re)); sum[p][i][j].im = fma_f64(x[i].re, y[j].im, fma_f64(x[i].im, y[j].re, sum[p][i][j].im)); }
            }
        }
        SYNC;
    }
    for (u32 p = 0; p < PLACES; p++) {
        const u32 place = LOCAL_ID * PLACES + p;
        for (u32 i = 0; i < 2; i++)
            for (u32 j = 0; j < 4; j++) {
                const ix row = top + (ix)(place / 8 + i * 16);
                const ix column = start + (ix)(place % 8 + j * 8);
                if (row < n2 && column < n3) store_c128(po0 + row * so0_2 + column * so0_3, sum[p][i][j]);
            }
    }
    }
}
