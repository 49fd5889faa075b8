//! Counted memory: every buffer of a run comes from a [`Meter`] and gives its bytes back when dropped.

use crate::VolumeError;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A budget in bytes, with what is in use and what was in use at most.
#[derive(Debug)]
pub struct Meter {
    limit: AtomicU64,
    used: AtomicU64,
    peak: AtomicU64,
    allocations: AtomicU64,
    fail_at: AtomicU64,
}

impl Meter {
    /// A budget of `limit` bytes.
    pub fn new(limit: u64) -> Arc<Meter> {
        Arc::new(Meter {
            limit: AtomicU64::new(limit),
            used: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            allocations: AtomicU64::new(0),
            fail_at: AtomicU64::new(u64::MAX),
        })
    }

    /// Refuses allocation number `n` once, counted from now; for tests of what happens then.
    pub fn fail_at(&self, n: u64) {
        self.fail_at
            .store(self.allocations.load(Relaxed) + n, Relaxed);
    }

    /// Bytes in use.
    pub fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// Most bytes that were in use at a time.
    pub fn peak(&self) -> u64 {
        self.peak.load(Relaxed)
    }

    /// Allocations so far, refused ones included.
    pub fn allocations(&self) -> u64 {
        self.allocations.load(Relaxed)
    }

    /// The budget.
    pub fn limit(&self) -> u64 {
        self.limit.load(Relaxed)
    }

    fn take(&self, bytes: u64) -> Result<(), VolumeError> {
        let number = self.allocations.fetch_add(1, Relaxed);
        let limit = self.limit();
        let fits = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= limit);
        let refused = |used| VolumeError::OutOfMemory {
            need: bytes,
            used,
            limit,
        };
        if number == self.fail_at.load(Relaxed) {
            return Err(refused(self.used()));
        }
        let before = self
            .used
            .fetch_update(Relaxed, Relaxed, fits)
            .map_err(refused)?;
        self.peak.fetch_max(before + bytes, Relaxed);
        Ok(())
    }
}

/// Bytes that are taken outside of this crate, such as those of a decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserve(pub u64);

impl Reserve {
    /// Counts the bytes until the result is dropped.
    ///
    /// # Errors
    /// [`VolumeError::OutOfMemory`] beyond the budget.
    pub(crate) fn take(self, meter: &Arc<Meter>) -> Result<Reserved, VolumeError> {
        if self.0 > 0 {
            meter.take(self.0)?;
        }
        Ok(Reserved(self.0, Arc::clone(meter)))
    }
}

/// Counted bytes; see [`Reserve`].
pub(crate) struct Reserved(u64, Arc<Meter>);

impl Drop for Reserved {
    fn drop(&mut self) {
        self.1.used.fetch_sub(self.0, Relaxed);
    }
}

/// Zeroed bytes, aligned for every element type.
#[derive(Debug)]
pub struct Buf {
    words: Vec<u64>,
    bytes: usize,
    meter: Arc<Meter>,
}

impl Buf {
    /// `bytes` zeroed bytes.
    ///
    /// # Errors
    /// [`VolumeError::OutOfMemory`] if they do not fit the budget or the system refuses them.
    pub fn new(meter: &Arc<Meter>, bytes: usize) -> Result<Buf, VolumeError> {
        let words = bytes.div_ceil(8);
        let counted = 8 * words as u64;
        meter.take(counted)?;
        let mut out = Buf {
            words: Vec::new(),
            bytes,
            meter: Arc::clone(meter),
        };
        if out.words.try_reserve_exact(words).is_err() {
            let used = meter.used.fetch_sub(counted, Relaxed);
            return Err(VolumeError::OutOfMemory {
                need: counted,
                used,
                limit: meter.limit(),
            });
        }
        out.words.resize(words, 0);
        Ok(out)
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.bytes]
    }

    /// The bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.bytes]
    }

    /// The bytes as elements.
    pub fn of<T: bytemuck::Pod>(&self) -> &[T] {
        bytemuck::cast_slice(self.bytes())
    }

    /// The bytes as elements, to be written.
    pub fn of_mut<T: bytemuck::Pod>(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(self.bytes_mut())
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// True without bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}

impl Drop for Buf {
    fn drop(&mut self) {
        self.meter
            .used
            .fetch_sub(8 * self.words.len() as u64, Relaxed);
    }
}

/// Elements of working memory of one type.
#[derive(Debug)]
pub struct Scratch<T> {
    buf: Buf,
    kind: std::marker::PhantomData<T>,
}

impl<T: bytemuck::Pod> Scratch<T> {
    /// `len` zeroed elements.
    ///
    /// # Errors
    /// As [`Buf::new`].
    pub fn new(meter: &Arc<Meter>, len: usize) -> Result<Scratch<T>, VolumeError> {
        let buf = Buf::new(meter, len * size_of::<T>())?;
        Ok(Scratch {
            buf,
            kind: std::marker::PhantomData,
        })
    }

    /// The elements.
    pub fn get(&self) -> &[T] {
        self.buf.of()
    }

    /// The elements, to be written.
    pub fn get_mut(&mut self) -> &mut [T] {
        self.buf.of_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_refused_and_given_back() {
        let meter = Meter::new(100);
        let a = Buf::new(&meter, 60).unwrap();
        assert_eq!((meter.used(), a.len(), a.bytes().len()), (64, 60, 60));
        assert!(Buf::new(&meter, 40).unwrap_err().is_memory());
        drop(a);
        assert_eq!((meter.used(), meter.peak()), (0, 64));
        meter.fail_at(1);
        assert!(Buf::new(&meter, 8).is_ok());
        assert!(Buf::new(&meter, 8).is_err());
        assert!(Buf::new(&meter, 8).is_ok());
    }
}
