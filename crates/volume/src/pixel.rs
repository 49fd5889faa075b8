//! Element types of volumes: conversion to the arithmetic of a filter and back, and order as integers.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_lossless,
    reason = "the conversions of the table; inlined into loops compiled for wide vectors"
)]

use bytemuck::Pod;
use half::f16;

/// An element type.
pub(crate) trait Pixel: Pod + Send + Sync + PartialOrd {
    /// An unsigned integer of the same size.
    type Key: Key;
    /// The value in single precision, rounded to the nearest.
    fn to_f32(self) -> f32;
    /// The value in double precision, rounded to the nearest.
    fn to_f64(self) -> f64;
    /// The nearest value, ties to even, saturating; NaN becomes zero in integers.
    fn from_f32(value: f32) -> Self;
    /// The nearest value, ties to even, saturating; NaN becomes zero in integers.
    fn from_f64(value: f64) -> Self;
    /// The nearest value to `whole + rest`, ties to even, saturating. `double` is `whole`, which is even, and `rest` is
    /// small.
    fn from_parts(whole: i128, double: f64, rest: f64) -> Self;
    /// An integer that sorts as the value does. NaN sorts first if `nan_first`, else last.
    fn key(self, nan_first: bool) -> Self::Key;
    /// The value of a key.
    fn of_key(key: Self::Key) -> Self;
    /// The difference; that of integers saturates.
    fn minus(self, other: Self) -> Self;
}

/// An unsigned integer that stands for a value.
pub(crate) trait Key: Pod + Ord + Send + Sync + std::ops::BitXor<Output = Self> {
    /// The least key.
    const MIN: Self;
    /// The greatest key.
    const MAX: Self;
    /// Bits of a key.
    const BITS: u32;
    /// The key as a wider integer.
    fn widened(self) -> u64;
    /// The lower bits of an integer as a key.
    fn narrowed(wide: u64) -> Self;
    /// This key with bit `bit` set.
    fn with_bit(self, bit: u32) -> Self;
    /// This count, plus one if `more`.
    fn counted(self, more: bool) -> Self;
    /// This key as a count; at most 255.
    fn to_count(self) -> u32;
    /// The smaller one.
    fn lower(self, other: Self) -> Self;
    /// The greater one.
    fn upper(self, other: Self) -> Self;
}

macro_rules! key {
    ($($t:ty)*) => {$(
        impl Key for $t {
            const MIN: Self = <$t>::MIN;
            const MAX: Self = <$t>::MAX;
            const BITS: u32 = <$t>::BITS;
            #[inline(always)]
            fn widened(self) -> u64 { self as u64 }
            #[inline(always)]
            fn narrowed(wide: u64) -> Self { wide as $t }
            #[inline(always)]
            fn with_bit(self, bit: u32) -> Self { self | (1 << bit) }
            #[inline(always)]
            fn counted(self, more: bool) -> Self { self.wrapping_add(more as $t) }
            #[inline(always)]
            fn to_count(self) -> u32 { self as u32 }
            #[inline(always)]
            fn lower(self, other: Self) -> Self { if other < self { other } else { self } }
            #[inline(always)]
            fn upper(self, other: Self) -> Self { if other > self { other } else { self } }
        }
    )*};
}
key!(u8 u16 u32 u64);

/// Rounds to integers of 16 bits or less, or of 32 from doubles, without a conversion that has to look for what does not
/// fit: a number that is added to one and a half times the unit of the last place has its integer in its lowest bits.
macro_rules! small {
    ($name:ident, $f:ty) => {
        #[inline(always)]
        fn $name(value: $f, low: $f, high: $f) -> i32 {
            let some = if value.is_nan() { 0.0 } else { value };
            let high = if some < high { some } else { high };
            let inside = if high > low { high } else { low };
            let unit = 1.5 / <$f>::EPSILON;
            (inside + unit).to_bits().wrapping_sub(unit.to_bits()) as i32
        }
    };
}
small!(small_f32, f32);
small!(small_f64, f64);

/// Rounds to an integer of 64 bits, from `low` up to what is below `end`, in halves: as above, for all vectors. What is
/// not below `end` is not looked at.
#[inline(always)]
fn halves(value: f64, low: f64, end: f64) -> u64 {
    const HALF: f64 = 4_294_967_296.0;
    let some = if value.is_nan() { 0.0 } else { value };
    let some = if some > low { some } else { low };
    let whole = if some < end {
        some.round_ties_even()
    } else {
        0.0
    };
    let high = (whole / HALF).floor();
    let rest = whole - high * HALF;
    let unit = 1.5 / f64::EPSILON;
    ((high + unit).to_bits() << 32) | ((rest + unit).to_bits() & 0xFFFF_FFFF)
}

macro_rules! rounded {
    ($value:expr, $t:ty, small, $by:ident) => {
        $by($value, <$t>::MIN as _, <$t>::MAX as _) as $t
    };
    ($value:expr, $t:ty, middle, $by:ident) => {
        small_f64($value as f64, <$t>::MIN as f64, <$t>::MAX as f64) as $t
    };
    ($value:expr, $t:ty, wide, $by:ident) => {{
        // The greatest integer is no double: the next one is.
        let (value, end) = ($value as f64, <$t>::MAX as f64);
        let inside = halves(value, <$t>::MIN as f64, end) as $t;
        if value >= end { <$t>::MAX } else { inside }
    }};
}

macro_rules! integer {
    ($($t:ty, $key:ty, $flip:expr, $size:ident;)*) => {$(
        impl Pixel for $t {
            type Key = $key;
            #[inline(always)]
            fn to_f32(self) -> f32 { self as f32 }
            #[inline(always)]
            fn to_f64(self) -> f64 { self as f64 }
            #[inline(always)]
            fn from_f32(value: f32) -> Self { rounded!(value, $t, $size, small_f32) }
            #[inline(always)]
            fn from_f64(value: f64) -> Self { rounded!(value, $t, $size, small_f64) }
            #[inline(always)]
            fn from_parts(whole: i128, _: f64, rest: f64) -> Self {
                let value = whole + (rest.round_ties_even() as i64) as i128;
                value.clamp(<$t>::MIN as i128, <$t>::MAX as i128) as $t
            }
            #[inline(always)]
            fn key(self, _: bool) -> $key { (self as $key) ^ $flip }
            #[inline(always)]
            fn of_key(key: $key) -> Self { (key ^ $flip) as $t }
            #[inline(always)]
            fn minus(self, other: Self) -> Self { self.saturating_sub(other) }
        }
    )*};
}
integer! {
    u8, u8, 0, small; i8, u8, 0x80, small;
    u16, u16, 0, small; i16, u16, 0x8000, small;
    u32, u32, 0, middle; i32, u32, 0x8000_0000, middle;
    u64, u64, 0, wide; i64, u64, 0x8000_0000_0000_0000, wide;
}

macro_rules! float {
    ($($t:ty, $key:ty, $int:ty, $to32:expr, $to64:expr, $from32:expr, $from64:expr;)*) => {$(
        impl Pixel for $t {
            type Key = $key;
            #[inline(always)]
            fn to_f32(self) -> f32 { $to32(self) }
            #[inline(always)]
            fn to_f64(self) -> f64 { $to64(self) }
            #[inline(always)]
            fn from_f32(value: f32) -> Self { $from32(value) }
            #[inline(always)]
            fn from_f64(value: f64) -> Self { $from64(value) }
            #[inline(always)]
            fn from_parts(_: i128, double: f64, rest: f64) -> Self { Self::from_f64(double + rest) }
            #[inline(always)]
            fn key(self, nan_first: bool) -> $key {
                let bits = self.to_bits();
                let sign = (bits as $int >> (<$int>::BITS - 1)) as $key;
                let key = bits ^ (sign | (1 << (<$int>::BITS - 1)));
                let nan = if nan_first { <$key>::MIN } else { <$key>::MAX };
                if self.is_nan() { nan } else { key }
            }
            #[inline(always)]
            fn of_key(key: $key) -> Self {
                let sign = (key as $int >> (<$int>::BITS - 1)) as $key;
                let value = <$t>::from_bits(key ^ (!sign | (1 << (<$int>::BITS - 1))));
                // The least and the greatest key become a NaN, too: this one.
                if value.is_nan() { <$t>::NAN } else { value }
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self { self - other }
        }
    )*};
}
float! {
    f32, u32, i32, |v: f32| v, |v: f32| v as f64, |v: f32| v, |v: f64| v as f32;
    f64, u64, i64, |v: f64| v as f32, |v: f64| v, |v: f32| v as f64, |v: f64| v;
    f16, u16, i16, f16::to_f32, f16::to_f64, f16::from_f32, f16::from_f64;
}

/// Runs `$body` with `$t` bound to the element type of `$dtype`; booleans are bytes.
macro_rules! with_pixel {
    ($dtype:expr, $t:ident => $body:expr, complex => $else:expr) => {
        match $dtype {
            arrayloom_types::DType::Bool | arrayloom_types::DType::U8 => {
                type $t = u8;
                $body
            }
            arrayloom_types::DType::I8 => {
                type $t = i8;
                $body
            }
            arrayloom_types::DType::U16 => {
                type $t = u16;
                $body
            }
            arrayloom_types::DType::I16 => {
                type $t = i16;
                $body
            }
            arrayloom_types::DType::U32 => {
                type $t = u32;
                $body
            }
            arrayloom_types::DType::I32 => {
                type $t = i32;
                $body
            }
            arrayloom_types::DType::U64 => {
                type $t = u64;
                $body
            }
            arrayloom_types::DType::I64 => {
                type $t = i64;
                $body
            }
            arrayloom_types::DType::F16 => {
                type $t = half::f16;
                $body
            }
            arrayloom_types::DType::F32 => {
                type $t = f32;
                $body
            }
            arrayloom_types::DType::F64 => {
                type $t = f64;
                $body
            }
            arrayloom_types::DType::C64 | arrayloom_types::DType::C128 => $else,
        }
    };
}
pub(crate) use with_pixel;

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted<T: Pixel>(values: &[T]) {
        for pair in values.windows(2) {
            assert!(pair[0].key(false) < pair[1].key(false));
        }
        for &v in values {
            assert!(T::of_key(v.key(true)) == v);
        }
    }

    #[test]
    fn keys_sort_as_values_do() {
        sorted(&[
            f32::NEG_INFINITY,
            -1.5,
            -0.0,
            0.0,
            1e-40,
            2.0,
            f32::INFINITY,
        ]);
        sorted(&[f64::MIN, -1.0, 0.0, 1e-300, 7.0]);
        sorted(&[f16::NEG_INFINITY, f16::from_f32(-1.0), f16::ZERO, f16::ONE]);
        sorted(&[i8::MIN, -1, 0, 1, i8::MAX]);
        sorted(&[i64::MIN, -1, 0, 1, i64::MAX]);
        assert_eq!((f32::NAN.key(true), (-f32::NAN).key(false)), (0, u32::MAX));
        assert!(f64::of_key(f64::NAN.key(false)).is_nan());
    }

    #[test]
    fn casts_round_to_even_and_saturate() {
        assert_eq!(
            [0.5f32, 1.5, 2.5, -3.0, 300.0].map(u8::from_f32),
            [0, 2, 2, 0, 255]
        );
        assert_eq!(i16::from_f64(-1e9), i16::MIN);
        let quarters = (-140_000..280_000).map(|i| f64::from(i) / 4.0);
        let others = [
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            -0.0,
            1e300,
            -1e-300,
        ];
        for v in quarters.chain(others) {
            let (single, whole) = (v as f32, v.round_ties_even());
            assert_eq!(i16::from_f64(v), whole as i16, "{v}");
            assert_eq!(u16::from_f64(v), whole as u16, "{v}");
            assert_eq!(i8::from_f64(v), whole as i8, "{v}");
            assert_eq!(
                u16::from_f32(single),
                single.round_ties_even() as u16,
                "{v}"
            );
            assert_eq!(
                i16::from_f32(single),
                single.round_ties_even() as i16,
                "{v}"
            );
            assert_eq!(u8::from_f32(single), single.round_ties_even() as u8, "{v}");
        }
    }

    #[test]
    fn casts_to_long_integers_round_to_even_and_saturate() {
        let powers = (0..70).flat_map(|bit| {
            let power = 2f64.powi(bit);
            let near = [power, power.next_down(), power.next_up()];
            near.into_iter().chain([0.5, 1.0, 1.5].map(|d| power + d))
        });
        let quarters = (-99..99).map(|i| f64::from(i) / 4.0);
        let others = [f64::NAN, f64::INFINITY, 1e300, 1e-300];
        let thirds = (1..999).map(|i| 1e19 / f64::from(i) / 3.0);
        let all = powers.chain(quarters).chain(others).chain(thirds);
        for v in all.flat_map(|v| [v, -v]) {
            let (single, whole) = (v as f32, v.round_ties_even());
            assert_eq!(i64::from_f64(v), whole as i64, "{v}");
            assert_eq!(u64::from_f64(v), whole as u64, "{v}");
            assert_eq!(i32::from_f64(v), whole as i32, "{v}");
            assert_eq!(u32::from_f64(v), whole as u32, "{v}");
            let whole = single.round_ties_even();
            assert_eq!(i64::from_f32(single), whole as i64, "{v}");
            assert_eq!(u64::from_f32(single), whole as u64, "{v}");
            assert_eq!(i32::from_f32(single), whole as i32, "{v}");
            assert_eq!(u32::from_f32(single), whole as u32, "{v}");
        }
    }
}
