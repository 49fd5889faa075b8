//! What the operands of a call are: views of memory, scalars, Python numbers, or something else.
#![expect(
    unsafe_code,
    reason = "reads the values of Python numbers and 0-d arrays"
)]

use crate::np::{self, Arr};
use crate::{site, state, sync};
use arrayloom_engine::Row;
use arrayloom_ir::SlotId;
use arrayloom_types::{DType, Kind, Layout, Operand, Scalar};
use num_complex::Complex64;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ops::RangeInclusive;

/// A number of Python's own, which takes its dtype from the other operands.
#[derive(Clone, Copy)]
pub(crate) enum Weak {
    /// An `int` of at most 64 bits.
    Int(i128),
    /// A `float`.
    Float(f64),
    /// A `complex`.
    Complex(Complex64),
}

/// An array operand.
pub(crate) struct View {
    /// The array.
    pub(crate) array: Arr,
    /// Where the memory is: a slot of the arena and its address, or none for memory of others.
    pub(crate) slot: Option<(SlotId, usize)>,
    /// The view; its offset counts from the slot, or is zero for memory of others.
    pub(crate) layout: Layout,
    /// True if its value has not been computed yet.
    pub(crate) pending: bool,
}

/// One operand.
pub(crate) enum Input {
    /// An array of a native dtype.
    View(View),
    /// One value with a dtype of its own.
    Scalar(Scalar),
    /// A Python number.
    Weak(Weak),
}

/// Why a call is left to NumPy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Not worth recording: everything is small and computed. Not counted.
    Small,
    /// Lazy mode is off. Not counted.
    Off,
    /// An operand has a dtype, byte order or type that we do not take.
    Operand,
    /// No native loop for these dtypes.
    Loop,
    /// A keyword argument that we do not take.
    Keyword,
    /// NumPy raises an error for it, or we believe so.
    Mismatch,
    /// The operation is not in the table.
    Operation,
    /// `np.errstate` asks for errors or calls, or filters want warnings at the line of their operation.
    ErrState,
    /// Work that NumPy's own code does on computed values and that nothing here would do better.
    /// Counted apart, without a warning.
    Delegated,
    /// Work that belongs to NumPy's libraries, such as BLAS. Not counted.
    Library,
}

impl Reason {
    /// The reason in words, for profiles and warnings.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Reason::Small => "the arrays are small",
            Reason::Off => "lazy mode is off",
            Reason::Operand => "an operand has a dtype or type without native support",
            Reason::Loop => "no native loop for these dtypes",
            Reason::Keyword => "a keyword argument without native support",
            Reason::Mismatch => "operands that do not fit",
            Reason::Operation => "no native version of this operation",
            Reason::ErrState => "np.errstate or a filter of warnings wants to know at once",
            Reason::Delegated => "NumPy's own code does it on computed values",
            Reason::Library => "NumPy's own library does it",
        }
    }

    /// The reason in one word, as `--strict` takes it.
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Reason::Small => "small",
            Reason::Off => "off",
            Reason::Operand => "operand",
            Reason::Loop => "loop",
            Reason::Keyword => "keyword",
            Reason::Mismatch => "mismatch",
            Reason::Operation => "operation",
            Reason::ErrState => "errstate",
            Reason::Delegated => "delegated",
            Reason::Library => "library",
        }
    }

    /// Whether a call on large arrays is told of in reports.
    pub(crate) const fn counts(self) -> bool {
        !matches!(
            self,
            Reason::Small | Reason::Off | Reason::Mismatch | Reason::Library
        )
    }

    /// Whether such a call is a fallback that the program's author should know of.
    pub(crate) fn warns(self) -> bool {
        let asked = matches!(self, Reason::ErrState) && site::at_once();
        self.counts() && !asked && !matches!(self, Reason::Delegated)
    }
}

/// Looks at one operand. `None` for anything that is not an array of ours or NumPy's own, a NumPy
/// scalar or a Python number.
///
/// # Errors
/// What computing a 0-d array raises.
pub(crate) fn classify(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Option<Input>> {
    let kind = object.get_type_ptr();
    if kind != state::lazy_type() && kind != np::array_type() {
        return Ok(number(object));
    }
    // SAFETY: the type says that it is an array; the caller holds it during the call.
    let array = unsafe { Arr::new(object.as_ptr()) };
    let Some(view) = view_of(array) else {
        return Ok(None);
    };
    if view.layout.shape.is_empty() && !view.pending {
        return view.value(py).map(Some);
    }
    Ok(Some(Input::View(view)))
}

fn number(object: &Bound<'_, PyAny>) -> Option<Input> {
    let kind = object.get_type_ptr();
    if kind == &raw mut ffi::PyFloat_Type {
        // SAFETY: exactly a float.
        let value = unsafe { ffi::PyFloat_AS_DOUBLE(object.as_ptr()) };
        return Some(Input::Weak(Weak::Float(value)));
    }
    if kind == &raw mut ffi::PyLong_Type {
        return small_int(object).map(|v| Input::Weak(Weak::Int(v)));
    }
    if kind == &raw mut ffi::PyBool_Type {
        let value = object.is(pyo3::types::PyBool::new(object.py(), true));
        return Some(Input::Scalar(Scalar::from_i64(DType::Bool, value.into())));
    }
    if kind == &raw mut ffi::PyComplex_Type {
        // SAFETY: exactly a complex.
        let value = unsafe { ffi::PyComplex_AsCComplex(object.as_ptr()) };
        let value = Complex64::new(value.real, value.imag);
        return Some(Input::Weak(Weak::Complex(value)));
    }
    let dtype = np::scalar_dtype(kind)?;
    Some(Input::Scalar(Scalar::from_bytes(
        dtype,
        &np::scalar_bytes(object),
    )))
}

fn small_int(object: &Bound<'_, PyAny>) -> Option<i128> {
    let mut overflow = 0;
    // SAFETY: exactly an int.
    let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(object.as_ptr(), &raw mut overflow) };
    if overflow == 0 {
        return Some(value.into());
    }
    object.extract::<u64>().ok().map(i128::from)
}

/// The view of an array, if its dtype is native.
pub(crate) fn view_of(array: Arr) -> Option<View> {
    let dtype = array.dtype()?;
    let engine = state::engine();
    let slot = engine.slot_at(array.addr());
    let slot = slot.map(|(id, base)| (id, base as usize));
    let base = slot.map_or(array.addr(), |(_, base)| base);
    Some(View {
        array,
        slot,
        layout: array.layout(dtype, base),
        pending: slot
            .is_some_and(|(id, _)| engine.is_pending(id) || engine.is_elsewhere(array.addr())),
    })
}

impl View {
    /// Where its first element lies in the arena; for contiguous views, where they all lie.
    pub(crate) fn row(&self) -> Option<Row> {
        let (slot, _) = self.slot?;
        let offset = usize::try_from(self.layout.offset).ok()?;
        Some(Row { slot, offset })
    }

    /// The value of a 0-d array.
    fn value(&self, py: Python<'_>) -> PyResult<Input> {
        sync::read(py, self.array)?;
        let size = self.layout.dtype.size();
        // SAFETY: a 0-d array has one element at its address, which has been computed.
        let bytes = unsafe { std::slice::from_raw_parts(self.array.addr() as *const u8, size) };
        Ok(Input::Scalar(Scalar::from_bytes(self.layout.dtype, bytes)))
    }
}

impl Input {
    /// What the operand means for the choice of the loop.
    pub(crate) fn promotes_as(&self) -> Operand {
        match self {
            Input::View(view) => Operand::Strong(view.layout.dtype),
            Input::Scalar(scalar) => Operand::Strong(scalar.dtype),
            Input::Weak(Weak::Int(_)) => Operand::WeakInt,
            Input::Weak(Weak::Float(_)) => Operand::WeakFloat,
            Input::Weak(Weak::Complex(_)) => Operand::WeakComplex,
        }
    }

    /// The extents.
    pub(crate) fn shape(&self) -> &[usize] {
        match self {
            Input::View(view) => &view.layout.shape,
            _ => &[],
        }
    }

    /// The view, if it is one.
    pub(crate) fn view(&self) -> Option<&View> {
        match self {
            Input::View(view) => Some(view),
            Input::Scalar(_) | Input::Weak(_) => None,
        }
    }

    /// True for a view that has not been computed.
    pub(crate) fn pending(&self) -> bool {
        self.view().is_some_and(|view| view.pending)
    }
}

impl Weak {
    /// The dtype of an array made of this number alone.
    pub(crate) fn own_dtype(self) -> DType {
        match self {
            Weak::Int(_) => DType::I64,
            Weak::Float(_) => DType::F64,
            Weak::Complex(_) => DType::C128,
        }
    }

    /// The value in `dtype`, as NumPy converts a Python number; `None` if it is out of range.
    pub(crate) fn to_scalar(self, dtype: DType) -> Option<Scalar> {
        match self {
            Weak::Int(value) => int_to_scalar(value, dtype),
            Weak::Float(value) => finite_fits(value, dtype).then(|| Scalar::from_f64(dtype, value)),
            Weak::Complex(value) => {
                let fits = finite_fits(value.re, dtype) && finite_fits(value.im, dtype);
                (dtype.is_complex() && fits).then(|| Scalar::from_c128(dtype, value))
            }
        }
    }
}

impl Weak {
    /// The value as an element assigned into an array of `dtype`; `None` where NumPy raises an error.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the bound is checked before"
    )]
    pub(crate) fn assigned_to(self, dtype: DType) -> Option<Scalar> {
        match self {
            Weak::Float(value) if dtype == DType::Bool => {
                Some(Scalar::from_i64(dtype, i64::from(value != 0.0)))
            }
            Weak::Float(value) if dtype.is_integer() => (value.abs() < 9e18)
                .then_some(value as i128)
                .and_then(|v| int_to_scalar(v, dtype)),
            _ => self.to_scalar(dtype),
        }
    }
}

/// False where the conversion overflows: NumPy warns there.
fn finite_fits(value: f64, dtype: DType) -> bool {
    let limit = match dtype.real() {
        DType::F16 => 65504.0,
        DType::F32 => f64::from(f32::MAX),
        _ => return true,
    };
    !value.is_finite() || value.abs() <= limit
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "the range was checked, and a float rounds to the nearest"
)]
fn int_to_scalar(value: i128, dtype: DType) -> Option<Scalar> {
    if dtype == DType::Bool {
        return Some(Scalar::from_i64(dtype, i64::from(value != 0)));
    }
    if !dtype.is_integer() {
        let value = value as f64;
        return finite_fits(value, dtype).then(|| Scalar::from_f64(dtype, value));
    }
    integers(dtype)
        .contains(&value)
        .then(|| Scalar::from_bytes(dtype, &(value as i64).to_le_bytes()))
}

/// The numbers that an integer dtype has.
pub(crate) fn integers(dtype: DType) -> RangeInclusive<i128> {
    let values = 1i128 << (dtype.size() * 8);
    if dtype.kind() == Kind::Signed {
        -values / 2..=values / 2 - 1
    } else {
        0..=values - 1
    }
}

/// The value of an integer.
pub(crate) fn whole(scalar: &Scalar) -> Option<i128> {
    let unused = 64 - 8 * scalar.dtype.size().min(8);
    match scalar.dtype.kind() {
        Kind::Signed => Some(((scalar.bits() << unused).cast_signed() >> unused).into()),
        Kind::Unsigned => Some(scalar.bits().into()),
        _ => None,
    }
}
