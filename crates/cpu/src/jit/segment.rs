//! Cutting the steps of a program into segments that are compiled.
//!
//! The compiled steps of one phase (see `phases`) are one segment; if they need more registers than there
//! are, it is cut in two, which exchange tiles.

use super::phases::{Phases, makes, values};
use super::replay::{Move, Replay, Spot};
use super::ssa::{Code, Node, Source, Store, Ty, splats};
use super::streams::Streams;
use super::{Function, Jit};
use crate::Isa;
use crate::isa::ahead;
use crate::nest::Nest;
use crate::step::{Lowered, Place, Step, Verb};
use arrayloom_ir::{Arity, Prim};
use arrayloom_types::DType;
use std::sync::Arc;

/// A compiled segment; `P` as in [`Step`].
#[derive(Clone, Debug)]
pub(crate) struct Segment<P> {
    pub(crate) function: Arc<Function>,
    /// The same with stores around the caches, for when [`Streams`] can start on lines together.
    pub(crate) around: Option<Arc<Function>>,
    /// What is written around the caches.
    pub(crate) streams: Streams,
    pub(crate) args: Vec<P>,
    pub(crate) replay: Replay,
}

/// Bytes of an operand that no level-2 cache holds.
const LARGE: usize = 1 << 20;
/// Bytes that stay in a level-2 cache while more of the same operand is read.
const KEPT: usize = 256 << 10;

/// Bytes between lanes beyond which neither matters to the other's code, in loops over so many points.
pub(crate) fn nearness(points: usize) -> isize {
    let most = size_of::<[f64; 2]>();
    if points.saturating_mul(most) < LARGE {
        0
    } else {
        KEPT.cast_signed()
    }
}

/// What cutting depends on.
#[derive(Clone, Copy)]
pub(crate) struct Cutter<'a> {
    pub(crate) jit: &'a Jit,
    pub(crate) isa: Isa,
    pub(crate) nest: &'a Nest,
    pub(crate) span: bool,
    /// Conditions are asked for.
    pub(crate) flags: bool,
    /// Only functions that are known already.
    pub(crate) known: bool,
}

/// Replaces steps by compiled segments where that is possible.
pub(crate) fn cut(lowered: &mut Lowered, cutter: Cutter<'_>) {
    if cutter.isa == Isa::Baseline || !cutter.jit.works() {
        return;
    }
    let phases = Phases::of(lowered, &cutter);
    if !phases.compiled.contains(&true) {
        return;
    }
    let last = phases.number.iter().copied().max().unwrap_or(0);
    let old = std::mem::take(&mut lowered.steps);
    let mut out = Vec::with_capacity(old.len());
    let mut gone = phases.absorbed.clone();
    for phase in 0..=last {
        let here: Vec<usize> = (0..old.len())
            .filter(|&at| phases.compiled[at] && phases.number[at] == phase)
            .collect();
        let mut builder = Builder {
            cutter: &cutter,
            lowered,
            old: &old,
            phases: &phases,
            gone: &mut gone,
            late: !cutter.flags && phases.nothing_reads_after(&old, phase),
        };
        builder.build(&here, &mut out);
        for at in (0..old.len()).filter(|&at| !phases.compiled[at] && phases.number[at] == phase) {
            if !gone[at] {
                out.push(old[at]);
            }
        }
    }
    lowered.steps = out;
}

/// Builds the segments of one phase.
struct Builder<'a> {
    cutter: &'a Cutter<'a>,
    lowered: &'a mut Lowered,
    old: &'a [Step<Place>],
    phases: &'a Phases,
    /// Steps that are part of another, or of no use any more.
    gone: &'a mut Vec<bool>,
    /// Stores on top of inputs may be part of a segment.
    late: bool,
}

/// A segment in the making.
struct Draft {
    code: Code,
    args: Vec<Place>,
    replay: Replay,
    /// Values made here, by their numbers in the code and their spots in the replay.
    made: Vec<(usize, usize, Spot)>,
    /// Stores that become part of it.
    stored: Vec<usize>,
}

impl Draft {
    fn arg(&mut self, place: Place, size: usize) -> usize {
        let known = self.args.iter().position(|&arg| arg == place);
        let arg = known.unwrap_or_else(|| {
            self.args.push(place);
            self.replay.sizes.push(0);
            self.args.len() - 1
        });
        self.replay.sizes[arg] = self.replay.sizes[arg].max(size);
        arg
    }

    fn scratch(&mut self) -> Spot {
        self.replay.scratches += 1;
        Spot::Scratch(self.replay.scratches - 1)
    }

    fn made(&self, value: usize) -> Option<(usize, Spot)> {
        let made = self.made.iter().find(|made| made.0 == value)?;
        Some((made.1, made.2))
    }
}

impl Builder<'_> {
    /// Compiles the steps `here`, in several parts if need be; those that cannot be stay as they are.
    fn build(&mut self, here: &[usize], out: &mut Vec<Step<Place>>) {
        if here.is_empty() {
            return;
        }
        if let Some((segment, stored)) = self.segment(here) {
            for at in stored {
                self.gone[at] = true;
            }
            out.push(Step::Compiled {
                segment: self.lowered.segments.len(),
            });
            self.lowered.segments.push(segment);
            return;
        }
        if here.len() > 1 && !self.cutter.known && self.cutter.jit.works() {
            self.late = false;
            let (first, rest) = here.split_at(here.len() / 2);
            self.build(first, out);
            self.build(rest, out);
            return;
        }
        for &at in here {
            for value in values(&self.old[at]) {
                self.put_back(value, out);
            }
            out.push(self.old[at]);
        }
    }

    /// A gather whose reader is not compiled after all.
    fn put_back(&mut self, value: usize, out: &mut Vec<Step<Place>>) {
        let maker = self.phases.maker[value];
        if let Some(maker) = maker.filter(|&at| self.phases.absorbed[at] && self.gone[at]) {
            self.gone[maker] = false;
            out.push(self.old[maker]);
        }
    }

    fn segment(&self, here: &[usize]) -> Option<(Segment<Place>, Vec<usize>)> {
        let masks = self.cutter.isa == Isa::Avx512;
        let mut draft = Draft {
            code: Code {
                wide_truth: !masks,
                ..Code::default()
            },
            args: Vec::new(),
            replay: Replay::default(),
            made: Vec::new(),
            stored: Vec::new(),
        };
        for &at in here {
            self.step(&mut draft, at)?;
        }
        self.outputs(&mut draft, here);
        // Without masks, bools are as wide as the largest elements: four or eight bytes.
        if !masks && (draft.code.widest() < 4 || draft.code.has_bools_of_16_bytes()) {
            return None;
        }
        draft.code.ahead = self.ahead(&draft);
        let (jit, isa, known) = (self.cutter.jit, self.cutter.isa, self.cutter.known);
        let streams = Streams {
            args: draft.code.streams().collect(),
            lanes: super::lanes(isa, &draft.code),
            any_start: masks,
        };
        let args = draft.args.len();
        let around = if streams.args.is_empty() {
            None
        } else {
            jit.function(isa, draft.code.clone(), args, known)
        };
        for store in &mut draft.code.stores {
            store.around = false;
        }
        let function = jit.function(isa, draft.code, args, known)?;
        let segment = Segment {
            function,
            around,
            streams,
            args: draft.args,
            replay: draft.replay,
        };
        Some((segment, draft.stored))
    }

    /// Adds a step to the code and to the replay.
    fn step(&self, draft: &mut Draft, at: usize) -> Option<()> {
        let Step::Run {
            found,
            verb: Some(verb),
            from,
            to: Place::Value(to),
            ins,
        } = self.old[at]
        else {
            return None;
        };
        let count = match verb.prim.arity() {
            Arity::Leaf => return None,
            Arity::Unary => 1,
            Arity::Binary => 2,
            Arity::Ternary => 3,
        };
        let (mut operands, mut spots) = ([0; 3], [Spot::None; 3]);
        for i in 0..count {
            let single = splats(verb.splat)[i];
            let dtype = operand_dtype(verb, i);
            (operands[i], spots[i]) = self.operand(draft, from[i], dtype, single)?;
        }
        let value = draft.code.verb(verb, &operands[..count])?;
        let spot = draft.scratch();
        draft.replay.moves.push(Move::Run {
            found,
            from: spots,
            to: spot,
            ins,
        });
        draft.made.push((to, value, spot));
        Some(())
    }

    fn operand(
        &self,
        draft: &mut Draft,
        place: Place,
        dtype: DType,
        single: bool,
    ) -> Option<(usize, Spot)> {
        let (ty, size) = (Ty::of(dtype)?, dtype.size());
        let splat = |draft: &mut Draft, place| {
            let arg = draft.arg(place, 0);
            let node = Node::Splat(Source::Arg(arg));
            (draft.code.value(node, ty), arg)
        };
        let load = |draft: &mut Draft, place| {
            let arg = draft.arg(place, size);
            (draft.code.value(Node::Load(arg), ty), arg)
        };
        match place {
            Place::None => None,
            Place::Uniform(_) => {
                let (value, arg) = splat(draft, place);
                Some((value, Spot::Arg(arg)))
            }
            Place::Lane(_) if single => {
                let (value, arg) = splat(draft, place);
                Some((value, Spot::Arg(arg)))
            }
            Place::Lane(_) => {
                let (value, arg) = load(draft, place);
                Some((value, Spot::Arg(arg)))
            }
            Place::Filled(number) => {
                let uniform = self.lowered.filled[number].0;
                let (value, arg) = splat(draft, Place::Uniform(uniform));
                Some((value, bring(draft, (arg, size, true))))
            }
            Place::Value(number) => {
                if let Some(made) = draft.made(number) {
                    return Some(made);
                }
                let maker = self.phases.maker[number].filter(|&at| self.phases.absorbed[at]);
                if let Some(Step::Gather { lane, .. }) = maker.map(|at| self.old[at]) {
                    let repeated = self.cutter.nest.step(lane) == 0;
                    let (value, arg) = if repeated {
                        splat(draft, Place::Lane(lane))
                    } else {
                        load(draft, Place::Lane(lane))
                    };
                    let spot = bring(draft, (arg, size, repeated));
                    draft.made.push((number, value, spot));
                    return Some((value, spot));
                }
                let (value, arg) = load(draft, place);
                Some((value, Spot::Arg(arg)))
            }
        }
    }

    /// What leaves the segment: tiles that others read, and stores.
    fn outputs(&self, draft: &mut Draft, here: &[usize]) {
        for &at in here {
            let Some(value) = makes(&self.old[at]) else {
                continue;
            };
            let size = self.lowered.sizes[value];
            let mut tile = false;
            for &reader in &self.phases.readers[value] {
                match self.old[reader] {
                    Step::Store {
                        lane, around, late, ..
                    } if self.direct(lane, size) && (!late || self.late) => {
                        draft.stored.push(reader);
                        output(draft, value, Place::Lane(lane), (size, late, around));
                    }
                    _ => tile |= !here.contains(&reader),
                }
            }
            if tile {
                output(draft, value, Place::Value(value), (size, false, false));
            }
        }
    }

    /// The arguments that are the first to read a line. Those that walk through the same lines a little
    /// later find them in the cache.
    fn ahead(&self, draft: &Draft) -> Vec<(usize, usize)> {
        let nest = self.cutter.nest;
        let is_memory = |store: &Store| matches!(draft.args[store.arg], Place::Lane(_));
        if ahead() == 0 && !draft.code.stores.iter().any(is_memory) {
            return Vec::new();
        }
        let mut first: Vec<(usize, usize, usize)> = Vec::new();
        for value in &draft.code.values {
            let Node::Load(arg) = value.node else {
                continue;
            };
            let Place::Lane(lane) = draft.args[arg] else {
                continue;
            };
            let size = value.ty.size();
            if nest.len() * size < LARGE {
                continue;
            }
            let same = |&(_, other, _): &(usize, usize, usize)| {
                nest.bases[lane].abs_diff(nest.bases[other]) < KEPT
                    && nest.axes.iter().all(|a| a.steps[lane] == a.steps[other])
            };
            match first.iter().position(same) {
                Some(at) if nest.bases[lane] > nest.bases[first[at].1] => {
                    first[at] = (arg, lane, size);
                }
                Some(_) => {}
                None => first.push((arg, lane, size)),
            }
        }
        first.iter().map(|&(arg, _, size)| (arg, size)).collect()
    }

    /// True when elements of a lane follow one another within every tile.
    fn direct(&self, lane: usize, size: usize) -> bool {
        if self.cutter.span {
            self.cutter.nest.is_flat(lane, size)
        } else {
            self.cutter.nest.step(lane) == size.cast_signed()
        }
    }
}

fn output(draft: &mut Draft, value: usize, place: Place, how: (usize, bool, bool)) {
    let (size, late, around) = how;
    let Some((number, spot)) = draft.made(value) else {
        return;
    };
    let arg = draft.arg(place, size);
    draft.code.stores.push(Store {
        value: number,
        arg,
        late,
        around,
    });
    draft.replay.outputs.push((spot, arg, size));
}

fn bring(draft: &mut Draft, what: (usize, usize, bool)) -> Spot {
    let to = draft.scratch();
    let (arg, size, repeated) = what;
    draft.replay.moves.push(Move::Bring {
        arg,
        size,
        repeated,
        to,
    });
    to
}

fn operand_dtype(verb: Verb, i: usize) -> DType {
    match (verb.prim, i) {
        (Prim::Select, 0) => DType::Bool,
        (Prim::Select, _) => verb.to,
        (_, 0) => verb.first,
        _ => verb.second,
    }
}
