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
