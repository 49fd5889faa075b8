//! Arrays over the memory of a `memoryview`, as `numpy.asarray` makes them, at a third of its time.
#![expect(unsafe_code, reason = "reads the buffers of other objects")]

use super::import::set_base;
use crate::np::{self, Place};
use crate::slot::checked;
use arrayloom_types::DType;
use numpy::npyffi::flags;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;
use std::ffi::CStr;

/// A buffer that is released when this goes.
struct Open(ffi::Py_buffer);

impl Open {
    fn of(view: &Bound<'_, PyMemoryView>) -> PyResult<Open> {
        let mut open = Open(ffi::Py_buffer::new());
        // SAFETY: the buffer is filled, or left alone with an exception.
        let status =
            unsafe { ffi::PyObject_GetBuffer(view.as_ptr(), &raw mut open.0, ffi::PyBUF_FULL_RO) };
        checked(view.py(), status)?;
        Ok(open)
    }

    fn axes(&self) -> usize {
        usize::try_from(self.0.ndim).unwrap_or_default()
    }

    /// Extents or steps, of which a buffer of one element may have none.
    fn row<T>(&self, first: *const T) -> &[T] {
        if self.axes() == 0 || first.is_null() {
            return &[];
        }
        // SAFETY: a `memoryview` has one of each for every axis, as long as the buffer is open.
        unsafe { std::slice::from_raw_parts(first, self.axes()) }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: filled in `of`, or empty, which is no harm; whoever has this has the interpreter's lock.
        unsafe { ffi::PyBuffer_Release(&raw mut self.0) };
    }
}

/// The element type that a format of one letter stands for on this machine.
fn dtype_of(format: &[u8], size: isize) -> Option<DType> {
    let format = match format {
        [b'@' | b'=', rest @ ..] => rest,
        [b'<', rest @ ..] if cfg!(target_endian = "little") => rest,
        other => other,
    };
    let letter = match format {
        [letter] => *letter,
        [b'Z', part @ (b'f' | b'd')] => part.to_ascii_uppercase(),
        _ => return None,
    };
    // `=l` is an integer of 32 bits, and none of ours by its letter.
    DType::from_letter(char::from(letter)).filter(|d| d.size().cast_signed() == size)
}

/// An array of a type over the memory that a `memoryview` shows, or `None` for elements that are not ours or
/// do not lie in steps.
pub(super) fn array_over<'py>(
    view: &Bound<'py, PyMemoryView>,
    kind: *mut ffi::PyTypeObject,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = view.py();
    let open = Open::of(view)?;
    let buffer = &open.0;
    if buffer.format.is_null() || !buffer.suboffsets.is_null() {
        return Ok(None);
    }
    // SAFETY: a format ends with a zero, and lives as long as the buffer is open.
    let format = unsafe { CStr::from_ptr(buffer.format) };
    let Some(dtype) = dtype_of(format.to_bytes(), buffer.itemsize) else {
        return Ok(None);
    };
    let (shape, strides) = (
        open.row(buffer.shape.cast::<usize>()),
        open.row(buffer.strides),
    );
    if shape.len() != open.axes() || strides.len() != open.axes() || buffer.buf.is_null() {
        return Ok(None);
    }
    let writeable = if buffer.readonly == 0 {
        flags::NPY_ARRAY_WRITEABLE
    } else {
        0
    };
    let place = Place {
        kind,
        dtype,
        shape,
        strides,
        data: buffer.buf.cast(),
        flags: writeable,
    };
    let array = np::new_array(py, &place)?;
    set_base(&array, view.clone().into_any())?;
    Ok(Some(array))
}

#[cfg(test)]
mod tests {
    use super::dtype_of;
    use arrayloom_types::{ALL_DTYPES, DType};

    #[test]
    fn formats_of_one_letter_are_known_by_their_size() {
        for dtype in ALL_DTYPES {
            let letter = dtype.letter();
            let plain = if dtype.is_complex() {
                format!("Z{}", letter.to_ascii_lowercase())
            } else {
                letter.to_string()
            };
            let size = dtype.size().cast_signed();
            for prefix in ["", "@", "=", "<"] {
                let known = dtype_of(format!("{prefix}{plain}").as_bytes(), size);
                let foreign = prefix == "<" && cfg!(target_endian = "big");
                assert_eq!(known, (!foreign).then_some(dtype));
            }
            assert_eq!(dtype_of(format!(">{plain}").as_bytes(), size), None);
            assert_eq!(dtype_of(plain.as_bytes(), size + 1), None);
        }
        assert_eq!(dtype_of(b"l", 8), Some(DType::I64));
        for (format, size) in [
            ("=l", 4),
            ("g", 16),
            ("Zg", 32),
            ("2f", 8),
            ("T{f:x:}", 4),
            ("O", 8),
            ("", 1),
        ] {
            assert_eq!(dtype_of(format.as_bytes(), size), None, "{format}");
        }
    }
}
