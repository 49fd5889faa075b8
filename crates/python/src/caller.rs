//! Whether the program's own instruction calls us: then an operand that only the interpreter's stack holds is gone when
//! the instruction is done.
//!
//! A count of one reference does not tell that stack from a compiled caller that goes on using the array. Since Python
//! 3.14 the interpreter tells. Before, the program's current instruction must be an operator or a call of as many
//! arguments as we got, and between the interpreter's loop and us there may only be the few C functions of the interpreter
//! that look for our slot.
#![expect(unsafe_code, reason = "reads the current frame and the C stack")]

use crate::elision;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3::{ffi, intern};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_int, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::{mem, ptr};

/// Instructions that call slots of their operands and let go of them.
const OPERATORS: [&str; 5] = [
    "BINARY_OP",
    "COMPARE_OP",
    "UNARY_INVERT",
    "UNARY_NEGATIVE",
    "UNARY_POSITIVE",
];
/// The instruction that calls an object and lets go of its arguments.
const CALL: &str = "CALL";
/// The most functions between the interpreter's loop and a slot: `PyNumber_Add`, and what it calls.
const BETWEEN: usize = 3;
/// Frames of the C stack that are looked at, ours among them.
const FRAMES: usize = 24;
/// The interpreter's loop, and the function by which it calls objects.
const LOOP: &CStr = c"_PyEval_EvalFrameDefault";
const VECTORCALL: &CStr = c"PyObject_Vectorcall";

/// Whose code an address of the C stack is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Code {
    Ours,
    Loop,
    Vectorcall,
    Interpreter,
    Other,
}

/// The codes of instructions.
struct Opcodes {
    operators: Vec<u8>,
    call: Option<u8>,
}

static OPCODES: OnceLock<Opcodes> = OnceLock::new();

/// Learns the interpreter's instructions.
pub(crate) fn init(py: Python<'_>) -> PyResult<()> {
    let codes = py.import("opcode")?.getattr("opmap")?;
    let code = |name: &str| codes.get_item(name).and_then(|code| code.extract()).ok();
    let operators = OPERATORS.into_iter().filter_map(code).collect();
    let call = code(CALL);
    OPCODES.get_or_init(|| Opcodes { operators, call });
    Ok(())
}

/// True if the program's own instruction calls us with so many operands: those that [`elision::temporaries`] found go
/// when it is done.
pub(crate) fn lets_go(py: Python<'_>, operands: usize) -> bool {
    if elision::interpreter_tells() {
        return true;
    }
    let (Some((opcode, argument)), Some(known)) = (instruction(py), OPCODES.get()) else {
        return false;
    };
    if known.operators.contains(&opcode) {
        return callers().is_some_and(|between| between.len() <= BETWEEN);
    }
    // A `partial` with all its arguments calls us as the loop would, but holds them.
    let calls = known.call == Some(opcode) && usize::from(argument) == operands;
    calls && callers().is_some_and(|between| matches!(between[..], [] | [Code::Vectorcall]))
}

/// The program's current instruction and its argument.
fn instruction(py: Python<'_>) -> Option<(u8, u8)> {
    // SAFETY: the interpreter is attached.
    let frame = unsafe { ffi::PyEval_GetFrame() };
    if frame.is_null() {
        return None;
    }
    // SAFETY: a live frame.
    let code = unsafe { ffi::PyFrame_GetCode(frame) };
    // SAFETY: a new reference, never null.
    let code = unsafe { Bound::from_owned_ptr(py, code.cast()) };
    // SAFETY: a live frame.
    let at = usize::try_from(unsafe { ffi::PyFrame_GetLasti(frame) }).ok()?;
    let all = code.getattr(intern!(py, "co_code")).ok()?;
    match *all.cast::<PyBytes>().ok()?.as_bytes().get(at..)? {
        [opcode, argument, ..] => Some((opcode, argument)),
        _ => None,
    }
}

/// Functions of the interpreter between its loop and us; none if there is code of others, or too much.
fn callers() -> Option<SmallVec<[Code; BETWEEN]>> {
    let mut frames = [ptr::null_mut(); FRAMES];
    let room = c_int::try_from(frames.len()).ok()?;
    // SAFETY: so many addresses fit.
    let count = unsafe { libc::backtrace(frames.as_mut_ptr(), room) };
    let frames = &frames[..usize::try_from(count).ok()?];
    let mut between = SmallVec::new();
    let outside = frames.iter().map(|&frame| whose(frame));
    for code in outside.skip_while(|&code| code == Code::Ours) {
        match code {
            Code::Loop => return Some(between),
            Code::Vectorcall | Code::Interpreter => between.push(code),
            Code::Ours | Code::Other => return None,
        }
    }
    None
}

/// Whose code a return address is in. Asked once for each.
fn whose(address: *mut c_void) -> Code {
    static KNOWN: Mutex<BTreeMap<usize, Code>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *known
        .entry(address as usize)
        .or_insert_with(|| look_up(address))
}

fn look_up(address: *mut c_void) -> Code {
    // A call may be the last thing that a function does: then the next function begins at the return address.
    let Some(at) = symbol(address.wrapping_byte_sub(1)) else {
        return Code::Other;
    };
    // SAFETY: looks a name up among what is loaded.
    let named = |name: &CStr| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    let start = named(LOOP);
    let module = |address: *const c_void| symbol(address).map(|found| found.dli_fbase);
    let us = (&raw const OPCODES).cast();
    match at {
        _ if start.is_null() => Code::Other,
        _ if at.dli_saddr == start => Code::Loop,
        _ if !at.dli_saddr.is_null() && at.dli_saddr == named(VECTORCALL) => Code::Vectorcall,
        _ if module(start) == Some(at.dli_fbase) => Code::Interpreter,
        _ if module(us) == Some(at.dli_fbase) => Code::Ours,
        _ => Code::Other,
    }
}

/// The module and the named function that an address is in.
fn symbol(address: *const c_void) -> Option<libc::Dl_info> {
    // SAFETY: a structure of addresses, which may be null.
    let mut info = unsafe { mem::zeroed() };
    // SAFETY: looks an address up among what is loaded; there is room for the answer.
    let found = unsafe { libc::dladdr(address, &raw mut info) };
    (found != 0).then_some(info)
}
