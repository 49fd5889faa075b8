//! The arguments of functions, and the keyword arguments of ufuncs.

use crate::modules;
use crate::np;
use crate::operand::Reason;
use arrayloom_types::DType;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString, PyTuple};
use std::sync::OnceLock;

static NO_VALUE: OnceLock<Py<PyAny>> = OnceLock::new();

/// Looks up `np._NoValue`.
pub(crate) fn init(py: Python<'_>) -> PyResult<()> {
    let value = modules::numpy(py)?.getattr("_NoValue")?.unbind();
    NO_VALUE.get_or_init(|| value);
    Ok(())
}

/// True for `np._NoValue`, which stands for an absent argument.
pub(crate) fn no_value(value: &Bound<'_, PyAny>) -> bool {
    NO_VALUE.get().is_some_and(|n| n.as_ptr() == value.as_ptr())
}

/// The arguments of a call by position or name; `None` if there are others than `names`.
pub(crate) fn arguments<'py, const N: usize>(
    names: [&str; N],
    args: &[Bound<'py, PyAny>],
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Option<[Option<Bound<'py, PyAny>>; N]>> {
    let mut all = [const { None }; N];
    let mut named = 0;
    for (at, (name, value)) in names.into_iter().zip(&mut all).enumerate() {
        *value = kwargs.get_item(name)?;
        named += usize::from(value.is_some());
        if let Some(given) = args.get(at) {
            if value.is_some() {
                return Ok(None);
            }
            *value = Some(given.clone());
        }
        *value = value.take().filter(|value| !value.is_none());
    }
    Ok((args.len() <= N && named == kwargs.len()).then_some(all))
}

/// The keyword arguments of a call of a ufunc or of one of its methods, as far as we know them.
#[derive(Default)]
pub(crate) struct Keywords<'py> {
    /// `out=`, if it names one array.
    pub(crate) out: Option<Bound<'py, PyAny>>,
    /// `where=`, if not True.
    pub(crate) mask: Option<Bound<'py, PyAny>>,
    /// `dtype=`.
    pub(crate) dtype: Option<DType>,
    /// `casting='unsafe'`.
    pub(crate) unsafe_cast: bool,
    /// `axis=`; none if absent, which is not the same as None.
    pub(crate) axis: Option<Bound<'py, PyAny>>,
    /// `keepdims=`.
    pub(crate) keepdims: bool,
    /// `initial=`.
    pub(crate) initial: Option<Bound<'py, PyAny>>,
}

impl<'py> Keywords<'py> {
    /// Reads the arguments; an error names why NumPy must do the call.
    pub(crate) fn read(kwargs: Option<&Bound<'py, PyDict>>) -> PyResult<Result<Self, Reason>> {
        let mut words = Keywords::default();
        for (name, value) in kwargs.into_iter().flat_map(PyDictMethods::iter) {
            let name = name.cast::<PyString>()?.to_str()?;
            if no_value(&value) {
                continue;
            }
            if !words.take(name, value)? {
                return Ok(Err(Reason::Keyword));
            }
        }
        Ok(Ok(words))
    }

    /// Takes one argument; false if it is not one of ours.
    fn take(&mut self, name: &str, value: Bound<'py, PyAny>) -> PyResult<bool> {
        match name {
            "out" => {
                let value = match value.cast_exact::<PyTuple>() {
                    Ok(tuple) if tuple.len() == 1 => tuple.get_item(0)?,
                    Ok(_) => return Ok(false),
                    Err(_) => value,
                };
                self.out = Some(value).filter(|v| !v.is_none());
            }
            "where" => self.mask = Some(value).filter(|v| !v.is(true_of(v.py()))),
            "dtype" => return self.take_dtype(&value),
            "casting" => match value.extract::<&str>() {
                Ok("same_kind") => {}
                Ok("unsafe") => self.unsafe_cast = true,
                _ => return Ok(false),
            },
            "order" => {
                return Ok(value.is_none() || value.extract::<&str>().is_ok_and(|v| v == "K"));
            }
            "subok" => return Ok(value.extract::<bool>().is_ok()),
            "axis" => self.axis = Some(value),
            "keepdims" => match value.cast::<PyInt>() {
                Ok(keep) => self.keepdims = keep.is_truthy()?,
                Err(_) => return Ok(false),
            },
            "initial" => self.initial = Some(value),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn take_dtype(&mut self, value: &Bound<'py, PyAny>) -> PyResult<bool> {
        if value.is_none() {
            return Ok(true);
        }
        self.dtype = dtype_from(value)?;
        Ok(self.dtype.is_some())
    }
}

fn true_of(py: Python<'_>) -> Bound<'_, PyAny> {
    pyo3::types::PyBool::new(py, true).to_owned().into_any()
}

/// The dtype that `np.dtype(value)` names, if it is one of ours; `None` also for what is no dtype.
pub(crate) fn dtype_from(value: &Bound<'_, PyAny>) -> PyResult<Option<DType>> {
    let Ok(descr) = value.py().import("numpy")?.call_method1("dtype", (value,)) else {
        return Ok(None);
    };
    Ok(np::dtype_of(descr.as_ptr().cast()))
}
