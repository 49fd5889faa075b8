"""Grey morphology."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arrayloom._volume import Volume, as_volume, elementwise
from arrayloom.filters._common import (
    Input,
    Integers,
    Limit,
    Modes,
    Output,
    Result,
    as_output,
    finish,
    footprint_of,
    one_each,
)
from arrayloom.filters._rank import extremum


def _eroded(
    volume: Volume, mask: NDArray[np.bool_], mode: Modes, cval: float, origin: Any, axes: Any
) -> Volume:
    return extremum(volume, False, mask, mode, cval, origin, axes)


def _dilated(
    volume: Volume, mask: NDArray[np.bool_], mode: Modes, cval: float, origin: Any, axes: Any
) -> Volume:
    origins = one_each("origin", origin, mask.ndim)
    turned = [-int(o) - (n % 2 == 0) for o, n in zip(origins, mask.shape, strict=True)]
    return extremum(volume, True, np.flip(mask), mode, cval, turned, axes)


def _steps(
    steps: str,
    volume: Volume,
    mask: NDArray[np.bool_],
    mode: Modes,
    cval: float,
    origin: Any,
    axes: Any,
) -> Volume:
    """Erosions and dilations one after the other, such as ``"ed"`` for an opening."""
    result = volume
    for step in steps:
        result = (_eroded if step == "e" else _dilated)(result, mask, mode, cval, origin, axes)
    return result


def _morphology(
    steps: str,
    x: Input,
    mask: Any,
    output: Output,
    mode: Modes,
    cval: float,
    origin: Any,
    axes: Any,
    limit: Limit,
) -> Result:
    volume = as_volume(x)
    size, footprint = mask
    points = footprint_of(volume, size, footprint, axes)
    result = _steps(steps, volume, points, mode, cval, origin, axes)
    return finish(x, as_output(result, output), output, limit)


def grey_erosion(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Smallest voxel of a window.

    Examples
    --------
    >>> grey_erosion([3, 1, 2, 5, 4], 3).tolist()
    [1, 1, 1, 2, 4]
    """
    return _morphology(
        "e", input, (size, footprint), output, mode, cval, origin, axes, memory_limit
    )


def grey_dilation(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Greatest voxel of the mirrored window.

    Examples
    --------
    >>> grey_dilation([3, 1, 2, 5, 4], 3).tolist()
    [3, 3, 5, 5, 5]
    """
    return _morphology(
        "d", input, (size, footprint), output, mode, cval, origin, axes, memory_limit
    )


def grey_opening(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    iterations: int = 1,
    memory_limit: Limit = None,
) -> Result:
    """Erosion, then dilation; each `iterations` times.

    Examples
    --------
    >>> grey_opening([1, 1, 9, 1, 1], 3).tolist()
    [1, 1, 1, 1, 1]
    """
    return _morphology(
        "e" * iterations + "d" * iterations,
        input,
        (size, footprint),
        output,
        mode,
        cval,
        origin,
        axes,
        memory_limit,
    )


def grey_closing(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    iterations: int = 1,
    memory_limit: Limit = None,
) -> Result:
    """Dilation, then erosion; each `iterations` times.

    Examples
    --------
    >>> grey_closing([9, 9, 1, 9, 9], 3).tolist()
    [9, 9, 9, 9, 9]
    """
    return _morphology(
        "d" * iterations + "e" * iterations,
        input,
        (size, footprint),
        output,
        mode,
        cval,
        origin,
        axes,
        memory_limit,
    )


def _compared(x: Input, a: Volume, b: Volume, output: Output, limit: Limit) -> Result:
    result = elementwise(np.bitwise_xor if a.dtype.kind == "b" else np.subtract, [a, b])
    return finish(x, as_output(result, output), output, limit)


def white_tophat(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """The array minus its opening.

    Examples
    --------
    >>> white_tophat([1, 1, 9, 1, 1], 3).tolist()
    [0, 0, 8, 0, 0]
    """
    volume = as_volume(input)
    mask = footprint_of(volume, size, footprint, axes)
    opened = _steps("ed", volume, mask, mode, cval, origin, axes)
    return _compared(input, volume, opened, output, memory_limit)


def black_tophat(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """The closing of an array minus itself.

    Examples
    --------
    >>> black_tophat([9, 9, 1, 9, 9], 3).tolist()
    [0, 0, 8, 0, 0]
    """
    volume = as_volume(input)
    mask = footprint_of(volume, size, footprint, axes)
    closed = _steps("de", volume, mask, mode, cval, origin, axes)
    return _compared(input, closed, volume, output, memory_limit)


def morphological_gradient(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Dilation minus erosion.

    Examples
    --------
    >>> morphological_gradient([1, 1, 9, 9], 3).tolist()
    [0, 8, 8, 0]
    """
    volume = as_volume(input)
    mask = footprint_of(volume, size, footprint, axes)
    high, low = (_steps(step, volume, mask, mode, cval, origin, axes) for step in "de")
    return _compared(input, high, low, output, memory_limit)


opening = grey_opening
closing = grey_closing
