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
