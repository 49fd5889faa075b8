// Integers and bools as NumPy computes them: they wrap, and everything by zero is zero.

//each T: i8 i16 i32 i64 u8 u16 u32 u64
DEV $T add_$T($T a, $T b) { return ($T)(($M)a + ($M)b); }

DEV $T sub_$T($T a, $T b) { return ($T)(($M)a - ($M)b); }

DEV $T mul_$T($T a, $T b) { return ($T)(($M)a * ($M)b); }

DEV $T square_$T($T a) { return ($T)(($M)a * ($M)a); }

DEV $T neg_$T($T a) { return ($T)(($M)0 - ($M)a); }

DEV $T not_$T($T a) { return ($T)~a; }

DEV $T sign_$T($T a) { return ($T)((a > 0) - (a < 0)); }

DEV b8 signbit_$T($T a) { return (b8)(a < 0); }

DEV $T imag_$T($T a) { return ($T)(0 * a); }

DEV b8 isnan_$T($T a) { return (b8)(a != a); }

DEV b8 isinf_$T($T a) { return (b8)(a != a); }

DEV b8 isfinite_$T($T a) { return (b8)(a == a); }

DEV u8 popcount_$T($T a) { return set_bits((u64)($U)abs_$T(a)); }

DEV $T reciprocal_$T($T a) { return f64_to_$T(1.0 / (f64)a); }

DEV $T and_$T($T a, $T b) { return ($T)(a & b); }

DEV $T or_$T($T a, $T b) { return ($T)(a | b); }

DEV $T xor_$T($T a, $T b) { return ($T)(a ^ b); }

DEV $T shl_$T($T a, $T b) { return ($U)b < $W ? ($T)(($M)a << ($M)b) : ($T)0; }

DEV $T min_$T($T a, $T b) { return a <= b ? a : b; }

DEV $T max_$T($T a, $T b) { return a >= b ? a : b; }

DEV $T fmin_$T($T a, $T b) { return a <= b ? a : b; }

DEV $T fmax_$T($T a, $T b) { return a >= b ? a : b; }

DEV $T pow_$T($T a, $T b) {
    $M result = (b >= 0), square = ($M)a;
    for (; b > 0; b = ($T)(b >> 1)) {
        if (b & 1) result *= square;
        square *= square;
    }
    return ($T)result;
}

DEV $U gcd_of_$T($U a, $U b) {
    while (b != 0) {
        $U rest = ($U)(a % b);
        a = b;
        b = rest;
    }
    return a;
}

DEV $T gcd_$T($T a, $T b) { return ($T)gcd_of_$T(($U)abs_$T(a), ($U)abs_$T(b)); }

DEV $T lcm_$T($T a, $T b) {
    $U x = ($U)abs_$T(a), y = ($U)abs_$T(b), divisor = gcd_of_$T(x, y);
    return divisor == 0 ? ($T)0 : ($T)(($M)(x / divisor) * ($M)y);
}
//end

//each T: i8 i16 i32 i64
DEV $T abs_$T($T a) { return a < 0 ? neg_$T(a) : a; }

DEV $T shr_$T($T a, $T b) { return ($U)b < $W ? ($T)(a >> b) : ($T)(a < 0 ? -1 : 0); }

DEV $T floordiv_$T($T a, $T b) {
    if (b == 0) return 0;
    if (b == -1) return neg_$T(a);
    return ($T)(a / b - ((a % b != 0) & ((a < 0) != (b < 0))));
}

DEV $T rem_$T($T a, $T b) {
    if (b == 0 || b == -1) return 0;
    $T rest = ($T)(a % b);
    return (rest != 0) & ((rest < 0) != (b < 0)) ? ($T)(rest + b) : rest;
}

DEV $T fmod_$T($T a, $T b) { return b == 0 || b == -1 ? ($T)0 : ($T)(a % b); }
//end

//each T: u8 u16 u32 u64
DEV $T abs_$T($T a) { return a; }

DEV $T shr_$T($T a, $T b) { return b < $W ? ($T)(a >> b) : ($T)0; }

DEV $T floordiv_$T($T a, $T b) { return b == 0 ? ($T)0 : ($T)(a / b); }

DEV $T rem_$T($T a, $T b) { return b == 0 ? ($T)0 : ($T)(a % b); }

DEV $T fmod_$T($T a, $T b) { return b == 0 ? ($T)0 : ($T)(a % b); }
//end

//each T: b8 i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64
DEV b8 eq_$T($T a, $T b) { return (b8)(a == b); }

DEV b8 ne_$T($T a, $T b) { return (b8)(a != b); }

DEV b8 lt_$T($T a, $T b) { return (b8)(a < b); }

DEV b8 le_$T($T a, $T b) { return (b8)(a <= b); }

DEV $T real_$T($T a) { return a; }

DEV $T conj_$T($T a) { return a; }
//end

//each T: i8 i16 i32 i64 u8 u16 u32 u64 b8
DEV $T rint_$T($T a) { return a; }

DEV $T floor_$T($T a) { return a; }

DEV $T ceil_$T($T a) { return a; }

DEV $T trunc_$T($T a) { return a; }
//end

DEV u8 set_bits(u64 x) {
    x = x - ((x >> 1) & (u64)0x5555555555555555);
    x = (x & (u64)0x3333333333333333) + ((x >> 2) & (u64)0x3333333333333333);
    x = (x + (x >> 4)) & (u64)0x0f0f0f0f0f0f0f0f;
    return (u8)((x * (u64)0x0101010101010101) >> 56);
}

//each T: add or max fmax
DEV b8 $T_b8(b8 a, b8 b) { return (b8)(a | b); }
//end

//each T: mul and min fmin
DEV b8 $T_b8(b8 a, b8 b) { return (b8)(a & b); }
//end

DEV b8 xor_b8(b8 a, b8 b) { return (b8)(a != b); }

DEV b8 not_b8(b8 a) { return (b8)(a == 0); }

//each T: abs square
DEV b8 $T_b8(b8 a) { return a; }
//end

//each T: imag signbit isnan isinf
DEV b8 $T_b8(b8 a) { return (b8)(a != a); }
//end

DEV b8 isfinite_b8(b8 a) { return (b8)(a == a); }
