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

DEV u32 load_u32(GLB const u32 *p) { return *p; }

DEV void store_u32(GLB u32 *p, u32 x) { *p = x; }

DEV u32 low_key_u32(u32 x, u32 endless) {
    const u32 sign = (u32)((u32)1 << (32 - 1));
    if ((u32)(x & (u32)~sign) > endless) return 0;
    return (x & sign) != 0 ? (u32)~x : (u32)(x | sign);
}

DEV u32 rising_key_u32(u32 x, u32 endless) {
    const u32 key = low_key_u32(x, endless);
    return key == 0 ? (u32)~key : key;
}

DEV u32 of_key_u32(u32 key, u32 endless) {
    const u32 sign = (u32)((u32)1 << (32 - 1));
    if (key == 0 || key == (u32)~(u32)0) return (u32)(endless | (endless & (~endless + 1)) >> 1);
    return (key & sign) != 0 ? (u32)(key ^ sign) : (u32)~key;
}

#undef ix
#define ix i32
KERNEL(kae1f8204a6a70fa9, 128)(GLB const u32 * restrict pi0, const i64 oi0, GLB const i64 * restrict pi1, const i64 oi1, GLB const i32 * restrict pi2, const i64 oi2, GLB const i32 * restrict pi3, const i64 oi3, GLB const i32 * restrict pi4, const i64 oi4, GLB const i64 * restrict pi5, const i64 oi5, GLB const u32 * restrict pi6, const i64 oi6, GLB u32 * restrict po0, const i64 oo0, const i64 items, const i64 points, const i64 rank) {
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
        GLB const u32 *from = pi0 + (whole ? first : 0);
        u32 result;
        if (whole) {
            u32 k0 = rising_key_u32(load_u32(from + pi5[0]), (u32)0x7f800000);
            u32 k1 = rising_key_u32(load_u32(from + pi5[1]), (u32)0x7f800000);
            u32 k2 = rising_key_u32(load_u32(from + pi5[2]), (u32)0x7f800000);
            u32 k3 = rising_key_u32(load_u32(from + pi5[3]), (u32)0x7f800000);
            u32 k4 = rising_key_u32(load_u32(from + pi5[4]), (u32)0x7f800000);
            u32 k5 = rising_key_u32(load_u32(from + pi5[5]), (u32)0x7f800000);
            u32 k6 = rising_key_u32(load_u32(from + pi5[6]), (u32)0x7f800000);
            u32 k7 = rising_key_u32(load_u32(from + pi5[7]), (u32)0x7f800000);
            u32 k8 = rising_key_u32(load_u32(from + pi5[8]), (u32)0x7f800000);
            u32 k9 = rising_key_u32(load_u32(from + pi5[9]), (u32)0x7f800000);
            u32 k10 = rising_key_u32(load_u32(from + pi5[10]), (u32)0x7f800000);
            u32 k11 = rising_key_u32(load_u32(from + pi5[11]), (u32)0x7f800000);
            u32 k12 = rising_key_u32(load_u32(from + pi5[12]), (u32)0x7f800000);
            u32 k13 = rising_key_u32(load_u32(from + pi5[13]), (u32)0x7f800000);
            u32 k14 = rising_key_u32(load_u32(from + pi5[14]), (u32)0x7f800000);
            u32 k15 = rising_key_u32(load_u32(from + pi5[15]), (u32)0x7f800000);
            u32 k16 = rising_key_u32(load_u32(from + pi5[16]), (u32)0x7f800000);
            u32 k17 = rising_key_u32(load_u32(from + pi5[17]), (u32)0x7f800000);
            u32 k18 = rising_key_u32(load_u32(from + pi5[18]), (u32)0x7f800000);
            u32 k19 = rising_key_u32(load_u32(from + pi5[19]), (u32)0x7f800000);
            u32 k20 = rising_key_u32(load_u32(from + pi5[20]), (u32)0x7f800000);
            u32 k21 = rising_key_u32(load_u32(from + pi5[21]), (u32)0x7f800000);
            u32 k22 = rising_key_u32(load_u32(from + pi5[22]), (u32)0x7f800000);
            u32 k23 = rising_key_u32(load_u32(from + pi5[23]), (u32)0x7f800000);
            u32 k24 = rising_key_u32(load_u32(from + pi5[24]), (u32)0x7f800000);
            u32 k25 = rising_key_u32(load_u32(from + pi5[25]), (u32)0x7f800000);
            u32 k26 = rising_key_u32(load_u32(from + pi5[26]), (u32)0x7f800000);
            b8 nan = 0;
            nan = (b8)(nan | (k0 == (u32)~(u32)0));
            nan = (b8)(nan | (k1 == (u32)~(u32)0));
            nan = (b8)(nan | (k2 == (u32)~(u32)0));
            nan = (b8)(nan | (k3 == (u32)~(u32)0));
            nan = (b8)(nan | (k4 == (u32)~(u32)0));
            nan = (b8)(nan | (k5 == (u32)~(u32)0));
            nan = (b8)(nan | (k6 == (u32)~(u32)0));
            nan = (b8)(nan | (k7 == (u32)~(u32)0));
            nan = (b8)(nan | (k8 == (u32)~(u32)0));
            nan = (b8)(nan | (k9 == (u32)~(u32)0));
            nan = (b8)(nan | (k10 == (u32)~(u32)0));
            nan = (b8)(nan | (k11 == (u32)~(u32)0));
            nan = (b8)(nan | (k12 == (u32)~(u32)0));
            nan = (b8)(nan | (k13 == (u32)~(u32)0));
            nan = (b8)(nan | (k14 == (u32)~(u32)0));
            nan = (b8)(nan | (k15 == (u32)~(u32)0));
            nan = (b8)(nan | (k16 == (u32)~(u32)0));
            nan = (b8)(nan | (k17 == (u32)~(u32)0));
            nan = (b8)(nan | (k18 == (u32)~(u32)0));
            nan = (b8)(nan | (k19 == (u32)~(u32)0));
            nan = (b8)(nan | (k20 == (u32)~(u32)0));
            nan = (b8)(nan | (k21 == (u32)~(u32)0));
            nan = (b8)(nan | (k22 == (u32)~(u32)0));
            nan = (b8)(nan | (k23 == (u32)~(u32)0));
            nan = (b8)(nan | (k24 == (u32)~(u32)0));
            nan = (b8)(nan | (k25 == (u32)~(u32)0));
            nan = (b8)(nan | (k26 == (u32)~(u32)0));
            { const u32 x = k0, y = k1; k0 = x < y ? x : y; k1 = x < y ? y : x; }
            { const u32 x = k2, y = k3; k2 = x < y ? x : y; k3 = x < y ? y : x; }
            { const u32 x = k4, y = k5; k4 = x < y ? x : y; k5 = x < y ? y : x; }
            { const u32 x = k6, y = k7; k6 = x < y ? x : y; k7 = x < y ? y : x; }
            { const u32 x = k8, y = k9; k8 = x < y ? x : y; k9 = x < y ? y : x; }
            { const u32 x = k10, y = k11; k10 = x < y ? x : y; k11 = x < y ? y : x; }
            { const u32 x = k12, y = k13; k12 = x < y ? x : y; k13 = x < y ? y : x; }
            { const u32 x = k14, y = k15; k14 = x < y ? x : y; k15 = x < y ? y : x; }
            { const u32 x = k16, y = k17; k16 = x < y ? x : y; k17 = x < y ? y : x; }
            { const u32 x = k18, y = k19; k18 = x < y ? x : y; k19 = x < y ? y : x; }
            { const u32 x = k20, y = k21; k20 = x < y ? x : y; k21 = x < y ? y : x; }
            { const u32 x = k22, y = k23; k22 = x < y ? x : y; k23 = x < y ? y : x; }
            { const u32 x = k24, y = k25; k24 = x < y ? x : y; k25 = x < y ? y : x; }
            { const u32 x = k0, y = k2; k0 = x < y ? x : y; k2 = x < y ? y : x; }
            { const u32 x = k1, y = k3; k1 = x < y ? x : y; k3 = x < y ? y : x; }
            { const u32 x = k4, y = k6; k4 = x < y ? x : y; k6 = x < y ? y : x; }
            { const u32 x = k5, y = k7; k5 = x < y ? x : y; k7 = x < y ? y : x; }
            { const u32 x = k8, y = k10; k8 = x < y ? x : y; k10 = x < y ? y : x; }
            { const u32 x = k9, y = k11; k9 = x < y ? x : y; k11 = x < y ? y : x; }
            { const u32 x = k12, y = k14; k12 = x < y ? x : y; k14 = x < y ? y : x; }
            { const u32 x = k13, y = k15; k13 = x < y ? x : y; k15 = x < y ? y : x; }
            { const u32 x = k16, y = k18; k16 = x < y ? x : y; k18 = x < y ? y : x; }
            { const u32 x = k17, y = k19; k17 = x < y ? x : y; k19 = x < y ? y : x; }
            { const u32 x = k20, y = k22; k20 = x < y ? x : y; k22 = x < y ? y : x; }
            { const u32 x = k21, y = k23; k21 = x < y ? x : y; k23 = x < y ? y : x; }
            { const u32 x = k24, y = k26; k24 = x < y ? x : y; k26 = x < y ? y : x; }
            { const u32 x = k1, y = k2; k1 = x < y ? x : y; k2 = x < y ? y : x; }
            { const u32 x = k5, y = k6; k5 = x < y ? x : y; k6 = x < y ? y : x; }
            { const u32 x = k9, y = k10; k9 = x < y ? x : y; k10 = x < y ? y : x; }
            { const u32 x = k13, y = k14; k13 = x < y ? x : y; k14 = x < y ? y : x; }
            { const u32 x = k17, y = k18; k17 = x < y ? x : y; k18 = x < y ? y : x; }
            { const u32 x = k21, y = k22; k21 = x < y ? x : y; k22 = x < y ? y : x; }
            { const u32 x = k25, y = k26; k25 = x < y ? x : y; k26 = x < y ? y : x; }
            { const u32 x = k0, y = k4; k0 = x < y ? x : y; k4 = x < y ? y : x; }
            { const u32 x = k1, y = k5; k1 = x < y ? x : y; k5 = x < y ? y : x; }
            { const u32 x = k2, y = k6; k2 = x < y ? x : y; k6 = x < y ? y : x; }
            { const u32 x = k3, y = k7; k3 = x < y ? x : y; k7 = x < y ? y : x; }
            { const u32 x = k8, y = k12; k8 = x < y ? x : y; k12 = x < y ? y : x; }
            { const u32 x = k9, y = k13; k9 = x < y ? x : y; k13 = x < y ? y : x; }
            { const u32 x = k10, y = k14; k10 = x < y ? x : y; k14 = x < y ? y : x; }
            { const u32 x = k11, y = k15; k11 = x < y ? x : y; k15 = x < y ? y : x; }
            { const u32 x = k16, y = k20; k16 = x < y ? x : y; k20 = x < y ? y : x; }
            { const u32 x = k17, y = k21; k17 = x < y ? x : y; k21 = x < y ? y : x; }
            { const u32 x = k18, y = k22; k18 = x < y ? x : y; k22 = x < y ? y : x; }
            { const u32 x = k19, y = k23; k19 = x < y ? x : y; k23 = x < y ? y : x; }
            { const u32 x = k2, y = k4; k2 = x < y ? x : y; k4 = x < y ? y : x; }
            { const u32 x = k3, y = k5; k3 = x < y ? x : y; k5 = x < y ? y : x; }
            { const u32 x = k10, y = k12; k10 = x < y ? x : y; k12 = x < y ? y : x; }
            { const u32 x = k11, y = k13; k11 = x < y ? x : y; k13 = x < y ? y : x; }
            { const u32 x = k18, y = k20; k18 = x < y ? x : y; k20 = x < y ? y : x; }
            { const u32 x = k19, y = k21; k19 = x < y ? x : y; k21 = x < y ? y : x; }
            { const u32 x = k1, y = k2; k1 = x < y ? x : y; k2 = x < y ? y : x; }
            { const u32 x = k3, y = k4; k3 = x < y ? x : y; k4 = x < y ? y : x; }
            { const u32 x = k5, y = k6; k5 = x < y ? x : y; k6 = x < y ? y : x; }
            { const u32 x = k9, y = k10; k9 = x < y ? x : y; k10 = x < y ? y : x; }
            { const u32 x = k11, y = k12; k11 = x < y ? x : y; k12 = x < y ? y : x; }
            { const u32 x = k13, y = k14; k13 = x < y ? x : y; k14 = x < y ? y : x; }
            { const u32 x = k17, y = k18; k17 = x < y ? x : y; k18 = x < y ? y : x; }
            { const u32 x = k19, y = k20; k19 = x < y ? x : y; k20 = x < y ? y : x; }
            { const u32 x = k21, y = k22; k21 = x < y ? x : y; k22 = x < y ? y : x; }
            { const u32 x = k25, y = k26; k25 = x < y ? x : y; k26 = x < y ? y : x; }
            { const u32 x = k0, y = k8; k0 = x < y ? x : y; k8 = x < y ? y : x; }
            { const u32 x = k1, y = k9; k1 = x < y ? x : y; k9 = x < y ? y : x; }
            { const u32 x = k2, y = k10; k2 = x < y ? x : y; k10 = x < y ? y : x; }
            { const u32 x = k3, y = k11; k3 = x < y ? x : y; k11 = x < y ? y : x; }
            { const u32 x = k4, y = k12; k4 = x < y ? x : y; k12 = x < y ? y : x; }
            { const u32 x = k5, y = k13; k5 = x < y ? x : y; k13 = x < y ? y : x; }
            { const u32 x = k6, y = k14; k6 = x < y ? x : y; k14 = x < y ? y : x; }
            { const u32 x = k7, y = k15; k7 = x < y ? x : y; k15 = x < y ? y : x; }
            { const u32 x = k16, y = k24; k16 = x < y ? x : y; k24 = x < y ? y : x; }
            { const u32 x = k17, y = k25; k17 = x < y ? x : y; k25 = x < y ? y : x; }
            { const u32 x = k18, y = k26; k18 = x < y ? x : y; k26 = x < y ? y : x; }
            { const u32 x = k4, y = k8; k4 = x < y ? x : y; k8 = x < y ? y : x; }
            { const u32 x = k5, y = k9; k5 = x < y ? x : y; k9 = x < y ? y : x; }
            { const u32 x = k6, y = k10; k6 = x < y ? x : y; k10 = x < y ? y : x; }
            { const u32 x = k7, y = k11; k7 = x < y ? x : y; k11 = x < y ? y : x; }
            { const u32 x = k20, y = k24; k20 = x < y ? x : y; k24 = x < y ? y : x; }
            { const u32 x = k21, y = k25; k21 = x < y ? x : y; k25 = x < y ? y : x; }
            { const u32 x = k22, y = k26; k22 = x < y ? x : y; k26 = x < y ? y : x; }
            { const u32 x = k2, y = k4; k2 = x < y ? x : y; k4 = x < y ? y : x; }
            { const u32 x = k3, y = k5; k3 = x < y ? x : y; k5 = x < y ? y : x; }
            { const u32 x = k6, y = k8; k6 = x < y ? x : y; k8 = x < y ? y : x; }
            { const u32 x = k7, y = k9; k7 = x < y ? x : y; k9 = x < y ? y : x; }
            { const u32 x = k10, y = k12; k10 = x < y ? x : y; k12 = x < y ? y : x; }
            { const u32 x = k11, y = k13; k11 = x < y ? x : y; k13 = x < y ? y : x; }
            { const u32 x = k18, y = k20; k18 = x < y ? x : y; k20 = x < y ? y : x; }
            { const u32 x = k19, y = k21; k19 = x < y ? x : y; k21 = x < y ? y : x; }
            { const u32 x = k22, y = k24; k22 = x < y ? x : y; k24 = x < y ? y : x; }
            { const u32 x = k23, y = k25; k23 = x < y ? x : y; k25 = x < y ? y : x; }
            { const u32 x = k1, y = k2; k1 = x < y ? x : y; k2 = x < y ? y : x; }
            { const u32 x = k3, y = k4; k3 = x < y ? x : y; k4 = x < y ? y : x; }
            { const u32 x = k5, y = k6; k5 = x < y ? x : y; k6 = x < y ? y : x; }
            { const u32 x = k7, y = k8; k7 = x < y ? x : y; k8 = x < y ? y : x; }
            { const u32 x = k9, y = k10; k9 = x < y ? x : y; k10 = x < y ? y : x; }
            { const u32 x = k11, y = k12; k11 = x < y ? x : y; k12 = x < y ? y : x; }
            { const u32 x = k13, y = k14; k13 = x < y ? x : y; k14 = x < y ? y : x; }
            { const u32 x = k17, y = k18; k17 = x < y ? x : y; k18 = x < y ? y : x; }
            { const u32 x = k19, y = k20; k19 = x < y ? x : y; k20 = x < y ? y : x; }
            { const u32 x = k21, y = k22; k21 = x < y ? x : y; k22 = x < y ? y : x; }
            { const u32 x = k23, y = k24; k23 = x < y ? x : y; k24 = x < y ? y : x; }
            { const u32 x = k25, y = k26; k25 = x < y ? x : y; k26 = x < y ? y : x; }
            { const u32 x = k0, y = k16; k0 = x < y ? x : y; k16 = x < y ? y : x; }
            { const u32 x = k1, y = k17; k1 = x < y ? x : y; k17 = x < y ? y : x; }
            { const u32 x = k2, y = k18; k2 = x < y ? x : y; k18 = x < y ? y : x; }
            { const u32 x = k3, y = k19; k3 = x < y ? x : y; k19 = x < y ? y : x; }
            { const u32 x = k4, y = k20; k4 = x < y ? x : y; k20 = x < y ? y : x; }
            { const u32 x = k5, y = k21; k5 = x < y ? x : y; k21 = x < y ? y : x; }
            { const u32 x = k6, y = k22; k6 = x < y ? x : y; k22 = x < y ? y : x; }
            { const u32 x = k7, y = k23; k7 = x < y ? x : y; k23 = x < y ? y : x; }
            { const u32 x = k8, y = k24; k8 = x < y ? x : y; k24 = x < y ? y : x; }
            { const u32 x = k9, y = k25; k9 = x < y ? x : y; k25 = x < y ? y : x; }
            { const u32 x = k10, y = k26; k10 = x < y ? x : y; k26 = x < y ? y : x; }
            { const u32 x = k8, y = k16; k8 = x < y ? x : y; k16 = x < y ? y : x; }
            { const u32 x = k9, y = k17; k9 = x < y ? x : y; k17 = x < y ? y : x; }
            { const u32 x = k10, y = k18; k10 = x < y ? x : y; k18 = x < y ? y : x; }
            { const u32 x = k11, y = k19; k11 = x < y ? x : y; k19 = x < y ? y : x; }
            { const u32 x = k12, y = k20; k12 = x < y ? x : y; k20 = x < y ? y : x; }
            { const u32 x = k13, y = k21; k13 = x < y ? x : y; k21 = x < y ? y : x; }
            { const u32 x = k14, y = k22; k14 = x < y ? x : y; k22 = x < y ? y : x; }
            { const u32 x = k7, y = k11; k7 = x < y ? x : y; k11 = x < y ? y : x; }
            { const u32 x = k12, y = k16; k12 = x < y ? x : y; k16 = x < y ? y : x; }
            { const u32 x = k13, y = k17; k13 = x < y ? x : y; k17 = x < y ? y : x; }
            { const u32 x = k14, y = k18; k14 = x < y ? x : y; k18 = x < y ? y : x; }
            { const u32 x = k11, y = k13; k11 = x < y ? x : y; k13 = x < y ? y : x; }
            { const u32 x = k14, y = k16; k14 = x < y ? x : y; k16 = x < y ? y : x; }
            { const u32 x = k13, y = k14; k13 = x < y ? x : y; k14 = x < y ? y : x; }
            result = nan ? (u32)~(u32)0 : k13;
        } else {
            i32 there = 0, nan = 0;
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
                    const u32 key = gone < 0 ? pi6[0] : rising_key_u32(load_u32(from + place), (u32)0x7f800000);
                    if (gone > -2) {
                        there++;
                        nan |= key == (u32)~(u32)0;
                    }
            }
            const i32 wanted = (i32)(rank == points / 2 ? there / 2 : rank * there / points);
            result = there == 0 || nan != 0 ? (u32)~(u32)0 : (u32)0;
#ifndef __OPENCL_VERSION__
#pragma unroll 1
#endif
            for (i32 bit = there == 0 || nan != 0 ? -1 : 31; bit >= 0; bit--) {
                const u32 trial = (u32)(result | (u32)((u32)1 << bit));
                i32 smaller = 0;
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
                    const u32 key = gone < 0 ? pi6[0] : rising_key_u32(load_u32(from + place), (u32)0x7f800000);
                    if (gone > -2) smaller += key < trial;
                }
                if (smaller <= wanted) result = trial;
            }
        }
        store_u32(po0 + item, of_key_u32((u32)result, (u32)0x7f800000));
    }
}
