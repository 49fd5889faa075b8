//! Chunk manifests as Python gives them: a dictionary of plain values.

use super::expr::dtype_of;
use arrayloom_volume::manifest::{Codec, Entry, File, Index, Manifest, ShardRule};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

fn item<'py, T>(facts: &Bound<'py, PyDict>, name: &str) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    let found = facts.get_item(name)?;
    let missing = || PyValueError::new_err(format!("a manifest without {name}"));
    found.ok_or_else(missing)?.extract()
}

fn codec((name, first, second): (String, usize, usize)) -> PyResult<Codec> {
    Ok(match name.as_str() {
        "zlib" => Codec::Zlib,
        "gzip" => Codec::Gzip,
        "zstd" => Codec::Zstd,
        "lz4" => Codec::Lz4,
        "blosc" => Codec::Blosc,
        "shuffle" => Codec::Shuffle(first.max(1)),
        "crc32c" => Codec::Crc32c,
        "differences" => Codec::Differences {
            row_bytes: first,
            size: second,
        },
        other => {
            return Err(PyValueError::new_err(format!("no codec {other:?}")));
        }
    })
}

fn names(facts: &Bound<'_, PyDict>) -> PyResult<Index> {
    Ok(Index::Names {
        root: item::<PathBuf>(facts, "root")?,
        prefix: item(facts, "prefix")?,
        separator: item(facts, "separator")?,
    })
}

fn table(facts: &Bound<'_, PyDict>) -> PyResult<Index> {
    let files: Vec<(PathBuf, u64, i64)> = item(facts, "files")?;
    let files = files.into_iter().map(|(path, size, mtime_ns)| File {
        path,
        size,
        mtime_ns,
    });
    let entries: Vec<(u32, u64, u64, u32)> = item(facts, "entries")?;
    let entries = entries
        .into_iter()
        .map(|(file, offset, nbytes, skipped)| Entry {
            file,
            skipped,
            offset,
            nbytes,
        });
    Ok(Index::Table {
        files: files.collect(),
        grid: item(facts, "grid")?,
        entries: entries.collect(),
    })
}

/// The source that `facts` describe.
pub(super) fn manifest(facts: &Bound<'_, PyDict>, threads: usize) -> PyResult<Manifest> {
    let kind: String = item(facts, "index")?;
    let index = match kind.as_str() {
        "names" => names(facts)?,
        "shards" => Index::Shards {
            names: Box::new(names(facts)?),
            rule: ShardRule {
                chunks: item(facts, "shard_chunks")?,
                at_end: item(facts, "index_at_end")?,
                checksum: item(facts, "index_checksum")?,
                known: Mutex::new(BTreeMap::new()),
            },
        },
        _ => table(facts)?,
    };
    let codecs: Vec<(String, usize, usize)> = item(facts, "codecs")?;
    let shape: Vec<i64> = item(facts, "shape")?;
    let chunk: Vec<i64> = item(facts, "chunk")?;
    let letter: char = item(facts, "letter")?;
    if shape.len() != chunk.len() || shape.is_empty() || chunk.iter().any(|&c| c < 1) {
        return Err(PyValueError::new_err(format!(
            "chunks of {chunk:?} for a volume of {shape:?}"
        )));
    }
    let made = Manifest {
        shape: shape.as_slice().into(),
        chunk: chunk.as_slice().into(),
        dtype: dtype_of(letter)?,
        fill: item(facts, "fill")?,
        swapped: item(facts, "swapped")?,
        cut_at_end: item(facts, "cut_at_end")?,
        codecs: codecs.into_iter().map(codec).collect::<PyResult<_>>()?,
        index,
        threads,
    };
    made.check().map_err(PyValueError::new_err)?;
    Ok(made)
}
