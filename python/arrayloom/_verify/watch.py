"""Where operations are seen: what stands in the way between a program and the native module.

Methods and operators are attributes of the type of lazy arrays, as are the two through which NumPy hands
over calls of its functions and ufuncs. Under the runner calls of ufuncs reach the native module before NumPy
looks for these two, and new arrays have no operand of ours, so functions in the namespace are replaced for both.
"""

import functools
import importlib
import math
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

import arrayloom
from arrayloom import _ext
from arrayloom._verify.arguments import is_derived, lazies
from arrayloom._verify.check import Checker
from arrayloom._verify.draws import drawing
from arrayloom._verify.operation import Operation
from arrayloom._verify.stand_in import Method, StandIn

__all__ = ["Watch"]

_Function = Callable[..., Any]
_Value = Any

_BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "divmod": "divmod",
    "pow": "power",
    "lshift": "left_shift",
    "rshift": "right_shift",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "matmul": "matmul",
}
_OTHERS = {
    "neg": "negative",
    "pos": "positive",
    "abs": "absolute",
    "invert": "invert",
    "lt": "less",
    "le": "less_equal",
    "eq": "equal",
    "ne": "not_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "contains": "contains",
    "copy": "copy",
    "deepcopy": "copy",
}
_OPERATORS = frozenset(_BINARY.values())
# Methods of `numpy.ndarray` that call a ufunc; under the runner it would not be seen.
_INHERITED = {"conj": "conjugate", "conjugate": "conjugate", "clip": "clip"}
_METHODS = (
    *("all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "byteswap", "choose"),
    *("compress", "copy", "dot", "fill", "flatten", "getfield", "max", "mean", "min", "nonzero"),
    *("partition", "prod", "put", "ravel", "repeat", "reshape", "round", "searchsorted"),
    *("setfield", "sort", "std", "sum", "take", "trace", "var"),
)
_NEW = (
    *("arange", "array", "asarray", "ascontiguousarray", "eye", "full", "full_like", "identity"),
    *("linspace", "ones", "ones_like", "zeros", "zeros_like"),
)
_NUMBER: Any = (int, np.integer)
# The most bytes of an element.
_WIDEST = 16


def _names() -> dict[str, str]:
    """Give the attributes of the type with the names of their operations."""
    every = {f"__{way}{word}__": _BINARY[word] for word in _BINARY for way in ("", "r", "i")}
    every |= {f"__{word}__": name for word, name in _OTHERS.items()}
    every |= {name: name for name in _METHODS}
    own = vars(_ext.LazyArray)
    return {name: every[name] for name in every if name in own} | _INHERITED


class Watch:
    """Brings operations to a checker between `begin` and `end`.

    Parameters
    ----------
    checker : Checker
        Who does them.
    """

    def __init__(self, checker: Checker) -> None:
        self._checker = checker
        # What was replaced where; None where there was nothing.
        self._before: list[tuple[_Value, str, _Value | None]] = []

    def begin(self) -> None:
        """Start to watch."""
        for attribute, name in _names().items():
            self._replace(_ext.LazyArray, attribute, self._method(attribute, name))
        self._replace(_ext.LazyArray, "__getitem__", self._getitem())
        self._replace(_ext.LazyArray, "__setitem__", self._setitem())
        self._replace(_ext.LazyArray, "__array_ufunc__", self._array_ufunc())
        self._replace(_ext.LazyArray, "__array_function__", self._array_function())
        for name, function in _own(arrayloom).items():
            if isinstance(function, np.ufunc):
                self._replace(arrayloom, name, self._ufunc(function))
            elif name in _NEW:
                self._replace(arrayloom, name, self._new(name, function))
        self._replace_draws()

    def end(self) -> None:
        """Put everything back."""
        for owner, name, original in reversed(self._before):
            if original is None:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
        self._before.clear()

    def _replace(self, owner: _Value, name: str, new: _Value) -> None:
        self._before.append((owner, name, _own(owner).get(name)))
        setattr(owner, name, new)

    def _replace_draws(self) -> None:
        """Replace the methods of generators, and the functions of the one that the module has."""
        random: _Value = importlib.import_module("arrayloom.random")
        kinds: tuple[_Value, ...] = (random.Generator, random.RandomState)
        for kind in (*kinds, *random.Generator.__subclasses__()):
            for name, method in _own(kind).items():
                if not name.startswith("_") and callable(method):
                    self._replace(kind, name, drawing(self._checker, name, method))
        for name, function in _own(random).items():
            generator = getattr(getattr(np.random, name, None), "__self__", None)
            if isinstance(generator, np.random.RandomState):
                called = drawing(self._checker, name, function, generator)
                self._replace(random, name, StandIn(function, called))

    def _method(self, attribute: str, name: str) -> _Function:
        original, numpys = getattr(_ext.LazyArray, attribute), getattr(np.ndarray, attribute)

        @functools.wraps(original)
        def called(*args: _Value, **words: _Value) -> _Value:
            ours = original
            if name in _OPERATORS and len(args) > 1 and is_derived(args[1]):
                ours = functools.partial(_ask, attribute)
            return self._checker.call(Operation(name, ours, numpys, args, words))

        return called

    def _getitem(self) -> _Function:
        original, numpys = vars(_ext.LazyArray)["__getitem__"], np.ndarray.__getitem__

        @functools.wraps(original)
        def called(*args: _Value) -> _Value:
            return self._checker.call(Operation("getitem", original, numpys, args, {}, reads=True))

        return called

    def _setitem(self) -> _Function:
        original, numpys = vars(_ext.LazyArray)["__setitem__"], np.ndarray.__setitem__

        @functools.wraps(original)
        def called(array: _Value, key: _Value, value: _Value) -> None:
            part, place = _part(array, key)

            def into_part(part: _Value, value: _Value) -> None:
                numpys(part, place, value)

            args = (array, key, value)
            operation = Operation("setitem", original, numpys, args, {})
            if part is not None:
                instead = (part, value)
                operation = Operation("setitem", original, into_part, args, {}, instead=instead)
            self._checker.call(operation)

        return called

    def _array_ufunc(self) -> _Function:
        original = vars(_ext.LazyArray)["__array_ufunc__"]

        @functools.wraps(original)
        def called(
            array: _Value, ufunc: _Value, method: str, *inputs: _Value, **words: _Value
        ) -> _Value:
            is_call = method == "__call__"
            name = ufunc.__name__ if is_call else f"{ufunc.__name__}.{method}"
            ours = functools.partial(original, array, ufunc, method)
            numpys = ufunc if is_call else getattr(ufunc, method)
            return self._checker.call(Operation(name, ours, numpys, inputs, words))

        return Method(original, called)

    def _array_function(self) -> _Function:
        original = vars(_ext.LazyArray)["__array_function__"]

        @functools.wraps(original)
        def called(
            array: _Value,
            function: _Value,
            types: _Value,
            args: tuple[_Value, ...],
            words: dict[str, _Value],
        ) -> _Value:
            def ours(*args: _Value, **words: _Value) -> _Value:
                return original(array, function, types, args, words)

            return self._checker.call(Operation(function.__name__, ours, function, args, words))

        return called

    def _ufunc(self, ufunc: _Value) -> _Value:
        name = ufunc.__name__

        def called(*args: _Value, **words: _Value) -> _Value:
            if not _may_be_recorded(args, words):
                return ufunc(*args, **words)
            return self._checker.call(Operation(name, ufunc, ufunc, args, words))

        def outer(*args: _Value, **words: _Value) -> _Value:
            numpys = ufunc.outer
            return self._checker.call(Operation(f"{name}.outer", numpys, numpys, args, words))

        return StandIn(ufunc, called, outer=outer)

    def _new(self, name: str, original: _Value) -> _Value:
        numpys = getattr(np, name)

        def called(*args: _Value, **words: _Value) -> _Value:
            return self._checker.call(Operation(name, original, numpys, args, words, reads=True))

        return StandIn(original, called)


def _ask(attribute: str, array: _Value, other: _Value, *modulo: _Value) -> _Value:
    """Do an operator whose other operand is of a class derived from NumPy's, which is asked first.

    The type's own operator would ask it through the interpreter, which calls what stands in its place.
    """
    reflected = f"__r{attribute.strip('_')}__"
    theirs = getattr(other.__class__, reflected, None)
    if theirs is not None and theirs is not getattr(np.ndarray, reflected):
        result = theirs(other, array)
        if result is not NotImplemented:
            return result
    return getattr(np.ndarray, attribute)(array, other, *modulo)


def _own(owner: _Value) -> dict[str, _Value]:
    """Give the attributes that a type or a module has itself."""
    return dict(cast("Mapping[str, _Value]", vars(owner)))


def _may_be_recorded(args: tuple[_Value, ...], words: Mapping[str, _Value]) -> bool:
    """Whether a call of a ufunc has an array of ours or a large result."""
    if lazies((args, dict(words))):
        return True
    shapes = [np.shape(cast("_Value", each)) for each in args if isinstance(each, np.ndarray)]
    try:
        size = math.prod(np.broadcast_shapes(*shapes))
    except ValueError:
        return False
    return size * _WIDEST >= _ext.min_bytes()


def _part(array: _Value, key: _Value) -> tuple[_Value, _Value]:
    """Give the part of an array that an index of numbers and slices names, and the place of all of it there.

    The part is None for other indices.
    """
    words = cast("tuple[_Value, ...]", key if type(key) is tuple else (key,))
    numbers = [isinstance(word, _NUMBER) and type(word) is not bool for word in words]
    if len(words) > array.ndim or not all(
        is_number or isinstance(word, slice) or word is Ellipsis
        for is_number, word in zip(numbers, words, strict=True)
    ):
        return None, ...
    is_element = all(numbers) and len(words) == array.ndim
    if is_element:
        words = tuple(slice(word, word + 1 or None) for word in words)
    elif Ellipsis not in words:
        words = (*words, ...)
    try:
        part = _ext.bridge.plain(array)[words]
    except IndexError:
        return None, ...
    return part if part.size else None, (0,) * array.ndim if is_element else ...
