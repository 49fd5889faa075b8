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

DEV c128 c128_of(f64 re, f64 im) {
    c128 z;
    z.re = re;
    z.im = im;
    return z;
}

DEV c128 load_c128(GLB const f64 *p) { return c128_of(p[0], p[1]); }

DEV void store_c128(GLB f64 *p, c128 z) {
    p[0] = z.re;
    p[1] = z.im;
}

DEV c128 mul_c128(c128 a, c128 b) {
    return c128_of(fma_f64(a.re, b.re, -(a.im * b.im)), fma_f64(a.re, b.im, a.im * b.re));
}

DEV pair pair_of(f64 hi, f64 lo) {
    pair p;
    p.hi = hi;
    p.lo = lo;
    return p;
}

DEV pair fast_two_sum(f64 a, f64 b) {
    f64 sum = a + b;
    return pair_of(sum, b - (sum - a));
}

DEV pair two_product(f64 a, f64 b) {
    f64 product = a * b;
    return pair_of(product, fma_f64(a, b, -product));
}

// sinh(hi + lo) - hi and cosh(hi + lo) - 1.
DEV pair halves(reduced r) {
    pair square = two_product(r.hi, r.hi);
    f64 z = square.hi;
    f64 odd = fma_f64(z * r.hi, fma_f64(fma_f64(fma_f64(fma_f64(2.5109153745957544e-8, z,
        2.7557243868859633e-6), z, 0.00019841269886473341), z, 0.008333333333321489), z,
        0.16666666666666677), r.lo);
    f64 small = fma_f64(0.5, square.lo, r.lo * r.hi);
    f64 even = fma_f64(z * z, fma_f64(fma_f64(fma_f64(fma_f64(2.0921729178215706e-9, z,
        2.755725192275592e-7), z, 2.480158734911928e-5), z, 0.0013888888888873303), z,
        0.041666666666666685), small);
    return pair_of(odd, fma_f64(z, 0.5, even));
}

DEV f64 exp_tail(reduced r) {
    pair h = halves(r);
    return h.hi + h.lo;
}

// Two to the whole number that was rounded with 1.5 * 2^52.
DEV f64 power_of_two(f64 rounded) { return f64_of((u64_of(rounded) + 1023) << 52); }

DEV f64 exp_of(reduced r) {
    pair one = fast_two_sum(1.0, r.hi);
    f64 value = one.hi + (one.lo + exp_tail(r));
    f64 n = r.rounded - 6755399441055744.0;
    f64 half_n = fma_f64(n, 0.5, 6755399441055744.0);
    f64 other = (n - (half_n - 6755399441055744.0)) + 6755399441055744.0;
    return value * power_of_two(half_n) * power_of_two(other);
}

// n ln 2 + hi + lo, with n rounded.
DEV reduced reduced_of(f64 rounded, f64 hi, f64 lo) {
    reduced r;
    r.rounded = rounded;
    r.hi = hi;
    r.lo = lo;
    return r;
}

DEV reduced reduce_exp(f64 x) {
    f64 rounded = fma_f64(x, 1.4426950408889634, 6755399441055744.0);
    f64 n = rounded - 6755399441055744.0;
    f64 near = fma_f64(n, -0.6931471805599453, x);
    f64 high = fma_f64(n, -2.3190468138462996e-17, near);
    return reduced_of(rounded, high, fma_f64(n, -2.3190468138462996e-17, near - high));
}

DEV f64 within(f64 x, f64 least, f64 most) {
    x = x < least ? least : x;
    return x > most ? most : x;
}

DEV f64 exp_f64(f64 x) { return exp_of(reduce_exp(within(x, -760.0, 720.0))); }

DEV f64 infinity_f64(void) { return f64_of((u64)0x7ff0000000000000); }

DEV b8 isinf_f64(f64 a) { return (b8)(a == infinity_f64() || a == -infinity_f64()); }

DEV b8 isfinite_f64(f64 a) { return (b8)(fabs_f64(a) < infinity_f64()); }

DEV f64 nan_f64(void) { return f64_of((u64)0x7ff8000000000000); }

// 2/pi as a binary fraction, 64 digits a word.
CONSTANT u64 TWO_BY_PI[21] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
    0xa9e391615ee61b08,
};

// 64 bits of 2/pi from bit `at` on.
DEV u64 two_by_pi(i32 at) {
    u64 high = at < 0 ? 0 : TWO_BY_PI[at / 64];
    i32 shift = at & 63;
    if (at < 0) return at <= -64 ? 0 : TWO_BY_PI[0] >> -at;
    return shift == 0 ? high : high << shift | TWO_BY_PI[at / 64 + 1] >> (64 - shift);
}

// x less multiples of pi/2 for |x| of 2^30 and beyond: the quadrant, and the rest in two parts (Payne
// and Hanek, "Radian reduction for trigonometric functions", 1983).
DEV turned turn_far(f64 x) {
    u64 bits = u64_of(x);
    i32 e = (i32)(bits >> 52 & 0x7ff) - 1075;
    u64 m = (bits & (u64)0x000fffffffffffff) | (u64)1 << 52;
    // m 2^e 2/pi modulo 4, with 126 bits behind the point: bits of 2/pi from 2^(1-e) on.
    i32 at = e - 2;
    u64 a = two_by_pi(at), b = two_by_pi(at + 64), c = two_by_pi(at + 128);
    u64 low = m * b + mulhi_u64(m, c);
    u64 high = m * a + mulhi_u64(m, b) + (low < m * b ? 1 : 0);
    u64 quadrant = high >> 62;
    high = high << 2 | low >> 62;
    low <<= 2;
    // The rest is signed, around the nearest quadrant.
    b8 minus = (b8)(high >> 63);
    if (minus) {
        quadrant += 1;
        low = ~low + 1;
        high = ~high + (low == 0 ? 1 : 0);
    }
    f64 first = (f64)(high >> 11) * f64_of((u64)(1023 - 53) << 52);
    f64 second = (f64)(high & 0x7ff) * f64_of((u64)(1023 - 64) << 52);
    pair fraction = fast_two_sum(first, second + (f64)low * f64_of((u64)(1023 - 128) << 52));
    pair r = two_product(fraction.hi, 1.5707963267948966);
    r = fast_two_sum(r.hi, r.lo + fma_f64(fraction.hi, 6.123233995736766e-17, fraction.lo * 1.5707963267948966));
    turned t;
    t.quadrant = quadrant;
    t.hi = minus ? -r.hi : r.hi;
    t.lo = minus ? -r.lo : r.lo;
    if (bits >> 63) {
        t.quadrant = (u64)0 - quadrant;
        t.hi = -t.hi;
        t.lo = -t.lo;
    }
    return t;
}

DEV pair two_sum(f64 a, f64 b) {
    f64 sum = a + b, part = sum - a;
    return pair_of(sum, (a - (sum - part)) + (b - part));
}

DEV turned turn(f64 x) {
    if (!(fabs_f64(x) <= 1073741824.0) && isfinite_f64(x)) return turn_far(x);
    f64 rounded = fma_f64(x, 0.6366197723675814, 6755399441055744.0);
    f64 n = rounded - 6755399441055744.0;
    f64 near = fma_f64(n, -1.5707963267948966, x);
    pair second = two_product(n, -6.123233995736766e-17);
    pair sum = two_sum(near, second.hi);
    turned t;
    t.quadrant = u64_of(rounded);
    t.hi = sum.hi;
    t.lo = fma_f64(n, 1.4973849048591698e-33, sum.lo + second.lo);
    return t;
}

// The cosine in two parts.
DEV pair cos_parts(turned t) {
    f64 z = t.hi * t.hi, half_z = 0.5 * z;
    f64 one_less = 1.0 - half_z;
    f64 half_lost = fma_f64(0.5 * t.hi, t.hi, -half_z);
    f64 lost = ((1.0 - one_less) - half_z) - half_lost;
    return pair_of(one_less, fma_f64(z * z, fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(-1.1359119365303375e-11,
        z, 2.0875712413390542e-9), z, -2.7557314266357095e-7), z, 2.480158728915706e-5), z,
        -0.0013888888888873544), z, 0.041666666666666595), fma_f64(t.lo, -t.hi, lost)));
}

DEV f64 sin_tail(turned t) {
    f64 z = t.hi * t.hi, half_z = 0.5 * z;
    return fma_f64(z * t.hi, fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(1.5896660864048355e-10, z,
        -2.505075585317667e-8), z, 2.755731367788194e-6), z, -0.0001984126982976853), z,
        0.008333333333322366), z, -0.16666666666666632), fma_f64(t.lo, -half_z, t.lo));
}

DEV f64 wave(f64 x, u64 quarters) {
    turned t = turn(x);
    u64 quadrant = t.quadrant + quarters;
    pair c = cos_parts(t);
    f64 value = (quadrant & 1) == 0 ? t.hi + sin_tail(t) : c.hi + c.lo;
    return f64_of(u64_of(value) ^ (quadrant & 2) << 62);
}

DEV f64 cos_f64(f64 x) { return !isfinite_f64(x) ? nan_f64() : wave(x, 1); }

DEV f64 sin_f64(f64 x) { return !isfinite_f64(x) ? nan_f64() : fabs_f64(x) < 1e-9 ? x : wave(x, 0); }

// `factor` times e to the x, also where e to the x alone is too large.
DEV f64 exp_times(f64 x, f64 factor) {
    if (x > 700.0 && factor != 0.0) {
        f64 root = exp_f64(x / 2.0);
        return factor * root * root;
    }
    return factor * exp_f64(x);
}

DEV c128 exp_c128(c128 z) {
    f64 x = z.re, y = z.im;
    if (y == 0.0) return c128_of(exp_f64(x), y);
    if (isinf_f64(x) && !isfinite_f64(y)) return x < 0.0 ? c128_of(0.0, 0.0) : c128_of(x, nan_f64());
    if (isinf_f64(x)) return c128_of(exp_f64(x) * cos_f64(y), exp_f64(x) * sin_f64(y));
    return c128_of(exp_times(x, cos_f64(y)), exp_times(x, sin_f64(y)));
}

#undef ix
#define ix i32
KERNEL(ka628af16a4ec9cf5, 128)(GLB const f64 * restrict pi0, const i64 oi0, GLB const f64 * restrict pi1, const i64 oi1, GLB f64 * restrict po0, const i64 oo0, const ix n0) {
    pi0 += oi0;
    pi1 += oi1;
    po0 += oo0;
    EACH_X(d0, n0) {
        const c128 v0 = load_c128(pi0 + 2 * d0);
        const c128 v1 = load_c128(pi1 + 2 * d0);
        const c128 v2 = mul_c128(v0, v1);
        const c128 v3 = exp_c128(v2);
        store_c128(po0 + 2 * d0, v3);
    }
}
