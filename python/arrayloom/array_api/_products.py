"""Products of arrays that belong to the standard itself; the extension is ``linalg.py``."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrayloom.array_api._array import Array, product, quiet, unwrap, wrap
from arrayloom.array_api._dtypes import NUMERIC, joined

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]

_vecdot: Callable[..., Any] = np.vecdot


def matmul(x1: Array, x2: Array, /) -> Array:
    """Multiply matrices, or stacks of them.

    Parameters
    ----------
    x1, x2 : Array
        Of numeric dtypes that mix. Shapes ``(..., n, k)`` and ``(..., k, m)``, of which the first axes
        broadcast; a vector ``(k,)`` is a row on the left, a column on the right, and its axis is dropped.

    Returns
    -------
    Array
        Of shape ``(..., n, m)`` and the common dtype.

    Raises
    ------
    TypeError
        An argument has another kind of dtype, or they do not mix.
    ValueError
        The shapes do not fit, or an array has no dimensions.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.matmul(xp.asarray([[1, 2]]), xp.asarray([3, 4]))
    Array([11], dtype=int64)
    """
    return product(x1, x2)


def matrix_transpose(x: Array, /) -> Array:
    """Return an array with its last two axes exchanged, in its memory; a `ValueError` for fewer axes."""
    unwrap(x, "matrix_transpose")
    return x.mT


@quiet
def tensordot(
    x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Array:
    """Multiply arrays and add along axes of both.

    Parameters
    ----------
    x1, x2 : Array
        Of numeric dtypes that mix.
    axes : int or pair of sequences of int
        The last ones of `x1` and the first ones of `x2`, so many; or the axes of each.

    Returns
    -------
    Array
        With the other axes of `x1`, then those of `x2`.

    Raises
    ------
    TypeError
        An argument has another kind of dtype, or they do not mix.
    ValueError
        The extents differ.
    """
    a, b = unwrap(x1, "tensordot", NUMERIC), unwrap(x2, "tensordot", NUMERIC)
    joined(a.dtype, b.dtype, "tensordot")
    return wrap(np.tensordot(a, b, axes=axes))


@quiet
def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Multiply vectors along an axis, the conjugate of the first by the second, and add.

    Parameters
    ----------
    x1, x2 : Array
        Of numeric dtypes that mix; other axes broadcast.
    axis : int
        The vectors' axis, counted from the end.

    Raises
    ------
    TypeError
        An argument has another kind of dtype, or they do not mix.
    ValueError
        The vectors have different lengths, other extents do not broadcast, or `axis` is not negative.
    IndexError
        An array lacks the axis.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.vecdot(xp.asarray([1, 2]), xp.asarray([3, 4]))
    Array(11, dtype=int64)
    """
    a, b = unwrap(x1, "vecdot", NUMERIC), unwrap(x2, "vecdot", NUMERIC)
    joined(a.dtype, b.dtype, "vecdot")
    if axis >= 0:
        message = f"vecdot takes a negative axis, counted from the end, not {axis}"
        raise ValueError(message)
    return wrap(_vecdot(a, b, axis=axis))
