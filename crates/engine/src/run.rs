//! Runs the list: takes it, fuses it, gives results memory, launches the kernels, hands results over.

use crate::alone::Ran;
use crate::engine::{is_unsupported, lock};
use crate::events::{self, Late, Placed};
use crate::explain;
use crate::put_off::{self, PutOff};
use crate::stats::name_of;
use crate::table::{Entry, Home, Leftover, Table, accesses, outs};
use crate::wanted::Wanted;
use crate::{Engine, EngineError};
use arrayloom_device::{Arg, Buf, Contents, DeviceError, Launch, ReduceArgs};
use arrayloom_fuse::{Cache, Fold, Fused, Group, Options, Pass, Slots, fuse, propagate};
use arrayloom_guard::State;
use arrayloom_ir::{FpFlags, Node, Operand, SlotId};
use arrayloom_types::{Layout, Queue};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

/// The list while it runs.
pub(crate) struct Batch {
    pub(crate) list: Vec<Node>,
    done: Vec<bool>,
    slots: BTreeMap<SlotId, Facts>,
    /// Barriers that what the list reads or updates got for it.
    barriers: usize,
    put_off: Vec<PutOff>,
    pub(crate) events: Vec<Placed>,
    /// Conditions that the device notes later.
    late: Vec<Late>,
}

/// What fusion knows of a slot.
#[derive(Clone, Copy)]
struct Facts {
    live: bool,
    nbytes: usize,
}

impl Facts {
    fn of(entry: &Entry) -> Facts {
        Facts {
            live: entry.user && (!entry.stands_in || entry.readers > 0),
            nbytes: entry.nbytes,
        }
    }
}

impl Slots for Batch {
    fn is_live(&self, slot: SlotId) -> bool {
        self.slots.get(&slot).is_none_or(|facts| facts.live)
    }

    fn nbytes(&self, slot: SlotId) -> usize {
        self.slots.get(&slot).map_or(0, |facts| facts.nbytes)
    }
}

impl Batch {
    fn new(list: Vec<Node>, table: &Table) -> Batch {
        let mut slots = BTreeMap::new();
        for (slot, _) in list.iter().flat_map(accesses) {
            let facts = || table.get(slot).map(Facts::of);
            if !slots.contains_key(&slot) {
                slots.extend(facts().map(|facts| (slot, facts)));
            }
        }
        for whole in table.picks.wholes() {
            slots.entry(whole).and_modify(|facts| facts.live = true);
        }
        Batch {
            done: vec![false; list.len()],
            list,
            slots,
            barriers: table.barriers,
            put_off: Vec::new(),
            events: Vec::new(),
            late: Vec::new(),
        }
    }

    /// Lets operations on arrays made of pieces read where these come from. The list before, if that changed it.
    fn propagate(&mut self, cache: &mut Cache, options: &Options) -> Option<Vec<Node>> {
        let list = propagate(&self.list, self, cache, options)?;
        self.done = vec![false; list.len()];
        Some(std::mem::replace(&mut self.list, list))
    }

    /// What needs memory all the same, because another kernel reads it, is not put off. True if there
    /// is such a result.
    fn claim_stored(&mut self, groups: &[Group]) -> bool {
        let outs = || groups.iter().flat_map(|group| &group.outs);
        let before = self.put_off.len();
        for PutOff { slot, .. } in &self.put_off {
            if let Some(facts) = self.slots.get_mut(slot) {
                facts.live = outs().any(|out| out.0 == *slot);
            }
        }
        self.put_off
            .retain(|put_off| !outs().any(|out| out.0 == put_off.slot));
        self.put_off.len() < before
    }

    /// True for an operation that stays in the list, to be done again if somebody wants its result.
    pub(crate) fn is_put_off(&self, place: u32) -> bool {
        self.put_off
            .iter()
            .any(|put_off| put_off.places.contains(&place))
    }
}

/// A part of a batch whose nodes run one by one: every slot counts as live, so that all get memory.
struct Apart<'a>(&'a Batch);

impl Slots for Apart<'_> {
    fn is_live(&self, _slot: SlotId) -> bool {
        true
    }

    fn nbytes(&self, slot: SlotId) -> usize {
        self.0.nbytes(slot)
    }
}

impl Engine {
    /// Runs the list for the sake of what is wanted. The caller has the turn.
    pub(crate) fn run_list(&self, wanted: Wanted) -> Result<(), EngineError> {
        let started = Instant::now();
        let mut batch = self.take_list(wanted);
        if batch.list.is_empty() {
            return Ok(());
        }
        self.learn(&batch, wanted);
        self.propagate(&mut batch);
        self.put_off(&mut batch, wanted);
        let result = self.run_batch(&mut batch);
        let result = result.and(self.collect_events(&mut batch));
        self.settle_device(true);
        let operations = batch.list.len();
        self.hand_over(batch);
        self.note_list(started, operations);
        let mut stats = lock(&self.stats);
        stats.flushes += 1;
        stats.flush_seconds += started.elapsed().as_secs_f64();
        result
    }

    /// Learns from a list what its places want.
    fn learn(&self, batch: &Batch, wanted: Wanted) {
        // What runs as soon as it is called teaches nothing: its operands are still there.
        if !matches!(wanted, Wanted::End) {
            let largest = outs(&batch.list).map(|slot| batch.nbytes(slot)).max();
            let ran = Ran {
                list: &batch.list,
                wanted: wanted.slot(),
                seen: matches!(wanted, Wanted::Seen),
                barriers: batch.barriers,
                cache: largest.and_then(|nbytes| self.cache_of(nbytes)),
                least: self.settings.min_bytes,
            };
            self.alone.learn(&ran, |slot| batch.is_live(slot));
        }
    }

    /// Takes what a kernel met, or notes that its device will tell later.
    fn expect_events(&self, batch: &mut Batch, group: &Group, met: Arc<[AtomicU8]>) {
        let told = |n: usize| batch.list[group.nodes[n] as usize].told;
        if self.copies_values() {
            batch.late.push(Late {
                met,
                origin: Arc::clone(&group.origin),
                shared: Arc::clone(&group.shared),
                told: (0..group.nodes.len()).map(told).collect(),
                places: group.nodes.clone(),
            });
            return;
        }
        let nodes = (group.nodes.as_slice(), batch.list.as_slice());
        let parts = (&*group.origin, &*group.shared);
        events::collect(&met, parts, nodes, told, &mut batch.events);
    }

    /// Waits until the device has noted what the kernels of the list met.
    fn collect_events(&self, batch: &mut Batch) -> Result<(), EngineError> {
        let late = std::mem::take(&mut batch.late);
        if late.is_empty() {
            return Ok(());
        }
        let event = self.device.record(Queue::default())?;
        self.device.poll(event, true)?;
        for Late {
            met,
            origin,
            shared,
            places,
            told,
        } in &late
        {
            let nodes = (places.as_slice(), batch.list.as_slice());
            let told = |n: usize| told[n];
            events::collect(met, (origin, shared), nodes, told, &mut batch.events);
        }
        Ok(())
    }

    /// Takes the list, or what of a full one is to run, and the values that the guard holds in blocks. What lies
    /// at its user address stays there until [`Engine::hand_over`].
    fn take_list(&self, wanted: Wanted) -> Batch {
        let mut table = self.table();
        let mut list = std::mem::take(&mut table.list);
        if let Wanted::First(count) = wanted {
            table.list = list.split_off(count.min(list.len()));
        }
        table.list_bytes = table.result_bytes();
        table.small_run = 0;
        table.picks.lose_unneeded();
        let mut batch = Batch::new(list, &table);
        table.barriers = 0;
        for (slot, _) in table.list.iter().flat_map(accesses) {
            if let Some(facts) = batch.slots.get_mut(&slot) {
                facts.live = true;
            }
        }
        for &slot in batch.slots.keys() {
            let Some(entry) = table.get_mut(slot) else {
                continue;
            };
            entry.running = true;
            if let (Home::Guarded(guarded), Some(guard), None) =
                (entry.home, self.guard(), &entry.block)
            {
                entry.block = guard.withdraw(guarded);
            }
        }
        batch
    }

    /// The list as it is, for a plan that does not run.
    pub(crate) fn copy_of_list(&self) -> Batch {
        let table = self.table();
        let mut batch = Batch::new(table.list.clone(), &table);
        drop(table);
        batch.propagate(&mut lock(&self.cache), &self.options());
        batch
    }

    /// Propagates copies in a list that is to run.
    fn propagate(&self, batch: &mut Batch) {
        let before = batch.propagate(&mut lock(&self.cache), &self.options());
        let Some(before) = before else {
            return;
        };
        let mut table = self.table();
        for node in &batch.list {
            table.count(node);
        }
        let mut left = Vec::new();
        for node in &before {
            table.settle(node, &mut left);
        }
        drop(table);
        self.give_back(left);
    }

    /// Counts results as dead that need not be stored now.
    pub(crate) fn put_off(&self, batch: &mut Batch, wanted: Wanted) {
        let Some(guard) = self.guard().filter(|_| self.fuses()) else {
            return;
        };
        batch.put_off = put_off::choose((&self.table(), guard), &batch.list, wanted);
        for PutOff { slot, .. } in &batch.put_off {
            if let Some(facts) = batch.slots.get_mut(slot) {
                facts.live = false;
            }
        }
    }

    pub(crate) fn fuses(&self) -> bool {
        self.settings.fuse && self.device.caps().fused
    }

    fn options(&self) -> Options {
        Options {
            fuse: self.fuses(),
            seam_bytes: self.settings.seam_bytes,
            sweep: self.fuses() && self.settings.sweep,
            sweep_points: self.settings.sweep_points.0,
            sweep_columns: self.settings.sweep_columns.0,
            sweep_least: self.settings.sweep_bytes,
            sweep_planes: self.settings.sweep_planes,
            ..Options::default()
        }
    }

    /// The kernels and passes of the list.
    pub(crate) fn fuse_batch(&self, batch: &mut Batch, cache: &mut Cache) -> Fused {
        let options = self.options();
        let fused = fuse(&batch.list, batch, cache, &options);
        if batch.claim_stored(&fused.groups) {
            return fuse(&batch.list, batch, cache, &options);
        }
        fused
    }

    fn run_batch(&self, batch: &mut Batch) -> Result<(), EngineError> {
        let started = Instant::now();
        let fused = self.fuse_batch(batch, &mut lock(&self.cache));
        lock(&self.stats).plan_seconds += started.elapsed().as_secs_f64();
        if self.dumping.load(Ordering::Relaxed) {
            lock(&self.dumps).add(explain::explanation(batch, &fused));
        }
        lock(&self.stats).dropped += fused.dead.len() as u64;
        self.settle(batch, &fused.dead);
        self.make_room(batch, &fused.groups, &fused.passes);
        let kernels = fused.groups.iter().map(|group| &*group.kernel);
        self.device.prepare(&kernels.collect::<Vec<_>>())?;
        for pass in &fused.passes {
            let kernels = match pass {
                Pass::Kernel(place) => std::slice::from_ref(place),
                Pass::Sweep(sweep)
                    if self.with_room(|| self.run_sweep(batch, &fused.groups, sweep))? =>
                {
                    &[]
                }
                Pass::Sweep(sweep) => sweep.groups.as_slice(),
            };
            for &place in kernels {
                self.run_group(batch, &fused.groups[place])?;
            }
        }
        Ok(())
    }

    fn run_group(&self, batch: &mut Batch, group: &Group) -> Result<(), EngineError> {
        match self.with_room(|| self.launch(batch, group)) {
            Err(error) if is_unsupported(&error) => self.run_apart(batch, group, error),
            other => other,
        }
    }

    /// Runs the nodes of a group that the device does not take as kernels of their own.
    fn run_apart(
        &self,
        batch: &mut Batch,
        group: &Group,
        refused: EngineError,
    ) -> Result<(), EngineError> {
        if group.nodes.len() == 1 {
            return Err(name_op(&batch.list[group.nodes[0] as usize], refused));
        }
        lock(&self.stats).unfused_kernels += 1;
        let nodes: Vec<Node> = group
            .nodes
            .iter()
            .map(|&place| batch.list[place as usize].clone())
            .collect();
        let options = Options {
            fuse: false,
            ..Options::default()
        };
        let mut fused = fuse(&nodes, &Apart(batch), &mut lock(&self.cache), &options);
        for single in &mut fused.groups {
            for place in &mut single.nodes {
                *place = group.nodes[*place as usize];
            }
            self.with_room(|| self.launch(batch, single))
                .map_err(|error| name_op(&batch.list[single.nodes[0] as usize], error))?;
        }
        Ok(())
    }

    /// Runs one kernel and settles its nodes.
    fn launch(&self, batch: &mut Batch, group: &Group) -> Result<(), EngineError> {
        self.let_go();
        self.check_shadows(group)?;
        if self.rename(batch, group)? {
            self.settle(batch, &group.nodes);
            return Ok(());
        }
        self.expect_stores(batch, group);
        let mut outs = Vec::with_capacity(group.outs.len());
        for (slot, layout) in &group.outs {
            outs.push(self.place(*slot, layout, true)?);
        }
        let mut ins = Vec::with_capacity(group.ins.len());
        for operand in &group.ins {
            ins.push(match operand {
                Operand::View(slot, layout) => self.place(*slot, layout, false)?,
                Operand::Scalar(scalar) => Arg::Scalar(*scalar),
                Operand::Table(slot, table) => self.place(*slot, &table.walk, false)?,
            });
        }
        let reduces: Vec<Option<ReduceArgs>> = group
            .folds
            .iter()
            .map(|fold| reduce_args(fold.as_ref()))
            .collect();
        let met: Option<Arc<[AtomicU8]>> = self.settings.collect_flags.then(|| {
            let flags = std::iter::repeat_with(|| AtomicU8::new(FpFlags::NONE.0));
            flags.take(group.kernel.code.len()).collect()
        });
        let started = Instant::now();
        let launch = Launch {
            shape: &group.shape,
            outs: &outs,
            ins: &ins,
            reduces: &reduces,
            flags: None,
        };
        self.note_peak(batch.list[group.nodes[0] as usize].site);
        self.run_kernel(group, &launch, met.as_ref())?;
        self.count(batch, group, started.elapsed().as_secs_f64());
        self.note_pass(batch, started, &[group]);
        if let Some(met) = met {
            self.expect_events(batch, group, met);
        }
        self.settle(batch, &group.nodes);
        Ok(())
    }

    /// Where a view is now. A slot without memory gets a block with arbitrary contents.
    pub(crate) fn place(
        &self,
        slot: SlotId,
        layout: &Layout,
        writes: bool,
    ) -> Result<Arg, EngineError> {
        let address = self.address(slot, writes)?;
        let table = self.table();
        let shadow = table.get(slot).and_then(|entry| entry.shadow.as_ref());
        let moved = shadow.and_then(|shadow| shadow.translate(layout));
        let layout = moved.as_ref().unwrap_or(layout);
        Ok(Arg::View {
            buf: Buf(address),
            offset: layout.offset,
            strides: layout.strides.clone(),
        })
    }

    pub(crate) fn address(&self, slot: SlotId, writes: bool) -> Result<u64, EngineError> {
        let mut table = self.table();
        table.clock += 1;
        let clock = table.clock;
        let Some(entry) = table.get_mut(slot) else {
            return Err(crate::engine::unknown(slot));
        };
        entry.used = clock;
        if let (None, Home::Guarded(guarded), Some(guard)) =
            (&entry.block, entry.home, self.guard())
        {
            // A value that was spilled after the list was taken.
            entry.block = guard.withdraw(guarded);
        }
        if let Some(block) = &entry.block {
            let nbytes = entry.shadow.as_ref().map_or(entry.nbytes, |s| s.nbytes);
            let address = block.ptr().expose_provenance() as u64;
            self.begin(address, nbytes, Contents::Values);
            return Ok(address);
        }
        match (entry.home, self.guard()) {
            (Home::External(address), _) => return Ok(address),
            (Home::Guarded(guarded), Some(guard)) if guard.state(guarded).is_published() => {
                if writes && guard.state(guarded) != State::Ready && !guard.unprotect(guarded) {
                    return Err(EngineError::BadSlot {
                        slot: slot.0,
                        what: "cannot be made writable",
                    });
                }
                let address = guard.addr(guarded).expose_provenance() as u64;
                if !writes {
                    self.begin(address, entry.nbytes, Contents::Values);
                }
                return Ok(address);
            }
            _ => {}
        }
        let block = self.block(entry.nbytes, entry.zeroed)?;
        let address = block.ptr().expose_provenance() as u64;
        // What is read before it is written has arbitrary bytes, but the same ones each time.
        let contents = match (entry.zeroed, writes) {
            (true, _) => Contents::Zeros,
            (false, true) => Contents::Nothing,
            (false, false) => Contents::Values,
        };
        self.begin(address, entry.nbytes, contents);
        entry.zeroed = false;
        entry.block = Some(block);
        Ok(address)
    }

    /// These nodes have run or need not run.
    pub(crate) fn settle(&self, batch: &mut Batch, places: &[u32]) {
        let mut left: Vec<Leftover> = Vec::new();
        {
            let mut table = self.table();
            for &place in places {
                if batch.is_put_off(place) {
                    batch.list[place as usize].told = true;
                    continue;
                }
                table.settle(&batch.list[place as usize], &mut left);
                batch.done[place as usize] = true;
            }
        }
        self.give_back(left);
    }

    /// Puts what did not run back in front of the list, and hands finished values to the guard.
    fn hand_over(&self, mut batch: Batch) {
        // First, because a touching thread goes on as soon as its value is there.
        self.report(std::mem::take(&mut batch.events));
        self.give_notice();
        let mut table = self.table();
        let rest = batch.list.into_iter().zip(batch.done);
        let mut list: Vec<Node> = rest
            .filter_map(|(node, done)| (!done).then_some(node))
            .collect();
        list.append(&mut table.list);
        table.list = list;
        let left = self.await_put_off(&mut table, &batch.put_off);
        for &slot in batch.slots.keys() {
            if let Some(entry) = table.get_mut(slot) {
                entry.running = false;
            }
            self.hand_back(&mut table, slot);
        }
        drop(table);
        self.give_back(left);
    }

    /// Hands the value of a slot that nothing runs on any more to the guard, unless it stays on the device.
    pub(crate) fn hand_back(&self, table: &mut Table, slot: SlotId) {
        let Some(entry) = table.get_mut(slot).filter(|entry| entry.writes == 0) else {
            return;
        };
        let (Home::Guarded(guarded), Some(guard), None) = (entry.home, self.guard(), &entry.shadow)
        else {
            self.pending.set(slot.0, false);
            return;
        };
        let (has_reader, nbytes) = (entry.reads > 0, entry.nbytes);
        let published = guard.state(guarded).is_published();
        let stays = |block| !published && self.is_there(block);
        if published || entry.block.is_some() {
            self.pending.set(slot.0, false);
        }
        if entry.block.as_ref().is_some_and(stays) {
            return;
        }
        if let Some(block) = entry.block.take() {
            self.hand(guard, guarded, block, nbytes);
        }
        if has_reader {
            guard.protect(guarded);
        } else if guard.state(guarded) == State::Computed {
            guard.unprotect(guarded);
        }
    }

    fn report(&self, mut events: Vec<Placed>) {
        events.sort_by_key(|(place, _)| *place);
        events.dedup_by(|(place, event), (first, of_first)| {
            let same = place == first && (event.op, event.site) == (of_first.op, of_first.site);
            of_first.flags.0 |= if same { event.flags.0 } else { 0 };
            same
        });
        self.tell(events.into_iter().map(|(_, event)| event));
    }
}

pub(crate) fn reduce_args(fold: Option<&Fold>) -> Option<ReduceArgs> {
    fold.map(|fold| ReduceArgs {
        order: fold.order.clone(),
        initial: fold.initial,
    })
}

/// An error that names the operation, if the device lacks its kernel.
fn name_op(node: &Node, error: EngineError) -> EngineError {
    match error {
        EngineError::Device(DeviceError::Unsupported { device, what }) => {
            let names = |dtypes: &[arrayloom_types::DType]| {
                let names: Vec<&str> = dtypes.iter().map(|d| d.name()).collect();
                names.join(", ")
            };
            EngineError::Unsupported {
                device,
                op: name_of(node),
                dtypes: format!("({}) -> ({})", names(&node.sig.ins), names(&node.sig.outs)),
                what,
            }
        }
        other => other,
    }
}
