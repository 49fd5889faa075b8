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

DEV f32 mul_f32(f32 a, f32 b) { return a * b; }

DEV f32 max_f32(f32 a, f32 b) { return (a > b || a != a) ? a : b; }

#undef ix
#define ix i32
KERNEL(k4a104d3b7d257289, 128)(GLB const f32 * restrict pi0, const i64 oi0, const ix si0_0, const ix si0_1, const ix si0_2, GLB const f32 * restrict pi1, const i64 oi1, const ix si1_0, const ix si1_2, const f32 x2, GLB f32 * restrict po0, const i64 oo0, const ix so0_0, const ix so0_1, const ix n0, const ix n1, const ix n2) {
    pi0 += oi0;
    pi1 += oi1;
    po0 += oo0;
    EACH_Z(d0, n0) EACH_Y(d1, n1) EACH_X(d2, n2) {
        const f32 v0 = load_f32(pi0 + d0 * si0_0 + d1 * si0_1 + d2 * si0_2);
        const f32 v1 = load_f32(pi1 + d0 * si1_0 + d2 * si1_2);
        const f32 v2 = x2;
        const f32 v3 = max_f32(v0, v1);
        const f32 v4 = mul_f32(v3, v2);
        store_f32(po0 + d0 * so0_0 + d1 * so0_1 + d2, v4);
    }
}
