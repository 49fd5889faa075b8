//! Where the chunks of a volume lie.

use super::codec::{Codec, Decoder};
use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A file with the size and time that it had when its chunks were listed.
#[derive(Clone, Debug)]
pub struct File {
    /// Its name.
    pub path: PathBuf,
    /// Bytes.
    pub size: u64,
    /// Time of the last change, in nanoseconds.
    pub mtime_ns: i64,
}

/// Where one chunk lies.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Number of the file.
    pub file: u32,
    /// Codecs that were skipped for this chunk, one bit each.
    pub skipped: u32,
    /// First byte.
    pub offset: u64,
    /// Bytes; none if the chunk does not exist.
    pub nbytes: u64,
}

/// Chunks inside of larger files: shards.
#[derive(Debug)]
pub struct ShardRule {
    /// Chunks of a shard along each axis.
    pub chunks: Vec<i64>,
    /// True if the index stands at the end of a shard, false if at its start.
    pub at_end: bool,
    /// True if a checksum stands behind the index.
    pub checksum: bool,
    /// Indices that were read.
    pub known: Mutex<BTreeMap<PathBuf, Arc<Vec<u64>>>>,
}

/// Where chunks lie.
#[derive(Debug)]
pub enum Index {
    /// A file for each chunk: `prefix` and the numbers of the chunk, with `separator` between them.
    Names {
        /// The folder.
        root: PathBuf,
        /// What stands before the numbers.
        prefix: String,
        /// What stands between the numbers.
        separator: char,
    },
    /// The same for shards, which hold several chunks.
    Shards {
        /// The names of shards.
        names: Box<Index>,
        /// What is in them.
        rule: ShardRule,
    },
    /// A list of places in C order of chunks.
    Table {
        /// The files.
        files: Vec<File>,
        /// Chunks along each axis.
        grid: Vec<i64>,
        /// The places.
        entries: Vec<Entry>,
    },
}

impl Index {
    fn name(&self, at: &[i64]) -> Option<PathBuf> {
        let Index::Names {
            root,
            prefix,
            separator,
        } = self
        else {
            return None;
        };
        let numbers: Vec<String> = at.iter().map(i64::to_string).collect();
        Some(root.join(format!("{prefix}{}", numbers.join(&separator.to_string()))))
    }

    /// Reads and decodes the chunk at `at`, of `bytes` bytes, into `decoder`; false if it does not exist. Of a
    /// chunk without codecs only `part` is read.
    pub(super) fn read(
        &self,
        at: &[i64],
        (bytes, part): (usize, Range<usize>),
        codecs: &[Codec],
        decoder: &mut Decoder,
    ) -> Result<bool, String> {
        let told = |path: &Path, offset: u64, error: String| {
            format!(
                "chunk {at:?} in {} at byte {offset}: {error}",
                path.display()
            )
        };
        let (path, offset, nbytes, skipped) = match self {
            Index::Names { .. } => {
                let Some(path) = self.name(at) else {
                    return Ok(false);
                };
                (path, 0, None, 0)
            }
            Index::Shards { names, rule } => {
                let shard: Vec<i64> = at.iter().zip(&rule.chunks).map(|(a, c)| a / c).collect();
                let Some(path) = names.name(&shard) else {
                    return Ok(false);
                };
                let Some(index) = rule.index(&path)? else {
                    return Ok(false);
                };
                let inner = at.iter().zip(&rule.chunks);
                let place = inner.fold(0, |n, (a, c)| n * c + a % c);
                let place = 2 * usize::try_from(place).unwrap_or(0);
                if index[place] == u64::MAX {
                    return Ok(false);
                }
                (path, index[place], Some(index[place + 1]), 0)
            }
            Index::Table {
                files,
                grid,
                entries,
            } => {
                let place = at.iter().zip(grid).fold(0, |n, (a, g)| n * g + a);
                let entry = entries[usize::try_from(place).unwrap_or(0)];
                if entry.nbytes == 0 {
                    return Ok(false);
                }
                let path = files[entry.file as usize].path.clone();
                (path, entry.offset, Some(entry.nbytes), entry.skipped)
            }
        };
        let file = match fs::File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && nbytes.is_none() => {
                return Ok(false);
            }
            Err(error) => return Err(told(&path, offset, error.to_string())),
        };
        let known = file.metadata().map_err(|e| told(&path, 0, e.to_string()))?;
        if let Index::Table { files, .. } = self {
            unchanged(files, &path, &known)?;
        }
        let nbytes = nbytes.unwrap_or(known.len());
        if offset.saturating_add(nbytes) > known.len() {
            let end = offset.saturating_add(nbytes);
            let size = known.len();
            let error = format!("it ends at byte {end}, and the file has {size}: it is cut short");
            return Err(told(&path, offset, error));
        }
        let stored = usize::try_from(nbytes).unwrap_or(usize::MAX);
        // Strips of TIFF files may have some bytes more.
        let exact = !matches!(self, Index::Table { .. });
        if codecs.is_empty() && (stored < bytes || (exact && stored > bytes)) {
            let error = format!("{stored} bytes instead of {bytes}: it is corrupt");
            return Err(told(&path, offset, error));
        }
        let (first, count) = if codecs.is_empty() {
            (offset + part.start as u64, part.len())
        } else {
            (offset, stored)
        };
        file.read_exact_at(decoder.raw(count), first)
            .map_err(|e| told(&path, offset, e.to_string()))?;
        let whole = if codecs.is_empty() { count } else { bytes };
        decoder
            .decode(codecs, skipped, (whole, part), exact)
            .map_err(|e| told(&path, offset, e))?;
        Ok(true)
    }
}

fn unchanged(files: &[File], path: &Path, now: &fs::Metadata) -> Result<(), String> {
    let mtime = now.mtime() * 1_000_000_000 + now.mtime_nsec();
    let same = |f: &&File| f.path == path;
    match files.iter().find(same) {
        Some(file) if file.size != now.len() || file.mtime_ns != mtime => Err(format!(
            "{} has changed since it was opened; open it again",
            path.display()
        )),
        _ => Ok(()),
    }
}

impl ShardRule {
    /// Offset and bytes of each chunk of a shard; nothing if the shard does not exist.
    fn index(&self, path: &Path) -> Result<Option<Arc<Vec<u64>>>, String> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = known.get(path) {
            return Ok(Some(Arc::clone(index)));
        }
        let told = |error: String| format!("the index of shard {}: {error}", path.display());
        let file = match fs::File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(told(error.to_string())),
        };
        let size = file.metadata().map_err(|e| told(e.to_string()))?.len();
        let count: i64 = self.chunks.iter().product();
        let words = 16 * usize::try_from(count).unwrap_or(0);
        let mut bytes = vec![0; words + if self.checksum { 4 } else { 0 }];
        let from = if self.at_end {
            size.checked_sub(bytes.len() as u64)
        } else {
            Some(0)
        };
        let Some(from) = from else {
            return Err(told(format!(
                "the file has {size} bytes only: it is cut short"
            )));
        };
        file.read_exact_at(&mut bytes, from)
            .map_err(|e| told(e.to_string()))?;
        if self.checksum {
            super::bits::check_crc32c(&bytes).map_err(told)?;
        }
        let index = bytes[..words].chunks_exact(8);
        let index = index.map(|w| u64::from_le_bytes(w.try_into().unwrap_or_default()));
        let index: Arc<Vec<u64>> = Arc::new(index.collect());
        known.insert(path.to_path_buf(), Arc::clone(&index));
        Ok(Some(index))
    }
}
