//! Operations that are no kernels, on the OpenCL driver that is installed, in memory of the device's own.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use arrayloom_device::Device as _;
use arrayloom_device::conform::{
    CaseResult, Outcome, filters, products, random, sorts, transforms,
};
use arrayloom_opencl::{Config, OpenCl, Place};
use arrayloom_types::DType::{Bool, C64, F16, F32, F64, I16};
use std::path::PathBuf;

fn open() -> OpenCl {
    opened(&Config::default())
}

/// In memory of the device's own, with programs of earlier runs.
fn opened(config: &Config) -> OpenCl {
    let cache = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let config = Config {
        place: Place::Device,
        cache: Some((cache, 1 << 30)),
        ..config.clone()
    };
    OpenCl::open(config).expect("an OpenCL driver")
}

/// All cases are done by the device, and right.
fn strict(cases: &[CaseResult]) {
    let other = cases.iter().filter(|c| c.outcome != Outcome::Native);
    let bad: Vec<String> = other
        .map(|c| format!("{}: {:?}", c.name, c.outcome))
        .collect();
    assert!(!cases.is_empty());
    let (count, some) = (bad.len(), &bad[..bad.len().min(60)]);
    assert_eq!(count, 0, "of {} cases:\n{}", cases.len(), some.join("\n"));
}

#[test]
fn arrays_are_sorted() {
    strict(&sorts(&open(), &[]));
}

#[test]
fn matrices_are_multiplied() {
    strict(&products(&open(), &[F16, F64, C64, I16, Bool]));
}

/// Where the system has no library for it, kernels of ours do it.
#[test]
fn matrices_are_multiplied_by_a_library() {
    let device = opened(&Config {
        libraries: true,
        ..Config::default()
    });
    strict(&products(&device, &[F16, F32, F64, C64]));
    let words = device.libraries().join(", ");
    let missing = words.starts_with("no CLBlast: libclblast.so.1: ");
    assert!(words == "CLBlast (libclblast.so.1)" || missing, "{words}");
    assert_eq!(open().libraries(), ["no CLBlast: it is turned off"]);
}

#[test]
fn lines_are_transformed() {
    strict(&transforms(&open(), &[C64]));
}

#[test]
fn windows_are_folded() {
    strict(&filters(&open()));
}

#[test]
fn windows_are_folded_as_on_a_gpu() {
    let config = Config {
        cores: Some(false),
        ..Config::default()
    };
    strict(&filters(&opened(&config)));
}

#[test]
fn random_numbers_are_numpys() {
    strict(&random(&open()));
}
