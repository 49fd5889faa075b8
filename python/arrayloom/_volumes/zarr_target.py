"""Arrays of Zarr that are written, and what of a write goes on after an error."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false
# Objects of zarr have no types.

import asyncio
import importlib
import itertools
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ZarrTarget",
    "check_there",
    "chunks_of",
    "create_zarr",
    "grown",
    "parts",
    "remove_torn",
    "settle",
]

# Voxels of a chunk, at least, if the array has as many: each is a file. As many along an axis are enough at first.
_LEAST, _EDGE = 64 * 64, 64
# Chunks of fewer voxels are not made smaller for want of memory.
_FEWEST = 16 * 16
# Seconds for what was begun; a write of one chunk that takes longer hangs.
_PATIENCE = 60.0
# Copies of a chunk while zarr encodes it, and how many the threads that did so keep.
_COPIES, _KEPT = 3, 6
# What zarr calls a chunk until it is whole.
_TORN = re.compile(r"\.[0-9a-f]{32}\.partial$")


def parts(box: Sequence[slice], granule: Sequence[int], count: int) -> Iterator[tuple[slice, ...]]:
    """Boxes that tile `box`, of at most `count` granules each, cut where granules end.

    Examples
    --------
    >>> list(parts([slice(2, 9)], [4], 1))
    [(slice(2, 4, None),), (slice(4, 8, None),), (slice(8, 9, None),)]
    """
    cuts: list[list[slice]] = []
    for span, g in zip(reversed(box), reversed(granule), strict=True):
        first, last = span.start // g, (span.stop - 1) // g
        step = min(count, last - first + 1)
        count //= step
        places = [g * n for n in range(first + step, last + 1, step)]
        bounds = itertools.pairwise([span.start, *places, span.stop])
        cuts.append([slice(lo, hi) for lo, hi in bounds])
    return itertools.product(*reversed(cuts))


def grown(chunks: Sequence[int], shape: Sequence[int]) -> list[int]:
    """Chunks of an array of `shape` that are made longer, the last axes first, until they are worth a file.

    Examples
    --------
    >>> (
    ...     grown([1, 1, 1], [100, 100, 100]),
    ...     grown([1, 64], [3, 100_000]),
    ...     grown([1, 64, 64], [3, 99, 99]),
    ... )
    ([1, 64, 64], [3, 1408], [1, 64, 64])
    """
    found = list(chunks)
    for most in (_EDGE, max([_EDGE, *shape])):
        for d in reversed(range(len(shape))):
            times = -(-_LEAST // max(math.prod(found), 1))
            found[d] = max(found[d], min(shape[d], most, found[d] * times))
    return found


def shrunk(
    chunks: Sequence[int], fits: Callable[[Sequence[int], int], bool] | None, least: int = 1
) -> list[int]:
    """Chunks that are made shorter along their longest axis, to powers of two from `least` on, if they do not fit.

    Parameters
    ----------
    chunks
        What is usual.
    fits
        Whether blocks of whole chunks fit the memory, or a half, a third of it; None if all do.
    least
        The shortest extent.

    Examples
    --------
    >>> shrunk([60, 64, 64], lambda chunks, share: math.prod(chunks) < 100_000 // share)
    [32, 32, 32]
    >>> shrunk([2, 1000], lambda chunks, share: False, 2)
    [2, 128]
    """
    found = list(chunks)
    if fits is None or fits(found, 1):
        return found
    # Encoding takes up to half of the memory.
    while math.prod(found) > _FEWEST and not fits(found, 2):
        longest = found.index(max(found))
        if found[longest] <= least:
            break
        found[longest] = 1 << (found[longest] - 1).bit_length() - 1
    return found


def chunks_of(options: Mapping[str, Any], usual: Sequence[int], least: int = 1) -> list[int]:
    """The chunks that are given, or the usual ones, as far as they fit; those of shards are written together."""
    if options.get("chunks"):
        return list(options["chunks"])
    return shrunk(usual, None if options.get("shards") else options.get("fits"), least)


class ZarrTarget:
    """An array of Zarr that is written a few chunks at a time, or shards if it has them.

    Zarr encodes what it is given on several threads, and copies it: a large box at once takes several times its bytes.
    """

    def __init__(self, node: Any) -> None:
        self.node = node
        self.shape, self.dtype = tuple(node.shape), node.dtype
        self.granule: tuple[int, ...] = getattr(node, "shards", None) or node.chunks
        self.together = 1

    def within(self, limit: int) -> int:
        """Write as many granules together as fit a quarter of `limit`; the bytes that this takes."""
        granule = math.prod(self.granule) * self.dtype.itemsize
        most = int(importlib.import_module("zarr").config.get("async.concurrency", 10))
        fit = (limit // 4 // max(granule, 1) - _KEPT) // _COPIES
        self.together = min(max(fit, 1), most)
        return min((_COPIES * self.together + _KEPT) * granule, limit // 2)

    def __getitem__(self, key: tuple[slice, ...]) -> NDArray[Any]:
        return np.asarray(self.node[key])

    def __setitem__(self, key: tuple[slice, ...], values: NDArray[Any]) -> None:
        if not values.size:
            return
        first = [span.start for span in key]
        for part in parts(key, self.granule, self.together):
            at = [slice(s.start - f, s.stop - f) for s, f in zip(part, first, strict=True)]
            self.node[part] = values[tuple(at)]


def create_zarr(
    zarr: Any,
    partial: Path,
    shape: Sequence[int],
    dtype: np.dtype[Any],
    options: dict[str, Any],
    *,
    old: bool,
) -> tuple[ZarrTarget, Sequence[int]]:
    """An array and the box that it replaces as a whole."""
    if old:
        node = zarr.open(str(partial), mode="r+")
    else:
        edge = 64 if len(shape) > 2 else 512
        usual = grown([min(n, edge) for n in shape], shape)
        chunks = chunks_of(options, usual)
        extra: dict[str, Any] = (
            {"shards": tuple(options["shards"])} if options.get("shards") else {}
        )
        if options.get("zarr_format"):
            extra["zarr_format"] = options["zarr_format"]
        node = zarr.create_array(
            store=str(partial), shape=tuple(shape), chunks=tuple(chunks), dtype=dtype, **extra
        )
    target = ZarrTarget(node)
    return target, target.granule


def check_there(node: Any) -> None:
    """Refuse an array in a folder that this process does not see: zarr would read fill values, and write elsewhere.

    Raises
    ------
    FileNotFoundError
        If there is no array of Zarr in it.
    """
    root = getattr(node.store, "root", None)
    if root is None:
        return
    folder = Path(root, node.path)
    if not any((folder / name).exists() for name in ("zarr.json", ".zarray")):
        message = (
            f"{folder} has no array of Zarr where this worker runs; "
            "keep it on a file system that all workers share, and name it by its whole path"
        )
        raise FileNotFoundError(message)


def remove_torn(path: Path) -> None:
    """Remove what processes that died left of chunks they were writing in the folder `path`; nobody reads it."""
    for folder, _, names in os.walk(path):
        for name in names:
            if _TORN.search(name):
                Path(folder, name).unlink(missing_ok=True)


def settle() -> None:
    """Wait for chunks that zarr is still writing after one of them failed, or after Ctrl-C.

    Else they are written while the file is removed or gone on with, and the interpreter complains of them when it
    ends.
    """
    sync: Any = importlib.import_module("zarr.core.sync")
    sync.sync(_ended())


async def _ended() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=_PATIENCE)
        # An error that nobody asks for is told when the interpreter ends.
        for task in others:
            if task.done() and not task.cancelled():
                task.exception()
