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

DEV void store_f32(GLB f32 *p, f32 x) { *p = x; }

#undef ix
#define ix i32
KERNEL(kd1f066ce7225f8dc, 128)(GLB f32 * restrict po0, const i64 oo0, const ix n0, const i64 items, const i64 total, const i64 c0, const i64 c1, const i64 c2, const i64 c3, const i64 key0, const i64 key1) {
    po0 += oo0;
    EACH_X(item, (ix)items) {
        u64 x0 = (u64)c0 + (u64)item + 1, x1 = (u64)c1, x2 = (u64)c2, x3 = (u64)c3;
        if (x0 <= (u64)item && ++x1 == 0 && ++x2 == 0) x3++;
        u64 k0 = (u64)key0, k1 = (u64)key1;
        for (u32 round = 0; round < 10; round++) {
            const u64 first = (u64)0xD2E7470EE14C6C93, second = (u64)0xCA5A826395121157;
            const u64 high0 = mulhi_u64(first, x0), high1 = mulhi_u64(second, x2);
            const u64 y1 = second * x2, y3 = first * x0;
            x0 = high1 ^ x1 ^ k0;
            x2 = high0 ^ x3 ^ k1;
            x1 = y1;
            x3 = y3;
            k0 += (u64)0x9E3779B97F4A7C15;
            k1 += (u64)0xBB67AE8584CAA73B;
        }
        const i64 start = (i64)item * 8;
        if (start + 0 < total) store_f32(po0 + (ix)(start + 0), (f32)((u32)(x0) >> 8) * (1.0f / 16777216.0f));
        if (start + 1 < total) store_f32(po0 + (ix)(start + 1), (f32)((u32)(x0 >> 32) >> 8) * (1.0f / 16777216.0f));
        if (start + 2 < total) store_f32(po0 + (ix)(start + 2), (f32)((u32)(x1) >> 8) * (1.0f / 16777216.0f));
        if (start + 3 < total) store_f32(po0 + (ix)(start + 3), (f32)((u32)(x1 >> 32) >> 8) * (1.0f / 16777216.0f));
        if (start + 4 < total) store_f32(po0 + (ix)(start + 4), (f32)((u32)(x2) >> 8) * (1.0f / 16777216.0f));
        if (start + 5 < total) store_f32(po0 + (ix)(start + 5), (f32)((u32)(x2 >> 32) >> 8) * (1.0f / 16777216.0f));
        if (start + 6 < total) store_f32(po0 + (ix)(start + 6), (f32)((u32)(x3) >> 8) * (1.0f / 16777216.0f));
        if (start + 7 < total) store_f32(po0 + (ix)(start + 7), (f32)((u32)(x3 >> 32) >> 8) * (1.0f / 16777216.0f));
    }
}
