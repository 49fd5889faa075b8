"""Between the engine's kernels and the methods of a device in Python.

The native module calls an `Adapter`: blocks are numbers, kernels are tuples. A kernel of one
operation becomes one call of ``ufunc``, ``reduce`` or ``accumulate``; one of several becomes one call
of ``run``, if the device wants that. NotImplementedError means that the device does not have it.
"""

import ctypes
import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from arrayloom.backend import Device, Op

__all__ = ["Adapter", "Kernel"]

_UFUNCS = {
    "Neg": "negative",
    "Abs": "absolute",
    "Not": "invert",
    "Sign": "sign",
    "SignBit": "signbit",
    "PopCount": "bitwise_count",
    "Conj": "conjugate",
    "Asin": "arcsin",
    "Acos": "arccos",
    "Atan": "arctan",
    "Asinh": "arcsinh",
    "Acosh": "arccosh",
    "Atanh": "arctanh",
    "Atan2": "arctan2",
    "Sub": "subtract",
    "Mul": "multiply",
    "Div": "divide",
    "FloorDiv": "floor_divide",
    "Rem": "remainder",
    "Pow": "power",
    "Min": "minimum",
    "Max": "maximum",
    "And": "bitwise_and",
    "Or": "bitwise_or",
    "Xor": "bitwise_xor",
    "Shl": "left_shift",
    "Shr": "right_shift",
    "Eq": "equal",
    "Ne": "not_equal",
    "Lt": "less",
    "Le": "less_equal",
    "Select": "where",
    "Cast": "identity",
    **{
        name: name.lower()
        for name in [
            "Add",
            "Real",
            "Imag",
            "Sqrt",
            "Cbrt",
            "Square",
            "Reciprocal",
            "Rint",
            "Floor",
            "Ceil",
            "Trunc",
            "Exp",
            "Exp2",
            "Expm1",
            "Log",
            "Log2",
            "Log10",
            "Log1p",
            "Sin",
            "Cos",
            "Tan",
            "Sinh",
            "Cosh",
            "Tanh",
            "Spacing",
            "IsNan",
            "IsInf",
            "IsFinite",
            "Fmod",
            "Fmin",
            "Fmax",
            "Hypot",
            "CopySign",
            "NextAfter",
            "Ldexp",
            "Gcd",
            "Lcm",
            "LogAddExp",
            "LogAddExp2",
        ]
    },
}
_FOLDS = ("Add", "Mul", "Min", "Max", "Fmin", "Fmax", "And", "Or", "Xor")
_STORE, _REDUCE, _ARG, _SCAN = range(4)
_OPERATORS = {
    "Add": "({} + {})",
    "Sub": "({} - {})",
    "Mul": "({} * {})",
    "Div": "({} / {})",
    "Neg": "(-{})",
    "Sqrt": "sqrt({})",
    "Square": "({0} * {0})",
}


class Ins(NamedTuple):
    """One instruction: value number i is ``prim(a, b, c)``."""

    prim: str
    dtype: str
    a: int
    b: int
    c: int
    constant: bytes


@dataclass(frozen=True)
class Kernel:
    """A kernel as `Device.run` gets it.

    Attributes
    ----------
    expressions : tuple of str
        The results in terms of ``i0``, ``i1``, ...; arithmetic, ``sqrt`` and numbers only.
    dtypes : tuple of str
        The dtypes that occur.
    """

    expressions: tuple[str, ...]
    dtypes: tuple[str, ...]


class _Block:
    """Memory of the device; its dtype shows with the first use."""

    def __init__(self, device: Device, nbytes: int) -> None:
        self.device = device
        self.nbytes = nbytes
        self.raw: np.ndarray[Any, Any] | None = np.full(nbytes, 0xA5, np.uint8)
        self.base: Any = None
        self.dtype: np.dtype[Any] | None = None

    def _whole(self) -> Any:
        size = len(self)
        return self.device.view(1, 0, (size,), (1,), self.base)

    def __len__(self) -> int:
        itemsize = self.dtype.itemsize if self.dtype is not None else 1
        return max(-(-self.nbytes // itemsize), 1)

    def bytes(self) -> "np.ndarray[Any, Any]":
        """All bytes, in an array of the host."""
        if self.raw is None:
            address = self.device.get_data_pointer(self._whole(), allocate=True)
            if address == 0:
                message = "the device has no data"
                raise RuntimeError(message)
            kept = (ctypes.c_uint8 * self.nbytes).from_address(address)
            return np.frombuffer(memoryview(kept), np.uint8).copy()
        return self.raw

    def set(self, raw: "np.ndarray[Any, Any]") -> None:
        """Replace all bytes."""
        self.raw, self.base, self.dtype = raw, None, None

    def typed(self, dtype: "np.dtype[Any]") -> Any:
        """Memory of the device with this dtype and these bytes."""
        if self.base is None or self.dtype != dtype:
            raw = self.bytes()
            self.dtype = dtype
            self.base = self.device.base(len(self), dtype)
            padded = np.zeros(len(self) * dtype.itemsize, np.uint8)
            padded[: self.nbytes] = raw
            self.device.set_data_from_ary(self._whole(), padded.view(dtype))
            self.raw = None
        return self.base


class Adapter:
    """What the native module calls.

    Parameters
    ----------
    device : Device
        The device.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._blocks: dict[int, _Block] = {}
        # Callers may be on several threads; asking for the next number is one step.
        self._numbers = itertools.count(1)

    def caps(self) -> tuple[str, bool, bool]:
        """Name, whether it takes kernels of several operations, whether sums are in NumPy's order."""
        return self.device.name, self.device.fused, self.device.numpy_order

    def alloc(self, nbytes: int) -> int:
        """Make a block and give its number."""
        number = next(self._numbers)
        self._blocks[number] = _Block(self.device, nbytes)
        return number

    def free(self, number: int) -> None:
        """Forget a block."""
        self._blocks.pop(number, None)

    def copy_in(self, number: int, offset: int, address: int, nbytes: int) -> None:
        """Copy from a host address to a block."""
        block = self._blocks[number]
        raw = block.bytes() if offset or nbytes < block.nbytes else np.empty(nbytes, np.uint8)
        source = (ctypes.c_uint8 * nbytes).from_address(address)
        raw[offset : offset + nbytes] = np.frombuffer(memoryview(source), np.uint8) if nbytes else 0
        block.set(raw)

    def copy_out(self, address: int, number: int, offset: int, nbytes: int) -> None:
        """Copy from a block to a host address."""
        raw = self._blocks[number].bytes()[offset : offset + nbytes]
        ctypes.memmove(address, raw.ctypes.data, nbytes)

    def copy_within(self, to: tuple[int, int], start: tuple[int, int], nbytes: int) -> None:
        """Copy from block to block."""
        raw = self._blocks[start[0]].bytes()[start[1] : start[1] + nbytes].copy()
        target = self._blocks[to[0]].bytes()
        target[to[1] : to[1] + nbytes] = raw
        self._blocks[to[0]].set(target)

    def _view(self, arg: tuple[Any, ...] | bytes, dtype: str, shape: Sequence[int]) -> Any:
        """Give a view of an operand of a launch: ``(number, offset, strides)``, or a scalar's bytes."""
        kind = np.dtype(dtype)
        if isinstance(arg, bytes):
            base = self.device.base(1, kind)
            whole = self.device.view(1, 0, (1,), (1,), base)
            self.device.set_data_from_ary(whole, np.frombuffer(arg, kind, 1))
            return self.device.view(len(shape), 0, tuple(shape), (0,) * len(shape), base)
        number, offset, strides = arg
        item = kind.itemsize
        if offset % item or any(step % item for step in strides):
            message = "elements that are not aligned"
            raise NotImplementedError(message)
        block = self._blocks.get(number) or _Block(self.device, 0)
        steps = tuple(step // item for step in strides)
        return self.device.view(len(shape), offset // item, tuple(shape), steps, block.typed(kind))

    def run(
        self,
        code: Sequence[tuple[str, str, int, int, int, bytes]],
        inputs: Sequence[str],
        outputs: Sequence[tuple[int, int, int, int]],
        shape: Sequence[int],
        args: tuple[Sequence[Any], Sequence[Any]],
        folds: Sequence[tuple[bool, bool] | None],
    ) -> None:
        """Run a kernel; `folds` says of each fold whether its order is NumPy's, and has a start."""
        listing = [Ins(*ins) for ins in code]
        outs, ins = args
        done = [i for i in listing if i.prim not in {"Input", "Const"}]
        with np.errstate(all="ignore"):
            if len(outputs) == 1 and len(done) <= 1 and (not done or outputs[0][1] == _STORE):
                self._single(listing, outputs[0], tuple(shape), (outs[0], ins, inputs), folds[0])
                return
            if not self.device.fused:
                message = "kernels of several operations"
                raise NotImplementedError(message)
            kernel = _kernel(listing, outputs)
            views = [self._view(arg, d, shape) for arg, d in zip(ins, inputs, strict=True)]
            dtypes = [listing[value].dtype for value, *_ in outputs]
            results = [self._view(arg, d, shape) for arg, d in zip(outs, dtypes, strict=True)]
            self.device.run(kernel, results, views)

    def ext(
        self,
        name: str,
        outs: Sequence[tuple[tuple[Any, ...], str, tuple[int, ...]]],
        ins: Sequence[tuple[tuple[Any, ...], str, tuple[int, ...]]],
    ) -> None:
        """Run an operation that is no kernel, such as ``matmul``; NotImplementedError without it."""
        # Others, such as sorts, have facts that `extmethod` has no place for.
        if (len(outs), len(ins)) != (1, 2):
            msg = f"no operation {name!r}"
            raise NotImplementedError(msg)
        (out,) = (self._view(*row) for row in outs)
        with np.errstate(all="ignore"):
            self.device.extmethod(Op(name), out, *(self._view(*row) for row in ins))

    def _single(
        self,
        listing: Sequence[Ins],
        output: tuple[int, int, int, int],
        shape: tuple[int, ...],
        bound: tuple[Any, Sequence[Any], Sequence[str]],
        fold: tuple[bool, bool] | None,
    ) -> None:
        out, ins, inputs = bound
        value, form, op, axes = output

        def operand(number: int) -> Any:
            leaf = listing[number]
            if leaf.prim == "Const":
                return self._view(leaf.constant, leaf.dtype, shape)
            return self._view(ins[leaf.a], inputs[leaf.a], shape)

        last = listing[value]
        if form in {_REDUCE, _ARG, _SCAN}:
            self._fold(operand(value), (form, op, axes), (out, last.dtype, shape), fold)
            return
        result = self._view(out, last.dtype, shape)
        if last.prim in {"Input", "Const"}:
            self.device.ufunc(Op("identity"), result, operand(value))
        elif last.prim == "Iota":
            self._iota(result, last.a, shape)
        elif last.prim in _UFUNCS:
            count = 3 if last.prim == "Select" else _arity(last.prim)
            operands = [operand(v) for v in (last.a, last.b, last.c)[:count]]
            self.device.ufunc(Op(_UFUNCS[last.prim]), result, *operands)
        else:
            raise NotImplementedError(last.prim)

    def _iota(self, result: Any, axis: int, shape: tuple[int, ...]) -> None:
        if 0 in shape:
            return
        numbers = self.device.range(shape[axis], np.dtype(np.int64))
        steps = tuple(int(i == axis) for i in range(len(shape)))
        spread = self.device.view(len(shape), 0, shape, steps, numbers.base)
        self.device.ufunc(Op("identity"), result, spread)

    def _fold(
        self,
        operand: Any,
        how: tuple[int, int, int],
        result: tuple[Any, str, tuple[int, ...]],
        fold: tuple[bool, bool] | None,
    ) -> None:
        form, op, axes = how
        out, dtype, shape = result
        if form == _SCAN:
            view = self._view(out, dtype, shape)
            self.device.accumulate(Op(_UFUNCS[_FOLDS[op]]), view, operand, axes)
            return
        if 0 in shape:
            message = "folds of nothing"
            raise NotImplementedError(message)
        folded = tuple(i for i in range(len(shape)) if axes >> i & 1)
        kept = tuple(i for i in range(len(shape)) if i not in folded)
        number, offset, strides = out
        small = (number, offset, tuple(strides[i] for i in kept))
        extents = tuple(shape[i] for i in kept)
        if len(folded) != 1 and not self.device.several_axes:
            message = "folds over several axes"
            raise NotImplementedError(message)
        axis = folded[0] if len(folded) == 1 else folded
        if form == _ARG:
            view = self._view(small, "int64", extents)
            self.device.extmethod("argmax" if op else "argmin", view, operand, axis)
            return
        natural, has_start = fold or (False, True)
        rounds = np.dtype(dtype).kind in "fc" and _FOLDS[op] in {"Add", "Mul"}
        exact = natural and self.device.numpy_order
        if dtype.startswith("complex") and any(step < 0 for step in operand.strides):
            message = "complex folds backwards, for which NumPy has loops of other bits"
            raise NotImplementedError(message)
        if has_start or (rounds and not exact):
            message = "folds with a start or in another order than NumPy's"
            raise NotImplementedError(message)
        view = self._view(small, dtype, extents)
        self.device.reduce(Op(_UFUNCS[_FOLDS[op]]), view, operand, axis)


def _arity(prim: str) -> int:
    if prim in {"Real", "Imag", "Cast"}:
        return 1
    found: Any = getattr(np, _UFUNCS[prim])
    return int(found.nin)


def _kernel(listing: Sequence[Ins], outputs: Sequence[tuple[int, int, int, int]]) -> Kernel:
    """Texts of the results; NotImplementedError for what has none."""
    texts: list[str] = []
    for ins in listing:
        if ins.prim == "Input":
            texts.append(f"i{ins.a}")
        elif ins.prim == "Const":
            texts.append(repr(np.frombuffer(ins.constant, ins.dtype, 1)[0].item()))
        elif ins.prim in _OPERATORS:
            operands = (texts[v] for v in (ins.a, ins.b)[: _arity(ins.prim)])
            texts.append(_OPERATORS[ins.prim].format(*operands))
        else:
            raise NotImplementedError(ins.prim)
    if any(form != _STORE for _, form, *_ in outputs) or sum(map(len, texts)) > 1 << 16:
        message = "folds, or too long an expression"
        raise NotImplementedError(message)
    dtypes = tuple(sorted({ins.dtype for ins in listing}))
    return Kernel(tuple(texts[value] for value, *_ in outputs), dtypes)


assert sys.byteorder == "little", "constants of kernels are little-endian"
