//! Every call of the driver fails once, with several errors: the program ends with an error, nothing is used
//! twice, and nothing is kept.

use super::fake::Fake;
use super::work::program;
use arrayloom_device::{Device as _, DeviceError};
use std::collections::{BTreeMap, BTreeSet};

const INVALID: i32 = 1;
const NO_MEMORY: i32 = 2;
const ASTRAY: i32 = 700;
const UNKNOWN: i32 = 999;

/// Calls that give something back, or are made for it: nobody is told when they fail, and what they keep is
/// lost.
fn gives_back(name: &str) -> bool {
    ["Destroy", "Free", "Release", "Unload", "Unmap", "Push"]
        .iter()
        .any(|word| name.contains(word))
}

/// The names of the calls of the program, with how often each is made.
fn calls(fake: &Fake) -> BTreeMap<String, i64> {
    let mut all = BTreeMap::new();
    for name in fake.called() {
        *all.entry(name).or_insert(0) += 1;
    }
    all
}

#[test]
fn every_call_may_fail() {
    let fake = Fake::new("failures");
    program(fake.config()).unwrap();
    // What is compiled once is on the disk from now on.
    let fake = Fake::new("failures");
    program(fake.config()).unwrap();
    let all = calls(&fake);
    assert!(all.len() > 30, "{all:?}");
    for (name, count) in all {
        for at in BTreeSet::from([1, count]) {
            for code in [INVALID, NO_MEMORY, UNKNOWN] {
                let fake = Fake::new("failures");
                fake.fail(&name, at, code);
                let result = program(fake.config());
                let what = format!("call {at} of {name} gave {code}: {result:?}");
                assert_eq!(fake.get("faults"), 0, "{what}");
                if !gives_back(&name) {
                    assert_eq!(fake.get("live"), 0, "{what}");
                }
            }
        }
    }
}

#[test]
fn a_context_that_went_astray_is_lost() {
    for name in ["cuLaunchKernel", "cuEventQuery", "cuMemcpyHtoDAsync_v2"] {
        let fake = Fake::new("astray");
        fake.fail(name, 1, ASTRAY);
        let result = program(fake.config());
        let lost = matches!(&result, Err(DeviceError::Lost { what, .. }) if what.contains("ILLEGAL_ADDRESS"));
        assert!(lost, "{name}: {result:?}");
    }
}

#[test]
fn memory_that_runs_out_is_told_as_such() {
    let fake = Fake::new("full");
    fake.set("memory", 1 << 20);
    let device = fake.open().unwrap();
    assert!(matches!(
        device.alloc(2 << 20),
        Err(DeviceError::OutOfMemory { need, free, .. }) if need == 2 << 20 && free == 1 << 20
    ));
    // Somebody else has some of it.
    fake.fail("cuMemAlloc_v2", 1, NO_MEMORY);
    assert!(matches!(
        device.alloc(4096),
        Err(DeviceError::OutOfMemory { need: 4096, .. })
    ));
    let buf = device.alloc(1 << 20).unwrap();
    device.free(buf);
    drop(device);
    assert_eq!((fake.get("faults"), fake.get("live")), (0, 0));
}
