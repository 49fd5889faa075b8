"""Filters that call a function of the caller: for every window, for every line, and for the derivative along each axis.

Along the longest axis of a window lines are read as a whole, and windows are looked up in them. For each of its places
beside that axis there is one operand: the volume as it is seen from there, shifted and with its border.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

from collections.abc import Callable, Mapping, Sequence
from operator import index
from typing import Any, TypeVar, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.typing import NDArray

from arrayloom._ext import VolumeExpr
from arrayloom._volumes.along import whole_lines
from arrayloom._volumes.elementwise import box_of
from arrayloom._volumes.sources import as_volume
from arrayloom._volumes.volume import Box, Volume
from arrayloom.filters._common import (
    Devices,
    Input,
    Integers,
    Limit,
    Modes,
    Output,
    Result,
    WindowAxis,
    filtered_axes,
    finish,
    float_of,
    footprint_of,
    is_lazy,
    modes_of,
    one_each,
    points_before,
    real_number,
    rounded,
    wanted_dtype,
    window_of,
)
from arrayloom.filters._rank import extremum_over
from arrayloom.filters._sums import length_of, sum_of

_Array = NDArray[Any]
_R = TypeVar("_R")

# Functions get doubles, as SciPy's do.
_WIDE = np.dtype(np.float64)
# Windows of a line whose values are laid side by side at a time, so that they stay in a cache.
_TOGETHER = 256
# What NumPy's `pad` calls the modes.
_PADS = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "mirror": "reflect",
    "nearest": "edge",
    "wrap": "wrap",
    "grid-wrap": "wrap",
    "constant": "constant",
    "grid-constant": "constant",
    # Values that are left out.
    "renormalize": "constant",
}


def generic_filter(
    input: Input,
    function: Callable[..., Any],
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    extra_arguments: Sequence[Any] = (),
    extra_keywords: Mapping[str, Any] | None = None,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """What `function` gives for the values of each window.

    Parameters
    ----------
    function
        Called as ``function(values, *extra_arguments, **extra_keywords)`` with an array of doubles of one axis, it
        returns a number. Windows come in any order, on another thread, and again where memory ran out, so it has to
        give the same for the same values. In mode ``renormalize`` it gets the values inside of the array only.

    Examples
    --------
    >>> import numpy as np
    >>> generic_filter([1.0, 2.0, 6.0, 3.0], np.ptp, 3).tolist()
    [1.0, 5.0, 4.0, 3.0]
    """
    volume = as_volume(input)
    _check_real(volume)
    call = Bound(function, extra_arguments, extra_keywords)
    points = footprint_of(volume, size, footprint, axes)
    window = window_of(volume, points.shape, mode, cval, origin, axes)
    dtype = wanted_dtype(output, volume.dtype)
    mask = points.points(volume, axes)
    result = rounded(_by_windows(volume.astype(_WIDE), call.number, window, mask), dtype)
    return call.finish(input, result, output, memory_limit, devices)


def generic_filter1d(
    input: Input,
    function: Callable[..., Any],
    filter_size: int,
    axis: int = -1,
    output: Output = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
    extra_arguments: Sequence[Any] = (),
    extra_keywords: Mapping[str, Any] | None = None,
    *,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """What `function` makes of each line along an axis.

    Parameters
    ----------
    function
        Called as ``function(line, out, *extra_arguments, **extra_keywords)`` with arrays of doubles. `line` has
        ``filter_size - 1`` values more than the array along the axis, and `out` is written by it. Lines come in any
        order, on another thread, and again where memory ran out.

    Examples
    --------
    >>> def sums(line, out):
    ...     out[:] = line[:-1] + line[1:]
    >>> generic_filter1d([1.0, 2.0, 6.0], sums, 2).tolist()
    [2.0, 3.0, 8.0]
    """
    volume = as_volume(input)
    _check_real(volume)
    call = Bound(function, extra_arguments, extra_keywords)
    count, at = index(filter_size), normalize_axis_index(axis, volume.ndim)
    before = points_before(count, origin)
    (name,) = modes_of(mode, 1)
    if name == "renormalize":
        message = "lines cannot be clipped in mode renormalize; give another boundary mode"
        raise RuntimeError(message)
    dtype = wanted_dtype(output, volume.dtype)
    window = (count, before, name, real_number(cval))
    result = rounded(_by_lines(volume.astype(_WIDE), call.line, window, at), dtype)
    return call.finish(input, result, output, memory_limit, devices)


def generic_laplace(
    input: Input,
    derivative2: Callable[..., Any],
    output: Output = None,
    mode: Modes = "reflect",
    cval: complex = 0.0,
    extra_arguments: Sequence[Any] = (),
    extra_keywords: Mapping[str, Any] | None = None,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Sum of second derivatives along all axes that `derivative2` gives; floats for integers.

    Parameters
    ----------
    derivative2
        Called as ``derivative2(input, axis, output, mode, cval, *extra_arguments, **extra_keywords)`` for each axis.
        For an array, `output` is an array that it may write to, and for a volume a dtype; it returns an array, or a
        volume.

    Examples
    --------
    >>> def second(input, axis, output, mode, cval):
    ...     return correlate1d(input, [1, -2, 1], axis, output, mode, cval)
    >>> from arrayloom.filters import correlate1d
    >>> generic_laplace([0.0, 0.0, 1.0, 0.0, 0.0], second).tolist()
    [0.0, 1.0, -2.0, 1.0, 0.0]
    """
    volume = as_volume(input)
    kind = float_of(volume.dtype)
    dtype = wanted_dtype(output, kind)
    call = Bound(derivative2, extra_arguments, extra_keywords)
    parts = _derivatives(input, volume, call, (mode, cval, axes), kind)
    result = rounded(sum_of(parts) if parts else volume, dtype)
    return finish(input, result, output, memory_limit, devices)


def generic_gradient_magnitude(
    input: Input,
    derivative: Callable[..., Any],
    output: Output = None,
    mode: Modes = "reflect",
    cval: complex = 0.0,
    extra_arguments: Sequence[Any] = (),
    extra_keywords: Mapping[str, Any] | None = None,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Length of the gradient, whose part along each axis `derivative` gives; floats for integers.

    Parameters
    ----------
    derivative
        As `derivative2` of `generic_laplace`.

    Examples
    --------
    >>> from arrayloom.filters import sobel
    >>> generic_gradient_magnitude([[0.0, 3.0], [4.0, 7.0]], sobel).tolist()
    [[20.0, 20.0], [20.0, 20.0]]
    """
    volume = as_volume(input)
    kind = float_of(volume.dtype)
    dtype = wanted_dtype(output, kind)
    call = Bound(derivative, extra_arguments, extra_keywords)
    # Squares of half precision soon have no room in it.
    wide = np.promote_types(kind, np.float32)
    parts = _derivatives(input, volume, call, (mode, cval, axes), wide)
    result = rounded(length_of(parts) if parts else volume, dtype)
    return finish(input, result, output, memory_limit, devices)


class Bound:
    """A function with what it gets behind its values."""

    def __init__(
        self, function: Any, arguments: Sequence[Any], keywords: Mapping[str, Any] | None
    ) -> None:
        if not callable(function):
            message = f"a {type(function).__name__} is no function of Python that could be called; give one"
            raise TypeError(message)
        self.function: Callable[..., Any] = function
        self.arguments = tuple(arguments)
        self.keywords = dict(keywords or {})
        self.error: Exception | None = None

    def __call__(self, *values: Any) -> Any:
        return self.function(*values, *self.arguments, **self.keywords)

    def number(self, values: _Array) -> float:
        """What the function gives for the values of a window."""
        return self.told(lambda: float(self(values)))

    def line(self, values: _Array, out: _Array) -> None:
        """Have the function write what it makes of a line."""
        self.told(lambda: self(values, out))

    def windows(self, values: _Array, axis: int | tuple[int, ...]) -> _Array:
        """What the function gives for the windows along the first axis."""
        return self.told(lambda: np.asarray(self.function(values, axis=axis)))

    def told(self, work: Callable[[], _R]) -> _R:
        """What `work` of the function gives; its error is kept."""
        try:
            return work()
        except Exception as error:
            self.error = error
            raise

    def finish(
        self, x: object, result: Volume, output: Output, limit: Limit, devices: Devices
    ) -> Result:
        """As `finish`, with the function's own error where it fails on an array."""
        try:
            return finish(x, result, output, limit, devices)
        except RuntimeError as told:
            if self.error is None:
                raise
            raise self.error from told


def _check_real(volume: Volume) -> None:
    if volume.dtype.kind == "c":
        message = "a generic filter of complex numbers; filter their parts"
        raise TypeError(message)


def _derivatives(
    x: object,
    volume: Volume,
    call: Callable[..., Any],
    words: tuple[Modes, complex, Any],
    kind: np.dtype[Any],
) -> list[Volume]:
    """What `call` gives for each axis, as `kind`."""
    mode, cval, axes = words
    which = filtered_axes(volume, axes)
    source = volume if is_lazy(x) else np.asarray(volume)
    parts: list[Volume] = []
    for axis, m in zip(which, one_each("mode", mode, len(which)), strict=True):
        out = kind if is_lazy(x) else np.empty(volume.shape, kind)
        found = call(source, axis, out, m, cval)
        found = out if found is None else found
        if is_lazy(x) and not is_lazy(found):
            message = (
                f"the derivative of a volume along axis {axis} is a {type(found).__name__} and no volume; "
                "give a function of volumes, such as those of arrayloom.filters"
            )
            raise TypeError(message)
        part = as_volume(found)
        if part.shape != volume.shape:
            message = f"a derivative of shape {part.shape} of an input of shape {volume.shape}; they must be equal"
            raise ValueError(message)
        parts.append(part.astype(kind))
    return parts


def padded(values: _Array, axis: int, window: WindowAxis) -> _Array:
    """`values` with what a window along `axis` reads beyond both ends."""
    count, before, mode, cval = window
    widths = [(0, 0)] * values.ndim
    widths[axis] = (before, count - 1 - before)
    words = {"constant_values": cval} if _PADS[mode] == "constant" else {}
    return np.pad(values, widths, cast("Any", _PADS[mode]), **words)


def _by_lines(volume: Volume, call: Callable[..., Any], window: WindowAxis, axis: int) -> Volume:
    """What `call` writes for each line of `volume` along `axis`."""
    shape, rank = volume.shape, volume.ndim

    def run(boxes: list[Box], views: list[memoryview], _: Box, out: memoryview) -> None:
        values = box_of(boxes[0], views[0], _WIDE)
        to = np.moveaxis(np.frombuffer(out, _WIDE).reshape(values.shape), axis, -1)
        lines = np.ascontiguousarray(np.moveaxis(padded(values, axis, window), axis, -1))
        for at in np.ndindex(to.shape[:-1]):
            own = np.zeros(shape[axis])
            call(lines[at], own)
            to[at] = own

    def build(expr: VolumeExpr, of: list[int]) -> int:
        needs = [None if d == axis else (d, 1, 0) for d in range(rank)]
        work = line_bytes(3, window[0], shape[axis])
        return expr.call(run, "generic_filter1d", of, [needs], list(shape), "d", work)

    if not volume.size:
        return volume
    return whole_lines(Volume(shape, _WIDE, [volume], build), [axis])


def line_bytes(copies: int, count: int, extent: int) -> int:
    """Bytes for each voxel of a line that is copied with what a window of `count` points adds to it."""
    return 8 * copies * -(-(extent + count - 1) // extent)


def seen(volume: Volume, window: Sequence[WindowAxis], place: Sequence[int]) -> Volume:
    """What every voxel sees at one place of its window: the extremum of one point."""
    steps = [at - before for at, (_, before, _, _) in zip(place, window, strict=True)]
    reach = [
        (abs(step) + 1, max(-step, 0), mode, cval)
        for step, (_, _, mode, cval) in zip(steps, window, strict=True)
    ]
    points = np.zeros([count for count, *_ in reach], bool)
    points[tuple(max(step, 0) for step in steps)] = True
    return extremum_over(volume, False, reach, points.ravel().tolist())


def _inside(
    at: Sequence[int | _Array], shape: Sequence[int], window: Sequence[WindowAxis], places: _Array
) -> _Array | None:
    """Which values are voxels, of all windows at `at` or of each; None where all count."""
    found: _Array | None = None
    for d, (_, before, mode, _) in enumerate(window):
        if mode == "renormalize":
            voxels = at[d] - before + places[:, d]
            here = (voxels >= 0) & (voxels < shape[d])
            found = here if found is None else found & here
    return None if found is None else np.atleast_2d(found)


def _by_windows(
    volume: Volume, call: Callable[..., Any], window: Sequence[WindowAxis], mask: Sequence[bool]
) -> Volume:
    """What `call` gives for the values of each window of `volume`."""
    if not volume.size:
        return volume
    if not volume.ndim:
        return _by_windows(volume[None], call, window, mask)[0]
    shape, counts = volume.shape, [count for count, *_ in window]
    whole = counts.index(max(counts))
    length = shape[whole]
    places = np.argwhere(np.reshape(mask, counts))
    # Places beside the lines, each once, and which of them a point is at.
    beside, numbers = np.unique(np.delete(places, whole, 1), axis=0, return_inverse=True)
    numbers = numbers.ravel()
    middle = window[whole][1]
    operands = [seen(volume, window, np.insert(one, whole, middle).tolist()) for one in beside]

    def run(boxes: list[Box], views: list[memoryview], box: Box, out: memoryview) -> None:
        each = [
            np.moveaxis(padded(box_of(b, v, _WIDE), whole, window[whole]), whole, -1)
            for b, v in zip(boxes, views, strict=True)
        ]
        to = np.frombuffer(out, _WIDE).reshape([hi - lo for lo, hi in zip(*box, strict=True)])
        to = np.moveaxis(to, whole, -1)
        first = [lo for d, lo in enumerate(box[0]) if d != whole]
        for row in np.ndindex(to.shape[:-1]):
            lines = np.stack([one[row] for one in each])
            at: list[Any] = [a + b for a, b in zip(first, row, strict=True)]
            for start in range(0, length, _TOGETHER):
                along = np.arange(start, min(start + _TOGETHER, length))[:, None]
                values = lines[numbers, along + places[:, whole]]
                inside = _inside([*at[:whole], along, *at[whole:]], shape, window, places)
                for number, own in enumerate(values):
                    kept = own if inside is None else own[inside[number % len(inside)]]
                    to[(*row, start + number)] = call(kept)

    def build(expr: VolumeExpr, of: list[int]) -> int:
        needs = [None if d == whole else (d, 1, 0) for d in range(len(shape))]
        # Places, values and whether they count.
        part = (2 * _WIDE.itemsize + 1) * len(places) * min(length, _TOGETHER)
        work = line_bytes(2 * len(of) + 1, counts[whole], length) - (-part // length)
        return expr.call(run, "generic_filter", of, [needs] * len(of), list(shape), "d", work)

    return whole_lines(Volume(shape, _WIDE, operands, build), [whole])
