//! The CPU device: a portable tile interpreter on all cores.
//!
//! A launch becomes loops over the axes in walking order (`setup`, `nest`). Its kernel becomes a
//! program (`lower`, `program`): steps (`step`) that each run one compiled kernel (`kern`) over a tile of a few
//! hundred elements, so that everything between reading inputs and writing outputs stays in the level-1
//! cache; programs are kept (`programs`). Workers (`exec`, `tasks`, `pool`) run the program over their share of
//! the walk. Folds (`fold`, `tree`, `arg`) give NumPy's own bits for any number of threads, tile length and instruction
//! set. A fold of memory alone has loops of its own (`direct`), and so have sums of the windows along
//! a line (`running`). Several launches in one pass over rows are a `sweep`.

mod arg;
mod cell;
mod config;
mod device;
mod direct;
mod exec;
mod fold;
mod isa;
mod jit;
mod join;
mod kern;
mod lower;
mod mxcsr;
mod nest;
mod place;
mod plane;
mod pool;
mod program;
mod programs;
mod run;
mod running;
mod scatter;
mod setup;
mod step;
mod sweep;
mod sweep_band;
mod sweep_check;
mod sweep_fold;
mod sweep_rows;
mod tasks;
mod tree;
mod wide;
mod work;

pub use config::{CpuConfig, HostLoop, HostLoopFn, HostLoops};
pub use device::Cpu;
pub use isa::Isa;
pub use jit::JitStats;
pub use running::running_sums;
pub use setup::{Fold, is_order_free};
pub use wide::{Wide, wide};
