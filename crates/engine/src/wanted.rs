//! For whose sake the recorded list runs.

use arrayloom_ir::SlotId;

/// Why a list runs.
#[derive(Clone, Copy)]
pub(crate) enum Wanted {
    /// For the sake of all that it does.
    All,
    /// Its last operation writes to memory that the program sees.
    Seen,
    /// It is full: so many operations at its start run.
    First(usize),
    /// Somebody reads a slot.
    Value(SlotId),
    /// The last operation runs as soon as it is called, and what makes its operands with it.
    End,
    /// Somebody writes to a slot, so that nothing may be left that reads its old value.
    Memory(SlotId),
}

impl Wanted {
    /// The slot that somebody waits for.
    pub(crate) fn slot(self) -> Option<SlotId> {
        match self {
            Wanted::All | Wanted::Seen | Wanted::First(_) | Wanted::End => None,
            Wanted::Value(slot) | Wanted::Memory(slot) => Some(slot),
        }
    }
}
