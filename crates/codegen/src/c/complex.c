// Complex numbers after NumPy's inner loops, and the functions of C99 annex G in float64.

//each T: c64 c128
DEV $T $T_of($R re, $R im) {
    $T z;
    z.re = re;
    z.im = im;
    return z;
}

DEV $R real_$T($T z) { return z.re; }

DEV $R imag_$T($T z) { return z.im; }

DEV $T complex_$R($R re, $R im) { return $T_of(re, im); }

DEV $T conj_$T($T z) { return $T_of(z.re, -z.im); }

DEV $T neg_$T($T z) { return $T_of(-z.re, -z.im); }

DEV $T add_$T($T a, $T b) { return $T_of(a.re + b.re, a.im + b.im); }

DEV $T sub_$T($T a, $T b) { return $T_of(a.re - b.re, a.im - b.im); }

DEV $T mul_$T($T a, $T b) {
    return $T_of(fma_$R(a.re, b.re, -(a.im * b.im)), fma_$R(a.re, b.im, a.im * b.re));
}

// The product of single numbers, in powers and in folds.
DEV $T product_$T($T a, $T b) {
    return $T_of(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}

DEV $T square_$T($T a) { return mul_$T(a, a); }

DEV $T div_$T($T a, $T b) {
    if (fabs_$R(b.re) >= fabs_$R(b.im)) {
        if (b.re == ($R)0 && b.im == ($R)0) return $T_of(a.re / fabs_$R(b.re), a.im / fabs_$R(b.re));
        $R ratio = b.im / b.re;
        $R scale = ($R)1 / (b.re + b.im * ratio);
        return $T_of((a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale);
    }
    $R ratio = b.re / b.im;
    $R scale = ($R)1 / (b.im + b.re * ratio);
    return $T_of((a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale);
}

DEV $T reciprocal_$T($T z) {
    if (fabs_$R(z.im) <= fabs_$R(z.re)) {
        $R ratio = z.im / z.re;
        $R size = z.re + z.im * ratio;
        return $T_of(($R)1 / size, -ratio / size);
    }
    $R ratio = z.re / z.im;
    $R size = z.re * ratio + z.im;
    return $T_of(ratio / size, -($R)1 / size);
}

DEV $R abs_$T($T z) {
    $R x = fabs_$R(z.re), y = fabs_$R(z.im);
    if (isinf_$R(x) || isinf_$R(y)) return infinity_$R();
    if (x != x || y != y) return nan_$R();
    $R more = x > y ? x : y, less = x > y ? y : x;
    if (more == ($R)0) return ($R)0;
    $R ratio = less / more;
    return root_$R(fma_$R(ratio, ratio, ($R)1)) * more;
}

DEV $T sign_$T($T z) {
    $R size = hypot_$R(z.re, z.im);
    if ((isinf_$R(z.re) && isinf_$R(z.im)) || size != size) return $T_of(nan_$R(), nan_$R());
    if (isinf_$R(z.re)) return $T_of(z.re > ($R)0 ? ($R)1 : ($R)-1, ($R)0);
    if (isinf_$R(z.im)) return $T_of(($R)0, z.im > ($R)0 ? ($R)1 : ($R)-1);
    if (size == ($R)0) return $T_of(($R)0, ($R)0);
    return $T_of(z.re / size, z.im / size);
}

DEV b8 isnan_$T($T z) { return (b8)(z.re != z.re || z.im != z.im); }

DEV b8 isinf_$T($T z) { return (b8)(isinf_$R(z.re) || isinf_$R(z.im)); }

DEV b8 isfinite_$T($T z) { return (b8)(isfinite_$R(z.re) && isfinite_$R(z.im)); }

DEV $T rint_$T($T z) { return $T_of(rint_$R(z.re), rint_$R(z.im)); }

DEV b8 eq_$T($T a, $T b) { return (b8)(a.re == b.re && a.im == b.im); }

DEV b8 ne_$T($T a, $T b) { return (b8)(a.re != b.re || a.im != b.im); }

DEV b8 lt_$T($T a, $T b) {
    return (b8)((a.re < b.re && a.im == a.im && b.im == b.im) || (a.re == b.re && a.im < b.im));
}

DEV b8 le_$T($T a, $T b) {
    return (b8)((a.re < b.re && a.im == a.im && b.im == b.im) || (a.re == b.re && a.im <= b.im));
}

DEV $T min_$T($T a, $T b) { return isnan_$T(a) || (!isnan_$T(b) && le_$T(a, b)) ? a : b; }

DEV $T max_$T($T a, $T b) { return isnan_$T(a) || (!isnan_$T(b) && le_$T(b, a)) ? a : b; }

DEV $T fmin_$T($T a, $T b) { return isnan_$T(b) || le_$T(a, b) ? a : b; }

DEV $T fmax_$T($T a, $T b) { return isnan_$T(b) || le_$T(b, a) ? a : b; }

DEV $T expm1_$T($T z) {
    $R half_sin = sin_$R(z.im / ($R)2);
    return $T_of(expm1_$R(z.re) * cos_$R(z.im) - ($R)2 * half_sin * half_sin, exp_$R(z.re) * sin_$R(z.im));
}

DEV $T log1p_$T($T z) {
    return $T_of(log_$R(hypot_$R(z.re + ($R)1, z.im)), atan2_$R(z.im, z.re + ($R)1));
}

DEV $T pow_$T($T a, $T b) {
    if (b.re == ($R)0 && b.im == ($R)0) return $T_of(($R)1, ($R)0);
    if (a.re == ($R)0 && a.im == ($R)0) {
        return b.re > ($R)0 ? $T_of(($R)0, ($R)0) : $T_of(nan_$R(), nan_$R());
    }
    if (b.im != ($R)0 || !(fabs_$R(b.re) < ($R)100) || trunc_(b.re) != b.re) return general_pow_$T(a, b);
    i32 n = (i32)b.re;
    if (n == 1) return a;
    if (n == 2) return product_$T(a, a);
    if (n == 3) return product_$T(a, product_$T(a, a));
    $T one = $T_of(($R)1, ($R)0), result = one, square = a;
    for (i32 rest = n < 0 ? -n : n;;) {
        if (rest & 1) result = product_$T(result, square);
        rest >>= 1;
        if (rest == 0) break;
        square = product_$T(square, square);
    }
    return n < 0 ? div_$T(one, result) : result;
}
//end

DEV c128 wide_c64(c64 z) { return c128_of((f64)z.re, (f64)z.im); }

DEV c64 narrow_c64(c128 z) { return c64_of((f32)z.re, (f32)z.im); }

//each T: sqrt exp log sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh
DEV c64 $T_c64(c64 z) { return narrow_c64($T_c128(wide_c64(z))); }
//end

DEV c64 general_pow_c64(c64 a, c64 b) { return narrow_c64(general_pow_c128(wide_c64(a), wide_c64(b))); }

DEV c128 general_pow_c128(c128 a, c128 b) {
    c128 l = log_c128(a);
    return exp_c128(c128_of(b.re * l.re - b.im * l.im, b.re * l.im + b.im * l.re));
}

DEV c128 sqrt_c128(c128 z) {
    f64 a = z.re, b = z.im;
    if (a == 0.0 && b == 0.0) return c128_of(0.0, b);
    if (isinf_f64(b)) return c128_of(infinity_f64(), b);
    if (a != a) return c128_of(a, nan_f64());
    if (isinf_f64(a)) {
        f64 rest = b != b ? b : 0.0;
        return a < 0.0 ? c128_of(rest, copysign_f64(a, b)) : c128_of(a, copysign_f64(rest, b));
    }
    // Scaled so that neither the modulus overflows nor tiny numbers lose bits.
    f64 more = fabs_f64(a) > fabs_f64(b) ? fabs_f64(a) : fabs_f64(b), scale = 1.0, back = 1.0;
    if (more > 1e300) {
        scale = 0.25;
        back = 2.0;
    } else if (more < 1e-280) {
        scale = f64_of((u64)(1023 + 108) << 52);
        back = f64_of((u64)(1023 - 54) << 52);
    }
    a *= scale;
    b *= scale;
    f64 t = root_f64((fabs_f64(a) + hypot_f64(a, b)) * 0.5);
    if (a >= 0.0) return c128_of(t * back, b / (2.0 * t) * back);
    return c128_of(fabs_f64(b) / (2.0 * t) * back, copysign_f64(t, b) * back);
}

// `factor` times e to the x, also where e to the x alone is too large.
DEV f64 exp_times(f64 x, f64 factor) {
    if (x > 700.0 && factor != 0.0) {
        f64 root = exp_f64(x / 2.0);
        return factor * root * root;
    }
    return factor * exp_f64(x);
}

// Half of that, where half of the factor alone may be too small.
DEV f64 half_exp_times(f64 x, f64 factor) {
    f64 root = exp_f64(x / 2.0);
    return factor * root * (root * 0.5);
}

DEV c128 exp_c128(c128 z) {
    f64 x = z.re, y = z.im;
    if (y == 0.0) return c128_of(exp_f64(x), y);
    if (isinf_f64(x) && !isfinite_f64(y)) return x < 0.0 ? c128_of(0.0, 0.0) : c128_of(x, nan_f64());
    if (isinf_f64(x)) return c128_of(exp_f64(x) * cos_f64(y), exp_f64(x) * sin_f64(y));
    return c128_of(exp_times(x, cos_f64(y)), exp_times(x, sin_f64(y)));
}

// The logarithm of a modulus near one: its square less one is summed with the rounding errors.
DEV f64 log_modulus_near_one(f64 high, f64 low) {
    f64 a = high - 1.0, b = high + 1.0;
    f64 first = a * b;
    f64 first_error = fma_f64(a, b, -first) + a * ((high - b) + 1.0);
    pair second = two_product(low, low);
    pair sum = two_sum(first, second.hi);
    return 0.5 * log1p_f64(sum.hi + (sum.lo + first_error + second.lo));
}

DEV c128 log_c128(c128 z) {
    f64 x = fabs_f64(z.re), y = fabs_f64(z.im), size;
    f64 high = x > y ? x : y, low = x > y ? y : x, up = 1152921504606846976.0;
    if (isinf_f64(x) || isinf_f64(y)) size = infinity_f64();
    else if (x != x || y != y) size = nan_f64();
    else if (high > 1e300) size = log_f64(hypot_f64(high / 2.0, low / 2.0)) + 0.6931471805599453;
    else if (high < 1e-300) size = log_f64(hypot_f64(high * up, low * up)) - 60.0 * 0.6931471805599453;
    else if (high > 0.5 && high < 2.0 && high * high + low * low < 3.0) size = log_modulus_near_one(high, low);
    else size = log_f64(hypot_f64(high, low));
    return c128_of(size, atan2_f64(z.im, z.re));
}

DEV c128 sinh_c128(c128 z) {
    f64 x = z.re, y = z.im;
    if (y == 0.0) return c128_of(sinh_f64(x), y);
    if (isfinite_f64(x) && isfinite_f64(y)) {
        if (fabs_f64(x) < 40.0) return c128_of(sinh_f64(x) * cos_f64(y), cosh_f64(x) * sin_f64(y));
        f64 size = fabs_f64(x);
        return c128_of(half_exp_times(size, copysign_f64(1.0, x) * cos_f64(y)), half_exp_times(size, sin_f64(y)));
    }
    if (x == 0.0) return c128_of(x, nan_f64());
    if (!isinf_f64(x)) return c128_of(nan_f64(), nan_f64());
    if (!isfinite_f64(y)) return c128_of(infinity_f64(), nan_f64());
    return c128_of(x * cos_f64(y), infinity_f64() * sin_f64(y));
}

DEV c128 cosh_c128(c128 z) {
    f64 x = z.re, y = z.im;
    if (y == 0.0) return c128_of(cosh_f64(x), x != x ? 0.0 : copysign_f64(0.0, x) * y);
    if (isfinite_f64(x) && isfinite_f64(y)) {
        if (fabs_f64(x) < 40.0) return c128_of(cosh_f64(x) * cos_f64(y), sinh_f64(x) * sin_f64(y));
        f64 size = fabs_f64(x);
        return c128_of(half_exp_times(size, cos_f64(y)), half_exp_times(size, copysign_f64(1.0, x) * sin_f64(y)));
    }
    if (x == 0.0) return c128_of(nan_f64(), 0.0);
    if (!isinf_f64(x)) return c128_of(nan_f64(), nan_f64());
    if (!isfinite_f64(y)) return c128_of(infinity_f64(), nan_f64());
    return c128_of(infinity_f64() * cos_f64(y), x * sin_f64(y));
}

DEV c128 tanh_c128(c128 z) {
    f64 x = z.re, y = z.im;
    if (x != x) return c128_of(x, y == 0.0 ? y : nan_f64());
    if (isinf_f64(x)) {
        f64 sign = isinf_f64(y) ? y : sin_f64(y) * cos_f64(y);
        return c128_of(copysign_f64(1.0, x), copysign_f64(0.0, sign));
    }
    if (!isfinite_f64(y)) return c128_of(x == 0.0 ? x : nan_f64(), nan_f64());
    if (fabs_f64(x) >= 22.0) {
        f64 small = exp_f64(-fabs_f64(x));
        return c128_of(copysign_f64(1.0, x), 4.0 * sin_f64(y) * cos_f64(y) * small * small);
    }
    f64 t = tan_f64(y), s = sinh_f64(x);
    f64 beta = 1.0 + t * t, rho = root_f64(1.0 + s * s);
    f64 below = 1.0 + beta * s * s;
    return c128_of(beta * rho * s / below, t / below);
}

// Circular from hyperbolic functions: -i f(iz).
DEV c128 sin_c128(c128 z) {
    if (isinf_f64(z.im) && !isfinite_f64(z.re)) return c128_of(nan_f64(), infinity_f64());
    c128 w = sinh_c128(c128_of(-z.im, z.re));
    return c128_of(w.im, -w.re);
}

DEV c128 cos_c128(c128 z) { return cosh_c128(c128_of(-z.im, z.re)); }

DEV c128 tan_c128(c128 z) {
    c128 w = tanh_c128(c128_of(-z.im, z.re));
    return c128_of(w.im, -w.re);
}

// The inverse functions, after Hull, Fairgrieve and Tang, "Implementing the complex arcsine and
// arccosine functions using exception handling".

// hypot(a, b) - b over two, without cancellation.
DEV f64 half_gap(f64 a, f64 b, f64 size) {
    return b < 0.0 ? (size - b) / 2.0 : b == 0.0 ? a / 2.0 : a * a / (size + b) / 2.0;
}

// The logarithmic part (`rounded`), and the point whose angle is the other part.
DEV reduced inverse_work(f64 x, f64 y) {
    f64 eps = 2.220446049250313e-16;
    f64 r = hypot_f64(x, y + 1.0), s = hypot_f64(x, y - 1.0);
    f64 a = r * 0.5 + s * 0.5, log_part, across = y, along;
    if (a < 1.0) a = 1.0;
    b8 split = (b8)(x >= eps * fabs_f64(y - 1.0));
    if (a >= 10.0) log_part = log_f64(a + root_f64(a * a - 1.0));
    else if (y == 1.0 && x < eps * eps / 128.0) log_part = root_f64(x);
    else if (split) {
        f64 less = half_gap(x, 1.0 + y, r) + half_gap(x, 1.0 - y, s);
        log_part = log1p_f64(less + root_f64(less * (a + 1.0)));
    } else if (y < 1.0) log_part = x / root_f64((1.0 - y) * (1.0 + y));
    else log_part = log1p_f64((y - 1.0) + root_f64((y - 1.0) * (y + 1.0)));
    if (y == 1.0 && x < eps / 128.0) along = root_f64(x) * root_f64(a * 0.5 + y * 0.5);
    else if (split) along = root_f64((half_gap(x, y + 1.0, r) + half_gap(x, y - 1.0, s)) * (a + y));
    else if (y > 1.0) {
        f64 scale = 4.0 / eps / eps;
        along = x * scale * y / root_f64((y + 1.0) * (y - 1.0));
        across = y * scale;
    } else along = root_f64((1.0 - y) * (1.0 + y));
    return reduced_of(log_part, across, along);
}

DEV b8 is_large_c128(c128 z) {
    return (b8)(fabs_f64(z.re) > 4503599627370496.0 || fabs_f64(z.im) > 4503599627370496.0);
}

DEV b8 is_small_c128(c128 z, f64 limit) { return (b8)(fabs_f64(z.re) < limit && fabs_f64(z.im) < limit); }

DEV c128 asinh_c128(c128 z) {
    f64 x = z.re, y = z.im;
    if (x != x || y != y) {
        if (isinf_f64(x)) return c128_of(x, nan_f64());
        if (isinf_f64(y)) return c128_of(infinity_f64(), nan_f64());
        return c128_of(nan_f64(), y == 0.0 ? y : nan_f64());
    }
    if (is_large_c128(z)) {
        c128 w = log_c128(signbit_f64(x) ? neg_c128(z) : z);
        return c128_of(copysign_f64(w.re + 0.6931471805599453, x), copysign_f64(w.im, y));
    }
    if (is_small_c128(z, 9e-9)) return z;
    reduced w = inverse_work(fabs_f64(x), fabs_f64(y));
    return c128_of(copysign_f64(w.rounded, x), copysign_f64(atan2_f64(w.hi, w.lo), y));
}

DEV c128 asin_c128(c128 z) {
    c128 w = asinh_c128(c128_of(z.im, z.re));
    return c128_of(w.im, w.re);
}

DEV c128 acos_c128(c128 z) {
    f64 x = z.re, y = z.im;
    if (x != x || y != y) {
        if (isinf_f64(x)) return c128_of(nan_f64(), -infinity_f64());
        if (isinf_f64(y)) return c128_of(nan_f64(), -y);
        return c128_of(x == 0.0 ? 1.5707963267948966 : nan_f64(), nan_f64());
    }
    f64 flip = signbit_f64(y) ? 1.0 : -1.0;
    if (is_large_c128(z)) {
        c128 w = log_c128(z);
        return c128_of(fabs_f64(w.im), flip * (w.re + 0.6931471805599453));
    }
    if (x == 1.0 && y == 0.0) return c128_of(0.0, -y);
    if (is_small_c128(z, 9e-9)) return c128_of(1.5707963267948966 - x, -y);
    reduced w = inverse_work(fabs_f64(y), fabs_f64(x));
    return c128_of(atan2_f64(w.lo, copysign_f64(w.hi, x)), flip * w.rounded);
}

DEV c128 acosh_c128(c128 z) {
    c128 w = acos_c128(z);
    if (w.im != w.im) return c128_of(nan_f64(), w.re);
    if (w.re != w.re) return c128_of(fabs_f64(w.im), w.re);
    return c128_of(fabs_f64(w.im), copysign_f64(w.re, z.im));
}

DEV c128 atanh_c128(c128 z) {
    f64 x = z.re, y = z.im, ax = fabs_f64(x), ay = fabs_f64(y), eps = 2.220446049250313e-16;
    if (y == 0.0 && ax <= 1.0) return c128_of(atanh_f64(x), y);
    if (x == 0.0) return c128_of(x, atan_f64(y));
    if (x != x || y != y) {
        if (isinf_f64(x)) return c128_of(copysign_f64(0.0, x), nan_f64());
        if (isinf_f64(y)) return c128_of(copysign_f64(0.0, x), copysign_f64(1.5707963267948966, y));
        return c128_of(nan_f64(), nan_f64());
    }
    if (is_large_c128(z)) {
        f64 size = hypot_f64(x, y);
        f64 re = isinf_f64(size) ? copysign_f64(0.0, x) : x / size / size;
        return c128_of(re, copysign_f64(1.5707963267948966, y));
    }
    if (is_small_c128(z, 1e-8)) return z;
    f64 re = log1p_f64(4.0 * ax / ((ax - 1.0) * (ax - 1.0) + ay * ay)) / 4.0;
    if (ax == 1.0 && ay < eps) re = (0.6931471805599453 - log_f64(ay)) / 2.0;
    f64 gap = (1.0 - ax) * (1.0 + ax);
    f64 im = ax == 1.0 ? atan2_f64(2.0, -ay) : atan2_f64(2.0 * ay, ay < eps ? gap : gap - ay * ay);
    return c128_of(copysign_f64(re, x), copysign_f64(im / 2.0, y));
}

DEV c128 atan_c128(c128 z) {
    c128 w = atanh_c128(c128_of(z.im, z.re));
    return c128_of(w.im, w.re);
}
