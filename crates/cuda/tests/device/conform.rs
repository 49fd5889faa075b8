//! The suite that judges devices, on the driver without a GPU, with queues that hold their work back.
//!
//! Kernels of the CUDA text are judged by `arrayloom-codegen`; here it is about memory, order, and the way of
//! a launch. Each kernel takes the host's compiler a third of a second, once.

use super::fake::Fake;
use arrayloom_device::conform::{
    CaseResult, Group, Options, Outcome, filters, random, run_group_with, sorts, transforms,
};
use arrayloom_device::{Device, Staged};
use arrayloom_reference::Reference;
use arrayloom_types::DType::{self, C128, F64, I64, U8};
use std::sync::Arc;

/// All cases of a group with these dtypes are native and right on this device.
fn native(device: &dyn Device, group: Group, dtypes: &[DType]) {
    let options = Options {
        dtypes,
        ..Options::default()
    };
    let cases = run_group_with(group, device, &Reference::new(), options);
    let other = cases.iter().filter(|c| c.outcome != Outcome::Native);
    let bad: Vec<String> = other
        .map(|c| format!("{}: {:?}", c.name, c.outcome))
        .collect();
    assert!(!cases.is_empty());
    let (count, some) = (bad.len(), &bad[..bad.len().min(60)]);
    assert_eq!(count, 0, "of {} cases:\n{}", cases.len(), some.join("\n"));
}

/// The driver saw no misuse, and nothing is left in it.
pub(crate) fn clean(fake: &Fake) {
    assert_eq!((fake.get("faults"), fake.get("live")), (0, 0));
}

/// A driver with a device as one in the memory of the host, with virtual memory or without.
fn staged(name: &str, paged: i64) -> (Fake, Staged) {
    let fake = Fake::new(name);
    fake.set("virtual", paged);
    fake.set("delay", 1);
    let device: Arc<dyn Device> = Arc::new(fake.open().unwrap());
    assert_eq!(device.vmm().is_some(), paged == 1);
    let staged = Staged::new(device, Arc::new(Reference::new()));
    (fake, staged)
}

/// The group passes, whatever queues do meanwhile.
fn strict(group: Group, dtypes: &[DType], delay: i64) {
    let fake = Fake::new(&format!("{group:?}-{delay}"));
    fake.set("delay", delay);
    fake.set("memory", 48 << 20);
    let device = fake.open().unwrap();
    native(&device, group, dtypes);
    drop(device);
    clean(&fake);
}

macro_rules! groups {
    ($($name:ident $group:ident [$($dtype:ident)*] $delay:literal;)*) => {$(
        #[test]
        fn $name() {
            strict(Group::$group, &[$($dtype),*], $delay);
        }
    )*};
}

groups! {
    memory Memory [] 0;
    memory_late Memory [] 1;
    order Order [] 0;
    order_late Order [] 1;
    order_mixed Order [] 77;
    limits Limits [] 1;
    threads Threads [] 5;
    in_place InPlace [F64] 1;
    places_and_scans ArgScan [F64] 1;
    conditions Flags [] 1;
    scatter Scatter [I64] 1;
}

/// As one in the memory of the host, which the engine wants: with virtual memory, and with segments where
/// there is none.
#[test]
fn memory_in_pieces() {
    for paged in [1, 0] {
        let (fake, staged) = staged(&format!("pieces-{paged}"), paged);
        native(&staged, Group::InPlace, &[F64]);
        drop(staged);
        assert!(fake.called().iter().any(|name| name == "cuLaunchKernel"));
        clean(&fake);
    }
}

/// Memory runs out at one call or another: what was computed is right all the same, there or on the host.
#[test]
fn memory_that_runs_out_at_any_call() {
    for (paged, call, at) in [
        (1, "cuMemCreate", 1),
        (1, "cuMemCreate", 2),
        (0, "cuMemAlloc_v2", 1),
    ] {
        let (fake, staged) = staged(&format!("runs-out-{paged}-{at}"), paged);
        let made = || fake.called().iter().filter(|name| *name == call).count();
        let before = made();
        fake.fail(call, at, 2);
        native(&staged, Group::InPlace, &[F64]);
        assert!(made() - before >= usize::try_from(at).unwrap(), "{call}");
        drop(staged);
        clean(&fake);
    }
}

/// All cases are done by the device, and right.
#[track_caller]
pub(crate) fn right(what: &str, cases: &[CaseResult]) {
    let other = cases.iter().filter(|c| c.outcome != Outcome::Native);
    let bad: Vec<String> = other
        .map(|c| format!("{}: {:?}", c.name, c.outcome))
        .collect();
    assert!(!cases.is_empty());
    assert!(
        bad.is_empty(),
        "{what}, of {}:\n{}",
        cases.len(),
        bad.join("\n")
    );
}

/// Operations that are no kernels, with queues that hold their work back.
fn operations(name: &str, cases: impl Fn(&dyn Device) -> Vec<CaseResult>) {
    let fake = Fake::new(name);
    fake.set("delay", 3);
    let device = fake.open().unwrap();
    right(name, &cases(&device));
    drop(device);
    clean(&fake);
}

#[test]
fn arrays_are_sorted() {
    operations("sorts", |device| sorts(device, &[F64, U8]));
}

#[test]
fn lines_are_transformed() {
    operations("transforms", |device| transforms(device, &[C128]));
}

#[test]
fn random_numbers_are_numpys() {
    operations("random", |device| random(device));
}

#[test]
fn windows_are_folded() {
    operations("filters", |device| filters(device));
}
