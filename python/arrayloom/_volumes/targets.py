"""Objects that a volume is written to: what they replace as a whole, and whether the volume reads them itself."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from arrayloom._volumes.in_place import is_in_place
from arrayloom._volumes.manifest import ManifestSource
from arrayloom._volumes.sources import granule_of
from arrayloom._volumes.stamp import mapped_in
from arrayloom._volumes.volume import Volume, leaves

__all__ = ["check_target", "is_overwritten", "shares_voxels", "written_together"]


def written_together(target: Any) -> Sequence[int] | None:
    """The box that a target replaces as a whole, if it says so: a shard, or a chunk."""
    layout = getattr(target, "chunk_layout", None)
    found = (
        getattr(target, "shards", None)
        or getattr(getattr(layout, "write_chunk", None), "shape", None)
        or getattr(target, "chunks", None)
    )
    if not found or len(found) != len(target.shape):
        return None
    return found if all(isinstance(g, int) and g > 0 for g in found) else None


def check_target(target: Any, source: Volume) -> None:
    """Refuse a target that takes no slices, has another shape or can only be read."""
    if not (hasattr(target, "shape") and hasattr(target, "__setitem__")):
        message = f"a {type(target).__name__} is no target; give a file name, or an object with a shape that takes target[slices] = array"
        raise TypeError(message)
    if tuple(target.shape) != source.shape:
        message = f"a target of shape {tuple(target.shape)} for a volume of shape {source.shape}"
        raise ValueError(message)
    if _is_read_only(target):
        message = (
            f"a {type(target).__name__} of shape {tuple(target.shape)} that can only be read is no target; "
            "give one that is opened for writing, or a copy of the array"
        )
        raise ValueError(message)


def _is_read_only(target: Any) -> bool:
    """True if a target says that it cannot be written."""
    if isinstance(target, np.ndarray):
        return not target.flags.writeable
    library = type(target).__module__.split(".")[0]
    if library == "h5py":
        return target.file.mode == "r"
    return library == "zarr" and target.read_only


def is_overwritten(target: Any, source: Volume, *, here: bool = True) -> bool:
    """True if writing to `target` changes voxels that `source` has still to read.

    It may be written over where it is proven that each voxel of the result is made of the voxel at its own place.

    Parameters
    ----------
    target, source
        What is written, and what is computed.
    here
        False if workers elsewhere write.

    Raises
    ------
    ValueError
        If `target` is no array in memory; its result cannot wait in an array.
    """
    read = [leaf for leaf in leaves(source) if shares_voxels(target, leaf.source)]
    if not read or _is_written_over(target, source, read, here=here):
        return False
    if not isinstance(target, np.ndarray) or _places(target):
        message = (
            f"{type(target).__name__} of shape {tuple(target.shape)} is read and cannot be written at the same time; "
            "save to another file, and then save that one here"
        )
        raise ValueError(message)
    return True


def shares_voxels(target: Any, source: Any) -> bool:
    """True if a target and a source share voxels, or may."""
    if target is source:
        return True
    if isinstance(target, np.ndarray) and isinstance(source, np.ndarray):
        shared = np.may_share_memory(target, source)
        return shared or not _places(target).isdisjoint(_places(source))
    return not _places(target).isdisjoint(_places(source))


def _places(x: Any) -> set[str]:
    """Names of what an array or an object with slices lies in: files, or a place in a store."""
    if isinstance(x, np.ndarray):
        return _mapped_file(x)
    library = type(x).__module__.split(".")[0]
    if isinstance(x, ManifestSource):
        if x.node is not None and not hasattr(x.node, "path"):
            return _places(x.node)
        names = [str(file[0]) for file in x.facts.get("files", [])] or [x.facts["root"]]
    elif library == "h5py":
        return {f"{os.path.realpath(x.file.filename)}{x.name}"}
    elif library == "zarr":
        root = getattr(x.store, "root", None)
        names = [f"store {id(x.store)}/{x.path}" if root is None else root / x.path]
    elif library == "tensorstore" and x.kvstore is not None:
        names = [x.kvstore.path]
    else:
        names = []
    return {os.path.realpath(name) for name in names}


def _mapped_file(x: Any) -> set[str]:
    """The file that an array is mapped from, if it is."""
    mapped = mapped_in(x)
    return set() if mapped is None else {os.path.realpath(str(mapped.filename))}


def _is_written_over(target: Any, source: Volume, read: Sequence[Volume], *, here: bool) -> bool:
    """True if a voxel of `source` needs of each volume of `read`, which are `target` itself, its own place only."""
    if not all(_is_alike(target, leaf.source) for leaf in read):
        return False
    if isinstance(target, np.ndarray):
        return is_in_place(source, read)
    # Workers elsewhere may compute a block again that is written; no chunk may be read while it is written, or later.
    safe = here and all(_reads_whole(target, leaf) for leaf in read)
    return safe and is_in_place(source, read, straight=True)


def _reads_whole(target: Any, leaf: Volume) -> bool:
    """True if no chunk that is read of `leaf` lies in two blocks that are written to `target`."""
    written, chunk = written_together(target), granule_of(leaf.source)
    if written is None or chunk is None:
        return written is None
    return all(g % c == 0 or g >= n for g, c, n in zip(written, chunk, leaf.shape, strict=True))


def _is_alike(a: Any, b: Any) -> bool:
    """True if two arrays are one: the same bytes in the same order, or the same array in a file."""
    if a is b:
        return True
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        # Other objects, such as tensorstore's, may be views that begin elsewhere.
        known = type(a).__module__.split(".")[0] in {"zarr", "h5py"}
        return known and tuple(a.shape) == tuple(b.shape) and _places(a) == _places(b)
    here, there = a.__array_interface__, b.__array_interface__
    return here["data"][0] == there["data"][0] and all(
        x == y for x, y in ((a.shape, b.shape), (a.dtype, b.dtype), (a.strides, b.strides))
    )
