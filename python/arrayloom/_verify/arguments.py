"""The arguments of an operation: whether it can be repeated with copies of them, and the copies."""

from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from arrayloom import _ext

__all__ = ["Given", "is_derived", "is_lazy", "lazies", "why_not"]

_ARRAYS = (np.ndarray, _ext.LazyArray)
# Kinds of dtypes whose elements are bytes, numbers or text of a fixed length.
_KINDS = "biufcmMSU"
_CONSTANT = (bool, int, float, complex, str, bytes, slice, range, type, np.ufunc, np.dtype)
# As processors' vectors and lines of caches are aligned.
_LINE = 64

_Array = Any
_Value = Any


def is_lazy(value: object) -> bool:
    """Whether a value is one of our arrays."""
    return type(value) is _ext.LazyArray


def is_derived(value: object) -> bool:
    """Whether a value is an array of another class, which may have operators of its own."""
    kind: type = type(value)
    return issubclass(kind, np.ndarray) and kind not in _ARRAYS


def lazies(value: object) -> list[_Array]:
    """Give our arrays in a value, those in tuples, lists and dicts too."""
    return [array for array in _arrays(value) if is_lazy(array)]


def why_not(value: _Value) -> str | None:
    """Say why an operation cannot be repeated with a value or its result be compared; None if that can be.

    Examples
    --------
    >>> why_not((1, [np.ones(3)], {"axis": None}))
    >>> why_not(print)
    'a value is of class builtin_function_or_method'
    """
    if type(value) in _ARRAYS:
        return None if value.dtype.kind in _KINDS else f"elements are of dtype {value.dtype}"
    if isinstance(value, (tuple, list, dict)):
        return next(filter(None, map(why_not, _items(value))), None)
    if value is None or value is Ellipsis or isinstance(value, _CONSTANT):
        return None
    # Scalars and words such as `np._NoValue`, but nothing that does something when it is used.
    kind = cast("type[_Value]", value.__class__)
    is_numpys = kind.__module__.partition(".")[0] == "numpy" and not issubclass(kind, np.ndarray)
    if is_numpys and not callable(value) and not hasattr(value, "__next__"):
        return None
    return f"a value is of class {kind.__name__}"


def _items(value: _Value) -> Iterable[_Value]:
    """Give what a tuple, list or dict holds."""
    return cast("dict[str, _Value]", value).values() if type(value) is dict else value


def _arrays(value: _Value) -> Iterable[_Array]:
    if type(value) in _ARRAYS:
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for item in _items(value):
            # Long lists are lists of numbers.
            if type(item) in _ARRAYS or isinstance(item, (tuple, list, dict)):
                yield from _arrays(item)


def _plain(array: _Array) -> _Array:
    """Give the same memory as a plain array, its values computed."""
    return _ext.bridge.plain(array) if is_lazy(array) else array


class Given:
    """The arguments of a call for NumPy: with copies of the arrays, or with the same memory.

    Copies overlap where the arrays do, and have their steps.

    Parameters
    ----------
    arguments : object
        Anything for which `why_not` is None.
    copied : bool
        Whether arrays are copied.

    Attributes
    ----------
    arguments : object
        The same for NumPy.
    """

    def __init__(self, arguments: _Value, *, copied: bool) -> None:
        self._ours = {id(array): array for array in _arrays(arguments)}
        plain = [_plain(array) for array in self._ours.values()]
        self._theirs = dict(zip(self._ours, _copies(plain) if copied else plain, strict=True))
        self.arguments = self._for_numpy(arguments)

    def _for_numpy(self, value: _Value) -> _Value:
        if type(value) in _ARRAYS:
            return self._theirs[id(value)]
        if type(value) is dict:
            items = cast("dict[str, _Value]", value).items()
            return {name: self._for_numpy(item) for name, item in items}
        if isinstance(value, (tuple, list)):
            items = [self._for_numpy(item) for item in _items(value)]
            return items if isinstance(value, list) else tuple(items)
        return value

    def written(self) -> Iterable[tuple[_Array, _Array]]:
        """Give the arrays that the call may have changed, each with its copy."""
        for number, array in self._ours.items():
            if array.flags.writeable:
                yield _plain(array), self._theirs[number]

    def is_same(self, ours: object, numpys: object) -> bool:
        """Whether both results are the same argument."""
        return id(ours) in self._ours and self._theirs[id(ours)] is numpys


def _copies(arrays: list[_Array]) -> Iterable[_Array]:
    """Copy arrays; those that share memory have copies that do."""
    bounds = [np.lib.array_utils.byte_bounds(array) for array in arrays]
    copies: dict[int, _Array] = {}
    for region in _regions(bounds):
        begin = bounds[region[0]][0]
        memory = _memory(begin, max(bounds[number][1] for number in region))
        for number in region:
            copies[number] = _copied(arrays[number], memory, bounds[number][0] - begin)
    return (copies[number] for number in range(len(arrays)))


def _regions(bounds: list[tuple[int, int]]) -> list[list[int]]:
    """Put the numbers of arrays together whose addresses overlap, the lowest first."""
    regions: list[list[int]] = []
    end = -1
    for number in sorted(range(len(bounds)), key=bounds.__getitem__):
        low, high = bounds[number]
        if low >= end:
            regions.append([])
        regions[-1].append(number)
        end = max(end, high)
    return regions


def _memory(begin: int, end: int) -> _Array:
    """Give as much memory as there is between two addresses, aligned as the first one."""
    room = np.empty(end - begin + _LINE, np.uint8)
    skipped = (begin - room.__array_interface__["data"][0]) % _LINE
    return room[skipped : skipped + end - begin]


def _copied(array: _Array, memory: _Array, offset: int) -> _Array:
    """Copy an array with its steps into memory that holds its lowest element at `offset`."""
    steps = zip(array.shape, array.strides, strict=True)
    lowest = sum(min(0, (count - 1) * step) for count, step in steps) if array.size else 0
    copy = np.ndarray(array.shape, array.dtype, memory, offset - lowest, array.strides)
    copy[...] = array
    copy.flags.writeable = array.flags.writeable
    return copy
