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

DEV f64 load_f64(GLB const f64 *p) { return *p; }

DEV void store_f32(GLB f32 *p, f32 x) { *p = x; }

// The mean and the variance of two boxes, given the share that the second one has of both.
DEV f64 mean_of_both(f64 a, f64 b, f64 share) { return fma_f64(share, b - a, a); }

DEV f64 within(f64 x, f64 least, f64 most) {
    x = x < least ? least : x;
    return x > most ? most : x;
}

DEV f64 variance_of_both(f64 a, f64 b, f64 of_a, f64 of_b, f64 share) {
    const f64 near = mean_of_both(a, b, share), within = fma_f64(share, of_b, (1.0 - share) * of_a);
    return fma_f64(share * (b - a), b - near, within);
}

#undef ix
#define ix i32
KERNEL(k50a5278e42af4853, 128)(GLB const f64 * restrict pi0, const i64 oi0, GLB const i32 * restrict pi1, const i64 oi1, GLB const i32 * restrict pi2, const i64 oi2, GLB const f64 * restrict pi3, const i64 oi3, GLB f32 * restrict po0, const i64 oo0, const i64 items, const i64 length, const i64 parts, const i64 rows, const i64 row, const i64 taps, const i64 points, const i64 read, const i64 written, const i64 before, const i64 factor, const i64 range, const i64 cut) {
    pi0 += oi0;
    pi1 += oi1;
    pi2 += oi2;
    pi3 += oi3;
    po0 += oo0;
    EACH_X(item, (ix)items) {
        const ix line = item / (ix)row, column = item - line * (ix)row;
        const ix outer = line / (ix)length, at = line - outer * (ix)length;
        GLB const f64 *from = pi0 + outer * rows * row + column;
        GLB f32 *to = po0 + line * row + column;
        const ix own = pi1[at];
        const i64 list = own < 0 ? -1 - (i64)own : 0;
        const f64 outside = pi3[3 * list];
        const ix past = (at + (ix)taps - (ix)cut) % (ix)taps, ahead = (ix)taps - past;
        const i64 at_end = own < 0 ? pi2[at + (ahead - 1)] : own + (ahead - 1);
        f64 end0 = at_end < 0 ? outside : load_f64(from + at_end * row);
        f64 end1 = at_end < 0 ? 0 : load_f64(from + 1 * read + at_end * row);
        for (ix t = ahead - 2; t >= 0; t--) {
            const i64 at_new = own < 0 ? pi2[at + t] : own + t;
            f64 new0 = at_new < 0 ? outside : load_f64(from + at_new * row);
            f64 new1 = at_new < 0 ? 0 : load_f64(from + 1 * read + at_new * row);
            {
                const f64 share = (f64)(ahead - 1 - t) / (f64)(ahead - t);
                end1 = variance_of_both(new0, end0, new1, end1, share);
                end0 = mean_of_both(new0, end0, share);
            }
        }
        if (past > 0) {
            const i64 at_start = own < 0 ? pi2[at + ahead] : own + ahead;
            f64 start0 = at_start < 0 ? outside : load_f64(from + at_start * row);
            f64 start1 = at_start < 0 ? 0 : load_f64(from + 1 * read + at_start * row);
            for (ix t = ahead + 1; t < (ix)taps; t++) {
                const i64 at_new = own < 0 ? pi2[at + t] : own + t;
                f64 new0 = at_new < 0 ? outside : load_f64(from + at_new * row);
                f64 new1 = at_new < 0 ? 0 : load_f64(from + 1 * read + at_new * row);
                {
                    const f64 share = 1.0 / (f64)(t - ahead + 1);
                    start1 = variance_of_both(start0, new0, start1, new1, share);
                    start0 = mean_of_both(start0, new0, share);
                }
            }
            {
                const f64 share = (f64)past / (f64)taps;
                end1 = variance_of_both(end0, start0, end1, start1, share);
                end0 = mean_of_both(end0, start0, share);
            }
        }
        store_f32(to + 0, (f32)(root_f64(end1)));
    }
}
