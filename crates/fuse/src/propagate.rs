//! Copy propagation: what reads a temporary that was put together from pieces of others, as `np.roll`,
//! `np.concatenate` and `np.pad` make them, reads the pieces where they come from.
//!
//! The points of such nodes, and of element-wise nodes that hand values to them or take theirs, are cut along
//! the seams. Each part then reads plain views, and fuses with the same part of the others. Copies that
//! nobody reads any more are dropped as dead nodes are.

use crate::{Cache, Options, Slots, covers, plans};
use arrayloom_ir::{Action, Node, Operand, SlotId};
use arrayloom_types::{Layout, Overlap, Shape, Strides, contiguous_strides, count, overlap};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};

/// Parts of a domain at most.
const MAX_CELLS: usize = 36;
/// Nodes that are cut at most for each array that need not be stored. Long computations share passes over rows,
/// which parts do not.
const MAX_NODES: usize = 6;

type Index = SmallVec<[usize; 4]>;

/// A box of points.
#[derive(Clone, Debug, PartialEq)]
struct Cell {
    start: Index,
    shape: Shape,
}

impl Cell {
    fn points(&self) -> usize {
        count(&self.shape)
    }

    /// The points of both, if there are any.
    fn meet(&self, other: &Cell) -> Option<Cell> {
        let mut both = Cell {
            start: Index::new(),
            shape: Shape::new(),
        };
        let ends =
            |cell: &Cell, axis: usize| (cell.start[axis], cell.start[axis] + cell.shape[axis]);
        for axis in 0..self.start.len() {
            let ((a, a_end), (b, b_end)) = (ends(self, axis), ends(other, axis));
            let (low, high) = (a.max(b), a_end.min(b_end));
            if low >= high {
                return None;
            }
            both.start.push(low);
            both.shape.push(high - low);
        }
        Some(both)
    }

    /// The same box seen from `origin`, which is not behind its start.
    fn from(mut self, origin: &[usize]) -> Cell {
        for (at, &from) in self.start.iter_mut().zip(origin) {
            *at -= from;
        }
        self
    }

    /// The same box seen from where `origin` lies at zero.
    fn moved(mut self, origin: &[usize]) -> Cell {
        for (at, &from) in self.start.iter_mut().zip(origin) {
            *at += from;
        }
        self
    }

    /// The elements of a view at these points.
    fn of(&self, layout: &Layout) -> Layout {
        let steps = self.start.iter().zip(&layout.strides);
        let moved: isize = steps.map(|(&at, &step)| at.cast_signed() * step).sum();
        Layout {
            dtype: layout.dtype,
            offset: layout.offset + moved,
            shape: self.shape.clone(),
            strides: layout.strides.clone(),
        }
    }
}

/// The grid of elements that a slot is, in C order.
#[derive(Clone, Debug, PartialEq)]
struct Grid {
    shape: Shape,
    strides: Strides,
}

impl Grid {
    /// The grid of a slot of `nbytes` that has `layout` as a box; none where that cannot be told.
    fn around(layout: &Layout, nbytes: usize) -> Option<Grid> {
        let size = layout.dtype.size();
        if covers(layout, nbytes) && layout.is_contiguous() {
            let strides = contiguous_strides(&layout.shape, size);
            let shape = layout.shape.clone();
            return Some(Grid { shape, strides });
        }
        let mut outer = nbytes.cast_signed();
        let mut shape = Shape::new();
        for (&step, &extent) in layout.strides.iter().zip(&layout.shape) {
            // The step of an axis of extent one means nothing.
            if extent == 1 || step <= 0 || outer % step != 0 {
                return None;
            }
            shape.push((outer / step).cast_unsigned());
            outer = step;
        }
        let strides = layout.strides.clone();
        (outer == size.cast_signed()).then_some(Grid { shape, strides })
    }

    /// Where a view lies in the grid.
    fn find(&self, layout: &Layout) -> Option<Cell> {
        if layout.shape.len() != self.shape.len() || layout.is_empty() {
            return None;
        }
        let mut rest = layout.offset;
        let mut start = Index::new();
        for (axis, (&step, &extent)) in self.strides.iter().zip(&self.shape).enumerate() {
            let n = layout.shape[axis];
            let at = usize::try_from(rest / step).ok()?;
            if (n > 1 && layout.strides[axis] != step) || at + n > extent {
                return None;
            }
            start.push(at);
            rest %= step;
        }
        let shape = layout.shape.clone();
        (rest == 0).then_some(Cell { start, shape })
    }
}

/// A box whose values are those of a view.
#[derive(Clone, Debug)]
struct Piece {
    cell: Cell,
    slot: SlotId,
    layout: Layout,
    /// The node that copied them; the view must not have changed since.
    since: usize,
}

/// A slot that was written view by view, each a copy of what lies elsewhere or a value of its own.
struct Mosaic {
    nbytes: usize,
    /// As soon as it can be told.
    grid: Option<Grid>,
    /// The views, and the pieces of each as boxes of the view; no piece for a value of its own.
    parts: Vec<(Layout, Vec<Piece>)>,
}

impl Mosaic {
    fn new(nbytes: usize) -> Mosaic {
        Mosaic {
            nbytes,
            grid: None,
            parts: Vec::new(),
        }
    }

    /// The mosaic with a view more; none if that overlaps another.
    fn with(mut self, to: &Layout, pieces: Vec<Piece>) -> Option<Mosaic> {
        let apart = |(old, _): &(Layout, Vec<Piece>)| overlap(old, to) == Overlap::None;
        if !self.parts.iter().all(apart) {
            return None;
        }
        self.grid = self.grid.or_else(|| Grid::around(to, self.nbytes));
        self.parts.push((to.clone(), pieces));
        Some(self)
    }

    /// The pieces that a view is made of, as boxes of the view; none unless they make most of it.
    fn resolve(&self, view: &Layout) -> Option<Vec<Piece>> {
        let grid = self.grid.clone();
        let grid = grid.or_else(|| Grid::around(view, self.nbytes))?;
        let wanted = grid.find(view)?;
        let mut found = Vec::new();
        for (to, pieces) in &self.parts {
            let origin = grid.find(to).filter(|_| to.dtype == view.dtype)?.start;
            for piece in pieces {
                let place = piece.cell.clone().moved(&origin);
                if let Some(both) = place.meet(&wanted) {
                    found.push(Piece {
                        layout: both.clone().from(&place.start).of(&piece.layout),
                        cell: both.from(&wanted.start),
                        ..*piece
                    });
                }
            }
        }
        let known: usize = found.iter().map(|piece| piece.cell.points()).sum();
        (2 * known > wanted.points()).then_some(found)
    }
}

/// What is known of the slots after the nodes so far.
struct Scan<'a> {
    slots: &'a dyn Slots,
    least: usize,
    /// None for a slot that was written whole, or twice at one place, or that gets memory anyway.
    mosaics: BTreeMap<SlotId, Option<Mosaic>>,
    writes: BTreeMap<SlotId, Vec<(usize, &'a Layout)>>,
}

impl<'a> Scan<'a> {
    /// The pieces of a view, if they all still hold what was copied.
    fn resolve(&self, slot: SlotId, view: &Layout) -> Option<Vec<Piece>> {
        let pieces = self.mosaics.get(&slot)?.as_ref()?.resolve(view)?;
        let fresh = |piece: &Piece| {
            let writes = self.writes.get(&piece.slot).into_iter().flatten().rev();
            let mut later = writes.take_while(|(place, _)| *place > piece.since);
            later.all(|(_, layout)| overlap(layout, &piece.layout) == Overlap::None)
        };
        pieces.iter().all(fresh).then_some(pieces)
    }

    fn add(&mut self, place: usize, node: &'a Node) {
        for (slot, layout) in &node.outs {
            self.writes.entry(*slot).or_default().push((place, layout));
        }
        let copied = self.copied(place, node);
        for (slot, to) in &node.outs {
            let nbytes = self.slots.nbytes(*slot);
            let known = self.mosaics.remove(slot);
            let held = self.slots.is_live(*slot);
            let grown = if held || nbytes < self.least || covers(to, nbytes) {
                None
            } else {
                let mosaic = known.unwrap_or_else(|| Some(Mosaic::new(nbytes)));
                mosaic.and_then(|mosaic| mosaic.with(to, copied.clone().unwrap_or_default()))
            };
            self.mosaics.insert(*slot, grown);
        }
    }

    /// What a plain copy copies.
    fn copied(&self, place: usize, node: &Node) -> Option<Vec<Piece>> {
        let ([(_, to)], [Operand::View(from, layout)]) = (&*node.outs, &*node.ins) else {
            return None;
        };
        let plain = matches!(node.action, Action::Map(op) if op.name == "_copy")
            && node.mask.is_none()
            && [layout.dtype, node.sig.ins[0], node.sig.outs[0]] == [to.dtype; 3]
            && layout.shape == to.shape;
        let whole = || {
            let start = Index::from_elem(0, to.shape.len());
            let shape = to.shape.clone();
            vec![Piece {
                cell: Cell { start, shape },
                slot: *from,
                layout: layout.clone(),
                since: place,
            }]
        };
        plain.then(|| self.resolve(*from, layout).unwrap_or_else(whole))
    }
}

/// Where the domain of some nodes is cut, axis by axis, the arrays that are so replaced, and the bytes of the largest
/// view of them.
#[derive(Default)]
struct Seams {
    cuts: SmallVec<[BTreeSet<usize>; 4]>,
    slots: BTreeSet<SlotId>,
    nbytes: usize,
}

impl Seams {
    fn add(&mut self, slot: SlotId, view: &Layout, pieces: &[Piece]) {
        self.slots.insert(slot);
        self.cuts.resize_with(view.shape.len(), BTreeSet::new);
        self.nbytes = self.nbytes.max(view.len() * view.dtype.size());
        for cell in pieces.iter().map(|piece| &piece.cell) {
            for (axis, &extent) in view.shape.iter().enumerate() {
                let ends = [cell.start[axis], cell.start[axis] + cell.shape[axis]];
                self.cuts[axis].extend(ends.into_iter().filter(|&at| at > 0 && at < extent));
            }
        }
    }

    /// True when the parts are few and large enough.
    fn pays(&self, least: usize) -> bool {
        let cells: usize = self.cuts.iter().map(|cuts| cuts.len() + 1).product();
        cells <= MAX_CELLS && self.nbytes >= cells * least
    }

    /// The parts of the domain.
    fn cells(&self, domain: &[usize]) -> Vec<Cell> {
        let mut cells = vec![Cell {
            start: Index::new(),
            shape: Shape::new(),
        }];
        for (cuts, &extent) in self.cuts.iter().zip(domain) {
            let starts = || std::iter::once(0).chain(cuts.iter().copied());
            let ends = || cuts.iter().copied().chain([extent]);
            let longer = |cell: Cell| {
                starts().zip(ends()).map(move |(start, end)| {
                    let mut cell = cell.clone();
                    cell.start.push(start);
                    cell.shape.push(end - start);
                    cell
                })
            };
            cells = cells.into_iter().flat_map(longer).collect();
        }
        cells
    }
}

/// The nodes with copies propagated; none where there is nothing to gain.
pub fn propagate(
    nodes: &[Node],
    slots: &dyn Slots,
    cache: &mut Cache,
    options: &Options,
) -> Option<Vec<Node>> {
    if !nodes.iter().any(|node| is_partial_copy(node, slots)) {
        return None;
    }
    let (key, names) = plans::key(nodes, slots, options);
    if let Some(list) = cache.propagated.recall(&key, &names) {
        return list;
    }
    let list = parts(nodes, slots, options);
    cache.propagated.keep(key, names, &list);
    list
}

fn parts(nodes: &[Node], slots: &dyn Slots, options: &Options) -> Option<Vec<Node>> {
    let mut scan = Scan {
        slots,
        least: options.seam_bytes,
        mosaics: BTreeMap::new(),
        writes: BTreeMap::new(),
    };
    let mut known: BTreeMap<(usize, usize), Vec<Piece>> = BTreeMap::new();
    let mut seams: BTreeMap<&[usize], Seams> = BTreeMap::new();
    for (place, node) in nodes.iter().enumerate() {
        scan.add(place, node);
        for (number, view) in cuttable(node).then(|| views(node)).into_iter().flatten() {
            if let Some(pieces) = scan.resolve(view.0, view.1) {
                seams
                    .entry(node.domain())
                    .or_default()
                    .add(view.0, view.1, &pieces);
                known.insert((place, number), pieces);
            }
        }
    }
    seams.retain(|_, seams| seams.pays(options.seam_bytes));
    known.retain(|&(place, _), _| seams.contains_key(nodes[place].domain()));
    let mut cut = spread(nodes, slots, &known, &seams);
    let domains = || nodes.iter().map(Node::domain);
    seams.retain(|&domain, seams| {
        let same = domains()
            .zip(&cut)
            .filter(|&(other, &cut)| cut && other == domain);
        same.count() <= MAX_NODES * seams.slots.len()
    });
    known.retain(|&(place, _), _| seams.contains_key(nodes[place].domain()));
    if known.is_empty() {
        return None;
    }
    for (cut, domain) in cut.iter_mut().zip(domains()) {
        *cut &= seams.contains_key(domain);
    }
    let mut list = Vec::new();
    for (place, node) in nodes.iter().enumerate() {
        if !cut[place] {
            list.push(node.clone());
            continue;
        }
        for (number, cell) in seams[node.domain()].cells(node.domain()).iter().enumerate() {
            let mut part = part_of(node, cell, |operand| known.get(&(place, operand)));
            part.part = node.part || number > 0;
            list.push(part);
        }
    }
    Some(list)
}

fn is_partial_copy(node: &Node, slots: &dyn Slots) -> bool {
    let copies = matches!(node.action, Action::Map(op) if op.name == "_copy");
    copies && {
        let (slot, layout) = &node.outs[0];
        !covers(layout, slots.nbytes(*slot))
    }
}

/// True for a node whose points can be computed part by part.
fn cuttable(node: &Node) -> bool {
    let domain = node.domain();
    let views = views(node).all(|(_, (_, layout))| *layout.shape == *domain);
    matches!(node.action, Action::Map(_))
        && views
        && node.outs.iter().all(|(_, layout)| *layout.shape == *domain)
}

/// The views that a node reads, the mask last, each with its number.
fn views(node: &Node) -> impl Iterator<Item = (usize, (SlotId, &Layout))> {
    let operands = node.ins.iter().chain(&node.mask).enumerate();
    operands.filter_map(|(number, operand)| match operand {
        Operand::View(slot, layout) => Some((number, (*slot, layout))),
        Operand::Scalar(_) | Operand::Table(..) => None,
    })
}

/// The nodes to cut: those that read pieces, those that take their values, and those that only make values for
/// them.
fn spread(
    nodes: &[Node],
    slots: &dyn Slots,
    known: &BTreeMap<(usize, usize), Vec<Piece>>,
    seams: &BTreeMap<&[usize], Seams>,
) -> Vec<bool> {
    let may = |node: &Node| cuttable(node) && seams.contains_key(node.domain());
    let mut cut = vec![false; nodes.len()];
    for &(place, _) in known.keys() {
        cut[place] = true;
    }
    let mut before = 0;
    while before < cut.iter().filter(|&&cut| cut).count() {
        before = cut.iter().filter(|&&cut| cut).count();
        let mut made: BTreeSet<SlotId> = BTreeSet::new();
        for (place, node) in nodes.iter().enumerate() {
            cut[place] =
                cut[place] || may(node) && views(node).any(|(_, (slot, _))| made.contains(&slot));
            if cut[place] {
                made.extend(node.outs.iter().map(|(slot, _)| *slot));
            }
        }
        let mut taken: BTreeSet<SlotId> = BTreeSet::new();
        for (place, node) in nodes.iter().enumerate().rev() {
            let hands = |slot: SlotId| taken.contains(&slot) && !slots.is_live(slot);
            cut[place] = cut[place] || may(node) && node.outs.iter().any(|(slot, _)| hands(*slot));
            if cut[place] {
                taken.extend(views(node).map(|(_, (slot, _))| slot));
            }
        }
    }
    cut
}

/// The part of a node at the points of `cell`.
fn part_of<'a>(node: &Node, cell: &Cell, known: impl Fn(usize) -> Option<&'a Vec<Piece>>) -> Node {
    let operand = |(number, operand): (usize, &Operand)| match operand {
        Operand::View(slot, layout) => {
            let within = |piece: &&Piece| piece.cell.meet(cell).is_some();
            match known(number).and_then(|pieces| pieces.iter().find(within)) {
                Some(piece) => {
                    let inner = cell.clone().from(&piece.cell.start);
                    Operand::View(piece.slot, inner.of(&piece.layout))
                }
                None => Operand::View(*slot, cell.of(layout)),
            }
        }
        other => other.clone(),
    };
    let count = node.ins.len();
    Node {
        outs: node
            .outs
            .iter()
            .map(|(slot, layout)| (*slot, cell.of(layout)))
            .collect(),
        ins: node.ins.iter().enumerate().map(operand).collect(),
        mask: node.mask.as_ref().map(|mask| operand((count, mask))),
        ..node.clone()
    }
}
