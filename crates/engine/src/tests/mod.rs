//! The engine on the CPU device, held against the interpreter: random programs, failures of every kind,
//! touches of lazy memory.

mod alone;
mod barriers;
mod failing;
mod heat;
mod journal;
mod ladder;
mod lend;
mod naive;
mod operate;
mod period;
mod picked;
mod put_off;
mod random;
mod rename;
mod semantics;
mod stencil;
mod touch;

use crate::{Count, Engine, EngineError, Settings};
use arrayloom_cpu::{Cpu, CpuConfig};
use arrayloom_device::{Buf, Caps, Device, DeviceError, End, Event, Launch, Queue, Sweep};
use arrayloom_guard::Pages as _;
use arrayloom_ir::{Action, Kernel, LoopSig, Node, Operand, ReduceOp, SlotId, Table, ops};
use arrayloom_reference::Reference;
use arrayloom_types::{DType, Layout, Scalar};
use smallvec::smallvec;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A device that refuses a run when its count reaches zero.
struct Flaky {
    /// The same device opened in several ways; tests choose one.
    inner: Vec<Arc<dyn Device>>,
    chosen: AtomicUsize,
    runs_left: AtomicI64,
    /// Kernels with more instructions are not supported.
    longest: AtomicUsize,
    /// What happens once, while the next kernel runs.
    meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Flaky {
    fn new(inner: Vec<Arc<dyn Device>>) -> Flaky {
        Flaky {
            inner,
            chosen: AtomicUsize::new(0),
            runs_left: AtomicI64::new(i64::MAX),
            longest: AtomicUsize::new(usize::MAX),
            meanwhile: Mutex::new(None),
        }
    }

    fn choices(&self) -> usize {
        self.inner.len()
    }

    fn choose(&self, number: usize) {
        self.chosen.store(number, Ordering::Relaxed);
    }

    fn inner(&self) -> &dyn Device {
        &*self.inner[self.chosen.load(Ordering::Relaxed)]
    }

    /// Whether a launch may run.
    fn refuse(&self) -> Result<(), DeviceError> {
        if self.runs_left.fetch_sub(1, Ordering::Relaxed) == 0 {
            let what = "injected".to_owned();
            return Err(DeviceError::Failed {
                device: "flaky",
                what,
            });
        }
        Ok(())
    }
}

impl Device for Flaky {
    fn caps(&self) -> &Caps {
        self.inner[0].caps()
    }
    fn alloc(&self, bytes: u64) -> Result<Buf, DeviceError> {
        self.inner[0].alloc(bytes)
    }
    fn free(&self, buf: Buf) {
        self.inner[0].free(buf);
    }
    fn copy(&self, queue: Queue, dst: End, src: End, bytes: u64) -> Result<(), DeviceError> {
        self.inner[0].copy(queue, dst, src, bytes)
    }
    fn run(&self, queue: Queue, kernel: &Kernel, launch: &Launch<'_>) -> Result<(), DeviceError> {
        assert!(launch.fits(kernel), "{kernel}");
        if kernel.code.len() > self.longest.load(Ordering::Relaxed) {
            let what = "a long kernel".to_owned();
            return Err(DeviceError::Unsupported {
                device: "flaky",
                what,
            });
        }
        self.refuse()?;
        let meanwhile = self.meanwhile.lock().unwrap().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile();
        }
        self.inner().run(queue, kernel, launch)
    }
    fn sweep(&self, queue: Queue, sweep: &Sweep<'_>) -> Result<bool, DeviceError> {
        let longest = self.longest.load(Ordering::Relaxed);
        if sweep.stages.iter().any(|s| s.kernel.code.len() > longest) {
            return Ok(false);
        }
        self.refuse()?;
        self.inner().sweep(queue, sweep)
    }
    fn record(&self, queue: Queue) -> Result<Event, DeviceError> {
        self.inner[0].record(queue)
    }
    fn wait(&self, queue: Queue, event: Event) -> Result<(), DeviceError> {
        self.inner[0].wait(queue, event)
    }
    fn poll(&self, event: Event, block: bool) -> Result<bool, DeviceError> {
        self.inner[0].poll(event, block)
    }
}

/// An engine and the device below it.
struct World {
    engine: Arc<Engine>,
    device: Arc<Flaky>,
    /// Runs the same nodes, where a test asks for it.
    naive: Option<Mutex<naive::Naive>>,
}

/// An array of the program: the slot, where it is, and a view.
#[derive(Clone, Debug)]
struct Array {
    slot: SlotId,
    addr: *mut u8,
    layout: Layout,
}

impl World {
    fn start(settings: Settings, device: Vec<Arc<dyn Device>>) -> World {
        let device = Arc::new(Flaky::new(device));
        let engine = Engine::start(settings, Arc::<Flaky>::clone(&device)).unwrap();
        World {
            engine,
            device,
            naive: None,
        }
    }

    /// An engine on the interpreter whose every operation runs at once, alone: what the others are held against.
    fn eager() -> World {
        let settings = Settings {
            lazy: false,
            fuse: false,
            ..Settings::default()
        };
        World::start(settings, vec![Arc::new(Reference::new())])
    }

    /// How many kernels, or else allocations, go well before one fails.
    fn left(&self, kernels: bool) -> &AtomicI64 {
        if kernels {
            &self.device.runs_left
        } else {
            &self.engine.allocations_left
        }
    }

    /// The program drops these arrays, and the list runs.
    fn drop_all(&self, arrays: &[&Array]) {
        for array in arrays {
            self.engine.release(array.slot);
        }
        self.engine.flush().unwrap();
    }

    /// Bytes in use.
    fn live_bytes(&self) -> usize {
        self.engine.stats().pool.unwrap().live_bytes
    }

    fn lazy(&self, dtype: DType, shape: &[usize]) -> Array {
        let layout = Layout::contiguous(dtype, shape);
        let nbytes = (layout.len() * dtype.size()).max(1);
        let new = self.engine.new_lazy(nbytes);
        let new = new.unwrap_or_else(|| self.engine.new_ready(nbytes, false).unwrap());
        Array {
            slot: new.slot,
            addr: new.addr,
            layout,
        }
    }

    /// A published array with these values.
    fn ready(&self, dtype: DType, shape: &[usize], values: &[f64]) -> Array {
        let layout = Layout::contiguous(dtype, shape);
        let new = self
            .engine
            .new_ready((layout.len() * dtype.size()).max(1), true)
            .unwrap();
        let array = Array {
            slot: new.slot,
            addr: new.addr,
            layout,
        };
        self.write(&array, values);
        array
    }

    /// Writes through the address, as the program does.
    fn write(&self, array: &Array, values: &[f64]) {
        let dtype = array.layout.dtype;
        let mut bytes: Vec<u8> = values
            .iter()
            .flat_map(|&v| Scalar::from_f64(dtype, v).as_bytes().to_vec())
            .collect();
        let (to, from) = (End::Host(array.addr), End::Host(bytes.as_mut_ptr()));
        self.device
            .copy(Queue(0), to, from, bytes.len() as u64)
            .unwrap();
    }

    /// Reads through the address without asking the engine.
    fn peek(&self, array: &Array) -> Vec<u8> {
        let mut bytes = vec![0u8; array.layout.len() * array.layout.dtype.size()];
        let (to, from) = (End::Host(bytes.as_mut_ptr()), End::Host(array.addr));
        self.device
            .copy(Queue(0), to, from, bytes.len() as u64)
            .unwrap();
        bytes
    }

    fn bytes(&self, array: &Array) -> Vec<u8> {
        self.engine.sync_read(array.slot).unwrap();
        self.peek(array)
    }

    fn floats(&self, array: &Array) -> Vec<f64> {
        assert_eq!(array.layout.dtype, DType::F64);
        let bytes = self.bytes(array);
        bytes
            .chunks(8)
            .map(|b| f64::from_le_bytes(b.try_into().unwrap()))
            .collect()
    }

    fn map(&self, name: &str, out: &Array, ins: &[Operand]) -> Result<(), EngineError> {
        self.record(map_node(name, out, ins, None))
    }

    fn record(&self, node: Node) -> Result<(), EngineError> {
        if let Some(naive) = &self.naive {
            naive.lock().unwrap().run(&node);
        }
        self.engine.record(node)
    }

    /// The bytes of a new array, known to the naive runner, too.
    fn tell(&self, array: &Array, bytes: Vec<u8>) {
        if let Some(naive) = &self.naive {
            naive.lock().unwrap().add(array.slot, bytes);
        }
    }
}

fn map_node(name: &str, out: &Array, ins: &[Operand], mask: Option<Operand>) -> Node {
    let dtype_of = |o: &Operand| match o {
        Operand::View(_, layout) => layout.dtype,
        Operand::Scalar(scalar) => scalar.dtype,
        Operand::Table(_, table) => table.walk.dtype,
    };
    let strong: Vec<_> = ins
        .iter()
        .map(|o| arrayloom_types::Operand::Strong(dtype_of(o)))
        .collect();
    let op = ops::find(name).unwrap();
    Node {
        action: Action::Map(op),
        sig: op.resolve(&strong).unwrap(),
        outs: smallvec![(out.slot, out.layout.clone())],
        ins: ins
            .iter()
            .map(|o| broadcast(o, &out.layout.shape))
            .collect(),
        mask: mask.map(|o| broadcast(&o, &out.layout.shape)),
        site: 0,
        told: false,
        part: false,
    }
}

fn reduce_node(op: ReduceOp, axes: u32, of: &Array, out: &Array) -> Node {
    Node {
        action: Action::Reduce {
            op,
            axes,
            initial: None,
        },
        sig: LoopSig {
            ins: smallvec![out.layout.dtype],
            outs: smallvec![out.layout.dtype],
        },
        outs: smallvec![(out.slot, out.layout.clone())],
        ins: smallvec![read(of)],
        mask: None,
        site: 0,
        told: false,
        part: false,
    }
}

fn broadcast(operand: &Operand, shape: &[usize]) -> Operand {
    match operand {
        Operand::View(slot, layout) => Operand::View(*slot, layout.broadcast_to(shape)),
        Operand::Scalar(_) | Operand::Table(..) => operand.clone(),
    }
}

fn read(array: &Array) -> Operand {
    Operand::View(array.slot, array.layout.clone())
}

fn number(value: f64) -> Operand {
    Operand::Scalar(Scalar::from_f64(DType::F64, value))
}

impl Array {
    /// The window of extents `shape` that begins at `start`, seen with `step` along every axis.
    fn window(&self, start: &[usize], shape: &[usize], step: isize) -> Array {
        let mut view = self.clone();
        for (axis, &at) in start.iter().enumerate() {
            let stride = self.layout.strides[axis];
            view.layout.offset += at.cast_signed() * stride;
            view.layout.strides[axis] = stride * step;
        }
        view.layout.shape = shape.into();
        view
    }
}

/// The CPU device as it is, and with few rows at a time on several threads.
fn devices() -> Vec<Arc<dyn Device>> {
    let open = |(threads, rows, tile): (usize, usize, Option<usize>)| -> Arc<dyn Device> {
        Cpu::open(CpuConfig {
            threads,
            sweep_rows: (rows > 0).then_some(rows),
            tile_elems: tile,
            min_parallel_steps: if rows > 0 { 0 } else { 300_000 },
            ..CpuConfig::default()
        })
    };
    let ways = [
        (0, 0, None),
        (1, 1, Some(3)),
        (2, 1, None),
        (3, 2, Some(7)),
        (7, 3, None),
    ];
    ways.into_iter().map(open).collect()
}

/// The one engine of this process that has the guard, for one test at a time.
fn guarded() -> (&'static World, MutexGuard<'static, ()>) {
    static WORLD: OnceLock<World> = OnceLock::new();
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let world = WORLD.get_or_init(|| {
        let settings = Settings {
            sweep_points: Count(1),
            sweep_columns: Count(1),
            sweep_bytes: 0,
            seam_bytes: 0,
            ..Settings::default()
        };
        World::start(settings, devices())
    });
    assert!(world.engine.guard().is_some(), "the guard works here");
    // Late requests of the last test's touches come to an end.
    std::thread::sleep(std::time::Duration::from_millis(5));
    let all = Ordering::Relaxed;
    world.device.runs_left.store(i64::MAX, all);
    world.device.longest.store(usize::MAX, all);
    world.device.choose(0);
    world.engine.allocations_left.store(i64::MAX, all);
    (world, turn)
}
