//! NumPy's ufuncs and the rows of the op table that stand for them, and which loop a call takes.
#![expect(
    unsafe_code,
    reason = "the cache of chosen loops is read without a lock"
)]

use crate::modules;
use arrayloom_ir::{LoopSig, OpDef, ops};
use arrayloom_types::{DType, Operand};
use pyo3::prelude::*;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A ufunc of NumPy that has a row in the op table.
pub(crate) struct OpEntry {
    /// The row.
    pub(crate) def: &'static OpDef,
    /// NumPy's object; absent for our own operations such as `_copy`.
    pub(crate) ufunc: Option<Py<PyAny>>,
    /// The loops chosen so far, by operand codes.
    chosen: Vec<AtomicPtr<Option<LoopSig>>>,
}

/// Operand codes: fourteen dtypes and three kinds of Python numbers.
const CODES: usize = 17;

struct Table {
    entries: Vec<OpEntry>,
    /// Addresses of NumPy's objects, sorted, with the entry's number.
    by_object: Vec<(usize, usize)>,
}

static TABLE: OnceLock<Table> = OnceLock::new();

/// Pairs the rows of the op table with NumPy's ufuncs.
pub(crate) fn init(py: Python<'_>) -> PyResult<()> {
    let umath = py.import("numpy._core.umath")?;
    let kind = modules::numpy(py)?.getattr("ufunc")?;
    let mut entries = Vec::new();
    let mut by_object = Vec::new();
    for def in ops::all() {
        let found = umath.getattr(def.name).ok();
        let ufunc = found.filter(|f| f.is_instance(&kind).unwrap_or(false));
        if let Some(ufunc) = &ufunc {
            by_object.push((ufunc.as_ptr() as usize, entries.len()));
        }
        let slots = match def.arity {
            1 => CODES,
            2 => CODES * CODES,
            _ => 0,
        };
        entries.push(OpEntry {
            def,
            ufunc: ufunc.map(Bound::unbind),
            chosen: (0..slots).map(|_| AtomicPtr::default()).collect(),
        });
    }
    by_object.sort_unstable();
    let fresh = TABLE.set(Table { entries, by_object }).is_ok();
    debug_assert!(fresh, "the op table is built once");
    Ok(())
}

fn table() -> &'static Table {
    #[expect(
        clippy::expect_used,
        reason = "the module cannot be imported without it"
    )]
    TABLE.get().expect("ops::init ran at import")
}

/// The entry with this name.
pub(crate) fn by_name(name: &str) -> Option<&'static OpEntry> {
    table().entries.iter().find(|e| e.def.name == name)
}

/// The entry of one of NumPy's ufunc objects.
pub(crate) fn by_ufunc(ufunc: &Bound<'_, PyAny>) -> Option<&'static OpEntry> {
    let table = table();
    let address = ufunc.as_ptr() as usize;
    let at = table
        .by_object
        .binary_search_by_key(&address, |e| e.0)
        .ok()?;
    Some(&table.entries[table.by_object[at].1])
}

/// NumPy's ufuncs that have a row.
pub(crate) fn ufuncs() -> impl Iterator<Item = &'static Py<PyAny>> {
    table().entries.iter().filter_map(|e| e.ufunc.as_ref())
}

fn code(operand: Operand) -> usize {
    match operand {
        Operand::Strong(dtype) => dtype as usize,
        Operand::WeakInt => 14,
        Operand::WeakFloat => 15,
        Operand::WeakComplex => 16,
    }
}

impl OpEntry {
    /// The loop NumPy takes for these operands, if it takes one of ours.
    pub(crate) fn resolve(&self, operands: &[Operand]) -> Option<LoopSig> {
        let index = operands.iter().fold(0, |all, &o| all * CODES + code(o));
        let Some(cell) = self.chosen.get(index) else {
            return self.def.resolve(operands);
        };
        let found = cell.load(Ordering::Acquire);
        // SAFETY: the cell holds null or a leaked box that nobody changes.
        if let Some(known) = unsafe { found.as_ref() } {
            return known.clone();
        }
        let sig = self.def.resolve(operands);
        let fresh = Box::into_raw(Box::new(sig.clone()));
        let old =
            cell.compare_exchange(ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire);
        if old.is_err() {
            // SAFETY: the box was made above and nobody else has it.
            drop(unsafe { Box::from_raw(fresh) });
        }
        sig
    }

    /// The loop whose result is of this dtype with these operands cast to it, for `dtype=`.
    pub(crate) fn resolve_to(&self, dtype: DType) -> Option<LoopSig> {
        let all = [Operand::Strong(dtype); 3];
        let sig = self.resolve(&all[..usize::from(self.def.arity).min(3)])?;
        (sig.outs.iter().all(|&d| d == dtype)).then_some(sig)
    }
}
