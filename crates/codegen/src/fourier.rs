//! Fourier transforms along an axis.
//!
//! Lines are copied, packed, and transformed by passes that also bring the results in order: a pass joins as many
//! transforms as its factor says, 4, 2, 3, 5 or 7. Other lengths become a convolution of a length that has these
//! factors only. An inverse transform is a transform of mirrored values, mirrored again.
//!
//! Sources: T. G. Stockham, "High-speed convolution and correlation" (1966); L. Bluestein, "A linear filtering
//! approach to the computation of discrete Fourier transform" (1970).

use crate::dims::merged;
use crate::draft::{Draft, Lowering, Operand};
use crate::entry::Form;
use crate::lower::{ArgValue, Memory, Target, groups};
use crate::operation::Made;
use arrayloom_device::{ExtCall, Launch, Tensor};
use arrayloom_ir::{Builder, Form as IrForm, Kernel, Output};
use arrayloom_types::DType;

/// Transforms are shorter: four times their length fits 32 bits, and squares of places fit 64.
const LONGEST: usize = 1 << 29;

/// What values are on the way in or out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spectrum {
    /// Complex numbers.
    Full,
    /// Real numbers.
    Real,
    /// The first half of values of which the second half mirrors the first.
    Half,
}

/// A kernel of a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FourierPass {
    /// Writes the points of the unit circle. One item for a point.
    Circle,
    /// Writes the convolution's other operand. One item for a point.
    Chirp,
    /// Reads the lines. One item for a point.
    Read {
        /// What is read.
        from: Spectrum,
        /// Values are mirrored.
        inverse: bool,
        /// Values are turned, for the convolution.
        turned: bool,
    },
    /// Joins so many transforms. One item for a point of each.
    Join(u8),
    /// Multiplies the transforms of the convolution's operands, and mirrors the products. One item for a point.
    Multiply,
    /// Writes the lines. One item for a point.
    Write {
        /// What is written.
        to: Spectrum,
        /// Values are mirrored.
        inverse: bool,
        /// Values come from the convolution.
        turned: bool,
    },
}

/// The numbers that all kernels take: items, length of a line in scratch, of the transform, of a line of the
/// operand or result, transforms that are joined already, and the bits of a factor.
pub(crate) const NUMBERS: [&str; 6] = ["items", "count", "length", "given", "done", "factor"];

/// The factors of a length, if it has no others than 2, 3, 5 and 7.
fn factors(mut length: usize) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    for factor in [4, 2, 3, 5, 7] {
        while length.is_multiple_of(usize::from(factor)) && length > 1 {
            all.push(factor);
            length /= usize::from(factor);
        }
    }
    (length == 1).then_some(all)
}

/// What the attributes say.
struct Wish {
    axis: usize,
    from: Spectrum,
    to: Spectrum,
    inverse: bool,
    factor: u64,
    length: usize,
}

impl Wish {
    /// Axis, kind (0 complex, 1 from real numbers, 2 to real numbers, 3 from real to
    /// complex numbers), inverse, the bits of the factor, the length.
    fn of(attrs: &[u8]) -> Option<Wish> {
        let (&[axis, kind, inverse], rest) = attrs.split_first_chunk()?;
        let (factor, rest) = rest.split_first_chunk()?;
        let (length, _) = rest.split_first_chunk()?;
        let (from, to) = match kind {
            0 => (Spectrum::Full, Spectrum::Full),
            1 => (Spectrum::Real, Spectrum::Half),
            2 => (Spectrum::Half, Spectrum::Real),
            3 => (Spectrum::Real, Spectrum::Full),
            _ => return None,
        };
        Some(Wish {
            axis: usize::from(axis),
            from,
            to,
            inverse: inverse != 0,
            factor: u64::from_le_bytes(*factor),
            length: usize::try_from(u64::from_le_bytes(*length)).ok()?,
        })
    }
}

/// The operation `fft` of one array, with the attributes that [`Wish::of`] reads.
///
/// # Errors
/// The words for what it does not take.
pub(crate) fn transform(call: &ExtCall<'_>, target: Target) -> Result<Made, String> {
    let none = || "no Fourier transform of these arrays".to_owned();
    let ([from], [to]) = (call.ins, call.outs) else {
        return Err(none());
    };
    let wish = Wish::of(call.attrs).ok_or_else(none)?;
    let made = |dtype: DType, spectrum| match spectrum {
        Spectrum::Real => [(DType::F32, DType::C64), (DType::F64, DType::C128)]
            .into_iter()
            .find_map(|(real, complex)| (real == dtype).then_some(complex)),
        _ => Some(dtype).filter(|d| d.is_complex()),
    };
    let dtype = made(from.layout.dtype, wish.from).ok_or_else(none)?;
    let (shape, other) = (&to.layout.shape, &from.layout.shape);
    let ends = match wish.to {
        Spectrum::Half => wish.length / 2 + 1,
        _ => wish.length,
    };
    let same = shape.len() == other.len()
        && (0..shape.len()).all(|a| a == wish.axis || shape[a] == other[a]);
    let fits = same && wish.axis < shape.len() && shape[wish.axis] == ends;
    if !fits
        || made(to.layout.dtype, wish.to) != Some(dtype)
        || !(1..LONGEST).contains(&wish.length)
    {
        return Err(none());
    }
    let mut b = Builder::new();
    let value = b.input(0, from.layout.dtype);
    let result = b.cast(value, to.layout.dtype).0;
    let form = IrForm::Store;
    let kernel = Kernel {
        code: b.finish(),
        inputs: vec![from.layout.dtype],
        outputs: vec![Output {
            value: result,
            form,
        }],
        rank: u8::try_from(shape.len()).unwrap_or(u8::MAX),
    };
    let mut made = Made {
        ins: vec![from.arg()],
        outs: vec![to.arg()],
        ..Made::default()
    };
    let lines: usize = (0..shape.len())
        .filter(|&a| a != wish.axis)
        .map(|a| shape[a])
        .product();
    if lines == 0 {
        return Ok(made);
    }
    let launch = Launch {
        shape,
        outs: &made.outs,
        ins: &made.ins,
        reduces: &[],
        flags: None,
    };
    let smooth = factors(wish.length);
    let turned = smooth.is_none();
    let count = if turned {
        (2 * wish.length - 1).next_power_of_two()
    } else {
        wish.length
    };
    let transform = Transform {
        dtype,
        factors: factors(count).unwrap_or_default(),
        turned,
        count,
        lines,
        wish,
    };
    let work = Lowering::new(&kernel, &launch, target);
    made.steps = transform.steps(work, [from, to])?.steps;
    Ok(made)
}

/// A transform of lines.
struct Transform {
    dtype: DType,
    factors: Vec<u8>,
    /// By a convolution.
    turned: bool,
    /// Values of a line in scratch.
    count: usize,
    lines: usize,
    wish: Wish,
}

impl Transform {
    fn steps<'a>(
        &self,
        mut work: Lowering<'a>,
        [from, to]: [&Tensor; 2],
    ) -> Result<Lowering<'a>, String> {
        let Wish { axis, inverse, .. } = self.wish;
        let (turned, size) = (self.turned, self.dtype.size());
        let (all, one) = (self.lines * self.count, self.count);
        let spare = if turned { one } else { 0 };
        work.scratch(&[all, all, one, spare, spare].map(|n| n * size));
        self.within(&mut work, FourierPass::Circle, one, 1)?;
        let read = FourierPass::Read {
            from: self.wish.from,
            inverse,
            turned,
        };
        self.moved(&mut work, read, (Memory::In(0), from), all)?;
        let mut swapped = self.joined(&mut work, self.lines)?;
        if turned {
            swapped = self.convolved(&mut work, swapped)?;
        }
        let write = FourierPass::Write {
            to: self.wish.to,
            inverse,
            turned,
        };
        let items = self.lines * to.layout.shape[axis];
        self.moved(&mut work, write, (Memory::Out(0), to), items)?;
        if let Some(step) = work.steps.list.last_mut().filter(|_| swapped) {
            renamed(&mut step.args, other);
        }
        Ok(work)
    }

    /// The convolution of lines that are transformed, and lie in the other block if `swapped`; true if the results
    /// do.
    fn convolved(&self, work: &mut Lowering<'_>, swapped: bool) -> Result<bool, String> {
        let start = work.steps.list.len();
        self.within(work, FourierPass::Chirp, self.count, 1)?;
        let apart = self.joined(work, 1)?;
        for step in &mut work.steps.list[start..] {
            renamed(&mut step.args, |block| match block {
                0 | 1 => block + 3,
                same => same,
            });
        }
        self.within(work, FourierPass::Multiply, self.lines * self.count, 1)?;
        if let Some(step) = work.steps.list.last_mut() {
            renamed(&mut step.args, |block| match block {
                0 => usize::from(swapped),
                3 => 3 + usize::from(apart),
                same => same,
            });
        }
        let again = work.steps.list.len();
        let moved = self.joined(work, self.lines)?;
        for step in &mut work.steps.list[again..] {
            if swapped {
                renamed(&mut step.args, other);
            }
        }
        Ok(swapped != moved)
    }

    /// All passes over so many lines; true if the results lie in the other block.
    fn joined(&self, work: &mut Lowering<'_>, lines: usize) -> Result<bool, String> {
        let (mut done, mut swapped) = (1, false);
        for &factor in &self.factors {
            let items = lines * self.count / usize::from(factor);
            self.within(work, FourierPass::Join(factor), items, done)?;
            if let Some(step) = work.steps.list.last_mut().filter(|_| swapped) {
                renamed(&mut step.args, other);
            }
            done *= usize::from(factor);
            swapped = !swapped;
        }
        Ok(swapped)
    }

    fn numbers(&self, items: usize, given: usize, done: usize) -> [(&'static str, usize); 6] {
        let factor = usize::try_from(self.wish.factor).unwrap_or(usize::MAX);
        [
            ("items", items),
            ("count", self.count),
            ("length", self.wish.length),
            ("given", given),
            ("done", done),
            ("factor", factor),
        ]
    }

    /// Adds a step that works in scratch alone.
    fn within(
        &self,
        work: &mut Lowering<'_>,
        pass: FourierPass,
        items: usize,
        done: usize,
    ) -> Result<(), String> {
        let wide = self.dtype == DType::C128;
        let draft = Draft::empty(Form::Fourier { pass, wide });
        work.push(
            &draft,
            [groups(items), 1, 1],
            &self.numbers(items, 0, done),
            None,
        )
    }

    /// Adds a step that reads the operand or writes the result.
    fn moved(
        &self,
        work: &mut Lowering<'_>,
        pass: FourierPass,
        (memory, tensor): (Memory, &Tensor),
        items: usize,
    ) -> Result<(), String> {
        let wide = self.dtype == DType::C128;
        let mut draft = Draft::empty(Form::Fourier { pass, wide });
        draft.operands = vec![Operand {
            memory,
            dtype: tensor.layout.dtype,
        }];
        match memory {
            Memory::In(i) => draft.inputs = vec![i],
            _ => draft.outs = vec![(0, 0)],
        }
        let axis = self.wish.axis;
        let others: Vec<usize> = (0..tensor.layout.shape.len())
            .filter(|&a| a != axis)
            .collect();
        draft.dims = merged(work.dims(&draft, &others));
        draft.dims.extend(work.dims(&draft, &[axis]));
        let given = tensor.layout.shape[axis];
        if let Some(last) = draft.dims.last_mut() {
            last.extent = given;
        }
        draft.kept = draft.dims.len();
        work.push(
            &draft,
            [groups(items), 1, 1],
            &self.numbers(items, given, 1),
            None,
        )
    }
}

/// The one of the first two blocks that `block` is not.
fn other(block: usize) -> usize {
    if block < 2 { 1 - block } else { block }
}

/// Lets a step use other blocks.
fn renamed(args: &mut [ArgValue], name: impl Fn(usize) -> usize) {
    for arg in args {
        if let ArgValue::Block(Memory::Scratch(block)) = arg {
            *block = name(*block);
        }
    }
}
