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

DEV u64 load_u64(GLB const u64 *p) { return *p; }

DEV void store_i32(GLB i32 *p, i32 x) { *p = x; }

DEV i64 min_i64(i64 a, i64 b) { return a <= b ? a : b; }

DEV i64 max_i64(i64 a, i64 b) { return a >= b ? a : b; }

DEV pair pair_of(f64 hi, f64 lo) {
    pair p;
    p.hi = hi;
    p.lo = lo;
    return p;
}

DEV pair two_product(f64 a, f64 b) {
    f64 product = a * b;
    return pair_of(product, fma_f64(a, b, -product));
}

// sinh(hi + lo) - hi and cosh(hi + lo) - 1.
DEV pair halves(reduced r) {
    pair square = two_product(r.hi, r.hi);
    f64 z = square.hi;
    f64 odd = fma_f64(z * r.hi, fma_f64(fma_f64(fma_f64(fma_f64(2.5109153745957544e-8, z,
        2.7557243868859633e-6), z, 0.00019841269886473341), z, 0.008333333333321489), z,
        0.16666666666666677), r.lo);
    f64 small = fma_f64(0.5, square.lo, r.lo * r.hi);
    f64 even = fma_f64(z * z, fma_f64(fma_f64(fma_f64(fma_f64(2.0921729178215706e-9, z,
        2.755725192275592e-7), z, 2.480158734911928e-5), z, 0.0013888888888873303), z,
        0.041666666666666685), small);
    return pair_of(odd, fma_f64(z, 0.5, even));
}

// Means of whole numbers whose sum has these halves. A sum that is no `float64` is taken apart: into `points` times an
// even number near the mean, and a rest.
DEV b8 is_double(u64 low, u64 high) {
    const u64 size = (low >> 63) != 0 ? (u64)0 - low : low;
    return (b8)(high == (u64)0 - (low >> 63) && size < (u64)1 << 53);
}

// `sum / points` to the nearest number.
DEV f64 quotient_f64(f64 sum, f64 points) {
    const f64 share = 1.0 / points, near = sum * share;
    return fma_f64(share, fma_f64(-near, points, sum), near);
}

DEV f64 about_mean(u64 low, u64 high, f64 points) {
    return fma_f64((f64)(i64)high, 18446744073709551616.0, (f64)low) * (1.0 / points);
}

DEV u64 even_near(f64 about) {
    if (about < 0) return about <= -9223372036854775808.0 ? (u64)1 << 63 : (u64)(i64)about & ~(u64)1;
    return (about >= 18446744073709551616.0 ? ~(u64)0 : (u64)about) & ~(u64)1;
}

DEV f64 rest_of_mean(u64 low, u64 whole, f64 points) {
    return (f64)(i64)(low - whole * (u64)points) / points;
}

DEV u64 whole_rest(u64 low, u64 whole, f64 points) {
    const f64 rest = rint_(rest_of_mean(low, whole, points));
    return rest >= 9223372036854775808.0 ? ~(u64)0 >> 1 : (u64)(i64)rest;
}

// The upper half of an even number near `about` plus a number with the bits `more`, given both and their sum.
DEV u64 upper_of_mean(f64 about, u64 whole, u64 more, u64 mean) {
    return (about < 0 ? ~(u64)0 : 0) - (more >> 63) + (u64)(mean < whole);
}

DEV i64 mean_i64(u64 low, u64 high, f64 points) {
    if (is_double(low, high)) return (i64)rint_(quotient_f64((f64)(i64)low, points));
    const f64 about = about_mean(low, high, points);
    const u64 whole = even_near(about), more = whole_rest(low, whole, points);
    const u64 mean = whole + more, upper = upper_of_mean(about, whole, more, mean);
    if (upper == (u64)0 - (mean >> 63)) return (i64)mean;
    return (i64)((upper >> 63) != 0 ? (u64)1 << 63 : ~(u64)0 >> 1);
}

#undef ix
#define ix i32
KERNEL(k4f6cfc39df8f80b2, 128)(GLB const u64 * restrict pi0, const i64 oi0, GLB const i64 * restrict pi1, const i64 oi1, GLB const i32 * restrict pi2, const i64 oi2, GLB const i32 * restrict pi3, const i64 oi3, GLB const i32 * restrict pi4, const i64 oi4, GLB const i64 * restrict pi5, const i64 oi5, GLB const u64 * restrict pi6, const i64 oi6, GLB i32 * restrict po0, const i64 oo0, const i64 items, const i64 points, const i64 rank) {
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
        GLB const u64 *from = pi0 + (whole ? first : 0);
        i32 result;
        if (whole) {
            i32 there = 0;
            u64 sum0 = 0;
            u64 sum1 = 0;
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (ix p = 0; p < (ix)points; p++) {
                    const u64 v0 = load_u64(from + pi5[p]);
                    const u64 v1 = (u64)0;
                    if (1) { there++; sum0 = sum0 + v0; sum1 = sum1 + v1 + (u64)(sum0 < v0); }
            }
            result = (i32)min_i64(max_i64(mean_i64(sum0, sum1, (f64)(there > 0 ? there : 1)), (i64)-2147483648), (i64)2147483647);
        } else {
            i32 there = 0;
            u64 sum0 = 0;
            u64 sum1 = 0;
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
                    const u64 v0 = gone < 0 ? pi6[0] : load_u64(from + place);
                    const u64 v1 = gone < 0 ? pi6[1] : (u64)0;
                    if (gone > -2) { there++; sum0 = sum0 + v0; sum1 = sum1 + v1 + (u64)(sum0 < v0); }
            }
            result = (i32)min_i64(max_i64(mean_i64(sum0, sum1, (f64)(there > 0 ? there : 1)), (i64)-2147483648), (i64)2147483647);
        }
        store_i32(po0 + item, result);
    }
}
