//! Lines of the user's program: where operations were recorded, and the warnings that belong there.
#![expect(unsafe_code, reason = "reads the current frame through C functions")]

use crate::state;
use arrayloom_engine::FpEvent;
use arrayloom_ir::FpFlags;
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::ptr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Conditions in NumPy's order, with the words of its warnings.
const CONDITIONS: [(FpFlags, &str, &str); 4] = [
    (FpFlags::DIVIDE, "divide", "divide by zero"),
    (FpFlags::OVERFLOW, "over", "overflow"),
    (FpFlags::UNDERFLOW, "under", "underflow"),
    (FpFlags::INVALID, "invalid", "invalid value"),
];

/// All four conditions warn.
const ALL_WARN: u8 = 15;
/// Places remembered at most. The first sixteen are nowhere, one for each set of conditions that warn;
/// places that are not remembered share them, and warn without a line.
const MAX_SITES: u32 = 1 << 16;
const CACHE: usize = 1024;

/// A place in the program and which conditions warn there.
struct Site {
    code: Option<Py<PyAny>>,
    at: c_int,
    warn: u8,
}

impl Site {
    fn nowhere(warn: u8) -> Site {
        Site {
            code: None,
            at: 0,
            warn,
        }
    }
}

#[derive(Clone, Copy, Default, PartialEq)]
struct Key {
    code: usize,
    at: c_int,
    warn: u8,
    id: u32,
}

struct Sites {
    list: Vec<Site>,
    cache: Box<[Key]>,
    /// All numbers given, for what the cache has lost.
    numbers: BTreeMap<(usize, c_int, u8), u32>,
    /// The last state of `np.errstate` seen and what it means: conditions that warn, or none if
    /// something else than warnings is asked for.
    errstate: Option<(Py<PyAny>, Option<u8>)>,
    /// `__warningregistry__` of each file.
    registries: BTreeMap<String, Py<PyDict>>,
}

static SITES: OnceLock<Mutex<Sites>> = OnceLock::new();
static ERRSTATE: OnceLock<Py<PyAny>> = OnceLock::new();

/// Finds NumPy's variable that holds `np.errstate`.
pub(crate) fn init(py: Python<'_>) -> PyResult<()> {
    let variable = py
        .import("numpy._core.umath")?
        .getattr("_extobj_contextvar")?;
    ERRSTATE.get_or_init(|| variable.unbind());
    Ok(())
}

fn sites() -> MutexGuard<'static, Sites> {
    let sites = SITES.get_or_init(|| {
        Mutex::new(Sites {
            list: (0..=ALL_WARN).map(Site::nowhere).collect(),
            cache: vec![Key::default(); CACHE].into(),
            numbers: BTreeMap::new(),
            errstate: None,
            registries: BTreeMap::new(),
        })
    });
    sites.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of the current place, or none when `np.errstate` wants errors at once.
pub(crate) fn capture(py: Python<'_>) -> PyResult<Option<u32>> {
    let Some(warn) = warning_conditions(py)? else {
        return Ok(None);
    };
    // SAFETY: the interpreter is attached; the frame is borrowed.
    let frame = unsafe { ffi::PyEval_GetFrame() };
    if frame.is_null() {
        return Ok(Some(u32::from(warn)));
    }
    // SAFETY: a live frame.
    let code = unsafe { ffi::PyFrame_GetCode(frame) };
    // SAFETY: a new reference, never null.
    let code = unsafe { Bound::from_owned_ptr(py, code.cast()) };
    // SAFETY: a live frame.
    let at = unsafe { ffi::PyFrame_GetLasti(frame) };
    Ok(Some(number_of(code, at, warn)))
}

fn number_of(code: Bound<'_, PyAny>, at: c_int, warn: u8) -> u32 {
    let address = code.as_ptr() as usize;
    let spread =
        (address >> 4) ^ (at.cast_unsigned() as usize).wrapping_mul(31) ^ usize::from(warn);
    let mut sites = sites();
    let known = sites.cache[spread % CACHE];
    if (known.code, known.at, known.warn) == (address, at, warn) {
        return known.id;
    }
    let id = sites.number_of(code, at, warn);
    sites.cache[spread % CACHE] = Key {
        code: address,
        at,
        warn,
        id,
    };
    id
}

impl Sites {
    /// The number of a place, given now if it is new.
    fn number_of(&mut self, code: Bound<'_, PyAny>, at: c_int, warn: u8) -> u32 {
        let key = (code.as_ptr() as usize, at, warn);
        if let Some(&id) = self.numbers.get(&key) {
            return id;
        }
        // Full: the place is lost, the conditions that warn are not.
        let Some(id) = u32::try_from(self.list.len())
            .ok()
            .filter(|&id| id < MAX_SITES)
        else {
            return u32::from(warn);
        };
        // The site keeps the code object alive, so its address stays its name.
        self.list.push(Site {
            code: Some(code.unbind()),
            at,
            warn,
        });
        self.numbers.insert(key, id);
        id
    }
}

/// Which conditions warn, as bits; none if `np.errstate` asks for more than warnings.
fn warning_conditions(py: Python<'_>) -> PyResult<Option<u8>> {
    let Some(variable) = ERRSTATE.get() else {
        return Ok(Some(ALL_WARN));
    };
    let mut value = ptr::null_mut();
    // SAFETY: a live context variable with a default.
    let failed =
        unsafe { ffi::PyContextVar_Get(variable.as_ptr(), ptr::null_mut(), &raw mut value) };
    if failed != 0 || value.is_null() {
        return Err(PyErr::fetch(py));
    }
    // SAFETY: a new reference.
    let value = unsafe { Bound::from_owned_ptr(py, value) };
    if let Some((last, meaning)) = &sites().errstate
        && last.as_ptr() == value.as_ptr()
    {
        return Ok(*meaning);
    }
    let meaning = read_errstate(py)?;
    sites().errstate = Some((value.unbind(), meaning));
    Ok(meaning)
}

fn read_errstate(py: Python<'_>) -> PyResult<Option<u8>> {
    let modes = py.import("numpy")?.call_method0("geterr")?;
    let mut warn = 0;
    for (flag, name, _) in CONDITIONS {
        let mode = modes.get_item(name)?;
        match mode.cast::<PyString>()?.to_str()? {
            "ignore" => {}
            "warn" => warn |= flag.0,
            _ => return Ok(None),
        }
    }
    Ok(Some(warn))
}

/// Issues the warnings of everything that has been computed since the last call.
pub(crate) fn warn_of_events(py: Python<'_>) -> PyResult<()> {
    let events = state::engine().take_fp_events();
    for event in &events {
        warn_of(py, event)?;
    }
    Ok(())
}

fn warn_of(py: Python<'_>, event: &FpEvent) -> PyResult<()> {
    let (code, at, warn) = {
        let sites = sites();
        let site = sites.list.get(event.site as usize);
        let code = site.and_then(|s| s.code.as_ref()).map(|c| c.clone_ref(py));
        (
            code,
            site.map_or(0, |s| s.at),
            site.map_or(ALL_WARN, |s| s.warn),
        )
    };
    let name = if event.op.starts_with('_') {
        "cast"
    } else {
        event.op
    };
    for (flag, _, words) in CONDITIONS {
        if event.flags.0 & flag.0 & warn != 0 {
            let text = format!("{words} encountered in {name}");
            let class = py.get_type::<PyRuntimeWarning>();
            let (file, line) = match &code {
                Some(code) => place(code.bind(py), at)?,
                None => ("<unknown>".to_owned(), 0),
            };
            explicit(py, &text, class.as_any(), &file, line)?;
        }
    }
    Ok(())
}

/// File and line of a place in a code object.
fn place(code: &Bound<'_, PyAny>, at: c_int) -> PyResult<(String, c_int)> {
    let file = code.getattr("co_filename")?.extract()?;
    // SAFETY: only code objects are kept.
    let line = unsafe { ffi::PyCode_Addr2Line(code.as_ptr().cast(), at) };
    Ok((file, line))
}

/// `warnings.warn_explicit`, with a registry for each file.
pub(crate) fn explicit(
    py: Python<'_>,
    text: &str,
    class: &Bound<'_, PyAny>,
    file: &str,
    line: c_int,
) -> PyResult<()> {
    let registry = {
        let mut sites = sites();
        let fresh = || PyDict::new(py).unbind();
        let registry = sites
            .registries
            .entry(file.to_owned())
            .or_insert_with(fresh);
        registry.clone_ref(py)
    };
    let arguments = PyDict::new(py);
    arguments.set_item("registry", registry)?;
    py.import("warnings")?.call_method(
        "warn_explicit",
        (text, class, file, line),
        Some(&arguments),
    )?;
    Ok(())
}

/// A line of the user's program that called into NumPy.
pub(crate) struct UserLine {
    /// The file.
    pub(crate) file: String,
    /// The line.
    pub(crate) line: c_int,
    /// The function of NumPy that it called, if that is written in Python.
    pub(crate) function: Option<String>,
}

/// The innermost frame outside NumPy, installed packages and arrayloom.
pub(crate) fn user_line(py: Python<'_>) -> PyResult<UserLine> {
    let mut frame = py.import("sys")?.call_method1("_getframe", (0,))?;
    let mut found = UserLine {
        file: "<unknown>".to_owned(),
        line: 0,
        function: None,
    };
    while !frame.is_none() {
        let code = frame.getattr("f_code")?;
        let file: String = code.getattr("co_filename")?.extract()?;
        let line = frame.getattr("f_lineno")?.extract().unwrap_or(0);
        if !is_library(&file) {
            return Ok(UserLine {
                file,
                line,
                ..found
            });
        }
        if file.contains("/numpy/") {
            found.function = Some(code.getattr("co_name")?.extract()?);
        }
        if found.line == 0 {
            (found.file, found.line) = (file, line);
        }
        frame = frame.getattr("f_back")?;
    }
    Ok(found)
}

fn is_library(file: &str) -> bool {
    file.contains("-packages/") || file.contains("/python/arrayloom/") || file.starts_with("<__")
}
