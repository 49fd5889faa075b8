//! The steps of a segment one by one, for two cases: to tell which of them met a condition, and to do
//! the elements that a function without masks leaves.

#![expect(
    unsafe_code,
    reason = "kernels run on memory of the launch and on scratch memory"
)]

use crate::kern::Found;
use crate::place::gather;
use crate::step::note;
use std::sync::atomic::AtomicU8;

/// Where an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    None,
    /// An argument of the segment.
    Arg(usize),
    /// Scratch memory of this number.
    Scratch(usize),
}

/// A step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Move {
    /// A kernel.
    Run {
        found: Found,
        from: [Spot; 3],
        to: Spot,
        ins: usize,
    },
    /// Elements that cannot be used in place, or one value repeated: brought into scratch memory.
    Bring {
        arg: usize,
        size: usize,
        repeated: bool,
        to: Spot,
    },
}

/// The steps of a segment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replay {
    pub(super) moves: Vec<Move>,
    /// Scratch memories.
    pub(super) scratches: usize,
    /// Bytes from one element to the next, for every argument: zero for single values.
    pub(super) sizes: Vec<usize>,
    /// What is written where: scratch memory, argument, element size.
    pub(super) outputs: Vec<(Spot, usize, usize)>,
}

/// Memory of a thread for replays; grows when it is needed.
#[derive(Debug, Default)]
pub(crate) struct Scratch(Vec<[u64; 8]>);

/// Elements done at a time.
const CHUNK: usize = 128;
/// Bytes of one scratch memory: a chunk of the largest elements.
const BYTES: usize = CHUNK * 16;

impl Replay {
    /// Bytes from one element to the next, for every argument.
    pub(crate) fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Does the elements from `start` to `n`. With `flags`, the conditions of each step are noted; with
    /// `write`, results go to the arguments.
    ///
    /// # Safety
    /// The arguments are those of the segment, with `n` elements, as they were before it ran.
    pub(crate) unsafe fn run(
        &self,
        args: &[*mut u8],
        elements: std::ops::Range<usize>,
        scratch: &mut Scratch,
        flags: Option<&[AtomicU8]>,
        write: bool,
    ) {
        let lines = (self.scratches * BYTES).div_ceil(64) + 1;
        if scratch.0.len() < lines {
            scratch.0.resize(lines, [0; 8]);
        }
        let memory: *mut u8 = scratch.0.as_mut_ptr().cast();
        for start in elements.clone().step_by(CHUNK) {
            let n = CHUNK.min(elements.end - start);
            let arg = |arg: usize| args[arg].wrapping_add(start * self.sizes[arg]);
            let place = |spot: Spot| match spot {
                Spot::None => memory,
                Spot::Arg(number) => arg(number),
                Spot::Scratch(number) => memory.wrapping_add(number * BYTES),
            };
            for step in &self.moves {
                // SAFETY: promised by the caller; scratch memory holds a chunk and is nobody else's.
                unsafe { one(step, place, arg, (n, flags)) };
            }
            if write {
                for &(spot, number, size) in &self.outputs {
                    let bytes = n * size;
                    // SAFETY: promised by the caller; outputs come from scratch memory or from
                    // another argument.
                    unsafe { std::ptr::copy(place(spot).cast_const(), arg(number), bytes) };
                }
            }
        }
    }
}

/// Does one step on `n` elements.
///
/// # Safety
/// `place` leads to `n` elements of each operand, and to room for as many results.
unsafe fn one(
    step: &Move,
    place: impl Fn(Spot) -> *mut u8,
    arg: impl Fn(usize) -> *mut u8,
    how: (usize, Option<&[AtomicU8]>),
) {
    let (n, flags) = how;
    match *step {
        Move::Run {
            found,
            from,
            to,
            ins,
        } => {
            let [a, b, c] = from.map(&place);
            // SAFETY: promised by the caller; lowering chose operands that fit the kernel.
            let answer = unsafe { (found.kern)(a, b, c, place(to), n * usize::from(found.scale)) };
            if let Some(flags) = flags {
                note(flags, ins, found.raise, answer);
            }
        }
        Move::Bring {
            arg: number,
            size,
            repeated,
            to,
        } => {
            let step = if repeated { 0 } else { size.cast_signed() };
            // SAFETY: promised by the caller.
            unsafe { gather(size, arg(number), step, place(to), n) };
        }
    }
}
