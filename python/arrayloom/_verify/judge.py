"""Whether two results are equal, and where they first differ."""

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from arrayloom import _ext
from arrayloom.errors import SettingError

__all__ = ["Difference", "Tolerance", "compare", "tolerance_of"]

# Elementary functions are within one unit in the last place of the exact value, NumPy's within a few.
_ULPS = 4
# Products of matrices and transforms are sums in an order of their own, which rounds in proportion to what is summed.
_ULPS_OF_SUMS = 1000

_WORDS = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}

# An array, a scalar, or whatever an operation gives.
_Array = Any
_Value = Any


@dataclass(frozen=True)
class Tolerance:
    """How far values may be apart.

    Attributes
    ----------
    relative : float or None
        Relative to NumPy's value; None takes a few units in the last place of the dtype.
    bitwise : bool
        Whether nothing but equal bits will do; NaNs equal each other.
    """

    relative: float | None = None
    bitwise: bool = False

    def __str__(self) -> str:  # pyright: ignore[reportImplicitOverride] - `override` is of Python 3.12
        if self.bitwise:
            return "equal bits"
        return f"{_ULPS} units in the last place" if self.relative is None else f"{self.relative:g}"


@dataclass(frozen=True)
class Difference:
    """How a result differs from NumPy's.

    Attributes
    ----------
    kind : str
        ``value``, ``dtype``, ``shape``, ``type``, ``operand``, ``warning`` or ``error``.
    text : str
        The same in words.
    index : tuple of int or None
        The first element that differs.
    value, expected : object
        What is there, and what NumPy has.
    count, size : int
        How many elements differ, and how many there are.
    largest : float
        The largest difference relative to NumPy's value.
    """

    kind: str
    text: str
    index: tuple[int, ...] | None = None
    value: object = None
    expected: object = None
    count: int = 0
    size: int = 0
    largest: float = 0.0


def tolerance_of(text: str) -> Tolerance | None:
    """Read the value of ``--verify``; None for ``0``, which asks for nothing.

    Raises
    ------
    SettingError
        If it is neither ``bitwise`` nor a number from 0 to 1.

    Examples
    --------
    >>> tolerance_of("1e-6").relative
    1e-06
    >>> tolerance_of("bitwise").bitwise
    True
    """
    if text in {"0", "1", "bitwise"}:
        return None if text == "0" else Tolerance(bitwise=text == "bitwise")
    try:
        relative = float(text)
    except ValueError:
        relative = math.nan
    if not 0 <= relative < 1:
        message = f"{text!r} is no tolerance; give a number below 1 such as 1e-6, or bitwise"
        raise SettingError(message)
    return Tolerance(relative)


def compare(
    ours: _Value,
    numpys: _Value,
    tolerance: Tolerance,
    *,
    sums: bool = False,
    chosen: _Array | None = None,
) -> Difference | None:
    """Compare a result with NumPy's.

    Parameters
    ----------
    ours, numpys : object
        Arrays, scalars, other values, or tuples and lists of these.
    tolerance : Tolerance
        How far values may be apart.
    sums : bool
        Whether they are sums of products, in any order.
    chosen : array of bool, optional
        The elements that are looked at; all without.

    Examples
    --------
    >>> found = compare(np.array([1.0, 2.0]), np.array([1.0, 4.0]), Tolerance())
    >>> found.index, found.count, found.largest
    ((1,), 1, 0.5)
    """
    if isinstance(numpys, (tuple, list)):
        theirs = cast("tuple[_Value, ...] | list[_Value]", numpys)
        if type(ours) is not type(theirs) or len(ours) != len(theirs):
            return _other("type", _kind(ours), _kind(theirs))
        pairs = zip(ours, theirs, strict=True)
        found = (compare(one, other, tolerance, sums=sums, chosen=chosen) for one, other in pairs)
        return next(filter(None, found), None)
    if isinstance(numpys, (np.ndarray, np.generic)):
        return _compare_arrays(ours, cast("_Array", numpys), tolerance, sums=sums, chosen=chosen)
    if type(ours) is not type(numpys):
        return _other("type", _kind(ours), _kind(numpys))
    if ours == numpys or (ours != ours and numpys != numpys):  # noqa: PLR0124 - only NaN differs from itself
        return None
    return _other("value", repr(ours), repr(numpys))


def _kind(value: _Value) -> str:
    """Give what a value is, in a word or two."""
    if isinstance(value, np.ndarray):
        return "an array"
    if isinstance(value, (tuple, list)):
        return f"a {type(cast('_Value', value)).__name__} of {len(cast('_Value', value))}"
    return f"a {type(value).__name__}"


def _other(kind: str, ours: str, numpys: str) -> Difference:
    return Difference(kind, f"its {kind} is {ours}, NumPy's {numpys}", None, ours, numpys)


def _compare_arrays(
    ours: _Value, numpys: _Array, tolerance: Tolerance, *, sums: bool, chosen: _Array | None
) -> Difference | None:
    if not isinstance(ours, (np.ndarray, np.generic)) or (
        isinstance(ours, np.ndarray) != isinstance(numpys, np.ndarray)
    ):
        return _other("type", _kind(ours), _kind(numpys))
    x, y = _plain(ours), _plain(numpys)
    if x.dtype != y.dtype:
        return _other("dtype", str(x.dtype), str(y.dtype))
    if x.shape != y.shape:
        return _other("shape", str(x.shape), str(y.shape))
    with np.errstate(all="ignore"):
        wrong = _wrong(x, y, tolerance, sums=sums)
        if wrong is not None and chosen is not None:
            wrong &= chosen
        return None if wrong is None or not wrong.any() else _told(x, y, wrong)


def _plain(value: _Value) -> _Array:
    """Give an array or a scalar as a plain array."""
    return _ext.bridge.plain(value) if type(value) is _ext.LazyArray else np.asarray(value)


def _wrong(x: _Array, y: _Array, tolerance: Tolerance, *, sums: bool) -> _Array | None:
    """Find the elements that are too far apart; None if there is none."""
    if x.dtype.kind not in "fc":
        return x != y if x.dtype.kind not in "mM" else x.view("i8") != y.view("i8")
    if tolerance.bitwise and x.dtype.kind == "c":
        parts = (
            _wrong(a, b, tolerance, sums=sums) for a, b in ((x.real, y.real), (x.imag, y.imag))
        )
        found = [part for part in parts if part is not None]
        return sum(found[1:], found[0]) if found else None
    unlike: _Array = _unlike(x, y)
    if not unlike.any():
        return None
    # Of the few that have other bits.
    a, b = x[unlike], y[unlike]
    equal: _Array = np.isnan(a) & np.isnan(b)
    if not tolerance.bitwise:
        equal |= (a == b) | (np.isfinite(b) & (_apart(a, b) <= _allowed(y, b, tolerance, sums)))
    unlike[unlike] = ~equal
    return unlike


def _unlike(x: _Array, y: _Array) -> _Array:
    """Find the elements that have other bits."""
    if x.dtype.kind == "c":
        return np.asarray(_unlike(x.real, y.real) | _unlike(x.imag, y.imag))
    word = _WORDS.get(x.dtype.itemsize)
    if word is None:
        # Of long doubles some bytes mean nothing.
        return np.asarray((x != y) | (np.signbit(x) != np.signbit(y)))
    return np.asarray(x.view(word) != y.view(word))


def _wide(x: _Array) -> _Array:
    """Give numbers whose differences do not overflow as those of small floats and integers do."""
    return x if x.dtype.itemsize > 8 else x.astype(np.result_type(x.dtype, np.float64))


def _apart(a: _Array, b: _Array) -> _Array:
    return abs(_wide(a) - _wide(b))


def _allowed(whole: _Array, b: _Array, tolerance: Tolerance, sums: bool) -> _Array:  # noqa: FBT001
    """Give how far from each of NumPy's values `b` another may be."""
    size: _Array = abs(_wide(b))
    if tolerance.relative is not None:
        return tolerance.relative * size
    last = float(np.finfo(b.dtype).eps)
    if not sums:
        return _ULPS * last * size
    sizes: _Array = abs(_wide(whole))
    return _ULPS_OF_SUMS * last * (size + sizes[np.isfinite(sizes)].max(initial=0.0))


def _told(x: _Array, y: _Array, wrong: _Array) -> Difference:
    """Say where values differ, how many, and by how much."""
    first = tuple(int(at) for at in np.argwhere(np.atleast_1d(wrong))[0])[: wrong.ndim]
    value, expected, count = x[first], y[first], int(np.count_nonzero(wrong))
    largest = math.inf
    if x.dtype.kind in "biufc":
        a, b = (
            _wide(np.atleast_1d(x)[np.atleast_1d(wrong)]),
            _wide(np.atleast_1d(y)[np.atleast_1d(wrong)]),
        )
        relative: _Array = _apart(a, b) / abs(b)
        largest = float(np.where(np.isnan(relative), math.inf, relative).max())
    text = (
        f"{count:,} of {x.size:,} elements differ, the first at {list(first)}: {value} here,"
        f" {expected} in NumPy; the largest relative difference is {largest:.3g}"
    )
    return Difference("value", text, first, value, expected, count, x.size, largest)
