//! Arena and segment pool on queues that run in any order: no byte is used by two at once, nothing leaks.

#![expect(clippy::unwrap_used, reason = "a test helper may fail the test")]

mod common;

use arrayloom_memory::{
    Addr, Arena, ArenaSize, Limit, MemoryError, MemoryResource, OnOom, Order, SegmentPool,
    Segments, SimMemory, SimQueues, Track, Vmm,
};
use arrayloom_types::Queue;
use common::Dice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

const GRANULE: u64 = 64 << 10;
const LIMIT: u64 = 4 << 20;

/// Simulated memory as segments.
struct SimSegments(Arc<SimMemory>);

impl Segments for SimSegments {
    fn open(&self, bytes: u64) -> Result<u64, MemoryError> {
        let bytes = bytes.next_multiple_of(GRANULE);
        let buf = self.0.reserve(bytes)?;
        self.0.map(Addr { buf, offset: 0 }, bytes)?;
        Ok(buf)
    }
    fn close(&self, buf: u64, bytes: u64) {
        let bytes = bytes.next_multiple_of(GRANULE);
        self.0.unmap(Addr { buf, offset: 0 }, bytes);
    }
    fn name(&self) -> &'static str {
        "segments"
    }
}

struct World {
    memory: Arc<SimMemory>,
    queues: Arc<SimQueues>,
    layers: Arc<dyn MemoryResource>,
}

type Sides = (Arc<dyn Vmm>, Arc<dyn Order>);

fn sides(memory: &Arc<SimMemory>, queues: &Arc<SimQueues>) -> Sides {
    let vmm = Arc::<SimMemory>::clone(memory);
    let order = Arc::<SimQueues>::clone(queues);
    (vmm, order)
}

fn world(queues: SimQueues, segments: bool) -> World {
    let memory = Arc::new(SimMemory::new(GRANULE, LIMIT));
    let queues = Arc::new(queues);
    let (vmm, order) = sides(&memory, &queues);
    let bottom: Arc<dyn MemoryResource> = if segments {
        let source = Arc::new(SimSegments(Arc::clone(&memory)));
        Arc::new(SegmentPool::new(source, order, 256 << 10))
    } else {
        let size = ArenaSize::of(64 << 20);
        Arc::new(Arena::new(vmm, order, size).unwrap())
    };
    let below = Arc::clone(&bottom);
    let rescued = OnOom::new(bottom, 1, move |need| below.trim(need));
    let layers = Arc::new(Track::new(Arc::new(rescued), || "test".to_owned()));
    World {
        memory,
        queues,
        layers,
    }
}

/// A random program: up to 12 live blocks, each written and later checked on some queue, in an order of
/// steps that the seed decides. Gives the number of corrupted blocks.
fn corruptions(w: &World, seed: u64) -> u64 {
    let mut dice = Dice::new(seed);
    let wrong = Arc::new(AtomicU64::new(0));
    let mut live: Vec<(Addr, u64, u8, Queue)> = Vec::new();
    for step in 0..120u8 {
        let queue = Queue(u32::try_from(dice.roll(3)).unwrap());
        if live.len() < 12 && dice.roll(2) == 0 {
            let bytes = 1 + dice.roll(60_000);
            let Ok(addr) = w.layers.alloc(bytes, queue) else {
                continue;
            };
            assert_eq!(addr.offset % 512, 0);
            let (memory, failed) = (Arc::clone(&w.memory), Arc::clone(&wrong));
            w.queues.push(queue, move || {
                let whole = memory.fill(addr, bytes, step);
                failed.fetch_add(u64::from(!whole), SeqCst);
            });
            live.push((addr, bytes, step, queue));
        } else if !live.is_empty() {
            let index = usize::try_from(dice.roll(live.len() as u64)).unwrap();
            let (addr, bytes, value, queue) = live.swap_remove(index);
            let (memory, failed) = (Arc::clone(&w.memory), Arc::clone(&wrong));
            w.queues.push(queue, move || {
                let whole = memory.holds(addr, bytes, value);
                failed.fetch_add(u64::from(!whole), SeqCst);
            });
            w.layers.free(addr, bytes, queue);
        }
        for _ in 0..dice.roll(4) {
            w.queues.step(Queue(u32::try_from(dice.roll(3)).unwrap()));
        }
        if dice.roll(40) == 0 {
            w.layers.trim(dice.roll(LIMIT));
        }
    }
    for (addr, bytes, _, queue) in live {
        w.layers.free(addr, bytes, queue);
    }
    w.queues.finish();
    wrong.load(SeqCst)
}

#[test]
fn no_schedule_of_three_queues_corrupts_a_block() {
    let mut waits = 0;
    for seed in 0..3000 {
        let w = world(SimQueues::default(), seed % 3 == 2);
        assert_eq!(corruptions(&w, seed), 0, "seed {seed}");
        w.layers.trim(u64::MAX);
        let info = w.layers.info();
        assert_eq!((info.in_use, info.reserved), (0, 0), "seed {seed}");
        assert_eq!(w.memory.mapped(), 0, "seed {seed}");
        waits += w.queues.waits();
    }
    assert!(waits > 3000, "queues share blocks: {waits}");
}

#[test]
fn without_the_wait_nearly_every_schedule_is_caught() {
    let caught = (0..300).filter(|&seed| {
        let w = world(SimQueues::without_waits(), false);
        corruptions(&w, seed) > 0
    });
    let caught = caught.count();
    assert!(caught >= 285, "{caught} of 300");
}

#[test]
fn every_failing_map_leaves_the_arena_whole() {
    let mut failed = 0;
    for (seed, segments) in (0..12).flat_map(|seed| [(seed, false), (seed, true)]) {
        let clean = world(SimQueues::default(), segments);
        assert_eq!(corruptions(&clean, seed), 0);
        for at in 1..=clean.memory.maps() {
            let w = world(SimQueues::default(), segments);
            w.memory.fail_in(Some(at));
            assert_eq!(corruptions(&w, seed), 0, "seed {seed} map {at}");
            w.layers.trim(u64::MAX);
            assert_eq!(w.layers.info().in_use, 0, "seed {seed} map {at}");
            assert_eq!(w.memory.mapped(), 0, "seed {seed} map {at}");
            failed += 1;
        }
    }
    assert!(failed > 100, "{failed}");
}

fn arena(memory: &Arc<SimMemory>, queues: &Arc<SimQueues>) -> Arena {
    let (vmm, order) = sides(memory, queues);
    Arena::new(vmm, order, ArenaSize::of(64 << 20)).unwrap()
}

#[test]
fn neighbours_merge_and_the_top_goes_back() {
    let (memory, queues) = (Arc::new(SimMemory::new(GRANULE, LIMIT)), Arc::default());
    let arena = arena(&memory, &queues);
    let q = Queue(0);
    let blocks: Vec<Addr> = (0..8).map(|_| arena.alloc(GRANULE, q).unwrap()).collect();
    for addr in &blocks[2..6] {
        arena.free(*addr, GRANULE, q);
    }
    queues.finish();
    assert_eq!(arena.info().largest_free, 4 * GRANULE);
    let whole = arena.alloc(4 * GRANULE, q).unwrap();
    assert_eq!(whole, blocks[2], "best fit in the gap, without growth");
    assert_eq!(arena.info().reserved, 8 * GRANULE);
    arena.free(whole, 4 * GRANULE, q);
    assert_eq!(
        arena.trim(2 * GRANULE),
        2 * GRANULE,
        "no more than asked for"
    );
    assert_eq!(arena.trim(2 * GRANULE), 2 * GRANULE);
    arena.free(blocks[7], GRANULE, q);
    assert_eq!(arena.trim(u64::MAX), GRANULE);
    for addr in [blocks[0], blocks[1], blocks[6]] {
        arena.free(addr, GRANULE, q);
    }
    assert_eq!(arena.trim(u64::MAX), 3 * GRANULE);
    assert_eq!(memory.mapped(), 0);
}

#[test]
fn a_block_in_use_by_another_queue_is_the_last_choice() {
    let (memory, queues) = (Arc::new(SimMemory::new(GRANULE, LIMIT)), Arc::default());
    let arena = arena(&memory, &queues);
    let a = arena.alloc(1024, Queue(0)).unwrap();
    let fence = arena.alloc(512, Queue(0)).unwrap();
    let b = arena.alloc(2048, Queue(1)).unwrap();
    let fence2 = arena.alloc(512, Queue(0)).unwrap();
    arena.free(a, 1024, Queue(0));
    arena.free(b, 2048, Queue(1));
    let mine = arena.alloc(1000, Queue(1)).unwrap();
    assert_eq!(
        mine, b,
        "its own block needs no waiting, though it is longer"
    );
    assert_eq!(queues.waits(), 0);
    arena.free(mine, 1000, Queue(1));
    arena.free(fence, 512, Queue(0));
    arena.free(fence2, 512, Queue(0));
    queues.finish();
    arena.trim(u64::MAX);
    assert_eq!(memory.mapped(), 0);
}

#[test]
fn a_limit_counts_what_waits_for_reuse_too() {
    let (memory, queues) = (Arc::new(SimMemory::new(GRANULE, LIMIT)), Arc::default());
    let limit = Limit::new(Arc::new(arena(&memory, &queues)), 10 * GRANULE);
    let q = Queue(0);
    let a = limit.alloc(6 * GRANULE, q).unwrap();
    let b = limit.alloc(4 * GRANULE, q).unwrap();
    assert!(limit.alloc(1, q).is_err());
    limit.free(a, 6 * GRANULE, q);
    assert_eq!(memory.mapped(), 10 * GRANULE, "kept for re-use");
    limit.set(8 * GRANULE);
    assert!(memory.mapped() <= 8 * GRANULE, "{}", memory.mapped());
    limit.set_cached(0);
    limit.free(b, 4 * GRANULE, q);
    assert_eq!(memory.mapped(), 0, "nothing is kept");
    assert!(limit.alloc(9 * GRANULE, q).is_err());
    assert_eq!((limit.used(), limit.peak()), (0, 10 * GRANULE));
}

/// Gets and frees blocks of many sizes.
fn turn_over(memory: &dyn MemoryResource, queue: Queue) {
    let mut dice = Dice::new(u64::from(queue.0) + 1);
    let mut live = Vec::new();
    for _ in 0..2000 {
        let bytes = dice.roll(20_000);
        if dice.roll(2) == 0 {
            live.push((memory.alloc(bytes, queue).unwrap(), bytes));
        } else if let Some((addr, bytes)) = live.pop() {
            memory.free(addr, bytes, queue);
        }
    }
    for (addr, bytes) in live {
        memory.free(addr, bytes, queue);
    }
}

#[test]
fn eight_threads_share_an_arena() {
    let (memory, queues) = (Arc::new(SimMemory::new(GRANULE, 1 << 26)), Arc::default());
    let layers = Track::new(Arc::new(arena(&memory, &queues)), String::new);
    std::thread::scope(|scope| {
        for thread in 0..8u32 {
            let layers = &layers;
            scope.spawn(move || turn_over(layers, Queue(thread)));
        }
    });
    assert!(layers.leaks().is_empty());
    layers.trim(u64::MAX);
    assert_eq!(memory.mapped(), 0);
}
