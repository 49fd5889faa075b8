"""Lists, tuples and dicts of arrays: what they hold, and the same with other values in them."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import copy
from collections.abc import Callable, Iterable, Iterator
from operator import is_
from typing import Any

__all__ = ["held", "leaves", "mapped", "payload", "replaced"]

_KINDS = (dict, list, tuple)


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
    own = list(_items(container))
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


def held(value: Any, seen: set[int] | None = None) -> Iterator[Any]:  # noqa: ANN401 - any result
    """Yield a value, or what a tuple, list or dict holds at any depth; containers that are met again only once."""
    if not isinstance(value, _KINDS):
        yield value
        return
    seen = set() if seen is None else seen
    if id(value) not in seen:
        seen.add(id(value))
        for item in _items(value):
            yield from held(item, seen)


def mapped(value: Any, change: Callable[[Any], Any], done: dict[int, Any]) -> Any:  # noqa: ANN401 - any result
    """Return `change` of a value, or a tuple, list or dict with `change` of all that it holds at any depth.

    `done` has what became of containers, by their addresses. One that holds itself does so unchanged.
    """
    if not isinstance(value, _KINDS):
        return change(value)
    if id(value) not in done:
        done[id(value)] = value
        done[id(value)] = replaced(value, [mapped(v, change, done) for v in _items(value)])
    return done[id(value)]


def _items(container: Any) -> Iterable[Any]:  # noqa: ANN401 - a list, a tuple or a dict
    return container.values() if isinstance(container, dict) else container


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
