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
