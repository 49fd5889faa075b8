"""npbackend's interface: what its target modules import, and how to run such a module here.

A target module defines the classes ``base`` and ``view`` (later ``Base`` and ``View``) on top of
those here, and the functions ``get_data_pointer``, ``set_data_from_ary``, ``ufunc``, ``reduce``,
``accumulate``, ``extmethod``, ``range`` and ``random``. Only the line that imports the interface
changes: ``from arrayloom.compat import npbackend as interface``.
"""

# `override` is of Python 3.12.
# pyright: reportImplicitOverride=false

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from arrayloom.backend import Base, Device, View

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Base", "ModuleDevice", "View", "base", "is_target", "view"]

base = Base
view = View


def _find(module: ModuleType, *names: str) -> Callable[..., Any]:
    """Give the first of these functions that the module has."""
    for name in names:
        found: Any = getattr(module, name, None)
        if callable(found):
            return found
    message = f"{module.__name__} has no {names[0]}"
    raise NotImplementedError(message)


def is_target(module: ModuleType) -> bool:
    """Whether a module looks like a target of npbackend.

    Examples
    --------
    >>> import math
    >>> is_target(math)
    False
    """
    has_memory = hasattr(module, "base") or hasattr(module, "Base")
    return has_memory and hasattr(module, "ufunc")


class ModuleDevice(Device):
    """The device that a target module is.

    Parameters
    ----------
    module : module
        With npbackend's functions. ``numpy_order = True`` in it promises that its sums add in NumPy's
        order; without, sums of floats run on the CPU.
    """

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self.numpy_order = bool(getattr(module, "numpy_order", False))

    def base(self, size: int, dtype: "np.dtype[Any]") -> Any:
        return _find(self._module, "base", "Base")(size, dtype)

    def view(
        self, ndim: int, start: int, shape: Sequence[int], strides: Sequence[int], base: Any
    ) -> Any:
        return _find(self._module, "view", "View")(ndim, start, shape, strides, base)

    def get_data_pointer(self, ary: Any, allocate: bool = False, nullify: bool = False) -> int:
        return int(_find(self._module, "get_data_pointer")(ary, allocate, nullify) or 0)

    def set_data_from_ary(self, ary: Any, data: "np.ndarray[Any, Any]") -> None:
        _find(self._module, "set_data_from_ary", "set_bhc_data_from_ary")(ary, data)

    def ufunc(self, op: str, *args: Any) -> None:
        if op == "where":
            # No ufunc of NumPy, so modules do not expect it.
            raise NotImplementedError(op)
        _find(self._module, "ufunc")(op, *args)

    def reduce(self, op: str, out: Any, a: Any, axis: Any) -> None:
        _find(self._module, "reduce")(op, out, a, axis)

    def accumulate(self, op: str, out: Any, a: Any, axis: int) -> None:
        _find(self._module, "accumulate")(op, out, a, axis)

    def extmethod(self, name: str, out: Any, in1: Any, in2: Any) -> None:
        _find(self._module, "extmethod")(name, out, in1, in2)

    def range(self, size: int, dtype: "np.dtype[Any]") -> Any:
        return _find(self._module, "range", "arange")(size, dtype)

    def random(self, size: int, seed: int) -> Any:
        return _find(self._module, "random")(size, seed)
