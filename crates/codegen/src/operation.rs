//! Operations that are no kernels: products of matrices, and sorts.

use crate::lower::{Steps, Target};
use crate::product::{Product, product};
use crate::sort;
use arrayloom_device::{Arg, ExtCall};

/// What an operation is made of.
#[derive(Debug)]
pub enum Operation {
    /// A kernel.
    Kernel(Box<Product>),
    /// Steps of its own.
    Steps(Box<Made>),
}

/// The steps of an operation, and its operands: what a step calls [`crate::Memory::In`] and
/// [`crate::Memory::Out`].
#[derive(Debug, Default)]
pub struct Made {
    /// The steps.
    pub steps: Steps,
    /// Its operands.
    pub ins: Vec<Arg>,
    /// Its results.
    pub outs: Vec<Arg>,
}

/// What does the operation that is called.
///
/// # Errors
/// The words for what there is not.
pub fn operation(call: &ExtCall<'_>, target: Target) -> Result<Operation, String> {
    match call.name {
        "sort" | "argsort" => Ok(Operation::Steps(Box::new(sort::sort(call, target)?))),
        "matmul" => {
            let product = product(call).ok_or("no matmul of these arrays")?;
            Ok(Operation::Kernel(Box::new(product)))
        }
        name => Err(format!("no operation {name:?}")),
    }
}
