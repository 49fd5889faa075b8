"""Expressions on volumes: what filters, NumPy's functions and slices of volumes build.

A `Volume` is a value that has not been computed: a source, or an operation on other volumes. It knows
its shape and dtype. Computing it goes block by block through a memory limit, in the native half.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false, reportImplicitOverride=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from arrayloom._ext import VolumeExpr

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Build", "Volume", "as_volume", "compute", "default_limit", "nbytes", "threads"]

Array: TypeAlias = NDArray[Any]
Box: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
Progress: TypeAlias = Callable[[int, int, int], object]

# What a block costs to begin with is small against a block of this size; it fits most caches of disks.
_IN_MEMORY_LIMIT = 64 << 20
_LETTERS = "?bhilqBHILQefdFD"


class Readable(Protocol):
    """Anything with a shape, a dtype and slices."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        ...

    @property
    def dtype(self) -> Any:
        """Element type."""
        ...

    def __getitem__(self, key: tuple[slice, ...]) -> Any:
        """A box."""
        ...


class Build:
    """One expression of the native half, while it is built."""

    def __init__(self) -> None:
        self.expr = VolumeExpr()
        self._done: dict[int, int] = {}
        self._alive: list[Volume] = []

    def add(self, volume: "Volume") -> int:
        """The number of `volume` in the expression; equal volumes are added once."""
        if id(volume) not in self._done:
            inputs = [self.add(v) for v in volume.inputs]
            self._done[id(volume)] = volume.build(self.expr, inputs)
            self._alive.append(volume)
        return self._done[id(volume)]


def nbytes(text: int | str) -> int:
    """Bytes that `text` names: a number, or text such as ``"512MiB"`` or ``"2 GB"``.

    Examples
    --------
    >>> nbytes("2MiB"), nbytes("1.5 kB"), nbytes(77)
    (2097152, 1500, 77)
    """
    if isinstance(text, int):
        return text
    units = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
    for i, letter in enumerate("KMGT", 1):
        units |= {f"{letter}IB": 1 << 10 * i, f"{letter}B": 1000**i}
    word = text.strip()
    number = word.rstrip("BKMGTIbkmgti ")
    unit = word[len(number) :].strip().upper()
    try:
        return int(float(number) * units[unit])
    except (ValueError, KeyError):
        message = f"{text!r} is no number of bytes; write for example 512MiB or 2GB"
        raise ValueError(message) from None


def threads() -> int:
    """Threads that filters use: ``ARRAYLOOM_THREADS``, or one for each processor."""
    setting = os.environ.get("ARRAYLOOM_THREADS", "")
    return int(setting) if setting.isdigit() and int(setting) else len(os.sched_getaffinity(0))


def default_limit() -> int:
    """Bytes for a run that got no limit: half of the memory that is free."""
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


class Volume(np.lib.mixins.NDArrayOperatorsMixin):
    """A volume that has not been computed.

    Arithmetic, NumPy's element-wise functions, slices, ``transpose`` and the filters of
    `arrayloom.filters` give volumes again. ``numpy.asarray`` computes one in memory;
    `arrayloom.volumes.save` streams it to a file.

    Parameters
    ----------
    shape, dtype
        Extents and element type.
    inputs
        The volumes it is computed from.
    build
        Adds it to a native expression, given the numbers of `inputs`.
    source
        For volumes that are read: the object that is read.
    """

    def __init__(
        self,
        shape: Sequence[int],
        dtype: DTypeLike,
        inputs: "Sequence[Volume]",
        build: Callable[[VolumeExpr, list[int]], int],
        source: object = None,
    ) -> None:
        self.shape = tuple(int(n) for n in shape)
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.inputs = list(inputs)
        self.build = build
        self.source = source
        self.path: Path | None = None
        if self.dtype.char not in _LETTERS:
            message = f"volumes have no elements of dtype {self.dtype}; convert them first"
            raise TypeError(message)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of voxels."""
        return int(np.prod(self.shape, dtype=object))

    @property
    def nbytes(self) -> int:
        """Bytes of the computed volume."""
        return self.size * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"<Volume {self.shape} {self.dtype}>"

    def __len__(self) -> int:
        if not self.shape:
            message = "a volume without axes has no length"
            raise TypeError(message)
        return self.shape[0]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:  # noqa: FBT001
        if copy is False:
            message = "a volume that has not been computed cannot be an array without a copy"
            raise ValueError(message)
        result = compute(self)
        return result if dtype is None else result.astype(dtype, copy=False)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object
    ) -> Any:
        if (
            method != "__call__"
            or ufunc.nout != 1
            or ufunc.signature is not None
            or kwargs.keys() - {"dtype"}
        ):
            return NotImplemented
        return elementwise(ufunc, inputs, cast("DTypeLike | None", kwargs.get("dtype")))

    def astype(self, dtype: DTypeLike) -> "Volume":
        """The same voxels as `dtype`, converted as NumPy does."""
        wanted = np.dtype(dtype)

        def convert(values: Array) -> Array:
            return values.astype(wanted)

        return blockwise(convert, [self], self.shape, wanted, "astype")

    def __getitem__(self, key: Any) -> "Volume":
        return _sliced(self, key)

    def transpose(self, *axes: int) -> "Volume":
        """The volume with its axes in another order, reversed by default."""
        order = list(axes) if axes else list(range(self.ndim))[::-1]
        if len(order) == 1 and np.ndim(order[0]) == 1:
            order = list(cast("Sequence[int]", order[0]))
        order = [a % self.ndim for a in order]
        if sorted(order) != list(range(self.ndim)):
            message = f"axes {order} do not fit a volume with {self.ndim} axes"
            raise ValueError(message)
        needs = [(order.index(d), 1, 0) for d in range(self.ndim)]

        def turn(boxes: list[Box], views: list[memoryview], _: Box, out: memoryview) -> None:
            to = np.frombuffer(out, self.dtype)
            from_ = _array(boxes[0], views[0], self.dtype)
            to.reshape([from_.shape[a] for a in order])[...] = from_.transpose(order)

        shape = [self.shape[a] for a in order]

        def build(expr: VolumeExpr, of: list[int]) -> int:
            return expr.call(turn, "transpose", of, [needs], shape, self.dtype.char, 0)

        return Volume(shape, self.dtype, [self], build)

    @property
    def T(self) -> "Volume":  # noqa: N802 - NumPy's name
        """The volume with its axes reversed."""
        return self.transpose()


def _array(box: Box, view: memoryview, dtype: np.dtype[Any]) -> Array:
    shape = [hi - lo for lo, hi in zip(*box, strict=True)]
    return np.frombuffer(view, dtype).reshape(shape)


def _sliced(volume: Volume, key: object) -> Volume:
    """Basic slices: what each axis of the result reads of the axis it comes from."""
    items = list(key) if isinstance(key, tuple) else [key]
    if any(item is None or isinstance(item, (list, np.ndarray)) for item in items):
        message = "a volume takes slices, integers and ...; compute it first for other indices"
        raise IndexError(message)
    if Ellipsis in items:
        at = items.index(Ellipsis)
        items[at : at + 1] = [slice(None)] * (volume.ndim - len(items) + 1)
    items += [slice(None)] * (volume.ndim - len(items))
    if len(items) != volume.ndim:
        message = f"{len(items)} indices for a volume with {volume.ndim} axes"
        raise IndexError(message)
    kept: list[int] = []
    shape: list[int] = []
    needs: list[tuple[int, int, int]] = []
    fixed: list[int] = []
    for d, (item, n) in enumerate(zip(items, volume.shape, strict=True)):
        if isinstance(item, slice):
            start, stop, step = item.indices(n)
            needs.append((len(shape), step, start))
            shape.append(len(range(start, stop, step)))
            kept.append(step)
        else:
            fixed.append(d)
            needs.append((-2, 1, _at(item, n)))
    if not fixed:
        return _strided(volume, shape, needs, kept)
    picked = [(0, 0, 0)] * volume.ndim
    place = 0
    for d in range(volume.ndim):
        axis, step, start = needs[d]
        picked[d] = (d, 1, start) if axis == -2 else (d, step, start)
        place += axis != -2
    full = [1 if d in fixed else shape[needs[d][0]] for d in range(volume.ndim)]
    steps = [1 if d in fixed else needs[d][1] for d in range(volume.ndim)]
    return _squeezed(_strided(volume, full, picked, steps), fixed)


def _at(item: object, n: int) -> int:
    at = int(cast("int", item))
    if not -n <= at < n:
        message = f"index {at} is out of bounds for an axis of {n}"
        raise IndexError(message)
    return at % n


def _strided(
    volume: Volume, shape: list[int], needs: list[tuple[int, int, int]], steps: list[int]
) -> Volume:
    dtype = volume.dtype
    pick = tuple(slice(None, None, s) for s in steps)

    def copy(boxes: list[Box], views: list[memoryview], box: Box, out: memoryview) -> None:
        to = np.frombuffer(out, dtype).reshape([hi - lo for lo, hi in zip(*box, strict=True)])
        to[...] = _array(boxes[0], views[0], dtype)[pick]

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.call(copy, "slice", of, [needs], shape, dtype.char, 0)

    return Volume(shape, dtype, [volume], build)


def _squeezed(volume: Volume, axes: list[int]) -> Volume:
    """Without axes of extent one."""
    shape = [n for d, n in enumerate(volume.shape) if d not in axes]
    needs: list[tuple[int, int, int]] = []
    for d in range(volume.ndim):
        needs.append((-1, 1, 0) if d in axes else (sum(n[0] >= 0 for n in needs), 1, 0))

    def copy(_: list[Box], views: list[memoryview], __: Box, out: memoryview) -> None:
        out[:] = views[0]

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.call(copy, "index", of, [needs], shape, volume.dtype.char, 0)

    return Volume(shape, volume.dtype, [volume], build)


def elementwise(
    ufunc: np.ufunc, inputs: Sequence[object], dtype: DTypeLike | None = None
) -> Volume:
    """The volume of `ufunc` on volumes, arrays and numbers, broadcast as NumPy does."""
    plain = [x if isinstance(x, (int, float, complex, bool)) else as_volume(x) for x in inputs]
    samples = [
        np.empty((0,) * max(x.ndim, 1), x.dtype) if isinstance(x, Volume) else x for x in plain
    ]
    samples = [s.reshape(-1) if isinstance(s, np.ndarray) else s for s in samples]
    kwargs: dict[str, Any] = {} if dtype is None else {"dtype": np.dtype(dtype)}
    result: np.dtype[Any] = ufunc(*samples, **kwargs).dtype

    def call(*values: Array) -> Array:
        at = iter(values)
        return ufunc(*[next(at) if isinstance(x, Volume) else x for x in plain], **kwargs)

    volumes = [x for x in plain if isinstance(x, Volume)]
    shape = np.broadcast_shapes(*[v.shape for v in volumes])
    return blockwise(call, volumes, shape, result, ufunc.__name__)


def blockwise(
    function: Callable[..., Array],
    volumes: Sequence[Volume],
    shape: Sequence[int],
    dtype: DTypeLike,
    name: str,
) -> Volume:
    """The volume of an element-wise `function` of arrays, with results of `shape` and `dtype`."""
    rank, kind = len(shape), np.dtype(dtype)

    def needs(v: Volume) -> list[tuple[int, int, int]]:
        first = rank - v.ndim
        return [
            (-1, 1, 0) if n == 1 and shape[first + d] != 1 else (first + d, 1, 0)
            for d, n in enumerate(v.shape)
        ]

    dtypes = [v.dtype for v in volumes]

    def run(boxes: list[Box], views: list[memoryview], box: Box, out: memoryview) -> None:
        values = [_array(b, v, t) for b, v, t in zip(boxes, views, dtypes, strict=True)]
        to = np.frombuffer(out, kind).reshape([hi - lo for lo, hi in zip(*box, strict=True)])
        with np.errstate(all="ignore"):
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
        )

    return Volume(shape, kind, volumes, build)


def as_volume(x: object) -> Volume:
    """`x` as a volume: itself, an array in memory, or anything with a shape, a dtype and slices."""
    if isinstance(x, Volume):
        return x
    if isinstance(x, np.memmap) or not (isinstance(x, np.ndarray) or _is_object_source(x)):
        if isinstance(x, np.memmap):
            return _read_volume(cast("Readable", x))
        x = np.asarray(x)
    if isinstance(x, np.ndarray):
        array = np.require(np.asarray(cast("Array", x)), requirements=["C", "A"])
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        array = array.reshape(cast("Array", x).shape)

        def build(expr: VolumeExpr, _: list[int]) -> int:
            return expr.array(array, array.dtype.char)

        return Volume(array.shape, array.dtype, [], build, source=array)
    return _read_volume(cast("Readable", x))


def _is_object_source(x: object) -> bool:
    return (
        hasattr(x, "shape")
        and hasattr(x, "dtype")
        and hasattr(x, "__getitem__")
        and not np.isscalar(x)
    )


def _read_volume(x: Readable) -> Volume:
    """A volume over an object with slices, such as an array of zarr, h5py, tensorstore or dask."""
    kind = np.dtype(getattr(x.dtype, "numpy_dtype", x.dtype))
    native = kind.newbyteorder("=")

    def read(box: Box, view: memoryview) -> None:
        to = np.frombuffer(view, native).reshape([hi - lo for lo, hi in zip(*box, strict=True)])
        to[...] = np.asarray(x[tuple(slice(lo, hi) for lo, hi in zip(*box, strict=True))])

    def build(expr: VolumeExpr, _: list[int]) -> int:
        return expr.reader(read, list(x.shape), native.char)

    return Volume(x.shape, native, [], build, source=x)


def in_memory(volume: Volume) -> bool:
    """True if everything that `volume` is computed from lies in memory."""
    if volume.source is not None:
        return isinstance(volume.source, np.ndarray) and not isinstance(volume.source, np.memmap)
    return all(in_memory(v) for v in volume.inputs)


def compute(
    volume: Volume,
    *,
    out: Array | None = None,
    memory_limit: int | str | None = None,
    progress: Progress | None = None,
) -> Array:
    """The voxels of `volume` as an array.

    Parameters
    ----------
    volume
        What to compute.
    out
        A C-contiguous array of its shape and dtype for the result.
    memory_limit
        Most bytes for the work, besides inputs in memory and the result.
    progress
        Called as ``progress(voxels, total, used_bytes)`` after each block.

    Raises
    ------
    MemoryError
        If the result does not fit the memory; `arrayloom.volumes.save` needs no memory for it.
    """
    if out is None:
        if volume.nbytes > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
            message = (
                f"the result takes {volume.nbytes} bytes, more than this machine has; "
                "stream it to a file with arrayloom.volumes.save"
            )
            raise MemoryError(message)
        out = np.empty(volume.shape, volume.dtype)
    if out.shape != volume.shape or out.dtype != volume.dtype:
        message = f"an output of shape {out.shape} and dtype {out.dtype} for {volume!r}"
        raise ValueError(message)
    if volume.size == 0:
        return out
    if volume.ndim == 0:
        volume = _lifted(volume)
    limit = _IN_MEMORY_LIMIT if memory_limit is None else nbytes(memory_limit)
    if memory_limit is None and not in_memory(volume):
        limit = default_limit()
    build = Build()
    build.add(volume)
    target = out if out.flags.c_contiguous and out.flags.aligned else np.empty(out.shape, out.dtype)
    try:
        build.expr.run_to_array(target.reshape(volume.shape), limit, threads(), progress)
    except MemoryError:
        if memory_limit is not None or limit >= default_limit():
            raise
        build.expr.run_to_array(target.reshape(volume.shape), default_limit(), threads(), progress)
    if target is not out:
        out[...] = target
    return out


def _lifted(volume: Volume) -> Volume:
    """A volume without axes as one of a single axis."""
    dtype = volume.dtype

    def copy(_: list[Box], views: list[memoryview], __: Box, out: memoryview) -> None:
        out[:] = views[0]

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.call(copy, "reshape", of, [[]], [1], dtype.char, 0)

    return Volume((1,), dtype, [volume], build)
