// Elements in memory, also where they do not lie at multiples of their size.

//each T: u16 u32 u64
DEV $T bytes_$T(GLB const u8 *p) {
    $T x = 0;
    for (u32 i = 0; i < $W / 8; i++) x = ($T)(x | ($T)(($M)p[i] << (8 * i)));
    return x;
}

DEV void put_bytes_$T(GLB u8 *p, $T x) {
    for (u32 i = 0; i < $W / 8; i++) p[i] = (u8)(x >> (8 * i));
}
//end

//each T: i16 i32 i64 u16 u32 u64
DEV $T load_bytes_$T(GLB const u8 *p) { return ($T)bytes_$U(p); }

DEV void store_bytes_$T(GLB u8 *p, $T x) { put_bytes_$U(p, ($U)x); }
//end

//each T: i8 u8
DEV $T load_bytes_$T(GLB const u8 *p) { return ($T)p[0]; }

DEV void store_bytes_$T(GLB u8 *p, $T x) { p[0] = (u8)x; }
//end

DEV b8 load_bytes_b8(GLB const u8 *p) { return (b8)(p[0] != 0); }

DEV void store_bytes_b8(GLB u8 *p, b8 x) { p[0] = x; }

DEV f16 load_bytes_f16(GLB const u8 *p) { return half_to_f32(bytes_u16(p)); }

DEV void store_bytes_f16(GLB u8 *p, f16 x) { put_bytes_u16(p, f32_to_half(x)); }

//each T: f32 f64
DEV $T load_bytes_$T(GLB const u8 *p) { return $T_of(bytes_$U(p)); }

DEV void store_bytes_$T(GLB u8 *p, $T x) { put_bytes_$U(p, $U_of(x)); }

DEV $T load_$T(GLB const $T *p) { return *p; }

DEV void store_$T(GLB $T *p, $T x) { *p = x; }
//end

//each T: c64 c128
DEV $T load_bytes_$T(GLB const u8 *p) {
    return $T_of(load_bytes_$R(p), load_bytes_$R(p + sizeof($R)));
}

DEV void store_bytes_$T(GLB u8 *p, $T z) {
    store_bytes_$R(p, z.re);
    store_bytes_$R(p + sizeof($R), z.im);
}

DEV $T load_$T(GLB const $R *p) { return $T_of(p[0], p[1]); }

DEV void store_$T(GLB $R *p, $T z) {
    p[0] = z.re;
    p[1] = z.im;
}
//end

//each T: i8 i16 i32 i64 u8 u16 u32 u64
DEV $T load_$T(GLB const $T *p) { return *p; }

DEV void store_$T(GLB $T *p, $T x) { *p = x; }
//end

DEV b8 load_b8(GLB const u8 *p) { return (b8)(*p != 0); }

DEV void store_b8(GLB u8 *p, b8 x) { *p = x; }

DEV f16 load_f16(GLB const u16 *p) { return half_to_f32(*p); }

DEV void store_f16(GLB u16 *p, f16 x) { *p = f32_to_half(x); }

//each T: b8 i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 c64 c128
DEV $T gather_$T(GLB const u8 *p, i64 by) { return load_bytes_$T(p + by); }
//end
