//! Folds of an array that is computed and not large, such as `a.std()`: NumPy's own loops.
//!
//! There is nothing to fuse them with, and asking the engine costs more than they do. Their bits are the same. A
//! value that waits in a block is moved to its address for it: who folds an array once does so again.

use crate::keywords::Keywords;
use crate::methods::Call;
use crate::np::Arr;
use crate::{birth, sync};
use arrayloom_types::{DType, Kind};
use numpy::npyffi::flags::{NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_F_CONTIGUOUS};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};
use std::ops::RangeInclusive;

/// Which dtypes NumPy folds as quickly as memory comes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Quick {
    /// All real numbers: extremes.
    Real,
    /// The same: places of extremes, which NumPy finds sooner along some rows.
    Place,
    /// Floats, and integers of the largest size: sums, for which NumPy widens small integers first.
    Float,
    /// Floats and truth values: whether all or any are true.
    Truth,
}

impl Quick {
    fn takes(self, dtype: DType) -> bool {
        let float = matches!(dtype, DType::F32 | DType::F64);
        match self {
            Quick::Float => float || matches!(dtype, DType::I64 | DType::U64),
            Quick::Real | Quick::Place => {
                float || matches!(dtype.kind(), Kind::Signed | Kind::Unsigned)
            }
            Quick::Truth => float || dtype == DType::Bool,
        }
    }
}

/// True for a fold that NumPy does at least as quickly.
pub(crate) fn is_quick(call: &Call<'_, '_>, quick: Quick) -> PyResult<bool> {
    let Some(array) = Arr::of(call.this) else {
        return Ok(false);
    };
    // Places along rows are NumPy's in larger arrays, too.
    let bytes = match quick {
        Quick::Place => array.nbytes() / 4,
        _ => array.nbytes(),
    };
    let fits =
        birth::is_in_shared_cache(bytes) && array.dtype().is_some_and(|dtype| quick.takes(dtype));
    if !fits || !sync::is_computed(array) {
        return Ok(false);
    }
    let more = |name: &str, value: &Bound<'_, PyAny>| match name {
        "ddof" | "correction" => true,
        "dtype" => value.is_none(),
        _ => false,
    };
    let words = words(call, more)?;
    Ok(words.is_some_and(|words| suits_numpy(array, quick, words.axis.as_ref())))
}

/// The arguments of a fold with no others than an axis, `keepdims`, `out=None`, and those that `more` lets pass.
pub(crate) fn words<'py>(
    call: &Call<'_, 'py>,
    more: impl Fn(&str, &Bound<'py, PyAny>) -> bool,
) -> PyResult<Option<Keywords<'py>>> {
    let mut axis = call.args.first().cloned();
    let mut keepdims = false;
    for (name, value) in call.kwargs.into_iter().flatten() {
        let name = name.cast::<PyString>()?.to_str()?;
        match name {
            "axis" if axis.is_none() => axis = Some(value),
            "keepdims" => match value.cast::<PyInt>() {
                Ok(keep) => keepdims = keep.is_truthy()?,
                Err(_) => return Ok(None),
            },
            "out" if value.is_none() => {}
            name if more(name, &value) => {}
            _ => return Ok(None),
        }
    }
    let none = || call.this.py().None().into_bound(call.this.py());
    Ok((call.args.len() < 2).then(|| Keywords {
        axis: Some(axis.unwrap_or_else(none)),
        keepdims,
        ..Keywords::default()
    }))
}

/// Values of rows along which NumPy finds the place of an extreme sooner, up to four times what all cores' cache holds: our
/// threads gain along shorter rows, and where memory is read.
const ROWS: RangeInclusive<usize> = 64..=512;

/// So many rows take NumPy longer than asking the engine does: each costs it some 40 nanoseconds beside its values.
const MANY: usize = 512;

/// True if values are folded that lie side by side, all of a whole array or those of an innermost axis with few rows, and
/// that a core's own cache holds. Or, of what all cores share, for all floats at any steps, for the extreme of all, and for places along
/// some rows.
fn suits_numpy(array: Arr, quick: Quick, axis: Option<&Bound<'_, PyAny>>) -> bool {
    let near = birth::is_in_cache(array.nbytes());
    let place = matches!(quick, Quick::Place);
    let Some(axis) = axis.filter(|axis| !axis.is_none()) else {
        return birth::is_in_shared_cache(array.nbytes())
            && if array.has(NPY_ARRAY_C_CONTIGUOUS) || array.has(NPY_ARRAY_F_CONTIGUOUS) {
                near || place || matches!(quick, Quick::Real)
            } else {
                matches!(array.dtype(), Some(DType::F32 | DType::F64))
            };
    };
    let rank = array.ndim().cast_signed();
    let Ok(axis) = axis.extract::<isize>() else {
        return false;
    };
    let axis = usize::try_from(if axis < 0 { axis + rank } else { axis }).unwrap_or(usize::MAX);
    let (step, extent) = (array.strides().get(axis), array.shape().get(axis));
    let small = extent.is_some_and(|&extent| {
        let few = place || array.len() < MANY * extent.max(1);
        near && few || place && ROWS.contains(&extent)
    });
    small && step.copied() == array.dtype().map(|dtype| dtype.size().cast_signed())
}
