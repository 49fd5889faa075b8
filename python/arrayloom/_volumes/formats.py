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
import math
import os
import resource
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from arrayloom._volumes.durable import sync_name, sync_written
from arrayloom._volumes.manifest import ManifestSource, of_hdf5, of_zarr
from arrayloom._volumes.ome import Scale, attributes_of, create_image, scale_of
from arrayloom._volumes.tiff import create_tiff, open_tiff
from arrayloom._volumes.zarr_target import create_zarr, remove_torn, settle
from arrayloom.errors import UnsupportedError

__all__ = [
    "Writer",
    "check_place",
    "check_raw",
    "check_words",
    "create",
    "is_image",
    "kind_of",
    "open_reader",
    "partial_of",
]

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
    "tiff": {"dataset", "level"},
    "zarr": {"dataset", "level"},
    "hdf5": {"dataset"},
}
_WRITTEN = {
    "zarr": {"chunks", "shards", "zarr_format", "levels", "axes", "spacing", "units"},
    "tiff": {"axes", "spacing", "units"},
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
    if not written or "levels" in words or is_image(path):
        return
    for name in sorted(words.keys() & {"axes", "spacing", "units"}):
        cure = "end its name with .ome.tif" if kind == "tiff" else "give levels=1 for one"
        message = f"{path}: {name}= is written for images of OME; {cure}"
        raise ValueError(message)


def is_image(path: Path) -> bool:
    """True if the name of a file says that it is an image of OME, which has axes and spacing."""
    return path.name.lower().endswith((".ome.zarr", ".ome.tif", ".ome.tiff"))


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
    if level and dataset is not None:
        message = f"{path}: level= is of images, and dataset= names an array; leave one of them out"
        raise ValueError(message)
    scale = None
    image = scale_of(attributes_of(path), level) if dataset is None else None
    if image is not None:
        dataset, scale = image
    elif level:
        message = f"{path} is no image with levels, and has no level {level}; leave level= out"
        raise ValueError(message)
    facts = of_zarr(path if dataset is None else path / dataset)
    if facts is not None:
        return ManifestSource(facts), scale
    zarr = _module("zarr", "zarr")
    try:
        node = zarr.open(str(path), mode="r")
    except FileNotFoundError:
        message = f"{path} has no array of Zarr and no group in it; name a folder that has, or save to this one first"
        raise FileNotFoundError(message) from None
    if hasattr(node, "shape"):
        if dataset is not None:
            message = f"{path} is one array, and has no {dataset!r} in it; leave dataset= out"
            raise ValueError(message)
        return node, scale
    top = [] if dataset else [name for name, _ in node.arrays()]
    if len(top) == 1:
        dataset = str(top[0])

    def names() -> list[str]:
        return sorted(name for name, item in node.members(None) if hasattr(item, "shape"))

    name = _named(path, dataset, names, node.get(dataset) if dataset else None)
    facts = of_zarr(path / name)
    return (node[name] if facts is None else ManifestSource(facts)), scale


def _named(path: Path, dataset: str | None, names: Callable[[], list[str]], found: Any) -> str:
    """The name of the array to read; `found` is what the file has as `dataset`, `names` are its arrays."""
    if hasattr(found, "shape"):
        return str(dataset)
    held = names()
    if dataset is None:
        if len(held) == 1:
            return held[0]
        message = f"{path} holds {_list(held)}; say which one with dataset="
    elif found is None:
        message = f"{path} has no array {dataset!r}; it holds {_list(held)}"
    else:
        inside = [name for name in held if name.startswith(f"{dataset.strip('/')}/")]
        message = (
            f"{dataset!r} in {path} is a group with {_list(inside)}; "
            "say which one of its arrays with dataset="
        )
    raise ValueError(message)


def _list(names: list[str]) -> str:
    """What a file holds, for a message."""
    return f"the arrays {', '.join(names)}" if names else "no arrays"


def _open_hdf5(path: Path, dataset: str | None) -> Any:
    h5py = _module("h5py", "h5py")
    file = h5py.File(path, "r")

    def names() -> list[str]:
        held: list[str] = []
        file.visititems(
            lambda name, item: held.append(name) if isinstance(item, h5py.Dataset) else None
        )
        return held

    data = file[_named(path, dataset, names, file.get(dataset) if dataset else None)]
    if data.shape is None:
        message = (
            f"{data.name[1:]!r} in {path} is empty: it has a dtype, and neither shape nor voxels"
        )
        raise ValueError(message)
    facts = of_hdf5(data)
    return data if facts is None else ManifestSource(facts, data)


def _open_described(
    path: Path, kind: str, dataset: str | None, level: int
) -> tuple[Any, Scale | None]:
    """A file that says its own shape and dtype."""
    if kind == "npy":
        return np.lib.format.open_memmap(path, mode="r"), None
    if kind == "tiff":
        return open_tiff(_module("tifffile", "tifffile imagecodecs"), path, dataset, level)
    if kind == "zarr":
        return _open_zarr(path, dataset, level)
    return _open_hdf5(path, dataset), None


def _check_level(level: Any) -> None:
    """Refuse a level that is no number."""
    if isinstance(level, (bool, np.bool_)) or not isinstance(level, (int, np.integer)):
        message = f"level {level!r} is no whole number; give that of a level, 0 being the largest"
        raise TypeError(message)


def check_raw(path: Path, shape: Any, dtype: Any) -> None:
    """Refuse to read a raw file of which nobody says the shape and the dtype."""
    if kind_of(path) == "raw" and (shape is None or dtype is None):
        message = f"{path} says nothing of its shape and dtype; give shape= and dtype="
        raise ValueError(message)


def _open_raw(path: Path, shape: Any, dtype: Any) -> Any:
    """A file that says nothing of itself, mapped."""
    check_raw(path, shape, dtype)
    several = isinstance(shape, (Sequence, np.ndarray)) and not isinstance(shape, str)
    if not several or not all(isinstance(n, (int, np.integer)) for n in shape):
        message = f"shape {shape!r} is no list of whole numbers, such as (64, 64); give the extents of {path}"
        raise TypeError(message)
    expected = math.prod(map(int, shape)) * np.dtype(dtype).itemsize
    if any(n < 0 for n in map(int, shape)):
        message = f"shape {tuple(shape)} has a negative extent; give the extents of {path}"
        raise ValueError(message)
    if path.stat().st_size < expected:
        message = f"{path} has {path.stat().st_size} bytes, and {tuple(shape)} {np.dtype(dtype)} takes {expected}"
        raise ValueError(message)
    if expected == 0:  # nothing can be mapped
        return np.empty(tuple(shape), dtype)
    return np.memmap(path, dtype, "r", shape=tuple(shape))


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
    _check_level(level)
    words = {"dataset": dataset, "level": level or None, "shape": shape, "dtype": dtype}
    check_words(path, {k: v for k, v in words.items() if v is not None}, written=False)
    kind = kind_of(path)
    if kind == "raw":
        return _open_raw(path, shape, dtype), None
    try:
        return _open_described(path, kind, dataset, level)
    except (UnsupportedError, MemoryError):
        raise
    except Exception as error:
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
        close: Callable[[], None] | None = None,
        settle: Callable[[], None] | None = None,
    ) -> None:
        self.path = path
        self.partial = partial
        self.target: Any = target
        self.granule = tuple(granule)
        self._close = close
        self._settle = settle

    def flush(self) -> None:
        """Hand everything to the operating system."""
        if hasattr(self.target, "flush"):
            self.target.flush()

    def finish(self, *, durable: bool = False) -> None:
        """Give the file its name; a `durable` one is on the disk before, and its name behind."""
        self.flush()
        self.target = None
        if self._close is not None:
            self._close()
        if durable:
            sync_written(self.partial, self.path)
        old = self.path.with_name(f".{self.path.name}.old")
        if self.path.is_dir() and not self.path.is_symlink():
            # A directory cannot be replaced in one step; the old one has another name until it can go.
            shutil.rmtree(old, ignore_errors=True)
            self.path.rename(old)
        os.replace(self.partial, self.path)  # noqa: PTH105 - replaces on every system
        shutil.rmtree(old, ignore_errors=True)
        if durable:
            sync_name(self.path)

    def abandon(self, *, keep: bool) -> None:
        """Close after an error, which is the one to tell; the temporary goes unless it is kept for a later run."""
        for step in (self._settle, self.flush if keep else None, self._close):
            if step is not None:
                with contextlib.suppress(Exception):
                    step()
        self.target = None
        if not keep:
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


# Chunks that HDF5 keeps; later versions would keep more by default.
_CACHE = 1 << 20
# What HDF5 may hold back until a file is closed: these chunks, and where they lie.
_HELD_BACK = 2 * _CACHE


class _Hdf5Target:
    """A data set that is written, while there is room.

    HDF5 ends the process if it finds a full disk, or no room in a file, when it closes it, so it is looked for before.
    """

    def __init__(self, data: Any, partial: Path) -> None:
        self.data = data
        self.partial = partial

    def __setitem__(self, key: tuple[slice, ...], values: NDArray[Any]) -> None:
        free = shutil.disk_usage(self.partial.parent).free
        most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        left = free if most == resource.RLIM_INFINITY else most - self.partial.stat().st_size
        if values.nbytes + _HELD_BACK > min(free, left):
            code = errno.EFBIG if left < free else errno.ENOSPC
            message = f"{os.strerror(code)}: {values.nbytes + _HELD_BACK} bytes are needed next, and {min(free, left)} are free"
            raise OSError(code, message)
        self.data[key] = values

    def flush(self) -> None:
        """Hand everything to the operating system."""
        self.data.file.flush()


def _create_hdf5(
    partial: Path, shape: Sequence[int], dtype: np.dtype[Any], options: dict[str, Any], *, old: bool
) -> tuple[Any, Sequence[int], Any]:
    h5py = _module("h5py", "h5py")
    file = h5py.File(partial, "r+" if old else "w", rdcc_nbytes=_CACHE)
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


def check_place(path: Path) -> None:
    """Refuse a place where no file of this name can be written."""
    kind = kind_of(path)
    if not path.parent.is_dir():
        message = f"the directory {path.parent} does not exist"
        raise FileNotFoundError(message)
    _check_replaced(path, kind)


def create(
    path: Path, shape: Sequence[int], dtype: np.dtype[Any], *, old: bool, **options: Any
) -> Writer:
    """A new file for a volume, or the `old` one that an earlier run left."""
    dtype = np.dtype(dtype.str)  # one of several names for the same integers
    try:
        if not old:
            _remove(partial_of(path))
        return _create(path, tuple(shape), dtype, options, old=old)
    except BaseException as error:
        if not old:
            _remove(partial_of(path))
        if not isinstance(error, OSError) or error.errno is None:
            raise
        message = f"{path} cannot be written: {os.strerror(error.errno)}"
        raise type(error)(error.errno, message) from error


def partial_of(path: Path) -> Path:
    """The name of a file while it is written."""
    return path.with_name(f".{path.name}.partial{path.suffix}")


def _remove(path: Path) -> None:
    """Remove a file or a directory, if it is there."""
    shutil.rmtree(path, ignore_errors=True)
    with contextlib.suppress(IsADirectoryError):
        path.unlink(missing_ok=True)


def _create(
    path: Path, shape: tuple[int, ...], dtype: np.dtype[Any], options: dict[str, Any], *, old: bool
) -> Writer:
    partial, kind = partial_of(path), kind_of(path)
    if not old and kind != "zarr" and not options.get("compression"):
        _check_space(path, int(np.prod(shape, dtype=object)) * dtype.itemsize)
    if kind in {"npy", "raw", "tiff"}:
        told = options.get("scale")
        memory = _create_mapped(partial, path.name, kind, shape, dtype, told, old=old)
        if not old:
            _reserve(partial)
        return Writer(path, partial, memory, (1,) * len(shape))
    if kind == "zarr":
        zarr = _module("zarr", "zarr")
        if old:
            remove_torn(partial)
        if options.get("levels") is None:
            target, granule = create_zarr(zarr, partial, shape, dtype, options, old=old)
        else:
            name = path.name.removesuffix(".zarr").removesuffix(".ome")
            target, granule = create_image(zarr, partial, name, shape, dtype, options, old=old)
        return Writer(path, partial, target, granule, settle=settle)
    data, granule, close = _create_hdf5(partial, shape, dtype, options, old=old)
    return Writer(path, partial, data, granule, close)


def _create_mapped(
    partial: Path,
    name: str,
    kind: str,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    scale: Scale | None,
    *,
    old: bool,
) -> Any:
    """A file whose voxels lie at fixed places, mapped into memory."""
    if kind == "npy":
        return np.lib.format.open_memmap(partial, "r+" if old else "w+", dtype, shape)
    if kind == "raw":
        if 0 in shape:  # nothing can be mapped
            partial.touch()
            return np.empty(shape, dtype)
        return np.memmap(partial, dtype, "r+" if old else "w+", shape=shape)
    tifffile = _module("tifffile", "tifffile")
    return create_tiff(tifffile, partial, name, shape, dtype, scale, old=old)
