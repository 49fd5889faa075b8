//! Which steps of a program are compiled, and which of them together.
//!
//! Steps are put into phases: a step with code joins the phase of the compiled steps that it reads, one
//! without code ends a phase for those that read it.

use super::ops_fit;
use super::segment::Cutter;
use super::ssa::takes;
use crate::Isa;
use crate::step::{Lowered, Place, Step};

/// Where the steps go.
pub(super) struct Phases {
    /// Which steps are compiled.
    pub(super) compiled: Vec<bool>,
    /// Gathers that compiled steps alone use: no step of their own.
    pub(super) absorbed: Vec<bool>,
    /// The phase of each step.
    pub(super) number: Vec<usize>,
    /// Which step makes a value.
    pub(super) maker: Vec<Option<usize>>,
    /// Which steps read a value.
    pub(super) readers: Vec<Vec<usize>>,
}

/// The value that a step makes.
pub(super) fn makes(step: &Step<Place>) -> Option<usize> {
    crate::program::makes(step)
}

/// The values that a step reads.
pub(super) fn values(step: &Step<Place>) -> impl Iterator<Item = usize> {
    let places = crate::program::reads(step);
    places.into_iter().filter_map(|place| match place {
        Place::Value(value) => Some(value),
        _ => None,
    })
}

impl Phases {
    pub(super) fn of(lowered: &Lowered, cutter: &Cutter<'_>) -> Phases {
        let steps = &lowered.steps;
        let masks = cutter.isa == Isa::Avx512;
        let mut maker = vec![None; lowered.sizes.len()];
        let mut readers = vec![Vec::new(); lowered.sizes.len()];
        for (at, step) in steps.iter().enumerate() {
            if let Some(value) = makes(step) {
                maker[value] = Some(at);
            }
            for value in values(step) {
                readers[value].push(at);
            }
        }
        let compiled: Vec<bool> = steps
            .iter()
            .map(|step| match step {
                Step::Run {
                    verb: Some(verb), ..
                } => takes(*verb, !masks, |code, value| ops_fit(code, value, masks)),
                _ => false,
            })
            .collect();
        let absorbed: Vec<bool> = steps
            .iter()
            .map(|step| match *step {
                Step::Gather {
                    lane,
                    size,
                    to: Place::Value(value),
                } => {
                    let step = cutter.nest.step(lane);
                    size <= 16
                        && !cutter.span
                        && (step == 0 || step == size.cast_signed())
                        && readers[value].iter().all(|&reader| compiled[reader])
                }
                _ => false,
            })
            .collect();
        let mut number = vec![0; steps.len()];
        for (at, step) in steps.iter().enumerate() {
            let mut phase = usize::from(compiled[at]);
            for value in values(step) {
                let Some(from) = maker[value].filter(|&from| !absorbed[from]) else {
                    continue;
                };
                let after = compiled[at] && !compiled[from];
                phase = phase.max(number[from] + usize::from(after));
            }
            number[at] = phase;
        }
        // What may overwrite an input waits for all that read it.
        let last = number.iter().copied().max().unwrap_or(0);
        for (number, step) in number.iter_mut().zip(steps) {
            if let Step::Store { late: true, .. } = step {
                *number = last;
            }
        }
        Phases {
            compiled,
            absorbed,
            number,
            maker,
            readers,
        }
    }

    /// True when no step reads memory once the compiled steps of this phase have run.
    pub(super) fn nothing_reads_after(&self, steps: &[Step<Place>], phase: usize) -> bool {
        steps.iter().enumerate().all(|(at, step)| {
            let before = self.number[at] < phase;
            let same = self.compiled[at] && self.number[at] == phase;
            let only_tiles = matches!(
                step,
                Step::Store {
                    from: Place::Value(_),
                    ..
                } | Step::Fold {
                    from: Place::Value(_),
                    ..
                }
            );
            before || same || self.absorbed[at] || only_tiles
        })
    }
}
