//! Separable filters as passes of a device: the tables that tell each pass what its windows are.

use crate::abroad::recipe::{Call, Packed, Recipe, Slot, Work};
use crate::axis::first_cut;
use crate::block::{View, axis_len};
use crate::fold::EdgeTaps;
use crate::levels::{Level, levels};
use crate::separable::{EdgeTapsOf, Pass};
use arrayloom_device::{FILTER_PASS, FilterPass, Fold, Keys, Order, Spread};
use arrayloom_types::{DType, Region};
use bytemuck::Pod;

/// The numbers of a pass for missing voxels, where there are some as in these taps, or none.
type BiasOf<'a, W> = &'a dyn Fn(usize, Option<&EdgeTaps<W>>) -> Vec<W>;

/// A separable filter in the arithmetic `W`.
pub(crate) struct Passes<'a, W> {
    /// What each pass reads.
    pub(crate) axes: &'a [Pass],
    pub(crate) edge_taps: EdgeTapsOf<'a, W>,
    /// Windows are joined as those of `long.rs` are.
    pub(crate) long: bool,
    /// What windows of a pass become.
    pub(crate) fold: &'a dyn Fn(usize) -> Fold,
    /// The weights of a pass, list after list; none for filters without weights.
    pub(crate) weights: &'a dyn Fn(usize) -> Vec<Vec<W>>,
    pub(crate) bias: BiasOf<'a, W>,
    /// The dtype of the arithmetic.
    pub(crate) work: DType,
    /// Between passes voxels have this dtype.
    pub(crate) between: DType,
    /// Numbers of a voxel before a pass.
    pub(crate) channels: &'a dyn Fn(usize) -> u8,
    /// How voxels stand for keys.
    pub(crate) keys: Keys,
    /// What sums are divided by, or zero; for squares the points of the window.
    pub(crate) points: f64,
    /// What mean and variance become, and the numbers that it needs.
    pub(crate) spread: Option<(Spread, [f64; 2])>,
    /// The dtype of the result.
    pub(crate) out: DType,
}

/// The first numbers of taps near a face, or zeros.
pub(crate) fn first<W: Pod, const N: usize>(edge: Option<&EdgeTaps<W>>) -> Vec<W> {
    edge.map_or_else(|| vec![W::zeroed(); N], |edge| edge.bias[..N].to_vec())
}

/// Rows as numbers of 32 bits.
fn narrow(row: isize) -> i32 {
    i32::try_from(row).unwrap_or(-1)
}

/// For each output the first row of its window if its rows follow each other, or its list.
fn starts<W>(level: &Level<W>) -> Vec<i32> {
    let mut lists = 0;
    let start = |window: &[isize]| {
        if window.iter().any(|&row| row < 0) {
            lists += 1;
            return -1 - lists;
        }
        let follow = window.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        if follow { narrow(window[0]) } else { -1 }
    };
    let rows = level.places.to_vec();
    rows.windows(level.len).map(start).collect()
}

impl<W: Pod> Passes<'_, W> {
    /// The passes for the box `region`; nothing where an axis without a pass would have to be cut.
    pub(crate) fn recipe(&self, input: &View<'_>, region: &Region) -> Option<Recipe> {
        let filtered = |d: usize| self.axes.iter().any(|p| p.axis == d);
        let same =
            |d: usize| (input.region.lo[d], input.region.hi[d]) == (region.lo[d], region.hi[d]);
        if !(0..region.rank()).all(|d| filtered(d) || same(d)) {
            return None;
        }
        let mut recipe = Recipe::default();
        let levels = levels(
            self.axes,
            self.edge_taps,
            (input.region, input.shape),
            region,
        );
        let mut from = Packed {
            slot: Slot::Input(0),
            dtype: input.dtype,
            shape: Vec::new(),
        };
        for (number, level) in levels.iter().enumerate() {
            let last = number + 1 == levels.len();
            let axis = self.axes[number].axis;
            let outer: usize = (0..axis).map(|d| axis_len(region, d)).product();
            let [read, written] = [number, number + 1].map(|n| (self.channels)(n));
            from.shape = vec![usize::from(read) * outer, level.n_in, level.row];
            let out = Packed {
                slot: if last {
                    Slot::Result
                } else {
                    Slot::Between(number)
                },
                dtype: if last { self.out } else { self.between },
                shape: vec![usize::from(written) * outer, level.n_out, level.row],
            };
            let key = |is: bool| if is { self.keys } else { Keys::Plain };
            let spread = self.spread.filter(|_| last);
            let (order, cut) = self.order(number, input.shape, region);
            let told = FilterPass {
                channels: [read, written],
                keys: [key(number == 0), key(last)],
                points: if last { self.points } else { 0.0 },
                before: u32::try_from(self.axes[number].before).ok()?,
                spread: spread.map(|(spread, _)| spread),
                given: spread.map(|(_, given)| given).unwrap_or_default(),
                order,
                cut,
                ..FilterPass::new((self.fold)(number), u32::try_from(level.len).ok()?)
            };
            let mut ins = vec![from];
            ins.extend(self.tables(&mut recipe, number, level));
            recipe.calls.push(Call {
                work: Work::Ext {
                    name: FILTER_PASS,
                    attrs: told.attrs(),
                },
                ins,
                out: out.clone(),
            });
            from = out;
        }
        Some(recipe)
    }

    /// The order of a pass, and where its axis is cut.
    fn order(&self, number: usize, shape: &[i64], region: &Region) -> (Order, u32) {
        match first_cut(&self.axes[number], shape, region) {
            _ if !self.long => (Order::Rows, 0),
            Some(cut) => (Order::Cuts, cut),
            None => (Order::Boxes, 0),
        }
    }

    /// The tables of a pass.
    fn tables(&self, recipe: &mut Recipe, number: usize, level: &Level<W>) -> Vec<Packed> {
        let index: Vec<i32> = level.places.to_vec().into_iter().map(narrow).collect();
        let mut tables = vec![
            recipe.table(DType::I32, &starts(level)),
            recipe.table(DType::I32, &index),
        ];
        let whole = (self.weights)(number);
        let mut weights: Vec<W> = whole.concat();
        let mut bias = (self.bias)(number, None);
        for (_, edge) in &level.faces {
            // Weights of places that are missing are never read.
            for taps in &edge.taps[..whole.len()] {
                let mut list = vec![W::zeroed(); level.len];
                for (&place, &tap) in edge.places.iter().zip(taps) {
                    list[place] = tap;
                }
                weights.extend(list);
            }
            bias.extend((self.bias)(number, Some(edge)));
        }
        if !whole.is_empty() {
            tables.push(recipe.table(self.work, &weights));
        }
        tables.push(recipe.table(self.work, &bias));
        tables
    }
}

/// Bytes of device memory that passes take beside operand and result, with `size` bytes of a voxel between passes.
pub(crate) fn scratch(
    passes: &[Pass],
    channels: u64,
    size: u64,
    (extents, shape): (&[i64], &[i64]),
) -> u64 {
    let mut grown: Vec<u64> = extents.iter().map(|e| e.max(&0).unsigned_abs()).collect();
    let mut tables = 0;
    for pass in passes {
        let (n, len) = (grown[pass.axis], pass.len as u64);
        let lists = 2 * (1 + n.min(len));
        tables += 8 * n + 4 * len + lists * 8 * (len + 2) + 64;
        grown[pass.axis] = n + len.min(shape[pass.axis].unsigned_abs().saturating_sub(n));
    }
    let mut between = Vec::new();
    for pass in passes.iter().take(passes.len().saturating_sub(1)) {
        grown[pass.axis] = extents[pass.axis].max(0).unsigned_abs();
        between.push(channels * size * grown.iter().product::<u64>());
    }
    between.sort_unstable();
    between.iter().rev().take(2).sum::<u64>() + tables + 4096
}
