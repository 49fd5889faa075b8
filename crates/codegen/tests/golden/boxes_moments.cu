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
KERNEL(k177faf23064b20db, 128)(GLB const f64 * restrict pi0, const i64 oi0, GLB const i32 * restrict pi1, const i64 oi1, GLB const i32 * restrict pi2, const i64 oi2, GLB const f64 * restrict pi3, const i64 oi3, GLB f32 * restrict po0, const i64 oo0, const i64 items, const i64 length, const i64 parts, const i64 rows, const i64 row, const i64 taps, const i64 points, const i64 read, const i64 written, const i64 before, const i64 factor, const i64 range) {
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
        f64 all0 = 0, box0 = 0, parts0[30];
        f64 all1 = 0, box1 = 0, parts1[30];
        ix done = 0;
        if ((taps & 1) != 0) {
            const i64 at_a = own < 0 ? pi2[at + (done + 0)] : own + (done + 0);
            f64 a0 = at_a < 0 ? outside : load_f64(from + at_a * row);
            f64 a1 = at_a < 0 ? 0 : load_f64(from + 1 * read + at_a * row);
            box0 = a0; box1 = a1;
            if (done == 0) {
                all0 = box0; all1 = box1;
            } else {
                {
                    const f64 share = (f64)1 / (f64)(done + 1);
                    all1 = variance_of_both(all0, box0, all1, box1, share);
                    all0 = mean_of_both(all0, box0, share);
                }
            }
            done += 1;
        }
        if ((taps & 2) != 0) {
            const i64 at_a = own < 0 ? pi2[at + (done + 0)] : own + (done + 0);
            f64 a0 = at_a < 0 ? outside : load_f64(from + at_a * row);
            f64 a1 = at_a < 0 ? 0 : load_f64(from + 1 * read + at_a * row);
            const i64 at_b = own < 0 ? pi2[at + (done + 1)] : own + (done + 1);
            f64 b0 = at_b < 0 ? outside : load_f64(from + at_b * row);
            f64 b1 = at_b < 0 ? 0 : load_f64(from + 1 * read + at_b * row);
            {
                const f64 share = 0.5;
                a1 = variance_of_both(a0, b0, a1, b1, share);
                a0 = mean_of_both(a0, b0, share);
            }
            box0 = a0; box1 = a1;
            if (done == 0) {
                all0 = box0; all1 = box1;
            } else {
                {
                    const f64 share = (f64)2 / (f64)(done + 2);
                    all1 = variance_of_both(all0, box0, all1, box1, share);
                    all0 = mean_of_both(all0, box0, share);
                }
            }
            done += 2;
        }
        for (i64 size = 4; size <= taps; size *= 2) {
            if ((taps & size) == 0) continue;
            for (ix leaf = 0; leaf < (ix)(size / 4); leaf++) {
                const ix first = done + leaf * 4;
                const i64 at_a = own < 0 ? pi2[at + (first + 0)] : own + (first + 0);
                f64 a0 = at_a < 0 ? outside : load_f64(from + at_a * row);
                f64 a1 = at_a < 0 ? 0 : load_f64(from + 1 * read + at_a * row);
                const i64 at_b = own < 0 ? pi2[at + (first + 1)] : own + (first + 1);
                f64 b0 = at_b < 0 ? outside : load_f64(from + at_b * row);
                f64 b1 = at_b < 0 ? 0 : load_f64(from + 1 * read + at_b * row);
                const i64 at_c = own < 0 ? pi2[at + (first + 2)] : own + (first + 2);
                f64 c0 = at_c < 0 ? outside : load_f64(from + at_c * row);
                f64 c1 = at_c < 0 ? 0 : load_f64(from + 1 * read + at_c * row);
                const i64 at_d = own < 0 ? pi2[at + (first + 3)] : own + (first + 3);
                f64 d0 = at_d < 0 ? outside : load_f64(from + at_d * row);
                f64 d1 = at_d < 0 ? 0 : load_f64(from + 1 * read + at_d * row);
                {
                    const f64 share = 0.5;
                    a1 = variance_of_both(a0, b0, a1, b1, share);
                    a0 = mean_of_both(a0, b0, share);
                }
                {
                    const f64 share = 0.5;
                    c1 = variance_of_both(c0, d0, c1, d1, share);
                    c0 = mean_of_both(c0, d0, share);
                }
                {
                    const f64 share = 0.5;
                    a1 = variance_of_both(a0, c0, a1, c1, share);
                    a0 = mean_of_both(a0, c0, share);
                }
                box0 = a0; box1 = a1;
                u32 level = 0;
                for (; (leaf >> level & 1) != 0; level++) {
                    {
                        const f64 share = 0.5;
                        box1 = variance_of_both(parts0[level], box0, parts1[level], box1, share);
                        box0 = mean_of_both(parts0[level], box0, share);
                    }
                }
                parts0[level] = box0; parts1[level] = box1;
            }
            if (done == 0) {
                all0 = box0; all1 = box1;
            } else {
                {
                    const f64 share = (f64)(ix)size / (f64)(done + (ix)size);
                    all1 = variance_of_both(all0, box0, all1, box1, share);
                    all0 = mean_of_both(all0, box0, share);
                }
            }
            done += (ix)size;
        }
        store_f32(to + 0, (f32)(root_f64(all1)));
    }
}
