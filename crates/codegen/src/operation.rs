//! Operations that are no kernels: products of matrices, sorts, Fourier transforms, random numbers, filters.

use crate::lower::{Steps, Target};
use crate::{filter, fourier, philox, product, sort, window};
use arrayloom_device::{Arg, ExtCall, FILTER_PASS, FILTER_WINDOW};

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
pub fn operation(call: &ExtCall<'_>, target: Target) -> Result<Made, String> {
    match call.name {
        "sort" | "argsort" => sort::sort(call, target),
        "matmul" => product::product(call, target),
        "fft" => fourier::transform(call, target),
        "philox" => philox::philox(call, target),
        FILTER_PASS => filter::pass(call, target),
        FILTER_WINDOW => window::window(call, target),
        name => Err(format!("no operation {name:?}")),
    }
}
