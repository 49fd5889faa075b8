"""Shapes and bytes of arrays, as far as they tell: sparse, nested and unfinished ones do not tell all."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

from typing import Any

import numpy as np

from arrayloom.bridge.registry import Array

__all__ = ["nbytes_of", "shape_of"]


def shape_of(x: Array) -> tuple[Any, ...] | None:
    """Return an array's shape, None if it does not say."""
    try:
        return tuple(_told(x, "shape"))
    except (TypeError, ValueError):
        return None


def nbytes_of(x: Array) -> int:
    """Return the bytes of an array's elements, 0 if it does not say."""
    found = _told(x, "nbytes")
    return int(found) if isinstance(found, (int, np.integer)) else 0


def _told(x: Array, name: str) -> Any:  # noqa: ANN401 - any attribute
    try:
        return getattr(x, name, None)
    except RuntimeError:
        # How torch says that a tensor has no such thing.
        return None
