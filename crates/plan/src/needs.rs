//! Backward inference: what every value of an expression is needed for a box of the result.
//!
//! Values are listed so that operands come before their users; the last one is the result. Walking the
//! list backwards, the box that a value is needed on is the hull of what its users read. If the points
//! of every value depend only on what its maps say, computing each value on its box gives the bits of
//! the whole array.

use crate::edge::{AxisNeed, Edge};
use arrayloom_types::{Coords, Region};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of working memory that computing a box of these extents takes; must not fall with any extent.
pub type Scratch = Arc<dyn Fn(&[i64]) -> u64 + Send + Sync>;

/// An operand of a value.
#[derive(Clone, Debug)]
pub struct Operand {
    /// Its place in the list.
    pub value: usize,
    /// What is read along each of its axes.
    pub needs: Vec<AxisNeed>,
}

/// One value of an expression.
#[derive(Clone)]
pub struct Value {
    /// Extents.
    pub shape: Coords,
    /// Bytes of one voxel.
    pub bytes: u64,
    /// What it is computed from; none for a source, which is read.
    pub operands: Vec<Operand>,
    /// Working memory.
    pub scratch: Scratch,
    /// Nanoseconds to compute one voxel, for the choice between plans.
    pub cost_ns: f64,
    /// For a source: voxels along each axis that are read together, such as a chunk of a file.
    pub granule: Coords,
    /// For a source: all of it can be looked at where it lies, so a block of it takes no memory.
    pub resident: bool,
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Value")
            .field("shape", &self.shape)
            .field("bytes", &self.bytes)
            .field("operands", &self.operands)
            .finish_non_exhaustive()
    }
}

impl Value {
    /// A value that is read from a source.
    pub fn source(shape: &[i64], bytes: u64) -> Value {
        Value {
            shape: shape.into(),
            bytes,
            operands: Vec::new(),
            scratch: Arc::new(|_| 0),
            cost_ns: 0.0,
            granule: shape.iter().map(|_| 1).collect(),
            resident: false,
        }
    }

    /// True for values that are read.
    pub fn is_source(&self) -> bool {
        self.operands.is_empty()
    }
}

/// The boxes on which every value is needed, given the box of the last one.
pub fn needs(values: &[Value], wanted: &Region) -> Vec<Region> {
    let mut boxes: Vec<Option<Region>> = vec![None; values.len()];
    if let Some(last) = boxes.last_mut() {
        *last = Some(wanted.clone());
    }
    for v in (0..values.len()).rev() {
        let Some(here) = boxes[v].clone() else {
            continue;
        };
        for operand in &values[v].operands {
            let shapes = (&values[operand.value].shape[..], &values[v].shape[..]);
            let read = operand_box(operand, shapes, &here);
            let slot = &mut boxes[operand.value];
            let merged = slot
                .as_ref()
                .map_or_else(|| read.clone(), |old| old.hull(&read));
            *slot = Some(unwrapped(merged, &values[operand.value].shape));
        }
    }
    let nothing = |v: &Value| Region::new(&vec![0; v.shape.len()], &vec![0; v.shape.len()]);
    let all = boxes.into_iter().zip(values);
    all.map(|(b, v)| b.unwrap_or_else(|| nothing(v))).collect()
}

/// What a box of a value reads of one operand; `shapes` are the extents of the operand and of the value.
pub fn operand_box(operand: &Operand, shapes: (&[i64], &[i64]), result: &Region) -> Region {
    let (shape, result_shape) = shapes;
    let spans = operand.needs.iter().zip(shape).map(|(need, &n)| {
        if result.is_empty() {
            return 0..0;
        }
        let at = |axis: usize| {
            let span = result.lo[axis]..result.hi[axis];
            turned(need, span, result_shape[axis], n)
        };
        need.reads(&at, n)
    });
    let spans: Vec<Range<i64>> = spans.collect();
    Region {
        lo: spans.iter().map(|s| s.start).collect(),
        hi: spans.iter().map(|s| s.end).collect(),
    }
}

/// The interval of a value with extent `n` that stands for `span`, which may go around its ends. A
/// wrapped window of an operand of the same extent goes around with it; others see the whole axis.
fn turned(need: &AxisNeed, span: Range<i64>, n: i64, operand_n: i64) -> Range<i64> {
    if span.start >= 0 && span.end <= n {
        return span;
    }
    match need {
        AxisNeed::Window {
            window,
            edge: Edge::Wrap,
            ..
        } if window.step == 1 && operand_n == n => span,
        _ => 0..n,
    }
}

/// An interval that goes around a wrapped axis more than once is the whole axis.
fn unwrapped(mut region: Region, shape: &[i64]) -> Region {
    for (d, &n) in shape.iter().enumerate() {
        if region.hi[d] - region.lo[d] >= n {
            (region.lo[d], region.hi[d]) = (0, n);
        }
    }
    region
}

/// Along one axis of the result: the interval needed of every axis of every value that depends on it.
pub(crate) struct AxisNeeds {
    /// For each value and each of its axes: the interval, or `None` if another axis decides it.
    pub(crate) spans: Vec<Vec<Option<Range<i64>>>>,
}

/// Which axis of the result decides each axis of each value; `None` where none or several do.
pub(crate) fn deciding_axes(values: &[Value]) -> Vec<Vec<Option<usize>>> {
    let Some(last) = values.last() else {
        return Vec::new();
    };
    let mut found: Vec<Vec<Vec<Option<usize>>>> = values
        .iter()
        .map(|v| vec![Vec::new(); v.shape.len()])
        .collect();
    found[values.len() - 1] = (0..last.shape.len()).map(|d| vec![Some(d)]).collect();
    for v in (0..values.len()).rev() {
        for operand in &values[v].operands {
            for (d, need) in operand.needs.iter().enumerate() {
                let from = match need {
                    AxisNeed::Window { axis, .. } => found[v][*axis].clone(),
                    AxisNeed::One | AxisNeed::Whole => vec![None],
                };
                let slot = &mut found[operand.value][d];
                slot.extend(from);
                slot.sort_unstable();
                slot.dedup();
            }
        }
    }
    let single = |axes: &Vec<Option<usize>>| if axes.len() == 1 { axes[0] } else { None };
    found
        .iter()
        .map(|v| v.iter().map(single).collect())
        .collect()
}

/// Backward inference along axis `axis` of the result alone.
pub(crate) fn axis_needs(
    values: &[Value],
    deciding: &[Vec<Option<usize>>],
    axis: usize,
    span: &Range<i64>,
) -> AxisNeeds {
    let mut spans: Vec<Vec<Option<Range<i64>>>> =
        values.iter().map(|v| vec![None; v.shape.len()]).collect();
    if let Some(last) = spans.last_mut() {
        last[axis] = Some(span.clone());
    }
    for v in (0..values.len()).rev() {
        for operand in &values[v].operands {
            for (d, need) in operand.needs.iter().enumerate() {
                if deciding[operand.value][d] != Some(axis) {
                    continue;
                }
                let AxisNeed::Window { axis: from, .. } = need else {
                    continue;
                };
                let Some(here) = spans[v][*from].clone() else {
                    continue;
                };
                let n = values[operand.value].shape[d];
                let here = turned(need, here, values[v].shape[*from], n);
                let read = need.reads(&|_| here.clone(), n);
                let slot = &mut spans[operand.value][d];
                let merged = slot.as_ref().map_or_else(
                    || read.clone(),
                    |old| old.start.min(read.start)..old.end.max(read.end),
                );
                *slot = Some(if merged.end - merged.start >= n {
                    0..n
                } else {
                    merged
                });
            }
        }
    }
    AxisNeeds { spans }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::Window;

    fn filter(of: usize, shape: &[i64], b: i64, f: i64, edge: Edge) -> Value {
        let need = |axis| AxisNeed::Window {
            axis,
            window: Window::halo(b, f),
            edge,
        };
        Value {
            operands: vec![Operand {
                value: of,
                needs: (0..shape.len()).map(need).collect(),
            }],
            ..Value::source(shape, 4)
        }
    }

    #[test]
    fn halos_of_a_chain_add_up() {
        let shape = [100, 50];
        let values = [
            Value::source(&shape, 4),
            filter(0, &shape, 2, 2, Edge::Reflect),
            filter(1, &shape, 3, 1, Edge::Clip),
        ];
        let boxes = needs(&values, &Region::new(&[40, 0], &[50, 5]));
        assert_eq!(boxes[1], Region::new(&[37, 0], &[51, 6]));
        assert_eq!(boxes[0], Region::new(&[35, 0], &[53, 8]));
    }

    #[test]
    fn wrapped_axes_count_around_and_end_as_the_whole() {
        let shape = [10];
        let values = [
            Value::source(&shape, 4),
            filter(0, &shape, 3, 3, Edge::Wrap),
        ];
        assert_eq!(
            needs(&values, &Region::new(&[0], &[2]))[0],
            Region::new(&[-3], &[5])
        );
        assert_eq!(
            needs(&values, &Region::new(&[0], &[6]))[0],
            Region::whole(&shape)
        );
    }

    #[test]
    fn an_empty_box_needs_nothing() {
        let shape = [10];
        let values = [
            Value::source(&shape, 4),
            filter(0, &shape, 3, 3, Edge::Reflect),
        ];
        assert!(needs(&values, &Region::new(&[4], &[4]))[0].is_empty());
    }

    #[test]
    fn an_axis_that_two_axes_decide_is_left_open() {
        let shape = [8, 8];
        let turned = Operand {
            value: 0,
            needs: vec![AxisNeed::same(1), AxisNeed::same(0)],
        };
        let straight = Operand {
            value: 0,
            needs: vec![AxisNeed::same(0), AxisNeed::same(1)],
        };
        let sum = Value {
            operands: vec![straight, turned],
            ..Value::source(&shape, 4)
        };
        let values = [Value::source(&shape, 4), sum];
        assert_eq!(deciding_axes(&values)[0], [None, None]);
        let boxes = needs(&values, &Region::new(&[0, 5], &[2, 8]));
        assert_eq!(boxes[0], Region::new(&[0, 0], &[8, 8]));
    }
}
