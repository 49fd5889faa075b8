"""Functions that make one number of many, along axes."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from arrayloom.array_api._array import Array, quiet, unwrap, wrap
from arrayloom.array_api._dtypes import (
    FLOATING,
    NUMERIC,
    REAL,
    REAL_FLOATING,
    Dtype,
    check_cast,
    check_dtype,
    joined,
)

__all__ = [
    "all",
    "any",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]

_Axes = int | tuple[int, ...] | None


def _checked(a: Any, dtype: Dtype | None, where: str) -> Dtype | None:
    """Check the dtype that a sum is asked for."""
    if dtype is not None:
        check_cast(a.dtype, check_dtype(dtype, where), where)
    return dtype


@quiet
def sum(
    x: Array,
    /,
    *,
    axis: _Axes = None,
    dtype: Dtype | None = None,
    keepdims: bool = False,
) -> Array:
    """Add elements.

    Parameters
    ----------
    x : Array
        Of a numeric dtype.
    axis : int or tuple of int, optional
        Along which axes; all if absent.
    dtype : dtype, optional
        In which to add. If absent, int64 or uint64 for integers, otherwise that of `x`.
    keepdims : bool
        Whether these axes stay, with extent 1.

    Returns
    -------
    Array
        Of the shape that is left, and of the dtype of the addition.

    Raises
    ------
    TypeError
        `x` has another kind of dtype, or a complex one and `dtype` a real one.
    IndexError
        There is no such axis.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.sum(xp.asarray([100, 100], dtype=xp.int8))
    Array(200, dtype=int64)
    """
    a = unwrap(x, "sum", NUMERIC)
    return wrap(np.sum(a, axis=axis, dtype=_checked(a, dtype, "sum"), keepdims=keepdims))


@quiet
def prod(
    x: Array,
    /,
    *,
    axis: _Axes = None,
    dtype: Dtype | None = None,
    keepdims: bool = False,
) -> Array:
    """Multiply elements. Parameters, result and errors are those of `sum`."""
    a = unwrap(x, "prod", NUMERIC)
    return wrap(np.prod(a, axis=axis, dtype=_checked(a, dtype, "prod"), keepdims=keepdims))


@quiet
def max(x: Array, /, *, axis: _Axes = None, keepdims: bool = False) -> Array:
    """Return the greatest element along axes, NaN if there is one.

    `x` has a real numeric dtype, which the result has, too. A `TypeError` for others, an `IndexError` if
    there is no such axis, a `ValueError` if there is no element.
    """
    return wrap(np.max(unwrap(x, "max", REAL), axis=axis, keepdims=keepdims))


@quiet
def min(x: Array, /, *, axis: _Axes = None, keepdims: bool = False) -> Array:
    """Return the least element along axes, NaN if there is one. Errors are those of `max`."""
    return wrap(np.min(unwrap(x, "min", REAL), axis=axis, keepdims=keepdims))


@quiet
def mean(x: Array, /, *, axis: _Axes = None, keepdims: bool = False) -> Array:
    """Return the mean along axes, NaN of no elements.

    `x` has a floating-point dtype, which the result has, too. A `TypeError` for others, an `IndexError` if
    there is no such axis.
    """
    a = unwrap(x, "mean", FLOATING)
    return wrap(_spread(np.mean, a, axis, 0, axis=axis, keepdims=keepdims))


@quiet
def std(
    x: Array, /, *, axis: _Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """Return the standard deviation along axes: the root of `var`, which has the parameters and errors."""
    a = unwrap(x, "std", REAL_FLOATING)
    return wrap(_spread(np.std, a, axis, correction, axis=axis, ddof=correction, keepdims=keepdims))


@quiet
def var(
    x: Array, /, *, axis: _Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """Return the variance along axes.

    Parameters
    ----------
    x : Array
        Of a real floating-point dtype.
    axis : int or tuple of int, optional
        Along which axes; all if absent.
    correction : float
        Squares are summed and divided by the number of elements less this.
    keepdims : bool
        Whether these axes stay, with extent 1.

    Returns
    -------
    Array
        Of the dtype of `x`; NaN or infinite where nothing is left to divide by.

    Raises
    ------
    TypeError
        `x` has another kind of dtype.
    IndexError
        There is no such axis.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.var(xp.asarray([1.0, 3.0]), correction=1)
    Array(2., dtype=float64)
    """
    a = unwrap(x, "var", REAL_FLOATING)
    return wrap(_spread(np.var, a, axis, correction, axis=axis, ddof=correction, keepdims=keepdims))


def _spread(fold: Callable[..., Any], a: Any, axes: _Axes, less: float, **words: Any) -> Any:
    """Call a function of NumPy's that warns where no more than `less` elements are folded."""
    places = range(a.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
    if math.prod(a.shape[axis] for axis in places if -a.ndim <= axis < a.ndim) > less:
        return fold(a, **words)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return fold(a, **words)


def all(x: Array, /, *, axis: _Axes = None, keepdims: bool = False) -> Array:
    """Return as bool whether all elements along axes are true, that is, not zero; true of no elements.

    An `IndexError` if there is no such axis.
    """
    return wrap(np.all(unwrap(x, "all"), axis=axis, keepdims=keepdims))


def any(x: Array, /, *, axis: _Axes = None, keepdims: bool = False) -> Array:
    """Return as bool whether an element along axes is true, that is, not zero; false of no elements.

    An `IndexError` if there is no such axis.
    """
    return wrap(np.any(unwrap(x, "any"), axis=axis, keepdims=keepdims))


def count_nonzero(x: Array, /, *, axis: _Axes = None, keepdims: bool = False) -> Array:
    """Count the elements along axes that are not zero, as int64.

    An `IndexError` if there is no such axis.
    """
    a = unwrap(x, "count_nonzero")
    return wrap(np.count_nonzero(a, axis=axis, keepdims=keepdims))


@quiet
def cumulative_sum(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: Dtype | None = None,
    include_initial: bool = False,
) -> Array:
    """Return running sums along an axis.

    Parameters
    ----------
    x : Array
        Of a numeric dtype.
    axis : int, optional
        Along which axis; may be absent for vectors.
    dtype : dtype, optional
        In which to add, as for `sum`.
    include_initial : bool
        Whether the sum of nothing comes first; the axis is longer by one then.

    Raises
    ------
    TypeError
        `x` has another kind of dtype, or a complex one and `dtype` a real one.
    ValueError
        There are several axes and none is named, or there is no axis.
    IndexError
        There is no such axis.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.cumulative_sum(xp.asarray([1, 2, 3]), include_initial=True)
    Array([0, 1, 3, 6], dtype=int64)
    """
    return _running("cumulative_sum", np.cumsum, 0, (x, axis, dtype), initial=include_initial)


@quiet
def cumulative_prod(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: Dtype | None = None,
    include_initial: bool = False,
) -> Array:
    """Return running products along an axis. Parameters and errors are those of `cumulative_sum`."""
    return _running("cumulative_prod", np.cumprod, 1, (x, axis, dtype), initial=include_initial)


def _running(
    name: str,
    fold: Callable[..., Any],
    neutral: int,
    call: tuple[Array, int | None, Dtype | None],
    *,
    initial: bool,
) -> Array:
    x, axis, dtype = call
    a = unwrap(x, name, NUMERIC)
    if not a.ndim:
        message = f"{name} takes arrays of one axis or more, not of shape ()"
        raise ValueError(message)
    if axis is None:
        if a.ndim > 1:
            message = f"{name} of shape {a.shape} needs axis="
            raise ValueError(message)
        axis = 0
    sums = fold(a, axis=axis, dtype=_checked(a, dtype, name))
    if initial:
        shape = [1 if i == axis % sums.ndim else n for i, n in enumerate(sums.shape)]
        sums = np.concatenate([np.full(shape, neutral, dtype=sums.dtype), sums], axis=axis)
    return wrap(sums)


@quiet
def diff(
    x: Array,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Array | None = None,
    append: Array | None = None,
) -> Array:
    """Return the differences of neighbours along an axis, `n` times over.

    Parameters
    ----------
    x : Array
        Of a numeric dtype.
    axis : int
        Along which axis.
    n : int
        How often differences are taken.
    prepend, append : Array, optional
        What stands before and behind `x` along the axis first.

    Raises
    ------
    TypeError
        An argument has another kind of dtype, or they do not mix.
    ValueError
        `n` is negative, or a shape does not fit.
    IndexError
        There is no such axis.
    """
    a = unwrap(x, "diff", NUMERIC)
    parts = [part for part in (prepend, x, append) if part is not None]
    held = [unwrap(part, "diff", NUMERIC) for part in parts]
    dtype = a.dtype
    for part in held:
        dtype = joined(dtype, part.dtype, "diff")
    if len(held) > 1:
        a = np.concatenate([part.astype(dtype, copy=False) for part in held], axis=axis)
    return wrap(np.diff(a, n=n, axis=axis))
