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
mod limits;
mod map;
mod memory;
mod operations;
mod order;
mod place;
mod scatter;
mod table;
mod threads;

pub use operations::{filters, products, random, sorts, transforms};

use crate::{Device, DeviceError, Staged};
use arrayloom_types::DType;

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The device did it, and right.
    Native,
    /// The device said that it does not have it; in parts or on the host it came out right.
    Fallback,
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
    /// Results at places by number.
    Scatter,
    /// Random kernels against their single instructions.
    Fusion,
    /// Results on top of operands.
    InPlace,
    /// Floating-point conditions.
    Flags,
    /// Queues and events.
    Order,
    /// All of the memory, and what failures leave behind.
    Limits,
    /// Several callers at once.
    Threads,
}

impl Group {
    /// The level of the suite that it belongs to. Levels 6 (exchange with other libraries) and 7 (whole
    /// programs) need Python.
    pub fn level(self) -> u8 {
        match self {
            Group::Memory => 0,
            Group::Order => 1,
            Group::Map | Group::Casts | Group::Ops | Group::InPlace | Group::Flags => 2,
            Group::Reduce | Group::ArgScan | Group::Scatter => 3,
            Group::Fusion => 4,
            Group::Limits => 5,
            Group::Threads => 8,
        }
    }
}

/// All groups.
pub const GROUPS: [Group; 13] = [
    Group::Memory,
    Group::Map,
    Group::Casts,
    Group::Ops,
    Group::Reduce,
    Group::ArgScan,
    Group::Scatter,
    Group::Fusion,
    Group::InPlace,
    Group::Flags,
    Group::Order,
    Group::Limits,
    Group::Threads,
];

/// What a run covers.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// Other values for the same cases.
    pub seed: u64,
    /// Only cases of these dtypes; empty for all.
    pub dtypes: &'a [DType],
    /// The same device with a host behind it: it must get right what the device alone does not have.
    pub staged: Option<&'a Staged>,
    /// Who is asked where the oracle has no answer.
    pub second: Option<&'a dyn Device>,
    /// The device is told of many cases before they run, so that it may compile them together.
    pub foreseen: bool,
    /// Is told now and then how many cases of the group are done.
    pub progress: Option<&'a (dyn Fn(usize) + Sync)>,
}

/// So many cases are foreseen together, of so many bytes at most.
const FORESEEN: (usize, usize) = (256, 16 << 20);

/// Runs the whole suite.
pub fn run_all(device: &dyn Device, oracle: &dyn Device) -> Vec<CaseResult> {
    let groups = GROUPS.iter();
    groups
        .flat_map(|&group| run_group(group, device, oracle))
        .collect()
}

/// Runs one group.
pub fn run_group(group: Group, device: &dyn Device, oracle: &dyn Device) -> Vec<CaseResult> {
    run_group_with(group, device, oracle, Options::default())
}

/// Runs a part of one group.
pub fn run_group_with(
    group: Group,
    device: &dyn Device,
    oracle: &dyn Device,
    options: Options<'_>,
) -> Vec<CaseResult> {
    data::set_seed(options.seed);
    let mut suite = Suite::new(device, oracle, options);
    match group {
        Group::Memory => memory::run(&mut suite),
        Group::Map => map::primitives(&mut suite),
        Group::Casts => map::casts(&mut suite),
        Group::Ops => map::operations(&mut suite),
        Group::Reduce => forms::reduce(&mut suite),
        Group::ArgScan => forms::arg_and_scan(&mut suite),
        Group::Scatter => scatter::run(&mut suite),
        Group::Fusion => fusion::run(&mut suite),
        Group::InPlace => map::in_place(&mut suite),
        Group::Flags => flags::run(&mut suite),
        Group::Order => order::run(&mut suite),
        Group::Limits => limits::run(&mut suite),
        Group::Threads => threads::run(&mut suite),
    }
    suite.judge_waiting();
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
            scatter Scatter, fusion Fusion, in_place InPlace, flags Flags, order Order, limits Limits, threads Threads);
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
    options: Options<'a>,
    results: Vec<CaseResult>,
    /// Cases that will run together.
    waiting: Vec<Waiting>,
}

/// A case whose result is known.
struct Waiting {
    name: String,
    job: exec::Job,
    closeness: compare::Closeness,
    expected: exec::Found,
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

impl<'a> Suite<'a> {
    fn new(device: &'a dyn Device, oracle: &'a dyn Device, options: Options<'a>) -> Suite<'a> {
        Suite {
            device,
            oracle,
            options,
            results: Vec::new(),
            waiting: Vec::new(),
        }
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
        self.push(CaseResult { name, outcome });
    }

    fn push(&mut self, result: CaseResult) {
        self.results.push(result);
        let done = self.results.len();
        if let Some(told) = self.options.progress.filter(|_| done.is_multiple_of(64)) {
            told(done);
        }
    }

    /// True when results mean something.
    fn has_values(&self) -> bool {
        self.device.caps().abilities.values
    }

    /// True for a job of the chosen dtypes.
    fn is_chosen(&self, job: &exec::Job) -> bool {
        let chosen = |d: &DType| self.options.dtypes.contains(d);
        let outs = job.outs.iter().map(|layout| &layout.dtype);
        let results = outs.filter(|d| **d != DType::Bool || job.kernel.inputs.is_empty());
        self.options.dtypes.is_empty() || job.kernel.inputs.iter().chain(results).all(chosen)
    }

    /// What becomes of a job that the device does not have: it must come out right all the same, and be
    /// counted.
    fn fallen_back(
        &mut self,
        name: String,
        job: &exec::Job,
        expected: &exec::Found,
        closeness: compare::Closeness,
    ) {
        let Some(staged) = self.options.staged else {
            return self.note(name, Err(Trouble::Lacking));
        };
        let count = || {
            let stats = staged.stats();
            stats.fallbacks + stats.decomposed
        };
        let before = count();
        let found = exec::execute(staged, job).map_err(|error| error.to_string());
        let right = found.and_then(|found| compare::blocks(job, &found, expected, closeness));
        let nothing = job.shape.contains(&0);
        let outcome = match right {
            Ok(()) if count() > before || nothing => Outcome::Fallback,
            Ok(()) => Outcome::Fail("the host ran it without being counted".to_owned()),
            Err(what) => Outcome::Fail(format!("wrong on the way around the device: {what}")),
        };
        self.push(CaseResult { name, outcome });
    }

    /// Runs a job on both devices and notes whether the results agree. A case that the oracle cannot
    /// decide is wrong, so that nothing goes unjudged.
    fn judge(&mut self, name: String, job: &exec::Job, closeness: compare::Closeness) {
        if !self.is_chosen(job) {
            return;
        }
        let mut expected = exec::execute(self.oracle, job);
        if let Err(DeviceError::Unsupported { .. }) = &expected {
            expected = exec::execute_aligned(self.oracle, job);
        }
        if let (Err(DeviceError::Unsupported { .. }), Some(second)) =
            (&expected, self.options.second)
        {
            expected = exec::execute(second, job);
        }
        let expected = match expected {
            Ok(expected) => expected,
            Err(error) => {
                let what = format!("the oracle fails: {error}");
                return self.note(name, Err(Trouble::Wrong(what)));
            }
        };
        self.waiting.push(Waiting {
            name,
            job: job.clone(),
            closeness,
            expected,
        });
        let bytes = |waiting: &Waiting| waiting.job.bytes();
        let (most, room) = FORESEEN;
        let full =
            self.waiting.len() >= most || self.waiting.iter().map(bytes).sum::<usize>() >= room;
        if full || !self.options.foreseen {
            self.judge_waiting();
        }
    }

    /// Runs the cases that wait on the device.
    fn judge_waiting(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        let device = self.device;
        let mut bound = Vec::new();
        for case in &waiting {
            bound.push(exec::Bound::new(device, &case.job));
        }
        if self.options.foreseen {
            let ready = waiting.iter().zip(&bound);
            let ready = ready.filter_map(|(case, b)| Some((case, b.as_ref().ok()?.launch())));
            let calls: Vec<_> = ready.collect();
            let calls: Vec<_> = calls.iter().map(|(c, l)| (&c.job.kernel, l)).collect();
            // What was not made together is made case by case, and fails there if it must.
            drop(device.foresee(&calls));
        }
        for (case, bound) in waiting.iter().zip(bound) {
            let found = bound.and_then(|bound| bound.run());
            self.compare(case, found);
        }
    }

    /// Notes whether a case came out as expected.
    fn compare(&mut self, case: &Waiting, found: Result<exec::Found, DeviceError>) {
        let Waiting {
            name,
            job,
            closeness,
            expected,
        } = case;
        let name = name.clone();
        let found = match found {
            Ok(found) => found,
            Err(DeviceError::Unsupported { .. }) => {
                return self.fallen_back(name, job, expected, *closeness);
            }
            Err(error) => return self.note(name, Err(error.into())),
        };
        if !self.has_values() {
            return self.note(name, Ok(()));
        }
        let mut result = compare::blocks(job, &found, expected, *closeness);
        if let Some(lack) = self.device.caps().abilities.lacks(&job.kernel) {
            let what = format!("ran a kernel although its capability bits say: {lack}");
            result = result.and(Err(what));
        }
        self.note(name, result.map_err(Trouble::from));
    }
}
