"""What only the first generation of arraybridge has: converters by name, stretching, small helpers."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from arrayloom import bridge
from arrayloom.bridge import registry
from arrayloom.bridge.arraybridge.functions import name_of, place_of
from arrayloom.bridge.arraybridge.kinds import GPU_MEMORY_TYPES, MemoryConversionError, MemoryType
from arrayloom.bridge.arraybridge.scaling import stretch
from arrayloom.bridge.conversion import convert
from arrayloom.bridge.errors import FrameworkUnavailable
from arrayloom.bridge.registry import Array

VALID_MEMORY_TYPES = {member.value for member in MemoryType}
VALID_GPU_MEMORY_TYPES = {member.value for member in GPU_MEMORY_TYPES}
MEMORY_TYPE_NUMPY = MemoryType.NUMPY.value
MEMORY_TYPE_CUPY = MemoryType.CUPY.value
MEMORY_TYPE_TORCH = MemoryType.TORCH.value
MEMORY_TYPE_TENSORFLOW = MemoryType.TENSORFLOW.value
MEMORY_TYPE_JAX = MemoryType.JAX.value
MEMORY_TYPE_PYCLESPERANTO = MemoryType.PYCLESPERANTO.value


class ConverterBase:
    """Conversions from one kind of array; ``to_torch(data, gpu_id)`` and its like for every kind."""

    __registry__: ClassVar[dict[str, type["ConverterBase"]]] = {}
    memory_type: str

    def to_numpy(self, data: Array, gpu_id: int | None = None) -> Array:
        """Return the data as an array of NumPy."""
        del gpu_id
        return convert(data, "numpy")

    def from_numpy(self, data: Array, gpu_id: int | None = None) -> Array:
        """Return an array of NumPy as one of this kind."""
        return convert(data, self.memory_type, device=place_of(self.memory_type, gpu_id))

    def from_dlpack(self, data: Array, gpu_id: int | None = None) -> Array:
        """Return what a DLPack producer lends as an array of this kind."""
        made = bridge.from_dlpack(data, self.memory_type)
        return self.move_to_device(made, gpu_id)

    def move_to_device(self, data: Array, gpu_id: int | None = None) -> Array:
        """Bring an array of this kind to a GPU; where there is none it stays."""
        return convert(data, self.memory_type, device=place_of(self.memory_type, gpu_id))


def _to(target: str) -> Callable[..., Array]:
    def method(self: ConverterBase, data: Array, gpu_id: int | None = None) -> Array:
        """Convert to this kind."""
        del self
        return convert(data, target, device=place_of(target, gpu_id))

    method.__name__ = f"to_{target}"
    return method


for _member in MemoryType:
    if _member is not MemoryType.NUMPY:
        setattr(ConverterBase, f"to_{_member.value}", _to(_member.value))
    _name = f"{_member.value.capitalize()}Converter"
    ConverterBase.__registry__[_member.value] = type(
        _name, (ConverterBase,), {"memory_type": _member.value}
    )


def _by_member(target: str) -> Callable[..., Array]:
    def method(self: MemoryType, data: Array, gpu_id: int | None = None) -> Array:
        """Convert an array of this kind."""
        return getattr(self.converter, f"to_{target}")(data, gpu_id)

    method.__name__ = f"to_{target}"
    return method


for _member in MemoryType:
    setattr(MemoryType, f"to_{_member.value}", _by_member(_member.value))


def get_converter(memory_type: str) -> ConverterBase:
    """Return a converter for arrays of a kind.

    Raises
    ------
    ValueError
        There is none.

    Examples
    --------
    >>> import numpy as np
    >>> get_converter("numpy").to_numpy(np.arange(3), None)
    array([0, 1, 2])
    """
    found = ConverterBase.__registry__.get(memory_type)
    if found is None:
        known = sorted(ConverterBase.__registry__)
        msg = f"No converter registered for memory type '{memory_type}'. Available types: {known}"
        raise ValueError(msg)
    return found()


def validate_registry() -> None:
    """Make sure that every kind has a converter.

    Raises
    ------
    RuntimeError
        One is missing, or one is of no kind.
    """
    wanted, there = VALID_MEMORY_TYPES, set(ConverterBase.__registry__)
    faults = [
        f"{word}: {names}"
        for word, names in (("Missing", wanted - there), ("Extra", there - wanted))
        if names
    ]
    if faults:
        msg = f"Registry validation failed. {', '.join(faults)}"
        raise RuntimeError(msg)


def scale(data: Any, dtype: Any, mem_type: MemoryType) -> Any:  # noqa: ANN401 - any object
    """Stretch an array as :func:`stretch` does; what is no array comes back as it is."""
    if not hasattr(data, "dtype"):
        return data
    return convert(stretch(data, dtype), mem_type.value, lossy="allow")


SCALING_FUNCTIONS = {member.value: partial(scale, mem_type=member) for member in MemoryType}


def is_2d(data: object) -> bool:
    """Whether something has two axes."""
    return len(getattr(data, "shape", ())) == 2


def is_3d(data: object) -> bool:
    """Whether something has three axes."""
    return len(getattr(data, "shape", ())) == 3


def enforce_gpu_device_requirements(memory_type: str, gpu_id: int) -> None:
    """Make sure that a GPU's number is one.

    Raises
    ------
    ValueError
        It is negative.
    """
    if memory_type in VALID_GPU_MEMORY_TYPES and gpu_id < 0:
        msg = f"Invalid GPU device ID: {gpu_id}. Must be a non-negative integer."
        raise ValueError(msg)


def get_device_id(data: Array, memory_type: str) -> int | None:
    """Return the number of the device that an array lies on, None for the host."""
    spec = registry.get(name_of(memory_type))
    number = spec.hooks.device(data).partition(":")[2]
    return int(number) if number else None


def move_to_device(data: Array, memory_type: str, device_id: int) -> Array:
    """Bring an array to a device.

    Raises
    ------
    MemoryConversionError
        It cannot be brought there.
    """
    try:
        return get_converter(memory_type).move_to_device(data, device_id)
    except (BufferError, ImportError, RuntimeError, TypeError, ValueError) as error:
        raise MemoryConversionError(
            memory_type, memory_type, "device_movement", str(error)
        ) from error


class ThreadGPUContext:
    """Streams for code that asks for its own; decorated functions run on a stream of their thread anyway.

    Attributes
    ----------
    cupy_stream, torch_stream : object or None
        The framework's streams, once they were asked for.
    tensorflow_device, jax_device : None
        Both manage streams by themselves.
    """

    def __init__(self) -> None:
        self.cupy_stream: Any = None
        self.torch_stream: Any = None
        self.tensorflow_device: Any = None
        self.jax_device: Any = None

    def get_cupy_stream(self) -> Any:  # noqa: ANN401 - of the framework's own type
        """Return this object's stream of CuPy, None without a GPU."""
        if self.cupy_stream is None:
            self.cupy_stream = _new_stream("cupy")
        return self.cupy_stream

    def get_torch_stream(self) -> Any:  # noqa: ANN401 - of the framework's own type
        """Return this object's stream of PyTorch, None without a GPU."""
        if self.torch_stream is None:
            self.torch_stream = _new_stream("torch")
        return self.torch_stream


def _new_stream(kind: str) -> Any:  # noqa: ANN401 - of the framework's own type
    try:
        cuda: Any = registry.require(registry.get(kind)).cuda
    except FrameworkUnavailable:
        return None
    return cuda.Stream() if cuda.is_available() else None
