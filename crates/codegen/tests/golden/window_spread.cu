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

DEV f32 load_f32(GLB const f32 *p) { return *p; }

DEV void store_f32(GLB f32 *p, f32 x) { *p = x; }

DEV f64 wiener(f64 mean, f64 variance, f64 center, f64 noise) {
    if (variance != variance) return variance;
    return variance > noise ? mean + (1.0 - noise / variance) * (center - mean) : mean;
}

#undef ix
#define ix i32
KERNEL(k9b2ca49cd6641b94, 128)(GLB const f32 * restrict pi0, const i64 oi0, GLB const i64 * restrict pi1, const i64 oi1, GLB const i32 * restrict pi2, const i64 oi2, GLB const i32 * restrict pi3, const i64 oi3, GLB const i32 * restrict pi4, const i64 oi4, GLB const i64 * restrict pi5, const i64 oi5, GLB const f64 * restrict pi6, const i64 oi6, GLB f32 * restrict po0, const i64 oo0, const i64 items, const i64 points, const i64 rank, const i64 given0, const i64 given1, const i64 given2) {
    pi0 += oi0;
    pi1 += oi1;
    pi2 += oi2;
    pi3 += oi3;
    pi4 += oi4;
    pi5 += oi5;
    pi6 += oi6;
    po0 += oo0;
    EACH_X(item, (ix)items) {
        ix left = item;
        const ix c2 = left % (ix)pi1[8]; left /= (ix)pi1[8];
        const ix c1 = left % (ix)pi1[4]; left /= (ix)pi1[4];
        const ix c0 = left % (ix)pi1[0]; left /= (ix)pi1[0];
        i64 first = 0;
        b8 whole = 1;
        const i64 s0 = pi2[pi1[2] + c0];
        whole = (b8)(whole & (s0 >= 0));
        first += s0 * pi1[1];
        const i64 s1 = pi2[pi1[6] + c1];
        whole = (b8)(whole & (s1 >= 0));
        first += s1 * pi1[5];
        const i64 s2 = pi2[pi1[10] + c2];
        whole = (b8)(whole & (s2 >= 0));
        first += s2 * pi1[9];
        GLB const f32 *from = pi0 + (whole ? first : 0);
        f64 result;
        if (whole) {
            f64 center;
            {
                    center = (f64)load_f32(from + pi5[(ix)points]);
            }
            f64 anchor = center, mean = 0, spread = 0, there = 0;
            b8 begun = (b8)(f64_of((u64)given2) != 0);
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (ix p = 0; p < (ix)points; p++) {
                    const f64 own = (f64)load_f32(from + pi5[p]);
                    if (1) {
                        if (!begun) anchor = own;
                        begun = 1;
                        mean = mean + (own - anchor);
                        there = there + 1;
                    }
            }
            mean = mean / there;
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (ix p = 0; p < (ix)points; p++) {
                    const f64 own = (f64)load_f32(from + pi5[p]), far = (own - anchor) - mean;
                    if (1) spread = spread + far * far;
            }
            mean = mean + anchor;
            spread = spread / there;
            result = wiener(mean, spread, center, f64_of((u64)given0));
        } else {
            f64 center;
            {
                    i64 place = 0;
                    i32 gone = 0;
                    const i32 r0 = pi3[pi1[3] + c0 + pi4[(ix)points * 3 + 0]];
                    if (r0 < gone) gone = r0;
                    place += r0 * pi1[1];
                    const i32 r1 = pi3[pi1[7] + c1 + pi4[(ix)points * 3 + 1]];
                    if (r1 < gone) gone = r1;
                    place += r1 * pi1[5];
                    const i32 r2 = pi3[pi1[11] + c2 + pi4[(ix)points * 3 + 2]];
                    if (r2 < gone) gone = r2;
                    place += r2 * pi1[9];
                    center = gone < 0 ? pi6[0] : (f64)load_f32(from + place);
            }
            f64 anchor = center, mean = 0, spread = 0, there = 0;
            b8 begun = (b8)(f64_of((u64)given2) != 0);
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (ix p = 0; p < (ix)points; p++) {
                    i64 place = 0;
                    i32 gone = 0;
                    const i32 r0 = pi3[pi1[3] + c0 + pi4[p * 3 + 0]];
                    if (r0 < gone) gone = r0;
                    place += r0 * pi1[1];
                    const i32 r1 = pi3[pi1[7] + c1 + pi4[p * 3 + 1]];
                    if (r1 < gone) gone = r1;
                    place += r1 * pi1[5];
                    const i32 r2 = pi3[pi1[11] + c2 + pi4[p * 3 + 2]];
                    if (r2 < gone) gone = r2;
                    place += r2 * pi1[9];
                    const f64 own = gone < 0 ? pi6[0] : (f64)load_f32(from + place);
                    if (gone > -2) {
                        if (!begun) anchor = own;
                        begun = 1;
                        mean = mean + (own - anchor);
                        there = there + 1;
                    }
            }
            mean = mean / there;
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (ix p = 0; p < (ix)points; p++) {
                    i64 place = 0;
                    i32 gone = 0;
                    const i32 r0 = pi3[pi1[3] + c0 + pi4[p * 3 + 0]];
                    if (r0 < gone) gone = r0;
                    place += r0 * pi1[1];
                    const i32 r1 = pi3[pi1[7] + c1 + pi4[p * 3 + 1]];
                    if (r1 < gone) gone = r1;
                    place += r1 * pi1[5];
                    const i32 r2 = pi3[pi1[11] + c2 + pi4[p * 3 + 2]];
                    if (r2 < gone) gone = r2;
                    place += r2 * pi1[9];
                    const f64 own = gone < 0 ? pi6[0] : (f64)load_f32(from + place), far = (own - anchor) - mean;
                    if (gone > -2) spread = spread + far * far;
            }
            mean = mean + anchor;
            spread = spread / there;
            result = wiener(mean, spread, center, f64_of((u64)given0));
        }
        store_f32(po0 + item, (f32)(result));
    }
}
