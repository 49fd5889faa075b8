"""Volumes that are parts of others: slices, single planes, new axes, other orders of axes."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

from collections.abc import Sequence
from operator import index
from typing import Any, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from arrayloom._ext import VolumeExpr
from arrayloom._volume import Box, Volume, box_of, window_of

__all__ = ["sliced", "transposed"]


def transposed(volume: Volume, axes: Sequence[Any]) -> Volume:
    """The volume with its axes in another order, reversed without `axes`."""
    order = list(axes) if axes else list(range(volume.ndim))[::-1]
    if len(order) == 1 and (order[0] is None or np.ndim(order[0]) == 1):
        order = list(cast("Sequence[int]", order[0] or range(volume.ndim)[::-1]))
    order = list(normalize_axis_tuple(order, volume.ndim))
    if len(order) != volume.ndim:
        message = f"axes {order} do not fit a volume with {volume.ndim} axes"
        raise ValueError(message)
    needs = [(order.index(d), 1, 0) for d in range(volume.ndim)]

    def turn(boxes: list[Box], views: list[memoryview], _: Box, out: memoryview) -> None:
        to = np.frombuffer(out, volume.dtype)
        from_ = box_of(boxes[0], views[0], volume.dtype)
        to.reshape([from_.shape[a] for a in order])[...] = from_.transpose(order)

    shape = [volume.shape[a] for a in order]

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.call(turn, "transpose", of, [needs], shape, volume.dtype.char, 0)

    return Volume(shape, volume.dtype, [volume], build).named(volume, order)


def sliced(volume: Volume, key: object) -> Volume:
    """Basic slices: what each axis of the result reads of the axis it comes from."""
    items = list(key) if isinstance(key, tuple) else [key]
    if any(isinstance(item, (list, np.ndarray, Volume, bool, np.bool_)) for item in items):
        message = (
            "a volume takes slices, integers, None and ...; for masks use numpy.where(mask, volume, 0), "
            "for other indices compute it first"
        )
        raise IndexError(message)
    if any(item is Ellipsis for item in items):
        at = next(i for i, item in enumerate(items) if item is Ellipsis)
        given = sum(item is not None for item in items) - 1
        items[at : at + 1] = [slice(None)] * (volume.ndim - given)
    if any(item is None for item in items):
        return _with_new_axes(volume, items)
    items += [slice(None)] * (volume.ndim - len(items))
    if len(items) != volume.ndim:
        message = f"{len(items)} indices for a volume with {volume.ndim} axes"
        raise IndexError(message)
    kept: list[int] = []
    shape: list[int] = []
    needs: list[tuple[int, int, int]] = []
    fixed: list[int] = []
    for d, (item, n) in enumerate(zip(items, volume.shape, strict=True)):
        if isinstance(item, slice):
            start, stop, step = item.indices(n)
            needs.append((len(shape), step, start))
            shape.append(len(range(start, stop, step)))
            kept.append(step)
        else:
            fixed.append(d)
            needs.append((-2, 1, _at(item, n)))
    if not fixed:
        return _on_files(_strided(volume, shape, needs, kept), volume, needs, shape)
    picked = [(0, 0, 0)] * volume.ndim
    place = 0
    for d in range(volume.ndim):
        axis, step, start = needs[d]
        picked[d] = (d, 1, start) if axis == -2 else (d, step, start)
        place += axis != -2
    full = [1 if d in fixed else shape[needs[d][0]] for d in range(volume.ndim)]
    steps = [1 if d in fixed else needs[d][1] for d in range(volume.ndim)]
    result = _squeezed(_strided(volume, full, picked, steps), fixed)
    return _on_files(result, volume, picked, full)


def _on_files(
    result: Volume, volume: Volume, needs: list[tuple[int, int, int]], extents: list[int]
) -> Volume:
    """`result`; it knows the box of a chunked file that it is, if it is one."""
    window = window_of(volume)
    if window is not None and all(step == 1 for _, step, _ in needs):
        source, lo, _ = window
        # Axes of extent one are gone from the shape of `volume` if it was indexed itself.
        if len(lo) == len(needs):
            first = [a + start for a, (_, _, start) in zip(lo, needs, strict=True)]
            end = [a + n for a, n in zip(first, extents, strict=True)]
            result.window = (source, first, end)
    return result


def _at(item: object, n: int) -> int:
    try:
        at = index(cast("int", item))
    except TypeError:
        message = f"{item!r} is no index; a volume takes slices, integers, None and ..."
        raise IndexError(message) from None
    if not -n <= at < n:
        message = f"index {at} is out of bounds for an axis of {n}"
        raise IndexError(message)
    return at % n


def _strided(
    volume: Volume, shape: list[int], needs: list[tuple[int, int, int]], steps: list[int]
) -> Volume:
    dtype = volume.dtype
    pick = tuple(slice(None, None, s) for s in steps)

    def copy(boxes: list[Box], views: list[memoryview], box: Box, out: memoryview) -> None:
        to = np.frombuffer(out, dtype).reshape([hi - lo for lo, hi in zip(*box, strict=True)])
        to[...] = box_of(boxes[0], views[0], dtype)[pick]

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.call(copy, "slice", of, [needs], shape, dtype.char, 0)

    result = Volume(shape, dtype, [volume], build).named(volume, range(volume.ndim))
    if result.spacing is not None:
        result.spacing = tuple(
            distance * abs(step) for distance, step in zip(result.spacing, steps, strict=True)
        )
    return result


def _squeezed(volume: Volume, axes: list[int]) -> Volume:
    """Without axes of extent one."""
    shape = [n for d, n in enumerate(volume.shape) if d not in axes]
    needs: list[tuple[int, int, int]] = []
    for d in range(volume.ndim):
        needs.append((-1, 1, 0) if d in axes else (sum(n[0] >= 0 for n in needs), 1, 0))

    def copy(_: list[Box], views: list[memoryview], __: Box, out: memoryview) -> None:
        out[:] = views[0]

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.call(copy, "index", of, [needs], shape, volume.dtype.char, 0)

    kept = [d for d in range(volume.ndim) if d not in axes]
    return Volume(shape, volume.dtype, [volume], build).named(volume, kept)


def _with_new_axes(volume: Volume, items: list[Any]) -> Volume:
    """Slices with None for axes of extent one."""
    inner = sliced(volume, tuple(item for item in items if item is not None))
    items += [slice(None)] * (volume.ndim - sum(item is not None for item in items))
    kept = [item is None for item in items if item is None or isinstance(item, slice)]
    places = iter(range(inner.ndim))
    from_ = [None if new else next(places) for new in kept]
    shape = [1 if d is None else inner.shape[d] for d in from_]
    needs = [(from_.index(d), 1, 0) for d in range(inner.ndim)]

    def copy(_: list[Box], views: list[memoryview], __: Box, out: memoryview) -> None:
        out[:] = views[0]

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.call(copy, "newaxis", of, [needs], shape, inner.dtype.char, 0)

    return Volume(shape, inner.dtype, [inner], build).named(inner, from_)
