//! The conformance suite, for `python -m arrayloom.conform`.

use crate::backends;
use crate::pydevice::{Callers, PyDevice};
use arrayloom_device::conform::{GROUPS, Options, Outcome, run_group, run_group_with};
use arrayloom_device::{Arg, Device, DeviceError, End, Launch, Queue, Staged};
use arrayloom_ir::{Builder, Form, Kernel, Output, Prim};
use arrayloom_reference::{MUTANTS, Mutant, Reference};
use arrayloom_types::{ALL_DTYPES, DType, Scalar};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::Arc;

/// Level, name, outcome, and what is wrong.
type Row = (u8, String, &'static str, String);

/// A device by name, by the path of its library, or by its adapter.
fn device(target: &Bound<'_, PyAny>) -> PyResult<Arc<dyn Device>> {
    match target.cast::<PyString>() {
        Ok(name) => backends::find(target.py(), name.to_str()?, Callers::All),
        Err(_) => Ok(Arc::new(PyDevice::new(target, Callers::All)?)),
    }
}

fn dtypes(names: &[String]) -> PyResult<Vec<DType>> {
    let known = |name: &String| {
        let mut all = ALL_DTYPES.into_iter();
        all.find(|d| d.name() == name.as_str())
            .ok_or_else(|| PyValueError::new_err(format!("{name} is no dtype of arrayloom")))
    };
    names.iter().map(known).collect()
}

/// Run the suite on a device: a name, the path of a library, or an adapter. The oracle is the
/// interpreter, or what `oracle` is the adapter of, with the interpreter where that has no answer. With
/// `together` the device may compile the kernels of many cases at once. `progress` is called now and then with the
/// name of a group and how many of its cases are done.
#[pyfunction]
#[pyo3(signature = (target, levels, dtype_names, seed, oracle=None, together=true, progress=None))]
#[expect(
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    reason = "Python calls it by keywords, with lists by value"
)]
pub(crate) fn conform(
    target: &Bound<'_, PyAny>,
    levels: Vec<u8>,
    dtype_names: Vec<String>,
    seed: u64,
    oracle: Option<&Bound<'_, PyAny>>,
    together: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Row>> {
    let py = target.py();
    let under_test = device(target)?;
    let host = backends::find(py, "cpu", Callers::All)?;
    let chosen = dtypes(&dtype_names)?;
    let reference: Arc<dyn Device> = Arc::new(Reference::new());
    let oracle = match oracle {
        Some(adapter) => device(adapter)?,
        None => Arc::clone(&reference),
    };
    Ok(py.detach(move || {
        let staged = Staged::confined(Arc::clone(&under_test), host);
        let mut rows: Vec<Row> = Vec::new();
        for group in GROUPS {
            if !levels.contains(&group.level()) {
                continue;
            }
            let tell = |done: usize| {
                if let Some(call) = &progress {
                    let name = format!("{group:?}");
                    // What is printed wrongly changes no result.
                    drop(Python::attach(|py| call.call1(py, (name, done))));
                }
            };
            let options = Options {
                seed,
                dtypes: &chosen,
                staged: Some(&staged),
                second: Some(&*reference),
                foreseen: together,
                progress: Some(&tell),
            };
            for case in run_group_with(group, &*under_test, &*oracle, options) {
                let (outcome, what) = match case.outcome {
                    Outcome::Native => ("native", String::new()),
                    Outcome::Fallback => ("fallback", String::new()),
                    Outcome::Unsupported => ("unsupported", String::new()),
                    Outcome::Fail(what) => ("FAIL", what),
                };
                rows.push((group.level(), case.name, outcome, what));
            }
        }
        rows
    }))
}

/// Run the suite on every device that is wrong in one way: its fault, and the first case that finds it.
#[pyfunction]
pub(crate) fn mutants(py: Python<'_>, seed: u64) -> PyResult<Vec<(String, Option<String>)>> {
    let all = py.detach(move || {
        let killer = |device: &Mutant, level: u8| {
            let groups = GROUPS.iter().filter(|group| group.level() == level);
            let mut cases = groups.flat_map(|&g| run_group(g, device, &Reference::new()));
            let found = cases.find(|case| matches!(case.outcome, Outcome::Fail(_)));
            found.map(|case| case.name)
        };
        let one = |fault: arrayloom_reference::Fault| {
            let device = Mutant::new(fault, seed)?;
            Ok((format!("{fault:?}"), killer(&device, fault.level())))
        };
        let all: Result<Vec<_>, DeviceError> = MUTANTS.into_iter().map(one).collect();
        all
    });
    all.map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Open a device and compute `[1, 2, 3] * 2` there: name, detail, bytes of memory, and what came out. A
/// device without values "counts only".
#[pyfunction]
pub(crate) fn probe(target: &Bound<'_, PyAny>) -> PyResult<(String, String, u64, String)> {
    let device = device(target)?;
    let caps = device.caps().clone();
    let outcome = target.py().detach(|| match twice(&*device) {
        Ok(_) if !caps.abilities.values => "counts only".to_owned(),
        Ok([2.0, 4.0, 6.0]) => "PASS".to_owned(),
        Ok(other) => format!("FAIL: [1, 2, 3] * 2 gave {other:?}"),
        Err(error) => format!("FAIL: {error}"),
    });
    let mut detail = vec![caps.detail];
    detail.extend(target.py().detach(|| device.libraries()));
    let detail = detail.join(", ");
    Ok((caps.name.to_owned(), detail, caps.memory, outcome))
}

fn twice(device: &dyn Device) -> Result<[f64; 3], DeviceError> {
    let mut b = Builder::new();
    let (x, two) = (b.input(0, DType::F64), b.input(1, DType::F64));
    let value = b.bin(Prim::Mul, x, two).0;
    let form = Form::Store;
    let kernel = Kernel {
        code: b.finish(),
        inputs: vec![DType::F64; 2],
        outputs: vec![Output { value, form }],
        rank: 1,
    };
    let (mut values, queue) = ([1.0f64, 2.0, 3.0], Queue(0));
    let bytes = size_of_val(&values) as u64;
    let host = End::Host(values.as_mut_ptr().cast());
    let buf = device.alloc(bytes)?;
    let view = Arg::View {
        buf,
        offset: 0,
        strides: [8].into_iter().collect(),
    };
    let launch = Launch {
        shape: &[3],
        outs: std::slice::from_ref(&view),
        ins: &[view.clone(), Arg::Scalar(Scalar::from_f64(DType::F64, 2.0))],
        reduces: &[None],
        flags: None,
    };
    let done = device
        .copy(queue, End::Dev(buf, 0), host, bytes)
        .and_then(|()| device.run(queue, &kernel, &launch))
        .and_then(|()| device.copy(queue, host, End::Dev(buf, 0), bytes))
        .and_then(|()| device.record(queue))
        .and_then(|event| device.poll(event, true));
    device.free(buf);
    done.map(|_passed| values)
}
