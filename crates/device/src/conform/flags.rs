//! Floating-point conditions: which instruction met which.

use super::data::{Rng, Values, element};
use super::exec::{Input, Job, execute};
use super::table::Loop;
use super::{Suite, Trouble};
use arrayloom_ir::{FpFlags, Prim};
use arrayloom_types::{DType, Layout, Scalar};

/// Underflow is not compared: NumPy never reports it by default.
const COMPARED: u8 = FpFlags::DIVIDE.0 | FpFlags::OVERFLOW.0 | FpFlags::INVALID.0;

const PAIRS: [(Prim, f64, f64, FpFlags); 13] = [
    (Prim::Div, 1.0, 0.0, FpFlags::DIVIDE),
    (Prim::Div, 0.0, 0.0, FpFlags::INVALID),
    (Prim::Div, 1.0, 2.0, FpFlags::NONE),
    (Prim::Div, f64::INFINITY, 2.0, FpFlags::NONE),
    (
        Prim::Add,
        f64::INFINITY,
        f64::NEG_INFINITY,
        FpFlags::INVALID,
    ),
    (Prim::Add, f64::NAN, 1.0, FpFlags::NONE),
    (Prim::Sub, f64::INFINITY, f64::INFINITY, FpFlags::INVALID),
    (Prim::Mul, f64::INFINITY, 0.0, FpFlags::INVALID),
    (Prim::Mul, 3.0, 4.0, FpFlags::NONE),
    (Prim::Sqrt, -1.0, 0.0, FpFlags::INVALID),
    (Prim::Sqrt, 4.0, 0.0, FpFlags::NONE),
    (Prim::Log, -1.0, 0.0, FpFlags::INVALID),
    (Prim::Log, 0.0, 0.0, FpFlags::DIVIDE),
];

/// All cases.
pub(super) fn run(suite: &mut Suite<'_>) {
    if !suite.has_values() {
        return;
    }
    if !suite.device.caps().abilities.flags {
        return suite.note("flags".to_owned(), Err(Trouble::Lacking));
    }
    for dtype in [DType::F32, DType::F64] {
        for (prim, x, y, expected) in PAIRS {
            condition(suite, dtype, prim, [x, y], expected);
        }
        let huge = if dtype == DType::F32 { 3e38 } else { 1e308 };
        condition(suite, dtype, Prim::Mul, [huge, 10.0], FpFlags::OVERFLOW);
        condition(suite, dtype, Prim::Add, [huge, huge], FpFlags::OVERFLOW);
        condition(suite, dtype, Prim::Exp, [1e4, 0.0], FpFlags::OVERFLOW);
    }
    for dtype in [DType::I8, DType::I32, DType::I64, DType::U16, DType::U64] {
        for prim in [Prim::FloorDiv, Prim::Rem] {
            condition(suite, dtype, prim, [5.0, 0.0], FpFlags::DIVIDE);
            condition(suite, dtype, prim, [5.0, 2.0], FpFlags::NONE);
        }
    }
}

/// The condition must be met when one element of many has the operands `pair`, wherever it stands, and
/// no other condition.
fn condition(suite: &mut Suite<'_>, dtype: DType, prim: Prim, pair: [f64; 2], expected: FpFlags) {
    let arity = if matches!(prim, Prim::Sqrt | Prim::Log | Prim::Exp) {
        1
    } else {
        2
    };
    let l = Loop {
        prim,
        ins: vec![dtype; arity],
        out: dtype,
    };
    let name = format!("flags/{}/{dtype}/{:e}_{:e}", prim.name(), pair[0], pair[1]);
    let mut result = Ok(());
    for (n, at) in [(1, 0), (41, 0), (41, 17), (41, 40), (5000, 4999)] {
        let job = job(&l, n, at, pair);
        result = execute(suite.device, &job)
            .map_err(Trouble::from)
            .and_then(|found| {
                let met = found.flags.last().copied().unwrap_or(0) & COMPARED;
                if met == expected.0 {
                    return Ok(());
                }
                Err(Trouble::Wrong(format!(
                    "element {at} of {n}: conditions {met:#06b} instead of {:#06b}",
                    expected.0
                )))
            });
        if result.is_err() {
            break;
        }
    }
    suite.note(name, result);
}

/// Harmless operands, but for element `at`.
fn job(l: &Loop, n: usize, at: usize, pair: [f64; 2]) -> Job {
    let dtype = l.ins[0];
    let ins = pair.iter().take(l.ins.len()).map(|&special| {
        let mut bytes = Vec::new();
        let mut rng = Rng::new(n as u64);
        for i in 0..n {
            let harmless = element(dtype, &mut rng, Values::Whole(1, 9));
            let value = if i == at {
                Scalar::from_f64(dtype, special)
            } else {
                harmless
            };
            bytes.extend_from_slice(value.as_bytes());
        }
        Input::packed(dtype, &[n], &bytes)
    });
    let outs = vec![Layout::contiguous(l.out, &[n])];
    let mut job = Job::new(l.kernel(1), &[n], ins.collect(), outs);
    job.flags = true;
    job
}
