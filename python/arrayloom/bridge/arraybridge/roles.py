"""The roles that array libraries play, as their base classes, and one class for each library."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import threading
from typing import ClassVar

from arrayloom import bridge
from arrayloom.bridge import drivers
from arrayloom.bridge.arraybridge.kinds import AcceleratorDevice
from arrayloom.bridge.arraybridge.libraries import NAMES, ArrayLibrary
from arrayloom.bridge.registry import Array


class HostDevices(ArrayLibrary):
    """Arrays can lie in main memory."""


class AcceleratorDevices(ArrayLibrary):
    """Arrays can lie on accelerators."""


class CudaLibrary(AcceleratorDevices):
    """The accelerators are CUDA's, with streams."""

    _thread_streams: ClassVar[threading.local] = threading.local()

    def thread_stream(self, device: AcceleratorDevice) -> int:
        """Return this thread's own stream on a device."""
        found: dict[str, int] = self._thread_streams.__dict__
        place = f"cuda:{device.index}"
        if place not in found:
            found[place] = drivers.own_stream(place)
        return found[place]


class DLPackImport(ArrayLibrary):
    """Wraps memory that others lend by DLPack."""

    def from_dlpack(self, data: Array) -> Array:
        """Wrap a capsule, or an array that makes one."""
        return bridge.from_dlpack(data, self.name)


class InPlaceAssignment(ArrayLibrary):
    """Arrays can be written."""


class ArrayMath(ArrayLibrary):
    """Has functions like NumPy's."""


class NumpyArrayApi(ArrayMath):
    """Has NumPy's own names for them."""


class HostLibrary(HostDevices):
    """A library that others added to the bridge."""


class NumpyLibrary(HostDevices, NumpyArrayApi, InPlaceAssignment):
    """NumPy."""


class CupyLibrary(CudaLibrary, DLPackImport, NumpyArrayApi, InPlaceAssignment):
    """CuPy."""


class TorchLibrary(HostDevices, CudaLibrary, DLPackImport, ArrayMath, InPlaceAssignment):
    """PyTorch."""


class TensorflowLibrary(HostDevices, AcceleratorDevices, DLPackImport):
    """TensorFlow."""


class JaxLibrary(HostDevices, AcceleratorDevices, DLPackImport, NumpyArrayApi):
    """JAX."""


class PyclesperantoLibrary(AcceleratorDevices, InPlaceAssignment):
    """pyclesperanto."""


ArrayLibrary.__registry__.update(
    zip(
        NAMES,
        (
            NumpyLibrary,
            CupyLibrary,
            TorchLibrary,
            TensorflowLibrary,
            JaxLibrary,
            PyclesperantoLibrary,
        ),
        strict=True,
    )
)
ArrayLibrary._of_others = HostLibrary  # noqa: SLF001 - the default role
