"""Minimum, maximum, median and other ranks."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from arrayloom._ext import VolumeExpr
from arrayloom._volumes.sources import as_volume
from arrayloom._volumes.volume import Volume
from arrayloom.filters._common import (
    Devices,
    Footprint,
    Input,
    Integers,
    Limit,
    Modes,
    Output,
    Result,
    WindowAxis,
    as_output,
    finish,
    footprint_of,
    native,
    one_each,
    points_before,
    window_of,
)
from arrayloom.filters._kept import kept


def extremum(
    volume: Volume,
    maximum: bool,
    footprint: Footprint,
    mode: Modes,
    cval: float,
    origin: Any,
    axes: Any,
) -> Volume:
    if footprint.mask is None and (type(origin) is not int or origin):
        # SciPy takes a box axis by axis and leaves out those of one point, whatever their origin.
        origins = one_each("origin", origin, len(footprint.shape))
        origin = [o if n > 1 else 0 for o, n in zip(origins, footprint.shape, strict=True)]
    window = window_of(volume, footprint.shape, mode, cval, origin, axes)
    points = None if footprint.mask is None else footprint.points(volume, axes)
    return extremum_over(volume, maximum, window, points)


def extremum_over(
    volume: Volume, maximum: bool, window: list[WindowAxis], points: list[bool] | None
) -> Volume:
    """The extremum over a window as `window_of` tells it, or over these of its points."""
    if points is None:
        window = reached(window, volume)

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.extremum(of[0], maximum, window, points)

    return native([volume], volume.dtype, build)


def reached(window: list[WindowAxis], volume: Volume) -> list[WindowAxis]:
    """A box in which every voxel sees the same voxels, without the points that are seen anyway."""
    extents = volume.shape or (1,)
    if all(axis[0] <= n for n, axis in zip(extents, window, strict=True)):
        return window
    return [_reached(n, *axis) for n, axis in zip(extents, window, strict=True)]


def _reached(n: int, points: int, before: int, mode: str, cval: float) -> WindowAxis:
    if n < 1 or points <= n:
        return points, before, mode, cval
    periods = {"reflect": 2 * n, "grid-mirror": 2 * n, "mirror": max(2 * n - 2, 1)}
    periods |= {"wrap": n, "grid-wrap": n}
    period = periods.get(mode)
    constant = mode in {"constant", "grid-constant"}
    # So far from a voxel everything has been seen: all voxels, or the last one and the border.
    far = period - 1 if period is not None else n if constant else n - 1
    after = min(points - 1 - before, far)
    before = min(before, far)
    everything = min(before, after) == far if period is None else before + after >= far
    if everything and not constant:
        return n, n // 2, "wrap", cval
    return before + 1 + after, before, mode, cval


@kept
def minimum_filter(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Smallest voxel of a window.

    Examples
    --------
    >>> minimum_filter([3, 1, 2, 5, 4], 3).tolist()
    [1, 1, 1, 2, 4]
    """
    volume = as_volume(input)
    points = footprint_of(volume, size, footprint, axes, whole=False)
    result = extremum(volume, False, points, mode, cval, origin, axes)
    return finish(input, as_output(result, output), output, memory_limit, devices)


@kept
def maximum_filter(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Greatest voxel of a window.

    Examples
    --------
    >>> maximum_filter([3, 1, 2, 5, 4], footprint=[True, False, True]).tolist()
    [3, 3, 5, 4, 5]
    """
    volume = as_volume(input)
    points = footprint_of(volume, size, footprint, axes, whole=False)
    result = extremum(volume, True, points, mode, cval, origin, axes)
    return finish(input, as_output(result, output), output, memory_limit, devices)


@kept
def minimum_filter1d(
    input: Input,
    size: int,
    axis: int = -1,
    output: Output = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
    *,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Smallest of `size` voxels along one axis.

    Examples
    --------
    >>> minimum_filter1d([2, 8, 0, 4, 1, 9, 9, 0], size=3).tolist()
    [2, 0, 0, 0, 1, 1, 0, 0]
    """
    points_before(index(size), origin)
    return minimum_filter(
        input,
        (size,),
        None,
        output,
        mode,
        cval,
        (origin,),
        axes=(axis,),
        memory_limit=memory_limit,
        devices=devices,
    )


@kept
def maximum_filter1d(
    input: Input,
    size: int,
    axis: int = -1,
    output: Output = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
    *,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Greatest of `size` voxels along one axis.

    Examples
    --------
    >>> maximum_filter1d([2, 8, 0, 4, 1, 9, 9, 0], size=3).tolist()
    [8, 8, 8, 4, 9, 9, 9, 9]
    """
    points_before(index(size), origin)
    return maximum_filter(
        input,
        (size,),
        None,
        output,
        mode,
        cval,
        (origin,),
        axes=(axis,),
        memory_limit=memory_limit,
        devices=devices,
    )


def _ranked(
    x: Input,
    rank_of: Callable[[int], int],
    mask: Any,
    output: Output,
    mode: Modes,
    cval: float,
    origin: Any,
    axes: Any,
    limit: Limit,
    devices: Devices,
    percent: float | None = None,
) -> Result:
    volume = as_volume(x)
    size, footprint = mask
    if footprint is not None and not np.any(footprint):
        rank_of(0)
    points = footprint_of(volume, size, footprint, axes)
    n = points.count
    rank = rank_of(n)
    window = window_of(volume, points.shape, mode, cval, origin, axes)
    if rank in {0, n - 1}:
        result = extremum(volume, rank == n - 1, points, mode, cval, origin, axes)
        return finish(x, as_output(result, output), output, limit, devices)
    flat = points.points(volume, axes)

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.rank(of[0], window, flat, rank, percent)

    result = native([volume], volume.dtype, build)
    return finish(x, as_output(result, output), output, limit, devices)


def _within(rank: int, points: int) -> int:
    """A rank among so many points, from the smallest one."""
    at = rank + points if rank < 0 else rank
    if not 0 <= at < points:
        message = f"rank {rank} not within filter footprint size {points}"
        raise RuntimeError(message)
    return at


@kept
def median_filter(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Median of a window: element ``n // 2`` of its ``n`` sorted voxels.

    Examples
    --------
    >>> median_filter([3, 1, 2, 50, 4], 3).tolist()
    [3, 2, 2, 4, 4]
    """
    return _ranked(
        input,
        lambda n: _within(n // 2, n),
        (size, footprint),
        output,
        mode,
        cval,
        origin,
        axes,
        memory_limit,
        devices,
        50.0,
    )


@kept
def rank_filter(
    input: Input,
    rank: int,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """The voxel of a window with `rank` smaller ones; negative ranks count from the greatest.

    Examples
    --------
    >>> rank_filter([3, 1, 2, 50, 4], -2, 3).tolist()
    [3, 2, 2, 4, 4]
    """

    def of(n: int) -> int:
        return _within(index(rank), n)

    return _ranked(
        input, of, (size, footprint), output, mode, cval, origin, axes, memory_limit, devices
    )


@kept
def percentile_filter(
    input: Input,
    percentile: float,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """The voxel of a window below which `percentile` percent of it lie; negative ones count from 100.

    Examples
    --------
    >>> percentile_filter([3, 1, 2, 50, 4], 50, 3).tolist()
    [3, 2, 2, 4, 4]
    """
    share = percentile + 100.0 if percentile < 0 else percentile
    if not 0 <= share <= 100:
        message = "invalid percentile"
        raise RuntimeError(message)
    return _ranked(
        input,
        lambda n: _within(min(int(n * share / 100.0), max(n - 1, 0)), n),
        (size, footprint),
        output,
        mode,
        cval,
        origin,
        axes,
        memory_limit,
        devices,
        share,
    )
