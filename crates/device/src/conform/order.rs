//! Queues and events: what comes after what, however a device runs its queues.

use super::data::{self, Values};
use super::exec::{finish, view};
use super::memory::{Verdict, random, wrong};
use super::table::Loop;
use super::{Suite, Trouble};
use crate::{Buf, Device, End, Launch, Queue};
use arrayloom_ir::Prim;
use arrayloom_types::{DType, Layout};

/// Chances for a wrong order to show.
const ROUNDS: u64 = 40;
const COUNT: usize = 700;
const BYTES: usize = COUNT * 4;

type Case = fn(&dyn Device, u64) -> Verdict;

/// All cases.
pub(super) fn run(suite: &mut Suite<'_>) {
    let cases: [(&str, Case); 5] = [
        ("order/one_queue", one_queue),
        ("order/between_queues", between_queues),
        ("order/asked_without_waiting", asked),
        ("order/host_memory_used_again", host_memory),
        ("order/block_given_back_early", given_back),
    ];
    for (name, case) in cases {
        let all = (0..ROUNDS).map(|round| case(suite.device, round));
        let result = all.collect::<Result<(), Trouble>>();
        suite.note(name.to_owned(), result);
    }
}

fn up(device: &dyn Device, queue: u32, buf: Buf, bytes: &[u8]) -> Verdict {
    let host = End::Host(bytes.as_ptr().cast_mut());
    device.copy(Queue(queue), End::Dev(buf, 0), host, bytes.len() as u64)?;
    Ok(())
}

fn down(device: &dyn Device, queue: u32, buf: Buf, into: &mut [u8]) -> Verdict {
    let to = End::Host(into.as_mut_ptr());
    device.copy(Queue(queue), to, End::Dev(buf, 0), into.len() as u64)?;
    Ok(())
}

/// `to = from + from`, whole numbers of 32 bits.
fn double(device: &dyn Device, queue: u32, to: Buf, from: Buf) -> Verdict {
    let l = Loop {
        prim: Prim::Add,
        ins: vec![DType::I32; 2],
        out: DType::I32,
    };
    let layout = Layout::contiguous(DType::I32, &[COUNT]);
    let launch = Launch {
        shape: &[COUNT],
        outs: &[view(to, &layout)],
        ins: &[view(from, &layout), view(from, &layout)],
        reduces: &[None],
        flags: None,
    };
    Ok(device.run(Queue(queue), &l.kernel(1), &launch)?)
}

fn numbers(seed: u64) -> Vec<u8> {
    data::fill(DType::I32, COUNT, seed, Values::Any)
}

/// The numbers times two to the `times`.
fn doubled(bytes: &[u8], times: u32) -> Vec<u8> {
    let number = |chunk: &[u8]| {
        let mut four = [0; 4];
        four.copy_from_slice(chunk);
        i32::from_le_bytes(four).wrapping_shl(times).to_le_bytes()
    };
    bytes.chunks_exact(4).flat_map(number).collect()
}

fn same(device: &dyn Device, found: &[u8], expected: &[u8], what: &str) -> Verdict {
    if found == expected || !device.caps().abilities.values {
        Ok(())
    } else {
        wrong(what)
    }
}

/// Work of one queue is done in order, without asking in between.
fn one_queue(device: &dyn Device, round: u64) -> Verdict {
    let (a, b) = (device.alloc(BYTES as u64)?, device.alloc(BYTES as u64)?);
    let content = numbers(round);
    up(device, 1, a, &content)?;
    double(device, 1, b, a)?;
    double(device, 1, a, b)?;
    device.copy(Queue(1), End::Dev(b, 0), End::Dev(a, 0), BYTES as u64)?;
    double(device, 1, a, b)?;
    let mut found = vec![0; BYTES];
    down(device, 1, a, &mut found)?;
    finish(device, Queue(1))?;
    device.free(a);
    device.free(b);
    same(
        device,
        &found,
        &doubled(&content, 3),
        "work of one queue went out of order",
    )
}

/// A queue that waits for an event sees what was done before it.
fn between_queues(device: &dyn Device, round: u64) -> Verdict {
    let (a, b) = (device.alloc(BYTES as u64)?, device.alloc(BYTES as u64)?);
    let before = vec![0x11; BYTES];
    up(device, 1, b, &before)?;
    finish(device, Queue(1))?;
    let content = numbers(round);
    up(device, 1, a, &content)?;
    double(device, 1, b, a)?;
    let event = device.record(Queue(1))?;
    device.wait(Queue(2), event)?;
    double(device, 2, a, b)?;
    let done = device.record(Queue(2))?;
    device.wait(Queue(1), done)?;
    let mut found = vec![0; BYTES];
    down(device, 1, a, &mut found)?;
    finish(device, Queue(1))?;
    device.free(a);
    device.free(b);
    same(
        device,
        &found,
        &doubled(&content, 2),
        "a queue did not wait for another",
    )
}

/// When an event is said to have passed, the bytes are there.
fn asked(device: &dyn Device, round: u64) -> Verdict {
    let buf = device.alloc(BYTES as u64)?;
    let content = numbers(round);
    up(device, 3, buf, &content)?;
    let mut found = vec![0; BYTES];
    down(device, 3, buf, &mut found)?;
    let event = device.record(Queue(3))?;
    let mut passed = false;
    for _ in 0..1_000_000 {
        passed = device.poll(event, false)?;
        if passed {
            break;
        }
        std::thread::yield_now();
    }
    let early = found.clone();
    // The bytes are ours again only now, whatever the device said.
    finish(device, Queue(3))?;
    device.free(buf);
    if !passed {
        return wrong("an event did not pass though it was asked a million times");
    }
    same(
        device,
        &early,
        &content,
        "an event passed before the work in front of it was done",
    )
}

/// Host memory that was read by a copy may change at once.
fn host_memory(device: &dyn Device, round: u64) -> Verdict {
    let buf = device.alloc(BYTES as u64)?;
    let content = numbers(round);
    let mut staging = content.clone();
    up(device, 1, buf, &staging)?;
    staging.fill(0xEE);
    let mut found = vec![0; BYTES];
    down(device, 1, buf, &mut found)?;
    finish(device, Queue(1))?;
    device.free(buf);
    drop(staging);
    same(
        device,
        &found,
        &content,
        "a copy read host memory after it had returned",
    )
}

/// A block that is given back is not given out again while work that was put in before uses it.
fn given_back(device: &dyn Device, round: u64) -> Verdict {
    let (a, b) = (device.alloc(BYTES as u64)?, device.alloc(BYTES as u64)?);
    let content = numbers(round);
    up(device, 1, a, &content)?;
    double(device, 1, b, a)?;
    device.free(b);
    let c = device.alloc(BYTES as u64)?;
    let other = random(BYTES, round + 1000);
    up(device, 2, c, &other)?;
    finish(device, Queue(2))?;
    finish(device, Queue(1))?;
    let mut found = vec![0; BYTES];
    down(device, 2, c, &mut found)?;
    finish(device, Queue(2))?;
    device.free(a);
    device.free(c);
    same(
        device,
        &found,
        &other,
        "a block was given out while work still wrote to it",
    )
}
