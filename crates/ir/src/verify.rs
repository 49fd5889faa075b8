//! Checks that a kernel is well formed. Run between passes in debug builds and tests.

use crate::{Arity, Form, Kernel, Prim};
use arrayloom_types::DType;

/// What is wrong with a kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// An operand that does not stand before its user.
    #[error("instruction {at} reads value {operand}, which does not stand before it")]
    Order {
        /// The instruction.
        at: usize,
        /// The operand.
        operand: u32,
    },
    /// Dtypes that do not fit the primitive.
    #[error("instruction {at} ({prim}) does not take these dtypes: {what}")]
    Dtype {
        /// The instruction.
        at: usize,
        /// Its primitive.
        prim: &'static str,
        /// What does not fit.
        what: &'static str,
    },
    /// A leaf or an output that names something that is not there.
    #[error("{what} {number} does not exist")]
    Missing {
        /// What kind of thing.
        what: &'static str,
        /// Its number.
        number: u32,
    },
}

/// Checks order, dtypes, inputs, outputs and axes.
///
/// # Errors
/// The first [`VerifyError`] found.
pub fn verify(kernel: &Kernel) -> Result<(), VerifyError> {
    for (at, ins) in kernel.code.iter().enumerate() {
        let used: &[u32] = match ins.prim.arity() {
            Arity::Leaf => &[],
            Arity::Unary => &[ins.a],
            Arity::Binary => &[ins.a, ins.b],
            Arity::Ternary => &[ins.a, ins.b, ins.c],
        };
        if let Some(&operand) = used.iter().find(|&&v| v as usize >= at) {
            return Err(VerifyError::Order { at, operand });
        }
        let types: Vec<DType> = used
            .iter()
            .map(|&v| kernel.code[v as usize].dtype)
            .collect();
        let bad = |what| {
            Err(VerifyError::Dtype {
                at,
                prim: ins.prim.name(),
                what,
            })
        };
        match (ins.prim, types.as_slice()) {
            (Prim::Input | Prim::Gather, index) => {
                let number = if index.is_empty() { ins.a } else { ins.b };
                let Some(&dtype) = kernel.inputs.get(number as usize) else {
                    let what = "input";
                    return Err(VerifyError::Missing { what, number });
                };
                if dtype != ins.dtype {
                    return bad("input has another dtype");
                }
                if index.iter().any(|&d| d != DType::I64) {
                    return bad("bytes are counted in int64");
                }
            }
            (Prim::Iota, _) if ins.a >= u32::from(kernel.rank) => {
                return Err(VerifyError::Missing {
                    what: "axis",
                    number: ins.a,
                });
            }
            (Prim::Select, [c, x, y]) if *c != DType::Bool || x != y || *x != ins.dtype => {
                return bad("select needs a bool and two values of its own dtype");
            }
            (Prim::Eq | Prim::Ne | Prim::Lt | Prim::Le, [x, y])
                if x != y || ins.dtype != DType::Bool =>
            {
                return bad("a comparison needs equal operands and a bool result");
            }
            (Prim::Ldexp, _) => {}
            (_, [x, y]) if x != y => return bad("operands differ"),
            _ => {}
        }
    }
    for output in &kernel.outputs {
        if output.value as usize >= kernel.code.len() {
            return Err(VerifyError::Missing {
                what: "value",
                number: output.value,
            });
        }
        let axis = match output.form {
            Form::Store => None,
            Form::Reduce { axes, .. } | Form::Arg { axes, .. } => axes.checked_ilog2(),
            Form::Scan { axis, .. } => Some(u32::from(axis)),
            Form::Scatter { at, .. } => {
                check_place(kernel, at)?;
                None
            }
        };
        if let Some(number) = axis.filter(|&a| a >= u32::from(kernel.rank)) {
            return Err(VerifyError::Missing {
                what: "axis",
                number,
            });
        }
    }
    Ok(())
}

/// Checks the value that says where a point goes.
fn check_place(kernel: &Kernel, at: u32) -> Result<(), VerifyError> {
    let what = "value";
    let ins = kernel.code.get(at as usize);
    let ins = ins.ok_or(VerifyError::Missing { what, number: at })?;
    if ins.dtype == DType::I64 {
        return Ok(());
    }
    Err(VerifyError::Dtype {
        at: at as usize,
        prim: ins.prim.name(),
        what: "bytes are counted in int64",
    })
}
