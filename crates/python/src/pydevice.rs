//! A device written in Python: `arrayloom._trampoline.Adapter` behind the `Device` trait.
//!
//! Its memory is its own, by number. A thread that waits for a value may hold the interpreter lock while
//! another one computes it, so that one must not ask for the lock: without it such a device refuses, and
//! whoever asked takes another way.
#![expect(unsafe_code, reason = "asks who holds the interpreter lock")]

use arrayloom_device::{
    Abilities, Arg, Buf, Caps, Device, DeviceError, End, Event, ExtCall, FORM_GATHER, FORM_SCATTER,
    HostMemory, Launch, Queue, Tensor, intern,
};
use arrayloom_ir::{Form, Kernel, Prim};
use arrayloom_plan::{DEFAULT_BUFSIZE, ReduceFacts, SumRules, reduce_order};
use pyo3::exceptions::{PyMemoryError, PyNotImplementedError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use std::cell::Cell;

/// Who may call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callers {
    /// Threads that hold the interpreter lock; others are refused.
    WithLock,
    /// Everybody; whoever waits for them must not hold the lock.
    All,
}

thread_local! {
    /// Calls of a device's methods on this thread that have not come back.
    static WITHIN: Cell<u32> = const { Cell::new(0) };
}

/// True while this thread runs a method of a device in Python: whoever asks the engine for more then, as
/// `warnings.catch_warnings` does, would wait for himself.
pub(crate) fn is_within() -> bool {
    WITHIN.get() > 0
}

/// Counts a call until it is dropped.
struct Within;

impl Within {
    fn enter() -> Within {
        WITHIN.set(WITHIN.get() + 1);
        Within
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        WITHIN.set(WITHIN.get() - 1);
    }
}

/// The device.
pub(crate) struct PyDevice {
    adapter: Py<PyAny>,
    callers: Callers,
    caps: Caps,
    host: HostMemory,
}

impl PyDevice {
    /// The device behind an adapter.
    pub(crate) fn new(adapter: &Bound<'_, PyAny>, callers: Callers) -> PyResult<PyDevice> {
        let (name, fused, numpy_order): (String, bool, bool) =
            adapter.call_method0("caps")?.extract()?;
        Ok(PyDevice {
            adapter: adapter.clone().unbind(),
            callers,
            caps: Caps {
                name: intern(&name),
                detail: "written in Python".to_owned(),
                threads: 1,
                memory: u64::MAX,
                unified: false,
                fused,
                abilities: Abilities {
                    forms: Abilities::ALL.forms & !(FORM_GATHER | FORM_SCATTER),
                    unaligned: false,
                    numpy_order,
                    flags: false,
                    ..Abilities::ALL
                },
            },
            host: HostMemory::default(),
        })
    }

    /// Calls a method of the adapter.
    fn call<T>(
        &self,
        body: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T, DeviceError> {
        // SAFETY: the call reads the state of this thread only.
        let holds = unsafe { pyo3::ffi::PyGILState_Check() } == 1;
        if !holds && self.callers == Callers::WithLock {
            return Err(DeviceError::Failed {
                device: self.caps.name,
                what: "a touch of memory asked for it, where Python cannot run".to_owned(),
            });
        }
        let _within = Within::enter();
        Python::attach(|py| body(py, self.adapter.bind(py)).map_err(|e| self.error(py, &e)))
    }

    fn error(&self, py: Python<'_>, error: &PyErr) -> DeviceError {
        let (device, what) = (self.caps.name, error.to_string());
        if error.is_instance_of::<PyNotImplementedError>(py) {
            DeviceError::Unsupported { device, what }
        } else if error.is_instance_of::<PyMemoryError>(py) {
            let (need, free) = (0, 0);
            DeviceError::OutOfMemory { device, need, free }
        } else {
            DeviceError::Failed { device, what }
        }
    }
}

/// Whether the order of each fold is NumPy's for its operand, and whether it has a start.
fn folds(kernel: &Kernel, launch: &Launch<'_>) -> Vec<Option<(bool, bool)>> {
    let one = |(i, output): (usize, &arrayloom_ir::Output)| {
        let (Form::Reduce { axes, .. }, Some(args)) = (output.form, &launch.reduces[i]) else {
            return None;
        };
        let from = &kernel.code[output.value as usize];
        let natural = match (from.prim, launch.ins.get(from.a as usize), &launch.outs[i]) {
            (
                Prim::Input,
                Some(Arg::View {
                    strides, offset, ..
                }),
                Arg::View { strides: out, .. },
            ) => {
                let aligned = offset.unsigned_abs() % from.dtype.align() == 0;
                let facts = ReduceFacts {
                    shape: launch.shape,
                    in_strides: strides,
                    out_strides: out,
                    reduced: axes,
                    cast: !aligned,
                    bufsize: DEFAULT_BUFSIZE,
                    rules: SumRules::default(),
                };
                reduce_order(&facts) == args.order
            }
            _ => false,
        };
        Some((natural, args.initial.is_some()))
    };
    kernel.outputs.iter().enumerate().map(one).collect()
}

fn argument<'py>(py: Python<'py>, arg: &Arg, bytes: usize) -> PyResult<Bound<'py, PyAny>> {
    match arg {
        Arg::Scalar(scalar) => Ok(PyBytes::new(py, &scalar.bytes[..bytes]).into_any()),
        Arg::View {
            buf,
            offset,
            strides,
        } => Ok((buf.0, *offset, PyTuple::new(py, strides.iter())?)
            .into_pyobject(py)?
            .into_any()),
    }
}

/// Place, dtype and extents of each array of an operation that is no kernel.
fn tensors<'py>(py: Python<'py>, all: &[Tensor]) -> PyResult<Bound<'py, PyList>> {
    let rows = PyList::empty(py);
    for Tensor { buf, layout } in all {
        let steps = PyTuple::new(py, layout.strides.iter())?;
        let extents = PyTuple::new(py, layout.shape.iter())?;
        let place = (buf.0, layout.offset, steps);
        rows.append((place, layout.dtype.name(), extents))?;
    }
    Ok(rows)
}

/// Instructions as tuples of names and numbers.
fn code<'py>(py: Python<'py>, kernel: &Kernel) -> PyResult<Bound<'py, PyList>> {
    let rows = kernel.code.iter().map(|ins| {
        let mut constant = [0u8; 16];
        constant[..8].copy_from_slice(&ins.bits.to_le_bytes());
        (
            ins.prim.name(),
            ins.dtype.name(),
            ins.a,
            ins.b,
            ins.c,
            PyBytes::new(py, &constant[..ins.dtype.size()]),
        )
    });
    PyList::new(py, rows.collect::<Vec<_>>())
}

/// Value, form, fold and axes of each output.
fn outputs(kernel: &Kernel) -> Vec<(u32, u32, u32, u32)> {
    let one = |output: &arrayloom_ir::Output| match output.form {
        Form::Store => (output.value, 0, 0, 0),
        Form::Reduce { op, axes } => (output.value, 1, op as u32, axes),
        Form::Arg { max, axes } => (output.value, 2, u32::from(max), axes),
        Form::Scan { op, axis } => (output.value, 3, op as u32, u32::from(axis)),
        Form::Scatter { mode, at } => (output.value, 4, mode as u32, at),
    };
    kernel.outputs.iter().map(one).collect()
}

impl Device for PyDevice {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn alloc(&self, bytes: u64) -> Result<Buf, DeviceError> {
        let largest = 1 << 48;
        if bytes > largest {
            return Err(DeviceError::OutOfMemory {
                device: self.caps.name,
                need: bytes,
                free: largest,
            });
        }
        self.call(|_, adapter| adapter.call_method1("alloc", (bytes,))?.extract())
            .map(Buf)
    }

    fn free(&self, buf: Buf) {
        // Nothing can be done about a failure.
        drop(self.call(|_, adapter| adapter.call_method1("free", (buf.0,)).map(|_| ())));
    }

    fn copy(&self, _: Queue, dst: End, src: End, bytes: u64) -> Result<(), DeviceError> {
        match (dst, src) {
            (End::Host(_), End::Host(_)) => self.host.copy(dst, src, bytes),
            (End::Dev(buf, at), End::Host(from)) => self.call(|_, adapter| {
                let from = from.expose_provenance();
                let done = adapter.call_method1("copy_in", (buf.0, at, from, bytes));
                done.map(|_| ())
            }),
            (End::Host(to), End::Dev(buf, at)) => self.call(|_, adapter| {
                let to = to.expose_provenance();
                let done = adapter.call_method1("copy_out", (to, buf.0, at, bytes));
                done.map(|_| ())
            }),
            (End::Dev(to, into), End::Dev(from, at)) => self.call(|_, adapter| {
                let ends = ((to.0, into), (from.0, at), bytes);
                adapter.call_method1("copy_within", ends).map(|_| ())
            }),
        }
    }

    fn run(&self, _: Queue, kernel: &Kernel, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let refused = if launch.fits(kernel) {
            self.caps.abilities.lacks(kernel)
        } else {
            Some("the launch does not fit the kernel".to_owned())
        };
        if let Some(what) = refused {
            let device = self.caps.name;
            return Err(DeviceError::Unsupported { device, what });
        }
        self.call(|py, adapter| {
            let (ins, outs) = (PyList::empty(py), PyList::empty(py));
            for (arg, dtype) in launch.ins.iter().zip(&kernel.inputs) {
                ins.append(argument(py, arg, dtype.size())?)?;
            }
            for arg in launch.outs {
                outs.append(argument(py, arg, 0)?)?;
            }
            let inputs: Vec<&str> = kernel.inputs.iter().map(|d| d.name()).collect();
            let args = (
                code(py, kernel)?,
                inputs,
                outputs(kernel),
                PyTuple::new(py, launch.shape)?,
                (outs, ins),
                folds(kernel, launch),
            );
            adapter.call_method1("run", args).map(|_| ())
        })
    }

    fn ext(&self, _: Queue, call: &ExtCall<'_>) -> Result<(), DeviceError> {
        self.call(|py, adapter| {
            let outs = tensors(py, call.outs)?;
            let ins = tensors(py, call.ins)?;
            adapter
                .call_method1("ext", (call.name, outs, ins))
                .map(|_| ())
        })
    }

    fn record(&self, _: Queue) -> Result<Event, DeviceError> {
        Ok(Event(0))
    }

    fn wait(&self, _: Queue, _: Event) -> Result<(), DeviceError> {
        Ok(())
    }

    fn poll(&self, _: Event, _: bool) -> Result<bool, DeviceError> {
        Ok(true)
    }
}
