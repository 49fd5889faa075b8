"""What may stand between brackets: an array's index as the standard has it, made NumPy's."""

import operator
from typing import Any

from arrayloom.array_api._dtypes import is_array

__all__ = ["numpy_key"]

_CURE = "the standard has integers, slices, ..., None, one boolean array, or integer arrays"


def numpy_key(parts: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    """Return NumPy's index for an index whose arrays are NumPy's already.

    A single element is taken as an array of no dimensions, which shares the memory.

    Raises
    ------
    IndexError
        The standard does not have such an index, or not for arrays of so many dimensions.
    """
    if len(parts) == 1 and is_array(parts[0]) and parts[0].dtype.kind == "b":
        return parts[0]
    key = tuple(map(_part, parts))
    taken = sum(part is not None and part is not Ellipsis for part in key)
    dots = sum(part is Ellipsis for part in key)
    if dots > 1:
        message = "an index has at most one ..."
        raise IndexError(message)
    if taken > len(shape) or (taken < len(shape) and not dots):
        cure = "" if taken > len(shape) else "; end it with ... for all of the others"
        message = f"the index names {taken} axes of an array of shape {shape}{cure}"
        raise IndexError(message)
    if any(is_array(part) for part in key):
        _check_arrays(key)
        return key
    return key if dots else (*key, Ellipsis)


def _part(part: Any) -> Any:
    if part is None or part is Ellipsis:
        return part
    if isinstance(part, slice):
        return _slice(part)
    if is_array(part):
        if part.dtype.kind not in "iu":
            cure = "a boolean array is an index on its own" if part.dtype.kind == "b" else _CURE
            message = f"an array of {part.dtype} cannot be part of an index: {cure}"
            raise IndexError(message)
        return part if part.ndim else int(part)
    if isinstance(part, bool) or not hasattr(part, "__index__"):
        message = f"{part!r} cannot be part of an index: {_CURE}"
        raise IndexError(message)
    return operator.index(part)


def _slice(part: Any) -> slice:
    return slice(_bound(part.start), _bound(part.stop), _bound(part.step))


def _bound(bound: Any) -> int | None:
    if is_array(bound) and (bound.ndim or bound.dtype.kind not in "iu"):
        message = f"a slice cannot have an array of {bound.dtype} of shape {bound.shape} as a bound"
        raise IndexError(message)
    return None if bound is None else operator.index(bound)


def _check_arrays(key: tuple[Any, ...]) -> None:
    """Refuse integer arrays where the standard leaves open what they would do."""
    if not all(isinstance(part, int) or is_array(part) for part in key):
        message = (
            "integer arrays go with integers only in an index, one for each axis; "
            "take(x, indices, axis=...) picks along one axis"
        )
        raise IndexError(message)
