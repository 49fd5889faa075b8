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
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from arrayloom._ext import VolumeExpr
from arrayloom._volumes.manifest import ManifestSource
from arrayloom._volumes.number import Numbers
from arrayloom._volumes.stamp import Stamp, check_length
from arrayloom.errors import DtypeError

if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from pathlib import Path

__all__ = ["Build", "Volume"]

Array: TypeAlias = NDArray[Any]
Box: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
Progress: TypeAlias = Callable[[int, int, int], object]

_LETTERS = "?bhilqBHILQefdFD"
# Methods of arrays that are functions of NumPy.
_METHODS = {
    "sum", "mean", "std", "var", "prod", "min", "max", "ptp", "any", "all", "argmin", "argmax", "argsort", "nonzero",
    "cumsum", "cumprod", "clip", "round", "conj", "conjugate", "copy", "squeeze", "swapaxes",
    "take", "repeat", "diagonal",
}  # fmt: skip


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


def in_native_bytes(dtype: DTypeLike) -> np.dtype[Any]:
    """`dtype` in the byte order of this machine, which all voxels of expressions have."""
    return np.dtype(dtype).newbyteorder("=")


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
            raise DtypeError(message)
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
        from arrayloom._volumes.pickling import reduced  # noqa: PLC0415 - it builds on this module

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
        from arrayloom._volumes.compute import compute  # noqa: PLC0415 - it builds on this module

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
            from arrayloom._volumes.along import along_ufunc  # noqa: PLC0415 - it builds on this module

            return along_ufunc(ufunc, method, cast("Any", self), inputs[1:], kwargs)
        if method != "__call__" or ufunc.signature is not None or kwargs.keys() - {"dtype"}:
            message = (
                f"{ufunc.__name__}{'' if method == '__call__' else '.' + method} with "
                f"{', '.join(sorted(kwargs)) or 'these arguments'} does not go over a volume block by block; "
                "if the volume fits the memory, call it on numpy.asarray(volume)"
            )
            raise TypeError(message)
        from arrayloom._volumes.elementwise import elementwise  # noqa: PLC0415 - it builds on this module

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
        from arrayloom._volumes import out as arrays  # noqa: PLC0415 - it builds on this module

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
        from arrayloom._volumes.functions import array_function  # noqa: PLC0415 - it builds on this module

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
        from arrayloom._volumes.elementwise import power  # noqa: PLC0415 - it builds on this module

        return power(cast("Any", self), other)

    def astype(self, dtype: DTypeLike) -> "Volume":
        """The same voxels as `dtype`, converted as NumPy does."""
        from arrayloom._volumes.elementwise import converted  # noqa: PLC0415 - it builds on this module

        found: Any = converted(cast("Any", self), dtype)
        return found

    def __getitem__(self, key: Any) -> Any:
        from arrayloom._volumes.views import sliced  # noqa: PLC0415 - it builds on this module

        return sliced(cast("Any", self), key)

    def transpose(self, *axes: Any) -> Any:
        """The volume with its axes in another order, reversed by default."""
        from arrayloom._volumes.views import transposed  # noqa: PLC0415 - it builds on this module

        return transposed(cast("Any", self), axes)

    @property
    def T(self) -> "Volume":  # noqa: N802 - NumPy's name
        """The volume with its axes reversed."""
        return self.transpose()


def _is_no_number(x: object) -> bool:
    """True for what equals no voxel."""
    return x is None or isinstance(x, (str, bytes))


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
