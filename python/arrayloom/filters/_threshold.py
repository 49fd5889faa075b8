"""Local thresholds."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

from typing import Any

import numpy as np

from arrayloom._volumes.sources import as_volume
from arrayloom.filters._common import (
    Devices,
    Input,
    Limit,
    Modes,
    Output,
    Result,
    finish,
    float_of,
    footprint_of,
    wanted_dtype,
)
from arrayloom.filters._kept import kept
from arrayloom.filters._statistics import local_statistic


@kept
def threshold_niblack(
    input: Input,
    window_size: Any = 15,
    k: float = 0.2,
    *,
    output: Output = None,
    mode: Modes = "mirror",
    cval: float = 0.0,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Niblack's threshold of every voxel: ``mean - k * std`` of its window, as floats.

    Names, defaults and faces are `skimage.filters.threshold_niblack`'s. Source: W. Niblack, An
    Introduction to Digital Image Processing, 1986.

    Examples
    --------
    >>> threshold_niblack([1.0, 3.0, 1.0, 3.0], 2, k=1.0).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    volume = as_volume(input)
    points = footprint_of(volume, window_size, None, axes)
    dtype = wanted_dtype(output, float_of(volume.dtype))
    result = local_statistic(volume, ("niblack", [float(k)]), points, mode, cval, 0, axes, dtype)
    return finish(input, result, output, memory_limit, devices)


@kept
def threshold_sauvola(
    input: Input,
    window_size: Any = 15,
    k: float = 0.2,
    r: float | None = None,
    *,
    output: Output = None,
    mode: Modes = "mirror",
    cval: float = 0.0,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Sauvola's threshold of every voxel: ``mean * (1 + k * (std / r - 1))`` of its window, as floats.

    Names, defaults and faces are `skimage.filters.threshold_sauvola`'s. Source: J. Sauvola and
    M. Pietikainen, Adaptive document image binarization, Pattern Recognition 33(2), 2000.

    Parameters
    ----------
    r
        The deviation that counts as full contrast; by default half of the dtype's range, and 1 for
        floats.

    Examples
    --------
    >>> threshold_sauvola([1.0, 3.0, 1.0, 3.0], 2, k=0.5, r=2.0).tolist()
    [1.5, 1.5, 1.5, 1.5]
    """
    volume = as_volume(input)
    points = footprint_of(volume, window_size, None, axes)
    if r is None:
        r = 1.0
        if volume.dtype.kind in "iu":
            info = np.iinfo(volume.dtype)
            r = 0.5 * (float(info.max) - float(info.min))
        elif volume.dtype.kind == "b":
            r = 0.5
    dtype = wanted_dtype(output, float_of(volume.dtype))
    numbers = [float(k), float(r)]
    result = local_statistic(volume, ("sauvola", numbers), points, mode, cval, 0, axes, dtype)
    return finish(input, result, output, memory_limit, devices)
