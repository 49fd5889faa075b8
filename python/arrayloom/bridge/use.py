"""How a decorated function is run: the keywords of a decorator, judged where they are written."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Number
from types import ModuleType
from typing import Any

import numpy as np

from arrayloom.bridge import dtypes, registry
from arrayloom.bridge.planning import check_place, place_of
from arrayloom.bridge.registry import Options

__all__ = ["LADDER", "Use", "judged"]

LADDER = ("predict", "release", "spill", "retry", "chunk", "cpu")


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """How a decorated function is run; the keywords of :func:`uses`."""

    kind: str
    device: str = "same"
    inputs: tuple[str, ...] | None = None
    output: str | None = None
    dtype: str | None = "preserve"
    cast: str = "saturate"
    nan: Any = "raise"
    detach: bool = False
    slices: int | None = None
    chunk: tuple[int, int] | None = None
    on_oom: tuple[str, ...] = LADDER
    cpu: Callable[..., Any] | str | None = None
    pure: bool = True
    contract: Callable[[Any], None] | None = None


def judged(kind: str | ModuleType, words: dict[str, Any]) -> Use:
    """Return how a function shall be run.

    Raises
    ------
    TypeError, ValueError
        A keyword that is not known, or that means nothing; the message says what it takes.
    """
    strange = [name for name in words if name not in _JUDGES]
    if strange:
        msg = f"a decorator takes {', '.join(_JUDGES)}, not {', '.join(strange)}"
        raise TypeError(msg)
    use = Use(_kind("a decorator", kind), **{n: _JUDGES[n](n, value) for n, value in words.items()})
    if use.device not in ("same", "auto"):
        check_place(registry.get(use.kind), Options(device=use.device), "cpu")
    return use


def _wrong(name: str, takes: str, value: object, error: type[Exception] = TypeError) -> Exception:
    return error(f"{name}= takes {takes}, not {value!r}")


def _kind(name: str, value: Any) -> str:  # noqa: ANN401
    if isinstance(value, ModuleType):
        return registry.of_module(value).name
    if not isinstance(value, str):
        msg = f"{name} takes a kind's name such as 'torch', or a module, not {value!r}"
        raise TypeError(msg)
    return registry.get(value).name


def _output(name: str, value: Any) -> str | None:  # noqa: ANN401
    return None if value is None else _kind(f"{name}=", value)


def _device(_name: str, value: Any) -> str:  # noqa: ANN401
    named = isinstance(value, str) and value in ("same", "auto")
    return value if named else place_of(value) or "same"


def _inputs(name: str, value: Any) -> tuple[str, ...] | None:  # noqa: ANN401
    if value is None:
        return None
    if not isinstance(value, (tuple, list)) or not all(isinstance(v, str) for v in value):
        raise _wrong(name, "a tuple of names of parameters, such as ('image',)", value)
    return tuple(value)


def _dtype(name: str, value: Any) -> str | None:  # noqa: ANN401
    if value is None or (isinstance(value, str) and value == "preserve"):
        return value
    try:
        found = dtypes.numpy_dtype(value).name
    except (TypeError, ValueError) as error:
        raise _wrong(name, "'preserve', an element type or None", value) from error
    if found not in dtypes.NUMBERS:
        raise _wrong(name, "an element type that has numbers", value)
    return found


def _cast(name: str, value: Any) -> str:  # noqa: ANN401
    if not isinstance(value, str) or value not in dtypes.CASTS:
        raise _wrong(name, ", ".join(map(repr, dtypes.CASTS)), value, ValueError)
    return value


def _nan(name: str, value: Any) -> Any:  # noqa: ANN401
    if not isinstance(value, Number) and not (isinstance(value, str) and value == "raise"):
        raise _wrong(name, "'raise' or a number", value)
    return value


def _flag(name: str, value: Any) -> bool:  # noqa: ANN401
    if not isinstance(value, (bool, np.bool_)):
        raise _wrong(name, "True or False", value)
    return bool(value)


def _is_integer(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _slices(name: str, value: Any) -> int | None:  # noqa: ANN401
    if value is None:
        return None
    if not _is_integer(value):
        raise _wrong(name, "the number of an axis", value)
    return int(value)


def _chunk(name: str, value: Any) -> tuple[int, int] | None:  # noqa: ANN401
    if value is None:
        return None
    takes = "a pair (axis, halo), such as (0, 3)"
    if not isinstance(value, (tuple, list)) or len(value) != 2 or not all(map(_is_integer, value)):
        raise _wrong(name, takes, value)
    axis, halo = map(int, value)
    if halo < 0:
        raise _wrong(name, f"{takes} with a halo of 0 or more", value, ValueError)
    return axis, halo


def _on_oom(name: str, value: Any) -> tuple[str, ...]:  # noqa: ANN401
    if not isinstance(value, (tuple, list)):
        raise _wrong(name, f"a tuple of {', '.join(LADDER)}", value)
    unknown = [rung for rung in value if rung not in LADDER]
    if unknown:
        msg = f"on_oom= takes {', '.join(LADDER)}, not {', '.join(map(str, unknown))}"
        raise ValueError(msg)
    return tuple(value)


def _cpu(name: str, value: Any) -> Any:  # noqa: ANN401
    return (
        value if value is None or callable(value) else _kind(f"{name}= takes a function, or", value)
    )


def _contract(name: str, value: Any) -> Any:  # noqa: ANN401
    if value is not None and not callable(value):
        raise _wrong(name, "a function that gets the result", value)
    return value


_JUDGES: dict[str, Callable[[str, Any], Any]] = {
    "device": _device,
    "inputs": _inputs,
    "output": _output,
    "dtype": _dtype,
    "cast": _cast,
    "nan": _nan,
    "detach": _flag,
    "slices": _slices,
    "chunk": _chunk,
    "on_oom": _on_oom,
    "cpu": _cpu,
    "pure": _flag,
    "contract": _contract,
}
