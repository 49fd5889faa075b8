//! The C table: versions, shorter and longer tables, and panics in every entry.
#![expect(unsafe_code, reason = "the loader takes tables by pointer")]

use arrayloom_device::abi::{CTable, LoadError, Loaded, Open, table_of};
use arrayloom_device::{
    Abilities, Buf, Caps, Device, DeviceError, End, Event, HostMemory, Launch, Queue,
};
use arrayloom_ir::Kernel;
use std::cell::Cell;
use std::mem::{offset_of, size_of};
use std::sync::Arc;

/// Panics wherever it can, once it is told to.
struct Rude {
    caps: Caps,
    memory: HostMemory,
}

thread_local! {
    /// Each test runs on a thread of its own, and so do the calls that it makes.
    static RUDE: Cell<bool> = const { Cell::new(false) };
}

fn perhaps(what: &str) {
    assert!(!RUDE.get(), "rude in {what}");
}

impl Device for Rude {
    fn caps(&self) -> &Caps {
        &self.caps
    }
    fn alloc(&self, bytes: u64) -> Result<Buf, DeviceError> {
        perhaps("alloc");
        self.memory.alloc("rude", bytes)
    }
    fn free(&self, buf: Buf) {
        perhaps("free");
        self.memory.free(buf);
    }
    fn copy(&self, _: Queue, dst: End, src: End, bytes: u64) -> Result<(), DeviceError> {
        perhaps("copy");
        self.memory.copy(dst, src, bytes)
    }
    fn run(&self, _: Queue, _: &Kernel, _: &Launch<'_>) -> Result<(), DeviceError> {
        perhaps("run");
        Ok(())
    }
    fn record(&self, queue: Queue) -> Result<Event, DeviceError> {
        perhaps("record");
        Ok(Event(u64::from(queue.0) + 7))
    }
    fn wait(&self, _: Queue, _: Event) -> Result<(), DeviceError> {
        perhaps("wait");
        Err(DeviceError::Lost {
            device: "rude",
            what: "unplugged".to_owned(),
        })
    }
    fn poll(&self, event: Event, _: bool) -> Result<bool, DeviceError> {
        perhaps("poll");
        Ok(event.0 > 6)
    }
    fn host_ptr(&self, buf: Buf) -> Option<*mut u8> {
        perhaps("host_ptr");
        Some(arrayloom_device::host_pointer(buf.0))
    }
}

impl Drop for Rude {
    fn drop(&mut self) {
        perhaps("drop");
    }
}

struct Opener;

impl Open for Opener {
    fn open(index: u32) -> Result<Arc<dyn Device>, DeviceError> {
        if index > 0 {
            return Err(DeviceError::Failed {
                device: "rude",
                what: format!("there is no device {index}"),
            });
        }
        perhaps("open");
        Ok(Arc::new(Rude {
            caps: Caps::on_host("rude", Abilities::ALL),
            memory: HostMemory::default(),
        }))
    }
}

fn open(table: &CTable, index: u32) -> Result<Loaded, LoadError> {
    // SAFETY: the table is whole, or as long as it says, and the tests drop devices before it.
    unsafe { Loaded::open(table, index) }
}

#[test]
fn errors_and_panics_cross_as_errors() {
    let table = table_of::<Opener>();
    let device = open(&table, 0).unwrap();
    assert_eq!(device.caps(), &Caps::on_host("rude", Abilities::ALL));
    assert!(device.poll(device.record(Queue(2)).unwrap(), true).unwrap());
    let lost = device.wait(Queue(0), Event(1)).unwrap_err();
    assert!(matches!(&lost, DeviceError::Lost { device: "rude", what } if what == "unplugged"));
    let huge = device.alloc(u64::MAX).unwrap_err();
    assert!(matches!(
        huge,
        DeviceError::OutOfMemory { need: u64::MAX, .. }
    ));
    let buf = device.alloc(100).unwrap();
    assert_eq!(device.host_ptr(buf).unwrap().addr() as u64, buf.0);
    let failed = open(&table, 3).unwrap_err().to_string();
    assert!(failed.contains("there is no device 3"), "{failed}");

    RUDE.set(true);
    let mut byte = 0u8;
    let end = || End::Host(&raw mut byte);
    let launch = Launch {
        shape: &[],
        outs: &[],
        ins: &[],
        reduces: &[],
        flags: None,
    };
    let (kernel, queue) = (Kernel::default(), Queue(0));
    let mut end = end;
    let said = [
        device.alloc(1).map(drop),
        device.copy(queue, end(), end(), 1),
        device.run(queue, &kernel, &launch),
        device.record(queue).map(drop),
        device.wait(queue, Event(0)),
        device.poll(Event(0), false).map(drop),
    ];
    for (what, result) in ["alloc", "copy", "run", "record", "wait", "poll"]
        .iter()
        .zip(said)
    {
        let text = result.unwrap_err().to_string();
        assert!(
            text.contains(&format!("it panicked: rude in {what}")),
            "{text}"
        );
    }
    device.free(buf);
    assert_eq!(device.host_ptr(buf), None);
    let text = open(&table, 0).unwrap_err().to_string();
    assert!(text.contains("it panicked"), "{text}");
    drop(device);
    RUDE.set(false);
}

/// A table that says another size, with room behind it.
#[repr(C)]
struct Longer {
    table: CTable,
    more: [usize; 2],
}

#[test]
fn longer_and_shorter_tables_are_read_as_far_as_both_go() {
    let mut longer = Longer {
        table: table_of::<Opener>(),
        more: [usize::MAX; 2],
    };
    longer.table.size = u32::try_from(size_of::<Longer>()).unwrap();
    longer.table.minor = 9;
    assert_eq!(open(&longer.table, 0).unwrap().caps().name, "rude");
    assert_eq!(longer.more, [usize::MAX; 2]);

    let mut shorter = table_of::<Opener>();
    shorter.size = u32::try_from(offset_of!(CTable, host_ptr)).unwrap();
    let device = open(&shorter, 0).unwrap();
    let buf = device.alloc(1).unwrap();
    assert_eq!(device.host_ptr(buf), None);
    device.free(buf);
}

#[test]
fn what_cannot_work_is_refused() {
    let mut other = table_of::<Opener>();
    other.major = 2;
    assert!(matches!(
        open(&other, 0),
        Err(LoadError::Version { major: 2 })
    ));
    let mut short = table_of::<Opener>();
    short.size = u32::try_from(offset_of!(CTable, poll)).unwrap();
    let error = open(&short, 0).unwrap_err();
    assert!(matches!(error, LoadError::Missing { entry: "poll" }));
    let mut empty = table_of::<Opener>();
    empty.alloc = None;
    let error = open(&empty, 0).unwrap_err();
    assert!(matches!(error, LoadError::Missing { entry: "alloc" }));
    let error = arrayloom_device::abi::load("/no/such/library.so".as_ref(), 0).unwrap_err();
    assert!(error.to_string().contains("/no/such/library.so"), "{error}");
}
