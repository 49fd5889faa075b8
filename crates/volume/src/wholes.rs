//! Values as a whole: operations on arrays in memory, one after the other, long ones in slabs.

use crate::VolumeError;
use crate::block::{View, ViewMut, region_bytes};
use crate::expr::{Expr, Node};
use crate::memory::Buf;
use crate::op::{Op, patient};
use crate::separable::Ctx;
use arrayloom_types::Region;

/// Asks whether the work shall go on; an error if not.
pub(crate) type Ask<'a> = &'a dyn Fn() -> Result<(), VolumeError>;

/// The values of an expression; what nobody reads any more is dropped.
pub(crate) struct Wholes<'a> {
    expr: &'a Expr,
    regions: Vec<Region>,
    made: Vec<Option<Buf>>,
    /// The last value that reads each value.
    until: Vec<usize>,
}

impl<'a> Wholes<'a> {
    /// The values of `expr`, if its sources lie in memory, and what is alive at any time fits `budget`.
    pub(crate) fn new(expr: &'a Expr, threads: usize, budget: u64) -> Option<Wholes<'a>> {
        let count = expr.nodes().len();
        let mut until: Vec<usize> = (0..count).collect();
        let regions: Vec<Region> = (0..count).map(|v| Region::whole(expr.shape(v))).collect();
        let mut scratch = vec![0; count];
        for (v, node) in expr.nodes().iter().enumerate() {
            match node {
                Node::Source(source) => {
                    source.in_memory()?;
                }
                Node::Apply(op, inputs) => {
                    for &input in inputs {
                        until[input] = v;
                    }
                    scratch[v] = op.scratch(expr.shape(v), expr.shape(v), threads);
                }
            }
        }
        let bytes = |v: usize| match &expr.nodes()[v] {
            Node::Apply(..) if v + 1 < count => 8 + region_bytes(&regions[v], expr.dtype(v)) as u64,
            _ => 0,
        };
        let used = |v: usize| {
            let alive = (0..=v).filter(|&u| until[u] >= v);
            alive.map(bytes).fold(scratch[v], u64::saturating_add)
        };
        let fits = (0..count).all(|v| used(v) <= budget);
        fits.then(|| Wholes {
            expr,
            regions,
            made: (0..count).map(|_| None).collect(),
            until,
        })
    }

    /// Makes value `v`; those before it are made.
    ///
    /// # Errors
    /// Those of the operation, of memory, and of `ask`.
    pub(crate) fn make(&mut self, ctx: &Ctx, v: usize, ask: Ask<'_>) -> Result<(), VolumeError> {
        if let Node::Apply(..) = &self.expr.nodes()[v] {
            let bytes = region_bytes(&self.regions[v], self.expr.dtype(v));
            let mut buf = Buf::new(&ctx.meter, bytes)?;
            self.apply(ctx, v, buf.bytes_mut(), ask)?;
            self.made[v] = Some(buf);
        }
        for u in (0..=v).filter(|&u| self.until[u] <= v) {
            self.made[u] = None;
        }
        Ok(())
    }

    /// Computes value `v` into `out`, and asks between parts of work that takes long.
    ///
    /// # Errors
    /// Those of the operation and of `ask`.
    pub(crate) fn apply(
        &self,
        ctx: &Ctx,
        v: usize,
        mut out: &mut [u8],
        ask: Ask<'_>,
    ) -> Result<(), VolumeError> {
        let Node::Apply(op, inputs) = &self.expr.nodes()[v] else {
            return Ok(());
        };
        let view = |&input: &usize| View {
            region: &self.regions[input],
            shape: self.expr.shape(input),
            dtype: self.expr.dtype(input),
            data: match (&self.expr.nodes()[input], &self.made[input]) {
                (Node::Source(source), _) => source.in_memory().unwrap_or_default(),
                (Node::Apply(..), made) => made.as_ref().map_or(&[], Buf::bytes),
            },
        };
        let views: Vec<View<'_>> = inputs.iter().map(view).collect();
        for (i, region) in slabs(&self.regions[v], ctx, &**op).iter().enumerate() {
            if i > 0 {
                ask()?;
            }
            let (data, rest) = out.split_at_mut(region_bytes(region, op.dtype()));
            out = rest;
            let part = ViewMut {
                region,
                dtype: op.dtype(),
                data,
            };
            op.run(&ctx.for_voxels(&**op, region.voxels()), &views, part)?;
        }
        Ok(())
    }
}

/// A box in slabs along its first axis that can be cut, each of which takes no longer than somebody waits. An operation
/// that takes exactly what it needs gets the box as it is.
fn slabs(whole: &Region, ctx: &Ctx, op: &dyn Op) -> Vec<Region> {
    let (extents, voxels) = (whole.extents(), whole.voxels());
    let axis = extents.iter().position(|&n| n > 1);
    let Some(axis) = axis.filter(|_| !op.takes_exactly()) else {
        return vec![whole.clone()];
    };
    let count = patient(ctx.threads, voxels, op.cost_ns()).min(extents[axis]);
    let cut = |i: i64| whole.lo[axis] + extents[axis] * i / count;
    let slab = |i: i64| {
        let mut region = whole.clone();
        (region.lo[axis], region.hi[axis]) = (cut(i), cut(i + 1));
        region
    };
    (0..count).map(slab).collect()
}
