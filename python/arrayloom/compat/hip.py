"""The operations of the Hydra Image Processor (HIP) with its names and conventions.

``from arrayloom.compat import hip as HIP`` in place of ``import HIP``. Images are arrays of up to five axes
``[time, channel, z, y, x]``, of which the last three (or fewer) are filtered, or volumes of
`arrayloom.volumes.open`. What follows HIP:

- Sigmas are given as ``[x, y, z]``; x is the last axis. Kernels are arrays laid out as images are.
- At faces, windows are clipped and weights scaled to what is left (mode ``renormalize``).
- Results have the dtype of the image: clamped to its range, and truncated towards zero. Values within
  1e-9 (relatively) below a whole number count as that number. `LoG` and `EntropyFilter` give ``float32``.
- Iterations repeat the whole operation, and each gives a result in the dtype of the image.

What differs: arithmetic is in double precision, results do not depend on how the image was cut, and what
HIP leaves undefined (even kernels, kernels with a sum of zero, windows without variance) is defined.
`device` is accepted and not used. Each operation also has HIP's name in ``snake_case``.

Source: E. Wait, M. Winter, A. Cohen, Hydra image processor: 5-D GPU image analysis library with MATLAB
and Python wrappers, Bioinformatics 35(24), 2019.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays of many libraries come in; their element types are known at run time only.

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arrayloom import filters, volumes
from arrayloom._volumes.elementwise import blockwise, elementwise
from arrayloom._volumes.volume import Volume
from arrayloom.compat._hip_rules import (
    MODE,
    Image,
    Result,
    converted,
    finished,
    image_of,
    kernel_of,
    reach_of,
    rounds,
    sigmas_of,
    space_axes,
    widened,
)

__all__ = [
    "Closure",
    "ElementWiseDifference",
    "EntropyFilter",
    "Gaussian",
    "GetMinMax",
    "HighPassFilter",
    "IdentityFilter",
    "LoG",
    "MaxFilter",
    "MeanFilter",
    "MedianFilter",
    "MinFilter",
    "MultiplySum",
    "NLMeans",
    "Opener",
    "StdFilter",
    "Sum",
    "VarFilter",
    "WienerFilter",
    "closure",
    "element_wise_difference",
    "entropy_filter",
    "gaussian",
    "get_min_max",
    "high_pass_filter",
    "identity_filter",
    "max_filter",
    "mean_filter",
    "median_filter",
    "min_filter",
    "multiply_sum",
    "nlmeans",
    "opener",
    "std_filter",
    "sum",
    "var_filter",
    "wiener_filter",
]


def _smooth(volume: Volume, sigmas: ArrayLike) -> Volume:
    each, which = sigmas_of(volume, sigmas)
    reach = [reach_of(s, 5) for s in each]
    return filters.gaussian_filter(volume, each, mode=MODE, radius=reach, axes=which)


def Gaussian(imageIn: Image, sigmas: ArrayLike, numIterations: int = 1, device: int = -1) -> Result:
    """Gaussian smoothing with about 2.5 sigmas on each side; intermediate results are not rounded.

    Examples
    --------
    >>> import numpy as np
    >>> Gaussian(np.array([0.0, 0, 9, 0, 0]), [1, 0, 0]).round(2).tolist()
    [0.7, 2.32, 3.62, 2.32, 0.7]
    """
    volume = image_of(imageIn)
    result = widened(volume)
    for _ in rounds(numIterations):
        result = _smooth(result, sigmas)
    return finished(imageIn, converted(result, volume.dtype))


def HighPassFilter(imageIn: Image, sigmas: ArrayLike, device: int = -1) -> Result:
    """The image minus its Gaussian; negative values become 0.

    Examples
    --------
    >>> HighPassFilter([0.0, 0, 9, 0, 0], [1, 0, 0]).round(2).tolist()
    [0.0, 0.0, 5.38, 0.0, 0.0]
    """
    volume = image_of(imageIn)
    wide = widened(volume)
    result = elementwise(np.maximum, [wide - _smooth(wide, sigmas), 0.0])
    return finished(imageIn, converted(result, volume.dtype))


def LoG(imageIn: Image, sigmas: ArrayLike, device: int = -1) -> Result:
    """Laplacian of Gaussian, each second derivative times the square of its sigma, as ``float32``.

    Windows reach about 5 sigmas. At faces constants still give 0.

    Examples
    --------
    >>> (100 * LoG([0.0, 0, 9, 0, 0], [1, 0, 0])).round().tolist()
    [182.0, 36.0, -346.0, 36.0, 182.0]
    """
    volume = image_of(imageIn)
    each, which = sigmas_of(volume, sigmas)
    reach = [reach_of(s, 10) for s in each]
    wide = widened(volume)
    total: Volume | None = None
    for axis, sigma in enumerate(each):
        if sigma <= 0:
            continue
        order = [2 if a == axis else 0 for a in range(len(each))]
        part = filters.gaussian_filter(wide, each, order, mode=MODE, radius=reach, axes=which)
        scaled = part * sigma**2
        total = scaled if total is None else total + scaled
    result = wide * 0.0 if total is None else total
    return finished(imageIn, converted(result, np.float32))


def _sums(volume: Volume, weights: NDArray[np.float64], axes: list[int]) -> Volume:
    return filters.correlate(volume, weights, mode="constant", axes=axes)


def MultiplySum(
    imageIn: Image, kernel: ArrayLike, numIterations: int = 1, device: int = -1
) -> Result:
    """Sum of the voxels of a window times `kernel`, over the sum of the weights inside of the image.

    A kernel with a sum of zero gives the plain sum, with weights at faces that still add up to zero.

    Examples
    --------
    >>> MultiplySum([1.0, 2.0, 6.0], [1, 2, 1]).round(2).tolist()
    [1.33, 2.75, 4.67]
    """
    volume = image_of(imageIn)
    weights, axes = kernel_of(volume, kernel)
    balanced = abs(weights.sum()) <= 1e-12 * np.abs(weights).sum()
    result = volume
    for _ in rounds(numIterations):
        wide = widened(result)
        if balanced:
            found = filters.correlate(wide, weights, mode=MODE, axes=axes)
        else:
            found = _sums(wide, weights, axes) / _sums(_ones(wide), weights, axes)
        result = converted(found, volume.dtype)
    return finished(imageIn, result)


def _ones(volume: Volume) -> Volume:
    return blockwise(np.ones_like, [volume], volume.shape, np.float64, "ones")


def MeanFilter(
    imageIn: Image, kernel: ArrayLike, numIterations: int = 1, device: int = -1
) -> Result:
    """Sum of the voxels of a window times `kernel`, over the number of weights that are not zero.

    Examples
    --------
    >>> import numpy as np
    >>> MeanFilter(np.array([1, 2, 7], np.uint8), np.ones(3)).tolist()
    [1, 3, 4]
    """
    volume = image_of(imageIn)
    weights, axes = kernel_of(volume, kernel)
    count = (weights != 0).astype(np.float64)
    result = volume
    for _ in rounds(numIterations):
        wide = widened(result)
        sums = _sums(wide, weights, axes)
        result = converted(sums / _sums(_ones(wide), count, axes), volume.dtype)
    return finished(imageIn, result)


def _flat(volume: Volume, kernel: ArrayLike) -> tuple[NDArray[np.bool_], list[int]]:
    """The points of a kernel without weights other than 0 and 1."""
    weights, axes = kernel_of(volume, kernel)
    if not np.isin(weights, [0, 1]).all():
        message = (
            "a kernel with weights other than 0 and 1; this operation takes points, not weights"
        )
        raise ValueError(message)
    return weights != 0, axes


def _pointwise(imageIn: Image, kernel: ArrayLike, run: Callable[..., Volume]) -> Result:
    volume = image_of(imageIn)
    points, axes = _flat(volume, kernel)
    found = run(widened(volume), footprint=points, mode=MODE, axes=axes)
    return finished(imageIn, converted(found, volume.dtype))


def StdFilter(imageIn: Image, kernel: ArrayLike, device: int = -1) -> Result:
    """Population standard deviation over the points of `kernel`, whose weights are 0 or 1.

    Examples
    --------
    >>> StdFilter([1.0, 2.0, 6.0], [1, 1]).tolist()
    [0.0, 0.5, 2.0]
    """
    return _pointwise(imageIn, kernel, filters.std_filter)


def VarFilter(imageIn: Image, kernel: ArrayLike, device: int = -1) -> Result:
    """Population variance over the points of `kernel`, whose weights are 0 or 1.

    Examples
    --------
    >>> VarFilter([1.0, 2.0, 6.0], [1, 1]).tolist()
    [0.0, 0.25, 4.0]
    """
    return _pointwise(imageIn, kernel, filters.var_filter)


def MedianFilter(
    imageIn: Image, kernel: ArrayLike, numIterations: int = 1, device: int = -1
) -> Result:
    """Median over the points of `kernel` that are not zero; the upper one of an even number.

    Examples
    --------
    >>> MedianFilter([3, 1, 2, 50, 4], [1, 1, 1]).tolist()
    [3, 2, 2, 4, 50]
    """
    volume = image_of(imageIn)
    weights, axes = kernel_of(volume, kernel)
    result = volume
    for _ in rounds(numIterations):
        result = filters.median_filter(result, footprint=weights != 0, mode=MODE, axes=axes)
    return finished(imageIn, result)


def _extreme(
    volume: Volume, weights: NDArray[np.float64], axes: list[int], maximum: bool
) -> Volume:
    """Greatest or smallest product of a voxel and its weight; weights of zero do not count."""
    values = np.unique(weights[weights != 0])
    if values.tolist() == [1.0]:
        run = filters.maximum_filter if maximum else filters.minimum_filter
        return run(volume, footprint=weights != 0, mode=MODE, axes=axes)
    wide, total = widened(volume), None
    join = np.maximum if maximum else np.minimum
    for value in values.tolist():
        high = maximum == (value > 0)
        run = filters.maximum_filter if high else filters.minimum_filter
        nothing = -np.inf if high else np.inf
        found = run(wide, footprint=weights == value, mode="constant", cval=nothing, axes=axes)
        total = found * value if total is None else elementwise(join, [total, found * value])
    return converted(wide if total is None else total, volume.dtype)


def _extremes(steps: Sequence[bool], imageIn: Image, kernel: ArrayLike) -> Result:
    volume = image_of(imageIn)
    weights, axes = kernel_of(volume, kernel)
    result = volume
    for maximum in steps:
        result = _extreme(result, weights, axes, maximum)
    return finished(imageIn, result)


def MaxFilter(
    imageIn: Image, kernel: ArrayLike, numIterations: int = 1, device: int = -1
) -> Result:
    """Greatest product of a voxel of a window and its weight.

    Examples
    --------
    >>> MaxFilter([3, 1, 2, 5, 4], [1, 1, 1]).tolist()
    [3, 3, 5, 5, 5]
    """
    return _extremes([True for _ in rounds(numIterations)], imageIn, kernel)


def MinFilter(
    imageIn: Image, kernel: ArrayLike, numIterations: int = 1, device: int = -1
) -> Result:
    """Smallest product of a voxel of a window and its weight.

    Examples
    --------
    >>> MinFilter([3, 1, 2, 5, 4], [1, 1, 1]).tolist()
    [1, 1, 1, 2, 4]
    """
    return _extremes([False for _ in rounds(numIterations)], imageIn, kernel)


def Closure(imageIn: Image, kernel: ArrayLike, numIterations: int = 1, device: int = -1) -> Result:
    """`MaxFilter`, then `MinFilter`; each `numIterations` times.

    Examples
    --------
    >>> Closure([9, 9, 1, 9, 9], [1, 1, 1]).tolist()
    [9, 9, 9, 9, 9]
    """
    steps = [first for first in (True, False) for _ in rounds(numIterations)]
    return _extremes(steps, imageIn, kernel)


def Opener(imageIn: Image, kernel: ArrayLike, numIterations: int = 1, device: int = -1) -> Result:
    """`MinFilter`, then `MaxFilter`; each `numIterations` times.

    Examples
    --------
    >>> Opener([1, 1, 9, 1, 1], [1, 1, 1]).tolist()
    [1, 1, 1, 1, 1]
    """
    steps = [first for first in (False, True) for _ in rounds(numIterations)]
    return _extremes(steps, imageIn, kernel)


def EntropyFilter(imageIn: Image, kernel: ArrayLike, device: int = -1) -> Result:
    """Entropy over the points of `kernel`, in 256 bins over the range of the image, as ``float32``.

    Examples
    --------
    >>> EntropyFilter([1, 1, 1, 5, 9], [1, 1]).tolist()
    [0.0, 0.0, 0.0, 1.0, 1.0]
    """
    volume = image_of(imageIn)
    weights, axes = kernel_of(volume, kernel)
    found = filters.entropy_filter(volume, footprint=weights != 0, mode=MODE, axes=axes)
    return finished(imageIn, found)


def WienerFilter(
    imageIn: Image, kernel: ArrayLike, noiseVariance: float = -1.0, device: int = -1
) -> Result:
    """Wiener's filter over the points of `kernel`, whose weights are 0 or 1.

    With a `noiseVariance` of -1 the noise is estimated as HIP does: the mean variance of all windows,
    times the square of the greatest voxel.

    Examples
    --------
    >>> WienerFilter([1.0, 3.0, 1.0, 9.0], [1, 1, 1], 2.0).round(2).tolist()
    [2.0, 1.67, 1.58, 8.5]
    """
    volume = image_of(imageIn)
    points, axes = _flat(volume, kernel)
    common: dict[str, Any] = {"footprint": points, "mode": MODE, "axes": axes}
    noise = noiseVariance
    if noise == -1 and volume.size:
        spread = converted(filters.var_filter(widened(volume), **common), volume.dtype)
        greatest = float(volumes.min_max(volume)[1])
        noise = float(volumes.sum(spread)) / volume.size * greatest**2
    found = filters.wiener_filter(widened(volume), noise=noise, **common)
    return finished(imageIn, converted(found, volume.dtype))


def NLMeans(
    imageIn: Image,
    h: float,
    searchWindowRadius: int = 10,
    nhoodRadius: int = 2,
    device: int = -1,
) -> Result:
    """Non-local means with Fisher's distance of the means and variances of patches.

    Examples
    --------
    >>> NLMeans([0.0, 1.0, 0.0, 1.0, 99.0, 98.0], 0.5, 3, 1).round(1).tolist()
    [0.4, 0.5, 0.3, 32.4, 57.4, 98.4]
    """
    volume = image_of(imageIn)
    found = filters.nl_means(
        widened(volume),
        h,
        searchWindowRadius,
        nhoodRadius,
        "fisher",
        mode=MODE,
        axes=space_axes(volume),
    )
    return finished(imageIn, converted(found, volume.dtype))


def ElementWiseDifference(image1In: Image, image2In: Image, device: int = -1) -> Result:
    """The first image minus the second one, clamped to the range of its dtype.

    Examples
    --------
    >>> import numpy as np
    >>> ElementWiseDifference(np.array([3, 200], np.uint8), np.array([5, 1], np.uint8)).tolist()
    [0, 199]
    """
    return filters.difference(image1In, image2In)


def IdentityFilter(imageIn: Image, device: int = -1) -> Result:
    """The image itself, through all the machinery.

    Examples
    --------
    >>> IdentityFilter([1, 2]).tolist()
    [1, 2]
    """
    return filters.identity(imageIn)


def Sum(imageIn: Image, device: int = -1) -> Any:
    """The sum of all voxels, exact for integers and rounded once for floats.

    Examples
    --------
    >>> Sum([1, 2, 3])
    6
    """
    return volumes.sum(imageIn)


def GetMinMax(imageIn: Image, device: int = -1) -> tuple[Any, Any]:
    """Smallest and greatest voxel.

    Examples
    --------
    >>> GetMinMax([3, 1, 2])
    (1, 3)
    """
    return volumes.min_max(imageIn)


closure = Closure
element_wise_difference = ElementWiseDifference
entropy_filter = EntropyFilter
gaussian = Gaussian
get_min_max = GetMinMax
high_pass_filter = HighPassFilter
identity_filter = IdentityFilter
max_filter = MaxFilter
mean_filter = MeanFilter
median_filter = MedianFilter
min_filter = MinFilter
multiply_sum = MultiplySum
nlmeans = NLMeans
opener = Opener
std_filter = StdFilter
sum = Sum
var_filter = VarFilter
wiener_filter = WienerFilter
