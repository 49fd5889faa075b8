//! A list of everything that is out, with a note of who has it.

use crate::{Addr, MemInfo, MemoryError, MemoryResource, Piece};
use arrayloom_guard::Lock;
use arrayloom_types::Queue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Tells who asks for memory, such as the operation and the line.
type Note = Box<dyn Fn() -> String + Send + Sync>;

/// A piece that is out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leak {
    /// Where it starts.
    pub addr: Addr,
    /// Its bytes.
    pub bytes: u64,
    /// Who asked for it.
    pub note: String,
}

/// Remembers every piece until it is freed, and checks that no byte is given out twice.
pub struct Track {
    upstream: Arc<dyn MemoryResource>,
    note: Note,
    live: Lock<BTreeMap<Addr, (u64, String)>>,
}

impl Track {
    /// Watches `upstream`; `note` is asked at every request.
    pub fn new(
        upstream: Arc<dyn MemoryResource>,
        note: impl Fn() -> String + Send + Sync + 'static,
    ) -> Track {
        Track {
            upstream,
            note: Box::new(note),
            live: Lock::new(BTreeMap::new()),
        }
    }

    /// Everything that is out.
    pub fn leaks(&self) -> Vec<Leak> {
        let leak = |(&addr, (bytes, note)): (&Addr, &(u64, String))| Leak {
            addr,
            bytes: *bytes,
            note: note.clone(),
        };
        self.live.with(|live| live.iter().map(leak).collect())
    }
}

impl MemoryResource for Track {
    fn get(&self, bytes: u64, queue: Queue) -> Result<Piece, MemoryError> {
        let piece = self.upstream.get(bytes, queue)?;
        let (note, addr) = ((self.note)(), piece.addr);
        let overlap = self.live.with(|live| {
            let end = addr.plus(bytes.max(1));
            let before = live.range(..end).next_back();
            let hit = before.is_some_and(|(at, (len, _))| {
                at.buf == addr.buf && at.offset + (*len).max(1) > addr.offset
            });
            live.insert(addr, (bytes, note));
            hit
        });
        assert!(!overlap, "{addr:?} was given out while in use");
        Ok(piece)
    }

    fn free(&self, addr: Addr, bytes: u64, queue: Queue) {
        let known = self.live.with(|live| live.remove(&addr));
        assert!(
            known.is_some_and(|(asked, _)| asked == bytes),
            "{bytes} bytes at {addr:?} were never given out"
        );
        self.upstream.free(addr, bytes, queue);
    }

    fn trim(&self, want: u64) -> u64 {
        self.upstream.trim(want)
    }

    fn info(&self) -> MemInfo {
        self.upstream.info()
    }

    fn name(&self) -> &'static str {
        "track"
    }

    fn hold_for_fork(&self) {
        self.live.acquire();
        self.upstream.hold_for_fork();
    }

    fn release_after_fork(&self) {
        self.upstream.release_after_fork();
        self.live.release();
    }
}
