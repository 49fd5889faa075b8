//! Joins steps of a program: an operation whose only user is the next one is done in the same pass.

use crate::Isa;
use crate::kern::{Splat, pair};
use crate::program::{makes, reads};
use crate::step::{Lowered, Place, Step};
use arrayloom_ir::Prim;

/// Joins what can be joined. With `apart`, every pair gets a buffer for its inner result, so that it
/// can be done in two steps too, when conditions must be told apart.
pub(crate) fn join(lowered: &mut Lowered, isa: Isa, apart: bool) {
    let mut uses = vec![0; lowered.sizes.len()];
    let mut made = vec![None; lowered.sizes.len()];
    for (at, step) in lowered.steps.iter().enumerate() {
        for place in reads(step) {
            if let Place::Value(value) = place {
                uses[value] += 1;
            }
        }
        if let Some(value) = makes(step) {
            made[value] = Some(at);
        }
        if let Step::Compiled { segment } = *step {
            for &arg in &lowered.segments[segment].args {
                if let Place::Value(value) = arg {
                    uses[value] += 1;
                }
            }
        }
    }
    let mut gone = vec![false; lowered.steps.len()];
    for at in 0..lowered.steps.len() {
        let Step::Run {
            from: [x, y, _], ..
        } = lowered.steps[at]
        else {
            continue;
        };
        let inner = [(x, false), (y, true)]
            .into_iter()
            .find_map(|(place, back)| {
                let Place::Value(value) = place else {
                    return None;
                };
                let maker = made[value].filter(|&maker| uses[value] == 1 && !gone[maker])?;
                let joined = pair_of(&lowered.steps[maker], &lowered.steps[at], back, isa)?;
                Some((maker, joined))
            });
        if let Some((maker, mut joined)) = inner {
            if apart && let Step::Pair { middle, .. } = &mut joined {
                *middle = Place::Value(lowered.sizes.len());
                lowered.sizes.push(8);
            }
            gone[maker] = true;
            lowered.steps[at] = joined;
        }
    }
    let mut gone = gone.into_iter();
    lowered.steps.retain(|_| !gone.next().unwrap_or(false));
}

/// The two steps as one, the first being the second operand of the other if `back`.
fn pair_of(first: &Step<Place>, then: &Step<Place>, back: bool, isa: Isa) -> Option<Step<Place>> {
    let (
        Step::Run {
            found: inner,
            from: [a, b, _],
            ins: inner_ins,
            ..
        },
        Step::Run {
            found: outer,
            from: [x, y, _],
            to,
            ins,
            ..
        },
    ) = (first, then)
    else {
        return None;
    };
    let (mut a, mut b) = (*a, *b);
    let (p, q) = (inner.plain?, outer.plain?);
    let one_b = match p.splat {
        Splat::No => false,
        Splat::B => true,
        Splat::A if p.prim == Prim::Sub => return None,
        Splat::A => {
            std::mem::swap(&mut a, &mut b);
            true
        }
    };
    let c = if back { *x } else { *y };
    let kern = pair(p, q, (one_b, q.splat != Splat::No), back, isa)?;
    Some(Step::Pair {
        kern,
        from: [a, b, c],
        middle: Place::None,
        to: *to,
        parts: [(*inner, *inner_ins), (*outer, *ins)],
        back,
        swapped: p.splat == Splat::A,
    })
}
