//! The operators of lazy arrays.
#![expect(unsafe_code, reason = "C slots of the array type")]

use crate::lift::lift;
use crate::map::{self, Options, Outcome};
use crate::np::{self, Arr};
use crate::operand::Reason;
use crate::ops::{self, OpEntry};
use crate::slot::{checked, enter, lend, object, owned};
use crate::{delegate, elision, operations, power, state, sync};
use pyo3::exceptions::PyNotImplementedError;
use pyo3::ffi::{self, PyNumberMethods, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyNotImplemented;
use std::ffi::c_int;
use std::sync::OnceLock;

/// Whose memory an operator writes its result to, if nobody else holds that operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elides {
    /// No operand's.
    None,
    /// The left one's.
    Left,
    /// The left one's, or else the right one's: the operands may be exchanged.
    Either,
}

/// An operator of two operands: NumPy's name for it and the slot of `ndarray`.
pub(crate) struct Binary {
    /// The ufunc.
    pub(crate) name: &'static str,
    /// What NumPy does with temporaries.
    pub(crate) elides: Elides,
    plain: fn(&PyNumberMethods) -> Option<ffi::binaryfunc>,
    in_place: fn(&PyNumberMethods) -> Option<ffi::binaryfunc>,
}

impl Binary {
    /// `ndarray`'s own slot for `a op b`.
    pub(crate) fn own(&self, numbers: &PyNumberMethods) -> Option<ffi::binaryfunc> {
        (self.plain)(numbers)
    }

    /// `ndarray`'s own slot for `a op= b`.
    pub(crate) fn own_in_place(&self, numbers: &PyNumberMethods) -> Option<ffi::binaryfunc> {
        (self.in_place)(numbers)
    }

    /// True if the result of elements of this type, by NumPy's number, has their dtype.
    pub(crate) fn keeps_dtype(&self, type_number: c_int) -> bool {
        match (self.name, type_number) {
            // Integers come before the floats, truth values before the integers.
            ("divide", number) => number > 10,
            ("floor_divide" | "left_shift" | "right_shift", number) => number > 0,
            _ => true,
        }
    }
}

macro_rules! binary {
    ($name:literal, $elides:ident, $plain:ident, $in_place:ident) => {
        Binary {
            name: $name,
            elides: Elides::$elides,
            plain: |m| m.$plain,
            in_place: |m| m.$in_place,
        }
    };
}

/// The operators with a row in the op table. Their positions are the slots' const arguments.
pub(crate) const BINARY: [Binary; 12] = [
    binary!("add", Either, nb_add, nb_inplace_add),
    binary!("subtract", Left, nb_subtract, nb_inplace_subtract),
    binary!("multiply", Either, nb_multiply, nb_inplace_multiply),
    binary!("divide", Left, nb_true_divide, nb_inplace_true_divide),
    binary!(
        "floor_divide",
        Left,
        nb_floor_divide,
        nb_inplace_floor_divide
    ),
    binary!("remainder", None, nb_remainder, nb_inplace_remainder),
    binary!("left_shift", Left, nb_lshift, nb_inplace_lshift),
    binary!("right_shift", Left, nb_rshift, nb_inplace_rshift),
    binary!("bitwise_and", Either, nb_and, nb_inplace_and),
    binary!("bitwise_or", Either, nb_or, nb_inplace_or),
    binary!("bitwise_xor", Either, nb_xor, nb_inplace_xor),
    // Only `divmod()` itself: there is no operator in place.
    binary!("divmod", None, nb_divmod, nb_divmod),
];

/// The place of the multiplication in [`BINARY`].
pub(crate) const MULTIPLY: usize = 2;

/// Finds a slot of one operand in a table of slots.
type UnarySlot = fn(&PyNumberMethods) -> Option<ffi::unaryfunc>;

/// The operators of one operand.
const UNARY: [(&str, UnarySlot); 4] = [
    ("negative", |m| m.nb_negative),
    ("positive", |m| m.nb_positive),
    ("absolute", |m| m.nb_absolute),
    ("invert", |m| m.nb_invert),
];

/// The comparisons in the order of `Py_LT` to `Py_GE`.
const COMPARE: [&str; 6] = [
    "less",
    "less_equal",
    "equal",
    "not_equal",
    "greater",
    "greater_equal",
];

/// NumPy's own slots, copied before anything is patched, and the rows behind the operators.
pub(crate) struct Table {
    /// `ndarray`'s number slots.
    pub(crate) numbers: PyNumberMethods,
    compare: ffi::richcmpfunc,
    binary: Vec<&'static OpEntry>,
    unary: Vec<&'static OpEntry>,
    comparisons: Vec<&'static OpEntry>,
}

// SAFETY: the one raw pointer in it is a reserved slot that nobody reads; the rest are functions.
unsafe impl Send for Table {}
// SAFETY: as above; the table never changes.
unsafe impl Sync for Table {}

impl Table {
    /// The row behind operator number `which` of [`BINARY`].
    pub(crate) fn row(&self, which: usize) -> &'static OpEntry {
        self.binary[which]
    }
}

static TABLE: OnceLock<Table> = OnceLock::new();

/// Looks up the slots and rows.
pub(crate) fn init() -> PyResult<()> {
    let missing = |name: &str| PyNotImplementedError::new_err(format!("no row for {name}"));
    let row = |name: &'static str| ops::by_name(name).ok_or_else(|| missing(name));
    let rows = |names: &mut dyn Iterator<Item = &'static str>| {
        names.map(row).collect::<PyResult<Vec<_>>>()
    };
    // SAFETY: NumPy's type object is static.
    let kind = unsafe { &*np::array_type() };
    // SAFETY: `ndarray` has number methods.
    let numbers = unsafe { *kind.tp_as_number };
    let table = Table {
        numbers,
        compare: kind.tp_richcompare.ok_or_else(|| missing("comparisons"))?,
        binary: rows(&mut BINARY.iter().map(|b| b.name))?,
        unary: rows(&mut UNARY.iter().map(|u| u.0))?,
        comparisons: rows(&mut COMPARE.into_iter())?,
    };
    let fresh = TABLE.set(table).is_ok();
    debug_assert!(fresh, "the slots are looked up once");
    power::init()
}

/// The table.
pub(crate) fn table() -> &'static Table {
    #[expect(
        clippy::expect_used,
        reason = "the module cannot be imported without it"
    )]
    TABLE.get().expect("numbers::init ran at import")
}

/// `a op b` for operator number `WHICH`.
pub(crate) unsafe extern "C" fn binary<const WHICH: usize>(
    a: *mut PyObject,
    b: *mut PyObject,
) -> *mut PyObject {
    let swaps = WHICH == MULTIPLY && elision::swaps_factors(a, b);
    let placed = elision::placed(a, b, BINARY[WHICH].elides);
    let (a, b) = if swaps { (b, a) } else { (a, b) };
    let temporary = elision::temporaries(&[a, b]);
    object(|py| {
        // SAFETY: the interpreter lends both operands.
        let (a, b) = (unsafe { lend(py, a) }, unsafe { lend(py, b) });
        let outcome = if both_small(&a, &b) {
            Outcome::Numpy(Reason::Small)
        } else {
            let options = Options {
                placed,
                temporary,
                ..Options::default()
            };
            map::call(py, table().binary[WHICH], &[&a, &b], &options)?
        };
        let reason = match outcome {
            Outcome::Done(result) => return Ok(result),
            Outcome::Numpy(reason) => reason,
        };
        if reason == Reason::Operand
            && let Some(result) = right_first(py, [&a, &b], BINARY[WHICH].plain)?
        {
            return Ok(result);
        }
        // What NumPy is quicker at lies in memory in the same order anyway.
        if reason != Reason::Small
            && let Some(which) = elision::taken([&a, &b], temporary, &BINARY[WHICH])
            && let Some(ufunc) = &table().binary[WHICH].ufunc
        {
            let (target, other) = if which == 0 { (&a, &b) } else { (&b, &a) };
            let args = [target.clone(), other.clone(), target.clone()];
            let why = (BINARY[WHICH].name, reason);
            return delegate::call(ufunc.bind(py), &args, None, 2..3, why);
        }
        let own = (BINARY[WHICH].plain)(&table().numbers);
        in_numpy(py, BINARY[WHICH].name, reason, [&a, &b], |a, b| match own {
            // SAFETY: `ndarray`'s own slot, with live operands.
            Some(own) => unsafe { own(a, b) },
            None => std::ptr::null_mut(),
        })
    })
}

/// Calls one of `ndarray`'s slots with plain arrays, or with the operands as they are when one of
/// them is a stranger that may want to take over.
pub(crate) fn in_numpy<'py>(
    py: Python<'py>,
    name: &str,
    reason: Reason,
    operands: [&Bound<'py, PyAny>; 2],
    own: impl FnOnce(*mut PyObject, *mut PyObject) -> *mut PyObject,
) -> PyResult<Bound<'py, PyAny>> {
    if reason == Reason::Operand && operands.iter().any(|o| stranger(o)) {
        return owned(py, own(operands[0].as_ptr(), operands[1].as_ptr()));
    }
    let mut largest = 0;
    for operand in operands {
        if let Some(array) = Arr::of(operand) {
            largest = largest.max(array.nbytes());
            sync::read(py, array)?;
        }
    }
    let (a, b) = (delegate::plain(operands[0])?, delegate::plain(operands[1])?);
    if largest < state::min_bytes() {
        return owned(py, own(a.as_ptr(), b.as_ptr()));
    }
    if reason.counts() {
        crate::fallback::count(py, name, reason, operands)?;
    }
    let result = delegate::in_arena(py, || owned(py, own(a.as_ptr(), b.as_ptr())))?;
    lift(&result);
    Ok(result)
}

/// The type of an operand whose class is derived from `ndarray` by others. Python lets its operators go
/// before those of `ndarray`, but not before ours, since it is no class of ours.
fn derived(b: &Bound<'_, PyAny>) -> Option<*mut ffi::PyTypeObject> {
    (stranger(b) && Arr::of(b).is_some()).then(|| b.get_type_ptr())
}

/// What the operator of the right operand says, if Python would ask that first.
fn right_first<'py>(
    py: Python<'py>,
    [a, b]: [&Bound<'py, PyAny>; 2],
    slot: fn(&PyNumberMethods) -> Option<ffi::binaryfunc>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let same =
        |theirs: &ffi::binaryfunc, own: &ffi::binaryfunc| std::ptr::fn_addr_eq(*theirs, *own);
    let Some(theirs) = slot_of_derived(b, slot, same) else {
        return Ok(None);
    };
    // SAFETY: the slot of one of the operands.
    unless_not_implemented(py, unsafe { theirs(a.as_ptr(), b.as_ptr()) })
}

/// As [`right_first`], of `**`, which has three operands.
pub(crate) fn right_raises_first<'py>(
    py: Python<'py>,
    [a, b]: [&Bound<'py, PyAny>; 2],
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let same =
        |theirs: &ffi::ternaryfunc, own: &ffi::ternaryfunc| std::ptr::fn_addr_eq(*theirs, *own);
    let Some(theirs) = slot_of_derived(b, |m| m.nb_power, same) else {
        return Ok(None);
    };
    let modulo = py.None();
    // SAFETY: the slot of one of the operands; without a modulo it gets None.
    unless_not_implemented(py, unsafe {
        theirs(a.as_ptr(), b.as_ptr(), modulo.as_ptr())
    })
}

/// A slot of a class that is derived from `ndarray` and has one of its own.
fn slot_of_derived<F>(
    b: &Bound<'_, PyAny>,
    slot: fn(&PyNumberMethods) -> Option<F>,
    same: impl Fn(&F, &F) -> bool,
) -> Option<F> {
    // SAFETY: the type of a live object.
    let methods = unsafe { (*derived(b)?).tp_as_number };
    // SAFETY: likewise; it may have no number methods.
    let theirs = slot(unsafe { methods.as_ref() }?)?;
    let own = slot(&table().numbers)?;
    (!same(&theirs, &own)).then_some(theirs)
}

/// The result of an operator; none for `NotImplemented`.
fn unless_not_implemented(
    py: Python<'_>,
    result: *mut PyObject,
) -> PyResult<Option<Bound<'_, PyAny>>> {
    let result = owned(py, result)?;
    Ok(Some(result).filter(|r| !r.is(PyNotImplemented::get(py))))
}

/// What the comparison of the right operand says, if Python would ask that first: of a derived class always, unlike
/// other operators.
fn right_compares_first<'py>(
    py: Python<'py>,
    [a, b]: [&Bound<'py, PyAny>; 2],
    which: c_int,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(kind) = derived(b) else {
        return Ok(None);
    };
    let swapped = match which {
        ffi::Py_LT => ffi::Py_GT,
        ffi::Py_LE => ffi::Py_GE,
        ffi::Py_GT => ffi::Py_LT,
        ffi::Py_GE => ffi::Py_LE,
        same => same,
    };
    // SAFETY: the type of a live object.
    let Some(theirs) = (unsafe { (*kind).tp_richcompare }) else {
        return Ok(None);
    };
    // SAFETY: the slot of one of the operands.
    unless_not_implemented(py, unsafe { theirs(b.as_ptr(), a.as_ptr(), swapped) })
}

/// True if so few elements are not worth recording, whatever they are.
#[inline]
pub(crate) fn few(elements: usize) -> bool {
    elements.saturating_mul(WIDEST) < state::min_bytes()
}

/// True if nothing about the call is large or not computed yet: the shortest way to NumPy.
fn both_small(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> bool {
    match (Arr::of(a), Arr::of(b)) {
        (Some(x), Some(y)) => {
            let most = if x.shape() == y.shape() {
                x.len()
            } else {
                x.len().saturating_mul(y.len())
            };
            few(most) && !pending(x) && !pending(y)
        }
        (Some(x), None) => few(x.len()) && !pending(x) && is_number(b),
        (None, Some(y)) => few(y.len()) && !pending(y) && is_number(a),
        (None, None) => false,
    }
}

/// Bytes of the largest element type.
const WIDEST: usize = 16;

fn pending(array: Arr) -> bool {
    let engine = state::engine();
    let slot = engine.slot_at(array.addr());
    slot.is_some_and(|(slot, _)| engine.is_pending(slot) || engine.is_elsewhere(array.addr()))
}

/// True for Python's `int` and `float` and for NumPy's scalars.
pub(crate) fn is_number(object: &Bound<'_, PyAny>) -> bool {
    let kind = object.get_type_ptr();
    kind == &raw mut ffi::PyFloat_Type
        || kind == &raw mut ffi::PyLong_Type
        || np::scalar_dtype(kind).is_some()
}

/// True for what is neither an array of ours nor a plain one: it may have operators of its own.
pub(crate) fn stranger(object: &Bound<'_, PyAny>) -> bool {
    let kind = object.get_type_ptr();
    kind != state::lazy_type() && kind != np::array_type()
}

/// `a op= b`.
pub(crate) unsafe extern "C" fn in_place<const WHICH: usize>(
    a: *mut PyObject,
    b: *mut PyObject,
) -> *mut PyObject {
    let temporary = elision::temporary_source(b);
    object(|py| {
        // SAFETY: the interpreter lends both operands.
        let (a, b) = (unsafe { lend(py, a) }, unsafe { lend(py, b) });
        let entry = table().binary[WHICH];
        let own = (BINARY[WHICH].in_place)(&table().numbers);
        in_place_call(py, entry, [&a, &b], temporary, own)
    })
}

/// Records `a op= b`, or lets NumPy do it.
pub(crate) fn in_place_call<'py>(
    py: Python<'py>,
    entry: &OpEntry,
    [a, b]: [&Bound<'py, PyAny>; 2],
    temporary: [bool; 2],
    own: Option<ffi::binaryfunc>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = Options {
        out: Some(a),
        temporary,
        ..Options::default()
    };
    let reason = match map::call(py, entry, &[a, b], &options)? {
        Outcome::Done(result) => return Ok(result),
        Outcome::Numpy(reason) => reason,
    };
    if let (Reason::Operand, true, Some(own)) = (reason, stranger(b), own) {
        // SAFETY: `ndarray`'s own slot, with live operands.
        return owned(py, unsafe { own(a.as_ptr(), b.as_ptr()) });
    }
    let Some(ufunc) = &entry.ufunc else {
        return Err(PyNotImplementedError::new_err(
            "an operator without a ufunc",
        ));
    };
    let args = [a.clone(), b.clone(), a.clone()];
    delegate::call(ufunc.bind(py), &args, None, 2..3, (entry.def.name, reason))
}

/// `op a`.
pub(crate) unsafe extern "C" fn unary<const WHICH: usize>(a: *mut PyObject) -> *mut PyObject {
    let options = Options {
        temporary: elision::temporaries(&[a]),
        ..Options::default()
    };
    object(|py| {
        // SAFETY: the interpreter lends the operand.
        let a = unsafe { lend(py, a) };
        let reason = match map::call(py, table().unary[WHICH], &[&a], &options)? {
            Outcome::Done(result) => return Ok(result),
            Outcome::Numpy(reason) => reason,
        };
        let own = (UNARY[WHICH].1)(&table().numbers);
        in_numpy(py, UNARY[WHICH].0, reason, [&a, &a], |a, _| match own {
            // SAFETY: `ndarray`'s own slot, with a live operand.
            Some(own) => unsafe { own(a) },
            None => std::ptr::null_mut(),
        })
    })
}

/// `bool`, `int`, `float`, `__index__`: the value is needed now.
pub(crate) unsafe extern "C" fn convert<const WHICH: usize>(a: *mut PyObject) -> *mut PyObject {
    object(|py| {
        // SAFETY: the interpreter lends the operand.
        let a = unsafe { lend(py, a) };
        if let Some(array) = Arr::of(&a) {
            sync::read(py, array)?;
        }
        let numbers = &table().numbers;
        let own = [numbers.nb_int, numbers.nb_float, numbers.nb_index][WHICH];
        let plain = delegate::plain(&a)?;
        match own {
            // SAFETY: `ndarray`'s own slot, with a live operand.
            Some(own) => owned(py, unsafe { own(plain.as_ptr()) }),
            None => Err(PyNotImplementedError::new_err(
                "numpy.ndarray lacks this conversion",
            )),
        }
    })
}

/// `bool(a)`.
pub(crate) unsafe extern "C" fn truth(a: *mut PyObject) -> c_int {
    enter(|py| {
        // SAFETY: the interpreter lends the operand.
        let a = unsafe { lend(py, a) };
        if let Some(array) = Arr::of(&a)
            && array.len() == 1
        {
            sync::read(py, array)?;
        }
        match table().numbers.nb_bool {
            // SAFETY: `ndarray`'s own slot, with a live operand.
            Some(own) => checked(py, unsafe { own(a.as_ptr()) }),
            None => Ok(1),
        }
    })
}

/// `a @ b`: NumPy's BLAS does it, unless a backend has it.
pub(crate) unsafe extern "C" fn matmul(a: *mut PyObject, b: *mut PyObject) -> *mut PyObject {
    object(|py| {
        // SAFETY: the interpreter lends both operands.
        let (a, b) = (unsafe { lend(py, a) }, unsafe { lend(py, b) });
        if let Some(result) = right_first(py, [&a, &b], |m| m.nb_matrix_multiply)? {
            return Ok(result);
        }
        let stranger = stranger(&a) || stranger(&b);
        if !stranger && let Some(result) = operations::matmul(py, &a, &b, true)? {
            return Ok(result);
        }
        let reason = if stranger {
            Reason::Operand
        } else {
            Reason::Library
        };
        let own = table().numbers.nb_matrix_multiply;
        in_numpy(py, "matmul", reason, [&a, &b], |a, b| match own {
            // SAFETY: `ndarray`'s own slot, with live operands.
            Some(own) => unsafe { own(a, b) },
            None => std::ptr::null_mut(),
        })
    })
}

/// `a < b` and the other comparisons.
pub(crate) unsafe extern "C" fn compare(
    a: *mut PyObject,
    b: *mut PyObject,
    which: c_int,
) -> *mut PyObject {
    let options = Options {
        temporary: elision::temporaries(&[a, b]),
        ..Options::default()
    };
    object(|py| {
        // SAFETY: the interpreter lends both operands.
        let (a, b) = (unsafe { lend(py, a) }, unsafe { lend(py, b) });
        let entry = usize::try_from(which)
            .ok()
            .and_then(|w| table().comparisons.get(w));
        let reason = match entry {
            None => Reason::Operation,
            Some(entry) => match map::call(py, entry, &[&a, &b], &options)? {
                Outcome::Done(result) => return Ok(result),
                Outcome::Numpy(reason) => reason,
            },
        };
        if reason == Reason::Operand
            && let Some(result) = right_compares_first(py, [&a, &b], which)?
        {
            return Ok(result);
        }
        let own = table().compare;
        let name = entry.map_or("compare", |e| e.def.name);
        in_numpy(py, name, reason, [&a, &b], |a, b| {
            // SAFETY: `ndarray`'s own slot, with live operands.
            unsafe { own(a, b, which) }
        })
    })
}
