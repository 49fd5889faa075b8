// Elementary functions: those of the CPU device, operation by operation, so that their bits agree.
//
// Numbers in two parts are structs: the sum of `hi` and `lo`.

DEV pair pair_of(f64 hi, f64 lo) {
    pair p;
    p.hi = hi;
    p.lo = lo;
    return p;
}

DEV pair two_sum(f64 a, f64 b) {
    f64 sum = a + b, part = sum - a;
    return pair_of(sum, (a - (sum - part)) + (b - part));
}

DEV pair fast_two_sum(f64 a, f64 b) {
    f64 sum = a + b;
    return pair_of(sum, b - (sum - a));
}

DEV pair two_product(f64 a, f64 b) {
    f64 product = a * b;
    return pair_of(product, fma_f64(a, b, -product));
}

// Two to the whole number that was rounded with 1.5 * 2^52.
DEV f64 power_of_two(f64 rounded) { return f64_of((u64_of(rounded) + 1023) << 52); }

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

DEV f64 exp_of(reduced r) {
    pair one = fast_two_sum(1.0, r.hi);
    f64 value = one.hi + (one.lo + exp_tail(r));
    f64 n = r.rounded - 6755399441055744.0;
    f64 half_n = fma_f64(n, 0.5, 6755399441055744.0);
    f64 other = (n - (half_n - 6755399441055744.0)) + 6755399441055744.0;
    return value * power_of_two(half_n) * power_of_two(other);
}

DEV f64 within(f64 x, f64 least, f64 most) {
    x = x < least ? least : x;
    return x > most ? most : x;
}

DEV f64 exp_f64(f64 x) { return exp_of(reduce_exp(within(x, -760.0, 720.0))); }

DEV f64 exp2_f64(f64 x) {
    x = within(x, -1100.0, 1040.0);
    f64 rounded = x + 6755399441055744.0;
    f64 rest = x - (rounded - 6755399441055744.0);
    pair p = two_product(rest, 0.6931471805599453);
    return exp_of(reduced_of(rounded, p.hi, fma_f64(rest, 2.3190468138462996e-17, p.lo)));
}

DEV pair half_expm1(f64 x) {
    reduced r = reduce_exp(x);
    f64 scale = power_of_two(r.rounded - 1.0);
    pair base = two_sum(scale, -0.5);
    pair sum = fast_two_sum(base.hi, scale * r.hi);
    return pair_of(sum.hi, fma_f64(scale, exp_tail(r), sum.lo + base.lo));
}

DEV f64 expm1_f64(f64 x) {
    pair h = half_expm1(within(x, -60.0, 710.0));
    return fabs_f64(x) < 5e-17 ? x : (h.hi + h.lo) * 2.0;
}

// x = 2^hi (1 + lo), for a number above zero; subnormal numbers too.
DEV pair split_log(f64 x) {
    f64 shift = 1023.0;
    if (x < 2.2250738585072014e-308) {
        x = x * 18014398509481984.0;
        shift = 1077.0;
    }
    u64 bits = u64_of(x);
    u64 biased = (bits - (u64)0x3fe6a09e667f3bcd + ((u64)1023 << 52)) >> 52;
    f64 k = f64_of(biased | (u64)0x4330000000000000) - 4503599627370496.0;
    return pair_of(k - shift, f64_of(bits - ((biased - 1023) << 52)) - 1.0);
}

// log(1 + f) in two parts.
DEV pair log_near_one(f64 f) {
    f64 s = f / (2.0 + f);
    f64 z = s * s;
    f64 series = z * fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(0.14797551245027243, z,
        0.15313877221711097), z, 0.18183571774265486), z, 0.22222198412373953), z, 0.2857142874419788), z,
        0.39999999999404845), z, 0.6666666666666736);
    f64 half_f = 0.5 * f * f;
    f64 half_low = fma_f64(0.5 * f, f, -half_f);
    f64 high = f - half_f;
    f64 low = ((f - high) - half_f) - half_low;
    return pair_of(high, fma_f64(s, half_f + series, low));
}

// What a logarithm is where it is no plain number: zero, below, endless, NaN.
DEV f64 log_edge(f64 x) { return x == 0.0 ? -infinity_f64() : x > 0.0 ? x : nan_f64(); }

DEV f64 log_f64(f64 x) {
    if (!(x > 0.0 && x < infinity_f64())) return log_edge(x);
    pair s = split_log(x);
    pair near = log_near_one(s.lo);
    pair sum = fast_two_sum(s.hi * 0.6931471803691238, near.hi);
    return sum.hi + (sum.lo + fma_f64(s.hi, 1.9082149292705877e-10, near.lo));
}

DEV f64 log2_f64(f64 x) {
    if (!(x > 0.0 && x < infinity_f64())) return log_edge(x);
    pair s = split_log(x);
    pair near = log_near_one(s.lo);
    pair scaled = two_product(near.hi, 1.4426950408889634);
    f64 low = fma_f64(near.hi, 2.0355273740931033e-17, fma_f64(near.lo, 1.4426950408889634, scaled.lo));
    pair sum = fast_two_sum(s.hi, scaled.hi);
    return sum.hi + (sum.lo + low);
}

DEV f64 log10_f64(f64 x) {
    if (!(x > 0.0 && x < infinity_f64())) return log_edge(x);
    pair s = split_log(x);
    pair near = log_near_one(s.lo);
    pair scaled = two_product(near.hi, 0.4342944819032518);
    f64 low = fma_f64(near.hi, 1.098319650216765e-17, fma_f64(near.lo, 0.4342944819032518, scaled.lo));
    pair sum = fast_two_sum(s.hi * 0.3010299955494702, scaled.hi);
    return sum.hi + (sum.lo + fma_f64(s.hi, 1.1451100898021838e-10, low));
}

DEV f64 log1p_f64(f64 x) {
    if (!(x > -1.0 && x < infinity_f64())) return log_edge(x + 1.0);
    pair one = two_sum(1.0, x);
    pair s = split_log(one.hi);
    pair near = log_near_one(s.lo);
    pair sum = fast_two_sum(s.hi * 0.6931471803691238, near.hi);
    f64 value = sum.hi + (sum.lo + (fma_f64(s.hi, 1.9082149292705877e-10, near.lo) + one.lo / one.hi));
    return fabs_f64(x) < 1e-17 ? x : value;
}

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

DEV f64 sin_tail(turned t) {
    f64 z = t.hi * t.hi, half_z = 0.5 * z;
    return fma_f64(z * t.hi, fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(1.5896660864048355e-10, z,
        -2.505075585317667e-8), z, 2.755731367788194e-6), z, -0.0001984126982976853), z,
        0.008333333333322366), z, -0.16666666666666632), fma_f64(t.lo, -half_z, t.lo));
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

DEV f64 wave(f64 x, u64 quarters) {
    turned t = turn(x);
    u64 quadrant = t.quadrant + quarters;
    pair c = cos_parts(t);
    f64 value = (quadrant & 1) == 0 ? t.hi + sin_tail(t) : c.hi + c.lo;
    return f64_of(u64_of(value) ^ (quadrant & 2) << 62);
}

DEV f64 sin_f64(f64 x) { return !isfinite_f64(x) ? nan_f64() : fabs_f64(x) < 1e-9 ? x : wave(x, 0); }

DEV f64 cos_f64(f64 x) { return !isfinite_f64(x) ? nan_f64() : wave(x, 1); }

DEV f64 tan_f64(f64 x) {
    if (!isfinite_f64(x)) return nan_f64();
    turned t = turn(x);
    pair s = fast_two_sum(t.hi, sin_tail(t));
    pair c = cos_parts(t);
    c = fast_two_sum(c.hi, c.lo);
    b8 even = (b8)((t.quadrant & 1) == 0);
    f64 above = even ? s.hi : -c.hi, above_low = even ? s.lo : -c.lo;
    f64 below = even ? c.hi : s.hi, below_low = even ? c.lo : s.lo;
    f64 one_by = 1.0 / below;
    f64 quotient = above * one_by;
    f64 left = fma_f64(-quotient, below, above) + fma_f64(-quotient, below_low, above_low);
    return fabs_f64(x) < 1e-9 ? x : fma_f64(left, one_by, quotient);
}

// sinh, or cosh if `swap`, divided by eight.
DEV f64 hyperbolic_sum(f64 x, b8 swap) {
    reduced r = reduce_exp(within(fabs_f64(x), 0.0, 711.0));
    f64 n = r.rounded - 6755399441055744.0;
    f64 up = power_of_two((n - 4.0) + 6755399441055744.0);
    f64 down = power_of_two((-4.0 - (n > 60.0 ? 60.0 : n)) + 6755399441055744.0);
    pair sinh_part = fast_two_sum(up, -down), cosh_part = fast_two_sum(up, down);
    pair even = swap ? cosh_part : sinh_part, odd = swap ? sinh_part : cosh_part;
    pair rest = halves(r);
    pair product = two_product(odd.hi, r.hi);
    pair sum = fast_two_sum(even.hi, product.hi);
    f64 small = fma_f64(odd.lo, r.hi, even.lo + product.lo);
    f64 tail = fma_f64(even.hi, rest.lo, odd.hi * rest.hi);
    return sum.hi + (sum.lo + (small + tail));
}

DEV f64 sinh_f64(f64 x) {
    f64 value = hyperbolic_sum(x, 0) * 8.0;
    return fabs_f64(x) < 1e-9 ? x : copysign_f64(value, x);
}

DEV f64 cosh_f64(f64 x) { return hyperbolic_sum(x, 1) * 8.0; }

DEV f64 tanh_f64(f64 x) {
    pair e = half_expm1(2.0 * within(fabs_f64(x), 0.0, 22.0));
    pair above = fast_two_sum(e.hi, e.lo);
    pair below = two_sum(above.hi, 1.0);
    below.lo = below.lo + above.lo;
    f64 one_by = 1.0 / below.hi;
    f64 quotient = above.hi * one_by;
    f64 left = fma_f64(-quotient, below.hi, above.hi) + fma_f64(-quotient, below.lo, above.lo);
    return fabs_f64(x) < 1e-9 ? x : copysign_f64(fma_f64(left, one_by, quotient), x);
}

// atan(above / below) in two parts, for a quotient up to the tangent of pi/8.
DEV pair atan_ratio(pair above, pair below) {
    f64 one_by = 1.0 / below.hi;
    f64 t = above.hi * one_by;
    f64 left = fma_f64(-t, below.hi, above.hi) + fma_f64(-t, below.lo, above.lo);
    f64 low = left * one_by;
    f64 z = t * t;
    low = fma_f64(low, -z, low);
    return pair_of(t, fma_f64(t * z,
        fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(0.01517247390330886,
        z, -0.03345159213150536), z, 0.04502541014957142), z, -0.05218148915372032), z,
        0.05876980753461977), z, -0.06666222401598451), z, 0.07692282450277019), z, -0.09090908130156836),
        z, 0.1111111108775349), z, -0.1428571428538064), z, 0.19999999999997603), z, -0.33333333333333326),
        low));
}

DEV f64 from_quarters(f64 quarters, f64 t, f64 tail) {
    f64 base = quarters * 0.7853981633974483;
    f64 base_low = fma_f64(quarters, 3.061616997868383e-17, fma_f64(quarters, 0.7853981633974483, -base));
    pair sum = fast_two_sum(base, t);
    return sum.hi + (sum.lo + (tail + base_low));
}

DEV f64 atan_f64(f64 x) {
    f64 size = fabs_f64(x) > 1e20 ? 1e20 : fabs_f64(x);
    b8 near = (b8)(size <= 0.41421356237309503), far = (b8)(size > 1.0 / 0.41421356237309503);
    b8 middle = (b8)(!near && !far);
    pair minus = two_sum(size, -1.0), plus = two_sum(size, 1.0);
    pair above = pair_of(near ? size : far ? -1.0 : minus.hi, middle ? minus.lo : 0.0);
    pair below = pair_of(near ? 1.0 : far ? size : plus.hi, middle ? plus.lo : 0.0);
    pair t = atan_ratio(above, below);
    return copysign_f64(from_quarters(near ? 0.0 : far ? 2.0 : 1.0, t.hi, t.lo), x);
}

// The sine of the angle, or of half of it, and what its angle is more.
DEV pair asin_parts(f64 size) {
    b8 steep = (b8)(size > 0.5);
    f64 z = steep ? (1.0 - size) * 0.5 : size * size;
    f64 root = root_f64(z);
    f64 left = fma_f64(-root, root, z) * 0.5;
    f64 root_low = root > 0.0 ? left / root : 0.0;
    f64 s = steep ? root : size, low = steep ? root_low : 0.0;
    return pair_of(s, fma_f64(s * z,
        fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(0.03269571217719618,
        z, -0.021106420703997392), z, 0.021783398055302623), z, 0.003675143082110197), z,
        0.010788547214125123), z, 0.011397428630199262), z, 0.013981002417222575), z, 0.017351596789545325),
        z, 0.02237221583860347), z, 0.030381942677431897), z, 0.04464285717524879), z, 0.07499999999970125),
        z, 0.16666666666666763), low));
}

DEV f64 asin_f64(f64 x) {
    pair p = asin_parts(fabs_f64(x));
    f64 folded = from_quarters(2.0, -2.0 * p.hi, -2.0 * p.lo);
    return copysign_f64(fabs_f64(x) > 0.5 ? folded : p.hi + p.lo, x);
}

DEV f64 acos_f64(f64 x) {
    pair p = asin_parts(fabs_f64(x));
    b8 low = (b8)(x < 0.0), steep = (b8)(fabs_f64(x) > 0.5);
    f64 t = steep ? 2.0 * p.hi : p.hi, tail = steep ? 2.0 * p.lo : p.lo;
    f64 quarters = steep ? (low ? 4.0 : 0.0) : 2.0;
    b8 forward = (b8)(steep != low);
    return from_quarters(quarters, forward ? t : -t, forward ? tail : -tail);
}

// The angle of a point far from both axes and from infinity.
DEV f64 point_angle(f64 a, f64 b) {
    f64 y = fabs_f64(a), x = fabs_f64(b);
    b8 swap = (b8)(y > x);
    f64 less = swap ? x : y, more = swap ? y : x;
    b8 middle = (b8)(less > more * 0.41421356237309503);
    pair minus = two_sum(less, -more), plus = two_sum(less, more);
    pair above = pair_of(middle ? minus.hi : less, middle ? minus.lo : 0.0);
    pair below = pair_of(middle ? plus.hi : more, middle ? plus.lo : 0.0);
    pair t = atan_ratio(above, below);
    f64 quarters = middle ? 1.0 : 0.0;
    quarters = swap ? 2.0 - quarters : quarters;
    b8 left = (b8)(b < 0.0);
    quarters = left ? 4.0 - quarters : quarters;
    b8 back = (b8)(swap != left);
    return copysign_f64(from_quarters(quarters, back ? -t.hi : t.hi, back ? -t.lo : t.lo), a);
}

DEV f64 atan2_f64(f64 a, f64 b) {
    f64 y = fabs_f64(a), x = fabs_f64(b);
    if (a != a || b != b) return nan_f64();
    if (x >= 1e-150 && x <= 1e150 && y >= 1e-150 && y <= 1e150) return point_angle(a, b);
    if (y == 0.0) return copysign_f64(signbit_f64(b) ? 3.141592653589793 : 0.0, a);
    if (y == infinity_f64() && x == infinity_f64()) {
        return copysign_f64(b < 0.0 ? 2.356194490192345 : 0.7853981633974483, a);
    }
    if (x == 0.0 || y == infinity_f64()) return copysign_f64(1.5707963267948966, a);
    if (x == infinity_f64()) return copysign_f64(b < 0.0 ? 3.141592653589793 : 0.0, a);
    f64 ratio = y / x;
    if (ratio < 1e-20 && b > 0.0) return a / b;
    if (ratio < 1e-20 || ratio > 1e20) {
        return copysign_f64(from_quarters(ratio > 1.0 ? 2.0 : 4.0, 0.0, 0.0), a);
    }
    i64 scale = y > 1.0 || x > 1.0 ? -1000 : 1000;
    return point_angle(ldexp_f64(a, scale), ldexp_f64(b, scale));
}

DEV f64 cbrt_f64(f64 x) {
    if (x == 0.0 || !isfinite_f64(x)) return x;
    f64 back = 1.0;
    if (fabs_f64(x) < 2.2250738585072014e-308) {
        x = x * 18014398509481984.0;
        back = 3.814697265625e-6;
    }
    u64 bits = u64_of(fabs_f64(x));
    f64 exponent = f64_of(bits >> 52 | (u64)0x4330000000000000) - 4503599627370496.0;
    f64 rounded = fma_f64(exponent - 1.0, 0.3333333333333333, 6755399441055744.0);
    f64 thirds = rounded - 6755399441055744.0;
    f64 rest = fma_f64(-3.0, thirds, exponent);
    f64 m = f64_of((bits & (u64)0x000fffffffffffff) | (u64)1023 << 52);
    b8 one = (b8)(rest == 1.0), two = (b8)(rest == 2.0);
    f64 whole = m * (two ? 4.0 : one ? 2.0 : 1.0);
    f64 inv = fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(-0.016511679091286462, m, 0.15224956438221762), m,
        -0.5865141615889806), m, 1.2271496200207155), m, -1.5540274077106597), m, 1.7776471684890054);
    inv = inv * (two ? 0.6299605249474366 : one ? 0.7937005259840998 : 1.0);
    f64 error = 1.0 - whole * inv * inv * inv;
    inv = fma_f64(inv * error, fma_f64(error, 2.0 / 9.0, 0.3333333333333333), inv);
    f64 root = whole * inv * inv;
    pair square = two_product(root, root);
    pair cube = two_product(square.hi, root);
    f64 left = (whole - cube.hi) - fma_f64(square.lo, root, cube.lo);
    root = fma_f64(left * 0.3333333333333333, inv * inv, root);
    f64 scale = f64_of((u64_of(rounded) + (1023 - 341)) << 52);
    return copysign_f64(root * scale * back, x);
}

DEV f64 hypot_near(f64 a, f64 b) {
    f64 x = fabs_f64(a), y = fabs_f64(b);
    f64 more = y > x ? y : x, less = y > x ? x : y;
    pair first = two_product(more, more), second = two_product(less, less);
    pair sum = fast_two_sum(first.hi, second.hi);
    f64 root = root_f64(sum.hi);
    f64 left = fma_f64(-root, root, sum.hi) + (sum.lo + (first.lo + second.lo));
    return root == 0.0 ? 0.0 : root + left / (root + root);
}

DEV f64 hypot_f64(f64 a, f64 b) {
    f64 x = fabs_f64(a), y = fabs_f64(b), more = y > x ? y : x;
    if (x == infinity_f64() || y == infinity_f64()) return infinity_f64();
    if (a != a || b != b) return nan_f64();
    f64 large = f64_of((u64)(1023 + 510) << 52), small = f64_of((u64)(1023 - 450) << 52);
    if ((more >= small || more == 0.0) && more <= large) return hypot_near(a, b);
    i64 scale = more > 1.0 ? 600 : -600;
    return ldexp_f64(hypot_near(ldexp_f64(a, -scale), ldexp_f64(b, -scale)), scale);
}

// log(2^shift x) of a normal number above zero in two parts.
DEV pair long_log(f64 x) {
    pair split = split_log(x);
    f64 k = split.hi, f = split.lo;
    pair below = two_sum(2.0, f);
    f64 one_by = 1.0 / below.hi;
    f64 s = f * one_by;
    f64 s_low = (fma_f64(-s, below.hi, f) - s * below.lo) * one_by;
    pair z = two_product(s, s);
    z.lo = fma_f64(2.0 * s, s_low, z.lo);
    pair first = two_product(z.hi, 0.3333333333333333);
    f64 first_low = fma_f64(z.hi, 1.850371707708594e-17, fma_f64(z.lo, 0.3333333333333333, first.lo));
    f64 zz = z.hi;
    f64 others = zz * zz * fma_f64(zz, fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(0.06550905295756744, zz,
        0.06633854110776784), zz, 0.07693126716400008), zz, 0.09090898132760537), zz, 0.11111111185075645),
        zz, 0.14285714285519924), 0.2);
    pair w = fast_two_sum(first.hi, others);
    w.lo = w.lo + first_low;
    s = 2.0 * s;
    s_low = 2.0 * s_low;
    pair product = two_product(s, w.hi);
    product.lo = fma_f64(s, w.lo, fma_f64(s_low, w.hi, product.lo));
    pair near = fast_two_sum(s, product.hi);
    near.lo = near.lo + (s_low + product.lo);
    pair sum = fast_two_sum(k * 0.6931471803691238, near.hi);
    return fast_two_sum(sum.hi, sum.lo + (near.lo + k * 1.9082149292705877e-10));
}

DEV b8 is_whole(f64 x) { return (b8)(fabs_f64(x) >= 4503599627370496.0 || trunc_(x) == x); }

DEV b8 is_odd(f64 x) {
    return (b8)(fabs_f64(x) < 9007199254740992.0 && is_whole(x) && !is_whole(0.5 * x));
}

DEV f64 pow_f64(f64 a, f64 b) {
    f64 size = fabs_f64(a);
    if (b == 0.0 || a == 1.0) return 1.0;
    if (a != a || b != b) return nan_f64();
    b8 odd = is_odd(b), negative = signbit_f64(a);
    f64 value;
    if (size == 0.0 || size == infinity_f64()) {
        value = (size == 0.0) == (b > 0.0) ? 0.0 : infinity_f64();
        return negative && odd ? -value : value;
    }
    if (a < 0.0 && !is_whole(b)) return nan_f64();
    if (fabs_f64(b) >= 1e15) {
        // Beyond all powers but those of numbers next to one.
        if (size == 1.0) return odd ? a : 1.0;
        if (fabs_f64(b) > 1e20) {
            value = (size > 1.0) == (b > 0.0) ? infinity_f64() : 0.0;
            return negative && odd ? -value : value;
        }
    }
    pair l = long_log(size);
    pair p = two_product(b, l.hi);
    f64 low = fma_f64(b, l.lo, p.lo), high = p.hi;
    if (high > 720.0 || high < -760.0) {
        low = 0.0;
        high = high > 720.0 ? 720.0 : -760.0;
    }
    reduced r = reduce_exp(high);
    pair sum = fast_two_sum(r.hi, r.lo + low);
    value = exp_of(reduced_of(r.rounded, sum.hi, sum.lo));
    return negative && odd ? -value : value;
}

DEV f64 asinh_f64(f64 x) {
    f64 size = fabs_f64(x), value;
    if (!(size < infinity_f64()) || size < 1e-9) return x;
    if (size > 268435456.0) value = log_f64(size) + 0.6931471805599453;
    else if (size > 2.0) value = log_f64(2.0 * size + 1.0 / (root_f64(size * size + 1.0) + size));
    else value = log1p_f64(size + size * size / (1.0 + root_f64(1.0 + size * size)));
    return copysign_f64(value, x);
}

DEV f64 acosh_f64(f64 x) {
    if (!(x >= 1.0)) return nan_f64();
    if (x > 268435456.0) return log_f64(x) + (x < infinity_f64() ? 0.6931471805599453 : 0.0);
    if (x > 2.0) return log_f64(2.0 * x - 1.0 / (x + root_f64(x * x - 1.0)));
    f64 t = x - 1.0;
    return log1p_f64(t + root_f64(2.0 * t + t * t));
}

DEV f64 atanh_f64(f64 x) {
    f64 size = fabs_f64(x), twice = 2.0 * size;
    if (!(size <= 1.0)) return nan_f64();
    if (size < 1e-9) return x;
    f64 q = size < 0.5 ? twice + twice * size / (1.0 - size) : twice / (1.0 - size);
    return copysign_f64(0.5 * log1p_f64(q), x);
}

DEV f64 floatpow_f64(f64 a, f64 b) { return pow_f64(a, b); }

// float32 is computed in float64 and rounded once.

//each T: exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh cbrt
DEV f32 $T_f32(f32 x) { return (f32)$T_f64((f64)x); }
//end

//each T: pow floatpow atan2 hypot
DEV f32 $T_f32(f32 a, f32 b) { return (f32)$T_f64((f64)a, (f64)b); }
//end
