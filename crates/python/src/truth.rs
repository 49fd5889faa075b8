//! Masks that pick: where the engine finds their truth values, and how many are true.
//!
//! Masks of the arena are watched there. Nobody tells when a plain mask changes, so a small one is copied, and is the
//! same as long as its bytes are; the last copies are kept, since a program picks by a mask several times.
#![expect(unsafe_code, reason = "reads the truth values of masks")]

use crate::np::Arr;
use crate::operand::view_of;
use crate::{birth, masks, parts, slices, state, sync};
use arrayloom_bulk as bulk;
use arrayloom_engine::Row;
use arrayloom_ir::SlotId;
use numpy::npyffi::flags::NPY_ARRAY_C_CONTIGUOUS;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Bytes of a plain mask that is copied, at most.
const COPIED: usize = 256 << 10;
/// Copies that are kept.
const KEPT: usize = 2;

/// A mask.
pub(crate) struct Truth {
    /// Where its values lie, one after the other.
    pub(crate) row: Row,
    /// How many are true.
    pub(crate) count: usize,
    /// The place of the first true one.
    pub(crate) first: Option<usize>,
    /// What keeps a mask of the same values there that stands for this one.
    held: Option<Held>,
}

/// A slot that stays while this lives.
struct Held(SlotId);

impl Held {
    fn new(slot: SlotId) -> Held {
        state::engine().hold(slot);
        Held(slot)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        state::engine().unhold(self.0);
    }
}

/// A copy of a plain mask: the engine's, and one to compare with.
struct Copied {
    slot: SlotId,
    bytes: Box<[u8]>,
    count: usize,
    first: Option<usize>,
}

static COPIES: Mutex<Vec<Copied>> = Mutex::new(Vec::new());

impl Copied {
    fn truth(&self) -> Truth {
        Truth {
            row: Row {
                slot: self.slot,
                offset: 0,
            },
            count: self.count,
            first: self.first,
            held: Some(Held::new(self.slot)),
        }
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        state::engine().release(self.slot);
    }
}

/// The truth values of a contiguous mask; computes it. `None` for a plain mask that is too large to be copied.
pub(crate) fn of(py: Python<'_>, mask: Arr) -> PyResult<Option<Truth>> {
    let Some(row) = view_of(mask).and_then(|view| view.row()) else {
        return copied(py, mask);
    };
    let places = mask.len();
    let (count, first) = count_at(py, row, places)?;
    let mut truth = Truth {
        row,
        count,
        first,
        held: None,
    };
    for other in state::engine().masks_of(places) {
        if other == row {
            break;
        }
        if let Some(held) = same(py, [other, row], places)? {
            (truth.row, truth.held) = (other, Some(held));
            break;
        }
    }
    Ok(Some(truth))
}

/// How many of so many truth values are true, and the place of the first; computes them. A device with memory of its own
/// counts them there.
fn count_at(py: Python<'_>, row: Row, places: usize) -> PyResult<(usize, Option<usize>)> {
    let engine = state::engine();
    if engine.copies_values() {
        let count = || engine.count_true(row, places);
        if let Some(counted) = sync::force(py, count, count)? {
            return Ok(counted);
        }
    }
    // SAFETY: so many truth values.
    sync::look(py, row, places, |address| unsafe {
        masks::count_at(address, places)
    })
}

/// How many values of a contiguous mask are true; computes it.
pub(crate) fn count(py: Python<'_>, mask: Arr) -> PyResult<usize> {
    let places = mask.len();
    if let Some(row) = view_of(mask).and_then(|view| view.row()) {
        return Ok(count_at(py, row, places)?.0);
    }
    sync::read(py, mask)?;
    // SAFETY: callers pass contiguous arrays of truth values, which have been computed.
    let values = unsafe { slices::elements::<u8>(mask, places) };
    Ok(bulk::count_true(values, parts::threads()))
}

/// Holds the first of two masks if they have the same values, such as those of an expression that stands in a line
/// twice; computes the second.
fn same(py: Python<'_>, rows: [Row; 2], places: usize) -> PyResult<Option<Held>> {
    let bytes = std::ptr::with_exposed_provenance::<u8>;
    let equal = |[a, b]: [usize; 2]| {
        // SAFETY: so many computed truth values lie there, which nobody writes.
        let a = unsafe { std::slice::from_raw_parts(bytes(a), places) };
        // SAFETY: likewise.
        a == unsafe { std::slice::from_raw_parts(bytes(b), places) }
    };
    let same = sync::hold_if_same(py, rows, places, equal)?;
    Ok(same.then(|| Held(rows[0].slot)))
}

/// True if a mask is, or has the values of, the one at `row`.
pub(crate) fn is_at(py: Python<'_>, mask: Arr, row: Row) -> PyResult<bool> {
    if !mask.has(NPY_ARRAY_C_CONTIGUOUS) {
        return Ok(false);
    }
    if let Some(own) = view_of(mask).and_then(|view| view.row()) {
        return Ok(own == row || same(py, [row, own], mask.len())?.is_some());
    }
    let Some(bytes) = plain_bytes(mask) else {
        return Ok(false);
    };
    let copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = copies.iter().find(|copy| copy.slot == row.slot);
    Ok(known.is_some_and(|copy| *copy.bytes == *bytes))
}

/// The values of a small mask that is not ours.
fn plain_bytes<'a>(mask: Arr) -> Option<&'a [u8]> {
    if !(1..=COPIED).contains(&mask.len()) {
        return None;
    }
    // SAFETY: callers pass contiguous arrays of truth values; one that is not ours has its values.
    Some(unsafe { slices::elements::<u8>(mask, mask.len()) })
}

fn copied(py: Python<'_>, mask: Arr) -> PyResult<Option<Truth>> {
    let Some(bytes) = plain_bytes(mask) else {
        return Ok(None);
    };
    let lock = || COPIES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(copy) = lock().iter().find(|copy| *copy.bytes == *bytes) {
        return Ok(Some(copy.truth()));
    }
    let copy = Copied {
        slot: birth::copy_in(py, bytes.as_ptr(), bytes.len())?,
        bytes: bytes.into(),
        count: bulk::count_true(bytes, parts::threads()),
        first: bytes.iter().position(|&m| m != 0),
    };
    let truth = copy.truth();
    let mut copies = lock();
    copies.insert(0, copy);
    let kept = KEPT.min(copies.len());
    let old = copies.split_off(kept);
    drop(copies);
    drop(old);
    Ok(Some(truth))
}
