//! Long windows that are joined from boxes, or from cuts.

use super::spreads;
use crate::{FilterPass, Fold, Order, Spread};
use arrayloom_types::DType;

/// What a list of `bias` has for means.
pub(super) const BIAS: [f64; 4] = [3.5, 0.25, 1.75, 0.5];

/// Passes, and the dtypes of voxels, arithmetic and results.
pub(super) fn cases() -> impl Iterator<Item = (FilterPass, [DType; 3])> {
    use DType::{F16, F32, F64, I16, I32, U8};
    use Fold::{Mean, Moments};
    let all = [
        (Mean, [1, 1], None, [F32, F32, F32], 48),
        (Mean, [1, 1], None, [U8, F32, I16], 13),
        (Mean, [1, 1], None, [F16, F32, F16], 1),
        (Mean, [1, 1], None, [F64, F64, F64], 127),
        (Mean, [1, 1], None, [I32, F64, F32], 30),
        (Moments, [1, 2], None, [F32, F64, F64], 27),
        (Moments, [2, 2], None, [F64, F64, F64], 64),
        (Moments, [2, 1], Some(Spread::Deviation), [F64, F64, F32], 5),
        (Moments, [1, 1], Some(Spread::Variance), [I16, F64, F64], 49),
    ];
    let orders = [Order::Boxes, Order::Cuts].into_iter();
    orders.flat_map(move |order| {
        all.map(|(fold, channels, spread, dtypes, taps)| {
            let pass = FilterPass {
                channels,
                spread,
                order,
                cut: taps / 3,
                ..FilterPass::new(fold, taps)
            };
            (pass, dtypes)
        })
    })
}

/// A box: how many rows it has, and its sum, or its mean and its variance.
#[derive(Clone, Copy)]
struct Rows(f64, [f64; 2]);

/// How boxes are joined: sums are rounded by `near`.
struct Joining<'a> {
    fold: Fold,
    near: &'a dyn Fn(f64) -> f64,
}

impl Joining<'_> {
    fn both(&self, Rows(few, [m, v]): Rows, Rows(more, [n, w]): Rows) -> Rows {
        let all = few + more;
        if self.fold == Fold::Mean {
            return Rows(all, [(self.near)(m + n), 0.0]);
        }
        let (share, far) = (more / all, n - m);
        let mean = share.mul_add(far, m);
        let within = share.mul_add(w, (1.0 - share) * v);
        Rows(all, [mean, (share * far).mul_add(n - mean, within)])
    }

    /// The box of a power of two rows.
    fn halves(&self, rows: &[Rows]) -> Rows {
        if let [one] = rows {
            return *one;
        }
        let (near, far) = rows.split_at(rows.len() / 2);
        self.both(self.halves(near), self.halves(far))
    }

    fn boxes(&self, mut rows: &[Rows]) -> Option<Rows> {
        let mut made: Option<Rows> = None;
        while !rows.is_empty() {
            let (few, rest) = rows.split_at(1 << rows.len().trailing_zeros());
            let one = self.halves(few);
            made = Some(made.map_or(one, |made| self.both(made, one)));
            rows = rest;
        }
        made
    }

    /// Rows with `cut` rows before the cut.
    fn cuts(&self, rows: &[Rows], cut: usize) -> Option<Rows> {
        let (ends, starts) = rows.split_at(cut);
        let each = ends.iter().copied();
        let end = each.rev().reduce(|rest, row| self.both(row, rest));
        let start = starts
            .iter()
            .copied()
            .reduce(|made, row| self.both(made, row));
        match (end, start) {
            (Some(end), Some(start)) => Some(self.both(end, start)),
            (end, start) => end.or(start),
        }
    }
}

/// The numbers of the window that begins with row `at` of the padded axis, rounded by `near`: `value(channel, place)` gives
/// those of its rows that exist, `bias` stands for the others.
pub(super) fn folded(
    (pass, at): (&FilterPass, usize),
    bias: &[f64],
    value: &dyn Fn(usize, usize) -> Option<f64>,
    near: &dyn Fn(f64) -> f64,
) -> Vec<f64> {
    let fold = pass.fold;
    let (taps, cut) = (pass.taps as usize, pass.cut as usize);
    let row = |t: usize| match (fold, value(0, t)) {
        (_, None) => Rows(1.0, [bias[0], 0.0]),
        (Fold::Mean, Some(v)) => Rows(1.0, [near(v * bias[1]), 0.0]),
        (_, Some(v)) => {
            let read = usize::from(pass.channels[0]);
            let variance = (1..read).find_map(|channel| value(channel, t));
            Rows(1.0, [v, variance.unwrap_or(0.0)])
        }
    };
    let rows: Vec<Rows> = (0..taps).map(row).collect();
    let joining = Joining { fold, near };
    let made = match pass.order {
        Order::Cuts => {
            let ahead = (0..taps).find(|t| (at + t) % taps == cut);
            joining.cuts(&rows, ahead.filter(|&t| t > 0).unwrap_or(taps))
        }
        _ => joining.boxes(&rows),
    };
    let Rows(_, [made, variance]) = made.unwrap_or(Rows(0.0, [0.0; 2]));
    match (fold, pass.spread) {
        (Fold::Mean, _) => vec![near(near(made / bias[2]) * bias[3])],
        (_, Some(spread)) => vec![spreads::of(pass, spread, [made, variance, 0.0])],
        _ => vec![made, variance],
    }
}
