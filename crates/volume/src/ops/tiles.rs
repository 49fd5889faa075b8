//! Filters that look at all voxels of a window at once, tile by tile.
//!
//! A tile is a padded copy of a small box in the arithmetic of the filter: what lies outside of the
//! volume is filled in, so the inner loops know no faces. Voxels whose window is clipped (mode
//! `renormalize`) are computed again one by one.

use super::window::{Neighbourhood, WindowAxis};
use crate::block::{View, ViewMut, axis_len, copy_box, offset};
use crate::levels::in_threads;
use crate::op::{Mode, voxels, worth};
use crate::places::{Places, Run};
use crate::separable::Ctx;
use crate::{Scratch, VolumeError};
use arrayloom_plan::Edge;
use arrayloom_types::{Coords, DType, Region};
use bytemuck::Pod;
use std::iter::Zip;
use std::ops::{Range, RangeFrom};
use std::slice::ChunksMut;
use std::sync::{Mutex, PoisonError};

/// The extents of a tile for a box with these extents, and elements of `size` bytes. Several arrays of it fit
/// a level-2 cache; rows of images are longer than those of volumes.
fn tile_extents(extents: &[i64], size: usize) -> Coords {
    let most: &[i64] = match (extents.len(), size) {
        (1, 1 | 2) => &[32_768],
        (1, _) => &[16_384],
        (2, 1..=4) => &[1024, 32],
        (2, _) => &[512, 32],
        (_, 1 | 2) => &[128, 32, 8],
        _ => &[128, 16, 8],
    };
    let rank = extents.len();
    let room = extents[rank - 1].clamp(i64::try_from(SHORT).unwrap_or(1), most[0]);
    // Where rows are short, there are more of them, with half of the voxels: more of a padded row is padding.
    let more = 1 << (most[0] / room / 2).max(1).ilog2();
    let limit = |d: usize| match rank - 1 - d {
        1 => most[1] * more,
        back => *most.get(back).unwrap_or(&1),
    };
    (0..rank).map(|d| extents[d].min(limit(d)).max(0)).collect()
}

/// The extents of tiles that are the largest ones of boxes up to these extents.
fn largest_tiles(extents: &[i64], size: usize) -> impl Iterator<Item = Coords> {
    let last = extents.len() - 1;
    let shorter = (5..16).map(|bits| 1 << bits);
    let each = shorter.take_while({
        let most = extents[last];
        move |&row| row < most
    });
    let extents: Coords = extents.into();
    each.chain([extents[last]]).map(move |row| {
        let mut extents = extents.clone();
        extents[last] = row;
        tile_extents(&extents, size)
    })
}

/// Bytes of working memory of an operation that computes in single or in double precision, whichever needs more: of each
/// thread so many elements as `elems` gives for their size, and a tile of results of `out` bytes.
pub(crate) fn scratch_in_either(
    each: (&[i64], usize, f64),
    out: usize,
    elems: impl Fn(usize) -> u64,
) -> u64 {
    let precisions = [size_of::<f32>(), size_of::<f64>()];
    scratch_in_any(&precisions, each, out, elems)
}

/// The same for numbers of any of these sizes.
pub(crate) fn scratch_in_any(
    sizes: &[usize],
    (extents, threads, cost_ns): (&[i64], usize, f64),
    out: usize,
    elems: impl Fn(usize) -> u64,
) -> u64 {
    let each = sizes
        .iter()
        .map(|&size| size as u64 * elems(size) + out as u64 * tile_voxels(extents, size) + 64);
    worth(threads, voxels(extents), cost_ns) as u64 * each.max().unwrap_or(0)
}

/// Elements of a padded tile, at most.
pub(crate) fn tile_elems(axes: &[WindowAxis], extents: &[i64], size: usize) -> u64 {
    let elems = |tile: Coords| -> u64 {
        let each = tile.iter().zip(axes);
        each.map(|(&e, a)| e.unsigned_abs() + a.len as u64)
            .product()
    };
    largest_tiles(extents, size).map(elems).max().unwrap_or(0)
}

/// Voxels of a tile of the output, at most.
pub(crate) fn tile_voxels(extents: &[i64], size: usize) -> u64 {
    let voxels = |tile: Coords| tile.iter().map(|e| e.unsigned_abs()).product();
    largest_tiles(extents, size).map(voxels).max().unwrap_or(0)
}

/// Elements of a [`Span`], at most.
pub(crate) fn span_elems(axes: &[WindowAxis], extents: &[i64], size: usize) -> usize {
    let row = row_elems(extents, size);
    let rows = match extents {
        [.., rows, _] => usize::try_from(*rows).unwrap_or(0),
        _ => 1,
    };
    let step = row.min(SHORT) + axes[axes.len() - 1].len;
    row.max(rows.saturating_mul(step).min(SPAN + step))
}

/// Rows shorter than this are computed with those below them.
const SHORT: usize = 32;
/// Elements of rows that are computed together, roughly.
const SPAN: usize = 1024;

/// Rows of the output that follow each other: they are computed with what lies between them in the tile.
pub(crate) struct Span {
    /// The number of the first one.
    pub(crate) row: usize,
    /// How many.
    pub(crate) rows: usize,
    /// The first corner of the window of the first voxel.
    pub(crate) base: usize,
    /// From one row to the next, in the tile.
    pub(crate) step: usize,
    /// Voxels of a row.
    pub(crate) len: usize,
    /// The coordinates of the first voxel.
    at: Coords,
}

impl Span {
    /// Elements from the first voxel to the last one.
    pub(crate) fn elems(&self) -> usize {
        (self.rows - 1) * self.step + self.len
    }

    /// Each voxel: its place in the span, and its coordinates.
    pub(crate) fn voxels(&self) -> impl Iterator<Item = (usize, Coords)> {
        let each = (0..self.rows).flat_map(|row| (0..self.len).map(move |i| (row, i)));
        each.map(|(row, i)| {
            let mut at = self.at.clone();
            let moved = [row, i].map(|by| i64::try_from(by).unwrap_or(0));
            for (at, by) in at.iter_mut().rev().zip(moved.iter().rev()) {
                *at += by;
            }
            (row * self.step + i, at)
        })
    }

    /// Where a voxel with this place in the span lies among the results.
    pub(crate) fn result(&self, place: usize) -> usize {
        place / self.step * self.len + place % self.step
    }

    /// What was computed for the voxels, without what lies between rows.
    pub(crate) fn joined<'s, T: Copy>(&self, computed: &'s mut [T]) -> &'s [T] {
        for row in 1..self.rows {
            let from = row * self.step;
            computed.copy_within(from..from + self.len, row * self.len);
        }
        &computed[..self.rows * self.len]
    }
}

/// A padded tile of each operand.
pub(crate) struct Tile<'a, W> {
    /// The voxels, one operand after the other.
    pub(crate) data: &'a [W],
    /// Where the next operand begins.
    pub(crate) stride: usize,
    /// Steps of its axes, in elements.
    pub(crate) steps: Vec<usize>,
    /// The box of the output.
    pub(crate) region: Region,
    /// Extents of the volume.
    pub(crate) shape: &'a [i64],
    /// Voxels outside stand for nothing.
    pub(crate) clipped: bool,
}

impl<W> Tile<'_, W> {
    /// The places of the window's points, relative to the place of its first corner.
    pub(crate) fn offsets(&self, window: &Neighbourhood) -> Vec<usize> {
        let place = |p: &Vec<usize>| p.iter().zip(&self.steps).map(|(a, b)| a * b).sum();
        window.points.iter().map(place).collect()
    }

    /// Rows of the output: number, first corner of the window of the first voxel, its coordinates.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (usize, usize, Coords)> {
        let rank = self.region.rank();
        let outer: usize = (0..rank - 1).map(|d| axis_len(&self.region, d)).product();
        (0..outer).map(move |row| {
            let (mut rest, mut base) = (row, 0);
            let mut at = self.region.lo.clone();
            for d in (0..rank - 1).rev() {
                let n = axis_len(&self.region, d);
                base += rest % n * self.steps[d];
                at[d] += i64::try_from(rest % n).unwrap_or(0);
                rest /= n;
            }
            (row, base, at)
        })
    }

    /// Rows of the output, several at a time where they are short.
    pub(crate) fn spans(&self) -> impl Iterator<Item = Span> {
        let (rank, len) = (self.region.rank(), self.row_len());
        let short = rank > 1 && len < SHORT;
        let (below, step) = match rank {
            0 | 1 => (1, len),
            rank => (axis_len(&self.region, rank - 2), self.steps[rank - 2]),
        };
        let most = if short { SPAN / step.max(1) + 1 } else { 1 };
        let rows = self.rows();
        let first = rows.filter(move |(row, ..)| row % below.max(1) % most == 0);
        first.map(move |(row, base, at)| Span {
            row,
            rows: most.min(below - row % below.max(1)),
            base,
            step,
            len,
            at,
        })
    }

    /// Voxels in a row of the output.
    pub(crate) fn row_len(&self) -> usize {
        axis_len(&self.region, self.region.rank() - 1)
    }

    /// For the voxel at `at`: whether every point of the window exists, and if not, which do.
    pub(crate) fn present(&self, window: &Neighbourhood, at: &[i64]) -> Option<Vec<usize>> {
        let clips = |d: usize| {
            let axis = &window.axes[d];
            let first = at[d] - axis.before;
            let end = first + i64::try_from(axis.len).unwrap_or(0);
            axis.mode == Mode::Renormalize && (first < 0 || end > self.shape[d])
        };
        if !self.clipped || !(0..at.len()).any(clips) {
            return None;
        }
        let exists = |p: &Vec<usize>| {
            (0..at.len()).all(|d| {
                let axis = &window.axes[d];
                let here = at[d] - axis.before + i64::try_from(p[d]).unwrap_or(0);
                axis.mode != Mode::Renormalize || (0..self.shape[d]).contains(&here)
            })
        };
        let points = window.points.iter().enumerate().filter(|(_, p)| exists(p));
        Some(points.map(|(i, _)| i).collect())
    }

    /// The voxels of rows whose windows are clipped: the place of each in its span, which points exist, and a row of one
    /// voxel for each of these. `offsets` are the places of the window's points.
    pub(crate) fn clipped_windows<'t>(
        &'t self,
        window: &'t Neighbourhood,
        span: &'t Span,
        offsets: &'t [usize],
    ) -> impl Iterator<Item = (usize, Vec<usize>, Vec<&'t [W]>)> {
        span.voxels().filter_map(move |(i, at)| {
            let there = self.present(window, &at)?;
            let place = |&p: &usize| {
                let at = span.base + offsets[p] + i;
                &self.data[at..=at]
            };
            let rows = there.iter().map(place).collect();
            Some((i, there, rows))
        })
    }
}

/// Converts elements of a dtype.
pub(crate) type LoadRow<'a, W> = &'a (dyn Fn(DType, &[u8], &mut [W]) + Sync);

/// How a tile is filled.
pub(crate) struct Fill<'a, W> {
    /// The box of the window.
    pub(crate) axes: &'a [WindowAxis],
    /// What stands where nothing is.
    pub(crate) nothing: W,
    /// Extra elements of working memory for each thread.
    pub(crate) extra: usize,
    pub(crate) load: LoadRow<'a, W>,
}

/// Computes `out` tile by tile: `compute(tile, extra, result)` for each, in parallel. All operands have
/// the window and the extents of the first one.
pub(crate) fn tiles<W: Pod + Send + Sync>(
    ctx: &Ctx,
    inputs: &[View<'_>],
    out: ViewMut<'_>,
    fill: &Fill<'_, W>,
    compute: impl Fn(&Tile<'_, W>, &mut [W], &mut [u8]) + Sync,
) -> Result<(), VolumeError> {
    let ViewMut {
        region: whole,
        dtype,
        data,
    } = out;
    let extents = whole.extents();
    let elem = size_of::<W>();
    let tile = tile_extents(&extents, elem);
    let grid: Vec<u64> = extents
        .iter()
        .zip(&tile)
        .map(|(&e, &t)| e.unsigned_abs().div_ceil(t.max(1).unsigned_abs()))
        .collect();
    let count: u64 = grid.iter().product();
    let size = dtype.size();
    let plane: i64 = extents[1..].iter().product();
    let slab = usize::try_from(plane * tile[0]).unwrap_or(usize::MAX) * size;
    let in_place = grid[1..].iter().all(|&n| n <= 1) && slab > 0;
    let results = Mutex::new(if in_place {
        Results::InPlace((0..).zip(data.chunks_mut(slab)))
    } else {
        Results::Copied(0..count, data)
    });
    let padded = usize::try_from(tile_elems(fill.axes, &extents, elem)).unwrap_or(usize::MAX);
    let copied = if in_place {
        0
    } else {
        tile_voxels(&extents, elem)
    };
    let result_bytes = usize::try_from(copied).unwrap_or(usize::MAX) * size;
    in_threads(ctx.threads, &|| {
        let mut space: Scratch<W> = Scratch::new(&ctx.meter, padded * inputs.len() + fill.extra)?;
        let mut result: Scratch<u8> = Scratch::new(&ctx.meter, result_bytes)?;
        loop {
            let taken = results
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            let Some((number, place)) = taken else {
                return Ok(());
            };
            let region = tile_region(whole, &tile, &grid, number);
            let (data_in, extra) = space.get_mut().split_at_mut(padded * inputs.len());
            let mut one = Tile {
                data: &[],
                stride: padded,
                steps: steps(fill.axes, &region),
                region,
                shape: inputs[0].shape,
                clipped: fill.axes.iter().any(|a| a.mode == Mode::Renormalize),
            };
            for (input, to) in inputs.iter().zip(data_in.chunks_exact_mut(padded.max(1))) {
                fill_tile(input, &one, fill, to);
            }
            one.data = data_in;
            if let Some(place) = place {
                compute(&one, extra, place);
                continue;
            }
            let bytes = usize::try_from(one.region.voxels()).unwrap_or(0) * size;
            let result = &mut result.get_mut()[..bytes];
            compute(&one, extra, result);
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            if let Results::Copied(_, data) = &mut *results {
                copy_box((&one.region, result), (whole, data), &one.region, size);
            }
        }
    })
}

/// The tiles that are left, and where their results go.
enum Results<'o> {
    /// Tiles of whole planes: each to its own part.
    InPlace(Zip<RangeFrom<u64>, ChunksMut<'o, u8>>),
    /// The numbers of tiles, whose results are copied.
    Copied(Range<u64>, &'o mut [u8]),
}

impl<'o> Results<'o> {
    /// The number of the next tile, and the place of its result if it has one.
    fn take(&mut self) -> Option<(u64, Option<&'o mut [u8]>)> {
        match self {
            Results::InPlace(each) => each.next().map(|(number, place)| (number, Some(place))),
            Results::Copied(numbers, _) => numbers.next().map(|number| (number, None)),
        }
    }
}

fn tile_region(whole: &Region, tile: &[i64], grid: &[u64], mut number: u64) -> Region {
    let mut region = whole.clone();
    for d in (0..grid.len()).rev() {
        let at = i64::try_from(number % grid[d]).unwrap_or(0);
        number /= grid[d];
        region.lo[d] = whole.lo[d] + at * tile[d];
        region.hi[d] = (region.lo[d] + tile[d]).min(whole.hi[d]);
    }
    region
}

fn steps(axes: &[WindowAxis], region: &Region) -> Vec<usize> {
    let mut steps = vec![1; axes.len()];
    for d in (1..axes.len()).rev() {
        steps[d - 1] = steps[d] * (axis_len(region, d) + axes[d].len - 1);
    }
    steps
}

/// Fills the padded tile of `one` row by row.
fn fill_tile<W: Pod>(input: &View<'_>, one: &Tile<'_, W>, fill: &Fill<'_, W>, to: &mut [W]) {
    let rank = fill.axes.len();
    let constant = |d: usize| match fill.axes[d].mode {
        Mode::Constant(_) | Mode::Renormalize => Some(fill.nothing),
        _ => None,
    };
    let places: Vec<Places> = (0..rank)
        .map(|d| {
            let axis = &fill.axes[d];
            let first = one.region.lo[d] - axis.before;
            let len = axis_len(&one.region, d) + axis.len - 1;
            let inside = (input.region.lo[d], input.region.hi[d]);
            Places::new(axis.mode.edge(), (first, len), input.shape[d], inside)
        })
        .collect();
    let row = places[rank - 1].len();
    let (along, picked) = (places[rank - 1].runs(), places[rank - 1].to_vec());
    let whole = along.iter().map(|r| r.at.len()).sum::<usize>() == row;
    let above = rank.saturating_sub(2);
    let only = Places::new(Edge::Clip, (0, 1), 1, (0, 1));
    let below = if rank > 1 { &places[above] } else { &only };
    let held = axis_len(input.region, rank - 1);
    let mut at = input.region.lo.clone();
    for (o, to) in to.chunks_exact_mut((below.len() * row).max(1)).enumerate() {
        let mut rest = o;
        let mut missing = input.data.is_empty();
        for d in (0..above).rev() {
            let place = places[d].row(rest % places[d].len());
            rest /= places[d].len();
            missing |= place.is_none() && constant(d).is_some();
            at[d] = input.region.lo[d] + i64::try_from(place.unwrap_or(0)).unwrap_or(0);
        }
        if rest > 0 {
            break;
        }
        if missing {
            to.fill(fill.nothing);
            continue;
        }
        let from = &input.data[offset(input.region, &at) * input.dtype.size()..];
        if held <= NEAR / 4 {
            let from = (from, input.dtype, held);
            fill_short((below, &picked), from, fill, to);
            continue;
        }
        let each = below.rows(0..below.len());
        for (place, to) in each.zip(to.chunks_exact_mut(row)) {
            let missing = place.is_none() && rank > 1 && constant(above).is_some();
            if missing || !whole {
                to.fill(fill.nothing);
            }
            if !missing {
                let first = place.unwrap_or(0) * held * input.dtype.size();
                fill_row(&along, (&from[first..], input.dtype), fill, to);
            }
        }
    }
}

/// Elements of short rows that are converted at once.
const NEAR: usize = 256;

/// Fills rows `below` each other, of which a box holds so many voxels: several are converted at once, and what stands
/// at the places of a row is picked from them.
fn fill_short<W: Pod>(
    (below, picked): (&Places, &[isize]),
    (from, dtype, held): (&[u8], DType, usize),
    fill: &Fill<'_, W>,
    to: &mut [W],
) {
    let mut near = [W::zeroed(); NEAR];
    let step = NEAR / held.max(1);
    let row = picked.len();
    for at in below.missing() {
        to[at * row..][..row].fill(fill.nothing);
    }
    for run in below.runs() {
        let mut rows = to[run.at.start * row..run.at.end * row].chunks_exact_mut(row);
        for first in (run.row..run.row + run.at.len()).step_by(step) {
            let count = step.min(run.row + run.at.len() - first);
            let bytes = first * held * dtype.size()..(first + count) * held * dtype.size();
            (fill.load)(dtype, &from[bytes], &mut near[..count * held]);
            for (near, to) in near.chunks_exact(held).zip(rows.by_ref().take(count)) {
                for (to, &place) in to.iter_mut().zip(picked) {
                    *to = usize::try_from(place).map_or(fill.nothing, |place| near[place]);
                }
            }
        }
    }
}

fn fill_row<W: Pod>(runs: &[Run], (from, dtype): (&[u8], DType), fill: &Fill<'_, W>, to: &mut [W]) {
    for Run { at, row } in runs {
        let bytes = row * dtype.size()..(row + at.len()) * dtype.size();
        (fill.load)(dtype, &from[bytes], &mut to[at.clone()]);
    }
}

/// Voxels of a row of a tile with elements of `size` bytes.
pub(crate) fn row_elems(extents: &[i64], size: usize) -> usize {
    let row = tile_extents(extents, size).last().copied().unwrap_or(0);
    usize::try_from(row).unwrap_or(0)
}
