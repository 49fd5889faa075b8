"""NumPy as a backend: a module with npbackend's functions; only the import of the interface is ours.

Run a program on it: ``arrayloom --backend examples.backends.numpy_backend app.py``, from the folder
of the repository.
"""

import ctypes
import mmap

import numpy as np

from arrayloom.compat import npbackend as interface

numpy_order = True


class base(interface.base):
    """Memory in a mapping of its own."""

    def __init__(self, size, dtype):
        super().__init__(size, dtype)
        self.mmap = mmap.mmap(-1, max(size, 1) * dtype.itemsize)


class view(interface.view):
    """Elements as a NumPy array."""

    def __init__(self, ndim, start, shape, stride, base):
        super().__init__(ndim, start, shape, stride, base)
        self.ndarray = np.ndarray(shape, base.dtype, base.mmap, self.start, self.stride)


def get_data_pointer(ary, allocate=False, nullify=False):
    return ary.ndarray.ctypes.data


def set_data_from_ary(self, ary):
    ctypes.memmove(get_data_pointer(self), ary.ctypes.data, ary.dtype.itemsize * ary.size)


def ufunc(op, *args):
    out, *ins = [a.ndarray for a in args]
    if op.info["name"] == "identity":
        out[...] = ins[0]
    else:
        getattr(np, op)(*ins, out=out)


def reduce(op, out, a, axis):
    out.ndarray[...] = getattr(np, op).reduce(a.ndarray, axis=axis, dtype=a.dtype)


def accumulate(op, out, a, axis):
    getattr(np, op).accumulate(a.ndarray, axis=axis, out=out.ndarray)


def extmethod(name, out, in1, in2):
    out.ndarray[...] = getattr(np, name)(in1.ndarray, getattr(in2, "ndarray", in2))
