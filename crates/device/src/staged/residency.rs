//! The copies that stay on the device, for whoever owns the memory of the host.

use super::store::Region;
use super::{Staged, StagedStats, lock};
use crate::{Contents, DeviceError, Residency, Use, UseOf};

/// Values are copied as a whole if they are at most the limit of the device's memory over this.
const WHOLE: u64 = 8;

impl Staged {
    /// Runs `work` on what stays, and counts what it did.
    fn with_store<T>(&self, work: impl FnOnce(&mut super::Store, &mut StagedStats) -> T) -> T {
        let mut stats = StagedStats::default();
        let result = work(&mut self.store(), &mut stats);
        lock(&self.stats).add(stats);
        result
    }
}

impl Residency for Staged {
    fn start(&self, use_of: Box<UseOf>) {
        self.use_of.get_or_init(|| use_of);
    }

    fn begin(&self, address: u64, bytes: u64, contents: Contents) {
        // Where memory is scarce, what kernels do not use would take the place of what they do.
        let limit = self.memory.limit().most();
        if self.keeps() && bytes <= limit / WHOLE {
            let seen = self.use_of(address, bytes);
            let range = (address, address.saturating_add(bytes));
            self.store().begin(range, seen, contents);
        }
    }

    fn bring(&self, address: u64, bytes: u64) -> Result<(), DeviceError> {
        let range = (address, address.saturating_add(bytes));
        let sides = (&*self.device, &self.memory);
        self.with_store(|store, stats| store.bring(range, sides, true, stats))
    }

    fn forget(&self, address: u64, bytes: u64) {
        let range = (address, address.saturating_add(bytes));
        let sides = (&*self.device, &self.memory);
        // A region that reaches out of the range and cannot be brought is lost with its device.
        let _lost = self.with_store(|store, stats| store.forget(range, sides, stats));
    }

    fn settle(&self, may_stay: bool) -> Result<(), DeviceError> {
        let sides = (&*self.device, &self.memory);
        let stays = |region: &Region| {
            let now = self.use_of(region.low, region.bytes);
            may_stay && self.stays && now != Use::Shared && now == region.seen
        };
        self.with_store(|store, stats| store.settle(&stays, sides, stats))?;
        if !may_stay {
            self.memory.trim();
        }
        Ok(())
    }

    fn holds(&self, address: u64, bytes: u64) -> bool {
        self.store().holds(address, address.saturating_add(bytes))
    }
}
