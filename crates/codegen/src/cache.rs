//! Compiled programs on disk.
//!
//! A file holds its whole key (what was compiled, by what, for what), so that a wrong one is never taken,
//! and a checksum. Files are written under another name and moved; what cannot be read is as if it were
//! not there, and what cannot be written is not kept. Beyond its size the cache drops what was not used
//! for longest.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::SystemTime;

const MAGIC: &[u8; 8] = b"arrloom1";

/// Compiled programs in a directory.
#[derive(Debug)]
pub struct ImageCache {
    dir: PathBuf,
    limit: u64,
    suffix: &'static str,
}

impl ImageCache {
    /// A cache in `dir`, which is made when it is needed, of at most `limit` bytes. Its files have this
    /// suffix; others are left alone.
    pub fn new(dir: PathBuf, limit: u64, suffix: &'static str) -> ImageCache {
        ImageCache { dir, limit, suffix }
    }

    /// The program with this key, if it is there and whole.
    pub fn get(&self, key: &str) -> Option<Vec<u8>> {
        let path = self.path(key);
        let bytes = fs::read(&path).ok()?;
        let image = unpacked(key, &bytes);
        if image.is_none() {
            // Nobody can use it; if it cannot be removed, it is replaced by the next build.
            drop(fs::remove_file(&path));
        } else if let Ok(file) = File::options().append(true).open(&path) {
            // A directory that may only be read has no order of use.
            drop(file.set_modified(SystemTime::now()));
        }
        image
    }

    /// Keeps a program. What cannot be kept is built again next time.
    pub fn put(&self, key: &str, image: &[u8]) {
        let kept = self.write(key, image).and_then(|()| self.trim());
        // The directory may be full or closed for writing.
        drop(kept);
    }

    fn path(&self, key: &str) -> PathBuf {
        self.dir
            .join(format!("{:032x}.{}", digest(key), self.suffix))
    }

    fn write(&self, key: &str, image: &[u8]) -> io::Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        fs::create_dir_all(&self.dir)?;
        let number = COUNT.fetch_add(1, Relaxed);
        let name = format!("{}-{number}.new", std::process::id());
        let temporary = self.dir.join(name);
        let moved = File::create(&temporary)
            .and_then(|mut file| file.write_all(&packed(key, image)))
            .and_then(|()| fs::rename(&temporary, self.path(key)));
        if moved.is_err() {
            drop(fs::remove_file(&temporary));
        }
        moved
    }

    /// Drops the files that were not used for longest.
    fn trim(&self) -> io::Result<()> {
        let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == self.suffix)
                && let Ok(facts) = path.metadata()
            {
                files.push((facts.modified()?, facts.len(), path));
            }
        }
        let mut total: u64 = files.iter().map(|f| f.1).sum();
        files.sort();
        for (_, bytes, path) in files {
            if total <= self.limit {
                break;
            }
            fs::remove_file(path)?;
            total -= bytes;
        }
        Ok(())
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

fn digest(key: &str) -> u128 {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, key).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}

fn checksum(image: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    image.hash(&mut hasher);
    hasher.finish()
}

fn packed(key: &str, image: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend((key.len() as u64).to_le_bytes());
    bytes.extend(checksum(image).to_le_bytes());
    bytes.extend(key.as_bytes());
    bytes.extend(image);
    bytes
}

fn unpacked(key: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let (sum, rest) = rest.split_first_chunk::<8>()?;
    if u64::from_le_bytes(*length) != key.len() as u64 {
        return None;
    }
    let image = rest.strip_prefix(key.as_bytes())?;
    (checksum(image) == u64::from_le_bytes(*sum)).then(|| image.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(name: &str, limit: u64) -> ImageCache {
        let dir = std::env::temp_dir().join(format!("arrayloom-{}-{name}", std::process::id()));
        drop(fs::remove_dir_all(&dir));
        ImageCache::new(dir, limit, "bin")
    }

    #[test]
    fn what_was_put_is_found() {
        let cache = cache("found", 1 << 20);
        assert_eq!(cache.get("key"), None);
        cache.put("key", b"image");
        assert_eq!(cache.get("key").as_deref(), Some(&b"image"[..]));
        assert_eq!(cache.get("other"), None);
        fs::remove_dir_all(cache.dir()).unwrap();
    }

    #[test]
    fn what_is_broken_is_removed() {
        let cache = cache("broken", 1 << 20);
        cache.put("key", b"a long image");
        let path = cache.path("key");
        for damage in [0, 9, 20, 26, 30] {
            let mut bytes = packed("key", b"a long image");
            bytes[damage] ^= 1;
            fs::write(&path, &bytes).unwrap();
            assert_eq!(cache.get("key"), None, "byte {damage}");
            assert!(!path.exists());
        }
        fs::write(&path, &packed("key", b"a long image")[..30]).unwrap();
        assert_eq!(cache.get("key"), None);
        // The file of another key, which a collision of names would give.
        fs::write(&path, packed("kez", b"a long image")).unwrap();
        assert_eq!(cache.get("key"), None);
        fs::remove_dir_all(cache.dir()).unwrap();
    }

    #[test]
    fn what_was_not_used_goes_first() {
        let cache = cache("full", 3500);
        for (age, name) in [(30, "a"), (20, "b"), (10, "c")] {
            cache.put(name, &[7; 1000]);
            let then = SystemTime::now() - std::time::Duration::from_secs(age);
            let file = File::options().append(true).open(cache.path(name)).unwrap();
            file.set_modified(then).unwrap();
        }
        assert!(cache.get("a").is_some());
        cache.put("d", &[7; 1000]);
        assert!(cache.get("b").is_none());
        assert!(["a", "c", "d"].iter().all(|name| cache.get(name).is_some()));
        fs::remove_dir_all(cache.dir()).unwrap();
    }

    #[test]
    fn a_place_that_cannot_be_written_is_no_error() {
        let file = std::env::temp_dir().join(format!("arrayloom-{}-file", std::process::id()));
        fs::write(&file, b"").unwrap();
        let cache = ImageCache::new(file.join("below"), 1 << 20, "bin");
        cache.put("key", b"image");
        assert_eq!(cache.get("key"), None);
        fs::remove_file(file).unwrap();
    }

    #[test]
    fn writers_at_once_leave_a_whole_file() {
        let cache = cache("writers", 1 << 20);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let cache = &cache;
                scope.spawn(move || (0..50).for_each(|_| cache.put("key", &[9; 5000])));
            }
        });
        assert_eq!(cache.get("key"), Some(vec![9; 5000]));
        assert_eq!(fs::read_dir(cache.dir()).unwrap().count(), 1);
        fs::remove_dir_all(cache.dir()).unwrap();
    }
}
