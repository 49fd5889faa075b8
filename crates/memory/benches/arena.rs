//! Cost of a free and an alloc, and what five kinds of programs take from the system.

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/traces/programs.rs"]
mod programs;

use arrayloom_memory::{
    Arena, ArenaSize, AtOnce, MemoryError, MemoryResource, Order, SimQueues, Unbacked, host_memory,
};
use arrayloom_types::Queue;
use programs::{Ask, all};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Instant;

const MIB: u64 = 1 << 20;

fn arena(order: Arc<dyn Order>) -> Result<Arena, MemoryError> {
    let vmm = Arc::new(Unbacked::new(2 * MIB));
    Arena::new(vmm, order, ArenaSize::of(1 << 40))
}

/// Microseconds of one free and one alloc with 64 blocks of many sizes alive.
fn pair(memory: &dyn MemoryResource, queues: Option<&SimQueues>) -> Result<f64, MemoryError> {
    let size = |i: u64| (i * 7919 % 61 + 1) * 100_000;
    let q = Queue(0);
    let mut live = Vec::new();
    for i in 0..64u64 {
        live.push((memory.alloc(size(i), q)?, size(i)));
    }
    let rounds = 100_000u64;
    let started = Instant::now();
    let mut resting = 0.0;
    for i in 0..rounds {
        let slot = usize::try_from(i * 31 % 64).unwrap_or(0);
        let (addr, bytes) = live[slot];
        memory.free(addr, bytes, q);
        live[slot] = (memory.alloc(bytes, q)?, bytes);
        if i % 64 == 0
            && let Some(queues) = queues
        {
            let rest = Instant::now();
            queues.finish();
            resting += rest.elapsed().as_secs_f64();
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a mean")]
    let micros = (started.elapsed().as_secs_f64() - resting) / rounds as f64 * 1e6;
    for (addr, bytes) in live {
        memory.free(addr, bytes, q);
    }
    Ok(micros)
}

/// Microseconds of a fresh megabyte: mapped, written once a page, and given back.
fn fresh() -> Result<f64, MemoryError> {
    let memory = host_memory()?;
    let started = Instant::now();
    let rounds = 200u32;
    for _ in 0..rounds {
        let segment = vec![1u8; 1 << 20];
        std::hint::black_box(&segment);
        memory.trim(u64::MAX);
    }
    Ok(started.elapsed().as_secs_f64() / f64::from(rounds) * 1e6)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    let host = host_memory()?;
    let queues = Arc::new(SimQueues::default());
    let simulated = arena(Arc::<SimQueues>::clone(&queues))?;
    writeln!(out, "free + alloc, host: {:.3} us", pair(&*host, None)?)?;
    let micros = pair(&simulated, Some(&queues))?;
    writeln!(out, "free + alloc, simulated events: {micros:.3} us")?;
    writeln!(
        out,
        "a fresh MiB, written and given back: {:.1} us",
        fresh()?
    )?;
    for (name, trace) in all() {
        let memory = arena(Arc::new(AtOnce))?;
        let mut live = BTreeMap::new();
        for ask in trace {
            match ask {
                Ask::Get(name, bytes) => {
                    live.insert(name, (memory.alloc(bytes, Queue(0))?, bytes));
                }
                Ask::Free(name) => {
                    if let Some((addr, bytes)) = live.remove(&name) {
                        memory.free(addr, bytes, Queue(0));
                    }
                }
            }
        }
        let info = memory.info();
        #[expect(clippy::cast_precision_loss, reason = "ratios")]
        let (ratio, missed) = (
            info.peak_reserved as f64 / info.peak as f64,
            info.grown as f64 / info.requests as f64,
        );
        let served = (1.0 - missed) * 100.0;
        writeln!(
            out,
            "{name}: reserved / live {ratio:.3}, served {served:.1} %"
        )?;
    }
    Ok(())
}
