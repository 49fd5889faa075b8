//! Devices in shared libraries: the interpreter through the C table, and the example of a backend.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use arrayloom_device::abi::{Loaded, load};
use arrayloom_device::conform::{self, Outcome, run_all};
use arrayloom_device::{Device as _, Staged};
use arrayloom_reference::Reference;
use std::path::PathBuf;
use std::sync::Arc;

/// A library among the examples, which are built with the tests.
fn library(name: &str) -> Loaded {
    let test: PathBuf = std::env::current_exe().unwrap();
    let target = test.parent().and_then(|deps| deps.parent()).unwrap();
    let path = target.join(format!("examples/lib{name}.so"));
    load(&path, 0).unwrap()
}

mod reference {
    use super::{Reference, conform, library};
    conform::suite!(library("exported_reference"), Reference::new());
}

mod staged {
    use super::{Arc, Reference, Staged, conform, library};
    conform::suite!(
        Staged::new(
            Arc::new(library("exported_reference")),
            Arc::new(Reference::new())
        ),
        Reference::new()
    );
}

#[test]
fn the_example_of_a_backend_is_right_in_what_it_has() {
    let device = library("rust_backend");
    assert_eq!(device.caps().name, "mine");
    let results = run_all(&device, &Reference::new());
    let failed = |o: &Outcome| matches!(o, Outcome::Fail(_));
    let wrong: Vec<_> = results.iter().filter(|c| failed(&c.outcome)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let native = |name: &str| {
        let mut cases = results.iter().filter(|c| c.name.starts_with(name));
        cases.any(|c| c.outcome == Outcome::Native)
    };
    assert!(native("map/Mul/float64/strided") && native("memory/") && !native("map/Div"));
}
