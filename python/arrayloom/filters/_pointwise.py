"""Filters without a window."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arrayloom._volume import as_volume, blockwise
from arrayloom.filters._common import Input, Limit, Result, finish, is_lazy


def difference(a: Input, b: Input, *, memory_limit: Limit = None) -> Result:
    """``a - b`` in the dtype of `a`; integers saturate instead of wrapping around.

    Examples
    --------
    >>> import numpy as np
    >>> difference(np.array([3, 200], np.uint8), np.array([5, 1], np.uint8)).tolist()
    [0, 199]
    """
    left, right = as_volume(a), as_volume(b)
    kind = left.dtype

    def subtract(x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        if kind.kind not in "iu" or kind != right.dtype:
            wide = np.subtract(x, y, dtype=np.result_type(np.float64, kind))
            if kind.kind not in "iu":
                return wide.astype(kind)
            info = np.iinfo(kind)
            return np.clip(np.rint(wide), info.min, info.max).astype(kind)
        with np.errstate(over="ignore"):
            plain = x - y
        info = np.iinfo(kind)
        if kind.kind == "u":
            return np.where(x < y, kind.type(0), plain)
        over = ((x < 0) != (y < 0)) & ((plain < 0) != (x < 0))
        return np.where(over, np.where(x < 0, info.min, info.max), plain).astype(kind)

    shape = np.broadcast_shapes(left.shape, right.shape)
    result = blockwise(subtract, [left, right], shape, kind, "difference")
    return finish(a if is_lazy(a) else b, result, None, memory_limit)


def identity(input: Input, *, memory_limit: Limit = None) -> Result:
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
    )
