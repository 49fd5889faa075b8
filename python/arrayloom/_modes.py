"""Stretches of a program that are left to NumPy, or taken back."""

import contextlib
from collections.abc import Generator

from arrayloom import _ext

__all__ = ["off", "on"]


@contextlib.contextmanager
def off() -> Generator[None]:
    """Leave everything to NumPy in a ``with`` block: nothing is recorded, new results are plain arrays.

    The block holds for the whole process. Arrays that are pending stay so until somebody looks.

    Examples
    --------
    >>> import arrayloom as np
    >>> with np.off():
    ...     isinstance(np.ones(100_000) + 1, np.LazyArray)
    False
    """
    with _lazy(wanted=False):
        yield


@contextlib.contextmanager
def on() -> Generator[None]:
    """Record operations in a ``with`` block, such as one inside of `off` or under ``--no-lazy``.

    Examples
    --------
    >>> import arrayloom as np
    >>> with np.off():
    ...     with np.on():
    ...         isinstance(np.ones(100_000), np.LazyArray)
    True
    """
    with _lazy(wanted=True):
        yield


@contextlib.contextmanager
def _lazy(*, wanted: bool) -> Generator[None]:
    before = _ext.is_lazy()
    _ext.configure(lazy=wanted)
    try:
        yield
    finally:
        _ext.configure(lazy=before)
