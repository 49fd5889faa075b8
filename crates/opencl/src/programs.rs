//! Compiled kernels of an OpenCL device.

use crate::driver::{CommandQueue, Context, DeviceId, Failure, Kernel, Program};
use crate::running::Running;
use arrayloom_codegen::{Board, Dialect, Entry, ImageCache, Words, is_seated, source};
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

/// Kernels on one board: what one seat costs to compile does not grow with their number up to here.
const SEATS: usize = 32;

/// A kernel. Its parameters are set by one thread at a time.
pub(crate) struct Ready {
    pub(crate) kernel: Arc<Mutex<Kernel>>,
    /// Its place, if the kernel is a board.
    pub(crate) seat: Option<Seat>,
    /// The launches of its program, if the driver wants them counted.
    pub(crate) running: Option<Arc<Running>>,
}

/// A place on a board, whose kernel has so many pointers and words.
#[derive(Clone, Copy)]
pub(crate) struct Seat {
    pub(crate) number: u32,
    pub(crate) pointers: usize,
    pub(crate) words: usize,
}

/// A program that is not kept yet.
struct Fresh {
    key: String,
    program: Program,
    running: Option<Arc<Running>>,
}

/// The kernels of one device.
pub(crate) struct Programs {
    device: DeviceId,
    options: CString,
    all: arrayloom_codegen::Programs<Ready>,
    /// True if the driver is PoCL.
    pocl: bool,
    /// New programs. Some drivers finish a kernel when it runs first, so programs are kept
    /// after that.
    fresh: Mutex<Vec<Fresh>>,
}

impl Programs {
    /// For a device whose hardware and driver are these words.
    pub(crate) fn new(device: DeviceId, hardware: String, cache: Option<ImageCache>) -> Programs {
        let options = Dialect::OpenCl.options().join(" ");
        let pocl = hardware.to_lowercase().contains("pocl");
        Programs {
            device,
            options: CString::new(options.as_str()).unwrap_or_default(),
            all: arrayloom_codegen::Programs::new(Words { hardware, options }, cache),
            pocl,
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

    /// True if these kernels were made before.
    pub(crate) fn know<'a>(&self, entries: impl IntoIterator<Item = &'a Entry>) -> bool {
        self.all.know(entries)
    }

    /// Makes the kernels of these entries, each of which will run a few times. Those whose items work apart
    /// share kernels.
    pub(crate) fn together(&self, context: &Context, entries: &[&Entry]) -> Result<(), String> {
        let seated = entries.iter().copied().filter(|e| is_seated(e));
        let seated: Vec<&Entry> = seated.collect();
        let made = |new: &[&Entry]| -> Result<Vec<Ready>, String> {
            let boards = new.chunks(SEATS).map(|some| self.board(context, some));
            let all: Result<Vec<Vec<Ready>>, String> = boards.collect();
            Ok(all?.into_iter().flatten().collect())
        };
        self.all.kernels(&seated, made).map(drop)
    }

    fn board(&self, context: &Context, entries: &[&Entry]) -> Result<Vec<Ready>, String> {
        let Board {
            text,
            pointers,
            words,
        } = Board::of(entries)?;
        self.program(context, &text, |program| {
            let kernel = Arc::new(Mutex::new(program.kernel(Board::NAME)?));
            let running = self.running(&text);
            let seats = (0..).zip(entries).map(|(number, _)| Ready {
                kernel: Arc::clone(&kernel),
                seat: Some(Seat {
                    number,
                    pointers,
                    words,
                }),
                running: running.clone(),
            });
            Ok(seats.collect())
        })
    }

    fn build(&self, context: &Context, entries: &[&Entry]) -> Result<Vec<Ready>, String> {
        let text = source(entries, Dialect::OpenCl)?;
        self.program(context, &text, |program| {
            let running = self.running(&text);
            let all = entries.iter().map(|e| program.kernel(&e.name()));
            let ready = |kernel| Ready {
                kernel: Arc::new(Mutex::new(kernel)),
                seat: None,
                running: running.clone(),
            };
            all.map(|kernel| kernel.map(ready)).collect()
        })
    }

    fn running(&self, text: &str) -> Option<Arc<Running>> {
        self.pocl.then(|| Running::of(text))
    }

    /// The kernels of a program with this text, from the disk if it is kept there.
    fn program(
        &self,
        context: &Context,
        text: &str,
        kernels: impl Fn(&Program) -> Result<Vec<Ready>, Failure>,
    ) -> Result<Vec<Ready>, String> {
        let key = self.all.key(text);
        let kept = self.all.cache().and_then(|cache| cache.get(&key));
        if let Some(image) = kept
            && let Some(program) = context.load(self.device, &image, &self.options)
            && let Ok(kernels) = kernels(&program)
        {
            return Ok(kernels);
        }
        let program = context.build(self.device, text, &self.options)?;
        let made = kernels(&program).map_err(|failure| failure.to_string())?;
        if self.all.cache().is_some() {
            let mut fresh = self.fresh.lock().unwrap_or_else(PoisonError::into_inner);
            let running = self.running(text);
            fresh.push(Fresh {
                key,
                program,
                running,
            });
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
        for new in new {
            let image = match &new.running {
                Some(running) => running.without(|| new.program.image()),
                None => new.program.image(),
            };
            if let Some(image) = image {
                cache.put(&new.key, &image);
            }
        }
        Ok(())
    }
}
