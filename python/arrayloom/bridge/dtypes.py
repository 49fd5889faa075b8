"""Element types between frameworks: names, casts that keep units, memory that fits.

Element types are known by the names that NumPy and ml_dtypes give them. Casts keep the unit of a
measurement: a value stays as near as the target allows. Rounding is half to even, values out of range
become the nearest limit, and NaN, which no integer has, is an error unless a value is given for it.
"""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from arrayloom.bridge.errors import LossyConversionError
from arrayloom.bridge.registry import EXTRA, NATIVE, HostArray

__all__ = ["cast", "numpy_dtype", "rescale"]

# Elements that can be cast into one another. C's long double is NumPy's alone.
NUMBERS = NATIVE | EXTRA | {np.dtype("g").name, np.dtype("G").name}

CASTS = ("exact", "saturate", "wrap", "rescale")


def numpy_dtype(name: Any) -> np.dtype[Any]:  # noqa: ANN401 - names, dtypes, scalar types
    """Return NumPy's dtype for a name, a dtype or a framework's own dtype object.

    Raises
    ------
    TypeError
        NumPy has no such elements, or needs ml_dtypes for them.

    Examples
    --------
    >>> numpy_dtype("float32"), numpy_dtype("torch.int8")
    (dtype('float32'), dtype('int8'))
    """
    text = name if isinstance(name, str) else None
    if text is None and "torch" in type(name).__module__:
        text = str(name)
    text = getattr(name, "name", None) if text is None and not isinstance(name, type) else text
    text = text.removeprefix("torch.") if isinstance(text, str) else text
    if text in EXTRA:
        try:
            return np.dtype(getattr(importlib.import_module("ml_dtypes"), text))
        except (ImportError, AttributeError) as error:
            msg = f"NumPy has no {text} of its own; install a newer ml_dtypes, or cast to float32 first"
            raise TypeError(msg) from error
    return np.dtype(text if isinstance(text, str) else name)


def named(array: HostArray, element: str) -> HostArray:
    """Give an array of bits the dtype that its elements have."""
    return array.view(numpy_dtype(element)) if element in EXTRA else array


def carried(array: HostArray) -> tuple[HostArray, str | None]:
    """Return an array of bits that NumPy can lend, and the name of its elements if that differs."""
    name = array.dtype.name
    if name in EXTRA:
        return array.view(np.uint16 if name == "bfloat16" else np.uint8), name
    return plain(array), None


def exact(array: HostArray) -> HostArray:
    """Give row-major memory the steps that it would have if every axis were walked."""
    if array.flags.c_contiguous and (1 in array.shape or not array.size):
        return array.reshape(-1).reshape(array.shape)
    return array


def plain(array: HostArray) -> HostArray:
    """Give an array NumPy's usual dtype object: not C's second name for an integer, no metadata."""
    usual = np.dtype(array.dtype.str) if array.dtype.kind != "V" else array.dtype
    return array if array.dtype is usual or array.dtype.kind == "V" else array.view(usual)


def row_major(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Return the steps in bytes of compact row-major memory."""
    steps = [itemsize]
    for extent in reversed(shape[1:]):
        steps.append(steps[-1] * max(extent, 1))
    return tuple(reversed(steps[: len(shape)]))


def aligned_copy(array: HostArray, align: int, order: str = "C") -> HostArray:
    """Copy an array to memory whose address is a multiple of `align` bytes, in native byte order."""
    dtype = array.dtype.newbyteorder("=")
    room = np.empty(max(array.nbytes, 1) + align, np.uint8)
    start = -room.ctypes.data % align
    flat = room[start : start + array.nbytes].view(dtype)
    copy = flat.reshape(array.shape, order="F" if order == "F" else "C")
    copy[...] = array
    return copy


def _range(dtype: np.dtype[Any]) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or dtype.name in EXTRA


def _largest(dtype: np.dtype[Any]) -> float:
    """Return the largest number of a float type; infinity for C's long double, which has larger ones."""
    own = dtype.name in EXTRA
    return float((importlib.import_module("ml_dtypes").finfo if own else np.finfo)(dtype).max)


def limit_of(source: np.dtype[Any], target: np.dtype[Any]) -> float | None:
    """Return the largest number of a float type, None if those of the source's type are no larger."""
    if not (_is_float(source) and _is_float(target)):
        return None
    most = _largest(target)
    return most if most < _largest(source) else None


def keeps_all(source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Whether every value of one element type is one of the other's as well."""
    if source.kind == "b" or source == target:
        return True
    if target.kind not in "iufc" or source.kind not in "iufc":
        return False
    if source.kind in "iu" and target.kind in "fc":
        return np.iinfo(source).bits <= np.finfo(target).nmant + 1
    return np.can_cast(source, target, "safe")


def _numbers(array: HostArray) -> HostArray:
    """Return the numbers in an array of Python's objects; other arrays of numbers as they are.

    Raises
    ------
    TypeError
        Something else than numbers.
    """
    found = array
    if array.dtype.kind == "O":
        try:
            found = np.array(array.tolist())
        except (TypeError, ValueError):
            found = array
        if found.shape != array.shape:
            found = array
    if found.dtype.kind in "biufc" or found.dtype.type.__module__ == "ml_dtypes":
        return found
    msg = f"elements of type {array.dtype.name} are no numbers of a machine type; cast them with astype first"
    raise TypeError(msg)


def _under_mask(array: Any, change: Callable[[HostArray], HostArray]) -> HostArray:  # noqa: ANN401
    """Change the values that a mask shows, and keep the mask."""
    shown = np.where(np.ma.getmaskarray(array), np.zeros((), array.dtype), array.data)
    made = change(shown)
    return array if made is shown else np.ma.MaskedArray(made, mask=array.mask)


def _without_nan(array: HostArray, target: np.dtype[Any], nan: Any) -> HostArray:  # noqa: ANN401 - a number
    holes = np.isnan(array)
    if not holes.any():
        return array
    if nan == "raise":
        msg = (
            f"{int(holes.sum())} of {array.size} values are NaN, which {target.name} does not have; "
            "pass nan=0 or another value for them"
        )
        raise LossyConversionError(msg)
    return np.where(holes, np.asarray(nan, array.dtype), array)


def _round_to_integer(array: HostArray, target: np.dtype[Any], nan: Any) -> HostArray:  # noqa: ANN401
    """Half to even, and the nearest limit where it is out of range."""
    low, high = _range(target)
    wide = array if array.dtype.itemsize >= 4 else array.astype(np.float32)
    rounded = np.rint(_without_nan(wide, target, nan))
    # 2**63 and its like are no limits of the float's own: compare, then replace.
    above, below = rounded >= float(high), rounded <= float(low)
    inside = np.where(above | below, 0, rounded).astype(target)
    return np.where(above, target.type(high), np.where(below, target.type(low), inside))


def _real(array: HostArray, target: np.dtype[Any]) -> HostArray:
    if array.imag.any():
        msg = (
            f"a cast from {array.dtype.name} to {target.name} drops the imaginary part; take .real "
            "first"
        )
        raise LossyConversionError(msg)
    return array.real


def _to_integer(array: HostArray, target: np.dtype[Any], nan: Any) -> HostArray:  # noqa: ANN401
    source = array.dtype
    if source.kind in "iu":
        low, high = _range(target)
        own_low, own_high = _range(source)
        return np.clip(array, max(low, own_low), min(high, own_high)).astype(target)
    if source.kind in "fV":
        wide = array.astype(np.float32) if source.kind == "V" else array
        return _round_to_integer(wide, target, nan)
    return array.astype(target)


def _saturate(array: HostArray, target: np.dtype[Any], nan: Any) -> HostArray:  # noqa: ANN401
    source = array.dtype
    if target.kind in "iu":
        return _to_integer(array, target, nan)
    if target.kind == "b" and source.kind != "b":
        return array != 0
    if source.kind in "iu" and _is_float(target):
        most = int(min(_largest(target), 2.0**64))
        low, high = _range(source)
        return np.clip(array, max(low, -most), min(high, most)).astype(target)
    limit = limit_of(source, target)
    if limit is not None:
        wide = array.astype(np.float32) if source.name in EXTRA else array
        array = np.where(np.isfinite(wide), np.clip(wide, -limit, limit), wide)
    return array.astype(target)


def _unchanged(a: HostArray, b: HostArray) -> Any:  # noqa: ANN401 - an array of bool
    """Tell which elements are the same numbers in another type."""
    if a.dtype.kind in "iub" and b.dtype.kind in "iub":
        return a == b
    with np.errstate(invalid="ignore"):
        back = b.astype(a.dtype)
    same = back == a
    if a.dtype.kind in "fcV":
        same |= (back != back) & (a != a)  # noqa: PLR0124 - NaN differs from itself
    for integer, number in ((a, b), (b, a)):
        if integer.dtype.kind in "iu" and _is_float(number.dtype):
            # What lies beyond an integer's range comes back as anything.
            low, high = _range(integer.dtype)
            wide = number.astype(np.float64)
            same &= (wide >= float(low)) & (wide < float(high) + 1.0)
    return same


def cast(array: HostArray, dtype: Any, *, how: str = "saturate", nan: Any = "raise") -> HostArray:  # noqa: ANN401
    """Cast an array to another element type.

    Parameters
    ----------
    array : ndarray
        Of any shape and numeric dtype; a masked array stays one.
    dtype : dtype or str
        The target.
    how : {'exact', 'saturate', 'wrap', 'rescale'}
        'exact' raises if any value changes. 'saturate' rounds half to even and clips to the range.
        'wrap' is NumPy's ``astype``. 'rescale' maps the range of the source type to the target's.
    nan : 'raise' or a number
        What becomes of NaN in integers.

    Returns
    -------
    ndarray
        A new array, or the same one if it has this dtype already.

    Raises
    ------
    LossyConversionError
        'exact' and a value changes, NaN without a value for it, or an imaginary part would be lost.
    TypeError
        Elements that are no numbers.

    Examples
    --------
    >>> import numpy as np
    >>> cast(np.array([0.5, 1.5, 2.5, 300.0]), "uint8")
    array([  0,   2,   2, 255], dtype=uint8)
    """
    target = numpy_dtype(dtype)
    if array.dtype == target:
        return array
    if how not in CASTS:
        msg = f"cast must be one of {', '.join(CASTS)}, not {how!r}"
        raise ValueError(msg)
    if isinstance(array, np.ma.MaskedArray):
        return _under_mask(array, lambda shown: cast(shown, target, how=how, nan=nan))
    array = _numbers(array)
    with np.errstate(over="ignore", invalid="ignore"):
        if how == "wrap":
            return array.astype(target)
        if how == "rescale":
            return rescale(array, out_range=target)
        if array.dtype.kind == "c" and target.kind != "c":
            array = _real(array, target)
        if array.dtype.kind in "fV" and target.kind in "iu" and nan != "raise":
            array = _without_nan(array, target, nan)
        result = _saturate(array, target, nan)
        if how == "exact" and not np.all(_unchanged(array, result)):
            msg = (
                f"values change in a cast from {array.dtype.name} to {target.name}; pass "
                "cast='saturate' to round and clip, or cast='wrap' for NumPy's astype"
            )
            raise LossyConversionError(msg)
    return result


def stays(source: str, target: str) -> bool:
    """Whether ``dtype="preserve"`` leaves a result of one element type as it is for an input of another.

    Only numbers are cast. Booleans stay, and so does what an input of booleans became, and the real result
    of a complex input, and the other way round.
    """
    if source == target or not {source, target} <= NUMBERS or "bool" in (source, target):
        return True
    return source.startswith("complex") != target.startswith("complex")


def preserve(array: HostArray, dtype: Any, *, nan: Any = "raise") -> HostArray:  # noqa: ANN401
    """Cast a result back to the type of its input, as ``dtype="preserve"`` does.

    Floats are rounded and clipped. Integers must fit exactly: labels are neither clipped nor rounded.

    Examples
    --------
    >>> import numpy as np
    >>> preserve(np.array([70000]), "uint16")
    Traceback (most recent call last):
    ...
    arrayloom.bridge.errors.LossyConversionError: 1 of 1 integers do not fit in uint16, such as 70000; ...
    """
    target = numpy_dtype(dtype)
    if stays(array.dtype.name, target.name):
        return array
    if isinstance(array, np.ma.MaskedArray):
        return _under_mask(array, lambda shown: preserve(shown, target, nan=nan))
    done = cast(array, target, how="saturate", nan=nan)
    if array.dtype.kind in "iu":
        lost = ~_unchanged(array, done)
        if lost.any():
            msg = (
                f"{int(lost.sum())} of {array.size} integers do not fit in {target.name}, such as "
                f"{int(array[lost][0])}; pass dtype=None to keep {array.dtype.name}, or a wider dtype"
            )
            raise LossyConversionError(msg)
    return done


def rescale(
    array: HostArray,
    *,
    in_range: tuple[float, float] | None = None,
    out_range: Any = "float32",  # noqa: ANN401
) -> HostArray:
    """Map a fixed range of values linearly to the range of another element type.

    The ranges do not depend on the values, so a part of an array gives the same as the whole.

    Parameters
    ----------
    array : ndarray
        Of any shape and real dtype.
    in_range : pair of float, optional
        The range that is mapped; that of the dtype if absent, 0 to 1 for floats.
    out_range : dtype or str
        The target: its whole range, 0 to 1 for floats.

    Returns
    -------
    ndarray
        Of the target's dtype, rounded half to even and clipped.

    Examples
    --------
    >>> import numpy as np
    >>> rescale(np.array([0, 128, 255], np.uint8), out_range="float32").tolist()
    [0.0, 0.501960813999176, 1.0]
    """
    target = numpy_dtype(out_range)
    low, high = in_range if in_range is not None else _natural(array.dtype)
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        msg = f"in_range must be two finite numbers in ascending order, not {(low, high)}"
        raise ValueError(msg)
    out_low, out_high = _natural(target)
    share = (array.astype(np.float64) - low) / (high - low)
    return cast(share * (out_high - out_low) + out_low, target)


def _natural(dtype: np.dtype[Any]) -> tuple[float, float]:
    if dtype.kind not in "iu":
        return 0.0, 1.0
    low, high = _range(dtype)
    return float(low), float(high)
