//! A hard bound on bytes in use, a soft one on bytes that wait for re-use.

use crate::{Addr, LimitError, MemInfo, MemoryError, MemoryResource, Piece};
use arrayloom_types::Queue;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Refuses what would bring the bytes in use above a limit.
///
/// Bytes count as they are asked for. What waits for re-use is given back when it passes a bound of its
/// own, or together with what is in use the limit.
pub struct Limit {
    upstream: Arc<dyn MemoryResource>,
    most: AtomicU64,
    cached: AtomicU64,
    used: AtomicU64,
    peak: AtomicU64,
}

impl Limit {
    /// Bounds `upstream` to `limit` bytes, of which none is in use yet.
    pub fn new(upstream: Arc<dyn MemoryResource>, limit: u64) -> Limit {
        Limit {
            upstream,
            most: AtomicU64::new(limit),
            cached: AtomicU64::new(u64::MAX),
            used: AtomicU64::new(0),
            peak: AtomicU64::new(0),
        }
    }

    /// Changes the limit; gives the old one. What is in use beyond the new one stays.
    pub fn set(&self, limit: u64) -> u64 {
        let old = self.most.swap(limit, Relaxed);
        self.give_back_surplus();
        old
    }

    /// The limit.
    pub fn most(&self) -> u64 {
        self.most.load(Relaxed)
    }

    /// Bytes in use.
    pub fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// The highest number of bytes in use so far, or since the last call of [`Limit::restart_peak`].
    pub fn peak(&self) -> u64 {
        self.peak.load(Relaxed)
    }

    /// Counts the highest number anew from now.
    pub fn restart_peak(&self) {
        self.peak.store(self.used.load(Relaxed), Relaxed);
    }

    /// Bytes that may wait for re-use.
    pub fn cached(&self) -> u64 {
        self.cached.load(Relaxed)
    }

    /// Changes how many bytes may wait for re-use; gives the old number.
    pub fn set_cached(&self, bytes: u64) -> u64 {
        let old = self.cached.swap(bytes, Relaxed);
        self.give_back_surplus();
        old
    }

    fn give_back_surplus(&self) {
        let (most, cached) = (self.most.load(Relaxed), self.cached.load(Relaxed));
        if most == u64::MAX && cached == u64::MAX {
            return;
        }
        let info = self.upstream.info();
        let over_limit = info.reserved.saturating_sub(most);
        let surplus = info.cached().saturating_sub(cached).max(over_limit);
        if surplus > 0 && info.cached() > 0 {
            self.upstream.trim(surplus);
        }
    }
}

impl MemoryResource for Limit {
    fn get(&self, bytes: u64, queue: Queue) -> Result<Piece, MemoryError> {
        let most = self.most.load(Relaxed);
        let fits = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= most);
        let before = self
            .used
            .fetch_update(Relaxed, Relaxed, fits)
            .map_err(|used| MemoryError::OutOfMemory {
                need: bytes,
                free: most.saturating_sub(used),
                by: self.name(),
            })?;
        match self.upstream.get(bytes, queue) {
            Ok(piece) => {
                self.peak.fetch_max(before + bytes, Relaxed);
                if most < u64::MAX {
                    self.give_back_surplus();
                }
                Ok(piece)
            }
            Err(error) => {
                self.used.fetch_sub(bytes, Relaxed);
                Err(error)
            }
        }
    }

    fn free(&self, addr: Addr, bytes: u64, queue: Queue) {
        self.upstream.free(addr, bytes, queue);
        let before = self.used.fetch_sub(bytes, Relaxed);
        debug_assert!(before >= bytes, "more bytes freed than were in use");
        if self.cached.load(Relaxed) < u64::MAX {
            self.give_back_surplus();
        }
    }

    fn trim(&self, want: u64) -> u64 {
        self.upstream.trim(want)
    }

    fn info(&self) -> MemInfo {
        let upstream = self.upstream.info();
        MemInfo {
            in_use: self.used.load(Relaxed),
            peak: self.peak.load(Relaxed),
            limit: self.most.load(Relaxed).min(upstream.limit),
            ..upstream
        }
    }

    fn name(&self) -> &'static str {
        "limit"
    }

    fn hold_for_fork(&self) {
        self.upstream.hold_for_fork();
    }

    fn release_after_fork(&self) {
        self.upstream.release_after_fork();
    }
}

/// The bytes that a text names: `1048576`, `512MiB`, `1.5 GB`, or a share of `total` such as `50%`.
///
/// # Errors
/// [`LimitError`] when the text is none of these.
///
/// ```
/// use arrayloom_memory::parse_limit;
/// assert_eq!(parse_limit("2GiB", 0), Ok(2 << 30));
/// assert_eq!(parse_limit("50%", 1000), Ok(500));
/// ```
pub fn parse_limit(text: &str, total: u64) -> Result<u64, LimitError> {
    let bad = || LimitError { text: text.into() };
    let word = text.trim();
    let end = word
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(word.len());
    let unit = word[end..].trim().to_ascii_lowercase();
    if unit.is_empty() && !word.contains('.') {
        return word.parse().map_err(|_not_a_number| bad());
    }
    let number: f64 = word[..end].parse().map_err(|_not_a_number| bad())?;
    #[expect(clippy::cast_precision_loss, reason = "a share needs no exact bytes")]
    let factor = match unit.as_str() {
        "%" if number <= 100.0 => total as f64 / 100.0,
        "b" | "" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "k" | "kib" => 1024.0,
        "m" | "mib" => f64::from(1 << 20),
        "g" | "gib" => f64::from(1 << 30),
        "t" | "tib" => f64::from(1 << 30) * 1024.0,
        _ => return Err(bad()),
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number has no sign, and the cast saturates"
    )]
    let bytes = (number * factor) as u64;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        let read = |text| parse_limit(text, 10_000);
        assert_eq!(read("0"), Ok(0));
        assert_eq!(read("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(read(" 64 KiB "), Ok(65_536));
        assert_eq!(read("1.5k"), Ok(1536));
        assert_eq!(read("2GB"), Ok(2_000_000_000));
        assert_eq!(read("3TiB"), Ok(3 << 40));
        assert_eq!(read("12.5%"), Ok(1250));
        for bad in ["", "%", "-1", "half", "101%", "1.2.3", "5 elephants", "."] {
            assert_eq!(read(bad), Err(LimitError { text: bad.into() }), "{bad}");
        }
    }
}
