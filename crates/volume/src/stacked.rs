//! The only pass of a filter along short rows, with many boxes in front of its axis: their padded lines are stacked and
//! filtered as one. Windows across two lines are computed with the others, for nobody.

use crate::VolumeError;
use crate::around::Pieces;
use crate::fold::Rule;
use crate::levels::{Level, SHORT_ROW, in_threads};
use crate::load::{self, Load, Plain};
use crate::memory::Scratch;
use crate::places::Run;
use crate::separable::{Ctx, Rows, RowsMut, Separable};
use bytemuck::Pod;
use std::sync::{Mutex, PoisonError};

/// Elements of a stack, at most: a few of them fit a level-1 cache.
const STACK: usize = 2048;
/// Elements from which on a run is worth a call that copies it.
const LONG_RUN: usize = 16;

/// Elements of working memory for a stack of some of the lines of a box, which have so many elements in all.
pub(crate) fn elems(channels: usize, all: u64) -> u64 {
    (3 + 3 * channels as u64) * all.min(STACK as u64)
}

/// How lines are stacked.
pub(crate) struct Stacked {
    /// Elements of a line of the input.
    size: usize,
    /// Elements of a padded line.
    padded: usize,
    /// Lines of a stack, at most.
    most: usize,
    /// The runs of elements that are copied into a padded line, from and to where.
    long: Vec<Run>,
    /// Single elements that are.
    single: Vec<(usize, usize)>,
}

impl Stacked {
    /// `None` if there is another pass, or if lines are few or long.
    pub(crate) fn of<W>(levels: &[Level<W>], pieces: &Pieces) -> Option<Stacked> {
        let [level] = levels else {
            return None;
        };
        let padded = level.places.len() * level.row;
        let whole = matches!(pieces[..], [ref p] if p.from == 0 && p.len == level.row);
        let short = (1..SHORT_ROW).contains(&level.row) && whole;
        let most = (STACK / padded.max(1)).min(level.outer);
        let elements = |run: &Run| Run {
            at: run.at.start * level.row..run.at.end * level.row,
            row: run.row * level.row,
        };
        let runs = level.runs.iter().map(elements);
        let (long, short_runs): (Vec<Run>, Vec<Run>) = runs.partition(|r| r.at.len() >= LONG_RUN);
        let single = short_runs.into_iter().flat_map(|r| (r.row..).zip(r.at));
        (short && most > 1).then(|| Stacked {
            size: level.n_in * level.row,
            padded,
            most,
            long,
            single: single.collect(),
        })
    }

    /// Copies lines to where their margins are filled in.
    fn fill<W: Pod>(&self, from: &[W], to: &mut [W]) {
        let lines = from.chunks_exact(self.size.max(1));
        for (from, to) in lines.zip(to.chunks_exact_mut(self.padded)) {
            for run in &self.long {
                to[run.at.clone()].copy_from_slice(&from[run.row..run.row + run.at.len()]);
            }
            for &(source, place) in &self.single {
                to[place] = from[source];
            }
        }
    }
}

/// Buffers of one thread.
struct Buffers<W> {
    /// Lines as numbers.
    near: Scratch<W>,
    /// The same with margins.
    stack: Scratch<W>,
    /// What is made of them, channel by channel.
    made: Scratch<W>,
    /// Windows of a part of the points.
    parts: Scratch<W>,
    /// One point of every line, for each place of a window, and what is made of these.
    columns: Scratch<W>,
}

impl<R: Rule> Separable<'_, R> {
    /// Filters all lines.
    pub(crate) fn stacked<S: Pod + Sync, L: Load<S, R::W>>(
        &self,
        ctx: &Ctx,
        (level, stacked): (&Level<R::W>, &Stacked),
        (source, load): (&[S], L),
        out: &mut [u8],
    ) -> Result<(), VolumeError> {
        let bytes = level.n_out * level.out_row * self.out_size;
        if bytes == 0 {
            return Ok(());
        }
        let share = level.outer.div_ceil(4 * ctx.threads);
        let share = share.next_multiple_of(stacked.most);
        let tasks = Mutex::new(out.chunks_mut(share * bytes).enumerate());
        in_threads(ctx.threads, &|| {
            let mut buffers = self.buffers(ctx, level, stacked)?;
            loop {
                let task = tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((number, out)) = task else {
                    return Ok(());
                };
                let lines = source[number * share * stacked.size..]
                    .chunks(stacked.most * stacked.size.max(1));
                for (lines, out) in lines.zip(out.chunks_mut(stacked.most * bytes)) {
                    let count = out.len() / bytes;
                    let lines = &lines[..count * stacked.size];
                    self.stack((level, stacked, count), (lines, load), out, &mut buffers);
                }
            }
        })
    }

    fn buffers(
        &self,
        ctx: &Ctx,
        level: &Level<R::W>,
        stacked: &Stacked,
    ) -> Result<Buffers<R::W>, VolumeError> {
        let channels = self.rule.channels(level.pass + 1);
        let all = stacked.most * stacked.padded;
        let column = stacked.most * level.row;
        let space = |elems: usize| Scratch::new(&ctx.meter, elems);
        Ok(Buffers {
            near: space(stacked.most * stacked.size)?,
            stack: space(all)?,
            made: space(channels * all)?,
            parts: space(channels * all)?,
            columns: space((level.len + channels) * column)?,
        })
    }

    /// Filters `count` lines.
    fn stack<S: Pod, L: Load<S, R::W>>(
        &self,
        (level, stacked, count): (&Level<R::W>, &Stacked, usize),
        (lines, load): (&[S], L),
        out: &mut [u8],
        buffers: &mut Buffers<R::W>,
    ) {
        let channels = self.rule.channels(level.pass + 1);
        let (row, padded) = (level.row, stacked.padded);
        let near = &mut buffers.near.get_mut()[..lines.len()];
        load::row(load, lines, near);
        let stack = &mut buffers.stack.get_mut()[..count * padded];
        stacked.fill(near, stack);
        let stack = &*stack;
        let span = stack.len() - (level.len - 1) * row;
        let made = &mut buffers.made.get_mut()[..channels * span];
        let mut outs: RowsMut<'_, R::W> = made.chunks_exact_mut(span).collect();
        if row == 1 {
            self.windows((|_| stack, 1), level, buffers.parts.get_mut(), &mut outs);
        } else {
            let shifted = |t: usize| &stack[t * row..][..span];
            let rows: Rows<'_, R::W> = (0..level.len).map(shifted).collect();
            self.rule.fold(level.pass, &rows, Plain, &mut outs);
        }
        // Results of lines one behind the other.
        let line = level.n_out * row;
        for channel in &mut outs {
            for number in 1..count {
                channel.copy_within(number * padded..number * padded + line, number * line);
            }
        }
        self.faces(
            (level, stacked, count),
            stack,
            buffers.columns.get_mut(),
            &mut outs,
        );
        let rows: Rows<'_, R::W> = outs
            .iter()
            .map(|channel| &channel[..count * line])
            .collect();
        (self.emit)(&rows, out);
    }

    /// Outputs of all lines whose windows lack rows.
    fn faces(
        &self,
        (level, stacked, count): (&Level<R::W>, &Stacked, usize),
        stack: &[R::W],
        space: &mut [R::W],
        outs: &mut [&mut [R::W]],
    ) {
        let (row, line) = (level.row, level.n_out * level.row);
        let column = count * row;
        let (columns, made) = space.split_at_mut(level.len * column);
        for (i, edge) in &level.faces {
            for (&place, column) in edge.places.iter().zip(columns.chunks_exact_mut(column)) {
                let points = stack.chunks_exact(stacked.padded);
                for (to, from) in column.chunks_exact_mut(row).zip(points) {
                    to.copy_from_slice(&from[(i + place) * row..][..row]);
                }
            }
            let there = columns.chunks_exact(column).take(edge.places.len());
            let rows: Rows<'_, R::W> = there.collect();
            let channels = made.chunks_exact_mut(column).take(outs.len());
            let mut results: RowsMut<'_, R::W> = channels.collect();
            self.rule
                .fold_edge(level.pass, edge, &rows, Plain, &mut results);
            for (result, out) in results.iter().zip(&mut *outs) {
                for (from, to) in result.chunks_exact(row).zip(out.chunks_exact_mut(line)) {
                    to[i * row..][..row].copy_from_slice(from);
                }
            }
        }
    }
}
