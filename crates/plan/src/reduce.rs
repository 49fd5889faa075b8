//! From the layout of an operand to the order in which NumPy adds its elements.
//!
//! NumPy's iterator sorts the axes by their steps, merges neighbours, and picks the inner axes that one
//! call of its adding loop (or one buffer) covers: the region. Source: `nditer_constr.c`.

use crate::ReduceOrder;
use arrayloom_types::Strides;
use smallvec::SmallVec;

/// Elements of NumPy's buffers unless `np.setbufsize` changed it.
pub const DEFAULT_BUFSIZE: usize = 8192;

/// Which generation of NumPy sets the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SumRules {
    /// NumPy 2.3 and later: operands that need no buffer are added in one piece.
    #[default]
    Since2_3,
    /// Older: the folded inner axes are added in pieces of one buffer, whatever the steps.
    Before2_3,
}

/// What decides the order of a fold.
#[derive(Clone, Copy, Debug)]
pub struct ReduceFacts<'a> {
    /// Extents of the operand.
    pub shape: &'a [usize],
    /// Steps of the operand in bytes, as NumPy would see it.
    pub in_strides: &'a [isize],
    /// Steps of the result in bytes, with the rank of the operand; those on folded axes do not count.
    pub out_strides: &'a [isize],
    /// The folded axes, bit `i` for axis `i`.
    pub reduced: u32,
    /// True when NumPy converts the operand first: other dtype, swapped bytes or unaligned.
    pub cast: bool,
    /// `np.getbufsize()`.
    pub bufsize: usize,
    /// Which NumPy.
    pub rules: SumRules,
}

impl ReduceFacts<'_> {
    fn is_reduced(&self, axis: usize) -> bool {
        self.reduced >> axis & 1 == 1
    }
}

/// Neighbouring axes seen as one: extent, steps, and how many axes they were.
#[derive(Clone, Copy, Debug)]
struct Axis {
    extent: usize,
    input: isize,
    output: isize,
    axes: u8,
}

impl Axis {
    /// The steps that continue this axis without a break.
    fn next_input(&self) -> isize {
        self.input * self.extent.cast_signed()
    }

    fn next_output(&self) -> isize {
        self.output * self.extent.cast_signed()
    }
}

/// The inner axes that NumPy handles at a time.
#[derive(Clone, Copy, Debug)]
struct Region {
    /// Its outermost axis.
    last: usize,
    cost: usize,
    size: usize,
    /// Elements of all its axes but the outermost.
    core: usize,
    /// The outermost axis changes between folded and kept, so one call covers the core only.
    double: bool,
}

/// The order in which NumPy folds an operand.
///
/// `in_strides` and `out_strides` must have one step for each axis.
pub fn reduce_order(facts: &ReduceFacts<'_>) -> ReduceOrder {
    debug_assert_eq!(
        facts.shape.len(),
        facts.in_strides.len(),
        "one step an axis"
    );
    debug_assert_eq!(
        facts.shape.len(),
        facts.out_strides.len(),
        "one step an axis"
    );
    let order = axis_order(facts);
    let mut axes: SmallVec<[u8; 4]> = order.iter().map(|&axis| small(axis)).collect();
    axes.extend(
        (0..facts.shape.len())
            .filter(|&a| facts.shape[a] == 1)
            .map(small),
    );
    let merged = merge(facts, &order);
    let (stream, piece) = if facts.shape.contains(&0) || merged.is_empty() {
        (0, 1)
    } else {
        run(facts, &merged)
    };
    ReduceOrder {
        axes,
        stream,
        piece,
    }
}

/// The steps of NumPy's new result of a fold: rank of the operand, extent one and step zero on folded
/// axes, the others packed in the order of the operand's steps.
pub fn reduce_strides(
    shape: &[usize],
    in_strides: &[isize],
    reduced: u32,
    item_size: usize,
) -> Strides {
    let mut strides = Strides::from_elem(0, shape.len());
    let mut step = item_size.cast_signed();
    for axis in sorted(shape, &[in_strides]) {
        if reduced >> axis & 1 == 0 {
            strides[axis] = step;
            step *= shape[axis].max(1).cast_signed();
        }
    }
    strides
}

/// How many axes make one run, and the size of its pieces.
fn run(facts: &ReduceFacts<'_>, merged: &[Axis]) -> (u8, usize) {
    if merged[0].output != 0 {
        return (0, 1);
    }
    let axes = |n: usize| merged[..n].iter().map(|a| a.axes).sum();
    if facts.rules == SumRules::Before2_3 {
        let folded = merged.iter().take_while(|a| a.output == 0).count();
        return (axes(folded), facts.bufsize);
    }
    let region = region(merged, facts.cast, facts.bufsize);
    if region.double {
        return (axes(region.last), region.core);
    }
    let broken = merged[..=region.last]
        .windows(2)
        .any(|w| w[0].next_input() != w[1].input);
    let fill = if (facts.cast || broken) && region.size > facts.bufsize {
        region.core * (facts.bufsize / region.core)
    } else {
        region.size
    };
    (axes(region.last + 1), fill.max(1))
}

/// Picks the region with the best ratio of elements to operands that need a buffer.
fn region(merged: &[Axis], cast: bool, bufsize: usize) -> Region {
    let mut cost = if cast { 2 } else { 1 };
    let mut size = merged[0].extent;
    let mut best = Region {
        last: 0,
        cost,
        size,
        core: 1,
        double: false,
    };
    let (mut input_broken, mut output_broken) = (false, false);
    for j in 1..merged.len() {
        if size >= bufsize && cost > 1 {
            break;
        }
        let (inner, outer) = (&merged[j - 1], &merged[j]);
        if !output_broken && inner.next_output() != outer.output {
            output_broken = true;
            cost += 1;
        }
        if !input_broken && inner.next_input() != outer.input {
            input_broken = true;
            cost += usize::from(!cast);
        }
        let double = output_broken && (inner.output == 0 || outer.output == 0);
        let core = size;
        size *= outer.extent;
        let reach = if cost > 1 { size.min(bufsize) } else { size };
        if cost * best.size <= best.cost * reach {
            best = Region {
                last: j,
                cost,
                size,
                core,
                double,
            };
        }
        if double {
            break;
        }
    }
    best
}

/// Merges neighbours that both operands walk with one step.
fn merge(facts: &ReduceFacts<'_>, order: &[usize]) -> SmallVec<[Axis; 8]> {
    let mut merged: SmallVec<[Axis; 8]> = SmallVec::new();
    for &axis in order {
        let next = Axis {
            extent: facts.shape[axis],
            input: facts.in_strides[axis],
            output: if facts.is_reduced(axis) {
                0
            } else {
                facts.out_strides[axis]
            },
            axes: 1,
        };
        match merged.last_mut() {
            Some(last) if last.next_input() == next.input && last.next_output() == next.output => {
                last.extent *= next.extent;
                last.axes += 1;
            }
            _ => merged.push(next),
        }
    }
    merged
}

/// The axes of extent other than one, innermost first.
///
/// NumPy looks at the steps of the operands that are there. A result that NumPy would lay out itself
/// is not there yet; one that the caller gave is.
fn axis_order(facts: &ReduceFacts<'_>) -> SmallVec<[usize; 8]> {
    let order = sorted(facts.shape, &[facts.in_strides]);
    let kept = order.iter().filter(|&&axis| !facts.is_reduced(axis));
    let mut packed = true;
    let mut step = None;
    for &axis in kept {
        let own = facts.out_strides[axis];
        packed &= step.is_none_or(|s| s == own) && own > 0;
        step = Some(own * facts.shape[axis].cast_signed());
    }
    if packed {
        return order;
    }
    let mut output: SmallVec<[isize; 8]> = facts.out_strides.into();
    for (axis, step) in output.iter_mut().enumerate() {
        if facts.is_reduced(axis) {
            *step = 0;
        }
    }
    sorted(facts.shape, &[&output, facts.in_strides])
}

/// NumPy's insertion sort of the axes by their steps, smallest first, equal ones in C order.
fn sorted(shape: &[usize], operands: &[&[isize]]) -> SmallVec<[usize; 8]> {
    let mut order: SmallVec<[usize; 8]> =
        (0..shape.len()).rev().filter(|&a| shape[a] != 1).collect();
    for i in 1..order.len() {
        let axis = order[i];
        let mut place = i;
        for j in (0..i).rev() {
            match further_in(operands, axis, order[j]) {
                Some(true) => place = j,
                Some(false) => break,
                None => {}
            }
        }
        order[place..=i].rotate_right(1);
    }
    order
}

/// Whether `axis` belongs further in than `other`; `None` when no operand tells.
fn further_in(operands: &[&[isize]], axis: usize, other: usize) -> Option<bool> {
    let mut answer = None;
    for steps in operands {
        let (a, b) = (steps[axis].unsigned_abs(), steps[other].unsigned_abs());
        if a != 0 && b != 0 {
            answer = Some(a < b && answer.unwrap_or(true));
        }
    }
    answer
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "arrays have at most 64 axes"
)]
fn small(axis: usize) -> u8 {
    axis as u8
}
