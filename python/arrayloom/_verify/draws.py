"""Random numbers drawn twice: by a generator as it is, and by a copy of NumPy's with the state from before."""

import copy
import functools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import numpy as np

from arrayloom import _ext
from arrayloom._verify.check import Checker
from arrayloom._verify.operation import Operation

__all__ = ["drawing"]

_Value = Any
# The most bytes of a number.
_WIDEST = 16


def drawing(
    checker: Checker, name: str, original: Callable[..., _Value], generator: _Value = None
) -> Callable[..., _Value]:
    """Give what stands for a method of generators, or for one of a certain generator.

    The states afterwards are compared too.
    """

    def of(drawn: _Value, args: tuple[_Value, ...], words: Mapping[str, _Value]) -> _Value:
        draw = original if generator is not None else functools.partial(original, drawn)
        if not _may_be_large((*args, *words.values())):
            return draw(*args, **words)
        twin = _twin(drawn)

        def ours(*args: _Value, **words: _Value) -> _Value:
            return draw(*args, **words), _state(drawn)

        def numpys(*args: _Value, **words: _Value) -> _Value:
            return getattr(twin, name)(*args, **words), _state(twin)

        operation = Operation(f"random.{name}", ours, numpys, args, words)
        return checker.call(operation)[0]

    def function(*args: _Value, **words: _Value) -> _Value:
        return of(generator, args, words)

    def method(drawn: _Value, *args: _Value, **words: _Value) -> _Value:
        return of(drawn, args, words)

    return method if generator is None else function


def _may_be_large(values: Iterable[_Value]) -> bool:
    """Whether numbers and shapes among arguments ask for a large array, or an array is among them."""
    size = 1
    for value in values:
        if isinstance(value, (np.ndarray, list)):
            return True
        if isinstance(value, (int, tuple)):
            shape = cast("tuple[_Value, ...]", value if isinstance(value, tuple) else (value,))
            size *= max(1, math.prod(abs(n) for n in shape if isinstance(n, int)))
    return size * _WIDEST >= _ext.min_bytes()


def _twin(drawn: _Value) -> _Value:
    """Give a generator of NumPy with the state of another."""
    if isinstance(drawn, np.random.Generator):
        return np.random.Generator(copy.deepcopy(drawn.bit_generator))
    twin = np.random.RandomState()
    twin.set_state(_all_of(drawn))
    return twin


def _all_of(drawn: _Value) -> _Value:
    """Give the state of an old generator by NumPy's own method."""
    return np.random.RandomState.get_state(drawn, legacy=False)


def _state(drawn: _Value) -> tuple[_Value, ...]:
    """Give the state of a generator as a tuple."""
    is_new = isinstance(drawn, np.random.Generator)
    return _flat(drawn.bit_generator.state if is_new else _all_of(drawn))


def _flat(state: Mapping[str, _Value]) -> tuple[_Value, ...]:
    return tuple(
        _flat(cast("Mapping[str, _Value]", value)) if isinstance(value, dict) else value
        for value in state.values()
    )
