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
from arrayloom._volumes.elementwise import MOVED, box_of
from arrayloom._volumes.volume import Box, Volume, window_of

__all__ = ["sliced", "taken", "transposed"]


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
        return expr.call(turn, "transpose", of, [needs], shape, volume.dtype.char, 0, MOVED)

    return Volume(shape, volume.dtype, [volume], build).named(volume, order)


def sliced(volume: Volume, key: object) -> Volume:
    """Basic slices: what each axis of the result reads of the axis it comes from."""
    items = list(key) if isinstance(key, tuple) else [key]
    lists = sum(_is_list(item) for item in items)
    if lists > 1 or any(_is_mask(item) for item in items):
        message = (
            "a volume takes slices, integers, None, ... and integers or truth values along one axis; "
            "for masks use numpy.where(mask, volume, 0), for other indices compute it first"
        )
        raise IndexError(message)
    if any(item is Ellipsis for item in items):
        at = next(i for i, item in enumerate(items) if item is Ellipsis)
        given = sum(item is not None for item in items) - 1
        items[at : at + 1] = [slice(None)] * (volume.ndim - given)
    if lists:
        return _listed(volume, items)
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


def _is_list(item: object) -> bool:
    """True for places along an axis, or truth values for them."""
    return isinstance(item, list) or (isinstance(item, np.ndarray) and item.ndim == 1)


def _is_mask(item: object) -> bool:
    """True for indices that do not stream: masks of several axes, volumes, tables of places."""
    if isinstance(item, (np.ndarray, Volume)) and item.ndim == 0:
        return item.dtype.kind not in "iu"
    if isinstance(item, list):
        return np.ndim(item) != 1
    return isinstance(item, (Volume, bool, np.bool_)) or (
        isinstance(item, np.ndarray) and item.ndim > 1
    )


def _listed(volume: Volume, items: list[Any]) -> Volume:
    """Slices, and a list of places along one axis."""
    axis = next(i for i, item in enumerate(items) if _is_list(item))
    places = np.asarray(items[axis])
    items[axis] = slice(None)
    if not all(item is None or isinstance(item, slice) for item in items):
        message = "a list of places and an integer as indices of a volume; index it twice, first with the list"
        raise IndexError(message)
    part = sliced(volume, tuple(items))
    if places.dtype.kind == "b":
        if len(places) != part.shape[axis]:
            message = f"{len(places)} truth values for an axis of {part.shape[axis]}"
            raise IndexError(message)
        places = np.flatnonzero(places)
    return taken(part, places, axis)


# With so many pieces or fewer, a list of places is put together from slices.
_PIECES = 32


def taken(volume: Volume, places: Any, axis: int) -> Volume:
    """The voxels at `places` along one axis, which may come again and in any order."""
    from arrayloom._volumes.moves import concatenated  # noqa: PLC0415 - it builds on this module

    n = volume.shape[axis]
    at = np.asarray(places)
    if at.size == 0:
        at = at.astype(np.intp)
    if at.dtype.kind not in "iu":
        message = f"places along an axis are integers, not {at.dtype}"
        raise IndexError(message)
    if at.size and not -n <= at.min() <= at.max() < n:
        message = f"places from {at.min()} to {at.max()} are out of bounds for an axis of {n}"
        raise IndexError(message)
    at = np.where(at < 0, at + n, at).astype(np.intp)
    front = (slice(None),) * axis
    pieces = _progressions(at)
    if len(pieces) <= _PIECES:
        return concatenated([volume[(*front, piece)] for piece in pieces], axis)
    return _gathered(volume, at, axis)


def _progressions(places: Any) -> list[slice]:
    """Slices that have `places` one after the other; at least one, which may be empty."""
    found: list[slice] = []
    start = 0
    while start < len(places) and len(found) <= _PIECES:
        steps = np.diff(places[start:])
        first = int(steps[0]) if len(steps) else 1
        same = int(np.argmax(steps != first)) if (steps != first).any() else len(steps)
        # A place that comes twice is two slices.
        count = same + 1 if first else 1
        step = first or 1
        begin = int(places[start])
        stop = begin + step * count
        found.append(slice(begin, stop if stop >= 0 else None, step))
        start += count
    return found or [slice(0, 0)]


def _gathered(volume: Volume, places: Any, axis: int) -> Volume:
    """The voxels at `places` of an axis that is read whole."""
    dtype = volume.dtype
    shape = [len(places) if d == axis else n for d, n in enumerate(volume.shape)]
    needs = [None if d == axis else (d, 1, 0) for d in range(volume.ndim)]

    def pick(boxes: list[Box], views: list[memoryview], box: Box, out: memoryview) -> None:
        here = places[box[0][axis] : box[1][axis]]
        to = np.frombuffer(out, dtype).reshape([hi - lo for lo, hi in zip(*box, strict=True)])
        np.take(box_of(boxes[0], views[0], dtype), here, axis, out=to, mode="clip")

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.call(pick, "take", of, [needs], shape, dtype.char, 0)

    return Volume(shape, dtype, [volume], build).named(volume, range(volume.ndim))


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
        return expr.call(copy, "slice", of, [needs], shape, dtype.char, 0, MOVED)

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
        return expr.call(copy, "index", of, [needs], shape, volume.dtype.char, 0, MOVED)

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
        return expr.call(copy, "newaxis", of, [needs], shape, inner.dtype.char, 0, MOVED)

    return Volume(shape, inner.dtype, [inner], build).named(inner, from_)
