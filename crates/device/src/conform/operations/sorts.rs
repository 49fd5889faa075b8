//! Sorts of elements, and of their numbers.

use super::super::data::{Values, fill};
use super::super::place::{Pattern, block_bytes, offsets};
use super::super::{CaseResult, Trouble};
use super::GAP;
use super::{Number, block, noted, number, run};
use crate::Device;
use arrayloom_types::{ALL_DTYPES, DType, Layout, Scalar};
use std::cmp::Ordering;

/// Where the arrays of a case lie, and which axis is worked along.
const PLACES: [(Pattern, &[usize], usize); 9] = [
    (Pattern::Contiguous, &[131], 0),
    (Pattern::Contiguous, &[20_011], 0),
    (Pattern::Contiguous, &[3, 5000], 1),
    (Pattern::Strided, &[5, 13], 1),
    (Pattern::Reversed, &[40, 9], 0),
    (Pattern::Permuted, &[3, 140, 5], 1),
    (Pattern::Broadcast, &[6, 17], 1),
    (Pattern::Unaligned, &[37], 0),
    (Pattern::Empty, &[3, 0], 1),
];

/// Sorts elements, and their numbers, of the chosen dtypes (all if there are none).
pub fn sorts(device: &dyn Device, dtypes: &[DType]) -> Vec<CaseResult> {
    noted(device, |suite| {
        for dtype in ALL_DTYPES {
            if !dtypes.is_empty() && !dtypes.contains(&dtype) {
                continue;
            }
            for values in [Values::Any, Values::Few] {
                for (seed, &(pattern, shape, axis)) in (0..).zip(&PLACES) {
                    let case = Case {
                        layout: pattern.input(dtype, shape, 0),
                        out: pattern.output(dtype, shape),
                        axis,
                        bytes: fill(dtype, shape.iter().product(), seed, values),
                    };
                    let name = format!("{dtype}/{values:?}/{}/{shape:?}", pattern.name());
                    let result = case.elements(device);
                    suite.note(format!("sort/{name}"), result);
                    let result = case.places(device);
                    suite.note(format!("argsort/{name}"), result);
                }
            }
        }
    })
}

/// An array to sort.
struct Case {
    layout: Layout,
    /// Where sorted elements go.
    out: Layout,
    axis: usize,
    /// Values for the elements; those of a repeated element are the same.
    bytes: Vec<u8>,
}

impl Case {
    fn block(&self) -> Vec<u8> {
        block(&self.layout, &self.bytes)
    }

    fn attrs(&self) -> [u8; 1] {
        [u8::try_from(self.axis).unwrap_or(u8::MAX)]
    }

    /// For each line, the numbers in C order of its elements, in the order of their values.
    fn lines(&self, element: impl Fn(usize) -> Scalar) -> Vec<(Vec<usize>, Vec<usize>)> {
        let shape = &self.layout.shape;
        let inner: usize = shape[self.axis + 1..].iter().product();
        let outer: usize = shape[..self.axis].iter().product();
        let length = shape[self.axis];
        let mut all = Vec::new();
        for line in 0..outer * inner {
            let first = line / inner * length * inner + line % inner;
            let at = |i: usize| first + i * inner;
            let mut order: Vec<usize> = (0..length).collect();
            order.sort_by(|&a, &b| compare(&element(at(a)), &element(at(b))));
            all.push(((0..length).map(at).collect(), order));
        }
        all
    }

    fn elements(&self, device: &dyn Device) -> Result<(), Trouble> {
        let (block, size) = (self.block(), self.layout.dtype.size());
        let places = offsets(&self.layout);
        let element =
            |n: usize| Scalar::from_bytes(self.layout.dtype, &block[places[n]..places[n] + size]);
        let mut expected = vec![GAP; block_bytes(&self.out)];
        let to = offsets(&self.out);
        for (line, order) in self.lines(element) {
            for (n, from) in line.iter().zip(order) {
                let value = element(line[from]);
                expected[to[*n]..to[*n] + size].copy_from_slice(value.as_bytes());
            }
        }
        let found = run(
            device,
            "sort",
            &[(&self.layout, &block)],
            &[&self.out],
            &self.attrs(),
        )?;
        if found[0] == expected {
            return Ok(());
        }
        let at = (0..expected.len()).find(|&i| found[0][i] != expected[i]);
        Err(format!("other elements from byte {at:?} on").into())
    }

    fn places(&self, device: &dyn Device) -> Result<(), Trouble> {
        let (block, size) = (self.block(), self.layout.dtype.size());
        let places = offsets(&self.layout);
        let element =
            |n: usize| Scalar::from_bytes(self.layout.dtype, &block[places[n]..places[n] + size]);
        let out = Layout::contiguous(DType::I64, &self.layout.shape);
        let ties = Layout::contiguous(DType::U32, &[]);
        let mut expected = vec![0; block_bytes(&out)];
        let mut tied = false;
        for (line, order) in self.lines(element) {
            for (n, from) in line.iter().zip(&order) {
                let number = (*from as u64).to_le_bytes();
                expected[n * 8..n * 8 + 8].copy_from_slice(&number);
            }
            tied |= order.windows(2).any(|pair| {
                let [a, b] = [pair[0], pair[1]].map(|i| element(line[i]));
                compare(&a, &b) == Ordering::Equal
            });
        }
        let found = run(
            device,
            "argsort",
            &[(&self.layout, &block)],
            &[&out, &ties],
            &self.attrs(),
        )?;
        if found[0] != expected {
            return Err("other numbers".to_owned().into());
        }
        if !self.bytes.is_empty() && found[1] != u32::from(tied).to_le_bytes() {
            return Err(format!("{:?} for equal elements: {tied}", found[1]).into());
        }
        Ok(())
    }
}

/// NumPy's order: NaN last; complex numbers by their real parts first, with a NaN part behind all others.
fn compare(a: &Scalar, b: &Scalar) -> Ordering {
    let part = a.dtype.real();
    let parts = |scalar: &Scalar| {
        let all = scalar.as_bytes().chunks(part.size());
        all.map(|bytes| number(part, bytes))
            .collect::<Vec<Number>>()
    };
    let (a, b) = (parts(a), parts(b));
    let nans = |parts: &[Number]| parts.iter().map(|p| p.is_nan()).collect::<Vec<bool>>();
    let pairs = || a.iter().zip(&b).map(|(x, y)| x.compare(*y));
    nans(&a)
        .cmp(&nans(&b))
        .then_with(|| pairs().find(|o| o.is_ne()).unwrap_or(Ordering::Equal))
}
