//! Copies that stay on a device with memory of its own: how many there are, and when they are made again.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(unsafe_code, reason = "memory of the host is read and written")]

use arrayloom_device::{Arg, Buf, Contents, Device as _, Launch, Queue, Residency, Staged, Use};
use arrayloom_ir::{Builder, Form, Kernel, Output, ScatterMode};
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

/// Puts element `numbers[i] / 8` of `table` where `numbers[i]` says in `out`.
fn move_by_number(staged: &Staged, [numbers, table, out]: [Buf; 3]) {
    let mut b = Builder::new();
    let at = b.input(0, DType::I64);
    let value = b.gather(at, 1, DType::I64);
    let form = Form::Scatter {
        mode: ScatterMode::Set,
        at: at.0,
    };
    let kernel = Kernel {
        code: b.finish(),
        inputs: vec![DType::I64; 2],
        outputs: vec![Output {
            value: value.0,
            form,
        }],
        rank: 1,
    };
    let view = |buf, step: isize| Arg::View {
        buf,
        offset: 0,
        strides: [step].as_slice().into(),
    };
    let launch = Launch {
        shape: &[COUNT / 2],
        outs: &[view(out, 0)],
        ins: &[view(numbers, 8), view(table, 0)],
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
    residency(&staged).begin(a.0, BYTES, Contents::Values);
    for blank in [b, c] {
        residency(&staged).begin(blank.0, BYTES, Contents::Nothing);
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
fn elements_are_found_by_number_where_the_device_has_the_whole_value() {
    for (known, of_out) in [
        (true, Use::Private),
        (true, Use::Shared),
        (false, Use::Private),
    ] {
        let staged = staged();
        let [numbers, table, out] = [(); 3].map(|()| staged.alloc(BYTES).unwrap());
        let at_out = out.0;
        residency(&staged).start(Box::new(
            move |at, _| {
                if at == at_out { of_out } else { Use::Private }
            },
        ));
        for number in 0..COUNT {
            let second = (number * 2 * 8) as u64;
            // SAFETY: the block is that of this test, and no kernel runs.
            unsafe { element(&staged, numbers, number).write(second.to_ne_bytes()) };
        }
        write(&staged, table, 7);
        write(&staged, out, 1);
        if known {
            residency(&staged).begin(table.0, BYTES, Contents::Values);
            residency(&staged).begin(out.0, BYTES, Contents::Values);
        }
        move_by_number(&staged, [numbers, table, out]);
        let stats = staged.stats();
        assert_eq!([stats.native > 0, stats.fallbacks == 0], [known; 2]);
        let brought = u64::from(known && of_out == Use::Shared);
        assert_eq!(copies(&staged), if known { [3, brought] } else { [0, 0] });
        residency(&staged).bring(out.0, BYTES).unwrap();
        let expected: Vec<i64> = (0..COUNT).map(|n| [7, 1][n % 2]).collect();
        assert_eq!(read(&staged, out), expected);
        drop_all(&staged, &[numbers, table, out]);
    }
}

#[test]
fn zeros_are_written_there_until_somebody_writes_here() {
    let staged = staged();
    residency(&staged).start(Box::new(|_, _| Use::Private));
    let [a, b] = [(); 2].map(|()| staged.alloc(BYTES).unwrap());
    for block in [a, b] {
        write(&staged, block, 0);
        residency(&staged).begin(block.0, BYTES, Contents::Zeros);
    }
    copy(&staged, a, (b, 3), 8);
    residency(&staged).bring(b.0, BYTES).unwrap();
    assert_eq!(read(&staged, b), [0; COUNT]);
    assert_eq!(copies(&staged), [0, 1]);
    residency(&staged).bring(a.0, BYTES).unwrap();
    residency(&staged).forget(a.0, BYTES);
    write(&staged, a, 7);
    copy(&staged, a, (b, 3), 8);
    residency(&staged).bring(b.0, BYTES).unwrap();
    let expected: Vec<i64> = (0..COUNT)
        .map(|n| [0, 7][usize::from((3..11).contains(&n))])
        .collect();
    assert_eq!(read(&staged, b), expected);
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
    residency(&staged).begin(a.0, BYTES, Contents::Values);
    copy(&staged, a, (b, 0), 8);
    assert_eq!(staged.stats().upload_bytes, 64);
}
