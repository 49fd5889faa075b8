//! Runs several kernels of the list in one pass over rows.

use crate::engine::{is_unsupported, lock};
use crate::events;
use crate::run::{Batch, reduce_args};
use crate::stats::Traffic;
use crate::{Engine, EngineError};
use arrayloom_device::{Arg, Buf, Launch, Queue, ReduceArgs, Rows, Stage, Sweep};
use arrayloom_fuse::{Group, Routes};
use arrayloom_ir::{FpFlags, Operand, SlotId};
use arrayloom_plan::Route;
use arrayloom_types::Layout;
use std::sync::atomic::AtomicU8;
use std::time::Instant;

/// What a stage is applied to.
struct Bound {
    ins: Vec<Arg>,
    outs: Vec<Arg>,
    reduces: Vec<Option<ReduceArgs>>,
    flags: Option<Vec<AtomicU8>>,
}

impl Engine {
    /// Runs a sweep and settles its nodes. False if the device does not take it; then nothing has
    /// happened.
    pub(crate) fn run_sweep(
        &self,
        batch: &mut Batch,
        groups: &[Group],
        sweep: &arrayloom_fuse::Sweep,
    ) -> Result<bool, EngineError> {
        let members: Vec<&Group> = sweep.groups.iter().map(|&place| &groups[place]).collect();
        for group in &members {
            self.check_shadows(group)?;
        }
        let blocks = self.rows(sweep)?;
        let bound = members.iter().zip(&sweep.stages);
        let bound: Vec<Bound> = bound
            .map(|(group, routes)| self.bind(group, routes))
            .collect::<Result<_, _>>()?;
        let stages: Vec<Stage<'_>> = members
            .iter()
            .zip(&bound)
            .zip(&sweep.stages)
            .map(|((group, bound), routes)| Stage {
                kernel: &group.kernel,
                launch: Launch {
                    shape: &group.shape,
                    outs: &bound.outs,
                    ins: &bound.ins,
                    reduces: &bound.reduces,
                    flags: bound.flags.as_deref(),
                },
                ins: &routes.ins,
                outs: &routes.outs,
            })
            .collect();
        self.note_peak(batch.list[members[0].nodes[0] as usize].site);
        let started = Instant::now();
        let taken = self.device.sweep(
            Queue::default(),
            &Sweep {
                stages: &stages,
                schedule: &sweep.schedule,
                rings: &sweep.rings,
                blocks: &blocks,
                panel: sweep.panel,
            },
        );
        match taken.map_err(EngineError::from) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) if is_unsupported(&error) => return Ok(false),
            Err(error) => return Err(error),
        }
        let seconds = started.elapsed().as_secs_f64();
        self.count_sweep(batch, &members, sweep, seconds);
        self.note_pass(batch, started, &members);
        for (group, bound) in members.iter().zip(bound) {
            if let Some(flags) = bound.flags {
                let nodes = (group.nodes.as_slice(), batch.list.as_slice());
                let parts = (&*group.origin, &*group.shared);
                let told = |n: usize| batch.list[group.nodes[n] as usize].told;
                events::collect(&flags, parts, nodes, told, &mut batch.events);
            }
            self.settle(batch, &group.nodes);
        }
        Ok(true)
    }

    /// The blocks that a sweep writes, each in its own memory.
    fn rows(&self, sweep: &arrayloom_fuse::Sweep) -> Result<Vec<Rows>, EngineError> {
        let mut rows = Vec::with_capacity(sweep.blocks.len());
        for block in &sweep.blocks {
            if let Some(entry) = self.table().get_mut(block.slot)
                && entry.shadow.is_some()
            {
                self.unshadow(entry)?;
            }
            rows.push(Rows {
                buf: Buf(self.address(block.slot, true)?),
                origin: block.origin,
                pitch: block.pitch,
                columns: block.columns,
                bytes: block.bytes,
            });
        }
        Ok(rows)
    }

    fn bind(&self, group: &Group, routes: &Routes) -> Result<Bound, EngineError> {
        let place = |slot: SlotId, layout: &Layout, route: &Route, writes| match route {
            Route::Ring {
                offset, strides, ..
            } => Ok(Arg::View {
                buf: Buf(0),
                offset: *offset,
                strides: strides.clone(),
            }),
            Route::Direct | Route::Block { .. } => self.place(slot, layout, writes),
        };
        let outs = group.outs.iter().zip(&routes.outs);
        let outs = outs.map(|((slot, layout), route)| place(*slot, layout, route, true));
        let outs = outs.collect::<Result<_, _>>()?;
        let ins = group.ins.iter().zip(&routes.ins);
        let ins = ins.map(|(operand, route)| match operand {
            Operand::View(slot, layout) => place(*slot, layout, route, false),
            Operand::Table(slot, table) => place(*slot, &table.walk, route, false),
            Operand::Scalar(scalar) => Ok(Arg::Scalar(*scalar)),
        });
        Ok(Bound {
            ins: ins.collect::<Result<_, _>>()?,
            outs,
            reduces: group
                .folds
                .iter()
                .map(|f| reduce_args(f.as_ref()))
                .collect(),
            flags: self.settings.collect_flags.then(|| {
                let flags = std::iter::repeat_with(|| AtomicU8::new(FpFlags::NONE.0));
                flags.take(group.kernel.code.len()).collect()
            }),
        })
    }

    /// Counts the kernels, with their parts of the time by instructions at points.
    fn count_sweep(
        &self,
        batch: &Batch,
        members: &[&Group],
        sweep: &arrayloom_fuse::Sweep,
        seconds: f64,
    ) {
        let work = |group: &Group| {
            let points: usize = group.shape.iter().product();
            points.saturating_mul(group.kernel.code.len())
        };
        let all: usize = members.iter().map(|group| work(group)).sum();
        let (mut read, mut written) = (Traffic::default(), Traffic::default());
        for (group, routes) in members.iter().zip(&sweep.stages) {
            #[expect(clippy::cast_precision_loss, reason = "a share of a time")]
            let share = work(group) as f64 / all.max(1) as f64;
            self.count_ops(batch, group, seconds * share);
            for (operand, route) in group.ins.iter().zip(&routes.ins) {
                if let (Operand::View(slot, layout), Route::Direct | Route::Block { .. }) =
                    (operand, route)
                {
                    read.add(*slot, layout);
                }
            }
            for ((slot, layout), route) in group.outs.iter().zip(&routes.outs) {
                if !matches!(route, Route::Ring { .. }) {
                    written.add(*slot, layout);
                }
            }
        }
        let mut stats = lock(&self.stats);
        stats.sweeps += 1;
        stats.contracted += sweep.rings.len() as u64;
        stats.bytes_read += read.bytes();
        stats.bytes_written += written.bytes();
    }
}
