//! Integers that sort as elements do, for filters that pick a value: elements as keys, and keys as elements. As in
//! `load.rs`, elements are raw words, and what they mean is asked once for a strip.

use crate::load::{Load, each, every, row};
use crate::pixel::{Key, Pixel, with_pixel};
use crate::store::Store;
use arrayloom_types::{DType, Kind};
use half::f16;

/// How keys sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// As the values do; NaN is the greatest key.
    Rising,
    /// The smallest value has the smallest key, but for NaN, which has zero.
    Lowest,
    /// The greatest value has the smallest key, but for NaN, which has zero.
    Highest,
}

/// Raw words of this dtype as integers in an order of the values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    pub(crate) dtype: DType,
    pub(crate) order: Order,
}

impl Keys {
    /// True for floats: who reads an element several times had better convert it once.
    pub(crate) fn are_slow(self) -> bool {
        self.dtype.kind() == Kind::Float
    }

    /// The same, as devices are told.
    pub(crate) fn on_device(self) -> arrayloom_device::Keys {
        match self.order {
            Order::Rising => arrayloom_device::Keys::Rising,
            Order::Lowest => arrayloom_device::Keys::Lowest,
            Order::Highest => arrayloom_device::Keys::Highest,
        }
    }

    /// True if keys are the elements as they are.
    pub(crate) fn are_elements(self) -> bool {
        use DType::{Bool, U8, U16, U32, U64};
        self.order != Order::Highest && matches!(self.dtype, Bool | U8 | U16 | U32 | U64)
    }
}

macro_rules! keys {
    ($($raw:ty; $($name:ident => $t:ty),*;)*) => {$(
        impl Load<$raw, $raw> for Keys {
            fn is_slow(self) -> bool {
                self.are_slow()
            }

            #[inline(always)]
            fn map<const N: usize>(self, from: &[$raw; N]) -> [$raw; N] {
                let first = self.order == Order::Lowest;
                let mask = if self.order == Order::Highest { <$raw>::MAX } else { 0 };
                match self.dtype {
                    $(DType::$name => each(from, |v| bytemuck::cast::<$raw, $t>(v).key(first) ^ mask),)*
                    _ => each(from, |v| v ^ mask),
                }
            }

            #[inline(always)]
            fn row(self, from: &[$raw], to: &mut [$raw]) {
                let first = self.order == Order::Lowest;
                let mask = if self.order == Order::Highest { <$raw>::MAX } else { 0 };
                match self.dtype {
                    $(DType::$name => every(from, to, |v| bytemuck::cast::<$raw, $t>(v).key(first) ^ mask),)*
                    _ => every(from, to, |v| v ^ mask),
                }
            }
        }

        impl Store<$raw> for Keys {
            type To = $raw;

            #[inline(always)]
            fn map<const N: usize>(self, mut keys: [$raw; N]) -> [$raw; N] {
                let mask = if self.order == Order::Highest { <$raw>::MAX } else { 0 };
                for key in &mut keys {
                    *key ^= mask;
                }
                match self.dtype {
                    $(DType::$name => for key in &mut keys {
                        *key = bytemuck::cast(<$t>::of_key(*key));
                    },)*
                    _ => (),
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

/// Elements as keys.
pub(crate) fn as_keys<K: Key>(load: Keys, from: &[u8], to: &mut [K])
where
    Keys: Load<K, K>,
{
    row::<K, K>(load, bytemuck::cast_slice(from), to);
}

/// Keys as elements of this dtype.
pub(crate) fn emit_keys<K: Key>(load: Keys, keys: &[K], out: &mut [u8]) {
    let keys: &[u8] = bytemuck::cast_slice(keys);
    with_pixel!(load.dtype, T => {
        let mask = if load.order == Order::Highest { <T as Pixel>::Key::MAX } else { <T as Pixel>::Key::MIN };
        let keys: &[<T as Pixel>::Key] = bytemuck::cast_slice(keys);
        crate::emit::cast(keys, bytemuck::cast_slice_mut::<u8, T>(out), |k| T::of_key(k ^ mask));
    }, complex => ());
}

/// The key of a number.
pub(crate) fn key_of<K: Key>(load: Keys, value: f64) -> K {
    let key = with_pixel!(load.dtype, T => {
        let mask = if load.order == Order::Highest { <T as Pixel>::Key::MAX } else { <T as Pixel>::Key::MIN };
        (T::from_f64(value).key(load.order == Order::Lowest) ^ mask).widened()
    }, complex => 0);
    K::narrowed(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_maxima_fall_and_nan_is_zero() {
        let words = [f32::NAN, -1.0, 2.0].map(f32::to_bits);
        for order in [Order::Lowest, Order::Highest, Order::Rising] {
            let dtype = DType::F32;
            let keys = Load::map(Keys { dtype, order }, &words);
            assert_eq!(keys[0], if order == Order::Rising { u32::MAX } else { 0 });
            assert_eq!(keys[1] > keys[2], order == Order::Highest);
        }
    }

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
