"""Functions that make arrays."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from arrayloom import _ext
from arrayloom.array_api._array import Array, quiet, unwrap, wrap
from arrayloom.array_api._devices import check_device
from arrayloom.array_api._dtypes import Dtype, check_cast, check_dtype, float64, is_array, is_number

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]

_meshgrid: Callable[..., Any] = np.meshgrid

_Shape = int | tuple[int, ...]


def _settings(dtype: Dtype | None, device: str | None, where: str) -> Dtype | None:
    """Check both, and return the dtype."""
    check_device(device, where)
    return None if dtype is None else check_dtype(dtype, where)


def asarray(
    obj: Any,
    /,
    *,
    dtype: Dtype | None = None,
    device: str | None = None,
    copy: bool | None = None,
) -> Array:
    """Make an array of a number, of nested lists of numbers, or of another array or buffer.

    Parameters
    ----------
    obj : Array, number, sequence, or buffer
        Arrays of NumPy and arrayloom are taken, too; their memory is shared unless `copy` is true.
    dtype : dtype, optional
        Of the result; that of the values if absent.
    device : str, optional
        ``"cpu"``.
    copy : bool, optional
        True for a copy, False for none, None for one where it is needed.

    Returns
    -------
    Array
        Of the shape of `obj`.

    Raises
    ------
    TypeError
        Values without a dtype of the standard, or complex ones for a real dtype.
    OverflowError
        An integer that no dtype has.
    ValueError
        `copy` is false and a copy is needed, or another device.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.asarray([[1, 2], [3, 4]], dtype=xp.float32)
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    dtype = _settings(dtype, device, "asarray")
    source = unwrap(obj, "asarray") if isinstance(obj, Array) else obj
    if is_array(source) and dtype is not None:
        check_cast(source.dtype, dtype, "asarray")
    with np.errstate(all="ignore"):
        made = _ext.asarray(source, dtype=dtype, copy=copy)
    if made.dtype.kind == "O" and isinstance(obj, (int, list, tuple)):
        message = "asarray: an integer is too large for every dtype, or a value is no number"
        raise OverflowError(message) if _too_large(made) else TypeError(message)
    check_dtype(made.dtype, "asarray")
    return wrap(made)


def _too_large(made: Any) -> bool:
    return all(isinstance(value, int) for value in made.flat)


def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Array:
    """Make an array of another library's, by DLPack.

    Parameters
    ----------
    x : object
        With ``__dlpack__`` and ``__dlpack_device__``.
    device : str, optional
        ``"cpu"``. Memory of another device is copied to the host.
    copy : bool, optional
        True for a copy, False for none, None for one where it is needed.

    Returns
    -------
    Array
        Of the same shape and dtype, in the same memory unless it was copied.

    Raises
    ------
    TypeError
        `x` has no DLPack, or a dtype that the standard lacks.
    BufferError
        The memory cannot be shared and `copy` is false.
    ValueError
        Another device.

    Examples
    --------
    >>> import numpy as np
    >>> import arrayloom.array_api as xp
    >>> xp.from_dlpack(np.arange(3))
    Array([0, 1, 2], dtype=int64)
    """
    check_device(device, "from_dlpack")
    # The bridge takes longer to load than all of this package.
    exchange: Any = import_module("arrayloom.bridge.exchange")
    made = exchange.from_dlpack(x, device=device, copy=copy)
    check_dtype(made.dtype, "from_dlpack")
    return wrap(made)


def empty(shape: _Shape, *, dtype: Dtype | None = None, device: str | None = None) -> Array:
    """Make an array whose values are not set; float64 without `dtype`. Errors are those of `zeros`."""
    return wrap(_ext.empty(shape, dtype=_settings(dtype, device, "empty") or float64))


def zeros(shape: _Shape, *, dtype: Dtype | None = None, device: str | None = None) -> Array:
    """Make an array of zeros.

    Parameters
    ----------
    shape : int or tuple of int
        Its extents.
    dtype : dtype, optional
        Its dtype; float64 if absent.
    device : str, optional
        ``"cpu"``.

    Raises
    ------
    TypeError
        A dtype that the standard lacks.
    ValueError
        A negative extent, or another device.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.zeros(3)
    Array([0., 0., 0.], dtype=float64)
    """
    return wrap(_ext.zeros(shape, dtype=_settings(dtype, device, "zeros") or float64))


def ones(shape: _Shape, *, dtype: Dtype | None = None, device: str | None = None) -> Array:
    """Make an array of ones; float64 without `dtype`. Errors are those of `zeros`."""
    return wrap(_ext.ones(shape, dtype=_settings(dtype, device, "ones") or float64))


@quiet
def full(
    shape: _Shape,
    fill_value: complex | Array,
    *,
    dtype: Dtype | None = None,
    device: str | None = None,
) -> Array:
    """Make an array of one value: a Python number, or an array without dimensions.

    Without `dtype` it is bool, int64, float64 or complex128, as the value is. Beside the errors of `zeros`,
    a `TypeError` for a value that is neither, and for a complex one in a real array; an
    `OverflowError` for an integer that does not fit.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.full(2, 7)
    Array([7, 7], dtype=int64)
    """
    dtype = _settings(dtype, device, "full")
    value, dtype = _filling(fill_value, dtype, "full")
    return wrap(_ext.full(shape, value, dtype=dtype))


def _filling(value: Any, dtype: Dtype | None, where: str) -> tuple[Any, Dtype]:
    """Return the number that fills an array, and the array's dtype."""
    if isinstance(value, Array) and not value.ndim:
        own, value = value.dtype, unwrap(value, where).item()
    elif is_number(value):
        own = asarray(value).dtype
    else:
        kind = type(value).__qualname__
        message = f"{where}: the value is a Python number, not {kind}; see broadcast_to"
        raise TypeError(message)
    if dtype is not None:
        check_cast(own, dtype, where)
    return value, dtype or own


def empty_like(x: Array, /, *, dtype: Dtype | None = None, device: str | None = None) -> Array:
    """Make an array of the shape of `x`, and of its dtype unless `dtype` is given; values are not set."""
    a = unwrap(x, "empty_like")
    return wrap(_ext.empty(a.shape, dtype=_settings(dtype, device, "empty_like") or a.dtype))


def zeros_like(x: Array, /, *, dtype: Dtype | None = None, device: str | None = None) -> Array:
    """Make an array of zeros of the shape of `x`, and of its dtype unless `dtype` is given."""
    a = unwrap(x, "zeros_like")
    return wrap(_ext.zeros(a.shape, dtype=_settings(dtype, device, "zeros_like") or a.dtype))


def ones_like(x: Array, /, *, dtype: Dtype | None = None, device: str | None = None) -> Array:
    """Make an array of ones of the shape of `x`, and of its dtype unless `dtype` is given."""
    a = unwrap(x, "ones_like")
    return wrap(_ext.ones(a.shape, dtype=_settings(dtype, device, "ones_like") or a.dtype))


@quiet
def full_like(
    x: Array,
    /,
    fill_value: complex | Array,
    *,
    dtype: Dtype | None = None,
    device: str | None = None,
) -> Array:
    """Make an array of one value, of the shape of `x`, and of its dtype unless `dtype` is given."""
    a = unwrap(x, "full_like")
    dtype = _settings(dtype, device, "full_like") or a.dtype
    value, dtype = _filling(fill_value, dtype, "full_like")
    return wrap(_ext.full(a.shape, value, dtype=dtype))


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Dtype | None = None,
    device: str | None = None,
) -> Array:
    """Make a matrix of zeros with ones on the `k`-th diagonal; float64 without `dtype`.

    It is square without `n_cols`. Errors are those of `zeros`.
    """
    dtype = _settings(dtype, device, "eye") or float64
    return wrap(_ext.eye(n_rows, n_cols, k=k, dtype=dtype))


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: Dtype | None = None,
    device: str | None = None,
) -> Array:
    """Make a vector of evenly spaced numbers in ``[start, stop)``, or in ``[0, start)`` without `stop`.

    Without `dtype` it is int64 for integers, and float64 otherwise. A step of zero is a
    `ZeroDivisionError`; other errors are those of `zeros`.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.arange(1, 7, 2)
    Array([1, 3, 5], dtype=int64)
    """
    dtype = _settings(dtype, device, "arange")
    start, stop = (0, start) if stop is None else (start, stop)
    return wrap(_ext.arange(start, stop, step, dtype=dtype))


@quiet
def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: Dtype | None = None,
    device: str | None = None,
    endpoint: bool = True,
) -> Array:
    """Make a vector of `num` evenly spaced numbers from `start` to `stop`, without it if not `endpoint`.

    Without `dtype` it is complex128 if a bound is complex, and float64 otherwise. Errors are those of
    `zeros`.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.linspace(0, 1, 3)
    Array([0. , 0.5, 1. ], dtype=float64)
    """
    dtype = _settings(dtype, device, "linspace")
    return wrap(_ext.linspace(start, stop, num, dtype=dtype, endpoint=endpoint))


def meshgrid(*arrays: Array, indexing: str = "xy") -> tuple[Array, ...]:
    """Make of vectors the coordinates of a grid, one array for each of them.

    Parameters
    ----------
    *arrays : Array
        Vectors of one numeric dtype.
    indexing : {"xy", "ij"}
        Whether the first two axes of the results are exchanged, or follow the arguments.

    Raises
    ------
    ValueError
        An array is no vector, dtypes differ, or another `indexing`.
    """
    held = [unwrap(x, "meshgrid") for x in arrays]
    if any(a.ndim > 1 for a in held) or len({a.dtype for a in held}) > 1:
        kinds = ", ".join(f"{a.dtype}{a.shape}" for a in held)
        message = f"meshgrid takes vectors of one dtype, not {kinds}"
        raise ValueError(message)
    return tuple(wrap(a) for a in _meshgrid(*held, indexing=indexing))


def tril(x: Array, /, *, k: int = 0) -> Array:
    """Copy the lower triangles of matrices, with zeros above the `k`-th diagonal.

    A `ValueError` for fewer than two axes.
    """
    return wrap(np.tril(_matrices(x, "tril"), k))


def triu(x: Array, /, *, k: int = 0) -> Array:
    """Copy the upper triangles of matrices, with zeros below the `k`-th diagonal.

    A `ValueError` for fewer than two axes.
    """
    return wrap(np.triu(_matrices(x, "triu"), k))


def _matrices(x: Array, where: str) -> Any:
    a = unwrap(x, where)
    if a.ndim < 2:
        message = f"{where} takes arrays of two axes or more, not of shape {a.shape}"
        raise ValueError(message)
    return a
