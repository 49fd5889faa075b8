//! Kernels that do on devices what NumPy's functions of single elements do on the CPU.

use arrayloom_ir::{Builder, Form, Kernel, Output, Value, ops};
use arrayloom_types::{DType, Kind, Operand};
use std::sync::Arc;

/// An operand: a volume, or a number of Python's.
#[derive(Clone, Copy, Debug, pyo3::FromPyObject)]
pub(super) enum Number {
    /// An integer.
    Whole(i64),
    /// A float.
    Real(f64),
}

/// Functions whose results are the same bits everywhere.
const EXACT: [&str; 29] = [
    "absolute",
    "add",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "ceil",
    "divide",
    "equal",
    "floor",
    "fmax",
    "fmin",
    "greater",
    "greater_equal",
    "invert",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "not_equal",
    "rint",
    "sqrt",
    "square",
    "subtract",
];

/// The kernel of NumPy's function `name` of such numbers, and of volumes of these dtypes where there are none, with a
/// result of dtype `out` over `rank` axes. Without a name it is the conversion to that dtype.
pub(super) fn kernel(
    name: Option<&str>,
    numbers: &[Option<Number>],
    inputs: &[DType],
    (out, rank): (DType, usize),
) -> Option<Arc<Kernel>> {
    let mut builder = Builder::new();
    let result = match name {
        None => {
            let own = builder.input(0, *inputs.first()?);
            // NumPy's loops differ in what does not fit.
            let differs = out == DType::U32 && builder.dtype(own).kind() == Kind::Float;
            (!differs).then(|| builder.cast(own, out))?
        }
        Some(name) => called(&mut builder, name, numbers, inputs)?,
    };
    let fits = builder.dtype(result) == out && rank > 0 && !out.is_complex();
    let real = inputs.iter().all(|dtype| !dtype.is_complex());
    (fits && real).then(|| {
        Arc::new(Kernel {
            code: builder.finish(),
            inputs: inputs.to_vec(),
            outputs: vec![Output {
                value: result.0,
                form: Form::Store,
            }],
            rank: u8::try_from(rank).unwrap_or(u8::MAX),
        })
    })
}

/// The result of the function called `name`.
fn called(
    builder: &mut Builder,
    name: &str,
    numbers: &[Option<Number>],
    inputs: &[DType],
) -> Option<Value> {
    let op = ops::find(name).filter(|_| EXACT.contains(&name))?;
    let mut volumes = (0..).zip(inputs);
    let mut operands = Vec::new();
    for number in numbers {
        operands.push(match number {
            None => Operand::Strong(*volumes.next()?.1),
            Some(Number::Whole(_)) => Operand::WeakInt,
            Some(Number::Real(_)) => Operand::WeakFloat,
        });
    }
    let sig = op.resolve(&operands)?;
    let mut volumes = (0..).zip(inputs);
    let mut values = Vec::new();
    for (number, &dtype) in numbers.iter().zip(&sig.ins) {
        values.push(match *number {
            None => {
                let (i, &own) = volumes.next()?;
                let own = builder.input(i, own);
                builder.cast(own, dtype)
            }
            Some(number) => {
                let number = constant(number, dtype)?;
                builder.constant(dtype, number)
            }
        });
    }
    match (op.body)(builder, &values)[..] {
        [result] => Some(result),
        _ => None,
    }
}

/// The number in an operation of `dtype`, if it has it.
#[expect(clippy::cast_precision_loss, reason = "integers below 2^53")]
fn constant(number: Number, dtype: DType) -> Option<f64> {
    let value = match number {
        Number::Whole(n) if n.unsigned_abs() < 1 << 53 => n as f64,
        Number::Whole(_) => return None,
        Number::Real(x) => x,
    };
    let bits = i32::try_from(8 * dtype.size()).ok()?;
    let has = match dtype.kind() {
        Kind::Unsigned => (0.0..2f64.powi(bits)).contains(&value),
        Kind::Signed => (-2f64.powi(bits - 1)..2f64.powi(bits - 1)).contains(&value),
        // Of halves only those that need no rounding.
        Kind::Float => dtype != DType::F16 || value.abs() <= 2048.0 && value.fract() == 0.0,
        _ => false,
    };
    has.then_some(value)
}
