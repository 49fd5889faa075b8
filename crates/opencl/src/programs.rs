//! Compiled kernels of an OpenCL device.

use crate::driver::{CommandQueue, Context, DeviceId, Failure, Kernel, Program};
use arrayloom_codegen::{Dialect, Entry, ImageCache, Words, source};
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

/// A kernel. Its parameters are set by one thread at a time.
pub(crate) type Ready = Mutex<Kernel>;

/// The kernels of one device.
pub(crate) struct Programs {
    device: DeviceId,
    options: CString,
    all: arrayloom_codegen::Programs<Ready>,
    /// New programs by their keys. Some drivers finish a kernel when it runs first, so programs are kept
    /// after that.
    fresh: Mutex<Vec<(String, Program)>>,
}

impl Programs {
    /// For a device whose hardware and driver are these words.
    pub(crate) fn new(device: DeviceId, hardware: String, cache: Option<ImageCache>) -> Programs {
        let options = Dialect::OpenCl.options().join(" ");
        Programs {
            device,
            options: CString::new(options.as_str()).unwrap_or_default(),
            all: arrayloom_codegen::Programs::new(Words { hardware, options }, cache),
            fresh: Mutex::default(),
        }
    }

    /// The kernels of these entries.
    pub(crate) fn kernels(
        &self,
        context: &Context,
        entries: &[&Entry],
    ) -> Result<Vec<Arc<Ready>>, String> {
        let made = |new: &[&Entry]| self.build(context, new);
        self.all.kernels(entries, made)
    }

    fn build(&self, context: &Context, entries: &[&Entry]) -> Result<Vec<Ready>, String> {
        let text = source(entries, Dialect::OpenCl)?;
        let key = self.all.key(&text);
        let kernels = |program: &Program| -> Result<Vec<Ready>, Failure> {
            let all = entries.iter().map(|e| program.kernel(&e.name()));
            all.map(|kernel| kernel.map(Mutex::new)).collect()
        };
        let kept = self.all.cache().and_then(|cache| cache.get(&key));
        if let Some(image) = kept
            && let Some(program) = context.load(self.device, &image, &self.options)
            && let Ok(kernels) = kernels(&program)
        {
            return Ok(kernels);
        }
        let program = context.build(self.device, &text, &self.options)?;
        let made = kernels(&program).map_err(|failure| failure.to_string())?;
        if self.all.cache().is_some() {
            let mut fresh = self.fresh.lock().unwrap_or_else(PoisonError::into_inner);
            fresh.push((key, program));
        }
        Ok(made)
    }

    /// Puts programs that were built for this launch on the disk, once the queue has run them.
    pub(crate) fn keep(&self, queue: &CommandQueue) -> Result<(), Failure> {
        let new = std::mem::take(&mut *self.fresh.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(cache) = self.all.cache().filter(|_| !new.is_empty()) else {
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
