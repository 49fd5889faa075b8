//! A kernel whose results do not fit in memory runs in boxes of rows: its results lie in the spill file, and
//! what is done of them leaves main memory before the next box.

use crate::Engine;
use arrayloom_device::{Arg, DeviceError, Launch, Queue, rows_are_apart};
use arrayloom_fuse::Group;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;

/// Bytes of results in one box, about.
const BOX_BYTES: usize = if cfg!(test) { 1 << 12 } else { 8 << 20 };

impl Engine {
    /// Runs the kernel; in boxes where memory has run out and its rows are apart.
    /// The conditions of its instructions are noted in `met` when the device has done it.
    pub(crate) fn run_kernel(
        &self,
        group: &Group,
        launch: &Launch<'_>,
        met: Option<&Arc<[AtomicU8]>>,
    ) -> Result<(), DeviceError> {
        let queue = Queue::default();
        let run = |launch: &Launch<'_>| match met {
            Some(met) => self.device.run_watched(queue, &group.kernel, launch, met),
            None => self.device.run(queue, &group.kernel, launch),
        };
        let rows = launch.shape.first().copied().unwrap_or(0);
        if !self.pool().overflows() || rows < 2 || !rows_are_apart(&group.kernel) {
            return run(launch);
        }
        let points: usize = launch.shape.iter().product();
        let widest = group.kernel.outputs.iter().map(|out| {
            let value = group.kernel.code.get(out.value as usize);
            value.map_or(1, |ins| ins.dtype.size())
        });
        let bytes = points.saturating_mul(widest.max().unwrap_or(1));
        let step = (rows * BOX_BYTES / bytes.max(1)).clamp(1, rows);
        for first in (0..rows).step_by(step) {
            let count = step.min(rows - first);
            let mut shape = launch.shape.to_vec();
            shape[0] = count;
            let part = |args: &[Arg]| args.iter().map(|arg| arg.from_row(first)).collect();
            let (outs, ins): (Vec<Arg>, Vec<Arg>) = (part(launch.outs), part(launch.ins));
            let boxed = Launch {
                shape: &shape,
                outs: &outs,
                ins: &ins,
                reduces: launch.reduces,
                flags: launch.flags,
            };
            run(&boxed)?;
            for arg in outs.iter().chain(&ins) {
                self.leave(arg, count);
            }
        }
        Ok(())
    }

    /// Rows of a spilled block leave main memory.
    fn leave(&self, arg: &Arg, rows: usize) {
        let Arg::View {
            buf,
            offset,
            strides,
        } = arg
        else {
            return;
        };
        let step = strides.first().copied().unwrap_or(0);
        let (Ok(start), Ok(step)) = (usize::try_from(buf.0), usize::try_from(step)) else {
            return;
        };
        let from = start.wrapping_add_signed(*offset);
        self.pool().page_out(from, step.saturating_mul(rows));
    }
}
