//! What windows become whose mean and variance are wanted.

use crate::{FilterPass, Fold, Spread};
use arrayloom_types::DType;

/// Passes, and the dtypes of voxels, arithmetic and results.
pub(super) fn cases() -> impl Iterator<Item = (FilterPass, [DType; 3])> {
    use DType::{Bool, F16, F32, F64, I16, I32, I64, U8, U16};
    use Fold::{Moments, Squares};
    let all = [
        (Squares, [1, 2], None, [U8, F64]),
        (Squares, [2, 2], None, [F64, F64]),
        (Squares, [2, 1], Some(Spread::Deviation), [F64, F32]),
        (Squares, [1, 1], Some(Spread::Sauvola), [I16, F64]),
        (Squares, [1, 1], Some(Spread::Niblack), [U16, I32]),
        (Moments, [1, 2], None, [F32, F64]),
        (Moments, [2, 2], None, [F64, F64]),
        (Moments, [1, 3], None, [I64, F64]),
        (Moments, [3, 3], None, [F64, F64]),
        (Moments, [3, 1], Some(Spread::Wiener), [F64, F32]),
        (Moments, [1, 1], Some(Spread::Wiener), [F32, F32]),
        (Moments, [2, 1], Some(Spread::Variation), [F64, F64]),
        (Moments, [1, 1], Some(Spread::Variance), [F16, U8]),
        (Moments, [1, 1], Some(Spread::Sauvola), [Bool, F64]),
        (Moments, [2, 1], Some(Spread::Niblack), [F64, F32]),
    ];
    all.into_iter().map(|(fold, channels, spread, [from, to])| {
        let pass = FilterPass {
            channels,
            points: 35.0,
            before: 1,
            spread,
            given: [40.5, 127.0],
            ..FilterPass::new(fold, 5)
        };
        (pass, [from, F64, to])
    })
}

/// The numbers of a window: `value(channel, place)` gives those of its rows that exist, `bias` stands for the others.
pub(super) fn folded(
    pass: &FilterPass,
    bias: &[f64],
    value: &dyn Fn(usize, usize) -> Option<f64>,
) -> Vec<f64> {
    let places = 0..pass.taps as usize;
    let there = |channel: usize| places.clone().filter_map(move |t| value(channel, t));
    let read = usize::from(pass.channels[0]);
    if pass.fold == Fold::Squares {
        let sum = there(0).sum::<f64>() + bias[0];
        let squares: f64 = match read {
            1 => there(0).map(|v| v * v).sum(),
            _ => there(1).sum(),
        };
        let squares = squares + bias[1];
        let Some(spread) = pass.spread else {
            return vec![sum, squares];
        };
        let n = pass.points;
        let (a, b) = (n * squares, sum * sum);
        let rest = n.mul_add(squares, -a) - sum.mul_add(sum, -b);
        let variance = ((a - b) + rest) * (1.0 / (n * n));
        return vec![of(pass, spread, [sum * (1.0 / n), variance, 0.0])];
    }
    let middle = |channel: usize| value(channel, pass.before as usize).unwrap_or_default();
    let (center, [outside, missing, share]) = (middle(0), [0, 1, 2].map(|n| bias[n]));
    let mut mean = there(0).fold(0.0, |sum, v| sum + (v - center));
    if missing > 0.0 {
        mean += missing * (outside - center);
    }
    mean *= share;
    let far = |v: f64| (v - center) - mean;
    let mut variance = there(0).fold(0.0, |sum, v| far(v).mul_add(far(v), sum));
    if read > 1 {
        variance = there(1).fold(variance, |sum, v| sum + v);
    }
    if missing > 0.0 {
        variance = missing.mul_add(far(outside) * far(outside), variance);
    }
    let own = if read == 3 { middle(2) } else { center };
    let all = [mean + center, variance * share, own];
    match pass.spread {
        Some(spread) => vec![of(pass, spread, all)],
        None => all[..usize::from(pass.channels[1])].to_vec(),
    }
}

/// What mean, variance and the voxel itself become.
pub(super) fn of(pass: &FilterPass, spread: Spread, [mean, variance, own]: [f64; 3]) -> f64 {
    let [factor, range] = pass.given;
    match spread {
        Spread::Variance => variance,
        Spread::Deviation => variance.sqrt(),
        Spread::Variation if variance == 0.0 && mean == 0.0 => 0.0,
        Spread::Variation => variance.sqrt() / mean,
        Spread::Wiener if variance > factor => mean + (1.0 - factor / variance) * (own - mean),
        Spread::Wiener => mean,
        Spread::Niblack => mean - factor * variance.sqrt(),
        Spread::Sauvola => mean * (1.0 + factor * (variance.sqrt() / range - 1.0)),
    }
}
