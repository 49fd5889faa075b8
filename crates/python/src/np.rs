//! NumPy's C structures and functions, as far as they are used here.
#![expect(
    unsafe_code,
    reason = "reads NumPy's C structures and calls its C functions"
)]

use crate::modules;
use arrayloom_types::{DType, Layout, Shape, Strides};
use numpy::npyffi::{self, PY_ARRAY_API, PyArray_Descr, flags};
use pyo3::exceptions::PyImportError;
use pyo3::ffi::{self, PyObject, PyTypeObject};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyTuple};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

/// `PyArrayObject` of NumPy 2 with the fields that come after the public ones.
#[repr(C)]
pub(crate) struct ArrayObject {
    ob_base: PyObject,
    data: *mut u8,
    nd: c_int,
    dims: *mut isize,
    strides: *mut isize,
    base: *mut PyObject,
    descr: *mut PyArray_Descr,
    flags: c_int,
    weakreflist: *mut PyObject,
    buffer_info: *mut c_void,
    mem_handler: *mut PyObject,
}

/// The name NumPy gives to the capsules of memory handlers.
pub(crate) const HANDLER_CAPSULE: &CStr = c"mem_handler";

/// What is looked up once: types and functions of NumPy that its public table lacks.
struct Table {
    array_type: usize,
    set_handler: unsafe extern "C" fn(*mut PyObject) -> *mut PyObject,
    /// `PyArray_Descr` of each of our dtypes, in the order of their discriminants.
    descrs: [usize; 14],
    /// Type objects of NumPy's scalars, likewise.
    scalar_types: [usize; 14],
}

static TABLE: OnceLock<Table> = OnceLock::new();

/// Type numbers of NumPy for our dtypes, in the order of their discriminants.
const TYPE_NUMBERS: [c_int; 14] = [0, 1, 3, 5, 7, 2, 4, 6, 8, 23, 11, 12, 14, 15];

/// Looks up what later calls need, and makes sure that arrays look as this file believes.
///
/// # Errors
/// `ImportError` when NumPy's layout is another one.
pub(crate) fn init(py: Python<'_>) -> PyResult<()> {
    let array_type = npyffi::NpyTypes::PyArray_Type;
    // SAFETY: the interpreter is attached, as `py` shows.
    let array_type = unsafe { npyffi::get_type_object(py, array_type) };
    let capsule = py
        .import("numpy._core._multiarray_umath")?
        .getattr("_ARRAY_API")?;
    let api = capsule.cast::<PyCapsule>()?.pointer_checked(None)?;
    let api = api.as_ptr().cast::<*const c_void>();
    // SAFETY: NumPy 2's table has 366 entries or more; number 304 is PyDataMem_SetHandler.
    let entry = unsafe { api.add(304) };
    // SAFETY: as above.
    let set_handler = unsafe { *entry };
    // SAFETY: the entry has this type, by NumPy's documentation.
    let set_handler = unsafe {
        std::mem::transmute::<*const c_void, unsafe extern "C" fn(*mut PyObject) -> *mut PyObject>(
            set_handler,
        )
    };
    let mut descrs = [0; 14];
    let mut scalar_types = [0; 14];
    for (i, number) in TYPE_NUMBERS.into_iter().enumerate() {
        // SAFETY: these are valid type numbers; the reference is kept for good.
        let descr = unsafe { PY_ARRAY_API.PyArray_DescrFromType(py, number) };
        descrs[i] = descr as usize;
        // SAFETY: the descriptor was just made.
        scalar_types[i] = unsafe { (*descr).fields.typeobj } as usize;
    }
    check_layout(py, array_type)?;
    let table = Table {
        array_type: array_type as usize,
        set_handler,
        descrs,
        scalar_types,
    };
    if TABLE.set(table).is_err() {
        return Err(PyImportError::new_err(
            "arrayloom._ext was initialised twice",
        ));
    }
    Ok(())
}

fn check_layout(py: Python<'_>, array_type: *mut PyTypeObject) -> PyResult<()> {
    // SAFETY: NumPy's type object lives as long as the process.
    let size = unsafe { (*array_type).tp_basicsize };
    let probe = modules::numpy(py)?.call_method1("empty", (10,))?;
    // SAFETY: the probe is an array; the size is compared before the last field is trusted.
    let probe = unsafe { Arr::new(probe.as_ptr()) };
    if size == size_of::<ArrayObject>().cast_signed() {
        // SAFETY: the field lies within the object, whose size was just compared.
        let handler = unsafe { (*probe.0).mem_handler };
        // SAFETY: the call checks any object, or null.
        if unsafe { ffi::PyCapsule_IsValid(handler, HANDLER_CAPSULE.as_ptr()) } == 1 {
            return Ok(());
        }
    }
    Err(PyImportError::new_err(format!(
        "arrayloom does not know this version of NumPy: its arrays take {size} bytes where {} are \
         expected; install numpy>=2.3,<2.5",
        size_of::<ArrayObject>()
    )))
}

fn table() -> &'static Table {
    #[expect(
        clippy::expect_used,
        reason = "the module cannot be imported without it"
    )]
    TABLE.get().expect("np::init ran at import")
}

/// `numpy.ndarray`.
pub(crate) fn array_type() -> *mut PyTypeObject {
    table().array_type as *mut PyTypeObject
}

/// What `numpy.ndarray` says of itself.
pub(crate) fn array_doc() -> *const c_char {
    // SAFETY: `ndarray` lives as long as the process.
    unsafe { (*array_type()).tp_doc }
}

/// `numpy.ndarray` as an object of Python.
pub(crate) fn array_class(py: Python<'_>) -> Bound<'_, PyAny> {
    // SAFETY: NumPy's type object is static.
    unsafe { Bound::from_borrowed_ptr(py, array_type().cast()) }
}

/// A method of `numpy.ndarray`, which takes the array as its first argument.
pub(crate) fn method<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    array_class(py).getattr(name)
}

/// NumPy's entry for a method in C; none if it is called in another way than `flags` say.
pub(crate) fn definition(
    kind: &Bound<'_, PyAny>,
    name: &str,
    flags: i32,
) -> PyResult<Option<&'static mut ffi::PyMethodDef>> {
    let method = kind.getattr("__dict__")?.get_item(name)?;
    if method.get_type_ptr() != &raw mut ffi::PyMethodDescr_Type {
        return Ok(None);
    }
    let method = method.as_ptr().cast::<ffi::PyMethodDescrObject>();
    // SAFETY: exactly a method descriptor, which the type keeps alive.
    let definition = unsafe { (*method).d_method };
    // SAFETY: NumPy's table of methods is static and writable.
    let definition = unsafe { &mut *definition };
    Ok((definition.ml_flags == flags).then_some(definition))
}

/// The descriptor of a dtype, borrowed for good.
pub(crate) fn descr_of(dtype: DType) -> *mut PyArray_Descr {
    table().descrs[dtype as usize] as *mut PyArray_Descr
}

/// The dtype of one of NumPy's scalars, by its exact type.
pub(crate) fn scalar_dtype(kind: *mut PyTypeObject) -> Option<DType> {
    let kind = kind as usize;
    let found = table().scalar_types.iter().position(|&t| t == kind);
    DType::from_index(u8::try_from(found?).ok()?)
}

/// Our dtype for one of NumPy's descriptors: native byte order, one of the fourteen, and nothing beside
/// it, neither fields nor metadata. C's second name for an integer, such as `longlong`, is none of them.
pub(crate) fn dtype_of(descr: *const PyArray_Descr) -> Option<DType> {
    // SAFETY: callers pass descriptors of live arrays or ones they hold.
    let head = unsafe { &*descr.cast::<DescrHead>() };
    let dtype = match head.type_num {
        0 => DType::Bool,
        1 => DType::I8,
        2 => DType::U8,
        3 => DType::I16,
        4 => DType::U16,
        5 => DType::I32,
        6 => DType::U32,
        7 => DType::I64,
        8 => DType::U64,
        11 => DType::F32,
        12 => DType::F64,
        14 => DType::C64,
        15 => DType::C128,
        23 => DType::F16,
        _ => return None,
    };
    if ptr::eq(descr, descr_of(dtype)) {
        return Some(dtype);
    }
    // SAFETY: descriptors of these types are NumPy's own and have the whole structure.
    let whole = unsafe { &*descr.cast::<DescrWhole>() };
    let bare = whole.metadata.is_null() && whole.names.is_null() && whole.subarray.is_null();
    (bare && head.byteorder != b'>').then_some(dtype)
}

/// A live NumPy array. Whoever makes one vouches that the object is an array and outlives the use.
#[derive(Clone, Copy)]
pub(crate) struct Arr(*mut ArrayObject);

impl Arr {
    /// The array behind an object pointer.
    ///
    /// # Safety
    /// The object is an instance of `numpy.ndarray` and stays alive while the value is used.
    pub(crate) unsafe fn new(object: *mut PyObject) -> Arr {
        Arr(object.cast())
    }

    /// The array, if the object is one.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> Option<Arr> {
        // SAFETY: the object is alive.
        let is = unsafe { ffi::PyObject_TypeCheck(object.as_ptr(), array_type()) } != 0;
        is.then(|| Arr(object.as_ptr().cast()))
    }

    /// The address of the first element.
    pub(crate) fn addr(self) -> usize {
        // SAFETY: the array is alive, by the promise of `new`.
        unsafe { (*self.0).data as usize }
    }

    /// Number of axes.
    pub(crate) fn ndim(self) -> usize {
        // SAFETY: as above.
        let nd = unsafe { (*self.0).nd };
        usize::try_from(nd).unwrap_or(0)
    }

    /// Extents.
    pub(crate) fn shape<'a>(self) -> &'a [usize] {
        let nd = self.ndim();
        if nd == 0 {
            return &[];
        }
        // SAFETY: as above; NumPy's extents are never negative.
        let dims = unsafe { (*self.0).dims };
        // SAFETY: NumPy keeps `nd` extents there.
        unsafe { std::slice::from_raw_parts(dims.cast::<usize>(), nd) }
    }

    /// Steps in bytes.
    pub(crate) fn strides<'a>(self) -> &'a [isize] {
        let nd = self.ndim();
        if nd == 0 {
            return &[];
        }
        // SAFETY: as above.
        let strides = unsafe { (*self.0).strides };
        // SAFETY: NumPy keeps `nd` steps there.
        unsafe { std::slice::from_raw_parts(strides, nd) }
    }

    /// NumPy's descriptor.
    pub(crate) fn descr(self) -> *mut PyArray_Descr {
        // SAFETY: the array is alive.
        unsafe { (*self.0).descr }
    }

    /// Our dtype, if it has one.
    pub(crate) fn dtype(self) -> Option<DType> {
        dtype_of(self.descr())
    }

    /// NumPy's number of the type of its elements.
    pub(crate) fn type_number(self) -> c_int {
        // SAFETY: the descriptor of a live array is alive.
        let descr = unsafe { &*self.descr().cast::<DescrHead>() };
        descr.type_num
    }

    /// True if all values of its dtype are values of the other's.
    pub(crate) fn casts_safely(self, py: Python<'_>, to: Arr) -> bool {
        let safe = npyffi::NPY_CASTING::NPY_SAFE_CASTING;
        // SAFETY: a live array and the descriptor of another.
        let casts =
            unsafe { PY_ARRAY_API.PyArray_CanCastArrayTo(py, self.0.cast(), to.descr(), safe) };
        casts != 0
    }

    /// Number of elements.
    pub(crate) fn len(self) -> usize {
        self.shape().iter().product()
    }

    /// Bytes of one element.
    pub(crate) fn itemsize(self) -> usize {
        // SAFETY: the descriptor of a live array is alive.
        let descr = unsafe { &*self.descr().cast::<DescrHead>() };
        usize::try_from(descr.elsize).unwrap_or(0)
    }

    /// Bytes of all elements.
    pub(crate) fn nbytes(self) -> usize {
        self.len() * self.itemsize()
    }

    /// The object whose memory it is a view of.
    pub(crate) fn base(self, py: Python<'_>) -> Option<Bound<'_, PyAny>> {
        // SAFETY: a live array keeps its base alive; it may be null.
        unsafe { Bound::from_borrowed_ptr_or_opt(py, self.base_object()) }
    }

    /// As [`Arr::base`], lent; null if there is none.
    pub(crate) fn base_object(self) -> *mut PyObject {
        // SAFETY: the array is alive.
        unsafe { (*self.0).base }
    }

    /// Makes it a view of another object: one that keeps the same memory alive as its base does.
    pub(crate) fn rebase(self, base: Bound<'_, PyAny>) {
        let base = base.into_ptr();
        // SAFETY: the array is alive; it takes the new reference.
        let old = unsafe { std::mem::replace(&mut (*self.0).base, base) };
        // SAFETY: the array gives up its reference to the old base, if it had one.
        unsafe { ffi::Py_XDECREF(old) };
    }

    /// True if it may be written.
    pub(crate) fn writeable(self) -> bool {
        self.has(flags::NPY_ARRAY_WRITEABLE)
    }

    /// True if all of these flags are set.
    pub(crate) fn has(self, wanted: c_int) -> bool {
        // SAFETY: the array is alive.
        let flags = unsafe { (*self.0).flags };
        flags & wanted == wanted
    }

    /// The extents and steps as a layout whose offset is counted from `base`.
    pub(crate) fn layout(self, dtype: DType, base: usize) -> Layout {
        Layout {
            dtype,
            offset: self.addr().wrapping_sub(base).cast_signed(),
            shape: Shape::from_slice(self.shape()),
            strides: Strides::from_slice(self.strides()),
        }
    }

    /// Lets the array own its memory, to be given back through `handler`.
    ///
    /// # Safety
    /// `handler` is a capsule as NumPy expects; its `free` knows how to release the array's memory;
    /// the array neither owns memory nor has a base.
    pub(crate) unsafe fn own(self, handler: *mut PyObject) {
        // SAFETY: the capsule is alive; the array keeps this reference and drops it when it dies.
        unsafe { ffi::Py_INCREF(handler) };
        // SAFETY: the array is alive and exclusively held by its maker.
        unsafe { (*self.0).mem_handler = handler };
        // SAFETY: as above.
        unsafe { (*self.0).flags |= flags::NPY_ARRAY_OWNDATA };
    }
}

/// The head of NumPy 2's `PyArray_Descr`, up to the element size.
#[repr(C)]
struct DescrHead {
    ob_base: PyObject,
    typeobj: *mut PyTypeObject,
    kind: u8,
    type_: u8,
    byteorder: u8,
    former_flags: u8,
    type_num: c_int,
    flags: u64,
    elsize: isize,
    alignment: isize,
}

/// The whole descriptor of a type that NumPy itself has, as far as it is read here.
#[repr(C)]
struct DescrWhole {
    head: DescrHead,
    metadata: *mut PyObject,
    hash: isize,
    reserved: [*mut c_void; 2],
    subarray: *mut c_void,
    fields: *mut PyObject,
    names: *mut PyObject,
}

/// Where NumPy shall put a new array.
pub(crate) struct Place<'a> {
    /// The type of the object.
    pub(crate) kind: *mut PyTypeObject,
    /// The element type.
    pub(crate) dtype: DType,
    /// Extents.
    pub(crate) shape: &'a [usize],
    /// Steps in bytes.
    pub(crate) strides: &'a [isize],
    /// The first element.
    pub(crate) data: *mut u8,
    /// NumPy's flags.
    pub(crate) flags: c_int,
}

/// A new array over given memory.
pub(crate) fn new_array<'py>(py: Python<'py>, place: &Place<'_>) -> PyResult<Bound<'py, PyAny>> {
    let descr = descr_of(place.dtype);
    // SAFETY: the descriptor is alive; the call below takes the new reference.
    unsafe { ffi::Py_INCREF(descr.cast()) };
    let nd = c_int::try_from(place.shape.len()).unwrap_or(c_int::MAX);
    // SAFETY: extents and steps have `nd` entries, NumPy only reads them; `data` is given by the
    // caller together with the extents.
    let object = unsafe {
        PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            place.kind,
            descr,
            nd,
            place.shape.as_ptr().cast::<isize>().cast_mut(),
            place.strides.as_ptr().cast_mut(),
            place.data.cast(),
            place.flags,
            ptr::null_mut(),
        )
    };
    // SAFETY: a new reference or null with an exception.
    unsafe { Bound::from_owned_ptr_or_err(py, object) }
}

/// A new plain array with memory of NumPy's own, whose bytes are arbitrary.
pub(crate) fn empty<'py>(
    py: Python<'py>,
    dtype: DType,
    shape: &[usize],
    strides: &[isize],
) -> PyResult<Bound<'py, PyAny>> {
    let place = Place {
        kind: array_type(),
        dtype,
        shape,
        strides,
        data: ptr::null_mut(),
        flags: 0,
    };
    new_array(py, &place)
}

/// A list or a tuple as the array that NumPy's operators make of it; none of anything else.
pub(crate) fn listed<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if !object.is_exact_instance_of::<PyList>() && !object.is_exact_instance_of::<PyTuple>() {
        return Ok(None);
    }
    let (py, none) = (object.py(), ptr::null_mut::<c_void>());
    // SAFETY: a live object; no dtype, depths or flags are asked for, and no context is given.
    let made = unsafe {
        PY_ARRAY_API.PyArray_FromAny(py, object.as_ptr(), none.cast(), 0, 0, 0, none.cast())
    };
    // SAFETY: a new reference, or null with an error set.
    unsafe { Bound::from_owned_ptr_or_err(py, made) }.map(Some)
}

/// The same elements as a plain `numpy.ndarray`, without touching memory.
pub(crate) fn plain_view<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    // SAFETY: callers pass arrays; a null dtype keeps the array's own.
    let object = unsafe {
        PY_ARRAY_API.PyArray_View(py, array.as_ptr().cast(), ptr::null_mut(), array_type())
    };
    // SAFETY: a new reference or null with an exception.
    unsafe { Bound::from_owned_ptr_or_err(py, object) }
}

/// `array[...] = value` by NumPy, on memory that may be written.
pub(crate) fn assign(array: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    // SAFETY: callers pass an array, and both objects are alive.
    let failed = unsafe {
        PY_ARRAY_API.PyArray_CopyObject(array.py(), array.as_ptr().cast(), value.as_ptr())
    };
    if failed < 0 {
        return Err(PyErr::fetch(array.py()));
    }
    Ok(())
}

/// The bytes of one of NumPy's scalars of dtype `dtype`.
pub(crate) fn scalar_bytes(scalar: &Bound<'_, PyAny>) -> [u8; 16] {
    let mut bytes = [0u8; 16];
    // SAFETY: callers pass scalars of the fourteen dtypes, at most 16 bytes.
    unsafe {
        PY_ARRAY_API.PyArray_ScalarAsCtype(scalar.py(), scalar.as_ptr(), bytes.as_mut_ptr().cast());
    }
    bytes
}

/// Makes `handler` NumPy's allocator in the current context, and returns the previous one.
pub(crate) fn set_handler<'py>(handler: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the object is a capsule that NumPy knows or one of ours.
    let old = unsafe { (table().set_handler)(handler.as_ptr()) };
    // SAFETY: a new reference or null with an exception.
    unsafe { Bound::from_owned_ptr_or_err(handler.py(), old) }
}

/// The handler of memory that NumPy gives to an ordinary array.
pub(crate) fn default_handler(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let probe = modules::numpy(py)?.call_method1("empty", (10,))?;
    // SAFETY: the probe is an array, and `init` has checked the layout.
    let handler = unsafe { (*probe.as_ptr().cast::<ArrayObject>()).mem_handler };
    // SAFETY: the array keeps the handler alive; the new reference keeps it further.
    Ok(unsafe { Bound::from_borrowed_ptr(py, handler) })
}
