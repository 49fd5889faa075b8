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
