//! Stable sorts along an axis, by digits from the last to the first.
//!
//! The elements are copied, packed, with the axis innermost. Each gets a key, a number without sign that is in
//! NumPy's order: NaN last, both zeros equal. Keys and the numbers of their elements are then moved digit by
//! digit. A group takes a part of a line: it counts its digits, counts of all parts are added, and the group
//! finds the place of each key among equal ones from counts of its own. Complex numbers are sorted by their
//! imaginary parts first, then by their real parts, then by which parts are NaN. At the end elements, or their
//! numbers, are written where they belong.
//!
//! Kernels loop over [`GROUP`] places where a group has fewer items, so one item alone does the same work.

use crate::dims::merged;
use crate::draft::{Draft, Lowering, Operand};
use crate::entry::{Form, GROUP};
use crate::lower::{ArgValue, Memory, Steps, Target, groups};
use crate::operation::Made;
use arrayloom_device::{Arg, ExtCall, Launch, Tensor};
use arrayloom_ir::{Builder, Form as IrForm, Kernel, Output};
use arrayloom_types::{DType, Kind, contiguous_strides};

/// Bits of a digit.
const DIGIT: usize = 5;
/// Values of a digit.
pub(crate) const BINS: usize = 1 << DIGIT;
/// Keys of a place of a group, in each round.
pub(crate) const EACH: usize = 16;
/// Keys of a round.
pub(crate) const TILE: usize = EACH * GROUP as usize;
/// The longest axis: numbers of elements have 32 bits.
const LONGEST: usize = 1 << 31;

/// What a key is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A number without sign.
    Plain,
    /// A number with a sign.
    Signed,
    /// A real number.
    Float,
    /// This part of a complex number: 0 is the real one.
    Part(u8),
    /// Which parts of a complex number are NaN.
    Nans,
}

/// A kernel of a sort. The numbers are bytes of what it reads: an element, a part of one, or a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SortPass {
    /// Makes the keys. One item for an element.
    Keys {
        /// What of.
        key: Key,
        /// Bytes of an element, or of a part of a complex number.
        bytes: u8,
        /// Elements are in their first order.
        first: bool,
    },
    /// Counts the digits of a part. One group for a part.
    Count(u8),
    /// Adds the counts of a line. One group for a line.
    Add,
    /// Moves the keys of a part. One group for a part.
    Move(u8),
    /// Writes the elements. One item for an element or part.
    Elements(u8),
    /// Writes the numbers of the elements. One item for an element.
    Places,
    /// Begins to look for equal neighbours.
    NoTies,
    /// Looks for equal neighbours in the result. One item for an element.
    Ties {
        /// The first of its keys.
        key: Key,
        /// Bytes of an element, or of a part of a complex number.
        bytes: u8,
    },
}

impl SortPass {
    /// True if a group works together.
    pub(crate) fn in_groups(self) -> bool {
        matches!(self, SortPass::Count(_) | SortPass::Add | SortPass::Move(_))
    }

    /// Blocks between the steps: elements, keys, numbers, moved keys, moved numbers, counts.
    pub(crate) fn scratch_type(self, number: usize) -> String {
        let unsigned = |bytes: u8| format!("u{}", 8 * usize::from(bytes));
        match (self, number) {
            (SortPass::Keys { key: Key::Nans, .. }, 1) => "u8".to_owned(),
            (SortPass::Keys { bytes, .. }, 0 | 1)
            | (SortPass::Ties { bytes, .. } | SortPass::Elements(bytes), 0)
            | (SortPass::Count(bytes) | SortPass::Move(bytes), 1 | 3) => unsigned(bytes),
            (_, 2 | 4 | 5) => "u32".to_owned(),
            _ => "u8".to_owned(),
        }
    }
}

/// How elements of a dtype are compared: the keys from the least to the most important one.
fn keys(dtype: DType) -> &'static [Key] {
    match dtype.kind() {
        Kind::Bool | Kind::Unsigned => &[Key::Plain],
        Kind::Signed => &[Key::Signed],
        Kind::Float => &[Key::Float],
        Kind::Complex => &[Key::Part(1), Key::Part(0), Key::Nans],
    }
}

/// What is known of a sort.
struct Sort<'a> {
    /// Which dtype is compared.
    dtype: DType,
    axis: usize,
    shape: &'a [usize],
    lines: usize,
    length: usize,
    parts: usize,
    part: usize,
}

impl Sort<'_> {
    /// Parts of an element that are compared by themselves.
    fn words(&self) -> usize {
        if self.dtype.is_complex() { 2 } else { 1 }
    }

    fn bytes(&self) -> u8 {
        u8::try_from(self.dtype.real().size()).unwrap_or(8)
    }

    fn total(&self) -> usize {
        self.lines * self.length
    }

    fn numbers(&self, items: usize, shift: usize) -> [(&'static str, usize); 6] {
        [
            ("items", items),
            ("length", self.length),
            ("part", self.part),
            ("parts", self.parts),
            ("words", self.words()),
            ("shift", shift),
        ]
    }
}

/// The numbers that all kernels of a sort take.
pub(crate) const NUMBERS: [&str; 6] = ["items", "length", "part", "parts", "words", "shift"];

/// The operations `sort` and `argsort` of one array along the axis that the first attribute names. A second
/// result of `argsort` is one number of 32 bits: 1 if two elements are equal, so that another sort might order
/// them otherwise.
///
/// # Errors
/// The words for what they do not take.
pub(crate) fn sort(call: &ExtCall<'_>, target: Target) -> Result<Made, String> {
    let ([from], [to, ties @ ..], [axis, ..]) = (call.ins, call.outs, call.attrs) else {
        return Err(format!("no {} of these arrays", call.name));
    };
    let (shape, axis) = (&from.layout.shape, usize::from(*axis));
    let dtype = from.layout.dtype;
    let places = call.name == "argsort";
    let wanted = if places { DType::I64 } else { dtype };
    let one = |t: &Tensor| t.layout.dtype == DType::U32 && t.layout.shape.iter().all(|&n| n == 1);
    if axis >= shape.len() || to.layout.shape != *shape || to.layout.dtype != wanted {
        return Err(format!(
            "no {} along axis {axis} of these arrays",
            call.name
        ));
    }
    if shape[axis] >= LONGEST || !(ties.is_empty() || (places && ties.len() == 1 && one(&ties[0])))
    {
        return Err(format!("no {} of so many elements or results", call.name));
    }
    let length = shape[axis];
    let lines: usize = (0..shape.len())
        .filter(|&a| a != axis)
        .map(|a| shape[a])
        .product();
    let tiles = length.div_ceil(TILE);
    let wanted = (target.lanes / GROUP as usize).max(1) * 4;
    let parts = (wanted / lines.max(1)).clamp(1, tiles.max(1));
    let part = tiles.div_ceil(parts) * TILE;
    let sort = Sort {
        dtype,
        axis,
        shape,
        lines,
        length,
        parts: length.div_ceil(part.max(1)),
        part,
    };
    let outs: Vec<Arg> = call.outs.iter().map(Tensor::arg).collect();
    let made = |steps| Made {
        steps,
        ins: vec![from.arg()],
        outs: outs.clone(),
    };
    if sort.total() == 0 {
        return Ok(made(Steps::default()));
    }
    let words = Words::of(&sort, [from, to], ties.first(), places);
    Ok(made(words.steps(&sort, target)?))
}

/// The operands as numbers without sign, and a kernel that is bound to them: what steps are made from.
struct Words {
    kernel: Kernel,
    shape: Vec<usize>,
    ins: Vec<Arg>,
    outs: Vec<Arg>,
    places: bool,
    ties: bool,
}

impl Words {
    fn of(sort: &Sort<'_>, [from, to]: [&Tensor; 2], ties: Option<&Tensor>, places: bool) -> Words {
        let size = sort.dtype.real().size();
        let word = DType::of_bytes(size);
        let parted = |tensor: &Tensor, step: usize| {
            let Arg::View {
                buf,
                offset,
                mut strides,
            } = tensor.arg()
            else {
                return tensor.arg();
            };
            strides.push(step.cast_signed());
            Arg::View {
                buf,
                offset,
                strides,
            }
        };
        let mut shape = sort.shape.to_vec();
        shape.push(sort.words());
        let mut b = Builder::new();
        let value = b.input(0, word);
        let form = IrForm::Store;
        let mut outputs = vec![Output {
            value: value.0,
            form,
        }];
        if places {
            let number = b.cast(value, DType::I64);
            outputs[0].value = number.0;
            if ties.is_some() {
                let told = b.cast(value, DType::U32);
                outputs.push(Output {
                    value: told.0,
                    form,
                });
            }
        }
        let mut outs = vec![parted(to, if places { 0 } else { size })];
        outs.extend(ties.map(|tensor| Arg::View {
            buf: tensor.buf,
            offset: tensor.layout.offset,
            strides: shape.iter().map(|_| 0).collect(),
        }));
        Words {
            kernel: Kernel {
                code: b.finish(),
                inputs: vec![word],
                outputs,
                rank: u8::try_from(shape.len()).unwrap_or(u8::MAX),
            },
            ins: vec![parted(from, size)],
            outs,
            shape,
            places,
            ties: ties.is_some(),
        }
    }

    /// All steps of the sort.
    fn steps(&self, sort: &Sort<'_>, target: Target) -> Result<Steps, String> {
        let launch = Launch {
            shape: &self.shape,
            outs: &self.outs,
            ins: &self.ins,
            reduces: &[],
            flags: None,
        };
        let mut work = Lowering::new(&self.kernel, &launch, target);
        let (total, bytes) = (sort.total(), usize::from(sort.bytes()));
        let counts = sort.lines * sort.parts * BINS;
        let (keyed, numbered) = (total * bytes, total * 4);
        let elements = total * sort.words() * bytes;
        work.scratch(&[elements, keyed, numbered, keyed, numbered, counts * 4]);
        work.packed(sort)?;
        let mut swapped = false;
        for (at, &key) in keys(sort.dtype).iter().enumerate() {
            let pass = SortPass::Keys {
                key,
                bytes: sort.bytes(),
                first: at == 0,
            };
            work.within(pass, (groups(total), total, 0), sort, swapped)?;
            let (width, bits) = match (key, sort.dtype) {
                (Key::Nans, _) => (1, 2),
                (_, DType::Bool) => (1, 1),
                _ => (sort.bytes(), 8 * bytes),
            };
            let each = (sort.lines * sort.parts) as u64;
            for shift in (0..bits).step_by(DIGIT) {
                work.within(SortPass::Count(width), (each, 0, shift), sort, swapped)?;
                work.within(SortPass::Add, (sort.lines as u64, 0, 0), sort, swapped)?;
                work.within(SortPass::Move(width), (each, 0, shift), sort, swapped)?;
                swapped = !swapped;
            }
        }
        if self.places {
            work.written(SortPass::Places, 0, sort, swapped)?;
        } else {
            work.written(SortPass::Elements(sort.bytes()), 0, sort, swapped)?;
        }
        if self.ties {
            let key = keys(sort.dtype)[0];
            work.written(SortPass::NoTies, 1, sort, swapped)?;
            work.written(
                SortPass::Ties {
                    key,
                    bytes: sort.bytes(),
                },
                1,
                sort,
                swapped,
            )?;
        }
        Ok(work.steps)
    }
}

impl Lowering<'_> {
    /// Copies the elements to scratch, with the axis innermost.
    fn packed(&mut self, sort: &Sort<'_>) -> Result<(), String> {
        let axes = sort.axes();
        let kept = Output {
            value: 0,
            form: IrForm::Store,
        };
        let mut draft = self.draft_of(&[(0, kept)], Form::Map);
        let size = usize::from(sort.bytes());
        draft.operands[1] = Operand {
            memory: Memory::Scratch(0),
            dtype: DType::of_bytes(size),
        };
        let mut dims = self.dims(&draft, &axes);
        let extents: Vec<usize> = dims.iter().map(|d| d.extent).collect();
        for (dim, step) in dims.iter_mut().zip(contiguous_strides(&extents, size)) {
            dim.strides[1] = step;
        }
        draft.dims = merged(dims);
        self.every_point(draft)
    }

    /// Adds a step that works in scratch alone.
    fn within(
        &mut self,
        pass: SortPass,
        (count, items, shift): (u64, usize, usize),
        sort: &Sort<'_>,
        swapped: bool,
    ) -> Result<(), String> {
        let draft = Draft::empty(Form::Sort(pass));
        self.push(&draft, [count, 1, 1], &sort.numbers(items, shift), None)?;
        self.swap(swapped);
        Ok(())
    }

    /// Adds a step that writes output `number`.
    fn written(
        &mut self,
        pass: SortPass,
        number: usize,
        sort: &Sort<'_>,
        swapped: bool,
    ) -> Result<(), String> {
        let mut draft = Draft::empty(Form::Sort(pass));
        draft.outs = vec![(0, number)];
        let dtype = self.kernel.output_dtype(number);
        draft.operands = vec![Operand {
            memory: Memory::Out(number),
            dtype,
        }];
        let mut axes = sort.axes();
        let mut items = sort.total();
        if matches!(pass, SortPass::Elements(_)) {
            items *= sort.words();
        } else {
            axes.pop();
        }
        if number == 0 {
            draft.dims = merged(self.dims(&draft, &axes));
        }
        draft.kept = draft.dims.len();
        self.push(&draft, [groups(items), 1, 1], &sort.numbers(items, 0), None)?;
        self.swap(swapped);
        Ok(())
    }

    /// Lets the last step use the moved keys and numbers as those to start from.
    fn swap(&mut self, swapped: bool) {
        let Some(step) = self.steps.list.last_mut().filter(|_| swapped) else {
            return;
        };
        for arg in &mut step.args {
            if let ArgValue::Block(Memory::Scratch(block @ 1..=4)) = arg {
                *block = (*block + 1) % 4 + 1;
            }
        }
    }
}

impl Sort<'_> {
    /// All axes, with the one to sort along and the parts of elements last.
    fn axes(&self) -> Vec<usize> {
        let rank = self.shape.len();
        let others = (0..rank).filter(|&a| a != self.axis);
        others.chain([self.axis, rank]).collect()
    }
}
