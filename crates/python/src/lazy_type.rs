//! The type of lazy arrays: a subclass of `numpy.ndarray` without fields of its own.
//!
//! An array is known by the address of its elements, so views that NumPy makes by itself are complete.
#![expect(unsafe_code, reason = "makes a type from C slots")]
#![expect(
    clippy::fn_to_numeric_cast_any,
    reason = "a type's slots are functions of many types behind untyped pointers"
)]

use crate::np::{self, Arr};
use crate::slot::{lend, object};
use crate::{buffer, delegate, index, kind_of_types, methods, numbers, power, seeming, sync};
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};

/// Makes the type.
pub(crate) fn make(py: Python<'_>) -> PyResult<Py<PyAny>> {
    let base = np::array_type();
    // SAFETY: NumPy's type object is static.
    let size = unsafe { (*base).tp_basicsize };
    let mut slots = slots();
    let mut spec = ffi::PyType_Spec {
        name: c"numpy.ndarray".as_ptr(),
        basicsize: c_int::try_from(size).unwrap_or(0),
        itemsize: 0,
        #[expect(
            clippy::cast_possible_truncation,
            reason = "type flags are 32 bits wide here"
        )]
        flags: ffi::Py_TPFLAGS_DEFAULT as _,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: a live type.
    let base = unsafe { lend(py, base.cast()) };
    let bases = pyo3::types::PyTuple::new(py, [base])?;
    // SAFETY: the spec and its slots live during the call; names and tables live for good.
    let made = unsafe { ffi::PyType_FromSpecWithBases(&raw mut spec, bases.as_ptr()) };
    let made = crate::slot::owned(py, made)?;
    kind_of_types::equal_to_base(&made)?;
    seeming::equal_array_ufunc(&made)?;
    Ok(made.unbind())
}

/// A slot of a type.
pub(crate) fn slot(slot: c_int, function: *const ()) -> ffi::PyType_Slot {
    ffi::PyType_Slot {
        slot,
        pfunc: function.cast_mut().cast::<c_void>(),
    }
}

fn slots() -> Vec<ffi::PyType_Slot> {
    let methods = Box::leak(methods::definitions().into_boxed_slice());
    let attributes = Box::leak(buffer::attributes().into_boxed_slice());
    let mut all = number_slots();
    all.extend([
        slot(ffi::Py_tp_richcompare, numbers::compare as *const ()),
        slot(ffi::Py_tp_iter, index::iter as *const ()),
        slot(ffi::Py_tp_repr, repr as *const ()),
        slot(ffi::Py_tp_str, text as *const ()),
        slot(ffi::Py_mp_subscript, index::subscript as *const ()),
        slot(ffi::Py_mp_ass_subscript, index::set as *const ()),
        slot(ffi::Py_sq_item, index::item as *const ()),
        slot(ffi::Py_bf_getbuffer, buffer::get_buffer as *const ()),
        slot(ffi::Py_tp_methods, methods.as_ptr().cast()),
        slot(ffi::Py_tp_getset, attributes.as_ptr().cast()),
        slot(ffi::Py_tp_doc, np::array_doc().cast()),
        ffi::PyType_Slot::default(),
    ]);
    all
}

fn number_slots() -> Vec<ffi::PyType_Slot> {
    macro_rules! pairs {
        ($($slot:ident $in_place:ident $which:literal,)*) => {
            vec![$(
                slot(ffi::$slot, numbers::binary::<$which> as *const ()),
                slot(ffi::$in_place, numbers::in_place::<$which> as *const ()),
            )*]
        };
    }
    let mut all = pairs!(
        Py_nb_add Py_nb_inplace_add 0,
        Py_nb_subtract Py_nb_inplace_subtract 1,
        Py_nb_multiply Py_nb_inplace_multiply 2,
        Py_nb_true_divide Py_nb_inplace_true_divide 3,
        Py_nb_floor_divide Py_nb_inplace_floor_divide 4,
        Py_nb_remainder Py_nb_inplace_remainder 5,
        Py_nb_lshift Py_nb_inplace_lshift 6,
        Py_nb_rshift Py_nb_inplace_rshift 7,
        Py_nb_and Py_nb_inplace_and 8,
        Py_nb_or Py_nb_inplace_or 9,
        Py_nb_xor Py_nb_inplace_xor 10,
    );
    all.extend([
        slot(ffi::Py_nb_divmod, numbers::binary::<11> as *const ()),
        slot(ffi::Py_nb_negative, numbers::unary::<0> as *const ()),
        slot(ffi::Py_nb_positive, numbers::unary::<1> as *const ()),
        slot(ffi::Py_nb_absolute, numbers::unary::<2> as *const ()),
        slot(ffi::Py_nb_invert, numbers::unary::<3> as *const ()),
        slot(ffi::Py_nb_int, numbers::convert::<0> as *const ()),
        slot(ffi::Py_nb_float, numbers::convert::<1> as *const ()),
        slot(ffi::Py_nb_index, numbers::convert::<2> as *const ()),
        slot(ffi::Py_nb_bool, numbers::truth as *const ()),
        slot(ffi::Py_nb_power, power::power as *const ()),
        slot(ffi::Py_nb_inplace_power, power::in_place as *const ()),
        slot(ffi::Py_nb_matrix_multiply, numbers::matmul as *const ()),
    ]);
    all
}

unsafe extern "C" fn repr(this: *mut PyObject) -> *mut PyObject {
    object(|py| {
        // SAFETY: the interpreter lends the array.
        let plain = computed(py, &unsafe { lend(py, this) })?;
        Ok(plain.repr()?.into_any())
    })
}

unsafe extern "C" fn text(this: *mut PyObject) -> *mut PyObject {
    object(|py| {
        // SAFETY: the interpreter lends the array.
        let plain = computed(py, &unsafe { lend(py, this) })?;
        Ok(plain.str()?.into_any())
    })
}

/// The plain view of a computed array.
fn computed<'py>(py: Python<'py>, this: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if let Some(array) = Arr::of(this) {
        sync::read(py, array)?;
    }
    delegate::plain(this)
}
