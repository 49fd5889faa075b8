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
