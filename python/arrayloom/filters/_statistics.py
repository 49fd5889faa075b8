"""Statistics of windows."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

from typing import Any

import numpy as np

from arrayloom import volumes
from arrayloom._ext import VolumeExpr
from arrayloom._volumes.sources import as_volume
from arrayloom._volumes.volume import Volume
from arrayloom.filters import _kept
from arrayloom.filters._common import (
    Devices,
    Footprint,
    Input,
    Integers,
    Limit,
    Modes,
    Output,
    Result,
    finish,
    float_of,
    footprint_of,
    native,
    wanted_dtype,
    window_of,
)
from arrayloom.filters._kept import kept


def local_statistic(
    volume: Volume,
    statistic: tuple[str, list[float]],
    footprint: Footprint,
    mode: Modes,
    cval: float,
    origin: Any,
    axes: Any,
    dtype: np.dtype[Any],
) -> Volume:
    """A statistic of windows: its name in the native half, and its parameters."""
    window = window_of(volume, footprint.shape, mode, cval, origin, axes)
    points = footprint.points(volume, axes)
    name, numbers = statistic
    if volume.dtype.kind == "c":
        message = f"{name} filter of complex numbers; filter their parts"
        raise TypeError(message)

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.local(of[0], window, points, name, numbers, dtype.char)

    return native([volume], dtype, build)


def _spread_of(
    name: str,
    x: Input,
    mask: Any,
    output: Output,
    mode: Modes,
    cval: float,
    origin: Any,
    axes: Any,
    limit: Limit,
    devices: Devices,
) -> Result:
    volume = as_volume(x)
    size, footprint = mask
    # There is always a size.
    points = footprint_of(volume, size if footprint is None else None, footprint, axes)
    dtype = wanted_dtype(output, float_of(volume.dtype))
    result = local_statistic(volume, (name, []), points, mode, cval, origin, axes, dtype)
    return finish(x, result, output, limit, devices)


@kept
def var_filter(
    input: Input,
    size: Any = 3,
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
    """Population variance of a window; floats for integers.

    Computed in double precision, in two passes, so large values with small differences do not cancel.

    Examples
    --------
    >>> var_filter([1.0, 2.0, 6.0], 2).tolist()
    [0.0, 0.25, 4.0]
    """
    return _spread_of(
        "var", input, (size, footprint), output, mode, cval, origin, axes, memory_limit, devices
    )


@kept
def std_filter(
    input: Input,
    size: Any = 3,
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
    """Population standard deviation of a window; floats for integers. See `var_filter`.

    Examples
    --------
    >>> std_filter([1.0, 2.0, 6.0], 2).tolist()
    [0.0, 0.5, 2.0]
    """
    return _spread_of(
        "std", input, (size, footprint), output, mode, cval, origin, axes, memory_limit, devices
    )


@kept
def cv_filter(
    input: Input,
    size: Any = 3,
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
    """Coefficient of variation: standard deviation over mean; floats for integers.

    Windows of zeros give 0; other windows with a mean of zero give infinity.

    Examples
    --------
    >>> cv_filter([1.0, 3.0, 6.0], 2).round(3).tolist()
    [0.0, 0.5, 0.333]
    """
    return _spread_of(
        "cv", input, (size, footprint), output, mode, cval, origin, axes, memory_limit, devices
    )


@kept
def entropy_filter(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    bins: int = 256,
    range: tuple[float, float] | None = None,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Entropy of the values of a window in bits, as ``float32``.

    Parameters
    ----------
    bins
        Number of bins of equal width.
    range
        Where the first bin begins and the last one ends; values beyond count as the nearest bin. By
        default the smallest and the greatest voxel of the whole volume, which is read for it at once.

    Examples
    --------
    >>> entropy_filter([1, 1, 1, 5, 9], 2).tolist()
    [0.0, 0.0, 0.0, 1.0, 1.0]
    """
    volume = as_volume(input)
    if volume.dtype.kind == "c":
        message = "entropy filter of complex numbers; filter their parts"
        raise TypeError(message)
    points = footprint_of(volume, size, footprint, axes)
    if range is None:
        low, high = _range(volume, memory_limit)
    else:
        low, high = range
    numbers = [float(low), float(high), float(bins)]
    dtype = wanted_dtype(output, np.float32)
    result = local_statistic(volume, ("entropy", numbers), points, mode, cval, origin, axes, dtype)
    return finish(input, result, output, memory_limit, devices)


def _range(volume: Volume, limit: Limit) -> tuple[float, float]:
    """The extrema of a volume; 0 and 0 of none."""
    # They are of these voxels only.
    _kept.forgo()
    if volume.size == 0:
        return 0.0, 0.0
    low, high = volumes.min_max(volume, memory_limit=limit)
    if not np.isfinite([float(low), float(high)]).all():
        message = f"the voxels go from {low} to {high}; give a finite range for the bins"
        raise ValueError(message)
    return float(low), float(high)
