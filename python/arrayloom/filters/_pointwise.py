"""Filters without a window."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arrayloom._volumes.elementwise import blockwise
from arrayloom._volumes.sources import as_volume
from arrayloom._volumes.volume import Volume
from arrayloom.filters._common import Devices, Input, Limit, Result, finish, is_lazy, saturated
from arrayloom.filters._kept import kept


def difference(
    a: Input, b: Input, *, memory_limit: Limit = None, devices: Devices = None
) -> Result:
    """``a - b`` in the dtype of `a`; integers saturate instead of wrapping around.

    Examples
    --------
    >>> import numpy as np
    >>> difference(np.array([3, 200], np.uint8), np.array([5, 1], np.uint8)).tolist()
    [0, 199]
    """
    result = subtracted(as_volume(a), as_volume(b))
    return finish(a if is_lazy(a) else b, result, None, memory_limit, devices)


def subtracted(left: Volume, right: Volume) -> Volume:
    """`left` minus `right` in the dtype of `left`; integers saturate."""
    kind, other = left.dtype, right.dtype

    def of_unsigned(x: NDArray[Any], y: NDArray[Any], out: NDArray[Any]) -> None:
        np.maximum(x, y, out=out)
        np.subtract(out, y, out=out)

    def of_integers(x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        plain = x - y
        info = np.iinfo(kind)
        over = ((x < 0) != (y < 0)) & ((plain < 0) != (x < 0))
        return np.where(over, np.where(x < 0, info.min, info.max), plain).astype(kind)

    def of_others(x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        # Numbers of 80 bits hold all 64-bit integers.
        exact = kind.kind in "iu" and other.kind in "biu"
        wide = np.longdouble if exact else np.result_type(np.float64, kind)
        found = np.subtract(x, y, dtype=wide)
        if kind.kind == "b":
            return found > 0.5
        return found.astype(kind) if kind.kind not in "iu" else saturated(found, kind)

    if other.kind == "c" and kind.kind != "c":
        message = f"the difference of {kind} and {other} is no {kind}; convert one of them first"
        raise TypeError(message)
    # One subtraction is rounded once, in whichever width.
    alike = {"i": of_integers, "u": of_unsigned, "f": np.subtract}
    call = alike.get(kind.kind, of_others) if kind == other else of_others
    shape = np.broadcast_shapes(left.shape, right.shape)
    writes = call in (of_unsigned, np.subtract)
    return blockwise(call, [left, right], shape, kind, "difference", writes=writes)


@kept
def identity(input: Input, *, memory_limit: Limit = None, devices: Devices = None) -> Result:
    """The same voxels; for tests of what happens around them.

    Examples
    --------
    >>> identity([1, 2]).tolist()
    [1, 2]
    """
    volume = as_volume(input)
    return finish(
        input,
        blockwise(lambda x: x, [volume], volume.shape, volume.dtype, "identity"),
        None,
        memory_limit,
        devices,
    )
