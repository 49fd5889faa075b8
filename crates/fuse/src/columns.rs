//! Passes over columns: kernels that fold all rows into one, and kernels that use the result, on a few
//! columns at a time. A column depends on the same column only, so nothing is computed twice.

use crate::order::any_order;
use crate::pass::{Block, Routes};
use crate::rows::Packed;
use crate::stage::Access;
use crate::{Group, Options};
use arrayloom_ir::{Form, Operand, Prim};
use arrayloom_plan::{Ring, Route, Touch};
use arrayloom_types::{Layout, Strides};
use std::ops::RangeInclusive;

/// True when the elements of a row follow one another.
fn is_packed(layout: &Layout) -> bool {
    layout.strides.last() == Some(&layout.dtype.size().cast_signed())
}

/// The columns of a group that may be a stage: one with rows that follow one another or repeat one value,
/// that reads no table and does not depend on where it is.
pub(crate) fn columns(group: &Group) -> Option<usize> {
    let reads = |operand: &Operand| match operand {
        Operand::View(_, layout) => is_packed(layout) || layout.strides.last() == Some(&0),
        Operand::Scalar(_) => true,
        Operand::Table(..) => false,
    };
    let output = |output: usize| match group.kernel.outputs[output].form {
        Form::Store => true,
        Form::Reduce { .. } => folds_rows(group, output),
        Form::Arg { .. } | Form::Scan { .. } | Form::Scatter { .. } => false,
    };
    let fits = group.shape.len() <= 2
        && group.ins.iter().all(reads)
        && group.outs.iter().all(|(_, layout)| is_packed(layout))
        && !group.kernel.code.iter().any(|ins| ins.prim == Prim::Iota)
        && (0..group.outs.len()).all(output);
    group.shape.last().copied().filter(|_| fits)
}

/// True when an output folds rows one after another into one row of results.
fn folds_rows(group: &Group, output: usize) -> bool {
    let (Form::Reduce { op, axes }, Some(fold)) =
        (group.kernel.outputs[output].form, &group.folds[output])
    else {
        return false;
    };
    let dtype = group.kernel.output_dtype(output);
    let free = any_order(op, dtype.is_float() || dtype.is_complex());
    let in_turn = fold.order.stream == 0 && fold.order.axes.first() == Some(&1);
    group.shape.len() == 2 && axes == 1 && (free || in_turn)
}

/// True for a group that folds rows into one row of results.
pub(crate) fn folds(group: &Group) -> bool {
    (0..group.outs.len()).any(|output| folds_rows(group, output))
}

/// Columns of elements of `size` bytes that are taken at a time: memory is slow to give shorter pieces of rows.
fn widths(size: usize) -> RangeInclusive<usize> {
    (512 / size).max(64)..=MOST
}

/// Columns that are taken at a time at most.
const MOST: usize = 512;

/// True when pieces of rows of so many columns are worth the calls that they take: code for quick operations is compiled
/// for many rows, but functions are called for each piece.
pub(crate) fn calls_pay<'a>(mut stages: impl Iterator<Item = &'a Group>, panel: usize) -> bool {
    panel == MOST || stages.all(|group| group.kernel.code.iter().all(|ins| ins.prim.is_quick()))
}

/// True when a few columns of the largest view stay in the cache that cores share.
pub(crate) fn stay(group: &Group, options: &Options) -> bool {
    let sizes = group.kernel.inputs.iter().map(|dtype| dtype.size());
    let size = sizes.max().unwrap_or(1);
    group.shape[0] * size * widths(size).start() <= options.sweep_planes
}

/// Columns at a time: as many as leave those of the largest view in the cache of a core.
pub(crate) fn panel(accesses: &[Access<'_>], options: &Options) -> usize {
    let column = |a: &Access<'_>| {
        (
            a.layout.shape[0] * a.layout.dtype.size(),
            a.layout.dtype.size(),
        )
    };
    let views = accesses.iter().filter(|a| a.layout.shape.len() == 2);
    let (column, size) = views.map(column).max().unwrap_or((1, 1));
    let panel = (options.sweep_cache / column.max(1)).clamp(*widths(size).start(), MOST);
    // Whole lines, so that panels begin on lines where rows do.
    panel / 64 * 64
}

/// Bytes from row to row of a matrix whose rows rise and do not meet.
fn pitch(matrix: &Layout) -> Option<isize> {
    let &[step, _] = matrix.strides.as_slice() else {
        return None;
    };
    let row = matrix.shape[1] * matrix.dtype.size();
    (is_packed(matrix) && step >= row.cast_signed()).then_some(step)
}

/// A ring that holds a panel of a matrix, row after row.
pub(crate) fn ring(matrix: &Layout) -> Option<Ring> {
    pitch(matrix).map(|_| Ring {
        pitch: matrix.dtype.size(),
        reach: 0,
        pieces: matrix.shape[0],
    })
}

/// Where the elements of `view` lie in a ring that holds panels of `matrix`, a view of the same block. `None`
/// unless all of them are elements of the matrix, in their own columns.
pub(crate) fn in_panel(matrix: &Layout, view: &Layout, panel: usize) -> Option<Packed> {
    let pitch = pitch(matrix)?;
    let size = matrix.dtype.size();
    let apart = view.offset - matrix.offset;
    let alike = view.dtype.size() == size && view.shape.last() == matrix.shape.last();
    if !alike || !is_packed(view) || apart % pitch != 0 {
        return None;
    }
    let (first, width) = (apart / pitch, (panel * size).cast_signed());
    let mut strides: Strides = view.strides.clone();
    let mut last = first;
    if let (&[rows, _], [step, _]) = (view.shape.as_slice(), strides.as_mut_slice()) {
        if rows > 1 && *step % pitch != 0 {
            return None;
        }
        last += *step / pitch * (rows.cast_signed() - 1);
        *step = *step / pitch * width;
    }
    let rows = 0..matrix.shape[0].cast_signed();
    (rows.contains(&first) && rows.contains(&last)).then(|| Packed {
        row: 0,
        offset: first * width,
        strides,
    })
}

fn divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// The columns `i + low ..= i + high` of `earlier` that may meet column `i` of `later`: the same one.
/// `None` without a simple relation.
pub(crate) fn relation(earlier: &Layout, later: &Layout) -> Option<(isize, isize)> {
    let (size, columns) = (earlier.dtype.size(), *earlier.shape.last()?);
    let alike = later.dtype.size() == size && later.shape.last() == Some(&columns);
    if !alike || !is_packed(earlier) || !is_packed(later) {
        return None;
    }
    // The distances of all rows of both views are multiples of this one.
    let steps = |layout: &Layout| {
        let rows = layout.shape.iter().zip(&layout.strides).rev().skip(1);
        let rows = rows.filter(|(n, _)| **n > 1);
        rows.fold(0, |all, (_, step)| divisor(all, step.unsigned_abs()))
    };
    let pitch = divisor(steps(earlier), steps(later));
    let apart = earlier.offset.abs_diff(later.offset);
    let same = apart == 0 || (pitch > 0 && apart.is_multiple_of(pitch));
    (same && (pitch == 0 || pitch >= size * columns)).then_some((0, 0))
}

/// The blocks that are written, rings aside, and who touches their columns. Sets the routes.
pub(crate) fn blocks(accesses: &[Access<'_>], stages: &mut [Routes]) -> (Vec<Block>, Vec<Touch>) {
    let (mut blocks, mut touches): (Vec<Block>, Vec<Touch>) = (Vec::new(), Vec::new());
    for made in accesses.iter().filter(|a| a.writes) {
        let in_memory = *stages[made.stage].route(made) == Route::Direct;
        if !in_memory || blocks.iter().any(|b| b.slot == made.slot) {
            continue;
        }
        let mut bytes = (isize::MAX, isize::MIN);
        for access in accesses.iter().filter(|a| a.slot == made.slot) {
            let hull = access.layout.byte_range();
            bytes = (bytes.0.min(hull.0), bytes.1.max(hull.1));
            *stages[access.stage].route_mut(access) = Route::Block {
                block: blocks.len(),
                row: 0,
            };
            touches.push(Touch {
                stage: access.stage,
                block: blocks.len(),
                row: 0,
                writes: access.writes,
            });
        }
        let size = made.layout.dtype.size().cast_signed();
        blocks.push(Block {
            slot: made.slot,
            origin: made.layout.offset,
            pitch: size,
            columns: (0, size),
            bytes,
        });
    }
    (blocks, touches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrayloom_types::DType;

    fn view(offset: isize, shape: &[usize], strides: &[isize]) -> Layout {
        Layout {
            dtype: DType::F64,
            offset,
            shape: shape.into(),
            strides: strides.into(),
        }
    }

    #[test]
    fn columns_meet_themselves_or_have_no_relation() {
        let whole = view(0, &[6, 10], &[80, 8]);
        let same = Some((0, 0));
        assert_eq!(relation(&whole, &whole), same);
        assert_eq!(relation(&whole, &view(160, &[3, 10], &[80, 8])), same);
        assert_eq!(relation(&whole, &view(80, &[3, 10], &[160, 8])), same);
        assert_eq!(relation(&whole, &view(8, &[6, 9], &[80, 8])), None);
        assert_eq!(relation(&whole, &view(8, &[5, 10], &[80, 8])), None);
        assert_eq!(relation(&whole, &view(0, &[6, 10], &[8, 80])), None);
        assert_eq!(relation(&whole, &view(0, &[6, 10], &[72, 8])), None);
        let row = view(0, &[6, 10], &[0, 8]);
        assert_eq!(relation(&row, &view(0, &[10], &[8])), same);
        assert_eq!(relation(&row, &view(8, &[10], &[8])), None);
        assert_eq!(relation(&row, &view(0, &[10], &[0])), None);
    }
    fn place(matrix: &Layout, view: &Layout) -> Option<(isize, Vec<isize>)> {
        in_panel(matrix, view, 64).map(|found| (found.offset, found.strides.to_vec()))
    }

    #[test]
    fn views_of_a_matrix_have_their_places_in_a_panel() {
        let whole = view(160, &[6, 10], &[160, 8]);
        assert_eq!(place(&whole, &whole), Some((0, vec![512, 8])));
        let below = view(480, &[4, 10], &[160, 8]);
        assert_eq!(place(&whole, &below), Some((1024, vec![512, 8])));
        let upwards = view(960, &[3, 10], &[-320, 8]);
        assert_eq!(place(&whole, &upwards), Some((2560, vec![-1024, 8])));
        assert_eq!(place(&whole, &view(320, &[10], &[8])), Some((512, vec![8])));
        // Rows above and below the matrix, other columns, and rows between its own.
        assert_eq!(place(&whole, &view(0, &[6, 10], &[160, 8])), None);
        assert_eq!(place(&whole, &view(320, &[6, 10], &[160, 8])), None);
        assert_eq!(place(&whole, &view(168, &[6, 10], &[160, 8])), None);
        assert_eq!(place(&whole, &view(160, &[6, 9], &[160, 8])), None);
        assert_eq!(place(&whole, &view(160, &[6, 10], &[80, 8])), None);
        assert_eq!(ring(&view(0, &[6, 10], &[0, 8])), None);
        assert_eq!(ring(&view(0, &[6, 10], &[-160, 8])), None);
    }
}
