"""NumPy as a device: the oracle of the conformance suite that shares no code with the others."""

# `override` is of Python 3.12.
# pyright: reportImplicitOverride=false

import warnings
from typing import Any

import numpy as np

from arrayloom.backend import Device

__all__ = ["NumpyDevice"]


class NumpyDevice(Device):
    """Every operation by NumPy's function of that name."""

    name = "numpy"
    numpy_order = True
    several_axes = True

    def ufunc(self, op: str, *args: Any) -> None:
        """Compute one operation in NumPy."""
        out, *ins = (arg.ndarray for arg in args)
        if op == "identity":
            _assign(out, ins[0])
        elif op == "where":
            out[...] = np.where(*ins)
        elif op in {"real", "imag"}:
            out[...] = getattr(ins[0], op)
        elif op == "power":
            # NumPy takes other operations for some exponents that are single numbers.
            np.power(ins[0], np.array(np.broadcast_to(ins[1], out.shape)), out=out)
        else:
            getattr(np, op)(*ins, out=out)

    def reduce(self, op: str, out: Any, a: Any, axis: Any) -> None:
        """Fold in NumPy, into an array of its own, as programs do."""
        array = a.ndarray
        out.ndarray[...] = getattr(np, op).reduce(array, axis=axis, dtype=array.dtype)

    def accumulate(self, op: str, out: Any, a: Any, axis: int) -> None:
        """Fold, and keep what comes out on the way."""
        getattr(np, op).accumulate(a.ndarray, axis=axis, out=out.ndarray)

    def extmethod(self, name: str, out: Any, in1: Any, in2: Any) -> None:
        """Find extremes along one axis."""
        if name not in {"argmax", "argmin"} or not isinstance(in2, int):
            raise NotImplementedError(name)
        out.ndarray[...] = getattr(np, name)(in1.ndarray, axis=in2)


def _assign(out: "np.ndarray[Any, Any]", value: "np.ndarray[Any, Any]") -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.copyto(out, value, casting="unsafe")
