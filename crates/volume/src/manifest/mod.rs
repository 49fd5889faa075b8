//! Chunked files as sources: where chunks lie, how they are decoded, and reading any box of them.
//!
//! A [`Manifest`] is made by whoever knows a format: rules for the names of chunk files, or a table of
//! places. Chunks are read and decoded on several threads, each with buffers of its own, and only the
//! rows inside of the box are copied. A chunk that does not exist is filled with one value.

mod bits;
mod blosc;
mod codec;
mod index;

pub use codec::{Codec, Decoder};
pub use index::{Entry, File, Index, ShardRule};

use crate::block::{axis_len, copy_box};
use crate::expr::Source;
use crate::levels::in_threads;
use crate::{Reserve, VolumeError};
use arrayloom_types::{Coords, DType, Region};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// A volume in chunks.
#[derive(Debug)]
pub struct Manifest {
    /// Extents.
    pub shape: Coords,
    /// Extents of a chunk; those at the end of an axis have them too.
    pub chunk: Coords,
    /// Element type.
    pub dtype: DType,
    /// One element, in the byte order of this machine, that stands where no chunk is.
    pub fill: Vec<u8>,
    /// True if elements lie in the other byte order.
    pub swapped: bool,
    /// True if the last chunk of an axis holds the voxels of the volume only.
    pub cut_at_end: bool,
    /// How chunks are decoded, in this order.
    pub codecs: Vec<Codec>,
    /// Where they lie.
    pub index: Index,
    /// Threads that read.
    pub threads: usize,
}

/// The part of a result that one row of chunks along the first axis fills.
type Slab<'a> = Mutex<(Region, &'a mut [u8])>;

impl Manifest {
    /// Whether its parts fit together.
    ///
    /// # Errors
    /// What does not.
    pub fn check(&self) -> Result<(), String> {
        if self.fill.len() != self.dtype.size() {
            let size = self.dtype.size();
            return Err(format!("a fill of {} bytes for {size}", self.fill.len()));
        }
        let each = self.shape.iter().zip(&self.chunk);
        let grid: i64 = each.map(|(n, c)| (n + c - 1) / c).product();
        match &self.index {
            Index::Table { entries, files, .. } => {
                let here = entries.iter().all(|e| (e.file as usize) < files.len());
                if i64::try_from(entries.len()) != Ok(grid) || !here {
                    return Err(format!("{} places for {grid} chunks", entries.len()));
                }
            }
            Index::Shards { rule, .. } if rule.chunks.len() != self.shape.len() => {
                return Err("a shard has the axes of the volume".to_owned());
            }
            _ => {}
        }
        Ok(())
    }

    fn chunk_bytes(&self) -> usize {
        let voxels: i64 = self.chunk.iter().product();
        usize::try_from(voxels).unwrap_or(usize::MAX) * self.dtype.size()
    }

    /// The chunks that `region` meets, as a box of their numbers.
    fn chunks(&self, region: &Region) -> Region {
        let each = self.chunk.iter().enumerate();
        Region {
            lo: each.clone().map(|(d, c)| region.lo[d] / c).collect(),
            hi: each.map(|(d, c)| (region.hi[d] - 1) / c + 1).collect(),
        }
    }

    /// The voxels of the chunk at `at`, as far as it is stored.
    fn stored(&self, at: &[i64]) -> Region {
        let each = self.chunk.iter().enumerate();
        let lo: Coords = each.clone().map(|(d, c)| at[d] * c).collect();
        let end = |d: usize, c: i64| {
            let end = (at[d] + 1) * c;
            if self.cut_at_end {
                end.min(self.shape[d])
            } else {
                end
            }
        };
        let hi = each.map(|(d, &c)| end(d, c)).collect();
        Region { lo, hi }
    }

    /// Reads what the box `wanted` needs of the chunk at `at` into `slab`: its planes along the first axis that meet
    /// the box, or the whole chunk if its codecs know no parts.
    fn one(
        &self,
        at: &[i64],
        wanted: &Region,
        decoder: &mut Decoder,
        slab: &Slab<'_>,
    ) -> Result<(), String> {
        let mut held = self.stored(at);
        let size = self.dtype.size();
        let bytes = |r: &Region| usize::try_from(r.voxels()).unwrap_or(usize::MAX) * size;
        let (all, what) = (bytes(&held), held.clip(wanted));
        let mut part = 0..all;
        if !what.is_empty() {
            let planes = held.with_axis(0, what.lo[0], what.hi[0]);
            let before = bytes(&held.with_axis(0, held.lo[0], what.lo[0]));
            part = before..before + bytes(&planes);
            if self.codecs.is_empty() {
                held = planes;
            }
        }
        let there = self.index.read(at, (all, part), &self.codecs, decoder)?;
        if there && self.swapped {
            let parts = if self.dtype.is_complex() { 2 } else { 1 };
            swap(decoder.decoded_mut(), size / parts);
        }
        let mut slab = slab.lock().unwrap_or_else(PoisonError::into_inner);
        let (region, data) = &mut *slab;
        if what.is_empty() {
            return Ok(());
        }
        if there {
            copy_box((&held, decoder.decoded()), (region, data), &what, size);
        } else {
            fill_box(&self.fill, (region, data), &what);
        }
        Ok(())
    }
}

impl Source for Manifest {
    fn read(&self, region: &Region, to: &mut [u8]) -> Result<(), String> {
        if region.is_empty() {
            return Ok(());
        }
        let grid = self.chunks(region);
        let size = self.dtype.size();
        let plane = usize::try_from(region.voxels()).unwrap_or(0) / axis_len(region, 0) * size;
        let mut slabs: Vec<Slab<'_>> = Vec::new();
        let mut rest = to;
        for row in grid.lo[0]..grid.hi[0] {
            let lo = region.lo[0].max(row * self.chunk[0]);
            let hi = region.hi[0].min((row + 1) * self.chunk[0]);
            let slab = region.with_axis(0, lo, hi);
            let (part, behind) = rest.split_at_mut(axis_len(&slab, 0) * plane);
            slabs.push(Mutex::new((slab, part)));
            rest = behind;
        }
        let next = AtomicU64::new(0);
        let count = grid.voxels();
        let threads = self.threads.min(usize::try_from(count).unwrap_or(1));
        let failed: Mutex<Option<String>> = Mutex::new(None);
        let work = || {
            let mut decoder = Decoder::default();
            loop {
                let number = next.fetch_add(1, Relaxed);
                if number >= count {
                    return Ok(());
                }
                let at = numbered(&grid, number);
                let row = usize::try_from(at[0] - grid.lo[0]).unwrap_or(0);
                if let Err(error) = self.one(&at, region, &mut decoder, &slabs[row]) {
                    next.store(count, Relaxed);
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    return Ok(());
                }
            }
        };
        in_threads(threads, &work).map_err(|error: VolumeError| error.to_string())?;
        let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        failed.map_or(Ok(()), Err)
    }

    fn granule(&self) -> Option<Coords> {
        Some(self.chunk.clone())
    }

    fn work(&self) -> Reserve {
        // What is read, what is decoded from it, and one more step between.
        Reserve(3 * self.chunk_bytes() as u64 * self.threads.max(1) as u64)
    }
}

/// Box number `number` of a grid in C order.
fn numbered(grid: &Region, mut number: u64) -> Coords {
    let mut at = grid.lo.clone();
    for d in (0..grid.rank()).rev() {
        let n = axis_len(grid, d) as u64;
        at[d] += i64::try_from(number % n).unwrap_or(0);
        number /= n;
    }
    at
}

fn fill_box(element: &[u8], (region, data): (&Region, &mut [u8]), what: &Region) {
    let rank = what.rank();
    let run = axis_len(what, rank - 1) * element.len();
    let rows = what.with_axis(rank - 1, 0, 1);
    for number in 0..rows.voxels() {
        let mut at = numbered(&rows, number);
        at[rank - 1] = what.lo[rank - 1];
        let from = crate::block::offset(region, &at) * element.len();
        for to in data[from..from + run].chunks_exact_mut(element.len()) {
            to.copy_from_slice(element);
        }
    }
}

fn swap(data: &mut [u8], size: usize) {
    if size > 1 {
        for element in data.chunks_exact_mut(size) {
            element.reverse();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(folder: &std::path::Path, shape: &[i64], chunk: &[i64]) -> Manifest {
        Manifest {
            shape: shape.into(),
            chunk: chunk.into(),
            dtype: DType::U16,
            fill: 7u16.to_ne_bytes().to_vec(),
            swapped: false,
            cut_at_end: false,
            codecs: vec![],
            index: Index::Names {
                root: folder.to_path_buf(),
                prefix: String::new(),
                separator: '.',
            },
            threads: 2,
        }
    }

    #[test]
    fn boxes_are_put_together_from_chunks_and_missing_ones_are_filled() {
        let folder = std::env::temp_dir().join(format!("arrayloom-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let manifest = stored(&folder, &[5, 7], &[2, 3]);
        let value = |i: i64, j: i64| u16::try_from(100 + 10 * i + j).unwrap();
        for (a, b) in (0..3).flat_map(|a| (0..3).map(move |b| (a, b))) {
            let inside = (0..2).flat_map(|i| (0..3).map(move |j| (2 * a + i, 3 * b + j)));
            let bytes: Vec<u8> = inside
                .flat_map(|(i, j)| value(i, j).to_ne_bytes())
                .collect();
            if (a, b) != (1, 1) {
                std::fs::write(folder.join(format!("{a}.{b}")), bytes).unwrap();
            }
        }
        let region = Region::new(&[1, 2], &[5, 7]);
        let mut out = vec![0u8; 40];
        manifest.read(&region, &mut out).unwrap();
        for (n, word) in out.chunks_exact(2).enumerate() {
            let n = i64::try_from(n).unwrap();
            let (i, j) = (1 + n / 5, 2 + n % 5);
            let expected = if (i / 2, j / 3) == (1, 1) {
                7
            } else {
                value(i, j)
            };
            assert_eq!(u16::from_ne_bytes([word[0], word[1]]), expected, "{i} {j}");
        }
        // Of a chunk without codecs only the planes that meet the box are read.
        for (lo, hi) in (0..5).flat_map(|lo| (lo + 1..6).map(move |hi| (lo, hi))) {
            let region = Region::new(&[lo, 4], &[hi, 6]);
            let mut out = vec![0u8; 4 * usize::try_from(hi - lo).unwrap()];
            manifest.read(&region, &mut out).unwrap();
            for (n, word) in out.chunks_exact(2).enumerate() {
                let n = i64::try_from(n).unwrap();
                let (i, j) = (lo + n / 2, 4 + n % 2);
                let expected = if (i / 2, j / 3) == (1, 1) {
                    7
                } else {
                    value(i, j)
                };
                assert_eq!(u16::from_ne_bytes([word[0], word[1]]), expected, "{i} {j}");
            }
        }
        for wrong in [3, 14] {
            std::fs::write(folder.join("2.0"), vec![1; wrong]).unwrap();
            let error = manifest.read(&region, &mut out).unwrap_err();
            let told = error.contains("2.0") && error.contains(&format!("{wrong} bytes"));
            assert!(told, "{error}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
