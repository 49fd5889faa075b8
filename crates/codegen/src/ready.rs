//! What devices that compile these texts share: which kernels they have, and programs by their entries.

use crate::{Entry, ImageCache, Steps, Target, lower};
use arrayloom_device::{Abilities, Caps, DeviceError, Launch};
use arrayloom_ir::{Kernel, verify};
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use std::sync::{Arc, Mutex, PoisonError};

/// What a device that runs these texts can do.
pub fn abilities() -> Abilities {
    Abilities::ALL
}

/// The steps of a launch on the device with these facts.
///
/// # Errors
/// [`DeviceError::Unsupported`] for a kernel that it does not have.
pub(crate) fn steps(
    caps: &Caps,
    kernel: &Kernel,
    launch: &Launch<'_>,
    target: Target,
) -> Result<Steps, DeviceError> {
    let unsupported = |what: String| DeviceError::Unsupported {
        device: caps.name,
        what,
    };
    if !launch.fits(kernel) {
        return Err(unsupported("the launch does not fit the kernel".to_owned()));
    }
    verify(kernel).map_err(|error| unsupported(error.to_string()))?;
    if let Some(what) = caps.abilities.lacks(kernel) {
        return Err(unsupported(what));
    }
    lower(kernel, launch, target).map_err(unsupported)
}

/// What names a program on the disk: hardware and driver, options, and the text.
#[derive(Clone, Debug)]
pub struct Words {
    /// Hardware, driver and compiler.
    pub hardware: String,
    /// Options of the compiler.
    pub options: String,
}

/// Compiled kernels of one device: in memory by their entries, on disk by their text.
#[derive(Debug)]
pub struct Programs<K> {
    words: Words,
    cache: Option<ImageCache>,
    known: Mutex<IndexMap<Entry, Arc<K>, FxBuildHasher>>,
}

impl<K> Programs<K> {
    /// None yet.
    pub fn new(words: Words, cache: Option<ImageCache>) -> Programs<K> {
        Programs {
            words,
            cache,
            known: Mutex::default(),
        }
    }

    /// The kernels of these entries. `build` makes those that are new, as one program, which costs little
    /// more than one of them.
    ///
    /// # Errors
    /// What `build` answers.
    pub fn kernels<E>(
        &self,
        entries: &[&Entry],
        build: impl FnOnce(&[&Entry]) -> Result<Vec<K>, E>,
    ) -> Result<Vec<Arc<K>>, E> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut new: Vec<&Entry> = Vec::new();
        for &entry in entries {
            if !known.contains_key(entry) && !new.contains(&entry) {
                new.push(entry);
            }
        }
        if !new.is_empty() {
            for (entry, kernel) in new.iter().zip(build(&new)?) {
                known.insert((*entry).clone(), Arc::new(kernel));
            }
        }
        Ok(entries.iter().map(|e| Arc::clone(&known[*e])).collect())
    }

    /// True if these kernels were made before.
    pub fn know<'a>(&self, entries: impl IntoIterator<Item = &'a Entry>) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        entries.into_iter().all(|entry| known.contains_key(entry))
    }

    /// The key of a text.
    pub fn key(&self, text: &str) -> String {
        format!("{}\n{}\n{text}", self.words.hardware, self.words.options)
    }

    /// Compiled programs on disk, if they are kept.
    pub fn cache(&self) -> Option<&ImageCache> {
        self.cache.as_ref()
    }

    /// Options of the compiler.
    pub fn options(&self) -> &str {
        &self.words.options
    }
}
