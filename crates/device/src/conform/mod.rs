//! The suite that judges a device: ours and anyone's.
//!
//! Every case runs on the device and on an oracle, and the bytes are compared: bits, or a bound in
//! units of the last place for transcendental functions. A device may answer `Unsupported`; what it
//! does not say, it must do right. In a test file of a backend:
//!
//! ```text
//! arrayloom_device::conform::suite!(MyDevice::open()?, Reference::new());
//! ```

mod compare;
mod data;
mod exec;
mod flags;
mod forms;
mod fusion;
mod map;
mod memory;
mod place;
mod table;

use crate::{Device, DeviceError};

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The device did it, and right.
    Native,
    /// The device said that it does not have it.
    Unsupported,
    /// Wrong: what was found and what was expected.
    Fail(String),
}

/// One case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseResult {
    /// Group, primitive, dtypes and layout, such as `map/Add/float64/strided`.
    pub name: String,
    /// How it ended.
    pub outcome: Outcome,
}

/// A part of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Blocks and copies.
    Memory,
    /// Every primitive over every layout.
    Map,
    /// Every conversion between dtypes.
    Casts,
    /// The body of every operation of the table, and large or threaded launches.
    Ops,
    /// Folds to one value.
    Reduce,
    /// Places of extremes, and running folds.
    ArgScan,
    /// Random kernels against their single instructions.
    Fusion,
    /// Results on top of operands.
    InPlace,
    /// Floating-point conditions.
    Flags,
}

/// All groups.
pub const GROUPS: [Group; 9] = [
    Group::Memory,
    Group::Map,
    Group::Casts,
    Group::Ops,
    Group::Reduce,
    Group::ArgScan,
    Group::Fusion,
    Group::InPlace,
    Group::Flags,
];

/// Runs the whole suite.
pub fn run_all(device: &dyn Device, oracle: &dyn Device) -> Vec<CaseResult> {
    let groups = GROUPS.iter();
    groups
        .flat_map(|&group| run_group(group, device, oracle))
        .collect()
}

/// Runs one group.
pub fn run_group(group: Group, device: &dyn Device, oracle: &dyn Device) -> Vec<CaseResult> {
    let mut suite = Suite {
        device,
        oracle,
        results: Vec::new(),
    };
    match group {
        Group::Memory => memory::run(&mut suite),
        Group::Map => map::primitives(&mut suite),
        Group::Casts => map::casts(&mut suite),
        Group::Ops => map::operations(&mut suite),
        Group::Reduce => forms::reduce(&mut suite),
        Group::ArgScan => forms::arg_and_scan(&mut suite),
        Group::Fusion => fusion::run(&mut suite),
        Group::InPlace => map::in_place(&mut suite),
        Group::Flags => flags::run(&mut suite),
    }
    suite.results
}

/// Runs one group and fails the calling test with the list of wrong cases.
///
/// # Panics
/// When a case is wrong, or when the device supports no case of the group.
pub fn check(group: Group, device: &dyn Device, oracle: &dyn Device) {
    let results = run_group(group, device, oracle);
    let failed: Vec<String> = results
        .iter()
        .filter_map(|case| match &case.outcome {
            Outcome::Fail(what) => Some(format!("{}: {what}", case.name)),
            _ => None,
        })
        .collect();
    let native = results.iter().any(|case| case.outcome == Outcome::Native);
    assert!(
        failed.is_empty(),
        "{} of {} cases of {group:?} fail:\n{}",
        failed.len(),
        results.len(),
        failed[..failed.len().min(40)].join("\n")
    );
    assert!(
        native,
        "{} supports no case of {group:?}",
        device.caps().name
    );
}

/// Makes one `#[test]` for each group: `suite!(device, oracle)`, two expressions.
#[macro_export]
macro_rules! conform_suite {
    ($device:expr, $oracle:expr) => {
        $crate::conform_suite!(@each $device, $oracle,
            memory Memory, map Map, casts Casts, ops Ops, reduce Reduce, arg_and_scan ArgScan,
            fusion Fusion, in_place InPlace, flags Flags);
    };
    (@each $device:expr, $oracle:expr, $($name:ident $group:ident),*) => {$(
        #[test]
        fn $name() {
            $crate::conform::check($crate::conform::Group::$group, &$device, &$oracle);
        }
    )*};
}

pub use conform_suite as suite;

/// The state of a run.
struct Suite<'a> {
    device: &'a dyn Device,
    oracle: &'a dyn Device,
    results: Vec<CaseResult>,
}

/// Why a case did not end well.
enum Trouble {
    /// The device does not have it.
    Lacking,
    /// It is wrong.
    Wrong(String),
}

impl From<DeviceError> for Trouble {
    fn from(error: DeviceError) -> Trouble {
        match error {
            DeviceError::Unsupported { .. } => Trouble::Lacking,
            other => Trouble::Wrong(other.to_string()),
        }
    }
}

impl From<String> for Trouble {
    fn from(what: String) -> Trouble {
        Trouble::Wrong(what)
    }
}

impl Suite<'_> {
    /// Notes a case.
    fn note(&mut self, name: String, result: Result<(), Trouble>) {
        let outcome = match result {
            Ok(()) => Outcome::Native,
            Err(Trouble::Lacking) => Outcome::Unsupported,
            Err(Trouble::Wrong(what)) => Outcome::Fail(what),
        };
        self.results.push(CaseResult { name, outcome });
    }

    /// Runs a job on both devices and notes whether the results agree. A case that the oracle cannot
    /// decide is wrong, so that nothing goes unjudged.
    fn judge(&mut self, name: String, job: &exec::Job, closeness: compare::Closeness) {
        let expected = match exec::execute(self.oracle, job) {
            Ok(expected) => expected,
            Err(error) => {
                let what = format!("the oracle fails: {error}");
                return self.note(name, Err(Trouble::Wrong(what)));
            }
        };
        let result = exec::execute(self.device, job).map_err(Trouble::from);
        let compared = result.and_then(|found| {
            compare::blocks(job, &found, &expected, closeness).map_err(Trouble::from)
        });
        self.note(name, compared);
    }
}
