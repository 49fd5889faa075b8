//! The simulated device: the suite, seeds, failures, and memory that nobody else can touch.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use arrayloom_device::conform::{self, Group, Options, Outcome, run_group, run_group_with};
use arrayloom_device::{Device as _, DeviceError, End, Queue, Staged};
use arrayloom_reference::{Order, Reference, Sim, SimConfig};
use arrayloom_types::DType;
use std::sync::Arc;

fn open(config: SimConfig) -> Sim {
    Sim::open(config).unwrap()
}

mod any_order {
    use super::{Reference, SimConfig, conform, open};
    conform::suite!(open(SimConfig::default()), Reference::new());
}

#[test]
fn products_and_sorts_are_right() {
    let device = open(SimConfig::default());
    let dtypes = [DType::Bool, DType::I32, DType::F16, DType::F64, DType::C64];
    let results = conform::products(&device, &dtypes);
    let sorts = conform::sorts(&device, &[DType::I8, DType::F16, DType::C64]);
    for case in results.iter().chain(&sorts) {
        assert_eq!(case.outcome, Outcome::Native, "{case:?}");
    }
}

#[test]
fn every_order_of_queues_is_right() {
    let orders = [Order::AsGiven, Order::LastFirst, Order::Random];
    for (seed, order) in (0..20).zip(orders.into_iter().cycle()) {
        let memory = 4 << 20;
        let sim = open(SimConfig {
            seed,
            order,
            memory,
            ..SimConfig::default()
        });
        for group in [Group::Order, Group::Threads, Group::Limits] {
            conform::check(group, &sim, &Reference::new());
        }
        assert_eq!(sim.blocks(), 0);
    }
}

/// A device without kernels of several operations, with little memory, behind the memory of the host.
#[test]
fn what_it_lacks_runs_elsewhere_and_is_counted() {
    let config = SimConfig {
        fused: false,
        memory: 1 << 20,
        ..SimConfig::default()
    };
    let sim = Arc::new(open(config));
    let host = Arc::new(Reference::new());
    let staged = Staged::new(Arc::<Sim>::clone(&sim), host);
    for group in [Group::Map, Group::Fusion, Group::Reduce, Group::InPlace] {
        let options = Options {
            staged: Some(&staged),
            ..Options::default()
        };
        let results = run_group_with(group, &staged, &Reference::new(), options);
        let wrong: Vec<_> = results
            .iter()
            .filter(|c| matches!(c.outcome, Outcome::Fail(_)))
            .collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }
    let stats = staged.stats();
    assert!(stats.native > 1000 && stats.decomposed > 100, "{stats:?}");
    assert!(stats.uploads > 1000 && stats.downloads > 1000);
    assert_eq!(staged.memory().in_use, 0);
    staged.trim();
    assert_eq!(sim.blocks(), 0);
}

#[test]
fn any_allocation_and_any_kernel_may_fail() {
    for k in 1..12 {
        for run in [false, true] {
            let config = SimConfig {
                fail_alloc: (!run).then_some(k),
                fail_run: run.then_some(k),
                fused: k % 2 == 0,
                ..SimConfig::default()
            };
            let sim = Arc::new(open(config));
            let staged = Staged::new(Arc::<Sim>::clone(&sim), Arc::new(Reference::new()));
            conform::check(Group::Threads, &staged, &Reference::new());
            // Memory that is refused once can be had by the next attempt.
            assert!(!run || staged.stats().fallbacks > 0);
            staged.trim();
            assert_eq!(sim.blocks(), 0);
        }
    }
}

#[test]
fn copies_out_of_a_block_are_refused() {
    let sim = open(SimConfig::default());
    let buf = sim.alloc(600).unwrap();
    let mut byte = 0u8;
    let end = End::Host(&raw mut byte);
    let refused = sim.copy(Queue(0), end, End::Dev(buf, 1024), 1);
    assert!(matches!(refused, Err(DeviceError::Failed { .. })));
    let refused = sim.wait(Queue(0), arrayloom_device::Event(9));
    assert!(matches!(refused, Err(DeviceError::Failed { .. })));
}

#[test]
fn a_device_that_only_counts_passes_what_it_can() {
    let memory = Arc::new(arrayloom_memory::HostSegments::pool(1 << 20));
    let null = arrayloom_device::Null::new(memory);
    for group in conform::GROUPS {
        let results = run_group(group, &null, &Reference::new());
        let wrong = |o: &Outcome| matches!(o, Outcome::Fail(_));
        let wrong: Vec<_> = results
            .iter()
            .filter(|c| wrong(&c.outcome))
            .take(3)
            .collect();
        assert!(wrong.is_empty(), "{group:?}: {wrong:?}");
    }
}

#[test]
fn large_copies_go_through_a_little_pinned_memory() {
    for seed in 0..5 {
        let sim = open(SimConfig {
            seed,
            ..SimConfig::default()
        });
        let bytes = 3 << 20;
        let number = |i: usize| u8::try_from(i * 7 / 3 % 251).unwrap();
        let expected: Vec<u8> = (0..bytes).map(number).collect();
        let mut host = expected.clone();
        let buf = sim.alloc(bytes as u64).unwrap();
        let end = End::Host(host.as_mut_ptr());
        sim.copy(Queue(1), End::Dev(buf, 0), end, bytes as u64)
            .unwrap();
        host.fill(0);
        let pinned = sim.staging();
        assert!(pinned.peak > 256 << 10 && pinned.peak <= 1 << 20);
        sim.copy(Queue(1), end, End::Dev(buf, 0), bytes as u64)
            .unwrap();
        let event = sim.record(Queue(1)).unwrap();
        assert!(sim.poll(event, true).unwrap());
        assert!(host == expected);
    }
}
