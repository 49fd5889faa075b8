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
