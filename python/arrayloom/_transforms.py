"""Fourier transforms of lazy arrays.

NumPy's functions make plain arrays of what they get before they call the ufuncs that transform rows. Here the ufuncs
get the arrays as they are, and rows are shared by all cores.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportPrivateUsage=false
# pyright: reportAttributeAccessIssue=false, reportUnnecessaryIsInstance=false
# Arguments are as various as NumPy takes them.

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.fft._pocketfft import _raw_fft

__all__ = ["TRANSFORMS"]


def _fits(a) -> bool:
    """True for arrays of many rows. Other dtypes than these are cast by NumPy's own code."""
    return isinstance(a, np.ndarray) and a.ndim > 1 and a.dtype.char in "fdFD" and a.size > 0


def _rows(*, real: bool, forward: bool) -> Callable[..., Any]:
    """`fft`, `ifft`, `rfft` or `irfft`."""

    def call(a, n=None, axis=-1, norm=None, out=None) -> Any:
        whole = isinstance(axis, int) and (n is None or (isinstance(n, int) and n > 0))
        if not _fits(a) or not whole or not -a.ndim <= axis < a.ndim or out is not None:
            return NotImplemented
        if real and forward == (a.dtype.kind == "c"):
            return NotImplemented
        if n is None:
            n = (a.shape[axis] - 1) * 2 if real and not forward else a.shape[axis]
        return _raw_fft(a, n, axis, real, forward, norm) if n > 0 else NotImplemented

    return call


def _axes(*, real: bool, forward: bool, default: tuple[int, int] | None) -> Callable[..., Any]:
    """`fftn` and its kind: one axis after the other, in NumPy's order."""
    one, last = (np.fft.fft, np.fft.rfft) if forward else (np.fft.ifft, np.fft.irfft)

    def call(a, s=None, axes=default, norm=None, out=None) -> Any:
        if not _fits(a) or s is not None or out is not None:
            return NotImplemented
        try:
            order = list(range(a.ndim)) if axes is None else [range(a.ndim)[i] for i in axes]
        except (IndexError, TypeError):
            return NotImplemented
        if not order or (real and len(set(order)) < len(order)):
            return NotImplemented
        if not real:
            for axis in reversed(order):
                a = one(a, axis=axis, norm=norm)
        elif forward:
            a = last(a, axis=order[-1], norm=norm)
            for axis in reversed(order[:-1]):
                a = one(a, axis=axis, norm=norm)
        else:
            for axis in order[:-1]:
                a = one(a, axis=axis, norm=norm)
            a = last(a, axis=order[-1], norm=norm)
        return a

    return call


# By the names of NumPy's functions.
TRANSFORMS: dict[str, Callable[..., Any]] = {
    "fft": _rows(real=False, forward=True),
    "ifft": _rows(real=False, forward=False),
    "rfft": _rows(real=True, forward=True),
    "irfft": _rows(real=True, forward=False),
    "fft2": _axes(real=False, forward=True, default=(-2, -1)),
    "ifft2": _axes(real=False, forward=False, default=(-2, -1)),
    "rfft2": _axes(real=True, forward=True, default=(-2, -1)),
    "irfft2": _axes(real=True, forward=False, default=(-2, -1)),
    "fftn": _axes(real=False, forward=True, default=None),
    "ifftn": _axes(real=False, forward=False, default=None),
    "rfftn": _axes(real=True, forward=True, default=None),
    "irfftn": _axes(real=True, forward=False, default=None),
}
