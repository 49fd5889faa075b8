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

DEV u8 load_u8(GLB const u8 *p) { return *p; }

DEV u64 load_u64(GLB const u64 *p) { return *p; }

DEV void store_u64(GLB u64 *p, u64 x) { *p = x; }

DEV u64 add_u64(u64 a, u64 b) { return (u64)((u64)a + (u64)b); }

#undef ix
#define ix i32
DEV u64 kca8f7a129cf251ad_at(GLB const u8 * restrict pi0, const ix si0_0, const ix n0, const ix n1, const ix d0, const ix d1) {
    const u8 v0 = load_u8(pi0 + d0 * si0_0 + d1);
    const u64 v1 = (u64)v0;
    return v1;
}
KERNEL(kca8f7a129cf251ad, 128)(GLB const u8 * restrict pi0, const i64 oi0, const ix si0_0, GLB u64 * restrict po0, const i64 oo0, const ix so0_0, const ix n0, const ix n1, const i64 items, const i64 total, const i64 part, const i64 parts, GLB u64 *scratch0) {
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
        u64 sum = kca8f7a129cf251ad_at(pi0, si0_0, n0, n1, d0, d1);
        for (at++; at < end; at++) {
            d1++;
            sum = add_u64(sum, kca8f7a129cf251ad_at(pi0, si0_0, n0, n1, d0, d1));
        }
        scratch0[item] = sum;
    }
}

#undef ix
#define ix i32
DEV u64 kb8856c7cf6b68239_at(GLB const u64 * restrict pi0, const ix si0_0, const ix si0_1, const ix n0, const ix n1, const ix d0, const ix d1) {
    const u64 v0 = load_u64(pi0 + d0 * si0_0 + d1 * si0_1);
    return v0;
}
KERNEL(kb8856c7cf6b68239, 128)(GLB const u64 * restrict pi0, const i64 oi0, const ix si0_0, const ix si0_1, GLB u64 * restrict po0, const i64 oo0, const ix so0_0, const ix n0, const ix n1, const i64 items, const i64 piece, const u64 initial) {
    pi0 += oi0;
    po0 += oo0;
    EACH_X(item, (ix)items) {
        ix rest = item;
        const ix d0 = rest;
        u64 sum = initial;
        for (ix d1 = 0; d1 < n1; d1++)
        {
            const u64 x = kb8856c7cf6b68239_at(pi0, si0_0, si0_1, n0, n1, d0, d1);
            sum = add_u64(sum, x);
        }
        store_u64(po0 + d0 * so0_0, sum);
    }
}
