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

DEV u16 bytes_u16(GLB const u8 *p) {
    u16 x = 0;
    for (u32 i = 0; i < 16 / 8; i++) x = (u16)(x | (u16)((u32)p[i] << (8 * i)));
    return x;
}

DEV f16 load_bytes_f16(GLB const u8 *p) { return half_to_f32(bytes_u16(p)); }

DEV void put_bytes_u16(GLB u8 *p, u16 x) {
    for (u32 i = 0; i < 16 / 8; i++) p[i] = (u8)(x >> (8 * i));
}

DEV u16 f32_to_half(f32 x) {
    u32 bits = u32_of(x), sign = bits >> 16 & 0x8000, a = bits & 0x7fffffff;
    u32 h = (a + 0xfff + (a >> 13 & 1) - 0x38000000) >> 13;
    if (a < 0x38800000) h = (u32)rint_(f32_of(a) * 16777216.0f);
    if (a >= 0x477ff000) h = 0x7c00;
    if (a > 0x7f800000) h = 0x7e00;
    return (u16)(sign | h);
}

DEV void store_bytes_f16(GLB u8 *p, f16 x) { put_bytes_u16(p, f32_to_half(x)); }

DEV i64 load_i64(GLB const i64 *p) { return *p; }

DEV void store_i64(GLB i64 *p, i64 x) { *p = x; }

DEV f16 load_f16(GLB const u16 *p) { return half_to_f32(*p); }

DEV f16 rounded_f16(f32 x) { return half_to_f32(f32_to_half(x)); }

DEV f32 add_f32(f32 a, f32 b) { return a + b; }

DEV f16 add_f16(f16 a, f16 b) { return rounded_f16(add_f32(a, b)); }

#undef ix
#define ix i32
KERNEL(kc8a9c2580f0d1771, 128)(GLB const i64 * restrict pi0, const i64 oi0, GLB i64 * restrict po0, const i64 oo0, const ix n0) {
    pi0 += oi0;
    po0 += oo0;
    EACH_X(d0, n0) {
        const i64 v0 = load_i64(pi0 + d0);
        store_i64(po0 + d0, v0);
    }
}

#undef ix
#define ix i32
KERNEL(k6acaa22ad1b81a78, 128)(GLB const u16 * restrict pi0, const i64 oi0, GLB u8 * restrict po0, const i64 oo0, const ix n0, const i64 items, const i64 total, const i64 part, const i64 parts, const i64 bins, GLB i64 *scratch0, GLB i64 *scratch1, GLB i64 *scratch2) {
    pi0 += oi0;
    po0 += oo0;
    EACH_X(item, (ix)items) {
        GLB i64 *own = scratch2 + (i64)item * bins;
        for (i64 bin = 0; bin < bins; bin++) own[bin] = 0;
        const i64 start = (i64)item * part, end = ((i64)item + 1) * part < total ? ((i64)item + 1) * part : total;
        ix rest = (ix)start;
        ix d0 = rest;
        for (i64 at = start; at < end; at++) {
            const i64 by = scratch0[at];
            if (by != (i64)((u64)1 << 63)) {
                GLB u8 *to = po0 + 2 * d0 + by;
                const u64 spread = (u64)(to - po0) * (u64)0x9E3779B97F4A7C15;
                const u32 bin = mulhi_u32((u32)(spread >> 32), (u32)bins);
                own[bin]++;
            }
            d0++;
        }
    }
}

#undef ix
#define ix i32
KERNEL(k34ecc1eafd35e610, 128)(GLB const u16 * restrict pi0, const i64 oi0, GLB u8 * restrict po0, const i64 oo0, const ix n0, const i64 items, const i64 total, const i64 part, const i64 parts, const i64 bins, GLB i64 *scratch0, GLB i64 *scratch1, GLB i64 *scratch2) {
    pi0 += oi0;
    po0 += oo0;
    EACH_X(item, (ix)items) {
        i64 sum = 0;
        for (i64 at = item; at < parts * bins; at += bins) {
            const i64 count = scratch2[at];
            scratch2[at] = sum;
            sum += count;
        }
        scratch2[parts * bins + item] = sum;
    }
}

#undef ix
#define ix i32
KERNEL(kf5a1e15f617e568d, 128)(GLB const u16 * restrict pi0, const i64 oi0, GLB u8 * restrict po0, const i64 oo0, const ix n0, const i64 items, const i64 total, const i64 part, const i64 parts, const i64 bins, GLB i64 *scratch0, GLB i64 *scratch1, GLB i64 *scratch2) {
    pi0 += oi0;
    po0 += oo0;
    EACH_X(item, (ix)items) {
        GLB i64 *own = scratch2 + (i64)item * bins;
        i64 before = 0;
        for (i64 bin = 0; bin < bins; bin++) {
            own[bin] += before;
            before += scratch2[parts * bins + bin];
        }
        const i64 start = (i64)item * part, end = ((i64)item + 1) * part < total ? ((i64)item + 1) * part : total;
        ix rest = (ix)start;
        ix d0 = rest;
        for (i64 at = start; at < end; at++) {
            const i64 by = scratch0[at];
            if (by != (i64)((u64)1 << 63)) {
                GLB u8 *to = po0 + 2 * d0 + by;
                const u64 spread = (u64)(to - po0) * (u64)0x9E3779B97F4A7C15;
                const u32 bin = mulhi_u32((u32)(spread >> 32), (u32)bins);
                scratch1[own[bin]++] = at;
            }
            d0++;
        }
    }
}

#undef ix
#define ix i32
DEV f16 k851527e17909ace0_at(GLB const u16 * restrict pi0, const ix n0, const ix d0) {
    const f16 v0 = load_f16(pi0 + d0);
    const f16 v1 = add_f16(v0, v0);
    return v1;
}
KERNEL(k851527e17909ace0, 128)(GLB const u16 * restrict pi0, const i64 oi0, GLB u8 * restrict po0, const i64 oo0, const ix n0, const i64 items, const i64 total, const i64 part, const i64 parts, const i64 bins, GLB i64 *scratch0, GLB i64 *scratch1, GLB i64 *scratch2) {
    pi0 += oi0;
    po0 += oo0;
    EACH_X(item, (ix)items) {
        const GLB i64 *ends = scratch2 + (parts - 1) * bins + item;
        for (i64 i = item == 0 ? 0 : ends[-1]; i < ends[0]; i++) {
            const i64 at = scratch1[i], by = scratch0[at];
            ix rest = (ix)at;
            const ix d0 = rest;
            GLB u8 *to = po0 + 2 * d0 + by;
            store_bytes_f16(to, add_f16(load_bytes_f16(to), k851527e17909ace0_at(pi0, n0, d0)));
        }
    }
}
