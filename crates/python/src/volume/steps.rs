//! Steps of erosion and dilation that follow a first one, in memory.
#![expect(
    clippy::too_many_arguments,
    clippy::result_large_err,
    clippy::needless_pass_by_value,
    reason = "arguments come from Python, which gives values of its own"
)]

use super::expr::{PyAxis, window_axes};
use super::memory::Bytes;
use super::running::watched;
use super::to_python;
use crate::np::Arr;
use arrayloom_volume::ops::Neighbourhood;
use arrayloom_volume::{Flood, Meter};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Takes at most `steps` steps after the one from `before` to `now`, or all that change something. The arrays are of
/// truth values, C-contiguous; steps look at the `points` of a window, and voxels become `to`. False if nothing was
/// done because that step changed voxels in both directions.
#[pyfunction]
pub(crate) fn flood(
    py: Python<'_>,
    before: &Bound<'_, PyAny>,
    now: &Bound<'_, PyAny>,
    mask: Option<&Bound<'_, PyAny>>,
    axes: Vec<PyAxis>,
    points: Vec<bool>,
    to: bool,
    steps: Option<u64>,
    budget: u64,
) -> PyResult<bool> {
    let shape: Vec<i64> = Arr::of(now)
        .map(|a| a.shape().iter().map(|&n| i64::try_from(n)).collect())
        .transpose()?
        .unwrap_or_default();
    let (old, mut new) = (Bytes::of(before, false)?, Bytes::of(now, true)?);
    let mask = mask.map(|mask| Bytes::of(mask, false)).transpose()?;
    let window = Neighbourhood::new(window_axes(axes)?, &points).map_err(|e| to_python(py, &e))?;
    let len = new.get().len();
    let fits = old.get().len() == len && mask.as_ref().is_none_or(|m| m.get().len() == len);
    if !fits || shape.len() != window.axes.len() {
        return Err(PyValueError::new_err(
            "arrays of one shape, and a window for it, are needed",
        ));
    }
    let flood = Flood {
        shape: &shape,
        window: &window,
        mask: mask.as_ref().map(Bytes::get),
        to: u8::from(to),
        steps: steps.unwrap_or(u64::MAX),
        meter: Meter::new(budget),
    };
    watched(py, |goes_on| flood.run(old.get(), new.get_mut(), goes_on))
}
