//! Operations that are no kernels, on devices that have them. They are no group of the suite: no device needs to
//! have any, since the host does what is missing.

use super::data::{Values, fill};
use super::exec::finish;
use super::place::{Pattern, block_bytes, offsets};
use super::{CaseResult, Suite, Trouble};
use crate::{Buf, Device, End, ExtCall, Queue, Tensor};
use arrayloom_types::{ALL_DTYPES, DType, Kind, Layout, Scalar};
use std::cmp::Ordering;

/// What fills the bytes that are no elements.
const GAP: u8 = 0xA5;

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
    let mut suite = Suite {
        device,
        oracle: device,
        options: super::Options::default(),
        results: Vec::new(),
    };
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
    suite.results
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
    /// The block of the array.
    fn block(&self) -> Vec<u8> {
        let size = self.layout.dtype.size();
        let mut block = vec![GAP; block_bytes(&self.layout)];
        for (at, value) in offsets(&self.layout)
            .into_iter()
            .zip(self.bytes.chunks(size))
        {
            block[at..at + size].copy_from_slice(value);
        }
        block
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
            self.axis,
            (&self.layout, &block),
            &[&self.out],
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
            self.axis,
            (&self.layout, &block),
            &[&out, &ties],
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

/// The blocks of the results.
fn run(
    device: &dyn Device,
    name: &str,
    axis: usize,
    (layout, block): (&Layout, &[u8]),
    results: &[&Layout],
) -> Result<Vec<Vec<u8>>, Trouble> {
    let mut held: Vec<Buf> = Vec::new();
    let mut done = || -> Result<Vec<Vec<u8>>, Trouble> {
        let mut tensor = |layout: &Layout, bytes: &[u8]| -> Result<Tensor, Trouble> {
            let buf = device.alloc(bytes.len().max(1) as u64)?;
            held.push(buf);
            let host = End::Host(bytes.as_ptr().cast_mut());
            device.copy(Queue(0), End::Dev(buf, 0), host, bytes.len() as u64)?;
            let layout = layout.clone();
            Ok(Tensor { buf, layout })
        };
        let ins = [tensor(layout, block)?];
        let mut found: Vec<Vec<u8>> = results.iter().map(|l| vec![GAP; block_bytes(l)]).collect();
        let mut outs = Vec::new();
        for (layout, bytes) in results.iter().zip(&found) {
            outs.push(tensor(layout, bytes)?);
        }
        let attrs = [u8::try_from(axis).unwrap_or(u8::MAX)];
        let (outs, ins, attrs) = (&*outs, &ins[..], &attrs[..]);
        device.ext(
            Queue(0),
            &ExtCall {
                name,
                outs,
                ins,
                attrs,
            },
        )?;
        for (tensor, bytes) in outs.iter().zip(&mut found) {
            let to = End::Host(bytes.as_mut_ptr());
            device.copy(Queue(0), to, End::Dev(tensor.buf, 0), bytes.len() as u64)?;
        }
        finish(device, Queue(0))?;
        Ok(found)
    };
    let result = done();
    for buf in held {
        device.free(buf);
    }
    result
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

#[derive(Clone, Copy)]
enum Number {
    Whole(i128),
    Real(f64),
}

impl Number {
    fn is_nan(self) -> bool {
        matches!(self, Number::Real(x) if x.is_nan())
    }

    fn compare(self, other: Number) -> Ordering {
        match (self, other) {
            (Number::Whole(a), Number::Whole(b)) => a.cmp(&b),
            // Two NaN are equal.
            (Number::Real(a), Number::Real(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
            _ => Ordering::Equal,
        }
    }
}

fn number(dtype: DType, bytes: &[u8]) -> Number {
    let mut eight = [0; 8];
    eight[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(eight);
    let unused = 64 - 8 * u32::try_from(bytes.len()).unwrap_or(8);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the bits of smaller numbers"
    )]
    match dtype {
        DType::F16 => Number::Real(half::f16::from_bits(bits as u16).to_f64()),
        DType::F32 => Number::Real(f64::from(f32::from_bits(bits as u32))),
        DType::F64 => Number::Real(f64::from_bits(bits)),
        d if d.kind() == Kind::Signed => {
            Number::Whole(i128::from((bits << unused).cast_signed() >> unused))
        }
        _ => Number::Whole(i128::from(bits)),
    }
}
