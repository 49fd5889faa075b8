//! Filters along an axis.

use super::super::{CaseResult, Trouble};
use super::{Number, long, noted, number, run, spreads, sums};
use crate::{Device, FILTER_PASS, FilterPass, Fold, Keys, Order};
use arrayloom_types::{DType, Kind, Layout};

/// What a case is made of: the pass, the dtypes of voxels, arithmetic and results, lists of weights, and extents:
/// boxes before the axis, rows, voxels of a row.
struct Case {
    pass: FilterPass,
    dtypes: [DType; 3],
    extents: [usize; 3],
}

/// Passes of every kind, whose windows are whole, folded and cut.
pub fn filters(device: &dyn Device) -> Vec<CaseResult> {
    use DType::{Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let weighted = |fold: Fold, channels: [u8; 2], dtypes: [DType; 3], taps: u32| {
        let pass = FilterPass {
            channels,
            ..FilterPass::new(fold, taps)
        };
        (pass, dtypes)
    };
    let keys = |keys: [Keys; 2], dtype: DType, work: DType, taps: u32| {
        let pass = FilterPass {
            keys,
            ..FilterPass::new(Fold::Least, taps)
        };
        (pass, [dtype, work, dtype])
    };
    let range = |channels: [u8; 2], dtype: DType, work: DType, taps: u32| {
        // Between passes numbers are keys.
        let inside = |channels: u8| match channels {
            1 => Keys::Rising,
            _ => Keys::Plain,
        };
        let pass = FilterPass {
            channels,
            keys: channels.map(inside),
            ..FilterPass::new(Fold::Range, taps)
        };
        (pass, [dtype, work, dtype])
    };
    let means = |points: f64, dtypes: [DType; 3], taps: u32| {
        let pass = FilterPass {
            points,
            ..FilterPass::new(Fold::Sum, taps)
        };
        (pass, dtypes)
    };
    let all = [
        weighted(Fold::Weights, [1, 1], [F32, F32, F32], 5),
        weighted(Fold::Weights, [1, 1], [U16, F32, U8], 1),
        weighted(Fold::Weights, [1, 1], [F16, F32, F16], 2),
        weighted(Fold::Weights, [1, 1], [Bool, F32, I16], 3),
        weighted(Fold::Weights, [1, 1], [U64, F64, I64], 4),
        weighted(Fold::Weights, [1, 1], [I32, F64, U32], 9),
        weighted(Fold::Odd, [1, 1], [F32, F32, F32], 5),
        weighted(Fold::Odd, [1, 1], [I64, F64, F64], 3),
        weighted(Fold::Laplacian, [1, 2], [I8, F32, F32], 3),
        weighted(Fold::Laplacian, [2, 2], [F64, F64, F64], 5),
        weighted(Fold::Laplacian, [2, 1], [F32, F32, I8], 4),
        weighted(Fold::Laplacian, [1, 1], [F32, F32, F32], 3),
        keys([Keys::Lowest, Keys::Lowest], F32, U32, 3),
        keys([Keys::Highest, Keys::Highest], F16, U16, 4),
        keys([Keys::Highest, Keys::Highest], I64, U64, 2),
        keys([Keys::Lowest, Keys::Lowest], Bool, U8, 3),
        keys([Keys::Plain, Keys::Plain], U16, U16, 7),
        range([1, 1], F32, U32, 3),
        range([1, 1], F16, U16, 4),
        range([1, 1], I8, U8, 5),
        range([1, 1], Bool, U8, 2),
        range([1, 2], U64, U64, 3),
        range([2, 2], U16, U16, 4),
        range([2, 1], U32, U32, 3),
        means(0.0, [I8, I32, I32], 3),
        means(12.0, [I32, I32, U8], 3),
        means(7.0, [U16, I32, F32], 7),
        means(0.0, [I32, I64, I64], 5),
        means(9.0, [U32, I64, F64], 3),
    ];
    noted(device, |suite| {
        let others = spreads::cases().chain(sums::cases()).chain(long::cases());
        for (pass, dtypes) in all.into_iter().chain(others) {
            for extents in [[3, 21, 13], [1, 6, 1], [5, 130, 1], [2, 1, 300], [1, 0, 3]] {
                let case = Case {
                    pass,
                    dtypes,
                    extents,
                };
                let name = format!("filter/{pass:?}/{dtypes:?}/{extents:?}");
                suite.note(name, case.judged(device));
            }
        }
    })
}

/// A number that looks random.
fn random(at: usize) -> usize {
    (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) % 1013
}

/// A small number as a voxel, and as bytes of its dtype.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn voxel(dtype: DType, at: usize) -> Vec<u8> {
    let small = i64::try_from(random(at)).unwrap_or(0);
    match dtype {
        DType::Bool => vec![u8::from(small % 2 == 1)],
        DType::F16 => half::f16::from_f32(small as f32 / 16.0 - 9.0)
            .to_bits()
            .to_le_bytes()
            .to_vec(),
        DType::F32 => (small as f32 / 7.0 - 30.0).to_le_bytes().to_vec(),
        DType::F64 => (small as f64 / 7.0 - 30.0).to_le_bytes().to_vec(),
        d if d.kind() == Kind::Signed => (small % 120 - 50).to_le_bytes()[..d.size()].to_vec(),
        d => (small % 250).to_le_bytes()[..d.size()].to_vec(),
    }
}

/// A number rounded to a dtype.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded numbers that fit, or saturate"
)]
fn rounded(dtype: DType, value: f64) -> Vec<u8> {
    let whole = value.round_ties_even();
    match dtype {
        DType::F16 => half::f16::from_f32(value as f32)
            .to_bits()
            .to_le_bytes()
            .to_vec(),
        DType::F32 => (value as f32).to_le_bytes().to_vec(),
        DType::F64 => value.to_le_bytes().to_vec(),
        DType::U8 | DType::Bool => vec![whole as u8],
        DType::I8 => (whole as i8).to_le_bytes().to_vec(),
        DType::U16 => (whole as u16).to_le_bytes().to_vec(),
        DType::I16 => (whole as i16).to_le_bytes().to_vec(),
        DType::U32 => (whole as u32).to_le_bytes().to_vec(),
        DType::I32 => (whole as i32).to_le_bytes().to_vec(),
        DType::U64 => (whole as u64).to_le_bytes().to_vec(),
        _ => (whole as i64).to_le_bytes().to_vec(),
    }
}

fn real(dtype: DType, bytes: &[u8]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    match number(dtype, bytes) {
        Number::Whole(n) => n as f64,
        Number::Real(x) => x,
    }
}

/// `a * b + c`, rounded once to this dtype.
fn fma(work: DType, a: f64, b: f64, c: f64) -> f64 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "numbers of single precision"
    )]
    if work == DType::F32 {
        f64::from((a as f32).mul_add(b as f32, c as f32))
    } else {
        a.mul_add(b, c)
    }
}

/// The tables of a case.
struct Tables {
    start: Vec<i32>,
    index: Vec<i32>,
    weights: Vec<f64>,
    bias: Vec<f64>,
}

impl Case {
    fn lists(&self) -> usize {
        self.pass.fold.numbers(self.dtypes[1])
    }

    /// True for sums of 128 bits.
    fn long(&self) -> bool {
        self.pass.fold == Fold::Sum && self.dtypes[1] == DType::U64
    }

    /// True for passes without weights.
    fn weightless(&self) -> bool {
        !self.pass.fold.is_weighted()
    }

    /// Windows that begin two rows early and end late: folded before the first row, cut behind the last one.
    fn tables(&self) -> Tables {
        let (rows, taps) = (self.extents[1], self.pass.taps as usize);
        let coordinate = |at: usize| match at.checked_sub(2) {
            None => i32::from(rows > 1),
            Some(row) if row < rows => i32::try_from(row).unwrap_or(0),
            Some(_) => -1,
        };
        let outputs = if rows == 0 { 0 } else { rows + 1 };
        let index: Vec<i32> = (0..outputs + taps - 1).map(coordinate).collect();
        let mut lists = 0;
        let start = index.windows(taps).take(outputs).map(|window| {
            if window.contains(&-1) {
                lists += 1;
                return -1 - lists;
            }
            let follow = window.windows(2).all(|w| w[0] + 1 == w[1]);
            if follow { window[0] } else { -1 }
        });
        let start: Vec<i32> = start.collect();
        let count = (1 + usize::try_from(lists).unwrap_or(0)) * self.lists();
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let weight = |at: usize| random(at + 7) as f64 / 512.0 - 0.75;
        let mut weights: Vec<f64> = (0..count * taps).map(weight).collect();
        if self.pass.fold == Fold::Odd {
            for t in 0..=taps / 2 {
                weights[t] = -weights[taps - 1 - t];
            }
            weights[taps / 2] = 0.0;
        }
        let bias = (0..count).map(|list| match self.pass.fold {
            // Nothing is smaller than what stands for this.
            Fold::Least if list == 0 || self.pass.keys[0] != Keys::Plain => f64::INFINITY,
            Fold::Range if list % 2 == 0 => f64::INFINITY,
            Fold::Range => 0.0,
            Fold::Mean => long::BIAS[list % 4],
            // The upper half of a long sum is zero.
            Fold::Sum if self.long() && list % 2 == 1 => 0.0,
            Fold::Least | Fold::Sum => {
                if list < self.lists() {
                    0.0
                } else {
                    3.0
                }
            }
            _ => {
                if list < self.lists() {
                    0.0
                } else {
                    0.5
                }
            }
        });
        Tables {
            start,
            index,
            weights,
            bias: bias.collect(),
        }
    }

    fn judged(&self, device: &dyn Device) -> Result<(), Trouble> {
        let [outer, rows, row] = self.extents;
        let [from, work, to] = self.dtypes;
        let [read, written] = self.pass.channels.map(usize::from);
        let tables = self.tables();
        let outputs = tables.start.len();
        let count = outer * rows * row;
        let mut voxels: Vec<u8> = if self.long() {
            sums::voxels(&self.pass, from, count, random)
        } else {
            (0..read * count).flat_map(|at| voxel(from, at)).collect()
        };
        if self.pass.fold == Fold::Range && read == 2 {
            let (low, high) = voxels.split_at_mut(count * from.size());
            let high = high.chunks_mut(from.size());
            for (low, high) in low.chunks_mut(from.size()).zip(high) {
                if real(from, low) > real(from, high) {
                    low.swap_with_slice(high);
                }
            }
        }
        let whole =
            |list: &[i32]| -> Vec<u8> { list.iter().flat_map(|n| n.to_le_bytes()).collect() };
        let number_of = |list: &[f64]| -> Vec<u8> {
            let each = list.iter().map(|&n| {
                if n.is_infinite() {
                    vec![0xff; work.size()]
                } else {
                    rounded(work, n)
                }
            });
            each.flatten().collect()
        };
        let (start, index) = (whole(&tables.start), whole(&tables.index));
        let (weights, bias) = (number_of(&tables.weights), number_of(&tables.bias));
        let packed = |dtype: DType, shape: &[usize]| Layout::contiguous(dtype, shape);
        let layouts = [
            packed(from, &[read * outer, rows, row]),
            packed(DType::I32, &[outputs]),
            packed(DType::I32, &[tables.index.len()]),
            packed(work, &[tables.weights.len()]),
            packed(work, &[tables.bias.len()]),
        ];
        let mut ins: Vec<(&Layout, &[u8])> = layouts
            .iter()
            .zip([&voxels, &start, &index, &weights, &bias].map(|b| &b[..]))
            .collect();
        if self.weightless() {
            ins.remove(3);
        }
        let out = packed(to, &[written * outer, outputs, row]);
        let found = run(device, FILTER_PASS, &ins, &[&out], &self.pass.attrs())?;
        let expected = self.expected(&voxels, &tables);
        match found[0]
            .chunks(to.size())
            .zip(expected.chunks(to.size()))
            .position(|(a, b)| a != b)
        {
            None => Ok(()),
            Some(at) => Err(format!("another number at {at}").into()),
        }
    }

    /// The results, one after the other.
    fn expected(&self, voxels: &[u8], tables: &Tables) -> Vec<u8> {
        let [outer, rows, row] = self.extents;
        let [from, work, to] = self.dtypes;
        let written = usize::from(self.pass.channels[1]);
        let (taps, lists, outputs) = (self.pass.taps as usize, self.lists(), tables.start.len());
        let mut result = vec![0u8; written * outer * outputs * row * to.size()];
        let places = (0..outer)
            .flat_map(|o| (0..outputs).flat_map(move |i| (0..row).map(move |c| (o, i, c))));
        for (o, i, c) in places {
            let list = usize::try_from(-1 - tables.start[i].min(-1)).unwrap_or(0);
            let bytes = |channel: usize, place: usize| -> Option<&[u8]> {
                let there = usize::try_from(tables.index[i + place]).ok()?;
                let at = (((channel * outer + o) * rows + there) * row + c) * from.size();
                Some(&voxels[at..at + from.size()])
            };
            let mut store = |channel: usize, bytes: &[u8]| {
                let at = (((channel * outer + o) * outputs + i) * row + c) * to.size();
                result[at..at + to.size()].copy_from_slice(bytes);
            };
            if self.long() {
                let missing = if list == 0 { 0 } else { 3 };
                let found = sums::folded(&self.pass, [from, to], missing, bytes);
                found.iter().enumerate().for_each(|(n, b)| store(n, b));
                continue;
            }
            let value = |channel: usize, place: usize| Some(real(from, bytes(channel, place)?));
            let weight = |kind: usize, place: usize| {
                let exact = tables.weights[(list * lists + kind) * taps + place];
                real(work, &rounded(work, exact))
            };
            let spreads = matches!(self.pass.fold, Fold::Squares | Fold::Moments | Fold::Mean);
            let bias = &tables.bias[lists * list..lists * (list + 1)];
            let mut sums = if self.pass.order != Order::Rows {
                let near = |x: f64| real(work, &rounded(work, x));
                long::folded((&self.pass, i), bias, &value, &near)
            } else if spreads {
                spreads::folded(&self.pass, bias, &value)
            } else {
                self.folded(list, &value, &weight)
            };
            for (channel, sum) in sums.iter_mut().enumerate() {
                if !spreads {
                    let bias = tables.bias[list * lists + lists - written + channel];
                    self.finish(sum, bias);
                }
                store(channel, &self.voxel_of(*sum, list, to));
            }
        }
        result
    }

    /// What a window becomes; `value` gives number `channel` of the voxel at a place, `weight` a weight.
    fn folded(
        &self,
        list: usize,
        value: &dyn Fn(usize, usize) -> Option<f64>,
        weight: &dyn Fn(usize, usize) -> f64,
    ) -> Vec<f64> {
        let work = self.dtypes[1];
        let taps = self.pass.taps as usize;
        let there = || (0..taps).filter_map(|t| value(0, t).map(|v| (t, v)));
        match self.pass.fold {
            Fold::Odd if list == 0 => {
                let middle = taps / 2;
                let add = |sum: f64, t: usize| {
                    let pair = value(0, middle + t).zip(value(0, middle - t));
                    let (high, low) = pair.unwrap_or_default();
                    let gap = real(work, &rounded(work, high - low));
                    fma(work, weight(0, middle + t), gap, sum)
                };
                let center = value(0, middle).unwrap_or_default();
                let start = fma(work, weight(0, middle), center, 0.0);
                vec![(1..=middle).fold(start, add)]
            }
            Fold::Weights | Fold::Odd => {
                vec![there().fold(0.0, |sum, (t, v)| fma(work, weight(0, t), v, sum))]
            }
            Fold::Laplacian => {
                let [read, written] = self.pass.channels;
                let smooth = there().fold(0.0, |sum, (t, v)| fma(work, weight(0, t), v, sum));
                let derived = there().fold(0.0, |sum, (t, v)| {
                    let second = value(usize::from(read) - 1, t).filter(|_| read == 2);
                    let inner = second.map_or(sum, |s| fma(work, weight(0, t), s, sum));
                    fma(work, weight(1, t), v, inner)
                });
                [smooth, derived][2 - usize::from(written)..].to_vec()
            }
            Fold::Least => {
                let greatest = self.pass.keys[0] == Keys::Highest;
                let best = there()
                    .map(|(_, v)| v)
                    .reduce(|a, b| if greatest { a.max(b) } else { a.min(b) });
                vec![best.unwrap_or(0.0)]
            }
            Fold::Range => {
                let low = there().map(|(_, v)| v).fold(f64::INFINITY, f64::min);
                let second = usize::from(self.pass.channels[0]) - 1;
                let highs = (0..taps).filter_map(|t| value(second, t));
                let high = highs.fold(f64::NEG_INFINITY, f64::max);
                match self.pass.channels[1] {
                    1 => vec![high - low],
                    _ => vec![low, high],
                }
            }
            Fold::Sum => vec![there().map(|(_, v)| v).sum()],
            // These are looked at by others.
            Fold::Squares | Fold::Moments | Fold::Mean => Vec::new(),
        }
    }

    /// Adds what missing voxels add, and divides.
    fn finish(&self, sum: &mut f64, bias: f64) {
        let work = self.dtypes[1];
        match self.pass.fold {
            Fold::Least | Fold::Range => {}
            Fold::Sum => *sum += bias,
            _ => *sum = real(work, &rounded(work, *sum + bias)),
        }
        if self.pass.points != 0.0 {
            *sum /= self.pass.points;
        }
    }

    /// A result as a voxel: of keys, the constant with key 3 stands beside cut windows.
    fn voxel_of(&self, value: f64, list: usize, to: DType) -> Vec<u8> {
        if self.pass.fold != Fold::Least || list == 0 || self.pass.keys[0] != Keys::Plain {
            return rounded(to, value);
        }
        rounded(to, value.min(3.0))
    }
}
