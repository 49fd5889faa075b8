//! The boxes that are alive while a plan runs: computing one block after the other.
#![expect(
    clippy::too_many_arguments,
    clippy::needless_range_loop,
    reason = "values are numbers of several lists"
)]

use crate::VolumeError;

use crate::around::{copy_around, one_box};
use crate::block::{Block, View, ViewMut, copy_box, region_bytes};
use crate::expr::{Expr, Node};
use crate::op::Op;
use crate::reader::Staged;
use crate::separable::Ctx;
use arrayloom_plan::{Plan, Value, needs, operand_box};
use arrayloom_types::Region;

/// The part of `next` that is not kept from `before`: along the axis of a sweep what overlaps stays.
pub(crate) fn fresh(before: Option<&Region>, next: &Region, sweep: Option<usize>) -> Region {
    let (Some(before), Some(axis)) = (before, sweep) else {
        return next.clone();
    };
    let same = (0..next.rank())
        .all(|d| d == axis || before.lo[d] == next.lo[d] && before.hi[d] == next.hi[d]);
    let forward = before.lo[axis] <= next.lo[axis]
        && next.lo[axis] < before.hi[axis]
        && before.hi[axis] <= next.hi[axis];
    if same && forward {
        next.with_axis(axis, before.hi[axis], next.hi[axis])
    } else {
        next.clone()
    }
}

/// The boxes inside of the volume that stand for a box that may go around wrapped axes.
pub(crate) fn pieces(region: &Region, shape: &[i64]) -> Vec<(Region, Region)> {
    let mut all = vec![(region.clone(), region.clone())];
    for (d, &n) in shape.iter().enumerate() {
        if region.lo[d] >= 0 && region.hi[d] <= n || n == 0 {
            continue;
        }
        let mut cut = Vec::new();
        let mut at = region.lo[d];
        while at < region.hi[d] {
            let turn = at.div_euclid(n) * n;
            let end = region.hi[d].min(turn + n);
            for (place, inside) in &all {
                cut.push((
                    place.with_axis(d, at, end),
                    inside.with_axis(d, at - turn, end - turn),
                ));
            }
            at = end;
        }
        all = cut;
    }
    all
}

/// Computes one block after the other.
pub(crate) struct Machine<'a> {
    expr: &'a Expr,
    values: &'a [Value],
    plan: &'a Plan,
    blocks: Vec<Option<Block>>,
    /// All of each value, as a box.
    wholes: Vec<Region>,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(expr: &'a Expr, values: &'a [Value], plan: &'a Plan) -> Machine<'a> {
        let blocks = values.iter().map(|_| None).collect();
        let wholes = values.iter().map(|v| Region::whole(&v.shape));
        Machine {
            expr,
            values,
            plan,
            blocks,
            wholes: wholes.collect(),
        }
    }

    /// The voxels of value `v` that are at hand, with their box: all of it for sources in memory.
    fn held(&self, v: usize) -> Option<(&Region, &[u8])> {
        let in_memory = match &self.expr.nodes()[v] {
            Node::Source(source) if self.values[v].resident => source.in_memory(),
            _ => None,
        };
        match in_memory {
            Some(data) => Some((&self.wholes[v], data)),
            None => self.blocks[v].as_ref().map(|b| (&b.region, b.data())),
        }
    }

    /// Takes in what was read. With this the reader may go on.
    pub(crate) fn absorb(&mut self, ctx: &Ctx, staged: Staged) -> Result<(), VolumeError> {
        for (v, wanted, block) in staged.parts {
            if block.region == wanted && self.plan.sweep.is_none() {
                self.blocks[v] = Some(block);
                continue;
            }
            let new = block.region.clone();
            let kept = self.advance(ctx, v, &wanted, &new)?;
            let size = kept.dtype.size();
            let (region, data) = (kept.region.clone(), kept.data_mut());
            copy_box((&new, block.data()), (&region, data), &new, size);
        }
        Ok(())
    }

    /// The block of value `v`, moved on to the box `wanted`; all but `new` keeps its voxels.
    pub(crate) fn advance(
        &mut self,
        ctx: &Ctx,
        v: usize,
        wanted: &Region,
        new: &Region,
    ) -> Result<&mut Block, VolumeError> {
        let dtype = self.expr.dtype(v);
        let room = usize::try_from(self.plan.block_bytes[v]).unwrap_or(0);
        let room = if self.plan.sweep.is_some() { room } else { 0 };
        let bytes = region_bytes(wanted, dtype);
        let old = self.blocks[v].take();
        let mut block = match old {
            Some(block) if block.buf.len() >= bytes => block,
            Some(old) if new == wanted => {
                drop(old);
                Block::new(&ctx.meter, wanted.clone(), dtype, room)?
            }
            Some(old) => {
                let mut larger =
                    Block::new(&ctx.meter, old.region.clone(), dtype, room.max(bytes))?;
                larger.data_mut().copy_from_slice(old.data());
                larger
            }
            None => Block::new(&ctx.meter, wanted.clone(), dtype, room)?,
        };
        if let (Some(axis), true) = (self.plan.sweep, new != wanted) {
            // Axes in front of the swept one have one point: planes lie one after the other.
            let plane = wanted.with_axis(axis, 0, 1);
            let plane = region_bytes(&plane, dtype);
            let planes = |n: i64| usize::try_from(n).unwrap_or(0) * plane;
            let skip = planes(wanted.lo[axis] - block.region.lo[axis]);
            let keep = planes(block.region.hi[axis] - wanted.lo[axis]);
            block.buf.bytes_mut().copy_within(skip..skip + keep, 0);
        }
        block.region = wanted.clone();
        Ok(self.blocks[v].insert(block))
    }

    /// Computes the result of block `i`.
    pub(crate) fn compute(&mut self, ctx: &Ctx, i: u64) -> Result<Block, VolumeError> {
        let core = self.plan.core(i);
        let boxes = needs(self.values, &core);
        let last = self.values.len() - 1;
        for v in 0..=last {
            let Node::Apply(_, inputs) = &self.expr.nodes()[v] else {
                continue;
            };
            let before = self.blocks[v].as_ref().map(|b| b.region.clone());
            let before = before.filter(|_| v != last);
            let new = fresh(before.as_ref(), &boxes[v], self.plan.sweep);
            self.make(ctx, v, &boxes[v], &new)?;
            if self.plan.sweep.is_none() {
                self.forget(v, inputs);
            }
        }
        self.result(ctx, last, &core)
    }

    /// Computes the part `new` of the box `wanted` of value `v`; the rest keeps its voxels.
    pub(crate) fn make(
        &mut self,
        ctx: &Ctx,
        v: usize,
        wanted: &Region,
        new: &Region,
    ) -> Result<(), VolumeError> {
        let expr = self.expr;
        let Node::Apply(op, inputs) = &expr.nodes()[v] else {
            return Ok(());
        };
        self.advance(ctx, v, wanted, new)?;
        let Some(mut block) = self.blocks[v].take() else {
            return Ok(());
        };
        let done = self.apply(ctx, &**op, inputs, v, new, &mut block);
        self.blocks[v] = Some(block);
        done
    }

    /// The voxels of value `v` that are at hand.
    pub(crate) fn data(&self, v: usize) -> Option<&[u8]> {
        self.held(v).map(|(_, data)| data)
    }

    /// Has `block` as the voxels of value `v`.
    pub(crate) fn put(&mut self, v: usize, block: Block) {
        self.blocks[v] = Some(block);
    }

    /// Lets go of value `v`.
    pub(crate) fn forget_value(&mut self, v: usize) {
        self.blocks[v] = None;
    }

    /// Drops operands of value `v` that no later value reads.
    fn forget(&mut self, v: usize, inputs: &[usize]) {
        for &input in inputs {
            let later = self.values[v + 1..].iter();
            if !later.flat_map(|l| &l.operands).any(|o| o.value == input) {
                self.blocks[input] = None;
            }
        }
    }

    /// The block of the result, whose box is `core`.
    pub(crate) fn result(
        &mut self,
        ctx: &Ctx,
        last: usize,
        core: &Region,
    ) -> Result<Block, VolumeError> {
        if self.values[last].is_source() {
            let dtype = self.expr.dtype(last);
            let mut copy = Block::new(&ctx.meter, core.clone(), dtype, 0)?;
            if let Some(held) = self.held(last) {
                let to = (core, copy.data_mut());
                copy_box(held, to, core, dtype.size());
            }
            return Ok(copy);
        }
        match self.blocks[last].take() {
            Some(block) => Ok(block),
            None => Block::new(&ctx.meter, core.clone(), self.expr.dtype(last), 0),
        }
    }

    /// Computes the part `new` of the box of value `v`.
    fn apply(
        &self,
        ctx: &Ctx,
        op: &dyn Op,
        inputs: &[usize],
        v: usize,
        new: &Region,
        block: &mut Block,
    ) -> Result<(), VolumeError> {
        if new.is_empty() {
            return Ok(());
        }
        let dtype = block.dtype;
        let parts = pieces(new, self.expr.shape(v));
        let plane_order = new.minus(&block.region).is_empty() && is_tail(new, &block.region);
        for (place, inside) in parts {
            if place == *new && plane_order {
                let from = region_bytes(&block.region, dtype) - region_bytes(new, dtype);
                let end = region_bytes(&block.region, dtype);
                let data = &mut block.buf.bytes_mut()[from..end];
                self.run_op(
                    ctx,
                    op,
                    inputs,
                    v,
                    ViewMut {
                        region: &inside,
                        dtype,
                        data,
                    },
                )?;
                continue;
            }
            let mut part = Block::new(&ctx.meter, inside.clone(), dtype, 0)?;
            self.run_op(
                ctx,
                op,
                inputs,
                v,
                ViewMut {
                    region: &inside,
                    dtype,
                    data: part.data_mut(),
                },
            )?;
            let region = block.region.clone();
            copy_box(
                (&place, part.data()),
                (&region, block.data_mut()),
                &place,
                dtype.size(),
            );
        }
        Ok(())
    }

    fn run_op(
        &self,
        ctx: &Ctx,
        op: &dyn Op,
        inputs: &[usize],
        v: usize,
        out: ViewMut<'_>,
    ) -> Result<(), VolumeError> {
        let mut crops: Vec<Option<Block>> = Vec::with_capacity(inputs.len());
        let mut boxes = Vec::with_capacity(inputs.len());
        for (operand, &input) in self.values[v].operands.iter().zip(inputs) {
            let Some((held, data)) = self.held(input) else {
                return Err(VolumeError::Argument(
                    "an operand was not computed".to_owned(),
                ));
            };
            let shape = self.expr.shape(input);
            if self.values[input].resident {
                crops.push(None);
                boxes.push((held.clone(), Some(0)));
                continue;
            }
            let need = operand_box(operand, (shape, self.expr.shape(v)), out.region);
            let there = one_box(held, &need, shape);
            let there = there.and_then(|part| Some((contiguous_part(&part, held)?, part)));
            if let Some((from, part)) = there {
                crops.push(None);
                boxes.push((part, Some(from)));
                continue;
            }
            let dtype = self.expr.dtype(input);
            let mut copy = Block::new(&ctx.meter, need.clone(), dtype, 0)?;
            copy_around((held, data), (&need, copy.data_mut()), shape, dtype.size());
            crops.push(Some(copy));
            boxes.push((need, None));
        }
        let mut views = Vec::with_capacity(inputs.len());
        for (i, &input) in inputs.iter().enumerate() {
            let (shape, dtype) = (self.expr.shape(input), self.expr.dtype(input));
            let (region, in_place) = &boxes[i];
            match (&crops[i], self.held(input)) {
                (Some(copy), _) => views.push(copy.view(shape)),
                (None, Some((_, data))) => {
                    let from = in_place.unwrap_or(0) * dtype.size();
                    let data = &data[from..from + region_bytes(region, dtype)];
                    views.push(View {
                        region,
                        shape,
                        dtype,
                        data,
                    });
                }
                (None, None) => {}
            }
        }
        op.run(&ctx.for_voxels(op, out.region.voxels()), &views, out)
    }
}

/// True if `new` is the last part of `whole` in memory.
pub(crate) fn is_tail(new: &Region, whole: &Region) -> bool {
    let differs = (0..new.rank()).find(|&d| new.lo[d] != whole.lo[d] || new.hi[d] != whole.hi[d]);
    differs.is_none_or(|d| {
        new.hi[d] == whole.hi[d]
            && (0..d).all(|a| whole.extent(a) == 1)
            && (d + 1..new.rank()).all(|a| new.lo[a] == whole.lo[a] && new.hi[a] == whole.hi[a])
    })
}

/// Where `part` begins in `whole`, in elements, if it lies there without gaps.
fn contiguous_part(part: &Region, whole: &Region) -> Option<usize> {
    let differs =
        (0..part.rank()).find(|&d| part.lo[d] != whole.lo[d] || part.hi[d] != whole.hi[d]);
    let Some(d) = differs else { return Some(0) };
    let rest_whole =
        (d + 1..part.rank()).all(|a| part.lo[a] == whole.lo[a] && part.hi[a] == whole.hi[a]);
    let thin = (0..d).all(|a| whole.extent(a) == 1);
    (rest_whole && thin && !part.is_empty()).then(|| crate::block::offset(whole, &part.lo))
}
