"""Smoothing that keeps detail."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

from typing import Any

import numpy as np

from arrayloom import volumes
from arrayloom._volume import as_volume
from arrayloom.filters._common import (
    Input,
    Integers,
    Limit,
    Modes,
    Numbers,
    Output,
    Result,
    filtered_axes,
    finish,
    footprint_of,
    linear_of,
    one_each,
    spread_mask,
    wanted_dtype,
)
from arrayloom.filters._statistics import local_statistic


def wiener_filter(
    input: Input,
    size: Any = 3,
    noise: float | None = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Wiener's adaptive filter: windows that vary less than noise give their mean, others keep detail.

    With mean ``m`` and variance ``v`` of the window it is ``m + max(0, 1 - noise / v) * (x - m)``, as in
    `scipy.signal.wiener`.

    Parameters
    ----------
    noise
        Variance of the noise; by default the mean variance over all windows of the whole volume, which
        is read for it at once.

    Returns
    -------
    array or volume
        Of the input's dtype (``float32`` for ``bool``).

    Examples
    --------
    >>> wiener_filter([1.0, 3.0, 1.0, 9.0], 3, noise=2.0).round(3).tolist()
    [1.667, 1.667, 1.577, 8.625]
    """
    volume = as_volume(input)
    points = footprint_of(volume, size, footprint, axes)
    if noise is None:
        wide = np.dtype(np.float64)
        spread = local_statistic(volume, ("var", []), points, mode, cval, origin, axes, wide)
        level = float(volumes.sum(spread, memory_limit=memory_limit)) / max(volume.size, 1)
    else:
        level = float(noise)
    dtype = wanted_dtype(output, linear_of(volume.dtype))
    result = local_statistic(volume, ("wiener", [level]), points, mode, cval, origin, axes, dtype)
    return finish(input, result, output, memory_limit)


def bilateral_filter(
    input: Input,
    sigma_color: float,
    sigma_spatial: Numbers = 1.0,
    size: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """A mean that counts voxels by their distance, and by how near their value is: it keeps edges.

    Source: C. Tomasi and R. Manduchi, Bilateral filtering for gray and color images, ICCV 1998.

    Parameters
    ----------
    sigma_color
        Deviation of the weight of differences of values, in units of the values.
    sigma_spatial
        Deviation of the weight of distances, in voxels; one, or one for each filtered axis.
    size
        Voxels of the window; by default ``2 * ceil(3 * sigma_spatial) + 1``.

    Returns
    -------
    array or volume
        Of the input's dtype (``float32`` for ``bool``).

    Examples
    --------
    >>> bilateral_filter([0.0, 1.0, 0.0, 100.0, 101.0, 100.0], 5.0, 1.0, 3).round(1).tolist()
    [0.3, 0.5, 0.4, 100.4, 100.5, 100.3]
    """
    volume = as_volume(input)
    count = len(filtered_axes(volume, axes))
    sigmas = [float(s) for s in one_each("sigma_spatial", sigma_spatial, count)]
    if min(sigmas, default=1.0) <= 0:
        message = f"sigma_spatial {sigma_spatial} has to be positive"
        raise ValueError(message)
    lengths = [2 * int(np.ceil(3 * s)) + 1 for s in sigmas] if size is None else size
    mask = footprint_of(volume, lengths, None, axes)
    far: Any = 0.0
    places = np.ogrid[tuple(slice(-(n // 2), n - n // 2) for n in mask.shape)]
    for s, x in zip(sigmas, places, strict=True):
        far = far + (x / s) ** 2
    weights = spread_mask(np.exp(-0.5 * far), volume, axes).ravel().tolist()
    dtype = wanted_dtype(output, linear_of(volume.dtype))
    numbers = [float(sigma_color), *weights]
    result = local_statistic(volume, ("bilateral", numbers), mask, mode, cval, 0, axes, dtype)
    return finish(input, result, output, memory_limit)
