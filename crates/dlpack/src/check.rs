//! Judges every field of a foreign tensor, so that what passes can be used without a further thought.
#![expect(unsafe_code, reason = "reads the arrays behind a foreign tensor")]

use crate::abi::{DLDevice, DLTensor, device};
use crate::{DlpackError, Element};
use smallvec::SmallVec;

/// Most axes of an array, as NumPy has it.
pub const MAX_NDIM: usize = 64;

/// A tensor whose fields have been judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Address of the first element, or a handle; 0 if there are no elements.
    pub data: usize,
    /// Where it lies.
    pub device: DLDevice,
    /// Element type.
    pub element: Element,
    /// Extents.
    pub shape: SmallVec<[usize; 6]>,
    /// Steps in bytes.
    pub strides: SmallVec<[isize; 6]>,
}

impl Tensor {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }
}

/// Judges a tensor.
///
/// # Errors
/// What is wrong with it, see [`DlpackError`].
///
/// # Safety
/// `shape` and `strides`, if not null, point to `ndim` numbers, if that is between 0 and 64.
pub unsafe fn check(tensor: &DLTensor) -> Result<Tensor, DlpackError> {
    let element = Element::from_dl(tensor.dtype)?;
    let kind = tensor.device.device_type;
    if !device::is_known(kind) {
        return Err(DlpackError::Device { kind });
    }
    let ndim = usize::try_from(tensor.ndim).ok().filter(|&n| n <= MAX_NDIM);
    let ndim = ndim.ok_or(DlpackError::Rank { ndim: tensor.ndim })?;
    if ndim > 0 && tensor.shape.is_null() {
        return Err(DlpackError::NoShape { ndim: tensor.ndim });
    }
    // SAFETY: promised by the caller.
    let extents = unsafe { numbers(tensor.shape, ndim) };
    let mut shape = SmallVec::new();
    for (axis, &extent) in extents.iter().enumerate() {
        let size = usize::try_from(extent);
        shape.push(size.map_err(|_out_of_range| DlpackError::Extent { axis, extent })?);
    }
    let strides = if tensor.strides.is_null() {
        compact(&shape, element.size())?
    } else {
        // SAFETY: promised by the caller.
        let steps = unsafe { numbers(tensor.strides, ndim) };
        scaled(steps, &shape, element.size())?
    };
    let elements = count(&shape, element.size())?;
    let span = spread(&shape, &strides)?;
    Ok(Tensor {
        data: address(tensor, elements, span)?,
        device: tensor.device,
        element,
        shape,
        strides,
    })
}

/// The numbers behind a pointer; none for zero axes.
///
/// # Safety
/// The pointer is good for `count` numbers if that is not zero.
unsafe fn numbers<'a>(start: *const i64, count: usize) -> &'a [i64] {
    if count == 0 {
        return &[];
    }
    // SAFETY: promised by the caller.
    unsafe { core::slice::from_raw_parts(start, count) }
}

/// Number of elements, if their bytes can be counted.
fn count(shape: &[usize], size: usize) -> Result<u64, DlpackError> {
    if shape.contains(&0) {
        return Ok(0);
    }
    let whole = shape
        .iter()
        .try_fold(size, |n, &extent| n.checked_mul(extent));
    let whole = whole.filter(|&n| isize::try_from(n).is_ok());
    let whole = whole.ok_or(DlpackError::TooLarge)?;
    Ok((whole / size) as u64)
}

/// Steps of a compact row-major tensor.
fn compact(shape: &[usize], size: usize) -> Result<SmallVec<[isize; 6]>, DlpackError> {
    let mut strides: SmallVec<[isize; 6]> = SmallVec::from_elem(0, shape.len());
    let mut step = isize::try_from(size).map_err(|_out_of_range| DlpackError::TooLarge)?;
    for (axis, &extent) in shape.iter().enumerate().rev() {
        strides[axis] = step;
        let extent =
            isize::try_from(extent.max(1)).map_err(|_out_of_range| DlpackError::TooLarge)?;
        step = step.checked_mul(extent).ok_or(DlpackError::TooLarge)?;
    }
    Ok(strides)
}

/// Steps in bytes. Those that are never taken may be anything and become 0 if they do not fit.
fn scaled(
    steps: &[i64],
    shape: &[usize],
    size: usize,
) -> Result<SmallVec<[isize; 6]>, DlpackError> {
    let size = isize::try_from(size).map_err(|_out_of_range| DlpackError::TooLarge)?;
    let taken = !shape.contains(&0);
    let scale = |(&step, &extent): (&i64, &usize)| {
        let bytes = isize::try_from(step).ok().and_then(|s| s.checked_mul(size));
        match bytes {
            Some(bytes) => Ok(bytes),
            None if extent <= 1 || !taken => Ok(0),
            None => Err(DlpackError::TooLarge),
        }
    };
    steps.iter().zip(shape).map(scale).collect()
}

/// Bytes from the lowest to the first and from the first to the highest element.
fn spread(shape: &[usize], strides: &[isize]) -> Result<(isize, isize), DlpackError> {
    let (mut low, mut high) = (0isize, 0isize);
    if shape.contains(&0) {
        return Ok((0, 0));
    }
    for (&extent, &step) in shape.iter().zip(strides) {
        let last = isize::try_from(extent - 1).map_err(|_out_of_range| DlpackError::TooLarge)?;
        let reach = step.checked_mul(last).ok_or(DlpackError::TooLarge)?;
        let side = if reach < 0 { &mut low } else { &mut high };
        *side = side.checked_add(reach).ok_or(DlpackError::TooLarge)?;
    }
    Ok((low, high))
}

fn address(
    tensor: &DLTensor,
    elements: u64,
    (low, high): (isize, isize),
) -> Result<usize, DlpackError> {
    if elements == 0 {
        return Ok(0);
    }
    if tensor.data.is_null() {
        return Err(DlpackError::NoData { elements });
    }
    let offset =
        usize::try_from(tensor.byte_offset).map_err(|_out_of_range| DlpackError::TooLarge)?;
    if offset != 0 && device::is_handle(tensor.device.device_type) {
        return Err(DlpackError::HandleOffset { offset });
    }
    let first = (tensor.data as usize).checked_add(offset);
    let first = first.ok_or(DlpackError::TooLarge)?;
    let fits = first
        .checked_add_signed(low)
        .and(first.checked_add_signed(high));
    fits.map(|_| first).ok_or(DlpackError::TooLarge)
}

/// A step in elements from one in bytes. Elements have 1, 2, 4, 8 or 16 bytes, so nothing is divided.
///
/// # Errors
/// [`DlpackError::Step`] if an axis that is walked has a step between elements.
#[inline]
pub(crate) fn step_of(
    shape: &[usize],
    extent: usize,
    step: isize,
    element: Element,
) -> Result<i64, DlpackError> {
    let size = element.size();
    debug_assert!(size.is_power_of_two(), "as all elements are");
    if step.cast_unsigned() & (size - 1) == 0 {
        return Ok((step >> size.trailing_zeros()) as i64);
    }
    if extent <= 1 || shape.contains(&0) {
        return Ok(1);
    }
    Err(DlpackError::Step { step, size })
}
