//! How the text names types, and reaches elements in memory.

use crate::entry::{Stride, View};
use arrayloom_types::{DType, Kind};
use std::fmt::Write as _;

/// The type of a value in registers.
pub(crate) fn register(dtype: DType) -> String {
    let letter = match dtype.kind() {
        Kind::Bool => 'b',
        Kind::Signed => 'i',
        Kind::Unsigned => 'u',
        Kind::Float => 'f',
        Kind::Complex => 'c',
    };
    format!("{letter}{}", dtype.size() * 8)
}

/// The type that pointers to elements have: the parts of complex numbers, the bits of `float16`.
pub(crate) fn unit(view: &View) -> String {
    if !view.aligned {
        return "u8".to_owned();
    }
    match view.dtype {
        DType::Bool => "u8".to_owned(),
        DType::F16 => "u16".to_owned(),
        other => register(other.real()),
    }
}

/// Bytes of what a pointer to elements counts in.
pub(crate) fn unit_bytes(dtype: DType, aligned: bool) -> usize {
    if aligned { dtype.real().size() } else { 1 }
}

/// The place of an element of operand `name` at the point whose index on each dimension is `index`.
pub(crate) fn address(view: &View, name: &str, index: &[String]) -> String {
    let mut text = format!("p{name}");
    let factor = view.dtype.size() / unit_bytes(view.dtype, view.aligned);
    for (dim, (stride, at)) in view.strides.iter().zip(index).enumerate() {
        let _ = match stride {
            Stride::Zero => Ok(()),
            Stride::Unit if factor == 1 => write!(text, " + {at}"),
            Stride::Unit => write!(text, " + {factor} * {at}"),
            Stride::Any => write!(text, " + {at} * s{name}_{dim}"),
        };
    }
    text
}

/// The element there.
pub(crate) fn load(view: &View, name: &str, index: &[String]) -> String {
    let place = address(view, name, index);
    format!("load_{}{}({place})", bytewise(view), register(view.dtype))
}

/// The statement that writes `value` there.
pub(crate) fn store(view: &View, name: &str, index: &[String], value: &str) -> String {
    let place = address(view, name, index);
    format!(
        "store_{}{}({place}, {value});",
        bytewise(view),
        register(view.dtype)
    )
}

fn bytewise(view: &View) -> &'static str {
    if view.aligned { "" } else { "bytes_" }
}
