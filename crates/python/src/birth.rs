//! New arrays in the arena.
#![expect(unsafe_code, reason = "hands memory of the arena to NumPy")]

use crate::np::{self, Arr, Place};
use crate::{error, memory, site, state};
use arrayloom_engine::{Engine, EngineError, IN_CACHE, IN_SHARED_CACHE, NewSlot, Picked};
use arrayloom_ir::SlotId;
use arrayloom_types::{DType, ErrorKind, Layout, Shape, Strides, contiguous_strides};
use numpy::npyffi::flags;
use pyo3::prelude::*;

/// A new array and where it lies.
pub(crate) struct Born<'py> {
    /// The array object.
    pub(crate) array: Bound<'py, PyAny>,
    /// Its slot.
    pub(crate) slot: SlotId,
    /// All of its elements, from the start of the slot.
    pub(crate) layout: Layout,
}

/// Bytes of an array, if that number exists.
pub(crate) fn nbytes(dtype: DType, shape: &[usize]) -> Option<usize> {
    let sized = |n: usize, &extent: &usize| n.checked_mul(extent);
    let bytes = shape.iter().try_fold(dtype.size(), sized)?;
    isize::try_from(bytes).ok().map(|_| bytes)
}

/// True if a new array of this size is lazy when all it depends on has been computed.
pub(crate) fn worth_it(dtype: DType, shape: &[usize]) -> bool {
    state::lazy()
        && !shape.is_empty()
        && !shape.contains(&0)
        && nbytes(dtype, shape).is_some_and(|n| n >= state::min_bytes())
}

/// True for so many bytes that fit the processor's second cache.
pub(crate) fn is_in_cache(bytes: usize) -> bool {
    bytes < IN_CACHE * state::min_bytes()
}

/// True for an array of so few bytes that NumPy is done with a quick operation on it before threads begin.
pub(crate) fn is_done_soon(bytes: usize) -> bool {
    bytes < 2 * IN_CACHE * state::min_bytes()
}

/// True if a new array of this size fits the cache that all processors share: NumPy is done with writing or moving
/// elements there before threads begin and pages are moved.
pub(crate) fn in_shared_cache(dtype: DType, shape: &[usize]) -> bool {
    nbytes(dtype, shape).is_some_and(is_in_shared_cache)
}

/// As [`in_shared_cache`], of so many bytes.
pub(crate) fn is_in_shared_cache(bytes: usize) -> bool {
    bytes < IN_SHARED_CACHE * state::min_bytes()
}

/// An array whose value is to be recorded: an address without memory. `None` if the arena is full.
pub(crate) fn lazy<'py>(
    py: Python<'py>,
    dtype: DType,
    shape: &[usize],
    strides: &[isize],
) -> PyResult<Option<Born<'py>>> {
    let Some(bytes) = nbytes(dtype, shape) else {
        return Ok(None);
    };
    let Some(new) = state::engine().new_lazy(bytes) else {
        return Ok(None);
    };
    memory::note_birth(py, new.slot)?;
    wrap(py, &new, dtype, shape, strides).map(Some)
}

/// A C-contiguous array with memory at its address, of arbitrary bytes. `None` if there is no such memory in the
/// arena: NumPy tries, and raises its own error.
pub(crate) fn ready<'py>(
    py: Python<'py>,
    dtype: DType,
    shape: &[usize],
) -> PyResult<Option<Born<'py>>> {
    let site = site::capture(py)?.unwrap_or_default();
    described(py, dtype, shape, site, &|engine, bytes| {
        engine.new_ready(bytes, false)
    })
}

/// A C-contiguous array for the result of an operation that runs at once, wherever that leaves it: an address without
/// memory. `None` if the arena is full.
pub(crate) fn unmade<'py>(
    py: Python<'py>,
    dtype: DType,
    shape: &[usize],
) -> PyResult<Option<Born<'py>>> {
    let site = site::capture(py)?.unwrap_or_default();
    let born = lazy(py, dtype, shape, &contiguous_strides(shape, dtype.size()))?;
    if let Some(born) = &born {
        state::engine().describe(born.slot, site, dtype, shape);
    }
    Ok(born)
}

/// A C-contiguous array of arbitrary bytes for a result that is filled at once: in the arena if it is large.
pub(crate) fn fresh<'py>(
    py: Python<'py>,
    dtype: DType,
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    if worth_it(dtype, shape)
        && let Some(born) = ready(py, dtype, shape)?
    {
        return Ok(born.array);
    }
    np::empty(py, dtype, shape, &contiguous_strides(shape, dtype.size()))
}

/// A C-contiguous array for the program, of zeros or arbitrary bytes. `None` as for [`ready`].
pub(crate) fn unset<'py>(
    py: Python<'py>,
    dtype: DType,
    shape: &[usize],
    zeroed: bool,
) -> PyResult<Option<Born<'py>>> {
    let site = site::capture(py)?.unwrap_or_default();
    described(py, dtype, shape, site, &|engine, bytes| {
        engine.new_unset(bytes, zeroed, site)
    })
}

fn described<'py>(
    py: Python<'py>,
    dtype: DType,
    shape: &[usize],
    site: u32,
    make: &Make<'_>,
) -> PyResult<Option<Born<'py>>> {
    let Some(bytes) = nbytes(dtype, shape) else {
        return Ok(None);
    };
    let Some(new) = with_memory(py, bytes, make)? else {
        return Ok(None);
    };
    state::engine().describe(new.slot, site, dtype, shape);
    memory::note_birth(py, new.slot)?;
    let strides = contiguous_strides(shape, dtype.size());
    wrap(py, &new, dtype, shape, &strides).map(Some)
}

/// An array with memory of arbitrary bytes, for an operation that runs at once. `None` as for [`ready`].
pub(crate) fn blank<'py>(
    py: Python<'py>,
    dtype: DType,
    shape: &[usize],
    strides: &[isize],
) -> PyResult<Option<Born<'py>>> {
    let Some(bytes) = nbytes(dtype, shape) else {
        return Ok(None);
    };
    let Some(new) = with_memory(py, bytes, &|engine, bytes| engine.new_ready(bytes, false))? else {
        return Ok(None);
    };
    memory::note_birth(py, new.slot)?;
    wrap(py, &new, dtype, shape, strides).map(Some)
}

/// A vector of picked elements, which are taken when somebody wants them. `None` if they had better be taken now.
pub(crate) fn picked(py: Python<'_>, dtype: DType, picked: Picked) -> PyResult<Option<Born<'_>>> {
    let Some(new) = state::engine().pick_later(picked) else {
        return Ok(None);
    };
    memory::note_birth(py, new.slot)?;
    let size = dtype.size().cast_signed();
    wrap(py, &new, dtype, &[picked.count], &[size]).map(Some)
}

/// Makes a slot of so many bytes.
type Make<'a> = dyn Fn(&Engine, usize) -> Result<NewSlot, EngineError> + 'a;

/// A slot of the arena with memory.
fn with_memory(py: Python<'_>, bytes: usize, make: &Make<'_>) -> PyResult<Option<NewSlot>> {
    let engine = state::engine();
    let mut new = engine.patiently(|| make(engine, bytes));
    if let Err(refused) = &new
        && engine.memory_limit() < u64::MAX
        && refused.kind() == ErrorKind::Memory
    {
        memory::relieve(py)?;
        new = make(engine, bytes);
        if let Err(refused) = &new {
            return Err(error::to_python(py, refused));
        }
    }
    let Ok(new) = new else {
        return Ok(None);
    };
    if engine.slot_at(new.addr as usize).is_none() {
        // The arena is full: such memory could not be told from others when it is freed.
        engine.release(new.slot);
        return Ok(None);
    }
    Ok(Some(new))
}

fn wrap<'py>(
    py: Python<'py>,
    new: &NewSlot,
    dtype: DType,
    shape: &[usize],
    strides: &[isize],
) -> PyResult<Born<'py>> {
    let place = Place {
        kind: state::lazy_type(),
        dtype,
        shape,
        strides,
        data: new.addr,
        flags: flags::NPY_ARRAY_WRITEABLE | flags::NPY_ARRAY_ALIGNED,
    };
    let array = match np::new_array(py, &place) {
        Ok(array) => array,
        Err(error) => {
            state::engine().release(new.slot);
            return Err(error);
        }
    };
    // SAFETY: `new_array` returned an array.
    let arr = unsafe { Arr::new(array.as_ptr()) };
    // SAFETY: the handler frees slots of the arena; the array was just made without owner.
    unsafe { arr.own(state::state().handler.as_ptr()) };
    let layout = Layout {
        dtype,
        offset: 0,
        shape: Shape::from_slice(shape),
        strides: Strides::from_slice(strides),
    };
    Ok(Born {
        array,
        slot: new.slot,
        layout,
    })
}

/// A slot that holds a copy of small memory of others; the caller releases it.
pub(crate) fn copy_in(py: Python<'_>, start: *const u8, bytes: usize) -> PyResult<SlotId> {
    // SAFETY: the view of a live array spans these bytes.
    let bytes = unsafe { std::slice::from_raw_parts(start, bytes) };
    let slot = state::engine().copy_of(bytes);
    slot.map_err(|e| error::to_python(py, &e))
}
