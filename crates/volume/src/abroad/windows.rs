//! Filters over windows of any shape as one operation of a device: the tables that say where its points lie.

use crate::abroad::recipe::{Call, Packed, Recipe, Slot, Work};
use crate::block::{View, axis_len};
use crate::keys;
use crate::op::Mode;
use crate::ops::Neighbourhood;
use crate::pixel::Key;
use crate::places::Places;
use arrayloom_device::{FILTER_WINDOW, FilterWindow, Gather, Keys};
use arrayloom_types::{DType, Region};
use bytemuck::Pod;

/// A filter over a window in the arithmetic `W`.
pub(crate) struct Windows<'a, W> {
    pub(crate) window: &'a Neighbourhood,
    pub(crate) gather: Gather,
    /// The rank that is wanted, or zero.
    pub(crate) rank: usize,
    /// How voxels stand for keys.
    pub(crate) keys: Keys,
    /// Places behind those of the points (see [`Gather::more_points`]).
    pub(crate) more: Vec<Vec<usize>>,
    /// One weight for each point, for weighted sums; see [`FilterWindow`] for others.
    pub(crate) weights: &'a [W],
    /// What it is given, as [`Gather`] says.
    pub(crate) given: [f64; 3],
    /// What stands outside where a constant does.
    pub(crate) nothing: W,
    /// The dtype of the arithmetic.
    pub(crate) work: DType,
    /// The dtype of the result.
    pub(crate) out: DType,
}

fn number<T: TryFrom<usize>>(n: usize) -> Option<T> {
    T::try_from(n).ok()
}

impl<W: Pod> Windows<'_, W> {
    /// The operation for the box `region`.
    pub(crate) fn recipe(&self, input: &View<'_>, region: &Region) -> Option<Recipe> {
        let rank = region.rank();
        let extents: Vec<usize> = (0..rank).map(|d| axis_len(region, d)).collect();
        let shape: Vec<usize> = (0..rank).map(|d| axis_len(input.region, d)).collect();
        let steps: Vec<usize> = (0..rank).map(|d| shape[d + 1..].iter().product()).collect();
        let (mut facts, mut starts, mut index) = (Vec::new(), Vec::new(), Vec::new());
        for (d, axis) in self.window.axes.iter().enumerate() {
            let begin = [extents[d], steps[d], starts.len(), index.len()];
            facts.extend(begin.map(|n| i64::try_from(n).unwrap_or(i64::MAX)));
            let first = region.lo[d] - axis.before;
            let inside = (input.region.lo[d], input.region.hi[d]);
            let padded = extents[d] + axis.len - 1;
            let rows =
                Places::new(axis.mode.edge(), (first, padded), input.shape[d], inside).to_vec();
            let start = |window: &[isize]| {
                let follow = window.windows(2).all(|pair| pair[0] + 1 == pair[1]);
                let start = i32::try_from(window[0]).unwrap_or(-1);
                if follow { start } else { -1 }
            };
            starts.extend(rows.windows(axis.len).map(start));
            let gone = if axis.mode == Mode::Renormalize {
                -2
            } else {
                -1
            };
            index.extend(rows.iter().map(|&row| match i32::try_from(row) {
                Ok(row) if row >= 0 => row,
                _ => gone,
            }));
        }
        let points: Vec<&Vec<usize>> = self.window.points.iter().chain(&self.more).collect();
        let each = points
            .iter()
            .copied()
            .flatten()
            .map(|&place| number::<i32>(place));
        let at: Vec<i32> = each.collect::<Option<_>>()?;
        let distance =
            |p: &&Vec<usize>| number::<i64>(p.iter().zip(&steps).map(|(a, b)| a * b).sum());
        let offsets: Vec<i64> = points.iter().map(distance).collect::<Option<_>>()?;
        let mut recipe = Recipe::default();
        let mut ins = vec![
            Packed {
                slot: Slot::Input(0),
                dtype: input.dtype,
                shape,
            },
            recipe.table(DType::I64, &facts),
            recipe.table(DType::I32, &starts),
            recipe.table(DType::I32, &index),
            recipe.table(DType::I32, &at),
            recipe.table(DType::I64, &offsets),
        ];
        if !self.weights.is_empty() {
            ins.push(recipe.table(self.work, self.weights));
        }
        ins.push(recipe.table(self.work, &[self.nothing]));
        let told = FilterWindow {
            gather: self.gather,
            points: number(self.window.points.len())?,
            rank: number(self.rank)?,
            keys: self.keys,
            given: self.given,
        };
        recipe.calls.push(Call {
            work: Work::Ext {
                name: FILTER_WINDOW,
                attrs: told.attrs(),
            },
            ins,
            out: Packed {
                slot: Slot::Result,
                dtype: self.out,
                shape: extents,
            },
        });
        Some(recipe)
    }
}

/// The operation that finds a key of each window of the box `region`: the smallest one, or one of a rank.
pub(crate) fn of_keys(
    window: &Neighbourhood,
    wanted: (Gather, usize),
    keys: keys::Keys,
    input: &View<'_>,
    region: &Region,
) -> Option<Recipe> {
    match (input.dtype, input.dtype.size()) {
        (DType::C64 | DType::C128, _) => None,
        (_, 1) => of_keys_in::<u8>(window, wanted, (keys, DType::U8), input, region),
        (_, 2) => of_keys_in::<u16>(window, wanted, (keys, DType::U16), input, region),
        (_, 4) => of_keys_in::<u32>(window, wanted, (keys, DType::U32), input, region),
        _ => of_keys_in::<u64>(window, wanted, (keys, DType::U64), input, region),
    }
}

fn of_keys_in<K: Key>(
    window: &Neighbourhood,
    (gather, rank): (Gather, usize),
    (keys, work): (keys::Keys, DType),
    input: &View<'_>,
    region: &Region,
) -> Option<Recipe> {
    let constant = window.constant().map(|value| keys::key_of(keys, value));
    let windows = Windows {
        window,
        gather,
        rank,
        keys: keys.on_device(),
        more: Vec::new(),
        weights: &[],
        given: [0.0; 3],
        nothing: constant.unwrap_or(K::MAX),
        work,
        out: keys.dtype,
    };
    windows.recipe(input, region)
}

/// Bytes of device memory that tables of such windows take.
pub(crate) fn scratch(window: &Neighbourhood, extents: &[i64]) -> u64 {
    let along = extents.iter().zip(&window.axes);
    let rows = along.map(|(e, a)| 8 * e.max(&0).unsigned_abs() + 4 * a.len as u64 + 32);
    let each = 16 + 4 * extents.len() as u64;
    rows.sum::<u64>() + each * (window.points.len() as u64 + 2) + 4096
}
