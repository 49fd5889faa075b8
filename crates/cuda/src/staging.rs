//! The way from the memory of the host to the device: through two pinned blocks in turns, so that the
//! caller's memory is free at once and one block is filled while the other is sent.

#![expect(unsafe_code, reason = "pinned memory is filled by address")]

use crate::api::{Address, Failure};
use crate::context::{Context, Mark, Stream};
use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of one block.
const BLOCK: usize = 4 << 20;

/// Memory of the host that the device reads by itself.
struct Pinned {
    memory: *mut c_void,
    /// It is free when this has passed.
    sent: Mark,
    context: Arc<Context>,
}

// SAFETY: pinned memory is memory of the process, used under the lock of `Staging`.
unsafe impl Send for Pinned {}

impl Pinned {
    fn new(context: &Arc<Context>, bytes: usize) -> Result<Pinned, Failure> {
        let sent = Mark::new(context)?;
        let mut memory = ptr::null_mut();
        context.done(context.driver.host_alloc(&mut memory, bytes))?;
        Ok(Pinned {
            memory,
            sent,
            context: Arc::clone(context),
        })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Ok(_current) = self.context.enter() {
            // The device may still read it; what failed is told to whoever waits for it.
            drop(self.sent.passed(true));
            drop(self.context.driver.host_free(self.memory));
        }
    }
}

/// The blocks of one stream.
#[derive(Default)]
pub(crate) struct Staging {
    /// Up to two, and which is next.
    blocks: Mutex<(Vec<Pinned>, usize)>,
}

impl Staging {
    /// Sends bytes of the host to the device. They are free when this returns. The context is current.
    pub(crate) fn send(
        &self,
        stream: &Stream,
        context: &Arc<Context>,
        (to, from): (Address, *const u8),
        bytes: usize,
    ) -> Result<(), Failure> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        for start in (0..bytes).step_by(BLOCK) {
            let n = BLOCK.min(bytes - start);
            let at = blocks.1 % 2;
            if at == blocks.0.len() {
                blocks.0.push(Pinned::new(context, BLOCK)?);
            }
            blocks.1 += 1;
            let block = &blocks.0[at];
            block.sent.passed(true)?;
            // SAFETY: whoever calls `Device::copy` vouches for the host's memory.
            let from = unsafe { from.add(start) };
            // SAFETY: as above; the block has room for `n` bytes, and the device is done with it.
            unsafe { ptr::copy_nonoverlapping(from, block.memory.cast(), n) };
            let to = to + start as u64;
            let sent = context.driver.copy_up(to, block.memory, n, stream.raw);
            context.done(sent)?;
            stream.set(&block.sent)?;
        }
        Ok(())
    }
}

/// Bytes of one block of words.
const WORDS: usize = 4 << 10;

/// Pinned memory for words that kernels tell, used again and again.
#[derive(Clone, Default)]
pub(crate) struct Words(Arc<Mutex<Vec<Pinned>>>);

/// A block of words, which goes back when it is dropped.
pub(crate) struct Block {
    pinned: Option<Pinned>,
    count: usize,
    home: Words,
}

impl Words {
    /// A block for so many words; nothing if they are too many. The context is current.
    pub(crate) fn block(
        &self,
        context: &Arc<Context>,
        count: usize,
    ) -> Result<Option<Block>, Failure> {
        if count * size_of::<u32>() > WORDS {
            return Ok(None);
        }
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let pinned = match kept {
            Some(pinned) => pinned,
            None => Pinned::new(context, WORDS)?,
        };
        Ok(Some(Block {
            pinned: Some(pinned),
            count,
            home: self.clone(),
        }))
    }
}

impl Block {
    /// Where the device writes.
    pub(crate) fn memory(&self) -> *mut c_void {
        let pinned = self.pinned.as_ref();
        pinned.map_or(ptr::null_mut(), |pinned| pinned.memory)
    }

    /// What it wrote. Its work is done.
    pub(crate) fn words(&self) -> &[u32] {
        let memory: *const u32 = self.memory().cast();
        if memory.is_null() {
            return &[];
        }
        // SAFETY: the driver gave whole pages, which nobody writes any more, and any bytes are words.
        unsafe { std::slice::from_raw_parts(memory, self.count) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let mut kept = self.home.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(self.pinned.take());
    }
}
