"""Expressions on volumes: what filters, NumPy's functions and slices of volumes build.

A `Volume` is a value that has not been computed: a source, or an operation on other volumes. It knows
its shape and dtype. Computing it goes block by block through a memory limit, in the native half.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false, reportImplicitOverride=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from arrayloom._ext import VolumeExpr
from arrayloom._manifest import ManifestSource, manifest_of
from arrayloom._volume_limits import default_limit, nbytes, threads
from arrayloom._volume_number import Numbers
from arrayloom._volume_stamp import Stamp, check_length

if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from pathlib import Path

__all__ = ["Build", "Volume", "as_volume", "default_limit", "nbytes", "threads"]

Array: TypeAlias = NDArray[Any]
Box: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
# What devices compute: a function by name, and the numbers among its operands.
Kernel: TypeAlias = tuple[str | None, list[int | float | None]]
# Elements that are moved or converted.
MOVED: Kernel = (None, [])
Progress: TypeAlias = Callable[[int, int, int], object]

_LETTERS = "?bhilqBHILQefdFD"
# Methods of arrays that are functions of NumPy.
_METHODS = {
    "sum", "mean", "std", "var", "prod", "min", "max", "ptp", "any", "all", "argmin", "argmax", "argsort", "nonzero",
    "cumsum", "cumprod", "clip", "round", "conj", "conjugate", "copy", "squeeze", "swapaxes",
    "take", "repeat", "diagonal",
}  # fmt: skip


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
        for at in inputs_first(volume, self._done):
            if at.source is not None:
                _check_source(at)
            inputs = [self._done[id(v)] for v in at.inputs]
            self._done[id(at)] = at.build(self.expr, inputs)
            self._alive.append(at)
        return self._done[id(volume)]


def inputs_first(volume: "Volume", done: "Container[int]" = ()) -> "Iterator[Volume]":
    """`volume` and all that it is computed from, each once and behind its inputs, but for those whose `id` is in `done`."""
    told: set[int] = set()
    waiting = [volume]
    while waiting:
        at = waiting[-1]
        is_known = id(at) in told or id(at) in done
        missing = [] if is_known else [v for v in at.inputs if not (id(v) in told or id(v) in done)]
        if missing:
            waiting.extend(reversed(missing))
            continue
        waiting.pop()
        if not is_known:
            told.add(id(at))
            yield at


def _check_source(volume: "Volume") -> None:
    """Refuse to read a file that is not what it was when it was opened."""
    if volume.stamp is not None:
        volume.stamp.check()
    elif isinstance(volume.source, np.memmap):
        check_length(volume.source)


class _NoFilter:
    """An expression on complex volumes, while it is asked for what it cannot have: filters take real numbers."""

    def call(self, *_: object) -> int:
        return 0

    def __getattr__(self, name: str) -> Any:
        message = (
            "this filter takes no complex numbers; filter their parts, volume.real and volume.imag"
        )
        raise TypeError(message)


class Volume(Numbers, np.lib.mixins.NDArrayOperatorsMixin):
    """A volume that has not been computed.

    Arithmetic, NumPy's element-wise functions, slices, ``transpose`` and the filters of
    `arrayloom.filters` give volumes again. ``numpy.asarray`` computes one in memory;
    `arrayloom.volumes.save` streams it to a file.

    Parameters
    ----------
    shape, dtype
        Extents and element type; voxels have the byte order of this machine.
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
        self.shape = tuple(map(int, shape))
        self.dtype: np.dtype[Any] = in_native_bytes(dtype)
        self.inputs = list(inputs)
        self.build = build
        self.source = source
        # For boxes of chunked files: the file, and where the box begins and ends in it.
        self.window: tuple[Volume, list[int], list[int]] | None = None
        self.path: Path | None = None
        # How `arrayloom.volumes.open` opened it: the file, and what was said of it.
        self.opened: tuple[Path, dict[str, Any]] | None = None
        # Of a file that `arrayloom.volumes.open` opened: what it was then.
        self.stamp: Stamp | None = None
        self.axes: tuple[str, ...] | None = None
        self.spacing: tuple[float, ...] | None = None
        self.units: tuple[str | None, ...] = ()
        for named in inputs:
            if named.axes is not None and named.shape == self.shape:
                self.axes, self.spacing, self.units = named.axes, named.spacing, named.units
                break
        if self.dtype.char not in _LETTERS:
            message = f"volumes have no elements of dtype {self.dtype}; convert them first"
            raise TypeError(message)
        if any(v.dtype.kind == "c" for v in self.inputs):
            build(cast("VolumeExpr", _NoFilter()), [0] * len(self.inputs))

    def named(self, like: "Volume", places: Sequence[int | None]) -> "Volume":
        """The same volume with the names and spacing that axes of `like` have at `places`; none if one is new."""
        self.axes, self.spacing, self.units = None, None, ()
        known = [d for d in places if d is not None]
        if like.axes is None or like.spacing is None or len(known) < len(places):
            return self
        self.axes = tuple(like.axes[d] for d in known)
        self.spacing = tuple(like.spacing[d] for d in known)
        self.units = tuple(like.units[d] for d in known if like.units)
        return self

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of voxels."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the computed volume."""
        return self.size * self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        """Bytes of a voxel."""
        return self.dtype.itemsize

    def __repr__(self) -> str:
        return f"<Volume {self.shape} {self.dtype}>"

    def __len__(self) -> int:
        if not self.shape:
            message = "a volume without axes has no length"
            raise TypeError(message)
        return self.shape[0]

    def __iter__(self) -> "Iterator[Any]":
        if not self.shape:
            message = "iteration over a volume without axes"
            raise TypeError(message)
        return (self[at] for at in range(self.shape[0]))

    def __contains__(self, value: object) -> bool:
        return bool(np.any(self == value))

    def __eq__(self, other: object) -> Any:
        return self._nowhere() if _is_no_number(other) else super().__eq__(other)

    def __ne__(self, other: object) -> Any:
        return ~self._nowhere() if _is_no_number(other) else super().__ne__(other)

    __hash__ = None  # as arrays

    def _nowhere(self) -> Any:
        return np.zeros_like(cast("Any", self), dtype=bool)

    def __reduce_ex__(self, protocol: Any) -> Any:
        from arrayloom._volume_pickle import reduced  # noqa: PLC0415 - it builds on this module

        return reduced(cast("Any", self), protocol)

    def __copy__(self) -> "Volume":
        other = object.__new__(Volume)
        vars(other).update(vars(self))
        return other

    def __deepcopy__(self, _: object) -> "Volume":
        return self.__copy__()

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        if copy is False:
            message = "a volume that has not been computed cannot be an array without a copy"
            raise ValueError(message)
        from arrayloom._volume_compute import compute  # noqa: PLC0415 - it builds on this module

        result = compute(cast("Any", self))
        return result if dtype is None else result.astype(dtype, copy=False)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object
    ) -> Any:
        # An axis of None is all axes.
        kwargs = {k: v for k, v in kwargs.items() if v is not None or k == "axis"}
        out = cast("tuple[Any, ...]", kwargs.pop("out", ()))
        # `volume += x` names a new volume; the old one stays what it was.
        if out and not (method == "__call__" and out[0] is self and inputs[0] is self):
            return self._into(ufunc, method, inputs, kwargs, out)
        if method in {"reduce", "accumulate"}:
            return _along_ufunc(ufunc, method, self, inputs[1:], kwargs)
        if method != "__call__" or ufunc.signature is not None or kwargs.keys() - {"dtype"}:
            message = (
                f"{ufunc.__name__}{'' if method == '__call__' else '.' + method} with "
                f"{', '.join(sorted(kwargs)) or 'these arguments'} does not go over a volume block by block; "
                "if the volume fits the memory, call it on numpy.asarray(volume)"
            )
            raise TypeError(message)
        return elementwise(ufunc, inputs, cast("DTypeLike | None", kwargs.get("dtype")))

    def _into(
        self,
        ufunc: np.ufunc,
        method: str,
        inputs: Sequence[object],
        kwargs: dict[str, object],
        out: Sequence[Any],
    ) -> Any:
        """The results of a ufunc in the arrays `out`; None stands for a new one."""
        from arrayloom import _volume_out as arrays  # noqa: PLC0415 - it builds on this module

        if method != "__call__":
            # As in NumPy, sums are taken in the dtype of the array.
            sums = ufunc in {np.add, np.multiply} and isinstance(out[0], np.ndarray)
            words = {"dtype": out[0].dtype.newbyteorder("="), **kwargs} if sums else kwargs
            found = self.__array_ufunc__(ufunc, method, *inputs, **words)
            return arrays.stored_alike(ufunc.__name__, found, out[0])
        found = self.__array_ufunc__(ufunc, method, *inputs, **kwargs)
        results = found if ufunc.nout > 1 else (found,)
        stored = tuple(
            value if to is None else arrays.stored(ufunc.__name__, value, to)
            for value, to in zip(results, out, strict=True)
        )
        return stored if ufunc.nout > 1 else stored[0]

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        from arrayloom._volume_numpy import array_function  # noqa: PLC0415 - it builds on this module

        return array_function(func, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in {"real", "imag"}:
            return getattr(np, name)(self)
        if name not in _METHODS:
            message = f"a volume has no attribute {name!r}; numpy.asarray(volume) computes an array"
            raise AttributeError(message)
        return partial(getattr(np, name), self)

    def __pow__(self, other: object) -> Any:
        if not isinstance(other, (int, float, complex)):
            return super().__pow__(other)

        # NumPy's operator has other dtypes than its ufunc: squares of truth values are bytes.
        def power(values: Array) -> Array:
            return values**other

        dtype = power(np.ones(1, self.dtype)).dtype
        return blockwise(power, [self], self.shape, dtype, "power")

    def astype(self, dtype: DTypeLike) -> "Volume":
        """The same voxels as `dtype`, converted as NumPy does."""
        wanted = in_native_bytes(dtype)

        def convert(values: Array) -> Array:
            return values.astype(wanted)

        return blockwise(convert, [self], self.shape, wanted, "astype", kernel=MOVED)

    def __getitem__(self, key: Any) -> Any:
        from arrayloom._volume_views import sliced  # noqa: PLC0415 - it builds on this module

        return sliced(cast("Any", self), key)

    def transpose(self, *axes: Any) -> Any:
        """The volume with its axes in another order, reversed by default."""
        from arrayloom._volume_views import transposed  # noqa: PLC0415 - it builds on this module

        return transposed(cast("Any", self), axes)

    @property
    def T(self) -> "Volume":  # noqa: N802 - NumPy's name
        """The volume with its axes reversed."""
        return self.transpose()


def _is_no_number(x: object) -> bool:
    """True for what equals no voxel."""
    return x is None or isinstance(x, (str, bytes))


def in_native_bytes(dtype: DTypeLike) -> np.dtype[Any]:
    """`dtype` in the byte order of this machine, which all voxels of expressions have."""
    return np.dtype(dtype).newbyteorder("=")


def box_of(box: Box, view: memoryview, dtype: np.dtype[Any]) -> Array:
    shape = [hi - lo for lo, hi in zip(*box, strict=True)]
    return np.frombuffer(view, dtype).reshape(shape)


def _along_ufunc(
    ufunc: np.ufunc, method: str, volume: Volume, args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """``ufunc.reduce`` and ``ufunc.accumulate``; associative ones of the whole volume give a number."""
    from arrayloom import _volume_along as functions  # noqa: PLC0415 - it builds on this module

    axis = args[0] if args else kwargs.pop("axis", 0)
    names = {"add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max"}
    names |= {"logical_and": "all", "logical_or": "any", "fmin": "nanmin", "fmax": "nanmax"}
    known = names.get(ufunc.__name__, ufunc.__name__)
    if method == "reduce":
        return functions.reduced(ufunc.reduce, known, cast("Any", volume), axis, **kwargs)
    (at,) = functions.axes_of(axis, volume.ndim)

    def call(values: Array) -> Array:
        return ufunc.accumulate(values, axis=at, **kwargs)

    places: list[int | None] = list(range(volume.ndim))
    return functions.along([cast("Any", volume)], [at], call, places, ufunc.__name__)


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


def as_volume(x: object, path: "Path | None" = None) -> Volume:
    """`x` as a volume: itself, an array of any framework, or anything with a shape, a dtype and slices.

    Errors of `x` while it is read name the file `path`.
    """
    if isinstance(x, Volume):
        return x
    if isinstance(x, ManifestSource):
        return _read_volume(x, path)
    if not isinstance(x, np.ndarray):
        x = _of_framework(x)
    if not (isinstance(x, np.ndarray) or _is_object_source(x)):
        x = np.asarray(x)
    if isinstance(x, np.ndarray):
        mapped = isinstance(x, np.memmap)
        if mapped and not (x.flags.c_contiguous and x.flags.aligned and x.dtype.isnative):
            return _read_volume(cast("Readable", x), path)
        array = plain(cast("Array", x))

        def build(expr: VolumeExpr, _: list[int]) -> int:
            return expr.array(array, array.dtype.char, mapped)

        return Volume(array.shape, array.dtype, [], build, source=x if mapped else array)
    return _read_volume(cast("Readable", x), path)


def plain(x: Array) -> Array:
    """`x` as an array of no subclass, in C order and native bytes."""
    flags = x.flags
    if type(x) is np.ndarray and flags.c_contiguous and flags.aligned and x.dtype.isnative:
        return x
    array = np.require(np.asarray(x), requirements=["C", "A"])
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array.reshape(x.shape)


def _of_framework(x: object) -> object:
    """An array of another framework, such as a tensor, as one of NumPy; anything else as it is."""
    from arrayloom import bridge  # noqa: PLC0415 - loaded when something is no array of NumPy

    if bridge.kind(x) is None:
        return x
    if getattr(x, "requires_grad", False):
        message = (
            f"a {type(x).__name__} that requires gradients would lose them here; give x.detach()"
        )
        raise BufferError(message)
    return bridge.to_numpy(x)


def _is_object_source(x: object) -> bool:
    return (
        hasattr(x, "shape")
        and hasattr(x, "dtype")
        and hasattr(x, "__getitem__")
        and not np.isscalar(x)
    )


def _described(facts: dict[str, Any], source: object) -> Volume:
    """A volume that the native half reads by itself."""

    def build(expr: VolumeExpr, _: list[int]) -> int:
        return expr.manifest(facts, threads())

    return Volume(facts["shape"], facts["letter"], [], build, source=source)


def _read_volume(x: Readable | ManifestSource, path: "Path | None") -> Volume:
    """A volume over an object with slices, such as an array of zarr, h5py, tensorstore or dask."""
    if isinstance(x, ManifestSource):
        return _described(x.facts, x)
    facts = manifest_of(x)
    if facts is not None:
        return _described(facts, x)
    kind = np.dtype(getattr(x.dtype, "numpy_dtype", x.dtype))
    native = kind.newbyteorder("=")

    def read(box: Box, view: memoryview) -> None:
        to = np.frombuffer(view, native).reshape([hi - lo for lo, hi in zip(*box, strict=True)])
        try:
            found = np.asarray(x[tuple(slice(lo, hi) for lo, hi in zip(*box, strict=True))])
        except Exception as error:
            if path is None or str(path) in str(error) or isinstance(error, MemoryError):
                raise
            message = f"{path} cannot be read: {error}"
            raise OSError(message) from error
        if found.dtype != native and not np.can_cast(found.dtype, native):
            message = (
                f"slices of the {type(x).__name__} are {found.dtype}, and its dtype is {native}; "
                "give an object whose slices have the dtype that it names"
            )
            raise TypeError(message)
        to[...] = found

    def build(expr: VolumeExpr, _: list[int]) -> int:
        return expr.reader(read, list(x.shape), native.char, granule_of(x))

    return Volume(x.shape, native, [], build, source=x)


def granule_of(x: Any) -> list[int] | None:
    """The box that an object with slices reads as a whole, if it says so: its chunk."""
    layout = getattr(x, "chunk_layout", None)
    found = getattr(getattr(layout, "read_chunk", None), "shape", None) or getattr(
        x, "chunks", None
    )
    found = found or getattr(x, "granule", None)
    if not found or len(found) != len(x.shape):
        return None
    # dask says the extents of all chunks.
    sizes: list[Any] = [g[0] if isinstance(g, tuple) and g else g for g in found]
    return [int(g) for g in sizes] if all(isinstance(g, int) and g > 0 for g in sizes) else None


def window_of(volume: Volume) -> tuple[Volume, list[int], list[int]] | None:
    """The chunked file that `volume` is a box of, and where the box begins and ends in it."""
    if isinstance(volume.source, ManifestSource):
        return volume, [0] * volume.ndim, list(volume.shape)
    return volume.window


def leaves(volume: Volume) -> "list[Volume]":
    """The volumes that `volume` is computed from and that are read, each once."""
    return [at for at in inputs_first(volume) if at.source is not None]


def reads_memory_only(volume: Volume) -> bool:
    """True if all that `volume` is computed from are arrays in memory, none of them mapped."""
    sources = [v.source for v in leaves(volume)]
    return all(isinstance(x, np.ndarray) and not isinstance(x, np.memmap) for x in sources)
