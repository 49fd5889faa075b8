"""Run NumPy programs as they are: fused, on all cores.

``import arrayloom as np`` gives NumPy's namespace: the same functions, dtypes and exceptions, except
for the functions that make arrays. Large arrays made by those are lazy: operations on them are
recorded and run together when a value is needed.
"""

from typing import TYPE_CHECKING

import numpy as _numpy

from arrayloom import _alias, _ext
from arrayloom._ext import LazyArray
from arrayloom.errors import (
    ArrayloomError,
    DeviceError,
    FallbackWarning,
    InternalError,
    OutOfMemoryError,
    SettingError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from numpy import *  # noqa: F403 - type checkers see NumPy's names

# NumPy's functions that are replaced: those that make arrays.
_CREATION = (
    "arange",
    "array",
    "asarray",
    "ascontiguousarray",
    "empty",
    "empty_like",
    "eye",
    "fromfile",
    "fromfunction",
    "full",
    "full_like",
    "identity",
    "linspace",
    "load",
    "loadtxt",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
)

for _name in dir(_numpy):
    if not _name.startswith("__"):
        globals().setdefault(_name, getattr(_numpy, _name))
for _name in _CREATION:
    globals()[_name] = getattr(_ext, _name)
del _name

__version__ = _ext.version
__all__ = [*_numpy.__all__]  # noqa: PLE0604 - a list of strings, made by NumPy
__numpy_version__ = _numpy.__version__


_alias.install()


def __getattr__(name: str) -> object:
    """Names that NumPy itself makes on demand."""
    return getattr(_numpy, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_numpy)})
