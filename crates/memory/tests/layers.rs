//! Every layer does its one thing, and a stack of them loses nothing when a request fails.

use arrayloom_guard::{PagePool, PoolLimits};
use arrayloom_memory::{
    Addr, Counters, HostPool, Limit, MemInfo, MemoryError, MemoryResource, OnOom, Stats,
};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};

fn pool() -> Arc<PagePool> {
    Arc::new(PagePool::new(PoolLimits {
        cached_bytes: 1 << 24,
        cached_blocks: 64,
    }))
}

/// Refuses request number `at`, counted from one, and none after it.
struct FailAt {
    upstream: Arc<dyn MemoryResource>,
    at: u64,
    seen: AtomicU64,
}

impl FailAt {
    fn over(upstream: Arc<dyn MemoryResource>, at: u64) -> FailAt {
        FailAt {
            upstream,
            at,
            seen: AtomicU64::new(0),
        }
    }
}

impl MemoryResource for FailAt {
    fn alloc(&self, bytes: u64) -> Result<Addr, MemoryError> {
        if self.seen.fetch_add(1, Relaxed) + 1 == self.at {
            let by = self.name();
            return Err(MemoryError::OutOfMemory {
                need: bytes,
                free: 0,
                by,
            });
        }
        self.upstream.alloc(bytes)
    }
    fn free(&self, addr: Addr, bytes: u64) {
        self.upstream.free(addr, bytes);
    }
    fn trim(&self, want: u64) -> u64 {
        self.upstream.trim(want)
    }
    fn info(&self) -> MemInfo {
        self.upstream.info()
    }
    fn name(&self) -> &'static str {
        "fail"
    }
}

const SIZES: [u64; 12] = [
    1,
    0,
    5000,
    70_000,
    512,
    4096,
    1 << 20,
    3,
    8191,
    65_536,
    100,
    1 << 18,
];

/// Allocates all sizes, frees every second one on the way, then the rest; frees all on failure.
fn program(memory: &dyn MemoryResource) -> Result<(), MemoryError> {
    let mut held = Vec::new();
    let mut result = Ok(());
    for (i, &bytes) in SIZES.iter().enumerate() {
        match memory.alloc(bytes) {
            Ok(addr) => held.push((addr, bytes)),
            Err(error) => {
                result = Err(error);
                break;
            }
        }
        if i % 2 == 1 {
            let (addr, bytes) = held.remove(held.len() / 2);
            memory.free(addr, bytes);
        }
    }
    for (addr, bytes) in held {
        memory.free(addr, bytes);
    }
    result
}

#[test]
fn host_memory_is_apart_and_comes_back() {
    let pool = pool();
    let host = HostPool::new(Arc::clone(&pool));
    let held: Vec<_> = SIZES.iter().map(|&n| (host.alloc(n).unwrap(), n)).collect();
    for (i, (a, n)) in held.iter().enumerate() {
        assert_eq!(a.0 % 512, 0);
        assert!(
            held[..i]
                .iter()
                .all(|(b, m)| a.0 + n <= b.0 || b.0 + m <= a.0 || *n * m == 0)
        );
    }
    let info = host.info();
    assert_eq!(info.in_use, SIZES.iter().sum::<u64>());
    assert!(info.reserved >= info.in_use);
    for (a, n) in held {
        host.free(a, n);
    }
    assert_eq!(host.info().in_use, 0);
    assert_eq!(host.info().peak, info.in_use);
    assert_eq!(pool.stats().live_bytes, 0);
    assert!(host.trim(u64::MAX) > 0);
    assert_eq!(host.info().reserved, 0);
    for absurd in [u64::MAX, 1 << 60] {
        let error = host.alloc(absurd).unwrap_err();
        assert!(matches!(error, MemoryError::OutOfMemory { need, .. } if need == absurd));
    }
    assert_eq!(host.info().in_use, 0);
}

#[test]
fn what_was_never_freed_goes_back_with_the_resource() {
    let pool = pool();
    let host = HostPool::new(Arc::clone(&pool));
    host.alloc(100_000).unwrap();
    drop(host);
    assert_eq!(pool.stats().live_bytes, 0);
}

#[test]
fn a_limit_is_exact() {
    let limit = Limit::new(Arc::new(HostPool::new(pool())), 1000);
    let a = limit.alloc(600).unwrap();
    let refused = limit.alloc(401).unwrap_err();
    assert_eq!(
        refused,
        MemoryError::OutOfMemory {
            need: 401,
            free: 400,
            by: "limit"
        }
    );
    assert_eq!(
        refused.to_string(),
        "out of memory: 401 bytes wanted, 400 bytes free (limit); free arrays or raise the limit"
    );
    let b = limit.alloc(400).unwrap();
    assert_eq!(limit.info().free(), 0);
    limit.free(a, 600);
    assert!(limit.alloc(u64::MAX).is_err());
    limit.free(b, 400);
    assert_eq!((limit.info().in_use, limit.info().peak), (0, 1000));
}

#[test]
fn scopes_nest() {
    let stats = Stats::new(Arc::new(HostPool::new(pool())));
    let outer = stats.alloc(100).unwrap();
    stats.push();
    let inner = stats.alloc(50).unwrap();
    stats.free(outer, 100);
    stats.push();
    let escaped = stats.alloc(7).unwrap();
    assert_eq!(
        stats.pop().unwrap(),
        Counters {
            now: 7,
            peak: 7,
            total: 7,
            count: 1
        }
    );
    stats.free(inner, 50);
    assert_eq!(
        stats.pop().unwrap(),
        Counters {
            now: -93,
            peak: 50,
            total: 57,
            count: 2
        }
    );
    assert_eq!(stats.pop(), None);
    assert_eq!(
        stats.counters(),
        Counters {
            now: 7,
            peak: 150,
            total: 157,
            count: 3
        }
    );
    stats.free(escaped, 7);
    assert_eq!(stats.counters().now, 0);
}

#[test]
fn rescue_stops_when_nothing_is_freed_or_the_rounds_are_over() {
    for (frees, rounds, calls) in [(0, 5, 1), (1, 5, 5), (1, 0, 0)] {
        let seen = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&seen);
        let limit = Arc::new(Limit::new(Arc::new(HostPool::new(pool())), 10));
        let memory = OnOom::new(limit, rounds, move |need| {
            assert_eq!(need, 11);
            counted.fetch_add(1, Relaxed);
            frees
        });
        assert!(memory.alloc(11).is_err());
        assert_eq!(seen.load(Relaxed), calls);
    }
}

#[test]
fn rescue_may_use_the_resource_and_succeeds() {
    let limit: Arc<dyn MemoryResource> = Arc::new(Limit::new(Arc::new(HostPool::new(pool())), 100));
    let cached = limit.alloc(80).unwrap();
    let whole: Arc<OnceLock<Weak<OnOom>>> = Arc::default();
    let this = Arc::clone(&whole);
    let memory = Arc::new(OnOom::new(limit, 3, move |_need| {
        let memory = this.get().unwrap().upgrade().unwrap();
        assert!(memory.alloc(90).is_err(), "no rescue within a rescue");
        memory.free(cached, 80);
        80
    }));
    whole.set(Arc::downgrade(&memory)).unwrap();
    let addr = memory.alloc(90).unwrap();
    memory.free(addr, 90);
    assert_eq!(memory.info().in_use, 0);
}

/// A stack of all layers over a pool, with request `at` refused.
fn stack(pool: &Arc<PagePool>, at: u64, rounds: u32) -> Stats {
    let host: Arc<dyn MemoryResource> = Arc::new(HostPool::new(Arc::clone(pool)));
    let limited: Arc<dyn MemoryResource> = Arc::new(Limit::new(host, 1 << 30));
    let failing: Arc<dyn MemoryResource> = Arc::new(FailAt::over(limited, at));
    Stats::new(Arc::new(OnOom::new(failing, rounds, |need| need)))
}

#[test]
fn a_failure_anywhere_leaks_nothing() {
    let requests = SIZES.len() as u64;
    for at in 1..=requests + 1 {
        for rounds in [0, 1] {
            let pool = pool();
            let memory = stack(&pool, at, rounds);
            let result = program(&memory);
            // Even without rounds a request is tried twice, so a single failure is survived.
            assert!(
                result.is_ok(),
                "request {at} of {requests}, {rounds} rounds: {result:?}"
            );
            assert_eq!(memory.counters().now, 0);
            assert_eq!(memory.info().in_use, 0);
            assert_eq!(pool.stats().live_bytes, 0);
        }
        let pool = pool();
        let host: Arc<dyn MemoryResource> = Arc::new(HostPool::new(Arc::clone(&pool)));
        let limited: Arc<dyn MemoryResource> = Arc::new(Limit::new(host, 1 << 30));
        let memory = Stats::new(Arc::new(FailAt::over(limited, at)));
        assert_eq!(program(&memory).is_err(), at <= requests);
        assert_eq!(memory.counters().now, 0);
        assert_eq!(memory.info().in_use, 0);
        assert_eq!(pool.stats().live_bytes, 0);
    }
}

#[test]
fn many_threads_keep_the_books() {
    let pool = pool();
    let host: Arc<dyn MemoryResource> = Arc::new(HostPool::new(Arc::clone(&pool)));
    let limited: Arc<dyn MemoryResource> = Arc::new(Limit::new(host, 3 << 20));
    let below = Arc::clone(&limited);
    let memory = Stats::new(Arc::new(OnOom::new(limited, 3, move |need| {
        below.trim(need)
    })));
    let work = &|thread: u64| {
        for round in 0..200 {
            if thread.is_multiple_of(2) {
                // May meet the limit; the books must be right in any case.
                let _may_fail = program(&memory);
            } else if let Ok(addr) = memory.alloc(round * 64) {
                memory.free(addr, round * 64);
            }
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || work(thread));
        }
    });
    assert_eq!(memory.counters().now, 0);
    assert!(memory.counters().count > 1000);
    assert_eq!(memory.info().in_use, 0);
    assert!(memory.info().peak <= 3 << 20);
    assert_eq!(pool.stats().live_bytes, 0);
}
