"""What stands for a function in the namespace meanwhile, and seems to be the function."""

import importlib
from collections.abc import Callable
from types import MethodType
from typing import Any

__all__ = ["Method", "StandIn"]

_Value = Any


class StandIn:
    """Calls something else than a function, and is like the function in all other ways.

    Parameters
    ----------
    function : callable
        The function.
    called : callable
        What is called.
    **others : callable
        Attributes that are other than the function's.

    Examples
    --------
    >>> import numpy
    >>> add = StandIn(numpy.add, lambda *args: "called")
    >>> add(1, 2), add.reduce([1, 2]), add == numpy.add, isinstance(add, numpy.ufunc)
    ('called', np.int64(3), True, True)
    """

    def __init__(
        self, function: _Value, called: Callable[..., Any], **others: Callable[..., Any]
    ) -> None:
        about = {name: getattr(function, name, None) for name in ("__doc__", "__module__")}
        own: dict[str, _Value] = {"_function": function, "_called": called}
        vars(self).update(**about, **others, **own)

    def __call__(self, *args: _Value, **words: _Value) -> _Value:
        return vars(self)["_called"](*args, **words)

    def __getattr__(self, name: str) -> _Value:
        return getattr(vars(self)["_function"], name)

    def __eq__(self, other: object) -> bool:  # pyright: ignore[reportImplicitOverride]
        function = vars(self)["_function"]
        return function == (vars(other)["_function"] if type(other) in {StandIn, Method} else other)

    def __hash__(self) -> int:  # pyright: ignore[reportImplicitOverride]
        return hash(vars(self)["_function"])

    def __repr__(self) -> str:  # pyright: ignore[reportImplicitOverride]
        return repr(vars(self)["_function"])

    def __reduce__(self) -> _Value:  # pyright: ignore[reportImplicitOverride]
        return _named, (self.__name__,)

    @property
    def __class__(self) -> _Value:  # pyright: ignore[reportImplicitOverride, reportIncompatibleMethodOverride]
        """The class of the function."""
        return vars(self)["_function"].__class__


class Method(StandIn):
    """The same for a function in a class, which binds to instances."""

    def __get__(self, instance: _Value, kind: type | None = None) -> _Value:
        """Give the method of an instance; this itself for the class."""
        return self if instance is None else MethodType(self, instance)


def _named(name: str) -> _Value:
    """Give NumPy's function of a name."""
    return getattr(importlib.import_module("numpy"), name)
