"""Files as volumes: what can be read in boxes, and what can be written in boxes.

Readers are objects with ``shape``, ``dtype`` and slices. Writers also have a granule, the box that a
file replaces as a whole, and write under a temporary name until they are finished.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false, reportImplicitOverride=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

import contextlib
import errno
import importlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from arrayloom._manifest import ManifestSource, of_hdf5, of_zarr
from arrayloom._ome import Scale, attributes_of, create_image, scale_of
from arrayloom._tiff import create_tiff, open_tiff
from arrayloom._volume_journal import is_closed, journal_of
from arrayloom.errors import UnsupportedError

__all__ = ["Writer", "check_words", "create", "kind_of", "open_reader"]

_KINDS = {
    ".npy": "npy",
    ".raw": "raw",
    ".bin": "raw",
    ".dat": "raw",
    ".tif": "tiff",
    ".tiff": "tiff",
    ".btf": "tiff",
    ".zarr": "zarr",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".nc": "hdf5",
    ".ims": "hdf5",
}


# What callers may say about a file that is read, and about one that is written, for each format.
_READ = {
    "raw": {"shape", "dtype"},
    "tiff": {"level"},
    "zarr": {"dataset", "level"},
    "hdf5": {"dataset"},
}
_WRITTEN = {
    "zarr": {"chunks", "shards", "zarr_format", "levels", "axes", "spacing"},
    "hdf5": {"chunks", "dataset", "compression"},
}


def check_words(path: Path, words: Mapping[str, Any], *, written: bool) -> None:
    """Refuse what is said about a file whose format has no such thing."""
    known = _WRITTEN if written else _READ
    kind = kind_of(path)
    for name in words:
        if name not in known.get(kind, ()):
            others = " and ".join(k for k, found in known.items() if name in found)
            message = f"{path} is {kind}, and {name}= is for {others} only; leave it out"
            raise ValueError(message)
    if written and "levels" not in words and words.keys() & {"axes", "spacing"}:
        message = (
            f"{path}: axes and spacing are written for images with levels; give levels=1 for one"
        )
        raise ValueError(message)


def kind_of(path: Path) -> str:
    """The format of a file, from its name, or from what lies in a directory."""
    kind = _KINDS.get(path.suffix.lower())
    if kind is None and any((path / name).exists() for name in ("zarr.json", ".zarray", ".zgroup")):
        kind = "zarr"
    if kind is None:
        message = f"{path}: unknown format; names end in {', '.join(sorted(_KINDS))}"
        raise ValueError(message)
    return kind


def _module(name: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        message = f"{name} is needed for this format; install it with: pip install {extra}"
        raise UnsupportedError(message) from None


def _open_zarr(path: Path, dataset: str | None, level: int) -> tuple[Any, Scale | None]:
    """An array of Zarr, read by ourselves if its metadata allow it, and the scale of an image."""
    scale = None
    image = scale_of(attributes_of(path), level) if dataset is None else None
    if image is not None:
        dataset, scale = image
    facts = of_zarr(path if dataset is None else path / dataset)
    if facts is not None:
        return ManifestSource(facts), scale
    zarr = _module("zarr", "zarr")
    node = zarr.open(str(path), mode="r")
    if hasattr(node, "shape"):
        return node, scale
    if dataset is None:
        arrays = [name for name, _ in node.arrays()]
        if len(arrays) != 1:
            message = f"{path} holds the arrays {arrays}; say which one with dataset="
            raise ValueError(message)
        dataset = str(arrays[0])
        facts = of_zarr(path / dataset)
    return (node[dataset] if facts is None else ManifestSource(facts)), scale


def _open_hdf5(path: Path, dataset: str | None) -> Any:
    h5py = _module("h5py", "h5py")
    file = h5py.File(path, "r")
    if dataset is None:
        found: list[str] = []
        file.visititems(
            lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None
        )
        if len(found) != 1:
            message = f"{path} holds the data sets {found}; say which one with dataset="
            raise ValueError(message)
        dataset = found[0]
    if dataset not in file:
        message = f"{path} has no data set {dataset!r}; it holds {list(file)}"
        raise ValueError(message)
    data = file[dataset]
    facts = of_hdf5(data)
    return data if facts is None else ManifestSource(facts, data)


def _open_described(
    path: Path, kind: str, dataset: str | None, level: int
) -> tuple[Any, Scale | None]:
    """A file that says its own shape and dtype."""
    if kind == "npy":
        return np.lib.format.open_memmap(path, mode="r"), None
    if kind == "tiff":
        return open_tiff(_module("tifffile", "tifffile imagecodecs"), path, level), None
    if kind == "zarr":
        return _open_zarr(path, dataset, level)
    return _open_hdf5(path, dataset), None


def open_reader(
    path: Path,
    dataset: str | None,
    level: int,
    shape: Sequence[int] | None,
    dtype: DTypeLike | None,
) -> tuple[Any, Scale | None]:
    """An object with shape, dtype and slices over a file, and its scale if it has one."""
    if not path.exists():
        url = ":/" in str(path)
        message = f"{path} does not exist" + (
            "; give a path of this machine, not a URL" if url else ""
        )
        raise FileNotFoundError(message)
    words = {"dataset": dataset, "level": level or None, "shape": shape, "dtype": dtype}
    check_words(path, {k: v for k, v in words.items() if v is not None}, written=False)
    kind = kind_of(path)
    if kind == "raw":
        if shape is None or dtype is None:
            message = f"{path} says nothing of its shape and dtype; give shape= and dtype="
            raise ValueError(message)
        expected = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if min(shape, default=0) < 0:
            message = f"shape {tuple(shape)} has a negative extent; give the extents of {path}"
            raise ValueError(message)
        if path.stat().st_size < expected:
            message = f"{path} has {path.stat().st_size} bytes, and {tuple(shape)} {np.dtype(dtype)} takes {expected}"
            raise ValueError(message)
        return np.memmap(path, dtype, "r", shape=tuple(shape)), None
    try:
        return _open_described(path, kind, dataset, level)
    except UnsupportedError:
        raise
    except (ValueError, OSError, LookupError, TypeError, AttributeError) as error:
        if str(path) in str(error):
            raise
        what = f"there is no {error}" if isinstance(error, KeyError) else error
        message = f"{path} cannot be read as {kind}: {what}"
        raise (OSError if isinstance(error, OSError) else ValueError)(message) from error


class Writer:
    """A file that is written box by box, under a temporary name until `finish`."""

    def __init__(
        self,
        path: Path,
        partial: Path,
        target: Any,
        granule: Sequence[int],
        close: Any = None,
        *,
        resumed: bool = False,
    ) -> None:
        self.path = path
        self.partial = partial
        self.target: Any = target
        self.granule = tuple(granule)
        # Whether it has what an earlier run wrote.
        self.resumed = resumed
        self._close = close

    def flush(self) -> None:
        """Hand everything to the operating system."""
        if hasattr(self.target, "flush"):
            self.target.flush()

    def finish(self) -> None:
        """Give the file its name."""
        self.flush()
        self.target = None
        if self._close is not None:
            self._close()
        old = self.path.with_name(f".{self.path.name}.old")
        if self.path.is_dir() and not self.path.is_symlink():
            # A directory cannot be replaced in one step; the old one has another name until it can go.
            shutil.rmtree(old, ignore_errors=True)
            self.path.rename(old)
        os.replace(self.partial, self.path)  # noqa: PTH105 - replaces on every system
        shutil.rmtree(old, ignore_errors=True)

    def abandon(self, *, keep: bool) -> None:
        """Close; the temporary goes unless it is kept for a later run."""
        self.target = None
        if self._close is not None:
            self._close()
        if keep:
            return
        _remove(self.partial)


def _check_space(path: Path, needed: int) -> None:
    free = shutil.disk_usage(path.parent).free
    if needed > free:
        message = f"{path} takes {needed} bytes and the disk has {free}; make room, or write a compressed format"
        raise OSError(message)


def _check_replaced(path: Path, kind: str) -> None:
    """Refuse to replace a directory that is something else than the file to be written."""
    if not path.is_dir() or (kind == "zarr" and not any(path.iterdir())):
        return
    if kind == "zarr" and any((path / n).exists() for n in ("zarr.json", ".zarray", ".zgroup")):
        return
    message = f"{path} is a directory with other files; remove it, or choose another name"
    raise IsADirectoryError(message)


def _reserve(partial: Path) -> None:
    """Take the room of a file that will be written through a mapping, where a full disk ends the process."""
    if not hasattr(os, "posix_fallocate"):
        return
    with partial.open("r+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, partial.stat().st_size)
        except OSError as error:
            if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
                partial.unlink(missing_ok=True)
                raise


def _create_zarr(
    partial: Path, shape: Sequence[int], dtype: np.dtype[Any], options: dict[str, Any], *, old: bool
) -> tuple[Any, Sequence[int]]:
    zarr = _module("zarr", "zarr")
    if old:
        node = zarr.open(str(partial), mode="r+")
    else:
        chunks = options.get("chunks") or [min(n, 64 if len(shape) > 2 else 512) for n in shape]
        extra: dict[str, Any] = (
            {"shards": tuple(options["shards"])} if options.get("shards") else {}
        )
        if options.get("zarr_format"):
            extra["zarr_format"] = options["zarr_format"]
        node = zarr.create_array(
            store=str(partial), shape=tuple(shape), chunks=tuple(chunks), dtype=dtype, **extra
        )
    return node, getattr(node, "shards", None) or node.chunks


# What HDF5 may hold back until a file is closed.
_HELD_BACK = 2 << 20


class _Hdf5Target:
    """A data set that is written, while there is room.

    HDF5 ends the process if it finds a full disk when it closes a file, so it is looked for before.
    """

    def __init__(self, data: Any, partial: Path) -> None:
        self.data = data
        self.partial = partial

    def __setitem__(self, key: tuple[slice, ...], values: NDArray[Any]) -> None:
        free = shutil.disk_usage(self.partial.parent).free
        if values.nbytes + _HELD_BACK > free:
            message = f"{os.strerror(errno.ENOSPC)}: {values.nbytes + _HELD_BACK} bytes are needed next, and {free} are free"
            raise OSError(errno.ENOSPC, message)
        self.data[key] = values

    def flush(self) -> None:
        """Hand everything to the operating system."""
        self.data.file.flush()


def _create_hdf5(
    partial: Path, shape: Sequence[int], dtype: np.dtype[Any], options: dict[str, Any], *, old: bool
) -> tuple[Any, Sequence[int], Any]:
    h5py = _module("h5py", "h5py")
    file = h5py.File(partial, "r+" if old else "w")
    name = options.get("dataset") or "data"
    if old:
        data = file[name]
    else:
        chunks = tuple(options["chunks"]) if options.get("chunks") else None
        try:
            packed = options.get("compression")
            data = file.create_dataset(name, tuple(shape), dtype, chunks=chunks, compression=packed)
        except BaseException:
            file.close()
            raise
    return _Hdf5Target(data, partial), data.chunks or (1,) * len(shape), file.close


def create(
    path: Path, shape: Sequence[int], dtype: np.dtype[Any], *, resume: bool, **options: Any
) -> Writer:
    """A new file for a volume, or with `resume` the one that an earlier run left."""
    kind = kind_of(path)
    if not path.parent.is_dir():
        message = f"the directory {path.parent} does not exist"
        raise FileNotFoundError(message)
    _check_replaced(path, kind)
    dtype = np.dtype(dtype.str)  # one of several names for the same integers
    try:
        return _create(path, kind, tuple(shape), dtype, options, resume=resume)
    except BaseException as error:
        if not resume:
            _remove(_partial(path))
        if not isinstance(error, OSError) or error.errno is None:
            raise
        message = f"{path} cannot be written: {os.strerror(error.errno)}"
        raise type(error)(error.errno, message) from error


def _partial(path: Path) -> Path:
    """The name of a file while it is written."""
    return path.with_name(f".{path.name}.partial{path.suffix}")


def _remove(path: Path) -> None:
    """Remove a file or a directory, if it is there."""
    shutil.rmtree(path, ignore_errors=True)
    with contextlib.suppress(IsADirectoryError):
        path.unlink(missing_ok=True)


def _create(
    path: Path,
    kind: str,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    options: dict[str, Any],
    *,
    resume: bool,
) -> Writer:
    partial = _partial(path)
    old = resume and partial.exists() and (kind != "hdf5" or is_closed(journal_of(path)))
    if not old:
        _remove(partial)
    if kind in {"npy", "raw", "tiff"}:
        if not old:
            _check_space(path, int(np.prod(shape, dtype=object)) * dtype.itemsize)
        memory = _create_mapped(partial, path.name, kind, shape, dtype, old=old)
        if not old:
            _reserve(partial)
        return Writer(path, partial, memory, (1,) * len(shape), resumed=old)
    if kind == "zarr" and options.get("levels") is not None:
        zarr = _module("zarr", "zarr")
        name = path.name.removesuffix(".zarr").removesuffix(".ome")
        image, grain = create_image(zarr, partial, name, shape, dtype, options, old=old)
        return Writer(path, partial, image, grain, resumed=old)
    if kind == "zarr":
        node, granule = _create_zarr(partial, shape, dtype, options, old=old)
        return Writer(path, partial, node, granule, resumed=old)
    if not old and not options.get("compression"):
        _check_space(path, int(np.prod(shape, dtype=object)) * dtype.itemsize)
    data, granule, close = _create_hdf5(partial, shape, dtype, options, old=old)
    return Writer(path, partial, data, granule, close, resumed=old)


def _create_mapped(
    partial: Path, name: str, kind: str, shape: tuple[int, ...], dtype: np.dtype[Any], *, old: bool
) -> Any:
    """A file whose voxels lie at fixed places, mapped into memory."""
    if kind == "npy":
        return np.lib.format.open_memmap(partial, "r+" if old else "w+", dtype, shape)
    if kind == "raw":
        return np.memmap(partial, dtype, "r+" if old else "w+", shape=shape)
    tifffile = _module("tifffile", "tifffile")
    return create_tiff(tifffile, partial, name, shape, dtype, old=old)
