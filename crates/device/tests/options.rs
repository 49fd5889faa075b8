//! What a device may have beyond the eight methods: native and through the C table, and the answers of a
//! device that has none of it.
#![expect(unsafe_code, reason = "the loader takes tables by pointer")]

use arrayloom_device::abi::{Loaded, Open, table_of};
use arrayloom_device::{
    Abilities, Buf, Caps, Device, DeviceError, End, Event, ExtCall, Foreign, HostMemory, Imported,
    Launch, Null, Queue, Tensor, host_pointer,
};
use arrayloom_ir::{Builder, Form, Kernel, Output};
use arrayloom_memory::{Addr, Arena, ArenaSize, AtOnce, MemoryResource as _, SimMemory, Vmm};
use arrayloom_types::{DType, Layout};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A device on the host with every option.
struct Able {
    caps: Caps,
    memory: HostMemory,
    virtual_memory: Arc<SimMemory>,
    prepared: Arc<AtomicUsize>,
}

impl Device for Able {
    fn caps(&self) -> &Caps {
        &self.caps
    }
    fn alloc(&self, bytes: u64) -> Result<Buf, DeviceError> {
        self.memory.alloc("able", bytes)
    }
    fn free(&self, buf: Buf) {
        self.memory.free(buf);
    }
    fn copy(&self, _: Queue, dst: End, src: End, bytes: u64) -> Result<(), DeviceError> {
        self.memory.copy(dst, src, bytes)
    }
    fn run(&self, _: Queue, _: &Kernel, _: &Launch<'_>) -> Result<(), DeviceError> {
        Ok(())
    }
    fn record(&self, _: Queue) -> Result<Event, DeviceError> {
        Ok(Event(1))
    }
    fn wait(&self, _: Queue, _: Event) -> Result<(), DeviceError> {
        Ok(())
    }
    fn poll(&self, _: Event, _: bool) -> Result<bool, DeviceError> {
        Ok(true)
    }
    fn host_ptr(&self, buf: Buf) -> Option<*mut u8> {
        Some(host_pointer(buf.0))
    }
    /// `reverse`: the bytes of a row backwards, each with the one byte of `attrs` added.
    fn ext(&self, _: Queue, call: &ExtCall<'_>) -> Result<(), DeviceError> {
        let ("reverse", [to], [from], [add]) = (call.name, call.outs, call.ins, call.attrs) else {
            return Err(self.lacks(call.name.to_owned()));
        };
        assert_eq!(to.layout.dtype, DType::U8);
        let at = |t: &Tensor, i: usize| {
            let by = t.layout.offset + t.layout.strides[0] * i.cast_signed();
            host_pointer(t.buf.0).wrapping_offset(by)
        };
        let n = to.layout.shape[0];
        for i in 0..n {
            // SAFETY: the test made the blocks and the views in them.
            let byte = unsafe { at(from, n - 1 - i).read() };
            // SAFETY: as above.
            unsafe { at(to, i).write(byte + add) };
        }
        Ok(())
    }
    fn vmm(&self) -> Option<Arc<dyn Vmm>> {
        Some(Arc::<SimMemory>::clone(&self.virtual_memory))
    }
    fn prepare(&self, kernels: &[&Kernel]) -> Result<(), DeviceError> {
        for kernel in kernels {
            arrayloom_ir::verify(kernel).map_err(|error| self.lacks(error.to_string()))?;
        }
        self.prepared.fetch_add(kernels.len(), Relaxed);
        Ok(())
    }
    fn import(&self, foreign: Foreign) -> Result<Imported, DeviceError> {
        match foreign {
            Foreign::Memory { address, bytes: 64 } => Ok(Imported::Buf(Buf(address))),
            Foreign::Queue(number) => {
                Ok(Imported::Queue(Queue(u32::try_from(number).unwrap_or(0))))
            }
            Foreign::Context(7) => Ok(Imported::Nothing),
            other => Err(self.lacks(format!("{other:?}"))),
        }
    }
}

static PREPARED: std::sync::OnceLock<Arc<AtomicUsize>> = std::sync::OnceLock::new();

fn able() -> Able {
    Able {
        caps: Caps::on_host("able", Abilities::ALL),
        memory: HostMemory::default(),
        virtual_memory: Arc::new(SimMemory::new(4096, 1 << 16)),
        prepared: Arc::clone(PREPARED.get_or_init(Arc::default)),
    }
}

struct Opener;

impl Open for Opener {
    fn open(_: u32) -> Result<Arc<dyn Device>, DeviceError> {
        Ok(Arc::new(able()))
    }
}

/// The device as it is, and behind its table.
#[expect(clippy::unwrap_used, reason = "the table of a test can be opened")]
fn both() -> [Box<dyn Device>; 2] {
    let table: &'static _ = Box::leak(Box::new(table_of::<Opener>()));
    // SAFETY: the table is whole and lives on.
    let loaded = unsafe { Loaded::open(table, 0) };
    [Box::new(able()), Box::new(loaded.unwrap())]
}

fn kernel() -> Kernel {
    let mut b = Builder::new();
    let value = b.input(0, DType::F64).0;
    Kernel {
        code: b.finish(),
        inputs: vec![DType::F64],
        outputs: vec![Output {
            value,
            form: Form::Store,
        }],
        rank: 1,
    }
}

#[test]
fn operations_beyond_kernels_cross_with_their_arrays() {
    for device in both() {
        let (from, to) = (device.alloc(8).unwrap(), device.alloc(8).unwrap());
        let bytes: Vec<u8> = (1..=8).collect();
        let host = End::Host(bytes.as_ptr().cast_mut());
        device.copy(Queue(0), End::Dev(from, 0), host, 8).unwrap();
        let tensor = |buf, step| Tensor {
            buf,
            layout: Layout {
                dtype: DType::U8,
                offset: 1,
                shape: [3].as_slice().into(),
                strides: [step].as_slice().into(),
            },
        };
        let (outs, ins) = ([tensor(to, 1)], [tensor(from, 2)]);
        let mut call = ExtCall {
            name: "reverse",
            outs: &outs,
            ins: &ins,
            attrs: &[10],
        };
        device.ext(Queue(0), &call).unwrap();
        let mut found = [0u8; 3];
        let host = End::Host(found.as_mut_ptr());
        device.copy(Queue(0), host, End::Dev(to, 1), 3).unwrap();
        assert_eq!(found, [16, 14, 12]);
        call.name = "matmul";
        let error = device.ext(Queue(0), &call).unwrap_err();
        assert!(
            matches!(error, DeviceError::Unsupported { device: "able", what } if what == "matmul")
        );
        device.free(from);
        device.free(to);
    }
}

#[test]
fn kernels_are_prepared_and_foreign_things_taken_in() {
    for device in both() {
        let before = PREPARED.get().unwrap().load(Relaxed);
        let one = kernel();
        device.prepare(&[&one, &one]).unwrap();
        assert_eq!(PREPARED.get().unwrap().load(Relaxed), before + 2);
        let import = |foreign| device.import(foreign);
        let memory = |bytes| Foreign::Memory {
            address: 512,
            bytes,
        };
        assert_eq!(import(memory(64)), Ok(Imported::Buf(Buf(512))));
        assert!(import(memory(65)).is_err());
        assert_eq!(import(Foreign::Queue(3)), Ok(Imported::Queue(Queue(3))));
        assert_eq!(import(Foreign::Context(7)), Ok(Imported::Nothing));
        let buf = device.alloc(100).unwrap();
        let shown = device.export(buf, 100, Queue(0)).unwrap();
        let (address, bytes) = (buf.0, 100);
        assert_eq!(shown, Foreign::Memory { address, bytes });
        device.free(buf);
    }
}

#[test]
fn an_arena_stands_on_the_virtual_memory_of_a_device() {
    for device in both() {
        let vmm = device.vmm().unwrap();
        let size = ArenaSize {
            reserve: 1 << 20,
            unit: 512,
            large: 4096,
        };
        let arena = Arena::new(Arc::clone(&vmm), Arc::new(AtOnce), size).unwrap();
        let whole = arena.alloc(1 << 16, Queue(0)).unwrap();
        assert!(
            arena.alloc(4096, Queue(0)).is_err(),
            "its memory ends there"
        );
        arena.free(whole, 1 << 16, Queue(0));
        assert_eq!(arena.trim(u64::MAX), 1 << 16);
        let buf = vmm.reserve(4096).unwrap();
        vmm.map(Addr { buf, offset: 0 }, 4096).unwrap();
        vmm.unmap(Addr { buf, offset: 0 }, 4096);
        vmm.release(buf, 4096);
    }
}

#[test]
fn a_device_without_options_says_so() {
    let memory = arrayloom_memory::host_memory().unwrap();
    let device = Null::new(memory);
    let call = ExtCall {
        name: "matmul",
        outs: &[],
        ins: &[],
        attrs: &[],
    };
    let refused = device.ext(Queue(0), &call).unwrap_err();
    assert!(refused.to_string().contains("no operation \"matmul\""));
    assert!(device.vmm().is_none() && device.residency().is_none());
    device.prepare(&[&kernel()]).unwrap();
    assert!(device.import(Foreign::Queue(1)).is_err());
    let (address, bytes) = (4096, 10);
    let memory = Foreign::Memory { address, bytes };
    assert_eq!(device.import(memory), Ok(Imported::Buf(Buf(4096))));
}
