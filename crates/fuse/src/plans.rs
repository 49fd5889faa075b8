//! Plans of lists that were planned before. A loop records the same operations each time, on other slots and with
//! other scalars: the plan of one iteration serves them all.

use crate::{Fused, Group, Options, Pass, Slots};
use arrayloom_ir::{Action, Node, Operand, SlotId};
use arrayloom_types::{DType, Layout, Scalar};
use indexmap::{IndexMap, IndexSet};
use rustc_hash::FxBuildHasher;

/// Words of all keys at most; when they are reached, all plans go.
const CAPACITY: usize = 1 << 20;

/// All that a plan depends on: the list, with slots and scalars numbered as they come, and what is known of the slots.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    words: Vec<u64>,
    options: Options,
}

/// The slots and the scalars of a list, by their numbers in its key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    slots: IndexSet<SlotId, FxBuildHasher>,
    scalars: IndexSet<Scalar, FxBuildHasher>,
}

/// The key of a list and the names that stand in it.
pub(crate) fn key(nodes: &[Node], slots: &dyn Slots, options: &Options) -> (Key, Names) {
    let mut writer = Writer::default();
    for node in nodes {
        writer.node(node);
    }
    for &slot in &writer.names.slots {
        let facts = [u64::from(slots.is_live(slot)), slots.nbytes(slot) as u64];
        writer.words.extend(facts);
    }
    let key = Key {
        words: writer.words,
        options: options.clone(),
    };
    (key, writer.names)
}

/// Writes a key. What has no fixed length comes after its length.
#[derive(Default)]
struct Writer {
    words: Vec<u64>,
    names: Names,
}

impl Writer {
    fn node(&mut self, node: &Node) {
        let flags = u64::from(node.told) | u64::from(node.part) << 1;
        self.words.push(u64::from(node.site) << 2 | flags);
        self.action(&node.action);
        self.dtypes(&node.sig.ins);
        self.dtypes(&node.sig.outs);
        self.words.push(node.outs.len() as u64);
        for (slot, layout) in &node.outs {
            self.view(*slot, layout);
        }
        self.words.push(node.ins.len() as u64);
        for operand in node.ins.iter().chain(&node.mask) {
            self.operand(operand);
        }
        self.words.push(u64::from(node.mask.is_some()));
    }

    fn action(&mut self, action: &Action) {
        match *action {
            Action::Map(row) => {
                let place = std::ptr::from_ref(row).addr();
                self.words.extend([0, place as u64]);
            }
            Action::Reduce { op, axes, initial } => {
                self.words.extend([1, op as u64, u64::from(axes)]);
                self.words.push(u64::from(initial.is_some()));
                if let Some(scalar) = initial {
                    let (low, high) = scalar.bytes.split_at(8);
                    let word = |half: &[u8]| half.iter().fold(0, |all, &b| all << 8 | u64::from(b));
                    self.words
                        .extend([scalar.dtype as u64, word(low), word(high)]);
                }
            }
            Action::Gather => self.words.push(2),
            Action::Arg { max, axes } => {
                self.words.extend([3, u64::from(max), u64::from(axes)]);
            }
            Action::Scan { op, axis } => self.words.extend([4, op as u64, u64::from(axis)]),
        }
    }

    fn dtypes(&mut self, dtypes: &[DType]) {
        self.words.push(dtypes.len() as u64);
        self.words.extend(dtypes.iter().map(|&dtype| dtype as u64));
    }

    fn operand(&mut self, operand: &Operand) {
        match operand {
            Operand::View(slot, layout) => {
                self.words.push(0);
                self.view(*slot, layout);
            }
            Operand::Scalar(scalar) => {
                let (number, _) = self.names.scalars.insert_full(*scalar);
                self.words.extend([1, scalar.dtype as u64, number as u64]);
            }
            Operand::Table(slot, table) => {
                self.words.push(2);
                self.view(*slot, &table.walk);
                self.layout(&table.whole);
            }
        }
    }

    fn view(&mut self, slot: SlotId, layout: &Layout) {
        let (number, _) = self.names.slots.insert_full(slot);
        self.words.push(number as u64);
        self.layout(layout);
    }

    fn layout(&mut self, layout: &Layout) {
        let Layout {
            dtype,
            offset,
            shape,
            strides,
        } = layout;
        let word = |step: &isize| step.cast_unsigned() as u64;
        self.words
            .extend([*dtype as u64, word(offset), shape.len() as u64]);
        self.words.extend(shape.iter().map(|&extent| extent as u64));
        self.words.extend(strides.iter().map(word));
    }
}

/// Plans by the key of their list.
#[derive(Debug)]
pub(crate) struct Plans<T> {
    known: IndexMap<Key, (Names, T), FxBuildHasher>,
    words: usize,
}

impl<T> Default for Plans<T> {
    fn default() -> Plans<T> {
        Plans {
            known: IndexMap::default(),
            words: 0,
        }
    }
}

impl<T: Clone + Rename> Plans<T> {
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    /// The plan of a list of this key, in the names of the list.
    pub(crate) fn recall(&self, key: &Key, names: &Names) -> Option<T> {
        let (old, plan) = self.known.get(key)?;
        let mut plan = plan.clone();
        plan.rename(&Renaming { old, new: names });
        Some(plan)
    }

    pub(crate) fn keep(&mut self, key: Key, names: Names, plan: &T) {
        let words = key.words.len();
        if self.words + words > CAPACITY {
            *self = Plans::default();
        }
        if words <= CAPACITY {
            self.words += words;
            self.known.insert(key, (names, plan.clone()));
        }
    }
}

/// From the names of one list to those of another with the same key.
pub(crate) struct Renaming<'a> {
    old: &'a Names,
    new: &'a Names,
}

impl Renaming<'_> {
    fn slot(&self, slot: &mut SlotId) {
        let number = self.old.slots.get_index_of(slot);
        debug_assert!(number.is_some(), "a plan names {slot:?}, its list does not");
        if let Some(&new) = number.and_then(|number| self.new.slots.get_index(number)) {
            *slot = new;
        }
    }

    fn operand(&self, operand: &mut Operand) {
        match operand {
            Operand::View(slot, _) | Operand::Table(slot, _) => self.slot(slot),
            Operand::Scalar(scalar) => {
                let number = self.old.scalars.get_index_of(scalar);
                debug_assert!(
                    number.is_some(),
                    "a plan names {scalar:?}, its list does not"
                );
                if let Some(&new) = number.and_then(|number| self.new.scalars.get_index(number)) {
                    *scalar = new;
                }
            }
        }
    }
}

/// What names slots and scalars.
pub(crate) trait Rename {
    /// Replaces them all.
    fn rename(&mut self, renaming: &Renaming<'_>);
}

impl Rename for Node {
    fn rename(&mut self, renaming: &Renaming<'_>) {
        for (slot, _) in &mut self.outs {
            renaming.slot(slot);
        }
        for operand in self.ins.iter_mut().chain(&mut self.mask) {
            renaming.operand(operand);
        }
    }
}

impl Rename for Option<Vec<Node>> {
    fn rename(&mut self, renaming: &Renaming<'_>) {
        for node in self.iter_mut().flatten() {
            node.rename(renaming);
        }
    }
}

impl Rename for Group {
    fn rename(&mut self, renaming: &Renaming<'_>) {
        for (slot, _) in &mut self.outs {
            renaming.slot(slot);
        }
        for operand in &mut self.ins {
            renaming.operand(operand);
        }
    }
}

impl Rename for Fused {
    fn rename(&mut self, renaming: &Renaming<'_>) {
        for group in &mut self.groups {
            group.rename(renaming);
        }
        for pass in &mut self.passes {
            if let Pass::Sweep(sweep) = pass {
                for block in &mut sweep.blocks {
                    renaming.slot(&mut block.slot);
                }
            }
        }
    }
}
