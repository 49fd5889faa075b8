//! Numbers as whole numbers in the same order.

use bytemuck::Pod;

/// A positive and a negative zero among the elements, and the usual NaN with either sign, or another one.
pub(crate) mod form {
    pub(crate) const ZERO: u8 = 1;
    pub(crate) const NEGATIVE_ZERO: u8 = 2;
    pub(crate) const NAN: u8 = 4;
    pub(crate) const NEGATIVE_NAN: u8 = 8;
    pub(crate) const OTHER_NAN: u8 = 16;
}

/// An element that can be sorted. NaN comes last, as NumPy sorts it.
pub trait Number: Pod + Send + Sync {
    /// A whole number in the same order.
    type Key: Pod + Ord + Send + Sync;

    /// The element as a key: zeros have two, of which the negative one is less, and all NaN have one.
    fn key(self) -> Self::Key;

    /// The element of a key, where elements of these forms are among all.
    fn of_key(key: Self::Key, forms: u8) -> Self;

    /// A number in the same order: equal for elements that are equal, and for all NaN.
    fn rank(self) -> u64;

    /// What is special about the element, as a bit of `form`.
    fn form(self) -> u8 {
        0
    }
}

/// True if elements of these forms are equal in order, but not in their bits: then nobody but NumPy knows their order.
pub(crate) fn are_mixed(forms: u8) -> bool {
    let both = |a: u8, b: u8| forms & (a | b) == a | b;
    both(form::ZERO, form::NEGATIVE_ZERO)
        || both(form::NAN, form::NEGATIVE_NAN)
        || forms & form::OTHER_NAN != 0
}

macro_rules! whole {
    ($($t:ty => |$x:ident| $rank:expr;)*) => { $(impl Number for $t {
        type Key = $t;

        #[inline]
        fn key(self) -> $t {
            self
        }

        #[inline]
        fn of_key(key: $t, _forms: u8) -> $t {
            key
        }

        #[inline]
        fn rank(self) -> u64 {
            let $x = self;
            $rank
        }
    })* };
}

macro_rules! real {
    ($($t:ty => $key:ty;)*) => { $(impl Number for $t {
        type Key = $key;

        #[inline]
        fn key(self) -> $key {
            let top: $key = 1 << (<$key>::BITS - 1);
            let bits = self.to_bits();
            let ordered = if bits & top == 0 { bits | top } else { !bits };
            if self.is_nan() { <$key>::MAX } else { ordered }
        }

        #[inline]
        fn of_key(key: $key, forms: u8) -> $t {
            let top: $key = 1 << (<$key>::BITS - 1);
            let bits = if key & top == 0 { !key } else { key & !top };
            let nan = if forms & form::NEGATIVE_NAN == 0 { <$t>::NAN } else { -<$t>::NAN };
            if key == <$key>::MAX { nan } else { <$t>::from_bits(bits) }
        }

        #[inline]
        fn rank(self) -> u64 {
            (if self == 0.0 { 0.0 } else { self }).key().into()
        }

        #[inline]
        fn form(self) -> u8 {
            let bits = self.to_bits();
            let zero = if bits == 0 { form::ZERO } else { form::NEGATIVE_ZERO };
            let nan = if bits == <$t>::NAN.to_bits() {
                form::NAN
            } else if bits == (-<$t>::NAN).to_bits() {
                form::NEGATIVE_NAN
            } else {
                form::OTHER_NAN
            };
            let zero = if self == 0.0 { zero } else { 0 };
            if self.is_nan() { nan } else { zero }
        }
    })* };
}

whole! {
    // The least number becomes zero.
    i32 => |x| i64::from(x).cast_unsigned() ^ 1 << 63;
    i64 => |x| x.cast_unsigned() ^ 1 << 63;
    u32 => |x| x.into();
    u64 => |x| x;
}

real! {
    f32 => u32;
    f64 => u64;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;
    use std::fmt::Debug;

    /// Keys go back to the element, and they and ranks are in the order of `compare`, NaN last.
    fn agree<T: Number + PartialOrd + Debug>(all: &[T]) {
        #[expect(clippy::eq_op, reason = "a NaN does not equal itself")]
        let nan = |x: T| x != x;
        for &a in all {
            let back = T::of_key(a.key(), a.form());
            assert_eq!(bytemuck::bytes_of(&back), bytemuck::bytes_of(&a), "{a:?}");
            for &b in all {
                let order = a.partial_cmp(&b).unwrap_or(nan(a).cmp(&nan(b)));
                assert_eq!(a.rank().cmp(&b.rank()), order, "{a:?} {b:?}");
                let differ = order != Ordering::Equal;
                assert!(!differ || a.key().cmp(&b.key()) == order, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn keys_and_ranks_are_in_the_order_of_elements() {
        agree(&[i64::MIN, -7, -1, 0, 1, 7, i64::MAX]);
        agree(&[u64::MIN, 1, 7, u64::MAX]);
        agree(&[i32::MIN, -1, 0, 1, i32::MAX]);
        agree(&[u32::MIN, 1, u32::MAX]);
        let sizes = [
            f64::INFINITY,
            f64::MAX,
            f64::MIN_POSITIVE,
            5e-324,
            0.0,
            1.5,
            f64::NAN,
        ];
        let doubles: Vec<f64> = sizes.into_iter().flat_map(|x| [x, -x]).collect();
        agree(&doubles);
        let sizes = [
            f32::INFINITY,
            f32::MAX,
            f32::MIN_POSITIVE,
            1e-45,
            0.0,
            1.5,
            f32::NAN,
        ];
        let singles: Vec<f32> = sizes.into_iter().flat_map(|x| [x, -x]).collect();
        agree(&singles);
    }

    #[test]
    fn equal_elements_of_different_bits_are_seen() {
        let mixed = |all: &[f64]| are_mixed(all.iter().fold(0, |forms, x| forms | x.form()));
        let other = f64::from_bits(f64::NAN.to_bits() + 1);
        assert!(mixed(&[1.0, -0.0, 0.0]) && mixed(&[f64::NAN, -f64::NAN]) && mixed(&[other]));
        assert!(!mixed(&[-0.0, -0.0, f64::NAN, -1.0]) && !mixed(&[0.0, -f64::NAN]));
        assert!(!are_mixed(0u64.form() | 5i32.form()));
    }
}
