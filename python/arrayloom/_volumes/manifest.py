"""Where the chunks of files lie: manifests for Zarr 2 and 3, TIFF and HDF5.

A manifest is a dictionary of plain values from which the native half reads and decodes chunks on its own, on
several threads. Zarr's metadata are read here; tifffile and h5py say where chunks lie. What a manifest cannot
express gives ``None``, and the file is read through its library.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false
# Objects of other libraries have no types.

import json
import os
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

__all__ = ["ManifestSource", "manifest_of", "of_hdf5", "of_tiff", "of_zarr"]

Facts: TypeAlias = dict[str, Any]
Codec: TypeAlias = tuple[str, int, int]

_LETTERS = "?bhilqBHILQefdFD"
_BLOSC = {"lz4", "lz4hc", "zlib", "zstd"}


class ManifestSource:
    """A volume that the native half reads by itself; the library's object stays as a fallback for users."""

    def __init__(self, facts: Facts, node: Any = None) -> None:
        self.facts = facts
        self.shape = tuple(facts["shape"])
        self.dtype = np.dtype(facts["letter"])
        self.granule = tuple(facts["chunk"])
        self.node = node


def _common(shape: Any, chunk: Any, dtype: Any, fill: Any) -> Facts | None:
    kind = np.dtype(dtype)
    native = kind.newbyteorder("=")
    whole = all(isinstance(n, (int, np.integer)) and n >= 0 for n in [*shape, *chunk])
    if not whole or len(shape) != len(chunk) or (0 in chunk and 0 not in shape):
        message = f"chunks of {chunk} do not fit a shape of {shape}"
        raise ValueError(message)
    if native.char not in _LETTERS or not len(shape) or min(chunk, default=0) < 1:
        return None
    if isinstance(fill, str) and kind.kind in "fc":
        fill = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}.get(fill)
        if fill is None:
            return None
    if isinstance(fill, list):
        fill = complex(float(fill[0]), float(fill[1]))
    return {
        "shape": [int(n) for n in shape],
        "chunk": [int(n) for n in chunk],
        "letter": native.char,
        "fill": list(np.array(0 if fill is None else fill).astype(native).tobytes()),
        "swapped": not kind.isnative,
        "cut_at_end": False,
        "codecs": [],
    }


def of_zarr(path: Path) -> Facts | None:
    """The manifest of the Zarr array in the folder `path`."""
    for name, facts_of in (("zarr.json", _zarr3), (".zarray", _zarr2)):
        file = path / name
        if file.exists():
            try:
                return facts_of(path, json.loads(file.read_text(encoding="utf-8")))
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                what = f"it has no {error}" if isinstance(error, KeyError) else error
                message = f"{file} is broken: {what}"
                raise ValueError(message) from error
    return None


def _separator(text: Any) -> str:
    """What stands between the numbers of a chunk."""
    if text not in (".", "/"):
        message = f"{text!r} separates no numbers of chunks; '.' and '/' do"
        raise ValueError(message)
    return text


def _blosc_codec(options: Facts) -> list[Codec] | None:
    return [("blosc", 0, 0)] if options.get("cname") in _BLOSC else None


def _zarr2(path: Path, meta: Facts) -> Facts | None:
    if meta.get("order", "C") != "C" or not isinstance(meta["dtype"], str):
        return None
    facts = _common(meta["shape"], meta["chunks"], meta["dtype"], meta.get("fill_value"))
    if facts is None:
        return None
    codecs: list[Codec] = []
    compressor = meta.get("compressor")
    if compressor is not None:
        name = compressor["id"]
        one = {"zlib": "zlib", "gzip": "gzip", "zstd": "zstd", "lz4": "lz4"}.get(name)
        found = _blosc_codec(compressor) if name == "blosc" else [(one, 0, 0)] if one else None
        if found is None:
            return None
        codecs += found
    for option in reversed(meta.get("filters") or []):
        if option["id"] != "shuffle":
            return None
        codecs.append(("shuffle", int(option.get("elementsize", 4)), 0))
    names = {
        "index": "names",
        "root": str(path),
        "prefix": "",
        "separator": _separator(meta.get("dimension_separator", ".")),
    }
    return {**facts, **names, "codecs": codecs}


def _codecs3(codecs: list[Facts]) -> tuple[list[Codec], bool] | None:
    """Codecs in decoding order, and whether elements are big-endian."""
    found: list[Codec] = []
    big = False
    for codec in codecs:
        options = codec.get("configuration") or {}
        name = codec["name"]
        if name == "bytes":
            big = options.get("endian") == "big"
        elif name in {"zstd", "gzip", "crc32c"}:
            found.append((name, 0, 0))
        elif name == "blosc" and _blosc_codec(options):
            found.append(("blosc", 0, 0))
        else:
            return None
    return found[::-1], big


def _zarr3(path: Path, meta: Facts) -> Facts | None:
    if meta.get("node_type") != "array" or not isinstance(meta["data_type"], str):
        return None
    try:
        kind = np.dtype(meta["data_type"])
    except TypeError:
        return None
    grid, key = meta["chunk_grid"], meta["chunk_key_encoding"]
    if grid["name"] != "regular" or meta.get("storage_transformers"):
        return None
    options = key.get("configuration") or {}
    default = key["name"] == "default"
    names = {
        "index": "names",
        "root": str(path),
        "prefix": "c" + options.get("separator", "/") if default else "",
        "separator": _separator(options.get("separator", "/" if default else ".")),
    }
    chunk, codecs = grid["configuration"]["chunk_shape"], meta["codecs"]
    if codecs[0]["name"] == "sharding_indexed":
        inner = codecs[0]["configuration"]
        index = _codecs3(inner["index_codecs"])
        if len(codecs) > 1 or index is None or index[1] or {c[0] for c in index[0]} - {"crc32c"}:
            return None
        names |= {
            "index": "shards",
            "shard_chunks": [s // c for s, c in zip(chunk, inner["chunk_shape"], strict=True)],
            "index_at_end": inner.get("index_location", "end") == "end",
            "index_checksum": bool(index[0]),
        }
        chunk, codecs = inner["chunk_shape"], inner["codecs"]
    decoded = _codecs3(codecs)
    facts = _common(meta["shape"], chunk, kind, meta.get("fill_value"))
    if facts is None or decoded is None:
        return None
    return {**facts, **names, "codecs": decoded[0], "swapped": decoded[1] and kind.itemsize > 1}


def _file(path: Any) -> tuple[str, int, int]:
    facts = os.stat(path)  # noqa: PTH116 - h5py gives names as text
    return str(path), facts.st_size, facts.st_mtime_ns


def of_tiff(series: Any, shape: tuple[int, ...], path: Path) -> Facts | None:
    """The manifest of a series of pages that tifffile describes, as a volume of `shape`."""
    first = series.pages[0]
    pages = list(series.pages)
    tiled, size = first.is_tiled, first.dtype.itemsize
    codecs: dict[int, list[Codec]] = {
        1: [],
        8: [("zlib", 0, 0)],
        32946: [("zlib", 0, 0)],
        50000: [("zstd", 0, 0)],
        34926: [("zstd", 0, 0)],
    }
    page_shape = list(first.shape)
    if (
        first.compression not in codecs
        or first.samplesperpixel != 1
        or len(page_shape) != 2
        or first.fillorder != 1
        or first.predictor not in {1, 2}
        or first.bitspersample not in {8, 16, 32, 64}
        or any(p is None for p in pages)
        or shape[-2:] != tuple(page_shape)
    ):
        return None
    block = (
        [first.tilelength, first.tilewidth]
        if tiled
        else [min(first.rowsperstrip, page_shape[0]), page_shape[1]]
    )
    steps = list(codecs[int(first.compression)])
    swapped = not np.dtype(first.parent.byteorder + first.dtype.char).isnative and size > 1
    if first.predictor == 2:
        if swapped:
            return None
        steps.append(("differences", block[1] * size, size))
    outer = list(shape[:-2])
    grid = [*outer, -(-page_shape[0] // block[0]), -(-page_shape[1] // block[1])]
    entries: list[tuple[int, int, int, int]] = []
    for page in pages:
        places = zip(page.dataoffsets, page.databytecounts, strict=True)
        entries += [(0, int(offset), int(nbytes), 0) for offset, nbytes in places]
    facts = _common(shape, [1] * len(outer) + block, first.dtype.newbyteorder("="), 0)
    if facts is None or len(entries) != int(np.prod(grid)):
        return None
    return {
        **facts, "index": "table", "files": [_file(path)], "entries": entries, "grid": grid, "codecs": steps,
        "swapped": swapped, "cut_at_end": not tiled,
    }  # fmt: skip


def of_hdf5(data: Any) -> Facts | None:
    """The manifest of a data set of h5py."""
    if (
        data.chunks is None
        or data.file.driver != "sec2"
        or data.file.userblock_size
        or data.file.mode != "r"
    ):
        return None
    # Filters in the order of writing: number 1 is deflate, 2 shuffles bytes.
    pipeline = data.id.get_create_plist()
    filters = [pipeline.get_filter(i)[0] for i in range(pipeline.get_nfilters())]
    if filters not in ([], [1], [2], [2, 1]) or data.dtype.kind not in "biufc":
        return None
    known: dict[int, Codec] = {1: ("zlib", 0, 0), 2: ("shuffle", data.dtype.itemsize, 0)}
    facts = _common(data.shape, data.chunks, data.dtype, data.fillvalue)
    if facts is None:
        return None
    grid = [-(-n // c) for n, c in zip(data.shape, data.chunks, strict=True)]
    entries = [(0, 0, 0, 0)] * int(np.prod(grid))
    last = len(filters) - 1

    def add(chunk: Any) -> None:
        at = [o // c for o, c in zip(chunk.chunk_offset, data.chunks, strict=True)]
        # A set bit names a filter that was skipped; ours count in decoding order.
        skipped = sum(1 << last - i for i in range(len(filters)) if chunk.filter_mask >> i & 1)
        place = int(np.ravel_multi_index(at, grid))
        entries[place] = (0, int(chunk.byte_offset), int(chunk.size), skipped)

    if int(np.prod(grid)):
        data.id.chunk_iter(add)
    return {
        **facts, "index": "table", "files": [_file(data.file.filename)], "entries": entries, "grid": grid,
        "codecs": [known[f] for f in reversed(filters)],
    }  # fmt: skip


def manifest_of(x: Any) -> Facts | None:
    """The manifest of an array of zarr in a local folder, or of a data set of h5py; else None."""
    library = type(x).__module__.split(".")[0]
    if library == "h5py":
        return of_hdf5(x)
    root = getattr(getattr(x, "store", None), "root", None)
    if library == "zarr" and root is not None and Path(root).is_dir():
        return of_zarr(Path(root) / x.path)
    return None
