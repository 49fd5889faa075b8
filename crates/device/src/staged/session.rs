//! The memory of one launch on both sides: which bytes are where, and which copy is the newer one.

use super::StagedStats;
use crate::{Arg, Buf, Device, DeviceError, End, Event, Launch, Queue};
use arrayloom_ir::{Builder, Form, Kernel, Output};
use arrayloom_types::{DType, Layout, Strides};
use std::ptr;

/// Bytes in front of a region on the device, so that elements are aligned there as they are here.
const PHASE: u64 = 64;

/// A range of bytes of the host, and its copy on the device.
pub(super) struct Region {
    /// Host address; 0 while a value in between has no memory there.
    low: u64,
    bytes: u64,
    device: Option<Buf>,
    on_host: bool,
    on_device: bool,
    /// The host memory is ours.
    own: bool,
}

/// A view of a region.
#[derive(Clone)]
pub(super) struct View {
    pub(super) region: usize,
    /// Bytes from the start of the region.
    pub(super) offset: isize,
    pub(super) strides: Strides,
}

/// Regions of a launch. Whatever happens, its memory is given back.
pub(super) struct Session<'a> {
    device: &'a dyn Device,
    host: &'a dyn Device,
    regions: Vec<Region>,
    pub(super) stats: StagedStats,
}

/// The bytes that a view of this launch touches, as host addresses; `None` for no element.
pub(super) fn range(arg: &Arg, shape: &[usize], dtype: DType) -> Option<(u64, u64)> {
    let Arg::View {
        buf,
        offset,
        strides,
    } = arg
    else {
        return None;
    };
    let layout = Layout {
        dtype,
        offset: *offset,
        shape: shape.into(),
        strides: strides.clone(),
    };
    if layout.is_empty() {
        return None;
    }
    let (low, high) = layout.byte_range();
    let at = |by: isize| buf.0.wrapping_add_signed(by as i64);
    Some((at(low), at(high)))
}

impl<'a> Session<'a> {
    pub(super) fn new(device: &'a dyn Device, host: &'a dyn Device) -> Session<'a> {
        Session {
            device,
            host,
            regions: Vec::new(),
            stats: StagedStats::default(),
        }
    }

    /// Makes regions of ranges; those that overlap are one.
    pub(super) fn cover(&mut self, mut ranges: Vec<(u64, u64)>) {
        ranges.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (low, high) in ranges {
            match joined.last_mut() {
                Some(last) if low < last.1 => last.1 = last.1.max(high),
                _ => joined.push((low, high)),
            }
        }
        let region = |(low, high): (u64, u64)| Region {
            low,
            bytes: high - low,
            device: None,
            on_host: true,
            on_device: false,
            own: false,
        };
        self.regions.extend(joined.into_iter().map(region));
    }

    /// A region for a value in between; it has no memory yet.
    pub(super) fn value(&mut self, bytes: usize) -> usize {
        self.regions.push(Region {
            low: 0,
            bytes: bytes as u64,
            device: None,
            on_host: false,
            on_device: false,
            own: true,
        });
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
        let holds = |r: &Region| !r.own && r.low <= low && low < r.low + r.bytes;
        let region = self.regions.iter().position(holds)?;
        let first = buf.0.wrapping_add_signed(*offset as i64);
        Some(View {
            region,
            offset: by(first, self.regions[region].low),
            strides: strides.clone(),
        })
    }

    fn phase(region: &Region) -> u64 {
        if region.own { 0 } else { region.low % PHASE }
    }

    /// The view as the device sees it. The newest bytes are there unless `fresh`: all are overwritten.
    pub(super) fn device_arg(&mut self, view: &View, fresh: bool) -> Result<Arg, DeviceError> {
        if self.device.caps().unified {
            return self.host_arg(view, fresh);
        }
        let (device, region) = (self.device, &mut self.regions[view.region]);
        let phase = Session::phase(region);
        let buf = match region.device {
            Some(buf) => buf,
            None => *region.device.insert(device.alloc(region.bytes + phase)?),
        };
        if !fresh && !region.on_device && region.on_host {
            let from = End::Host(pointer(region.low));
            device.copy(Queue(0), End::Dev(buf, phase), from, region.bytes)?;
            region.on_device = true;
            self.stats.uploads += 1;
            self.stats.upload_bytes += region.bytes;
        }
        Ok(Arg::View {
            buf,
            offset: view.offset + by(phase, 0),
            strides: view.strides.clone(),
        })
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
        let (device, region) = (self.device, &mut self.regions[number]);
        let Some(buf) = region
            .device
            .filter(|_| region.on_device && !region.on_host)
        else {
            return Ok(());
        };
        let from = End::Dev(buf, Session::phase(region));
        device.copy(Queue(0), End::Host(pointer(region.low)), from, region.bytes)?;
        finish(device)?;
        region.on_host = true;
        self.stats.downloads += 1;
        self.stats.download_bytes += region.bytes;
        Ok(())
    }

    /// A view was written on one side.
    pub(super) fn wrote(&mut self, view: &View, on_device: bool) {
        let shared = self.device.caps().unified;
        let region = &mut self.regions[view.region];
        region.on_device = on_device || shared;
        region.on_host = !on_device || shared;
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

    /// Brings what was written on the device to the elements of `view` in the user's memory, and to no
    /// byte between them.
    pub(super) fn bring_back(
        &mut self,
        view: &View,
        shape: &[usize],
        dtype: DType,
    ) -> Result<(), DeviceError> {
        let region = &self.regions[view.region];
        if region.on_host {
            return Ok(());
        }
        if self.covers(view, shape, dtype) {
            return self.fetch(view.region);
        }
        let (bytes, phase) = (region.bytes, Session::phase(region));
        let (Some(buf), low) = (region.device, region.low) else {
            return Ok(());
        };
        let block = self.host.alloc(bytes)?;
        let copied = self
            .device
            .copy(
                Queue(0),
                End::Host(pointer(block.0)),
                End::Dev(buf, phase),
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
        self.stats.downloads += 1;
        self.stats.download_bytes += bytes;
        copied
    }
}

/// Bytes from `from` to `to`.
fn by(to: u64, from: u64) -> isize {
    isize::try_from(to.wrapping_sub(from).cast_signed()).unwrap_or(0)
}

/// Copies elements on the host.
fn spread(
    host: &dyn Device,
    [from, to]: [Arg; 2],
    shape: &[usize],
    dtype: DType,
) -> Result<(), DeviceError> {
    let mut b = Builder::new();
    let value = b.input(0, dtype).0;
    let kernel = Kernel {
        code: b.finish(),
        inputs: vec![dtype],
        outputs: vec![Output {
            value,
            form: Form::Store,
        }],
        rank: u8::try_from(shape.len()).unwrap_or(u8::MAX),
    };
    let launch = Launch {
        shape,
        outs: &[to],
        ins: &[from],
        reduces: &[None],
        flags: None,
    };
    host.run(Queue(0), &kernel, &launch)
}

/// Waits for everything in queue 0.
pub(super) fn finish(device: &dyn Device) -> Result<(), DeviceError> {
    let event: Event = device.record(Queue(0))?;
    device.poll(event, true).map(|_passed| ())
}

fn pointer(address: u64) -> *mut u8 {
    ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or(0))
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        for region in &self.regions {
            if let Some(buf) = region.device {
                self.device.free(buf);
            }
            if region.own && region.low != 0 {
                self.host.free(Buf(region.low));
            }
        }
    }
}
