"""The filter that calls a function of the caller for many windows at once.

As in `generic_filter`, lines are read as a whole along one axis, the last of a window, and there is an operand for each place
beside it.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arrayloom._ext import VolumeExpr
from arrayloom._volumes.along import whole_lines
from arrayloom._volumes.elementwise import box_of
from arrayloom._volumes.sources import as_volume
from arrayloom._volumes.volume import Box, Volume
from arrayloom.filters._common import (
    MODES,
    Devices,
    Input,
    Limit,
    Output,
    Result,
    WindowAxis,
    filtered_axes,
    finish,
    points_before,
    real_number,
    rounded,
    wanted_dtype,
)
from arrayloom.filters._generic import Bound, line_bytes, padded, seen
from arrayloom.filters._sums import parts_of

_Array = NDArray[Any]

# Bytes of windows that a function gets at a time: they stay in a cache, and a call costs little beside them.
_TOGETHER = 1 << 20

# A function has no way to leave out points.
_MODES = (*(mode for mode in MODES if mode != "renormalize"), "valid")


def vectorized_filter(
    input: Input,
    function: Callable[..., Any],
    *,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: str = "reflect",
    cval: complex | None = None,
    origin: Any = None,
    axes: Any = None,
    batch_memory: float = 2**30,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """What `function` gives for each window, of which it gets many at once: `numpy.nanmedian` or `numpy.ptp`, for example.

    Parameters
    ----------
    function
        Called as ``function(windows, axis=axis)`` with an array of the input's dtype, it returns a number for each
        window, or several. The first axis numbers the windows; the others, which `axis` names, are those of a box of
        `size`, or one for the points of `footprint`. Windows come in any order, on another thread, and again where memory
        ran out, so it has to give the same for the same values. Windows of ones tell what it returns.
    footprint
        True where a window has a point. Its axes are in the order of `axes`.
    mode
        As of other filters, or ``valid``: windows that are inside of the array alone, and a result that is smaller by a
        window less one.
    batch_memory
        Most bytes of windows that `function` gets at once.

    Returns
    -------
    array or volume
        Of the dtype that `function` gives, and of the input's shape, with further axes where `function` puts those of several
        numbers: `numpy.quantile` puts them first.

    Raises
    ------
    ValueError
        If no axis of what `function` gives numbers the windows, or an argument has no meaning.

    Examples
    --------
    >>> import numpy as np
    >>> vectorized_filter([1.0, np.nan, 6.0, 3.0], np.nanmedian, size=3).tolist()
    [1.0, 3.5, 4.5, 3.0]
    """
    call = Bound(function, (), {})
    volume = as_volume(input)
    window = _window(volume, (size, footprint, axes), mode, cval, origin)
    if not volume.size:
        return finish(input, volume, output, memory_limit, devices)
    if not window.which:
        only = np.asarray(volume)
        only = only if window.mask is None else only[window.mask]
        found = as_volume(np.asarray(function(only, axis=())))
        return finish(input, found, output, memory_limit, devices)
    least = math.prod(window.size) * volume.dtype.itemsize
    if least > _positive(batch_memory):
        message = (
            f"`batch_memory` is insufficient for minimum chunk size. A window has {least} bytes."
        )
        raise ValueError(message)
    together = max(int(min(batch_memory, _TOGETHER)) // least, 1)
    result = _by_windows(volume, call, window, together)
    return call.finish(
        input, rounded(result, wanted_dtype(output, result.dtype)), output, memory_limit, devices
    )


@dataclass(frozen=True)
class _Window:
    """The box of a window along the filtered axes, its points unless it has all, and how it lies on a volume."""

    which: list[int]
    size: tuple[int, ...]
    mask: _Array | None
    before: list[int]
    mode: str
    cval: complex
    # Whether there is a result only where all of it is inside.
    valid: bool

    def beside(self) -> list[tuple[int, ...]]:
        """The places beside its last axis at which it has points, in C order."""
        places = list(np.ndindex(self.size[:-1]))
        if self.mask is None:
            return places
        rows = self.mask.reshape(-1, self.size[-1])
        return [place for place, row in zip(places, rows, strict=True) if row.any()]

    @cached_property
    def kept(self) -> _Array | None:
        """Which points it has of the rows at these places, or all."""
        if self.mask is None:
            return None
        rows = self.mask.reshape(-1, self.size[-1])
        return rows[rows.any(axis=1)].ravel()

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The extents that a function gets it with: those of the box, or the number of its points."""
        return self.size if self.mask is None else (int(self.mask.sum()),)

    @cached_property
    def axis(self) -> int | tuple[int, ...]:
        """The axes of these, behind the one that numbers windows."""
        return -1 if self.mask is not None else tuple(range(-len(self.size), 0))

    def along(self, border: float) -> WindowAxis:
        """Its last axis."""
        return self.size[-1], self.before[-1], self.mode, border

    def seen(self, volume: Volume, place: Sequence[int], border: float) -> Volume:
        """What every voxel sees at a place beside the last axis."""
        full, at = [(1, 0, "reflect", 0.0)] * volume.ndim, [0] * volume.ndim
        for axis, n, before, p in zip(self.which, self.size, self.before, place, strict=False):
            full[axis], at[axis] = (n, before, self.mode, border), p
        return seen(volume, full, at)

    def results(self, volume: Volume) -> tuple[slice, ...]:
        """The voxels that have a result."""
        found = [slice(None)] * volume.ndim
        if not self.valid:
            return tuple(found)
        for axis, n, before in zip(self.which, self.size, self.before, strict=True):
            if n > volume.shape[axis]:
                message = (
                    f"a window of {n} points along axis {axis}, which has {volume.shape[axis]}: "
                    "none is inside; give a smaller size, or another mode"
                )
                raise ValueError(message)
            found[axis] = slice(before, before + volume.shape[axis] - n + 1)
        return tuple(found)


def _window(
    volume: Volume, extents: tuple[Any, Any, Any], mode: str, cval: Any, origin: Any
) -> _Window:
    """The window that a caller describes; what is wrong is told in SciPy's words."""
    which, sizes, mask = _extents(volume, *extents)
    origins = _whole_numbers("origin", 0 if origin is None else origin, len(which))
    if len(origins) != len(which):
        message = (
            "`origin` must be an integer or tuple of integers with length equal to the number of axes, "
            f"{len(which)}."
        )
        raise ValueError(message)
    if mode not in _MODES:
        message = f"`mode` must be one of {', '.join(_MODES)}, not {mode!r}."
        raise ValueError(message)
    if mode == "valid" and any(origins):
        message = "`mode='valid'` is incompatible with use of `origin`."
        raise ValueError(message)
    before = [points_before(n, o) for n, o in zip(sizes, origins, strict=True)]
    border = _border(mode, cval, volume.dtype)
    # What windows see that are not inside does not matter.
    valid, mode = mode == "valid", "nearest" if mode == "valid" else mode
    return _Window(which, tuple(sizes), mask, before, mode, border, valid)


def _extents(
    volume: Volume, size: Any, footprint: Any, axes: Any
) -> tuple[list[int], list[int], _Array | None]:
    """The filtered axes, the extents of a window along them, and its points unless it has all."""
    if size is None and footprint is None:
        message = "Either `size` or `footprint` must be provided."
        raise ValueError(message)
    if size is not None and footprint is not None:
        message = "Either `size` or `footprint` may be provided, not both."
        raise ValueError(message)
    if axes is not None and np.size(axes) > volume.ndim:
        message = (
            f"The length of `axes` may not exceed the dimensionality of `input`, {volume.ndim}."
        )
        raise ValueError(message)
    which = filtered_axes(volume, axes)
    mask = None if footprint is None else np.asarray(footprint, bool)
    if mask is not None and mask.ndim and not mask.any():
        message = "All-zero footprint is not supported."
        raise ValueError(message)
    sizes = _whole_numbers("size", size if mask is None else mask.shape, len(which))
    if any(n < 1 for n in sizes):
        message = f"All elements of `size` must be positive integers, not {size}."
        raise ValueError(message)
    if len(sizes) != len(which):
        message = (
            "`axes` must be compatible with the dimensionality of the window specified by `size` or `footprint`: "
            f"{len(which)} axes, and {len(sizes)} of the window."
        )
        raise ValueError(message)
    return which, sizes, mask


def _border(mode: str, cval: Any, dtype: np.dtype[Any]) -> complex:
    """The constant border as a voxel."""
    if cval is not None and mode not in {"constant", "grid-constant"}:
        message = "Use of `cval` is compatible only with `mode='constant'`."
        raise ValueError(message)
    border = np.asarray(0 if cval is None else cval)
    if border.ndim or border.dtype.kind not in "biufc":
        message = f"`cval` must include only numbers, and be one, not {cval!r}."
        raise ValueError(message)
    if border.dtype.kind == "c" and dtype.kind != "c":
        return border.item()
    return border.astype(dtype).item()


def _whole_numbers(name: str, value: Any, count: int) -> list[int]:
    """One whole number for each axis, or those of a list."""
    values = [value] * count if np.ndim(value) == 0 else list(value)
    if not all(np.asarray(v).dtype.kind in "iu" for v in values):
        kind = "positive integers" if name == "size" else "integers"
        message = f"All elements of `{name}` must be {kind}, not {value}."
        raise ValueError(message)
    return [int(v) for v in values]


def _positive(batch_memory: Any) -> float:
    most = np.asarray(batch_memory)
    if most.ndim or most.dtype.kind not in "iuf" or not most > 0:
        message = f"`batch_memory` must be positive number, not {batch_memory!r}."
        raise ValueError(message)
    return float(most)


def _by_windows(volume: Volume, call: Bound, window: _Window, together: int) -> Volume:
    """What `call` gives for each window of `volume`, of so many of them `together`."""
    whole, rank = window.which[-1], volume.ndim
    length, last = volume.shape[whole], window.size[-1]
    parts, borders = [volume], [window.cval]
    if volume.dtype.kind == "c":
        parts, borders = parts_of(volume), [window.cval.real, window.cval.imag]
    borders = [real_number(border) for border in borders]
    operands = [
        window.seen(part, place, border)
        for place in window.beside()
        for part, border in zip(parts, borders, strict=True)
    ]
    asked = _Asked.of(call, window, volume.dtype)
    first, several = len(asked.front), (*asked.front, *asked.back)

    def run(boxes: list[Box], views: list[memoryview], box: Box, out: memoryview) -> None:
        lines: list[_Array] = []
        for number, (b, v) in enumerate(zip(boxes, views, strict=True)):
            values = np.moveaxis(box_of(b, v, parts[0].dtype), whole, -1)
            wide = padded(values, -1, window.along(borders[number % len(parts)]))
            wide = wide.reshape(-1, length + last - 1)
            lines.append(np.lib.stride_tricks.sliding_window_view(wide, last, -1))
        found = np.empty((len(lines[0]), length, *several), asked.dtype)
        rows, places = max(together // length, 1), min(together, length)
        for row in range(0, len(found), rows):
            for place in range(0, length, places):
                some = slice(row, row + rows), slice(place, place + places)
                found[some] = asked.results([one[some] for one in lines], found[some].shape)
        to = box_of(box, out, asked.dtype)
        # The axes of rows, of lines, and those of several numbers, which have been behind them.
        to = np.moveaxis(to, range(first), range(rank, rank + first))
        to = np.moveaxis(to, whole, rank - 1)
        to[...] = found.reshape(to.shape)

    def build(expr: VolumeExpr, of: list[int]) -> int:
        needs = [None if d == whole else (first + d, 1, 0) for d in range(rank)]
        # Windows, a copy that the function may make of them, and the lines.
        windows = 2 * math.prod(window.shape) * volume.dtype.itemsize
        work = windows + line_bytes(len(of) + 2, last, length)
        work = -(-work // max(math.prod(several), 1)) + asked.dtype.itemsize
        own, letter = list(full), asked.dtype.char
        return expr.call(run, "vectorized_filter", of, [needs] * len(of), own, letter, work)

    full = (*asked.front, *volume.shape, *asked.back)
    taken = [first + whole, *range(first), *range(first + rank, len(full))]
    result = whole_lines(Volume(full, asked.dtype, operands, build), taken)
    return result[(slice(None),) * first + window.results(volume)]


@dataclass(frozen=True)
class _Asked:
    """A function of windows, and what it gives: the dtype, and the axes before and behind the one that numbers them."""

    call: Bound
    window: _Window
    # Of the windows.
    source: np.dtype[Any]
    dtype: np.dtype[Any]
    front: tuple[int, ...]
    back: tuple[int, ...]

    @staticmethod
    def of(call: Bound, window: _Window, source: np.dtype[Any]) -> "_Asked":
        """Asks for windows of ones."""
        shape, axis = window.shape, window.axis
        one, two = (call.windows(np.ones((n, *shape), source), axis) for n in (1, 2))
        pairs = list(zip(one.shape, two.shape, strict=False))
        numbered = [d for d, (a, b) in enumerate(pairs) if a != b]
        if one.ndim != two.ndim or len(numbered) != 1 or pairs[numbered[0]] != (1, 2):
            message = (
                f"the function gives arrays of shape {one.shape} for a window and {two.shape} for two; "
                "give one that returns a number for each, or several, along one axis"
            )
            raise ValueError(message)
        at = numbered[0]
        return _Asked(call, window, source, two.dtype, one.shape[:at], one.shape[at + 1 :])

    def results(self, lines: Sequence[_Array], shape: tuple[int, ...]) -> _Array:
        """The results, of `shape`, for windows of which each line has a row, or the row of a part."""
        values = np.stack(lines, -2)
        if self.source.kind == "c":
            pairs = np.empty((*values.shape[:2], len(lines) // 2, values.shape[-1]), self.source)
            pairs.real, pairs.imag = values[..., 0::2, :], values[..., 1::2, :]
            values = pairs
        windows, kept = values.reshape(math.prod(shape[:2]), -1), self.window.kept
        # Always side by side: what sums of floats give depends on how they lie in memory.
        windows = windows if kept is None else np.compress(kept, windows, 1)
        windows = windows.reshape(-1, *self.window.shape)
        return self.call.told(lambda: self._given(windows)).reshape(shape)

    def _given(self, windows: _Array) -> _Array:
        found = self.call.windows(windows, self.window.axis)
        wanted = (*self.front, len(windows), *self.back)
        if found.shape != wanted:
            message = f"the function gives an array of shape {found.shape} for {len(windows)} windows, and not {wanted}"
            raise ValueError(message)
        return np.moveaxis(found, len(self.front), 0)
