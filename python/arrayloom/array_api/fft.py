"""Fourier transforms: the standard's extension ``fft``.

Results have the precision of the argument: ``complex64`` for ``float32`` and ``complex64``.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from arrayloom import _ext
from arrayloom.array_api._array import Array, unwrap, wrap
from arrayloom.array_api._devices import check_device
from arrayloom.array_api._dtypes import COMPLEX, FLOATING, REAL_FLOATING, Dtype, Kinds, check_dtype

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]

_NORMS = ("backward", "ortho", "forward")

_ALONG_ONE = """Return {words} along an axis.

Parameters
----------
x : Array
    Of a {kinds} dtype.
n : int, optional
    The length to which lines are cut or filled with zeros{length}.
axis : int
    Along which axis.
norm : {{"backward", "ortho", "forward"}}
    Which direction is divided by `n`, or both by its root.

Returns
-------
Array
    Of {result} numbers, in the precision of `x`.

Raises
------
TypeError
    `x` has another kind of dtype.
ValueError
    `n` is below 1, or another `norm`.
IndexError
    There is no such axis.
"""

_ALONG_SEVERAL = """Return {words} along axes.

Parameters
----------
x : Array
    Of a {kinds} dtype.
s : sequence of int, optional
    The lengths to which `x` is cut or filled with zeros; of the last axes, so many,
    if `axes` is absent{length}.
axes : sequence of int, optional
    Along which axes; all if absent.
norm : {{"backward", "ortho", "forward"}}
    Which direction is divided by the number of points, or both by its root.

Returns
-------
Array
    Of {result} numbers, in the precision of `x`.

Raises
------
TypeError
    `x` has another kind of dtype.
ValueError
    A length is below 1, `s` has another length than `axes`, or another `norm`.
IndexError
    There is no such axis.
"""


class _AlongOne(Protocol):
    def __call__(
        self, x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward"
    ) -> Array: ...


class _AlongSeveral(Protocol):
    def __call__(
        self,
        x: Array,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: str = "backward",
    ) -> Array: ...


def _transformed(name: str, a: Any, norm: str, where: tuple[Any, Any]) -> Array:
    if norm not in _NORMS:
        message = f"{name}: norm is one of {', '.join(map(repr, _NORMS))}, not {norm!r}"
        raise ValueError(message)
    function: Callable[..., Any] = getattr(np.fft, name)
    with np.errstate(all="ignore"):
        return wrap(function(a, *where, norm=norm))


def _words(name: str, text: str, takes: Kinds, words: str) -> str:
    inverse_of_real = name in {"irfft", "irfftn", "hfft"}
    length = "; by default twice the last extent less one" if inverse_of_real else ""
    result = "real" if inverse_of_real else "complex"
    return text.format(words=words, kinds=takes.words, length=length, result=result)


def _along_one(name: str, takes: Kinds, words: str) -> _AlongOne:
    def transform(
        x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward"
    ) -> Array:
        return _transformed(name, unwrap(x, name, takes), norm, (n, axis))

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = _words(name, _ALONG_ONE, takes, words)
    return transform


def _along_several(name: str, takes: Kinds, words: str) -> _AlongSeveral:
    def transform(
        x: Array,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: str = "backward",
    ) -> Array:
        a = unwrap(x, name, takes)
        if s is not None and axes is None:
            # The standard: the last ones, so many.
            axes = range(a.ndim - len(s), a.ndim)
        return _transformed(name, a, norm, (s, axes))

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = _words(name, _ALONG_SEVERAL, takes, words)
    return transform


fft = _along_one("fft", COMPLEX, "the Fourier transform")
ifft = _along_one("ifft", COMPLEX, "the inverse Fourier transform")
rfft = _along_one("rfft", REAL_FLOATING, "the first half of the transform of real numbers")
irfft = _along_one("irfft", COMPLEX, "the real numbers of which `rfft` gives these")
hfft = _along_one("hfft", COMPLEX, "the transform of the first half of symmetric numbers")
ihfft = _along_one("ihfft", REAL_FLOATING, "the first half of the symmetric inverse transform")
fftn = _along_several("fftn", COMPLEX, "the Fourier transform")
ifftn = _along_several("ifftn", COMPLEX, "the inverse Fourier transform")
rfftn = _along_several("rfftn", REAL_FLOATING, "the half of the transform of real numbers")
irfftn = _along_several("irfftn", COMPLEX, "the real numbers of which `rfftn` gives these")


def _frequencies(name: str, n: int, d: float, dtype: Dtype | None, device: str | None) -> Array:
    check_device(device, name)
    if dtype is not None and check_dtype(dtype, name).kind != "f":
        message = f"{name} gives real floating-point numbers, not {dtype}"
        raise ValueError(message)
    function: Callable[..., Any] = getattr(np.fft, name)
    return wrap(_ext.asarray(function(n, d), dtype=dtype))


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: Dtype | None = None, device: str | None = None
) -> Array:
    """Return the frequencies of a transform of `n` points that are `d` apart.

    A vector of `n` numbers of `dtype`, float64 if absent. A `ValueError` for another kind of dtype,
    another device, or `n` below 1.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.fft.fftfreq(4)
    Array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float64)
    """
    return _frequencies("fftfreq", n, d, dtype, device)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: Dtype | None = None, device: str | None = None
) -> Array:
    """Return the frequencies of `rfft` of `n` points: half of those of `fftfreq`, which has the errors, too."""
    return _frequencies("rfftfreq", n, d, dtype, device)


def fftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Move the frequency zero to the middle of axes, of all if none is named.

    `x` has a floating-point dtype. A `TypeError` for others, an `IndexError` if there is no such axis.
    """
    return wrap(np.fft.fftshift(unwrap(x, "fftshift", FLOATING), axes))


def ifftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Undo `fftshift`, which has the parameters and errors."""
    return wrap(np.fft.ifftshift(unwrap(x, "ifftshift", FLOATING), axes))
