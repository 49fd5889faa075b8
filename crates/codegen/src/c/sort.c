// Numbers that are in the order of elements, from their bits.

//each T: u8 u16 u32 u64
DEV $T plain_key_$T($T x) { return x; }

DEV $T signed_key_$T($T x) { return ($T)(x ^ ($T)(($T)1 << ($W - 1))); }
//end

//each T: u16 u32 u64
DEV $T float_key_$T($T x, $T endless) {
    const $T sign = ($T)(($T)1 << ($W - 1));
    const $T size = ($T)(x & ($T)~sign);
    if (size > endless) return ($T)~($T)0;
    if (size == 0) return sign;
    return (x & sign) != 0 ? ($T)~x : ($T)(x | sign);
}

DEV u8 is_nan_$T($T x, $T endless) { return (u8)(($T)(x << 1) > ($T)(endless << 1)); }
//end
