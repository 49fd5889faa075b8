"""Buffers of OpenCL on devices that compute in the host's memory, shared without a copy.

A buffer belongs to a context. Whoever shares it works in that context: it is adopted from a buffer of the
other side, together with its device, and commands go through a queue of our own. Nothing here is used for
devices with memory of their own: there a map is a copy.
"""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import ctypes
import math
from functools import cache
from typing import Any

import numpy as np

from arrayloom import _ext
from arrayloom.bridge.errors import FrameworkUnavailable
from arrayloom.bridge.registry import HostArray

__all__ = ["Buffer", "Context", "Mapped", "read"]

# Numbers of cl.h.
_CONTEXT_DEVICES = 0x1081
_DEVICE_TYPE = 0x1000
_UNIFIED = 0x1035
_TYPE_CPU = 2
_MEM_CONTEXT = 0x1106
_MEM_SIZE = 0x1102
_READ_WRITE = 1
_USE_HOST_PTR = 8
_MAP_BOTH = 3


@cache
def _library() -> Any:  # noqa: ANN401 - functions of C
    from ctypes.util import find_library  # noqa: PLC0415 - takes milliseconds

    name = find_library("OpenCL") or "libOpenCL.so.1"
    try:
        found = ctypes.CDLL(name)
    except OSError as error:
        msg = f"buffers of OpenCL need its loader: {error}"
        raise FrameworkUnavailable(msg) from error
    pointer, size, unsigned = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint
    wide = ctypes.c_uint64
    info = [pointer, unsigned, size, pointer, pointer]
    transfer = [pointer, pointer, unsigned, size, size, pointer, unsigned, pointer, pointer]
    for function, arguments in {
        "clGetMemObjectInfo": info,
        "clGetContextInfo": info,
        "clGetDeviceInfo": info,
        "clReleaseMemObject": [pointer],
        "clRetainMemObject": [pointer],
        "clRetainContext": [pointer],
        "clFlush": [pointer],
        "clEnqueueUnmapMemObject": [pointer, pointer, pointer, unsigned, pointer, pointer],
        "clEnqueueReadBuffer": transfer,
        "clEnqueueWriteBuffer": transfer,
    }.items():
        getattr(found, function).argtypes = arguments
        getattr(found, function).restype = ctypes.c_int
    found.clCreateCommandQueue.argtypes = [pointer, pointer, wide, pointer]
    found.clCreateBuffer.argtypes = [pointer, wide, size, pointer, pointer]
    found.clEnqueueMapBuffer.argtypes = [
        *(pointer, pointer, unsigned, wide, size, size, unsigned, pointer, pointer, pointer)
    ]
    for function in ("clCreateCommandQueue", "clCreateBuffer", "clEnqueueMapBuffer"):
        getattr(found, function).restype = pointer
    return found


def _check(function: str, status: int) -> None:
    if status != 0:
        msg = f"OpenCL's {function} failed with status {status}"
        raise RuntimeError(msg)


def _ask(function: str, handle: int, what: int, kind: Any) -> Any:  # noqa: ANN401 - of that type of C
    answer = kind()
    status = getattr(_library(), function)(
        handle, what, ctypes.sizeof(answer), ctypes.byref(answer), None
    )
    _check(function, status)
    return answer.value


class Context:
    """A context of others, and a queue of ours in it.

    Parameters
    ----------
    handle : int
        The `cl_context`, which is kept alive.
    """

    def __init__(self, handle: int) -> None:
        library = _library()
        _check("clRetainContext", library.clRetainContext(handle))
        self.handle = handle
        # A context of several devices is not shared: a buffer would not say where it lies.
        self.device = _ask("clGetContextInfo", handle, _CONTEXT_DEVICES, ctypes.c_void_p)
        status = ctypes.c_int()
        self.queue = library.clCreateCommandQueue(handle, self.device, 0, ctypes.byref(status))
        _check("clCreateCommandQueue", status.value)
        kind = _ask("clGetDeviceInfo", self.device, _DEVICE_TYPE, ctypes.c_uint64)
        unified = _ask("clGetDeviceInfo", self.device, _UNIFIED, ctypes.c_uint)
        self.in_host_memory = bool(kind & _TYPE_CPU and unified) and self._writes_through()

    def _writes_through(self) -> bool:
        """Whether the host sees at once what the device writes, without mapping the buffer."""
        seen = np.zeros(64, np.uint8)
        buffer = Buffer(self, 0, seen)
        written = b"\1" * seen.nbytes
        status = _library().clEnqueueWriteBuffer(
            self.queue, buffer.handle, 1, 0, seen.nbytes, written, 0, None, None
        )
        return status == 0 and seen.tobytes() == written

    @staticmethod
    def of_buffer(handle: int) -> "Context":
        """Return the context that a buffer belongs to; the same object for the same context."""
        return _context(_ask("clGetMemObjectInfo", handle, _MEM_CONTEXT, ctypes.c_void_p))


@cache
def _context(handle: int) -> Context:
    return Context(handle)


def read(handle: int, nbytes: int) -> bytearray:
    """Copy the first bytes of a buffer to the host; the work on it must be done.

    Raises
    ------
    RuntimeError
        OpenCL refuses.
    """
    room = bytearray(nbytes)
    into = (ctypes.c_char * nbytes).from_buffer(room)
    queue = Context.of_buffer(handle).queue
    status = _library().clEnqueueReadBuffer(
        queue, handle, 1, 0, nbytes, ctypes.byref(into), 0, None, None
    )
    _check("clEnqueueReadBuffer", status)
    return room


class Mapped:
    """A buffer's memory as the host sees it, for as long as this object lives.

    It is the memory that the device works in, so there is nothing to wait for but the device's own work,
    which is the caller's to await.

    Parameters
    ----------
    context : Context
        Of the buffer.
    handle : int
        The `cl_mem`.
    owner : object
        What keeps the buffer alive.
    dtype : dtype
        Of the elements, which are compact.
    shape : tuple of int
        Extents.
    """

    def __init__(
        self,
        context: Context,
        handle: int,
        owner: object,
        dtype: Any,  # noqa: ANN401
        shape: tuple[int, ...],
    ) -> None:
        self._owner = owner
        self._handle = handle
        self._context = context
        dtype = np.dtype(dtype)
        nbytes = math.prod(shape) * dtype.itemsize
        status = ctypes.c_int()
        self._address = _library().clEnqueueMapBuffer(
            *(self._context.queue, handle, 0, _MAP_BOTH, 0, nbytes),
            *(0, None, None, ctypes.byref(status)),
        )
        _check("clEnqueueMapBuffer", status.value)
        self.__array_interface__ = {
            "shape": shape,
            "typestr": dtype.str,
            "data": (self._address, False),
            "version": 3,
        }

    def __del__(self) -> None:
        address = getattr(self, "_address", None)
        if address is not None:
            queue = self._context.queue
            _library().clEnqueueUnmapMemObject(queue, self._handle, address, 0, None, None)
            _library().clFlush(queue)


class Buffer:
    """A buffer over memory of the host, which a device that computes there uses as it is.

    It lends itself by DLPack, for consumers that work in the same context.

    Parameters
    ----------
    context : Context
        Of the consumer.
    number : int
        Of the consumer's device, as DLPack counts.
    array : ndarray
        Compact and row-major; kept alive.

    Raises
    ------
    RuntimeError
        OpenCL refuses.
    """

    def __init__(self, context: Context, number: int, array: HostArray) -> None:
        self._array = array
        self._number = number
        status = ctypes.c_int()
        flags = _READ_WRITE | _USE_HOST_PTR
        self.handle = _library().clCreateBuffer(
            context.handle, flags, array.nbytes, array.ctypes.data, ctypes.byref(status)
        )
        _check("clCreateBuffer", status.value)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's numbers of the device."""
        return 4, self._number

    def __dlpack__(
        self,
        stream: object = None,
        max_version: tuple[int, int] = (1, 0),
    ) -> object:
        """Lend the buffer, which lives until the consumer has done with it."""
        del stream
        array = self._array
        form = (array.dtype.name, list(array.shape), list(array.strides))
        place = (self.handle, 4, self._number)
        return _ext.bridge.lend_foreign(self, place, form, 0, max_version[0] >= 1)

    def __del__(self) -> None:
        handle = getattr(self, "handle", None)
        if handle is not None:
            _library().clReleaseMemObject(handle)
