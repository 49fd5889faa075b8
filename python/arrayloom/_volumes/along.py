"""NumPy's functions along axes of volumes: the axes are read whole, and blocks are cut along the others."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Elements of volumes are known at run time only.

import inspect
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import NDArray

from arrayloom._ext import VolumeExpr
from arrayloom._volumes.elementwise import blockwise, box_of
from arrayloom._volumes.sources import as_volume
from arrayloom._volumes.volume import Box, Volume, in_native_bytes
from arrayloom._volumes.whole import REDUCTIONS

__all__ = [
    "along",
    "along_ufunc",
    "axes_of",
    "broadcast",
    "no_out",
    "quiet",
    "reduced",
    "whole_lines",
]

Array = NDArray[Any]
Need = tuple[int, int, int] | None
# What NumPy passes for an argument that was not given.
_NOT_GIVEN = inspect.signature(np.sum).parameters["initial"].default
# Functions that take no memory for what they read, but for one copy.
_LEAN = {"all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "sum"}


def axes_of(axis: Any, rank: int) -> list[int]:
    """Axes in rising order, counted from the first; all for None."""
    return list(range(rank)) if axis is None else sorted(normalize_axis_tuple(axis, rank))


def no_out(name: str, out: Any) -> None:
    """Refuse an array for the result that is not given by name."""
    if out is not None:
        message = (
            f"numpy.{name} of a volume takes the array for its result by name; write out=array"
        )
        raise TypeError(message)


def quiet(call: Callable[..., Any], *values: Array) -> Any:
    """`call` without warnings about values."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return call(*values)


def along(
    volumes: Sequence[Volume],
    axes: list[int],
    call: Callable[..., Any],
    result: list[int | None],
    name: str,
) -> Volume:
    """The volume of `call` on arrays of one shape that are whole along `axes`.

    `result` has for each axis of the result the axis of the volumes that it runs along, or None for an axis that
    `call` makes. Sums of NumPy are taken in another order if nothing is left behind the first of `axes`, so an
    array that is thin there is doubled.
    """
    volume = volumes[0]
    thin = [n if d in axes else 1 for d, n in enumerate(volume.shape)]
    sample = quiet(call, *(np.ones(thin, v.dtype) for v in volumes))
    dtype = in_native_bytes(np.asarray(sample).dtype)
    lengths = np.shape(sample)
    shape = [
        lengths[i] if d is None or d in axes else volume.shape[d] for i, d in enumerate(result)
    ]
    kept = [d for d in range(volume.ndim) if d not in axes]
    behind = [d for d in kept if d > axes[0] and volume.shape[d] > 1] if axes else []
    dtypes = [v.dtype for v in volumes]

    def run(boxes: list[Box], views: list[memoryview], box: Box, out: memoryview) -> None:
        values = [box_of(b, v, t) for b, v, t in zip(boxes, views, dtypes, strict=True)]
        if behind and all(values[0].shape[d] == 1 for d in behind):
            values = [np.repeat(v, 2, axis=behind[-1]) for v in values]
        found = np.asarray(quiet(call, *values))
        pick = [
            slice(lo, hi) if d is None or d in axes else slice(0, hi - lo)
            for d, lo, hi in zip(result, *box, strict=True)
        ]
        to = np.frombuffer(out, dtype).reshape([hi - lo for lo, hi in zip(*box, strict=True)])
        to[...] = found[tuple(pick)]

    needs: list[Need] = [None if d in axes else (result.index(d), 1, 0) for d in range(volume.ndim)]
    # Working memory is that of a line, and is told for each voxel of its result.
    own = [i for i, d in enumerate(result) if d is None or d in axes]
    read = math.prod(volume.shape[a] for a in axes)
    made = math.prod(shape[i] for i in own)
    line = 2 * read * (sum(t.itemsize for t in dtypes) + (0 if name in _LEAN else 16))
    work = -(-line // max(made, 1)) + 2 * dtype.itemsize

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.call(run, name, of, [needs] * len(of), shape, dtype.char, work)

    lines = Volume(shape, dtype, volumes, build).named(volume, result)
    return whole_lines(lines, own) if made > 1 else lines


def whole_lines(lines: Volume, own: list[int]) -> Volume:
    """`lines`, which are computed whole along the axes `own` wherever a part of them is wanted."""
    dtype, axes = lines.dtype, range(lines.ndim)
    needs: list[Need] = [None if d in own else (d, 1, 0) for d in axes]

    def cut(boxes: list[Box], views: list[memoryview], box: Box, out: memoryview) -> None:
        pick = [
            slice(lo, hi) if d in own else slice(None) for d, lo, hi in zip(axes, *box, strict=True)
        ]
        to = np.frombuffer(out, dtype).reshape([hi - lo for lo, hi in zip(*box, strict=True)])
        to[...] = box_of(boxes[0], views[0], dtype)[tuple(pick)]

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.call(cut, "part", of, [needs], list(lines.shape), dtype.char, 0)

    return Volume(lines.shape, dtype, [lines], build).named(lines, axes)


def broadcast(array: Any, shape: Any) -> Volume:
    """`array` with a larger shape, as `numpy.broadcast_to`."""
    volume = as_volume(array)
    wanted = (shape,) if np.ndim(shape) == 0 else tuple(shape)
    if np.broadcast_shapes(volume.shape, wanted) != wanted:
        message = f"a volume of shape {volume.shape} cannot be broadcast to {wanted}"
        raise ValueError(message)
    return blockwise(lambda v: v, [volume], wanted, volume.dtype, "broadcast_to")


def reduced(
    function: Callable[..., Any], name: str, volume: Volume, axis: Any, **options: Any
) -> Any:
    """A function of NumPy that takes axes away, on some of them; a number if it takes all."""
    options = {k: v for k, v in options.items() if v is not None and v is not _NOT_GIVEN}
    keepdims = bool(options.pop("keepdims", False))
    options.pop("overwrite_input", None)
    if "correction" in options:
        if options.pop("ddof", 0) != 0:
            message = "ddof and correction can't be provided simultaneously."
            raise ValueError(message)
        options["ddof"] = options.pop("correction")
    mask = _mask(options.pop("where", True), volume)
    axes = axes_of(axis, volume.ndim)
    if len(axes) == volume.ndim and name in REDUCTIONS:
        if mask is not None:
            options["where"] = mask
        number = REDUCTIONS[name](volume, **options)
        made = (1,) * volume.ndim if keepdims else ()
        return np.reshape(number, np.shape(number) + made) if keepdims else number
    single = name in {"argmin", "argmax", "nanargmin", "nanargmax"}
    if single and len(axes) > 1:
        message = f"numpy.{name} takes one axis of a volume"
        raise TypeError(message)
    for word in ("mean", "weights"):
        if word in options:
            message = f"numpy.{name} of a volume with {word}= takes all axes; compute the volume first for others"
            raise TypeError(message)
    given: Any = axes[0] if single or len(axes) == 1 else tuple(axes)
    kept: list[int | None] = [d for d in range(volume.ndim) if keepdims or d not in axes]
    kept = [None] * np.ndim(options.get("q", 0)) + kept

    def call(values: Array, *where: Array) -> Any:
        masked = {"where": where[0]} if where else {}
        return function(values, axis=given, keepdims=keepdims, **options, **masked)

    return along([volume] if mask is None else [volume, mask], axes, call, kept, name)


def _mask(where: Any, volume: Volume) -> Volume | None:
    """Which voxels count, as a volume; None for all."""
    if where is True:
        return None
    mask = as_volume(where)
    if mask.dtype.kind != "b":
        message = f"where= takes truth values, not {mask.dtype}"
        raise TypeError(message)
    return broadcast(cast("Any", mask), volume.shape)


def along_ufunc(
    ufunc: np.ufunc, method: str, volume: Volume, args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """``ufunc.reduce`` and ``ufunc.accumulate``; associative ones of the whole volume give a number."""
    axis = args[0] if args else kwargs.pop("axis", 0)
    names = {"add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max"}
    names |= {"logical_and": "all", "logical_or": "any", "fmin": "nanmin", "fmax": "nanmax"}
    known = names.get(ufunc.__name__, ufunc.__name__)
    if method == "reduce":
        return reduced(ufunc.reduce, known, volume, axis, **kwargs)
    (at,) = axes_of(axis, volume.ndim)

    def call(values: Array) -> Array:
        return ufunc.accumulate(values, axis=at, **kwargs)

    places: list[int | None] = list(range(volume.ndim))
    return along([volume], [at], call, places, ufunc.__name__)
