//! When a compiled function may write around the caches: whole vectors only, on places of their size.

use super::Rows;

/// Arguments that are written around the caches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams {
    /// The arguments and their element sizes.
    pub(super) args: Vec<(usize, usize)>,
    /// Elements of a vector.
    pub(super) lanes: usize,
    /// The function does the elements before the first whole vector by themselves.
    pub(super) any_start: bool,
}

impl Streams {
    /// True when all of them start whole vectors at the same element, from which on the function writes
    /// around the caches.
    pub(crate) fn fit(&self, args: &[*mut u8], rows: Rows<'_>) -> bool {
        let turns = |&(arg, size): &(usize, usize)| {
            let step = rows.steps[arg];
            let size = size.cast_signed();
            (step % size == 0).then(|| (step / size).rem_euclid(self.lanes.cast_signed()))
        };
        if rows.count > 1 {
            let first = self.args.first().and_then(turns);
            let alike = |arg| turns(arg).is_some() && turns(arg) == first;
            if !self.args.iter().all(alike) || (first != Some(0) && !self.any_start) {
                return false;
            }
        }
        let phase = |&(arg, size): &(usize, usize)| {
            let address = args[arg].addr();
            let whole = address.is_multiple_of(size);
            whole.then(|| address / size % self.lanes)
        };
        let mut phases = self.args.iter().map(phase);
        match phases.next() {
            Some(Some(first)) => {
                (first == 0 || self.any_start) && phases.all(|other| other == Some(first))
            }
            _ => false,
        }
    }
}
