"""Names, devices, payloads and errors of arraybridge."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from arrayloom.bridge.registry import Array

if TYPE_CHECKING:
    from arrayloom.bridge.arraybridge.first import ConverterBase
    from arrayloom.bridge.arraybridge.libraries import ArrayLibrary


class MemoryType(Enum):
    """The kinds that arraybridge knows."""

    NUMPY = "numpy"
    CUPY = "cupy"
    TORCH = "torch"
    TENSORFLOW = "tensorflow"
    JAX = "jax"
    PYCLESPERANTO = "pyclesperanto"

    @property
    def library(self) -> "ArrayLibrary":
        """The library of this kind."""
        from arrayloom.bridge.arraybridge.libraries import (  # noqa: PLC0415 - it imports this module
            ArrayLibrary,
        )

        return ArrayLibrary.named(self.value)

    @property
    def converter(self) -> "ConverterBase":
        """A converter for arrays of this kind."""
        from arrayloom.bridge.arraybridge.first import (  # noqa: PLC0415 - it imports this module
            get_converter,
        )

        return get_converter(self.value)


CPU_MEMORY_TYPES = {MemoryType.NUMPY}
GPU_MEMORY_TYPES = set(MemoryType) - CPU_MEMORY_TYPES
SUPPORTED_MEMORY_TYPES = set(MemoryType)


class MemoryContractAttribute(StrEnum):
    """Names of the attributes that decorated functions carry."""

    INPUT = "input_memory_type"
    OUTPUT = "output_memory_type"
    EXECUTION = "execution_memory_type"

    def read(self, namespace: object, default: str | None = None) -> str | None:
        """Read the attribute from an object or a mapping.

        Raises
        ------
        TypeError
            The attribute is there and is no name.
        """
        if isinstance(namespace, Mapping):
            found = namespace.get(self.value, default)
        else:
            found = getattr(namespace, self.value, default)
        if found is not None and not isinstance(found, str):
            msg = f"{self.value} is {found!r}, which is not a library name"
            raise TypeError(msg)
        return found

    def write(self, namespace: object, value: str) -> None:
        """Write the attribute to an object or a mapping."""
        if isinstance(namespace, MutableMapping):
            namespace[self.value] = value
        else:
            setattr(namespace, self.value, value)


class DtypeConversion(Enum):
    """What element type a result gets."""

    PRESERVE_INPUT = "preserve"
    NATIVE_OUTPUT = "native"
    UINT8 = "uint8"
    UINT16 = "uint16"
    INT16 = "int16"
    INT32 = "int32"
    FLOAT32 = "float32"
    FLOAT64 = "float64"

    @property
    def target(self) -> str | None:
        """The ``dtype`` of :func:`arrayloom.bridge.uses` that means the same."""
        return None if self is DtypeConversion.NATIVE_OUTPUT else self.value

    @property
    def numpy_dtype(self) -> Any:  # noqa: ANN401 - a scalar type of NumPy
        """NumPy's scalar type, or None where the input or the function decides."""
        if self in (DtypeConversion.PRESERVE_INPUT, DtypeConversion.NATIVE_OUTPUT):
            return None
        return getattr(np, self.value)


class DtypeConversionConfig:
    """What a call or a callable says of its result's element type."""

    default_dtype_conversion: DtypeConversion

    @classmethod
    def require_parameter_name(cls) -> str:
        """Return the keyword that carries it."""
        return "dtype_config"

    @classmethod
    def default_value(cls) -> "DtypeConversionConfig":
        """Return what holds if nothing is said."""
        return PRESERVE_INPUT_DTYPE_CONFIG

    @classmethod
    def parameter(
        cls, *, default_value: "DtypeConversionConfig | None" = None
    ) -> inspect.Parameter:
        """Return the keyword for signatures."""
        return inspect.Parameter(
            cls.require_parameter_name(),
            inspect.Parameter.KEYWORD_ONLY,
            default=cls.default_value() if default_value is None else default_value,
            annotation=DtypeConversionConfig,
        )


@dataclass(frozen=True, slots=True)
class PreserveInputDtypeConfig(DtypeConversionConfig):
    """The result gets the first argument's element type."""

    default_dtype_conversion: DtypeConversion = DtypeConversion.PRESERVE_INPUT


PRESERVE_INPUT_DTYPE_CONFIG = PreserveInputDtypeConfig()


class SliceBySliceRuntimeParameter:
    """The keyword that runs a function of images on every slice of a volume."""

    preserve_for_execution = True
    is_semantic_control = True

    @classmethod
    def require_parameter_name(cls) -> str:
        """Return the keyword."""
        return "slice_by_slice"

    @classmethod
    def default_value(cls) -> bool:
        """Return what holds if nothing is said."""
        return False

    @classmethod
    def annotation_type(cls) -> type[bool]:
        """Return its type."""
        return bool

    @classmethod
    def parameter(cls, *, default_value: bool | None = None) -> inspect.Parameter:
        """Return the keyword for signatures."""
        return inspect.Parameter(
            cls.require_parameter_name(),
            inspect.Parameter.KEYWORD_ONLY,
            default=cls.default_value() if default_value is None else default_value,
            annotation=cls.annotation_type(),
        )


class MemoryConversionError(Exception):
    """A conversion that failed, with what was tried."""

    def __init__(self, source_type: str, target_type: str, method: str, reason: str) -> None:
        self.source_type = source_type
        self.target_type = target_type
        self.method = method
        self.reason = reason
        super().__init__(
            f"Cannot convert from {source_type} to {target_type} using {method}. Reason: {reason}"
        )


class Device(ABC):
    """A place for arrays."""

    @property
    @abstractmethod
    def label(self) -> str:
        """Short text for records."""


@dataclass(frozen=True, slots=True)
class HostDevice(Device):
    """Main memory."""

    @property
    def label(self) -> str:
        """Short text for records."""
        return "host"


@dataclass(frozen=True, slots=True)
class AcceleratorDevice(Device):
    """One accelerator, by its library's number."""

    index: int

    @property
    def label(self) -> str:
        """Short text for records."""
        return f"accelerator:{self.index}"


@dataclass(frozen=True, slots=True)
class NamedDevice(Device):
    """A device that a library knows by name."""

    name: str

    @property
    def label(self) -> str:
        """Short text for records."""
        return f"device:{self.name}"


HOST = HostDevice()


class ArrayPayload(ABC):
    """Something that is known of an array, with the array."""

    @abstractmethod
    def array_payload_data(self) -> Array:
        """Return the array."""

    @abstractmethod
    def with_data(self, data: Array) -> Self:
        """Return the same knowledge of another array."""

    def map_array_payload(self, transform: Callable[[Array], Array]) -> Self:
        """Apply a function to the array; an unchanged one keeps this object."""
        before = self.array_payload_data()
        after = transform(before)
        return self if after is before else self.with_data(after)


@dataclass(frozen=True, slots=True)
class ArrayGeometry:
    """The extents of an array, read without moving it."""

    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @classmethod
    def from_value(cls, value: object) -> "ArrayGeometry | None":
        """Read the extents of an array, a payload or nested lists; None if there are none."""
        data = value.array_payload_data() if isinstance(value, ArrayPayload) else value
        shape = getattr(data, "shape", None)
        try:
            return cls(tuple(int(n) for n in (np.asarray(data).shape if shape is None else shape)))
        except (TypeError, ValueError):
            return None

    @classmethod
    def require_from_value(cls, value: object, *, value_name: str = "Value") -> "ArrayGeometry":
        """Read the extents.

        Raises
        ------
        TypeError
            The value has none.
        """
        found = cls.from_value(value)
        if found is None:
            msg = f"{value_name} requires concrete array geometry, got {type(value).__name__}."
            raise TypeError(msg)
        return found
