//! Runs of memory: whether any or all truth values are true, sums of small integers in 64 bits, folds whose order does
//! not matter, and positions of extremes.

#![expect(unsafe_code, reason = "truth values are memory of the launch")]

use super::{Direct, Way, pointer};
use crate::kern::{Kern, tile};
use crate::nest::{Nest, Odometer};
use crate::pool::Pool;
use arrayloom_ir::ReduceOp;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Values that a thread takes at a time.
const CHUNK: usize = 64 << 10;

impl Direct {
    /// Folds run by run, one result after the other.
    ///
    /// # Safety
    /// As for [`Direct::run`], for the part of the domain.
    pub(super) unsafe fn runs(&self, nest: &Nest, crew: (usize, Option<&Pool>)) {
        let run = nest.row();
        let mut from = Odometer::at(nest, self.from, 1, 0);
        let mut out = Odometer::at(nest, self.fold.lane, 1, 0);
        let mut place = self.place_of(nest);
        for _ in 0..nest.len() / run {
            let values = pointer(from.value).cast_const();
            match self.way {
                // SAFETY: promised by the caller: the values of a run, and its result.
                Way::Row(kern) => unsafe {
                    kern(values, values, values, pointer(out.value), run);
                },
                Way::Place(arg) => {
                    if let Some((first, step, number)) = &mut place {
                        // SAFETY: as above; the result is one of this thread.
                        unsafe { arg.fold(values, run, (first.value, *step), number.value, false) };
                        first.next();
                        number.next();
                    }
                }
                // SAFETY: as above.
                Way::Total(kern) => unsafe {
                    total((kern, self.size), (values, run), pointer(out.value), crew);
                },
                Way::Truth => {
                    let settled = u8::from(self.fold.op == ReduceOp::Or);
                    // SAFETY: as above.
                    unsafe { settle(settled, (values, run), pointer(out.value), crew) };
                }
                _ => debug_assert!(false, "other folds go over rows"),
            }
            from.next();
            out.next();
        }
    }

    /// Where the positions of runs begin, the step along them, and the numbers of their results.
    fn place_of(&self, nest: &Nest) -> Option<(Odometer, isize, Odometer)> {
        let Way::Place(arg) = self.way else {
            return None;
        };
        let lane = |lane| Odometer::at(nest, lane, 1, 0);
        let (positions, numbers) = arg.lanes;
        Some((
            lane(positions),
            nest.axes[0].steps[positions],
            lane(numbers),
        ))
    }
}

/// Adds the values, of `size` bytes each, to a sum in 64 bits.
///
/// # Safety
/// The values may be read, the result read and written.
unsafe fn total(
    (kern, size): (Kern, usize),
    (values, n): (*const u8, usize),
    out: *mut u8,
    (threads, pool): (usize, Option<&Pool>),
) {
    let chunks = n.div_ceil(CHUNK);
    let (next, all) = (AtomicUsize::new(0), AtomicU64::new(0));
    let values = values.expose_provenance();
    let work = |_: usize| {
        let mut own = [0u64];
        loop {
            let start = next.fetch_add(1, Ordering::Relaxed) * CHUNK;
            if start >= n {
                break;
            }
            let from = std::ptr::with_exposed_provenance(values + start * size);
            let to = own.as_mut_ptr().cast();
            // SAFETY: values that may be read, and a sum of this thread.
            unsafe { kern(from, from, from, to, CHUNK.min(n - start)) };
        }
        all.fetch_add(own[0], Ordering::Relaxed);
    };
    match pool.filter(|_| threads > 1 && chunks > 2 * threads) {
        Some(pool) => pool.run(threads, &work),
        None => work(0),
    }
    let out: *mut u64 = out.cast();
    // SAFETY: promised by the caller.
    let before = unsafe { out.read_unaligned() };
    // SAFETY: as above.
    unsafe { out.write_unaligned(before.wrapping_add(all.into_inner())) };
}

/// Folds truth values into a result, no more than needed: `settled` is the result that no other value
/// changes.
///
/// # Safety
/// As for [`total`].
unsafe fn settle(
    settled: u8,
    (values, n): (*const u8, usize),
    out: *mut u8,
    (threads, pool): (usize, Option<&Pool>),
) {
    // SAFETY: promised by the caller.
    let before = unsafe { out.read() };
    let head = n.min(CHUNK);
    // SAFETY: the first values.
    let mut now = unsafe { some(settled, before, (values, head)) };
    let (rest, left) = (values.wrapping_add(head), n - head);
    let chunks = left.div_ceil(CHUNK);
    if let Some(pool) = pool.filter(|_| threads > 1 && chunks > 2 * threads && now != settled) {
        let (next, done) = (AtomicUsize::new(0), AtomicBool::new(false));
        let rest = rest.expose_provenance();
        pool.run(threads, &|_| {
            while !done.load(Ordering::Relaxed) {
                let start = next.fetch_add(1, Ordering::Relaxed) * CHUNK;
                if start >= left {
                    break;
                }
                let part = std::ptr::with_exposed_provenance(rest + start);
                // SAFETY: some of the other values.
                let found = unsafe { some(settled, before, (part, CHUNK.min(left - start))) };
                if found == settled {
                    done.store(true, Ordering::Relaxed);
                }
            }
        });
        now = if done.into_inner() { settled } else { now };
    } else {
        // SAFETY: the other values.
        now = unsafe { some(settled, now, (rest, left)) };
    }
    // SAFETY: promised by the caller.
    unsafe { out.write(now) };
}

/// Folds `n` truth values into `before`, up to the first that settles the result. Any byte but zero is true.
///
/// # Safety
/// The values may be read.
unsafe fn some(settled: u8, before: u8, (values, n): (*const u8, usize)) -> u8 {
    // SAFETY: promised by the caller.
    let values = unsafe { tile::<u8>(values, n) };
    let settles = |part: &[u8]| {
        part.iter()
            .fold(false, |any, &x| any | (u8::from(x != 0) == settled))
    };
    if before == settled || values.chunks(256).any(settles) {
        settled
    } else {
        before
    }
}
