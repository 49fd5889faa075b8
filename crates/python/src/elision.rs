//! What shows that NumPy puts results into the memory of large temporaries that nobody else holds.
//!
//! It computes `a * b` as `b * a` in the memory of `b`, where `b` is such and `a` is none. A complex product is rounded
//! once less than its formula says (FMA), so its last bit depends on the order. And the elements of a result lie in the
//! order of the temporary's.
#![expect(unsafe_code, reason = "looks at operands before they are held")]

use crate::np::{self, Arr};
use crate::numbers::{Binary, Elides};
use crate::{long_long, state};
use arrayloom_types::{DType, can_cast_safely};
use numpy::npyffi::flags;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

/// NumPy's least number of bytes of such a temporary.
pub(crate) const LEAST: usize = 256 * 1024;

/// True if NumPy would compute `b * a` for `a * b`. The interpreter lends both operands.
pub(crate) fn swaps_factors(a: *mut PyObject, b: *mut PyObject) -> bool {
    let Some((right, dtype)) = temporary(b).filter(|(_, dtype)| dtype.is_complex()) else {
        return false;
    };
    let Some(left) = exact(a) else {
        return number(a).is_some_and(|from| can_cast_safely(from, dtype));
    };
    let fits = left.ndim() == 0 || left.shape() == right.shape();
    let casts = |from| can_cast_safely(from, dtype);
    // A temporary on the left is taken first.
    let taken = temporary(a).is_some_and(|(_, of_left)| of_left == dtype);
    fits && left.dtype().is_some_and(casts) && !taken
}

/// Where the result of an operator lies, if it is of this dtype.
pub(crate) type Placed = (DType, SmallVec<[isize; 6]>);

/// Where the result of an operator lies in the memory of a temporary; none where it lies so anyway. The interpreter
/// lends both operands.
pub(crate) fn placed(a: *mut PyObject, b: *mut PyObject, elides: Elides) -> Option<Placed> {
    let (left, right) = (exact(a)?, exact(b)?);
    let plain = |array: Arr| array.has(flags::NPY_ARRAY_C_CONTIGUOUS);
    if plain(left) && plain(right) || left.shape() != right.shape() || elides == Elides::None {
        return None;
    }
    let of = |temporary: Option<(Arr, DType)>, other: Arr| {
        let (array, dtype) = temporary?;
        let from = other.dtype().or_else(|| long_long::dtype(other));
        let casts = from.is_some_and(|from| can_cast_safely(from, dtype));
        casts.then(|| (dtype, array.strides().into()))
    };
    let second = || of(temporary(b).filter(|_| elides == Elides::Either), left);
    of(temporary(a), right).or_else(second)
}

/// The operand in whose memory NumPy computes the result of an operator, where it does so itself. `temporary` tells
/// which of them only the interpreter's stack held.
pub(crate) fn taken(
    operands: [&Bound<'_, PyAny>; 2],
    temporary: [bool; 2],
    operator: &Binary,
) -> Option<usize> {
    let [left, right] = [exact(operands[0].as_ptr())?, exact(operands[1].as_ptr())?];
    let fits = |which: usize, array: Arr, other: Arr| {
        temporary[which]
            && operator.keeps_dtype(array.type_number())
            && lends_memory(array)
            && other.casts_safely(operands[0].py(), array)
    };
    if left.shape() != right.shape() || operator.elides == Elides::None {
        None
    } else if fits(0, left, right) {
        Some(0)
    } else {
        (operator.elides == Elides::Either && fits(1, right, left)).then_some(1)
    }
}

/// True for a large array of numbers with memory of its own that may be written.
fn lends_memory(array: Arr) -> bool {
    /// Type numbers of `longdouble`'s complex numbers and of `float16`, the last ones of numbers.
    const NUMBERS: [c_int; 2] = [16, 23];
    let number = array.type_number() < NUMBERS[0] || array.type_number() == NUMBERS[1];
    let own = array.has(flags::NPY_ARRAY_OWNDATA | flags::NPY_ARRAY_WRITEABLE);
    number && own && !array.has(flags::NPY_ARRAY_WRITEBACKIFCOPY) && array.nbytes() >= LEAST
}

/// A large array with memory of its own that only the interpreter's stack holds.
fn temporary(object: *mut PyObject) -> Option<(Arr, DType)> {
    let array = exact(object).filter(|_| is_temporary(object))?;
    let large = array.has(flags::NPY_ARRAY_WRITEABLE) && array.nbytes() >= LEAST;
    let dtype = array.dtype().filter(|_| large)?;
    Some((array, dtype))
}

/// Which of the first two operands are such arrays, of any size, or views that alone hold such an array. The
/// interpreter lends them.
pub(crate) fn temporaries(operands: &[*mut PyObject]) -> [bool; 2] {
    [0, 1].map(|at| {
        let lent = operands.get(at);
        lent.is_some_and(|&o| is_temporary(o) || is_temporary_view(o))
    })
}

/// The same of the operands of `a op= b`, whose first one stays.
pub(crate) fn temporary_source(b: *mut PyObject) -> [bool; 2] {
    [false, temporaries(&[b])[0]]
}

/// True for a view that only the interpreter's stack holds, of an array that only the view holds.
fn is_temporary_view(object: *mut PyObject) -> bool {
    let Some(array) = exact(object) else {
        return false;
    };
    let base = array.base_object();
    if base.is_null() || !is_alone(object) {
        return false;
    }
    let own = exact(base).is_some_and(|array| array.has(flags::NPY_ARRAY_OWNDATA));
    // SAFETY: a live view keeps its base alive.
    own && unsafe { ffi::Py_REFCNT(base) } == 1
}

/// True for an array with memory of its own that only the interpreter's stack holds.
fn is_temporary(object: *mut PyObject) -> bool {
    let own = exact(object).is_some_and(|array| array.has(flags::NPY_ARRAY_OWNDATA));
    own && is_alone(object)
}

/// Asks the interpreter whether only its stack holds an object.
type Ask = unsafe extern "C" fn(*mut PyObject) -> c_int;

/// How to ask, since Python 3.14.
fn ask() -> Option<Ask> {
    static ASK: OnceLock<Option<Ask>> = OnceLock::new();
    *ASK.get_or_init(|| {
        let name = c"PyUnstable_Object_IsUniqueReferencedTemporary".as_ptr();
        // SAFETY: looks a name up among what is loaded.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name) };
        // SAFETY: null, or this function of Python's interface, which has this type.
        unsafe { std::mem::transmute::<*mut c_void, Option<Ask>>(found) }
    })
}

/// True if the interpreter tells for certain what only its stack holds.
pub(crate) fn interpreter_tells() -> bool {
    ask().is_some()
}

/// True if only the interpreter's stack, or else a compiled caller, holds the object.
fn is_alone(object: *mut PyObject) -> bool {
    match ask() {
        // Since Python 3.14 a variable on the stack does not count as a reference.
        // SAFETY: the interpreter lends the object.
        Some(ask) => unsafe { ask(object) != 0 },
        // SAFETY: as above.
        None => unsafe { ffi::Py_REFCNT(object) == 1 },
    }
}

/// An array of NumPy's type or ours.
fn exact(object: *mut PyObject) -> Option<Arr> {
    // SAFETY: as above.
    let kind = unsafe { ffi::Py_TYPE(object) };
    let is_array = kind == np::array_type() || kind == state::lazy_type();
    // SAFETY: exactly an array, or of a type derived from it.
    is_array.then(|| unsafe { Arr::new(object) })
}

/// The dtype of an array made of a number.
fn number(object: *mut PyObject) -> Option<DType> {
    // SAFETY: as above.
    let kind = unsafe { ffi::Py_TYPE(object) };
    let numbers = [
        (&raw mut ffi::PyBool_Type, DType::Bool),
        (&raw mut ffi::PyLong_Type, DType::I64),
        (&raw mut ffi::PyFloat_Type, DType::F64),
        (&raw mut ffi::PyComplex_Type, DType::C128),
    ];
    let found = numbers.into_iter().find(|(known, _)| *known == kind);
    found
        .map(|(_, dtype)| dtype)
        .or_else(|| np::scalar_dtype(kind))
}
