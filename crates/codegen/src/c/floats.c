// Floats after NumPy's inner loops and npymath, and conversions as C casts do them on x86-64.

//each T: f32 f64
DEV $T add_$T($T a, $T b) { return a + b; }

DEV $T sub_$T($T a, $T b) { return a - b; }

DEV $T mul_$T($T a, $T b) { return a * b; }

DEV $T div_$T($T a, $T b) { return a / b; }

DEV $T square_$T($T a) { return a * a; }

DEV $T reciprocal_$T($T a) { return ($T)1 / a; }

DEV $T sqrt_$T($T a) { return root_$T(a); }

DEV $T neg_$T($T a) { return -a; }

DEV $T abs_$T($T a) { return fabs_$T(a); }

DEV $T imag_$T($T a) { return ($T)0; }

DEV $T sign_$T($T a) { return a > ($T)0 ? ($T)1 : a < ($T)0 ? ($T)-1 : a == ($T)0 ? ($T)0 : a; }

DEV b8 isnan_$T($T a) { return (b8)(a != a); }

DEV b8 isinf_$T($T a) { return (b8)(a == infinity_$T() || a == -infinity_$T()); }

DEV b8 isfinite_$T($T a) { return (b8)(fabs_$T(a) < infinity_$T()); }

DEV $T rint_$T($T a) { return rint_(a); }

DEV $T floor_$T($T a) { return floor_(a); }

DEV $T ceil_$T($T a) { return ceil_(a); }

DEV $T trunc_$T($T a) { return trunc_(a); }

DEV $T modfint_$T($T a) { return trunc_(a); }

DEV $T modffrac_$T($T a) {
    return copysign_$T(isinf_$T(a) ? ($T)0 : a - trunc_(a), a);
}

DEV $T min_$T($T a, $T b) { return (a < b || a != a) ? a : b; }

DEV $T max_$T($T a, $T b) { return (a > b || a != a) ? a : b; }

DEV $T fmin_$T($T a, $T b) { return (a < b || b != b) ? a : b; }

DEV $T fmax_$T($T a, $T b) { return (a > b || b != b) ? a : b; }

DEV $T rem_$T($T a, $T b) {
    $T rest = fmod_$T(a, b);
    if (b == ($T)0) return rest;
    if (rest == ($T)0) return copysign_$T(($T)0, b);
    return (b < ($T)0) != (rest < ($T)0) ? rest + b : rest;
}

DEV $T floordiv_$T($T a, $T b) {
    if (b == ($T)0) return a / b;
    $T rest = fmod_$T(a, b);
    $T quotient = (a - rest) / b;
    if (rest != ($T)0 && (b < ($T)0) != (rest < ($T)0)) quotient = quotient - ($T)1;
    if (quotient == ($T)0) return copysign_$T(($T)0, a / b);
    $T down = floor_(quotient);
    return quotient - down > ($T)0.5 ? down + ($T)1 : down;
}

// The next number, away from zero or towards it; zero steps to the smallest positive number.
DEV $T step_$T($T x, b8 away) {
    if (x == ($T)0) return $T_of(($U)1);
    return $T_of($U_of(x) + (away ? ($U)1 : ~($U)0));
}

DEV $T spacing_$T($T x) { return isfinite_$T(x) ? step_$T(x, 1) - x : nan_$T(); }

DEV $T nextafter_$T($T a, $T b) {
    if (a != a || b != b) return a + b;
    if (a == b) return b;
    if (a == ($T)0) return copysign_$T(step_$T(a, 1), b);
    return step_$T(a, (b8)((a > ($T)0) == (b > a)));
}

DEV $T logaddexp_$T($T a, $T b) {
    if (a == b) return a + ($T)0.6931471805599453;
    $T gap = a - b;
    if (gap != gap) return gap;
    return (gap > ($T)0 ? a : b) + log1p_$T(exp_$T(-fabs_$T(gap)));
}

DEV $T logaddexp2_$T($T a, $T b) {
    if (a == b) return a + ($T)1;
    $T gap = a - b;
    if (gap != gap) return gap;
    return (gap > ($T)0 ? a : b) + ($T)1.4426950408889634 * log1p_$T(exp2_$T(-fabs_$T(gap)));
}
//end

DEV f64 infinity_f64(void) { return f64_of((u64)0x7ff0000000000000); }

DEV f64 nan_f64(void) { return f64_of((u64)0x7ff8000000000000); }

DEV f32 infinity_f32(void) { return f32_of((u32)0x7f800000); }

DEV f32 nan_f32(void) { return f32_of((u32)0x7fc00000); }

DEV b8 signbit_f64(f64 x) { return (b8)(u64_of(x) >> 63); }

DEV b8 signbit_f32(f32 x) { return (b8)(u32_of(x) >> 31); }

DEV f64 copysign_f64(f64 a, f64 b) {
    return f64_of((u64_of(a) & (u64)0x7fffffffffffffff) | (u64_of(b) & (u64)0x8000000000000000));
}

DEV f32 copysign_f32(f32 a, f32 b) {
    return f32_of((u32_of(a) & (u32)0x7fffffff) | (u32_of(b) & (u32)0x80000000));
}

// The exact remainder, by long division.
DEV f64 fmod_f64(f64 x, f64 y) {
    u64 a = u64_of(x), b = u64_of(y), sign = a & (u64)0x8000000000000000;
    i32 ea = (i32)(a >> 52 & 0x7ff), eb = (i32)(b >> 52 & 0x7ff);
    if (y == 0.0 || y != y || ea == 0x7ff) return nan_f64();
    a &= (u64)0x7fffffffffffffff;
    b &= (u64)0x7fffffffffffffff;
    if (a == 0 || a < b) return x;
    u64 hidden = (u64)1 << 52, mask = hidden - 1;
    a = ea ? (a & mask) | hidden : a;
    b = eb ? (b & mask) | hidden : b;
    for (ea = ea ? ea : 1; a < hidden; ea--) a <<= 1;
    for (eb = eb ? eb : 1; b < hidden; eb--) b <<= 1;
    for (; ea > eb; ea--) {
        a = a >= b ? a - b : a;
        a <<= 1;
    }
    a = a >= b ? a - b : a;
    if (a == 0) return f64_of(sign);
    for (; a < hidden; eb--) a <<= 1;
    a = eb > 0 ? (a & mask) | ((u64)eb << 52) : a >> (1 - eb);
    return f64_of(a | sign);
}

DEV f32 fmod_f32(f32 x, f32 y) { return (f32)fmod_f64((f64)x, (f64)y); }

// `x` times two to the `n`, rounded once.
DEV f64 ldexp_f64(f64 x, i64 n) {
    i32 e = n > 5000 ? 5000 : n < -5000 ? -5000 : (i32)n;
    f64 up = f64_of((u64)0x7fe0000000000000), down = f64_of((u64)54 << 52);
    if (e > 1023) {
        x *= up;
        e -= 1023;
        if (e > 1023) x *= up, e = e - 1023 > 1023 ? 1023 : e - 1023;
    } else if (e < -1022) {
        // 2^-969 leaves no subnormal number before the last product.
        x *= down;
        e += 969;
        if (e < -1022) x *= down, e = e + 969 < -1022 ? -1022 : e + 969;
    }
    return x * f64_of((u64)(1023 + e) << 52);
}

DEV f32 ldexp_f32(f32 x, i64 n) { return (f32)ldexp_f64((f64)x, n); }

DEV i32 frexpexp_f64(f64 x) {
    if (x == 0.0 || !isfinite_f64(x)) return 0;
    i32 e = (i32)(u64_of(x) >> 52 & 0x7ff);
    if (e == 0) return (i32)(u64_of(x * 18014398509481984.0) >> 52 & 0x7ff) - 1022 - 54;
    return e - 1022;
}

DEV f64 frexpmant_f64(f64 x) {
    if (x == 0.0 || !isfinite_f64(x)) return x;
    if ((u64_of(x) >> 52 & 0x7ff) == 0) x = x * 18014398509481984.0;
    return f64_of((u64_of(x) & (u64)0x800fffffffffffff) | (u64)1022 << 52);
}

DEV i32 frexpexp_f32(f32 x) { return frexpexp_f64((f64)x); }

DEV f32 frexpmant_f32(f32 x) { return (f32)frexpmant_f64((f64)x); }

// A float as an integer: what does not fit is the smallest number of the width that is converted to.
DEV i64 whole64(f64 x) {
    return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (i64)x : (i64)((u64)1 << 63);
}

DEV i32 whole32(f64 x) {
    return x > -2147483649.0 && x < 2147483648.0 ? (i32)x : (i32)((u32)1 << 31);
}

DEV i64 f64_to_i64(f64 x) { return whole64(x); }

DEV u32 f64_to_u32(f64 x) { return (u32)(u64)whole64(x); }

DEV u64 f64_to_u64(f64 x) {
    if (x >= 9223372036854775808.0) return (u64)whole64(x - 9223372036854775808.0) + ((u64)1 << 63);
    return (u64)whole64(x);
}

//each T: i8 i16 i32 u8 u16
DEV $T f64_to_$T(f64 x) { return ($T)whole32(x); }
//end

// float16: its register is a float32 that is rounded after every operation.
DEV f32 half_to_f32(u16 h) {
    u32 sign = (u32)(h & 0x8000) << 16, m = (u32)h & 0x7fff;
    u32 bits = (m << 13) + 0x38000000;
    if (m >= 0x7c00) bits = 0x7f800000 | (m << 13);
    if (m < 0x400) bits = u32_of((f32)m * 5.9604644775390625e-8f);
    return f32_of(sign | bits);
}

DEV u16 f32_to_half(f32 x) {
    u32 bits = u32_of(x), sign = bits >> 16 & 0x8000, a = bits & 0x7fffffff;
    u32 h = (a + 0xfff + (a >> 13 & 1) - 0x38000000) >> 13;
    if (a < 0x38800000) h = (u32)rint_(f32_of(a) * 16777216.0f);
    if (a >= 0x477ff000) h = 0x7c00;
    if (a > 0x7f800000) h = 0x7e00;
    return (u16)(sign | h);
}

DEV f16 rounded_f16(f32 x) { return half_to_f32(f32_to_half(x)); }

// Rounded to float32 towards zero with the last bit set if anything was lost, so that rounding again is
// rounding once.
DEV f16 f64_to_f16(f64 x) {
    f32 near = (f32)x;
    if ((f64)near != x && x == x && isfinite_f32(near)) {
        u32 bits = u32_of(near);
        near = f32_of((fabs_f64((f64)near) > fabs_f64(x) ? bits - 1 : bits) | 1);
    }
    return rounded_f16(near);
}

//each T: add sub mul div rem floordiv fmod logaddexp logaddexp2 pow floatpow atan2 hypot
DEV f16 $T_f16(f16 a, f16 b) { return rounded_f16($T_f32(a, b)); }
//end

// The first of equal operands, where wider floats take the second.
//each T: min max fmin fmax
DEV f16 $T_f16(f16 a, f16 b) { return $T_f32(b, a); }
//end

//each T: copysign
DEV f16 $T_f16(f16 a, f16 b) { return $T_f32(a, b); }
//end

//each T: neg abs sign imag rint floor ceil trunc modfint modffrac frexpmant
DEV f16 $T_f16(f16 a) { return $T_f32(a); }
//end

//each T: square reciprocal sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
DEV f16 $T_f16(f16 a) { return rounded_f16($T_f32(a)); }
//end

//each T: isnan isinf isfinite signbit
DEV b8 $T_f16(f16 a) { return $T_f32(a); }
//end

DEV i32 frexpexp_f16(f16 x) { return frexpexp_f64((f64)x); }

DEV f16 ldexp_f16(f16 x, i64 n) { return rounded_f16(ldexp_f32(x, n)); }

DEV f16 step_f16(f16 x, b8 away) {
    if (x == 0.0f) return half_to_f32(1);
    u16 bits = f32_to_half(x);
    return half_to_f32((u16)(away ? bits + 1 : bits - 1));
}

DEV f16 spacing_f16(f16 x) {
    return isfinite_f32(x) ? rounded_f16(step_f16(x, (b8)(x > 0.0f)) - x) : nan_f32();
}

DEV f16 nextafter_f16(f16 a, f16 b) {
    if (a != a || b != b) return nan_f32();
    if (a == b) return a;
    if (a == 0.0f) return copysign_f32(step_f16(a, 1), b);
    return step_f16(a, (b8)((a > 0.0f) == (b > a)));
}
