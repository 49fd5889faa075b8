//! Copies through pinned blocks: no byte changes under a copy, whatever order queues run in.

#![cfg(unix)]
#![expect(unsafe_code, reason = "the device's side of a copy works on addresses")]
#![expect(clippy::unwrap_used, reason = "a test helper may fail the test")]

use arrayloom_memory::{Addr, HostPages, MemoryError, Order as _, SimQueues, Staging, Vmm};
use arrayloom_types::Queue;
use std::sync::{Arc, Mutex};

const PART: u64 = 64 << 10;
const MOST: u64 = 3 * PART;

type Device = Arc<Mutex<Vec<u8>>>;

/// Puts a copy to the device into a queue.
fn send(
    queues: &Arc<SimQueues>,
    device: &Device,
    queue: Queue,
    (from, place, len): (*const u8, u64, usize),
) {
    let (device, from) = (Arc::clone(device), from.expose_provenance());
    let place = usize::try_from(place).unwrap();
    queues.push(queue, move || {
        let from = std::ptr::with_exposed_provenance(from);
        // SAFETY: the block is the copy's until its event passes, which was recorded later.
        let bytes: &[u8] = unsafe { std::slice::from_raw_parts(from, len) };
        device.lock().unwrap()[place..place + len].copy_from_slice(bytes);
    });
}

fn pattern(bytes: usize, seed: usize) -> Vec<u8> {
    let value = |i: usize| u8::try_from((i * 31 + i / 251 + seed) % 256).unwrap();
    (0..bytes).map(value).collect()
}

fn pinned(queues: &Arc<SimQueues>) -> Staging {
    let pages = Arc::new(HostPages::pinned());
    Staging::new(pages, Arc::<SimQueues>::clone(queues), (MOST, PART)).unwrap()
}

#[test]
fn sources_may_change_as_soon_as_an_upload_returns() {
    let queues = Arc::new(SimQueues::default());
    let staging = pinned(&queues);
    let sizes = [1, 4096, 70_000, 300_000, 1 << 20];
    let devices: Vec<Device> = sizes
        .iter()
        .map(|&n| Arc::new(Mutex::new(vec![0; n])))
        .collect();
    for (i, device) in devices.iter().enumerate() {
        let queue = Queue(u32::try_from(i % 2).unwrap());
        let mut source = pattern(sizes[i], i);
        let sent: Result<(), MemoryError> = staging.upload(queue, &source, |from, place, len| {
            send(&queues, device, queue, (from, place, len));
            Ok(())
        });
        sent.unwrap();
        source.fill(0xEE);
        assert!(staging.info().in_use <= MOST);
    }
    queues.finish();
    for (i, device) in devices.iter().enumerate() {
        assert!(*device.lock().unwrap() == pattern(sizes[i], i), "copy {i}");
    }
    assert!(
        staging.info().peak > PART,
        "copies are made while others wait"
    );
    assert!(staging.info().peak <= MOST);
    assert!(staging.trim() > 0);
    assert_eq!(staging.info().in_use, 0);
    assert_eq!(staging.info().reserved, 0);
}

#[test]
fn a_download_is_complete_when_it_returns() {
    let queues = Arc::new(SimQueues::default());
    let staging = pinned(&queues);
    let device = pattern(500_000, 3);
    let mut found = vec![0; device.len()];
    let received: Result<(), MemoryError> =
        staging.download(Queue(1), &mut found, |to, place, len| {
            let place = usize::try_from(place).unwrap();
            let (part, to) = (device[place..place + len].to_vec(), to.expose_provenance());
            queues.push(Queue(1), move || {
                let to = std::ptr::with_exposed_provenance_mut(to);
                // SAFETY: the block is the copy's until its event passes, which was recorded later.
                unsafe { std::ptr::copy_nonoverlapping(part.as_ptr(), to, part.len()) };
            });
            Ok(())
        });
    received.unwrap();
    assert!(found == device);
    assert_eq!(staging.info().in_use, 0);
}

/// Address space in which no page can be pinned.
struct NonePinned(HostPages);

impl Vmm for NonePinned {
    fn granule(&self) -> u64 {
        self.0.granule()
    }
    fn reserve(&self, bytes: u64) -> Result<u64, MemoryError> {
        self.0.reserve(bytes)
    }
    fn map(&self, _addr: Addr, bytes: u64) -> Result<(), MemoryError> {
        Err(MemoryError::OutOfMemory {
            need: bytes,
            free: 0,
            by: self.name(),
        })
    }
    fn unmap(&self, addr: Addr, bytes: u64) {
        self.0.unmap(addr, bytes);
    }
    fn release(&self, buf: u64, bytes: u64) {
        self.0.release(buf, bytes);
    }
    fn name(&self) -> &'static str {
        "none pinned"
    }
}

#[test]
fn without_pinned_pages_copies_wait_for_one_another() {
    let queues = Arc::new(SimQueues::default());
    let pages = Arc::new(NonePinned(HostPages::small()));
    let order = Arc::<SimQueues>::clone(&queues);
    let staging = Staging::new(pages, order, (MOST, PART)).unwrap();
    let device: Device = Arc::new(Mutex::new(vec![0; 200_000]));
    let mut source = pattern(200_000, 9);
    let sent: Result<(), MemoryError> = staging.upload(Queue(0), &source, |from, place, len| {
        send(&queues, &device, Queue(0), (from, place, len));
        Ok(())
    });
    sent.unwrap();
    source.fill(0);
    assert!(*device.lock().unwrap() == pattern(200_000, 9));
    assert_eq!(staging.info().peak, 0);
}

#[test]
fn a_copy_that_fails_loses_no_block() {
    let queues = Arc::new(SimQueues::default());
    let staging = pinned(&queues);
    for at in 0..8 {
        let source = pattern(300_000, 1);
        let failed = staging.upload(Queue(0), &source, |_, place, _| {
            if place == at % 5 * PART {
                Err(place)
            } else {
                Ok(())
            }
        });
        assert_eq!(failed, Err(at % 5 * PART));
        let mut target = vec![0; 100_000];
        let failed = staging.download(Queue(0), &mut target, |_, place, _| Err(place));
        assert_eq!(failed, Err(0));
    }
    queues.sync(queues.record(Queue(0)));
    staging.trim();
    assert_eq!(staging.info().in_use, 0);
}
