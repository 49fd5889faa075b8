//! Compiled kernels of a CUDA device.

#![expect(unsafe_code, reason = "handles of the driver are shared among threads")]

use crate::api::Handle;
use crate::context::{Context, Module};
use crate::nvrtc::Compiler;
use arrayloom_codegen::{Dialect, Entry, ImageCache, Words, source};
use std::ffi::CString;
use std::sync::Arc;

/// A kernel of a module, which stays loaded as long as one of its kernels is known.
pub(crate) struct Function {
    pub(crate) raw: Handle,
    _module: Arc<Module>,
}

// SAFETY: handles of the driver may be used from any thread; launching changes nothing of a function.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

/// The kernels of one device.
pub(crate) struct Programs {
    compiler: Compiler,
    all: arrayloom_codegen::Programs<Function>,
}

impl Programs {
    /// For a device whose hardware and driver are these words.
    pub(crate) fn new(hardware: &str, compiler: Compiler, cache: Option<ImageCache>) -> Programs {
        let (version, options) = compiler.words();
        let hardware = format!("{hardware} {version}");
        Programs {
            compiler,
            all: arrayloom_codegen::Programs::new(Words { hardware, options }, cache),
        }
    }

    /// The kernels of these entries. The context is current.
    pub(crate) fn kernels(
        &self,
        context: &Arc<Context>,
        entries: &[&Entry],
    ) -> Result<Vec<Arc<Function>>, String> {
        self.all.kernels(entries, |new| self.build(context, new))
    }

    /// True if these kernels were made before.
    pub(crate) fn know<'a>(&self, entries: impl IntoIterator<Item = &'a Entry>) -> bool {
        self.all.know(entries)
    }

    fn build(&self, context: &Arc<Context>, entries: &[&Entry]) -> Result<Vec<Function>, String> {
        let text = source(entries, Dialect::Cuda)?;
        let key = self.all.key(&text);
        let kept = self.all.cache().and_then(|cache| cache.get(&key));
        if let Some(image) = kept
            && let Ok(functions) = loaded(context, entries, &image)
        {
            return Ok(functions);
        }
        let image = self.compiler.compile(&text)?;
        let functions = loaded(context, entries, &image)?;
        if let Some(cache) = self.all.cache() {
            cache.put(&key, &image);
        }
        Ok(functions)
    }
}

/// The kernels of machine code that the driver takes.
fn loaded(
    context: &Arc<Context>,
    entries: &[&Entry],
    image: &[u8],
) -> Result<Vec<Function>, String> {
    let module = Module::load(context, image).map_err(|failure| failure.to_string())?;
    let module = Arc::new(module);
    let function = |entry: &&Entry| {
        let name = CString::new(entry.name()).unwrap_or_default();
        let raw = module.function(&name);
        raw.map(|raw| Function {
            raw,
            _module: Arc::clone(&module),
        })
    };
    let all: Result<Vec<Function>, _> = entries.iter().map(function).collect();
    all.map_err(|failure| failure.to_string())
}
