//! Filters along an axis: weighted sums, extrema and sums over the windows of packed voxels.
//!
//! The order of arithmetic for one voxel is that of its window, whatever is computed beside it, so results have
//! the bits of the filters on the CPU.

use crate::draft::{Draft, Lowering, Operand};
use crate::entry::Form;
use crate::lower::{Memory, Target, groups};
use crate::operation::Made;
use crate::tile_text;
use arrayloom_device::{ExtCall, FilterPass, Fold, Keys, Launch, Order, Spread, Tensor};
use arrayloom_ir::{Form as IrForm, Kernel, Output};
use arrayloom_types::{DType, Kind};

/// Neighbours along the axis that an item computes: what it reads serves several of them.
pub(crate) const EACH: usize = 4;

/// What is known of a pass when its text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pass {
    /// What windows become.
    pub fold: Fold,
    /// Numbers of a voxel that is read, and of one that is written.
    pub channels: [u8; 2],
    /// How voxels that are read, and those that are written, stand for keys.
    pub keys: [Keys; 2],
    /// The dtype of the voxels that keys stand for.
    pub values: DType,
    /// The dtype of the arithmetic.
    pub work: DType,
    /// Sums are divided.
    pub divided: bool,
    /// What mean and variance become.
    pub spread: Option<Spread>,
}

impl Pass {
    /// The numbers that the kernel takes: beside [`NUMBERS`] points before the middle, and the bits of shares and of
    /// what a spread is given.
    pub(crate) fn numbers(self) -> impl Iterator<Item = &'static str> {
        let own: &[&str] = match (self.fold, self.spread) {
            (Fold::Moments, None) => &["before"],
            (Fold::Moments, Some(_)) => &["before", "factor", "range"],
            (Fold::Squares, Some(_)) => &["share", "square", "factor", "range"],
            _ => &[],
        };
        NUMBERS.iter().chain(own).copied()
    }
}

/// The numbers that the kernel takes: items, outputs along the axis, groups of [`EACH`] of them (or of one), rows,
/// elements of a row, points of the window, what sums are divided by (the bits of a `float64`), voxels read and written.
const NUMBERS: [&str; 9] = [
    "items", "length", "parts", "rows", "row", "taps", "points", "read", "written",
];

/// The dtype of the arithmetic, if there is such a pass.
fn work_of(pass: &FilterPass, call: &ExtCall<'_>) -> Option<DType> {
    let (voxels, result) = (
        call.ins.first()?.layout.dtype,
        call.outs.first()?.layout.dtype,
    );
    let bias = call.ins.last()?.layout.dtype;
    let whole = |d: DType| d.kind() < Kind::Float;
    let small = |d: DType| d.size() <= 2 && whole(d);
    let fits = match pass.fold {
        Fold::Weights | Fold::Odd | Fold::Laplacian => {
            let known = !voxels.is_complex() && !result.is_complex();
            known && matches!(bias, DType::F32 | DType::F64)
        }
        Fold::Least | Fold::Range => {
            let size = bias.size();
            let both = pass.fold == Fold::Range && matches!(pass.channels, [1 | 2, 1 | 2]);
            let known = both || pass.channels == [1, 1];
            known && voxels.size() == size && result.size() == size && bias.kind() == Kind::Unsigned
        }
        Fold::Sum => match (bias, pass.channels) {
            (DType::I32, [1, 1]) => small(voxels) || voxels == DType::I32,
            (DType::I64, [1, 1]) => whole(voxels) && voxels != DType::U64,
            (DType::U64, [1, 2]) => whole(voxels) && result == DType::U64,
            (DType::U64, [2, 2]) => voxels == DType::U64 && result == DType::U64,
            (DType::U64, [1, 1]) => whole(voxels) && pass.points != 0.0,
            (DType::U64, [2, 1]) => voxels == DType::U64 && pass.points != 0.0,
            _ => false,
        },
        Fold::Mean => {
            let known = !voxels.is_complex() && !result.is_complex();
            let known = known && pass.channels == [1, 1];
            known && matches!(bias, DType::F32 | DType::F64)
        }
        Fold::Squares | Fold::Moments => {
            let real = !voxels.is_complex() && !result.is_complex();
            let between = pass.spread.is_none() && result == DType::F64;
            let wiener = pass.spread == Some(Spread::Wiener);
            let known = match (pass.fold, pass.channels) {
                (Fold::Squares, [1 | 2, 2]) | (Fold::Moments, [1 | 2, 2] | [1 | 3, 3]) => between,
                (Fold::Squares, [1 | 2, 1]) | (Fold::Moments, [2, 1]) => {
                    pass.spread.is_some() && !wiener
                }
                (Fold::Moments, [1, 1]) => pass.spread.is_some(),
                (Fold::Moments, [3, 1]) => wiener,
                _ => false,
            };
            real && known && bias == DType::F64
        }
    };
    (fits && has_order(pass)).then_some(bias)
}

/// True if there are such passes in this order of rows.
fn has_order(pass: &FilterPass) -> bool {
    match (pass.fold, pass.order) {
        (Fold::Mean, order) => order != Order::Rows,
        // Voxels themselves are no boxes.
        (Fold::Moments, Order::Boxes | Order::Cuts) => {
            !pass.channels.contains(&3) && pass.spread != Some(Spread::Wiener)
        }
        (_, order) => order == Order::Rows,
    }
}

/// The operation [`arrayloom_device::FILTER_PASS`].
///
/// # Errors
/// The words for arrays that it does not take.
pub(crate) fn pass(call: &ExtCall<'_>, target: Target) -> Result<Made, String> {
    let none = || "no filter of these arrays".to_owned();
    let pass = FilterPass::of(call.attrs).ok_or_else(none)?;
    let weighted = pass.fold.is_weighted();
    let [result] = call.outs else {
        return Err(none());
    };
    let work = work_of(&pass, call).filter(|_| call.ins.len() == if weighted { 5 } else { 4 });
    let work = work.ok_or_else(none)?;
    let voxels = &call.ins[0];
    let packed = call.ins.iter().chain(call.outs).all(packed);
    let (&[outer, rows, row], &[same_outer, length, same_row]) =
        (&*voxels.layout.shape, &*result.layout.shape)
    else {
        return Err(none());
    };
    let tables = call.ins[1..3].iter().all(|t| t.layout.dtype == DType::I32);
    let (taps, channels) = (pass.taps as usize, pass.channels.map(usize::from));
    let starts = call.ins[1].layout.len() == length;
    let indexed = call.ins[2].layout.len() + 1 == length + taps;
    let boxed = outer * channels[1] == same_outer * channels[0] && row == same_row;
    let inside = pass.before < pass.taps && pass.cut < pass.taps;
    if !(packed && tables && starts && indexed && boxed && inside) || channels.contains(&0) {
        return Err(none());
    }
    let planes = outer / channels[0];
    let each = match pass.order {
        Order::Rows => EACH,
        Order::Boxes | Order::Cuts => 1,
    };
    let parts = length.div_ceil(each);
    let items = planes * parts * row;
    let known = Pass {
        fold: pass.fold,
        channels: pass.channels,
        keys: pass.keys,
        values: result.layout.dtype,
        work,
        divided: pass.points != 0.0,
        spread: pass.spread,
    };
    // Bytes of neighbours are read at once wherever they go.
    let tiled = row == 1 && voxels.layout.dtype.size() > 1 && !target.cores;
    let brought = tile_text::voxels([length, rows, taps]).filter(|_| tiled);
    let form = match pass.order {
        Order::Boxes => Form::Boxes(known),
        Order::Cuts => Form::Cuts(known),
        Order::Rows => brought.map_or(Form::Filter(known), |_| Form::Tile(known)),
    };
    let bits = |number: f64| usize::try_from(number.to_bits()).unwrap_or(0);
    let numbers = [
        ("items", items),
        ("length", length),
        ("parts", parts),
        ("rows", rows),
        ("row", row),
        ("taps", taps),
        ("points", bits(pass.points)),
        ("read", planes * rows * row),
        ("written", planes * length * row),
        ("before", pass.before as usize),
        ("share", bits(1.0 / pass.points)),
        ("square", bits(1.0 / (pass.points * pass.points))),
        ("factor", bits(pass.given[0])),
        ("range", bits(pass.given[1])),
        ("brought", brought.unwrap_or(0)),
        ("cut", pass.cut as usize),
    ];
    let keyed = matches!(pass.fold, Fold::Least | Fold::Range);
    step(call, target, (form, keyed), &numbers)
}

/// True for elements without gaps at multiples of their size.
pub(crate) fn packed(tensor: &Tensor) -> bool {
    let start = tensor
        .buf
        .0
        .wrapping_add_signed(tensor.layout.offset as i64);
    let size = tensor.layout.dtype.size() as u64;
    tensor.layout.is_contiguous() && start.is_multiple_of(size)
}

/// One step over packed operands; `keyed` where voxels are looked at as bits.
///
/// # Errors
/// The words for what a step cannot have.
pub(crate) fn step(
    call: &ExtCall<'_>,
    target: Target,
    (form, keyed): (Form, bool),
    numbers: &[(&str, usize)],
) -> Result<Made, String> {
    let mut made = Made {
        ins: call.ins.iter().map(Tensor::arg).collect(),
        outs: call.outs.iter().map(Tensor::arg).collect(),
        ..Made::default()
    };
    let items = numbers
        .iter()
        .find(|(name, _)| *name == "items")
        .map_or(0, |n| n.1);
    if items == 0 {
        return Ok(made);
    }
    let bits = |dtype: DType| {
        if keyed {
            DType::of_bytes(dtype.size())
        } else {
            dtype
        }
    };
    let mut inputs: Vec<DType> = call.ins.iter().map(|t| t.layout.dtype).collect();
    inputs[0] = bits(inputs[0]);
    let kernel = Kernel {
        code: Vec::new(),
        outputs: vec![Output {
            value: 0,
            form: IrForm::Store,
        }],
        rank: 0,
        inputs,
    };
    let launch = Launch {
        shape: &[],
        outs: &made.outs,
        ins: &made.ins,
        reduces: &[],
        flags: None,
    };
    let mut work = Lowering::new(&kernel, &launch, target);
    let mut draft = Draft::empty(form);
    draft.inputs = (0..kernel.inputs.len()).collect();
    draft.outs = vec![(0, 0)];
    let ins = kernel.inputs.iter().enumerate();
    let ins = ins.map(|(i, &dtype)| (Memory::In(i), dtype));
    let all = ins.chain([(Memory::Out(0), bits(call.outs[0].layout.dtype))]);
    draft.operands = all
        .map(|(memory, dtype)| Operand { memory, dtype })
        .collect();
    work.push(&draft, [groups(items), 1, 1], numbers, None)?;
    made.steps = work.steps;
    Ok(made)
}
