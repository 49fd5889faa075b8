"""Memory of devices that the host cannot read: who owns it, how it goes on to others, how it comes here."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from arrayloom import _ext
from arrayloom.bridge import drivers, opencl, streams
from arrayloom.bridge.dtypes import numpy_dtype, row_major
from arrayloom.bridge.errors import FrameworkUnavailable
from arrayloom.bridge.registry import HostArray

__all__ = ["DeviceArray"]

_FAMILIES = {"cuda": 2, "opencl": 4, "vulkan": 7, "metal": 8, "rocm": 10, "oneapi": 14}
_NAMES = {number: name for name, number in _FAMILIES.items()}
_READ_ONLY = 1


def family_of(number: int) -> str:
    """Return the name of a device family from DLPack's number."""
    if number in (1, 3, 11, 13):
        return "cpu"
    return _NAMES.get(number, f"device{number}")


def is_versioned(max_version: Any) -> bool:  # noqa: ANN401 - what a consumer says
    """Whether a consumer of DLPack knows the form of 1.0 and later.

    Raises
    ------
    TypeError
        It says so by something else than None or two numbers.
    """
    if max_version is None:
        return False
    numbers = isinstance(max_version, tuple) and len(max_version) == 2
    if not numbers or not all(isinstance(n, (int, np.integer)) for n in max_version):
        msg = f"max_version must be None or a tuple with two elements, such as (1, 0), not {max_version!r}"
        raise TypeError(msg)
    return max_version[0] >= 1


def _device_of(address: int) -> int:
    """Return the number of the CUDA device that has an address; 0 for none, and where nobody can tell."""
    if address == 0:
        return 0
    try:
        return drivers.driver("cuda").device_of(address)
    except FrameworkUnavailable:
        return 0


class DeviceArray:
    """An array whose memory lies on a device, lent to whoever can use it there.

    It computes nothing. Frameworks take it by DLPack or by ``__cuda_array_interface__``, which gives
    arrays of TensorFlow the latter; conversions to kinds of the host copy it.

    Parameters
    ----------
    owner : object
        What keeps the memory alive.
    address : int
        Of the first element; a handle for devices of OpenCL.
    place : str
        Such as 'cuda:0'.
    dtype : str
        Element type, as NumPy and ml_dtypes spell it.
    shape, strides : tuple of int
        Extents, and steps in bytes.
    readonly : bool
        Whether receivers must not write.
    stream : int, optional
        The stream that still works on it, by the array API's numbers; None if nothing does.
    lender : str, optional
        The kind of the array that it was. Handles of buffers are used only if a framework gave them.

    Attributes
    ----------
    device, dtype, shape, strides, readonly, lender : str, str, tuple, tuple, bool, str or None
        As above.
    """

    __slots__ = (
        "__weakref__",
        "_address",
        "_owner",
        "_stream",
        "device",
        "dtype",
        "lender",
        "readonly",
        "shape",
        "strides",
    )

    def __init__(  # noqa: PLR0913 - the fields of a tensor
        self,
        owner: object,
        address: int,
        place: str,
        dtype: str,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        *,
        readonly: bool = False,
        stream: int | None = None,
        lender: str | None = None,
    ) -> None:
        self._owner = owner
        self._address = address
        self._stream = stream
        self.device = place
        self.lender = lender
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.readonly = readonly

    def __repr__(self) -> str:
        return f"<array of {self.dtype} {self.shape} on {self.device}>"

    @classmethod
    def of_capsule(cls, capsule: object, lender: str | None = None) -> "DeviceArray":
        """Take the tensor of a DLPack capsule, which a kind of arrays may have made.

        Raises
        ------
        BufferError
            The tensor breaks the protocol, or the capsule was used before.
        """
        owner, address, place, dtype, shape, strides, readonly = _ext.bridge.take_foreign(capsule)
        form = (dtype, shape, strides)
        return cls(owner, address, place, *form, readonly=readonly, lender=lender)

    @classmethod
    def of_interface(cls, owner: object, interface: Mapping[str, Any]) -> "DeviceArray":
        """Take memory that ``__cuda_array_interface__`` describes, version 2 or 3.

        Raises
        ------
        BufferError
            The description breaks the protocol.
        """
        missing = [key for key in ("shape", "typestr", "data") if key not in interface]
        if missing:
            msg = f"__cuda_array_interface__ lacks {', '.join(missing)}"
            raise BufferError(msg)
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
        dtype = np.dtype(interface["typestr"])
        if not dtype.isnative or dtype.names is not None or dtype.kind not in "biufc":
            msg = f"__cuda_array_interface__ with elements {interface['typestr']!r} cannot be converted"
            raise BufferError(msg)
        shape = tuple(int(n) for n in interface["shape"])
        strides = interface.get("strides")
        if strides is None:
            strides = row_major(shape, dtype.itemsize)
        address, readonly = interface["data"]
        # Version 2 says nothing of streams: the work may be on the default stream.
        waits = stream if version >= 3 else 1
        device = getattr(owner, "device", None)
        number = getattr(device, "index", getattr(device, "id", None))
        if number is None:
            number = _device_of(int(address or 0))
        return cls(
            owner,
            int(address or 0),
            f"cuda:{int(number)}",
            dtype.name,
            shape,
            tuple(int(s) for s in strides),
            readonly=bool(readonly),
            stream=waits,
        )

    @property
    def handle(self) -> int:
        """Address of the first element, or the handle of an OpenCL buffer."""
        return self._address

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return prod(self.shape) * numpy_dtype(self.dtype).itemsize

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's numbers of the device."""
        return _FAMILIES[self.device.partition(":")[0]], drivers.number_of(self.device)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """Lend the memory; the consumer's stream waits for the work that is still done on it.

        Raises
        ------
        BufferError
            A copy or another device is asked for, or the form before 1.0 for read-only memory.
        """
        if copy or dl_device not in (None, self.__dlpack_device__()):
            msg = f"memory on {self.device} is lent only there and as it is; convert it instead"
            raise BufferError(msg)
        versioned = is_versioned(max_version)
        if self.readonly and not versioned:
            msg = "DLPack before 1.0 cannot say that memory is read-only; pass max_version=(1, 0)"
            raise BufferError(msg)
        family = self.device.partition(":")[0]
        if streams.is_ordered(self.device):
            used_on = streams.check_stream(family, stream)
            if used_on is not None and self._stream is not None:
                streams.hand_over(self.device, self._stream, used_on)
        place = (self._address, *self.__dlpack_device__())
        form = (self.dtype, list(self.shape), list(self.strides))
        flags = _READ_ONLY if self.readonly else 0
        return _ext.bridge.lend_foreign(self, place, form, flags, versioned)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The memory as version 3 of the interface describes it."""
        if self.device.partition(":")[0] != "cuda":
            msg = f"memory on {self.device} has no __cuda_array_interface__"
            raise AttributeError(msg)
        found: dict[str, Any] = {
            "shape": self.shape,
            "typestr": numpy_dtype(self.dtype).str,
            "strides": self.strides,
            "data": (self._address if self.nbytes else 0, self.readonly),
            "version": 3,
        }
        if self._stream is not None:
            found["stream"] = self._stream
        return found

    def follow(self, stream: int | None) -> None:
        """Say which stream the work on the memory is ordered behind."""
        self._stream = stream

    def wait(self) -> None:
        """Wait until nothing works on the memory any more."""
        if self._stream is not None:
            drivers.driver(self.device).synchronize(self.device, self._stream)

    def to_host(self) -> HostArray:
        """Copy the array to the host."""
        dtype = numpy_dtype(self.dtype)
        if self.nbytes == 0:
            return np.empty(self.shape, dtype)
        self.wait()
        # The bytes between the lowest and the highest element.
        reach = [(n - 1) * step for n, step in zip(self.shape, self.strides, strict=True)]
        low = sum(r for r in reach if r < 0)
        high = sum(r for r in reach if r > 0) + dtype.itemsize
        if self.lender == "pyclesperanto" and low == 0:
            # The address is a handle, and its owner has waited for what worked on the buffer.
            room = opencl.read(self._address, high)
        else:
            work = drivers.driver(self.device)
            room = work.read(self.device, self._address + low, high - low)
        whole: HostArray = np.ndarray(
            self.shape, dtype, buffer=room, offset=-low, strides=self.strides
        )
        return np.ascontiguousarray(whole).reshape(self.shape)
