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

DEV u16 load_u16(GLB const u16 *p) { return *p; }

DEV void store_u16(GLB u16 *p, u16 x) { *p = x; }

DEV i32 add_i32(i32 a, i32 b) { return (i32)((u32)a + (u32)b); }

DEV f64 near_f64(f64 x, f64 low, f64 high) {
    const f64 some = x != x ? (f64)0 : x;
    const f64 upper = some < high ? some : high;
    return rint_(upper > low ? upper : low);
}

// `sum / points` to the nearest number.
DEV f64 quotient_f64(f64 sum, f64 points) {
    const f64 share = 1.0 / points, near = sum * share;
    return fma_f64(share, fma_f64(-near, points, sum), near);
}

#undef ix
#define ix i32
KERNEL(k2becb8b24a7831ac, 128)(GLB const u16 * restrict pi0, const i64 oi0, GLB const i64 * restrict pi1, const i64 oi1, GLB const i32 * restrict pi2, const i64 oi2, GLB const i32 * restrict pi3, const i64 oi3, GLB const i32 * restrict pi4, const i64 oi4, GLB const i64 * restrict pi5, const i64 oi5, GLB const i32 * restrict pi6, const i64 oi6, GLB u16 * restrict po0, const i64 oo0, const i64 items, const i64 points, const i64 rank) {
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
        GLB const u16 *from = pi0 + (whole ? first : 0);
        u16 result;
        if (whole) {
            i32 there = 0;
            i32 sum0 = 0;
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (ix p = 0; p < (ix)points; p++) {
                    const i32 v0 = (i32)load_u16(from + pi5[p]);
                    if (1) { there++; sum0 = add_i32(sum0, v0); }
            }
            result = (u16)(i32)near_f64(quotient_f64((f64)sum0, (f64)(there > 0 ? there : 1)), (f64)0, (f64)65535);
        } else {
            i32 there = 0;
            i32 sum0 = 0;
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
                    const i32 v0 = gone < 0 ? pi6[0] : (i32)load_u16(from + place);
                    if (gone > -2) { there++; sum0 = add_i32(sum0, v0); }
            }
            result = (u16)(i32)near_f64(quotient_f64((f64)sum0, (f64)(there > 0 ? there : 1)), (f64)0, (f64)65535);
        }
        store_u16(po0 + item, result);
    }
}
