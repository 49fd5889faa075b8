"""Drivers of devices: what the bridge needs to copy from them and to order work on them.

A driver is any object with the methods of :class:`Driver`, so the rules are tested without a device.
CUDA's is opened when memory of a CUDA device is met, through the library that its driver installs.
"""

import ctypes
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Protocol

from arrayloom.bridge.errors import FrameworkUnavailable

__all__ = ["CudaDriver", "Driver", "driver", "set_driver"]


class Driver(Protocol):
    """What a device's driver must offer. Streams are numbered as the array API does."""

    def record(self, place: str, stream: int) -> Any:  # noqa: ANN401 - an event of the driver's own kind
        """Record an event on a stream of a device such as 'cuda:0'."""
        ...

    def wait(self, place: str, stream: int, event: Any) -> None:  # noqa: ANN401 - see above
        """Let a stream wait for an event."""
        ...

    def synchronize(self, place: str, stream: int) -> None:
        """Wait on the host until a stream is done."""
        ...

    def new_stream(self, place: str) -> int:
        """Make a stream that does not wait for the default one."""
        ...

    def read(self, place: str, address: int, nbytes: int) -> bytearray:
        """Copy memory of a device to the host; its work must be done."""
        ...

    def memory(self, place: str) -> tuple[int, int]:
        """Return free and total bytes of a device."""
        ...

    def device_of(self, address: int) -> int:
        """Return the number of the device whose memory an address is."""
        ...


def number_of(place: str) -> int:
    """Return the number in a device's name, 0 if there is none."""
    return int(place.partition(":")[2] or 0)


class CudaDriver:
    """CUDA's driver, by its C interface.

    Parameters
    ----------
    library : str or ctypes.CDLL
        The driver's library, or an object with its functions.

    Raises
    ------
    FrameworkUnavailable
        There is no driver, or it cannot start.
    """

    _NON_BLOCKING = 1
    _NO_TIMING = 2
    # The attribute of an address that names its device.
    _ORDINAL = 9

    def __init__(self, library: Any = "libcuda.so.1") -> None:  # noqa: ANN401 - or a stand-in
        if isinstance(library, str):
            try:
                library = ctypes.CDLL(library)
            except OSError as error:
                msg = f"memory of CUDA devices needs the NVIDIA driver: {error}"
                raise FrameworkUnavailable(msg) from error
        self._library = library
        self._contexts: dict[int, ctypes.c_void_p] = {}
        self._call("cuInit", 0)

    def _call(self, name: str, *arguments: Any) -> None:  # noqa: ANN401 - as C takes them
        status = getattr(self._library, name)(*arguments)
        if status != 0:
            msg = f"CUDA's {name} failed with status {status}"
            raise FrameworkUnavailable(msg)

    @contextmanager
    def _inside(self, place: str) -> Generator[None]:
        """Make the context that all frameworks share the current one of this thread, in a block only."""
        number = number_of(place)
        context = self._contexts.get(number)
        if context is None:
            device = ctypes.c_int()
            self._call("cuDeviceGet", ctypes.byref(device), number)
            context = ctypes.c_void_p()
            self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
            self._contexts[number] = context
        self._call("cuCtxPushCurrent_v2", context)
        try:
            yield
        finally:
            # Frameworks take the current context for the device that their user chose.
            left = ctypes.c_void_p()
            self._library.cuCtxPopCurrent_v2(ctypes.byref(left))

    def record(self, place: str, stream: int) -> ctypes.c_void_p:
        """Record an event on a stream of a device such as 'cuda:0'."""
        with self._inside(place):
            event = ctypes.c_void_p()
            self._call("cuEventCreate", ctypes.byref(event), self._NO_TIMING)
            self._call("cuEventRecord", event, ctypes.c_void_p(stream))
            return event

    def wait(self, place: str, stream: int, event: ctypes.c_void_p) -> None:
        """Let a stream wait for an event, which is used up."""
        with self._inside(place):
            self._call("cuStreamWaitEvent", ctypes.c_void_p(stream), event, 0)
            # The driver keeps an event until the work that waits for it is done.
            self._call("cuEventDestroy_v2", event)

    def synchronize(self, place: str, stream: int) -> None:
        """Wait on the host until a stream is done."""
        with self._inside(place):
            self._call("cuStreamSynchronize", ctypes.c_void_p(stream))

    def new_stream(self, place: str) -> int:
        """Make a stream that does not wait for the default one."""
        with self._inside(place):
            stream = ctypes.c_void_p()
            self._call("cuStreamCreate", ctypes.byref(stream), self._NON_BLOCKING)
            return stream.value or 0

    def read(self, place: str, address: int, nbytes: int) -> bytearray:
        """Copy memory of a device to the host; its work must be done."""
        with self._inside(place):
            room = bytearray(nbytes)
            if nbytes:
                into = (ctypes.c_char * nbytes).from_buffer(room)
                self._call(
                    "cuMemcpyDtoH_v2",
                    ctypes.byref(into),
                    ctypes.c_uint64(address),
                    ctypes.c_size_t(nbytes),
                )
            return room

    def memory(self, place: str) -> tuple[int, int]:
        """Return free and total bytes of a device."""
        with self._inside(place):
            free, total = ctypes.c_size_t(), ctypes.c_size_t()
            self._call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
            return free.value, total.value

    def device_of(self, address: int) -> int:
        """Return the number of the device whose memory an address is."""
        number = ctypes.c_int()
        found = ctypes.byref(number)
        self._call("cuPointerGetAttribute", found, self._ORDINAL, ctypes.c_uint64(address))
        return number.value


_makers: dict[str, Callable[[], Driver]] = {"cuda": CudaDriver}
_drivers: dict[str, Driver] = {}
_streams = threading.local()


def driver(place: str) -> Driver:
    """Return the driver of a device.

    Raises
    ------
    BufferError
        No driver is known for this family of devices.
    FrameworkUnavailable
        It cannot start.
    """
    family = place.partition(":")[0]
    found = _drivers.get(family)
    if found is None:
        make = _makers.get(family)
        if make is None:
            msg = f"memory on {place} cannot be read or ordered here: there is no driver for it"
            raise BufferError(msg)
        found = _drivers[family] = make()
    return found


def check_there(place: str, nbytes: int) -> None:
    """Judge memory that no framework vouches for, before a framework is told that it lies on a device of CUDA.

    Raises
    ------
    FrameworkUnavailable
        This machine has no driver for it: frameworks raise errors of their own then, or end the process.
    """
    if nbytes and place.partition(":")[0] == "cuda":
        driver(place)


def set_driver(family: str, new: Driver | None) -> None:
    """Use a driver for a family of devices; None brings back the one that is found by itself."""
    _streams.__dict__.clear()
    if new is None:
        _drivers.pop(family, None)
    else:
        _drivers[family] = new


def own_stream(place: str) -> int:
    """Return this thread's own stream on a device; it is made once and lives as long as the process."""
    streams: dict[str, int] = _streams.__dict__.setdefault("streams", {})
    if place not in streams:
        streams[place] = driver(place).new_stream(place)
    return streams[place]
