// CUDA C++ and HIP: the words of the common text.
typedef unsigned char b8;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
typedef float f16;
struct c64 { f32 re, im; };
struct c128 { f64 re, im; };
#define DEV static __device__ __forceinline__
#define GLB
#define LOC __shared__
#define CONSTANT static __device__ const
#define restrict __restrict__
#define KERNEL(name, group) extern "C" __global__ void __launch_bounds__(group) name
#define LOCAL_ID (threadIdx.x)
#define LOCAL_SIZE (blockDim.x)
#define GROUP_X ((i64)blockIdx.x)
#define SYNC __syncthreads()
#define EACH_Z(i, n) for (ix i = (ix)blockIdx.z; i < (n); i += (ix)gridDim.z)
#define EACH_Y(i, n) for (ix i = (ix)blockIdx.y; i < (n); i += (ix)gridDim.y)
#define EACH_X(i, n) \
    for (ix i = (ix)blockIdx.x * (ix)blockDim.x + (ix)threadIdx.x; i < (n); i += (ix)gridDim.x * (ix)blockDim.x)
#define OR_INTO(p, x) atomicOr(p, x)
#define mulhi_u32 __umulhi
#define mulhi_u64 __umul64hi
#define u64_of(x) ((u64)__double_as_longlong(x))
#define f64_of(x) __longlong_as_double((i64)(x))
#define u32_of __float_as_uint
#define f32_of __uint_as_float
#define fma_f32 fmaf
#define fma_f64 fma
#define root_f32 sqrtf
#define root_f64 sqrt
#define fabs_f32 fabsf
#define fabs_f64 fabs
#define floor_ floor
#define ceil_ ceil
#define trunc_ trunc
#define rint_ rint
#define sign_from copysign
// Numbers in two parts, and what argument reductions give.
typedef struct { f64 hi, lo; } pair;
typedef struct { f64 rounded, hi, lo; } reduced;
typedef struct { u64 quadrant; f64 hi, lo; } turned;

DEV u32 load_u32(GLB const u32 *p) { return *p; }

DEV void store_u32(GLB u32 *p, u32 x) { *p = x; }

DEV u32 low_key_u32(u32 x, u32 endless) {
    const u32 sign = (u32)((u32)1 << (32 - 1));
    if ((u32)(x & (u32)~sign) > endless) return 0;
    return (x & sign) != 0 ? (u32)~x : (u32)(x | sign);
}

DEV u32 high_key_u32(u32 x, u32 endless) {
    const u32 key = low_key_u32(x, endless);
    return key == 0 ? key : (u32)~key;
}

DEV u32 of_key_u32(u32 key, u32 endless) {
    const u32 sign = (u32)((u32)1 << (32 - 1));
    if (key == 0 || key == (u32)~(u32)0) return (u32)(endless | (endless & (~endless + 1)) >> 1);
    return (key & sign) != 0 ? (u32)(key ^ sign) : (u32)~key;
}

#undef ix
#define ix i32
#ifndef PLACES
#define PLACES 1
#endif
KERNEL(k8811f3313b66d9e7, 128)(GLB const u32 * restrict pi0, const i64 oi0, GLB const i32 * restrict pi1, const i64 oi1, GLB const i32 * restrict pi2, const i64 oi2, GLB const u32 * restrict pi3, const i64 oi3, GLB u32 * restrict po0, const i64 oo0, const i64 items, const i64 length, const i64 parts, const i64 rows, const i64 row, const i64 taps, const i64 points, const i64 read, const i64 written, const i64 brought) {
    pi0 += oi0;
    pi1 += oi1;
    pi2 += oi2;
    pi3 += oi3;
    po0 += oo0;
    LOC u32 tile[1][4][168];
    const ix begin = (ix)GROUP_X * 128;
    const ix above = begin / (ix)parts, left = (begin - above * (ix)parts) * 4;
    const ix base = above * (ix)rows + (pi1[left] < 0 ? left : pi1[left]);
    GLB const u32 *from = pi0 + base;
    for (u32 at = LOCAL_ID; at < (u32)brought && (ix)at < (ix)read - base; at += LOCAL_SIZE) {
        tile[0][at % 4][at / 4] = high_key_u32(load_u32(from + at), (u32)0x7f800000);
    }
    SYNC;
    for (u32 p = 0; p < PLACES; p++) {
        const ix item = begin + (ix)(LOCAL_ID * PLACES + p), row = 1;
        if (item >= (ix)items) break;
        const ix line = item / (ix)row, column = item - line * (ix)row;
        const ix outer = line / (ix)parts, first = (line - outer * (ix)parts) * 4;
        GLB const u32 *from = pi0 + outer * rows * row + column;
        GLB u32 *to = po0 + (outer * length + first) * row + column;
        const ix start = first + 4 <= (ix)length ? pi1[first] : -1;
        const ix near = outer * (ix)rows + start - base;
        if (start >= 0 && pi1[first + 1] == start + 1 && pi1[first + 2] == start + 2 && pi1[first + 3] == start + 3 && near >= 0 && near + (ix)taps + 3 <= (ix)brought) {
            u32 s0_0 = (u32)~(u32)0;
            u32 s1_0 = (u32)~(u32)0;
            u32 s2_0 = (u32)~(u32)0;
            u32 s3_0 = (u32)~(u32)0;
            for (ix t = 0; t < (ix)taps + 3; t++) {
                const u32 v0 = tile[0][(u32)(near + t) % 4][(u32)(near + t) / 4];
                if (t < (ix)taps) { s0_0 = v0 < s0_0 ? v0 : s0_0; }
                if (t >= 1 && t < (ix)taps + 1) { s1_0 = v0 < s1_0 ? v0 : s1_0; }
                if (t >= 2 && t < (ix)taps + 2) { s2_0 = v0 < s2_0 ? v0 : s2_0; }
                if (t >= 3) { s3_0 = v0 < s3_0 ? v0 : s3_0; }
            }
            store_u32(to + 0 * row, of_key_u32((u32)~s0_0, (u32)0x7f800000));
            store_u32(to + 1 * row, of_key_u32((u32)~s1_0, (u32)0x7f800000));
            store_u32(to + 2 * row, of_key_u32((u32)~s2_0, (u32)0x7f800000));
            store_u32(to + 3 * row, of_key_u32((u32)~s3_0, (u32)0x7f800000));
        } else
        for (ix at = first; at < first + 4 && at < (ix)length; at++) {
            const ix own = pi1[at];
            const i64 list = own < 0 ? -1 - (i64)own : 0;
            u32 s0 = (u32)~(u32)0;
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (ix t = 0; t < (ix)taps; t++) {
                const i64 there = own < 0 ? pi2[at + t] : own + t;
                if (there >= 0) {
                    const u32 v0 = high_key_u32(load_u32(from + there * row), (u32)0x7f800000);
                    s0 = v0 < s0 ? v0 : s0;
                }
            }
            s0 = pi3[list * 1 + 0] < s0 ? pi3[list * 1 + 0] : s0;
            store_u32(to + (at - first) * row, of_key_u32((u32)~s0, (u32)0x7f800000));
        }
    }
}
