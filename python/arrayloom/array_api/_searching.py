"""Functions that look for elements, pick, sort, and tell them apart."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from arrayloom.array_api._array import Array, operands, places, quiet, unwrap, wrap
from arrayloom.array_api._dtypes import BOOLEAN, INTEGER, REAL, is_number

__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "isin",
    "nonzero",
    "searchsorted",
    "sort",
    "take",
    "take_along_axis",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "where",
]


_searchsorted: Callable[..., Any] = np.searchsorted


class UniqueAll(NamedTuple):
    """What `unique_all` returns."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """What `unique_counts` returns."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """What `unique_inverse` returns."""

    values: Array
    inverse_indices: Array


def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return where the greatest element along an axis is first, as int64; without `axis` in the flattened array.

    A `TypeError` for a dtype that is not real numeric, an `IndexError` if there is no such axis, a
    `ValueError` if there is no element.
    """
    return wrap(np.argmax(unwrap(x, "argmax", REAL), axis=axis, keepdims=keepdims))


def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return where the least element along an axis is first. Parameters and errors are those of `argmax`."""
    return wrap(np.argmin(unwrap(x, "argmin", REAL), axis=axis, keepdims=keepdims))


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Return the places of elements that are not zero: for each axis a vector of int64.

    A `ValueError` for an array without dimensions.
    """
    a = unwrap(x, "nonzero")
    if not a.ndim:
        message = "nonzero takes arrays of one axis or more, not of shape ()"
        raise ValueError(message)
    return tuple(wrap(found) for found in np.nonzero(a))


@quiet
def where(condition: Array, x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return the elements of `x1` where a condition holds, and those of `x2` elsewhere.

    Parameters
    ----------
    condition : Array of bool
        Shapes broadcast.
    x1, x2 : Array
        Of dtypes that mix. One may be a Python number that goes with the dtype of the other.

    Raises
    ------
    TypeError
        The condition is not of bools, or `x1` and `x2` do not mix.
    ValueError
        Shapes do not broadcast.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> x = xp.asarray([-1.0, 4.0])
    >>> xp.where(x < 0, 0, x)
    Array([0., 4.], dtype=float64)
    """
    choose = unwrap(condition, "where: the condition", BOOLEAN)
    a, b = operands(x1, x2, "where")
    return wrap(np.where(choose, a, b))


@quiet
def searchsorted(
    x1: Array,
    x2: Array | float,
    /,
    *,
    side: str = "left",
    sorter: Array | None = None,
) -> Array:
    """Return where elements would stand in a sorted vector.

    Parameters
    ----------
    x1 : Array
        A vector of a real numeric dtype, sorted.
    x2 : Array or number
        What is looked up, of a dtype that mixes with that of `x1`.
    side : {"left", "right"}
        Before or behind equal elements.
    sorter : Array of integers, optional
        Places that sort `x1`, where it is not sorted.

    Returns
    -------
    Array
        Of int64 and the shape of `x2`.

    Raises
    ------
    TypeError
        An argument has another kind of dtype, or they do not mix.
    ValueError
        `x1` is no vector, or another `side`.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.searchsorted(xp.asarray([1, 3, 5]), xp.asarray([3, 9]))
    Array([1, 3], dtype=int64)
    """
    a, b = operands(x1, x2, "searchsorted", REAL)
    if not isinstance(x1, Array):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without types
        message = "searchsorted takes a vector first, not a number"
        raise TypeError(message)
    if a.ndim != 1:
        message = f"searchsorted takes a vector first, not shape {a.shape}"
        raise ValueError(message)
    if side not in {"left", "right"}:
        message = f"searchsorted: side is 'left' or 'right', not {side!r}"
        raise ValueError(message)
    order = None if sorter is None else places(sorter, "searchsorted: sorter")
    if is_number(b):
        b = np.asarray(b, dtype=a.dtype)
    # In its own order a vector is searched as it is; NumPy walks through `sorter` element by element.
    return wrap(_searchsorted(a if order is None else np.take(a, order), b, side=side))


def isin(x1: Array | int, x2: Array | int, /, *, invert: bool = False) -> Array:
    """Return as bool which elements of `x1` are among those of `x2`, or are not if `invert`.

    Both have integer dtypes that mix; one may be a Python number. A `TypeError` for others.
    """
    a, b = operands(x1, x2, "isin", INTEGER)
    return wrap(np.isin(a, b, invert=invert))


def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    """Pick elements along an axis.

    Parameters
    ----------
    x : Array
        Of any dtype.
    indices : Array of integers
        A vector of places; negative ones count from the end.
    axis : int, optional
        Along which axis; may be absent for vectors.

    Raises
    ------
    TypeError
        The indices are no integers.
    ValueError
        They are no vector, or there are several axes and none is named.
    IndexError
        There is no such place, or axis.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.take(xp.asarray([5, 6, 7]), xp.asarray([2, 0]))
    Array([7, 5], dtype=int64)
    """
    a, found = unwrap(x, "take"), places(indices, "take: indices")
    if found.ndim != 1:
        message = f"take: indices are a vector, not of shape {found.shape}"
        raise ValueError(message)
    if axis is None and a.ndim != 1:
        message = f"take of shape {a.shape} needs axis="
        raise ValueError(message)
    return wrap(np.take(a, found, axis=axis))


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Pick elements along an axis, at other places for each line: what `argsort` gives.

    `indices` are integers of as many axes as `x`; other extents broadcast. A `TypeError` if they are no
    integers, a `ValueError` for other numbers of axes, an `IndexError` for places that do not exist.
    """
    a, found = unwrap(x, "take_along_axis"), places(indices, "take_along_axis: indices")
    return wrap(np.take_along_axis(a, found, axis=axis))


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the elements sorted along an axis.

    Parameters
    ----------
    x : Array
        Of a real numeric dtype.
    axis : int
        Along which axis.
    descending : bool
        Whether the greatest comes first.
    stable : bool
        Whether equal elements keep their order.

    Raises
    ------
    TypeError
        Another kind of dtype.
    IndexError
        There is no such axis.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.sort(xp.asarray([2, 3, 1]), descending=True)
    Array([3, 2, 1], dtype=int64)
    """
    a = unwrap(x, "sort", REAL)
    if descending:
        # Reversed before and behind, equal elements keep their order.
        return wrap(np.flip(np.sort(np.flip(a, axis), axis=axis, stable=stable), axis))
    return wrap(np.sort(a, axis=axis, stable=stable))


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the places of elements, as int64, in the order that `sort` gives them; it has the errors, too."""
    a = unwrap(x, "argsort", REAL)
    if not a.ndim:
        message = "argsort takes arrays of one axis or more, not of shape ()"
        raise IndexError(message)
    if descending:
        order = np.argsort(np.flip(a, axis), axis=axis, stable=stable)
        return wrap(np.flip(a.shape[axis] - 1 - order, axis))
    return wrap(np.argsort(a, axis=axis, stable=stable))


def unique_all(x: Array, /) -> UniqueAll:
    """Return the distinct elements, where each is first, which of them each element is, and how many there are.

    NaNs are distinct from one another. Places and counts are int64; `inverse_indices` has the shape of `x`,
    the others are vectors.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.unique_all(xp.asarray([5, 3, 5])).counts
    Array([1, 2], dtype=int64)
    """
    return UniqueAll(*map(wrap, np.unique_all(unwrap(x, "unique_all"))))


def unique_counts(x: Array, /) -> UniqueCounts:
    """Return the distinct elements, and how many there are of each, as int64. NaNs are distinct."""
    return UniqueCounts(*map(wrap, np.unique_counts(unwrap(x, "unique_counts"))))


def unique_inverse(x: Array, /) -> UniqueInverse:
    """Return the distinct elements, and as int64 which of them each element of `x` is. NaNs are distinct."""
    return UniqueInverse(*map(wrap, np.unique_inverse(unwrap(x, "unique_inverse"))))


def unique_values(x: Array, /) -> Array:
    """Return a vector of the distinct elements, in any order. NaNs are distinct."""
    return wrap(np.unique_values(unwrap(x, "unique_values")))
