//! Results at places by number: several at one place, masks, places far apart, other outputs beside.

use super::Suite;
use super::compare::Closeness;
use super::data::{Rng, Values, element};
use super::exec::{Input, Job};
use super::place::Pattern;
use super::table;
use arrayloom_ir::{Builder, Form, ScatterMode};
use arrayloom_types::{ALL_DTYPES, DType, Layout};

/// Elements of the result.
const ROOM: usize = 41;

/// Every way to scatter, every dtype, over several layouts of the values.
pub(super) fn run(suite: &mut Suite<'_>) {
    for mode in ScatterMode::ALL {
        for dtype in ALL_DTYPES {
            let closeness = match mode {
                ScatterMode::Min | ScatterMode::Max => Closeness::ZeroSign,
                ScatterMode::Set | ScatterMode::Add => Closeness::Bits,
            };
            for (seed, pattern) in (0..).zip([
                Pattern::Contiguous,
                Pattern::Strided,
                Pattern::Reversed,
                Pattern::Broadcast,
                Pattern::Unaligned,
                Pattern::ZeroD,
                Pattern::Empty,
            ]) {
                let name = format!("scatter/{mode:?}/{dtype}/{}", pattern.name());
                suite.judge(name, &job(mode, dtype, pattern, seed), closeness);
            }
        }
    }
}

/// A kernel that stores its operand's values by number. Two thirds of the points share a few places, and
/// every seventh goes nowhere.
fn job(mode: ScatterMode, dtype: DType, pattern: Pattern, seed: u64) -> Job {
    let shape = pattern.shape();
    let size = dtype.size();
    let points: usize = shape.iter().product();
    let mut rng = Rng::new(seed + 77);
    let places: Vec<u8> = (0..points)
        .map(|point| match (point % 7, point % 3) {
            (6, _) => i64::MIN,
            (_, 0) => i64::try_from(rng.below(ROOM) * size).unwrap_or(0),
            _ => i64::try_from(rng.below(4) * size).unwrap_or(0),
        })
        .flat_map(i64::to_le_bytes)
        .collect();
    let mut b = Builder::new();
    let (value, at) = (b.input(0, dtype).0, b.input(1, DType::I64).0);
    let form = Form::Scatter { mode, at };
    let kernel = table::kernel(b, &[(value, form)], &[dtype, DType::I64], shape.len());
    let values = Input::random(pattern.input(dtype, &shape, 0), seed, Values::Any);
    let ins = vec![values, Input::packed(DType::I64, &shape, &places)];
    let out = Layout::contiguous(dtype, &[ROOM]);
    let mut job = Job::new(kernel, &shape, ins, vec![out]);
    let before = (0..ROOM).flat_map(|_| {
        let one = element(dtype, &mut rng, Values::Tame);
        one.as_bytes().to_vec()
    });
    job.before = vec![Some(before.collect())];
    job
}
