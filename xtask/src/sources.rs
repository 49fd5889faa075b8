//! What the source files look like: their lengths, and where `unsafe` stands in them.
//!
//! Both are read off the text, line by line: precise enough to see a trend, and never a gate.

use crate::TaskError;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const FOLDERS: [&str; 7] = [
    "crates",
    "xtask",
    "python",
    "examples",
    "benchmarks",
    "tools",
    "build_backend",
];
const LONGEST: usize = 20;

/// Number of lines per file, longest first.
pub(crate) fn sizes(root: &Path) -> Result<String, TaskError> {
    let mut rows = Vec::new();
    for (name, text) in sources(root)? {
        rows.push((text.lines().count(), name));
    }
    rows.sort_by(|a, b| b.cmp(a));
    let total: usize = rows.iter().map(|(lines, _)| lines).sum();
    let median = rows.get(rows.len() / 2).map_or(0, |(lines, _)| *lines);
    let mut report = format!("{} files, {total} lines, median {median}\n", rows.len());
    for (lines, name) in rows.iter().take(LONGEST) {
        // Writing to a String cannot fail.
        let _ = writeln!(report, "{lines:6}  {name}");
    }
    Ok(report)
}

/// Number of unsafe blocks, functions and impls per file that has any.
pub(crate) fn unsafe_inventory(root: &Path) -> Result<String, TaskError> {
    let mut total = Unsafe::default();
    let mut rows = String::new();
    for (name, text) in sources(root)? {
        let found = Unsafe::of(&text);
        // This file holds the words as text.
        if name.starts_with("xtask") || found == Unsafe::default() {
            continue;
        }
        total.add(&found);
        let _ = writeln!(rows, "{}  {name}", found.columns());
    }
    let head = "blocks  SAFETY  functions  impls  file";
    Ok(format!("{head}\n{rows}{}  total\n", total.columns()))
}

/// What `unsafe` is used for in a text.
#[derive(Debug, Default, PartialEq, Eq)]
struct Unsafe {
    blocks: usize,
    comments: usize,
    functions: usize,
    impls: usize,
}

impl Unsafe {
    fn of(text: &str) -> Self {
        let mut found = Self::default();
        for line in text.lines() {
            let line = line.trim_start();
            if line.starts_with("//") {
                found.comments += usize::from(line.contains("SAFETY:"));
                continue;
            }
            let code = line.split(" //").next().unwrap_or_default();
            found.blocks += code.matches("unsafe {").count();
            found.impls += code.matches("unsafe impl").count();
            found.functions += code.matches("unsafe fn").count();
            found.functions += code.matches("unsafe extern \"C\" fn").count();
        }
        found
    }

    fn add(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.comments += other.comments;
        self.functions += other.functions;
        self.impls += other.impls;
    }

    fn columns(&self) -> String {
        let Self {
            blocks,
            comments,
            functions,
            impls,
        } = self;
        format!("{blocks:6}  {comments:6}  {functions:9}  {impls:5}")
    }
}

/// Path from the root and text of every Rust and Python file, in order of their paths.
fn sources(root: &Path) -> Result<Vec<(String, String)>, TaskError> {
    let mut paths = Vec::new();
    for folder in FOLDERS {
        let folder = root.join(folder);
        if folder.is_dir() {
            collect(&folder, &mut paths)?;
        }
    }
    paths.sort();
    let mut found = Vec::with_capacity(paths.len());
    for path in paths {
        let text = std::fs::read_to_string(&path).map_err(|source| read_error(&path, source))?;
        let name = path.strip_prefix(root).unwrap_or(&path);
        found.push((name.display().to_string(), text));
    }
    Ok(found)
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), TaskError> {
    let entries = std::fs::read_dir(folder).map_err(|source| read_error(folder, source))?;
    for entry in entries {
        let path = entry.map_err(|source| read_error(folder, source))?.path();
        let is_source = path
            .extension()
            .is_some_and(|end| end == "rs" || end == "py");
        if path.is_dir() && !path.ends_with("target") {
            collect(&path, found)?;
        } else if is_source {
            found.push(path);
        }
    }
    Ok(())
}

fn read_error(path: &Path, source: std::io::Error) -> TaskError {
    TaskError::Read {
        path: path.display().to_string(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_is_counted_outside_comments() {
        let text = "
            // SAFETY: the pointer is valid
            let x = unsafe { *p };
            // unsafe { is only mentioned here
            unsafe fn f() {}
            unsafe impl Send for T {}
            let y = 1; // unsafe {
        ";
        let found = Unsafe::of(text);
        assert_eq!(
            found.columns().split_whitespace().collect::<Vec<_>>(),
            ["1", "1", "1", "1"]
        );
    }

    #[test]
    fn this_repository_has_sources() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert!(sizes(&root).unwrap().contains("files"));
        assert!(unsafe_inventory(&root).unwrap().contains("total"));
    }
}
