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

DEV void store_f64(GLB f64 *p, f64 x) { *p = x; }

DEV void store_i32(GLB i32 *p, i32 x) { *p = x; }

DEV f64 div_f64(f64 a, f64 b) { return a / b; }

DEV f64 sqrt_f64(f64 a) { return root_f64(a); }

DEV f64 floor_f64(f64 a) { return floor_(a); }

DEV f64 max_f64(f64 a, f64 b) { return (a > b || a != a) ? a : b; }

DEV i32 whole32(f64 x) {
    return x > -2147483649.0 && x < 2147483648.0 ? (i32)x : (i32)((u32)1 << 31);
}

DEV i32 f64_to_i32(f64 x) { return (i32)whole32(x); }

DEV u32 class_f64(f64 x) { return x - x == (f64)0 ? 0u : x != x ? 1u : 2u; }

DEV u32 met_one(u32 a, u32 result, u32 infinite) {
    if (a & 1u) return 0u;
    if (result & 1u) return 8u;
    return (result & 2u) && !(a & 2u) ? infinite : 0u;
}

DEV u32 met_div(u32 a, u32 b, u32 result, b8 by_zero) {
    if ((a | b) & 1u) return 0u;
    const u32 pole = by_zero && (result & 2u) && !((a | b) & 2u) ? 1u : 0u;
    return by_zero && !(result & 1u) ? pole : pole | met_one(a | b, result, 2u);
}

// What a conversion to an integer meets: the processor has those of 32 and of 64 bits.
DEV u32 met_narrow(f64 x) { return trunc_(x) >= -2147483648.0 && trunc_(x) < 2147483648.0 ? 0u : 8u; }

#undef ix
#define ix i32
DEV f64 k477107e41181dd29_at(GLB const f64 * restrict pi0, GLB const f64 * restrict pi1, const ix n0, const ix d0) {
    const f64 v0 = load_f64(pi0 + d0);
    const f64 v1 = load_f64(pi1 + d0);
    const f64 v2 = div_f64(v0, v1);
    const f64 v3 = sqrt_f64(v2);
    return v3;
}
KERNEL(k477107e41181dd29, 128)(GLB const f64 * restrict pi0, const i64 oi0, GLB const f64 * restrict pi1, const i64 oi1, GLB f64 * restrict po0, const i64 oo0, const ix n0, const i64 items, const i64 total, const i64 part, const i64 parts, GLB f64 *scratch0) {
    pi0 += oi0;
    pi1 += oi1;
    po0 += oo0;
    EACH_X(item, (ix)items) {
        ix rest = item;
        i64 at = (i64)(rest % (ix)parts) * part;
        rest /= (ix)parts;
        const i64 end = total - at < part ? total : at + part;
        rest = (ix)at;
        ix d0 = rest;
        f64 sum = k477107e41181dd29_at(pi0, pi1, n0, d0);
        for (at++; at < end; at++) {
            d0++;
            sum = max_f64(sum, k477107e41181dd29_at(pi0, pi1, n0, d0));
        }
        scratch0[item] = sum;
    }
}

#undef ix
#define ix i32
DEV f64 k1660fcdbf479ebf7_at(GLB const f64 * restrict pi0, const ix n0, const ix d0) {
    const f64 v0 = load_f64(pi0 + d0);
    return v0;
}
KERNEL(k1660fcdbf479ebf7, 128)(GLB const f64 * restrict pi0, const i64 oi0, GLB f64 * restrict po0, const i64 oo0, const ix n0, const i64 items, const i64 piece) {
    pi0 += oi0;
    po0 += oo0;
    EACH_X(item, (ix)items) {
        ix rest = item;
        f64 sum = (f64)0;
        b8 has = 0;
        for (ix d0 = 0; d0 < n0; d0++)
        {
            const f64 x = k1660fcdbf479ebf7_at(pi0, n0, d0);
            sum = has ? max_f64(sum, x) : x;
            has = 1;
        }
        if (has) store_f64(po0, sum);
    }
}

#undef ix
#define ix i32
KERNEL(k03d8005537b9ab92, 128)(GLB const f64 * restrict pi0, const i64 oi0, GLB const f64 * restrict pi1, const i64 oi1, GLB i32 * restrict po0, const i64 oo0, const ix n0, GLB u32 *met) {
    pi0 += oi0;
    pi1 += oi1;
    po0 += oo0;
    u32 bad = 0u;
    EACH_X(d0, n0) {
        const f64 v0 = load_f64(pi0 + d0);
        const f64 v1 = load_f64(pi1 + d0);
        const f64 v2 = div_f64(v0, v1);
        const f64 v3 = sqrt_f64(v2);
        const f64 v4 = floor_f64(v3);
        const i32 v5 = f64_to_i32((f64)v4);
        store_i32(po0 + d0, v5);
        bad |= class_f64(v3);
        bad |= class_f64(v4);
        bad |= met_narrow((f64)v4);
    }
    if (bad) OR_INTO(met, bad);
}

#undef ix
#define ix i32
KERNEL(k8849744cf97a9779, 128)(GLB const f64 * restrict pi0, const i64 oi0, GLB const f64 * restrict pi1, const i64 oi1, const ix n0, GLB u32 *met) {
    pi0 += oi0;
    pi1 += oi1;
    u32 bad = 0u;
    EACH_X(d0, n0) {
        const f64 v0 = load_f64(pi0 + d0);
        const f64 v1 = load_f64(pi1 + d0);
        const f64 v2 = div_f64(v0, v1);
        const f64 v3 = sqrt_f64(v2);
        bad |= class_f64(v3);
    }
    if (bad) OR_INTO(met, bad);
}

#undef ix
#define ix i32
KERNEL(kbd4c4ed7c6a452ab, 128)(GLB const f64 * restrict pi0, const i64 oi0, GLB const f64 * restrict pi1, const i64 oi1, const ix n0, GLB u32 *met) {
    pi0 += oi0;
    pi1 += oi1;
    if (met[0] == 0u) return;
    u32 met2 = 0u;
    u32 met3 = 0u;
    u32 met4 = 0u;
    u32 met5 = 0u;
    EACH_X(d0, n0) {
        const f64 v0 = load_f64(pi0 + d0);
        const f64 v1 = load_f64(pi1 + d0);
        const f64 v2 = div_f64(v0, v1);
        const f64 v3 = sqrt_f64(v2);
        const f64 v4 = floor_f64(v3);
        const i32 v5 = f64_to_i32((f64)v4);
        met2 |= met_div(class_f64(v0), class_f64(v1), class_f64(v2), (b8)(v1 == 0));
        met3 |= met_one(class_f64(v2), class_f64(v3), 2u);
        met4 |= met_one(class_f64(v3), class_f64(v4), 2u);
        met5 |= met_narrow((f64)v4);
    }
    if (met2) OR_INTO(met + 3, met2);
    if (met3) OR_INTO(met + 4, met3);
    if (met4) OR_INTO(met + 5, met4);
    if (met5) OR_INTO(met + 6, met5);
}
