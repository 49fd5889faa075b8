//! Products of matrices.

use super::super::data::{Values, fill};
use super::super::place::{Pattern, block_bytes, offsets};
use super::super::{CaseResult, Trouble};
use super::{Number, block, noted, number, run};
use crate::Device;
use arrayloom_types::{ALL_DTYPES, DType, Kind, Layout};

/// Rows, columns, the shared axis, and where the matrices lie.
const CASES: [([usize; 3], Pattern); 8] = [
    ([1, 1, 1], Pattern::Contiguous),
    ([64, 64, 64], Pattern::Contiguous),
    ([37, 53, 301], Pattern::Permuted),
    ([130, 65, 17], Pattern::Strided),
    ([3, 200, 40], Pattern::Reversed),
    ([20, 30, 10], Pattern::Broadcast),
    ([9, 8, 33], Pattern::Unaligned),
    ([70, 5, 0], Pattern::Contiguous),
];

/// Extents of stacks of three by five and five by four matrices: of the operands, where 1 repeats.
const STACKS: [[&[usize]; 2]; 5] = [
    [&[3], &[3]],
    [&[2, 7], &[1, 1]],
    [&[1, 7], &[2, 1]],
    [&[4, 5, 3], &[1, 1, 3]],
    [&[0], &[0]],
];

/// Multiplies matrices of the chosen dtypes (all if there are none).
pub fn products(device: &dyn Device, dtypes: &[DType]) -> Vec<CaseResult> {
    let chosen = |d: &DType| dtypes.is_empty() || dtypes.contains(d);
    noted(device, |suite| {
        for dtype in ALL_DTYPES.into_iter().filter(chosen) {
            for (seed, (sizes, pattern)) in (0..).zip(CASES) {
                let name = format!("matmul/{dtype}/{sizes:?}/{}", pattern.name());
                suite.note(name, case(device, dtype, sizes, pattern, seed));
            }
            for (seed, outer) in (50..).zip(STACKS) {
                let name = format!("matmul/{dtype}/stack{:?}x{:?}", outer[0], outer[1]);
                suite.note(name, stack(device, dtype, outer, seed));
            }
        }
    })
}

/// The real and the imaginary part of an element.
fn parts(dtype: DType, bytes: &[u8]) -> [Number; 2] {
    let part = dtype.real();
    let mut all = bytes.chunks(part.size()).map(|bytes| number(part, bytes));
    let first = all.next().unwrap_or(Number::Whole(0));
    [first, all.next().unwrap_or(Number::Real(0.0))]
}

fn case(
    device: &dyn Device,
    dtype: DType,
    [rows, columns, inner]: [usize; 3],
    pattern: Pattern,
    seed: u64,
) -> Result<(), Trouble> {
    let left = pattern.input(dtype, &[rows, inner], 0);
    let right = pattern.input(dtype, &[inner, columns], 1);
    let out = pattern.output(dtype, &[rows, columns]);
    product(device, [left, right, out], seed)
}

/// A product of stacks, of which the left one has its matrices turned.
fn stack(
    device: &dyn Device,
    dtype: DType,
    outer: [&[usize]; 2],
    seed: u64,
) -> Result<(), Trouble> {
    let both = outer[0].iter().zip(outer[1]);
    let whole: Vec<usize> = both.map(|(&x, &y)| if x == 1 { y } else { x }).collect();
    let layout =
        |outer: &[usize], own: [usize; 2]| Layout::contiguous(dtype, &[outer, &own].concat());
    let mut left = layout(outer[0], [5, 3]);
    let rank = left.shape.len();
    left.shape.swap(rank - 2, rank - 1);
    left.strides.swap(rank - 2, rank - 1);
    let left = left.broadcast_to(&[&*whole, &[3, 5]].concat());
    let right = layout(outer[1], [5, 4]).broadcast_to(&[&*whole, &[5, 4]].concat());
    product(device, [left, right, layout(&whole, [3, 4])], seed)
}

/// Multiplies the first two and compares every element of the last.
fn product(device: &dyn Device, [left, right, out]: [Layout; 3], seed: u64) -> Result<(), Trouble> {
    let dtype = out.dtype;
    let end = |layout: &Layout| layout.shape[layout.shape.len() - 2..].to_vec();
    let ([rows, inner], columns) = ([0, 1].map(|n| end(&left)[n]), end(&right)[1]);
    let filled = |layout: &Layout, seed| {
        block(
            layout,
            &fill(dtype, layout.shape.iter().product(), seed, Values::Tame),
        )
    };
    let (x, y) = (filled(&left, seed), filled(&right, seed + 100));
    let found = run(device, "matmul", &[(&left, &x), (&right, &y)], &[&out], &[])?;
    let size = dtype.size();
    let element = |block: &[u8], at: usize| parts(dtype, &block[at..at + size]);
    let (lefts, rights, places) = (offsets(&left), offsets(&right), offsets(&out));
    for (number, &at) in places.iter().enumerate() {
        let (line, column) = (number / columns, number % columns);
        // Rows of all matrices count on.
        let matrix = line / rows;
        let pairs = (0..inner).map(|k| {
            let a = lefts[line * inner + k];
            let b = rights[(matrix * inner + k) * columns + column];
            (element(&x, a), element(&y, b))
        });
        let got = element(&found[0], at);
        if !agrees(dtype, got, pairs) {
            return Err(format!("row {line}, column {column}: {got:?}").into());
        }
    }
    let mut kept = vec![super::GAP; block_bytes(&out)];
    for &at in &places {
        kept[at..at + size].copy_from_slice(&found[0][at..at + size]);
    }
    if kept != found[0] {
        return Err("bytes between the results were written".to_owned().into());
    }
    Ok(())
}

/// True if an element is the sum of these products: exactly, or within the bound of a sum one after another.
fn agrees(
    dtype: DType,
    got: [Number; 2],
    pairs: impl ExactSizeIterator<Item = ([Number; 2], [Number; 2])>,
) -> bool {
    let real = |number: Number| match number {
        Number::Real(x) => x,
        Number::Whole(_) => 0.0,
    };
    match dtype.kind() {
        Kind::Float | Kind::Complex => {
            let (mut sums, mut sizes, count) = ([0.0; 2], [0.0; 2], pairs.len());
            let mut rounded = 0f32;
            for (a, b) in pairs {
                let ([a, c], [b, d]) = (a.map(real), b.map(real));
                for (part, (p, q)) in [(a * b, -(c * d)), (a * d, c * b)].into_iter().enumerate() {
                    sums[part] += p + q;
                    sizes[part] += p.abs() + q.abs();
                }
                #[expect(clippy::cast_possible_truncation, reason = "exact products of halves")]
                {
                    rounded += (a * b) as f32;
                }
            }
            if dtype == DType::F16 {
                let half = half::f16::from_f32(rounded).to_f64();
                return half.to_bits() == real(got[0]).to_bits();
            }
            let unit = if dtype.real() == DType::F32 {
                2f64.powi(-24)
            } else {
                2f64.powi(-53)
            };
            #[expect(clippy::cast_precision_loss, reason = "a small number")]
            let bound = 4.0 * count as f64 * unit;
            (0..2).all(|part| (real(got[part]) - sums[part]).abs() <= bound * sizes[part])
        }
        kind => {
            let whole = |number: Number| match number {
                Number::Whole(x) => x,
                Number::Real(_) => 0,
            };
            let products = pairs.map(|(a, b)| whole(a[0]) * whole(b[0]));
            let sum = products.fold(0i128, i128::wrapping_add);
            let expected = if kind == Kind::Bool {
                i128::from(sum != 0)
            } else {
                sum
            };
            let unused = 128 - 8 * u32::try_from(dtype.size()).unwrap_or(16);
            expected << unused == whole(got[0]) << unused
        }
    }
}
