//! What is done with a tile: the steps of a program, and what their operands are.

#![expect(
    unsafe_code,
    reason = "a loop of the host reads and writes through pointers"
)]

use crate::cell::Cell;
use crate::config::HostLoop;
use crate::jit::Segment;
use crate::kern::{Found, Kern, Raise, Splat};
use crate::mxcsr;
use arrayloom_ir::Prim;
use arrayloom_types::DType;
use std::ffi::c_char;
use std::sync::atomic::{AtomicU8, Ordering};

/// Where a kernel finds an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The operand does not exist.
    None,
    /// A value of this tile.
    Value(usize),
    /// Memory, read in place.
    Lane(usize),
    /// A uniform value.
    Uniform(usize),
    /// A tile full of a uniform value: the number among [`Lowered::filled`].
    Filled(usize),
}

/// A loop of the host in a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostCall {
    pub(crate) host: HostLoop,
    /// Operands it has.
    pub(crate) count: usize,
    /// Steps of the operands and of the result in bytes.
    pub(crate) steps: [isize; 3],
}

/// What a kernel computes: a primitive, the dtypes of its first operands and of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verb {
    pub(crate) prim: Prim,
    pub(crate) first: DType,
    pub(crate) second: DType,
    pub(crate) to: DType,
    pub(crate) splat: Splat,
}

/// What is done with a tile, on operands of type `P`: places while lowering, slots in a program.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<P> {
    /// A kernel; `verb` says what it does, for those who know a better way.
    Run {
        found: Found,
        verb: Option<Verb>,
        from: [P; 3],
        to: P,
        ins: usize,
    },
    /// Two kernels in one pass: see `join`.
    Pair {
        kern: Kern,
        from: [P; 3],
        /// Room for the result of the first, if they may have to run apart.
        middle: P,
        to: P,
        /// The kernels and their instructions.
        parts: [(Found, usize); 2],
        /// The result of the first is the second operand of the other.
        back: bool,
        /// The operands of the first were swapped.
        swapped: bool,
    },
    /// A loop of the host.
    Host {
        call: HostCall,
        from: [P; 2],
        to: P,
        ins: usize,
    },
    /// Elements of a lane into a tile.
    Gather { lane: usize, size: usize, to: P },
    /// Elements that lie bytes `by` away from those of a lane into a tile.
    Reach {
        lane: usize,
        size: usize,
        by: P,
        to: P,
    },
    /// Numbers of a lane into a tile of `i64`.
    Iota { lane: usize, to: P },
    /// A tile into memory.
    Store {
        lane: usize,
        size: usize,
        from: P,
        around: bool,
        /// The output may lie on an input, so everything must be read before.
        late: bool,
    },
    /// A compiled segment, by its number.
    Compiled { segment: usize },
    /// A tile into output number `output`, which folds.
    Fold { output: usize, from: P, ins: usize },
}

/// The result of lowering.
#[derive(Debug, Default)]
pub(crate) struct Lowered {
    pub(crate) steps: Vec<Step<Place>>,
    /// Element sizes of the values.
    pub(crate) sizes: Vec<usize>,
    pub(crate) uniforms: Vec<Cell>,
    /// Uniform values that come with the launch: their numbers and those of the inputs.
    pub(crate) inputs: Vec<(usize, usize)>,
    /// True when steps were done while lowering, on the values of this launch.
    pub(crate) evaluated: bool,
    /// Tiles that are full of a uniform value: its number and size.
    pub(crate) filled: Vec<(usize, usize)>,
    /// What [`Step::Compiled`] names.
    pub(crate) segments: Vec<Segment<Place>>,
}

/// Ors the conditions of a step into the byte of its instruction.
pub(crate) fn note(flags: &[AtomicU8], ins: usize, raise: Raise, answer: u8) {
    let met = match raise {
        Raise::Never => return,
        Raise::Register => answer | mxcsr::take(),
        Raise::Answer => {
            mxcsr::take();
            answer
        }
    };
    if met != 0 {
        flags[ins].fetch_or(met, Ordering::Relaxed);
    }
}

/// Calls a loop of the host on one tile.
///
/// # Safety
/// The operands hold `n` elements at the steps of the call; `out` has room for `n`.
pub(crate) unsafe fn call_host(call: &HostCall, from: [*const u8; 2], out: *mut u8, n: usize) {
    let mut args: [*mut c_char; 3] = [std::ptr::null_mut(); 3];
    for (arg, pointer) in args.iter_mut().zip(from).take(call.count) {
        *arg = pointer.cast_mut().cast();
    }
    args[call.count] = out.cast();
    let dims = [n.cast_signed()];
    let (args, dims, steps) = (args.as_mut_ptr(), dims.as_ptr(), call.steps.as_ptr());
    // SAFETY: the loop reads and writes what the caller of this function and of
    // `HostLoops::insert` promised; the arrays outlive the call.
    unsafe { (call.host.function)(args, dims, steps, call.host.data) };
    mxcsr::join_x87();
}
