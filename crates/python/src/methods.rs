//! The methods of lazy arrays: those that NumPy writes in C and that touch memory.
//!
//! One table names each method and how it is done. Methods that are not here either make views or
//! arrive at `__array_ufunc__` by themselves.
#![expect(unsafe_code, reason = "C functions of the array type")]

use crate::array_ufunc;
use crate::keywords::Keywords;
use crate::lift::lift_held;
use crate::lone::{self, Quick};
use crate::map::Outcome;
use crate::np::{self, Arr};
use crate::operand::Reason;
use crate::slot::{lend, object, owned};
use crate::{
    array_function, bridge, builtins, copies, delegate, fold as folds, gather, journal, masks,
    memory, operations, ops, parts, scatter, searches, site, sorting, sync,
};
use pyo3::exceptions::{PyNotImplementedError, PyTypeError};
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyTuple};
use std::ffi::{CStr, c_char};
use std::ptr;

/// How a method is done.
#[derive(Clone, Copy)]
enum How {
    /// NumPy does it on computed data.
    Read(Reason),
    /// NumPy does it on data that may be written.
    Write(Reason),
    /// NumPy's method of the array itself, once its data are computed: it makes no array of them.
    Look,
    /// A fold by the ufunc of this name, if it is one alone. Or NumPy's method: of the data, if they are computed and
    /// few, else of the array itself, which comes back to us through ufuncs.
    Fold(Option<&'static str>, Quick),
    /// We do it, or say why not.
    Native(for<'py> fn(&Call<'_, 'py>) -> PyResult<Outcome<'py>>),
    /// We do it.
    Ours(for<'py> fn(&Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>>),
}

/// One call of a method.
pub(crate) struct Call<'a, 'py> {
    /// The array.
    pub(crate) this: &'a Bound<'py, PyAny>,
    /// Positional arguments.
    pub(crate) args: &'a [Bound<'py, PyAny>],
    /// Keyword arguments.
    pub(crate) kwargs: Option<&'a Bound<'py, PyDict>>,
}

struct Method {
    name: &'static CStr,
    how: How,
}

const fn read(name: &'static CStr) -> Method {
    Method {
        name,
        how: How::Read(Reason::Delegated),
    }
}

const fn write(name: &'static CStr) -> Method {
    Method {
        name,
        how: How::Write(Reason::Delegated),
    }
}

/// Exports of values: reading them is the purpose, so they do not count.
const fn export(name: &'static CStr) -> Method {
    Method {
        name,
        how: How::Read(Reason::Library),
    }
}

const fn fold(name: &'static CStr, ufunc: Option<&'static str>, quick: Quick) -> Method {
    Method {
        name,
        how: How::Fold(ufunc, quick),
    }
}

const METHODS: [Method; 55] = [
    Method {
        name: c"__array_ufunc__",
        how: How::Ours(ufunc),
    },
    Method {
        name: c"__array_function__",
        how: How::Ours(array_function::call),
    },
    Method {
        name: c"__array__",
        how: How::Native(|c| Ok(as_array(c))),
    },
    Method {
        name: c"__array_wrap__",
        how: How::Ours(wrap),
    },
    Method {
        name: c"__array_namespace__",
        how: How::Ours(namespace),
    },
    Method {
        name: c"argmax",
        how: How::Native(|c| extreme(c, true)),
    },
    Method {
        name: c"argmin",
        how: How::Native(|c| extreme(c, false)),
    },
    Method {
        name: c"copy",
        how: How::Native(copies::copy),
    },
    Method {
        name: c"__copy__",
        how: How::Native(copies::alike),
    },
    Method {
        name: c"flatten",
        how: How::Native(copies::flatten),
    },
    Method {
        name: c"ravel",
        how: How::Native(copies::ravel),
    },
    Method {
        name: c"reshape",
        how: How::Native(copies::reshape),
    },
    Method {
        name: c"astype",
        how: How::Native(copies::astype),
    },
    Method {
        name: c"fill",
        how: How::Native(copies::fill),
    },
    export(c"__deepcopy__"),
    export(c"__reduce__"),
    export(c"__reduce_ex__"),
    Method {
        name: c"__dlpack__",
        how: How::Ours(bridge::dlpack),
    },
    // It gives the array other memory.
    Method {
        name: c"__setstate__",
        how: How::Look,
    },
    export(c"__complex__"),
    export(c"__format__"),
    export(c"__contains__"),
    export(c"tobytes"),
    export(c"tofile"),
    export(c"tolist"),
    export(c"dump"),
    export(c"dumps"),
    Method {
        name: c"item",
        how: How::Look,
    },
    Method {
        name: c"argpartition",
        how: How::Native(sorting::argpartition),
    },
    Method {
        name: c"argsort",
        how: How::Native(sorting::argsort),
    },
    read(c"choose"),
    read(c"compress"),
    Method {
        name: c"dot",
        how: How::Native(operations::dot),
    },
    read(c"getfield"),
    Method {
        name: c"nonzero",
        how: How::Native(masks::nonzero),
    },
    Method {
        name: c"repeat",
        how: How::Native(copies::repeat),
    },
    Method {
        name: c"round",
        how: How::Native(copies::round),
    },
    Method {
        name: c"searchsorted",
        how: How::Native(search),
    },
    Method {
        name: c"take",
        how: How::Native(gather::take),
    },
    read(c"trace"),
    Method {
        name: c"free",
        how: How::Ours(free),
    },
    fold(c"sum", Some("add"), Quick::Float),
    fold(c"prod", Some("multiply"), Quick::Float),
    fold(c"mean", None, Quick::Float),
    fold(c"std", None, Quick::Float),
    fold(c"var", None, Quick::Float),
    fold(c"max", Some("maximum"), Quick::Real),
    fold(c"min", Some("minimum"), Quick::Real),
    fold(c"all", Some("logical_and"), Quick::Truth),
    fold(c"any", Some("logical_or"), Quick::Truth),
    write(c"byteswap"),
    Method {
        name: c"partition",
        how: How::Native(sorting::partition),
    },
    Method {
        name: c"put",
        how: How::Native(scatter::flat),
    },
    write(c"setfield"),
    Method {
        name: c"sort",
        how: How::Native(sorting::sort),
    },
];

/// Methods that write to the array where NumPy does what we do not.
const WRITES: [&str; 4] = ["fill", "put", "sort", "partition"];

/// `a.searchsorted(v, side='left', sorter=None)`.
fn search<'py>(call: &Call<'_, 'py>) -> PyResult<Outcome<'py>> {
    let py = call.this.py();
    let function = np::method(py, "searchsorted")?;
    let mut args = vec![call.this.clone()];
    args.extend_from_slice(call.args);
    let words = call.kwargs.cloned().unwrap_or_else(|| PyDict::new(py));
    if let Outcome::Done(found) = searches::searchsorted(py, &args, &words)? {
        return Ok(Outcome::Done(found));
    }
    let found = parts::elementwise("searchsorted", &function, &args, call.kwargs)?;
    Ok(found.map_or(Outcome::Numpy(Reason::Delegated), Outcome::Done))
}

/// The methods as C wants them, ended by zeros.
pub(crate) fn definitions() -> Vec<ffi::PyMethodDef> {
    macro_rules! entries {
        ($($i:literal)*) => { [$(entry::<$i> as ffi::PyCFunctionFastWithKeywords),*] };
    }
    let functions: [ffi::PyCFunctionFastWithKeywords; METHODS.len()] = entries!(
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34
        35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54
    );
    let define =
        |(method, function): (&Method, ffi::PyCFunctionFastWithKeywords)| ffi::PyMethodDef {
            ml_name: method.name.as_ptr(),
            ml_meth: ffi::PyMethodDefPointer {
                PyCFunctionFastWithKeywords: function,
            },
            ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
            ml_doc: ptr::null::<c_char>(),
        };
    let mut all: Vec<_> = METHODS.iter().zip(functions).map(define).collect();
    all.push(ffi::PyMethodDef {
        ml_name: c"resize".as_ptr(),
        ml_meth: ffi::PyMethodDefPointer {
            PyCFunctionWithKeywords: resize,
        },
        ml_flags: ffi::METH_VARARGS | ffi::METH_KEYWORDS,
        ml_doc: ptr::null::<c_char>(),
    });
    all.push(ffi::PyMethodDef::zeroed());
    all
}

unsafe extern "C" fn entry<const WHICH: usize>(
    this: *mut PyObject,
    args: *const *mut PyObject,
    count: isize,
    names: *mut PyObject,
) -> *mut PyObject {
    object(|py| {
        // SAFETY: the interpreter lends the array.
        let this = unsafe { lend(py, this) };
        let count = usize::try_from(count).unwrap_or(0);
        let mut positional = Vec::with_capacity(count);
        for i in 0..count {
            // SAFETY: the interpreter passes `count` objects.
            let arg = unsafe { args.add(i) };
            // SAFETY: as above.
            let arg = unsafe { *arg };
            // SAFETY: it lends them for the call.
            positional.push(unsafe { lend(py, arg) });
        }
        let kwargs = if names.is_null() {
            None
        } else {
            // SAFETY: the values of the names follow the positional arguments.
            let values = unsafe { args.add(count) };
            // SAFETY: all of them are lent for the call.
            Some(unsafe { builtins::keywords(py, names, values) }?)
        };
        let call = Call {
            this: &this,
            args: &positional,
            kwargs: kwargs.as_ref(),
        };
        run(&METHODS[WHICH], &call)
    })
}

fn run<'py>(method: &Method, call: &Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    let name = method.name.to_str().unwrap_or_default();
    match method.how {
        How::Ours(work) => work(call),
        How::Native(work) => match journal::watch(call.this.py(), name, || work(call))? {
            Outcome::Done(result) => Ok(result),
            Outcome::Numpy(reason) => in_numpy(call, name, reason, WRITES.contains(&name)),
        },
        How::Read(reason) => in_numpy(call, name, reason, false),
        How::Write(reason) => in_numpy(call, name, reason, true),
        How::Fold(_, quick) if lone::is_quick(call, quick)? => {
            in_numpy(call, name, Reason::Library, false)
        }
        How::Fold(ufunc, _) => match ufunc.map_or(Ok(None), |ufunc| reduced(call, ufunc))? {
            Some(result) => Ok(result),
            // NumPy's ufuncs lose a reference to an array that has an override and an axis that is not there.
            None if misses_axis(call) => in_numpy(call, name, Reason::Mismatch, false),
            None => itself(call, name),
        },
        How::Look => look(call, name),
    }
}

/// True if the axis that a fold names is none of the array's.
fn misses_axis(call: &Call<'_, '_>) -> bool {
    let named = call.kwargs.and_then(|k| k.get_item("axis").ok().flatten());
    let axis = call.args.first().cloned().or(named);
    let none = |axis: &Bound<'_, PyAny>| {
        Arr::of(call.this).is_some_and(|a| folds::axes_of(Some(axis), a.ndim()).is_none())
    };
    axis.as_ref().is_some_and(none)
}

fn look<'py>(call: &Call<'_, 'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let py = call.this.py();
    if let Some(array) = Arr::of(call.this) {
        sync::read(py, array)?;
    }
    itself(call, name)
}

/// The fold by a ufunc, without NumPy's way through Python. `None` where that must decide.
fn reduced<'py>(call: &Call<'_, 'py>, ufunc: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (Some(entry), Some(words)) = (ops::by_name(ufunc), lone::words(call, |_, _| false)?) else {
        return Ok(None);
    };
    match folds::reduce(call.this.py(), entry, call.this, &words)? {
        Outcome::Done(result) => Ok(Some(result)),
        Outcome::Numpy(_) => Ok(None),
    }
}

/// NumPy's method of the array itself.
fn itself<'py>(call: &Call<'_, 'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let py = call.this.py();
    let args = std::iter::once(call.this).chain(call.args);
    let args = PyTuple::new(py, args.collect::<Vec<_>>())?;
    np::method(py, name)?.call(args, call.kwargs)
}

fn in_numpy<'py>(
    call: &Call<'_, 'py>,
    name: &str,
    reason: Reason,
    writes: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let function = np::method(call.this.py(), name)?;
    let mut args = vec![call.this.clone()];
    args.extend_from_slice(call.args);
    let writes = 0..usize::from(writes);
    delegate::call(&function, &args, call.kwargs, writes, (name, reason))
}

/// `a.resize(...)` changes the array object itself. NumPy counts who holds it, so nobody may be added.
unsafe extern "C" fn resize(
    this: *mut PyObject,
    args: *mut PyObject,
    kwargs: *mut PyObject,
) -> *mut PyObject {
    object(|py| {
        // SAFETY: a method of an array type.
        sync::write(py, unsafe { Arr::new(this) })?;
        let method = np::method(py, "resize")?;
        // SAFETY: a method of a C type is a method descriptor.
        let method = unsafe { &*method.as_ptr().cast::<ffi::PyMethodDescrObject>() };
        // SAFETY: NumPy's method table is static.
        let definition = unsafe { &*method.d_method };
        if definition.ml_flags != ffi::METH_VARARGS | ffi::METH_KEYWORDS {
            return Err(PyNotImplementedError::new_err(
                "numpy.ndarray.resize is not what this version knows",
            ));
        }
        // SAFETY: the flags say that it is this member of the union.
        let own = unsafe { definition.ml_meth.PyCFunctionWithKeywords };
        // SAFETY: `ndarray`'s own method with its own arguments.
        owned(py, unsafe { own(this, args, kwargs) })
    })
}

fn ufunc<'py>(call: &Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    let args = PyTuple::new(call.this.py(), call.args)?;
    array_ufunc::call(&args, call.kwargs)
}

/// `a.__array__()` is the array itself.
fn as_array<'py>(call: &Call<'_, 'py>) -> Outcome<'py> {
    if call.args.is_empty() && call.kwargs.is_none() {
        return Outcome::Done(call.this.clone());
    }
    Outcome::Numpy(Reason::Library)
}

/// `a.__array_namespace__()` is our namespace.
fn namespace<'py>(call: &Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    let py = call.this.py();
    let own = np::method(py, "__array_namespace__")?;
    let mut args = vec![delegate::plain(call.this)?];
    args.extend_from_slice(call.args);
    own.call(PyTuple::new(py, args)?, call.kwargs)?;
    Ok(py.import("arrayloom")?.into_any())
}

/// Results of NumPy's functions in Python are arrays like the operand, if they lie in the arena.
fn wrap<'py>(call: &Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    let Some(array) = call.args.first() else {
        return Err(PyTypeError::new_err("only accepts 1 argument"));
    };
    let scalar = call
        .args
        .get(2)
        .is_some_and(|s| s.is_truthy().unwrap_or(false));
    if scalar {
        return array.get_item(PyTuple::empty(array.py()));
    }
    lift_held(array);
    Ok(array.clone())
}

/// `a.free()` gives the memory back now.
fn free<'py>(call: &Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    if !call.args.is_empty() || call.kwargs.is_some() {
        return Err(PyTypeError::new_err("free() takes no arguments"));
    }
    let py = call.this.py();
    let at = site::user_line(py)?;
    let freed = memory::memory_free(py, call.this, format!("{}:{}", at.file, at.line))?;
    Ok(PyBool::new(py, freed).to_owned().into_any())
}

fn extreme<'py>(call: &Call<'_, 'py>, max: bool) -> PyResult<Outcome<'py>> {
    if lone::is_quick(call, Quick::Place)? {
        return Ok(Outcome::Numpy(Reason::Library));
    }
    let py = call.this.py();
    let words = PyDict::new(py);
    for (name, value) in ["axis", "out"].iter().zip(call.args) {
        words.set_item(name, value)?;
    }
    if let Some(kwargs) = call.kwargs {
        words.update(kwargs.as_mapping())?;
    }
    match Keywords::read(Some(&words))? {
        Ok(words) if call.args.len() <= 2 && words.dtype.is_none() => {
            folds::extreme(py, call.this, max, &words)
        }
        Ok(_) => Ok(Outcome::Numpy(Reason::Keyword)),
        Err(reason) => Ok(Outcome::Numpy(reason)),
    }
}
