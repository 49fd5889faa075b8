"""The few functions of arrays that arraybridge has for all libraries."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

from collections.abc import Sequence
from typing import Any

import numpy as np

from arrayloom.bridge.conversion import convert
from arrayloom.bridge.dtypes import numpy_dtype
from arrayloom.bridge.registry import Array

Axis = int | tuple[int, ...]


class Operations:
    """Functions of a module like NumPy's.

    Parameters
    ----------
    name : str
        The kind of array.
    module : module
        With NumPy's names.
    """

    def __init__(self, name: str, module: Any) -> None:  # noqa: ANN401 - a module
        self.name = name
        self.xp = module

    def fold(self, which: str, data: Array, axis: Axis) -> Array:
        """Reduce along axes: 'max', 'min', 'mean' or 'sum'."""
        return getattr(self.xp, which)(data, axis=axis)

    def cast(self, data: Array, dtype: Any) -> Array:  # noqa: ANN401 - as callers spell dtypes
        """Cast as the library does."""
        return data.astype(numpy_dtype(dtype))

    def reshape(self, data: Array, shape: tuple[int, ...]) -> Array:
        """Give other extents."""
        return self.xp.reshape(data, shape)

    def broadcast_to(self, data: Array, shape: tuple[int, ...]) -> Array:
        """Repeat along axes of one element."""
        return self.xp.broadcast_to(data, shape)

    def logical_and(self, left: Array, right: Array) -> Array:
        """Both are true."""
        return self.xp.logical_and(left, right)

    def stack(self, arrays: Sequence[Array]) -> Array:
        """Stack along a new first axis."""
        return self.xp.stack(list(arrays))

    def ones(self, shape: int | tuple[int, ...], dtype: Any, like: Array = None) -> Array:  # noqa: ANN401
        """Make ones, on the device of `like`."""
        del like
        return self.xp.ones(shape, dtype=numpy_dtype(dtype))

    def linspace(self, start: float, stop: float, num: int, *, endpoint: bool) -> Array:
        """Make evenly spaced numbers."""
        return self.xp.linspace(start, stop, num, endpoint=endpoint)

    def outer(self, left: Array, right: Array) -> Array:
        """Multiply all pairs."""
        return self.xp.outer(left, right)

    def assign(self, data: Array, index: slice, values: Array) -> Array:
        """Store values; the array itself, or a new one where arrays are immutable."""
        data[index] = values
        return data


class JaxOperations(Operations):
    """JAX: arrays are never written."""

    def assign(self, data: Array, index: slice, values: Array) -> Array:
        """Return a new array with the values."""
        return data.at[index].set(values)


class TorchOperations(Operations):
    """torch: other names, dtypes of its own."""

    def fold(self, which: str, data: Array, axis: Axis) -> Array:
        """Reduce along axes: 'max', 'min', 'mean' or 'sum'."""
        function = {"max": "amax", "min": "amin"}.get(which, which)
        if which == "mean" and not (data.is_floating_point() or data.is_complex()):
            data = data.to(self.xp.float32)
        return getattr(self.xp, function)(data, dim=axis)

    def cast(self, data: Array, dtype: Any) -> Array:  # noqa: ANN401 - as callers spell dtypes
        """Cast as torch does."""
        return data.to(getattr(self.xp, numpy_dtype(dtype).name))

    def ones(self, shape: int | tuple[int, ...], dtype: Any, like: Array = None) -> Array:  # noqa: ANN401
        """Make ones, on the device of `like`."""
        device = None if like is None else like.device
        return self.xp.ones(shape, dtype=getattr(self.xp, numpy_dtype(dtype).name), device=device)

    def linspace(self, start: float, stop: float, num: int, *, endpoint: bool) -> Array:
        """Make evenly spaced numbers."""
        return self.xp.linspace(start, stop, num + (not endpoint))[:num]


class HostOperations(Operations):
    """Libraries without such functions, or with others' names: NumPy computes, and the result goes back."""

    def __init__(self, name: str) -> None:
        super().__init__(name, np)

    def _back(self, host: Any) -> Array:  # noqa: ANN401 - an array or a number of NumPy
        return convert(np.asarray(host), self.name, lossy="allow")

    def fold(self, which: str, data: Array, axis: Axis) -> Array:
        """Reduce along axes: 'max', 'min', 'mean' or 'sum'."""
        return self._back(super().fold(which, convert(data, "numpy"), axis))

    def cast(self, data: Array, dtype: Any) -> Array:  # noqa: ANN401 - as callers spell dtypes
        """Cast as NumPy does."""
        return self._back(convert(data, "numpy").astype(numpy_dtype(dtype)))

    def reshape(self, data: Array, shape: tuple[int, ...]) -> Array:
        """Give other extents."""
        return self._back(convert(data, "numpy").reshape(shape))

    def broadcast_to(self, data: Array, shape: tuple[int, ...]) -> Array:
        """Repeat along axes of one element."""
        return self._back(np.broadcast_to(convert(data, "numpy"), shape))

    def logical_and(self, left: Array, right: Array) -> Array:
        """Both are true."""
        return self._back(np.logical_and(convert(left, "numpy"), convert(right, "numpy")))

    def stack(self, arrays: Sequence[Array]) -> Array:
        """Stack along a new first axis."""
        return self._back(np.stack([convert(a, "numpy") for a in arrays]))

    def ones(self, shape: int | tuple[int, ...], dtype: Any, like: Array = None) -> Array:  # noqa: ANN401
        """Make ones."""
        del like
        return self._back(np.ones(shape, numpy_dtype(dtype)))

    def linspace(self, start: float, stop: float, num: int, *, endpoint: bool) -> Array:
        """Make evenly spaced numbers."""
        return self._back(np.linspace(start, stop, num, endpoint=endpoint))

    def outer(self, left: Array, right: Array) -> Array:
        """Multiply all pairs."""
        return self._back(np.outer(convert(left, "numpy"), convert(right, "numpy")))

    def assign(self, data: Array, index: slice, values: Array) -> Array:
        """Return a new array with the values."""
        host = convert(data, "numpy", copy=True)
        host[index] = convert(values, "numpy")
        return self._back(host)
