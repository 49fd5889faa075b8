"""What all operations of `arrayloom.compat.hip` share: which axes are space, how radii, weights and casts are taken."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays of many libraries come in; their element types are known at run time only.

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from arrayloom._volumes.compute import compute
from arrayloom._volumes.elementwise import blockwise
from arrayloom._volumes.sources import as_volume
from arrayloom._volumes.volume import Volume

__all__ = [
    "MODE",
    "Image",
    "Result",
    "converted",
    "finished",
    "image_of",
    "kernel_of",
    "reach_of",
    "rounds",
    "sigmas_of",
    "space_axes",
    "widened",
]

Image: TypeAlias = ArrayLike | Volume
Result: TypeAlias = Any

MODE = "renormalize"


def image_of(image: Image) -> Volume:
    """The image that is filtered, of real numbers."""
    volume = as_volume(image)
    if volume.dtype.kind == "c":
        message = f"an image of {volume.dtype}; HIP's images are real, so filter its real and its imaginary part"
        raise TypeError(message)
    return volume


def space_axes(volume: Volume) -> list[int]:
    """The filtered axes: the last three, or fewer."""
    if volume.ndim > 5:
        message = (
            f"an image of {volume.ndim} axes; HIP's images have at most 5: time, channel, z, y, x"
        )
        raise ValueError(message)
    return list(range(max(volume.ndim - 3, 0), volume.ndim))


def finished(image: Image, result: Volume) -> Result:
    return result if isinstance(image, Volume) else compute(result)


def widened(volume: Volume) -> Volume:
    return volume.astype(np.float64)


def converted(volume: Volume, dtype: DTypeLike) -> Volume:
    """Clamped to the range of `dtype` and truncated, as HIP stores results."""
    kind: np.dtype[Any] = np.dtype(dtype)
    if kind.kind not in "biu":
        return volume.astype(kind)
    low, high = (0, 1) if kind.kind == "b" else (np.iinfo(kind).min, np.iinfo(kind).max)

    def store(values: NDArray[Any]) -> NDArray[Any]:
        whole = np.trunc(values * (1 + 1e-9))
        safe = np.nan_to_num(np.clip(whole, low, high), nan=0.0)
        # The greatest 64-bit integers are no doubles; comparing keeps them.
        top = whole >= float(high)
        return np.where(top, np.array(high, kind), np.where(top, 0, safe).astype(kind))

    return blockwise(store, [volume], volume.shape, kind, "cast")


def kernel_of(volume: Volume, kernel: ArrayLike) -> tuple[NDArray[np.float64], list[int]]:
    """The weights of a kernel, and the axes they lie along."""
    if np.iscomplexobj(kernel):
        message = "a kernel of complex numbers; HIP's kernels are real, so filter with its real and its imaginary part"
        raise TypeError(message)
    weights = np.asarray(kernel, np.float64)
    which = space_axes(volume)
    while weights.ndim > len(which) and weights.shape[0] == 1:
        weights = weights[0]
    if weights.ndim == 0 or weights.ndim > len(which) or not weights.any():
        message = (
            f"a kernel of shape {np.shape(kernel)} for an image with {len(which)} spatial axes; give an "
            "array with at most as many axes, and at least one weight that is not zero"
        )
        raise ValueError(message)
    return weights, which[len(which) - weights.ndim :]


def sigmas_of(volume: Volume, sigmas: ArrayLike) -> tuple[list[float], list[int]]:
    """Sigmas in the order of axes, from x, y, z; and the axes."""
    given = np.asarray(sigmas, np.float64).ravel().tolist()
    which = space_axes(volume)
    if not len(which) <= len(given) <= 3 or min(given, default=0) < 0:
        message = (
            f"{len(given)} sigmas {given} for {len(which)} spatial axes; "
            "give one for each of x, y and z, none negative"
        )
        raise ValueError(message)
    return given[: len(which)][::-1], which


def reach_of(sigma: float, taps: float) -> int:
    """Voxels on each side of a kernel of so many taps for each sigma; HIP makes their number odd."""
    return max(1, int(taps * sigma)) // 2 if sigma > 0 else 0


def rounds(iterations: int) -> range:
    if iterations < 1:
        message = f"{iterations} iterations; at least 1 is needed"
        raise ValueError(message)
    return range(iterations)
