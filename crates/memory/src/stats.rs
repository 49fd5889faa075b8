//! Counters of what was allocated, in scopes.

use crate::{Addr, MemInfo, MemoryError, MemoryResource, Piece};
use arrayloom_guard::Lock;
use arrayloom_types::Queue;
use std::sync::Arc;

/// What happened within a scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes allocated less bytes freed; negative when the scope freed what stood before it.
    pub now: i64,
    /// The highest `now`.
    pub peak: i64,
    /// Bytes allocated.
    pub total: u64,
    /// Pieces allocated.
    pub count: u64,
}

impl Counters {
    fn add(&mut self, bytes: u64) {
        self.now += signed(bytes);
        self.peak = self.peak.max(self.now);
        self.total += bytes;
        self.count += 1;
    }

    /// Takes in what happened in a scope that stood within this one.
    fn fold(&mut self, inner: &Counters) {
        self.peak = self.peak.max(self.now + inner.peak);
        self.now += inner.now;
        self.total += inner.total;
        self.count += inner.count;
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Counts what passes through. Scopes nest; a closed scope counts for the one around it.
pub struct Stats {
    upstream: Arc<dyn MemoryResource>,
    scopes: Lock<Scopes>,
}

/// The outermost scope and those opened within it.
#[derive(Default)]
struct Scopes {
    root: Counters,
    open: Vec<Counters>,
}

impl Scopes {
    fn innermost(&mut self) -> &mut Counters {
        self.open.last_mut().unwrap_or(&mut self.root)
    }

    /// The root as if all scopes were closed.
    fn folded(&self) -> Counters {
        let mut inner = Counters::default();
        for scope in self.open.iter().rev() {
            let mut outer = *scope;
            outer.fold(&inner);
            inner = outer;
        }
        let mut root = self.root;
        root.fold(&inner);
        root
    }
}

impl Stats {
    /// Counts over `upstream`, from zero.
    pub fn new(upstream: Arc<dyn MemoryResource>) -> Stats {
        Stats {
            upstream,
            scopes: Lock::new(Scopes::default()),
        }
    }

    /// Everything since the start, open scopes included.
    pub fn counters(&self) -> Counters {
        self.scopes.with(|scopes| scopes.folded())
    }

    /// Opens a scope: what follows is counted from zero.
    pub fn push(&self) {
        self.scopes
            .with(|scopes| scopes.open.push(Counters::default()));
    }

    /// Closes the innermost scope and tells what happened in it; `None` when none is open.
    pub fn pop(&self) -> Option<Counters> {
        self.scopes.with(|scopes| {
            let inner = scopes.open.pop()?;
            scopes.innermost().fold(&inner);
            Some(inner)
        })
    }
}

impl MemoryResource for Stats {
    fn get(&self, bytes: u64, queue: Queue) -> Result<Piece, MemoryError> {
        let piece = self.upstream.get(bytes, queue)?;
        self.scopes.with(|scopes| scopes.innermost().add(bytes));
        Ok(piece)
    }

    fn free(&self, addr: Addr, bytes: u64, queue: Queue) {
        self.upstream.free(addr, bytes, queue);
        self.scopes
            .with(|scopes| scopes.innermost().now -= signed(bytes));
    }

    fn trim(&self, want: u64) -> u64 {
        self.upstream.trim(want)
    }

    fn info(&self) -> MemInfo {
        self.upstream.info()
    }

    fn name(&self) -> &'static str {
        "stats"
    }

    fn hold_for_fork(&self) {
        self.scopes.acquire();
        self.upstream.hold_for_fork();
    }

    fn release_after_fork(&self) {
        self.upstream.release_after_fork();
        self.scopes.release();
    }
}
