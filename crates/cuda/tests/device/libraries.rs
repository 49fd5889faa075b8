//! Products and transforms by NVIDIA's libraries: right wherever matrices and lines lie, in order with kernels, and
//! done by kernels of ours where a library is missing, old, or fails.

use super::conform::{clean, right};
use super::fake::{Fake, PRODUCTS, TRANSFORMS};
use arrayloom_cuda::{Config, Cuda};
use arrayloom_device::conform::{products, transforms};
use arrayloom_device::{Buf, Device as _, End, ExtCall, Queue, Tensor};
use arrayloom_types::DType::{self, C64, C128, F16, F32, F64};
use arrayloom_types::Layout;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

/// How often calls were made whose names begin so.
fn count(fake: &Fake, name: &str) -> usize {
    fake.called().iter().filter(|n| n.starts_with(name)).count()
}

#[test]
fn matrices_are_multiplied_wherever_they_lie() {
    for delay in [0, 1, 5] {
        let fake = Fake::new(&format!("gemm-{delay}"));
        fake.set("delay", delay);
        let device = fake.open().unwrap();
        right("products", &products(&device, &[F16, F32, F64, C64, C128]));
        // All but the empty ones, and those that are reversed, repeated or lie between elements.
        assert_eq!(count(&fake, "cublasGemm"), 4 * 10);
        drop(device);
        clean(&fake);
    }
}

#[test]
fn lines_are_transformed_wherever_they_lie() {
    for delay in [0, 3] {
        let fake = Fake::new(&format!("lines-{delay}"));
        fake.set("delay", delay);
        let device = fake.open().unwrap();
        let cases = transforms(&device, &[C64, C128]);
        right("transforms", &cases);
        assert_eq!(count(&fake, "cufftExec"), cases.len());
        for name in ["C2C", "Z2Z", "R2C", "D2Z", "C2R", "Z2D"] {
            assert!(count(&fake, &format!("cufftExec{name}")) > 0, "{name}");
        }
        drop(device);
        clean(&fake);
    }
}

/// A block with these numbers.
fn filled(device: &Cuda, numbers: &[f64]) -> Buf {
    let bytes = size_of_val(numbers) as u64;
    let buf = device.alloc(bytes).unwrap();
    let from = End::Host(numbers.as_ptr().cast_mut().cast());
    device
        .copy(Queue(1), End::Dev(buf, 0), from, bytes)
        .unwrap();
    buf
}

fn tensor(buf: Buf, dtype: DType, shape: &[usize]) -> Tensor {
    let layout = Layout::contiguous(dtype, shape);
    Tensor { buf, layout }
}

/// Puts an operation into queue 1.
fn put(device: &Cuda, name: &str, ins: &[Tensor], out: Tensor, attrs: &[u8]) {
    let outs = &[out];
    let call = ExtCall {
        name,
        outs,
        ins,
        attrs,
    };
    device.ext(Queue(1), &call).unwrap();
}

/// The numbers of a block after all work of queue 1.
fn read(device: &Cuda, buf: Buf, count: usize) -> Vec<f64> {
    let mut found = vec![0u64; count];
    let to = End::Host(found.as_mut_ptr().cast());
    let bytes = 8 * count as u64;
    device.copy(Queue(1), to, End::Dev(buf, 0), bytes).unwrap();
    let done = device.record(Queue(1)).unwrap();
    assert!(device.poll(done, true).unwrap());
    found.into_iter().map(f64::from_bits).collect()
}

/// A matrix of this shape by rows or by columns, which lie farther apart than they are long.
fn matrix(buf: Buf, shape: [usize; 2], by_rows: bool) -> Tensor {
    let mut layout = Layout::contiguous(F64, &shape);
    let pitch = 8 * (shape[usize::from(by_rows)] + 2).cast_signed();
    let strides = if by_rows { [pitch, 8] } else { [8, pitch] };
    layout.strides = strides.into_iter().collect();
    Tensor { buf, layout }
}

/// All sizes about one, by rows or by columns each.
#[test]
fn small_matrices_in_every_order() {
    let fake = Fake::new("small");
    fake.set("delay", 1);
    let device = fake.open().unwrap();
    let numbers: Vec<f64> = (0u8..64).map(|i| f64::from(i % 7) - 3.0).collect();
    let at = |tensor: &Tensor, row: usize, column: usize| {
        let [down, along] = *tensor.layout.strides.first_chunk().unwrap();
        row * down.unsigned_abs() / 8 + column * along.unsigned_abs() / 8
    };
    let (a, b) = (filled(&device, &numbers), filled(&device, &numbers));
    for case in 0..8 * 27 {
        let [m, n, k] = [1, 3, 9].map(|power| [1, 2, 5][case / 8 / power % 3]);
        let [x, y, z] = [1, 2, 4].map(|bit| case & bit == 0);
        let c = filled(&device, &[9.0; 64]);
        let (left, right, out) = (
            matrix(a, [m, k], x),
            matrix(b, [k, n], y),
            matrix(c, [m, n], z),
        );
        put(
            &device,
            "matmul",
            &[left.clone(), right.clone()],
            out.clone(),
            &[],
        );
        let mut expected = vec![9.0; 64];
        for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
            let each = (0..k).map(|p| numbers[at(&left, row, p)] * numbers[at(&right, p, column)]);
            expected[at(&out, row, column)] = each.sum();
        }
        assert_eq!(read(&device, c, 64), expected, "{m}x{k}x{n} {x} {y} {z}");
        device.free(c);
    }
    assert_eq!(count(&fake, "cublasGemm"), 8 * 27);
    device.free(a);
    device.free(b);
    drop(device);
    clean(&fake);
}

/// The attributes of an inverse transform of `length` complex numbers along axis 0.
fn back(length: usize) -> Vec<u8> {
    let factor = 1.0 / f64::from(u32::try_from(length).unwrap());
    let mut attrs = vec![0, 0, 1];
    attrs.extend(factor.to_le_bytes());
    attrs.extend((length as u64).to_le_bytes());
    attrs
}

const SIDE: usize = 6;
const HALF: usize = SIDE * SIDE / 2;

/// The square of a matrix, times the matrix, as complex numbers transformed back twice, and freed at once.
fn program(device: &Cuda) {
    let numbers: Vec<f64> = (0u8..)
        .take(SIDE * SIDE)
        .map(|i| f64::from(i % 5) - 1.0)
        .collect();
    let a = filled(device, &numbers);
    let [b, c, d, e] = [(); 4].map(|()| filled(device, &numbers));
    let square = |buf| tensor(buf, F64, &[SIDE, SIDE]);
    put(device, "matmul", &[square(a), square(a)], square(b), &[]);
    put(device, "matmul", &[square(b), square(a)], square(c), &[]);
    let line = |buf| tensor(buf, C128, &[HALF]);
    put(device, "fft", &[line(c)], line(d), &back(HALF));
    put(device, "fft", &[line(d)], line(e), &back(HALF));
    let found = read(device, e, SIDE * SIDE);
    for buf in [a, b, c, d, e] {
        device.free(buf);
    }
    let times = |x: &[f64], y: &[f64]| -> Vec<f64> {
        let place = |at: usize| {
            let each = (0..SIDE).map(|k| x[at / SIDE * SIDE + k] * y[k * SIDE + at % SIDE]);
            each.sum()
        };
        (0..SIDE * SIDE).map(place).collect()
    };
    let cube = times(&times(&numbers, &numbers), &numbers);
    // Two transforms turn the order of a line around.
    for (at, value) in found.into_iter().enumerate() {
        let turned = 2 * ((HALF - at / 2) % HALF) + at % 2;
        let expected = cube[turned] / 18.0;
        assert!(
            (value - expected).abs() < 1e-12,
            "{at}: {value}, {expected}"
        );
    }
}

#[test]
fn kernels_and_libraries_are_in_order() {
    for delay in [0, 1, 2, 9] {
        let fake = Fake::new(&format!("mixed-{delay}"));
        fake.set("delay", delay);
        let device = fake.open().unwrap();
        program(&device);
        assert_eq!(count(&fake, "cublasGemm"), 2);
        assert_eq!(count(&fake, "cufftExec"), 2);
        // The second product and transform need nothing new.
        for made in ["cublasCreate", "cufftMakePlanMany64"] {
            assert_eq!(count(&fake, made), 1, "{made}");
        }
        drop(device);
        clean(&fake);
    }
}

#[test]
fn libraries_are_opened_when_they_are_wanted() {
    let fake = Fake::new("lazily");
    let device = fake.open().unwrap();
    let calls = || count(&fake, "cublas") + count(&fake, "cufft");
    assert_eq!(calls(), 0);
    let words = device.libraries().join(", ");
    assert!(
        words.contains("cuBLAS 120900 (") && words.contains("cuFFT 11400 ("),
        "{words}"
    );
    assert!(
        words.contains(PRODUCTS) && words.contains(TRANSFORMS),
        "{words}"
    );
    drop(device);
    clean(&fake);
}

#[test]
fn libraries_may_be_turned_off() {
    let fake = Fake::new("off");
    let config = Config {
        libraries: false,
        ..fake.config()
    };
    let device = Cuda::open(config).unwrap();
    program(&device);
    assert_eq!(
        device.libraries(),
        ["no cuBLAS and no cuFFT: they are turned off"]
    );
    assert_eq!(count(&fake, "cublas") + count(&fake, "cufft"), 0);
    drop(device);
    clean(&fake);
}

/// Every call of a library fails, the first time or the last: kernels of ours do what is left.
#[test]
fn every_call_of_a_library_may_fail() {
    let fake = Fake::new("refusals");
    let device = fake.open().unwrap();
    program(&device);
    drop(device);
    let mut all: BTreeMap<String, i64> = BTreeMap::new();
    let ours = |name: &String| name.starts_with("cublas") || name.starts_with("cufft");
    for name in fake.called().into_iter().filter(ours) {
        *all.entry(name).or_insert(0) += 1;
    }
    assert_eq!(all.len(), 15, "{all:?}");
    for (name, count) in all {
        for (at, code) in [(1, 1), (1, 3), (count, 13)] {
            let fake = Fake::new("refusals");
            fake.set("delay", 1);
            let device = fake.open().unwrap();
            fake.fail(&name, at, code);
            program(&device);
            let words = device.libraries().join(", ");
            let told = words.contains(&format!("{name} gave error {code}"));
            assert!(told || name.contains("Destroy"), "{name}: {words}");
            drop(device);
            assert_eq!(fake.get("faults"), 0, "{name}");
            let kept = i64::from(name.contains("Destroy"));
            assert_eq!(fake.get("live"), kept, "call {at} of {name} gave {code}");
        }
    }
}

/// The program with a driver whose libraries were changed: what there is of them, in words.
fn changed(change: impl Fn(&Fake)) -> String {
    let fake = Fake::new("other-libraries");
    change(&fake);
    let device = fake.open().unwrap();
    program(&device);
    let told = device.libraries().join(", ");
    drop(device);
    clean(&fake);
    told
}

/// A library that cannot be used is named with its reason, and kernels of ours do its work.
#[test]
fn libraries_that_are_missing_or_old() {
    let says = |told: &str, words: [&str; 2]| {
        for word in words {
            assert!(told.contains(word), "{word:?} is not in {told:?}");
        }
    };
    let both = |fake: &Fake| [PRODUCTS, TRANSFORMS].map(|library| fake.folder().join(library));
    let old = changed(|fake| {
        fake.set("blas_version", 10_202);
        fake.set("fft_version", 10_100);
    });
    says(
        &old,
        [
            "libcublas.so.12 is too old: version 10202",
            "libcufft.so.11 is too old: version 10100",
        ],
    );
    let lacking = changed(|fake| {
        let [text, other] = ["other.c", "other.so"].map(|name| fake.folder().join(name));
        fs::write(
            &text,
            "int cublasCreate_v2(void) { return 1; }\nint cufftGetVersion(void) { return 0; }",
        )
        .unwrap();
        let mut compiler = Command::new("gcc");
        compiler
            .args(["-shared", "-fPIC", "-o"])
            .args([&other, &text]);
        assert!(compiler.status().unwrap().success());
        for library in both(fake) {
            fs::remove_file(&library).unwrap();
            fs::copy(&other, library).unwrap();
        }
    });
    says(
        &lacking,
        [
            "libcublas.so.12 has no cublasDestroy_v2",
            "libcufft.so.11 has no cufftCreate",
        ],
    );
    let broken = changed(|fake| {
        for library in both(fake) {
            fs::remove_file(&library).unwrap();
            fs::write(library, "no library").unwrap();
        }
    });
    says(
        &broken,
        [
            "libcublas.so.12: file too short",
            "libcufft.so.11: file too short",
        ],
    );
    let none = changed(|fake| {
        for library in both(fake) {
            fs::remove_file(library).unwrap();
        }
    });
    says(
        &none,
        [
            "no cuBLAS: libcublas.so.12: cannot open",
            "no cuFFT: libcufft.so.11: cannot open",
        ],
    );
}

#[test]
fn few_plans_are_kept() {
    let fake = Fake::new("plans");
    let device = fake.open().unwrap();
    let numbers: Vec<f64> = (0..128).map(f64::from).collect();
    let (from, to) = (filled(&device, &numbers), filled(&device, &numbers));
    for length in (1..=40).chain(30..=40) {
        let line = |buf| tensor(buf, C128, &[length]);
        put(&device, "fft", &[line(from)], line(to), &back(length));
    }
    assert_eq!(fake.get("most_plans"), 16);
    assert_eq!(count(&fake, "cufftMakePlanMany64"), 40);
    assert_eq!(count(&fake, "cufftExec"), 51);
    device.free(from);
    device.free(to);
    drop(device);
    clean(&fake);
}

/// Memory that libraries work in goes where it is needed, with virtual memory or without; and where there is none for
/// them, kernels of ours do it.
#[test]
fn libraries_give_their_memory_up() {
    const MIB: u64 = 1 << 20;
    for paged in [1, 0] {
        let fake = Fake::new(&format!("spare-{paged}"));
        fake.set("virtual", paged);
        fake.set("memory", 48 << 20);
        let device = fake.open().unwrap();
        program(&device);
        assert!(count(&fake, "cublasGemm") == 2);
        let taken = if let Some(vmm) = device.vmm() {
            let buf = vmm.reserve(40 * MIB).unwrap();
            let addr = arrayloom_memory::Addr { buf, offset: 0 };
            vmm.map(addr, 40 * MIB).unwrap();
            Ok((vmm, addr))
        } else {
            Err(device.alloc(40 * MIB).unwrap())
        };
        assert_eq!(count(&fake, "cufftDestroy"), 1);
        program(&device);
        let words = device.libraries().join(", ");
        assert!(
            words.contains("last refused: ") && words.contains("memory"),
            "{words}"
        );
        assert_eq!(count(&fake, "cublasGemm"), 2);
        match taken {
            Ok((vmm, addr)) => {
                vmm.unmap(addr, 40 * MIB);
                vmm.release(addr.buf, 40 * MIB);
            }
            Err(buf) => device.free(buf),
        }
        program(&device);
        assert_eq!(count(&fake, "cublasGemm"), 4);
        drop(device);
        clean(&fake);
    }
}
