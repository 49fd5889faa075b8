//! Checks of the repository itself: `cargo xtask layers | sizes | unsafe | header`.
//!
//! `layers` fails when a crate depends on its own layer or a higher one; the other two only tell.

mod header;
mod layers;
mod sources;

use std::io::{Write as _, stderr, stdout};
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <task>
  layers   fail on a dependency that does not point strictly downwards
  sizes    lines per source file, longest first
  unsafe   unsafe blocks, functions and impls per file
  header   write the C header of backends; with --check, fail if it is old";

/// Why a task failed.
#[derive(Debug, thiserror::Error)]
enum TaskError {
    #[error(transparent)]
    Layers(#[from] layers::LayersError),
    #[error("cannot read {path}: {source}; run this inside the repository")]
    Read {
        path: String,
        source: std::io::Error,
    },
    #[error("the C header: {what}")]
    Header { what: String },
    #[error("cannot write the report: {0}")]
    Write(#[from] std::io::Error),
    #[error("{USAGE}")]
    Usage,
}

fn main() -> ExitCode {
    let task = std::env::args().nth(1).unwrap_or_default();
    match run(&task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to do when standard error is closed.
            drop(writeln!(stderr(), "{error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(task: &str) -> Result<(), TaskError> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let report = match task {
        "layers" => layers::check_workspace(&root)?,
        "header" => header::header(&root, std::env::args().any(|word| word == "--check"))?,
        "sizes" => sources::sizes(&root)?,
        "unsafe" => sources::unsafe_inventory(&root)?,
        _ => return Err(TaskError::Usage),
    };
    write!(stdout(), "{report}")?;
    Ok(())
}
