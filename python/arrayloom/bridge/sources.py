"""Objects that are no framework's arrays and have memory all the same."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import array
import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np

from arrayloom import _ext
from arrayloom.bridge import dtypes
from arrayloom.bridge.registry import HostArray

__all__ = ["CudaMemory", "host_array"]


class CudaMemory:
    """Memory on a CUDA device, as ``__cuda_array_interface__`` describes it (versions 2 and 3).

    Raises
    ------
    BufferError
        The description breaks the protocol.
    """

    def __init__(self, owner: object, interface: Mapping[str, Any]) -> None:
        version = interface.get("version", 0)
        if version < 2:
            msg = f"__cuda_array_interface__ version {version} is too old; 2 or 3 is needed"
            raise BufferError(msg)
        if interface.get("mask") is not None:
            msg = "__cuda_array_interface__ with a mask cannot be converted"
            raise BufferError(msg)
        stream = interface.get("stream")
        if stream == 0:
            msg = "__cuda_array_interface__ forbids stream 0; 1 is the legacy default stream"
            raise BufferError(msg)
        self.owner = owner
        self.interface = dict(interface)
        self.shape = tuple(int(n) for n in interface["shape"])
        self.dtype = np.dtype(interface["typestr"])
        self.strides = interface.get("strides")
        self.address, self.readonly = interface["data"]
        # Version 2 says nothing of streams: whoever takes it waits for the whole device.
        self.stream = stream if version >= 3 else 1


def _scalar(x: object) -> HostArray | None:
    if isinstance(x, (bool, int, float, complex, np.generic)):
        return np.asarray(x)
    if isinstance(x, (list, tuple)):
        made = np.asarray(x)
        return None if made.dtype.kind in "OUSV" else made
    return None


def host_array(x: object) -> HostArray | CudaMemory | None:
    """Return the memory of an object as an array, without a copy where there is a protocol for it.

    Numbers and lists are copied. None if the object has no memory that is known here.
    """
    made = _scalar(x)
    if made is not None:
        return made
    if isinstance(x, (memoryview, bytes, bytearray, array.array, ctypes.Array)):
        return np.asarray(memoryview(x))
    cuda = getattr(x, "__cuda_array_interface__", None)
    if isinstance(cuda, Mapping):
        return CudaMemory(x, cuda)
    return _by_protocol(x)


def _by_protocol(x: Any) -> HostArray | None:  # noqa: ANN401 - any object
    if hasattr(type(x), "__dlpack__"):
        return _by_dlpack(x)
    if hasattr(x, "__array_interface__") or hasattr(x, "__array_struct__"):
        return np.asarray(x)
    try:
        return np.asarray(memoryview(x))
    except TypeError:
        return None


def _by_dlpack(x: Any) -> HostArray:  # noqa: ANN401 - any producer
    try:
        capsule = x.__dlpack__(max_version=(1, 3))
    except TypeError:
        # Producers before DLPack 1.0 do not know the keyword.
        capsule = x.__dlpack__()
    made, element, _ = _ext.bridge.from_capsule(capsule)
    return dtypes.named(made, element)
