//! Means of whole numbers: how wide the sums of their windows are, so that they are exact, and quotients of these
//! sums, rounded once, half to even.
#![expect(
    clippy::inline_always,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_lossless,
    reason = "sums as doubles and back, inlined into code compiled for wide vectors"
)]

use crate::block::View;
use crate::load::each;
use crate::op::Mode;
use crate::pixel::{Pixel, with_pixel};
use crate::store::Store;
use arrayloom_types::DType;

/// A whole number of 128 bits, the lower half first. As an array it needs no more alignment than what volumes have.
pub(crate) type Long = [u64; 2];

/// This number as one of Rust's.
#[inline(always)]
pub(crate) fn long(v: Long) -> i128 {
    (u128::from(v[0]) | u128::from(v[1]) << 64).cast_signed()
}

/// One of Rust's numbers as halves.
#[inline(always)]
pub(crate) fn halved(v: i128) -> Long {
    let v = v.cast_unsigned();
    [v as u64, (v >> 64) as u64]
}

/// The numbers that hold sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    /// `i32`, for elements of 1 and 2 bytes.
    Short,
    /// `i64` below 2^53, for elements of 4 bytes, small ones of 8 bytes, and many of fewer bytes.
    Middle,
    /// [`Long`], for elements of 8 bytes.
    Long,
}

/// The greatest magnitude of what is summed: of elements and of constants beside them. None where these are not
/// whole, or where windows are clipped.
pub(crate) fn greatest(dtype: DType, modes: impl Iterator<Item = Mode>) -> Option<f64> {
    let mut greatest = match dtype {
        DType::Bool => 1.0,
        DType::U8 | DType::I8 => 255.0,
        DType::U16 | DType::I16 => 65_535.0,
        DType::U32 | DType::I32 => 2f64.powi(32),
        DType::U64 | DType::I64 => 2f64.powi(64),
        _ => return None,
    };
    for mode in modes {
        match mode {
            Mode::Constant(value) if value.fract() == 0.0 => greatest = greatest.max(value.abs()),
            Mode::Constant(_) | Mode::Renormalize => return None,
            _ => {}
        }
    }
    Some(greatest)
}

/// How wide sums of `points` points are, if they are exact.
pub(crate) fn width(dtype: DType, points: f64, modes: impl Iterator<Item = Mode>) -> Option<Width> {
    let greatest = greatest(dtype, modes)?;
    let sum = points * greatest;
    match dtype.size() {
        1 | 2 if sum < f64::from(i32::MAX) => Some(Width::Short),
        1 | 2 | 4 => (sum < MIDDLE).then_some(Width::Middle),
        // Points are far fewer than 2^36, so what a mean is off by fits 64 bits.
        _ => (sum < 2f64.powi(100)).then_some(Width::Long),
    }
}

/// The width for the sums of these voxels: numbers of 8 bytes are mostly small, and narrower sums take a tenth of the
/// time. Where both widths hold the sums, means are the same, so parts of a volume may differ in it.
pub(crate) fn width_for(
    width: Width,
    view: &View<'_>,
    points: f64,
    modes: impl Iterator<Item = Mode>,
) -> Width {
    if width != Width::Long {
        return width;
    }
    let constants = modes.map(|mode| match mode {
        Mode::Constant(value) => value.abs(),
        _ => 0.0,
    });
    let greatest = constants.fold(magnitude(view), f64::max);
    if points * greatest < MIDDLE {
        Width::Middle
    } else {
        Width::Long
    }
}

/// A bound of the magnitudes of integers of 8 bytes, at most twice the greatest.
fn magnitude(view: &View<'_>) -> f64 {
    let words: &[u64] = bytemuck::cast_slice(view.data);
    // All bits that are set in any of them; those of a negative number are flipped, which takes one from its magnitude.
    let bits = if view.dtype == DType::I64 {
        let flipped = |v: u64| v ^ (v.cast_signed() >> 63).cast_unsigned();
        words.iter().fold(0, |bits, &v| bits | flipped(v))
    } else {
        words.iter().fold(0, |bits, &v| bits | v)
    };
    bits as f64 + 1.0
}

/// What sums of middle width are below: all of them are doubles.
const MIDDLE: f64 = (1u64 << 53) as f64;

/// What sums are divided by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Points {
    count: f64,
    share: f64,
}

impl Points {
    pub(crate) fn new(count: f64) -> Points {
        Points {
            count,
            share: 1.0 / count,
        }
    }

    /// `sum / points` to the nearest double, of a sum that is a double.
    #[inline(always)]
    fn quotient(self, sum: f64) -> f64 {
        let near = sum * self.share;
        self.share.mul_add((-near).mul_add(self.count, sum), near)
    }
}

/// A sum of whole numbers.
pub(crate) trait Total: Copy + Sync {
    /// In single precision.
    fn single(self) -> f32;

    /// The mean of so many points as an element.
    fn mean<T: Pixel>(self, points: Points) -> T;
}

macro_rules! doubles {
    ($($t:ty)*) => {$(
        impl Total for $t {
            #[inline(always)]
            fn single(self) -> f32 {
                self as f32
            }

            #[inline(always)]
            fn mean<T: Pixel>(self, points: Points) -> T {
                T::from_f64(points.quotient(self as f64))
            }
        }
    )*};
}
doubles!(i32 i64);

impl Total for Long {
    #[inline(always)]
    fn single(self) -> f32 {
        near(self) as f32
    }

    #[inline(always)]
    fn mean<T: Pixel>(self, points: Points) -> T {
        let low = self[0].cast_signed();
        let is_low = self[1].cast_signed() == low >> 63;
        if is_low && (low.unsigned_abs() as f64) < MIDDLE {
            return low.mean(points);
        }
        // The mean is an even number near it plus a small quotient, whose halves go to even ones with it.
        let about = near(self) * points.share;
        let (whole, double) = if about < 0.0 {
            let whole = about as i64 & !1;
            (i128::from(whole), whole as f64)
        } else {
            let whole = about as u64 & !1;
            (i128::from(whole), whole as f64)
        };
        let taken = (whole as u64).wrapping_mul(points.count as u64);
        let rest = self[0].wrapping_sub(taken).cast_signed();
        T::from_parts(whole, double, rest as f64 / points.count)
    }
}

/// What the upper half of a number counts.
const HIGH: f64 = 2.0 * (1u64 << 63) as f64;

/// Roughly this number, in double precision.
#[inline(always)]
fn near(sum: Long) -> f64 {
    (sum[1].cast_signed() as f64).mul_add(HIGH, sum[0] as f64)
}

/// True if sums over `points`, divided in single precision, round to the same integers of this dtype. Quotients by
/// odd numbers are never nearer to a half than half of their share.
fn single_is_enough(dtype: DType, points: f64) -> bool {
    let greatest = match dtype {
        DType::Bool | DType::U8 | DType::I8 => 256.0,
        DType::U16 | DType::I16 => 65_536.0,
        _ => return false,
    };
    (points % 2.0 - 1.0).abs() < 0.5 && points * greatest < f64::from(1 << 21)
}

/// Means of numbers of 16 bits: quotients in single precision, where that is enough.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShortMeans {
    share: f32,
}

impl ShortMeans {
    /// For windows of so many points of elements `from` that become elements `to`.
    pub(crate) fn new((from, to): (DType, DType), points: f64) -> Option<ShortMeans> {
        let short = from == to && matches!(to, DType::U16 | DType::I16);
        (short && single_is_enough(to, points)).then(|| ShortMeans {
            share: Points::new(points).share as f32,
        })
    }
}

/// A number added to this one has its integer, to the nearest, in its lowest bits.
const WHOLE: f32 = 1.5 * (1 << 23) as f32;

impl Store<i32> for ShortMeans {
    type To = u16;

    #[inline(always)]
    fn map<const N: usize>(self, sums: [i32; N]) -> [u16; N] {
        // Means lie between their elements, so they fit.
        each(&sums, |sum| {
            (sum as f32 * self.share + WHOLE).to_bits() as u16
        })
    }
}

/// Rounds quotients of sums and `points` to `dtype`.
pub(crate) fn emit_means<W: Total>(dtype: DType, points: f64, sums: &[W], out: &mut [u8]) {
    let over = Points::new(points);
    if single_is_enough(dtype, points) {
        let share = over.share as f32;
        with_pixel!(dtype, T => {
            let out = bytemuck::cast_slice_mut::<u8, T>(out);
            crate::emit::cast(sums, out, |sum| T::from_f32(sum.single() * share));
        }, complex => ());
        return;
    }
    with_pixel!(dtype, T => {
        let out = bytemuck::cast_slice_mut::<u8, T>(out);
        crate::emit::cast(sums, out, |sum| sum.mean::<T>(over));
    }, complex => ());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_exact_and_other_quotients_near() {
        for points in 1..400 {
            let n = Points::new(f64::from(points));
            for sum in (0..90_000)
                .step_by(7)
                .chain([points / 2, -points, i32::MAX])
            {
                let exact = f64::from(sum) / f64::from(points);
                let near = n.quotient(f64::from(sum));
                assert!((near - exact).abs() <= exact.abs() * f64::EPSILON);
                if (exact * 2.0).fract() == 0.0 {
                    assert_eq!(near.to_bits(), exact.to_bits(), "{sum} / {points}");
                }
            }
        }
    }

    #[test]
    fn means_of_long_integers_keep_their_lowest_bits() {
        let wanted = |sum: i128, n: i128| {
            let (down, rest) = (sum.div_euclid(n), 2 * sum.rem_euclid(n));
            down + i128::from(rest > n || rest == n && down % 2 != 0)
        };
        let counts = [1i128, 2, 3, 6, 9, 10, 64, 343, 1000, 1 << 20];
        let means = [
            0,
            1 << 20,
            1 << 53,
            (1 << 60) + 7,
            i128::from(i64::MAX) - 400,
        ];
        for (n, near) in counts.into_iter().flat_map(|n| means.map(|near| (n, near))) {
            let over = Points::new(f64::from(i32::try_from(n).unwrap_or(0)));
            let sums = (-99..99)
                .chain([n / 2, 3 * n / 2])
                .map(|more| near * n + more);
            for sum in sums.flat_map(|sum| [sum, -sum]) {
                let found: i64 = halved(sum).mean(over);
                assert_eq!(i128::from(found), wanted(sum, n), "{sum} / {n}");
            }
            let high = i128::from(u64::MAX) - 40 - near;
            let found: u64 = halved(high * n + n / 2).mean(over);
            assert_eq!(i128::from(found), wanted(high * n + n / 2, n));
        }
        let over = Points::new(2.0);
        assert_eq!(
            halved(-601).mean::<u8>(over),
            0,
            "what lies beyond saturates"
        );
        assert_eq!(halved(601).mean::<u8>(over), 255);
        assert_eq!(halved(601).mean::<f32>(over).to_bits(), 300.5f32.to_bits());
        assert_eq!(long(halved(-7)), -7);
    }

    #[test]
    fn means_of_short_numbers_are_those_that_are_emitted() {
        for (dtype, points) in [(DType::U16, 9.0), (DType::I16, 9.0), (DType::U16, 31.0)] {
            let means = ShortMeans::new((dtype, dtype), points).expect("short and odd");
            let (low, high) = match dtype {
                DType::U16 => (0, 65_535),
                _ => (-32_768, 32_767),
            };
            let n = points as i32;
            let sums: Vec<i32> = (low * n..=high * n).collect();
            let mut wanted = vec![0u16; sums.len()];
            emit_means(dtype, points, &sums, bytemuck::cast_slice_mut(&mut wanted));
            for (sum, wanted) in sums.iter().zip(wanted) {
                assert_eq!(means.map([*sum]), [wanted], "{sum} / {points} of {dtype}");
            }
        }
        assert!(ShortMeans::new((DType::U16, DType::U16), 10.0).is_none());
        assert!(ShortMeans::new((DType::U16, DType::F32), 9.0).is_none());
        assert!(ShortMeans::new((DType::U8, DType::U8), 9.0).is_none());
    }

    #[test]
    fn sums_are_as_wide_as_they_need() {
        let modes = |mode| [Mode::Reflect, mode].into_iter();
        let of = |dtype, points, mode| width(dtype, points, modes(mode));
        let short = Some(Width::Short);
        assert_eq!(of(DType::U16, 343.0, Mode::Constant(-3.0)), short);
        assert_eq!(of(DType::Bool, 343.0, Mode::Constant(7.0)), short);
        assert_eq!(of(DType::U16, 343.0, Mode::Constant(0.5)), None);
        assert_eq!(of(DType::U8, 3.0, Mode::Constant(f64::INFINITY)), None);
        assert_eq!(of(DType::U16, 343.0, Mode::Renormalize), None);
        assert_eq!(of(DType::U16, 40_000.0, Mode::Wrap), Some(Width::Middle));
        assert_eq!(of(DType::U16, 2f64.powi(38), Mode::Wrap), None);
        assert_eq!(of(DType::I32, 343.0, Mode::Wrap), Some(Width::Middle));
        assert_eq!(of(DType::U64, 343.0, Mode::Wrap), Some(Width::Long));
        assert_eq!(of(DType::F16, 3.0, Mode::Wrap), None);
    }
}
