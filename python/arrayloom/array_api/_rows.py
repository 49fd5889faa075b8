"""The elementwise functions: of each the dtypes it takes, who computes it, and what it is.

The public functions of ``_elementwise.py`` and the operators of ``_array.py`` are made of these rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrayloom.array_api._dtypes import (
    ANY,
    BITS,
    BOOLEAN,
    COMPLEX,
    FLOATING,
    INTEGER,
    NUMERIC,
    REAL,
    REAL_FLOATING,
    Kinds,
)

__all__ = ["BINARY", "UNARY", "Row"]


@dataclass(frozen=True, slots=True)
class Row:
    """One elementwise function."""

    name: str
    takes: Kinds
    function: Callable[..., Any]
    words: str


def _real(a: Any) -> Any:
    # The part itself would share the array's memory.
    return np.positive(a.real)


def _imag(a: Any) -> Any:
    return np.positive(a.imag)


def _round(a: Any) -> Any:
    # Integers are what they are; `rint` would make floats of them.
    return np.positive(a) if a.dtype.kind in "iu" else np.rint(a)


def _pow(a: Any, b: Any, out: Any = None) -> Any:
    # As the operator of NumPy does; other exponents that it treats so have other values at the ends.
    if type(b) in {int, float} and b == 2:
        return np.square(a, out=out)
    return np.power(a, b, out=out)


def _rows(*rows: Row) -> dict[str, Row]:
    return {row.name: row for row in rows}


UNARY = _rows(
    Row("abs", NUMERIC, np.absolute, "absolute value; that of complex numbers is real"),
    Row("acos", FLOATING, np.arccos, "inverse cosine in radians"),
    Row("acosh", FLOATING, np.arccosh, "inverse hyperbolic cosine"),
    Row("asin", FLOATING, np.arcsin, "inverse sine in radians"),
    Row("asinh", FLOATING, np.arcsinh, "inverse hyperbolic sine"),
    Row("atan", FLOATING, np.arctan, "inverse tangent in radians"),
    Row("atanh", FLOATING, np.arctanh, "inverse hyperbolic tangent"),
    Row("bitwise_invert", BITS, np.invert, "all bits inverted; of bools, not"),
    Row("ceil", REAL, np.ceil, "smallest integer that is not less, in the dtype of the array"),
    Row("conj", NUMERIC, np.conjugate, "complex conjugate"),
    Row("cos", FLOATING, np.cos, "cosine of radians"),
    Row("cosh", FLOATING, np.cosh, "hyperbolic cosine"),
    Row("exp", FLOATING, np.exp, "e to this power"),
    Row("expm1", FLOATING, np.expm1, "e to this power, less one; exact near zero"),
    Row("floor", REAL, np.floor, "largest integer that is not greater, in the dtype of the array"),
    Row("imag", COMPLEX, _imag, "imaginary part, of which the dtype is real"),
    Row("isfinite", NUMERIC, np.isfinite, "whether it is neither infinite nor NaN, as bool"),
    Row("isinf", NUMERIC, np.isinf, "whether it is infinite, as bool"),
    Row("isnan", NUMERIC, np.isnan, "whether it is NaN, as bool"),
    Row("log", FLOATING, np.log, "natural logarithm"),
    Row("log10", FLOATING, np.log10, "logarithm to base ten"),
    Row("log1p", FLOATING, np.log1p, "natural logarithm of one more; exact near zero"),
    Row("log2", FLOATING, np.log2, "logarithm to base two"),
    Row("logical_not", BOOLEAN, np.logical_not, "not"),
    Row("negative", NUMERIC, np.negative, "number with the other sign"),
    Row("positive", NUMERIC, np.positive, "copy of the array"),
    Row("real", NUMERIC, _real, "real part, of which the dtype is real"),
    Row("reciprocal", FLOATING, np.reciprocal, "one divided by the number"),
    Row("round", NUMERIC, _round, "nearest integer, the even one in the middle, in the same dtype"),
    Row("sign", NUMERIC, np.sign, "-1, 0 or 1; of complex numbers, the number over its size"),
    Row("signbit", REAL_FLOATING, np.signbit, "whether the sign bit is set, as bool"),
    Row("sin", FLOATING, np.sin, "sine of radians"),
    Row("sinh", FLOATING, np.sinh, "hyperbolic sine"),
    Row("sqrt", FLOATING, np.sqrt, "square root"),
    Row("square", NUMERIC, np.square, "number times itself"),
    Row("tan", FLOATING, np.tan, "tangent of radians"),
    Row("tanh", FLOATING, np.tanh, "hyperbolic tangent"),
    Row("trunc", REAL, np.trunc, "nearest integer towards zero, in the dtype of the array"),
)

BINARY = _rows(
    Row("add", NUMERIC, np.add, "sum"),
    Row("atan2", REAL_FLOATING, np.arctan2, "angle of the point (x2, x1) in radians"),
    Row("bitwise_and", BITS, np.bitwise_and, "bits that are set in both"),
    Row("bitwise_left_shift", INTEGER, np.left_shift, "x1 with its bits moved up x2 places"),
    Row("bitwise_or", BITS, np.bitwise_or, "bits that are set in either"),
    Row("bitwise_right_shift", INTEGER, np.right_shift, "x1 with its bits moved down x2 places"),
    Row("bitwise_xor", BITS, np.bitwise_xor, "bits that are set in one"),
    Row("copysign", REAL_FLOATING, np.copysign, "size of x1 with the sign of x2"),
    Row("divide", FLOATING, np.divide, "quotient"),
    Row("equal", ANY, np.equal, "whether they are equal, as bool"),
    Row("floor_divide", REAL, np.floor_divide, "quotient, rounded down"),
    Row("greater", REAL, np.greater, "whether x1 is greater, as bool"),
    Row("greater_equal", REAL, np.greater_equal, "whether x1 is greater or equal, as bool"),
    Row("hypot", REAL_FLOATING, np.hypot, "square root of the sum of squares"),
    Row("less", REAL, np.less, "whether x1 is less, as bool"),
    Row("less_equal", REAL, np.less_equal, "whether x1 is less or equal, as bool"),
    Row("logaddexp", REAL_FLOATING, np.logaddexp, "logarithm of the sum of exponentials"),
    Row("logical_and", BOOLEAN, np.logical_and, "and"),
    Row("logical_or", BOOLEAN, np.logical_or, "or"),
    Row("logical_xor", BOOLEAN, np.logical_xor, "whether one of them is true"),
    Row("maximum", REAL, np.maximum, "greater one; NaN if either is"),
    Row("minimum", REAL, np.minimum, "lesser one; NaN if either is"),
    Row("multiply", NUMERIC, np.multiply, "product"),
    Row("nextafter", REAL_FLOATING, np.nextafter, "next number of the dtype from x1 towards x2"),
    Row("not_equal", ANY, np.not_equal, "whether they differ, as bool"),
    Row("pow", NUMERIC, _pow, "x1 to the power x2"),
    Row("remainder", REAL, np.remainder, "rest of x1 / x2, with the sign of x2"),
    Row("subtract", NUMERIC, np.subtract, "difference"),
)
