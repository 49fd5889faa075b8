"""Volumes of element-wise functions of volumes: NumPy's ufuncs, and any function of arrays."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false, reportImplicitOverride=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import DTypeLike

from arrayloom._ext import VolumeExpr
from arrayloom._volumes.sources import as_volume
from arrayloom._volumes.volume import Array, Box, Volume, in_native_bytes

__all__ = ["MOVED", "Kernel", "blockwise", "box_of", "converted", "elementwise", "power"]

# What devices compute: a function by name, and the numbers among its operands.
Kernel: TypeAlias = tuple[str | None, list[int | float | None]]
# Elements that are moved or converted.
MOVED: Kernel = (None, [])


def box_of(box: Box, view: memoryview, dtype: np.dtype[Any]) -> Array:
    shape = [hi - lo for lo, hi in zip(*box, strict=True)]
    return np.frombuffer(view, dtype).reshape(shape)


def elementwise(ufunc: np.ufunc, inputs: Sequence[object], dtype: DTypeLike | None = None) -> Any:
    """The volume of `ufunc` on volumes, arrays and numbers, broadcast as NumPy does."""
    plain = [x if isinstance(x, (int, float, complex, bool)) else as_volume(x) for x in inputs]
    samples = [
        np.empty((0,) * max(x.ndim, 1), x.dtype) if isinstance(x, Volume) else x for x in plain
    ]
    samples = [s.reshape(-1) if isinstance(s, np.ndarray) else s for s in samples]
    kwargs: dict[str, Any] = {} if dtype is None else {"dtype": np.dtype(dtype)}
    found: Any = ufunc(*samples, **kwargs)
    if ufunc is np.power and found.dtype.kind in "iu" and _is_negative(plain[1]):
        message = "Integers to negative integer powers are not allowed."
        raise ValueError(message)
    volumes = [x for x in plain if isinstance(x, Volume)]
    shape = np.broadcast_shapes(*[v.shape for v in volumes])

    # Operands of volumes come when it is called.
    numbers = [None if isinstance(x, Volume) else x for x in plain]

    def one(result: np.dtype[Any], number: int | None) -> Volume:
        def call(*values: Array) -> Array:
            at = iter(values)
            out: Any = ufunc(*[next(at) if x is None else x for x in numbers], **kwargs)
            return out if number is None else out[number]

        kernel = None if kwargs or number is not None else _kernel(ufunc, numbers)
        return blockwise(call, volumes, shape, result, ufunc.__name__, kernel=kernel)

    if ufunc.nout > 1:
        return tuple(one(array.dtype, i) for i, array in enumerate(found))
    return one(found.dtype, None)


def _kernel(ufunc: np.ufunc, numbers: Sequence[object]) -> Kernel | None:
    """What devices compute for `ufunc` of volumes and these numbers, if they may have it."""
    known = [x if type(x) in {int, float} else None for x in numbers]
    if known != list(numbers) or any(isinstance(x, int) and abs(x) >= 2**53 for x in known):
        return None
    return ufunc.__name__, cast("list[int | float | None]", known)


def _is_negative(x: object) -> bool:
    """True for a number below zero, also as an array without axes."""
    number = x.source if isinstance(x, Volume) else x
    return isinstance(number, (int, np.ndarray)) and np.ndim(number) == 0 and bool(number < 0)


def power(volume: Volume, exponent: complex) -> Volume:
    """``volume ** exponent``, whose dtype is not always that of `numpy.power`: squares of truth values are bytes."""

    def call(values: Array) -> Array:
        return values**exponent

    dtype = call(np.ones(1, volume.dtype)).dtype
    return blockwise(call, [volume], volume.shape, dtype, "power")


def converted(volume: Volume, dtype: DTypeLike) -> Volume:
    """The same voxels as `dtype`, converted as NumPy does."""
    wanted = in_native_bytes(dtype)

    def call(values: Array) -> Array:
        return values.astype(wanted)

    return blockwise(call, [volume], volume.shape, wanted, "astype", kernel=MOVED)


def blockwise(
    function: Callable[..., Any],
    volumes: Sequence[Volume],
    shape: Sequence[int],
    dtype: DTypeLike,
    name: str,
    *,
    writes: bool = False,
    kernel: Kernel | None = None,
) -> Volume:
    """The volume of an element-wise `function` of arrays, with results of `shape` and `dtype`.

    With `writes` it writes its result to the array that it is given as ``out``. `kernel` is what devices do instead.
    """
    rank, kind = len(shape), in_native_bytes(dtype)

    def needs(v: Volume) -> list[tuple[int, int, int]]:
        first = rank - v.ndim
        return [
            (-1, 1, 0) if n == 1 and shape[first + d] != 1 else (first + d, 1, 0)
            for d, n in enumerate(v.shape)
        ]

    dtypes = [v.dtype for v in volumes]

    def run(boxes: list[Box], views: list[memoryview], box: Box, out: memoryview) -> None:
        values = [box_of(b, v, t) for b, v, t in zip(boxes, views, dtypes, strict=True)]
        to = np.frombuffer(out, kind).reshape([hi - lo for lo, hi in zip(*box, strict=True)])
        with np.errstate(all="ignore"):
            if writes:
                function(*values, out=to)
            else:
                to[...] = function(*values)

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.call(
            run,
            name,
            of,
            [needs(v) for v in volumes],
            list(shape),
            kind.char,
            2 * kind.itemsize + 8,
            kernel,
        )

    return Volume(shape, kind, volumes, build)
