//! Copies of host memory that stay on the device between launches.

use super::memory::{DeviceMemory, Spot};
use super::{StagedStats, finish, pointer};
use crate::{Contents, Device, DeviceError, End, Queue, Use};
use std::collections::BTreeMap;

/// Bytes in front of a region on the device, so that elements are aligned there as they are here.
const PHASE: u64 = 64;

/// What a region is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// What the operands of a launch touch.
    Views,
    /// All memory of a value, whose place is kept even while the device has no copy.
    Value,
    /// A value in between; the host memory, if it has any, belongs to the launch.
    Launch,
}

/// A range of bytes of the host, and its copy on the device.
pub(super) struct Region {
    /// Host address; 0 while a value in between has no memory there.
    pub(super) low: u64,
    pub(super) bytes: u64,
    pub(super) spot: Option<Spot>,
    pub(super) on_host: bool,
    pub(super) on_device: bool,
    /// The host has zeros: they need not be copied.
    pub(super) zeros: bool,
    pub(super) of: Of,
    /// Who used the memory of the host when the copy was made.
    pub(super) seen: Use,
    /// When a launch used it last.
    used: u64,
}

impl Region {
    /// Memory of the host.
    pub(super) fn of_host((low, high): (u64, u64)) -> Region {
        Region {
            low,
            bytes: high - low,
            spot: None,
            on_host: true,
            on_device: false,
            zeros: false,
            of: Of::Views,
            seen: Use::Shared,
            used: 0,
        }
    }

    /// A value in between, without memory.
    pub(super) fn between(bytes: u64) -> Region {
        Region {
            on_host: false,
            of: Of::Launch,
            ..Region::of_host((0, bytes))
        }
    }

    /// Bytes between the start of its piece of device memory and its own.
    pub(super) fn phase(&self) -> u64 {
        if self.of == Of::Launch {
            0
        } else {
            self.low % PHASE
        }
    }

    /// The device has newer bytes than the host.
    fn is_newer(&self) -> bool {
        self.on_device && !self.on_host
    }

    fn high(&self) -> u64 {
        self.low + self.bytes
    }

    /// Brings it to the host, if the device has newer bytes.
    pub(super) fn fetch(
        &mut self,
        device: &dyn Device,
        stats: &mut StagedStats,
    ) -> Result<(), DeviceError> {
        self.fetch_part((self.low, self.high()), device, stats)
    }

    /// Brings what it shares with a range to the host, if the device has newer bytes. It is on the host if that is all of it.
    fn fetch_part(
        &mut self,
        (low, high): (u64, u64),
        device: &dyn Device,
        stats: &mut StagedStats,
    ) -> Result<(), DeviceError> {
        let Some(spot) = self.spot.filter(|_| self.is_newer()) else {
            return Ok(());
        };
        let (low, high) = (low.max(self.low), high.min(self.high()));
        let from = spot.offset() + self.phase() + (low - self.low);
        let from = End::Dev(spot.buf(), from);
        device.copy(Queue(0), End::Host(pointer(low)), from, high - low)?;
        finish(device)?;
        self.on_host = high - low == self.bytes;
        stats.downloads += 1;
        stats.download_bytes += high - low;
        Ok(())
    }
}

/// Regions that stay, by their host addresses. They never overlap.
#[derive(Default)]
pub(super) struct Store {
    regions: BTreeMap<u64, Region>,
    clock: u64,
}

impl Store {
    /// Host addresses of the regions that share bytes with a range.
    fn within(&self, low: u64, high: u64) -> Vec<u64> {
        let below = self.regions.range(..high).rev();
        let shared = below.take_while(|(_, region)| region.high() > low);
        shared.map(|(&key, _)| key).collect()
    }

    /// The range of the region that holds a range, or the range itself.
    pub(super) fn widened(&self, (low, high): (u64, u64)) -> (u64, u64) {
        let last = self.regions.range(..=low).next_back();
        let holder = last.filter(|(_, region)| region.high() >= high);
        holder.map_or((low, high), |(_, region)| (region.low, region.high()))
    }

    /// Takes the region of exactly this range out, whose memory has this use now; brings and drops others that
    /// share bytes with it, and a copy that somebody may have written to since.
    pub(super) fn take(
        &mut self,
        (low, high): (u64, u64),
        seen: Use,
        (device, memory): (&dyn Device, &DeviceMemory),
        stats: &mut StagedStats,
    ) -> Result<Region, DeviceError> {
        let mut found = None;
        for key in self.within(low, high) {
            let Some(mut region) = self.regions.remove(&key) else {
                continue;
            };
            let same = (region.low, region.high()) == (low, high);
            if same && region.seen == seen {
                found = Some(region);
                continue;
            }
            if let Err(error) = region.fetch(device, stats) {
                self.regions.insert(key, region);
                return Err(error);
            }
            drop_copy(&region, memory);
            if same {
                found = Some(Region {
                    spot: None,
                    on_device: false,
                    zeros: false,
                    seen,
                    ..region
                });
            }
        }
        let fresh = || Region {
            seen,
            ..Region::of_host((low, high))
        };
        Ok(found.unwrap_or_else(fresh))
    }

    /// Notes where a value lies, unless something is known of its memory.
    pub(super) fn begin(&mut self, (low, high): (u64, u64), seen: Use, contents: Contents) {
        if self.within(low, high).is_empty() {
            self.keep(Region {
                of: Of::Value,
                seen,
                on_host: contents != Contents::Nothing,
                zeros: contents == Contents::Zeros,
                ..Region::of_host((low, high))
            });
        }
    }

    /// Keeps a region whose bytes are on the device, or whose place is worth knowing.
    pub(super) fn keep(&mut self, mut region: Region) {
        self.clock += 1;
        region.used = self.clock;
        self.regions.insert(region.low, region);
    }

    /// Brings the bytes of a range; regions that do not stay are brought as a whole and dropped.
    pub(super) fn bring(
        &mut self,
        (low, high): (u64, u64),
        (device, memory): (&dyn Device, &DeviceMemory),
        stays: bool,
        stats: &mut StagedStats,
    ) -> Result<(), DeviceError> {
        for key in self.within(low, high) {
            let Some(region) = self.regions.get_mut(&key) else {
                continue;
            };
            if stays {
                region.fetch_part((low, high), device, stats)?;
                continue;
            }
            region.fetch(device, stats)?;
            if let Some(region) = self.regions.remove(&key) {
                drop_copy(&region, memory);
            }
        }
        Ok(())
    }

    /// Brings and drops every region that does not stay.
    pub(super) fn settle(
        &mut self,
        stays: &dyn Fn(&Region) -> bool,
        sides: (&dyn Device, &DeviceMemory),
        stats: &mut StagedStats,
    ) -> Result<(), DeviceError> {
        let regions = self.regions.values();
        let going = regions.filter(|region| !stays(region));
        let going: Vec<(u64, u64)> = going.map(|r| (r.low, r.high())).collect();
        for range in going {
            self.bring(range, sides, false, stats)?;
        }
        Ok(())
    }

    /// Drops the regions of a range, whatever they hold; those that reach out of it are brought first.
    pub(super) fn forget(
        &mut self,
        (low, high): (u64, u64),
        (device, memory): (&dyn Device, &DeviceMemory),
        stats: &mut StagedStats,
    ) -> Result<(), DeviceError> {
        for key in self.within(low, high) {
            let Some(mut region) = self.regions.remove(&key) else {
                continue;
            };
            let inside = region.low >= low && region.high() <= high;
            let brought = if inside {
                Ok(())
            } else {
                region.fetch(device, stats)
            };
            drop_copy(&region, memory);
            brought?;
        }
        Ok(())
    }

    /// Makes room: the region used longest ago goes to the host. False if there is none.
    pub(super) fn evict(
        &mut self,
        (device, memory): (&dyn Device, &DeviceMemory),
        stats: &mut StagedStats,
    ) -> Result<bool, DeviceError> {
        let copies = self.regions.iter();
        let copies = copies.filter(|(_, region)| region.spot.is_some());
        let oldest = copies.min_by_key(|(_, region)| region.used);
        let Some(key) = oldest.map(|(&key, _)| key) else {
            return Ok(false);
        };
        let Some(region) = self.regions.get_mut(&key) else {
            return Ok(false);
        };
        region.fetch(device, stats)?;
        if let Some(region) = self.regions.remove(&key) {
            stats.evictions += 1;
            stats.evicted_bytes += region.bytes;
            drop_copy(&region, memory);
        }
        Ok(true)
    }

    /// True if the device has bytes of some region of the range.
    pub(super) fn holds(&self, low: u64, high: u64) -> bool {
        let keys = self.within(low, high);
        keys.iter().any(|key| self.regions[key].on_device)
    }
}

fn drop_copy(region: &Region, memory: &DeviceMemory) {
    if let Some(spot) = region.spot {
        memory.free(spot);
    }
}
