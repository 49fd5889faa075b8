"""Array libraries as objects: what they are called, where their arrays lie, what can be done with them.

There is one object per framework of the bridge; a new one is added by a :class:`FrameworkSpec`.
"""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import importlib
import importlib.util
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from arrayloom import bridge
from arrayloom.bridge import oom, registry, stacking
from arrayloom.bridge.arraybridge.kinds import (
    HOST,
    AcceleratorDevice,
    Device,
    HostDevice,
    NamedDevice,
)
from arrayloom.bridge.arraybridge.operations import (
    Axis,
    HostOperations,
    JaxOperations,
    Operations,
    TorchOperations,
)
from arrayloom.bridge.arraybridge.routes import ConversionRoute
from arrayloom.bridge.arraybridge.scaling import stretch
from arrayloom.bridge.conversion import convert
from arrayloom.bridge.dtypes import numpy_dtype
from arrayloom.bridge.registry import Array, FrameworkSpec, HostArray

_logger = logging.getLogger("arraybridge")
NAMES = ("numpy", "cupy", "torch", "tensorflow", "jax", "pyclesperanto")
_DISPLAYED = {
    "numpy": "NumPy",
    "cupy": "CuPy",
    "torch": "PyTorch",
    "tensorflow": "TensorFlow",
    "jax": "JAX",
}


@dataclass(frozen=True, slots=True)
class DLPackPayload:
    """A capsule, and the array that made it."""

    source: object
    capsule: object


class ArrayLibrary:
    """One framework, as code for arraybridge sees it."""

    _instances: ClassVar[dict[str, "ArrayLibrary"]] = {}
    __registry__: ClassVar[dict[str, type["ArrayLibrary"]]] = {}
    # Classes of libraries that others added to the bridge.
    _of_others: ClassVar[type["ArrayLibrary"] | None] = None

    def __init__(self, spec: FrameworkSpec) -> None:
        self.spec = spec
        self.name = spec.name
        self.import_name = spec.modules[0]
        self.display_name = _DISPLAYED.get(spec.name, spec.name)
        self.import_environment = tuple(spec.env_defaults.items())

    def __repr__(self) -> str:
        return f"<array library {self.name}>"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Callable[[str], "ArrayLibrary"], tuple[str]]:
        return ArrayLibrary.named, (self.name,)

    @classmethod
    def all(cls) -> tuple["ArrayLibrary", ...]:
        """Return all libraries."""
        return tuple(ArrayLibrary.named(name) for name in (*NAMES, *_more()))

    @classmethod
    def named(cls, name: str) -> "ArrayLibrary":
        """Return the library of a name.

        Raises
        ------
        ValueError
            There is none.
        """
        found = ArrayLibrary._instances.get(name)
        if found is not None:
            return found
        if name not in (*NAMES, *_more()):
            msg = f"{name!r} is not a registered array library; there are {', '.join(NAMES)}"
            raise ValueError(msg)
        kind = ArrayLibrary.__registry__.get(name) or ArrayLibrary._of_others or ArrayLibrary
        made = kind(registry.get(name))
        return ArrayLibrary._instances.setdefault(name, made)

    @classmethod
    def for_module_name(cls, module_name: str) -> "ArrayLibrary":
        """Return the library that a module belongs to.

        Raises
        ------
        ValueError
            It belongs to none.
        """
        root = module_name.partition(".")[0]
        for library in cls.all():
            if root in library.recognized_module_names:
                return library
        msg = f"No array library owns module {module_name!r}"
        raise ValueError(msg)

    @classmethod
    def of(cls, value: object) -> "ArrayLibrary":
        """Return the library that made an array.

        Raises
        ------
        ValueError
            None did.
        """
        kind = bridge.kind(value)
        # Arrays of arrayloom are arrays of NumPy for code that does not know them.
        kind = "numpy" if kind == "arrayloom" else kind
        if kind is None:
            msg = f"Unknown memory type of {type(value).__name__}: no registered library made it"
            raise ValueError(msg)
        return cls.named(kind)

    @property
    def recognized_module_names(self) -> frozenset[str]:
        """Modules whose classes are its arrays."""
        return frozenset(
            {
                *self.spec.modules,
                *(t.partition(":")[0].split(".")[0] for t in self.spec.array_types),
            }
        )

    def is_installed(self) -> bool:
        """Whether it can be imported; it is not."""
        return importlib.util.find_spec(self.import_name) is not None

    def prepare_import(self) -> None:
        """Set the environment variables that it reads when it is imported, if they are not set."""
        for variable, value in self.import_environment:
            os.environ.setdefault(variable, value)

    def loaded_module(self) -> ModuleType | None:
        """Return its module if it is imported."""
        return sys.modules.get(self.import_name)

    def import_module(self) -> ModuleType:
        """Import it."""
        self.prepare_import()
        return importlib.import_module(self.import_name)

    def import_if_installed(self) -> ModuleType | None:
        """Import it, or return None if it is not installed."""
        return self.import_module() if self.loaded_module() or self.is_installed() else None

    @property
    def module(self) -> ModuleType:
        """Its module, imported now if it was not."""
        return self.import_module()

    @property
    def array_module(self) -> ModuleType:
        """The module with functions like NumPy's."""
        self.import_module()
        return importlib.import_module("jax.numpy") if self.name == "jax" else self.module

    @property
    def _operations(self) -> Operations:
        if self.name in ("numpy", "cupy"):
            return Operations(self.name, self.array_module)
        if self.name == "jax":
            return JaxOperations(self.name, self.array_module)
        if self.name == "torch":
            return TorchOperations(self.name, self.array_module)
        return HostOperations(self.name)

    @classmethod
    def child_environment(cls, environment: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return an environment for processes that will import the libraries."""
        made = dict(os.environ if environment is None else environment)
        for library in cls.all():
            for variable, value in library.import_environment:
                made.setdefault(variable, value)
        folders = _nvidia_folders()
        variable = "PATH" if os.name == "nt" else "LD_LIBRARY_PATH"
        if folders:
            made[variable] = os.pathsep.join([*folders, *filter(None, [made.get(variable)])])
        return made

    def host_devices(self) -> tuple[HostDevice, ...]:
        """Return main memory if its arrays can lie there."""
        return (HOST,) if "cpu" in self.spec.devices else ()

    def accelerator_devices(self) -> tuple[AcceleratorDevice, ...]:
        """Return the accelerators that it can use now."""
        if self.spec.devices == {"cpu"} or self.import_if_installed() is None:
            return ()
        return tuple(AcceleratorDevice(i) for i in range(_count(self)))

    def available_devices(self) -> tuple[Device, ...]:
        """Return where its arrays can lie."""
        return (*self.host_devices(), *self.accelerator_devices())

    def device_of(self, data: Array) -> Device:
        """Return where an array lies."""
        place = bridge.device(data)
        if place == "cpu":
            return HOST
        family, _, number = place.partition(":")
        return AcceleratorDevice(int(number)) if number.isdigit() else NamedDevice(family)

    def place(self, device: Device) -> str | None:
        """Return the bridge's name of a device; None where the library has one place only."""
        if isinstance(device, HostDevice):
            return "cpu" if "cpu" in self.spec.devices else None
        if isinstance(device, AcceleratorDevice) and "cuda" in self.spec.devices:
            return f"cuda:{device.index}"
        return None

    def require_device(self, device: Device) -> None:
        """Check that arrays can lie somewhere.

        Raises
        ------
        ValueError
            They cannot.
        """
        if device not in self.available_devices():
            msg = f"{self.display_name} device {device.label} is unavailable"
            raise ValueError(msg)

    def device_scope(self, device: Device) -> AbstractContextManager[Any]:
        """Use a device in a block."""
        self.require_device(device)
        place = self.place(device)
        if place in (None, "cpu") or self.spec.hooks.enter is None:
            return nullcontext()
        return self.spec.hooks.enter(str(place), None)

    def move_to_device(self, data: Array, device: Device) -> Array:
        """Move an array to another device of the library."""
        return ConversionRoute.run(data, self, self, device)

    def to_numpy(self, data: Array) -> HostArray:
        """Convert an array of the library to NumPy."""
        return ConversionRoute.run(data, self, ArrayLibrary.named("numpy"), HOST)

    def from_numpy(self, data: HostArray, device: Device) -> Array:
        """Convert an array of NumPy to the library."""
        return ConversionRoute.run(data, ArrayLibrary.named("numpy"), self, device)

    def convert_to(self, data: Array, target: "ArrayLibrary", device: Device) -> Array:
        """Convert an array of the library to another one."""
        return ConversionRoute.run(data, self, target, device)

    def accepts(self, value: object) -> bool:
        """Whether an object is an array of the library."""
        return bridge.kind(value) == self.name

    def nbytes_of(self, data: Array) -> int:
        """Return the bytes of an array's elements."""
        itemsize = numpy_dtype(registry.get(self.name).hooks.dtype(data)).itemsize
        count = 1
        for extent in data.shape:
            count *= int(extent)
        return count * itemsize

    def stack_arrays(self, arrays: Sequence[Array], device: Device) -> Array:
        """Stack arrays of any kind along a new first axis."""
        return stacking.stack(list(arrays), self.name, device=self.place(device))

    def normalize_planes(
        self,
        data: Array,
        dtype: Any,  # noqa: ANN401 - as callers spell dtypes
        scales: Sequence[float | None],
    ) -> Array:
        """Cast every plane, and divide it by its scale.

        Raises
        ------
        ValueError
            There are not as many scales as planes.
        """
        if len(scales) != int(data.shape[0]):
            msg = "Normalization scales must match the leading plane axis."
            raise ValueError(msg)
        planes = [self.astype(data[i], dtype) for i in range(len(scales))]
        return self._operations.stack(
            [p if s is None else p / float(s) for p, s in zip(planes, scales, strict=True)]
        )

    def scale_dtype(self, data: Array, target_dtype: Any) -> Array:  # noqa: ANN401
        """Stretch floats to the range of an integer type; cast others. See :func:`stretch`."""
        if not hasattr(data, "dtype"):
            return data
        return convert(stretch(data, target_dtype), bridge.kind(data), lossy="allow")

    def dtype_name(self, dtype: Any) -> str:  # noqa: ANN401 - as callers spell dtypes
        """Return a dtype's name as NumPy spells it."""
        return numpy_dtype(getattr(dtype, "as_numpy_dtype", dtype)).name

    def astype(self, data: Array, dtype: Any) -> Array:  # noqa: ANN401 - as callers spell dtypes
        """Cast as the library does."""
        return self._operations.cast(data, dtype)

    def reshape(self, data: Array, shape: Sequence[int]) -> Array:
        """Give other extents."""
        return self._operations.reshape(data, tuple(shape))

    def broadcast_to(self, data: Array, shape: Sequence[int]) -> Array:
        """Repeat along axes of one element."""
        return self._operations.broadcast_to(data, tuple(shape))

    def ones_like(
        self,
        reference: Array,
        *,
        shape: Sequence[int] | None = None,
        dtype: Any = bool,  # noqa: ANN401 - as callers spell dtypes
    ) -> Array:
        """Make ones on the device of an array."""
        wanted = tuple(reference.shape if shape is None else shape)
        return self._operations.ones(wanted, dtype, like=reference)

    def logical_and(self, left: Array, right: Array) -> Array:
        """Both are true."""
        return self._operations.logical_and(left, right)

    def max(self, data: Array, axis: Axis) -> Array:
        """Find the largest elements along axes."""
        return self._operations.fold("max", data, axis)

    def min(self, data: Array, axis: Axis) -> Array:
        """Find the smallest elements along axes."""
        return self._operations.fold("min", data, axis)

    def mean(self, data: Array, axis: Axis) -> Array:
        """Average along axes."""
        return self._operations.fold("mean", data, axis)

    def sum(self, data: Array, axis: Axis) -> Array:
        """Add up along axes."""
        return self._operations.fold("sum", data, axis)

    def prepend_axis(self, data: Array) -> Array:
        """Add a first axis of one element."""
        return self.reshape(data, (1, *data.shape))

    def assign(self, data: Array, index: slice, values: Array) -> Array:
        """Store values; the array itself, or a new one where arrays are immutable."""
        return self._operations.assign(data, index, values)

    def linspace(self, start: float, stop: float, num: int, *, endpoint: bool) -> Array:
        """Make evenly spaced numbers."""
        return self._operations.linspace(start, stop, num, endpoint=endpoint)

    def ones(self, shape: int | tuple[int, ...], dtype: Any) -> Array:  # noqa: ANN401
        """Make ones."""
        return self._operations.ones(shape, dtype)

    def outer(self, left: Array, right: Array) -> Array:
        """Multiply all pairs of two vectors."""
        return self._operations.outer(left, right)

    def floor(self, value: float) -> float:
        """Round a number down."""
        return value // 1

    @property
    def imports_dlpack(self) -> bool:
        """Whether it wraps memory that others lend by DLPack."""
        return hasattr(self, "from_dlpack")

    def imports_dlpack_from(self, device: Device) -> bool:
        """Whether it wraps memory that others lend by DLPack on a device."""
        return self.imports_dlpack and (
            not isinstance(device, HostDevice) or "cpu" in self.spec.devices
        )

    def exports_dlpack_data(self, data: Array) -> bool:
        """Whether an array lends itself by DLPack."""
        return callable(getattr(data, "__dlpack__", None))

    def export_dlpack(self, data: Array) -> "DLPackPayload | None":
        """Make a capsule of an array, or None if it does not lend itself."""
        if not self.exports_dlpack_data(data):
            return None
        return DLPackPayload(data, bridge.to_dlpack(data))

    def shares_numpy_buffer_on(self, device: Device) -> bool:
        """Whether NumPy sees its arrays on a device without a copy."""
        return isinstance(device, HostDevice) and "cpu" in self.spec.devices

    def host_address_of(self, data: Array) -> int | None:
        """Return the address of an array's first element, None if the host does not see it."""
        if not isinstance(self.device_of(data), HostDevice):
            return None
        return int(convert(data, "numpy", detach=True).ctypes.data)

    def is_oom_error(self, error: BaseException) -> bool:
        """Whether an exception says that memory ran out, by its class and status."""
        return oom.is_oom(error)

    def cleanup_loaded(self, device: AcceleratorDevice | None = None) -> None:
        """Give back what its cache keeps, if it is imported."""
        if self.loaded_module() is not None:
            oom.release(None if device is None else self.place(device), (self.name,))

    @classmethod
    def cleanup_all_loaded(cls, device: AcceleratorDevice | None = None) -> None:
        """Give back what the caches of all imported libraries keep; failures are logged."""
        for library in cls.all():
            try:
                library.cleanup_loaded(device)
            except (BufferError, OSError, RuntimeError, ValueError) as error:
                _logger.warning("Failed to cleanup %s: %s", library.display_name, error)

    def run_with_oom_recovery(
        self,
        func: Callable[[], Any],
        max_retries: int = 2,
        device: AcceleratorDevice | None = None,
    ) -> Any:  # noqa: ANN401 - what the function returns
        """Call a function; after running out of memory free what can be freed, and call it again."""
        return recover(func, max_retries, None if device is None else self.place(device))


def recover(func: Callable[[], Any], max_retries: int, place: str | None) -> Any:  # noqa: ANN401
    """Call a function up to so many times more, climbing the ladder in between."""
    for attempt in range(max_retries + 1):
        try:
            return func()
        except Exception as error:
            if not oom.is_oom(error) or attempt == max_retries:
                raise
            oom.forget(error)
        for rung in oom.climb(place):
            _logger.debug("%s", rung.text())
    return None


def _more() -> tuple[str, ...]:
    """Return frameworks that others added to the bridge."""
    return tuple(name for name in registry.names() if name not in (*NAMES, "arrayloom"))


def _nvidia_folders() -> list[str]:
    found = importlib.util.find_spec("nvidia")
    roots = getattr(found, "submodule_search_locations", None) or ()
    folders = {
        str(part)
        for root in roots
        for package in Path(root).glob("*")
        for part in (package / "lib", package / "bin")
        if part.is_dir()
    }
    return sorted(folders)


def _count(library: ArrayLibrary) -> int:
    """Return how many accelerators a library sees."""
    module: Any = library.module
    try:
        if library.name == "cupy":
            return int(module.cuda.runtime.getDeviceCount())
        if library.name == "torch":
            return int(module.cuda.device_count()) if module.cuda.is_available() else 0
        if library.name == "tensorflow":
            return len(module.config.list_physical_devices("GPU"))
        if library.name == "jax":
            return sum(d.platform in ("gpu", "cuda", "rocm") for d in module.devices())
        if library.name == "pyclesperanto":
            return len(module.list_available_devices("gpu"))
    except Exception as error:  # noqa: BLE001 - a driver that is not there raises anything
        _logger.debug("%s has no accelerators: %s", library.display_name, error)
    return 0
