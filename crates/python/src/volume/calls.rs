//! Sources, sinks and operations that are Python functions.
//!
//! Functions get boxes as `(lo, hi)` tuples and voxels as memory views, which they must not keep.

use super::memory::{self, Bytes};
use arrayloom_ir::Kernel;
use arrayloom_plan::AxisNeed;
use arrayloom_types::{Coords, DType, Region};
use arrayloom_volume::{
    Ctx, OnDevice, Op, Recipe, Sink, Source, View, ViewMut, VolumeError, copy_box, elementwise,
};
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::sync::{Arc, Mutex, PoisonError};

/// What a function raised that is no failure of its work, such as Ctrl-C; it comes out of the run as itself.
#[derive(Clone, Default)]
pub(super) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// Keeps `error`.
    pub(super) fn keep(&self, error: PyErr) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// What was kept.
    pub(super) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Calls `work` with the interpreter; the text of what it raised, which is kept if it is no `Exception`.
    pub(super) fn call(&self, work: impl FnOnce(Python<'_>) -> PyResult<()>) -> Result<(), String> {
        Python::attach(|py| {
            work(py).map_err(|error| {
                let text = error.to_string();
                if !error.is_instance_of::<PyException>(py) {
                    self.keep(error);
                }
                text
            })
        })
    }
}

/// The corners of a box.
fn corners<'py>(py: Python<'py>, region: &Region) -> PyResult<Bound<'py, PyTuple>> {
    let lo = PyTuple::new(py, region.lo.iter())?;
    let hi = PyTuple::new(py, region.hi.iter())?;
    PyTuple::new(py, [lo, hi])
}

/// An array in memory.
pub(super) struct ArraySource {
    bytes: Bytes,
    shape: Vec<i64>,
    size: usize,
    mapped: bool,
}

impl ArraySource {
    /// An array of extents `shape` over `bytes`; `mapped` if it is a file.
    pub(super) fn new(
        bytes: Bytes,
        shape: Vec<i64>,
        dtype: DType,
        mapped: bool,
    ) -> PyResult<ArraySource> {
        let size = dtype.size();
        let voxels = shape.iter().try_fold(1i64, |all, n| all.checked_mul(*n));
        let wanted = voxels.and_then(|n| usize::try_from(n).ok()?.checked_mul(size));
        if wanted != Some(bytes.get().len()) {
            return Err(PyValueError::new_err(format!(
                "an array of {} bytes for a volume of extents {shape:?} and dtype {dtype:?}",
                bytes.get().len()
            )));
        }
        Ok(ArraySource {
            bytes,
            shape,
            size,
            mapped,
        })
    }
}

impl Source for ArraySource {
    fn read(&self, region: &Region, to: &mut [u8]) -> Result<(), String> {
        let whole = Region::whole(&self.shape);
        copy_box((&whole, self.bytes.get()), (region, to), region, self.size);
        Ok(())
    }

    fn in_memory(&self) -> Option<&[u8]> {
        Some(self.bytes.get())
    }

    fn is_mapped(&self) -> bool {
        self.mapped
    }
}

/// The place of an array that was let go.
pub(super) struct NoArray;

impl Source for NoArray {
    fn read(&self, _: &Region, _: &mut [u8]) -> Result<(), String> {
        Err("its array was let go".to_owned())
    }
}

/// `function((lo, hi), view)` fills the view.
pub(super) struct CallSource {
    pub(super) function: Py<PyAny>,
    pub(super) granule: Option<Coords>,
    pub(super) raised: Raised,
}

impl Source for CallSource {
    fn read(&self, region: &Region, to: &mut [u8]) -> Result<(), String> {
        self.raised.call(|py| {
            let view = memory::writeable(py, to)?;
            let corners = corners(py, region)?;
            self.function.call1(py, (corners, view)).map(drop)
        })
    }

    fn granule(&self) -> Option<Coords> {
        self.granule.clone()
    }
}

/// `function((lo, hi), view)` takes the voxels.
pub(super) struct CallSink {
    pub(super) function: Py<PyAny>,
    pub(super) raised: Raised,
}

impl Sink for CallSink {
    fn write(&self, region: &Region, from: &[u8]) -> Result<(), String> {
        self.raised.call(|py| {
            let view = memory::readable(py, from)?;
            let corners = corners(py, region)?;
            self.function.call1(py, (corners, view)).map(drop)
        })
    }
}

/// `function(boxes, views, (lo, hi), out)`: any operation that works on boxes.
pub(super) struct CallOp {
    pub(super) function: Py<PyAny>,
    pub(super) name: String,
    pub(super) dtype: DType,
    pub(super) needs: Vec<Vec<AxisNeed>>,
    /// Bytes of working memory for each voxel of the result.
    pub(super) work: u64,
    /// What devices run instead, if they can.
    pub(super) kernel: Option<Arc<Kernel>>,
    pub(super) raised: Raised,
}

impl OnDevice for CallOp {
    fn device_scratch(&self, _: &[i64], _: &[i64]) -> u64 {
        0
    }

    fn recipe(&self, inputs: &[View<'_>], region: &Region) -> Option<Recipe> {
        elementwise(
            self.kernel.as_ref()?,
            &self.needs,
            inputs,
            (region, self.dtype),
        )
    }
}

impl Op for CallOp {
    fn name(&self) -> &str {
        &self.name
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn needs(&self, operand: usize) -> Vec<AxisNeed> {
        self.needs[operand].clone()
    }

    fn scratch(&self, extents: &[i64], _: &[i64], _: usize) -> u64 {
        extents
            .iter()
            .map(|e| e.max(&0).unsigned_abs())
            .product::<u64>()
            * self.work
    }

    fn cost_ns(&self) -> f64 {
        1.0
    }

    fn takes_exactly(&self) -> bool {
        true
    }

    fn on_device(&self) -> Option<&dyn OnDevice> {
        self.kernel.is_some().then_some(self)
    }

    fn run(&self, _: &Ctx, inputs: &[View<'_>], out: ViewMut<'_>) -> Result<(), VolumeError> {
        let ViewMut { region, data, .. } = out;
        let called = self.raised.call(|py| {
            let (boxes, views) = (PyList::empty(py), PyList::empty(py));
            for input in inputs {
                boxes.append(corners(py, input.region)?)?;
                views.append(memory::readable(py, input.data)?)?;
            }
            let to = memory::writeable(py, data)?;
            self.function
                .call1(py, (boxes, views, corners(py, region)?, to))
                .map(drop)
        });
        called.map_err(|message| VolumeError::Compute {
            region: region.clone(),
            message,
        })
    }
}
