//! The device: queues, copies and launches.

use crate::api::{Address, Failure};
use crate::context::{Context, Mark, NAME, Stream};
use crate::libraries::Places;
use crate::memory::{Block, Pages, Scratch, Spare, Spares};
use crate::nvrtc::Compiler;
use crate::programs::{Function, Programs};
use crate::staging::{self, Staging, Words};
use crate::vendor::Vendor;
use arrayloom_codegen::{
    ArgValue, Dialect, GROUP, ImageCache, Launches, Memory, Step, Steps, Target, Told, abilities,
};
use arrayloom_device::{
    Arg, Blocks, Buf, Caps, Device, DeviceError, End, Event, ExtCall, Foreign, HostMemory,
    Imported, Launch, Marks, Queue, Queues,
};
use arrayloom_ir::Kernel;
use arrayloom_memory::Vmm;
use std::ffi::c_void;
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, MutexGuard, PoisonError, Weak};

/// Items that keep one multiprocessor busy.
const LANES_OF_UNIT: u64 = 2048;
/// The most groups on the first axis of a grid, and on the others; kernels walk on from there.
const GROUPS: [u64; 3] = [(1 << 31) - 1, 65_535, 65_535];
/// Blocks within the scratch of a queue start at multiples of this.
const UNIT: u64 = 512;

/// Queues that are streams of others have numbers from here on.
const LENT: u32 = 1 << 31;

/// How a device is opened.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Which GPU, as the driver counts them.
    pub index: usize,
    /// Bytes of memory that it may use; all of it if absent.
    pub memory: Option<u64>,
    /// Where compiled programs are kept, and how many bytes; nowhere if absent.
    pub cache: Option<(PathBuf, u64)>,
    /// Folders of Python packages, some of which may bring the compiler and libraries.
    pub packages: Vec<PathBuf>,
    /// Folders of CUDA toolkits, beside the usual one.
    pub toolkits: Vec<PathBuf>,
    /// Products and transforms go to NVIDIA's libraries where those are found; else kernels of ours do them.
    pub libraries: bool,
    /// The driver's library; the system's if absent.
    pub driver: Option<PathBuf>,
}

/// A stream, and what its work shares.
pub(crate) struct Lane {
    /// Memory for parts of folds. Work of a stream is done in order, so that all of it uses the same.
    scratch: Arc<Scratch>,
    staging: Staging,
    pub(crate) stream: Stream,
}

/// The scratch of a lane, for work that is put in.
pub(crate) type Held<'a> = MutexGuard<'a, Option<(Block, u64)>>;

impl Lane {
    /// The scratch, while steps are put in that share it: those of two launches must not mix.
    pub(crate) fn hold(&self) -> Held<'_> {
        self.scratch
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A device over CUDA. Numbers of blocks are addresses of the device.
pub struct Cuda {
    pub(crate) caps: Caps,
    pub(crate) target: Target,
    pub(crate) vendor: Vendor,
    programs: Programs,
    pages: Option<Arc<Pages>>,
    blocks: Blocks<Block>,
    marks: Marks<Mark>,
    told: Told<Mark, staging::Block>,
    launches: Launches,
    words: Words,
    queues: Queues<Lane>,
    /// The number of the next stream of others.
    lent: AtomicU32,
    pub(crate) spares: Arc<Spares>,
    pub(crate) context: Arc<Context>,
}

fn failed(what: impl Into<String>) -> DeviceError {
    DeviceError::Failed {
        device: NAME,
        what: what.into(),
    }
}

fn size(bytes: u64) -> Result<usize, DeviceError> {
    usize::try_from(bytes).map_err(|_too_large| failed("a copy beyond the address space"))
}

impl Cuda {
    /// Opens a device.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where driver, GPU or compiler are missing; it names what is, and what
    /// helps.
    pub fn open(config: Config) -> Result<Cuda, DeviceError> {
        let context = Context::open(config.driver.as_deref(), config.index)?;
        let facts = context.facts()?;
        let options = Dialect::Cuda.options();
        let places = Places {
            packages: config.packages,
            toolkits: config.toolkits,
            driver: facts.driver / 1000,
        };
        let compiler = Compiler::open(&places, facts.capability, options)?;
        let (major, minor) = (facts.driver / 1000, facts.driver % 1000 / 10);
        let detail = format!(
            "{}, sm_{}, driver for CUDA {major}.{minor}, {} ({})",
            facts.name,
            facts.capability,
            compiler.words().0,
            compiler.path().display()
        );
        let memory = config.memory.map_or(facts.memory, |m| m.min(facts.memory));
        let cache = config
            .cache
            .map(|(dir, limit)| ImageCache::new(dir, limit, "cubin"));
        let hardware = format!("{} sm_{} {}", facts.name, facts.capability, facts.driver);
        let spares = Arc::default();
        Ok(Cuda {
            caps: Caps {
                name: NAME,
                detail,
                threads: usize::try_from(facts.units).unwrap_or(1),
                memory,
                unified: false,
                fused: true,
                abilities: abilities(),
            },
            target: Target {
                unified: false,
                lanes: usize::try_from(facts.units * LANES_OF_UNIT).unwrap_or(usize::MAX),
                cores: false,
            },
            vendor: Vendor::new(config.libraries.then_some(places), facts.capability),
            programs: Programs::new(&hardware, compiler, cache),
            pages: Pages::of(&context, &spares, memory),
            blocks: Blocks::new(NAME, memory, memory),
            marks: Marks::default(),
            told: Told::default(),
            launches: Launches::default(),
            words: Words::default(),
            queues: Queues::default(),
            lent: AtomicU32::new(LENT),
            spares,
            context,
        })
    }

    /// Copies from a block of another GPU, after the work that `queue` of that GPU has now.
    ///
    /// # Errors
    /// [`DeviceError`] when a device fails.
    pub fn copy_from(
        &self,
        queue: Queue,
        (to, at): (Buf, u64),
        peer: &Cuda,
        (from, from_at): (Buf, u64),
        bytes: u64,
    ) -> Result<(), DeviceError> {
        let ready = {
            let _current = peer.context.enter()?;
            peer.lane(queue)?.stream.mark()?
        };
        let _current = self.context.enter()?;
        let lane = self.lane(queue)?;
        lane.stream.wait(&ready)?;
        let source = (&*peer.context, from.0 + from_at);
        let copied = self
            .context
            .copy_peer(to.0 + at, source, size(bytes)?, &lane.stream);
        copied?;
        Ok(())
    }

    /// The stream of a queue. The context is current.
    pub(crate) fn lane(&self, queue: Queue) -> Result<Arc<Lane>, DeviceError> {
        self.queues
            .get(queue, || Ok(self.lane_of(Stream::new(&self.context)?)))
    }

    fn lane_of(&self, stream: Stream) -> Lane {
        let scratch = Arc::<Scratch>::default();
        self.spares.add(Arc::downgrade(&scratch) as Weak<dyn Spare>);
        Lane {
            scratch,
            staging: Staging::default(),
            stream,
        }
    }

    /// Addresses of the blocks that the steps of a launch share, within the scratch of its queue.
    pub(crate) fn scratch(
        &self,
        held: &mut Held<'_>,
        wanted: &[u64],
    ) -> Result<Vec<Address>, DeviceError> {
        let mut offsets = Vec::new();
        let mut total = 0u64;
        for bytes in wanted {
            offsets.push(total);
            total += bytes.next_multiple_of(UNIT);
        }
        if held.as_ref().map_or(0, |(_, bytes)| *bytes) < total {
            // The old one goes first: there may be no room for both.
            **held = None;
            let made = Block::new(&self.context, total)?;
            let block = made.ok_or(DeviceError::OutOfMemory {
                device: NAME,
                need: total,
                free: 0,
            })?;
            **held = Some((block, total));
        }
        let start = held.as_ref().map_or(0, |(block, _)| block.address());
        Ok(offsets.into_iter().map(|offset| start + offset).collect())
    }

    /// Sets so many words to zero.
    fn zero(&self, stream: &Stream, at: Address, words: usize) -> Result<(), Failure> {
        let set = self.context.driver.fill(at, 0, words, stream.raw);
        self.context.done(set)
    }

    /// The steps of a launch.
    pub(crate) fn steps(
        &self,
        kernel: &Kernel,
        launch: &Launch<'_>,
    ) -> Result<Arc<Steps>, DeviceError> {
        self.launches.steps(&self.caps, kernel, launch, self.target)
    }

    /// Puts steps into a stream.
    pub(crate) fn put_all(
        &self,
        stream: &Stream,
        list: &[&Step],
        bound: &Bound<'_>,
    ) -> Result<(), DeviceError> {
        let entries: Vec<_> = list.iter().map(|step| &step.entry).collect();
        let kernels = self.programs.kernels(&self.context, &entries);
        for (step, kernel) in list.iter().zip(&kernels.map_err(|what| self.lacks(what))?) {
            self.put(stream, step, kernel, bound)?;
        }
        Ok(())
    }

    /// Puts a step into a stream.
    fn put(
        &self,
        stream: &Stream,
        step: &Step,
        function: &Function,
        bound: &Bound<'_>,
    ) -> Result<(), Failure> {
        // Words carry the alignment that values need.
        let mut words: Vec<[u64; 2]> = step.args.iter().map(|arg| bound.word(arg)).collect();
        let mut places: Vec<*mut c_void> =
            words.iter_mut().map(|w| w.as_mut_ptr().cast()).collect();
        let [x, y, z] = [0, 1, 2].map(|axis| {
            let groups = step.groups[axis].min(GROUPS[axis]);
            u32::try_from(groups).unwrap_or(u32::MAX)
        });
        let launched = self.context.driver.launch(
            function.raw,
            x,
            y,
            z,
            GROUP,
            1,
            1,
            0,
            stream.raw,
            places.as_mut_ptr(),
            ptr::null_mut(),
        );
        self.context.done(launched)
    }
}

/// Where the operands of a launch lie.
pub(crate) struct Bound<'a> {
    pub(crate) ins: &'a [Arg],
    pub(crate) outs: &'a [Arg],
    pub(crate) scratch: Vec<Address>,
}

impl Bound<'_> {
    fn place(&self, memory: Memory) -> (Address, isize) {
        let view = |arg: Option<&Arg>| match arg {
            Some(Arg::View { buf, offset, .. }) => (buf.0, *offset),
            _ => (0, 0),
        };
        match memory {
            Memory::In(i) => view(self.ins.get(i)),
            Memory::Out(i) => view(self.outs.get(i)),
            Memory::Scratch(i) => (self.scratch.get(i).copied().unwrap_or(0), 0),
        }
    }

    /// The bytes of a parameter.
    fn word(&self, arg: &ArgValue) -> [u64; 2] {
        match arg {
            ArgValue::Block(memory) => [self.place(*memory).0, 0],
            ArgValue::Offset { memory, unit } => {
                let elements = self.place(*memory).1 / unit.cast_signed();
                [(elements as i64).cast_unsigned(), 0]
            }
            ArgValue::Bytes(..) | ArgValue::Value { .. } => {
                let value = |input: usize| match self.ins.get(input) {
                    Some(Arg::Scalar(scalar)) => Some(*scalar),
                    _ => None,
                };
                let bytes = arg.bytes(value).map_or([0; 16], |found| found.0);
                let (low, high) = bytes.split_at(8);
                [low, high]
                    .map(|half| u64::from_ne_bytes(half.first_chunk().copied().unwrap_or_default()))
            }
        }
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        if let Ok(_current) = self.context.enter() {
            // Launches still write what they met to memory that goes with this.
            let noted = self
                .told
                .note(|mark| mark.passed(true), staging::Block::words, drop);
            // Nobody is left to be told of a failure.
            drop(noted);
        }
    }
}

impl Device for Cuda {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn alloc(&self, bytes: u64) -> Result<Buf, DeviceError> {
        let _current = self.context.enter()?;
        let block = || {
            self.blocks.alloc(bytes, |whole| {
                let made = Block::new(&self.context, whole)?;
                Ok(made.map(|block| (block.address(), block)))
            })
        };
        match block() {
            Err(DeviceError::OutOfMemory { .. }) if self.spares.give_up() => block(),
            done => done,
        }
    }

    fn free(&self, buf: Buf) {
        self.blocks.free(buf);
    }

    fn copy(&self, queue: Queue, dst: End, src: End, bytes: u64) -> Result<(), DeviceError> {
        let n = size(bytes)?;
        let _current = self.context.enter()?;
        let lane = self.lane(queue)?;
        let (stream, driver) = (&lane.stream, &self.context.driver);
        if n == 0 {
            return Ok(());
        }
        let done = match (dst, src) {
            (End::Dev(to, at), End::Host(from)) => {
                let ends = (to.0 + at, from.cast_const());
                lane.staging.send(stream, &self.context, ends, n)
            }
            (End::Host(to), End::Dev(from, at)) => {
                let sent = driver.copy_down(to.cast(), from.0 + at, n, stream.raw);
                self.context.done(sent)
            }
            (End::Dev(to, to_at), End::Dev(from, from_at)) => {
                let sent = driver.copy_within(to.0 + to_at, from.0 + from_at, n, stream.raw);
                self.context.done(sent)
            }
            (End::Host(_), End::Host(_)) => {
                stream.finish()?;
                return HostMemory::default().copy(dst, src, bytes);
            }
        };
        done?;
        Ok(())
    }

    fn run(&self, queue: Queue, kernel: &Kernel, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let made = self.steps(kernel, launch)?;
        let Steps {
            list,
            scratch,
            watched,
        } = &*made;
        if list.is_empty() {
            return Ok(());
        }
        let _current = self.context.enter()?;
        let lane = self.lane(queue)?;
        let mut held = lane.hold();
        let scratch = self.scratch(&mut held, scratch)?;
        let (ins, outs) = (launch.ins, launch.outs);
        let bound = Bound { ins, outs, scratch };
        let (Some(watched), Some(flags)) = (watched, launch.flags) else {
            return self.put_all(&lane.stream, &list.iter().collect::<Vec<_>>(), &bound);
        };
        let at = bound.scratch[watched.scratch];
        let stream = &lane.stream;
        watched.run(
            (list, flags),
            |words| Ok(self.zero(stream, at, words.len())?),
            |steps| self.put_all(stream, steps, &bound),
            |words| {
                let (to, bytes) = (words.as_mut_ptr().cast(), size_of_val(words));
                let driver = &self.context.driver;
                self.context
                    .done(driver.copy_down(to, at, bytes, stream.raw))?;
                Ok(stream.finish()?)
            },
        )
    }

    fn run_watched(
        &self,
        queue: Queue,
        kernel: &Kernel,
        launch: &Launch<'_>,
        met: &Arc<[AtomicU8]>,
    ) -> Result<(), DeviceError> {
        let flags = Some(&**met);
        let launch = &Launch { flags, ..*launch };
        let made = self.steps(kernel, launch)?;
        let entries = || made.list.iter().map(|step| &step.entry);
        let Some(watched) = made
            .watched
            .as_ref()
            .filter(|_| self.programs.know(entries()))
        else {
            // What finds conditions is compiled for kernels that come again.
            return self.run(queue, kernel, launch);
        };
        let _current = self.context.enter()?;
        let Some(block) = self.words.block(&self.context, watched.words())? else {
            return self.run(queue, kernel, launch);
        };
        let lane = self.lane(queue)?;
        let mut held = lane.hold();
        let scratch = self.scratch(&mut held, &made.scratch)?;
        let (ins, outs) = (launch.ins, launch.outs);
        let bound = Bound { ins, outs, scratch };
        let (at, stream) = (bound.scratch[watched.scratch], &lane.stream);
        self.zero(stream, at, watched.words())?;
        self.put_all(stream, &watched.steps(&made.list), &bound)?;
        let bytes = watched.words() * size_of::<u32>();
        let driver = &self.context.driver;
        self.context
            .done(driver.copy_down(block.memory(), at, bytes, stream.raw))?;
        self.told.add(stream.mark()?, block, &made, met);
        Ok(())
    }

    fn foresee(&self, calls: &[(&Kernel, &Launch<'_>)]) -> Result<(), DeviceError> {
        let made = calls
            .iter()
            .filter_map(|(kernel, launch)| self.steps(kernel, launch).ok());
        let made: Vec<Arc<Steps>> = made.collect();
        let all: Vec<_> = made.iter().flat_map(|made| made.all()).collect();
        let all: Vec<_> = all.iter().map(|step| &step.entry).collect();
        let _current = self.context.enter()?;
        let made = self.programs.kernels(&self.context, &all);
        made.map(drop).map_err(|what| self.lacks(what))
    }

    fn record(&self, queue: Queue) -> Result<Event, DeviceError> {
        let _current = self.context.enter()?;
        let mark = self.lane(queue)?.stream.mark()?;
        let passed = |mark: &Mark| matches!(mark.passed(false), Ok(true));
        Ok(self.marks.add(mark, passed))
    }

    fn wait(&self, queue: Queue, event: Event) -> Result<(), DeviceError> {
        let Some(mark) = self.marks.get(event) else {
            return Ok(());
        };
        let _current = self.context.enter()?;
        self.lane(queue)?.stream.wait(&mark)?;
        Ok(())
    }

    fn poll(&self, event: Event, block: bool) -> Result<bool, DeviceError> {
        let _current = self.context.enter()?;
        let passed = match self.marks.get(event) {
            Some(mark) => mark.passed(block)?,
            None => true,
        };
        if passed {
            self.marks.passed(event);
            self.told
                .note(|mark| mark.passed(false), staging::Block::words, drop)?;
        }
        Ok(passed)
    }

    fn ext(&self, queue: Queue, call: &ExtCall<'_>) -> Result<(), DeviceError> {
        self.operate(queue, call)
    }

    fn libraries(&self) -> Vec<String> {
        self.vendor.words(self)
    }

    fn import(&self, foreign: Foreign) -> Result<Imported, DeviceError> {
        match foreign {
            Foreign::Memory { address, .. } => Ok(Imported::Buf(Buf(address))),
            Foreign::Queue(handle) => {
                let queue = Queue(self.lent.fetch_add(1, Relaxed));
                let stream = Stream::lent(&self.context, handle);
                self.queues.get(queue, || Ok(self.lane_of(stream)))?;
                Ok(Imported::Queue(queue))
            }
            other => Err(self.lacks(format!("{other:?} cannot be taken in"))),
        }
    }

    fn export(&self, buf: Buf, bytes: u64, queue: Queue) -> Result<Foreign, DeviceError> {
        let event = self.record(queue)?;
        self.poll(event, true)?;
        Ok(Foreign::Memory {
            address: buf.0,
            bytes,
        })
    }

    fn vmm(&self) -> Option<Arc<dyn Vmm>> {
        let pages = Arc::clone(self.pages.as_ref()?);
        Some(pages)
    }
}
