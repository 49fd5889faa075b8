"""NumPy's functions that only move voxels of volumes, or repeat some: joining, padding, rolling, other axes."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Elements of volumes are known at run time only.

from collections.abc import Sequence
from operator import index
from typing import Any, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple
from numpy.typing import NDArray

from arrayloom._ext import VolumeExpr
from arrayloom._volumes.along import axes_of, broadcast, no_out
from arrayloom._volumes.elementwise import box_of
from arrayloom._volumes.sources import as_volume
from arrayloom._volumes.views import taken
from arrayloom._volumes.volume import Box, Volume, in_native_bytes

__all__ = [
    "appended",
    "concatenated",
    "difference",
    "expanded",
    "filled",
    "flipped",
    "gradient",
    "moved",
    "one_axis",
    "padded",
    "rolled",
    "squeezed",
    "stacked",
    "stacked_across",
    "stacked_down",
    "swapped",
]

Array = NDArray[Any]


def concatenated(
    arrays: Sequence[Any],
    axis: int | None = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: Any = "same_kind",
) -> Volume:
    """`numpy.concatenate`."""
    no_out("concatenate", out)
    volumes = [as_volume(a) for a in arrays]
    rank = volumes[0].ndim
    along_axis = one_axis("concatenate", axis, rank)
    for v in volumes:
        same = all(
            d == along_axis or n == m
            for d, (n, m) in enumerate(zip(v.shape, volumes[0].shape, strict=False))
        )
        if v.ndim != rank or not same:
            message = f"volumes of shapes {volumes[0].shape} and {v.shape} do not fit together along axis {along_axis}"
            raise ValueError(message)
    dtypes = [v.dtype for v in volumes]
    kind = in_native_bytes(np.result_type(*dtypes) if dtype is None else dtype)
    if not all(np.can_cast(t, kind, casting) for t in dtypes):
        message = (
            f"volumes of {', '.join(map(str, dtypes))} do not become {kind} by the rule {casting!r}"
        )
        raise TypeError(message)
    starts = np.cumsum([0] + [v.shape[along_axis] for v in volumes]).tolist()
    shape = list(volumes[0].shape)
    shape[along_axis] = starts[-1]
    needs = [
        [(d, 1, -start if d == along_axis else 0) for d in range(rank)] for start in starts[:-1]
    ]

    def join(boxes: list[Box], views: list[memoryview], box: Box, out: memoryview) -> None:
        to = np.frombuffer(out, kind).reshape([hi - lo for lo, hi in zip(*box, strict=True)])
        for part, view, own, start in zip(boxes, views, dtypes, starts, strict=False):
            if len(view):
                low = part[0][along_axis] + start - box[0][along_axis]
                values = box_of(part, view, own)
                place = (slice(None),) * along_axis + (slice(low, low + values.shape[along_axis]),)
                to[place] = values

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.call(join, "concatenate", of, needs, shape, kind.char, 0)

    known = next((v for v in volumes if v.axes is not None), volumes[0])
    return Volume(shape, kind, volumes, build).named(known, range(rank))


def one_axis(name: str, axis: Any, rank: int) -> int:
    """An axis counted from the first; None, all axes in a row, for volumes of one axis only."""
    if axis is None and rank != 1:
        message = f"numpy.{name} with axis=None takes all axes in a row, which does not stream; give axis="
        raise TypeError(message)
    return normalize_axis_index(0 if axis is None else axis, rank)


def appended(arr: Any, values: Any, axis: int | None = None) -> Volume:
    """`numpy.append`."""
    return concatenated([arr, values], axis)


def stacked(arrays: Sequence[Any], axis: int = 0, out: Any = None, **options: Any) -> Volume:
    """`numpy.stack`."""
    no_out("stack", out)
    volumes = [as_volume(a) for a in arrays]
    place = normalize_axis_index(axis, volumes[0].ndim + 1)
    key = (slice(None),) * place + (None,)
    return concatenated([v[key] for v in volumes], place, **options)


def stacked_down(tup: Sequence[Any], **options: Any) -> Volume:
    """`numpy.vstack`."""
    volumes = [as_volume(a) for a in tup]
    lifted = [v[None, None] if v.ndim == 0 else v[None] if v.ndim == 1 else v for v in volumes]
    return concatenated(lifted, 0, **options)


def stacked_across(tup: Sequence[Any], **options: Any) -> Volume:
    """`numpy.hstack`."""
    volumes = [as_volume(a) for a in tup]
    lifted = [v[None] if v.ndim == 0 else v for v in volumes]
    return concatenated(lifted, 0 if lifted[0].ndim == 1 else 1, **options)


def moved(a: Volume, source: Any, destination: Any) -> Volume:
    """`numpy.moveaxis`."""
    from_ = normalize_axis_tuple(source, a.ndim, "source")
    to = normalize_axis_tuple(destination, a.ndim, "destination")
    order = [d for d in range(a.ndim) if d not in from_]
    for place, axis in sorted(zip(to, from_, strict=True)):
        order.insert(place, axis)
    return a.transpose(order)


def swapped(a: Volume, axis1: int, axis2: int) -> Volume:
    """`numpy.swapaxes`."""
    order = list(range(a.ndim))
    first, second = (normalize_axis_index(axis, a.ndim) for axis in (axis1, axis2))
    order[first], order[second] = second, first
    return a.transpose(order)


def flipped(m: Volume, axis: Any = None) -> Volume:
    """`numpy.flip`."""
    axes = axes_of(axis, m.ndim)
    return m[tuple(slice(None, None, -1) if d in axes else slice(None) for d in range(m.ndim))]


def rolled(a: Volume, shift: Any, axis: Any = None) -> Volume:
    """`numpy.roll`."""
    if axis is None:
        axis = one_axis("roll", axis, a.ndim)
    for by, d in zip(*np.broadcast_arrays(np.atleast_1d(shift), np.atleast_1d(axis)), strict=True):
        along_axis = normalize_axis_index(d, a.ndim)
        n = a.shape[along_axis]
        at = -int(by) % n if n else 0
        front = (slice(None),) * along_axis
        if at:
            halves = [a[(*front, slice(at, None))], a[(*front, slice(None, at))]]
            a = concatenated(halves, along_axis)
    return a


def padded(array: Volume, pad_width: Any, mode: str = "constant", **options: Any) -> Volume:
    """`numpy.pad`."""
    other = options.keys() - ({"constant_values"} if mode == "constant" else set())
    if mode in {"reflect", "symmetric"} and options.get("reflect_type") == "even":
        other -= {"reflect_type"}
    if other:
        message = f"numpy.pad of a volume in mode {mode!r} takes no {', '.join(sorted(other))}"
        raise NotImplementedError(message)
    widths = _widths(pad_width, array.ndim)
    constants = np.asarray(options.get("constant_values", 0))
    values = np.broadcast_to(constants, (array.ndim, 2)).tolist()
    for d, (before, after) in enumerate(widths):
        if mode == "constant":
            shape = [list(array.shape) for _ in range(2)]
            shape[0][d], shape[1][d] = before, after
            low, high = (
                broadcast(np.asarray(v).astype(array.dtype), n)
                for v, n in zip(values[d], shape, strict=True)
            )
        else:
            low, high = _repeated(array, d, (before, after), mode)
        parts = [v for v in (low, array, high) if v.shape[d]] or [array]
        array = concatenated(parts, d, dtype=array.dtype)
    return array


def _widths(pad_width: Any, rank: int) -> list[list[int]]:
    """What is put before and behind each axis."""
    if isinstance(pad_width, dict):
        given = [[0, 0] for _ in range(rank)]
        for axis, width in pad_width.items():
            given[normalize_axis_index(axis, rank)] = np.broadcast_to(width, 2).tolist()
        pad_width = given
    widths = np.asarray(pad_width)
    if widths.dtype.kind not in "iu":
        message = "`pad_width` must be of integral type."
        raise TypeError(message)
    if (widths < 0).any():
        message = "index can't contain negative values"
        raise ValueError(message)
    return np.broadcast_to(widths, (rank, 2)).tolist()


def _repeated(array: Volume, d: int, pads: tuple[int, int], mode: str) -> tuple[Volume, Volume]:
    """Voxels of `array` that stand before and behind it along axis `d`."""
    before = pads[0]
    n, front = array.shape[d], (slice(None),) * d

    def part(low: int, high: int) -> Volume:
        return array[(*front, slice(low, high))]

    if mode not in {"edge", "wrap", "reflect", "symmetric"}:
        message = f"numpy.pad of a volume takes the modes constant, edge, reflect, symmetric and wrap, not {mode!r}"
        raise NotImplementedError(message)
    if n == 0 and max(pads):
        message = f"can't extend empty axis {d} using modes other than 'constant' or 'empty'"
        raise ValueError(message)
    if mode == "edge":
        first, last = part(0, 1), part(n - 1, n)
        shapes = [[w if a == d else m for a, m in enumerate(array.shape)] for w in pads]
        return broadcast(first, shapes[0]), broadcast(last, shapes[1])
    places = np.pad(np.arange(n), pads, cast("Any", mode))
    return taken(array, places[:before], d), taken(array, places[before + n :], d)


def filled(value: Any, a: Any, dtype: Any = None, shape: Any = None) -> Volume:
    """A volume of one value, with the shape and the dtype of `a` if no others are given."""
    kind = a.dtype if dtype is None else dtype
    return broadcast(np.asarray(value, kind), a.shape if shape is None else shape)


def difference(
    a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None
) -> Volume:
    """`numpy.diff`."""
    if index(n) < 0:
        message = f"order must be non-negative but got {n}"
        raise ValueError(message)
    volume = as_volume(a)
    along_axis = normalize_axis_index(axis, volume.ndim)
    ends: list[Any] = [None if end is None else as_volume(end) for end in (prepend, append)]
    edge = [1 if d == along_axis else m for d, m in enumerate(volume.shape)]
    ends = [broadcast(e, edge) if e is not None and e.ndim == 0 else e for e in ends]
    parts = [v for v in (ends[0], volume, ends[1]) if v is not None]
    if n and len(parts) > 1:
        volume = concatenated(parts, along_axis)
    front = (slice(None),) * along_axis
    for _ in range(n):
        low, high = volume[(*front, slice(None, -1))], volume[(*front, slice(1, None))]
        volume = high != low if volume.dtype.kind == "b" else high - low
    return volume


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """`numpy.gradient` with even distances of voxels."""
    volume = as_volume(f)
    axes = axes_of(axis, volume.ndim) if axis is None else normalize_axis_tuple(axis, volume.ndim)
    if len(varargs) not in {0, 1, len(axes)}:
        message = f"{len(varargs)} distances for {len(axes)} axes"
        raise TypeError(message)
    distances = list(varargs or (1.0,)) * (1 if len(varargs) == len(axes) else len(axes))
    if any(np.ndim(distance) for distance in distances):
        message = "numpy.gradient of a volume takes one distance for each axis, no coordinates of its voxels"
        raise TypeError(message)
    if edge_order not in {1, 2}:
        message = f"edge_order {edge_order}; there are 1 and 2"
        raise ValueError(message)
    if any(volume.shape[d] <= edge_order for d in axes):
        message = f"a volume of shape {volume.shape} is too small for a gradient with edge_order {edge_order}"
        raise ValueError(message)
    if volume.dtype.kind in "iu":
        volume = volume.astype(np.float64)
    slopes = [_slope(volume, d, h, edge_order) for d, h in zip(axes, distances, strict=True)]
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


def _slope(volume: Any, d: int, h: Any, edge_order: int) -> Volume:
    """Differences over an axis, as NumPy reckons them."""

    def at(start: int | None, stop: int | None) -> Any:
        return volume[(slice(None),) * d + (slice(start, stop),)]

    inner = (at(2, None) - at(None, -2)) / (2.0 * h)
    if edge_order == 1:
        first, last = (at(1, 2) - at(0, 1)) / h, (at(-1, None) - at(-2, -1)) / h
    else:
        first = -1.5 / h * at(0, 1) + 2.0 / h * at(1, 2) + -0.5 / h * at(2, 3)
        last = 0.5 / h * at(-3, -2) + -2.0 / h * at(-2, -1) + 1.5 / h * at(-1, None)
    return concatenated([first, inner, last], d, dtype=volume.dtype)


def squeezed(a: Volume, axis: Any = None) -> Volume:
    """`numpy.squeeze`."""
    thin = [d for d, n in enumerate(a.shape) if n == 1] if axis is None else axes_of(axis, a.ndim)
    if any(a.shape[d] != 1 for d in thin):
        message = f"axes {thin} of a volume of shape {a.shape} are not all of extent one"
        raise ValueError(message)
    return a[tuple(0 if d in thin else slice(None) for d in range(a.ndim))]


def expanded(a: Volume, axis: Any) -> Volume:
    """`numpy.expand_dims`."""
    rank = a.ndim + len(np.atleast_1d(axis))
    places = axes_of(axis, rank)
    return a[tuple(None if d in places else slice(None) for d in range(rank))]
