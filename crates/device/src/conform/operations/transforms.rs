//! Fourier transforms, against sums over all pairs of points.

use super::super::data::{Values, fill};
use super::super::place::{Pattern, block_bytes, offsets};
use super::super::{CaseResult, Trouble};
use super::{Number, block, noted, number, run};
use crate::Device;
use arrayloom_types::{DType, Layout};
use std::f64::consts::TAU;

/// Length of the operand, of the transform, lines before and behind the axis, and where the arrays lie.
const CASES: [(usize, usize, [usize; 2], Pattern); 17] = [
    (1, 1, [1, 1], Pattern::Contiguous),
    (2, 2, [3, 1], Pattern::Contiguous),
    (3, 3, [1, 1], Pattern::Contiguous),
    (4, 4, [2, 3], Pattern::Permuted),
    (5, 5, [2, 1], Pattern::Reversed),
    (7, 7, [1, 4], Pattern::Strided),
    (11, 11, [1, 1], Pattern::Contiguous),
    (13, 13, [2, 3], Pattern::Strided),
    (64, 64, [3, 1], Pattern::Unaligned),
    (100, 128, [2, 1], Pattern::Contiguous),
    (128, 97, [2, 2], Pattern::Permuted),
    (97, 97, [3, 2], Pattern::Contiguous),
    (210, 210, [1, 1], Pattern::Contiguous),
    (360, 360, [1, 2], Pattern::Contiguous),
    (1, 12, [1, 1], Pattern::Contiguous),
    (512, 512, [1, 1], Pattern::Contiguous),
    (509, 509, [1, 1], Pattern::Contiguous),
];

type Complex = [f64; 2];

/// Transforms forward and backward, of complex numbers, from real and to real ones.
pub fn transforms(device: &dyn Device, dtypes: &[DType]) -> Vec<CaseResult> {
    noted(device, |suite| {
        let chosen = |d: &DType| dtypes.is_empty() || dtypes.contains(d);
        let dtypes = [DType::C64, DType::C128].into_iter().filter(chosen);
        let kinds = dtypes.flat_map(|dtype| [0, 1, 2, 3].map(|kind| (dtype, kind)));
        let all = kinds.flat_map(|(dtype, kind)| [false, true].map(|back| (dtype, kind, back)));
        for (dtype, kind, inverse) in all {
            for (seed, place) in (0..).zip(CASES) {
                let (given, length, _, pattern) = place;
                let way = if inverse { "back" } else { "forth" };
                let pattern = pattern.name();
                let name = format!("fft/{dtype}/{kind}/{way}/{given}/{length}/{pattern}");
                suite.note(name, case(device, dtype, (kind, inverse), place, seed));
            }
        }
    })
}

fn case(
    device: &dyn Device,
    dtype: DType,
    (kind, inverse): (u8, bool),
    (given, length, [before, behind], pattern): (usize, usize, [usize; 2], Pattern),
    seed: u64,
) -> Result<(), Trouble> {
    let real = dtype.real();
    let half = length / 2 + 1;
    let (from, to, results) = match kind {
        0 => (dtype, dtype, length),
        1 => (real, dtype, half),
        3 => (real, dtype, length),
        _ => (dtype, real, length),
    };
    let input = pattern.output(from, &[before, given, behind]);
    let out = pattern.output(to, &[before, results, behind]);
    let count = input.shape.iter().product();
    let bytes = block(&input, &fill(from, count, seed, Values::Tame));
    let factor = if inverse { 1.0 / 7.0 } else { 1.0 };
    let mut attrs = vec![1, kind, u8::from(inverse)];
    attrs.extend(f64::to_le_bytes(factor));
    attrs.extend((length as u64).to_le_bytes());
    let found = run(device, "fft", &[(&input, &bytes)], &[&out], &attrs)?;
    let (values, got) = (elements(&input, &bytes), elements(&out, &found[0]));
    for line in 0..before * behind {
        let at = |i: usize, length: usize| (line / behind * length + i) * behind + line % behind;
        let mut values: Vec<Complex> = (0..given).map(|i| values[at(i, given)]).collect();
        values.resize(length.max(given), [0.0; 2]);
        values.truncate(length);
        if kind == 2 {
            mirror(&mut values, given.min(half));
        }
        let got: Vec<Complex> = (0..results).map(|i| got[at(i, results)]).collect();
        let unit = if real == DType::F32 {
            2f64.powi(-24)
        } else {
            2f64.powi(-53)
        };
        close(&got, &values, (inverse, factor, unit), kind == 2)?;
    }
    let mut kept = vec![super::GAP; block_bytes(&out)];
    for at in offsets(&out) {
        kept[at..at + to.size()].copy_from_slice(&found[0][at..at + to.size()]);
    }
    if kept != found[0] {
        return Err("bytes between the results were written".to_owned().into());
    }
    Ok(())
}

/// The values of a block in C order.
fn elements(layout: &Layout, block: &[u8]) -> Vec<Complex> {
    let part = layout.dtype.real();
    let value = |at: usize| match number(part, &block[at..at + part.size()]) {
        Number::Real(x) => x,
        Number::Whole(_) => f64::NAN,
    };
    let complex = layout.dtype.is_complex();
    let one = |at: usize| {
        [
            value(at),
            if complex {
                value(at + part.size())
            } else {
                0.0
            },
        ]
    };
    offsets(layout).into_iter().map(one).collect()
}

/// The second half of values of which `given` are there.
fn mirror(values: &mut [Complex], given: usize) {
    let length = values.len();
    for (i, value) in values.iter_mut().enumerate() {
        if i == 0 || 2 * i == length {
            value[1] = 0.0;
        }
        if i >= given {
            *value = [0.0; 2];
        }
    }
    for i in length / 2 + 1..length {
        let [re, im] = values[length - i];
        values[i] = [re, -im];
    }
}

/// Compares with the sums over all points: the size of the error is at most a few units for each of the
/// `log2(n)` levels, times the size of the result. Transforms by a convolution have three times as many.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn close(
    got: &[Complex],
    values: &[Complex],
    (inverse, factor, unit): (bool, f64, f64),
    real: bool,
) -> Result<(), Trouble> {
    let length = values.len();
    let size = |z: Complex| z[0].hypot(z[1]);
    let norm = values.iter().map(|z| size(*z).powi(2)).sum::<f64>().sqrt();
    let most = 6.0 * unit * ((length as f64).log2() + 2.0) * norm * (length as f64).sqrt() * factor;
    for (k, &z) in got.iter().enumerate() {
        let mut sum = [0.0; 2];
        for (j, &[re, im]) in values.iter().enumerate() {
            let turn = TAU * ((j * k % length) as f64) / length as f64;
            let (sin, cos) = if inverse { turn } else { -turn }.sin_cos();
            sum[0] += re * cos - im * sin;
            sum[1] += re * sin + im * cos;
        }
        let expected = [sum[0] * factor, if real { 0.0 } else { sum[1] * factor }];
        let error = size([z[0] - expected[0], z[1] - expected[1]]);
        if error.is_nan() || error > most {
            return Err(format!("point {k}: {z:?}, expected {expected:?}, bound {most:e}").into());
        }
    }
    Ok(())
}
