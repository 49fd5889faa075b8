"""Functions that change shapes and move elements. Where no element moves, results share memory."""

from typing import Any

import numpy as np

from arrayloom.array_api._array import Array, places, unwrap, wrap
from arrayloom.array_api._dtypes import joined

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "tile",
    "unstack",
]

_Axes = int | tuple[int, ...]
_Arrays = tuple[Array, ...] | list[Array]


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape to which shapes broadcast; a `ValueError` if there is none.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    return np.broadcast_shapes(*shapes)


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Return arrays broadcast to their common shape, in their memory and not to be written to.

    A `ValueError` if there is no such shape.
    """
    held = [unwrap(x, "broadcast_arrays") for x in arrays]
    shape = np.broadcast_shapes(*(a.shape for a in held))
    return tuple(wrap(np.broadcast_to(a, shape)) for a in held)


def broadcast_to(x: Array, /, shape: tuple[int, ...]) -> Array:
    """Return an array broadcast to a shape, in its memory and not to be written to.

    A `ValueError` if it does not broadcast.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.broadcast_to(xp.asarray([1, 2]), (2, 2))
    Array([[1, 2],
           [1, 2]], dtype=int64)
    """
    return wrap(np.broadcast_to(unwrap(x, "broadcast_to"), shape))


def _several(arrays: Any, where: str) -> list[Any]:
    """Return arrays in the dtype to which they promote."""
    if isinstance(arrays, Array):
        message = f"{where} takes a tuple or list of arrays, not one; see unstack"
        raise TypeError(message)
    held = [unwrap(x, where) for x in arrays]
    if not held:
        message = f"{where} takes at least one array"
        raise ValueError(message)
    dtype = held[0].dtype
    for a in held[1:]:
        dtype = joined(dtype, a.dtype, where)
    return [a if a.dtype == dtype else a.astype(dtype) for a in held]


def concat(arrays: _Arrays, /, *, axis: int | None = 0) -> Array:
    """Join arrays along an axis they have; flattened ones if it is None.

    Parameters
    ----------
    arrays : sequence of Array
        Of dtypes that mix, and of shapes that differ along `axis` at most.
    axis : int or None
        Along which.

    Raises
    ------
    TypeError
        The dtypes do not mix.
    ValueError
        Shapes differ elsewhere, there is no array, or one without dimensions.
    IndexError
        There is no such axis.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.concat([xp.asarray([1, 2]), xp.asarray([3])])
    Array([1, 2, 3], dtype=int64)
    """
    return wrap(np.concatenate(_several(arrays, "concat"), axis=axis))


def stack(arrays: _Arrays, /, *, axis: int = 0) -> Array:
    """Join arrays of one shape along a new axis. Errors are those of `concat`."""
    return wrap(np.stack(_several(arrays, "stack"), axis=axis))


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Return the parts of an array along an axis, which the parts lack, in its memory.

    An `IndexError` if there is no such axis, a `ValueError` for an array without dimensions.
    """
    a = unwrap(x, "unstack")
    if not a.ndim:
        message = "unstack takes arrays of one axis or more, not of shape ()"
        raise ValueError(message)
    turned = np.moveaxis(a, axis, 0)
    return tuple(wrap(turned[i, ...]) for i in range(turned.shape[0]))


def expand_dims(x: Array, /, axis: _Axes) -> Array:
    """Return an array with an axis of extent 1 at a place of the result, in its memory.

    An `IndexError` for a place that the result does not have.
    """
    return wrap(np.expand_dims(unwrap(x, "expand_dims"), axis))


def squeeze(x: Array, /, axis: _Axes) -> Array:
    """Return an array without the named axes, in its memory.

    A `ValueError` if an extent of them is not 1, an `IndexError` if there is no such axis.
    """
    return wrap(np.squeeze(unwrap(x, "squeeze"), axis))


def flip(x: Array, /, *, axis: _Axes | None = None) -> Array:
    """Return an array with the elements in reverse along axes, all without `axis`, in its memory.

    An `IndexError` if there is no such axis.
    """
    return wrap(np.flip(unwrap(x, "flip"), axis))


def moveaxis(x: Array, source: _Axes, destination: _Axes, /) -> Array:
    """Return an array with axes at other places, in its memory.

    A `ValueError` for lists of different lengths, an `IndexError` if there is no such axis.
    """
    return wrap(np.moveaxis(unwrap(x, "moveaxis"), source, destination))


def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Array:
    """Return an array whose axes are those of `x` in another order, in its memory.

    A `ValueError` if `axes` does not have each axis once.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.permute_dims(xp.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return wrap(np.transpose(unwrap(x, "permute_dims"), axes))


def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """Repeat each element along an axis, of the flattened array if it is None.

    Parameters
    ----------
    x : Array
        Of any dtype.
    repeats : int or Array of integers
        How often; a vector for each place of the axis.
    axis : int, optional
        Along which.

    Raises
    ------
    TypeError
        `repeats` is no integer.
    ValueError
        It is negative, or has another length than the axis.
    IndexError
        There is no such axis.
    """
    a = unwrap(x, "repeat")
    if isinstance(repeats, Array):
        times: Any = places(repeats, "repeat: repeats")
    elif isinstance(repeats, int):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without types
        times = repeats
    else:
        message = f"repeat: repeats is an integer or an array of them, not {repeats!r}"
        raise TypeError(message)
    return wrap(np.repeat(a, times, axis=axis))


def reshape(x: Array, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
    """Return the elements in another shape.

    Parameters
    ----------
    x : Array
        Of any dtype.
    shape : tuple of int
        One extent may be -1, which follows from the others.
    copy : bool, optional
        True for a copy, False for none, None for one where it is needed.

    Raises
    ------
    ValueError
        The sizes differ, or `copy` is false and a copy is needed.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.reshape(xp.arange(4), (2, -1))
    Array([[0, 1],
           [2, 3]], dtype=int64)
    """
    return wrap(np.reshape(unwrap(x, "reshape"), shape, copy=copy))


def roll(x: Array, /, shift: _Axes, *, axis: _Axes | None = None) -> Array:
    """Move elements along axes; those that leave at one end enter at the other.

    Without `axis` the flattened array is rolled, and gets its shape back. A `ValueError` for tuples of
    different lengths, an `IndexError` if there is no such axis.
    """
    return wrap(np.roll(unwrap(x, "roll"), shift, axis=axis))


def tile(x: Array, repetitions: tuple[int, ...], /) -> Array:
    """Repeat a whole array along each axis; missing axes come first.

    A `TypeError` if `repetitions` is no tuple.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.tile(xp.asarray([1, 2]), (2,))
    Array([1, 2, 1, 2], dtype=int64)
    """
    if not isinstance(repetitions, tuple):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without types
        message = f"tile: repetitions is a tuple, not {repetitions!r}"
        raise TypeError(message)
    return wrap(np.tile(unwrap(x, "tile"), repetitions))
