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
use crate::fourier_call::Fourier;
use crate::lower::{ArgValue, Memory, Target, groups};
use crate::operation::Made;
use arrayloom_device::{ExtCall, Launch, Tensor};
use arrayloom_ir::{Builder, Form as IrForm, Kernel, Output};
use arrayloom_types::DType;

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

/// The operation `fft`.
///
/// # Errors
/// The words for what it does not take.
pub(crate) fn transform(call: &ExtCall<'_>, target: Target) -> Result<Made, String> {
    let wish = Fourier::of(call)?;
    let smooth = factors(wish.length);
    let turned = smooth.is_none();
    let count = if turned {
        (2 * wish.length - 1).next_power_of_two()
    } else {
        wish.length
    };
    let transform = Transform {
        factors: factors(count).unwrap_or_default(),
        turned,
        count,
        wish,
    };
    made(call, target, &wish, |work, ends| {
        transform.steps(work, ends)
    })
}

/// Two steps around somebody else's transform of whole lines, in place, in the first block of scratch: the one that
/// brings the operand there, and the one that takes the result from there.
///
/// # Errors
/// The words for what they do not take.
pub fn around(call: &ExtCall<'_>, target: Target) -> Result<Made, String> {
    let wish = Fourier::of(call)?;
    let transform = Transform::of_others(wish, wish.length);
    made(call, target, &wish, |work, ends| {
        transform.bring(work, ends[0])?;
        transform.take(work, ends[1])
    })
}

/// The step that brings the first half of each line of a spectrum of real values to the first block of scratch. What
/// has no imaginary part in such a spectrum loses it.
///
/// # Errors
/// The words for what it does not take.
pub fn halves(call: &ExtCall<'_>, target: Target) -> Result<Made, String> {
    let wish = Fourier::of(call)?;
    let transform = Transform::of_others(wish, wish.length / 2 + 1);
    made(call, target, &wish, |work, [from, _]| {
        transform.bring(work, from)
    })
}

/// The steps that `put` adds for an operand and a result; none without lines.
fn made(
    call: &ExtCall<'_>,
    target: Target,
    wish: &Fourier,
    put: impl FnOnce(&mut Lowering<'_>, [&Tensor; 2]) -> Result<(), String>,
) -> Result<Made, String> {
    let ([from], [to]) = (call.ins, call.outs) else {
        return Ok(Made::default());
    };
    let mut b = Builder::new();
    let value = b.input(0, from.layout.dtype);
    let result = b.cast(value, to.layout.dtype).0;
    let form = IrForm::Store;
    let shape = &to.layout.shape;
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
    if wish.lines == 0 {
        return Ok(made);
    }
    let launch = Launch {
        shape,
        outs: &made.outs,
        ins: &made.ins,
        reduces: &[],
        flags: None,
    };
    let mut work = Lowering::new(&kernel, &launch, target);
    put(&mut work, [from, to])?;
    made.steps = work.steps;
    Ok(made)
}

/// A transform of lines.
struct Transform {
    factors: Vec<u8>,
    /// By a convolution.
    turned: bool,
    /// Values of a line in scratch.
    count: usize,
    wish: Fourier,
}

impl Transform {
    /// One that somebody else does, with so many values of a line in scratch.
    fn of_others(wish: Fourier, count: usize) -> Transform {
        let wish = Fourier {
            inverse: false,
            ..wish
        };
        Transform {
            factors: Vec::new(),
            turned: false,
            count,
            wish,
        }
    }

    fn steps(&self, work: &mut Lowering<'_>, [from, to]: [&Tensor; 2]) -> Result<(), String> {
        let (turned, one) = (self.turned, self.count);
        let all = self.wish.lines * one;
        let spare = if turned { one } else { 0 };
        let size = self.wish.dtype.size();
        work.scratch(&[all, all, one, spare, spare].map(|n| n * size));
        self.within(work, FourierPass::Circle, one, 1)?;
        self.read(work, from)?;
        let mut swapped = self.joined(work, self.wish.lines)?;
        if turned {
            swapped = self.convolved(work, swapped)?;
        }
        self.take(work, to)?;
        if let Some(step) = work.steps.list.last_mut().filter(|_| swapped) {
            renamed(&mut step.args, other);
        }
        Ok(())
    }

    /// Adds the step that reads the lines, for somebody else.
    fn bring(&self, work: &mut Lowering<'_>, from: &Tensor) -> Result<(), String> {
        work.scratch(&[self.wish.lines * self.count * self.wish.dtype.size()]);
        self.read(work, from)
    }

    fn read(&self, work: &mut Lowering<'_>, from: &Tensor) -> Result<(), String> {
        let pass = FourierPass::Read {
            from: self.wish.from,
            inverse: self.wish.inverse,
            turned: self.turned,
        };
        let items = self.wish.lines * self.count;
        self.moved(work, pass, (Memory::In(0), from), items)
    }

    /// Adds the step that writes the lines.
    fn take(&self, work: &mut Lowering<'_>, to: &Tensor) -> Result<(), String> {
        let pass = FourierPass::Write {
            to: self.wish.to,
            inverse: self.wish.inverse,
            turned: self.turned,
        };
        let items = self.wish.lines * to.layout.shape[self.wish.axis];
        self.moved(work, pass, (Memory::Out(0), to), items)
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
        self.within(work, FourierPass::Multiply, self.wish.lines * self.count, 1)?;
        if let Some(step) = work.steps.list.last_mut() {
            renamed(&mut step.args, |block| match block {
                0 => usize::from(swapped),
                3 => 3 + usize::from(apart),
                same => same,
            });
        }
        let again = work.steps.list.len();
        let moved = self.joined(work, self.wish.lines)?;
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
        let wide = self.wish.dtype == DType::C128;
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
        let wide = self.wish.dtype == DType::C128;
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
