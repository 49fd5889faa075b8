"""What a volume is read from: arrays of any framework, files, and objects with a shape, a dtype and slices."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false, reportImplicitOverride=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from arrayloom._ext import VolumeExpr
from arrayloom._volumes.limits import threads
from arrayloom._volumes.manifest import ManifestSource, manifest_of
from arrayloom._volumes.volume import Array, Box, Volume

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Readable", "as_volume", "granule_of", "plain"]


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
