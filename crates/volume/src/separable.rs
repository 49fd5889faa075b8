//! The engine of separable filters: one pass along each filtered axis, rows at a time.
//!
//! The first pass combines whole planes of the input into planes, the next combines their rows into
//! rows, the last slides along those. Planes are cut into strips, so that strips and what is read for
//! them stay in the caches; four neighbouring planes or rows are made at a time, so each of their inputs
//! is loaded once for four uses. Elements whose conversion is slow are converted once, in a [`Ring`]. Every
//! pass sees its own edges: an index list says which row stands at each coordinate, and near faces without
//! rows the taps are others ([`EdgeTaps`]).
use crate::around::{Piece, Pieces, pieces_behind, spans, within};
use crate::beside::{self, Beside};
use crate::block::{View, axis_len};
use crate::crossed::{BATCH, Crossed};
use crate::fold::{EdgeTaps, GROUP, Rule};
use crate::levels::{Block, Level, SHORT_ROW, blocks, in_threads, levels};
use crate::lines::{LINE, Lines, most_results};
use crate::load::{self, Load, Plain};
use crate::op::{Op, worth};
use crate::ring::{self, Ring};
use crate::stacked::Stacked;
use crate::{Meter, Scratch, VolumeError};
use arrayloom_plan::Edge;
use arrayloom_types::Region;
use bytemuck::Pod;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;
use std::sync::{Mutex, PoisonError};

/// What a call may use.
#[derive(Clone, Debug)]
pub struct Ctx {
    /// Threads.
    pub threads: usize,
    /// Where memory is counted.
    pub meter: Arc<Meter>,
}

impl Ctx {
    /// The same with as many threads as so many voxels of an operation are worth.
    pub(crate) fn for_voxels(&self, op: &dyn Op, voxels: u64) -> Ctx {
        Ctx {
            threads: worth(self.threads, voxels, op.cost_ns()),
            ..self.clone()
        }
    }
}

/// One filtered axis.
#[derive(Clone, Debug)]
pub(crate) struct Pass {
    pub(crate) axis: usize,
    /// Points of the window before its center.
    pub(crate) before: i64,
    /// Points of the window.
    pub(crate) len: usize,
    pub(crate) edge: Edge,
}

/// The taps of pass `pass` at a point where only the places `there` of the window exist.
pub(crate) type EdgeTapsOf<'a, W> = &'a (dyn Fn(usize, &[usize]) -> EdgeTaps<W> + Sync);

/// Rounds the channels of a row to the output.
pub(crate) type Emit<'a, W> = &'a (dyn Fn(&[&[W]], &mut [u8]) + Sync);

/// A separable filter for one arithmetic.
pub(crate) struct Separable<'a, R: Rule> {
    pub(crate) rule: R,
    pub(crate) passes: &'a [Pass],
    pub(crate) edge_taps: EdgeTapsOf<'a, R::W>,
    pub(crate) emit: Emit<'a, R::W>,
    /// True if numbers are elements of the output as they are.
    pub(crate) plain: bool,
    /// Bytes of one element of the output.
    pub(crate) out_size: usize,
}

/// Buffers of one thread.
pub(crate) struct Work<W> {
    rows: Vec<Option<Scratch<W>>>,
    /// Rows of the first pass, if they are converted before.
    ring: Option<Scratch<W>>,
    pub(crate) line: Scratch<W>,
    /// For planes that lie side by side.
    beside: Option<Beside<W>>,
    /// For the last two passes in the other order.
    crossed: Option<Crossed<W>>,
}

/// A part of the output: the box in front of the first axis, the strip, the outputs along this axis,
/// and where they go.
struct Task<'o> {
    outer: usize,
    block: usize,
    range: Range<usize>,
    out: Out<'o>,
}

/// Where outputs go.
pub(crate) enum Out<'o> {
    /// One behind the other.
    Whole(&'o mut [u8]),
    /// Each to its own place.
    Pieces(Vec<&'o mut [u8]>),
}

impl Out<'_> {
    /// The place of output `i`, of so many bytes.
    pub(crate) fn place(&mut self, i: usize, bytes: usize) -> &mut [u8] {
        match self {
            Out::Whole(all) => &mut all[i * bytes..(i + 1) * bytes],
            Out::Pieces(each) => each[i],
        }
    }

    /// The places of the outputs `range`, of so many bytes.
    pub(crate) fn places(&mut self, range: Range<usize>, bytes: usize) -> Places<'_> {
        match self {
            Out::Whole(all) => {
                let all = &mut all[range.start * bytes..range.end * bytes];
                all.chunks_exact_mut(bytes).collect()
            }
            Out::Pieces(each) => each[range].iter_mut().map(|place| &mut **place).collect(),
        }
    }
}

/// The planes that a pass reads, channel by channel, and the pieces of them that it is about.
pub(crate) struct Planes<'a, S> {
    pub(crate) data: &'a [&'a [S]],
    pub(crate) row: usize,
    pub(crate) pieces: &'a [Piece],
}

impl<S: Pod> Planes<'_, S> {
    /// Row `row` of the first channel as numbers.
    pub(crate) fn convert<W: Pod>(&self, row: usize, load: impl Load<S, W>, to: &mut [W]) {
        for piece in self.pieces {
            let from = &self.data[0][row * self.row + piece.from..][..piece.len];
            load::row(load, from, &mut to[piece.at..piece.at + piece.len]);
        }
    }
}

pub(crate) type Rows<'a, W> = SmallVec<[&'a [W]; 16]>;
pub(crate) type Places<'a> = SmallVec<[&'a mut [u8]; BATCH]>;
pub(crate) type RowsMut<'a, W> = SmallVec<[&'a mut [W]; 8]>;

/// A filter in the arithmetic `W`, of elements of any dtype.
pub(crate) trait Engine<W: Pod> {
    /// Filters `input` into the box `region` of the output.
    fn run<S: Pod + Sync, L: Load<S, W>>(
        &self,
        ctx: &Ctx,
        input: &View<'_>,
        load: L,
        to: (&Region, &mut [u8]),
    ) -> Result<(), VolumeError>;
}

impl<R: Rule> Engine<R::W> for Separable<'_, R> {
    fn run<S: Pod + Sync, L: Load<S, R::W>>(
        &self,
        ctx: &Ctx,
        input: &View<'_>,
        load: L,
        (region, out): (&Region, &mut [u8]),
    ) -> Result<(), VolumeError> {
        let (wanted, pieces) = wanted(self.passes, input, region);
        let levels = levels(self.passes, self.edge_taps, (&wanted, input.shape), region);
        let source: &[S] = bytemuck::cast_slice(input.data);
        if let Some(stacked) = Stacked::of(&levels, &pieces) {
            return self.stacked(ctx, (&levels[0], &stacked), (source, load), out);
        }
        let blocks = blocks(self.passes, &levels);
        let first = self.passes[0].axis;
        let behind = first + 1..region.rank();
        let row: usize = behind.map(|d| axis_len(input.region, d)).product();
        let tasks = Mutex::new(self.tasks(ctx, &levels, &blocks, out).into_iter());
        let run = || -> Result<(), VolumeError> {
            let mut work = self.work(ctx, &blocks, load.is_slow())?;
            loop {
                let task = tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(mut task) = task else {
                    return Ok(());
                };
                let block = &blocks[task.block];
                let size = levels[0].n_in * row;
                let part = &source[task.outer * size..(task.outer + 1) * size];
                let source = Planes {
                    data: &[part],
                    row,
                    pieces: &within(&pieces, &block.columns),
                };
                self.outputs(
                    (&block.levels, task.range),
                    &source,
                    load,
                    &mut task.out,
                    &mut work,
                );
            }
        };
        in_threads(ctx.threads, &run)
    }
}

impl<R: Rule> Separable<'_, R> {
    fn tasks<'o>(
        &self,
        ctx: &Ctx,
        levels: &[Level<R::W>],
        blocks: &[Block<R::W>],
        mut out: &'o mut [u8],
    ) -> Vec<Task<'o>> {
        let level = &levels[0];
        // A thread takes one strip through all outputs, unless there are too few strips for the threads.
        let parts = if ctx.threads > 1 {
            (ctx.threads * 4).div_ceil(blocks.len() * level.outer.max(1))
        } else {
            1
        };
        let piece = level.n_out.div_ceil(parts).next_multiple_of(GROUP).max(1);
        let mut tasks = Vec::new();
        for outer in 0..level.outer {
            for first in (0..level.n_out).step_by(piece) {
                let range = first..(first + piece).min(level.n_out);
                if let [block] = blocks {
                    let bytes = range.len() * block.out_elems * self.out_size;
                    let (head, tail) = std::mem::take(&mut out).split_at_mut(bytes);
                    tasks.push(Task {
                        outer,
                        block: 0,
                        range,
                        out: Out::Whole(head),
                    });
                    out = tail;
                    continue;
                }
                let bytes: Vec<usize> =
                    blocks.iter().map(|b| b.out_elems * self.out_size).collect();
                let (pieces, tail) = pieces(range.len(), &bytes, std::mem::take(&mut out));
                out = tail;
                let each = pieces.into_iter().enumerate();
                tasks.extend(each.map(|(block, pieces)| Task {
                    outer,
                    block,
                    range: range.clone(),
                    out: Out::Pieces(pieces),
                }));
            }
        }
        tasks
    }

    fn work(
        &self,
        ctx: &Ctx,
        blocks: &[Block<R::W>],
        converts: bool,
    ) -> Result<Work<R::W>, VolumeError> {
        let Some(first) = blocks.first() else {
            return Ok(Work {
                rows: Vec::new(),
                ring: None,
                line: Scratch::new(&ctx.meter, 0)?,
                beside: None,
                crossed: None,
            });
        };
        let longest = blocks.iter().map(|b| b.columns.len()).max().unwrap_or(0);
        let padded = |b: &Block<R::W>| b.levels.last().map_or(0, |l| l.row * l.places.len());
        let padded = blocks.iter().map(padded).max().unwrap_or(0);
        let count = first.levels.len();
        let row = |(i, l): (usize, &Level<R::W>)| {
            let row = if i == 0 { longest } else { l.row };
            let margins = if i + 2 == count { padded } else { 0 };
            let (beside, _) = beside::elems(&first.levels, 1, i);
            let row = row.max(margins).max(beside);
            Scratch::new(&ctx.meter, GROUP * self.rule.channels(i + 1) * row).map(Some)
        };
        let rows = first
            .levels
            .iter()
            .enumerate()
            .map(row)
            .collect::<Result<_, _>>()?;
        let last = &first.levels[first.levels.len() - 1];
        let line = if last.row < SHORT_ROW {
            let most = blocks
                .iter()
                .map(|b| b.levels[b.levels.len() - 1].n_out)
                .max()
                .unwrap_or(0);
            let outputs = most.min(LINE / last.row.max(1) + 1);
            let (before, after) = (
                self.rule.channels(last.pass),
                self.rule.channels(last.pass + 1),
            );
            let copied = (before * (outputs + last.len) + after * outputs) * last.row;
            let made = most_results(padded);
            copied.max(after * made + before * (made + last.len))
        } else {
            0
        };
        let crossed = blocks.iter().filter_map(|b| match &b.levels[..] {
            [.., across, along] if self.crosses(across, along) => Some((across, along)),
            _ => None,
        });
        let longest_line = crossed.max_by_key(|(_, along)| along.places.len());
        // Rows that are joined along themselves first are converted then.
        let converts = converts && !(count == 2 && longest_line.is_some());
        let crossed = longest_line.map(|levels| Crossed::new(&ctx.meter, levels));
        let ring = converts.then(|| {
            let rows = first.levels[0].len + GROUP - 1;
            Scratch::new(&ctx.meter, rows * ring::step(longest))
        });
        let channels = (0..=count).map(|pass| self.rule.channels(pass));
        let channels = channels.max().unwrap_or(1);
        let beside = (0..count).map(|i| beside::elems(&first.levels, channels, i).1);
        Ok(Work {
            rows,
            ring: ring.transpose()?,
            line: Scratch::new(&ctx.meter, line.max(beside.max().unwrap_or(0)))?,
            beside: Beside::new(&ctx.meter, &first.levels, (channels, self.out_size))?,
            crossed: crossed.transpose()?,
        })
    }

    /// The outputs `range` along the first axis of `levels`.
    fn outputs<S: Pod, L: Load<S, R::W>>(
        &self,
        (levels, range): (&[Level<R::W>], Range<usize>),
        source: &Planes<'_, S>,
        load: L,
        out: &mut Out<'_>,
        work: &mut Work<R::W>,
    ) {
        let (level, deeper) = (&levels[0], &levels[1..]);
        if let (1..SHORT_ROW, Out::Whole(out)) = (level.row, &mut *out) {
            if deeper.is_empty() {
                self.lines((level, range), source, load, out, work);
                return;
            }
            if range.len() >= beside::FEWEST
                && let Some(mut space) = work.beside.take()
            {
                self.beside((levels, range), source, load, out, (work, &mut space));
                work.beside = Some(space);
                return;
            }
        }
        if let [last] = deeper
            && self.crosses(level, last)
            && let Some(mut space) = work.crossed.take()
        {
            self.crossed((level, last, range), source, load, out, &mut space);
            work.crossed = Some(space);
            return;
        }
        let row = source.pieces.iter().map(|p| p.len).sum();
        let channels = self.rule.channels(level.pass + 1);
        let Some(mut buffer) = work.rows[level.pass].take().filter(|_| row > 0) else {
            return;
        };
        let bytes = self.out_size
            * deeper
                .first()
                .map_or(row, |d| d.outer * d.n_out * d.out_row);
        // Rows of single elements are made where the last pass wants them, between its margins.
        let margins = match deeper {
            [last] if last.row == 1 && last.outer == 1 => last.all_rows(),
            _ => None,
        };
        let (start, stride) = margins.map_or((0, row), |start| (start, deeper[0].places.len()));
        let mut space = work.ring.take_if(|_| level.pass == 0);
        let mut ring = space
            .as_mut()
            .map(|s| Ring::new(s.get_mut(), level.len + GROUP - 1, row));
        // Whether the buffer holds the output before the next ones.
        let (mut i, mut before) = (range.start, false);
        while i < range.end {
            let group = i..i + GROUP;
            let together = group.end <= range.end && level.faces_in(group).next().is_none();
            let count = if together { GROUP } else { 1 };
            let rolled = before && together && ring.is_none() && self.rule.rolls(level.pass);
            let buffer = &mut buffer.get_mut()[..count * channels * stride];
            let mut made: RowsMut<'_, R::W> = buffer
                .chunks_exact_mut(stride)
                .map(|line| &mut line[start..start + row])
                .collect();
            // The rows of a channel follow each other; the rule wants the channels of an output together.
            let place = |k: usize| k % channels * count + k / channels;
            let each = (0..made.len()).map(|k| std::mem::take(&mut made[place(k)]));
            let mut outs: RowsMut<'_, R::W> = each.collect();
            match &mut ring {
                Some(ring) => self.converted((level, i, count), source, load, ring, &mut outs),
                None => self.in_place((level, i, count, rolled), source, load, &mut outs),
            }
            before = together;
            drop((made, outs));
            let done = i - range.start;
            if margins.is_some() {
                let lines = Lines {
                    data: buffer,
                    count,
                    start,
                };
                let results = work.line.get_mut();
                self.along(&deeper[0], lines, results, (out, done));
            } else {
                for m in 0..count {
                    let row = |c: usize| &buffer[(c * count + m) * stride..][..row];
                    let rows: Rows<'_, R::W> = (0..channels).map(row).collect();
                    self.next(deeper, &rows, out.place(done + m, bytes), work);
                }
            }
            i += count;
        }
        work.rows[level.pass] = Some(buffer);
        work.ring = work.ring.take().or(space);
    }

    /// Combines rows that are converted before, for `count` outputs from `i` on.
    fn converted<S: Pod, L: Load<S, R::W>>(
        &self,
        (level, i, count): (&Level<R::W>, usize, usize),
        source: &Planes<'_, S>,
        load: L,
        ring: &mut Ring<'_, R::W>,
        outs: &mut [&mut [R::W]],
    ) {
        let wanted = i..i + level.len + count - 1;
        ring.advance(wanted.clone(), &level.places, |row, to| {
            if let Some(row) = row {
                source.convert(row, load, to);
            }
        });
        let there = wanted.filter(|&at| level.places.row(at).is_some());
        let rows: Rows<'_, R::W> = there.map(|at| ring.at(at)).collect();
        self.fold((level, i), &rows, Plain, outs);
    }

    /// Combines rows where they lie, for `count` outputs from `i` on, or makes them from the output before.
    fn in_place<S: Pod, L: Load<S, R::W>>(
        &self,
        (level, i, count, rolled): (&Level<R::W>, usize, usize, bool),
        source: &Planes<'_, S>,
        load: L,
        outs: &mut [&mut [R::W]],
    ) {
        let wanted = i - usize::from(rolled)..i + level.len + count - 1;
        for piece in source.pieces {
            let mut rows: Rows<'_, S> = Rows::new();
            for plane in source.data {
                let there = level.places.rows(wanted.clone()).flatten();
                let start = |at: usize| at * source.row + piece.from;
                rows.extend(there.map(|at| &plane[start(at)..start(at) + piece.len]));
            }
            let place = piece.at..piece.at + piece.len;
            let each = outs.iter_mut().map(|out| &mut out[place.clone()]);
            let mut outs: RowsMut<'_, R::W> = each.collect();
            if rolled {
                self.rule.roll(&rows, load, &mut outs);
            } else {
                self.fold((level, i), &rows, load, &mut outs);
            }
        }
    }

    /// Combines the rows of the window of output `i`, or of a group from there on.
    fn fold<S: Pod, L: Load<S, R::W>>(
        &self,
        (level, i): (&Level<R::W>, usize),
        rows: &[&[S]],
        load: L,
        outs: &mut [&mut [R::W]],
    ) {
        match level.faces_in(i..i + 1).next() {
            None => self.rule.fold(level.pass, rows, load, outs),
            Some((_, edge)) => self.rule.fold_edge(level.pass, edge, rows, load, outs),
        }
    }

    /// Hands the channels of a row to the next pass, or rounds them to the output.
    pub(crate) fn next(
        &self,
        deeper: &[Level<R::W>],
        rows: &[&[R::W]],
        out: &mut [u8],
        work: &mut Work<R::W>,
    ) {
        let Some(level) = deeper.first() else {
            (self.emit)(rows, out);
            return;
        };
        let bytes = (level.n_out * level.out_row * self.out_size).max(1);
        let size = level.n_in * level.row;
        for (number, out) in out.chunks_exact_mut(bytes).enumerate() {
            let part: Rows<'_, R::W> = rows
                .iter()
                .map(|r| &r[number * size..(number + 1) * size])
                .collect();
            let planes = Planes {
                data: &part,
                row: level.row,
                pieces: &[Piece {
                    at: 0,
                    from: 0,
                    len: level.row,
                }],
            };
            self.outputs(
                (deeper, 0..level.n_out),
                &planes,
                Plain,
                &mut Out::Whole(out),
                work,
            );
        }
    }
}

/// The box of `input` that the passes read for the box `region` of the output, and the pieces of its planes
/// behind the first axis. Along that axis it is all that is at hand: passes pick the rows they read.
pub(crate) fn wanted(passes: &[Pass], input: &View<'_>, region: &Region) -> (Region, Pieces) {
    let mut wanted = input.region.clone();
    for pass in &passes[1..] {
        let (d, n) = (pass.axis, input.shape[pass.axis]);
        let first = region.lo[d] - pass.before;
        let len = i64::try_from(pass.len).unwrap_or(i64::MAX);
        let end = (region.hi[d] - pass.before).saturating_add(len - 1);
        let reads = pass.edge.reads(&(first..end), n);
        if spans(wanted.lo[d]..wanted.hi[d], reads.clone(), n).is_some() {
            (wanted.lo[d], wanted.hi[d]) = (reads.start, reads.end);
        }
    }
    let pieces = pieces_behind(passes[0].axis, input.region, &wanted, input.shape);
    (wanted, pieces.unwrap_or_default())
}

/// For each strip its bytes in each of `count` outputs, and what is behind them.
fn pieces<'o>(
    count: usize,
    bytes: &[usize],
    mut out: &'o mut [u8],
) -> (Vec<Vec<&'o mut [u8]>>, &'o mut [u8]) {
    let mut pieces: Vec<Vec<&mut [u8]>> = bytes.iter().map(|_| Vec::new()).collect();
    for _ in 0..count {
        for (&bytes, pieces) in bytes.iter().zip(&mut pieces) {
            let (head, tail) = out.split_at_mut(bytes);
            pieces.push(head);
            out = tail;
        }
    }
    (pieces, out)
}
