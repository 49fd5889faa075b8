"""One call of a decorated function: its arguments as they came and as they are used."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import inspect
from collections.abc import Callable
from typing import Any, Protocol

from arrayloom import _ext
from arrayloom.bridge import registry
from arrayloom.bridge.containers import leaves, payload, replaced
from arrayloom.bridge.conversion import convert_with
from arrayloom.bridge.registry import Array, FrameworkSpec, Options
from arrayloom.bridge.use import Use

__all__ = ["Call", "Parameters", "Runs", "is_traced"]


def is_traced(x: Array) -> bool:
    """Whether a value exists only while its framework traces a function: it has no memory and no place."""
    name = _ext.bridge.kind(x)
    return name is not None and registry.get(name).hooks.traced(x)


class Parameters:
    """What is known of a function's parameters: their names, and arrays that are defaults.

    Parameters
    ----------
    function : callable
        Functions of C may not tell: nothing is known of them then.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        known = True
        try:
            signature = inspect.signature(function)
        except ValueError:
            known, signature = False, inspect.Signature()
        self.names = tuple(signature.parameters)
        found = list(signature.parameters.values())
        kinds = [p.kind for p in found]
        variable = inspect.Parameter.VAR_POSITIONAL
        self.rest = kinds.index(variable) if variable in kinds else None
        # Whether any name may be a parameter's.
        self.open = not known or inspect.Parameter.VAR_KEYWORD in kinds
        self._signature = signature
        self._defaults = any(
            _holds_arrays(p.default) for p in found if p.default is not inspect.Parameter.empty
        )

    def check(self, names: tuple[str, ...] | None) -> None:
        """Make sure that parameters have these names.

        Raises
        ------
        ValueError
            One has not.
        """
        strange = [name for name in names or () if name not in self.names]
        if strange and not self.open:
            msg = (
                f"inputs= names {', '.join(strange)}, which the function has no parameters for; it has "
                f"{', '.join(self.names) or 'none'}"
            )
            raise ValueError(msg)

    def name(self, at: int) -> str | None:
        """Return the name of the parameter that gets a positional argument."""
        if self.rest is not None:
            at = min(at, self.rest)
        return self.names[at] if at < len(self.names) else None

    def filled(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments with the defaults, if there are arrays among these."""
        if not self._defaults:
            return args, kwargs
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError:
            # The function itself says what is wrong.
            return args, kwargs
        bound.apply_defaults()
        return bound.args, bound.kwargs


def _holds_arrays(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_ext.bridge.kind(v) is not None for v in value)
    return _ext.bridge.kind(value) is not None


class Call:
    """One call: the arguments as they came, and as the function's framework takes them.

    They are converted by :meth:`back`, which may run out of memory.
    """

    def __init__(
        self,
        runner: "Runs",
        given: tuple[tuple[Any, ...], dict[str, Any]],
        use: Use,
        options: Options,
    ) -> None:
        self._runner = runner
        self.use = use
        self.spec = runner.spec
        self.given = given
        self.options = options
        self.parameters = runner.parameters
        self.arrays: list[Array] = []
        self.copied = 0
        self.first: Array = None
        self.container: Any = None
        self.args: tuple[Any, ...] = ()
        self.kwargs: dict[str, Any] = {}
        # Whether the function is being traced: nothing can be looked at or run again then.
        self.traced = any(map(is_traced, leaves(*given)))
        # The kind of arrays that the function worked on: another one if a version for the CPU ran.
        self.own = runner.spec.name
        self._there = False

    def convert(self) -> None:
        """Convert the arguments."""
        self.arrays, self.copied = [], 0
        self._look_at_first()
        args, kwargs = self.parameters.filled(*self.given)
        self.args = tuple(
            self._take(self.parameters.name(i), value) for i, value in enumerate(args)
        )
        self.kwargs = {name: self._take(name, value) for name, value in kwargs.items()}
        self._there = True

    def _look_at_first(self) -> None:
        """Find the argument that says which type results have: the first that was passed, not a default."""
        args, kwargs = self.given
        named = [(self.parameters.name(i), value) for i, value in enumerate(args)]
        for name, value in [*named, *kwargs.items()]:
            if self.use.inputs is not None and name not in self.use.inputs:
                continue
            for leaf in value if isinstance(value, (list, tuple)) else (payload(value),):
                if self.first is None and _ext.bridge.kind(leaf) is not None:
                    self.first = leaf

    @property
    def main(self) -> int | str | None:
        """Place or name of the first argument that is an array of the function's framework."""
        for key, value in (*enumerate(self.args), *self.kwargs.items()):
            if _ext.bridge.kind(value) == self.spec.name:
                return key
        return None

    def argument(self, key: int | str) -> Any:  # noqa: ANN401 - any argument
        """Return a converted argument."""
        return self.args[key] if isinstance(key, int) else self.kwargs[key]

    def with_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Call":
        """Return a call of the same function with other arguments."""
        return Call(self._runner, (args, kwargs), self.use, self.options)

    def replaced(self, key: int | str, value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:  # noqa: ANN401
        """Return the converted arguments with another one in a place."""
        if isinstance(key, int):
            return (*self.args[:key], value, *self.args[key + 1 :]), self.kwargs
        return self.args, {**self.kwargs, key: value}

    def drop(self) -> int:
        """Let go of converted arguments whose originals are still there; return their bytes."""
        freed, self.copied = self.copied, 0
        if freed:
            self.args, self.kwargs, self.arrays = (), {}, []
            self._there = False
        return freed

    def back(self) -> None:
        """Convert the arguments, unless they are there."""
        if not self._there:
            self.convert()

    def _take(self, name: str | None, value: Any) -> Any:  # noqa: ANN401 - any argument
        """Convert an argument, or the arrays in a list or tuple."""
        if self.use.inputs is not None and name not in self.use.inputs:
            return value
        if isinstance(value, (list, tuple)) and any(_ext.bridge.kind(v) for v in value):
            return replaced(value, map(self._array, value))
        data = payload(value)
        if data is not value and self.container is None:
            self.container = value
        return self._array(data)

    def _array(self, value: Any) -> Any:  # noqa: ANN401 - any argument
        kind = _ext.bridge.kind(value)
        if kind is None:
            return value
        made = value
        if kind != self.spec.name or self.options.device is not None:
            made, plan = convert_with(value, self.spec, self.options)
            self.copied += 0 if plan.zero_copy else plan.nbytes
        self.arrays.append(made)
        return made


class Runs(Protocol):
    """A decorated function, as the rungs of the ladder know it."""

    function: Callable[..., Any]
    spec: FrameworkSpec
    parameters: Parameters
    learned: int | None
    peaks: dict[Any, int]

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ANN401
        """Call it once."""
        ...
