"""The elementwise functions, one by one; `_rows.py` has what each of them takes and does."""

from collections.abc import Callable
from typing import Any

import numpy as np

from arrayloom.array_api._array import Array, compute, quiet, unwrap, wrap
from arrayloom.array_api._dtypes import REAL, Dtype, joined
from arrayloom.array_api._rows import BINARY, UNARY

_OF_ONE = """Return for each element: {words}.

Parameters
----------
x : Array
    Of any shape and {kinds} dtype.

Returns
-------
Array
    Of the same shape.

Raises
------
TypeError
    `x` is no `Array`, or of another kind of dtype.
"""

_OF_TWO = """Return for each pair of elements: {words}.

Parameters
----------
x1, x2 : Array
    Of {kinds} dtypes that mix, and shapes that broadcast. One may be a Python number that goes with
    the dtype of the other.

Returns
-------
Array
    Of the common shape; of the common dtype unless stated otherwise.

Raises
------
TypeError
    An argument is neither, or of another kind of dtype, or the dtypes do not mix.
OverflowError
    A Python integer does not fit into the dtype of the array.
ValueError
    The shapes do not broadcast.
"""


def _of_one(name: str) -> Callable[[Array], Array]:
    row = UNARY[name]

    def function(x: Array, /) -> Array:
        a = unwrap(x, name, row.takes)
        with np.errstate(all="ignore"):
            return wrap(row.function(a))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _OF_ONE.format(words=row.words, kinds=row.takes.words)
    return function


def _of_two(name: str) -> Callable[[Any, Any], Array]:
    row = BINARY[name]

    def function(x1: Array | complex, x2: Array | complex, /) -> Array:
        return compute(row, x1, x2)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _OF_TWO.format(words=row.words, kinds=row.takes.words)
    return function


abs = _of_one("abs")
acos = _of_one("acos")
acosh = _of_one("acosh")
asin = _of_one("asin")
asinh = _of_one("asinh")
atan = _of_one("atan")
atanh = _of_one("atanh")
bitwise_invert = _of_one("bitwise_invert")
ceil = _of_one("ceil")
conj = _of_one("conj")
cos = _of_one("cos")
cosh = _of_one("cosh")
exp = _of_one("exp")
expm1 = _of_one("expm1")
floor = _of_one("floor")
imag = _of_one("imag")
isfinite = _of_one("isfinite")
isinf = _of_one("isinf")
isnan = _of_one("isnan")
log = _of_one("log")
log10 = _of_one("log10")
log1p = _of_one("log1p")
log2 = _of_one("log2")
logical_not = _of_one("logical_not")
negative = _of_one("negative")
positive = _of_one("positive")
real = _of_one("real")
reciprocal = _of_one("reciprocal")
round = _of_one("round")
sign = _of_one("sign")
signbit = _of_one("signbit")
sin = _of_one("sin")
sinh = _of_one("sinh")
sqrt = _of_one("sqrt")
square = _of_one("square")
tan = _of_one("tan")
tanh = _of_one("tanh")
trunc = _of_one("trunc")

add = _of_two("add")
atan2 = _of_two("atan2")
bitwise_and = _of_two("bitwise_and")
bitwise_left_shift = _of_two("bitwise_left_shift")
bitwise_or = _of_two("bitwise_or")
bitwise_right_shift = _of_two("bitwise_right_shift")
bitwise_xor = _of_two("bitwise_xor")
copysign = _of_two("copysign")
divide = _of_two("divide")
equal = _of_two("equal")
floor_divide = _of_two("floor_divide")
greater = _of_two("greater")
greater_equal = _of_two("greater_equal")
hypot = _of_two("hypot")
less = _of_two("less")
less_equal = _of_two("less_equal")
logaddexp = _of_two("logaddexp")
logical_and = _of_two("logical_and")
logical_or = _of_two("logical_or")
logical_xor = _of_two("logical_xor")
maximum = _of_two("maximum")
minimum = _of_two("minimum")
multiply = _of_two("multiply")
nextafter = _of_two("nextafter")
not_equal = _of_two("not_equal")
pow = _of_two("pow")
remainder = _of_two("remainder")
subtract = _of_two("subtract")


@quiet
def clip(
    x: Array,
    /,
    min: Array | float | None = None,
    max: Array | float | None = None,
) -> Array:
    """Return the elements, those beyond a bound replaced by it.

    Parameters
    ----------
    x : Array
        Of a real numeric dtype.
    min, max : Array or number, optional
        The bounds: integers for an array of integers. Shapes broadcast.

    Returns
    -------
    Array
        Of the dtype of `x`. NaNs stay, and NaN as a bound gives NaN.

    Raises
    ------
    TypeError
        An argument has another kind of dtype.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.clip(xp.asarray([1, 5, 9]), 2, 8)
    Array([2, 5, 8], dtype=int64)
    """
    a = unwrap(x, "clip", REAL)
    if min is not None:
        a = np.maximum(a, _bound(min, a.dtype, "min"))
    if max is not None:
        a = np.minimum(a, _bound(max, a.dtype, "max"))
    return wrap(np.positive(a) if min is None and max is None else a)


def _bound(bound: Any, dtype: Dtype, word: str) -> Any:
    """Return a bound in the dtype of the array; one that the dtype does not reach is its end."""
    where = f"clip: {word}"
    if isinstance(bound, (int, float)) and not isinstance(bound, (bool, np.generic)):
        if dtype.kind == "f":
            return float(bound)
        if isinstance(bound, int):
            limits = np.iinfo(dtype)
            return sorted((int(limits.min), bound, int(limits.max)))[1]
        message = f"{where} of an array of {dtype} is an integer, not {bound!r}"
        raise TypeError(message)
    b = unwrap(bound, where, REAL)
    if b.dtype == dtype:
        return b
    if dtype.kind in "iu" and b.dtype.kind in "iu":
        limits, own = np.iinfo(dtype), np.iinfo(b.dtype)
        least, most = int(limits.min), int(limits.max)
        b = np.maximum(b, least) if own.min < least else b
        b = np.minimum(b, most) if own.max > most else b
    else:
        joined(dtype, b.dtype, where)
    return b.astype(dtype)
