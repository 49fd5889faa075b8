//! The whole memory of a device, and what failures leave behind.

use super::Suite;
use super::memory::{Verdict, wrong};
use crate::{Buf, Device, DeviceError, Launch, Queue};
use arrayloom_ir::{Ins, Kernel, Prim};
use arrayloom_types::DType;

/// Blocks of this size fill the memory.
const BLOCK: u64 = 64 << 10;
/// Larger memories are not filled.
const LARGEST: u64 = 64 << 20;

/// All cases.
pub(super) fn run(suite: &mut Suite<'_>) {
    let device = suite.device;
    suite.note("limits/refused_kernel".to_owned(), refused(device));
    suite.note("limits/full".to_owned(), full(device));
    suite.note("limits/nothing_is_kept".to_owned(), nothing_is_kept(device));
}

/// A kernel that is no kernel.
fn nonsense() -> Kernel {
    Kernel {
        code: vec![Ins {
            prim: Prim::Add,
            dtype: DType::F64,
            a: 7,
            b: 8,
            c: 9,
            bits: 0,
        }],
        ..Kernel::default()
    }
}

fn run_nonsense(device: &dyn Device) -> Result<(), DeviceError> {
    let kernel = nonsense();
    // One input too many.
    let launch = Launch {
        shape: &[1],
        outs: &[],
        ins: &[],
        reduces: &[],
        flags: None,
    };
    device.run(Queue(0), &kernel, &launch)
}

fn refused(device: &dyn Device) -> Verdict {
    match run_nonsense(device) {
        Err(DeviceError::Unsupported { .. }) => Ok(()),
        Err(error) => wrong(format!(
            "a launch that does not fit is refused with: {error}"
        )),
        Ok(()) => wrong("a launch that does not fit its kernel was taken"),
    }
}

/// Takes blocks until there are no more.
fn fill(device: &dyn Device) -> Result<Vec<Buf>, super::Trouble> {
    let mut held = Vec::new();
    loop {
        match device.alloc(BLOCK) {
            Ok(buf) => held.push(buf),
            Err(DeviceError::OutOfMemory { need, .. }) if need >= BLOCK => return Ok(held),
            Err(error) => return Err(error.into()),
        }
    }
}

/// All of the memory can be had, given back, and had again.
fn full(device: &dyn Device) -> Verdict {
    if device.caps().memory > LARGEST {
        return Ok(());
    }
    let first = fill(device)?;
    let count = first.len();
    // Every second block first, so that neighbours meet.
    let (even, odd): (Vec<_>, Vec<_>) =
        first.into_iter().enumerate().partition(|(i, _)| i % 2 == 0);
    for (_, buf) in even.into_iter().chain(odd) {
        device.free(buf);
    }
    let again = fill(device)?;
    let second = again.len();
    for buf in again {
        device.free(buf);
    }
    if second == count {
        Ok(())
    } else {
        wrong(format!(
            "{count} blocks could be had at first, {second} later"
        ))
    }
}

/// Errors cost no memory.
fn nothing_is_kept(device: &dyn Device) -> Verdict {
    if device.caps().memory > LARGEST {
        return Ok(());
    }
    let before = fill(device)?;
    let count = before.len();
    for buf in before {
        device.free(buf);
    }
    for _ in 0..100 {
        if device.alloc(1 << 62).is_ok() || run_nonsense(device).is_ok() {
            return wrong("what cannot be done was done");
        }
    }
    let after = fill(device)?;
    let left = after.len();
    for buf in after {
        device.free(buf);
    }
    if left == count {
        Ok(())
    } else {
        wrong(format!(
            "{count} blocks could be had before 200 failures, {left} after"
        ))
    }
}
