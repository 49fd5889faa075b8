"""Lists, tuples and dicts of arrays: what they hold, and the same with other values in them."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import copy
from collections.abc import Iterable, Iterator
from operator import is_
from typing import Any

__all__ = ["leaves", "payload", "replaced"]


def payload(value: Any) -> Any:  # noqa: ANN401 - any argument
    """Return the array in a container that keeps metadata, or the value itself."""
    if hasattr(type(value), "array_payload_data") and hasattr(type(value), "with_data"):
        return value.array_payload_data()
    return value


def leaves(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
    """Yield arguments, and what lists, tuples and containers among them hold."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield payload(value)


def replaced(container: Any, values: Iterable[Any]) -> Any:  # noqa: ANN401 - a list, a tuple or a dict
    """Return a list, tuple or dict with other values, of the same type; itself if all values are its own."""
    made = list(values)
    own = list(container.values() if isinstance(container, dict) else container)
    if len(own) == len(made) and all(map(is_, own, made)):
        return container
    if isinstance(container, tuple):
        return _tuple(container, made)
    found: Any = copy.copy(container)
    if isinstance(container, dict):
        for key, value in zip(list(container), made, strict=True):
            found[key] = value
    else:
        found[:] = made
    return found


def _tuple(container: Any, values: list[Any]) -> Any:  # noqa: ANN401 - a tuple of any type
    kind = type(container)
    if hasattr(kind, "_make"):
        return kind._make(values)
    if hasattr(kind, "n_sequence_fields"):
        return kind(values)
    try:
        found = tuple.__new__(kind, values)
    except TypeError:
        # Types of C make theirs themselves.
        return tuple(values)
    getattr(found, "__dict__", {}).update(getattr(container, "__dict__", {}))
    return found
