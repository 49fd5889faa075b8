//! The loops of a launch: axes in walking order, innermost first, merged where every operand allows.
//!
//! A *lane* is what moves with the loops: the address of an operand's element, or a number such as an
//! index along an axis. All points of the domain have a *flat* position in walking order.

use smallvec::SmallVec;

/// One number per axis.
pub(crate) type PerAxis<T> = SmallVec<[T; 4]>;

/// What an axis means to the outputs; only axes of one class are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    /// Outputs have it.
    Kept,
    /// Folded away, one run after another.
    Folded,
    /// Folded away inside a run.
    Stream,
    /// The axis of a running fold.
    Scan,
}

/// One axis before merging: its extent, its class, and the step of every lane.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Axis {
    pub(crate) extent: usize,
    pub(crate) class: Class,
    pub(crate) steps: PerAxis<isize>,
}

/// The loops.
#[derive(Clone, Debug)]
pub(crate) struct Nest {
    /// Innermost first; at least one.
    pub(crate) axes: SmallVec<[Axis; 4]>,
    /// Where each lane starts.
    pub(crate) bases: SmallVec<[isize; 8]>,
}

impl Nest {
    /// Drops axes of extent one and merges neighbours.
    pub(crate) fn new(axes: impl Iterator<Item = Axis>, bases: SmallVec<[isize; 8]>) -> Nest {
        let mut merged: SmallVec<[Axis; 4]> = SmallVec::new();
        for axis in axes.filter(|a| a.extent != 1) {
            match merged.last_mut() {
                Some(last) if last.continues_in(&axis) => last.extent *= axis.extent,
                _ => merged.push(axis),
            }
        }
        if merged.is_empty() {
            merged.push(Axis {
                extent: 1,
                class: Class::Kept,
                steps: SmallVec::from_elem(0, bases.len()),
            });
        }
        Nest {
            axes: merged,
            bases,
        }
    }

    /// Number of points.
    pub(crate) fn len(&self) -> usize {
        self.axes.iter().map(|a| a.extent).product()
    }

    /// Points of the first `count` axes.
    pub(crate) fn inner_len(&self, count: usize) -> usize {
        self.axes[..count].iter().map(|a| a.extent).product()
    }

    /// Extent of the innermost axis.
    pub(crate) fn row(&self) -> usize {
        self.axes[0].extent
    }

    /// Step of a lane along the innermost axis.
    pub(crate) fn step(&self, lane: usize) -> isize {
        self.axes[0].steps[lane]
    }

    /// True when the elements of `size` bytes of a lane follow one another at all flat positions.
    pub(crate) fn is_flat(&self, lane: usize, size: usize) -> bool {
        let mut expected = size.cast_signed();
        self.axes.iter().all(|axis| {
            let fits = axis.steps[lane] == expected;
            expected *= axis.extent.cast_signed();
            fits
        })
    }

    /// True when every element of a lane is aligned.
    pub(crate) fn is_aligned(&self, lane: usize, align: usize) -> bool {
        let align = align.cast_signed();
        self.bases[lane] % align == 0 && self.axes.iter().all(|a| a.steps[lane] % align == 0)
    }

    /// The part of the domain with `range` on axis `axis`.
    pub(crate) fn narrowed(&self, axis: usize, range: std::ops::Range<usize>) -> Nest {
        let mut part = self.clone();
        part.axes[axis].extent = range.len();
        for (base, step) in part.bases.iter_mut().zip(&self.axes[axis].steps) {
            *base += range.start.cast_signed() * step;
        }
        part
    }

    /// Only the axes of class `Kept`; one axis of extent one if there is none.
    pub(crate) fn kept(&self) -> Nest {
        let kept = self.axes.iter().filter(|a| a.class == Class::Kept).cloned();
        Nest::new(kept, self.bases.clone())
    }

    /// Lowest and highest value of a lane, both ends included; the domain is not empty.
    pub(crate) fn reach(&self, lane: usize) -> (isize, isize) {
        let (mut low, mut high) = (self.bases[lane], self.bases[lane]);
        for axis in &self.axes {
            let reach = (axis.extent.cast_signed() - 1) * axis.steps[lane];
            if reach < 0 {
                low += reach;
            } else {
                high += reach;
            }
        }
        (low, high)
    }
}

impl Axis {
    fn continues_in(&self, outer: &Axis) -> bool {
        self.class == outer.class
            && self.class != Class::Scan
            && self
                .steps
                .iter()
                .zip(&outer.steps)
                .all(|(inner, outer)| inner * self.extent.cast_signed() == *outer)
    }
}

/// A place in the loops, with the value of every lane at the start of the row.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    index: PerAxis<usize>,
    /// Position in the row.
    pub(crate) column: usize,
    /// Value of every lane at column 0.
    pub(crate) rows: SmallVec<[isize; 8]>,
}

impl Cursor {
    /// The place at a flat position.
    pub(crate) fn at(nest: &Nest, flat: usize) -> Cursor {
        let mut cursor = Cursor {
            index: SmallVec::from_elem(0, nest.axes.len()),
            column: flat % nest.row(),
            rows: nest.bases.clone(),
        };
        let mut rest = flat / nest.row();
        for (axis, index) in nest.axes.iter().zip(&mut cursor.index).skip(1) {
            *index = rest % axis.extent;
            rest /= axis.extent;
            for (row, step) in cursor.rows.iter_mut().zip(&axis.steps) {
                *row += index.cast_signed() * step;
            }
        }
        cursor
    }

    /// Value of a lane here.
    pub(crate) fn value(&self, nest: &Nest, lane: usize) -> isize {
        self.rows[lane] + self.column.cast_signed() * nest.step(lane)
    }

    /// Goes on by so many rows, all of them along the second axis.
    pub(crate) fn skip_rows(&mut self, nest: &Nest, rows: usize) {
        self.index[1] += rows - 1;
        for (row, step) in self.rows.iter_mut().zip(&nest.axes[1].steps) {
            *row += (rows - 1).cast_signed() * step;
        }
        self.next_row(nest);
    }

    /// Rows from here to the end of the second axis, this one among them; one without such an axis.
    pub(crate) fn rows_left(&self, nest: &Nest) -> usize {
        let axis = nest.axes.get(1).zip(self.index.get(1));
        axis.map_or(1, |(axis, index)| axis.extent - index)
    }

    /// Goes on to the start of the next row; after the last row, to the first.
    pub(crate) fn next_row(&mut self, nest: &Nest) {
        self.column = 0;
        for (axis, index) in nest.axes.iter().zip(&mut self.index).skip(1) {
            *index += 1;
            for (row, step) in self.rows.iter_mut().zip(&axis.steps) {
                *row += step;
            }
            if *index < axis.extent {
                return;
            }
            for (row, step) in self.rows.iter_mut().zip(&axis.steps) {
                *row -= axis.extent.cast_signed() * step;
            }
            *index = 0;
        }
    }
}

/// The values of one lane, row by row: what a fold or a gather needs.
#[derive(Clone, Debug)]
pub(crate) struct Odometer {
    /// Innermost first: extent, step, index.
    axes: SmallVec<[(usize, isize, usize); 4]>,
    /// The value now.
    pub(crate) value: isize,
}

impl Odometer {
    /// Over the axes from `skip` outwards, at position `position` among them.
    pub(crate) fn at(nest: &Nest, lane: usize, skip: usize, position: usize) -> Odometer {
        let (mut rest, mut value) = (position, nest.bases[lane]);
        let axes = nest.axes[skip..]
            .iter()
            .map(|axis| {
                let index = rest % axis.extent;
                rest /= axis.extent;
                value += index.cast_signed() * axis.steps[lane];
                (axis.extent, axis.steps[lane], index)
            })
            .collect();
        Odometer { axes, value }
    }

    /// Positions from here to the end of the first axis, this one among them.
    pub(crate) fn left(&self) -> usize {
        self.axes
            .first()
            .map_or(1, |(extent, _, index)| extent - index)
    }

    /// Value from one position to the next along the first axis.
    pub(crate) fn step(&self) -> isize {
        self.axes.first().map_or(0, |(_, step, _)| *step)
    }

    /// Goes on by so many positions, all of them along the first axis.
    pub(crate) fn skip(&mut self, count: usize) {
        if let Some((_, step, index)) = self.axes.first_mut() {
            *index += count - 1;
            self.value += (count - 1).cast_signed() * *step;
        }
        self.next();
    }

    /// Goes on to the next position; after the last, to the first.
    pub(crate) fn next(&mut self) {
        for (extent, step, index) in &mut self.axes {
            *index += 1;
            self.value += *step;
            if *index < *extent {
                return;
            }
            self.value -= extent.cast_signed() * *step;
            *index = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;

    fn axis(extent: usize, class: Class, steps: &[isize]) -> Axis {
        Axis {
            extent,
            class,
            steps: steps.into(),
        }
    }

    #[test]
    fn neighbours_merge_when_all_lanes_allow() {
        let axes = [
            axis(4, Class::Kept, &[8, 0]),
            axis(1, Class::Kept, &[99, 99]),
            axis(3, Class::Kept, &[32, 0]),
            axis(2, Class::Folded, &[96, 0]),
        ];
        let nest = Nest::new(axes.into_iter(), smallvec![1000, 5]);
        assert_eq!(nest.axes.len(), 2);
        assert_eq!((nest.row(), nest.len()), (12, 24));
        assert!(nest.is_flat(0, 8));
        assert!(!nest.is_flat(1, 8));
        assert_eq!(nest.reach(0), (1000, 1184));
    }

    #[test]
    fn cursors_and_odometers_agree() {
        let axes = [
            axis(4, Class::Kept, &[8]),
            axis(3, Class::Kept, &[100]),
            axis(5, Class::Folded, &[-7]),
        ];
        let nest = Nest::new(axes.into_iter(), smallvec![0]);
        let mut cursor = Cursor::at(&nest, 0);
        let mut odometer = Odometer::at(&nest, 0, 0, 0);
        for flat in 0..60 {
            assert_eq!(
                cursor.value(&nest, 0),
                Cursor::at(&nest, flat).value(&nest, 0)
            );
            assert_eq!(odometer.value, cursor.value(&nest, 0));
            assert_eq!(odometer.value, Odometer::at(&nest, 0, 0, flat).value);
            odometer.next();
            cursor.column += 1;
            if cursor.column == 4 {
                cursor.next_row(&nest);
            }
        }
        assert_eq!(odometer.value, 0);
    }
}
