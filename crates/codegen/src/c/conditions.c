// Floating-point conditions, told from operands and results: 1 divide, 2 overflow, 8 invalid. The class of a
// value has bit 1 for a part that is no number, and bit 2 for an infinite one.

//each T: f32 f64
DEV u32 class_$T($T x) { return x - x == ($T)0 ? 0u : x != x ? 1u : 2u; }
//end

DEV u32 class_f16(f16 x) { return class_f32(x); }

//each T: c64 c128
DEV u32 class_$T($T z) { return class_$R(z.re) | class_$R(z.im); }

DEV u32 met_unordered_$T($T a, $T b) {
    if (a.re != a.re || b.re != b.re) return 8u;
    return a.re == b.re && (a.im != a.im || b.im != b.im) ? 8u : 0u;
}
//end

DEV u32 met_one(u32 a, u32 result, u32 infinite) {
    if (a & 1u) return 0u;
    if (result & 1u) return 8u;
    return (result & 2u) && !(a & 2u) ? infinite : 0u;
}

DEV u32 met_two(u32 a, u32 b, u32 result, u32 infinite) { return met_one(a | b, result, infinite); }

DEV u32 met_div(u32 a, u32 b, u32 result, b8 by_zero) {
    if ((a | b) & 1u) return 0u;
    const u32 pole = by_zero && (result & 2u) && !((a | b) & 2u) ? 1u : 0u;
    return by_zero && !(result & 1u) ? pole : pole | met_one(a | b, result, 2u);
}

DEV u32 met_pow(u32 a, u32 b, u32 result, b8 of_zero) {
    if ((a | b) & 1u) return 0u;
    return of_zero && result == 2u ? 1u : met_one(a | b, result, 2u);
}

DEV u32 met_next(u32 a, u32 b, u32 result) {
    if ((a | b) & 1u) return 0u;
    return (result & 2u) && !(a & 2u) ? 2u : 0u;
}

DEV u32 met_log(u32 a, u32 b, u32 result) { return (a | b) & 1u ? 8u : met_one(a | b, result, 2u); }

// What a conversion to an integer meets: the processor has those of 32 and of 64 bits.
DEV u32 met_narrow(f64 x) { return trunc_(x) >= -2147483648.0 && trunc_(x) < 2147483648.0 ? 0u : 8u; }

DEV u32 met_wide(f64 x) {
    return trunc_(x) >= -9223372036854775808.0 && trunc_(x) < 9223372036854775808.0 ? 0u : 8u;
}

DEV u32 met_unsigned(f64 x) { return met_wide(x >= 9223372036854775808.0 ? x - 9223372036854775808.0 : x); }
