//! How numbers of a filter's arithmetic become elements in memory, a strip at a time. As in `load.rs`, elements are
//! raw words, and what they mean is asked once for a strip.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use crate::load::{Keys, Order, Plain};
use crate::pixel::Pixel as _;
use arrayloom_types::DType;
use bytemuck::Pod;
use half::f16;

/// A way from numbers `W` to elements.
pub(crate) trait Store<W>: Copy + Sync {
    /// An element.
    type To: Pod;

    /// The elements of `N` numbers.
    fn map<const N: usize>(self, from: [W; N]) -> [Self::To; N];
}

impl<W: Pod> Store<W> for Plain {
    type To = W;

    #[inline(always)]
    fn map<const N: usize>(self, from: [W; N]) -> [W; N] {
        from
    }
}

macro_rules! keys {
    ($($raw:ty; $($name:ident => $t:ty),*;)*) => {$(
        impl Store<$raw> for Keys {
            type To = $raw;

            #[inline(always)]
            fn map<const N: usize>(self, mut keys: [$raw; N]) -> [$raw; N] {
                let mask = if self.order == Order::Highest { <$raw>::MAX } else { 0 };
                match self.dtype {
                    $(DType::$name => for key in &mut keys {
                        *key = bytemuck::cast(<$t>::of_key(*key ^ mask));
                    },)*
                    _ => for key in &mut keys {
                        *key ^= mask;
                    },
                }
                keys
            }
        }
    )*};
}
keys! {
    u8; I8 => i8;
    u16; I16 => i16, F16 => f16;
    u32; I32 => i32, F32 => f32;
    u64; I64 => i64, F64 => f64;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Load;

    #[test]
    fn keys_become_the_words_that_they_were_made_from() {
        let words = [1.5f32, -0.0, 0.0, f32::NEG_INFINITY].map(f32::to_bits);
        for order in [Order::Lowest, Order::Highest, Order::Rising] {
            let keys = |dtype| Keys { dtype, order };
            for dtype in [DType::F32, DType::I32, DType::U32] {
                let made = Load::map(keys(dtype), &words);
                assert_eq!(Store::map(keys(dtype), made), words);
            }
            let nan = Load::map(keys(DType::F32), &[(-f32::NAN).to_bits()]);
            assert_eq!(Store::map(keys(DType::F32), nan), [f32::NAN.to_bits()]);
        }
    }
}
