//! Kernels as text of the C family.
//!
//! One text serves all: OpenCL C, CUDA C++, HIP, and C++ of the host that runs the CUDA text. A prelude
//! of macros tells what a dialect calls things (`c/*.h`), a library holds what primitives mean (`c/*.c`)
//! and gives only what a kernel mentions, and the kernel itself is written here.
//!
//! [`lower`] turns a kernel and its launch into [`Step`]s. A step names an [`Entry`], which is the text
//! without sizes, so that one compiled program serves every shape, and the values of its parameters.
//! [`source`] writes the text of entries.

mod access;
mod bind;
mod board;
mod cache;
mod conditions;
mod dialect;
mod dims;
mod draft;
mod entry;
mod filter;
mod filter_text;
mod fold;
mod fourier;
mod fourier_call;
mod fourier_text;
mod gemm;
mod host;
mod keyed;
mod launches;
mod library;
mod long_text;
mod lower;
mod map;
mod means_text;
mod moments_text;
mod operation;
mod patches_text;
mod philox;
mod place;
mod product;
mod ready;
mod scatter;
mod sort;
mod sort_text;
mod spread_text;
mod sums_text;
mod tile_text;
mod told;
mod tree;
mod value;
mod values_text;
mod watch;
mod window;
mod window_text;

pub use board::{Board, is_seated};
pub use cache::ImageCache;
pub use conditions::{Watch, Watched};
pub use dialect::{Dialect, EMITTER};
pub use entry::{Entry, Form, GROUP, Param, Pass, Source, Stride, View};
pub use filter::Pass as FilterPass;
pub use fourier::{FourierPass, Spectrum, around, halves};
pub use fourier_call::Fourier;
pub use gemm::{Factor, Gemm};
pub use launches::Launches;
pub use lower::{ArgValue, Memory, Step, Steps, Target, lower};

pub use operation::{Made, operation};
pub use product::Reading;
pub use ready::{Programs, Words, abilities};
pub use sort::{Key, SortPass};
pub use told::Told;
pub use window::Window;

use library::Library;
use std::fmt::Write as _;

/// The text of a program with these entries, which are kernels named by [`Entry::name`].
///
/// # Errors
/// The words for an instruction that the library does not have.
pub fn source(entries: &[&Entry], dialect: Dialect) -> Result<String, String> {
    let mut kernels = String::new();
    for entry in entries {
        let (index, text) = (entry.index(), text_of(entry)?);
        // The width of indices is a word that each kernel sets anew.
        let _ = write!(kernels, "\n#undef ix\n#define ix {index}\n{text}");
        if dialect == Dialect::Host {
            kernels.push_str(&host::call(entry));
        }
    }
    let library = Library::get().mentioned(&kernels);
    Ok(format!("{}{library}{kernels}", dialect.prelude()))
}

/// The kernel of an entry, without what it mentions.
fn text_of(entry: &Entry) -> Result<String, String> {
    Ok(match entry.form {
        Form::Map => map::text(entry)?,
        Form::Fold { .. } | Form::Chunk { .. } | Form::Tree | Form::Scan { .. } => {
            fold::text(entry)?
        }
        Form::Combine => tree::combine(entry),
        Form::Scatter { mode, pass } => scatter::text(entry, mode, pass)?,
        Form::Product(reading) => product::text(entry, reading),
        Form::Fourier { pass, wide } => fourier_text::text(entry, pass, wide),
        Form::Philox => philox::text(entry),
        Form::Sort(pass) => sort_text::text(entry, pass),
        Form::Filter(pass) | Form::Tile(pass) => filter_text::text(entry, pass),
        Form::Boxes(pass) => long_text::boxes(entry, pass),
        Form::Cuts(pass) => long_text::cuts(entry, pass),
        Form::Window(window) => window_text::text(entry, window),
        Form::Place { .. } | Form::PlaceChunk { .. } | Form::PlaceCombine { .. } => {
            place::text(entry)?
        }
    })
}
