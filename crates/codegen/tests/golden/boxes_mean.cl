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

// float16: its register is a float32 that is rounded after every operation.
DEV f32 half_to_f32(u16 h) {
    u32 sign = (u32)(h & 0x8000) << 16, m = (u32)h & 0x7fff;
    u32 bits = (m << 13) + 0x38000000;
    if (m >= 0x7c00) bits = 0x7f800000 | (m << 13);
    if (m < 0x400) bits = u32_of((f32)m * 5.9604644775390625e-8f);
    return f32_of(sign | bits);
}

DEV f16 load_f16(GLB const u16 *p) { return half_to_f32(*p); }

DEV u16 f32_to_half(f32 x) {
    u32 bits = u32_of(x), sign = bits >> 16 & 0x8000, a = bits & 0x7fffffff;
    u32 h = (a + 0xfff + (a >> 13 & 1) - 0x38000000) >> 13;
    if (a < 0x38800000) h = (u32)rint_(f32_of(a) * 16777216.0f);
    if (a >= 0x477ff000) h = 0x7c00;
    if (a > 0x7f800000) h = 0x7e00;
    return (u16)(sign | h);
}

DEV void store_f16(GLB u16 *p, f16 x) { *p = f32_to_half(x); }

#undef ix
#define ix i32
KERNEL(ke06c92ee1b82ed98, 128)(GLB const u16 * restrict pi0, const i64 oi0, GLB const i32 * restrict pi1, const i64 oi1, GLB const i32 * restrict pi2, const i64 oi2, GLB const f32 * restrict pi3, const i64 oi3, GLB u16 * restrict po0, const i64 oo0, const i64 items, const i64 length, const i64 parts, const i64 rows, const i64 row, const i64 taps, const i64 points, const i64 read, const i64 written) {
    pi0 += oi0;
    pi1 += oi1;
    pi2 += oi2;
    pi3 += oi3;
    po0 += oo0;
    EACH_X(item, (ix)items) {
        const ix line = item / (ix)row, column = item - line * (ix)row;
        const ix outer = line / (ix)length, at = line - outer * (ix)length;
        GLB const u16 *from = pi0 + outer * rows * row + column;
        GLB u16 *to = po0 + line * row + column;
        const ix own = pi1[at];
        const i64 list = own < 0 ? -1 - (i64)own : 0;
        const f32 outside = pi3[4 * list];
        const f32 scale = pi3[4 * list + 1];
        f32 all0 = 0, box0 = 0, parts0[30];
        ix done = 0;
        if ((taps & 1) != 0) {
            const i64 at_a = own < 0 ? pi2[at + (done + 0)] : own + (done + 0);
            f32 a0 = at_a < 0 ? outside : (f32)load_f16(from + at_a * row) * scale;
            box0 = a0;
            if (done == 0) {
                all0 = box0;
            } else {
                all0 = all0 + box0;
            }
            done += 1;
        }
        if ((taps & 2) != 0) {
            const i64 at_a = own < 0 ? pi2[at + (done + 0)] : own + (done + 0);
            f32 a0 = at_a < 0 ? outside : (f32)load_f16(from + at_a * row) * scale;
            const i64 at_b = own < 0 ? pi2[at + (done + 1)] : own + (done + 1);
            f32 b0 = at_b < 0 ? outside : (f32)load_f16(from + at_b * row) * scale;
            a0 = a0 + b0;
            box0 = a0;
            if (done == 0) {
                all0 = box0;
            } else {
                all0 = all0 + box0;
            }
            done += 2;
        }
        if ((taps & 4) != 0) {
            const i64 at_a = own < 0 ? pi2[at + (done + 0)] : own + (done + 0);
            f32 a0 = at_a < 0 ? outside : (f32)load_f16(from + at_a * row) * scale;
            const i64 at_b = own < 0 ? pi2[at + (done + 1)] : own + (done + 1);
            f32 b0 = at_b < 0 ? outside : (f32)load_f16(from + at_b * row) * scale;
            const i64 at_c = own < 0 ? pi2[at + (done + 2)] : own + (done + 2);
            f32 c0 = at_c < 0 ? outside : (f32)load_f16(from + at_c * row) * scale;
            const i64 at_d = own < 0 ? pi2[at + (done + 3)] : own + (done + 3);
            f32 d0 = at_d < 0 ? outside : (f32)load_f16(from + at_d * row) * scale;
            a0 = a0 + b0;
            c0 = c0 + d0;
            a0 = a0 + c0;
            box0 = a0;
            if (done == 0) {
                all0 = box0;
            } else {
                all0 = all0 + box0;
            }
            done += 4;
        }
        for (i64 size = 8; size <= taps; size *= 2) {
            if ((taps & size) == 0) continue;
            for (ix leaf = 0; leaf < (ix)(size / 8); leaf++) {
                const ix first = done + leaf * 8;
                const i64 at_a = own < 0 ? pi2[at + (first + 0)] : own + (first + 0);
                f32 a0 = at_a < 0 ? outside : (f32)load_f16(from + at_a * row) * scale;
                const i64 at_b = own < 0 ? pi2[at + (first + 1)] : own + (first + 1);
                f32 b0 = at_b < 0 ? outside : (f32)load_f16(from + at_b * row) * scale;
                const i64 at_c = own < 0 ? pi2[at + (first + 2)] : own + (first + 2);
                f32 c0 = at_c < 0 ? outside : (f32)load_f16(from + at_c * row) * scale;
                const i64 at_d = own < 0 ? pi2[at + (first + 3)] : own + (first + 3);
                f32 d0 = at_d < 0 ? outside : (f32)load_f16(from + at_d * row) * scale;
                const i64 at_e = own < 0 ? pi2[at + (first + 4)] : own + (first + 4);
                f32 e0 = at_e < 0 ? outside : (f32)load_f16(from + at_e * row) * scale;
                const i64 at_f = own < 0 ? pi2[at + (first + 5)] : own + (first + 5);
                f32 f0 = at_f < 0 ? outside : (f32)load_f16(from + at_f * row) * scale;
                const i64 at_g = own < 0 ? pi2[at + (first + 6)] : own + (first + 6);
                f32 g0 = at_g < 0 ? outside : (f32)load_f16(from + at_g * row) * scale;
                const i64 at_h = own < 0 ? pi2[at + (first + 7)] : own + (first + 7);
                f32 h0 = at_h < 0 ? outside : (f32)load_f16(from + at_h * row) * scale;
                a0 = a0 + b0;
                c0 = c0 + d0;
                e0 = e0 + f0;
                g0 = g0 + h0;
                a0 = a0 + c0;
                e0 = e0 + g0;
                a0 = a0 + e0;
                box0 = a0;
                u32 level = 0;
                for (; (leaf >> level & 1) != 0; level++) {
                    box0 = parts0[level] + box0;
                }
                parts0[level] = box0;
            }
            if (done == 0) {
                all0 = box0;
            } else {
                all0 = all0 + box0;
            }
            done += (ix)size;
        }
        store_f16(to + 0, (f16)(all0 / pi3[4 * list + 2] * pi3[4 * list + 3]));
    }
}
