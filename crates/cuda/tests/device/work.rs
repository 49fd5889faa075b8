//! A short program for devices, and what two of them do together.

use super::fake::Fake;
use arrayloom_cuda::{Config, Cuda};
use arrayloom_device::{
    Arg, Buf, Device as _, DeviceError, End, ExtCall, Foreign, Imported, Launch, Queue, ReduceArgs,
    Tensor,
};
use arrayloom_ir::{Builder, Form, Kernel, Output, Prim, ReduceOp};
use arrayloom_memory::Addr;
use arrayloom_plan::ReduceOrder;
use arrayloom_types::{DType, Layout};

/// Numbers of the program: more than one pinned block of bytes.
pub(crate) const COUNT: usize = 700_000;

/// Twice each number, and the largest of them.
fn kernel() -> Kernel {
    let mut b = Builder::new();
    let x = b.input(0, DType::I64);
    let value = b.bin(Prim::Add, x, x).0;
    let (op, axes) = (ReduceOp::Max, 1);
    let forms = [Form::Store, Form::Reduce { op, axes }];
    Kernel {
        code: b.finish(),
        inputs: vec![DType::I64],
        outputs: forms.map(|form| Output { value, form }).into(),
        rank: 1,
    }
}

fn view(buf: Buf, step: isize) -> Arg {
    Arg::View {
        buf,
        offset: 0,
        strides: [step].into_iter().collect(),
    }
}

/// Puts the kernel into a queue.
pub(crate) fn double(
    device: &Cuda,
    queue: Queue,
    [from, to, most]: [Buf; 3],
) -> Result<(), DeviceError> {
    let order = ReduceOrder {
        axes: [0].into_iter().collect(),
        stream: 1,
        piece: COUNT,
    };
    let initial = None;
    let launch = Launch {
        shape: &[COUNT],
        outs: &[view(to, 8), view(most, 0)],
        ins: &[view(from, 8)],
        reduces: &[None, Some(ReduceArgs { order, initial })],
        flags: None,
    };
    device.run(queue, &kernel(), &launch)
}

pub(crate) fn numbers() -> Vec<i64> {
    (0i64..).take(COUNT).map(|i| i * 7919 % 1_000_003).collect()
}

pub(crate) fn host(numbers: &mut [i64]) -> End {
    End::Host(numbers.as_mut_ptr().cast())
}

/// The program with the blocks that it got: what it computed.
fn computed(device: &Cuda, blocks: &mut Vec<Buf>) -> Result<(Vec<i64>, i64), DeviceError> {
    let bytes = (COUNT * 8) as u64;
    for bytes in [bytes, bytes, 8] {
        blocks.push(device.alloc(bytes)?);
    }
    let all @ [from, to, most] = [blocks[0], blocks[1], blocks[2]];
    let (mut given, mut found, mut largest) = (numbers(), vec![0; COUNT], [0]);
    device.copy(Queue(0), End::Dev(from, 0), host(&mut given), bytes)?;
    // The memory is the caller's again.
    given.fill(-1);
    double(device, Queue(0), all)?;
    let event = device.record(Queue(0))?;
    device.wait(Queue(1), event)?;
    device.copy(Queue(1), End::Dev(from, 0), End::Dev(to, 0), bytes)?;
    device.copy(Queue(1), host(&mut found), End::Dev(from, 0), bytes)?;
    device.copy(Queue(1), host(&mut largest), End::Dev(most, 0), 8)?;
    let done = device.record(Queue(1))?;
    while !device.poll(done, false)? {}
    Ok((found, largest[0]))
}

/// Runs the program, and a use of virtual memory. What was taken is given back, however it ends.
pub(crate) fn program(config: Config) -> Result<(), DeviceError> {
    let device = Cuda::open(config)?;
    let mut blocks = Vec::new();
    let result = computed(&device, &mut blocks);
    for buf in blocks {
        device.free(buf);
    }
    let (found, largest) = result?;
    let expected: Vec<i64> = numbers().iter().map(|x| 2 * x).collect();
    assert_eq!(largest, *expected.iter().max().unwrap());
    assert!(found == expected, "other numbers than the CPU's");
    if let Some(vmm) = device.vmm() {
        let bytes = 3 * vmm.granule();
        let failed = |error: arrayloom_memory::MemoryError| DeviceError::Failed {
            device: "cuda",
            what: error.to_string(),
        };
        let buf = vmm.reserve(bytes).map_err(failed)?;
        let addr = Addr { buf, offset: 0 };
        let mapped = vmm.map(addr, bytes).map_err(failed);
        if mapped.is_ok() {
            vmm.unmap(addr, bytes);
        }
        vmm.release(buf, bytes);
        mapped?;
    }
    Ok(())
}

#[test]
fn work_is_in_order_however_late_it_is() {
    for delay in [0, 1, 3, 4, 5] {
        let fake = Fake::new(&format!("late-{delay}"));
        fake.set("delay", delay);
        program(fake.config()).unwrap();
        assert_eq!((fake.get("faults"), fake.get("live")), (0, 0));
    }
}

#[test]
fn one_gpu_copies_from_another() {
    for delay in [0, 1, 9] {
        let fake = Fake::new(&format!("peers-{delay}"));
        fake.set("delay", delay);
        let open = |index| {
            Cuda::open(Config {
                index,
                ..fake.config()
            })
        };
        let [first, second] = [open(0).unwrap(), open(1).unwrap()];
        let bytes = (COUNT * 8) as u64;
        let blocks = [bytes, bytes, 8].map(|bytes| first.alloc(bytes).unwrap());
        let target = second.alloc(bytes).unwrap();
        let (mut given, mut found) = (numbers(), vec![0; COUNT]);
        let start = End::Dev(blocks[0], 0);
        first
            .copy(Queue(2), start, host(&mut given), bytes)
            .unwrap();
        double(&first, Queue(2), blocks).unwrap();
        let (to, from) = ((target, 8), (blocks[1], 0));
        second
            .copy_from(Queue(2), to, &first, from, bytes - 8)
            .unwrap();
        let all = host(&mut found);
        second
            .copy(Queue(2), all, End::Dev(target, 0), bytes)
            .unwrap();
        let done = second.record(Queue(2)).unwrap();
        assert!(second.poll(done, true).unwrap());
        let expected: Vec<i64> = given[..COUNT - 1].iter().map(|x| 2 * x).collect();
        assert!(found[1..] == expected, "other numbers than the CPU's");
        for buf in blocks {
            first.free(buf);
        }
        second.free(target);
        drop((first, second));
        assert_eq!((fake.get("faults"), fake.get("live")), (0, 0));
    }
}

/// Memory and a stream of another library are used as they are, and stay that library's.
#[test]
fn what_others_made_is_used_in_place() {
    let fake = Fake::new("foreign");
    fake.set("delay", 1);
    let [other, device] = [fake.open().unwrap(), fake.open().unwrap()];
    let bytes = (COUNT * 8) as u64;
    let theirs = [bytes, bytes, 8].map(|bytes| other.alloc(bytes).unwrap());
    let stream = fake.stream();
    let Imported::Queue(queue) = device.import(Foreign::Queue(stream)).unwrap() else {
        panic!("a queue was taken in");
    };
    let ours = theirs.map(|buf| {
        let bytes = 8;
        match device.import(Foreign::Memory {
            address: buf.0,
            bytes,
        }) {
            Ok(Imported::Buf(buf)) => buf,
            wrong => panic!("memory was taken in as {wrong:?}"),
        }
    });
    let mut given = numbers();
    let start = End::Dev(ours[0], 0);
    device.copy(queue, start, host(&mut given), bytes).unwrap();
    double(&device, queue, ours).unwrap();
    let exported = device.export(ours[1], bytes, queue).unwrap();
    assert_eq!(
        exported,
        Foreign::Memory {
            address: theirs[1].0,
            bytes
        }
    );
    for buf in ours {
        device.free(buf);
    }
    drop(device);
    let mut found = vec![0; COUNT];
    let all = End::Dev(theirs[1], 0);
    other.copy(Queue(0), host(&mut found), all, bytes).unwrap();
    let done = other.record(Queue(0)).unwrap();
    assert!(other.poll(done, true).unwrap());
    let expected: Vec<i64> = given.iter().map(|x| 2 * x).collect();
    assert!(found == expected, "other numbers than the CPU's");
    for buf in theirs {
        other.free(buf);
    }
    drop(other);
    // The stream is still there.
    assert_eq!((fake.get("faults"), fake.get("live")), (0, 1));
}

/// A product of a transposed matrix, and one of two dtypes, which the device leaves to others.
#[test]
fn matrices_are_multiplied() {
    const ROWS: usize = 37;
    const INNER: usize = 301;
    const COLUMNS: usize = 53;
    let fake = Fake::new("products");
    fake.set("delay", 1);
    let device = fake.open().unwrap();
    let mut given: Vec<i64> = numbers()[..INNER * (ROWS + COLUMNS)].to_vec();
    let [from, to] = [given.len(), ROWS * COLUMNS].map(|n| device.alloc(8 * n as u64).unwrap());
    let bytes = 8 * given.len() as u64;
    let start = End::Dev(from, 0);
    device
        .copy(Queue(0), start, host(&mut given), bytes)
        .unwrap();
    let tensor = |buf, offset: usize, shape: [usize; 2], dtype| Tensor {
        buf,
        layout: Layout {
            offset: offset.cast_signed(),
            ..Layout::contiguous(dtype, &shape)
        },
    };
    let call = |dtype| {
        let mut left = tensor(from, 0, [ROWS, INNER], DType::I64);
        left.layout.strides = [8, 8 * ROWS.cast_signed()].into_iter().collect();
        let ins = [
            left,
            tensor(from, 8 * ROWS * INNER, [INNER, COLUMNS], dtype),
        ];
        let outs = [tensor(to, 0, [ROWS, COLUMNS], dtype)];
        let (name, attrs) = ("matmul", &[][..]);
        device.ext(
            Queue(0),
            &ExtCall {
                name,
                outs: &outs,
                ins: &ins,
                attrs,
            },
        )
    };
    call(DType::I64).unwrap();
    assert!(matches!(
        call(DType::F64),
        Err(DeviceError::Unsupported { .. })
    ));
    let mut found = vec![0; ROWS * COLUMNS];
    let all = End::Dev(to, 0);
    device
        .copy(Queue(0), host(&mut found), all, 8 * (ROWS * COLUMNS) as u64)
        .unwrap();
    let done = device.record(Queue(0)).unwrap();
    assert!(device.poll(done, true).unwrap());
    let (left, right) = given.split_at(ROWS * INNER);
    for (at, sum) in found.into_iter().enumerate() {
        let (row, column) = (at / COLUMNS, at % COLUMNS);
        let each = (0..INNER).map(|k| left[k * ROWS + row] * right[k * COLUMNS + column]);
        assert_eq!(sum, each.sum::<i64>(), "row {row}, column {column}");
    }
}
