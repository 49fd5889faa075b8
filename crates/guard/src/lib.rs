//! Protected pages: memory of lazy arrays whose contents appear when it is touched.
//!
//! The guard owns a large range of untouchable addresses, cut into slots. An engine takes a slot
//! for every array it has not evaluated yet and gives the address to the program. Whoever touches
//! it, in whatever language, makes a fault; the guard asks the engine for the value and moves its
//! pages to the address in one system call. No byte is copied.
//!
//! - **It guarantees** that a thread sees either no page or the whole value, that a write to a
//!   [`State::ReadOnly`] slot waits for [`Owner::before_write`], that a touch of anything else
//!   still crashes as it would have, and that no engine code runs inside the signal handler.
//! - **It knows nothing** of arrays, kernels, devices or Python.
//! - Linux only. Elsewhere [`Guard::install`] is an error and [`PagePool`] still works.
//!
//! A typical life: [`Guard::alloc`] (Lazy), a touch, [`Owner::evaluate`] computes into a block of
//! [`Guard::pool`] and calls [`Guard::computed`]; the faulting thread moves it to the user address;
//! [`Guard::free`] gives the pages back to the pool.
//!
//! Pages published by the fault handler are read-only until the first write passed the barrier,
//! unless [`Guard::unprotect`] was called on the slot before; that is the safe default for an engine
//! that records readers at any time.

#![cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "what only a fault handler calls")
)]

mod arena;
mod config;
mod error;
mod fork;
mod guard;
mod handler;
mod lock;
mod pool;
mod publish;
mod service;
mod slot;
mod sys;
mod warm;

pub use config::{GuardConfig, PoolLimits};
pub use error::GuardError;
pub use guard::{Counters, Guard, Owner};
pub use lock::Lock;
pub use pool::{Block, PagePool, Pages, PoolStats};
pub use slot::{Slot, State};
