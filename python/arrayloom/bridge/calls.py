"""One call of a decorated function: how it is run, its arguments as they came and as they are used."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from arrayloom import _ext
from arrayloom.bridge.conversion import convert_with
from arrayloom.bridge.registry import Array, FrameworkSpec, Options

__all__ = ["LADDER", "Call", "Runs", "Use", "leaves"]

LADDER = ("predict", "release", "spill", "retry", "chunk", "cpu")


@dataclass(frozen=True, slots=True)
class Use:
    """How a decorated function is run; the keywords of :func:`uses`."""

    kind: str
    device: str = "same"
    inputs: tuple[str, ...] | None = None
    output: str | None = None
    dtype: str | None = "preserve"
    cast: str = "saturate"
    nan: Any = "raise"
    slices: int | None = None
    chunk: tuple[int, int] | None = None
    on_oom: tuple[str, ...] = LADDER
    cpu: Callable[..., Any] | str | None = None
    pure: bool = True
    contract: Callable[[Any], None] | None = None


class Call:
    """One call: the arguments as they came, and as the function's framework takes them."""

    def __init__(
        self,
        runner: "Runs",
        given: tuple[tuple[Any, ...], dict[str, Any]],
        use: Use,
        options: Options,
    ) -> None:
        self.use = use
        self.spec = runner.spec
        self.given = given
        self.options = options
        self.names = runner.names
        self.arrays: list[Array] = []
        self.copied = 0
        self.first: Array = None
        self.container: Any = None
        self.args: tuple[Any, ...] = ()
        self.kwargs: dict[str, Any] = {}
        self.convert()

    def convert(self) -> None:
        """Convert the arguments."""
        self.arrays, self.copied = [], 0
        args, kwargs = self.given
        self.args = tuple(
            self._take(self.names[i] if i < len(self.names) else None, value)
            for i, value in enumerate(args)
        )
        self.kwargs = {name: self._take(name, value) for name, value in kwargs.items()}

    def drop(self) -> int:
        """Let go of converted arguments whose originals are still there; return their bytes."""
        freed, self.copied = self.copied, 0
        if freed:
            self.args, self.kwargs, self.arrays = (), {}, []
        return freed

    def back(self) -> None:
        """Convert the arguments again if they were dropped."""
        if not self.args and not self.kwargs:
            self.convert()

    def _take(self, name: str | None, value: Any) -> Any:  # noqa: ANN401 - any argument
        """Convert an argument, or the arrays in a list or tuple."""
        if self.use.inputs is not None and name not in self.use.inputs:
            return value
        if isinstance(value, (list, tuple)) and any(_ext.bridge.kind(v) for v in value):
            taken = [self._array(v) for v in value]
            return taken if isinstance(value, list) else tuple(taken)
        if hasattr(type(value), "array_payload_data") and hasattr(type(value), "with_data"):
            self.container = self.container or value
            container: Any = value
            return self._array(container.array_payload_data())
        return self._array(value)

    def _array(self, value: Any) -> Any:  # noqa: ANN401 - any argument
        kind = _ext.bridge.kind(value)
        if kind is None:
            return value
        if self.first is None:
            self.first = value
        made = value
        if kind != self.spec.name or self.options.device is not None:
            made, plan, _ = convert_with(value, self.spec, self.options)
            self.copied += 0 if plan.zero_copy else plan.nbytes
        self.arrays.append(made)
        return made


class Runs(Protocol):
    """A decorated function, as the rungs of the ladder know it."""

    function: Callable[..., Any]
    spec: FrameworkSpec
    names: tuple[str, ...]
    learned: int | None
    peaks: dict[Any, int]

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ANN401
        """Call it once."""
        ...


def leaves(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
    """Yield arguments, and what lists and tuples among them hold."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value
