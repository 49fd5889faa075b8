//! Compiled kernels: in memory by their entries, on disk by their text.

use crate::driver::{CommandQueue, Context, DeviceId, Failure, Kernel, Program};
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
    /// New programs by their keys. Some drivers finish a kernel when it runs first, so programs are kept
    /// after that.
    fresh: Mutex<Vec<(String, Program)>>,
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
            fresh: Mutex::default(),
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
        if self.cache.is_some() {
            self.fresh
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((key, program));
        }
        Ok(kernels)
    }

    /// Puts programs that were built for this launch on the disk, once the queue has run them.
    pub(crate) fn keep(&self, queue: &CommandQueue) -> Result<(), Failure> {
        let new = std::mem::take(&mut *self.fresh.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(cache) = self.cache.as_ref().filter(|_| !new.is_empty()) else {
            return queue.flush();
        };
        queue.finish()?;
        for (key, program) in new {
            if let Some(image) = program.image() {
                cache.put(&key, &image);
            }
        }
        Ok(())
    }
}
