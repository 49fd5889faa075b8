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
from typing import Any

import numpy as np

from arrayloom import backend
from arrayloom.backend import Device

__all__ = ["Base", "ModuleDevice", "View", "base", "is_target", "view"]


class Base(backend.Base):
    """Memory for `size` elements of one dtype, whose name is `dtype_name`."""

    def __init__(self, size: int, dtype: "np.dtype[Any]") -> None:
        super().__init__(size, dtype)
        self.dtype_name = dtype.name


class View(backend.View):
    """Elements of a `Base`; start and strides come in elements, the attributes are in bytes."""

    def __init__(
        self, ndim: int, start: int, shape: Sequence[int], strides: Sequence[int], base: Base
    ) -> None:
        super().__init__(ndim, start, shape, strides, base)
        self.dtype_name = base.dtype_name


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

    Modules do not say what they lack. An operation for which one raises TypeError, ValueError or
    AttributeError runs on the CPU, and is counted with the text of the error.

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

    def _try(self, work: Callable[..., Any], *args: Any) -> Any:
        """Call a function of the module; what it cannot do is NotImplementedError."""
        try:
            return work(*args)
        except (TypeError, ValueError, AttributeError) as error:
            message = f"{work.__name__} of {self._module.__name__}: {error}"
            raise NotImplementedError(message) from error

    def get_data_pointer(self, ary: Any, allocate: bool = False, nullify: bool = False) -> int:
        # Later modules have a parameter more in between.
        pointer = _find(self._module, "get_data_pointer")
        return int(pointer(ary, allocate=allocate, nullify=nullify) or 0)

    def set_data_from_ary(self, ary: Any, data: "np.ndarray[Any, Any]") -> None:
        _find(self._module, "set_data_from_ary", "set_bhc_data_from_ary")(ary, data)

    def ufunc(self, op: str, *args: Any) -> None:
        if op == "where":
            # No ufunc of NumPy, so modules do not expect it.
            raise NotImplementedError(op)
        self._try(_find(self._module, "ufunc"), op, *args)

    def reduce(self, op: str, out: Any, a: Any, axis: Any) -> None:
        if a.ndim == 1:
            # npbackend has no arrays without axes: what is left of the last one has one element.
            out = self.view(1, out.start // out.dtype.itemsize, (1,), (1,), out.base)
        self._try(_find(self._module, "reduce"), op, out, a, axis)

    def accumulate(self, op: str, out: Any, a: Any, axis: int) -> None:
        self._try(_find(self._module, "accumulate"), op, out, a, axis)

    def extmethod(self, name: str, out: Any, in1: Any, in2: Any) -> None:
        self._try(_find(self._module, "extmethod"), name, out, in1, in2)

    def range(self, size: int, dtype: "np.dtype[Any]") -> Any:
        try:
            made = self._try(_find(self._module, "range", "arange"), size, dtype)
        except NotImplementedError:
            return super().range(size, dtype)
        return self._as_view(made)

    def random(self, size: int, seed: int) -> Any:
        return self._as_view(_find(self._module, "random")(size, seed))

    def _as_view(self, made: Any) -> Any:
        """Give a view of new memory for what modules may return instead, an array of NumPy."""
        if not _is_array(made):
            return made
        held = self.base(made.size, made.dtype)
        whole = self.view(1, 0, (made.size,), (1,), held)
        self.set_data_from_ary(whole, made)
        return whole


def _is_array(thing: object) -> bool:
    return isinstance(thing, np.ndarray)
