//! Unary kernels of integers and floats, and the parts of complex numbers.

use super::{Body, Kern, pick, plain, tile, tile_mut};
use crate::Isa;
use std::marker::PhantomData;

/// A function of one value.
pub(crate) trait Un<T> {
    /// The result.
    type R;
    /// The function.
    fn f(x: T) -> Self::R;
}

struct One<O, T>(PhantomData<(O, T)>);

impl<T: Copy, O: Un<T>> Body for One<O, T> {
    #[inline(always)]
    unsafe fn run(a: *const u8, _: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<T>(a, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<O::R>(out, n) };
        for (o, &x) in out.iter_mut().zip(a) {
            *o = O::f(x);
        }
        0
    }
}

/// The kernel of `O`.
pub(super) fn one<O: Un<T>, T: Copy>(isa: Isa) -> Kern {
    pick::<One<O, T>>(isa)
}

/// The kernel of `O`, compiled once.
pub(super) fn once<O: Un<T>, T: Copy>() -> Kern {
    plain::<One<O, T>>()
}

macro_rules! marks {
    ($($name:ident)*) => { $(pub(crate) struct $name;)* };
}

marks!(Neg Abs Not NotBool Sign SignBit PopCount Sqrt Square Reciprocal Rint Floor Ceil Trunc);
marks!(IsNan IsInf IsFinite Same);

macro_rules! un {
    ($op:ident $r:ty, $($t:ty)*, |$x:ident| $e:expr) => { $(
        impl Un<$t> for $op {
            type R = $r;
            #[inline(always)]
            fn f($x: $t) -> $r { $e }
        }
    )* };
}

macro_rules! same {
    ($op:ident, $($t:ty)*, |$x:ident| $e:expr) => { $(un!($op $t, $t, |$x| $e);)* };
}

same!(Neg, u8 u16 u32 u64, |x| x.wrapping_neg());
same!(Neg, f32 f64, |x| -x);
same!(Abs, i8 i16 i32 i64, |x| x.wrapping_abs());
same!(Abs, f32 f64, |x| x.abs());
same!(Not, u8 u16 u32 u64, |x| !x);
same!(NotBool, u8, |x| x ^ 1);
same!(Same, u8 u16 u32 u64, |x| x);
un!(Same [u64; 2], [u64; 2], |x| x);
same!(Sign, i8 i16 i32 i64, |x| x.signum());
same!(Sign, u8 u16 u32 u64, |x| x.min(1));
same!(Sign, f32 f64, |x| if x > 0.0 {
    1.0
} else if x < 0.0 {
    -1.0
} else if x == 0.0 {
    0.0
} else {
    x
});
un!(SignBit u8, f32 f64, |x| u8::from(x.is_sign_negative()));
un!(PopCount u8, i8 i16 i32 i64, |x| {
    #[expect(clippy::cast_possible_truncation, reason = "at most 64")]
    let ones = x.unsigned_abs().count_ones() as u8;
    ones
});
un!(PopCount u8, u8 u16 u32 u64, |x| {
    #[expect(clippy::cast_possible_truncation, reason = "at most 64")]
    let ones = x.count_ones() as u8;
    ones
});
same!(Sqrt, f32 f64, |x| x.sqrt());
same!(Square, u8 u16 u32 u64, |x| x.wrapping_mul(x));
same!(Square, f32 f64, |x| x * x);
same!(Reciprocal, f32 f64, |x| 1.0 / x);
same!(Rint, f32 f64, |x| x.round_ties_even());
same!(Floor, f32 f64, |x| x.floor());
same!(Ceil, f32 f64, |x| x.ceil());
same!(Trunc, f32 f64, |x| x.trunc());
un!(IsNan u8, f32 f64, |x| u8::from(x.is_nan()));
un!(IsInf u8, f32 f64, |x| u8::from(x.is_infinite()));
un!(IsFinite u8, f32 f64, |x| u8::from(x.is_finite()));
