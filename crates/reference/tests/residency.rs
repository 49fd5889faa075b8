//! Copies that stay on a device with memory of its own: how many there are, and when they are made again.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(unsafe_code, reason = "memory of the host is read and written")]

use arrayloom_device::{Arg, Buf, Device as _, Launch, Queue, Residency, Staged, Use};
use arrayloom_ir::Kernel;
use arrayloom_reference::{Reference, Sim, SimConfig};
use arrayloom_types::DType;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

const COUNT: usize = 64;
const BYTES: u64 = COUNT as u64 * 8;

fn staged() -> Staged {
    let sim = Arc::new(Sim::open(SimConfig::default()).unwrap());
    Staged::new(sim, Arc::new(Reference::new()))
}

fn residency(staged: &Staged) -> &dyn Residency {
    staged.residency().unwrap()
}

fn element(staged: &Staged, buf: Buf, number: usize) -> *mut [u8; 8] {
    // SAFETY: blocks of these tests have `COUNT` elements of eight bytes.
    unsafe { staged.host_ptr(buf).unwrap().cast::<[u8; 8]>().add(number) }
}

fn write(staged: &Staged, buf: Buf, value: i64) {
    for number in 0..COUNT {
        // SAFETY: the block is that of a test, and no kernel runs.
        unsafe { element(staged, buf, number).write(value.to_ne_bytes()) };
    }
}

fn read(staged: &Staged, buf: Buf) -> Vec<i64> {
    let all = 0..COUNT;
    // SAFETY: as for writing; tests write before they read.
    let bytes = all.map(|number| unsafe { element(staged, buf, number).read() });
    bytes.map(i64::from_ne_bytes).collect()
}

/// Copies `count` numbers from the start of one block to another one, from number `first` on.
fn copy(staged: &Staged, from: Buf, (to, first): (Buf, usize), count: usize) {
    let kernel = Kernel::copy(DType::I64, 1);
    let view = |buf, offset: usize| Arg::View {
        buf,
        offset: (8 * offset).cast_signed(),
        strides: [8].as_slice().into(),
    };
    let launch = Launch {
        shape: &[count],
        outs: &[view(to, first)],
        ins: &[view(from, 0)],
        reduces: &[None],
        flags: None,
    };
    staged.run(Queue(0), &kernel, &launch).unwrap();
}

fn copies(staged: &Staged) -> [u64; 2] {
    let stats = staged.stats();
    [stats.uploads, stats.downloads]
}

fn drop_all(staged: &Staged, bufs: &[Buf]) {
    for &buf in bufs {
        residency(staged).forget(buf.0, BYTES);
        staged.free(buf);
    }
}

#[test]
fn values_that_are_made_of_parts_stay_on_the_device() {
    let staged = staged();
    residency(&staged).start(Box::new(|_, _| Use::Private));
    let [a, b, c] = [(); 3].map(|()| staged.alloc(BYTES).unwrap());
    write(&staged, a, 7);
    residency(&staged).begin(a.0, BYTES, false);
    for blank in [b, c] {
        residency(&staged).begin(blank.0, BYTES, true);
    }
    copy(&staged, a, (b, 0), COUNT / 2);
    copy(&staged, a, (b, COUNT / 2), COUNT / 2);
    copy(&staged, b, (c, 0), COUNT);
    residency(&staged).settle(true).unwrap();
    copy(&staged, c, (b, 1), 3);
    assert_eq!(copies(&staged), [1, 0]);
    assert!(residency(&staged).holds(c.0, BYTES));
    residency(&staged).bring(c.0, BYTES).unwrap();
    assert_eq!(read(&staged, c), [7; COUNT]);
    assert_eq!(copies(&staged), [1, 1]);
    drop_all(&staged, &[a, b, c]);
}

#[test]
fn a_part_that_is_brought_leaves_the_rest_on_the_device() {
    let staged = staged();
    residency(&staged).start(Box::new(|_, _| Use::Private));
    let [a, b] = [(); 2].map(|()| staged.alloc(BYTES).unwrap());
    write(&staged, a, 7);
    write(&staged, b, 0);
    copy(&staged, a, (b, 0), COUNT);
    residency(&staged).settle(true).unwrap();
    residency(&staged).bring(b.0 + 8 * 5, 16).unwrap();
    let expected: Vec<i64> = (0..COUNT)
        .map(|n| [0, 7][usize::from(n == 5 || n == 6)])
        .collect();
    assert_eq!(read(&staged, b), expected);
    assert_eq!(staged.stats().download_bytes, 16);
    // What is written next goes on from the copy there.
    copy(&staged, a, (b, 0), 3);
    residency(&staged).bring(b.0, BYTES).unwrap();
    assert_eq!(read(&staged, b), [7; COUNT]);
    assert_eq!(staged.stats().download_bytes, 16 + BYTES);
    assert_eq!(copies(&staged), [1, 2]);
    residency(&staged).bring(b.0 + 8, 8).unwrap();
    assert_eq!(copies(&staged), [1, 2]);
    drop_all(&staged, &[a, b]);
}

#[test]
fn what_others_read_is_copied_again_once_they_wrote() {
    let staged = staged();
    let writes = Arc::new(AtomicU64::new(1));
    let (times, shared) = (Arc::clone(&writes), staged.alloc(BYTES).unwrap());
    let target = staged.alloc(BYTES).unwrap();
    let low = shared.0;
    residency(&staged).start(Box::new(move |at, _| match (at, times.load(SeqCst)) {
        (at, _) if at != low => Use::Private,
        (_, 0) => Use::Shared,
        (_, times) => Use::Read(times),
    }));
    let made = |value: i64| {
        copy(&staged, shared, (target, 0), COUNT);
        residency(&staged).settle(true).unwrap();
        residency(&staged).bring(target.0, BYTES).unwrap();
        assert_eq!(read(&staged, target), [value; COUNT]);
        copies(&staged)[0]
    };
    write(&staged, shared, 1);
    assert_eq!([made(1), made(1)], [1, 1]);
    write(&staged, shared, 2);
    writes.store(2, SeqCst);
    assert_eq!([made(2), made(2)], [2, 2]);
    // Whoever may write at any time is not trusted from one series of kernels to the next.
    writes.store(0, SeqCst);
    assert_eq!(made(2), 3);
    write(&staged, shared, 3);
    assert_eq!(made(3), 4);
    writes.store(3, SeqCst);
    assert_eq!([made(3), made(3)], [5, 5]);
}

#[test]
fn a_value_that_is_large_for_the_device_is_copied_by_parts() {
    let staged = staged();
    residency(&staged).start(Box::new(|_, _| Use::Private));
    let [a, b] = [(); 2].map(|()| staged.alloc(BYTES).unwrap());
    write(&staged, a, 7);
    staged.set_limit(BYTES);
    residency(&staged).begin(a.0, BYTES, false);
    copy(&staged, a, (b, 0), 8);
    assert_eq!(staged.stats().upload_bytes, 64);
}
