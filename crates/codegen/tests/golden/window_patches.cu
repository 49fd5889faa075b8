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

// The exponential of what is not positive, zero where it is negligible: of two in single precision, of e in double.
DEV f32 fading_f32(f32 x) {
    const f32 unit = 12582912.0f, safe = x < -126.0f ? -126.0f : x, moved = safe + unit;
    const f32 r = safe - (moved - unit);
    f32 p = 0.0013264727f;
    p = fma_f32(r, p, 0.009671513f);
    p = fma_f32(r, p, 0.055507336f);
    p = fma_f32(r, p, 0.24022242f);
    p = fma_f32(r, p, 0.6931471806f);
    p = fma_f32(r, p, 1.0f);
    const f32 scale = f32_of((u32_of(moved) << 23) + 0x3f800000);
    return x < -126.0f ? 0.0f : p * scale;
}

#undef ix
#define ix i32
KERNEL(kf7a6672315f5b2bf, 128)(GLB const f32 * restrict pi0, const i64 oi0, GLB const i64 * restrict pi1, const i64 oi1, GLB const i32 * restrict pi2, const i64 oi2, GLB const i32 * restrict pi3, const i64 oi3, GLB const i32 * restrict pi4, const i64 oi4, GLB const i64 * restrict pi5, const i64 oi5, GLB const f32 * restrict pi6, const i64 oi6, GLB f32 * restrict po0, const i64 oo0, const i64 items, const i64 points, const i64 rank) {
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
        f32 result;
        if (whole) {
            const ix y0 = (ix)pi1[1];
            const ix y1 = (ix)pi1[5];
            const ix y2 = (ix)pi1[9];
            ix own = 0;
            i32 count = 1;
            own += (pi4[0] + pi4[3]) * y0;
            count *= 2 * pi4[3] + 1;
            own += (pi4[1] + pi4[4]) * y1;
            count *= 2 * pi4[4] + 1;
            own += (pi4[2] + pi4[5]) * y2;
            count *= 2 * pi4[5] + 1;
            const f32 scale = (f32)f64_of((u64)pi5[count - 1]);
            f32 sum = 0, all = 0;
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (i32 h0 = -pi4[0]; h0 <= pi4[0]; h0++) {
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (i32 h1 = -pi4[1]; h1 <= pi4[1]; h1++) {
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (i32 h2 = -pi4[2]; h2 <= pi4[2]; h2++) {
                const ix jump = h0 * y0 + h1 * y1 + h2 * y2;
                f32 t2 = 0;
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
                for (i32 k2 = -pi4[5]; k2 <= pi4[5]; k2++) {
                f32 t1 = 0;
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
                for (i32 k1 = -pi4[4]; k1 <= pi4[4]; k1++) {
                f32 t0 = 0;
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
                for (i32 k0 = -pi4[3]; k0 <= pi4[3]; k0++) {
                const ix at = own + k0 * y0 + k1 * y1 + k2 * y2;
                const f32 far = load_f32(from + at) - load_f32(from + at + jump);
                t0 = t0 + far * far;
                }
                t1 = t1 + t0;
                }
                t2 = t2 + t1;
                }
                const f32 near = fading_f32(t2 * scale);
                sum = fma_f32(near, load_f32(from + own + jump), sum);
                all = all + near;
            }
            }
            }
            if (all == 0) result = load_f32(from + own);
            else result = sum / all;
        } else {
            const ix y0 = (ix)pi1[1];
            const ix y1 = (ix)pi1[5];
            const ix y2 = (ix)pi1[9];
            const i32 e0 = (i32)pi1[3] + (i32)c0 + pi4[0] + pi4[3];
            const i32 e1 = (i32)pi1[7] + (i32)c1 + pi4[1] + pi4[4];
            const i32 e2 = (i32)pi1[11] + (i32)c2 + pi4[2] + pi4[5];
            f32 sum = 0, all = 0;
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (i32 h0 = -pi4[0]; h0 <= pi4[0]; h0++) {
                const i32 g0 = pi3[e0 + h0];
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (i32 h1 = -pi4[1]; h1 <= pi4[1]; h1++) {
                const i32 g1 = pi3[e1 + h1];
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (i32 h2 = -pi4[2]; h2 <= pi4[2]; h2++) {
                const i32 g2 = pi3[e2 + h2];
                const b8 is3 = (b8)(g0 > -2 & g1 > -2 & g2 > -2);
                i32 count = 0;
                f32 t2 = 0;
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
                for (i32 k2 = -pi4[5]; k2 <= pi4[5]; k2++) {
                    const i32 a2 = pi3[e2 + k2], b2 = pi3[e2 + k2 + h2];
                    const b8 is2 = (b8)(is3 & (a2 > -2) & (b2 > -2));
                f32 t1 = 0;
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
                for (i32 k1 = -pi4[4]; k1 <= pi4[4]; k1++) {
                    const i32 a1 = pi3[e1 + k1], b1 = pi3[e1 + k1 + h1];
                    const b8 is1 = (b8)(is2 & (a1 > -2) & (b1 > -2));
                f32 t0 = 0;
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
                for (i32 k0 = -pi4[3]; k0 <= pi4[3]; k0++) {
                    const i32 a0 = pi3[e0 + k0], b0 = pi3[e0 + k0 + h0];
                    const b8 is0 = (b8)(is1 & (a0 > -2) & (b0 > -2));
                const f32 far = is0 ? (a0 < 0 || a1 < 0 || a2 < 0 ? pi6[0] : load_f32(from + (a0 * y0 + a1 * y1 + a2 * y2))) - (b0 < 0 || b1 < 0 || b2 < 0 ? pi6[0] : load_f32(from + (b0 * y0 + b1 * y1 + b2 * y2))) : (f32)0;
                count += is0;
                t0 = t0 + far * far;
                }
                t1 = t1 + t0;
                }
                t2 = t2 + t1;
                }
                const f32 near = is3 ? fading_f32(t2 * (f32)f64_of((u64)pi5[count - is3])) : (f32)0;
                sum = fma_f32(near, g0 < 0 || g1 < 0 || g2 < 0 ? pi6[0] : load_f32(from + (g0 * y0 + g1 * y1 + g2 * y2)), sum);
                all = all + near;
            }
            }
            }
            if (all == 0) result = load_f32(from + (pi3[e0] * y0 + pi3[e1] * y1 + pi3[e2] * y2));
            else result = sum / all;
        }
        store_f32(po0 + item, result);
    }
}
