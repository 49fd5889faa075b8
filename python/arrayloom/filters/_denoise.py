"""Smoothing that keeps detail."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

from typing import Any

import numpy as np

from arrayloom import volumes
from arrayloom._ext import VolumeExpr
from arrayloom._volumes.sources import as_volume
from arrayloom.filters._binary import generate_binary_structure
from arrayloom.filters._common import (
    Devices,
    Footprint,
    Input,
    Integers,
    Limit,
    Modes,
    Numbers,
    Output,
    Result,
    as_output,
    box_or_points,
    filtered_axes,
    finish,
    float_of,
    footprint_of,
    linear_of,
    modes_of,
    native,
    one_each,
    spread_mask,
    wanted_dtype,
)
from arrayloom.filters._kept import kept
from arrayloom.filters._named import Spacing, in_voxels, named_axes
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
    devices: Devices = None,
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
    points = footprint_of(volume, size if footprint is None else None, footprint, axes)
    if noise is None:
        wide = np.dtype(np.float64)
        spread = local_statistic(volume, ("var", []), points, mode, cval, origin, axes, wide)
        level = float(volumes.sum(spread, memory_limit=memory_limit)) / max(volume.size, 1)
    else:
        level = float(noise)
    dtype = wanted_dtype(output, linear_of(volume.dtype))
    result = local_statistic(volume, ("wiener", [level]), points, mode, cval, origin, axes, dtype)
    return finish(input, result, output, memory_limit, devices)


@kept
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
    devices: Devices = None,
    spacing: Spacing = None,
) -> Result:
    """A mean that counts voxels by their distance, and by how near their value is: it keeps edges.

    Source: C. Tomasi and R. Manduchi, Bilateral filtering for gray and color images, ICCV 1998.

    Parameters
    ----------
    sigma_color
        Deviation of the weight of differences of values, in units of the values.
    sigma_spatial
        Deviation of the weight of distances, in voxels; one, or one for each filtered axis. By names of axes, only
        those are filtered.
    spacing
        As of `gaussian_filter`: `sigma_spatial` is then in units of these distances.
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
    axes = filtered_axes(volume, named_axes("sigma_spatial", sigma_spatial, volume, axes))
    given = in_voxels("sigma_spatial", sigma_spatial, volume, axes, spacing)
    sigmas = [float(s) for s in one_each("sigma_spatial", given, len(axes))]
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
    return finish(input, result, output, memory_limit, devices)


@kept
def nl_means(
    input: Input,
    h: float,
    search: Integers = 10,
    patch: Integers = 2,
    distance: str = "ssd",
    *,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Non-local means: a mean of the voxels around, weighted by how alike their surroundings are.

    The weight of a voxel is ``exp(-d / h**2)`` with a distance ``d`` of the patches around both voxels.
    Source: A. Buades, B. Coll and J.-M. Morel, A non-local algorithm for image denoising, CVPR 2005.

    Parameters
    ----------
    h
        How different patches may be, in units of the voxels for ``ssd``.
    search
        How far away voxels may be; one, or one for each filtered axis.
    patch
        How far a patch reaches; one, or one for each filtered axis.
    distance
        ``ssd``: the mean squared difference of the patches. ``fisher``: the squared difference of their
        means over the sum of their variances, which needs no units and less time; the voxel itself then
        counts as much as the one that is most like it.

    Returns
    -------
    array or volume
        Of the input's dtype (``float32`` for ``bool``).

    Examples
    --------
    >>> nl_means([0.0, 1.0, 0.0, 100.0, 101.0, 100.0], 5.0, 2, 0).round(2).tolist()
    [0.39, 0.26, 0.32, 100.32, 100.26, 100.39]
    """
    volume = as_volume(input)
    which = filtered_axes(volume, axes)
    count = len(which)
    if distance not in {"ssd", "fisher"}:
        message = f"distance {distance!r} not supported; use ssd or fisher"
        raise ValueError(message)
    if volume.dtype.kind == "c":
        message = "non-local means of complex numbers; filter their parts"
        raise TypeError(message)
    reach = [(0, 0, "reflect", 0.0)] * max(volume.ndim, 1)
    patches = [int(p) for p in one_each("patch", patch, count)]
    shifts = one_each("search", search, count)
    for axis, s, p, m in zip(which, shifts, patches, modes_of(mode, count), strict=True):
        reach[axis] = (int(s), p, m, cval)
    dtype = wanted_dtype(output, linear_of(volume.dtype))
    operands = [volume]
    if distance == "fisher":
        box = Footprint(tuple(2 * p + 1 for p in patches))
        wide = np.dtype(np.float64)
        # Niblack's threshold without deviations is the mean.
        operands += [
            local_statistic(volume, statistic, box, mode, cval, 0, axes, wide)
            for statistic in (("niblack", [0.0]), ("var", []))
        ]

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.nl_means(of, reach, float(h), dtype.char)

    result = native(operands, dtype, build)
    return finish(input, result, output, memory_limit, devices)


@kept
def anisotropic_diffusion(
    input: Input,
    iterations: int = 1,
    kappa: float = 50.0,
    step: float = 0.1,
    option: int = 1,
    *,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Diffusion that stops at edges.

    Every iteration adds ``step * sum(g(d) * d)`` over the differences ``d`` to the direct neighbours.
    Source: P. Perona and J. Malik, Scale-space and edge detection using anisotropic diffusion, IEEE
    Transactions on Pattern Analysis and Machine Intelligence 12(7), 1990.

    Parameters
    ----------
    kappa
        The difference that counts as an edge.
    step
        How much flows in one iteration; stable up to 1 over the number of direct neighbours.
    option
        1: ``g = exp(-(d / kappa)**2)``. 2: ``g = 1 / (1 + (d / kappa)**2)``.

    Returns
    -------
    array or volume
        Floats.

    Examples
    --------
    >>> anisotropic_diffusion([0.0, 1.0, 0.0, 99.0], 1, kappa=5.0, step=0.2).round(3).tolist()
    [0.192, 0.616, 0.192, 99.0]
    """
    volume = as_volume(input)
    which = filtered_axes(volume, axes)
    if iterations < 1 or option not in {1, 2}:
        message = (
            f"{iterations} iterations with option {option}; give at least 1, and option 1 or 2"
        )
        raise ValueError(message)
    points = box_or_points(generate_binary_structure(len(which), 1))
    kind = float_of(volume.dtype)
    numbers = [float(kappa), float(step), float(option)]
    result = volume
    for _ in range(iterations):
        result = local_statistic(result, ("diffusion", numbers), points, mode, cval, 0, which, kind)
    return finish(
        input, as_output(result, wanted_dtype(output, kind)), output, memory_limit, devices
    )
