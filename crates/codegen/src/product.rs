//! Products of matrices. A group computes a square of the result: it brings squares of the operands to local
//! memory, one after another along the axis that both share, and each place of the group adds up the products
//! of a few rows and columns.
//!
//! Floats are added in the order of that axis, each product fused with its sum, so a result differs from the
//! exact one by at most `n * 2^-24` (`float32`) or `n * 2^-53` (`float64`) times the sum of the products' sizes,
//! for `n` products. `float16` and `bool` follow NumPy's own loops: sums in `float32` that are rounded once, and
//! truth.

use crate::access::{load, register, store};
use crate::dims::Dim;
use crate::draft::Lowering;
use crate::entry::{Entry, Form, GROUP, Source};
use crate::lower::Target;
use crate::map::head;
use crate::operation::Made;
use arrayloom_device::{Arg, ExtCall, Launch, Tensor};
use arrayloom_ir::{Builder, Form as IrForm, Kernel, Output, Prim};
use arrayloom_types::{DType, Kind};
use std::fmt::Write as _;

/// How the items of a group share the reading of a square of each operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reading {
    /// Elements that follow one another along the shared axis of the left operand go to neighbours; else those
    /// of a column.
    pub left_along: bool,
    /// The same for the right operand, and a row.
    pub right_along: bool,
}

/// Axes of a stack of matrices that the kernel has, beside those of a matrix.
pub(crate) const STACKED: usize = 2;

/// A stack over its two axes, rows, columns and the shared axis; `axes` tells which of the last three those of a
/// matrix are.
fn spread(tensor: &Tensor, stack: [[isize; 3]; STACKED], at: usize, axes: [usize; 2]) -> Arg {
    let mut strides = [0; STACKED + 3];
    for (stride, steps) in strides.iter_mut().zip(stack) {
        *stride = steps[at];
    }
    let own = tensor.layout.strides.iter().rev().take(2).rev();
    for (&axis, &stride) in axes.iter().zip(own) {
        strides[STACKED + axis] = stride;
    }
    Arg::View {
        buf: tensor.buf,
        offset: tensor.layout.offset,
        strides: strides.into_iter().collect(),
    }
}

/// The axes of a stack of three arrays, outermost first, each its extent and its step in each array. Neighbours
/// that all arrays walk as one are one.
fn stack(tensors: [&Tensor; 3], axes: usize) -> (Vec<usize>, Vec<[isize; 3]>) {
    let (mut extents, mut steps): (Vec<usize>, Vec<[isize; 3]>) = (Vec::new(), Vec::new());
    for axis in 0..axes {
        let extent = tensors[0].layout.shape[axis];
        let own = tensors.map(|t| t.layout.strides[axis]);
        let walks_on = |last: &[isize; 3]| {
            let mut pairs = last.iter().zip(&own);
            pairs.all(|(&outer, &inner)| outer == inner * extent.cast_signed())
        };
        if extent == 1 {
            continue;
        }
        if let (Some(rows), Some(last)) = (extents.last_mut(), steps.last_mut())
            && walks_on(last)
        {
            *rows *= extent;
            *last = own;
        } else {
            extents.push(extent);
            steps.push(own);
        }
    }
    (extents, steps)
}

/// What a product is of: a stack of matrices of one dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Product {
    /// Of all three arrays.
    pub(crate) dtype: DType,
    /// Rows, columns, and the shared axis.
    pub(crate) matrix: [usize; 3],
    /// The axes of the stack.
    pub(crate) stack: [usize; STACKED],
    /// Their steps in bytes: of the result, the left and the right operand.
    pub(crate) steps: [[isize; 3]; STACKED],
}

impl Product {
    /// The product that is called.
    ///
    /// # Errors
    /// The words for arrays that make none, and for stacks that cannot be walked as two axes.
    pub(crate) fn of(call: &ExtCall<'_>) -> Result<Product, String> {
        let none = || "no matmul of these arrays".to_owned();
        let ([left, right], [out]) = (call.ins, call.outs) else {
            return Err(none());
        };
        let dtype = out.layout.dtype;
        let all = [out, left, right];
        let ends = all.map(|t| t.layout.shape.split_last_chunk());
        let [
            Some((outer, &[rows, columns])),
            Some((lefts, &[lines, inner])),
            Some((rights, &[other, width])),
        ] = ends
        else {
            return Err(none());
        };
        let same = all.iter().all(|t| t.layout.dtype == dtype) && outer == lefts;
        if !same || outer != rights || [lines, inner, width] != [rows, other, columns] {
            return Err(none());
        }
        let (extents, own) = stack(all, outer.len());
        if extents.len() > STACKED {
            return Err(format!("no matmul of stacks of {} axes", extents.len()));
        }
        let skipped = STACKED - extents.len();
        let (mut stack, mut steps) = ([1; STACKED], [[0; 3]; STACKED]);
        stack[skipped..].copy_from_slice(&extents);
        steps[skipped..].copy_from_slice(&own);
        Ok(Product {
            dtype,
            matrix: [rows, columns, inner],
            stack,
            steps,
        })
    }
}

/// The operation `matmul` of two matrices of one dtype, or of stacks of them. All three have the same outer extents.
///
/// # Errors
/// The words for arrays that it does not take.
pub(crate) fn product(call: &ExtCall<'_>, target: Target) -> Result<Made, String> {
    let Product {
        dtype,
        matrix: [rows, columns, inner],
        stack: [high, low],
        steps,
    } = Product::of(call)?;
    let ([left, right], [out]) = (call.ins, call.outs) else {
        return Ok(Made::default());
    };
    let mut b = Builder::new();
    let (x, y) = (b.input(0, dtype), b.input(1, dtype));
    let value = b.bin(Prim::Mul, x, y).0;
    let form = IrForm::Store;
    let kernel = Kernel {
        code: b.finish(),
        inputs: vec![dtype; 2],
        outputs: vec![Output { value, form }],
        rank: 5,
    };
    let mut made = Made {
        ins: vec![
            spread(left, steps, 1, [0, 2]),
            spread(right, steps, 2, [2, 1]),
        ],
        outs: vec![spread(out, steps, 0, [0, 1])],
        ..Made::default()
    };
    if [rows, columns, high, low].contains(&0) {
        return Ok(made);
    }
    let launch = Launch {
        shape: &[high, low, rows, columns, inner],
        outs: &made.outs,
        ins: &made.ins,
        reduces: &[],
        flags: None,
    };
    let mut work = Lowering::new(&kernel, &launch, target);
    let mut draft = work.draft(&[0], Form::Map);
    draft.dims = work.dims(&draft, &[0, 1, 2, 3, 4]);
    draft.kept = 4;
    let nearer = |operand: usize, own: usize| {
        let step = |dim: &Dim| dim.strides[operand].unsigned_abs();
        step(&draft.dims[4]) <= step(&draft.dims[own])
    };
    draft.form = Form::Product(Reading {
        left_along: nearer(0, 2),
        right_along: nearer(1, 3),
    });
    let side = Square::of(dtype).side;
    let groups = (rows.div_ceil(side) * columns.div_ceil(side)) as u64;
    if groups >= 1 << 31 {
        return Err("no matmul of so many elements".to_owned());
    }
    work.push(&draft, [groups, low as u64, high as u64], &[], None)?;
    made.steps = work.steps;
    Ok(made)
}

/// Places of a group that an item has: one, but where a group is one item.
pub(crate) const PLACES: &str = "#ifndef PLACES\n#define PLACES 1\n#endif\n";

/// How large the squares are.
struct Square {
    /// Rows, and columns.
    side: usize,
    /// How much of the shared axis is brought at once.
    depth: usize,
    /// Rows and columns of a place.
    own: [usize; 2],
    /// From one row in local memory to the next: one more than a side, so that a column lies in all banks.
    pitch: usize,
}

impl Square {
    fn of(dtype: DType) -> Square {
        let (side, own) = if dtype.is_complex() {
            (32, [2, 4])
        } else {
            (64, [4, 8])
        };
        debug_assert_eq!(side * side, own[0] * own[1] * GROUP as usize);
        Square {
            side,
            depth: 16,
            own,
            pitch: side + 1,
        }
    }
}

/// The sum of `sum` and the product of `x` and `y`.
fn added(dtype: DType, [sum, x, y]: [&str; 3]) -> String {
    let kind = register(dtype);
    match dtype.kind() {
        Kind::Bool => format!("{sum} = (b8)({sum} | ({x} & {y}));"),
        Kind::Signed | Kind::Unsigned => {
            format!("{sum} = add_{kind}({sum}, mul_{kind}({x}, {y}));")
        }
        Kind::Float if dtype == DType::F16 => format!("{sum} = fma_f32({x}, {y}, {sum});"),
        Kind::Float => format!("{sum} = fma_{kind}({x}, {y}, {sum});"),
        Kind::Complex => {
            let fma = format!("fma_{}", register(dtype.real()));
            format!(
                "{sum}.re = {fma}({x}.re, {y}.re, {fma}(-{x}.im, {y}.im, {sum}.re)); \
                 {sum}.im = {fma}({x}.re, {y}.im, {fma}({x}.im, {y}.re, {sum}.im));"
            )
        }
    }
}

/// The text of the kernel. An item has one place of the group; where a group has one item, it has all.
pub(crate) fn text(entry: &Entry, reading: Reading) -> String {
    let kind = register(entry.folded());
    let Square {
        side,
        depth,
        own: [rows, columns],
        pitch,
    } = Square::of(entry.folded());
    let mut text = String::from(PLACES);
    text.push_str(&head(entry));
    let across = side / columns;
    let _ = writeln!(
        text,
        "    LOC {kind} left[{depth} * {pitch}], right[{depth} * {pitch}];
    {kind} sum[PLACES][{rows}][{columns}];
    const ix wide = (n3 - 1) / {side} + 1;
    const ix top = (ix)GROUP_X / wide * {side}, start = (ix)GROUP_X % wide * {side};
    EACH_Z(d0, n0) EACH_Y(d1, n1) {{
    for (u32 p = 0; p < PLACES; p++)
        for (u32 i = 0; i < {rows}; i++)
            for (u32 j = 0; j < {columns}; j++) sum[p][i][j] = {};
    for (ix from = 0; from < n4; from += {depth}) {{
        for (u32 at = LOCAL_ID; at < {}; at += LOCAL_SIZE) {{",
        zero(entry.folded()),
        depth * side
    );
    text.push_str(&brought(entry, "left", reading.left_along));
    text.push_str(&brought(entry, "right", reading.right_along));
    let place = "const u32 place = LOCAL_ID * PLACES + p;";
    let sum = added(entry.folded(), ["sum[p][i][j]", "x[i]", "y[j]"]);
    let index = ["d0", "d1", "row", "column", "0"].map(str::to_owned);
    let put = store(&entry.outs[0].1, "o0", &index, "sum[p][i][j]");
    let _ = writeln!(
        text,
        "        }}
        SYNC;
        for (u32 p = 0; p < PLACES; p++) {{
            {place}
            #pragma unroll 4
            for (u32 k = 0; k < {depth}; k++) {{
                {kind} x[{rows}], y[{columns}];
                for (u32 i = 0; i < {rows}; i++) x[i] = left[k * {pitch} + place / {across} + i * {down}];
                for (u32 j = 0; j < {columns}; j++) y[j] = right[k * {pitch} + place % {across} + j * {across}];
                for (u32 i = 0; i < {rows}; i++)
                    for (u32 j = 0; j < {columns}; j++) {{ {sum} }}
            }}
        }}
        SYNC;
    }}
    for (u32 p = 0; p < PLACES; p++) {{
        {place}
        for (u32 i = 0; i < {rows}; i++)
            for (u32 j = 0; j < {columns}; j++) {{
                const ix row = top + (ix)(place / {across} + i * {down});
                const ix column = start + (ix)(place % {across} + j * {across});
                if (row < n2 && column < n3) {put}
            }}
    }}
    }}
}}",
        down = side / rows
    );
    text
}

fn zero(dtype: DType) -> String {
    let kind = register(dtype);
    if dtype.is_complex() {
        let part = register(dtype.real());
        format!("{kind}_of(({part})0, ({part})0)")
    } else {
        format!("({kind})0")
    }
}

/// Brings an element of an operand to local memory, zero beyond its end.
fn brought(entry: &Entry, name: &str, along: bool) -> String {
    let Square {
        side, depth, pitch, ..
    } = Square::of(entry.folded());
    let (line, k) = if along {
        (format!("at / {depth}"), format!("at % {depth}"))
    } else {
        (format!("at % {side}"), format!("at / {side}"))
    };
    let (number, first, extent, index) = if name == "left" {
        (0, "top", "n2", ["d0", "d1", "(top + line)", "0", "k"])
    } else {
        (1, "start", "n3", ["d0", "d1", "0", "(start + line)", "k"])
    };
    let Some(Source::View(view)) = entry.ins.get(number) else {
        return String::new();
    };
    let element = load(view, &format!("i{number}"), &index.map(str::to_owned));
    format!(
        "            {{
                const ix line = (ix)({line}), k = from + (ix)({k});
                {name}[(k - from) * {pitch} + line] = {first} + line < {extent} && k < n4 ? {element} : {};
            }}
",
        zero(entry.folded())
    )
}
