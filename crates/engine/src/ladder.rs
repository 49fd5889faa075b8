//! What happens when memory runs out: one ladder of measures, each tried once and counted, and an error
//! that says what would help.
//!
//! Every rung tells how many bytes it freed; one that freed none is not tried again. The rungs that call
//! Python are climbed by whoever holds the interpreter ([`Engine::patiently`]): never while the list runs,
//! and never inside a touch of memory.

use crate::engine::lock;
use crate::{Engine, EngineError};
use arrayloom_device::DeviceError;
use arrayloom_guard::{GuardError, Pages as _};
use arrayloom_memory::{physical_memory, swap_memory};
use std::cell::Cell;
use std::time::Instant;

/// A measure against lack of memory, in the order in which they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// A dry run of the list said that it would not fit, and old values were spilled before it ran.
    Predict,
    /// Blocks that waited for re-use went back to the system.
    Trim,
    /// Caches of other frameworks were emptied.
    Frameworks,
    /// Python's garbage was collected.
    Collect,
    /// Values that were used longest ago moved to the spill file.
    Spill,
    /// A kernel ran in boxes of rows, with results in the spill file.
    Boxes,
    /// Nothing helped.
    Error,
}

impl Rung {
    /// All of them, in order.
    pub const ALL: [Rung; 7] = [
        Rung::Predict,
        Rung::Trim,
        Rung::Frameworks,
        Rung::Collect,
        Rung::Spill,
        Rung::Boxes,
        Rung::Error,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Rung::Predict => "predict",
            Rung::Trim => "trim",
            Rung::Frameworks => "frameworks",
            Rung::Collect => "collect",
            Rung::Spill => "spill",
            Rung::Boxes => "boxes",
            Rung::Error => "error",
        }
    }
}

/// What one rung did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RungStats {
    /// How often it was climbed.
    pub times: u64,
    /// Bytes that it freed.
    pub bytes: u64,
    /// Seconds that it took.
    pub seconds: f64,
}

/// What all rungs did so far.
pub(crate) type Rungs = [RungStats; Rung::ALL.len()];

thread_local! {
    /// This thread will climb rungs of its own before it tries again.
    static PATIENT: Cell<bool> = const { Cell::new(false) };
}

/// The bytes that an attempt lacked, if it failed for lack of memory.
fn lacked(error: &EngineError) -> Option<u64> {
    match error {
        EngineError::OutOfMemory(shortage) => Some(shortage.need),
        EngineError::Device(DeviceError::OutOfMemory { need, .. }) => Some(*need),
        EngineError::Guard(GuardError::OutOfMemory { bytes }) => Some(*bytes as u64),
        _ => None,
    }
}

impl Engine {
    /// Runs `work` for a caller who will do something about lack of memory and then try again: only what
    /// costs nothing is tried here.
    pub fn patiently<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = PATIENT.replace(true);
        let result = work();
        PATIENT.set(before);
        result
    }

    /// Counts a rung that somebody else climbed.
    pub fn note_rung(&self, rung: Rung, bytes: u64, seconds: f64) {
        let mut rungs = lock(&self.rungs);
        let stats = &mut rungs[rung as usize];
        stats.times += 1;
        stats.bytes += bytes;
        stats.seconds += seconds;
    }

    /// Tries until there is memory or nothing more can be freed. The caller has the turn and holds no
    /// lock; an attempt that failed has changed nothing that a new one would not find again.
    pub(crate) fn with_room<T>(
        &self,
        mut attempt: impl FnMut() -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let mut result = attempt();
        let need = result.as_ref().err().and_then(lacked);
        let rungs: &[Rung] = if need.is_some_and(|need| self.is_hopeless(need)) {
            &[]
        } else {
            &[Rung::Trim, Rung::Spill, Rung::Boxes]
        };
        for &rung in rungs {
            if rung > Rung::Trim && PATIENT.get() {
                return result;
            }
            while let Some(need) = result.as_ref().err().and_then(lacked) {
                if self.climb(rung, need) == 0 {
                    break;
                }
                self.pool().set_overflow(rung == Rung::Boxes);
                result = attempt();
                if self.pool().set_overflow(false) {
                    break;
                }
            }
        }
        if result.as_ref().err().and_then(lacked).is_some() {
            self.note_rung(Rung::Error, 0, 0.0);
            return result.map_err(|error| self.explained(error));
        }
        result
    }

    /// True for more than the machine has, where no limit asks that what is beyond it goes to a file.
    fn is_hopeless(&self, need: u64) -> bool {
        let all = physical_memory().saturating_add(swap_memory());
        need > all && self.pool().limit().most() == u64::MAX
    }

    fn climb(&self, rung: Rung, need: u64) -> u64 {
        let started = Instant::now();
        let freed = match rung {
            Rung::Trim => {
                self.let_go();
                self.cool();
                self.pool().trim(usize::MAX) as u64
            }
            Rung::Spill => self.spill(need),
            Rung::Boxes if self.settings.spill && self.pool().can_spill() => need,
            _ => 0,
        };
        if freed > 0 {
            self.note_rung(rung, freed, started.elapsed().as_secs_f64());
        }
        freed
    }

    /// The error with the facts of this moment.
    fn explained(&self, error: EngineError) -> EngineError {
        match (&error, lacked(&error)) {
            (EngineError::Device(_), _) | (_, None) => error,
            (_, Some(need)) => self.out_of_memory(usize::try_from(need).unwrap_or(usize::MAX)),
        }
    }
}
