//! Reading what the blocks of a plan need of their sources, once.

use crate::VolumeError;
use crate::block::{Block, copy_box, region_bytes};
use crate::expr::{Expr, Node};
use crate::separable::Ctx;
use crate::state::{Machine, fresh, is_tail, pieces};
use arrayloom_plan::{Plan, Value};
use arrayloom_types::Region;

/// What is read at a time: of each source at most one piece.
pub(crate) struct Round {
    /// Source, the box that is held then, the box that is read.
    parts: Vec<(usize, Region, Region)>,
    /// True if the block can be computed then.
    pub(crate) last: bool,
}

/// Reads the sources of one block after the other.
pub(crate) struct Reader<'a> {
    expr: &'a Expr,
    values: &'a [Value],
    plan: &'a Plan,
    before: Vec<Option<Region>>,
}

/// The blocks of a [`Round`]: source, the box that is held then, what was read.
pub(crate) struct Staged {
    pub(crate) parts: Vec<(usize, Region, Block)>,
    pub(crate) last: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(expr: &'a Expr, values: &'a [Value], plan: &'a Plan) -> Reader<'a> {
        let before = vec![None; values.len()];
        Reader {
            expr,
            values,
            plan,
            before,
        }
    }

    /// What is to be read for block `i` and was not read for the block before, in rounds.
    pub(crate) fn rounds(&mut self, i: u64) -> Vec<Round> {
        let boxes = self.plan.boxes(self.values, i);
        let mut rounds: Vec<Round> = Vec::new();
        for (v, node) in self.expr.nodes().iter().enumerate() {
            let Node::Source(source) = node else { continue };
            let new = fresh(self.before[v].as_ref(), &boxes[v], self.plan.sweep);
            self.before[v] = Some(boxes[v].clone());
            if let (true, Some(data)) = (self.values[v].resident, source.in_memory()) {
                if source.is_mapped() {
                    touch(data, self.expr.shape(v), &new, self.expr.dtype(v).size());
                }
                continue;
            }
            for (number, (held, read)) in self.in_pieces(v, &boxes[v], &new).enumerate() {
                if rounds.len() <= number {
                    rounds.push(Round {
                        parts: Vec::new(),
                        last: false,
                    });
                }
                rounds[number].parts.push((v, held, read));
            }
        }
        if rounds.is_empty() {
            rounds.push(Round {
                parts: Vec::new(),
                last: false,
            });
        }
        if let Some(round) = rounds.last_mut() {
            round.last = true;
        }
        rounds
    }

    /// The box `new` of source `v` in pieces along the axis of the sweep, each with what is held then.
    fn in_pieces<'b>(
        &self,
        v: usize,
        wanted: &'b Region,
        new: &'b Region,
    ) -> impl Iterator<Item = (Region, Region)> + use<'b> {
        let axis = self.plan.sweep.filter(|_| !new.is_empty());
        let (start, end) = axis.map_or((0, 1), |a| (new.lo[a], new.hi[a]));
        let step = axis.map_or(1, |_| self.plan.pieces[v].clamp(1, end - start));
        let starts = (0..(end - start + step - 1) / step).map(move |n| start + n * step);
        starts.map(move |at| match axis {
            Some(axis) => {
                let to = (at + step).min(end);
                let held = wanted.with_axis(axis, wanted.lo[axis], to);
                (held, new.with_axis(axis, at, to))
            }
            None => (wanted.clone(), new.clone()),
        })
    }

    /// Reads one round.
    pub(crate) fn read(&self, ctx: &Ctx, round: &Round) -> Result<Staged, VolumeError> {
        let mut parts = Vec::with_capacity(round.parts.len());
        for (v, held, new) in &round.parts {
            parts.push((*v, held.clone(), self.read_box(ctx, *v, new)?));
        }
        Ok(Staged {
            parts,
            last: round.last,
        })
    }

    fn read_box(&self, ctx: &Ctx, v: usize, new: &Region) -> Result<Block, VolumeError> {
        let mut block = Block::new(&ctx.meter, new.clone(), self.expr.dtype(v), 0)?;
        self.read_to(ctx, v, new, block.data_mut())?;
        Ok(block)
    }

    /// Reads the box `new` of source `v`, which may go around wrapped axes.
    fn read_to(
        &self,
        ctx: &Ctx,
        v: usize,
        new: &Region,
        data: &mut [u8],
    ) -> Result<(), VolumeError> {
        let Node::Source(source) = &self.expr.nodes()[v] else {
            return Ok(());
        };
        let _work = source.work().take(&ctx.meter)?;
        let read = |region: &Region, to: &mut [u8]| {
            source
                .read(region, to)
                .map_err(|message| VolumeError::Read {
                    region: region.clone(),
                    message,
                })
        };
        let (parts, dtype) = (pieces(new, self.expr.shape(v)), self.expr.dtype(v));
        if new.is_empty() {
            return Ok(());
        }
        if let [(_, inside)] = &parts[..] {
            return read(inside, data);
        }
        for (place, inside) in parts {
            let mut part = Block::new(&ctx.meter, place.clone(), dtype, 0)?;
            read(&inside, part.data_mut())?;
            copy_box((&place, part.data()), (new, data), &place, dtype.size());
        }
        Ok(())
    }

    /// Reads one round straight to where it is computed on.
    pub(crate) fn read_in_place(
        &self,
        ctx: &Ctx,
        round: &Round,
        machine: &mut Machine<'_>,
    ) -> Result<(), VolumeError> {
        for (v, held, new) in &round.parts {
            let block = machine.advance(ctx, *v, held, new)?;
            let bytes = region_bytes(new, block.dtype);
            let data = block.data_mut();
            let from = data.len() - bytes;
            if is_tail(new, held) {
                self.read_to(ctx, *v, new, &mut data[from..])?;
                continue;
            }
            let read = self.read_box(ctx, *v, new)?;
            let size = read.dtype.size();
            copy_box((new, read.data()), (held, data), new, size);
        }
        Ok(())
    }
}

/// Touches the pages of `region` in a mapped file if they lie close together, so that they are read now.
fn touch(data: &[u8], shape: &[i64], region: &Region, size: usize) {
    const PAGE: usize = 4096;
    let inside = region.clip(&Region::whole(shape));
    if inside.is_empty() {
        return;
    }
    let whole = Region::whole(shape);
    let last: Vec<i64> = inside.hi.iter().map(|h| h - 1).collect();
    let from = crate::block::offset(&whole, &inside.lo) * size;
    let to = (crate::block::offset(&whole, &last) + 1) * size;
    let bytes = usize::try_from(inside.voxels()).unwrap_or(usize::MAX);
    if to - from <= bytes.saturating_mul(2 * size) {
        for at in (from..to).step_by(PAGE) {
            std::hint::black_box(data[at]);
        }
    }
}
