//! Filters on devices: what a device is told ([`recipe`]), and one block after the other there ([`machine`]).

pub(crate) mod elements;
pub(crate) mod machine;
pub(crate) mod memory;
pub(crate) mod passes;
pub(crate) mod recipe;
pub(crate) mod windows;
