//! Reads the golden data and runs kernels on host memory.

use arrayloom_device::{Arg, Buf, Device as _, Launch, Queue, ReduceArgs};
use arrayloom_ir::{Builder, Form, Kernel, Output, Value};
use arrayloom_reference::Reference;
use arrayloom_types::{DType, contiguous_strides};
use half::f16;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU8;

/// One block of the golden data.
pub(crate) struct Block {
    /// The words of its line in the index.
    pub(crate) words: Vec<&'static str>,
    /// Its bytes.
    pub(crate) bytes: &'static [u8],
}

/// The numbers that the golden folds fold.
pub(crate) fn ramp(dtype: DType, count: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for i in 0..count as u64 {
        let whole = u32::try_from(i * 2_654_435_761 % (1 << 32)).unwrap();
        let real = f64::from(whole) / 2f64.powi(32) + 0.5;
        let parts = 1 + usize::from(dtype.is_complex());
        for part in &[real, real - 1.0][..parts] {
            match dtype.real() {
                DType::F16 => bytes.extend(f16::from_f64(*part).to_le_bytes()),
                #[expect(clippy::cast_possible_truncation, reason = "rounding is meant")]
                DType::F32 => bytes.extend((*part as f32).to_le_bytes()),
                _ => bytes.extend(part.to_le_bytes()),
            }
        }
    }
    bytes
}

/// A kernel over one axis that stores every result of `body`.
pub(crate) fn kernel_of(
    inputs: &[DType],
    body: impl Fn(&mut Builder, &[Value]) -> Vec<Value>,
) -> Kernel {
    let mut b = Builder::new();
    let operands: Vec<Value> = (0..).zip(inputs).map(|(i, &d)| b.input(i, d)).collect();
    let results = body(&mut b, &operands);
    let store = |v: &Value| Output {
        value: v.0,
        form: Form::Store,
    };
    Kernel {
        outputs: results.iter().map(store).collect(),
        inputs: inputs.to_vec(),
        code: b.finish(),
        rank: 1,
    }
}

/// The dtypes named by letters.
pub(crate) fn dtypes(letters: &str) -> Vec<DType> {
    letters
        .chars()
        .map(|c| DType::from_letter(c).unwrap())
        .collect()
}

/// All blocks, and the inputs by name.
pub(crate) fn golden() -> (Vec<Block>, BTreeMap<&'static str, &'static [u8]>) {
    let index = include_str!("../golden/index.txt");
    let mut rest: &'static [u8] = include_bytes!("../golden/data.bin");
    let (mut blocks, mut inputs) = (Vec::new(), BTreeMap::new());
    for line in index.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let (letter, count) = match words[0] {
            "input" | "cast" => (words[2], words[3]),
            "fold" | "scan" | "plane" => (words[2], words[4]),
            "range" | "linspace" => (words[1], words[2]),
            "flags" => ("B", words[3]),
            _ => {
                let results = words[2].split("->").nth(1).unwrap();
                let number: usize = words[3].parse().unwrap();
                (&results[number..=number], words[4])
            }
        };
        let count: usize = count.parse().unwrap();
        let (bytes, tail) = rest.split_at(dtypes(letter)[0].size() * count);
        rest = tail;
        if words[0] == "input" {
            inputs.insert(words[1], bytes);
        } else {
            blocks.push(Block { words, bytes });
        }
    }
    assert!(rest.is_empty());
    (blocks, inputs)
}

/// An argument that reads or writes contiguous elements at an address.
pub(crate) fn at(address: usize, dtype: DType, shape: &[usize]) -> Arg {
    Arg::View {
        buf: Buf(address as u64),
        offset: 0,
        strides: contiguous_strides(shape, dtype.size()),
    }
}

/// Runs a kernel on contiguous inputs over `shape`; every output is given with its number of elements.
pub(crate) fn run(
    kernel: &Kernel,
    shape: &[usize],
    inputs: &[&[u8]],
    outs: &[(usize, Vec<isize>)],
    reduces: &[Option<ReduceArgs>],
) -> Vec<Vec<u8>> {
    run_flagged(kernel, shape, inputs, outs, reduces).0
}

/// The same, and the conditions that each instruction met.
pub(crate) fn run_flagged(
    kernel: &Kernel,
    shape: &[usize],
    inputs: &[&[u8]],
    outs: &[(usize, Vec<isize>)],
    reduces: &[Option<ReduceArgs>],
) -> (Vec<Vec<u8>>, Vec<u8>) {
    let ins: Vec<Arg> = inputs
        .iter()
        .zip(&kernel.inputs)
        .map(|(bytes, &dtype)| at(bytes.as_ptr().expose_provenance(), dtype, shape))
        .collect();
    let mut results: Vec<Vec<u8>> = Vec::new();
    for (i, (count, _)) in outs.iter().enumerate() {
        results.push(vec![0; count * kernel.output_dtype(i).size()]);
    }
    let outs: Vec<Arg> = results
        .iter_mut()
        .zip(outs)
        .map(|(bytes, (_, strides))| Arg::View {
            buf: Buf(bytes.as_mut_ptr().expose_provenance() as u64),
            offset: 0,
            strides: strides.iter().copied().collect(),
        })
        .collect();
    let flags: Vec<AtomicU8> = kernel.code.iter().map(|_| AtomicU8::new(0)).collect();
    let launch = Launch {
        shape,
        outs: &outs,
        ins: &ins,
        reduces,
        flags: Some(&flags),
    };
    Reference::new().run(Queue(0), kernel, &launch).unwrap();
    (
        results,
        flags.into_iter().map(AtomicU8::into_inner).collect(),
    )
}
