"""The dtypes of the standard, which of them mix, and which Python numbers go with them."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

__all__ = [
    "ANY",
    "BITS",
    "BOOLEAN",
    "COMPLEX",
    "DTYPES",
    "FLOATING",
    "INTEGER",
    "NUMERIC",
    "REAL",
    "REAL_FLOATING",
    "Dtype",
    "Kinds",
    "bool_",
    "check_cast",
    "check_dtype",
    "check_kind",
    "complex64",
    "complex128",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_array",
    "is_number",
    "joined",
    "number_for",
    "scalar_dtype",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

Dtype: TypeAlias = np.dtype[Any]

bool_: Dtype = np.dtype("bool")
int8: Dtype = np.dtype("int8")
int16: Dtype = np.dtype("int16")
int32: Dtype = np.dtype("int32")
int64: Dtype = np.dtype("int64")
uint8: Dtype = np.dtype("uint8")
uint16: Dtype = np.dtype("uint16")
uint32: Dtype = np.dtype("uint32")
uint64: Dtype = np.dtype("uint64")
float32: Dtype = np.dtype("float32")
float64: Dtype = np.dtype("float64")
complex64: Dtype = np.dtype("complex64")
complex128: Dtype = np.dtype("complex128")

# All dtypes by their names, in the order of the standard.
DTYPES: dict[str, Dtype] = {
    dtype.name: dtype
    for dtype in (
        bool_,
        int8,
        int16,
        int32,
        int64,
        uint8,
        uint16,
        uint32,
        uint64,
        float32,
        float64,
        complex64,
        complex128,
    )
}


@dataclass(frozen=True, slots=True)
class Kinds:
    """Dtypes that a function takes: what they are called, and NumPy's letters of their kinds."""

    words: str
    letters: str


ANY = Kinds("any", "biufc")
BOOLEAN = Kinds("boolean", "b")
INTEGER = Kinds("integer", "iu")
BITS = Kinds("integer or boolean", "biu")
REAL_FLOATING = Kinds("real floating-point", "f")
COMPLEX = Kinds("complex floating-point", "c")
FLOATING = Kinds("floating-point", "fc")
REAL = Kinds("real numeric", "iuf")
NUMERIC = Kinds("numeric", "iufc")

# What a kind mixes with.
_FAMILIES = {"b": "b", "i": "i", "u": "i", "f": "f", "c": "f"}


def check_dtype(dtype: object, where: str) -> Dtype:
    """Return a dtype that a caller named, if it is one of the standard's.

    Raises
    ------
    TypeError
        It is none, such as ``float``, ``"float64"`` or NumPy's ``float16``.
    """
    if isinstance(dtype, np.dtype):
        known = DTYPES.get(dtype.name)
        if known is not None and known == dtype:
            return known
    message = f"{where}: {dtype!r} is no dtype of the standard; there are {', '.join(DTYPES)}"
    raise TypeError(message)


def check_cast(old: Dtype, new: Dtype, where: str) -> None:
    """Raise a `TypeError` where complex numbers would lose their imaginary parts."""
    if old.kind == "c" and new.kind != "c":
        message = f"{where}: {old} is not cast to {new}; take real(x), imag(x) or abs(x) first"
        raise TypeError(message)


def check_kind(dtype: Dtype, takes: Kinds, where: str) -> None:
    """Raise a `TypeError` if a function does not take a dtype."""
    if dtype.kind not in takes.letters:
        message = (
            f"{where} takes {takes.words} dtypes, not {dtype}; bring the array to one with astype"
        )
        raise TypeError(message)


def joined(first: Dtype, second: Dtype, where: str) -> Dtype:
    """Return the dtype to which two dtypes promote.

    Raises
    ------
    TypeError
        They are of different kinds, or ``uint64`` and a signed one.
    """
    if first == second:
        return first
    if _FAMILIES[first.kind] == _FAMILIES[second.kind]:
        dtype = np.promote_types(first, second)
        if _FAMILIES[dtype.kind] == _FAMILIES[first.kind]:
            return dtype
    message = f"{where}: {first} and {second} do not mix; bring one to the other with astype"
    raise TypeError(message)


def is_array(x: object) -> bool:
    """Whether `x` is an array of NumPy or arrayloom."""
    return isinstance(x, np.ndarray)


def is_number(x: object) -> bool:
    """Whether `x` is a number of Python's own: no scalar of NumPy, though some derive from `float`."""
    return isinstance(x, (int, float, complex)) and not isinstance(x, np.generic)


def number_for(x: Any, dtype: Dtype, where: str) -> Any:
    """Return a Python number as one that NumPy takes for a scalar of `dtype`.

    Raises
    ------
    TypeError
        The number is of a higher kind, or a bool that meets numbers, or a number that meets bools.
    OverflowError
        An integer does not fit.
    """
    kind = dtype.kind
    if isinstance(x, bool):
        fits = kind == "b"
    elif isinstance(x, int):
        fits = kind != "b"
        if kind in "iu":
            limits = np.iinfo(dtype)
            if not limits.min <= x <= limits.max:
                message = f"{where}: {x} does not fit into {dtype} ({limits.min} to {limits.max})"
                raise OverflowError(message)
        elif fits:
            x = float(x)
    else:
        fits = kind in "fc"
    if not fits:
        message = (
            f"{where}: the Python {type(x).__name__} {x!r} does not mix with {dtype}; "
            f"bring the array to another dtype with astype"
        )
        raise TypeError(message)
    return x


def scalar_dtype(x: Any, dtype: Dtype, where: str) -> Dtype:
    """Return the dtype to which `dtype` and a Python number promote; errors as for `number_for`."""
    number_for(x, dtype, where)
    if isinstance(x, complex) and dtype.kind == "f":
        return np.promote_types(dtype, complex64)
    return dtype
