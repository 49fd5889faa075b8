//! What each kind lends and takes on the host, as numbers: the part of a framework's description that
//! the usual conversions need.
//!
//! A rule is read once from a specification in Python, when the framework starts. A rule that is set
//! again takes the place of the old one, which stays in memory: somebody may still read it.
#![expect(unsafe_code, reason = "rules and names are kept by address")]

use super::abroad::Abroad;
use super::table;
use crate::np::Arr;
use crate::slot::lend;
use arrayloom_types::DType;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Which steps are taken without a copy; numbers as in `registry.Layouts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steps {
    Any,
    Forward,
    Compact,
    CompactRows,
}

/// Whether arrays of a kind can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writing {
    ByFlag,
    Always,
    Never,
}

/// A function of a framework that a hook gives, asked for when it is needed first.
#[derive(Debug)]
pub(crate) struct Asked {
    hook: Py<PyAny>,
    found: OnceLock<Py<PyAny>>,
}

impl Asked {
    pub(crate) fn new(hook: Py<PyAny>) -> Asked {
        Asked {
            hook,
            found: OnceLock::new(),
        }
    }

    /// The function.
    #[inline]
    pub(crate) fn get<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        if let Some(found) = self.found.get() {
            return Ok(found.bind(py));
        }
        let found = self.hook.call0(py)?;
        Ok(self.found.get_or_init(|| found).bind(py))
    }
}

/// How arrays of a kind are made over memory of the host.
#[derive(Debug)]
pub(crate) enum Takes {
    /// They are NumPy's own.
    Numpy,
    /// They are ours.
    Ours,
    /// By the exchange table at this address.
    Table(usize),
    /// By a function of a DLPack capsule without a version.
    Capsule(Asked),
    /// By a function that copies an array of NumPy's to another device, and one that shares an array of ours
    /// with a device that computes in the host's memory, or says that it does not.
    Upload(Asked, Option<Py<PyAny>>),
    /// Only the planner knows.
    Unknown,
}

/// How the memory of an array of a kind is seen.
#[derive(Debug)]
pub(crate) enum Lends {
    Numpy,
    Ours,
    /// By the exchange table of the array's type.
    Table,
    /// By a function that returns a NumPy array or a `memoryview`.
    View(Py<PyAny>),
    /// By a function that copies it from another device to a NumPy array, and one that shows the memory itself
    /// to arrays of ours, or says that the host cannot see it.
    Download(Py<PyAny>, Option<Py<PyAny>>),
    Unknown,
}

/// Reads a hook of a specification by its name.
pub(crate) type Hook<'a> = &'a dyn Fn(&str) -> PyResult<Option<Py<PyAny>>>;

impl Takes {
    fn read(hook: Hook<'_>) -> PyResult<Takes> {
        if let Some(accept) = hook("accept")? {
            return Ok(Takes::Capsule(Asked::new(accept)));
        }
        let Some(upload) = hook("upload")? else {
            return Ok(Takes::Unknown);
        };
        Ok(Takes::Upload(Asked::new(upload), hook("wrap")?))
    }
}

impl Lends {
    fn read(hook: Hook<'_>) -> PyResult<Lends> {
        if let Some(view) = hook("view")? {
            return Ok(Lends::View(view));
        }
        let Some(download) = hook("download")? else {
            return Ok(Lends::Unknown);
        };
        Ok(Lends::Download(download, hook("map")?))
    }
}

/// One kind.
#[derive(Debug)]
pub(crate) struct Rule {
    /// The kind's name, an interned string that lives for good.
    name: usize,
    pub(crate) lends: Lends,
    pub(crate) takes: Takes,
    pub(crate) align: usize,
    pub(crate) steps: Steps,
    pub(crate) writing: Writing,
    axes: (usize, usize),
    empty: bool,
    /// Bits of the element types that are taken.
    elements: u32,
    /// Bits of those for which a function is asked each time, and the function.
    asked: u32,
    narrowing: Option<Py<PyAny>>,
    pub(crate) abroad: Abroad,
}

const PLACES: usize = 32;
static RULES: [AtomicPtr<Rule>; PLACES] = [const { AtomicPtr::new(ptr::null_mut()) }; PLACES];

fn at(place: &AtomicPtr<Rule>) -> Option<&'static Rule> {
    // SAFETY: null, or a rule that was leaked.
    unsafe { place.load(Ordering::Acquire).as_ref() }
}

/// The rule of a kind by the address of its interned name.
#[inline]
pub(crate) fn of_name(name: *mut PyObject) -> Option<&'static Rule> {
    for place in &RULES {
        let rule = at(place)?;
        if rule.name == name as usize {
            return Some(rule);
        }
    }
    None
}

/// The rule of a kind by a string that may have been made just now.
pub(crate) fn of_text(name: &Bound<'_, PyAny>) -> Option<&'static Rule> {
    let text = name.cast_exact::<PyString>().ok()?.to_str().ok()?;
    RULES.iter().map_while(at).find(|rule| {
        // SAFETY: names are kept for good.
        let known = unsafe { lend(name.py(), rule.name as *mut PyObject) };
        known
            .cast_exact::<PyString>()
            .is_ok_and(|known| known.to_str().is_ok_and(|t| t == text))
    })
}

fn bit(dtype: DType) -> u32 {
    1 << dtype as u32
}

fn bits_of(names: &Bound<'_, PyAny>) -> PyResult<u32> {
    let mut bits = 0;
    for name in names.try_iter()? {
        let name = name?.extract::<String>()?;
        let found = (0..=u8::MAX)
            .map_while(DType::from_index)
            .find(|d| d.name() == name);
        bits |= found.map_or(0, bit);
    }
    Ok(bits)
}

impl Rule {
    fn read(spec: &Bound<'_, PyAny>) -> PyResult<Rule> {
        let py = spec.py();
        let hooks = spec.getattr("hooks")?;
        let name = spec.getattr("name")?.extract::<String>()?;
        let hook = |name: &str| -> PyResult<Option<Py<PyAny>>> {
            let found = hooks.getattr(name)?;
            Ok((!found.is_none()).then(|| found.unbind()))
        };
        let word = |name: &str| spec.getattr(name)?.getattr("name")?.extract::<String>();
        let axes = spec.getattr("ndim")?;
        let align = spec.getattr("align")?.extract::<usize>()?;
        if !align.is_power_of_two() {
            let text =
                format!("{name} cannot ask for {align} bytes of alignment: not a power of two");
            return Err(PyValueError::new_err(text));
        }
        let narrowing = hook("narrowing")?;
        let narrow = bits_of(&spec.getattr("narrowed")?)?;
        let exchange = match hook("table")? {
            Some(kind) => table::of_type(&kind.bind(py).call0()?)?,
            None => 0,
        };
        let (lends, takes) = match name.as_str() {
            "numpy" => (Lends::Numpy, Takes::Numpy),
            "arrayloom" => (Lends::Ours, Takes::Ours),
            _ if exchange != 0 => (Lends::Table, Takes::Table(exchange)),
            _ => (Lends::read(&hook)?, Takes::read(&hook)?),
        };
        Ok(Rule {
            name: PyString::intern(py, &name).into_ptr() as usize,
            lends,
            takes,
            align,
            steps: match word("layouts")?.as_str() {
                "ANY" => Steps::Any,
                "FORWARD" => Steps::Forward,
                "COMPACT" => Steps::Compact,
                "COMPACT_C" => Steps::CompactRows,
                other => return Err(PyValueError::new_err(format!("no layouts {other}"))),
            },
            writing: match word("mutable")?.as_str() {
                "FLAG" => Writing::ByFlag,
                "ALWAYS" => Writing::Always,
                "NEVER" => Writing::Never,
                other => return Err(PyValueError::new_err(format!("no mutability {other}"))),
            },
            axes: (
                axes.getattr("start")?.extract()?,
                axes.getattr("stop")?.extract()?,
            ),
            empty: spec.getattr("empty")?.extract()?,
            elements: bits_of(&spec.getattr("dtypes")?)? & !bits_of(&spec.getattr("by_value")?)?,
            asked: narrow,
            narrowing,
            abroad: Abroad::read(spec, &hook)?,
        })
    }

    /// The kind's name.
    pub(crate) fn name(&self) -> *mut PyObject {
        self.name as *mut PyObject
    }

    /// Whether the kind has arrays of this element type and shape. False also where the planner must ask.
    pub(crate) fn has(&self, array: Arr, dtype: DType) -> PyResult<bool> {
        let shape = array.shape();
        let (first, end) = self.axes;
        if self.elements & bit(dtype) == 0
            || !(first..end).contains(&shape.len())
            || (!self.empty && shape.contains(&0))
        {
            return Ok(false);
        }
        if self.asked & bit(dtype) == 0 {
            return Ok(true);
        }
        let Some(narrowing) = &self.narrowing else {
            return Ok(false);
        };
        // SAFETY: conversions run with the interpreter's lock.
        let py = unsafe { Python::assume_attached() };
        Ok(!narrowing.bind(py).call0()?.contains(dtype.name())?)
    }

    /// Whether the kind takes this memory as it is.
    pub(crate) fn fits(&self, array: Arr, dtype: DType) -> bool {
        let shape = array.shape();
        if shape.contains(&0) {
            return true;
        }
        // Units are powers of two, and dividing takes longer.
        array.addr() & (self.unit(dtype) - 1) == 0
            && match self.steps {
                Steps::Any => true,
                Steps::Forward => {
                    // Sizes are powers of two.
                    let within = dtype.size() - 1;
                    let whole = |&s: &isize| s >= 0 && s.cast_unsigned() & within == 0;
                    array.strides().iter().all(whole)
                }
                Steps::Compact => compact_rows(array) || compact_columns(array),
                Steps::CompactRows => compact_rows(array),
            }
    }

    /// What the address must be a multiple of.
    fn unit(&self, dtype: DType) -> usize {
        match self.steps {
            Steps::Any => self.align,
            _ if self.align > 1 => self.align,
            _ => dtype.align(),
        }
    }
}

fn compact(array: Arr, axes: impl Iterator<Item = usize>) -> bool {
    let mut step = array.itemsize();
    for axis in axes {
        let extent = array.shape()[axis];
        if extent != 1 && array.strides()[axis] != step.cast_signed() {
            return false;
        }
        step *= extent;
    }
    true
}

/// Whether the elements follow one another in row-major order.
pub(crate) fn compact_rows(array: Arr) -> bool {
    compact(array, (0..array.ndim()).rev())
}

fn compact_columns(array: Arr) -> bool {
    compact(array, 0..array.ndim())
}

/// Keep the part of a framework's description that the usual conversions need.
#[pyfunction]
pub(crate) fn set_rule(spec: &Bound<'_, PyAny>) -> PyResult<()> {
    let rule = Box::new(Rule::read(spec)?);
    for place in &RULES {
        if at(place).is_none_or(|old| old.name == rule.name) {
            place.store(Box::into_raw(rule), Ordering::Release);
            return Ok(());
        }
    }
    Err(PyRuntimeError::new_err(format!(
        "there are {PLACES} array frameworks already"
    )))
}
