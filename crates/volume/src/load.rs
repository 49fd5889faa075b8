//! How elements in memory become numbers of a filter's arithmetic.
//!
//! Elements are looked at as raw words of their size, and what they mean is asked once for a strip of
//! them. So a filter is compiled for four sizes instead of eleven dtypes.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use crate::means::Long;
use crate::pixel::Pixel as _;
use crate::strips::STRIP;
use arrayloom_cpu::{Wide, wide};
use arrayloom_types::DType;
use bytemuck::Pod;
use half::f16;

/// A way from elements `S` to numbers `W`.
pub(crate) trait Load<S: Pod, W: Pod>: Copy + Sync {
    /// True if it takes so long that rows which several windows read are better converted before.
    fn is_slow(self) -> bool {
        false
    }

    /// The numbers of `N` elements.
    fn map<const N: usize>(self, from: &[S; N]) -> [W; N];

    /// The numbers of a row.
    #[inline(always)]
    fn row(self, from: &[S], to: &mut [W]) {
        let (strips, rest) = from.as_chunks::<STRIP>();
        let (to, last) = to[..from.len()].as_chunks_mut::<STRIP>();
        for (to, strip) in to.iter_mut().zip(strips) {
            *to = self.map(strip);
        }
        for (to, &one) in last.iter_mut().zip(rest) {
            [*to] = self.map(&[one]);
        }
    }
}

/// Numbers that are what they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain;

impl<W: Pod> Load<W, W> for Plain {
    #[inline(always)]
    fn map<const N: usize>(self, from: &[W; N]) -> [W; N] {
        *from
    }
}

/// The numbers of `N` elements, one by one.
#[inline(always)]
pub(crate) fn each<S: Copy, W: Pod, const N: usize>(
    from: &[S; N],
    with: impl Fn(S) -> W,
) -> [W; N] {
    let mut to = [W::zeroed(); N];
    for j in 0..N {
        to[j] = with(from[j]);
    }
    to
}

/// The same for a row, of any length.
#[inline(always)]
pub(crate) fn every<S: Copy, W>(from: &[S], to: &mut [W], with: impl Fn(S) -> W) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = with(from);
    }
}

/// Raw words as numbers of this dtype.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers(pub(crate) DType);

macro_rules! numbers {
    ($($raw:ty, $w:ty, $to:ident, $plain:ty; $($name:ident => $t:ty),*;)*) => {$(
        impl Load<$raw, $w> for Numbers {
            #[inline(always)]
            fn map<const N: usize>(self, from: &[$raw; N]) -> [$w; N] {
                match self.0 {
                    $(DType::$name => each(from, |v| bytemuck::cast::<$raw, $t>(v).$to()),)*
                    _ => each(from, |v| bytemuck::cast::<$raw, $plain>(v).$to()),
                }
            }

            #[inline(always)]
            fn row(self, from: &[$raw], to: &mut [$w]) {
                match self.0 {
                    $(DType::$name => every(from, to, |v| bytemuck::cast::<$raw, $t>(v).$to()),)*
                    _ => every(from, to, |v| bytemuck::cast::<$raw, $plain>(v).$to()),
                }
            }
        }
    )*};
}
numbers! {
    u8, f32, to_f32, u8; I8 => i8;
    u16, f32, to_f32, u16; I16 => i16, F16 => f16;
    u8, f64, to_f64, u8; I8 => i8;
    u16, f64, to_f64, u16; I16 => i16, F16 => f16;
    u32, f64, to_f64, u32; I32 => i32, F32 => f32;
    u64, f64, to_f64, u64; I64 => i64, F64 => f64;
}

/// Bytes as wider whole numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes;

impl Load<u8, u16> for Bytes {
    #[inline(always)]
    fn map<const N: usize>(self, from: &[u8; N]) -> [u16; N] {
        each(from, u16::from)
    }
}

macro_rules! whole_numbers {
    ($($raw:ty, $to:ty, $signed:ident, $sign:expr;)*) => {$(
        impl Load<$raw, $to> for Numbers {
            #[inline(always)]
            fn map<const N: usize>(self, from: &[$raw; N]) -> [$to; N] {
                // Flipped and subtracted, the sign bit is extended; so there is one loop for both kinds.
                let sign = if self.0 == DType::$signed { $sign } else { 0 };
                each(from, |v| (<$to>::from(v) ^ sign) - sign)
            }
        }
    )*};
}
whole_numbers! {
    u8, i32, I8, 0x80;
    u16, i32, I16, 0x8000;
    u8, i64, I8, 0x80;
    u16, i64, I16, 0x8000;
    u32, i64, I32, 0x8000_0000;
}

/// Small numbers of 8 bytes, with a sign or without.
impl Load<u64, i64> for Numbers {
    #[inline(always)]
    fn map<const N: usize>(self, from: &[u64; N]) -> [i64; N] {
        each(from, u64::cast_signed)
    }
}

impl Load<u64, Long> for Numbers {
    #[inline(always)]
    fn map<const N: usize>(self, from: &[u64; N]) -> [Long; N] {
        let signed = if self.0 == DType::I64 { u64::MAX } else { 0 };
        each(from, |v| {
            [v, (v.cast_signed() >> 63).cast_unsigned() & signed]
        })
    }
}

struct Row<'a, S, W, L> {
    from: &'a [S],
    to: &'a mut [W],
    load: L,
}

impl<S: Pod, W: Pod, L: Load<S, W>> Wide for Row<'_, S, W, L> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        self.load.row(self.from, self.to);
    }
}

/// The numbers of a row, with the widest vectors of this processor.
pub(crate) fn row<S: Pod, W: Pod>(load: impl Load<S, W>, from: &[S], to: &mut [W]) {
    wide(Row { from, to, load });
}

fn convert<S: Pod, W: Pod>(load: impl Load<S, W>, from: &[u8], to: &mut [W]) {
    row(load, bytemuck::cast_slice(from), to);
}

/// Elements of this dtype as whole numbers, for integers of up to 2 bytes.
pub(crate) fn shorts(dtype: DType, from: &[u8], to: &mut [i32]) {
    match dtype.size() {
        1 => convert::<u8, i32>(Numbers(dtype), from, to),
        _ => convert::<u16, i32>(Numbers(dtype), from, to),
    }
}

/// The same, for integers of 4 bytes, and small ones of 8 bytes.
pub(crate) fn middles(dtype: DType, from: &[u8], to: &mut [i64]) {
    match dtype.size() {
        4 => convert::<u32, i64>(Numbers(dtype), from, to),
        _ => convert::<u64, i64>(Numbers(dtype), from, to),
    }
}

/// The same, for integers of 8 bytes.
pub(crate) fn longs(dtype: DType, from: &[u8], to: &mut [Long]) {
    convert::<u64, Long>(Numbers(dtype), from, to);
}

/// Elements of this dtype in single precision; for dtypes that filters compute in it.
pub(crate) fn singles(dtype: DType, from: &[u8], to: &mut [f32]) {
    match dtype.size() {
        1 => convert::<u8, f32>(Numbers(dtype), from, to),
        2 => convert::<u16, f32>(Numbers(dtype), from, to),
        _ => convert::<f32, f32>(Plain, from, to),
    }
}

/// Elements of this dtype in double precision.
pub(crate) fn doubles(dtype: DType, from: &[u8], to: &mut [f64]) {
    match dtype.size() {
        1 => convert::<u8, f64>(Numbers(dtype), from, to),
        2 => convert::<u16, f64>(Numbers(dtype), from, to),
        4 => convert::<u32, f64>(Numbers(dtype), from, to),
        _ => convert::<u64, f64>(Numbers(dtype), from, to),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_their_dtype_says() {
        let words = [(-3i16).cast_unsigned(), 7];
        let plain: [f32; 2] = Numbers(DType::U16).map(&words);
        let signed: [f32; 2] = Numbers(DType::I16).map(&words);
        assert_eq!((plain, signed), ([65533.0, 7.0], [-3.0, 7.0]));
        let whole: [i32; 2] = Numbers(DType::U16).map(&words);
        let signed: [i32; 2] = Numbers(DType::I16).map(&words);
        assert_eq!((whole, signed), ([65533, 7], [-3, 7]));
        let mut out = [0.0f64; 67];
        let words: Vec<u64> = (0..67).map(|i| (f64::from(i) / 3.0).to_bits()).collect();
        Numbers(DType::F64).row(&words, &mut out);
        assert!(
            out.iter()
                .zip(0..)
                .all(|(v, i)| v.to_bits() == (f64::from(i) / 3.0).to_bits())
        );
    }
}
