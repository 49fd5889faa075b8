//! The range over a box is its maximum minus its minimum.
#![expect(clippy::unwrap_used, reason = "a failing test says where")]

use arrayloom_types::{DType, Region};
use arrayloom_volume::ops::{BoxExtremum, BoxRange, Extremum, WindowAxis};
use arrayloom_volume::{Ctx, Meter, Mode, Op, View, ViewMut};

const MODES: [Mode; 6] = [
    Mode::Reflect,
    Mode::Mirror,
    Mode::Nearest,
    Mode::Wrap,
    Mode::Constant(3.0),
    Mode::Renormalize,
];

fn run(op: &dyn Op, shape: &[i64], dtype: DType, data: &[u8]) -> Vec<u8> {
    let whole = Region::whole(shape);
    let ctx = Ctx {
        threads: 1,
        meter: Meter::new(1 << 30),
    };
    let mut out = vec![0; data.len()];
    let view = View {
        region: &whole,
        shape,
        dtype,
        data,
    };
    let to = ViewMut {
        region: &whole,
        dtype,
        data: &mut out,
    };
    op.run(&ctx, &[view], to).unwrap();
    out
}

/// Range, maximum and minimum over the same box.
fn all(
    shape: &[i64],
    axes: &[WindowAxis],
    dtype: DType,
    data: &[u8],
) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let range = BoxRange::new(axes.to_vec(), dtype).unwrap();
    let end = |which| BoxExtremum::new(which, axes.to_vec(), dtype).unwrap();
    let (high, low) = (end(Extremum::Maximum), end(Extremum::Minimum));
    let run = |op: &dyn Op| run(op, shape, dtype, data);
    (run(&range), run(&high), run(&low))
}

fn cases() -> impl Iterator<Item = (Vec<i64>, Vec<WindowAxis>)> {
    let shapes: [&[i64]; 5] = [&[300], &[7, 131], &[70, 9], &[5, 9, 66], &[3, 4, 5, 6]];
    let sizes = [1, 2, 3, 5, 8];
    shapes.into_iter().enumerate().flat_map(move |(s, shape)| {
        MODES.into_iter().enumerate().map(move |(m, mode)| {
            let axis = |d: usize| WindowAxis {
                len: sizes[(s + m + d) % sizes.len()],
                before: i64::from(sizes[(s + m + d) % sizes.len()] > 2),
                mode,
            };
            (shape.to_vec(), (0..shape.len()).map(axis).collect())
        })
    })
}

fn bytes(shape: &[i64]) -> Vec<u8> {
    let voxels = u32::try_from(shape.iter().product::<i64>()).unwrap();
    let random = (0..voxels).map(|i| i.wrapping_mul(2_654_435_761).rotate_right(13));
    random.map(|i| i.to_le_bytes()[0]).collect()
}

#[test]
fn differences_of_integers_saturate() {
    for (shape, axes) in cases() {
        let data = bytes(&shape);
        let (range, high, low) = all(&shape, &axes, DType::U8, &data);
        let wanted: Vec<u8> = high.iter().zip(&low).map(|(h, l)| h - l).collect();
        assert_eq!(range, wanted, "{shape:?} {axes:?}");
        let (range, high, low) = all(&shape, &axes, DType::I8, &data);
        let signed = |v: &u8| v.cast_signed();
        let pairs = high.iter().map(signed).zip(low.iter().map(signed));
        let wanted: Vec<i8> = pairs.map(|(h, l)| h.saturating_sub(l)).collect();
        let found: Vec<i8> = range.iter().map(signed).collect();
        assert_eq!(found, wanted, "{shape:?} {axes:?}");
    }
}

#[test]
fn differences_of_floats_are_rounded_once_and_keep_nan() {
    for (shape, axes) in cases() {
        let strange = [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0];
        let value = |(i, v): (usize, u8)| match i % 97 {
            3 => strange[i / 97 % strange.len()],
            _ => f32::from(v) / 7.0 - 9.0,
        };
        let data: Vec<f32> = bytes(&shape).into_iter().enumerate().map(value).collect();
        let data: Vec<u8> = data.into_iter().flat_map(f32::to_ne_bytes).collect();
        let (range, high, low) = all(&shape, &axes, DType::F32, &data);
        let floats = |bytes: &[u8]| -> Vec<f32> {
            let each = bytes.as_chunks::<4>().0.iter();
            each.map(|b| f32::from_ne_bytes(*b)).collect()
        };
        let ends = floats(&high).into_iter().zip(floats(&low));
        for (found, (high, low)) in floats(&range).into_iter().zip(ends) {
            let wanted = high - low;
            assert!(
                found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan(),
                "{high} - {low} is not {found}: {shape:?} {axes:?}"
            );
        }
    }
}
