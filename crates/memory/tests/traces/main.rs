//! Five kinds of programs, as requests for memory: what the arena takes from the system for them.

#![expect(clippy::unwrap_used, reason = "a test helper may fail the test")]

#[path = "../common/mod.rs"]
mod common;
mod programs;

use arrayloom_memory::{
    Arena, ArenaSize, AtOnce, MemInfo, MemoryResource as _, SimQueues, Unbacked,
};
use arrayloom_types::Queue;
use common::Dice;
use programs::{Ask, all};
use std::collections::BTreeMap;
use std::sync::Arc;

const GRANULE: u64 = 2 << 20;

/// Runs a trace with requests from `queues` queues in rotation; the time between a step of work and its
/// end is as the queues like.
fn run(trace: &[Ask], queues: u32) -> MemInfo {
    let order = Arc::new(SimQueues::default());
    let vmm = Arc::new(Unbacked::new(GRANULE));
    let arena = if queues == 1 {
        Arena::new(vmm, Arc::new(AtOnce), ArenaSize::of(1 << 40))
    } else {
        Arena::new(vmm, Arc::<SimQueues>::clone(&order), ArenaSize::of(1 << 40))
    };
    let arena = arena.unwrap();
    let mut live = BTreeMap::new();
    for (place, ask) in trace.iter().enumerate() {
        let queue = Queue(u32::try_from(place).unwrap() % queues);
        match *ask {
            Ask::Get(name, bytes) => {
                live.insert(name, (arena.alloc(bytes, queue).unwrap(), bytes));
            }
            Ask::Free(name) => {
                let (addr, bytes) = live.remove(&name).unwrap();
                arena.free(addr, bytes, queue);
            }
        }
        order.finish();
    }
    assert!(live.is_empty(), "the trace frees what it gets");
    assert_eq!(arena.info().in_use, 0);
    arena.info()
}

fn ratio(info: &MemInfo) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    let ratio = info.peak_reserved as f64 / info.peak as f64;
    ratio
}

fn served(info: &MemInfo) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    let missed = info.grown as f64 / info.requests as f64;
    1.0 - missed
}

#[test]
fn an_arena_takes_little_more_than_what_lives() {
    for (name, trace) in all() {
        let info = run(&trace, 1);
        let (ratio, served) = (ratio(&info), served(&info));
        assert!(ratio <= 1.15, "{name}: {ratio:.3}");
        assert!(served >= 0.98, "{name}: {served:.4}");
    }
}

#[test]
fn four_queues_share_it() {
    for (name, trace) in all() {
        let info = run(&trace, 4);
        assert!(ratio(&info) <= 1.20, "{name}: {:.3}", ratio(&info));
    }
}

#[test]
fn traces_are_what_they_claim() {
    let traces = all();
    assert_eq!(traces.len(), 5);
    for (name, trace) in &traces {
        let gets = trace.iter().filter(|ask| matches!(ask, Ask::Get(..)));
        assert!(gets.count() >= 1000, "{name}");
    }
    assert_ne!(Dice::new(1).roll(1 << 40), Dice::new(2).roll(1 << 40));
}
