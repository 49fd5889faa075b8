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

DEV i32 load_i32(GLB const i32 *p) { return *p; }

DEV void store_i64(GLB i64 *p, i64 x) { *p = x; }

DEV i64 xor_i64(i64 a, i64 b) { return (i64)(a ^ b); }

DEV i64 neg_i64(i64 a) { return (i64)((u64)0 - (u64)a); }

DEV i64 floordiv_i64(i64 a, i64 b) {
    if (b == 0) return 0;
    if (b == -1) return neg_i64(a);
    return (i64)(a / b - ((a % b != 0) & ((a < 0) != (b < 0))));
}

#undef ix
#define ix i32
KERNEL(kd6183edeb1e787a1, 128)(GLB const i32 * restrict pi0, const i64 oi0, const ix si0_0, const ix si0_1, const ix si0_2, const ix si0_3, GLB i64 * restrict po0, const i64 oo0, const ix so0_0, const ix so0_1, const ix so0_2, const ix so0_3, const ix n0, const ix n1, const ix n2, const ix n3, const ix n4, const i64 rows, const u32 magic1, const u32 shift1, const u32 magic2, const u32 shift2) {
    pi0 += oi0;
    po0 += oo0;
    EACH_Z(row, (ix)rows) {
    u32 rest = (u32)row;
    const u32 q2 = (u32)(((u64)mulhi_u32(rest, magic2) + rest) >> shift2);
    const ix d2 = (ix)(rest - q2 * (u32)n2);
    rest = q2;
    const u32 q1 = (u32)(((u64)mulhi_u32(rest, magic1) + rest) >> shift1);
    const ix d1 = (ix)(rest - q1 * (u32)n1);
    rest = q1;
    const ix d0 = (ix)rest;
    EACH_Y(d3, n3) EACH_X(d4, n4) {
        const i32 v0 = load_i32(pi0 + d0 * si0_0 + d1 * si0_1 + d2 * si0_2 + d3 * si0_3 + d4);
        const i64 v1 = (i64)(d0);
        const i64 v2 = (i64)(d1);
        const i64 v3 = (i64)(d2);
        const i64 v4 = (i64)(d3);
        const i64 v5 = (i64)(d4);
        const i64 v6 = xor_i64(v1, v2);
        const i64 v7 = xor_i64(v6, v3);
        const i64 v8 = xor_i64(v7, v4);
        const i64 v9 = xor_i64(v8, v5);
        const i64 v10 = (i64)v0;
        const i64 v11 = floordiv_i64(v10, v9);
        store_i64(po0 + d0 * so0_0 + d1 * so0_1 + d2 * so0_2 + d3 * so0_3 + d4, v11);
    }
    }
}
