//! Compiled kernels: in memory by their entries, on disk by their text.

use crate::driver::{Context, DeviceId, Kernel};
use arrayloom_codegen::{Dialect, Entry, ImageCache, source};
use indexmap::IndexMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

/// A kernel. Its parameters are set by one thread at a time.
pub(crate) type Ready = Arc<Mutex<Kernel>>;

/// The kernels of one device.
pub(crate) struct Programs {
    device: DeviceId,
    /// Hardware and driver, in words.
    hardware: String,
    options: CString,
    cache: Option<ImageCache>,
    known: Mutex<IndexMap<Entry, Ready>>,
}

impl Programs {
    pub(crate) fn new(device: DeviceId, hardware: String, cache: Option<ImageCache>) -> Programs {
        let options = CString::new(Dialect::OpenCl.options().join(" ")).unwrap_or_default();
        Programs {
            device,
            hardware,
            options,
            cache,
            known: Mutex::default(),
        }
    }

    /// The kernels of these entries. Those that are new are built as one program, which costs little
    /// more than one of them.
    pub(crate) fn kernels(
        &self,
        context: &Context,
        entries: &[&Entry],
    ) -> Result<Vec<Ready>, String> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut new: Vec<&Entry> = Vec::new();
        for &entry in entries {
            if !known.contains_key(entry) && !new.contains(&entry) {
                new.push(entry);
            }
        }
        if !new.is_empty() {
            for (entry, kernel) in new.iter().zip(self.build(context, &new)?) {
                known.insert((*entry).clone(), Arc::new(Mutex::new(kernel)));
            }
        }
        Ok(entries.iter().map(|e| Arc::clone(&known[*e])).collect())
    }

    fn build(&self, context: &Context, entries: &[&Entry]) -> Result<Vec<Kernel>, String> {
        let text = source(entries, Dialect::OpenCl)?;
        let key = format!(
            "{}\n{}\n{text}",
            self.hardware,
            self.options.to_string_lossy()
        );
        let kept = self.cache.as_ref().and_then(|cache| cache.get(&key));
        if let Some(image) = kept
            && let Some(program) = context.load(self.device, &image, &self.options)
            && let Ok(kernels) = entries.iter().map(|e| program.kernel(&e.name())).collect()
        {
            return Ok(kernels);
        }
        let program = context.build(self.device, &text, &self.options)?;
        let made: Result<Vec<Kernel>, _> =
            entries.iter().map(|e| program.kernel(&e.name())).collect();
        let kernels = made.map_err(|failure| failure.to_string())?;
        if let Some(cache) = &self.cache
            && let Some(image) = program.image()
        {
            cache.put(&key, &image);
        }
        Ok(kernels)
    }
}
