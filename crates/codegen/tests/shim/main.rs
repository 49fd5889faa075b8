//! The CUDA text on the CPU, judged by the suite of devices.
//!
//! The suite runs twice: once to see which kernels it wants, and once with all of them compiled as one
//! library by the C++ compiler, which takes long: each group has the dtypes that differ most.

#![expect(
    unsafe_code,
    clippy::unwrap_used,
    reason = "a library is loaded, and tests fail by panicking"
)]

use arrayloom_codegen::{
    ArgValue, Dialect, Entry, Memory, Step, Steps, Target, lower, operation, source,
};
use arrayloom_device::conform::{self, CaseResult, Group, Options, Outcome, run_group_with};
use arrayloom_device::{
    Abilities, Arg, Buf, Caps, Device, DeviceError, End, Event, ExtCall, HostMemory, Launch, Queue,
};
use arrayloom_ir::{Kernel, verify};
use arrayloom_reference::Reference;
use arrayloom_types::DType::{self, Bool, C64, C128, F16, F32, F64, I8, I16, I32, I64, U8};
use libloading::Library;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;

mod tiles;

const TARGET: Target = Target {
    unified: true,
    lanes: 64,
    cores: false,
};

type Run = unsafe extern "C" fn(*mut *mut c_void, *const u32);

/// A device that notes kernels, or runs those that were compiled.
struct Shim {
    caps: Caps,
    memory: HostMemory,
    wanted: Mutex<BTreeMap<String, Entry>>,
    library: Option<Library>,
}

impl Shim {
    fn new(library: Option<Library>) -> Shim {
        let abilities = Abilities {
            flags: false,
            ..Abilities::ALL
        };
        Shim {
            caps: Caps::on_host("shim", abilities),
            memory: HostMemory::default(),
            wanted: Mutex::default(),
            library,
        }
    }

    fn unsupported(what: impl Into<String>) -> DeviceError {
        DeviceError::Unsupported {
            device: "shim",
            what: what.into(),
        }
    }

    /// Runs steps, or notes what they need.
    fn run_steps(&self, steps: &Steps, operands: (&[Arg], &[Arg])) -> Result<(), DeviceError> {
        let scratch: Vec<Buf> = steps
            .scratch
            .iter()
            .map(|&b| self.alloc(b))
            .collect::<Result<_, _>>()?;
        for step in &steps.list {
            if let Some(library) = &self.library {
                Shim::run_step(library, step, operands, &scratch);
            } else {
                let text = source(&[&step.entry], Dialect::Host);
                text.map_err(Shim::unsupported)?;
                let mut wanted = self.wanted.lock().unwrap();
                wanted.insert(step.entry.name(), step.entry.clone());
            }
        }
        for buf in scratch {
            self.free(buf);
        }
        Ok(())
    }

    fn run_step(library: &Library, step: &Step, (ins, outs): (&[Arg], &[Arg]), scratch: &[Buf]) {
        let place = |memory: Memory| match memory {
            Memory::In(i) => view(&ins[i]),
            Memory::Out(i) => view(&outs[i]),
            Memory::Scratch(i) => (scratch[i].0, 0),
        };
        let mut bytes: Vec<[u8; 16]> = Vec::new();
        for arg in &step.args {
            let mut own = [0; 16];
            let word = match arg {
                ArgValue::Bytes(..) | ArgValue::Value { .. } => {
                    let value = |input: usize| match ins[input] {
                        Arg::Scalar(scalar) => Some(scalar),
                        Arg::View { .. } => None,
                    };
                    own = arg.bytes(value).unwrap().0;
                    None
                }
                ArgValue::Block(memory) => Some(place(*memory).0.cast_signed()),
                ArgValue::Offset { memory, unit } => {
                    Some((place(*memory).1 / unit.cast_signed()) as i64)
                }
            };
            if let Some(word) = word {
                own[..8].copy_from_slice(&word.to_le_bytes());
            }
            bytes.push(own);
        }
        let mut pointers: Vec<*mut c_void> = Vec::new();
        for (arg, own) in step.args.iter().zip(&mut bytes) {
            let address =
                usize::try_from(u64::from_le_bytes(*own.first_chunk().unwrap())).unwrap_or(0);
            pointers.push(match arg {
                ArgValue::Block(_) => std::ptr::with_exposed_provenance_mut(address),
                _ => own.as_mut_ptr().cast(),
            });
        }
        let groups = step.groups.map(|g| u32::try_from(g).unwrap());
        let name = format!("run_{}", step.entry.name());
        // SAFETY: the library was compiled from this entry, whose function has this type.
        let run = unsafe { library.get::<Run>(name.as_bytes()) }.unwrap();
        // SAFETY: the parameters are those of the entry, and views lie in memory of the suite.
        unsafe { run(pointers.as_mut_ptr(), groups.as_ptr()) };
    }
}

fn view(arg: &Arg) -> (u64, isize) {
    match arg {
        Arg::View { buf, offset, .. } => (buf.0, *offset),
        Arg::Scalar(_) => (0, 0),
    }
}

impl Device for Shim {
    fn caps(&self) -> &Caps {
        &self.caps
    }
    fn alloc(&self, bytes: u64) -> Result<Buf, DeviceError> {
        self.memory.alloc("shim", bytes)
    }
    fn free(&self, buf: Buf) {
        self.memory.free(buf);
    }
    fn copy(&self, _: Queue, dst: End, src: End, bytes: u64) -> Result<(), DeviceError> {
        self.memory.copy(dst, src, bytes)
    }
    fn run(&self, _: Queue, kernel: &Kernel, launch: &Launch<'_>) -> Result<(), DeviceError> {
        if !launch.fits(kernel) {
            return Err(Shim::unsupported("the launch does not fit the kernel"));
        }
        verify(kernel).map_err(|e| Shim::unsupported(e.to_string()))?;
        let steps = lower(kernel, launch, TARGET).map_err(Shim::unsupported)?;
        self.run_steps(&steps, (launch.ins, launch.outs))
    }
    fn ext(&self, _: Queue, call: &ExtCall<'_>) -> Result<(), DeviceError> {
        let made = operation(call, TARGET).map_err(Shim::unsupported)?;
        self.run_steps(&made.steps, (&made.ins, &made.outs))
    }
    fn record(&self, _: Queue) -> Result<Event, DeviceError> {
        Ok(Event(0))
    }
    fn wait(&self, _: Queue, _: Event) -> Result<(), DeviceError> {
        Ok(())
    }
    fn poll(&self, _: Event, _: bool) -> Result<bool, DeviceError> {
        Ok(true)
    }
    fn host_ptr(&self, buf: Buf) -> Option<*mut u8> {
        Some(arrayloom_device::host_pointer(buf.0))
    }
}

/// Compiles entries as one library.
fn compiled(entries: &BTreeMap<String, Entry>, name: &str) -> Library {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (text, library) = (
        dir.join(format!("{name}.cpp")),
        dir.join(format!("{name}.so")),
    );
    let all: Vec<&Entry> = entries.values().collect();
    std::fs::write(&text, source(&all, Dialect::Host).unwrap()).unwrap();
    let mut compiler = Command::new("g++");
    compiler
        .args(Dialect::Host.options())
        .args(["-O1", "-w", "-o"])
        .arg(&library)
        .arg(&text);
    let done = compiler.output().unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    // SAFETY: the library has functions only; nothing runs when it is loaded.
    unsafe { Library::new(&library) }.unwrap()
}

/// All cases are native and right.
fn strict(name: &str, cases: impl Fn(&Shim) -> Vec<CaseResult>) {
    let first = Shim::new(None);
    drop(cases(&first));
    let entries = first.wanted.into_inner().unwrap();
    assert!(!entries.is_empty());
    let device = Shim::new(Some(compiled(&entries, name)));
    let cases = cases(&device);
    let mut report = String::new();
    let bad = cases.iter().filter(|c| c.outcome != Outcome::Native);
    for case in bad.clone().take(60) {
        let _ = writeln!(report, "{}: {:?}", case.name, case.outcome);
    }
    assert_eq!(
        bad.count(),
        0,
        "of {} cases with {} kernels\n{report}",
        cases.len(),
        entries.len()
    );
}

/// A group with these dtypes. What is only noted is not computed, so that any oracle will do for it.
fn group(group: Group, name: &str, dtypes: &[DType]) {
    let options = Options {
        dtypes,
        ..Options::default()
    };
    strict(name, |device| {
        let reference = Reference::new();
        let noting = device.library.is_none();
        let oracle: &dyn Device = if noting { device } else { &reference };
        run_group_with(group, device, oracle, options)
    });
}

#[test]
fn sorts() {
    strict("sorts", |device| conform::sorts(device, &[F32, I8, C128]));
}

#[test]
fn transforms() {
    strict("transforms", |device| conform::transforms(device, &[]));
}

#[test]
fn random() {
    strict("random", |device| conform::random(device));
}

#[test]
fn filters() {
    strict("filters", |device| conform::filters(device));
}

#[test]
fn products() {
    strict("products", |device| conform::products(device, &[]));
}

macro_rules! groups {
    ($($name:ident $group:ident [$($dtype:ident)*];)*) => {$(
        #[test]
        fn $name() {
            group(Group::$group, stringify!($name), &[$($dtype),*]);
        }
    )*};
}

groups! {
    maps Map [F64];
    maps_of_complex Map [C64];
    maps_of_integers Map [I16];
    casts Casts [F16 F64 I64 U8 Bool];
    reduce Reduce [F32 C128 I64];
    places_and_scans ArgScan [F64 I32];
    in_place InPlace [F64];
    scatter Scatter [I64 F16 C64 Bool];
}
