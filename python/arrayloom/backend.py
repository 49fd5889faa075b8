"""Devices written in Python.

A backend is a subclass of `Device` with the methods it has; what it lacks runs on the CPU, and is
counted. Its methods have the names and the meaning of npbackend's interface, so a class can be built
from functions that exist already. Memory is made by `Device.base`, and every operand is a `View` of
it. ``docs/backends.md`` has examples.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

__all__ = ["Base", "Device", "Op", "View"]


class Base:
    """Memory for `size` elements of one dtype.

    Parameters
    ----------
    size : int
        Number of elements.
    dtype : numpy.dtype
        Their dtype.
    """

    def __init__(self, size: int, dtype: "np.dtype[Any]") -> None:
        self.size = size
        self.dtype = dtype


class View:
    """Elements of a `Base`: where they begin, how many there are, and the steps between them.

    Parameters
    ----------
    ndim : int
        Number of axes.
    start : int
        The first element, counted in elements. The attribute `start` is in bytes.
    shape : sequence of int
        Extents.
    strides : sequence of int
        Steps, counted in elements. The attributes `strides` and `stride` are in bytes.
    base : Base
        The memory.
    """

    def __init__(
        self, ndim: int, start: int, shape: Sequence[int], strides: Sequence[int], base: Base
    ) -> None:
        self.ndim = ndim
        self.base = base
        self.dtype = base.dtype
        self.start = start * base.dtype.itemsize
        self.shape = tuple(shape)
        self.strides = tuple(step * base.dtype.itemsize for step in strides)
        self.stride = self.strides


class HostBase(Base):
    """Memory in a NumPy array, `data`."""

    def __init__(self, size: int, dtype: "np.dtype[Any]") -> None:
        super().__init__(size, dtype)
        self.data = np.empty(max(size, 1), dtype)


class HostView(View):
    """A view whose elements are the NumPy array `ndarray`."""

    def __init__(
        self, ndim: int, start: int, shape: Sequence[int], strides: Sequence[int], base: Base
    ) -> None:
        super().__init__(ndim, start, shape, strides, base)
        memory: Any = getattr(base, "data", None)
        self.ndarray: np.ndarray[Any, Any] = np.ndarray(
            self.shape, base.dtype, memory, self.start, self.strides
        )


class Op(str):
    """The name of an operation; ``info["name"]`` is the same name, as npbackend has it."""

    __slots__ = ("info",)

    def __new__(cls, name: str) -> Self:
        """Make the name."""
        op = super().__new__(cls, name)
        op.info = {"name": name}
        return op


class Device:
    """A device: override what it has.

    The methods for memory work on NumPy arrays of the host; a device with memory of its own
    overrides `base`, `view`, `get_data_pointer` and `set_data_from_ary`. Every other method raises
    NotImplementedError, which sends the operation to the CPU.

    Attributes
    ----------
    name : str
        Short name.
    fused : bool
        Whether `run` takes kernels of several operations.
    numpy_order : bool
        Whether sums of floats along an axis add in NumPy's order, which makes equal bits.
    several_axes : bool
        Whether `reduce` takes a tuple of axes.

    Examples
    --------
    >>> class Sums(Device):
    ...     name = "sums"
    ...
    ...     def ufunc(self, op, *args):
    ...         if op != "add":
    ...             raise NotImplementedError(op)
    ...         np.add(args[1].ndarray, args[2].ndarray, out=args[0].ndarray)
    >>> device = Sums()
    >>> base = device.base(3, np.dtype("i4"))
    >>> x = device.view(1, 0, (3,), (1,), base)
    >>> device.set_data_from_ary(x, np.arange(3, dtype="i4"))
    >>> device.ufunc("add", x, x, x)
    >>> x.ndarray
    array([0, 2, 4], dtype=int32)
    """

    name: str = "python"
    fused: bool = False
    numpy_order: bool = False
    several_axes: bool = False

    def base(self, size: int, dtype: "np.dtype[Any]") -> Base:
        """Memory for `size` elements; their values are arbitrary."""
        return HostBase(size, dtype)

    def view(
        self, ndim: int, start: int, shape: Sequence[int], strides: Sequence[int], base: Base
    ) -> View:
        """Elements of `base`; `start` and `strides` are counted in elements."""
        return HostView(ndim, start, shape, strides, base)

    def get_data_pointer(
        self,
        ary: Any,
        allocate: bool = False,
        nullify: bool = False,
    ) -> int:
        """Host address of the first element, all work on it done; 0 if there is no data."""
        del allocate, nullify
        return int(ary.ndarray.ctypes.data)

    def set_data_from_ary(self, ary: Any, data: "np.ndarray[Any, Any]") -> None:
        """Copy the host array `data` to the elements of a view."""
        ary.ndarray[...] = data.reshape(ary.ndarray.shape)

    def ufunc(self, op: str, *args: Any) -> None:
        """Compute ``args[0] = op(*args[1:])``; `op` is a NumPy ufunc, ``identity`` or ``where``."""
        raise NotImplementedError(op, args)

    def reduce(self, op: str, out: Any, a: Any, axis: Any) -> None:
        """Compute ``out = op.reduce(a, axis)``."""
        raise NotImplementedError(op, out, a, axis)

    def accumulate(self, op: str, out: Any, a: Any, axis: int) -> None:
        """Compute ``out = op.accumulate(a, axis)``."""
        raise NotImplementedError(op, out, a, axis)

    def extmethod(self, name: str, out: Any, in1: Any, in2: Any) -> None:
        """Compute ``out = name(in1, in2)`` for what is no ufunc.

        ``matmul`` multiplies two matrices; ``argmax`` and ``argmin`` find places along the axis `in2`.
        """
        raise NotImplementedError(name, out, in1, in2)

    def range(self, size: int, dtype: "np.dtype[Any]") -> Any:
        """Give a view of new memory with the numbers from 0 to `size` - 1."""
        base = self.base(size, dtype)
        ary = self.view(1, 0, (size,), (1,), base)
        self.set_data_from_ary(ary, np.arange(size, dtype=dtype))
        return ary

    def random(self, size: int, seed: int) -> Any:
        """Give a view of new memory with `size` random numbers of 64 bits, the same for a `seed`."""
        base = self.base(size, np.dtype(np.uint64))
        ary = self.view(1, 0, (size,), (1,), base)
        numbers = np.random.Generator(np.random.Philox(key=seed)).integers(
            0, 2**64, size, dtype=np.uint64
        )
        self.set_data_from_ary(ary, numbers)
        return ary

    def run(self, kernel: Any, out: Sequence[Any], inp: Sequence[Any]) -> None:
        """Compute a whole kernel of element-wise operations; called if `fused` is true.

        ``kernel.expressions`` has the text of each result in terms of ``i0``, ``i1``, ..., which are
        the views in `inp`; `out` has the views of the results.
        """
        raise NotImplementedError(kernel, out, inp)
