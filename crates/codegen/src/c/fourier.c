// Points of the unit circle, and steps of Fourier transforms.

// exp(-2 pi i k / n) for k < n: the angle is brought within an eighth of a turn by whole numbers first.
DEV c128 turn_c128(u64 k, u64 n) {
    const u64 octant = 8 * k / n, rest = 8 * k - octant * n;
    const f64 angle = (f64)(octant & 1 ? n - rest : rest) / (f64)n * 0.78539816339744830962;
    const f64 c = cos_f64(angle), s = sin_f64(angle);
    const f64 x = (octant + 1) >> 1 & 1 ? s : c, y = (octant + 1) >> 1 & 1 ? c : s;
    return c128_of((octant + 2) >> 2 & 1 ? -x : x, octant >> 2 & 1 ? y : -y);
}

DEV c64 turn_c64(u64 k, u64 n) {
    const c128 z = turn_c128(k, n);
    return c64_of((f32)z.re, (f32)z.im);
}

//each T: c64 c128
// a minus i b, the quarter turn of a transform.
DEV $T quarter_$T($T a, $T b) { return $T_of(a.re + b.im, a.im - b.re); }

DEV $T times_$T($T a, $T b) {
    return $T_of(fma_$R(a.re, b.re, -(a.im * b.im)), fma_$R(a.re, b.im, a.im * b.re));
}
//end
