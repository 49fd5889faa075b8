"""Libraries that hand an array's address to the system or to threads that cannot wait for memory.

HDF5 reads and writes by system calls, which do not fault; numexpr's workers block all signals, so a
fault there is the end of the process. Under ``python -m arrayloom`` the shim helps both. For a plain
``import arrayloom``, the functions of these libraries that take arrays are wrapped when the library
is imported: arrays among the arguments get their values first.

NumPy's own masked arrays keep the type of their data. Where they show it or write it into a pickle, they
are wrapped too, and name NumPy's type.
"""

import copyreg
import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from arrayloom._ext import LazyArray, Settling, settle

if TYPE_CHECKING:
    from importlib.abc import Loader

__all__ = ["install"]

# For each module the functions that take arrays; and those that give the arrays that are used next.
_TAKES = {
    "h5py._hl.dataset": (
        "make_new_dset",
        "Dataset.__setitem__",
        "Dataset.write_direct",
        "Dataset.read_direct",
    ),
    "h5py._hl.attrs": ("AttributeManager.create", "AttributeManager.modify"),
}
_GIVES = {"numexpr.necompiler": ("getArguments",)}
# For each module the methods of masked arrays that tell the type of the data.
_TELLS = {"numpy.ma.core": ("MaskedArray.__repr__", "MaskedArray.__reduce__")}


def _settles_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    # It has no frame: h5py's warnings count their callers.
    return functools.update_wrapper(Settling(function), function)


def _settles_result(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def settled(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - any function
        # numexpr looks for names in the frame of its caller's caller, which is now one further off.
        if "_frame_depth" in kwargs:
            kwargs["_frame_depth"] += 1
        result = function(*args, **kwargs)
        for value in result:
            settle(value)
        return result

    return settled


def _tells_numpys_type(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def told(masked: Any) -> Any:  # noqa: ANN401 - masked arrays and what they tell
        known = cast("dict[str, object]", vars(masked))
        kind = known.get("_baseclass")
        if kind is not LazyArray:
            return function(masked)
        known["_baseclass"] = np.ndarray
        try:
            return function(masked)
        finally:
            known["_baseclass"] = kind

    return told


_WRAPPERS = (
    (_TAKES, _settles_arguments),
    (_GIVES, _settles_result),
    (_TELLS, _tells_numpys_type),
)


def _wrap(module: ModuleType) -> None:
    """Wrap the functions of a module that stand in the tables and exist."""
    for table, wrapper in _WRAPPERS:
        for path in table.get(module.__name__, ()):
            *outer, name = path.split(".")
            owner: Any = functools.reduce(lambda o, n: getattr(o, n, None), outer, module)
            function = getattr(owner, name, None)
            if function is not None:
                setattr(owner, name, wrapper(function))


class _Wrapper:
    """Finds the modules of the tables as usual, and wraps them once they have run."""

    def __init__(self) -> None:
        self.busy = False

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the interface of finders
        target: ModuleType | None = None,  # noqa: ARG002 - the interface of finders
    ) -> ModuleSpec | None:
        """Answer for the modules of the tables, with the spec that the other finders give."""
        if self.busy or all(fullname not in table for table, _ in _WRAPPERS):
            return None
        self.busy = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self.busy = False
        if spec is not None and spec.loader is not None:
            run: Callable[[ModuleType], None] = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                run(module)
                _wrap(module)

            loader: Loader = spec.loader
            loader.exec_module = exec_module
        return spec


def _pickled_kind(_: type) -> tuple[type, tuple[object]]:
    """How the type of lazy arrays goes into a pickle: as NumPy's, which needs no arrayloom to be read."""
    return type, (np.empty(0),)


def install() -> None:
    """Wrap what is imported already, and the rest when it is."""
    copyreg.pickle(type(LazyArray), _pickled_kind)
    for name in (name for table, _ in _WRAPPERS for name in table):
        module = sys.modules.get(name)
        if module is not None:
            _wrap(module)
    sys.meta_path.insert(0, _Wrapper())
