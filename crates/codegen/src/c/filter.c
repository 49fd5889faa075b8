// Filters: keys in the order of values, and numbers rounded to the dtype of voxels.

//each T: u16 u32 u64
DEV $T low_key_$T($T x, $T endless) {
    const $T sign = ($T)(($T)1 << ($W - 1));
    if (($T)(x & ($T)~sign) > endless) return 0;
    return (x & sign) != 0 ? ($T)~x : ($T)(x | sign);
}

DEV $T high_key_$T($T x, $T endless) {
    const $T key = low_key_$T(x, endless);
    return key == 0 ? key : ($T)~key;
}

DEV $T rising_key_$T($T x, $T endless) {
    const $T key = low_key_$T(x, endless);
    return key == 0 ? ($T)~key : key;
}

DEV $T of_key_$T($T key, $T endless) {
    const $T sign = ($T)(($T)1 << ($W - 1));
    if (key == 0 || key == ($T)~($T)0) return ($T)(endless | (endless & (~endless + 1)) >> 1);
    return (key & sign) != 0 ? ($T)(key ^ sign) : ($T)~key;
}
//end

//each T: f32 f64
DEV $T near_$T($T x, $T low, $T high) {
    const $T some = x != x ? ($T)0 : x;
    const $T upper = some < high ? some : high;
    return rint_(upper > low ? upper : low);
}
//end

//each T: i32 i64 u32 u64
DEV $T near_$T(f64 x, f64 low, f64 end, $T least, $T most) {
    const f64 whole = rint_(x);
    if (whole != whole) return 0;
    return whole <= low ? least : whole >= end ? most : ($T)whole;
}
//end

// `sum / points` to the nearest number.
DEV f64 quotient_f64(f64 sum, f64 points) {
    const f64 share = 1.0 / points, near = sum * share;
    return fma_f64(share, fma_f64(-near, points, sum), near);
}

// The variance of `points` numbers: `points * squares - sum * sum`, in two numbers each, times `square`,
// which is the share of one in `points * points`.
DEV f64 variance_of(f64 sum, f64 squares, f64 points, f64 square) {
    const f64 a = points * squares, b = sum * sum;
    const f64 rest = fma_f64(points, squares, -a) - fma_f64(sum, sum, -b);
    return ((a - b) + rest) * square;
}

DEV f64 variation(f64 mean, f64 variance) {
    return variance == 0 && mean == 0 ? 0 : root_f64(variance) / mean;
}

DEV f64 wiener(f64 mean, f64 variance, f64 center, f64 noise) {
    if (variance != variance) return variance;
    return variance > noise ? mean + (1.0 - noise / variance) * (center - mean) : mean;
}

DEV f64 niblack(f64 mean, f64 variance, f64 factor) {
    return mean - factor * root_f64(variance);
}

DEV f64 sauvola(f64 mean, f64 variance, f64 factor, f64 range) {
    return mean * (1.0 + factor * (root_f64(variance) / range - 1.0));
}

// The exponential of what is not positive, zero where it is negligible: of two in single precision, of e in double.
DEV f32 fading_f32(f32 x) {
    const f32 unit = 12582912.0f, safe = x < -126.0f ? -126.0f : x, moved = safe + unit;
    const f32 r = safe - (moved - unit);
    f32 p = 0.0013264727f;
    p = fma_f32(r, p, 0.009671513f);
    p = fma_f32(r, p, 0.055507336f);
    p = fma_f32(r, p, 0.24022242f);
    p = fma_f32(r, p, 0.6931471806f);
    p = fma_f32(r, p, 1.0f);
    const f32 scale = f32_of((u32_of(moved) << 23) + 0x3f800000);
    return x < -126.0f ? 0.0f : p * scale;
}

DEV f64 fading_f64(f64 x) {
    const f64 safe = x < -700.0 ? -700.0 : x;
    const f64 k = rint_(safe * 1.4426950408889634);
    const f64 r = fma_f64(-k, 1.9082149292705877e-10, fma_f64(-k, 0.6931471803691238, safe));
    f64 p = 1.0 / 479001600.0;
    p = fma_f64(r, p, 1.0 / 39916800.0);
    p = fma_f64(r, p, 1.0 / 3628800.0);
    p = fma_f64(r, p, 1.0 / 362880.0);
    p = fma_f64(r, p, 1.0 / 40320.0);
    p = fma_f64(r, p, 1.0 / 5040.0);
    p = fma_f64(r, p, 1.0 / 720.0);
    p = fma_f64(r, p, 1.0 / 120.0);
    p = fma_f64(r, p, 1.0 / 24.0);
    p = fma_f64(r, p, 1.0 / 6.0);
    p = fma_f64(r, p, 0.5);
    p = fma_f64(r, p, 1.0);
    p = fma_f64(r, p, 1.0);
    const f64 scale = f64_of((u64)(1023 + (i64)(k == k ? k : 0.0)) << 52);
    return x < -700.0 ? 0.0 : p * scale;
}
