"""The array object, and the two functions by which all others reach the memory in it.

It holds an array of arrayloom, or a plain one of NumPy where a result is small. Operators record what
arrayloom's own would record, so expressions of them are fused.
"""

# pyright: reportPrivateUsage=false
# Functions of this file, and no others, reach into arrays.

from collections.abc import Callable, Iterator
from typing import Any, Self, cast

import numpy as np

from arrayloom import _ext
from arrayloom.array_api._base import Base
from arrayloom.array_api._dtypes import (
    ANY,
    INTEGER,
    NUMERIC,
    Dtype,
    Kinds,
    check_kind,
    is_array,
    is_number,
    joined,
    number_for,
)
from arrayloom.array_api._keys import numpy_key
from arrayloom.array_api._rows import BINARY, UNARY, Row

__all__ = ["Array", "compute", "operands", "places", "product", "quiet", "unwrap", "wrap"]

# The standard says what 1 / 0 is; nobody is warned of it. A warning would name a line of this package.
quiet = np.errstate(all="ignore")

_LazyArray: Any = _ext.LazyArray


def wrap(a: Any) -> "Array":
    """Return an array around NumPy's, which it shares; scalars of NumPy become arrays without dimensions."""
    if type(a) is np.ndarray:
        # Such as a large result of NumPy's own: what is done with it next shall be recorded.
        if a.nbytes >= _ext.min_bytes() and a.nbytes:
            a = a.view(_LazyArray)
    elif not isinstance(a, np.ndarray):
        a = np.asarray(a)
    x = object.__new__(Array)
    x._held = a
    return x


def unwrap(x: object, where: str, takes: Kinds = ANY) -> Any:
    """Return the array of NumPy or arrayloom that an argument holds.

    Raises
    ------
    TypeError
        It is no `Array`, or has another dtype than the function takes.
    """
    if not isinstance(x, Array):
        raise TypeError(_no_array(x, where))
    a = x._held
    check_kind(a.dtype, takes, where)
    return a


def _no_array(x: object, where: str) -> str:
    kind = f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")
    cure = (
        "give the value, such as float(x)" if isinstance(x, np.generic) else "convert it by asarray"
    )
    return f"{where} takes arrays of arrayloom.array_api, not {kind}; {cure}"


def places(x: object, where: str) -> Any:
    """Return an argument of integers that name places or counts, as NumPy takes them; errors are those of `unwrap`."""
    a = unwrap(x, where, INTEGER)
    # NumPy does not take the others for its own integers.
    return a.astype(np.intp) if a.dtype == np.uint64 else a


def operands(x1: object, x2: object, where: str, takes: Kinds = ANY) -> tuple[Any, Any]:
    """Return two arguments as NumPy takes them, of which one may be a Python number.

    Raises
    ------
    TypeError
        Neither is an `Array`, one is no number either, or they do not mix.
    OverflowError
        A Python integer does not fit into the dtype of the array.
    """
    if isinstance(x1, Array):
        a = unwrap(x1, where, takes)
        if is_number(x2):
            return a, number_for(x2, a.dtype, where)
        b = unwrap(x2, where, takes)
        joined(a.dtype, b.dtype, where)
        return a, b
    if is_number(x1):
        if is_number(x2):
            message = (
                f"{where} takes at least one array, not two Python numbers; make one by asarray"
            )
            raise TypeError(message)
        b = unwrap(x2, where, takes)
        return number_for(x1, b.dtype, where), b
    raise TypeError(_no_array(x1, where))


def _real_only(row: Row, a: Any, b: Any) -> None:
    # A complex number makes a complex operation of an array of floats.
    if "c" not in row.takes.letters and (isinstance(a, complex) or isinstance(b, complex)):
        message = f"{row.name} takes {row.takes.words} operands, not a complex number"
        raise TypeError(message)


def compute(row: Row, x1: object, x2: object) -> "Array":
    """Compute a function of two arguments."""
    a, b = operands(x1, x2, row.name, row.takes)
    _real_only(row, a, b)
    with np.errstate(all="ignore"):
        return wrap(row.function(a, b))


def product(x1: object, x2: object) -> "Array":
    """Multiply matrices."""
    a, b = unwrap(x1, "matmul", NUMERIC), unwrap(x2, "matmul", NUMERIC)
    joined(a.dtype, b.dtype, "matmul")
    with np.errstate(all="ignore"):
        return wrap(np.matmul(a, b))


def _stranger(other: object) -> bool:
    """Whether an operand's own type may know what to do; arrays of NumPy are an error that says why."""
    return not (isinstance(other, (Array, np.ndarray, np.generic)) or is_number(other))


_Three = tuple[
    Callable[["Array", Any], "Array"],
    Callable[["Array", Any], "Array"],
    Callable[["Array", Any], "Array"],
]


def _operator(name: str, word: str) -> _Three:
    """Make an operator, the reflected one, and that in place, of a row."""
    row = BINARY[name]

    def forward(self: "Array", other: Any, /) -> "Array":
        return NotImplemented if _stranger(other) else compute(row, self, other)

    def reflected(self: "Array", other: Any, /) -> "Array":
        return NotImplemented if _stranger(other) else compute(row, other, self)

    def in_place(self: "Array", other: Any, /) -> "Array":
        if _stranger(other):
            return NotImplemented
        a, b = operands(self, other, f"{row.name} in place", row.takes)
        _keeps(a.dtype, b, row.name)
        with np.errstate(all="ignore"):
            row.function(a, b, out=a)
        return self

    for made, prefix in ((forward, ""), (reflected, "r"), (in_place, "i")):
        made.__name__ = f"__{prefix}{word}__"
        made.__qualname__ = f"Array.{made.__name__}"
        made.__doc__ = f"Give `{name}` of both operands; see the function of that name."
    return forward, reflected, in_place


def _keeps(dtype: Dtype, b: Any, where: str) -> None:
    """Raise a `TypeError` if values of `b` do not fit into arrays of `dtype`."""
    if is_array(b):
        kind = b.dtype
        fits = joined(dtype, kind, where) == dtype
    else:
        kind = type(b).__name__
        fits = dtype.kind == "c" or not isinstance(b, complex)
    if not fits:
        message = f"{where} cannot put {kind} into an array of {dtype}; convert it with astype"
        raise TypeError(message)


def _sign(name: str, word: str) -> Callable[["Array"], "Array"]:
    row = UNARY[name]

    def changed(self: "Array", /) -> "Array":
        a = unwrap(self, name, row.takes)
        with np.errstate(all="ignore"):
            return wrap(row.function(a))

    changed.__name__ = f"__{word}__"
    changed.__qualname__ = f"Array.{changed.__name__}"
    changed.__doc__ = f"Give `{name}` of the array; see the function of that name."
    return changed


class Array(Base):
    """An array of the standard: n-dimensional, of one of 13 dtypes, computed by arrayloom.

    Functions of the namespace make it. Large ones are recorded, fused, and computed when a value is
    wanted. Operands of other kinds of dtypes, arrays of NumPy and indices that the standard does not
    have are errors, so that what runs here runs with every library of the standard.

    Operators and functions of NumPy do not take it. ``numpy.asarray(x)`` and ``numpy.from_dlpack(x)`` make
    NumPy's array of it, which shares the memory.

    Raises
    ------
    TypeError
        For each call; `asarray`, `zeros` and their like make arrays.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> x = xp.asarray([1, 2, 3])
    >>> x * 2 + 1
    Array([3, 5, 7], dtype=int64)
    """

    __slots__ = ()

    @property
    def T(self) -> "Array":  # noqa: N802 - the standard's name
        """A matrix with its axes exchanged, in the same memory; a `ValueError` unless there are two axes."""
        if self.ndim != 2:
            message = f"T is for two axes, not for shape {self.shape}; see mT and permute_dims"
            raise ValueError(message)
        return wrap(self._held.T)

    @property
    def mT(self) -> "Array":  # noqa: N802 - the standard's name
        """The last two axes exchanged, in the same memory; a `ValueError` for fewer axes."""
        if self.ndim < 2:
            message = f"mT is for two axes or more, not for shape {self.shape}"
            raise ValueError(message)
        return wrap(self._held.swapaxes(-1, -2))

    def __reduce__(self) -> tuple[Any, ...]:  # pyright: ignore[reportImplicitOverride] - `override` is of Python 3.12
        return wrap, (self._held,)

    # Elements

    def _key(self, key: Any) -> Any:
        parts = cast("tuple[Any, ...]", key if isinstance(key, tuple) else (key,))
        for part in parts:
            if is_array(part):
                raise IndexError(_no_array(part, "an index"))
        held = tuple(p._held if isinstance(p, Array) else p for p in parts)
        return numpy_key(held, self.shape)

    def __getitem__(self, key: Any, /) -> "Array":
        """Return elements: shared memory for integers and slices, copies for arrays as indices."""
        return wrap(self._held[self._key(key)])

    def __setitem__(self, key: Any, value: Any, /) -> None:
        """Write elements; a `TypeError` for values of another kind or a higher dtype.

        Where an index of integer arrays names an element twice, the last value stays.
        """
        a, key = self._held, self._key(key)
        b = number_for(value, a.dtype, "[]=") if is_number(value) else unwrap(value, "[]=")
        _keeps(a.dtype, b, "[]=")
        with np.errstate(all="ignore"):
            a[key] = b

    def __iter__(self) -> Iterator["Array"]:
        """Iterate over the elements of a vector, as arrays; a `TypeError` for other shapes."""
        if self.ndim != 1:
            message = f"only vectors are iterated over, not shape {self.shape}; see unstack"
            raise TypeError(message)
        return (self[i] for i in range(self.shape[0]))

    # Operators

    __add__, __radd__, __iadd__ = _operator("add", "add")
    __sub__, __rsub__, __isub__ = _operator("subtract", "sub")
    __mul__, __rmul__, __imul__ = _operator("multiply", "mul")
    __truediv__, __rtruediv__, __itruediv__ = _operator("divide", "truediv")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _operator("floor_divide", "floordiv")
    __mod__, __rmod__, __imod__ = _operator("remainder", "mod")
    __pow__, __rpow__, __ipow__ = _operator("pow", "pow")
    __and__, __rand__, __iand__ = _operator("bitwise_and", "and")
    __or__, __ror__, __ior__ = _operator("bitwise_or", "or")
    __xor__, __rxor__, __ixor__ = _operator("bitwise_xor", "xor")
    __lshift__, __rlshift__, __ilshift__ = _operator("bitwise_left_shift", "lshift")
    __rshift__, __rrshift__, __irshift__ = _operator("bitwise_right_shift", "rshift")
    __hash__ = None  # pyright: ignore[reportAssignmentType] - as for every class with `__eq__`
    __eq__ = _operator("equal", "eq")[0]  # pyright: ignore[reportAssignmentType] - gives arrays
    __ne__ = _operator("not_equal", "ne")[0]  # pyright: ignore[reportAssignmentType] - gives arrays
    __lt__ = _operator("less", "lt")[0]
    __le__ = _operator("less_equal", "le")[0]
    __gt__ = _operator("greater", "gt")[0]
    __ge__ = _operator("greater_equal", "ge")[0]
    __abs__ = _sign("abs", "abs")
    __neg__ = _sign("negative", "neg")
    __pos__ = _sign("positive", "pos")
    __invert__ = _sign("bitwise_invert", "invert")

    def __matmul__(self, other: Any, /) -> "Array":
        """Give `matmul` of both operands; see the function of that name."""
        return NotImplemented if _stranger(other) else product(self, other)

    def __rmatmul__(self, other: Any, /) -> "Array":
        """Give `matmul` of both operands; see the function of that name."""
        return NotImplemented if _stranger(other) else product(other, self)

    def __imatmul__(self, other: Any, /) -> Self:
        """Give `matmul` of both operands, in the memory of the first."""
        if _stranger(other):
            return NotImplemented
        made = product(self, other)
        _keeps(self._held.dtype, made._held, "matmul in place")
        if made.shape != self.shape:
            message = f"@=: the product has shape {made.shape}, the array {self.shape}"
            raise ValueError(message)
        self._held[...] = made._held
        return self
