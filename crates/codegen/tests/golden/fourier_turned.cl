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

DEV void store_f64(GLB f64 *p, f64 x) { *p = x; }

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

DEV c128 conj_c128(c128 z) { return c128_of(z.re, -z.im); }

DEV c128 add_c128(c128 a, c128 b) { return c128_of(a.re + b.re, a.im + b.im); }

DEV c128 sub_c128(c128 a, c128 b) { return c128_of(a.re - b.re, a.im - b.im); }

DEV f64 within(f64 x, f64 least, f64 most) {
    x = x < least ? least : x;
    return x > most ? most : x;
}

DEV f64 infinity_f64(void) { return f64_of((u64)0x7ff0000000000000); }

DEV b8 isfinite_f64(f64 a) { return (b8)(fabs_f64(a) < infinity_f64()); }

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

DEV f64 nan_f64(void) { return f64_of((u64)0x7ff8000000000000); }

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

// exp(-2 pi i k / n) for k < n: the angle is brought within an eighth of a turn by whole numbers first.
DEV c128 turn_c128(u64 k, u64 n) {
    const u64 octant = 8 * k / n, rest = 8 * k - octant * n;
    const f64 angle = (f64)(octant & 1 ? n - rest : rest) / (f64)n * 0.78539816339744830962;
    const f64 c = cos_f64(angle), s = sin_f64(angle);
    const f64 x = (octant + 1) >> 1 & 1 ? s : c, y = (octant + 1) >> 1 & 1 ? c : s;
    return c128_of((octant + 2) >> 2 & 1 ? -x : x, octant >> 2 & 1 ? y : -y);
}

// a minus i b, the quarter turn of a transform.
DEV c128 quarter_c128(c128 a, c128 b) { return c128_of(a.re + b.im, a.im - b.re); }

DEV c128 times_c128(c128 a, c128 b) {
    return c128_of(fma_f64(a.re, b.re, -(a.im * b.im)), fma_f64(a.re, b.im, a.im * b.re));
}

#undef ix
#define ix i32
KERNEL(kf5cd67aeb48148cc, 128)(const i64 items, const i64 count, const i64 length, const i64 given, const i64 done, const i64 factor, GLB f64 *scratch0, GLB f64 *scratch1, GLB f64 *scratch2, GLB f64 *scratch3) {
    EACH_X(item, (ix)items) {
        store_c128(scratch2 + 2 * (i64)item, turn_c128((u64)item, (u64)count));
    }
}

#undef ix
#define ix i32
KERNEL(kba70daa243e2c4be, 128)(GLB const f64 * restrict pi0, const i64 oi0, const ix si0_0, const ix si0_1, const ix n0, const ix n1, const i64 items, const i64 count, const i64 length, const i64 given, const i64 done, const i64 factor, GLB f64 *scratch0, GLB f64 *scratch1, GLB f64 *scratch2, GLB f64 *scratch3) {
    pi0 += oi0;
    EACH_X(item, (ix)items) {
        const i64 at = item % (ix)count;
        const int second = at > length / 2;
        ix rest = item / (ix)count;
        const ix d0 = rest;
        const ix d1 = (ix)(second ? length - at : at);
        c128 z = c128_of(0, 0);
        if (at < length && d1 < given) {
            z = load_c128(pi0 + d0 * si0_0 + d1 * si0_1);
            if (second) z.im = -z.im;
            if (at == 0 || 2 * at == length) z.im = 0;
            z.im = -z.im;
            z = times_c128(z, turn_c128((u64)at * (u64)at % (u64)(2 * length), (u64)(2 * length)));
        }
        store_c128(scratch0 + 2 * (i64)item, z);
    }
}

#undef ix
#define ix i32
KERNEL(k64c9c3df91c93f7d, 128)(const i64 items, const i64 count, const i64 length, const i64 given, const i64 done, const i64 factor, GLB f64 *scratch0, GLB f64 *scratch1, GLB f64 *scratch2, GLB f64 *scratch3) {
    EACH_X(item, (ix)items) {
        const ix each = (ix)(count / 4), at = item % each;
        const i64 start = (i64)(item / each) * count;
        const ix k = at % (ix)done, step = k * (ix)(count / ((ix)done * 4));
        c128 x0 = load_c128(scratch0 + 2 * (start + at));
        c128 x1 = times_c128(load_c128(scratch0 + 2 * (start + at + 1 * (i64)each)), load_c128(scratch2 + 2 * (i64)(1 * step)));
        c128 x2 = times_c128(load_c128(scratch0 + 2 * (start + at + 2 * (i64)each)), load_c128(scratch2 + 2 * (i64)(2 * step)));
        c128 x3 = times_c128(load_c128(scratch0 + 2 * (start + at + 3 * (i64)each)), load_c128(scratch2 + 2 * (i64)(3 * step)));
        GLB f64 *to = scratch1 + 2 * (start + (i64)(at - k) * 4 + k);
        store_c128(to + 2 * 0 * done, add_c128(add_c128(x0, x2), add_c128(x1, x3)));
        store_c128(to + 2 * 1 * done, quarter_c128(sub_c128(x0, x2), sub_c128(x1, x3)));
        store_c128(to + 2 * 2 * done, sub_c128(add_c128(x0, x2), add_c128(x1, x3)));
        store_c128(to + 2 * 3 * done, quarter_c128(sub_c128(x0, x2), sub_c128(x3, x1)));
    }
}

#undef ix
#define ix i32
KERNEL(k8b1f4bb265d6dea9, 128)(const i64 items, const i64 count, const i64 length, const i64 given, const i64 done, const i64 factor, GLB f64 *scratch0, GLB f64 *scratch1, GLB f64 *scratch2, GLB f64 *scratch3) {
    EACH_X(item, (ix)items) {
        const i64 at = item < length ? (i64)item : count - item;
        c128 z = c128_of(0, 0);
        if (at < length) z = conj_c128(turn_c128((u64)at * (u64)at % (u64)(2 * length), (u64)(2 * length)));
        store_c128(scratch0 + 2 * (i64)item, z);
    }
}

#undef ix
#define ix i32
KERNEL(kf1cd264479a62a12, 128)(const i64 items, const i64 count, const i64 length, const i64 given, const i64 done, const i64 factor, GLB f64 *scratch0, GLB f64 *scratch1, GLB f64 *scratch2, GLB f64 *scratch3) {
    EACH_X(item, (ix)items) {
        GLB f64 *p = scratch0 + 2 * (i64)item;
        const c128 other = load_c128(scratch3 + 2 * (i64)(item % (ix)count));
        store_c128(p, conj_c128(times_c128(load_c128(p), other)));
    }
}

#undef ix
#define ix i32
KERNEL(kf67ffd4ad5492fcd, 128)(GLB f64 * restrict po0, const i64 oo0, const ix so0_0, const ix so0_1, const ix n0, const ix n1, const i64 items, const i64 count, const i64 length, const i64 given, const i64 done, const i64 factor, GLB f64 *scratch0, GLB f64 *scratch1, GLB f64 *scratch2, GLB f64 *scratch3) {
    po0 += oo0;
    EACH_X(item, (ix)items) {
        const i64 at = item % (ix)given, from = (i64)(item / (ix)given) * count + at;
        ix rest = item / (ix)given;
        const ix d0 = rest;
        const ix d1 = (ix)(at);
        c128 z = load_c128(scratch0 + 2 * from);
        z = times_c128(conj_c128(z), turn_c128((u64)at * (u64)at % (u64)(2 * length), (u64)(2 * length)));
        const f64 scale = (f64)(f64_of((u64)factor) / (f64)count);
        store_f64(po0 + d0 * so0_0 + d1 * so0_1, z.re * scale);
    }
}
