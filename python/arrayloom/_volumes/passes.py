"""Passes over all voxels of a volume: block by block in any order, or in C order."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Elements of volumes are known at run time only.

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arrayloom._volumes.compute import compute
from arrayloom._volumes.limits import default_limit, threads
from arrayloom._volumes.stamp import check_read
from arrayloom._volumes.volume import Box, Build, Volume, leaves

__all__ = ["each_block", "in_order"]

Array = NDArray[Any]


def each_block(
    volume: Volume, take: Callable[[Array, Box], object], memory_limit: int | None = None
) -> None:
    """Call ``take(voxels, box)`` for each block of `volume`, in any order, each voxel once."""
    dtype = volume.dtype

    def write(box: Box, view: memoryview) -> None:
        shape = [hi - lo for lo, hi in zip(*box, strict=True)]
        take(np.frombuffer(view, dtype).reshape(shape), box)

    if volume.size == 0:
        return
    if volume.ndim == 0:
        take(compute(volume), ((), ()))
        return
    limit = default_limit() if memory_limit is None else memory_limit
    build = Build()
    build.add(volume)
    build.expr.run_to_sink(write, limit, threads(), [1] * volume.ndim, [], None, None, [])
    check_read(leaves(volume))


def in_order(volume: Volume) -> Iterator[Array]:
    """The voxels of `volume` in C order, in parts that fit the memory."""
    most = max(default_limit() // 4 // volume.dtype.itemsize, 1)
    axis = 0
    while axis + 1 < volume.ndim and np.prod(volume.shape[axis + 1 :], dtype=object) > most:
        axis += 1
    if volume.ndim == 0:
        yield compute(volume).reshape(-1)
        return
    plane = int(np.prod(volume.shape[axis + 1 :], dtype=object))
    step = max(1, most // max(plane, 1))
    for outer in itertools.product(*[range(n) for n in volume.shape[:axis]]):
        for start in range(0, volume.shape[axis], step):
            stop = min(start + step, volume.shape[axis])
            part = volume[(*(slice(i, i + 1) for i in outer), slice(start, stop))]
            yield compute(part).reshape(-1)
