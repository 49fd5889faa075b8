"""Run NumPy programs as they are: fused, on all cores.

``import arrayloom as np`` gives NumPy's namespace: the same functions, dtypes and exceptions, except
for the functions that make arrays. Large arrays made by those are lazy: operations on them are
recorded and run together when a value is needed.

pytest finds the plug-in of this distribution and would like to rewrite the assertions of all its packages, of which
this one may be imported by then: PYTEST_DONT_REWRITE.
"""

from arrayloom import _preload

_preload.restart_early()

# ruff: noqa: E402 - a restart comes before everything that takes time
import importlib
import os as _os
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING, Any

import numpy as _numpy  # noqa: ICN001 - the plain name would be a public one

from arrayloom.errors import ArrayloomError as ArrayloomError

try:
    from arrayloom import _ext

    if "ARRAYLOOM_STRICT" in _os.environ:
        from arrayloom import _strict

        _strict.be_strict(_os.environ["ARRAYLOOM_STRICT"] or "0")
except ArrayloomError as wrong:
    _preload.end_runner(wrong)
    raise
from arrayloom import _alias, _interop, _signals, _warnings
from arrayloom._ext import LazyArray as LazyArray
from arrayloom.errors import DeviceError as DeviceError
from arrayloom.errors import FallbackError as FallbackError
from arrayloom.errors import FallbackWarning as FallbackWarning
from arrayloom.errors import InternalError as InternalError
from arrayloom.errors import OutOfMemoryError as OutOfMemoryError
from arrayloom.errors import SettingError as SettingError
from arrayloom.errors import UnsupportedError as UnsupportedError
from arrayloom.errors import VerifyError as VerifyError

if TYPE_CHECKING:
    from arrayloom._explain import Explanation as Explanation
    from arrayloom._explain import explain as explain
    from arrayloom._ipython import load_ipython_extension as load_ipython_extension
    from arrayloom._ipython import unload_ipython_extension as unload_ipython_extension
    from arrayloom._modes import off as off
    from arrayloom._modes import on as on
    from arrayloom._profile_block import Profile as Profile
    from arrayloom._profile_block import profile as profile
    from arrayloom._strict import strict as strict
    from arrayloom._verify import verify as verify

# Names that are imported when they are used.
_ON_DEMAND = {
    "Explanation": "arrayloom._explain",
    "Profile": "arrayloom._profile_block",
    "explain": "arrayloom._explain",
    "load_ipython_extension": "arrayloom._ipython",
    "off": "arrayloom._modes",
    "on": "arrayloom._modes",
    "profile": "arrayloom._profile_block",
    "strict": "arrayloom._strict",
    "unload_ipython_extension": "arrayloom._ipython",
    "verify": "arrayloom._verify",
}

# Modules of ours that are imported when they are used.
_MODULES = ("array_api", "random")

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


def _fill(namespace: dict[str, Any]) -> None:
    """Put NumPy's names into `namespace`, and ours for the functions that make arrays.

    Submodules that NumPy itself imports on demand, such as ``numpy.f2py``, stay so.
    """
    theirs = vars(_numpy)
    for name in dir(_numpy):
        if name in theirs and name != "random" and not name.startswith("__"):
            namespace.setdefault(name, theirs[name])
    for name in _CREATION:
        namespace[name] = getattr(_ext, name)
    namespace["__version__"] = _numpy.__version__
    namespace["__all__"] = list(_numpy.__all__)


_fill(globals())
_ext.short_moves_crawl(_preload.short_moves_crawl())
_alias.install()
_interop.install()
_signals.install()
_warnings.install()


def __getattr__(name: str) -> Any:  # noqa: ANN401 - NumPy's names are of every type
    """Names that are made on demand, NumPy's among them."""
    if name in _MODULES:
        return importlib.import_module(f"arrayloom.{name}")
    if name.startswith("__") and name in globals():
        # A copy of this namespace asks for what it does not have itself.
        message = f"module {__name__!r} has no attribute {name!r} to be made"
        raise AttributeError(message)
    home = _ON_DEMAND.get(name)
    value = getattr(_numpy if home is None else importlib.import_module(home), name)
    if isinstance(value, _ModuleType):
        # `fft`, `polynomial` and other parts of NumPy that it loads on demand: programs ask for them again and again.
        globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_ON_DEMAND, *_MODULES, *dir(_numpy)})
