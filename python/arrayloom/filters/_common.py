"""What all filters share: their parameters, and how a result comes back."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

import inspect
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import index
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from arrayloom._ext import VolumeExpr
from arrayloom._volumes.compute import compute
from arrayloom._volumes.elementwise import blockwise
from arrayloom._volumes.volume import Build, Volume
from arrayloom.filters import _kept
from arrayloom.filters._named import by_name

Input: TypeAlias = ArrayLike | Volume
Result: TypeAlias = Any
# Also by the names of axes.
Numbers: TypeAlias = float | Sequence[float] | Mapping[str, float]
Sizes: TypeAlias = int | Sequence[int] | Mapping[str, int]
Integers: TypeAlias = int | Sequence[int]
Modes: TypeAlias = str | Sequence[str]
Output: TypeAlias = DTypeLike | NDArray[Any] | None
# Points, points before the center, mode, and the constant border.
WindowAxis: TypeAlias = tuple[int, int, str, float]
Limit: TypeAlias = int | str | None
Devices: TypeAlias = str | Sequence[str] | None

_HERE = str(Path(__file__).parent)

# Lists of more points take more memory than what they are looked for in.
_MOST_POINTS = 1 << 26

# Weights along an axis that is a quarter as long or shorter: more of them take seconds even for few voxels.
_MOST_WEIGHTS = 1 << 20

# Windows of more points are built anew each time.
_MANY_POINTS = 1 << 12

MODES = (
    "reflect",
    "mirror",
    "nearest",
    "constant",
    "wrap",
    "renormalize",
    "grid-mirror",
    "grid-constant",
    "grid-wrap",
)


def is_lazy(x: object) -> bool:
    """True for volumes, whose results stay volumes."""
    return isinstance(x, Volume)


def finish(
    x: object, result: Volume, output: Output, memory_limit: Limit, devices: Devices = None
) -> Result:
    """The result as it was asked for: a volume for a volume, else an array."""
    if is_lazy(x):
        if isinstance(output, np.ndarray):
            message = (
                "a volume is computed when it is saved; give output a dtype, "
                "and save the result to the array with arrayloom.volumes.save"
            )
            raise TypeError(message)
        return result
    out = output if isinstance(output, np.ndarray) else None
    if out is not None and out.shape != result.shape:
        message = f"output shape not correct: {out.shape} for a result of shape {result.shape}"
        raise RuntimeError(message)
    build = Build()
    array = compute(result, out=out, memory_limit=memory_limit, devices=devices, build=build)
    named = result.dtype if out is not None or output is None else np.dtype(output)
    if memory_limit is None and devices is None and named.isnative:
        _kept.built(result, build.expr, array)
    return array if named.isnative else array.astype(named)


def wanted_dtype(output: Output, default: DTypeLike) -> np.dtype[Any]:
    """The dtype of a result while it is computed: in the byte order of this machine."""
    default = np.dtype(default)
    if output is None:
        return default
    dtype = _dtype_of(output)
    if default.kind == "c" and dtype.kind != "c":
        if isinstance(output, (np.ndarray, str)):
            message = (
                f"output must have complex dtype for {default}, and {dtype} has none; "
                "filter the real and the imaginary part"
            )
            raise RuntimeError(message)
        warn_caller("promoting specified output dtype to complex")
        dtype = np.promote_types(dtype, np.complex64)
    return dtype.newbyteorder("=")


def _dtype_of(output: Any) -> np.dtype[Any]:
    """The dtype that `output` has or names; arrays of other kinds name none, since they would stay as they are."""
    if isinstance(output, np.ndarray):
        return output.dtype
    kind = type(output)
    if kind in {list, tuple}:
        message = f"output {output!r} is neither a dtype nor an array; give one of them"
        raise RuntimeError(message)
    try:
        if not hasattr(kind, "__array__") or issubclass(kind, np.generic):
            return np.dtype(output)
    except (TypeError, ValueError):
        if isinstance(output, str):
            raise
    message = (
        f"output is a {kind.__module__}.{kind.__qualname__}, which is neither a dtype nor an array of NumPy; "
        "give one of them"
    )
    raise TypeError(message)


def float_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of signed results."""
    if dtype.kind in "fc":
        return dtype
    return np.dtype(np.float64 if dtype.kind in "iu" and dtype.itemsize >= 4 else np.float32)


def linear_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of means and other weighted sums with positive weights."""
    return np.dtype(np.float32) if dtype.kind == "b" else dtype


def precise(volume: Volume, output: Output) -> Volume:
    """`volume` in double precision where doubles are wanted of a dtype that is filtered in single precision."""
    if output is None or not np.can_cast(volume.dtype, np.complex64):
        return volume
    wide = _dtype_of(output).char in "dD"
    return volume.astype(np.promote_types(volume.dtype, np.float64)) if wide else volume


def as_output(volume: Volume, output: Output) -> Volume:
    """`volume` in the dtype that was asked for."""
    return volume if output is None else rounded(volume, wanted_dtype(output, volume.dtype))


def rounded(volume: Volume, dtype: np.dtype[Any]) -> Volume:
    """`volume` as `dtype`; integers are rounded half to even and saturate, and are 0 for a NaN."""
    if dtype == volume.dtype:
        return volume
    if dtype.kind not in "iu" or volume.dtype.kind == "c" or np.can_cast(volume.dtype, dtype):
        return volume.astype(dtype)
    return blockwise(
        lambda values: saturated(values, dtype), [volume], volume.shape, dtype, "round"
    )


def saturated(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Real numbers as the integers of `dtype`; see `rounded`."""
    info = np.iinfo(dtype)
    if values.dtype.kind in "iu":
        own = np.iinfo(values.dtype)
        return np.clip(values, max(own.min, info.min), min(own.max, info.max)).astype(dtype)
    # The greatest 64-bit integers are no doubles, so what reaches them is set apart.
    whole = np.rint(values, dtype=np.result_type(values.dtype, np.float32))
    top = whole >= float(info.max)
    inside = np.where(top | np.isnan(whole), 0, np.maximum(whole, float(info.min)))
    return np.where(top, dtype.type(info.max), inside.astype(dtype))


def filtered_axes(volume: Volume, axes: int | Sequence[int] | None) -> list[int]:
    if axes is None:
        return list(range(len(volume.shape)))
    several = [index(axes)] if isinstance(axes, (int, np.integer)) else [index(a) for a in axes]
    for axis in several:
        if not -volume.ndim <= axis < volume.ndim:
            message = f"specified axis: {axis} is out of range for {volume.ndim} axes"
            raise np.exceptions.AxisError(message)
    several = [a % volume.ndim for a in several]
    if len(set(several)) != len(several):
        message = f"axes must be unique, not {several}"
        raise ValueError(message)
    return several


def one_each(name: str, value: Any, count: int) -> list[Any]:
    """One value for each filtered axis."""
    if isinstance(value, (str, int, float)) or np.ndim(value) == 0:
        return [value] * count
    values = list(value)
    if len(values) != count:
        message = (
            f"{name} has {len(values)} entries for {count} filtered axes; "
            "a sequence argument must have length equal to input rank, or to that of axes"
        )
        raise RuntimeError(message)
    return values


def modes_of(mode: Modes, count: int) -> list[str]:
    modes = one_each("mode", mode, count)
    for one in [mode] if isinstance(mode, str) else modes:
        if one not in MODES:
            message = f"boundary mode {one!r} not supported; use one of {', '.join(MODES[:6])}"
            raise RuntimeError(message)
    return modes


def check_weights(count: int, volume: Volume, axis: int) -> None:
    """Refuse weights along an axis that are far more than it has voxels.

    Raises
    ------
    MemoryError
        If there are so many that they alone take seconds.
    """
    extent = volume.shape[axis]
    if count > max(_MOST_WEIGHTS, 4 * extent):
        message = (
            f"a window of {count} points along axis {axis}, which has {extent}; "
            f"give a smaller size or sigma, up to {_MOST_WEIGHTS} points"
        )
        raise MemoryError(message)


def points_before(size: int, origin: int) -> int:
    """Points of a window before its center."""
    if size < 1:
        message = "incorrect filter size: at least 1 is needed"
        raise RuntimeError(message)
    before = size // 2 + index(origin)
    if not 0 <= before < size:
        message = f"invalid origin {origin} for a window of {size} points"
        raise ValueError(message)
    return before


def turned_origins(origin: Integers, shape: Sequence[int]) -> list[int]:
    """The origins of a window of `shape` that is mirrored."""
    origins = one_each("origin", origin, len(shape))
    return [-index(o) - (n % 2 == 0) for o, n in zip(origins, shape, strict=True)]


def real_number(cval: Any) -> float:
    """The constant border of a real volume."""
    if type(cval) is float:
        return cval
    if isinstance(cval, (complex, np.complexfloating)):
        message = (
            f"cval {cval} is complex and the input is real; give a real cval or a complex input"
        )
        raise TypeError(message)
    if isinstance(cval, (str, bytes)):
        message = f"cval {cval!r} is text; give a number"
        raise TypeError(message)
    return float(cval)


@dataclass(frozen=True)
class Footprint:
    """The points of a window: those of a box where `mask` is true, or all of it."""

    shape: tuple[int, ...]
    mask: NDArray[np.bool_] | None = None

    @cached_property
    def count(self) -> int:
        """Number of points."""
        return math.prod(self.shape) if self.mask is None else int(self.mask.sum())

    def flipped(self) -> "Footprint":
        """The mirrored window."""
        return self if self.mask is None else Footprint(self.shape, np.flip(self.mask))

    def points(self, volume: Volume, axes: Any) -> list[bool]:
        """Which points of a box with an axis for every axis of `volume` the window has, in C order."""
        if self.count > _MOST_POINTS:
            message = (
                f"a window of {self.count} points, each of which is looked at for every voxel; "
                f"give a smaller size, up to {_MOST_POINTS} points"
            )
            raise MemoryError(message)
        if self.count > _MANY_POINTS:
            _kept.forgo()
        if self.mask is None:
            return [True] * self.count
        return spread_mask(self.mask, volume, axes).ravel().tolist()


def footprint_of(
    volume: Volume, size: Any, footprint: Any, axes: Any, *, whole: bool = True
) -> Footprint:
    """The points of a window, of `footprint` or a box of `size`; in SciPy some filters take sizes that are not `whole`."""
    if footprint is not None:
        if size is not None:
            warn_caller("ignoring size because footprint is set")
        return box_or_points(in_order("footprint", np.asarray(footprint, bool), volume, axes))
    if size is None:
        message = "no footprint or filter size provided"
        raise RuntimeError(message)
    which = filtered_axes(volume, axes)
    size, count = by_name("size", size, volume, which, 1), len(which)
    return Footprint(tuple(sizes_of(size, count) if whole else box_sizes(size, count)))


def box_or_points(mask: NDArray[np.bool_]) -> Footprint:
    """The window of the true points of `mask`."""
    if not mask.any():
        message = "All-zero footprint is not supported."
        raise ValueError(message)
    return Footprint(mask.shape, None if mask.all() else mask)


def warn_caller(text: str) -> None:
    """Warns at the line outside of this package that called a filter."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        level, frame = level + 1, frame.f_back
    _kept.forgo()
    warnings.warn(text, UserWarning, stacklevel=level)


def sizes_of(size: Any, count: int) -> list[int]:
    """The extents of a box."""
    sizes = [index(s) for s in one_each("size", size, count)]
    if any(s < 1 for s in sizes):
        message = f"incorrect filter size {size}: at least 1 is needed"
        # As SciPy, which builds an array of ones.
        raise (ValueError if min(sizes) < 0 else RuntimeError)(message)
    return sizes


def box_sizes(size: Any, count: int) -> list[int]:
    """The extents of a box that is taken axis by axis: as SciPy's, axes of no extent are left alone."""
    sizes = one_each("size", size, count)
    if any(s != int(s) for s in sizes):
        message = f"incorrect filter size {size}: whole numbers are needed"
        raise RuntimeError(message)
    return [max(int(s), 1) for s in sizes]


def native(
    volumes: Sequence[Volume],
    dtype: np.dtype[Any],
    build: Callable[[VolumeExpr, list[int]], int],
) -> Volume:
    """What `build` adds to a native expression, of the shape of `volumes`.

    Native filters have one axis at least, so volumes without axes are given one, and the result loses it again.
    """
    if volumes[0].ndim:
        return Volume(volumes[0].shape, dtype, volumes, build)
    return Volume((1,), dtype, [v[None] for v in volumes], build)[0]


def window_of(
    volume: Volume, shape: Sequence[int], mode: Modes, cval: float, origin: Integers, axes: Any
) -> list[WindowAxis]:
    """The window along every axis of `volume`, at least one, for a footprint of `shape` on the filtered ones."""
    which = filtered_axes(volume, axes)
    full = [(1, 0, "reflect", 0.0)] * max(volume.ndim, 1)
    border = real_number(cval)
    rows = zip(
        which,
        shape,
        one_each("origin", origin, len(which)),
        modes_of(mode, len(which)),
        strict=True,
    )
    for axis, n, o, m in rows:
        full[axis] = (n, points_before(n, o), m, border)
    return full


def in_order(name: str, values: NDArray[Any], volume: Volume, axes: Any) -> NDArray[Any]:
    """A footprint, weights or a structure, which come in the order of the array's axes, in the order of `axes`."""
    which = filtered_axes(volume, axes)
    if values.ndim != len(which):
        message = (
            f"{name}.ndim ({values.ndim}) must match len(axes) ({len(which)}): "
            "there is to be an axis for each one that is filtered"
        )
        raise RuntimeError(message)
    return values if axes is None else values.transpose(np.argsort(np.argsort(which)))


def spread_mask(values: NDArray[Any], volume: Volume, axes: Any) -> NDArray[Any]:
    """A footprint whose axes are in the order of `axes`, with an axis for every axis of `volume`."""
    if axes is None:
        return values
    which = filtered_axes(volume, axes)
    order = np.argsort(which)
    shape = [1] * volume.ndim
    for axis, n in zip(which, values.shape, strict=True):
        shape[axis] = n
    return values.transpose(order).reshape(shape)
