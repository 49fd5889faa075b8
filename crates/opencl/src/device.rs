//! The device: queues, copies and launches.

use crate::bound::{Bound, views};
use crate::clblast::ClBlast;
use crate::driver::{self, CommandQueue, Context, DeviceId, Failure, Mark, Mem};
use crate::programs::{Programs, Ready, Seat};
use arrayloom_codegen::{
    ArgValue, Entry, GROUP, Gemm, ImageCache, Launches, Memory, Step, Steps, Target, Told,
    abilities, operation,
};
use arrayloom_device::{
    Blocks, Buf, Caps, Device, DeviceError, End, Event, ExtCall, FILTER_PASS, FILTER_WINDOW,
    HostMemory, Launch, Marks, Queue, Queues, Tensor, host_pointer,
};
use arrayloom_ir::Kernel;
use cl3::device::{
    CL_DEVICE_GLOBAL_MEM_SIZE, CL_DEVICE_HOST_UNIFIED_MEMORY, CL_DEVICE_MAX_COMPUTE_UNITS,
    CL_DEVICE_MAX_MEM_ALLOC_SIZE, CL_DEVICE_NAME, CL_DEVICE_TYPE, CL_DEVICE_TYPE_CPU,
    CL_DEVICE_VENDOR, CL_DEVICE_VERSION, CL_DRIVER_VERSION,
};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

const NAME: &str = "opencl";

/// Items that keep one compute unit of a GPU busy.
const LANES_OF_UNIT: u64 = 2048;

/// Where the device's blocks lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// In the host's memory for devices of the CPU, else on the device.
    #[default]
    Natural,
    /// On the device, whatever it is.
    Device,
}

/// Numbers of blocks are so far apart: whether elements are aligned is seen from them.
const APART: u64 = 512;

/// How a device is opened.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Which device, counted over all platforms.
    pub index: usize,
    /// Where its blocks lie.
    pub place: Place,
    /// Bytes of memory that it may use; all of it if absent.
    pub memory: Option<u64>,
    /// Products go to `CLBlast` where it is found; else kernels of ours do them.
    pub libraries: bool,
    /// Where compiled programs are kept, and how many bytes; nowhere if absent.
    pub cache: Option<(PathBuf, u64)>,
    /// Kernels are those for items on cores of a CPU, or those for a GPU; what the device is if absent.
    pub cores: Option<bool>,
}

/// A device over OpenCL.
pub struct OpenCl {
    pub(crate) caps: Caps,
    id: DeviceId,
    target: Target,
    blocks: Blocks<Mem>,
    /// Numbers of blocks given out.
    numbers: AtomicU64,
    host: HostMemory,
    programs: Programs,
    queues: Queues<CommandQueue>,
    marks: Marks<Mark>,
    told: Told<Mark, Vec<u32>>,
    launches: Launches,
    /// `CLBlast`, if it is to be used, or why it cannot be; once a product was wanted.
    products: OnceLock<Result<ClBlast, String>>,
    libraries: bool,
    pub(crate) context: Context,
}

pub(crate) fn failed(what: impl Into<String>) -> DeviceError {
    DeviceError::Failed {
        device: NAME,
        what: what.into(),
    }
}

fn unsupported(what: impl Into<String>) -> DeviceError {
    DeviceError::Unsupported {
        device: NAME,
        what: what.into(),
    }
}

/// A failure of a call that needed no memory that we know of.
pub(crate) fn trouble(failure: Failure) -> DeviceError {
    if failure.is_memory() {
        return DeviceError::OutOfMemory {
            device: NAME,
            need: 0,
            free: 0,
        };
    }
    failed(failure.to_string())
}

/// How many devices there are; none without a driver.
pub fn count() -> usize {
    driver::devices().map_or(0, |all| all.len())
}

impl OpenCl {
    /// Opens a device.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where there is no driver or no such device.
    pub fn open(config: Config) -> Result<OpenCl, DeviceError> {
        // Some drivers do not survive being started by two threads at once.
        static OPENING: Mutex<()> = Mutex::new(());
        let _alone = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
        let none = |why: String| {
            unsupported(format!(
                "{why}; install an OpenCL driver, such as pocl-opencl-icd"
            ))
        };
        let all = driver::devices().map_err(|failure| {
            let missing = matches!(failure.code, -2000 | -2001 | -1001);
            none(if missing {
                "no OpenCL driver is installed".to_owned()
            } else {
                failure.to_string()
            })
        })?;
        let count = all.len();
        let Some(&id) = all.get(config.index) else {
            return Err(unsupported(format!(
                "no device of number {}: they are numbered from 0, and there are {count}; `arrayloom backends` lists them",
                config.index
            )));
        };
        let number = |info| id.number(info).map_err(trouble);
        let text = |info| id.text(info).map_err(trouble);
        let cpu = number(CL_DEVICE_TYPE)? & CL_DEVICE_TYPE_CPU != 0;
        let shared = number(CL_DEVICE_HOST_UNIFIED_MEMORY)? != 0;
        let unified = config.place == Place::Natural && cpu && shared;
        let units = number(CL_DEVICE_MAX_COMPUTE_UNITS)?;
        let memory = number(CL_DEVICE_GLOBAL_MEM_SIZE)?;
        let memory = config.memory.map_or(memory, |limit| limit.min(memory));
        let largest = number(CL_DEVICE_MAX_MEM_ALLOC_SIZE)?;
        let (name, driver) = (text(CL_DEVICE_NAME)?, text(CL_DRIVER_VERSION)?);
        let detail = format!("{name}, {}, {driver}", text(CL_DEVICE_VERSION)?);
        let hardware = format!("{} {detail}", text(CL_DEVICE_VENDOR)?);
        let lanes = if cpu {
            units * 8
        } else {
            units * LANES_OF_UNIT
        };
        let cache = config
            .cache
            .map(|(dir, limit)| ImageCache::new(dir, limit, "clbin"));
        Ok(OpenCl {
            caps: Caps {
                name: NAME,
                detail,
                threads: usize::try_from(units).unwrap_or(1),
                memory: if unified { u64::MAX } else { memory },
                unified,
                fused: true,
                abilities: abilities(),
            },
            id,
            target: Target {
                unified,
                lanes: usize::try_from(lanes).unwrap_or(usize::MAX),
                cores: config.cores.unwrap_or(cpu),
            },
            blocks: Blocks::new(NAME, memory, largest),
            numbers: AtomicU64::new(APART),
            host: HostMemory::default(),
            programs: Programs::new(id, hardware, cache),
            queues: Queues::default(),
            marks: Marks::default(),
            told: Told::default(),
            launches: Launches::default(),
            products: OnceLock::new(),
            libraries: config.libraries,
            context: Context::new(id).map_err(trouble)?,
        })
    }

    fn queue(&self, queue: Queue) -> Result<Arc<CommandQueue>, DeviceError> {
        self.queues
            .get(queue, || self.context.queue(self.id).map_err(trouble))
    }

    /// Waits for all queues.
    fn finish(&self) -> Result<(), DeviceError> {
        let all = self.queues.all();
        all.iter()
            .try_for_each(|queue| queue.finish().map_err(trouble))
    }

    pub(crate) fn block(&self, buf: Buf) -> Result<Arc<Mem>, DeviceError> {
        let found = self.blocks.get(buf);
        found.ok_or_else(|| failed(format!("there is no block {}", buf.0)))
    }
}

impl OpenCl {
    /// Makes the blocks that steps share.
    fn scratch(&self, bound: &mut Bound, wanted: &[u64]) -> Result<(), DeviceError> {
        for &bytes in wanted {
            let size = usize::try_from(bytes).unwrap_or(usize::MAX);
            let made = self.context.buffer(size.max(1)).map_err(|failure| {
                if failure.is_memory() {
                    let (device, need, free) = (NAME, bytes, 0);
                    return DeviceError::OutOfMemory { device, need, free };
                }
                trouble(failure)
            });
            bound.scratch.push(made?);
        }
        Ok(())
    }

    /// Notes the conditions of launches that are done.
    fn note_conditions(&self) -> Result<(), DeviceError> {
        let noted = self.told.note(
            |mark| mark.passed(false),
            Vec::as_slice,
            |words| {
                let _left_to_it = words.leak();
            },
        );
        noted.map_err(trouble)
    }

    /// `CLBlast`, or why there is none.
    fn products(&self) -> &Result<ClBlast, String> {
        self.products.get_or_init(ClBlast::open)
    }

    /// Puts a product into a queue by `CLBlast`. False if it is none for it: no result lies on an operand, so a kernel
    /// of ours can do all of it.
    fn multiplied(&self, call: &ExtCall<'_>, queue: &CommandQueue, bound: &Bound) -> bool {
        let wanted = self.libraries && matches!(call.outs, [out] if ClBlast::has(out.layout.dtype));
        let Some(gemm) = Gemm::of(call).filter(|_| wanted) else {
            return false;
        };
        let library = self.products().as_ref();
        library.is_ok_and(|library| library.multiply(&gemm, queue, bound))
    }

    /// The steps of a launch.
    fn steps(&self, kernel: &Kernel, launch: &Launch<'_>) -> Result<Arc<Steps>, DeviceError> {
        self.launches.steps(&self.caps, kernel, launch, self.target)
    }

    /// Puts steps into a queue, and keeps programs that are new.
    fn put_all(
        &self,
        queue: &CommandQueue,
        list: &[&Step],
        bound: &Bound,
    ) -> Result<(), DeviceError> {
        let entries: Vec<_> = list.iter().map(|step| &step.entry).collect();
        let kernels = self.programs.kernels(&self.context, &entries);
        for (step, kernel) in list.iter().zip(&kernels.map_err(unsupported)?) {
            put(queue, step, kernel, bound)?;
        }
        self.programs.keep(queue).map_err(trouble)
    }
}

/// Sets the parameters of a step and puts it into a queue.
fn put(queue: &CommandQueue, step: &Step, ready: &Ready, bound: &Bound) -> Result<(), DeviceError> {
    let kernel = ready.kernel.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(seat) = ready.seat {
        set_seated(&kernel, seat, step, bound)?;
    } else {
        set(&kernel, step, bound)?;
    }
    let [x, y, z] = step
        .groups
        .map(|g| usize::try_from(g).unwrap_or(usize::MAX));
    let group = GROUP as usize;
    let grid = [x * group, y, z];
    let launch = || queue.launch(&kernel, grid, group);
    match &ready.running {
        Some(running) => running.launch(queue.number(), grid, launch),
        None => launch().map(drop),
    }
    .map_err(trouble)
}

/// The number of elements from the start of its block to the first of an operand.
fn offset(bound: &Bound, memory: Memory, unit: usize) -> [u8; 8] {
    let elements = bound.offset(memory) / unit.cast_signed();
    (elements as i64).to_le_bytes()
}

/// The bytes of a parameter that is no memory.
fn bytes_of(arg: &ArgValue, bound: &Bound) -> ([u8; 16], usize) {
    arg.bytes(|input| bound.value(input)).unwrap_or_default()
}

/// Sets the parameters of a kernel of its own.
fn set(kernel: &driver::Kernel, step: &Step, bound: &Bound) -> Result<(), DeviceError> {
    for (number, arg) in (0..).zip(&step.args) {
        match arg {
            ArgValue::Block(memory) => kernel.set_mem(number, bound.mem(*memory)?),
            ArgValue::Offset { memory, unit } => kernel.set(number, &offset(bound, *memory, *unit)),
            ArgValue::Bytes(..) | ArgValue::Value { .. } => {
                let (bytes, n) = bytes_of(arg, bound);
                kernel.set(number, &bytes[..n])
            }
        }
        .map_err(trouble)?;
    }
    Ok(())
}

/// Sets the parameters of a board for one of its seats.
fn set_seated(
    kernel: &driver::Kernel,
    seat: Seat,
    step: &Step,
    bound: &Bound,
) -> Result<(), DeviceError> {
    let (mut mems, mut words) = (Vec::new(), Vec::new());
    for arg in &step.args {
        match arg {
            ArgValue::Block(memory) => mems.push(bound.mem(*memory)?),
            ArgValue::Offset { memory, unit } => {
                words.extend(offset(bound, *memory, *unit));
            }
            ArgValue::Bytes(..) | ArgValue::Value { .. } => {
                words.extend(&bytes_of(arg, bound).0[..8]);
            }
        }
    }
    words.resize(8 * seat.words, 0);
    let set = kernel.set(0, &seat.number.to_le_bytes());
    set.map_err(trouble)?;
    // Drivers want all of them set: those that the seat does not have get any block.
    let last = mems.last().copied();
    let mut next = mems.into_iter();
    let mut number = 1;
    for _ in 0..seat.pointers {
        let mem = next.next().or(last);
        let mem = mem.ok_or_else(|| failed("a step without memory"))?;
        kernel.set_mem(number, mem).map_err(trouble)?;
        number += 1;
    }
    kernel.set(number, &words).map_err(trouble)
}

impl Drop for OpenCl {
    fn drop(&mut self) {
        // Launches write into memory that goes with this.
        drop(self.finish());
    }
}

impl Device for OpenCl {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn alloc(&self, bytes: u64) -> Result<Buf, DeviceError> {
        if self.caps.unified {
            self.host.alloc(NAME, bytes)
        } else {
            self.blocks.alloc(bytes, |whole| {
                let size = usize::try_from(whole).unwrap_or(usize::MAX);
                match self.context.buffer(size) {
                    Ok(mem) => Ok(Some((self.numbers.fetch_add(APART, Relaxed), mem))),
                    Err(failure) if failure.is_memory() => Ok(None),
                    Err(failure) => Err(failed(failure.to_string())),
                }
            })
        }
    }

    fn free(&self, buf: Buf) {
        if !self.caps.unified {
            return self.blocks.free(buf);
        }
        // Kernels may still use it; what failed is told to whoever waits for it.
        drop(self.finish());
        self.host.free(buf);
    }

    fn copy(&self, queue: Queue, dst: End, src: End, bytes: u64) -> Result<(), DeviceError> {
        let queue = self.queue(queue)?;
        let size = |n: u64| {
            usize::try_from(n).map_err(|_too_large| failed("a copy beyond the address space"))
        };
        let n = size(bytes)?;
        if self.caps.unified || matches!((dst, src), (End::Host(_), End::Host(_))) {
            queue.finish().map_err(trouble)?;
            return self.host.copy(dst, src, bytes);
        }
        if n == 0 {
            return Ok(());
        }
        let done = match (dst, src) {
            (End::Dev(to, at), End::Host(from)) => {
                queue.write(&*self.block(to)?, size(at)?, from, n)
            }
            (End::Host(to), End::Dev(from, at)) => {
                queue.read(&*self.block(from)?, size(at)?, to, n)
            }
            (End::Dev(to, to_at), End::Dev(from, from_at)) => {
                let (a, b) = (self.block(from)?, self.block(to)?);
                queue.copy((&a, size(from_at)?), (&b, size(to_at)?), n)
            }
            (End::Host(_), End::Host(_)) => Ok(()),
        };
        done.map_err(trouble)
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
        let mut bound = self.bind(&views(kernel, launch), launch.ins.len())?;
        self.scratch(&mut bound, scratch)?;
        let queue = self.queue(queue)?;
        let (Some(watched), Some(flags)) = (watched, launch.flags) else {
            return self.put_all(&queue, &list.iter().collect::<Vec<_>>(), &bound);
        };
        let at = &bound.scratch[watched.scratch];
        watched.run(
            (list, flags),
            |words| {
                let zero = queue.zero(at, size_of_val(words));
                zero.map_err(trouble)
            },
            |steps| self.put_all(&queue, steps, &bound),
            |words| {
                let bytes = size_of_val(words);
                let sent = queue.read(at, 0, words.as_mut_ptr().cast(), bytes);
                sent.and_then(|()| queue.finish()).map_err(trouble)
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
        let again = !self.caps.unified && self.programs.know(entries());
        let Some(watched) = made.watched.as_ref().filter(|_| again) else {
            // What finds conditions is compiled for kernels that come again; and who works in the memory of the
            // host waits for each launch anyway.
            return self.run(queue, kernel, launch);
        };
        let mut bound = self.bind(&views(kernel, launch), launch.ins.len())?;
        self.scratch(&mut bound, &made.scratch)?;
        let queue = self.queue(queue)?;
        let at = &bound.scratch[watched.scratch];
        let mut words = vec![0u32; watched.words()];
        let bytes = size_of_val(&*words);
        queue.zero(at, bytes).map_err(trouble)?;
        self.put_all(&queue, &watched.steps(&made.list), &bound)?;
        let mark = queue
            .read(at, 0, words.as_mut_ptr().cast(), bytes)
            .and_then(|()| queue.mark());
        match mark {
            Ok(mark) => self.told.add(mark, words, &made, met),
            Err(failure) => {
                // The driver may still write to them.
                let _left_to_it = words.leak();
                return Err(trouble(failure));
            }
        }
        Ok(())
    }

    fn foresee(&self, calls: &[(&Kernel, &Launch<'_>)]) -> Result<(), DeviceError> {
        let made = calls
            .iter()
            .filter_map(|(kernel, launch)| self.steps(kernel, launch).ok());
        let made: Vec<Arc<Steps>> = made.collect();
        let all = made.iter().flat_map(|made| made.all());
        let all: Vec<&Entry> = all.map(|step| &step.entry).collect();
        if self.target.cores {
            self.programs.together(&self.context, &all)
        } else {
            self.programs.kernels(&self.context, &all).map(drop)
        }
        .map_err(unsupported)
    }

    fn record(&self, queue: Queue) -> Result<Event, DeviceError> {
        let mark = self.queue(queue)?.mark().map_err(trouble)?;
        Ok(self
            .marks
            .add(mark, |mark| matches!(mark.passed(false), Ok(true))))
    }

    fn wait(&self, queue: Queue, event: Event) -> Result<(), DeviceError> {
        match self.marks.get(event) {
            Some(mark) => self.queue(queue)?.wait(&mark).map_err(trouble),
            None => Ok(()),
        }
    }

    fn poll(&self, event: Event, block: bool) -> Result<bool, DeviceError> {
        let Some(mark) = self.marks.get(event) else {
            self.note_conditions()?;
            return Ok(true);
        };
        let passed = mark.passed(block).map_err(trouble)?;
        if passed {
            self.marks.passed(event);
            self.note_conditions()?;
        }
        Ok(passed)
    }

    fn ext(&self, queue: Queue, call: &ExtCall<'_>) -> Result<(), DeviceError> {
        if self.caps.unified && ![FILTER_PASS, FILTER_WINDOW].contains(&call.name) {
            // The CPU is better used by a tuned library of the host. Filters come only if they were asked for.
            return Err(self.lacks(format!("{} is left to the host", call.name)));
        }
        let made = operation(call, self.target).map_err(unsupported)?;
        let ranges = call.ins.iter().chain(call.outs).map(Tensor::range);
        let views = made.ins.iter().chain(&made.outs).zip(ranges).collect();
        let mut bound = self.bind(&views, made.ins.len())?;
        let queue = self.queue(queue)?;
        if call.name == "matmul" && self.multiplied(call, &queue, &bound) {
            return Ok(());
        }
        self.scratch(&mut bound, &made.steps.scratch)?;
        let list: Vec<&Step> = made.steps.list.iter().collect();
        self.put_all(&queue, &list, &bound)
    }

    fn libraries(&self) -> Vec<String> {
        if self.caps.unified {
            return Vec::new();
        }
        let none = |why: &str| vec![format!("no CLBlast: {why}")];
        if !self.libraries {
            return none("it is turned off");
        }
        let opened = self.products().as_ref();
        opened.map_or_else(|why| none(why), ClBlast::words)
    }

    fn host_ptr(&self, buf: Buf) -> Option<*mut u8> {
        self.caps.unified.then(|| host_pointer(buf.0))
    }
}
