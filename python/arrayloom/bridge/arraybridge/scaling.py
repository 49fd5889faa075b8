"""Stretching of floats to the range of an integer type, as arraybridge does when it is called by name."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

from typing import Any

import numpy as np

from arrayloom.bridge.conversion import convert
from arrayloom.bridge.dtypes import numpy_dtype
from arrayloom.bridge.registry import Array, HostArray

# Widths of the ranges that floats are stretched to; of signed types also the offset.
SCALING_RANGES: dict[str, float | tuple[float, float]] = {
    "uint8": 255.0,
    "uint16": 65535.0,
    "uint32": 4294967295.0,
    "int16": (65535.0, 32768.0),
    "int32": (4294967295.0, 2147483648.0),
}


def stretch(data: Array, dtype: Any) -> HostArray:  # noqa: ANN401 - as callers spell dtypes
    """Cast an array; floats are stretched so that their values fill the range of an integer type.

    What is behind the point is cut off. The result depends on all values of the array: parts of an image
    differ from the whole. Casts among other types are NumPy's ``astype``.

    Raises
    ------
    ValueError
        Floats without elements have no range.

    Examples
    --------
    >>> import numpy as np
    >>> stretch(np.array([0.0, 0.5, 1.0]), "uint8")
    array([  0, 127, 255], dtype=uint8)
    """
    target = numpy_dtype(dtype)
    host = convert(data, "numpy")
    if host.dtype.kind == "f" and target.kind in "iu":
        host = _stretched(host, target)
    with np.errstate(invalid="ignore"):
        return host.astype(target)


def _stretched(host: HostArray, target: np.dtype[Any]) -> HostArray:
    low, high = host.min(), host.max()
    found = SCALING_RANGES.get(target.name)
    if not high > low:
        return host
    share = (host - low) / (high - low)
    if found is None:
        return share
    if share.dtype.itemsize < 4:
        # The ranges are wider than half precision.
        share = share.astype(np.float32)
    width, offset = found if isinstance(found, tuple) else (found, 0.0)
    limits = np.iinfo(target)
    # The largest number of this float that the integers have, too.
    top = share.dtype.type(limits.max)
    if int(top) > limits.max:
        top = np.nextafter(top, share.dtype.type(0))
    return np.clip(share * width - offset, limits.min, top)
