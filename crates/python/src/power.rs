//! `a ** b`: NumPy's short cuts for common exponents, and the powers that only NumPy may compute.
#![expect(unsafe_code, reason = "C slots of the array type")]

use crate::map::{self, Options, Outcome};
use crate::np::Arr;
use crate::numbers::{in_numpy, in_place_call, is_number, right_raises_first, stranger, table};
use crate::operand::{Input, Reason, Weak};
use crate::ops::{self, OpEntry};
use crate::slot::{lend, object, owned};
use crate::{delegate, elision};
use arrayloom_ir::LoopSig;
use arrayloom_types::{DType, Kind, Scalar};
use pyo3::exceptions::PyNotImplementedError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::OnceLock;

struct Rows {
    power: &'static OpEntry,
    square: &'static OpEntry,
    sqrt: &'static OpEntry,
    reciprocal: &'static OpEntry,
    /// `power` by single numbers, with these.
    by_numbers: [(f64, &'static OpEntry); 3],
}

static ROWS: OnceLock<Rows> = OnceLock::new();

/// Looks up the rows.
pub(crate) fn init() -> PyResult<()> {
    let row = |name: &'static str| {
        let missing = || PyNotImplementedError::new_err(format!("no row for {name}"));
        ops::by_name(name).ok_or_else(missing)
    };
    let rows = Rows {
        power: row("power")?,
        square: row("square")?,
        sqrt: row("sqrt")?,
        reciprocal: row("reciprocal")?,
        by_numbers: [
            (-1.0, row("_power.reciprocal")?),
            (0.5, row("_power.sqrt")?),
            (2.0, row("_power.square")?),
        ],
    };
    let fresh = ROWS.set(rows).is_ok();
    debug_assert!(fresh, "the rows are looked up once");
    Ok(())
}

fn rows() -> &'static Rows {
    #[expect(
        clippy::expect_used,
        reason = "the module cannot be imported without it"
    )]
    ROWS.get().expect("power::init ran at import")
}

/// The row that NumPy takes instead of `power` for a Python number as exponent.
fn short_cut(base: &Bound<'_, PyAny>, exponent: &Bound<'_, PyAny>) -> Option<&'static OpEntry> {
    let dtype = Arr::of(base)?.dtype()?;
    let inexact = dtype.is_float() || dtype.is_complex();
    let kind = exponent.get_type_ptr();
    if kind == &raw mut ffi::PyLong_Type {
        match exponent.extract::<i64>() {
            Ok(2) => return Some(rows().square),
            Ok(-1) if inexact => return Some(rows().reciprocal),
            _ => return None,
        }
    }
    if kind == &raw mut ffi::PyFloat_Type && inexact {
        let half = exponent
            .extract::<f64>()
            .is_ok_and(|e| (e - 0.5).abs() == 0.0);
        return half.then(|| rows().sqrt);
    }
    None
}

/// The row that NumPy's loops of `power` take instead for floats and this single number as exponent: a root of minus
/// infinity is no number, while in an array of exponents 0.5 makes infinity of it.
pub(crate) fn by_number(
    entry: &OpEntry,
    inputs: &[Input],
    sig: &LoopSig,
) -> Option<&'static OpEntry> {
    if !std::ptr::eq(entry, rows().power) || !matches!(sig.ins[0], DType::F32 | DType::F64) {
        return None;
    }
    let exponent = match inputs.get(1)? {
        Input::Weak(weak) => weak.to_scalar(sig.ins[1])?,
        Input::Scalar(scalar) => *scalar,
        Input::View(_) => return None,
    };
    let known = |number: f64| match exponent.dtype.kind() {
        Kind::Float => true,
        Kind::Signed => number.fract() == 0.0,
        Kind::Unsigned => number > 1.0,
        _ => false,
    };
    let equal = |number: f64| exponent == Scalar::from_f64(exponent.dtype, number);
    let mut rows = rows().by_numbers.iter();
    let found = rows.find(|&&(number, _)| known(number) && equal(number));
    found.map(|&(_, row)| row)
}

/// False for powers of integers whose exponent may be negative: NumPy raises an error for those.
pub(crate) fn allowed(entry: &OpEntry, inputs: &[Input], sig: &LoopSig) -> bool {
    if !std::ptr::eq(entry, rows().power) || !sig.ins[0].is_integer() {
        return true;
    }
    match inputs.get(1) {
        Some(Input::Weak(Weak::Int(value))) => *value >= 0,
        Some(Input::Scalar(s)) if s.dtype.kind() == Kind::Signed => {
            s.bytes[s.dtype.size() - 1] < 128
        }
        Some(Input::View(view)) => view.layout.dtype.kind() != Kind::Signed,
        Some(Input::Scalar(_) | Input::Weak(_)) | None => true,
    }
}

/// `a ** b`, or `pow(a, b, modulo)`.
pub(crate) unsafe extern "C" fn power(
    a: *mut PyObject,
    b: *mut PyObject,
    modulo: *mut PyObject,
) -> *mut PyObject {
    let options = Options {
        temporary: elision::temporaries(&[a, b]),
        ..Options::default()
    };
    object(|py| {
        // SAFETY: the interpreter lends the operands.
        let (a, b) = (unsafe { lend(py, a) }, unsafe { lend(py, b) });
        // SAFETY: likewise; without a modulo it is None.
        let modulo = unsafe { lend(py, modulo) };
        let outcome = if !modulo.is_none() {
            Outcome::Numpy(Reason::Keyword)
        } else if let Some(row) = short_cut(&a, &b) {
            map::call(py, row, &[&a], &options)?
        } else {
            map::call(py, rows().power, &[&a, &b], &options)?
        };
        let reason = match outcome {
            Outcome::Done(result) => return Ok(result),
            Outcome::Numpy(reason) => reason,
        };
        if reason == Reason::Operand
            && let Some(result) = right_raises_first(py, [&a, &b])?
        {
            return Ok(result);
        }
        let own = table().numbers.nb_power;
        in_numpy(py, "power", reason, [&a, &b], |a, b| match own {
            // SAFETY: `ndarray`'s own slot, with live operands.
            Some(own) => unsafe { own(a, b, modulo.as_ptr()) },
            None => std::ptr::null_mut(),
        })
    })
}

/// `a **= b`.
pub(crate) unsafe extern "C" fn in_place(
    a: *mut PyObject,
    b: *mut PyObject,
    modulo: *mut PyObject,
) -> *mut PyObject {
    let temporary = elision::temporary_source(b);
    object(|py| {
        // SAFETY: the interpreter lends the operands.
        let (a, b) = (unsafe { lend(py, a) }, unsafe { lend(py, b) });
        if stranger(&b)
            && !is_number(&b)
            && let Some(own) = table().numbers.nb_inplace_power
        {
            // SAFETY: `ndarray`'s own slot, with the operands as they came.
            return owned(py, unsafe { own(a.as_ptr(), b.as_ptr(), modulo) });
        }
        if let Some(row) = short_cut(&a, &b) {
            let options = Options {
                out: Some(&a),
                ..Options::default()
            };
            match (map::call(py, row, &[&a], &options)?, &row.ufunc) {
                (Outcome::Done(result), _) => return Ok(result),
                (Outcome::Numpy(reason), Some(ufunc)) => {
                    let words = PyDict::new(py);
                    words.set_item("out", &a)?;
                    let (ufunc, why) = (ufunc.bind(py), (row.def.name, reason));
                    return delegate::call(
                        ufunc,
                        std::slice::from_ref(&a),
                        Some(&words),
                        0..0,
                        why,
                    );
                }
                _ => {}
            }
        }
        in_place_call(py, rows().power, [&a, &b], temporary, None)
    })
}
