"""Functions about dtypes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from arrayloom.array_api._array import Array, quiet, unwrap, wrap
from arrayloom.array_api._devices import check_device
from arrayloom.array_api._dtypes import (
    Dtype,
    check_cast,
    check_dtype,
    is_number,
    joined,
    scalar_dtype,
)

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]


@dataclass(frozen=True)
class FloatInfo:
    """What a floating-point dtype can represent; of a complex one, its parts."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Dtype


@dataclass(frozen=True)
class IntegerInfo:
    """What an integer dtype can represent."""

    bits: int
    max: int
    min: int
    dtype: Dtype


@quiet
def astype(x: Array, dtype: Dtype, /, *, copy: bool = True, device: str | None = None) -> Array:
    """Return the elements in another dtype.

    Parameters
    ----------
    x : Array
        Of any shape and dtype.
    dtype : dtype
        Of the result.
    copy : bool
        False for `x` itself where it has the dtype.
    device : str, optional
        ``"cpu"``.

    Raises
    ------
    TypeError
        A dtype that the standard lacks, or a real one for complex numbers.
    ValueError
        Another device.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.astype(xp.asarray([1.5, -2.5]), xp.int8)
    Array([ 1, -2], dtype=int8)
    """
    check_device(device, "astype")
    a, dtype = unwrap(x, "astype"), check_dtype(dtype, "astype")
    check_cast(a.dtype, dtype, "astype")
    return x if a.dtype == dtype and not copy else wrap(a.astype(dtype))


def _dtype_of(x: Any, where: str) -> Dtype:
    return x.dtype if isinstance(x, Array) else check_dtype(x, where)


def can_cast(from_: Dtype | Array, to: Dtype, /) -> bool:
    """Return whether a dtype, or that of an array, promotes to another by the standard's rules.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.can_cast(xp.int8, xp.int64), xp.can_cast(xp.int8, xp.float64)
    (True, False)
    """
    to = check_dtype(to, "can_cast")
    try:
        return joined(_dtype_of(from_, "can_cast"), to, "can_cast") == to
    except TypeError:
        check_dtype(_dtype_of(from_, "can_cast"), "can_cast")
        return False


def result_type(*arrays_and_dtypes: Array | Dtype | complex) -> Dtype:
    """Return the dtype to which arrays, dtypes and Python numbers promote.

    Raises
    ------
    TypeError
        They do not mix.
    ValueError
        There is neither an array nor a dtype.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.result_type(xp.int8, xp.uint8, 1)
    dtype('int16')
    """
    numbers = [x for x in arrays_and_dtypes if is_number(x)]
    dtypes = [_dtype_of(x, "result_type") for x in arrays_and_dtypes if not is_number(x)]
    if not dtypes:
        message = "result_type takes at least one array or dtype"
        raise ValueError(message)
    found = dtypes[0]
    for dtype in dtypes[1:]:
        found = joined(found, dtype, "result_type")
    for number in numbers:
        found = scalar_dtype(number, found, "result_type")
    return found


def finfo(type: Dtype | Array, /) -> FloatInfo:
    """Return the limits of a floating-point dtype, or of the parts of a complex one.

    The result has `bits`, `eps`, `max`, `min`, `smallest_normal` and `dtype`; others are Python numbers.

    Raises
    ------
    TypeError
        The dtype is of another kind.
    """
    dtype = _dtype_of(type, "finfo")
    if dtype.kind not in "fc":
        message = f"finfo takes floating-point dtypes, not {dtype}; see iinfo"
        raise TypeError(message)
    found = np.finfo(dtype)
    numbers = (found.eps, found.max, found.min, found.smallest_normal)
    return FloatInfo(int(found.bits), *map(float, numbers), dtype=np.dtype(found.dtype))


def iinfo(type: Dtype | Array, /) -> IntegerInfo:
    """Return the limits of an integer dtype: `bits`, `max`, `min` and `dtype`.

    Raises
    ------
    TypeError
        The dtype is of another kind.
    """
    dtype = _dtype_of(type, "iinfo")
    if dtype.kind not in "iu":
        message = f"iinfo takes integer dtypes, not {dtype}; see finfo"
        raise TypeError(message)
    found = np.iinfo(dtype)
    return IntegerInfo(int(found.bits), int(found.max), int(found.min), dtype)


def isdtype(dtype: Dtype, kind: Dtype | str | tuple[Dtype | str, ...]) -> bool:
    """Return whether a dtype is of a kind.

    Parameters
    ----------
    dtype : dtype
        Of the standard.
    kind : dtype, str, or tuple of them
        A dtype, or ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``,
        ``"real floating"``, ``"complex floating"`` or ``"numeric"``; a tuple for any of several.

    Raises
    ------
    TypeError
        `dtype` is no dtype of the standard, or `kind` neither dtype nor text.
    ValueError
        A text that is none of these.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.isdtype(xp.float32, ("integral", "real floating"))
    True
    """
    return np.isdtype(check_dtype(dtype, "isdtype"), kind)
