//! Operations that are no kernels: their operands are staged like those of kernels.

use super::session::{Session, View};
use super::{Staged, lock};
use crate::{Arg, DeviceError, ExtCall, Queue, Tensor};
use arrayloom_types::Layout;

/// A tensor whose memory a session has, and its place there.
struct Found<'a> {
    layout: &'a Layout,
    view: View,
}

impl Staged {
    /// Runs an operation on arrays of the host: each operand goes to the device at most once, and each result
    /// comes back once.
    pub(super) fn ext_staged(&self, call: &ExtCall<'_>) -> Result<(), DeviceError> {
        let mut store = self.store();
        let mut session = Session::new(self, &mut store);
        let done = self.ext_within(&mut session, call);
        let mut stats = std::mem::take(&mut session.stats);
        drop(session);
        drop(store);
        match &done {
            Ok(()) => stats.native += 1,
            Err(error) => stats.fell_back(error.to_string()),
        }
        lock(&self.stats).add(stats);
        done
    }

    fn ext_within(&self, session: &mut Session<'_>, call: &ExtCall<'_>) -> Result<(), DeviceError> {
        let all = call.ins.iter().chain(call.outs);
        let ranges = all.filter_map(Tensor::range);
        session.cover(ranges.collect())?;
        let find = |session: &Session<'_>, tensor| self.find(session, tensor);
        let ins: Result<Vec<Found<'_>>, _> = call.ins.iter().map(|t| find(session, t)).collect();
        let outs: Result<Vec<Found<'_>>, _> = call.outs.iter().map(|t| find(session, t)).collect();
        let (ins, outs) = (ins?, outs?);
        let there = |session: &mut Session<'_>, found: &Found<'_>, fresh: bool| {
            let arg = session.device_arg(&found.view, fresh)?;
            let Arg::View { buf, offset, .. } = arg else {
                return Err(self.device.lacks("an operand without memory".to_owned()));
            };
            let layout = Layout {
                offset,
                ..found.layout.clone()
            };
            Ok(Tensor { buf, layout })
        };
        let mut there_ins = Vec::with_capacity(ins.len());
        for found in &ins {
            there_ins.push(there(session, found, false)?);
        }
        let mut there_outs = Vec::with_capacity(outs.len());
        for found in &outs {
            let Layout { shape, dtype, .. } = found.layout;
            let fresh = session.covers(&found.view, shape, *dtype);
            there_outs.push(there(session, found, fresh)?);
        }
        self.device.ext(
            Queue(0),
            &ExtCall {
                outs: &there_outs,
                ins: &there_ins,
                ..*call
            },
        )?;
        for found in &outs {
            session.wrote(&found.view, true);
            session.bring_back(&found.view, &found.layout.shape, found.layout.dtype)?;
        }
        Ok(())
    }

    fn find<'a>(
        &self,
        session: &Session<'_>,
        tensor: &'a Tensor,
    ) -> Result<Found<'a>, DeviceError> {
        let layout = &tensor.layout;
        let view = session.locate(&tensor.arg(), tensor.range());
        let view = view.ok_or_else(|| self.device.lacks("an operand without elements".to_owned()));
        Ok(Found {
            layout,
            view: view?,
        })
    }
}
