//! Instructions as C: one statement for each value.

use crate::access::{load, register};
use crate::entry::{Entry, Source};
use crate::library::Library;
use arrayloom_ir::{Arity, Ins, Prim};
use arrayloom_types::DType;
use std::fmt::Write as _;

/// The statements that compute all values of an entry at the point with these indices, one a dimension.
///
/// # Errors
/// The words for an instruction that the library does not have.
pub(crate) fn statements(entry: &Entry, index: &[String], indent: &str) -> Result<String, String> {
    let mut text = String::new();
    for (number, ins) in entry.code.iter().enumerate() {
        let value = expression(entry, ins, index)?;
        let _ = writeln!(
            text,
            "{indent}const {} v{number} = {value};",
            register(ins.dtype)
        );
    }
    Ok(text)
}

fn expression(entry: &Entry, ins: &Ins, index: &[String]) -> Result<String, String> {
    let operand = |v: u32| format!("v{v}");
    let dtype_of = |v: u32| entry.code[v as usize].dtype;
    let name = ins.prim.name().to_ascii_lowercase();
    let call = match ins.prim {
        Prim::Input => return Ok(input(entry, ins.a as usize, index)),
        Prim::Const => return Ok(constant(ins)),
        Prim::Iota => {
            let dim = entry.iota.iter().find(|(axis, _)| *axis == ins.a);
            let at = dim.map_or("0", |(_, dim)| &index[usize::from(*dim)]);
            return Ok(format!("(i64)({at})"));
        }
        Prim::Gather => return Ok(gather(entry, ins, index)),
        Prim::Cast => return Ok(cast(dtype_of(ins.a), ins.dtype, &operand(ins.a))),
        Prim::Select => {
            let (a, b, c) = (operand(ins.a), operand(ins.b), operand(ins.c));
            return Ok(format!("{a} ? {b} : {c}"));
        }
        _ => format!("{name}_{}", register(dtype_of(ins.a))),
    };
    if !Library::get().has(&call) {
        return Err(format!("no {} of {}", ins.prim.name(), dtype_of(ins.a)));
    }
    Ok(match ins.prim.arity() {
        Arity::Unary => format!("{call}({})", operand(ins.a)),
        _ => format!("{call}({}, {})", operand(ins.a), operand(ins.b)),
    })
}

fn input(entry: &Entry, number: usize, index: &[String]) -> String {
    match &entry.ins[number] {
        Source::View(view) => load(view, &format!("i{number}"), index),
        Source::Value(dtype) | Source::Table(crate::entry::View { dtype, .. }) => {
            parameter(*dtype, &format!("x{number}"))
        }
    }
}

/// A parameter that is one value.
pub(crate) fn parameter(dtype: DType, name: &str) -> String {
    match dtype {
        DType::F16 => format!("half_to_f32({name})"),
        DType::Bool => format!("(b8)({name} != 0)"),
        d if d.is_complex() => format!("{}_of({name}_re, {name}_im)", register(d)),
        _ => name.to_owned(),
    }
}

/// Tables are reached by bytes.
fn gather(entry: &Entry, ins: &Ins, index: &[String]) -> String {
    let number = ins.b as usize;
    let place = match &entry.ins[number] {
        Source::Table(view) => crate::access::address(view, &format!("i{number}"), index),
        _ => format!("pi{number}"),
    };
    format!("gather_{}({place}, v{})", register(ins.dtype), ins.a)
}

/// A constant by its bits.
fn constant(ins: &Ins) -> String {
    let low = ins.bits & 0xffff_ffff;
    let single = |bits: u64| format!("f32_of((u32)0x{bits:x})");
    let double = format!("f64_of((u64)0x{:x})", ins.bits);
    match ins.dtype {
        DType::Bool => format!("(b8){}", u8::from(ins.bits & 0xff != 0)),
        DType::F16 => format!("half_to_f32((u16)0x{:x})", ins.bits & 0xffff),
        DType::F32 => single(low),
        DType::F64 => double,
        DType::C64 => format!("c64_of({}, {})", single(low), single(ins.bits >> 32)),
        DType::C128 => format!("c128_of({double}, 0.0)"),
        other => format!("({})(u64)0x{:x}", register(other), ins.bits),
    }
}

/// A conversion as a C cast does it on x86-64.
pub(crate) fn cast(from: DType, to: DType, value: &str) -> String {
    let name = register(to);
    if from == to {
        return value.to_owned();
    }
    if from.is_complex() {
        let (re, im) = (format!("{value}.re"), format!("{value}.im"));
        if to == DType::Bool {
            return format!("(b8)({re} != 0 || {im} != 0)");
        }
        if to.is_complex() {
            let part = register(to.real());
            return format!("{name}_of(({part}){re}, ({part}){im})");
        }
        return cast(from.real(), to, &re);
    }
    if to.is_complex() {
        let part = register(to.real());
        return format!("{name}_of(({part}){value}, ({part})0)");
    }
    match (from, to) {
        (_, DType::Bool) => format!("(b8)({value} != 0)"),
        (DType::F64, DType::F16) => format!("f64_to_f16({value})"),
        (_, DType::F16) => format!("rounded_f16((f32){value})"),
        (_, d) if from.is_float() && d.is_integer() => format!("f64_to_{name}((f64){value})"),
        _ => format!("({name}){value}"),
    }
}
