"""Binary morphology, with SciPy's names, defaults and borders.

Voxels that are not zero are true. Outside of an array every voxel is `border_value`.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arrayloom._volumes.compute import compute
from arrayloom._volumes.elementwise import blockwise
from arrayloom._volumes.sources import as_volume
from arrayloom._volumes.volume import Volume
from arrayloom.filters._common import (
    Devices,
    Footprint,
    Input,
    Integers,
    Limit,
    Output,
    Result,
    as_output,
    filtered_axes,
    finish,
    in_order,
    is_lazy,
    one_each,
    turned_origins,
)
from arrayloom.filters._kept import kept
from arrayloom.filters._rank import extremum
from arrayloom.filters._steps import Step, Truth, repeated, truth


def generate_binary_structure(rank: int, connectivity: int) -> NDArray[np.bool_]:
    """The points of a 3-wide box that differ from its center along at most `connectivity` axes.

    Examples
    --------
    >>> generate_binary_structure(2, 1).astype(int).tolist()
    [[0, 1, 0], [1, 1, 1], [0, 1, 0]]
    """
    line, steps = np.array([1, 0, 1]), np.array(0)
    for _ in range(rank):
        steps = steps[..., None] + line
    return np.asarray(steps <= max(connectivity, 1), bool)


def iterate_structure(structure: ArrayLike, iterations: int, origin: Integers | None = None) -> Any:
    """A structure dilated by itself; with `origin` also what becomes of it.

    Examples
    --------
    >>> iterate_structure([True, True, True], 2).tolist()
    [True, True, True, True, True]
    """
    points = np.asarray(structure, bool)
    if iterations < 2:
        return points.copy()
    more = iterations - 1
    room = [n + more * (n - 1) for n in points.shape]
    start = [more * (n // 2) for n in points.shape]
    wide = np.zeros(room, bool)
    wide[tuple(slice(s, s + n) for s, n in zip(start, points.shape, strict=True))] = points
    wide = binary_dilation(wide, points, more)
    if origin is None:
        return wide
    return wide, [iterations * int(o) for o in one_each("origin", origin, points.ndim)]


@dataclass(frozen=True)
class _Shape:
    """A structure, and how it lies on a volume."""

    points: Footprint
    origin: list[int]
    border: bool
    axes: Any

    def erosion(self) -> Step:
        """True where all voxels under the whole structure are true."""
        return Step(self.points, self.origin, self.border, self.axes, dilates=False)

    def dilation(self) -> Step:
        """True where some voxel under the mirrored structure is true."""
        turned = turned_origins(self.origin, self.points.shape)
        return Step(self.points.flipped(), turned, self.border, self.axes, dilates=True)


def _shape(volume: Volume, structure: Any, origin: Any, border: Any, axes: Any) -> _Shape:
    count = len(filtered_axes(volume, axes))
    mask = generate_binary_structure(count, 1)
    if structure is not None:
        mask = in_order("structure", np.asarray(structure, bool), volume, axes)
    if not mask.size:
        message = f"a structure of shape {mask.shape} has no points; give axes of one point or more"
        raise RuntimeError(message)
    origins = [index(o) for o in one_each("origin", origin, count)]
    if not isinstance(border, (int, np.integer, np.bool_)):
        message = f"a border_value of {border!r}; give 0 or 1"
        raise TypeError(message)
    points = Footprint(mask.shape, None if mask.all() else mask)
    return _Shape(points, origins, bool(border), axes)


def _finished(
    x: Input, result: Volume | Truth, output: Output, limit: Limit, devices: Devices
) -> Result:
    """The result as it was asked for."""
    if isinstance(result, np.ndarray) and output is None:
        return result
    return finish(x, as_output(as_volume(result), output), output, limit, devices)


@kept
def binary_erosion(
    input: Input,
    structure: Any = None,
    iterations: int = 1,
    mask: Any = None,
    output: Output = None,
    border_value: int = 0,
    origin: Integers = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """True where all voxels under the structure are true.

    Parameters
    ----------
    structure
        The points that are looked at; by default the center and its direct neighbours.
    iterations
        How often; less than 1 repeats until nothing changes any more, for arrays only.
    mask
        Voxels that may change; all by default.
    border_value
        What stands outside of the array.
    brute_force
        Taken for SciPy's sake; there is one algorithm.

    Examples
    --------
    >>> binary_erosion([0, 1, 1, 1, 0]).astype(int).tolist()
    [0, 0, 1, 0, 0]
    """
    shape = _shape(as_volume(input), structure, origin, border_value, axes)
    result = repeated(input, [shape.erosion()], mask, iterations, memory_limit, devices)
    return _finished(input, result, output, memory_limit, devices)


@kept
def binary_dilation(
    input: Input,
    structure: Any = None,
    iterations: int = 1,
    mask: Any = None,
    output: Output = None,
    border_value: int = 0,
    origin: Integers = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """True where some voxel under the mirrored structure is true.

    Parameters
    ----------
    structure
        The points that are looked at; by default the center and its direct neighbours.
    iterations
        How often; less than 1 repeats until nothing changes any more, for arrays only.
    mask
        Voxels that may change; all by default.
    border_value
        What stands outside of the array.
    brute_force
        Taken for SciPy's sake; there is one algorithm.

    Examples
    --------
    >>> binary_dilation([0, 0, 1, 0, 0]).astype(int).tolist()
    [0, 1, 1, 1, 0]
    """
    shape = _shape(as_volume(input), structure, origin, border_value, axes)
    result = repeated(input, [shape.dilation()], mask, iterations, memory_limit, devices)
    return _finished(input, result, output, memory_limit, devices)


@kept
def binary_opening(
    input: Input,
    structure: Any = None,
    iterations: int = 1,
    output: Output = None,
    origin: Integers = 0,
    mask: Any = None,
    border_value: int = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Erosion, then dilation: what the structure fits into stays.

    Parameters
    ----------
    structure
        The points that are looked at; by default the center and its direct neighbours.
    iterations
        How often; less than 1 repeats until nothing changes any more, for arrays only.
    mask
        Voxels that may change; all by default.
    border_value
        What stands outside of the array.
    brute_force
        Taken for SciPy's sake; there is one algorithm.

    Examples
    --------
    >>> binary_opening([0, 1, 1, 1, 0, 1]).astype(int).tolist()
    [0, 1, 1, 1, 0, 0]
    """
    shape = _shape(as_volume(input), structure, origin, border_value, axes)
    result = repeated(
        input, [shape.erosion(), shape.dilation()], mask, iterations, memory_limit, devices
    )
    return _finished(input, result, output, memory_limit, devices)


@kept
def binary_closing(
    input: Input,
    structure: Any = None,
    iterations: int = 1,
    output: Output = None,
    origin: Integers = 0,
    mask: Any = None,
    border_value: int = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Dilation, then erosion: gaps smaller than the structure close.

    Parameters
    ----------
    structure
        The points that are looked at; by default the center and its direct neighbours.
    iterations
        How often; less than 1 repeats until nothing changes any more, for arrays only.
    mask
        Voxels that may change; all by default.
    border_value
        What stands outside of the array.
    brute_force
        Taken for SciPy's sake; there is one algorithm.

    Examples
    --------
    >>> binary_closing([0, 1, 1, 0, 1, 1, 0]).astype(int).tolist()
    [0, 1, 1, 1, 1, 1, 0]
    """
    shape = _shape(as_volume(input), structure, origin, border_value, axes)
    result = repeated(
        input, [shape.dilation(), shape.erosion()], mask, iterations, memory_limit, devices
    )
    return _finished(input, result, output, memory_limit, devices)


def binary_propagation(
    input: Input,
    structure: Any = None,
    mask: Any = None,
    output: Output = None,
    border_value: int = 0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """Dilation inside of `mask` until nothing changes any more; for arrays.

    Examples
    --------
    >>> binary_propagation([1, 0, 0, 0, 0], mask=[1, 1, 1, 0, 1]).astype(int).tolist()
    [1, 1, 1, 0, 0]
    """
    return binary_dilation(
        input,
        structure,
        -1,
        mask,
        output,
        border_value,
        origin,
        axes=axes,
        memory_limit=memory_limit,
        devices=devices,
    )


def binary_fill_holes(
    input: Input,
    structure: Any = None,
    output: Output = None,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """True also where no path of false voxels leads outside; for arrays.

    Examples
    --------
    >>> binary_fill_holes([0, 1, 0, 1, 0]).astype(int).tolist()
    [0, 1, 1, 1, 0]
    """
    volume = as_volume(input)
    shape = _shape(volume, structure, origin, 1, axes)
    if is_lazy(input):
        message = (
            "holes are found by repeating until nothing changes, which takes an array; "
            "compute the volume first"
        )
        raise ValueError(message)
    inside = blockwise(lambda v: v != 0, [volume], volume.shape, np.bool_, "truth")
    free = ~np.asarray(compute(inside, memory_limit=memory_limit))
    reached = repeated(np.zeros_like(free), [shape.dilation()], free, 0, memory_limit, devices)
    return _finished(input, ~np.asarray(reached), output, memory_limit, devices)


@kept
def binary_hit_or_miss(
    input: Input,
    structure1: Any = None,
    structure2: Any = None,
    output: Output = None,
    origin1: Integers = 0,
    origin2: Integers | None = None,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
) -> Result:
    """True where `structure1` is all true and `structure2`, by default the rest of its box, all false.

    Examples
    --------
    >>> binary_hit_or_miss([0, 1, 0, 1, 1, 0], [0, 1, 0]).astype(int).tolist()
    [0, 1, 0, 0, 0, 0]
    """
    volume = as_volume(input)
    inside = truth(volume)
    if structure1 is None:
        structure1 = generate_binary_structure(len(filtered_axes(volume, axes)), 1)
    rest = ~np.asarray(structure1, bool) if structure2 is None else structure2
    found = _shape(volume, structure1, origin1, 0, axes).erosion().of(inside)
    if np.any(rest):
        miss = _shape(volume, rest, origin1 if origin2 is None else origin2, 0, axes)
        near = extremum(inside, True, miss.points, "constant", 0.0, miss.origin, axes)
        pair = [found, near]
        found = blockwise(lambda a, b: a & ~b, pair, volume.shape, np.bool_, "hit_or_miss")
    return finish(input, as_output(found, output), output, memory_limit, devices)
