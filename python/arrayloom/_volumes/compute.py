"""Computing a volume in memory."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# Arrays of many dtypes come out; which is known at run time only.

import os
from collections.abc import Sequence
from functools import cache

import numpy as np

from arrayloom._ext import VolumeExpr
from arrayloom._volumes.limits import default_limit, nbytes, threads, workers
from arrayloom._volumes.stamp import check_read
from arrayloom._volumes.targets import shares_voxels
from arrayloom._volumes.volume import (
    Array,
    Box,
    Build,
    Progress,
    Volume,
    leaves,
    reads_memory_only,
    window_of,
)

__all__ = ["IN_MEMORY_LIMIT", "compute"]

# What a block costs to begin with is small against a block of this size; it fits most caches of disks.
IN_MEMORY_LIMIT = 64 << 20


def compute(
    volume: Volume,
    *,
    out: Array | None = None,
    memory_limit: int | str | None = None,
    progress: Progress | None = None,
    devices: str | Sequence[str] | None = None,
    build: Build | None = None,
) -> Array:
    """The voxels of `volume` as an array.

    Parameters
    ----------
    volume
        What to compute.
    out
        A C-contiguous array of its shape and dtype for the result.
    memory_limit
        Most bytes for the work, besides inputs in memory and the result.
    progress
        Called as ``progress(voxels, total, used_bytes)`` after each block.
    devices
        Workers that share the blocks, as `arrayloom.volumes.save` takes them.
    build
        Where the native expression is built.

    Raises
    ------
    MemoryError
        If the result does not fit the memory; `arrayloom.volumes.save` needs no memory for it.
    """
    own = out is None
    if out is None:
        out = _room_for(volume)
    else:
        _judge(out, volume)
    if volume.size == 0:
        return out
    if volume.ndim == 0:
        volume = _lifted(volume)
    limit = IN_MEMORY_LIMIT if memory_limit is None else nbytes(memory_limit)
    if memory_limit is None and (devices is not None or not reads_memory_only(volume)):
        limit = default_limit()
    shared = workers(devices, limit)
    build = build or Build()
    straight = own or (out.flags.c_contiguous and out.flags.aligned and out.dtype.isnative)
    # What is read must not be written over.
    straight = straight and (own or not any(shares_voxels(out, v.source) for v in leaves(volume)))
    target = out if straight else np.empty(out.shape, volume.dtype)
    window = window_of(volume)
    plain = memory_limit is None and progress is None and devices is None
    if window is not None and plain:
        # Chunks are decoded to where the voxels are wanted.
        build.expr.read_box(build.add(window[0]), window[1], window[2], target)
    else:
        build.add(volume)
        run = build.expr.run_to_array
        try:
            run(target.reshape(volume.shape), limit, threads(), progress, shared)
        except MemoryError:
            if memory_limit is not None or limit >= default_limit():
                raise
            run(target.reshape(volume.shape), default_limit(), threads(), progress, shared)
    # An array of the caller may lie in a file that is read.
    if own:
        check_read(leaves(volume))
    if target is not out:
        out[...] = target
    return out


def _judge(out: Array, volume: Volume) -> None:
    """Refuses an array that cannot have the result."""
    if out.shape != volume.shape or out.dtype.newbyteorder("=") != volume.dtype:
        message = f"an output of shape {out.shape} and dtype {out.dtype} for {volume!r}"
        raise ValueError(message)
    if not out.flags.writeable:
        message = "output array is read-only; give one that can be written"
        raise ValueError(message)


@cache
def _memory_bytes() -> int:
    """Bytes of memory that this machine has."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _room_for(volume: Volume) -> Array:
    if volume.nbytes > _memory_bytes():
        message = (
            f"the result takes {volume.nbytes} bytes, more than this machine has; "
            "stream it to a file with arrayloom.volumes.save"
        )
        raise MemoryError(message)
    return np.empty(volume.shape, volume.dtype)


def _lifted(volume: Volume) -> Volume:
    """A volume without axes as one of a single axis."""
    dtype = volume.dtype

    def copy(_: list[Box], views: list[memoryview], __: Box, out: memoryview) -> None:
        out[:] = views[0]

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.call(copy, "reshape", of, [[]], [1], dtype.char, 0)

    return Volume((1,), dtype, [volume], build)
