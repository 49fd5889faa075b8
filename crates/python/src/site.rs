//! Lines of the user's program: where operations were recorded, and the warnings that belong there.
#![expect(unsafe_code, reason = "reads the current frame through C functions")]

use crate::places::{self, Key, Place};
use crate::{journal, modules, state, sync};
use arrayloom_engine::FpEvent;
use arrayloom_ir::FpFlags;
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Conditions in NumPy's order, with the words of its warnings.
const CONDITIONS: [(FpFlags, &str, &str); 4] = [
    (FpFlags::DIVIDE, "divide", "divide by zero"),
    (FpFlags::OVERFLOW, "over", "overflow"),
    (FpFlags::UNDERFLOW, "under", "underflow"),
    (FpFlags::INVALID, "invalid", "invalid value"),
];

/// What was seen last of Python's state.
struct Seen {
    /// The last state of `np.errstate` seen and what it means: conditions that warn, or none if
    /// something else than warnings is asked for.
    errstate: Option<(Py<PyAny>, Option<u8>)>,
    /// What stands for `__warningregistry__` in code of no module, by file and name.
    registries: BTreeMap<(String, Option<String>), Py<PyAny>>,
}

static SEEN: Mutex<Seen> = Mutex::new(Seen {
    errstate: None,
    registries: BTreeMap::new(),
});
static ERRSTATE: OnceLock<Py<PyAny>> = OnceLock::new();
/// Set while filters of `warnings` want a warning at the line of its operation.
static AT_ONCE: AtomicBool = AtomicBool::new(false);

/// Variables of modules whose functions do what their callers ask for: what they record is at the callers' places.
static STAND_INS: OnceLock<Vec<Py<PyDict>>> = OnceLock::new();

/// How the names of our modules begin.
const OURS: &str = "arrayloom.";

thread_local! {
    /// The number of the place that called a function of NumPy which ours stands for; zero if none runs.
    static CALLER: Cell<u32> = const { Cell::new(0) };
}

/// Whether floating-point warnings must come at the line of their operation.
pub(crate) fn at_once() -> bool {
    AT_ONCE.load(Ordering::Relaxed)
}

/// Lets floating-point warnings come at the line of their operation, or when it is computed.
#[pyfunction]
pub(crate) fn warn_at_once(wanted: bool) {
    AT_ONCE.store(wanted, Ordering::Relaxed);
}

/// Names the modules, by their variables, whose functions do what their callers ask for. The first call counts.
#[pyfunction]
pub(crate) fn stand_in(modules: Vec<Py<PyDict>>) {
    STAND_INS.get_or_init(|| modules);
}

/// Finds NumPy's variable that holds `np.errstate`.
pub(crate) fn init(py: Python<'_>) -> PyResult<()> {
    let variable = py
        .import("numpy._core.umath")?
        .getattr("_extobj_contextvar")?;
    ERRSTATE.get_or_init(|| variable.unbind());
    Ok(())
}

fn seen() -> MutexGuard<'static, Seen> {
    SEEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of the current place, or none when `np.errstate` or a filter wants errors at once.
pub(crate) fn capture(py: Python<'_>) -> PyResult<Option<u32>> {
    let Some(warn) = warning_conditions(py)? else {
        return Ok(None);
    };
    if warn != 0 && at_once() {
        return Ok(None);
    }
    // SAFETY: the interpreter is attached.
    let frame = unsafe { ffi::PyEval_GetFrame() };
    // SAFETY: a live frame, borrowed, or null.
    let Some(frame) = (unsafe { Bound::from_borrowed_ptr_or_opt(py, frame.cast()) }) else {
        return Ok(Some(places::nowhere(warn)));
    };
    let caller = match CALLER.get() {
        0 => stood_in_for(&frame, warn)?,
        caller => caller,
    };
    number_of_frame(&frame, warn, caller).map(Some)
}

/// The number of the place that a stand-in does something for; zero for other frames.
fn stood_in_for(frame: &Bound<'_, PyAny>, warn: u8) -> PyResult<u32> {
    let Some(modules) = STAND_INS.get() else {
        return Ok(0);
    };
    let py = frame.py();
    let stands_in = |frame: &Bound<'_, PyAny>| {
        // SAFETY: a live frame.
        let variables = unsafe { ffi::PyFrame_GetGlobals(frame.as_ptr().cast()) };
        // SAFETY: a new reference, never null.
        let variables = unsafe { Bound::from_owned_ptr(py, variables) };
        modules.iter().any(|module| module.is(&variables))
    };
    if !stands_in(frame) {
        return Ok(0);
    }
    let mut frame = frame.clone();
    loop {
        // SAFETY: a live frame.
        let back = unsafe { ffi::PyFrame_GetBack(frame.as_ptr().cast()) };
        // SAFETY: a new reference, or null.
        match unsafe { Bound::from_owned_ptr_or_opt(py, back.cast()) } {
            Some(back) if stands_in(&back) => frame = back,
            Some(back) => return number_of_frame(&back, warn, 0),
            None => return Ok(0),
        }
    }
}

/// The number of the place where a frame is, which `caller` has called.
fn number_of_frame(frame: &Bound<'_, PyAny>, warn: u8, caller: u32) -> PyResult<u32> {
    let py = frame.py();
    let live = frame.as_ptr().cast();
    // SAFETY: a live frame.
    let code = unsafe { ffi::PyFrame_GetCode(live) };
    // SAFETY: a new reference, never null.
    let code = unsafe { Bound::from_owned_ptr(py, code.cast()) };
    // SAFETY: a live frame.
    let at = unsafe { ffi::PyFrame_GetLasti(live) };
    let key = Key {
        code: code.as_ptr() as usize,
        at,
        warn,
        caller,
    };
    number_of(py, &code, key, || described(frame, &code, key))
}

fn number_of(
    py: Python<'_>,
    code: &Bound<'_, PyAny>,
    key: Key,
    describe: impl Fn() -> Place,
) -> PyResult<u32> {
    if let Some(number) = places::number_of(code, key, &describe) {
        return Ok(number);
    }
    sync::flush(py)?;
    journal::settle(py)?;
    drop(places::turn());
    let number = places::number_of(code, key, describe);
    Ok(number.unwrap_or(places::nowhere(key.warn)))
}

/// The place of a frame. Code of ours that stands for a function of NumPy is at the place that called the function.
fn described(frame: &Bound<'_, PyAny>, code: &Bound<'_, PyAny>, key: Key) -> Place {
    let py = frame.py();
    let module = module_of(frame).ok();
    let name = module.as_ref().and_then(|name| name.extract(py).ok());
    let ours = name.is_some_and(|name: String| name.starts_with(OURS));
    if ours && key.caller != 0 {
        return places::place(py, key.caller);
    }
    Place {
        code: Some(code.clone().unbind()),
        at: key.at,
        warn: key.warn,
        module,
    }
}

/// Runs a function of ours that stands for one of NumPy. What it records is recorded at `caller`, which has called it.
pub(crate) fn called_from<T>(caller: u32, work: impl FnOnce() -> T) -> T {
    let _before = Before(CALLER.replace(caller));
    work()
}

/// True within [`called_from`].
pub(crate) fn is_called() -> bool {
    CALLER.get() != 0
}

/// What [`CALLER`] is to be in the end.
struct Before(u32);

impl Drop for Before {
    fn drop(&mut self) {
        CALLER.set(self.0);
    }
}

/// The name of a frame's module.
fn module_of(frame: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let variables = frame.getattr("f_globals")?;
    let name = variables.get_item("__name__")?;
    Ok(name.cast_into::<PyString>()?.into_any().unbind())
}

/// Which conditions warn, as bits; none if `np.errstate` asks for more than warnings.
fn warning_conditions(py: Python<'_>) -> PyResult<Option<u8>> {
    let Some(variable) = ERRSTATE.get() else {
        return Ok(Some(places::ALL_WARN));
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
    if let Some((last, meaning)) = &seen().errstate
        && last.as_ptr() == value.as_ptr()
    {
        return Ok(*meaning);
    }
    let meaning = read_errstate(py)?;
    seen().errstate = Some((value.unbind(), meaning));
    Ok(meaning)
}

fn read_errstate(py: Python<'_>) -> PyResult<Option<u8>> {
    let modes = modules::numpy(py)?.call_method0("geterr")?;
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
    let Place {
        code,
        at,
        warn,
        module,
    } = places::place(py, event.site);
    let name = match event.op.strip_prefix('_').map(|own| own.split_once('.')) {
        Some(Some((of, _))) => of,
        Some(None) => "cast",
        None => event.op,
    };
    for (flag, _, words) in CONDITIONS {
        if event.flags.0 & flag.0 & warn != 0 {
            let text = format!("{words} encountered in {name}");
            let class = py.get_type::<PyRuntimeWarning>();
            let (file, line) = place(py, code.as_ref(), at)?;
            let module = module.as_ref().map(|name| name.bind(py));
            explicit(py, &text, class.as_any(), (&file, line, module))?;
        }
    }
    Ok(())
}

/// File and line of the place with a number.
pub(crate) fn line_of(py: Python<'_>, number: u32) -> PyResult<(String, c_int)> {
    let Place { code, at, .. } = places::place(py, number);
    place(py, code.as_ref(), at)
}

/// File and line of a place in a code object.
fn place(py: Python<'_>, code: Option<&Py<PyAny>>, at: c_int) -> PyResult<(String, c_int)> {
    let Some(code) = code.map(|code| code.bind(py)) else {
        return Ok(("<unknown>".to_owned(), 0));
    };
    let file = code.getattr("co_filename")?.extract()?;
    // SAFETY: only code objects are kept.
    let line = unsafe { ffi::PyCode_Addr2Line(code.as_ptr().cast(), at) };
    Ok((file, line))
}

/// File and line of a number, as `file:line`; none outside of all code.
pub(crate) fn text_of(py: Python<'_>, number: u32) -> PyResult<Option<String>> {
    let (file, line) = line_of(py, number)?;
    Ok((line > 0).then(|| format!("{file}:{line}")))
}

/// `warnings.warn_explicit` for a file, a line and the name of a module: with the module's own registry, so that
/// a warning that NumPy has given there is not given again. Code of no module has one for each file.
pub(crate) fn explicit(
    py: Python<'_>,
    text: &str,
    class: &Bound<'_, PyAny>,
    (file, line, module): (&str, c_int, Option<&Bound<'_, PyAny>>),
) -> PyResult<()> {
    let own = module.map_or(Ok(None), |name| registry_of(py, name))?;
    let registry = own.map_or_else(
        || {
            let mut seen = seen();
            let fresh = || PyDict::new(py).into_any().unbind();
            let key = (file.to_owned(), module.map(ToString::to_string));
            let registry = seen.registries.entry(key).or_insert_with(fresh);
            registry.clone_ref(py)
        },
        Bound::unbind,
    );
    let arguments = PyDict::new(py);
    arguments.set_item("registry", registry)?;
    if let Some(name) = module {
        arguments.set_item("module", name)?;
    }
    modules::warnings(py)?.call_method(
        "warn_explicit",
        (text, class, file, line),
        Some(&arguments),
    )?;
    Ok(())
}

/// `__warningregistry__` of a module, made as Python makes it; none for a module that is not there.
fn registry_of<'py>(
    py: Python<'py>,
    name: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let modules = modules::sys(py)?.getattr("modules")?;
    let Ok(module) = modules.get_item(name) else {
        return Ok(None);
    };
    let Ok(variables) = module.getattr("__dict__") else {
        return Ok(None);
    };
    let registry =
        variables.call_method1("setdefault", ("__warningregistry__", PyDict::new(py)))?;
    Ok((!registry.is_none()).then_some(registry))
}

/// A line of the user's program that called into NumPy.
pub(crate) struct UserLine {
    /// The file.
    pub(crate) file: String,
    /// The line.
    pub(crate) line: c_int,
    /// The name of the module.
    pub(crate) module: Option<Py<PyAny>>,
    /// The function of NumPy that it called, if that is written in Python.
    pub(crate) function: Option<String>,
}

/// The innermost frame outside NumPy, installed packages and arrayloom; the innermost of all if there is none.
pub(crate) fn user_line(py: Python<'_>) -> PyResult<UserLine> {
    let mut frame = modules::sys(py)?.call_method1("_getframe", (0,))?;
    let mut found = UserLine {
        file: "<unknown>".to_owned(),
        line: 0,
        module: None,
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
                module: module_of(&frame).ok(),
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
    let frozen = file.starts_with("<frozen ") || file.starts_with("<__");
    frozen || file.contains("-packages/") || file.contains("/python/arrayloom/")
}
