"""NumPy's functions that pick voxels of volumes, or put them several times: take, repeat, tile, split, diagonal."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Elements of volumes are known at run time only.

from collections.abc import Sequence
from operator import index
from typing import Any, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from arrayloom._ext import VolumeExpr
from arrayloom._volumes.along import axes_of
from arrayloom._volumes.elementwise import box_of
from arrayloom._volumes.moves import concatenated, flipped, one_axis, rolled, swapped
from arrayloom._volumes.sources import as_volume
from arrayloom._volumes.views import taken
from arrayloom._volumes.volume import Box, Volume

__all__ = [
    "diagonal",
    "divided",
    "divided_evenly",
    "picked",
    "repeated",
    "shifted",
    "shifted_back",
    "stacked_deep",
    "tiled",
    "turned",
]


def picked(a: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Volume:
    """`numpy.take`."""
    volume = as_volume(a)
    d = one_axis("take", axis, volume.ndim)
    places, n = np.asarray(indices), volume.shape[d]
    if places.ndim > 1:
        message = "numpy.take of a volume takes places along one axis, no tables of them"
        raise TypeError(message)
    if mode != "raise":
        places = places % n if mode == "wrap" else np.clip(places, 0, n - 1)
    found = taken(volume, np.atleast_1d(places), d)
    return found if places.ndim else found[(slice(None),) * d + (0,)]


def repeated(a: Any, repeats: Any, axis: int | None = None) -> Volume:
    """`numpy.repeat`."""
    volume = as_volume(a)
    d = one_axis("repeat", axis, volume.ndim)
    return taken(volume, np.repeat(np.arange(volume.shape[d]), repeats), d)


def tiled(A: Any, reps: Any) -> Volume:  # noqa: N803 - NumPy's name
    """`numpy.tile`."""
    volume = as_volume(A)
    times = [index(n) for n in np.atleast_1d(reps).tolist()]
    times = [1] * (volume.ndim - len(times)) + times
    volume = volume[(None,) * (len(times) - volume.ndim) + (...,)]
    for d, count in enumerate(times):
        volume = concatenated([volume] * count, d) if count > 0 else _nothing(volume, d)
    return volume


def _nothing(volume: Volume, d: int) -> Volume:
    """No voxels along axis `d`."""
    return volume[(slice(None),) * d + (slice(0, 0),)]


def divided(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Volume]:
    """`numpy.split`."""
    volume = as_volume(ary)
    n = volume.shape[axis]
    if np.ndim(indices_or_sections) == 0 and n % indices_or_sections:
        message = f"an axis of {n} is not divided into {indices_or_sections} equal parts; use numpy.array_split"
        raise ValueError(message)
    return divided_evenly(volume, indices_or_sections, axis)


def divided_evenly(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Volume]:
    """`numpy.array_split`."""
    volume = as_volume(ary)
    d = normalize_axis_index(axis, volume.ndim)
    parts = np.array_split(np.arange(volume.shape[d]), indices_or_sections)
    return [taken(volume, part, d) for part in parts]


def stacked_deep(tup: Sequence[Any]) -> Volume:
    """`numpy.dstack`."""
    volumes = [as_volume(a) for a in tup]
    lifted = [
        v if v.ndim > 2 else v[..., None] if v.ndim == 2 else v[None, ..., None] if v.ndim else v[None, None, None]
        for v in volumes
    ]  # fmt: skip
    return concatenated(lifted, 2)


def turned(m: Any, k: int = 1, axes: Any = (0, 1)) -> Volume:
    """`numpy.rot90`."""
    volume = as_volume(m)
    first, second = normalize_axis_tuple(axes, volume.ndim)
    quarters = k % 4
    if quarters == 2:
        return flipped(volume, (first, second))
    if quarters == 1:
        return swapped(flipped(volume, second), first, second)
    return flipped(swapped(volume, first, second), second) if quarters else volume


def shifted(x: Any, axes: Any = None) -> Volume:
    """`numpy.fft.fftshift`."""
    volume = as_volume(x)
    which = axes_of(axes, volume.ndim)
    return rolled(volume, [volume.shape[d] // 2 for d in which], which) if which else volume


def shifted_back(x: Any, axes: Any = None) -> Volume:
    """`numpy.fft.ifftshift`."""
    volume = as_volume(x)
    which = axes_of(axes, volume.ndim)
    return rolled(volume, [-(volume.shape[d] // 2) for d in which], which) if which else volume


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Volume:
    """`numpy.diagonal`."""
    volume = as_volume(a)
    first, second = normalize_axis_tuple((axis1, axis2), volume.ndim)
    starts = {first: max(-offset, 0), second: max(offset, 0)}
    length = max(min(volume.shape[d] - start for d, start in starts.items()), 0)
    kept = [d for d in range(volume.ndim) if d not in starts]
    shape = [*(volume.shape[d] for d in kept), length]
    last, dtype = len(kept), volume.dtype
    if length == 0:
        return cast("Any", np.zeros_like(cast("Any", volume), shape=shape))
    needs = [
        (last, 1, starts[d]) if d in starts else (kept.index(d), 1, 0) for d in range(volume.ndim)
    ]

    def pick(boxes: list[Box], views: list[memoryview], box: Box, out: memoryview) -> None:
        to = np.frombuffer(out, dtype).reshape([hi - lo for lo, hi in zip(*box, strict=True)])
        to[...] = np.diagonal(box_of(boxes[0], views[0], dtype), 0, first, second)

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.call(pick, "diagonal", of, [needs], shape, dtype.char, 0)

    return Volume(shape, dtype, [volume], build).named(volume, [*kept, None])
