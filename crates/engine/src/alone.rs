//! Lines of the program that want each of their results at once, and what is done for them.
//!
//! Recording pays when operations meet in one kernel. A line whose result is looked at before anything
//! else is recorded gains nothing and pays for a hidden block and for moving its pages. Each place counts
//! how often its operation ran alone, for the sake of its own result; so do those that fill one array part by
//! part, from other arrays. From some count on its operations run when they are called, into memory that the
//! program has already. Now and then one is recorded all the same, and a single time that it meets another
//! operation makes the place lazy again.
//!
//! So it is with the last operation of an expression, such as the addition in `a * 2 + 1`, whose result is looked at
//! before anything else is recorded: it runs when it is called, with those before it, whose results are put off.
//!
//! Where such an expression is short, a cache holds its results, and what it reads is new each time, as in
//! `a = a * 2 + 1`, the barriers for what it reads cost more than passes over a cache: its operations run one by one.
//! So do those before a write to memory that the program sees, as in `a[1:] = np.roll(a, 1)[1:]`, and those of lists of
//! a few more operations where results are kept, for which pages move: `z *= z; z += c; abs(z) < 2`, or `z = z*z + c`.
//!
//! Many small copies into one array, such as `rows[i] = row` in a loop, are dearer to record than to do, whatever comes
//! after them: their places run at once too.

use crate::engine::unknown;
use crate::put_off;
use crate::table::{Home, Table, accesses, outs};
use crate::wanted::Wanted;
use crate::{Engine, EngineError};
use arrayloom_fuse::split;
use arrayloom_ir::{Action, Node, SlotId};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Places with counts of their own; numbers above share one with a number below.
const PLACES: usize = 1 << 16;
/// Numbers below this name no line.
const NOWHERE: u32 = 16;
/// Times alone after which a place is known.
const KNOWN: u8 = 4;
/// The count at which a known place is recorded again, to see.
const LOOK_AGAIN: u8 = KNOWN + 128;

/// The most operations of an expression that run one by one.
const SHORT: usize = 2;
/// The most operations of other lists that do.
const FEW: usize = 6;
/// So many small copies of one place into one array are a loop.
const LOOP: usize = 8;
/// For each barrier that is spared, so many passing results may be written and read once more.
const PASSING: usize = 2;
/// How many times as large as the least lazy array one may be that the processor's second cache holds.
pub const IN_CACHE: usize = 4;
/// As [`IN_CACHE`], of the cache that all processors share.
pub const IN_SHARED_CACHE: usize = 16;

/// How often places did what they are counted for.
struct Counts(Box<[AtomicU8]>);

impl Counts {
    fn new() -> Counts {
        let counts = std::iter::repeat_with(AtomicU8::default).take(PLACES);
        Counts(counts.collect())
    }

    fn of(&self, site: u32) -> Option<&AtomicU8> {
        (site >= NOWHERE).then(|| &self.0[site as usize % PLACES])
    }

    /// Counts a place, or begins anew with it.
    fn note(&self, site: u32, did: bool) {
        match self.of(site) {
            Some(count) if did => {
                let _known = count.fetch_update(Relaxed, Relaxed, |n| (n < KNOWN).then_some(n + 1));
            }
            Some(count) => count.store(0, Relaxed),
            None => {}
        }
    }

    /// True for a place that is known. Asked for every operation, so it changes nothing and takes no lock.
    fn knows(&self, site: u32) -> bool {
        self.of(site).is_some_and(|n| n.load(Relaxed) >= KNOWN)
    }

    /// True if the next operation of this place had better run at once, which counts.
    fn expects(&self, site: u32) -> bool {
        let Some(count) = self.of(site) else {
            return false;
        };
        match count.load(Relaxed) {
            0..KNOWN => false,
            LOOK_AGAIN.. => {
                count.store(KNOWN - 1, Relaxed);
                false
            }
            n => {
                count.store(n + 1, Relaxed);
                true
            }
        }
    }
}

/// What is known of every place.
pub(crate) struct Alone {
    /// Operations that ran alone.
    lone: Counts,
    /// Operations that ended a list whose other results were gone.
    last: Counts,
    /// Operations of such lists that had better run one by one.
    separate: Counts,
    /// The same of lists of which several results are kept, such as arrays that they update.
    few: Counts,
}

/// A list that runs for the sake of `wanted`, if one slot is waited for.
pub(crate) struct Ran<'a> {
    pub(crate) list: &'a [Node],
    pub(crate) wanted: Option<SlotId>,
    /// Its last operation writes to memory that the program sees, so the list had to run.
    pub(crate) seen: bool,
    /// Barriers that it cost: for what it reads, and for what it updates, which was hidden from the program.
    pub(crate) barriers: usize,
    /// What holds each of its results.
    pub(crate) cache: Option<Cache>,
    /// The bytes of the least lazy array.
    pub(crate) least: usize,
}

/// The smallest cache that holds an array.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cache {
    /// The processor's second one.
    Second,
    /// The one that all processors share.
    Shared,
}

impl Alone {
    pub(crate) fn new() -> Alone {
        Alone {
            lone: Counts::new(),
            last: Counts::new(),
            separate: Counts::new(),
            few: Counts::new(),
        }
    }

    /// Learns from a list.
    pub(crate) fn learn(&self, ran: &Ran<'_>, is_live: impl Fn(SlotId) -> bool) {
        let &Ran {
            list,
            wanted,
            seen,
            barriers,
            cache,
            least,
        } = ran;
        let meets = |node: &Node| !wanted.is_some_and(|wanted| fills(node, wanted));
        let company = list.iter().any(meets);
        if company && list.len() == 1 {
            return;
        }
        let looped = looped(list, least);
        for node in list {
            let in_loop = looped.contains(&node.outs[0].0) && is_piece(node, least);
            self.lone.note(node.site, !company || in_loop);
        }
        let Some((last, before)) = list.split_last().filter(|_| company) else {
            return;
        };
        let gone = |node: &Node| node.outs.iter().all(|(slot, _)| !is_live(*slot));
        let ends = !meets(last) && before.iter().all(gone);
        for node in before {
            self.last.note(node.site, false);
        }
        self.last.note(last.site, ends);
        let places = 1 + list
            .windows(2)
            .filter(|two| two[0].site != two[1].site)
            .count();
        let short = ends && list.len() <= SHORT || seen && places <= SHORT;
        let passing = list.iter().filter(|node| gone(node)).count();
        let few = list.len() <= FEW
            && passing <= PASSING * barriers
            && !ends
            && wanted.is_some_and(|wanted| makes(last, wanted));
        let spares = barriers > 0;
        let separate = short && spares && cache == Some(Cache::Second);
        let few = few && spares && cache.is_some();
        for node in list {
            self.separate.note(node.site, separate);
            self.few.note(node.site, few);
        }
    }
}

/// True if the operation writes values to `wanted` that do not depend on it.
fn fills(node: &Node, wanted: SlotId) -> bool {
    let writes = matches!(node.action, Action::Map(_) | Action::Gather) && node.outs[0].0 == wanted;
    writes && accesses(node).all(|(slot, is_write)| is_write || slot != wanted)
}

/// True for a copy into a part of an array, or into a small one.
fn is_piece(node: &Node, least: usize) -> bool {
    let Action::Map(op) = node.action else {
        return false;
    };
    let (_, layout) = &node.outs[0];
    let points: usize = layout.shape.iter().product();
    op.name == "_copy" && points * layout.dtype.size() < least
}

/// The arrays that a loop fills piece by piece.
fn looped(list: &[Node], least: usize) -> SmallVec<[SlotId; 2]> {
    let mut found = SmallVec::new();
    if list.len() < LOOP {
        return found;
    }
    let mut counts: BTreeMap<(SlotId, u32), usize> = BTreeMap::new();
    for node in list.iter().filter(|node| is_piece(node, least)) {
        let slot = node.outs[0].0;
        let count = counts.entry((slot, node.site)).or_default();
        *count += 1;
        if *count == LOOP && !found.contains(&slot) {
            found.push(slot);
        }
    }
    found
}

/// True if it is a result of the operation.
fn makes(node: &Node, wanted: SlotId) -> bool {
    node.outs.iter().any(|(slot, _)| *slot == wanted)
}

impl Engine {
    /// True if an operation of this place, of computed values into an array of so many bytes, had better run at
    /// once: then [`Engine::run_now`] takes it, and its results need memory.
    pub fn runs_at_once(&self, site: u32, nbytes: usize) -> bool {
        let Alone {
            lone,
            separate,
            few,
            ..
        } = &self.alone;
        let counts = if lone.knows(site) {
            lone
        } else if separate.knows(site) && self.is_in_cache(nbytes) {
            separate
        } else if few.knows(site) && self.cache_of(nbytes).is_some() {
            few
        } else {
            return false;
        };
        self.learns() && self.is_idle() && counts.expects(site)
    }

    /// True if an operation of this place into a new array had better run at once, with the recorded operations that
    /// make these operands, which nobody else will want: then [`Engine::run_end`] takes it, and its results need
    /// memory.
    pub fn ends_at_once(&self, site: u32, operands: &[SlotId]) -> bool {
        let Some(guard) = self.guard().filter(|_| self.learns() && self.fuses()) else {
            return false;
        };
        if !self.alone.last.knows(site) {
            return false;
        }
        let table = self.table();
        // One by one they would be quicker: that is learned from a list that runs as a whole.
        let separate = table.barriers > 0
            && table.list.len() < SHORT
            && outs(&table.list).all(|slot| {
                table
                    .get(slot)
                    .is_some_and(|entry| self.is_in_cache(entry.nbytes))
            });
        !separate && put_off::is_for(&table, guard, operands) && self.alone.last.expects(site)
    }

    /// True if the processor's second cache holds so many bytes.
    pub(crate) fn is_in_cache(&self, nbytes: usize) -> bool {
        self.cache_of(nbytes) == Some(Cache::Second)
    }

    /// The smallest cache that holds so many bytes.
    pub(crate) fn cache_of(&self, nbytes: usize) -> Option<Cache> {
        let least = self.settings.min_bytes;
        match nbytes {
            _ if nbytes < IN_CACHE * least => Some(Cache::Second),
            _ if nbytes < IN_SHARED_CACHE * least => Some(Cache::Shared),
            _ => None,
        }
    }

    fn learns(&self) -> bool {
        self.settings.learn && !self.copies_values()
    }

    /// True if nothing is recorded.
    pub fn is_idle(&self) -> bool {
        self.table().list.is_empty()
    }

    /// Runs an operation whose operands have values and whose results have memory that no recorded operation needs.
    ///
    /// # Errors
    /// As for [`Engine::record`]; after a failure the operation stays recorded.
    pub fn run_now(&self, node: Node) -> Result<(), EngineError> {
        self.take_for(&node)?;
        let turn = self.turns.take();
        let mut table = self.table();
        if !table.list.is_empty() {
            drop(table);
            drop(turn);
            self.record(node)?;
            return self.flush();
        }
        push(&mut table, node)?;
        drop(table);
        self.run_list(Wanted::All)
    }

    /// Runs an operation whose results have memory that no recorded operation needs, after what is recorded.
    ///
    /// # Errors
    /// As for [`Engine::record`]; after a failure the operation stays recorded.
    pub fn run_end(&self, node: Node) -> Result<(), EngineError> {
        self.take_for(&node)?;
        let _turn = self.turns.take();
        push(&mut self.table(), node)?;
        self.run_list(Wanted::End)
    }
}

/// Appends an operation that runs next.
fn push(table: &mut Table, node: Node) -> Result<(), EngineError> {
    for (slot, is_write) in accesses(&node) {
        match table.get_mut(slot) {
            Some(entry) => {
                entry.check_there()?;
                entry.fresh &= !is_write;
            }
            None => return Err(unknown(slot)),
        }
    }
    table.note(&node);
    let parts = split(node, &mut |bytes| table.add(Home::Internal, bytes, false));
    for part in parts {
        table.count(&part);
        table.list.push(part);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrayloom_ir::{LoopSig, Operand, ops};
    use arrayloom_types::{DType, Layout};
    use smallvec::smallvec;

    /// Bytes of the least lazy array: more than any of [`node`].
    const LEAST: usize = 64;

    fn node(site: u32, out: u32) -> Node {
        let layout = Layout::contiguous(DType::F64, &[4]);
        Node {
            action: Action::Map(ops::find("negative").unwrap()),
            sig: LoopSig {
                ins: smallvec![DType::F64],
                outs: smallvec![DType::F64],
            },
            outs: smallvec![(SlotId(out), layout)],
            ins: smallvec![],
            mask: None,
            site,
            told: false,
            part: false,
        }
    }

    /// Learns from a list of which slots below 100 are gone.
    fn learn(alone: &Alone, list: &[Node], wanted: Option<SlotId>) {
        learn_with(alone, list, wanted, 0);
    }

    fn learn_with(alone: &Alone, list: &[Node], wanted: Option<SlotId>, barriers: usize) {
        let ran = Ran {
            list,
            wanted,
            seen: false,
            barriers,
            cache: Some(Cache::Second),
            least: LEAST,
        };
        alone.learn(&ran, |slot| slot.0 >= 100);
    }

    #[test]
    fn a_place_is_known_after_some_times_alone() {
        let alone = Alone::new();
        for _ in 0..KNOWN {
            assert!(!alone.lone.expects(20));
            learn(&alone, &[node(20, 1)], Some(SlotId(1)));
        }
        assert!(alone.lone.expects(20));
        assert!(
            alone.lone.knows(20) && !alone.lone.knows(21),
            "another place"
        );
    }

    #[test]
    fn other_reasons_to_run_teach_nothing() {
        let alone = Alone::new();
        for _ in 0..20 {
            learn(&alone, &[node(20, 1)], None);
            learn(&alone, &[node(20, 1)], Some(SlotId(2)));
            learn(&alone, &[node(3, 1)], Some(SlotId(1)));
        }
        assert!(!alone.lone.expects(20));
        assert!(!alone.lone.expects(3), "no line");
    }

    #[test]
    fn company_once_makes_a_place_lazy_again() {
        let alone = Alone::new();
        (0..9).for_each(|_| learn(&alone, &[node(20, 1)], Some(SlotId(1))));
        learn(&alone, &[node(20, 1), node(30, 2)], Some(SlotId(2)));
        assert!(!alone.lone.expects(20));
    }

    #[test]
    fn a_known_place_is_looked_at_again() {
        let alone = Alone::new();
        (0..9).for_each(|_| learn(&alone, &[node(20, 1)], Some(SlotId(1))));
        let at_once = (0..200).take_while(|_| alone.lone.expects(20)).count();
        assert_eq!(at_once, usize::from(LOOK_AGAIN - KNOWN));
        assert!(!alone.lone.expects(20), "recorded, and not yet seen again");
        learn(&alone, &[node(20, 1)], Some(SlotId(1)));
        assert!(alone.lone.expects(20));
    }

    #[test]
    fn an_operation_that_ends_expressions_is_known() {
        let alone = Alone::new();
        for _ in 0..KNOWN {
            assert!(!alone.last.expects(30));
            learn(&alone, &[node(20, 1), node(30, 100)], Some(SlotId(100)));
        }
        assert!(alone.last.expects(30));
        assert!(!alone.last.knows(20) && !alone.lone.knows(30));
        learn(
            &alone,
            &[node(20, 1), node(30, 2), node(40, 100)],
            Some(SlotId(100)),
        );
        assert!(!alone.last.knows(30), "an operation follows");
    }

    #[test]
    fn an_expression_whose_parts_are_kept_does_not_end() {
        let alone = Alone::new();
        for _ in 0..20 {
            learn(&alone, &[node(20, 101), node(30, 100)], Some(SlotId(100)));
            learn(&alone, &[node(20, 1), node(40, 100)], None);
        }
        assert!(!alone.last.knows(30) && !alone.last.knows(40));
    }

    #[test]
    fn operations_of_two_lines_before_a_write_that_is_seen_are_separate() {
        let alone = Alone::new();
        let rolled = [node(20, 100), node(20, 100), node(30, 101)];
        let learn_seen = |list: &[Node], barriers| {
            let ran = Ran {
                list,
                wanted: None,
                seen: true,
                barriers,
                cache: Some(Cache::Second),
                least: LEAST,
            };
            alone.learn(&ran, |slot| slot.0 >= 100);
        };
        (0..KNOWN).for_each(|_| learn_seen(&rolled, 1));
        assert!([20, 30].iter().all(|&site| alone.separate.knows(site)));
        learn_seen(&[node(20, 100), node(40, 100), node(30, 101)], 1);
        assert!(!alone.separate.knows(20), "one pass is quicker than three");
        (0..KNOWN).for_each(|_| learn_seen(&rolled, 0));
        assert!(!alone.separate.knows(20), "no barrier is spared");
    }

    #[test]
    fn operations_with_several_results_and_barriers_are_separate() {
        let alone = Alone::new();
        let list = [node(20, 1), node(30, 100), node(40, 2), node(50, 101)];
        let learn = |list: &[Node], barriers| {
            learn_with(&alone, list, Some(SlotId(101)), barriers);
        };
        (0..9).for_each(|_| learn(&list, 0));
        assert!(!alone.few.knows(20), "no barrier is spared");
        (0..KNOWN).for_each(|_| learn(&list, 1));
        assert!([20, 30, 40, 50].iter().all(|&site| alone.few.knows(site)));
        let passing = [
            node(20, 1),
            node(25, 2),
            node(30, 100),
            node(40, 3),
            node(50, 101),
        ];
        learn(&passing, 1);
        assert!(!alone.few.knows(20), "three results pass");
        (0..KNOWN).for_each(|_| learn(&passing, 2));
        assert!(alone.few.knows(20));
        // As where `a *= b; a += c` comes before a look at `a`.
        let mut updates = [node(60, 100), node(70, 100)];
        for update in &mut updates {
            let (slot, layout) = update.outs[0].clone();
            update.ins.push(Operand::View(slot, layout));
        }
        (0..KNOWN).for_each(|_| learn_with(&alone, &updates, Some(SlotId(100)), 1));
        assert!(alone.few.knows(60));
    }

    #[test]
    fn loops_that_fill_an_array_are_known_whatever_comes_next() {
        let alone = Alone::new();
        let copy = |site| Node {
            action: Action::Map(ops::find("_copy").unwrap()),
            ..node(site, 100)
        };
        let filled = |pieces: usize| {
            let first = [node(20, 1), copy(30)];
            let rest = std::iter::repeat_n(copy(40), pieces);
            first.into_iter().chain(rest).chain([node(50, 101)])
        };
        let run = |pieces| {
            let list: Vec<_> = filled(pieces).collect();
            (0..KNOWN).for_each(|_| learn(&alone, &list, Some(SlotId(101))));
        };
        run(LOOP - 1);
        assert!(!alone.lone.knows(40), "they may be edges");
        run(LOOP);
        assert!(alone.lone.knows(40) && alone.lone.knows(30));
        assert!(!alone.lone.knows(20) && !alone.lone.knows(50));
    }

    #[test]
    fn operations_of_short_lists_with_barriers_are_separate() {
        let alone = Alone::new();
        let expression = [node(20, 1), node(30, 100)];
        for _ in 0..KNOWN {
            assert!(!alone.separate.knows(20));
            learn_with(&alone, &expression, Some(SlotId(100)), 1);
        }
        assert!([20, 30].iter().all(|&site| alone.separate.knows(site)));
        learn_with(&alone, &expression, Some(SlotId(100)), 0);
        assert!(!alone.separate.knows(20), "no barrier is spared");
        let long = [node(50, 1), node(60, 2), node(70, 100)];
        (0..9).for_each(|_| learn_with(&alone, &long, Some(SlotId(100)), 1));
        assert!(!alone.separate.knows(50), "one pass is quicker than three");
    }
}
