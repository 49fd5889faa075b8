//! From a kernel and a launch to loops: which outputs go together, the walking order, the lanes.

use crate::nest::{Axis, Class, Nest, PerAxis};
use arrayloom_device::{Arg, Launch};
use arrayloom_ir::{Arity, AxisMask, Form, Kernel, Prim, ReduceOp};
use arrayloom_plan::ReduceOrder;
use arrayloom_types::{DType, Scalar};
use smallvec::SmallVec;

/// Where an input comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// One value for all points.
    Uniform(Scalar),
    /// A lane of addresses.
    Lane(usize),
    /// Nothing needs it.
    Unused,
}

impl Source {
    /// Its lane, if it has one.
    pub(crate) fn lane(self) -> Option<usize> {
        match self {
            Source::Lane(lane) => Some(lane),
            Source::Uniform(_) | Source::Unused => None,
        }
    }
}

/// The loops of a launch and what runs in them.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) nest: Nest,
    /// True when rows are so short that tiles had better run over their ends.
    pub(crate) short: bool,
    /// Which instructions the outputs need.
    pub(crate) live: Vec<bool>,
    /// For every input.
    pub(crate) sources: Vec<Source>,
    /// For every axis of the kernel, the lane of its index, if an instruction reads it.
    pub(crate) iotas: PerAxis<Option<usize>>,
    /// For every output, its lane.
    pub(crate) outs: PerAxis<usize>,
    /// For every output of form `Arg`, the lane of the position among the folded points, and the lane
    /// of the number of the result.
    pub(crate) ranks: PerAxis<Option<(usize, usize)>>,
    /// The axis of the loops that a running fold goes along.
    pub(crate) scan: Option<usize>,
    /// The lane of the index along the axis that is kept apart from the others, if there is one.
    pub(crate) rows: Option<usize>,
    /// Outputs that are read again soon: they never go around the caches.
    pub(crate) cached: PerAxis<bool>,
}

/// True when the order of a fold does not change its result: integers, and smallest and largest.
pub fn is_order_free(op: ReduceOp, dtype: DType) -> bool {
    !matches!(op, ReduceOp::Add | ReduceOp::Mul) || !(dtype.is_float() || dtype.is_complex())
}

/// What two folded outputs must agree on to share one pass.
#[derive(Clone, Copy, Debug)]
pub struct Fold<'a> {
    /// The fold.
    pub op: ReduceOp,
    /// Dtype of the values.
    pub dtype: DType,
    /// The axes folded away.
    pub axes: AxisMask,
    /// The order.
    pub order: &'a ReduceOrder,
}

impl Fold<'_> {
    /// True when one pass computes both: they fold the same axes, and if the order matters to both,
    /// it is the same.
    pub fn joins(&self, other: &Fold<'_>) -> bool {
        self.axes == other.axes
            && (is_order_free(self.op, self.dtype)
                || is_order_free(other.op, other.dtype)
                || self.order == other.order)
    }
}

/// One lane before the order of the axes is known.
struct Lane {
    base: isize,
    steps: PerAxis<isize>,
}

/// The walking order of the axes, innermost first, and their classes (by axis).
struct Walk {
    order: PerAxis<usize>,
    classes: PerAxis<Class>,
}

/// Builds the loops.
///
/// # Errors
/// What the device lacks: outputs that do not go together.
pub(crate) fn setup(kernel: &Kernel, launch: &Launch<'_>) -> Result<Setup, String> {
    loops(kernel, launch, None)
}

/// Builds the loops with an axis apart from the others.
///
/// # Errors
/// As for [`setup`].
pub(crate) fn setup_rows(
    kernel: &Kernel,
    launch: &Launch<'_>,
    axis: usize,
) -> Result<Setup, String> {
    loops(kernel, launch, Some(axis))
}

fn loops(kernel: &Kernel, launch: &Launch<'_>, apart: Option<usize>) -> Result<Setup, String> {
    if !launch.fits(kernel) {
        return Err("the launch does not fit the kernel".to_owned());
    }
    let live = liveness(kernel);
    let mut lanes: Vec<Lane> = Vec::new();
    let sources = sources(kernel, launch, &live, &mut lanes);
    let mut iotas: PerAxis<Option<usize>> = SmallVec::from_elem(None, launch.shape.len());
    for (ins, _) in kernel.code.iter().zip(&live).filter(|(_, live)| **live) {
        if ins.prim == Prim::Iota && iotas[ins.a as usize].is_none() {
            iotas[ins.a as usize] = Some(lanes.len());
            let mut steps = SmallVec::from_elem(0, launch.shape.len());
            steps[ins.a as usize] = 1;
            lanes.push(Lane { base: 0, steps });
        }
    }
    let walk = walk(kernel, launch, &lanes)?;
    let outs = launch.outs.iter().map(|out| {
        if let Arg::View {
            buf,
            offset,
            strides,
        } = out
        {
            lanes.push(Lane {
                base: address(buf.0, *offset),
                steps: strides.as_slice().into(),
            });
        }
        lanes.len() - 1
    });
    let outs: PerAxis<usize> = outs.collect();
    let ranks = ranks(kernel, launch, &walk, &mut lanes);
    let rows = apart.map(|axis| {
        let mut steps: PerAxis<isize> = SmallVec::from_elem(0, launch.shape.len());
        steps[axis] = 1;
        lanes.push(Lane { base: 0, steps });
        lanes.len() - 1
    });
    let axes = walk.order.iter().map(|&axis| Axis {
        extent: launch.shape[axis],
        class: walk.classes[axis],
        steps: lanes.iter().map(|lane| lane.steps[axis]).collect(),
    });
    let nest = Nest::new(axes, lanes.iter().map(|lane| lane.base).collect());
    let scan = nest.axes.iter().position(|a| a.class == Class::Scan);
    let scans = kernel
        .outputs
        .iter()
        .any(|o| matches!(o.form, Form::Scan { .. }));
    // Of rows that are kept apart, only some columns are done at a time.
    let whole = rows.is_none_or(|lane| nest.axes[0].steps[lane] == 0);
    Ok(Setup {
        short: nest.row() < SHORT_ROW && nest.axes.len() > 1 && !scans && whole,
        nest,
        live,
        sources,
        iotas,
        cached: SmallVec::from_elem(false, outs.len()),
        outs,
        ranks,
        scan,
        rows,
    })
}

/// Rows shorter than this are put together into tiles, unless compiled code does several with one call.
pub(crate) const SHORT_ROW: usize = 128;

#[expect(clippy::cast_possible_truncation, reason = "a block is a host address")]
fn address(buf: u64, offset: isize) -> isize {
    buf.cast_signed().wrapping_add(offset as i64) as isize
}

fn liveness(kernel: &Kernel) -> Vec<bool> {
    let mut live = vec![false; kernel.code.len()];
    for output in &kernel.outputs {
        live[output.value as usize] = true;
    }
    for (at, ins) in kernel.code.iter().enumerate().rev() {
        if live[at] {
            let operands = [ins.a, ins.b, ins.c];
            let count = match ins.prim.arity() {
                Arity::Leaf => 0,
                Arity::Unary => 1,
                Arity::Binary => 2,
                Arity::Ternary => 3,
            };
            for &operand in &operands[..count] {
                live[operand as usize] = true;
            }
        }
    }
    live
}

fn sources(
    kernel: &Kernel,
    launch: &Launch<'_>,
    live: &[bool],
    lanes: &mut Vec<Lane>,
) -> Vec<Source> {
    let mut sources = vec![Source::Unused; launch.ins.len()];
    for (ins, _) in kernel.code.iter().zip(live).filter(|(_, live)| **live) {
        let number = match ins.prim {
            Prim::Input => ins.a as usize,
            Prim::Gather => ins.b as usize,
            _ => continue,
        };
        sources[number] = match &launch.ins[number] {
            Arg::Scalar(scalar) => Source::Uniform(*scalar),
            Arg::View {
                buf,
                offset,
                strides,
            } => {
                lanes.push(Lane {
                    base: address(buf.0, *offset),
                    steps: strides.as_slice().into(),
                });
                Source::Lane(lanes.len() - 1)
            }
        };
    }
    sources
}

/// Checks that the outputs go together, and finds the order that suits them.
fn walk(kernel: &Kernel, launch: &Launch<'_>, lanes: &[Lane]) -> Result<Walk, String> {
    let rank = launch.shape.len();
    let mut classes: PerAxis<Class> = SmallVec::from_elem(Class::Kept, rank);
    let (mut folds, mut mask, mut scans) = (Vec::new(), None, 0);
    for (i, output) in kernel.outputs.iter().enumerate() {
        let axes = match output.form {
            Form::Store | Form::Scatter { .. } => continue,
            Form::Scan { axis, .. } => {
                scans += 1;
                classes[usize::from(axis)] = Class::Scan;
                continue;
            }
            Form::Arg { axes, .. } => axes,
            Form::Reduce { op, axes } => {
                let args = launch.reduces[i]
                    .as_ref()
                    .ok_or("a fold without its order")?;
                folds.push(Fold {
                    op,
                    dtype: kernel.output_dtype(i),
                    axes,
                    order: &args.order,
                });
                axes
            }
        };
        if *mask.get_or_insert(axes) != axes {
            return Err("folds over different axes in one kernel".to_owned());
        }
    }
    if scans > 1 || (scans == 1 && mask.is_some()) {
        return Err("a running fold beside another fold in one kernel".to_owned());
    }
    let mask = mask.unwrap_or(0);
    for (axis, class) in classes.iter_mut().enumerate() {
        if mask >> axis & 1 == 1 {
            *class = Class::Folded;
        }
    }
    let exact: Vec<_> = folds
        .iter()
        .filter(|f| !is_order_free(f.op, f.dtype))
        .collect();
    if exact.windows(2).any(|w| !w[0].joins(w[1])) {
        return Err("sums in different orders in one kernel".to_owned());
    }
    let Some(first) = exact.first() else {
        let order = by_steps(kernel, launch, lanes);
        return Ok(Walk { order, classes });
    };
    let order: PerAxis<usize> = first.order.axes.iter().map(|&a| usize::from(a)).collect();
    if order.len() != rank || (0..rank).any(|axis| !order.contains(&axis)) {
        return Err("the order of a fold does not name every axis once".to_owned());
    }
    for &axis in order.iter().take(usize::from(first.order.stream)) {
        if classes[axis] == Class::Folded {
            classes[axis] = Class::Stream;
        } else if launch.shape[axis] != 1 {
            return Err("a run goes along an axis that is kept".to_owned());
        }
    }
    Ok(Walk { order, classes })
}

/// Axes with small steps inside; in C order where steps do not tell.
fn by_steps(kernel: &Kernel, launch: &Launch<'_>, lanes: &[Lane]) -> PerAxis<usize> {
    let weight = |axis: usize| {
        let read: usize = lanes.iter().map(|l| l.steps[axis].unsigned_abs()).sum();
        let written: usize = kernel
            .outputs
            .iter()
            .zip(launch.outs)
            .map(|(output, arg)| match (output.form, arg) {
                (Form::Store | Form::Scan { .. }, Arg::View { strides, .. }) => {
                    2 * strides[axis].unsigned_abs()
                }
                _ => 0,
            })
            .sum();
        read + written
    };
    let mut order: PerAxis<usize> = (0..launch.shape.len()).rev().collect();
    order.sort_by_key(|&axis| weight(axis));
    order
}

/// Lanes for outputs of form `Arg`.
fn ranks(
    kernel: &Kernel,
    launch: &Launch<'_>,
    walk: &Walk,
    lanes: &mut Vec<Lane>,
) -> PerAxis<Option<(usize, usize)>> {
    let rank = launch.shape.len();
    let mut all = PerAxis::new();
    for output in &kernel.outputs {
        let Form::Arg { axes, .. } = output.form else {
            all.push(None);
            continue;
        };
        let mut position: PerAxis<isize> = SmallVec::from_elem(0, rank);
        let mut step = 1;
        for axis in (0..rank).rev().filter(|a| axes >> a & 1 == 1) {
            position[axis] = step;
            step *= launch.shape[axis].cast_signed();
        }
        let mut number: PerAxis<isize> = SmallVec::from_elem(0, rank);
        let mut step = 1;
        for &axis in walk.order.iter().filter(|&&a| axes >> a & 1 == 0) {
            number[axis] = step;
            step *= launch.shape[axis].cast_signed();
        }
        for steps in [position, number] {
            lanes.push(Lane { base: 0, steps });
        }
        all.push(Some((lanes.len() - 2, lanes.len() - 1)));
    }
    all
}
