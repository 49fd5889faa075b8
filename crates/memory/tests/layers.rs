//! Every layer does its one thing, and a stack of them loses nothing when a request fails.

#![expect(clippy::unwrap_used, reason = "a test helper may fail the test")]

use arrayloom_memory::{
    Addr, Counters, Limit, MemInfo, MemoryError, MemoryResource, OnOom, Piece, Stats, host_memory,
};
use arrayloom_types::Queue;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};

const Q: Queue = Queue(0);

fn host() -> Arc<dyn MemoryResource> {
    host_memory().unwrap()
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
    fn get(&self, bytes: u64, queue: Queue) -> Result<Piece, MemoryError> {
        if self.seen.fetch_add(1, Relaxed) + 1 == self.at {
            let by = self.name();
            return Err(MemoryError::OutOfMemory {
                need: bytes,
                free: 0,
                by,
            });
        }
        self.upstream.get(bytes, queue)
    }
    fn free(&self, addr: Addr, bytes: u64, queue: Queue) {
        self.upstream.free(addr, bytes, queue);
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
        match memory.alloc(bytes, Q) {
            Ok(addr) => held.push((addr, bytes)),
            Err(error) => {
                result = Err(error);
                break;
            }
        }
        if i % 2 == 1 {
            let (addr, bytes) = held.remove(held.len() / 2);
            memory.free(addr, bytes, Q);
        }
    }
    for (addr, bytes) in held {
        memory.free(addr, bytes, Q);
    }
    result
}

#[test]
fn host_memory_is_apart_starts_at_pages_and_comes_back() {
    let host = host();
    let pieces: Vec<_> = SIZES
        .iter()
        .map(|&n| (host.alloc(n, Q).unwrap(), n))
        .collect();
    let held: Vec<_> = pieces.iter().map(|(addr, n)| (addr.host(), *n)).collect();
    for (i, (a, n)) in held.iter().enumerate() {
        assert_eq!(a % 4096, 0);
        assert!(
            held[..i]
                .iter()
                .all(|(b, m)| a + n <= *b || b + m <= *a || *n * m == 0)
        );
    }
    let info = host.info();
    assert!(info.in_use >= SIZES.iter().sum::<u64>());
    assert!(info.reserved >= info.in_use);
    for (addr, n) in pieces {
        host.free(addr, n, Q);
    }
    assert_eq!(host.info().in_use, 0);
    assert!(host.trim(u64::MAX) > 0);
    assert_eq!(host.info().reserved, 0);
    for absurd in [u64::MAX, 1 << 60] {
        let error = host.alloc(absurd, Q).unwrap_err();
        assert!(matches!(error, MemoryError::OutOfMemory { need, .. } if need == absurd));
    }
    assert_eq!(host.info().in_use, 0);
}

#[test]
fn a_limit_is_exact() {
    let limit = Limit::new(host(), 1000);
    let a = limit.alloc(600, Q).unwrap();
    let refused = limit.alloc(401, Q).unwrap_err();
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
    let b = limit.alloc(400, Q).unwrap();
    assert_eq!(limit.info().free(), 0);
    limit.free(a, 600, Q);
    assert!(limit.alloc(u64::MAX, Q).is_err());
    limit.free(b, 400, Q);
    assert_eq!((limit.info().in_use, limit.info().peak), (0, 1000));
}

#[test]
fn scopes_nest() {
    let stats = Stats::new(host());
    let outer = stats.alloc(100, Q).unwrap();
    stats.push();
    let inner = stats.alloc(50, Q).unwrap();
    stats.free(outer, 100, Q);
    stats.push();
    let escaped = stats.alloc(7, Q).unwrap();
    assert_eq!(
        stats.pop().unwrap(),
        Counters {
            now: 7,
            peak: 7,
            total: 7,
            count: 1
        }
    );
    stats.free(inner, 50, Q);
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
    stats.free(escaped, 7, Q);
    assert_eq!(stats.counters().now, 0);
}

#[test]
fn rescue_stops_when_nothing_is_freed_or_the_rounds_are_over() {
    for (frees, rounds, calls) in [(0, 5, 1), (1, 5, 5), (1, 0, 0)] {
        let seen = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&seen);
        let limit = Arc::new(Limit::new(host(), 10));
        let memory = OnOom::new(limit, rounds, move |need| {
            assert_eq!(need, 11);
            counted.fetch_add(1, Relaxed);
            frees
        });
        assert!(memory.alloc(11, Q).is_err());
        assert_eq!(seen.load(Relaxed), calls);
    }
}

#[test]
fn rescue_may_use_the_resource_and_succeeds() {
    let limit: Arc<dyn MemoryResource> = Arc::new(Limit::new(host(), 100));
    let cached = limit.alloc(80, Q).unwrap();
    let whole: Arc<OnceLock<Weak<OnOom>>> = Arc::default();
    let this = Arc::clone(&whole);
    let memory = Arc::new(OnOom::new(limit, 3, move |_need| {
        let memory = this.get().unwrap().upgrade().unwrap();
        assert!(memory.alloc(90, Q).is_err(), "no rescue within a rescue");
        memory.free(cached, 80, Q);
        80
    }));
    whole.set(Arc::downgrade(&memory)).unwrap();
    let addr = memory.alloc(90, Q).unwrap();
    memory.free(addr, 90, Q);
    assert_eq!(memory.info().in_use, 0);
}

/// A stack of all layers over a pool, with request `at` refused.
fn stack(host: &Arc<dyn MemoryResource>, at: u64, rounds: u32) -> Stats {
    let limited: Arc<dyn MemoryResource> = Arc::new(Limit::new(Arc::clone(host), 1 << 30));
    let failing: Arc<dyn MemoryResource> = Arc::new(FailAt::over(limited, at));
    Stats::new(Arc::new(OnOom::new(failing, rounds, |need| need)))
}

#[test]
fn a_failure_anywhere_leaks_nothing() {
    let requests = SIZES.len() as u64;
    for at in 1..=requests + 1 {
        for rounds in [0, 1] {
            let host = host();
            let memory = stack(&host, at, rounds);
            let result = program(&memory);
            // Even without rounds a request is tried twice, so a single failure is survived.
            assert!(
                result.is_ok(),
                "request {at} of {requests}, {rounds} rounds: {result:?}"
            );
            assert_eq!(memory.counters().now, 0);
            assert_eq!(memory.info().in_use, 0);
            assert_eq!(host.info().in_use, 0);
        }
        let host = host();
        let limited: Arc<dyn MemoryResource> = Arc::new(Limit::new(Arc::clone(&host), 1 << 30));
        let memory = Stats::new(Arc::new(FailAt::over(limited, at)));
        assert_eq!(program(&memory).is_err(), at <= requests);
        assert_eq!(memory.counters().now, 0);
        assert_eq!(memory.info().in_use, 0);
        assert_eq!(host.info().in_use, 0);
    }
}

#[test]
fn many_threads_keep_the_books() {
    let host = host();
    let limited: Arc<dyn MemoryResource> = Arc::new(Limit::new(Arc::clone(&host), 3 << 20));
    let below = Arc::clone(&limited);
    let memory = Stats::new(Arc::new(OnOom::new(limited, 3, move |need| {
        below.trim(need)
    })));
    let work = &|thread: u64| {
        for round in 0..200 {
            if thread.is_multiple_of(2) {
                // May meet the limit; the books must be right in any case.
                let _may_fail = program(&memory);
            } else if let Ok(addr) = memory.alloc(round * 64, Q) {
                memory.free(addr, round * 64, Q);
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
    assert_eq!(host.info().in_use, 0);
}
