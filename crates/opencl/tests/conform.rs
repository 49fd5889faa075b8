//! The suite that judges devices, on the OpenCL driver that is installed, in both places of memory.
//!
//! The tests need a driver, such as Debian's `pocl-opencl-icd`. Drivers take a tenth of a second for a
//! kernel, so each group has the dtypes that differ most; `python -m arrayloom.conform opencl` has all.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use arrayloom_device::conform::{Group, Options, Outcome, run_group_with};
use arrayloom_opencl::{Config, OpenCl, Place};
use arrayloom_reference::Reference;
use arrayloom_types::DType::{self, Bool, C64, C128, F16, F32, F64, I16, I32, I64, U8};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

fn open(place: Place) -> OpenCl {
    let cache = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let config = Config {
        place,
        memory: Some(48 << 20),
        cache: Some((cache, 1 << 30)),
        ..Config::default()
    };
    OpenCl::open(config).expect("an OpenCL driver")
}

/// One group at a time: `PoCL` 3.1 loses count of a kernel's users, and ends the process, while several
/// contexts run kernels.
static DRIVER: Mutex<()> = Mutex::new(());

/// All cases of a group with these dtypes are native and right.
fn strict(group: Group, place: Place, dtypes: &[DType]) {
    let _alone = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
    let options = Options {
        dtypes,
        ..Options::default()
    };
    let cases = run_group_with(group, &open(place), &Reference::new(), options);
    let other = cases.iter().filter(|c| c.outcome != Outcome::Native);
    let bad: Vec<String> = other
        .map(|c| format!("{}: {:?}", c.name, c.outcome))
        .collect();
    assert!(!cases.is_empty());
    let (count, some) = (bad.len(), &bad[..bad.len().min(60)]);
    assert_eq!(count, 0, "of {} cases:\n{}", cases.len(), some.join("\n"));
}

/// Kernels that are compiled together do what each does by itself, and there are few programs of them.
#[test]
fn many_kernels_at_once() {
    let _alone = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("together");
    drop(std::fs::remove_dir_all(&kept));
    let device = OpenCl::open(Config {
        cache: Some((kept.clone(), 1 << 30)),
        ..Config::default()
    });
    let options = Options {
        dtypes: &[C128, I16],
        foreseen: true,
        ..Options::default()
    };
    let device = device.expect("an OpenCL driver");
    let cases = run_group_with(Group::Reduce, &device, &Reference::new(), options);
    let mut other = cases.iter().filter(|c| c.outcome != Outcome::Native);
    assert_eq!(other.next(), None);
    let programs = std::fs::read_dir(&kept).expect("kept programs").count();
    assert!(programs * 20 < cases.len(), "{programs} of {}", cases.len());
}

macro_rules! groups {
    ($($name:ident $group:ident $place:ident [$($dtype:ident)*];)*) => {$(
        #[test]
        fn $name() {
            strict(Group::$group, Place::$place, &[$($dtype),*]);
        }
    )*};
}

groups! {
    memory Memory Device [];
    memory_of_the_host Memory Natural [];
    maps Map Device [F64 F32];
    maps_of_the_host Map Natural [I32];
    casts Casts Device [F16 I64 Bool];
    reduce Reduce Device [F64 I32];
    reduce_of_the_host Reduce Natural [C64 F16];
    places_and_scans ArgScan Device [F32 U8];
    conditions Flags Device [];
    conditions_of_the_host Flags Natural [];
    scatter Scatter Device [I64 F16];
    scatter_of_the_host Scatter Natural [I64];
    in_place InPlace Device [F64];
    in_place_of_the_host InPlace Natural [F64];
    order Order Device [];
    order_of_the_host Order Natural [];
    limits Limits Device [];
    threads Threads Natural [];
}
