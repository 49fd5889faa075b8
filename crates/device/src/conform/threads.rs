//! Eight callers at once, each with a queue of its own, some of them with the same operand.

use super::compare::{self, Closeness};
use super::exec::{Job, execute};
use super::place::PATTERNS;
use super::{Suite, Trouble, map};
use crate::{Device, Queue};
use arrayloom_types::DType;

const CALLERS: u32 = 8;
const ROUNDS: u32 = 12;

/// All cases.
pub(super) fn run(suite: &mut Suite<'_>) {
    for dtype in [DType::F64, DType::I32] {
        let oracle = suite.options.second.unwrap_or(suite.oracle);
        let result = callers(suite.device, oracle, dtype);
        suite.note(format!("threads/{dtype}"), result);
    }
}

fn callers(device: &dyn Device, oracle: &dyn Device, dtype: DType) -> Result<(), Trouble> {
    let one = |caller: u32| -> Result<(), Trouble> {
        for round in 0..ROUNDS {
            let pattern = PATTERNS[(round % 6) as usize];
            // Two callers each have the same values.
            let seed = u64::from(caller / 2) * 100 + u64::from(round);
            let mut job = map::job(&map::addition(dtype), pattern, seed);
            job.queue = Queue(caller);
            agree(device, oracle, &job)?;
        }
        Ok(())
    };
    let results: Vec<Result<(), Trouble>> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..CALLERS).map(|c| scope.spawn(move || one(c))).collect();
        let lost = |_| Err(Trouble::Wrong("a caller's thread panicked".to_owned()));
        started
            .into_iter()
            .map(|caller| caller.join().unwrap_or_else(lost))
            .collect()
    });
    results.into_iter().collect()
}

fn agree(device: &dyn Device, oracle: &dyn Device, job: &Job) -> Result<(), Trouble> {
    let found = execute(device, job)?;
    let mut same = job.clone();
    same.queue = Queue(0);
    let expected = execute(oracle, &same)?;
    if !device.caps().abilities.values {
        return Ok(());
    }
    Ok(compare::blocks(job, &found, &expected, Closeness::Bits)?)
}
