"""Grey morphology: erosion, dilation, and what they are steps of.

A structuring element is a box (`size`), a set of points (`footprint`), or heights over its points
(`structure`): erosion then takes them from the voxels, dilation adds them.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arrayloom._ext import VolumeExpr
from arrayloom._volumes.elementwise import elementwise
from arrayloom._volumes.sources import as_volume
from arrayloom._volumes.volume import Volume
from arrayloom.filters._common import (
    Devices,
    Footprint,
    Input,
    Integers,
    Limit,
    Modes,
    Output,
    Result,
    box_or_points,
    finish,
    float_of,
    footprint_of,
    in_order,
    native,
    one_each,
    rounded,
    spread_mask,
    turned_origins,
    wanted_dtype,
    warn_caller,
    window_of,
)
from arrayloom.filters._kept import kept
from arrayloom.filters._pointwise import subtracted
from arrayloom.filters._rank import extremum, reached


@dataclass(frozen=True)
class _Element:
    """A structuring element, and how it lies on a volume."""

    points: Footprint
    heights: NDArray[np.float64] | None
    mode: Modes
    cval: float
    origin: Any
    axes: Any

    def step(self, volume: Volume, kind: str) -> Volume:
        """An erosion, ``"e"``, or a dilation, ``"d"``; by heights of whole numbers in double precision."""
        points, heights, origin = self.points, self.heights, self.origin
        dilates = kind == "d"
        if dilates:
            origin = turned_origins(origin, points.shape)
            points = points.flipped()
            heights = None if heights is None else np.flip(heights)
        if heights is None:
            return extremum(volume, dilates, points, self.mode, self.cval, origin, self.axes)
        window = window_of(volume, points.shape, self.mode, self.cval, origin, self.axes)
        flat = points.points(volume, self.axes)
        each = spread_mask(heights, volume, self.axes).ravel()[flat].tolist()

        def build(expr: VolumeExpr, of: list[int]) -> int:
            return expr.heights(of[0], dilates, window, flat, each)

        result = native([volume], np.dtype(np.float64), build)
        return result if volume.dtype.kind in "iu" else rounded(result, volume.dtype)

    def range(self, volume: Volume) -> Volume | None:
        """The dilation minus the erosion, both found together; for boxes with the voxel in their middle only."""
        shape = self.points.shape
        origins = [index(o) for o in one_each("origin", self.origin, len(shape))]
        middle = all(n % 2 for n in shape) and not any(origins)
        if self.heights is not None or not middle or self.points.mask is not None:
            return None
        window = reached(window_of(volume, shape, self.mode, self.cval, 0, self.axes), volume)

        def build(expr: VolumeExpr, of: list[int]) -> int:
            return expr.range(of[0], window)

        return native([volume], volume.dtype, build)

    def steps(self, volume: Volume, kinds: str) -> Volume:
        """Erosions and dilations one after the other, such as ``"ed"`` for an opening."""
        for kind in kinds:
            volume = self.step(volume, kind)
        return volume


def _element(
    volume: Volume,
    shape: tuple[Any, Any, Any],
    mode: Modes,
    cval: float,
    origin: Any,
    axes: Any,
) -> _Element:
    """The structuring element of `size`, `footprint` and `structure`."""
    size, footprint, structure = shape
    if size is None and footprint is None and structure is None:
        message = "size, footprint, or structure must be specified"
        raise ValueError(message)
    if structure is None:
        points = footprint_of(volume, size, footprint, axes, whole=False)
        return _Element(points, None, mode, cval, origin, axes)
    if size is not None and footprint is not None:
        warn_caller("ignoring size because footprint is set")
    heights = in_order("structure", np.asarray(structure, np.float64), volume, axes)
    mask = np.ones(heights.shape, bool)
    if footprint is not None:
        mask = in_order("footprint", np.asarray(footprint, bool), volume, axes)
    if mask.shape != heights.shape or not mask.any():
        message = (
            f"a footprint of shape {mask.shape} for a structure of shape {heights.shape}; "
            "give one true or false for each height, and at least one true"
        )
        raise ValueError(message)
    return _Element(box_or_points(mask), heights, mode, cval, origin, axes)


def _difference(a: Volume, b: Volume) -> Volume:
    """`a` minus `b`, in double precision if one of them is."""
    if a.dtype.kind == "b":
        return elementwise(np.bitwise_xor, [a, b])
    if a.dtype == b.dtype:
        return subtracted(a, b)
    return a.astype(np.float64) - b.astype(np.float64)


def _rounded(
    x: Input, kind: np.dtype[Any], result: Volume, output: Output, limit: Limit, devices: Devices
) -> Result:
    """The result in `kind`, the dtype of the input, or in the one that was asked for."""
    return finish(x, rounded(result, wanted_dtype(output, kind)), output, limit, devices)


@kept
def grey_erosion(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Smallest voxel of a window; with heights, of the voxels minus the heights.

    Examples
    --------
    >>> grey_erosion([3, 1, 2, 5, 4], 3).tolist()
    [1, 1, 1, 2, 4]
    >>> grey_erosion([3, 1, 2, 5, 4], structure=[0, 2, 0]).tolist()
    [1, -1, 0, 2, 2]
    """
    volume = as_volume(input)
    element = _element(volume, (size, footprint, structure), mode, cval, origin, axes)
    result = element.step(volume, "e")
    return _rounded(input, volume.dtype, result, output, memory_limit, devices)


@kept
def grey_dilation(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Greatest voxel of the mirrored window; with heights, of the voxels plus the heights.

    Examples
    --------
    >>> grey_dilation([3, 1, 2, 5, 4], 3).tolist()
    [3, 3, 5, 5, 5]
    """
    volume = as_volume(input)
    element = _element(volume, (size, footprint, structure), mode, cval, origin, axes)
    result = element.step(volume, "d")
    return _rounded(input, volume.dtype, result, output, memory_limit, devices)


@kept
def grey_opening(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    iterations: int = 1,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Erosion, then dilation; each `iterations` times.

    Examples
    --------
    >>> grey_opening([1, 1, 9, 1, 1], 3).tolist()
    [1, 1, 1, 1, 1]
    """
    volume = as_volume(input)
    element = _element(volume, (size, footprint, structure), mode, cval, origin, axes)
    result = element.steps(volume, "e" * iterations + "d" * iterations)
    return _rounded(input, volume.dtype, result, output, memory_limit, devices)


@kept
def grey_closing(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    iterations: int = 1,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Dilation, then erosion; each `iterations` times.

    Examples
    --------
    >>> grey_closing([9, 9, 1, 9, 9], 3).tolist()
    [9, 9, 9, 9, 9]
    """
    volume = as_volume(input)
    element = _element(volume, (size, footprint, structure), mode, cval, origin, axes)
    result = element.steps(volume, "d" * iterations + "e" * iterations)
    return _rounded(input, volume.dtype, result, output, memory_limit, devices)


@kept
def white_tophat(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """The array minus its opening.

    Examples
    --------
    >>> white_tophat([1, 1, 9, 1, 1], 3).tolist()
    [0, 0, 8, 0, 0]
    """
    volume = as_volume(input)
    element = _element(volume, (size, footprint, structure), mode, cval, origin, axes)
    opened = element.steps(volume, "ed")
    result = _difference(volume, opened)
    return _rounded(input, volume.dtype, result, output, memory_limit, devices)


@kept
def black_tophat(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """The closing of an array minus itself.

    Examples
    --------
    >>> black_tophat([9, 9, 1, 9, 9], 3).tolist()
    [0, 0, 8, 0, 0]
    """
    volume = as_volume(input)
    element = _element(volume, (size, footprint, structure), mode, cval, origin, axes)
    closed = element.steps(volume, "de")
    result = _difference(closed, volume)
    return _rounded(input, volume.dtype, result, output, memory_limit, devices)


@kept
def morphological_gradient(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Dilation minus erosion.

    Examples
    --------
    >>> morphological_gradient([1, 1, 9, 9], 3).tolist()
    [0, 8, 8, 0]
    """
    volume = as_volume(input)
    element = _element(volume, (size, footprint, structure), mode, cval, origin, axes)
    both = element.range(volume)
    if both is not None:
        return _rounded(input, volume.dtype, both, output, memory_limit, devices)
    high, low = element.step(volume, "d"), element.step(volume, "e")
    result = _difference(high, low)
    return _rounded(input, volume.dtype, result, output, memory_limit, devices)


@kept
def morphological_laplace(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Dilation plus erosion minus twice the array; floats for integers.

    Examples
    --------
    >>> morphological_laplace([1.0, 1.0, 9.0, 9.0], 3).tolist()
    [0.0, 8.0, -8.0, 0.0]
    """
    volume = as_volume(input)
    element = _element(volume, (size, footprint, structure), mode, cval, origin, axes)
    kind = float_of(volume.dtype)
    high, low, own = (
        v.astype(kind) for v in (element.step(volume, "d"), element.step(volume, "e"), volume)
    )
    result = (high - own) - (own - low)
    return finish(input, rounded(result, wanted_dtype(output, kind)), output, memory_limit, devices)


opening = grey_opening
closing = grey_closing
