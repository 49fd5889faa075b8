//! Extrema, ranges and means over boxes against loops that are obviously right: all dtypes and modes, windows longer
//! than axes, infinities, signed zeros and NaN, and every cut into boxes.
#![expect(clippy::unwrap_used, reason = "a failing test says where")]

use arrayloom_types::{DType, Region};
use arrayloom_volume::ops::{
    BoxExtremum, BoxRange, Extremum, Linear, LinearAxis, Neighbourhood, Statistic, WindowAxis,
    local,
};
use arrayloom_volume::{Ctx, Meter, Mode, Op, View, ViewMut};

const MODES: [Mode; 6] = [
    Mode::Reflect,
    Mode::Mirror,
    Mode::Nearest,
    Mode::Wrap,
    Mode::Constant(2.0),
    Mode::Renormalize,
];

/// Extents and windows: short and long ones, odd and even, longer than the axis, rows of one strip and of several.
const SHAPES: [(&[i64], &[usize]); 13] = [
    (&[300], &[13]),
    (&[5], &[31]),
    (&[17, 170], &[3, 3]),
    (&[9, 140], &[7, 10]),
    (&[12, 75], &[31, 31]),
    (&[3, 4100], &[2, 16]),
    (&[6, 7, 40], &[3, 1, 9]),
    (&[4, 9, 33], &[1, 12, 3]),
    (&[5, 7, 90], &[3, 4, 9]),
    (&[11, 66], &[6, 66]),
    (&[58, 40], &[50, 7]),
    (&[6, 90], &[1, 20]),
    (&[6, 90], &[1, 47]),
];

/// Elements that the tests compute with: what joins two of them, and a few remarkable ones.
trait Element: bytemuck::Pod + PartialEq + std::fmt::Debug {
    const DTYPE: DType;
    const SPECIAL: &'static [Self];
    fn of(value: i32) -> Self;
    fn worse(self, other: Self, which: Extremum) -> bool;
    fn minus(self, other: Self) -> Self;
    fn is_nan(self) -> bool {
        false
    }
    /// The element, but one and the same NaN.
    fn plain(self) -> Self {
        if self.is_nan() {
            Self::SPECIAL[0]
        } else {
            self
        }
    }
}

macro_rules! integers {
    ($($t:ty, $dtype:ident;)*) => {$(
        impl Element for $t {
            const DTYPE: DType = DType::$dtype;
            const SPECIAL: &'static [$t] = &[<$t>::MIN, <$t>::MAX, 0, 1];
            fn of(value: i32) -> $t {
                <$t>::try_from(value).unwrap_or_default()
            }
            fn worse(self, other: $t, which: Extremum) -> bool {
                if which == Extremum::Minimum { self > other } else { self < other }
            }
            fn minus(self, other: $t) -> $t {
                self.saturating_sub(other)
            }
        }
    )*};
}
integers! { u8, U8; i8, I8; u16, U16; i16, I16; u32, U32; i32, I32; u64, U64; i64, I64; }

macro_rules! floats {
    ($($t:ty, $dtype:ident;)*) => {$(
        impl Element for $t {
            const DTYPE: DType = DType::$dtype;
            const SPECIAL: &'static [$t] = &[
                <$t>::NAN, -<$t>::NAN, <$t>::INFINITY, <$t>::NEG_INFINITY, 0.0, -0.0,
                <$t>::MAX, <$t>::MIN, <$t>::from_bits(1), -<$t>::from_bits(1),
            ];
            fn of(value: i32) -> $t {
                <$t>::from(i16::try_from(value).unwrap())
            }
            fn worse(self, other: $t, which: Extremum) -> bool {
                let order = self.total_cmp(&other);
                !<$t>::is_nan(self)
                    && (<$t>::is_nan(other) || if which == Extremum::Minimum { order.is_gt() } else { order.is_lt() })
            }
            fn minus(self, other: $t) -> $t {
                self - other
            }
            fn is_nan(self) -> bool {
                <$t>::is_nan(self)
            }
        }
    )*};
}
floats! { f32, F32; f64, F64; }

/// Elements without a visible order; one of `rare` is remarkable.
fn data<T: Element>(count: usize, rare: usize) -> Vec<T> {
    let value = |i: usize| (i.wrapping_mul(2_654_435_761) >> 7) % 4093;
    (0..count)
        .map(|i| match value(i) {
            v if v % rare == 0 => T::SPECIAL[v / rare % T::SPECIAL.len()],
            v => T::of(i32::try_from(v % 127).unwrap()),
        })
        .collect()
}

/// Where the voxel lies that stands at `at` of an axis of `n`; none where there is none.
fn fold(mode: Mode, at: i64, n: i64) -> Option<i64> {
    let period = |p: i64| at.rem_euclid(p.max(1));
    match mode {
        Mode::Reflect => Some(period(2 * n).min(2 * n - 1 - period(2 * n))),
        Mode::Mirror => Some(period(2 * n - 2).min((2 * n - 2 - period(2 * n - 2)).max(0))),
        Mode::Nearest => Some(at.clamp(0, n - 1)),
        Mode::Wrap => Some(period(n)),
        Mode::Constant(_) | Mode::Renormalize => (0..n).contains(&at).then_some(at),
    }
}

fn elems(extents: &[i64]) -> usize {
    usize::try_from(extents.iter().product::<i64>()).unwrap()
}

/// One axis after the other, all windows from `start` joined by `join`; `outside` stands for a constant.
fn separable<T: Copy>(
    shape: &[i64],
    axes: &[WindowAxis],
    mut values: Vec<T>,
    outside: T,
    join: impl Fn(T, T) -> T,
) -> Vec<T> {
    for (d, axis) in axes.iter().enumerate() {
        let (n, step) = (shape[d], elems(&shape[d + 1..]));
        let place = |i: usize, at: i64| {
            let here = i64::try_from(i / step).unwrap() % n;
            (i64::try_from(i).unwrap() + (at - here) * i64::try_from(step).unwrap()).unsigned_abs()
        };
        let window = |i: usize| {
            let first = i64::try_from(i / step).unwrap() % n - axis.before;
            let points = (first..).take(axis.len);
            let value = |at: i64| match fold(axis.mode, at, n) {
                Some(at) => Some(values[usize::try_from(place(i, at)).unwrap()]),
                None if axis.mode == Mode::Renormalize => None,
                None => Some(outside),
            };
            points.filter_map(value).reduce(&join).unwrap()
        };
        values = (0..values.len()).map(window).collect();
    }
    values
}

fn windows(lens: &[usize], mode: Mode, shift: usize) -> Vec<WindowAxis> {
    let axis = |&len: &usize| WindowAxis {
        len,
        before: i64::try_from((len / 2 + shift) % len).unwrap(),
        mode,
    };
    lens.iter().map(axis).collect()
}

/// The result on the box `region` of a volume.
fn apply<T: Element>(op: &dyn Op, shape: &[i64], values: &[T], region: &Region) -> Vec<T> {
    let mut out = vec![T::zeroed(); elems(&region.extents())];
    let whole = Region::whole(shape);
    let input = View {
        region: &whole,
        shape,
        dtype: T::DTYPE,
        data: bytemuck::cast_slice(values),
    };
    let meter = Meter::new(1 << 30);
    let to = ViewMut {
        region,
        dtype: op.dtype(),
        data: bytemuck::cast_slice_mut(&mut out),
    };
    op.run(&Ctx { threads: 2, meter }, &[input], to).unwrap();
    if op.name() == "morphological_gradient" {
        // The sign of a difference that is not a number is the processor's choice.
        for v in &mut out {
            *v = v.plain();
        }
    }
    out
}

/// The result is `wanted`, bit for bit, on the whole volume and on boxes of it, cut where windows are longer than a
/// point.
fn check<T: Element>(
    op: &dyn Op,
    (shape, lens): (&[i64], &[usize]),
    values: &[T],
    wanted: &[T],
    what: &str,
) {
    let bits = |v: &[T]| bytemuck::cast_slice::<T, u8>(v).to_vec();
    let found = apply(op, shape, values, &Region::whole(shape));
    for (i, (a, b)) in found.iter().zip(wanted).enumerate() {
        assert!(bits(&[*a]) == bits(&[*b]), "{what}: {a:?} not {b:?} at {i}");
    }
    for d in (0..shape.len()).filter(|&d| lens[d] > 1) {
        let (n, inner) = (usize::try_from(shape[d]).unwrap(), elems(&shape[d + 1..]));
        for (from, to) in [(0, 1), (n / 3, n - n / 4), (n - 1, n)] {
            let (lo, hi) = (i64::try_from(from).unwrap(), i64::try_from(to).unwrap());
            let part = apply(
                op,
                shape,
                values,
                &Region::whole(shape).with_axis(d, lo, hi),
            );
            let rows = wanted
                .chunks(n * inner)
                .map(|r| &r[from * inner..to * inner]);
            let same = bits(&part) == bits(&rows.collect::<Vec<_>>().concat());
            assert!(same, "{what}: rows {from}..{to} of axis {d}");
        }
    }
}

fn extrema<T: Element>() {
    for (number, (shape, lens)) in SHAPES.into_iter().enumerate() {
        for mode in MODES {
            let axes = windows(lens, mode, number % 3);
            let what = format!("{:?} {shape:?} {lens:?} {mode:?}", T::DTYPE);
            let values: Vec<T> = data(elems(shape), 150);
            let end = |which: Extremum| {
                let join = |a: T, b: T| if a.worse(b, which) { b } else { a };
                let all = separable(shape, &axes, values.clone(), T::of(2), join);
                all.into_iter().map(T::plain).collect::<Vec<T>>()
            };
            let (lowest, highest) = (end(Extremum::Minimum), end(Extremum::Maximum));
            for (which, wanted) in [(Extremum::Minimum, &lowest), (Extremum::Maximum, &highest)] {
                let op = BoxExtremum::new(which, axes.clone(), T::DTYPE).unwrap();
                check(
                    &op,
                    (shape, lens),
                    &values,
                    wanted,
                    &format!("{which:?} {what}"),
                );
            }
            let range: Vec<T> = highest
                .iter()
                .zip(&lowest)
                .map(|(a, b)| a.minus(*b).plain())
                .collect();
            let op = BoxRange::new(axes, T::DTYPE).unwrap();
            check(
                &op,
                (shape, lens),
                &values,
                &range,
                &format!("range {what}"),
            );
        }
    }
}

#[test]
fn extrema_are_those_of_loops() {
    extrema::<u8>();
    extrema::<i8>();
    extrema::<u16>();
    extrema::<i16>();
    extrema::<u32>();
    extrema::<i32>();
    extrema::<u64>();
    extrema::<i64>();
    extrema::<f32>();
    extrema::<f64>();
}

fn means<T: Element + Into<f64>>() {
    for (number, (shape, lens)) in SHAPES.into_iter().enumerate() {
        for mode in &MODES[..5] {
            let axes = windows(lens, *mode, number % 2);
            let values: Vec<T> = data(elems(shape), 9);
            let numbers: Vec<f64> = values.iter().map(|&v| v.into()).collect();
            let points: usize = lens.iter().product();
            // Missing rows stand for as many voxels as a row has seen: sums of constants are put in axis by axis.
            let taps = axes.iter().enumerate().map(|(axis, w)| LinearAxis {
                axis,
                taps: vec![1.0 / f64::from(u32::try_from(w.len).unwrap()); w.len],
                derive: Vec::new(),
                before: w.before,
                mode: w.mode,
            });
            let op = Linear::new(shape.len(), taps.collect(), T::DTYPE).unwrap();
            let sums = if matches!(mode, Mode::Constant(_)) {
                constant_sums(shape, &axes, numbers)
            } else {
                separable(shape, &axes, numbers, 0.0, |a, b| a + b)
            };
            let mean =
                |sum: f64| (sum / f64::from(u32::try_from(points).unwrap())).round_ties_even();
            #[expect(clippy::cast_possible_truncation, reason = "means of small integers")]
            let wanted: Vec<T> = sums.into_iter().map(|s| T::of(mean(s) as i32)).collect();
            let what = format!("mean {:?} {shape:?} {lens:?} {mode:?}", T::DTYPE);
            check(&op, (shape, lens), &values, &wanted, &what);
        }
    }
}

/// Sums over boxes outside of which every voxel is two.
fn constant_sums(shape: &[i64], axes: &[WindowAxis], mut values: Vec<f64>) -> Vec<f64> {
    let mut seen = 1.0;
    for d in 0..axes.len() {
        let mut one: Vec<WindowAxis> = windows(&vec![1; axes.len()], Mode::Reflect, 0);
        one[d] = axes[d];
        values = separable(shape, &one, values, 2.0 * seen, |a, b| a + b);
        seen *= f64::from(u32::try_from(axes[d].len).unwrap());
    }
    values
}

#[test]
fn variances_are_those_of_loops() {
    for (shape, lens) in SHAPES {
        let axes = windows(lens, Mode::Mirror, 1);
        let values: Vec<u8> = data(elems(shape), 9);
        let points: usize = lens.iter().product();
        let n = f64::from(u32::try_from(points).unwrap());
        let sums = |power: i32| {
            let numbers = values.iter().map(|&v| f64::from(v).powi(power)).collect();
            separable(shape, &axes, numbers, 0.0, |a, b| a + b)
        };
        let window = Neighbourhood::new(axes.clone(), &vec![true; points]).unwrap();
        let op = local(window, Statistic::Variance, DType::F64).unwrap();
        let whole = Region::whole(shape);
        let mut found = vec![0.0; values.len()];
        let input = View {
            region: &whole,
            shape,
            dtype: DType::U8,
            data: &values,
        };
        let to = ViewMut {
            region: &whole,
            dtype: DType::F64,
            data: bytemuck::cast_slice_mut(&mut found),
        };
        let ctx = Ctx {
            threads: 1,
            meter: Meter::new(1 << 30),
        };
        op.run(&ctx, &[input], to).unwrap();
        for ((sum, squares), found) in sums(1).iter().zip(sums(2)).zip(found) {
            let wanted = (n * squares - sum * sum) / (n * n);
            let far = (found - wanted).abs();
            assert!(
                far <= 1e-12 * wanted,
                "{shape:?} {lens:?}: {found} not {wanted}"
            );
        }
    }
}

#[test]
fn means_are_those_of_loops() {
    means::<u8>();
    means::<i8>();
    means::<u16>();
    means::<i16>();
}
