"""Means, correlations and derivatives of differences."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arrayloom._volumes.sources import as_volume
from arrayloom._volumes.volume import Volume
from arrayloom.filters._common import (
    Devices,
    Input,
    Integers,
    Limit,
    Modes,
    Output,
    Result,
    Sizes,
    box_sizes,
    check_weights,
    filtered_axes,
    finish,
    float_of,
    in_order,
    linear_of,
    modes_of,
    one_each,
    points_before,
    precise,
    rounded,
    turned_origins,
    wanted_dtype,
    warn_caller,
)
from arrayloom.filters._kept import kept
from arrayloom.filters._named import by_name
from arrayloom.filters._sums import Taps, complex_sums, linear_sums, sum_of, weighted_sums


def _for_means(volume: Volume, output: Output, inexact: set[str], mode: Modes, cval: Any) -> Volume:
    """`volume` as means are taken of it: whole numbers have exact sums, others the precision of `output`.

    Beside the modes `inexact`, a constant border of another number has no exact sums.
    """
    modes = {mode} if isinstance(mode, str) else set(one_each("mode", mode, np.size(mode)))
    constant = modes & {"constant", "grid-constant"}
    exact = not modes & inexact and not (constant and cval != np.rint(cval))
    return volume if volume.dtype.kind in "biu" and exact else precise(volume, output)


@kept
def uniform_filter(
    input: Input,
    size: Sizes = 3,
    output: Output = None,
    mode: Modes = "reflect",
    cval: complex = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Mean over a box of `size` voxels.

    Examples
    --------
    >>> uniform_filter([1.0, 2.0, 6.0], 3).round(3).tolist()
    [1.333, 3.0, 4.667]
    """
    volume = as_volume(input)
    which = filtered_axes(volume, axes)
    size, count = by_name("size", size, volume, which, 1), len(which)
    # Windows that are clipped are weighted.
    volume = _for_means(volume, output, {"renormalize"}, mode, cval)
    sizes = box_sizes(size, count)
    for axis, points in zip(which, sizes, strict=True):
        check_weights(points, volume, axis)
    rows = zip(
        which,
        sizes,
        one_each("origin", origin, count),
        modes_of(mode, count),
        strict=True,
    )
    taps: list[Taps] = [
        (a, [1.0 / s] * s, points_before(s, o), m, cval) for a, s, o, m in rows if s > 1
    ]
    result = linear_sums(volume, taps, wanted_dtype(output, linear_of(volume.dtype)))
    return finish(input, result, output, memory_limit, devices)


@kept
def uniform_filter1d(
    input: Input,
    size: int,
    axis: int = -1,
    output: Output = None,
    mode: str = "reflect",
    cval: complex = 0.0,
    origin: int = 0,
    *,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Mean over `size` voxels along one axis.

    Examples
    --------
    >>> uniform_filter1d([3, 6, 9], 3).tolist()
    [4, 6, 8]
    """
    points_before(index(size), origin)
    return uniform_filter(
        input,
        size,
        output,
        mode,
        cval,
        origin,
        axes=(axis,),
        memory_limit=memory_limit,
        devices=devices,
    )


@kept
def mean_filter(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: complex = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Mean over the true points of `footprint`, or over a box of `size`.

    Examples
    --------
    >>> mean_filter([1.0, 2.0, 6.0], footprint=[True, False, True]).tolist()
    [1.5, 3.5, 4.0]
    """
    if footprint is None:
        return uniform_filter(
            input,
            3 if size is None else size,
            output,
            mode,
            cval,
            origin,
            axes=axes,
            memory_limit=memory_limit,
            devices=devices,
        )
    if size is not None:
        warn_caller("ignoring size because footprint is set")
    volume = _for_means(as_volume(input), output, set(), mode, cval)
    mask = in_order("footprint", np.asarray(footprint, bool), volume, axes)
    weights = mask / max(mask.sum(), 1)
    result = weighted_sums(
        volume, weights, mode, cval, origin, axes, wanted_dtype(output, linear_of(volume.dtype))
    )
    return finish(input, result, output, memory_limit, devices)


def _weights(weights: ArrayLike) -> NDArray[Any]:
    values = np.asarray(weights)
    return values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)


def _line(weights: ArrayLike) -> NDArray[Any]:
    """The weights of one axis."""
    values = _weights(weights)
    if values.ndim != 1 or not values.size:
        message = f"no filter weights given along one axis, but of shape {values.shape}"
        raise RuntimeError(message)
    return values


def _weighted_dtype(volume: Volume, weights: NDArray[Any]) -> np.dtype[Any]:
    if weights.dtype.kind == "c":
        return np.promote_types(volume.dtype, np.complex64)
    return float_of(volume.dtype) if (weights < 0).any() else linear_of(volume.dtype)


@kept
def correlate(
    input: Input,
    weights: ArrayLike,
    output: Output = None,
    mode: Modes = "reflect",
    cval: complex = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Sum of the voxels of a window, times `weights`; floats for integers if a weight is negative.

    Complex weights are conjugated, as NumPy's and SciPy's `correlate` do, and the result is complex.

    Examples
    --------
    >>> correlate([1.0, 2.0, 4.0], [-1, 0, 1]).tolist()
    [1.0, 3.0, 2.0]
    """
    return _weighted(
        input, weights, output, mode, cval, origin, axes, memory_limit, devices, mirrored=False
    )


def _weighted(
    x: Input,
    weights: ArrayLike,
    output: Output,
    mode: Modes,
    cval: complex,
    origin: Integers,
    axes: Any,
    limit: Limit,
    devices: Devices,
    *,
    mirrored: bool,
) -> Result:
    """Sums of the voxels of a window times `weights`, which are conjugated, or times the `mirrored` ones, which are not."""
    volume = precise(as_volume(x), output)
    values = in_order("weights", _weights(weights), volume, axes)
    if mirrored:
        origin = turned_origins(origin, values.shape)
        values = np.flip(values)
    else:
        values = values.conj()
    dtype = wanted_dtype(output, _weighted_dtype(volume, values))

    def sums(values: NDArray[Any], dtype: np.dtype[Any]) -> Volume:
        return weighted_sums(volume, values, mode, cval, origin, axes, dtype)

    if values.dtype.kind == "c":
        result = complex_sums(volume, values, dtype, sums)
    else:
        result = sums(values, dtype)
    return finish(x, result, output, limit, devices)


@kept
def convolve(
    input: Input,
    weights: ArrayLike,
    output: Output = None,
    mode: Modes = "reflect",
    cval: complex = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Convolution: `correlate` with mirrored weights, which are not conjugated.

    Examples
    --------
    >>> convolve([1.0, 2.0, 4.0], [1, 0, -1]).tolist()
    [1.0, 3.0, 2.0]
    """
    return _weighted(
        input, weights, output, mode, cval, origin, axes, memory_limit, devices, mirrored=True
    )


@kept
def correlate1d(
    input: Input,
    weights: ArrayLike,
    axis: int = -1,
    output: Output = None,
    mode: str = "reflect",
    cval: complex = 0.0,
    origin: int = 0,
    *,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Weighted sum along one axis.

    Examples
    --------
    >>> correlate1d([2, 8, 0, 4, 1, 9, 9, 0], weights=[1, 3]).tolist()
    [8, 26, 8, 12, 7, 28, 36, 9]
    """
    volume = precise(as_volume(input), output)
    values = _line(weights)
    before = points_before(len(values), origin)
    at, border = filtered_axes(volume, (axis,))[0], modes_of(mode, 1)[0]
    dtype = wanted_dtype(output, _weighted_dtype(volume, values))

    def sums(values: NDArray[Any], dtype: np.dtype[Any]) -> Volume:
        return linear_sums(volume, [(at, values.tolist(), before, border, cval)], dtype)

    if values.dtype.kind == "c":
        result = complex_sums(volume, values.conj(), dtype, sums)
    else:
        result = sums(values, dtype)
    return finish(input, result, output, memory_limit, devices)


@kept
def convolve1d(
    input: Input,
    weights: ArrayLike,
    axis: int = -1,
    output: Output = None,
    mode: str = "reflect",
    cval: complex = 0.0,
    origin: int = 0,
    *,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Convolution along one axis.

    Examples
    --------
    >>> convolve1d([2, 8, 0, 4, 1, 9, 9, 0], weights=[1, 3]).tolist()
    [14, 24, 4, 13, 12, 36, 27, 0]
    """
    values = _line(weights).conj()
    origin = -index(origin) - (len(values) % 2 == 0)
    return correlate1d(
        input,
        values[::-1],
        axis,
        output,
        mode,
        cval,
        origin,
        memory_limit=memory_limit,
        devices=devices,
    )


def _derivative(
    volume: Volume, axis: int, smooth: list[float], mode: Modes, cval: complex, dtype: np.dtype[Any]
) -> Volume:
    modes = modes_of(mode, volume.ndim)
    at = filtered_axes(volume, (axis,))[0]
    steep: list[Taps] = [(at, [-1.0, 0.0, 1.0], 1, modes[at], cval)]
    flat: list[Taps] = [(d, smooth, 1, modes[d], cval) for d in range(volume.ndim) if d != at]
    if cval != 0 and "constant" in "".join(modes):
        # What a constant stands for depends on the order of the passes; SciPy's derives first.
        kind = float_of(volume.dtype)
        return linear_sums(linear_sums(volume, steep, kind), flat, dtype)
    return linear_sums(volume, steep + flat, dtype)


@kept
def sobel(
    input: Input,
    axis: int = -1,
    output: Output = None,
    mode: Modes = "reflect",
    cval: complex = 0.0,
    *,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Sobel's derivative along `axis`; floats for integers, so nothing wraps around.

    Examples
    --------
    >>> import numpy as np
    >>> sobel(np.array([10, 20, 5], np.uint8)).tolist()
    [10.0, -5.0, -15.0]
    """
    volume = precise(as_volume(input), output)
    dtype = wanted_dtype(output, float_of(volume.dtype))
    return finish(
        input,
        _derivative(volume, axis, [1.0, 2.0, 1.0], mode, cval, dtype),
        output,
        memory_limit,
        devices,
    )


@kept
def prewitt(
    input: Input,
    axis: int = -1,
    output: Output = None,
    mode: Modes = "reflect",
    cval: complex = 0.0,
    *,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Prewitt's derivative along `axis`; floats for integers.

    Examples
    --------
    >>> prewitt([1.0, 2.0, 4.0]).tolist()
    [1.0, 3.0, 2.0]
    """
    volume = precise(as_volume(input), output)
    dtype = wanted_dtype(output, float_of(volume.dtype))
    return finish(
        input,
        _derivative(volume, axis, [1.0, 1.0, 1.0], mode, cval, dtype),
        output,
        memory_limit,
        devices,
    )


@kept
def laplace(
    input: Input,
    output: Output = None,
    mode: Modes = "reflect",
    cval: complex = 0.0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Sum of second differences along all axes; floats for integers.

    Examples
    --------
    >>> laplace([0.0, 0.0, 1.0, 0.0, 0.0]).tolist()
    [0.0, 1.0, -2.0, 1.0, 0.0]
    """
    volume = precise(as_volume(input), output)
    kind = float_of(volume.dtype)
    which = filtered_axes(volume, axes)
    modes = modes_of(mode, len(which))
    dtype = wanted_dtype(output, kind)
    if not which:
        result = rounded(volume, dtype)
    elif "renormalize" not in modes:
        rank = len(which)
        weights, middle = [0.0] * 3**rank, 3**rank // 2
        weights[middle] = -2.0 * rank
        for d in range(rank):
            weights[middle - 3**d] = weights[middle + 3**d] = 1.0
        star = np.reshape(weights, (3,) * rank)
        result = weighted_sums(volume, star, modes, cval, 0, axes, dtype)
    else:
        parts = [
            linear_sums(volume, [(a, [1.0, -2.0, 1.0], 1, m, cval)], kind)
            for a, m in zip(which, modes, strict=True)
        ]
        result = rounded(sum_of(parts), dtype)
    return finish(input, result, output, memory_limit, devices)
