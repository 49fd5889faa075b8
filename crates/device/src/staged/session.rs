//! The memory of one launch on both sides: which bytes are where, and which copy is the newer one.

use super::store::{Of, Region, Store};
use super::{Staged, StagedStats, finish, pointer};
use crate::{Arg, Buf, Device, DeviceError, End, Launch, Queue, Use, joined};
use arrayloom_ir::{Builder, Form, Kernel, Output};
use arrayloom_types::{DType, Strides};
use std::sync::atomic::Ordering::Relaxed;

/// A view of a region.
#[derive(Clone)]
pub(super) struct View {
    pub(super) region: usize,
    /// Bytes from the start of the region.
    pub(super) offset: isize,
    pub(super) strides: Strides,
}

/// Regions of a launch. Whatever happens, its memory is given back, or stays with the store.
pub(super) struct Session<'a> {
    staged: &'a Staged,
    device: &'a dyn Device,
    host: &'a dyn Device,
    store: &'a mut Store,
    regions: Vec<Region>,
    pub(super) stats: StagedStats,
}

impl<'a> Session<'a> {
    pub(super) fn new(staged: &'a Staged, store: &'a mut Store) -> Session<'a> {
        Session {
            staged,
            device: &*staged.device,
            host: &*staged.host,
            store,
            regions: Vec::new(),
            stats: StagedStats::default(),
        }
    }

    /// The device has work that nobody waited for.
    pub(super) fn is_late(&self) {
        self.staged.late.store(true, Relaxed);
    }

    /// Makes regions of ranges; those that overlap are one. What the device has of them is used.
    pub(super) fn cover(&mut self, ranges: Vec<(u64, u64)>) -> Result<(), DeviceError> {
        let widened = ranges.into_iter().map(|range| self.store.widened(range));
        for range in joined(widened.collect()) {
            let sides = (self.device, &self.staged.memory);
            let (low, high) = range;
            let seen = self.staged.use_of(low, high - low);
            let region = self.store.take(range, seen, sides, &mut self.stats)?;
            self.regions.push(region);
        }
        Ok(())
    }

    /// What the device has newer of any memory goes to the host: a kernel will use bytes that nobody can
    /// name before.
    pub(super) fn bring_everything(&mut self) -> Result<(), DeviceError> {
        for region in self
            .regions
            .iter_mut()
            .filter(|region| region.of != Of::Launch)
        {
            region.fetch(self.device, &mut self.stats)?;
        }
        let sides = (self.device, &self.staged.memory);
        let all = (0, u64::MAX);
        self.store.bring(all, sides, false, &mut self.stats)
    }

    /// Device memory; what other launches left there makes room.
    fn alloc(&mut self, bytes: u64) -> Result<super::memory::Spot, DeviceError> {
        let memory = &self.staged.memory;
        loop {
            match memory.alloc(bytes) {
                Err(error @ DeviceError::OutOfMemory { .. }) => {
                    let sides = (self.device, memory);
                    if !self.store.evict(sides, &mut self.stats)? {
                        return Err(error);
                    }
                }
                other => return other,
            }
        }
    }

    /// A region for a value in between; it has no memory yet.
    pub(super) fn value(&mut self, bytes: usize) -> usize {
        self.regions.push(Region::between(bytes as u64));
        self.regions.len() - 1
    }

    /// The view of the region that holds `range`. Views without elements get any region.
    pub(super) fn locate(&self, arg: &Arg, range: Option<(u64, u64)>) -> Option<View> {
        let Arg::View {
            buf,
            offset,
            strides,
        } = arg
        else {
            return None;
        };
        let (low, _) = range?;
        let holds = |r: &Region| r.of != Of::Launch && r.low <= low && low < r.low + r.bytes;
        let region = self.regions.iter().position(holds)?;
        let first = buf.0.wrapping_add_signed(*offset as i64);
        Some(View {
            region,
            offset: by(first, self.regions[region].low),
            strides: strides.clone(),
        })
    }

    /// The view as the device sees it. The newest bytes are there unless `fresh`: all are overwritten.
    pub(super) fn device_arg(&mut self, view: &View, fresh: bool) -> Result<Arg, DeviceError> {
        if self.device.caps().unified {
            return self.host_arg(view, fresh);
        }
        let region = &self.regions[view.region];
        let phase = region.phase();
        let spot = match region.spot {
            Some(spot) => spot,
            None => self.alloc(region.bytes + phase)?,
        };
        let region = &mut self.regions[view.region];
        region.spot = Some(spot);
        if !fresh && !region.on_device && region.on_host {
            self.send(view.region, (spot.buf(), spot.offset() + phase))?;
        }
        Ok(Arg::View {
            buf: spot.buf(),
            offset: view.offset + by(spot.offset() + phase, 0),
            strides: view.strides.clone(),
        })
    }

    /// Copies a region to the device; zeros are written there.
    fn send(&mut self, number: usize, to: (Buf, u64)) -> Result<(), DeviceError> {
        let region = &mut self.regions[number];
        if !(region.zeros && fill_zeros(self.device, to, region.bytes)?) {
            let from = End::Host(pointer(region.low));
            self.device
                .copy(Queue(0), End::Dev(to.0, to.1), from, region.bytes)?;
            self.stats.uploads += 1;
            self.stats.upload_bytes += region.bytes;
        }
        region.on_device = true;
        Ok(())
    }

    /// The view as the host sees it, with the newest bytes unless `fresh`.
    pub(super) fn host_arg(&mut self, view: &View, fresh: bool) -> Result<Arg, DeviceError> {
        let region = &mut self.regions[view.region];
        if region.low == 0 {
            region.low = self.host.alloc(region.bytes)?.0;
        }
        if !fresh {
            self.fetch(view.region)?;
        }
        Ok(Arg::View {
            buf: Buf(self.regions[view.region].low),
            offset: view.offset,
            strides: view.strides.clone(),
        })
    }

    /// Brings a region to the host.
    fn fetch(&mut self, number: usize) -> Result<(), DeviceError> {
        self.regions[number].fetch(self.device, &mut self.stats)
    }

    /// A view was written on one side.
    pub(super) fn wrote(&mut self, view: &View, on_device: bool) {
        let shared = self.device.caps().unified;
        let region = &mut self.regions[view.region];
        region.on_device = on_device || shared;
        region.on_host = !on_device || shared;
        region.zeros = false;
    }

    /// True when the view covers its whole region.
    pub(super) fn covers(&self, view: &View, shape: &[usize], dtype: DType) -> bool {
        let points: usize = shape.iter().product();
        let bytes = (points * dtype.size()) as u64;
        let once = shape
            .iter()
            .zip(&view.strides)
            .all(|(&n, &s)| n == 1 || s != 0);
        once && bytes == self.regions[view.region].bytes
    }

    /// True if the view's region is all memory of one value.
    pub(super) fn is_whole(&self, view: &View) -> bool {
        self.regions[view.region].of == Of::Value
    }

    /// True where nobody looks at a region before he asks.
    fn is_private(&self, region: &Region) -> bool {
        self.staged.use_of(region.low, region.bytes) == Use::Private
    }

    /// Brings all of the view's region to the user's memory, if something of it was written on the device; not yet,
    /// where nobody looks before he asks.
    pub(super) fn bring_all_back(&mut self, view: &View) -> Result<(), DeviceError> {
        if self.is_private(&self.regions[view.region]) {
            return Ok(());
        }
        self.fetch(view.region)
    }

    /// Brings what was written on the device to the elements of `view` in the user's memory, and to no
    /// byte between them; not yet, where nobody looks before he asks.
    pub(super) fn bring_back(
        &mut self,
        view: &View,
        shape: &[usize],
        dtype: DType,
    ) -> Result<(), DeviceError> {
        let region = &self.regions[view.region];
        if region.on_host || self.is_private(region) {
            return Ok(());
        }
        if self.covers(view, shape, dtype) {
            return self.fetch(view.region);
        }
        let (bytes, phase) = (region.bytes, region.phase());
        let (Some(spot), low) = (region.spot, region.low) else {
            return Ok(());
        };
        let block = self.host.alloc(bytes)?;
        let copied = self
            .device
            .copy(
                Queue(0),
                End::Host(pointer(block.0)),
                End::Dev(spot.buf(), spot.offset() + phase),
                bytes,
            )
            .and_then(|()| finish(self.device))
            .and_then(|()| {
                let at = |base: u64| Arg::View {
                    buf: Buf(base),
                    offset: view.offset,
                    strides: view.strides.clone(),
                };
                spread(self.host, [at(block.0), at(low)], shape, dtype)
            });
        self.host.free(block);
        self.regions[view.region].on_host = copied.is_ok();
        self.stats.downloads += 1;
        self.stats.download_bytes += bytes;
        copied
    }
}

/// Bytes from `from` to `to`.
fn by(to: u64, from: u64) -> isize {
    isize::try_from(to.wrapping_sub(from).cast_signed()).unwrap_or(0)
}

/// Writes zeros to memory of the device. False if it has no kernel for that.
fn fill_zeros(
    device: &dyn Device,
    (buf, offset): (Buf, u64),
    bytes: u64,
) -> Result<bool, DeviceError> {
    let wide = [(DType::U64, 8), (DType::U32, 4), (DType::U16, 2)];
    let fits = |size| (bytes | offset).is_multiple_of(size);
    let (dtype, size) = wide
        .into_iter()
        .find(|(_, size)| fits(*size))
        .unwrap_or((DType::U8, 1));
    let mut code = Builder::new();
    let zero = code.constant(dtype, 0.0);
    let kernel = Kernel {
        code: code.finish(),
        inputs: Vec::new(),
        outputs: vec![Output {
            value: zero.0,
            form: Form::Store,
        }],
        rank: 1,
    };
    let launch = Launch {
        shape: &[usize::try_from(bytes / size).unwrap_or(usize::MAX)],
        outs: &[Arg::View {
            buf,
            offset: by(offset, 0),
            strides: [by(size, 0)].as_slice().into(),
        }],
        ins: &[],
        reduces: &[None],
        flags: None,
    };
    match device.run(Queue(0), &kernel, &launch) {
        Err(DeviceError::Unsupported { .. }) => Ok(false),
        other => other.map(|()| true),
    }
}

/// Copies elements on the host.
fn spread(
    host: &dyn Device,
    [from, to]: [Arg; 2],
    shape: &[usize],
    dtype: DType,
) -> Result<(), DeviceError> {
    let kernel = Kernel::copy(dtype, u8::try_from(shape.len()).unwrap_or(u8::MAX));
    let launch = Launch {
        shape,
        outs: &[to],
        ins: &[from],
        reduces: &[None],
        flags: None,
    };
    host.run(Queue(0), &kernel, &launch)
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        for mut region in self.regions.drain(..) {
            if region.of == Of::Launch && region.low != 0 {
                self.host.free(Buf(region.low));
            }
            let keeps = self.staged.keeps() && region.of != Of::Launch;
            if let Some(spot) = region.spot.take_if(|_| !(keeps && region.on_device)) {
                self.staged.memory.free(spot);
            }
            let known = region.on_host || region.on_device;
            if keeps && (region.spot.is_some() || region.of == Of::Value && known) {
                self.store.keep(region);
            }
        }
    }
}
