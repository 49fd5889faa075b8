//! Blocks and copies.

use super::data::{self, Values};
use super::exec::finish;
use super::{Suite, Trouble};
use crate::{Buf, Device, DeviceError, End, Queue};
use arrayloom_types::DType;

pub(super) type Verdict = Result<(), Trouble>;
type Case = fn(&dyn Device) -> Verdict;

/// All cases.
pub(super) fn run(suite: &mut Suite<'_>) {
    let cases: [(&str, Case); 6] = [
        ("memory/blocks", blocks),
        ("memory/absurd_size", absurd),
        ("memory/copy/host_to_device_to_host", there_and_back),
        ("memory/copy/device_to_device", between_blocks),
        ("memory/copy/host_to_host", host_to_host),
        ("memory/queue", queue),
    ];
    for (name, case) in cases {
        let verdict = case(suite.device);
        suite.note(name.to_owned(), verdict);
    }
}

/// True when bytes mean something.
fn values(device: &dyn Device) -> bool {
    device.caps().abilities.values
}

pub(super) fn wrong(what: impl Into<String>) -> Verdict {
    Err(Trouble::Wrong(what.into()))
}

pub(super) fn random(bytes: usize, seed: u64) -> Vec<u8> {
    data::fill(DType::U8, bytes, seed, Values::Any)
}

fn up(device: &dyn Device, buf: Buf, offset: u64, bytes: &[u8]) -> Verdict {
    let host = End::Host(bytes.as_ptr().cast_mut());
    device.copy(Queue(0), End::Dev(buf, offset), host, bytes.len() as u64)?;
    Ok(finish(device, Queue(0))?)
}

fn down(device: &dyn Device, buf: Buf, offset: u64, bytes: usize) -> Result<Vec<u8>, Trouble> {
    let mut host = vec![0; bytes];
    let to = End::Host(host.as_mut_ptr());
    device.copy(Queue(0), to, End::Dev(buf, offset), bytes as u64)?;
    finish(device, Queue(0))?;
    Ok(host)
}

/// Blocks are aligned, apart, and keep their bytes while others come and go.
fn blocks(device: &dyn Device) -> Verdict {
    let sizes = [0usize, 1, 511, 512, 513, 4096, 70_000, 1 << 20];
    let mut held: Vec<(Buf, Vec<u8>)> = Vec::new();
    for (seed, &bytes) in (0..).zip(&sizes) {
        let buf = device.alloc(bytes as u64)?;
        if held.iter().any(|(other, _)| *other == buf) {
            return wrong(format!("a block of {bytes} bytes was given out twice"));
        }
        if device.caps().unified && buf.0 % 512 != 0 {
            return wrong(format!("a block of {bytes} bytes is not aligned to 512"));
        }
        let content = random(bytes, seed);
        up(device, buf, 0, &content)?;
        held.push((buf, content));
    }
    // Every second block goes, and others of its size come.
    for i in (0..held.len()).step_by(2) {
        device.free(held[i].0);
        let content = random(sizes[i], 100 + i as u64);
        held[i].0 = device.alloc(sizes[i] as u64)?;
        up(device, held[i].0, 0, &content)?;
        held[i].1 = content;
    }
    for (buf, content) in held {
        if down(device, buf, 0, content.len())? != content && values(device) {
            return wrong(format!("a block of {} bytes lost its bytes", content.len()));
        }
        device.free(buf);
    }
    Ok(())
}

/// A request that no machine can meet is refused, and the next small one is met.
fn absurd(device: &dyn Device) -> Verdict {
    for bytes in [u64::MAX, 1 << 62] {
        match device.alloc(bytes) {
            Err(DeviceError::OutOfMemory { need, .. }) if need >= bytes => {}
            Err(error) => return wrong(format!("{bytes} bytes are refused with: {error}")),
            Ok(buf) => {
                device.free(buf);
                return wrong(format!("{bytes} bytes were given out"));
            }
        }
    }
    let buf = device.alloc(100)?;
    up(device, buf, 0, &random(100, 1))?;
    device.free(buf);
    Ok(())
}

/// Up and down in parts, with offsets.
fn there_and_back(device: &dyn Device) -> Verdict {
    let content = random(10_000, 2);
    let buf = device.alloc(10_000)?;
    up(device, buf, 0, &content[..1])?;
    up(device, buf, 1, &content[1..4097])?;
    up(device, buf, 4097, &content[4097..])?;
    up(device, buf, 10_000, &[])?;
    for (from, to) in [(0, 10_000), (3, 4), (4095, 8193), (9999, 10_000), (17, 17)] {
        if down(device, buf, from as u64, to - from)? != content[from..to] && values(device) {
            return wrong(format!("bytes {from}..{to} came back changed"));
        }
    }
    device.free(buf);
    Ok(())
}

/// From block to block, and within one.
fn between_blocks(device: &dyn Device) -> Verdict {
    let content = random(5000, 3);
    let (a, b) = (device.alloc(5000)?, device.alloc(6000)?);
    up(device, a, 0, &content)?;
    up(device, b, 0, &[7; 6000])?;
    device.copy(Queue(0), End::Dev(b, 13), End::Dev(a, 1), 4000)?;
    device.copy(Queue(0), End::Dev(b, 5000), End::Dev(b, 13), 900)?;
    let mut expected = vec![7; 6000];
    expected[13..4013].copy_from_slice(&content[1..4001]);
    expected.copy_within(13..913, 5000);
    if down(device, b, 0, 6000)? != expected && values(device) {
        return wrong("bytes are not where they were copied to");
    }
    if down(device, a, 0, 5000)? != content && values(device) {
        return wrong("a copy changed its source");
    }
    device.free(a);
    device.free(b);
    Ok(())
}

fn host_to_host(device: &dyn Device) -> Verdict {
    let content = random(3000, 4);
    let mut target = vec![0u8; 3000];
    let from = End::Host(content.as_ptr().cast_mut());
    device.copy(Queue(0), End::Host(target.as_mut_ptr()), from, 3000)?;
    finish(device, Queue(0))?;
    if target == content || !values(device) {
        Ok(())
    } else {
        wrong("bytes came out changed")
    }
}

/// Events pass, also for another queue that waits for them.
fn queue(device: &dyn Device) -> Verdict {
    let first = device.record(Queue(0))?;
    let second = device.record(Queue(0))?;
    device.wait(Queue(0), first)?;
    if !device.poll(second, true)? || !device.poll(first, false)? {
        return wrong("an event did not pass although a later one did");
    }
    Ok(())
}
