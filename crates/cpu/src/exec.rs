//! The interpreter: runs a program over tiles of a range of the walk.

#![expect(
    unsafe_code,
    reason = "slots point to buffers, uniform values and memory of the launch"
)]

mod batch;

use crate::Isa;
use crate::cell::Cell;
use crate::fold::FoldState;
use crate::isa;
use crate::jit::{Rows, Scratch};
use crate::kern::{Found, Raise, fill};
use crate::mxcsr;
use crate::nest::{Cursor, Nest, Odometer};
use crate::place::{fence, fetch, pick, stream};
use crate::plane::{Plane, gather_rows, scatter_rows};
use crate::program::{Program, Slot};
use crate::step::{Step, call_host, note};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::AtomicU8;

use batch::Batch;

/// What all workers of a launch share.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'a> {
    pub(crate) program: &'a Program,
    pub(crate) uniforms: &'a [Cell],
    pub(crate) flags: Option<&'a [AtomicU8]>,
    pub(crate) isa: Isa,
}

/// A line of the cache.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
pub(crate) struct Line([u64; 8]);

/// Bytes of a line.
pub(crate) const LINE: usize = size_of::<Line>();

/// One thread's buffers and slots.
pub(crate) struct Worker<'a> {
    shared: Shared<'a>,
    /// Owns what the buffer slots point to.
    _memory: Vec<Line>,
    slots: Vec<*mut u8>,
    /// Slots that follow a lane.
    moving: Vec<(usize, usize)>,
    /// For each segment, the slots of its arguments, one after another.
    args: Vec<Range<usize>>,
    /// Those of them whose lines are asked for ahead of time.
    fetched: Vec<(usize, usize)>,
    /// For steps that are run one by one.
    scratch: RefCell<Scratch>,
}

/// The place of a tile in the walk.
struct Tile<'a> {
    nest: &'a Nest,
    cursor: &'a Cursor,
    flat: usize,
    n: usize,
}

fn pointer(address: isize) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(address.cast_unsigned())
}

/// One of the lanes that move through the same lines, such as windows shifted by one element.
fn distinct(moving: &[(usize, usize)], nest: &Nest) -> Vec<(usize, usize)> {
    let mut kept: Vec<(usize, usize)> = Vec::new();
    for &(slot, lane) in moving {
        let same = |&(_, other): &(usize, usize)| {
            nest.bases[lane].abs_diff(nest.bases[other]) < 64
                && nest.axes.iter().all(|a| a.steps[lane] == a.steps[other])
        };
        if nest.step(lane) > 0 && !kept.iter().any(same) {
            kept.push((slot, lane));
        }
    }
    kept
}

/// True when a step may read or write the slot itself; segments have slots of their own.
fn is_used(step: &Step<usize>, slot: usize) -> bool {
    match step {
        Step::Compiled { .. } => false,
        Step::Fold { from, .. } => *from == slot,
        _ => true,
    }
}

impl<'a> Worker<'a> {
    pub(crate) fn new(shared: Shared<'a>, nest: &Nest) -> Worker<'a> {
        let program = shared.program;
        let bytes = program.buffers * program.buffer_bytes;
        let mut memory = vec![Line([0; 8]); bytes.div_ceil(64)];
        let start: *mut u8 = memory.as_mut_ptr().cast();
        let buffer = |number: usize| start.wrapping_add(number * program.buffer_bytes);
        let mut moving = Vec::new();
        let mut slots = Vec::with_capacity(program.slots.len());
        for (at, slot) in program.slots.iter().enumerate() {
            slots.push(match *slot {
                Slot::None => start,
                Slot::Buffer(number) => buffer(number),
                Slot::Uniform(number) => shared.uniforms[number].0.as_ptr().cast_mut(),
                Slot::Lane(lane) => {
                    moving.push((at, lane));
                    start
                }
            });
        }
        // Compiled code asks for its lines in long even streams, which the processor foresees, and so does the C
        // library where it copies; folds ask for them themselves.
        let alone = program.steps.iter().all(|step| match *step {
            Step::Fold { .. } => true,
            Step::Store {
                lane, size, from, ..
            } => {
                let reads = moving.iter().find(|&&(slot, _)| slot == from);
                let even = |lane| nest.step(lane) == size.cast_signed();
                even(lane) && reads.is_some_and(|&(_, lane)| even(lane))
            }
            _ => false,
        });
        let asks = program.far && program.segments.is_empty() && !alone && isa::ahead() > 0;
        let fetched = if asks {
            distinct(&moving, nest)
        } else {
            Vec::new()
        };
        moving.retain(|&(slot, _)| program.steps.iter().any(|step| is_used(step, slot)));
        let mut args = Vec::with_capacity(program.segments.len());
        for segment in &program.segments {
            let start = slots.len();
            for &slot in &segment.args {
                if let Slot::Lane(lane) = program.slots[slot] {
                    moving.push((slots.len(), lane));
                }
                slots.push(slots[slot]);
            }
            args.push(start..slots.len());
        }
        for &(number, uniform, size) in &program.filled {
            let (value, out) = (shared.uniforms[uniform].0.as_ptr(), buffer(number));
            // SAFETY: the buffer has room for a tile of elements of this size.
            unsafe { fill(size, shared.isa)(value, value, value, out, program.tile) };
        }
        Worker {
            shared,
            _memory: memory,
            slots,
            fetched,
            moving,
            args,
            scratch: RefCell::default(),
        }
    }

    /// Asks ahead of time only for what these lanes lead to.
    pub(crate) fn fetch_only(&mut self, lanes: impl Fn(usize) -> bool) {
        self.fetched.retain(|&(_, lane)| lanes(lane));
    }

    /// Runs the program over `range` of the walk through `nest`; `folds` are the folded outputs.
    ///
    /// # Safety
    /// All lanes of `nest` lead to memory that may be read or, for outputs, written by this thread
    /// alone within `range`.
    pub(crate) unsafe fn run(
        &mut self,
        nest: &Nest,
        range: Range<usize>,
        folds: &mut [Option<FoldState>],
    ) {
        let span = self.shared.program.span;
        let batch = Batch::of(self.shared, nest, folds);
        let mut cursor = Cursor::at(nest, range.start);
        let mut flat = range.start;
        while flat < range.end {
            let left = range.end - flat;
            if let Some(batch) = &batch
                && cursor.column == 0
                && left > nest.row()
            {
                let count = cursor.rows_left(nest).min(left / nest.row());
                let count = count.min(batch.most);
                for &(slot, lane) in &self.moving {
                    self.slots[slot] = pointer(cursor.value(nest, lane));
                }
                // SAFETY: promised by the caller; the slots were just set for these rows.
                unsafe { self.rows(batch, (nest, &cursor), count, folds) };
                flat += count * nest.row();
                cursor.skip_rows(nest, count);
                continue;
            }
            let mut n = self.tile_len(nest, &cursor).min(left);
            if !span {
                n = n.min(nest.row() - cursor.column);
            }
            for &(slot, lane) in &self.moving {
                self.slots[slot] = pointer(if span {
                    nest.bases[lane] + flat.cast_signed() * nest.step(lane)
                } else {
                    cursor.value(nest, lane)
                });
            }
            let tile = Tile {
                nest,
                cursor: &cursor,
                flat,
                n,
            };
            let steps = self.shared.program.steps.len();
            let share = n.div_ceil(steps.max(1));
            for (at, step) in self.shared.program.steps.iter().enumerate() {
                self.fetch_ahead(nest, n, at * share..((at + 1) * share).min(n));
                // SAFETY: promised by the caller; the slots were just set for this tile.
                unsafe { self.step(step, &tile, folds) };
            }
            flat += n;
            if !span {
                cursor.column += n;
                if cursor.column == nest.row() {
                    cursor.next_row(nest);
                }
            }
        }
        fence();
    }

    /// Asks for the lines of some elements of the next tile while this one is computed, so that memory
    /// is never idle.
    fn fetch_ahead(&self, nest: &Nest, n: usize, elems: Range<usize>) {
        for &(slot, lane) in &self.fetched {
            let size = nest.step(lane).unsigned_abs();
            let next = self.slots[slot].wrapping_add(n * size);
            for at in (elems.start * size..elems.end * size).step_by(64) {
                fetch(next.wrapping_add(at));
            }
        }
    }

    /// Elements of the next tile, so that the one after it starts on a line.
    fn tile_len(&self, nest: &Nest, cursor: &Cursor) -> usize {
        let program = self.shared.program;
        let Some((lane, size)) = program.aligned_to.filter(|_| !program.span) else {
            return program.tile;
        };
        let into_line = cursor.value(nest, lane).cast_unsigned() % 64 / size;
        if into_line < program.tile {
            program.tile - into_line
        } else {
            program.tile
        }
    }

    /// # Safety
    /// The slots are set for this tile.
    unsafe fn step(&self, step: &Step<usize>, tile: &Tile<'_>, folds: &mut [Option<FoldState>]) {
        let n = tile.n;
        match *step {
            Step::Run {
                found,
                from: [a, b, c],
                to,
                ins,
                ..
            } => {
                let [a, b, c, to] = [a, b, c, to].map(|slot| self.slots[slot]);
                // SAFETY: lowering chose places that fit the kernel.
                let answer = unsafe { (found.kern)(a, b, c, to, n * usize::from(found.scale)) };
                if let Some(flags) = self.shared.flags {
                    note(flags, ins, found.raise, answer);
                }
            }
            Step::Pair {
                kern,
                from,
                to,
                ref parts,
                ..
            } => {
                let [a, b, c] = from.map(|slot| self.slots[slot]);
                // SAFETY: lowering chose places that fit the kernel.
                unsafe { kern(a, b, c, self.slots[to], n) };
                if let Some(flags) = self.shared.flags
                    && mxcsr::take() != 0
                {
                    // SAFETY: as above.
                    unsafe { self.apart(step, parts, flags, n) };
                }
            }
            Step::Host {
                ref call,
                from: [a, b],
                to,
                ins,
            } => {
                let from = [self.slots[a].cast_const(), self.slots[b].cast_const()];
                // SAFETY: lowering chose places and steps that fit the loop.
                unsafe { call_host(call, from, self.slots[to], n) };
                if let Some(flags) = self.shared.flags {
                    note(flags, ins, Raise::Register, 0);
                }
            }
            // SAFETY: promised by the caller.
            Step::Compiled { segment } => unsafe { self.compiled(segment, n, Rows::ONE) },
            // SAFETY: the lane may be read, the slot has room for the tile.
            Step::Gather { lane, size, to } => unsafe {
                self.gather(tile, lane, size, self.slots[to]);
            },
            // SAFETY: whoever launched the kernel vouches for the elements; the slots hold the tile.
            Step::Reach { lane, size, by, to } => unsafe {
                self.reach(tile, (lane, size), self.slots[by], self.slots[to]);
            },
            // SAFETY: the slot has room for the tile.
            Step::Iota { lane, to } => unsafe { self.iota(tile, lane, self.slots[to]) },
            Step::Store {
                lane,
                size,
                from,
                around,
                ..
            } => {
                let from = self.slots[from];
                // SAFETY: the lane may be written, the slot holds the tile.
                unsafe { self.store(tile, lane, (size, around), from) };
            }
            Step::Fold { output, from, ins } => {
                let Some(fold) = &mut folds[output] else {
                    return;
                };
                // SAFETY: the slot holds the tile, the output elements belong to this thread.
                unsafe { fold.consume(tile.nest, self.slots[from], n) };
                if let Some(flags) = self.shared.flags {
                    note(flags, ins, fold.plan.raise(), 0);
                }
            }
        }
    }

    /// Runs a compiled segment over some rows of `n` elements. If it met conditions that are asked for, its steps are run one by one.
    ///
    /// # Safety
    /// The slots are set for the first row.
    unsafe fn compiled(&self, segment: usize, n: usize, rows: Rows<'_>) {
        let args = &self.slots[self.args[segment].clone()];
        let segment = &self.shared.program.segments[segment];
        let function = match &segment.around {
            Some(around) if segment.streams.fit(args, rows) => around,
            _ => &segment.function,
        };
        let mut moved: SmallVec<[*mut u8; 24]> = SmallVec::new();
        let done = if rows.count == 1 {
            // The slots were written just now. A copy of them by wider registers would wait until all that was
            // stored before, the last tile's results among it, has reached the cache.
            // SAFETY: the arguments are those that the function was compiled for, with `n` elements.
            unsafe { function.call(args, n) }
        } else {
            moved.extend_from_slice(args);
            // SAFETY: as above, for each row.
            unsafe { function.call_rows(&mut moved, n, rows) }
        };
        let flags = self.shared.flags;
        let met = flags.is_some() && mxcsr::take() != 0;
        let start = if met { 0 } else { done };
        if start >= n {
            return;
        }
        let scratch = &mut self.scratch.borrow_mut();
        moved.clear();
        moved.extend_from_slice(args);
        for row in 0..rows.count {
            if row > 0 {
                for (arg, &step) in moved.iter_mut().zip(rows.steps) {
                    *arg = arg.wrapping_offset(step);
                }
            }
            // SAFETY: with conditions asked for, no input is overwritten by the function; else only
            // elements that it has not done are run.
            unsafe {
                let replay = &segment.replay;
                replay.run(&moved, start..n, scratch, flags, done < n);
            };
        }
    }

    /// Does the two kernels of a pair one after another, so that each tells its own conditions.
    ///
    /// # Safety
    /// The slots are set for this tile.
    unsafe fn apart(
        &self,
        step: &Step<usize>,
        parts: &[(Found, usize); 2],
        flags: &[AtomicU8],
        n: usize,
    ) {
        let &Step::Pair {
            from: [mut a, mut b, c],
            middle,
            to,
            back,
            swapped,
            ..
        } = step
        else {
            return;
        };
        if swapped {
            std::mem::swap(&mut a, &mut b);
        }
        let [a, b, c, middle, to] = [a, b, c, middle, to].map(|slot| self.slots[slot]);
        let [(first, first_ins), (then, then_ins)] = parts;
        // SAFETY: the operands of the first kernel, and a buffer of its own.
        let answer = unsafe { (first.kern)(a, b, b, middle, n) };
        note(flags, *first_ins, first.raise, answer);
        let (x, y) = if back { (c, middle) } else { (middle, c) };
        // SAFETY: the operands of the second kernel; it writes the same result again.
        let answer = unsafe { (then.kern)(x, y, y, to, n) };
        note(flags, *then_ins, then.raise, answer);
    }

    /// Calls `f` for each part of the tile that is rows along the second axis: the value of the lane at its
    /// start, where it starts in the tile, and its rows.
    fn parts(&self, tile: &Tile<'_>, lane: usize, mut f: impl FnMut(isize, usize, Plane)) {
        let nest = tile.nest;
        let step = nest.step(lane);
        let one = |row| Plane {
            step,
            pitch: 0,
            row,
            rows: 1,
        };
        if !self.shared.program.span {
            f(tile.cursor.value(nest, lane), 0, one(tile.n));
            return;
        }
        let row = nest.row();
        let mut column = tile.flat % row;
        let mut rows = Odometer::at(nest, lane, 1, tile.flat / row);
        let mut done = 0;
        while done < tile.n {
            let left = tile.n - done;
            let from = rows.value + column.cast_signed() * step;
            if column > 0 || left < row {
                let n = (row - column).min(left);
                f(from, done, one(n));
                done += n;
                rows.next();
            } else {
                let count = (left / row).min(rows.left());
                let plane = Plane {
                    pitch: rows.step(),
                    rows: count,
                    ..one(row)
                };
                f(from, done, plane);
                done += count * row;
                rows.skip(count);
            }
            column = 0;
        }
    }

    /// # Safety
    /// The lane may be read, `out` has room for the tile.
    unsafe fn gather(&self, tile: &Tile<'_>, lane: usize, size: usize, out: *mut u8) {
        self.parts(tile, lane, |from, at, plane| {
            let out = out.wrapping_add(at * size);
            // SAFETY: promised by the caller.
            unsafe { gather_rows(size, pointer(from), plane, out) };
        });
    }

    /// # Safety
    /// The elements `by` bytes from those of the lane may be read; `by` holds the tile and `out` has
    /// room for it.
    unsafe fn reach(&self, tile: &Tile<'_>, from: (usize, usize), by: *const u8, out: *mut u8) {
        let (lane, size) = from;
        // SAFETY: promised by the caller.
        let by = unsafe { crate::kern::tile::<i64>(by, tile.n) };
        self.parts(tile, lane, |mut from, mut at, plane| {
            for _ in 0..plane.rows {
                let (by, out) = (&by[at..at + plane.row], out.wrapping_add(at * size));
                // SAFETY: promised by the caller.
                unsafe { pick(size, (pointer(from), plane.step), by, out) };
                (from, at) = (from + plane.pitch, at + plane.row);
            }
        });
    }

    /// # Safety
    /// `out` has room for the tile.
    unsafe fn iota(&self, tile: &Tile<'_>, lane: usize, out: *mut u8) {
        // SAFETY: promised by the caller.
        let out = unsafe { crate::kern::tile_mut::<i64>(out, tile.n) };
        self.parts(tile, lane, |mut from, at, plane| {
            let all = &mut out[at..at + plane.row * plane.rows];
            for row in all.chunks_exact_mut(plane.row) {
                let mut value = from as i64;
                for o in row {
                    *o = value;
                    value += plane.step as i64;
                }
                from += plane.pitch;
            }
        });
    }

    /// # Safety
    /// The lane may be written, `from` holds the tile.
    unsafe fn store(&self, tile: &Tile<'_>, lane: usize, how: (usize, bool), from: *const u8) {
        let (size, around) = how;
        if around {
            let step = tile.nest.step(lane);
            let out = if self.shared.program.span {
                tile.nest.bases[lane] + tile.flat.cast_signed() * step
            } else {
                tile.cursor.value(tile.nest, lane)
            };
            // SAFETY: promised by the caller; such a lane is contiguous.
            unsafe { stream(from, pointer(out), tile.n * size, self.shared.isa) };
            return;
        }
        self.parts(tile, lane, |out, at, plane| {
            let from = from.wrapping_add(at * size);
            // SAFETY: promised by the caller.
            unsafe { scatter_rows(size, from, pointer(out), plane) };
        });
    }
}
