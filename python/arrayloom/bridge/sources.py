"""Objects that are no framework's arrays and have memory all the same."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import array
import ctypes
import sys
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from arrayloom import _ext
from arrayloom.bridge import dtypes, streams
from arrayloom.bridge.foreign import DeviceArray
from arrayloom.bridge.registry import EXTRA, HostArray

__all__ = ["device_number", "found_memory", "memory_of", "of_capsule"]

Memory: TypeAlias = HostArray | DeviceArray

# Placeholders of values that a model gets later, by the packages that have them, and their names.
_SYMBOLIC = {("keras", "KerasTensor"), ("tf_keras", "KerasTensor"), ("tensorflow", "KerasTensor")}


def _scalar(x: object) -> HostArray | None:
    if not isinstance(x, (bool, int, float, complex, np.generic, list, tuple, range)):
        return None
    made = np.asarray(x)
    if made.dtype.kind in "USMmV" and made.dtype.name not in EXTRA:
        msg = f"this {type(x).__name__} has elements of type {made.dtype.type.__name__}, which are no numbers; convert takes lists of numbers"
        raise TypeError(msg)
    return made


def memory_of(x: object) -> Memory | None:
    """Return the memory of an object as an array, None if it has none that is known here."""
    found = found_memory(x)
    return None if found is None else found[0]


def found_memory(x: object) -> tuple[Memory, str] | None:
    """Return the memory of an object as an array, and why that is a copy, or nothing.

    Memory is shared where there is a protocol for it. Numbers and lists are copied.

    Raises
    ------
    TypeError
        The object is symbolic, and has no values.
    """
    if isinstance(x, DeviceArray):
        return x, ""
    _refuse_symbolic(type(x))
    made = _scalar(x)
    if made is not None:
        return made, "numbers and lists have no memory that can be shared"
    shared = _shared(x)
    return _by_array(x) if shared is None else (shared, "")


def _refuse_symbolic(kind: type) -> None:
    if any((k.__module__.partition(".")[0], k.__name__) in _SYMBOLIC for k in kind.__mro__):
        msg = (
            f"this {kind.__module__.partition('.')[0]} {kind.__name__} is symbolic: it has no value outside of its "
            "model; convert what the model returns"
        )
        raise TypeError(msg)


def _by_array(x: Any) -> tuple[HostArray, str] | None:  # noqa: ANN401 - any object
    """Ask an object for an array: those of files, tables and the like have that only."""
    if not hasattr(type(x), "__array__"):
        return None
    made: Any = x.__array__()
    if not isinstance(made, np.ma.MaskedArray):
        made = np.asarray(made)
    # Some warn when they are asked for no copy. Memory that nobody else refers to is one.
    alone = sys.getrefcount(made) <= 2
    owner = made
    while alone and owner.base is not None:
        alone = isinstance(owner.base, np.ndarray) and sys.getrefcount(owner.base) <= 2
        owner = owner.base
    alone = alone and owner.flags.owndata
    name = f"{type(x).__module__}.{type(x).__qualname__}"
    return made, f"{name} makes a copy of its elements" if alone else ""


def _shared(x: object) -> Memory | None:
    if isinstance(x, (memoryview, bytes, bytearray, array.array, ctypes.Array)):
        return np.asarray(memoryview(x))
    cuda = getattr(x, "__cuda_array_interface__", None)
    if isinstance(cuda, Mapping):
        return DeviceArray.of_interface(x, cuda)
    return _by_protocol(x)


def _by_protocol(x: Any) -> Memory | None:  # noqa: ANN401 - any object
    if hasattr(type(x), "__dlpack__"):
        return _by_dlpack(x)
    interface = getattr(x, "__array_interface__", None)
    if isinstance(interface, Mapping) and interface.get("mask") is not None:
        msg = "__array_interface__ with a mask cannot be converted; fill the masked elements first"
        raise BufferError(msg)
    if interface is not None or hasattr(x, "__array_struct__"):
        return np.asarray(x)
    try:
        return np.asarray(memoryview(x))
    except TypeError:
        return None


def device_number(x: Any) -> int:  # noqa: ANN401 - any producer
    """Return DLPack's number of the device family that a producer says it has memory on.

    Raises
    ------
    BufferError
        It says something else.
    """
    found = x.__dlpack_device__()
    if not isinstance(found, tuple) or len(found) != 2:
        name = f"{type(x).__module__}.{type(x).__qualname__}"
        msg = f"{name}.__dlpack_device__ must give a pair (family, number), and gave {found!r}"
        raise BufferError(msg)
    return int(found[0])


def _by_dlpack(x: Any) -> HostArray | DeviceArray:  # noqa: ANN401 - any producer
    try:
        capsule = x.__dlpack__(max_version=(1, 3))
    except TypeError:
        # Producers before DLPack 1.0 do not know the keyword.
        capsule = x.__dlpack__()
    return of_capsule(capsule)


def of_capsule(capsule: object) -> HostArray | DeviceArray:
    """Take the tensor of a DLPack capsule.

    Raises
    ------
    BufferError
        The tensor breaks the protocol, or the capsule was used before.
    """
    if _ext.bridge.lies_elsewhere(capsule):
        made = DeviceArray.of_capsule(capsule)
        if streams.is_ordered(made.device):
            # Who was told no stream has brought its work in order with the default one.
            made.follow(streams.check_stream(made.device.partition(":")[0], None))
        return made
    made, element, _ = _ext.bridge.from_capsule(capsule)
    return dtypes.named(made, element)
