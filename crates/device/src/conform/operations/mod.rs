//! Operations that are no kernels, on devices that have them. They are no group of the suite: no device needs to
//! have any, since the host does what is missing.

mod filters;
mod long;
mod products;
mod random;
mod sorts;
mod spreads;
mod sums;
mod transforms;

pub use filters::filters;
pub use products::products;
pub use random::random;
pub use sorts::sorts;
pub use transforms::transforms;

use super::exec::finish;
use super::place::{block_bytes, offsets};
use super::{CaseResult, Options, Suite, Trouble};
use crate::{Buf, Device, End, ExtCall, Queue, Tensor};
use arrayloom_types::{DType, Kind, Layout};
use std::cmp::Ordering;

/// What fills the bytes that are no elements.
const GAP: u8 = 0xA5;

/// Notes cases that a device alone is judged by.
fn noted(device: &dyn Device, cases: impl FnOnce(&mut Suite<'_>)) -> Vec<CaseResult> {
    let mut suite = Suite::new(device, device, Options::default());
    cases(&mut suite);
    suite.results
}

/// A block with these elements one after another in C order.
fn block(layout: &Layout, bytes: &[u8]) -> Vec<u8> {
    let size = layout.dtype.size();
    let mut block = vec![GAP; block_bytes(layout)];
    for (at, value) in offsets(layout).into_iter().zip(bytes.chunks(size)) {
        block[at..at + size].copy_from_slice(value);
    }
    block
}

/// The blocks of the results.
fn run(
    device: &dyn Device,
    name: &str,
    ins: &[(&Layout, &[u8])],
    results: &[&Layout],
    attrs: &[u8],
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
        let placed: Result<Vec<Tensor>, Trouble> = ins
            .iter()
            .map(|(layout, block)| tensor(layout, block))
            .collect();
        let ins = &*placed?;
        let mut found: Vec<Vec<u8>> = results.iter().map(|l| vec![GAP; block_bytes(l)]).collect();
        let mut outs = Vec::new();
        for (layout, bytes) in results.iter().zip(&found) {
            outs.push(tensor(layout, bytes)?);
        }
        let outs = &*outs;
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

/// A real number.
#[derive(Clone, Copy, Debug)]
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
