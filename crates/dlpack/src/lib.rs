//! DLPack, the C interface by which array libraries lend memory to one another.
//!
//! - [`abi`]: the structures of `dlpack.h` 1.3, both capsule forms and the exchange table.
//! - [`element`]: element types as code and bits.
//! - [`check`]: every field of a foreign tensor is judged before it is used.
//! - [`import`]: one owner per received tensor, which runs its deleter once.
//! - [`export`]: our memory as a managed tensor, whose deleter is plain Rust and runs on any thread.
//!
//! It knows nothing of Python, devices or arrays; capsules and exceptions are the caller's business.
#![no_std]

extern crate alloc;

pub mod abi;
pub mod check;
pub mod element;
pub mod error;
pub mod export;
pub mod import;

pub use check::{Tensor, check};
pub use element::Element;
pub use error::DlpackError;
pub use export::{Spec, export_legacy, export_versioned};
pub use import::{Form, Managed};
