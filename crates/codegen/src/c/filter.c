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

// The greatest value minus the smallest one, of voxels or, for integers, of their keys.
//each T: u8 u16 u32 u64
DEV $T range_$T($T low, $T high, $T most) {
    const $T range = ($T)(high - low);
    return range < most ? range : most;
}
//end

DEV u16 range_f16(u16 low, u16 high) { return f32_to_half(half_to_f32(high) - half_to_f32(low)); }

DEV u32 range_f32(u32 low, u32 high) { return u32_of(f32_of(high) - f32_of(low)); }

DEV u64 range_f64(u64 low, u64 high) { return u64_of(f64_of(high) - f64_of(low)); }

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

// Means of whole numbers whose sum has these halves. A sum that is no `float64` is taken apart: into `points` times an
// even number near the mean, and a rest.
DEV b8 is_double(u64 low, u64 high) {
    const u64 size = (low >> 63) != 0 ? (u64)0 - low : low;
    return (b8)(high == (u64)0 - (low >> 63) && size < (u64)1 << 53);
}

DEV f64 about_mean(u64 low, u64 high, f64 points) {
    return fma_f64((f64)(i64)high, 18446744073709551616.0, (f64)low) * (1.0 / points);
}

DEV u64 even_near(f64 about) {
    if (about < 0) return about <= -9223372036854775808.0 ? (u64)1 << 63 : (u64)(i64)about & ~(u64)1;
    return (about >= 18446744073709551616.0 ? ~(u64)0 : (u64)about) & ~(u64)1;
}

DEV f64 rest_of_mean(u64 low, u64 whole, f64 points) {
    return (f64)(i64)(low - whole * (u64)points) / points;
}

DEV f64 mean_f64(u64 low, u64 high, f64 points) {
    if (is_double(low, high)) return quotient_f64((f64)(i64)low, points);
    const f64 about = about_mean(low, high, points);
    const u64 whole = even_near(about);
    return (about < 0 ? (f64)(i64)whole : (f64)whole) + rest_of_mean(low, whole, points);
}

DEV u64 whole_rest(u64 low, u64 whole, f64 points) {
    const f64 rest = rint_(rest_of_mean(low, whole, points));
    return rest >= 9223372036854775808.0 ? ~(u64)0 >> 1 : (u64)(i64)rest;
}

// The upper half of an even number near `about` plus a number with the bits `more`, given both and their sum.
DEV u64 upper_of_mean(f64 about, u64 whole, u64 more, u64 mean) {
    return (about < 0 ? ~(u64)0 : 0) - (more >> 63) + (u64)(mean < whole);
}

DEV i64 mean_i64(u64 low, u64 high, f64 points) {
    if (is_double(low, high)) return (i64)rint_(quotient_f64((f64)(i64)low, points));
    const f64 about = about_mean(low, high, points);
    const u64 whole = even_near(about), more = whole_rest(low, whole, points);
    const u64 mean = whole + more, upper = upper_of_mean(about, whole, more, mean);
    if (upper == (u64)0 - (mean >> 63)) return (i64)mean;
    return (i64)((upper >> 63) != 0 ? (u64)1 << 63 : ~(u64)0 >> 1);
}

DEV u64 mean_u64(u64 low, u64 high, f64 points) {
    if (is_double(low, high)) {
        const f64 mean = rint_(quotient_f64((f64)(i64)low, points));
        return mean < 0 ? 0 : (u64)mean;
    }
    const f64 about = about_mean(low, high, points);
    const u64 whole = even_near(about), more = whole_rest(low, whole, points);
    const u64 mean = whole + more, upper = upper_of_mean(about, whole, more, mean);
    return upper == 0 ? mean : (upper >> 63) != 0 ? 0 : ~(u64)0;
}

// The mean and the variance of two boxes, given the share that the second one has of both.
DEV f64 mean_of_both(f64 a, f64 b, f64 share) { return fma_f64(share, b - a, a); }

DEV f64 variance_of_both(f64 a, f64 b, f64 of_a, f64 of_b, f64 share) {
    const f64 near = mean_of_both(a, b, share), within = fma_f64(share, of_b, (1.0 - share) * of_a);
    return fma_f64(share * (b - a), b - near, within);
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
