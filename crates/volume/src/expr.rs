//! Expressions on volumes: sources, operations on them, and where results go.

use crate::op::Op;
use crate::{Reserve, VolumeError};
use arrayloom_plan::{AxisNeed, Edge, Operand, Value, Window};
use arrayloom_types::{Coords, DType, Region};
use std::sync::Arc;

/// A volume that is read in boxes, from several threads.
pub trait Source: Send + Sync {
    /// Reads the voxels of `region`, which lies inside the volume, in C order.
    ///
    /// # Errors
    /// Why it could not be read.
    fn read(&self, region: &Region, to: &mut [u8]) -> Result<(), String>;

    /// All voxels in C order, if they lie in memory.
    fn in_memory(&self) -> Option<&[u8]> {
        None
    }

    /// True if that memory is a mapped file, whose pages are read when they are touched.
    fn is_mapped(&self) -> bool {
        false
    }

    /// Working memory of `read`.
    fn work(&self) -> Reserve {
        Reserve(0)
    }

    /// Voxels along each axis that are read together, such as a chunk of a file.
    fn granule(&self) -> Option<Coords> {
        None
    }
}

/// A place for a result. Boxes come in the order of the plan, from one thread, and never overlap.
pub trait Sink: Send + Sync {
    /// Writes the voxels of `region`, given in C order.
    ///
    /// # Errors
    /// Why it could not be written.
    fn write(&self, region: &Region, from: &[u8]) -> Result<(), String>;
}

/// One value.
#[derive(Clone)]
pub enum Node {
    /// A volume that is read.
    Source(Arc<dyn Source>),
    /// An operation on earlier values.
    Apply(Arc<dyn Op>, Vec<usize>),
}

/// A list of values, operands before their users; the last one is the result.
#[derive(Clone, Default)]
pub struct Expr {
    nodes: Vec<Node>,
    shapes: Vec<Coords>,
    dtypes: Vec<DType>,
}

impl Expr {
    /// An expression without values.
    pub fn new() -> Expr {
        Expr::default()
    }

    /// Adds a source and returns its number.
    pub fn source(&mut self, source: Arc<dyn Source>, shape: &[i64], dtype: DType) -> usize {
        self.push(Node::Source(source), shape, dtype)
    }

    /// Adds an operation with a result of extents `shape` and returns its number.
    ///
    /// # Errors
    /// [`VolumeError::Argument`] if an operand does not exist, or its rank is not what the operation
    /// reads.
    pub fn apply(
        &mut self,
        op: Arc<dyn Op>,
        inputs: &[usize],
        shape: &[i64],
    ) -> Result<usize, VolumeError> {
        for (i, &input) in inputs.iter().enumerate() {
            let rank = self.shapes.get(input).map(Coords::len);
            let wanted = op.needs(i).len();
            if rank != Some(wanted) {
                return Err(VolumeError::Argument(format!(
                    "{} reads an operand of {wanted} axes, got {}",
                    op.name(),
                    rank.map_or_else(|| "none".to_owned(), |r| r.to_string()),
                )));
            }
        }
        let dtype = op.dtype();
        Ok(self.push(Node::Apply(op, inputs.to_vec()), shape, dtype))
    }

    fn push(&mut self, node: Node, shape: &[i64], dtype: DType) -> usize {
        self.nodes.push(node);
        self.shapes.push(shape.into());
        self.dtypes.push(dtype);
        self.nodes.len() - 1
    }

    /// Puts `source`, which has the same extents and elements, in the place of the source `value`.
    pub fn set_source(&mut self, value: usize, source: Arc<dyn Source>) {
        debug_assert!(
            matches!(self.nodes[value], Node::Source(_)),
            "value {value} is no source"
        );
        self.nodes[value] = Node::Source(source);
    }

    /// The values.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Extents of a value.
    pub fn shape(&self, value: usize) -> &[i64] {
        &self.shapes[value]
    }

    /// Element type of a value.
    pub fn dtype(&self, value: usize) -> DType {
        self.dtypes[value]
    }

    /// What the planner needs to know, with `threads` threads.
    pub fn values(&self, threads: usize) -> Vec<Value> {
        let wrapped = self.wrapped();
        let each = self.nodes.iter().enumerate().map(|(v, node)| {
            let bytes = self.dtypes[v].size() as u64;
            let mut value = Value::source(&self.shapes[v], bytes);
            // A box around a wrapped axis is put together from pieces.
            let pieces = if wrapped[v] { bytes } else { 0 };
            let volume = |extents: &[i64]| -> u64 {
                extents.iter().map(|e| e.max(&0).unsigned_abs()).product()
            };
            let (op, inputs) = match node {
                Node::Apply(op, inputs) => (op, inputs),
                Node::Source(_) if self.is_resident(v) => {
                    value.resident = true;
                    return value;
                }
                Node::Source(source) => {
                    if let (Some(granule), false) = (source.granule(), wrapped[v]) {
                        value.granule = granule;
                    }
                    let work = source.work().0;
                    value.scratch = Arc::new(move |extents| work + pieces * volume(extents));
                    return value;
                }
            };
            value.cost_ns = op.cost_ns();
            let operand = |(i, &input): (usize, &usize)| Operand {
                value: input,
                needs: op.needs(i),
            };
            value.operands = inputs.iter().enumerate().map(operand).collect();
            let crops: Vec<(Operand, Coords, u64)> = value
                .operands
                .iter()
                .filter(|o| {
                    let cropped = wrapped[v] || wrapped[o.value] || self.users(o.value) > 1;
                    cropped && !self.is_resident(o.value)
                })
                .map(|o| {
                    (
                        o.clone(),
                        self.shapes[o.value].clone(),
                        self.dtypes[o.value].size() as u64,
                    )
                })
                .collect();
            let (op, shape) = (Arc::clone(op), self.shapes[v].clone());
            value.scratch = Arc::new(move |extents| {
                let cropped = crops.iter().map(|(o, shape, bytes)| {
                    8 + bytes * volume(&read_extents(&o.needs, shape, extents))
                });
                op.scratch(extents, &shape, threads)
                    + pieces * volume(extents)
                    + cropped.sum::<u64>()
            });
            value
        });
        each.collect()
    }

    /// What the planner needs to know for a device: all that is read goes there.
    pub(crate) fn values_on_device(&self, threads: usize) -> Vec<Value> {
        let mut values = self.values(threads);
        for (value, node) in values.iter_mut().zip(&self.nodes) {
            value.resident = false;
            let Node::Apply(op, _) = node else { continue };
            let (op, on_cpu) = (Arc::clone(op), Arc::clone(&value.scratch));
            let shape = value.shape.clone();
            value.scratch = Arc::new(move |extents| {
                let device = op.on_device();
                let device = device.map_or(0, |d| d.device_scratch(extents, &shape));
                device.max(on_cpu(extents))
            });
        }
        values
    }

    /// True for sources in memory that operations look at where they lie: all that read it can.
    fn is_resident(&self, value: usize) -> bool {
        let Node::Source(source) = &self.nodes[value] else {
            return false;
        };
        let readers = self.nodes.iter().filter_map(|node| match node {
            Node::Apply(op, inputs) => Some((op, inputs)),
            Node::Source(_) => None,
        });
        let mut each = readers.flat_map(|(op, inputs)| {
            let reads = inputs.iter().enumerate().filter(|(_, i)| **i == value);
            reads.map(move |(operand, _)| exactly(&**op, &op.needs(operand)))
        });
        source.in_memory().is_some() && !each.any(|exact| exact)
    }

    fn users(&self, value: usize) -> usize {
        let uses = self.nodes.iter().map(|n| match n {
            Node::Apply(_, inputs) => inputs.iter().filter(|&&i| i == value).count(),
            Node::Source(_) => 0,
        });
        uses.sum()
    }

    /// Values of which some axis is read around its ends.
    fn wrapped(&self) -> Vec<bool> {
        let mut wrapped = vec![false; self.nodes.len()];
        for node in self.nodes.iter().rev() {
            let Node::Apply(op, inputs) = node else {
                continue;
            };
            for (i, &input) in inputs.iter().enumerate() {
                let wraps = |need: &AxisNeed| {
                    matches!(
                        need,
                        AxisNeed::Window {
                            edge: Edge::Wrap,
                            ..
                        }
                    )
                };
                wrapped[input] |= op.needs(i).iter().any(wraps);
            }
        }
        wrapped
    }
}

/// Whether `op` takes exactly what it needs of an operand: by its own word, or because it looks at some axis point
/// by point and so does not skip what lies beside.
fn exactly(op: &dyn Op, needs: &[AxisNeed]) -> bool {
    let same = |(d, need): (usize, &AxisNeed)| match need {
        AxisNeed::Window { axis, window, .. } => *axis == d && *window == Window::SAME,
        AxisNeed::One | AxisNeed::Whole => false,
    };
    op.takes_exactly() || needs.iter().enumerate().any(same)
}

/// Extents that a box of `extents` reads at most.
fn read_extents(needs: &[AxisNeed], shape: &[i64], extents: &[i64]) -> Vec<i64> {
    let each = needs.iter().zip(shape).map(|(need, &n)| match need {
        AxisNeed::One => n.min(1),
        AxisNeed::Whole => n,
        AxisNeed::Window { axis, window, .. } => {
            let halo = window.before.max(0)
                + window.after.max(0)
                + window.before.abs().max(window.after.abs());
            (extents[*axis] * window.step.abs() + halo + 1).min(n)
        }
    });
    each.collect()
}
