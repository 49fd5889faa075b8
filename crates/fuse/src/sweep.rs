//! Which kernels go over memory together, row by row.
//!
//! Kernels of one list that depend on each other at shifted rows become the stages of one [`Sweep`] (`pass`). What
//! only other stages read lives in a ring of rows and never reaches memory. Whatever has no simple
//! relation between rows, such as a transposed view, ends a sweep. Where rows are folded into one, a sweep goes
//! over columns instead (`columns`).

use crate::columns;
use crate::pass::{Block, Pass, Routes, Sweep};
use crate::rows::{self, packed, packed_bytes, relation};
use crate::stage::{Access, accesses, conflict, is_stage, least_warm, reads, routes};
use crate::{Group, Options, Slots};
use arrayloom_ir::{Form, SlotId};
use arrayloom_plan::{Link, Ring, Route, Touch, schedule};
use arrayloom_types::Layout;
use smallvec::SmallVec;

/// Bytes of a row from which on it counts as a plane.
const PLANE: usize = 128 << 10;

/// Links, and for each of them the accesses that it comes from.
type Linked = (Vec<Link>, Vec<(usize, usize)>);

/// Stages in the making.
#[derive(Default)]
struct Draft<'a> {
    groups: Vec<usize>,
    accesses: Vec<Access<'a>>,
    links: Vec<Link>,
    /// For each link, the accesses that it comes from.
    pairs: Vec<(usize, usize)>,
    /// It goes over so many columns, instead of rows.
    columns: Option<usize>,
    plan: Option<Sweep>,
}

/// The list as passes: sweeps where they save enough, single kernels elsewhere.
pub(crate) fn passes(groups: &[Group], slots: &dyn Slots, options: &Options) -> Vec<Pass> {
    let mut passes = Vec::with_capacity(groups.len());
    let mut draft = Draft::default();
    for (place, group) in groups.iter().enumerate() {
        if options.sweep && draft.takes(group) {
            if draft.add(groups, place, slots, options) {
                continue;
            }
        } else if !draft.groups.is_empty() && draft.is_apart(group) {
            passes.push(Pass::Kernel(place));
            continue;
        }
        draft.close(groups, options, &mut passes);
        if !(options.sweep && draft.start(groups, place, slots, options)) {
            passes.push(Pass::Kernel(place));
        }
    }
    draft.close(groups, options, &mut passes);
    passes
}

impl<'a> Draft<'a> {
    /// True when the group may run before all stages.
    fn is_apart(&self, group: &Group) -> bool {
        accesses(group, 0).all(|b| !self.accesses.iter().any(|a| conflict(a, &b)))
    }

    /// True when the group may be a stage of this sweep.
    fn takes(&self, group: &Group) -> bool {
        match self.columns {
            Some(_) => columns::columns(group) == self.columns,
            None => is_stage(group),
        }
    }

    /// Starts with a stage: a sweep over rows, or one over columns if the group folds rows into one.
    fn start(
        &mut self,
        groups: &'a [Group],
        place: usize,
        slots: &dyn Slots,
        options: &Options,
    ) -> bool {
        let group = &groups[place];
        let wide = columns::columns(group).filter(|&wide| wide >= options.sweep_columns);
        self.columns = wide.filter(|_| columns::folds(group) && columns::stay(group, options));
        (self.columns.is_some() || is_stage(group)) && self.add(groups, place, slots, options)
    }

    /// Adds a stage, if it fits to those that are there.
    fn add(
        &mut self,
        groups: &'a [Group],
        place: usize,
        slots: &dyn Slots,
        options: &Options,
    ) -> bool {
        let stage = self.groups.len();
        if stage >= options.sweep_stages {
            return false;
        }
        let new: SmallVec<[Access<'_>; 16]> = accesses(&groups[place], stage).collect();
        let shares = |b: &Access<'_>| self.accesses.iter().any(|a| a.slot == b.slot);
        if stage > 0 && !new.iter().any(shares) {
            return false;
        }
        let Some((links, pairs)) = self.links_to(&new) else {
            return false;
        };
        // A copy of what is in memory may cost nothing at all: blocks can change owners.
        let group = &groups[place];
        let small = group.shape.iter().product::<usize>() < options.sweep_points;
        let stores = group.kernel.outputs.iter().all(|o| o.form == Form::Store);
        let copies = stores && group.kernel.code.len() < 2;
        let over_columns = stage > 0 && self.columns.is_some() && !columns::folds(group);
        if (small || copies || over_columns) && !links.iter().any(|link| link.flow) {
            return false;
        }
        let (old_links, old_accesses) = (self.links.len(), self.accesses.len());
        self.groups.push(place);
        self.accesses.extend(new);
        self.links.extend(links);
        self.pairs.extend(pairs);
        let plan = self.plan(groups, slots, options);
        if plan.is_none() {
            self.groups.pop();
            self.accesses.truncate(old_accesses);
            self.links.truncate(old_links);
            self.pairs.truncate(old_links);
            return false;
        }
        self.plan = plan;
        true
    }

    /// The links from stages that are there to a new one. `None` when rows have no simple relation.
    fn links_to(&self, new: &[Access<'_>]) -> Option<Linked> {
        let (mut links, mut pairs) = (Vec::new(), Vec::new());
        for (first, a) in self.accesses.iter().enumerate() {
            for (second, b) in new.iter().enumerate() {
                if conflict(a, b) {
                    let (low, high) = match self.columns {
                        Some(_) => columns::relation(a.layout, b.layout)?,
                        None => relation(a.layout, b.layout)?,
                    };
                    links.push(Link {
                        from: a.stage,
                        to: b.stage,
                        low,
                        high,
                        flow: a.writes && !b.writes,
                    });
                    pairs.push((first, self.accesses.len() + second));
                }
            }
        }
        Some((links, pairs))
    }

    /// Ends the sweep: it goes to the passes, or its stages do if it does not pay.
    fn close(&mut self, groups: &[Group], options: &Options, passes: &mut Vec<Pass>) {
        let draft = std::mem::take(self);
        match draft.plan {
            Some(plan) if plan.groups.len() > 1 && pays(&plan, groups, options) => {
                passes.push(Pass::Sweep(plan));
            }
            _ => passes.extend(draft.groups.into_iter().map(Pass::Kernel)),
        }
    }

    /// All of the sweep, unless it needs too many rows in the cache.
    fn plan(&self, groups: &[Group], slots: &dyn Slots, options: &Options) -> Option<Sweep> {
        if let Some(columns) = self.columns {
            return Some(self.over_columns(columns, groups, slots, options));
        }
        let mut stages: Vec<Routes> = self.groups.iter().map(|&g| routes(&groups[g])).collect();
        let rings = self.rings(groups, slots, &mut stages);
        let (blocks, touches) = self.blocks(&rings, &mut stages)?;
        let rows: Vec<(usize, usize)> = self
            .groups
            .iter()
            .map(|&g| (groups[g].shape[0], least_warm(&groups[g])))
            .collect();
        let schedule = schedule(&rows, &self.links, &touches, blocks.len());
        let reach = |&(access, pitch): &(usize, usize)| {
            let links = self.links.iter().zip(&self.pairs);
            let readers = links.filter(|(link, pair)| link.flow && pair.0 == access);
            let reach = readers.map(|(link, _)| schedule.reach(link)).max();
            Ring {
                pitch,
                reach: reach.unwrap_or(0),
                pieces: 1,
            }
        };
        let rings: Vec<Ring> = rings.iter().map(reach).collect();
        let held = rings.iter().map(|r| r.pitch * (r.reach + 1));
        let images = blocks.iter().zip(&schedule.blocks);
        let images = images.map(|(b, o)| (o.high - o.low).unsigned_abs() * width(b));
        let most = rows.iter().map(|r| r.0).max().unwrap_or(0);
        let (start, end) = schedule.time();
        let longest = rings.iter().map(|r| r.pitch);
        let longest = longest.chain(blocks.iter().map(width)).max().unwrap_or(0);
        let room = if longest >= PLANE {
            options.sweep_planes
        } else {
            options.sweep_cache
        };
        let fits = held.sum::<usize>() <= room
            && images.sum::<usize>() <= room
            && schedule.warm() <= most / 4
            && (end - start).unsigned_abs() <= most + most / 4;
        fits.then(|| Sweep {
            groups: self.groups.clone(),
            schedule,
            stages,
            rings,
            blocks,
            panel: None,
        })
    }

    /// A sweep over columns: every one is computed once, and what only the sweep reads has the memory of one
    /// panel.
    fn over_columns(
        &self,
        columns: usize,
        groups: &[Group],
        slots: &dyn Slots,
        options: &Options,
    ) -> Sweep {
        let mut stages: Vec<Routes> = self.groups.iter().map(|&g| routes(&groups[g])).collect();
        let panel = columns::panel(&self.accesses, options);
        let mut rings: Vec<Ring> = Vec::new();
        for made in self.accesses.iter().filter(|a| a.writes) {
            let place = |a: &Access<'_>| columns::in_panel(made.layout, a.layout, panel);
            let Some(ring) = columns::ring(made.layout) else {
                continue;
            };
            let held: usize = rings
                .iter()
                .chain([&ring])
                .map(|r| r.pitch * r.pieces)
                .sum();
            if held * panel > options.sweep_planes {
                break;
            }
            let Some(users) = self.ring_users(groups, slots, made, &place) else {
                continue;
            };
            for (user, found) in users {
                *stages[user.stage].route_mut(&user) = Route::Ring {
                    ring: rings.len(),
                    row: found.row,
                    offset: found.offset,
                    strides: found.strides,
                };
            }
            rings.push(ring);
        }
        let (blocks, touches) = columns::blocks(&self.accesses, &mut stages);
        let rows = vec![(columns, 0); self.groups.len()];
        Sweep {
            groups: self.groups.clone(),
            schedule: schedule(&rows, &self.links, &touches, blocks.len()),
            stages,
            rings,
            blocks,
            panel: Some(panel),
        }
    }

    /// The outputs that need no memory: their access and the pitch of their ring. Sets the routes.
    fn rings(
        &self,
        groups: &[Group],
        slots: &dyn Slots,
        stages: &mut [Routes],
    ) -> Vec<(usize, usize)> {
        let mut rings = Vec::new();
        for (number, made) in self.accesses.iter().enumerate().filter(|(_, a)| a.writes) {
            let place = |a: &Access<'_>| packed(made.layout, a.layout);
            let Some(users) = self.ring_users(groups, slots, made, &place) else {
                continue;
            };
            let pitch = ring_pitch(made.layout);
            for (user, mut found) in users {
                if let Some(first) = found.strides.first_mut() {
                    *first = pitch.cast_signed();
                }
                *stages[user.stage].route_mut(&user) = Route::Ring {
                    ring: rings.len(),
                    row: found.row,
                    offset: found.offset,
                    strides: found.strides,
                };
            }
            rings.push((number, pitch));
        }
        rings
    }

    /// An output and the stages that read it, if they are all who ever do, and where each has its elements in
    /// a ring.
    fn ring_users(
        &self,
        groups: &[Group],
        slots: &dyn Slots,
        made: &Access<'a>,
        place: &dyn Fn(&Access<'a>) -> Option<rows::Packed>,
    ) -> Option<Vec<(Access<'a>, rows::Packed)>> {
        let outside = |(place, group): (usize, &Group)| {
            let later = place > self.groups[made.stage] && !self.groups.contains(&place);
            later && reads(group, made.slot)
        };
        let writers = self.accesses.iter();
        let writers = writers.filter(|a| a.writes && a.slot == made.slot);
        if slots.is_live(made.slot) || writers.count() > 1 || groups.iter().enumerate().any(outside)
        {
            return None;
        }
        let later = self.accesses.iter().filter(|a| conflict(made, a));
        let later = later.filter(|a| a.stage > made.stage);
        let users = std::iter::once(made).chain(later);
        users.map(|a| Some((*a, place(a)?))).collect()
    }

    /// The blocks that are written, and who touches which of their rows. Sets the routes. `None` when
    /// the rows of a block are not those of all stages.
    fn blocks(
        &self,
        rings: &[(usize, usize)],
        stages: &mut [Routes],
    ) -> Option<(Vec<Block>, Vec<Touch>)> {
        let (mut blocks, mut touches): (Vec<Block>, Vec<Touch>) = (Vec::new(), Vec::new());
        let is_ring = |number: usize| rings.iter().any(|&(access, _)| access == number);
        let in_memory = |(number, access): &(usize, &Access<'_>)| {
            !is_ring(*number) && *stages[access.stage].route(access) == Route::Direct
        };
        let all: Vec<Access<'_>> = self
            .accesses
            .iter()
            .enumerate()
            .filter(in_memory)
            .map(|(_, a)| *a)
            .collect();
        // The result of a fold over everything has no rows; nobody else touches it.
        let has_rows = |a: &&Access<'_>| a.writes && rows::pitch(a.layout).is_some();
        for made in all.iter().filter(has_rows) {
            if blocks.iter().any(|b| b.slot == made.slot) {
                continue;
            }
            let written = || all.iter().filter(|a| a.writes && a.slot == made.slot);
            let touching: Vec<&Access<'_>> = all
                .iter()
                .filter(|a| a.slot == made.slot && (a.writes || written().any(|w| conflict(w, a))))
                .collect();
            let block = block_of(made, &touching)?;
            for access in touching {
                let start = access.layout.offset + rows::extent(access.layout).0;
                let row = (start - block.origin).div_euclid(block.pitch);
                *stages[access.stage].route_mut(access) = Route::Block {
                    block: blocks.len(),
                    row,
                };
                touches.push(Touch {
                    stage: access.stage,
                    block: blocks.len(),
                    row,
                    writes: access.writes,
                });
            }
            blocks.push(block);
        }
        Some((blocks, touches))
    }
}

/// Bytes from row to row of a ring: rows of some length start on lines of their own, and not all on the
/// same sets of the cache.
fn ring_pitch(value: &Layout) -> usize {
    let bytes = packed_bytes(value);
    if bytes < 1024 {
        bytes
    } else {
        bytes.next_multiple_of(64) + 64
    }
}

/// The rows of a block that all its views step through. `None` when there are none.
fn block_of(made: &Access<'_>, touching: &[&Access<'_>]) -> Option<Block> {
    let pitch = rows::pitch(made.layout)?;
    let ranges = touching.iter().map(|a| {
        let (low, high) = rows::extent(a.layout);
        (a.layout.offset + low, a.layout.offset + high)
    });
    let ranges: Vec<(isize, isize)> = ranges.collect();
    let lowest = ranges.iter().map(|r| r.0).min()?;
    if touching
        .iter()
        .any(|a| rows::pitch(a.layout) != Some(pitch))
    {
        return None;
    }
    let within = |origin: isize| {
        let column = |at: isize| (at - origin).rem_euclid(pitch);
        let mut columns = (isize::MAX, isize::MIN);
        for &(low, high) in &ranges {
            let end = column(low) + (high - low);
            if end > pitch {
                return None;
            }
            columns = (columns.0.min(column(low)), columns.1.max(end));
        }
        Some((origin, columns))
    };
    let (origin, columns) = within(0).or_else(|| within(lowest))?;
    let hulls = touching.iter().map(|a| a.layout.byte_range());
    let bytes = hulls.fold((isize::MAX, isize::MIN), |all, hull| {
        (all.0.min(hull.0), all.1.max(hull.1))
    });
    Some(Block {
        slot: made.slot,
        origin,
        pitch,
        columns,
        bytes,
    })
}

fn width(block: &Block) -> usize {
    (block.columns.1 - block.columns.0).unsigned_abs()
}

/// True when the sweep saves enough. Over columns, lines of results are written piece by piece and read before, where whole
/// rows go around the caches: what is written counts against what is saved, and an eighth more, so that a tie is none.
fn pays(plan: &Sweep, groups: &[Group], options: &Options) -> bool {
    let saved = saved(plan, groups);
    let Some(panel) = plan.panel else {
        return saved >= options.sweep_least;
    };
    let stages = || plan.groups.iter().map(|&place| &groups[place]);
    let written = stages().enumerate().flat_map(|(stage, group)| {
        accesses(group, stage).filter(move |access| {
            let memory = !matches!(plan.stages[stage].route(access), Route::Ring { .. });
            access.writes && memory && access.layout.shape.len() == 2
        })
    });
    let written = written.map(|a| a.layout.len() * a.layout.dtype.size());
    let written = written.sum::<usize>();
    columns::calls_pay(stages(), panel) && saved >= options.sweep_least + written + written / 8
}

/// Bytes that do not pass through memory thanks to the sweep: rings, and what several stages touch.
fn saved(plan: &Sweep, groups: &[Group]) -> usize {
    let rings = plan.rings.iter().enumerate().map(|(number, ring)| {
        let here = |route: &Route| matches!(route, Route::Ring { ring, .. } if *ring == number);
        let uses = plan.stages.iter().zip(&plan.schedule.stages);
        let uses = uses.filter(|(s, _)| s.ins.iter().chain(&s.outs).any(here));
        uses.map(|(_, timing)| timing.rows * ring.pitch * ring.pieces)
            .sum::<usize>()
    });
    let mut seen: Vec<(SlotId, usize, usize)> = Vec::new();
    let mut shared = 0;
    for (stage, &place) in plan.groups.iter().enumerate() {
        for access in accesses(&groups[place], stage) {
            if matches!(plan.stages[stage].route(&access), Route::Ring { .. }) {
                continue;
            }
            let bytes = access.layout.len() * access.layout.dtype.size();
            match seen.iter_mut().find(|(slot, ..)| *slot == access.slot) {
                Some((_, last, _)) if *last == stage => {}
                Some((_, last, known)) => {
                    *last = stage;
                    shared += bytes.min(*known);
                }
                None => seen.push((access.slot, stage, bytes)),
            }
        }
    }
    rings.sum::<usize>() + shared
}
