"""Names of the package arraybridge, both generations, for code that was written for it.

``install()`` lets ``import arraybridge`` and its submodules lead here. Differences are meant: decorators
convert their arguments, element types keep their units, memory that runs out has a CPU fallback and
chunks, and a wrong source type is an error that names the actual kind.
"""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import importlib
import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from types import ModuleType
from typing import Any, TypeVar

from arrayloom import bridge
from arrayloom.bridge import decorators, oom, registry, stacking
from arrayloom.bridge.conversion import convert
from arrayloom.bridge.dtypes import cast, rescale
from arrayloom.bridge.frameworks.pyclesperanto import keep_symbols_apart
from arrayloom.bridge.registry import Array

Function = TypeVar("Function", bound=Callable[..., Any])


class MemoryType(Enum):
    """The kinds that arraybridge knows."""

    NUMPY = "numpy"
    CUPY = "cupy"
    TORCH = "torch"
    TENSORFLOW = "tensorflow"
    JAX = "jax"
    PYCLESPERANTO = "pyclesperanto"


CPU_MEMORY_TYPES = {MemoryType.NUMPY}
GPU_MEMORY_TYPES = set(MemoryType) - CPU_MEMORY_TYPES
SUPPORTED_MEMORY_TYPES = set(MemoryType)


class MemoryContractAttribute(StrEnum):
    """Names of the attributes that decorated functions carry."""

    INPUT = "input_memory_type"
    OUTPUT = "output_memory_type"
    EXECUTION = "execution_memory_type"

    def read(self, namespace: object, default: str | None = None) -> str | None:
        """Read the attribute from an object or a mapping."""
        if isinstance(namespace, Mapping):
            return namespace.get(self.value, default)
        return getattr(namespace, self.value, default)

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


def _name(memory_type: str | MemoryType, role: str = "memory_type") -> str:
    name = memory_type.value if isinstance(memory_type, MemoryType) else memory_type
    if name not in registry.names():
        msg = f"Invalid {role} '{name}'. Available types: {sorted(registry.names())}"
        raise ValueError(msg)
    return name


def _place(target: str, device: Device | int | None) -> str | None:
    """Return the bridge's device for a device or a GPU's number; None where the target decides."""
    families = registry.get(target).devices
    if isinstance(device, HostDevice) or "cuda" not in families:
        return "cpu" if "cpu" in families else None
    number = device.index if isinstance(device, AcceleratorDevice) else device
    # The first generation passes a GPU's number always, also where there is no GPU.
    if isinstance(number, int) and ("cpu" not in families or _has_gpu()):
        return f"cuda:{number}"
    return None


def _has_gpu() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_available())


def detect_memory_type(data: object) -> str:
    """Return the kind of an array.

    Raises
    ------
    ValueError
        Not an array.
    """
    name = bridge.kind(data)
    if name is None:
        msg = (
            f"Unable to detect memory type of {type(data).__name__}: no registered library made it"
        )
        raise ValueError(msg)
    return name


def convert_memory(
    data: Array,
    source_type: str | MemoryType,
    target_type: str | MemoryType,
    device: Device | int | None = None,
    *,
    gpu_id: int | None = None,
) -> Array:
    """Convert an array; `source_type` must be its kind.

    Raises
    ------
    TypeError
        The array is of another kind than `source_type` says.
    MemoryConversionError
        The conversion failed.
    """
    source = _name(source_type, "source_type")
    target = _name(target_type, "target_type")
    actual = bridge.kind(data)
    if actual != source and not (source == "numpy" and actual == "arrayloom"):
        msg = f"source_type is {source!r}, and the array is of kind {actual!r}"
        raise TypeError(msg)
    place = _place(target, device if gpu_id is None else gpu_id)
    try:
        return convert(data, target, device=place)
    except (BufferError, ImportError, RuntimeError, TypeError, ValueError) as error:
        raise MemoryConversionError(source, target, "convert", str(error)) from error


def stack_slices(
    slices: list[Array],
    memory_type: str,
    device: Device | int | None = None,
    **words: Any,  # noqa: ANN401
) -> Array:
    """Stack slices of two axes to a volume.

    Raises
    ------
    ValueError
        No slices, or slices of another number of axes.
    """
    if not slices:
        msg = "Cannot stack empty list of slices"
        raise ValueError(msg)
    for index, piece in enumerate(slices):
        if len(getattr(piece, "shape", ())) != 2:
            msg = f"Slice at index {index} is not a 2D array. All slices must be 2D."
            raise ValueError(msg)
    target = _name(memory_type)
    return stacking.stack(slices, target, device=_place(target, words.get("gpu_id", device)))


def unstack_slices(
    array: Array,
    memory_type: str,
    device: Device | int | None = None,
    *,
    validate_slices: bool = True,
    gpu_id: int | None = None,
) -> list[Array]:
    """Split a volume of three axes into its slices.

    Raises
    ------
    ValueError
        Another number of axes.
    """
    del validate_slices, device, gpu_id
    detect_memory_type(array)
    if len(array.shape) != 3:
        msg = f"Array must be 3D, got shape {tuple(array.shape)}"
        raise ValueError(msg)
    return stacking.unstack(array, kind=_name(memory_type))


def process_slices(
    image: Array,
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    device: Device | None = None,
) -> Any:  # noqa: ANN401
    """Run a function on every slice of a volume, and stack the main results."""
    results = [
        func(piece, *args, **kwargs)
        for piece in unstack_slices(image, detect_memory_type(image), device)
    ]
    if not results:
        msg = "Slice processing produced no main outputs to stack"
        raise ValueError(msg)
    kinds = {isinstance(result, tuple) for result in results}
    if len(kinds) > 1:
        msg = "Slice processing cannot mix tuple and non-tuple results"
        raise TypeError(msg)
    if kinds == {False}:
        return stack_slices(results, detect_memory_type(results[0]))
    if len({len(result) for result in results}) > 1 or not results[0]:
        msg = "Slice processing requires every result tuple to have the same arity, and not none"
        raise ValueError(msg)
    main = stack_slices([result[0] for result in results], detect_memory_type(results[0][0]))
    return (main, *([result[i] for result in results] for i in range(1, len(results[0]))))


def memory_types(
    input_type: str | MemoryType,
    output_type: str | MemoryType,
    contract: Callable[[Any], bool] | None = None,
) -> Callable[[Function], Function]:
    """Run a function on `input_type`, and give its result as `output_type`."""
    return _decorator(_name(input_type), _name(output_type), contract, recover=True)


def _decorator(
    kind: str, output: str, contract: Callable[[Any], bool] | None, *, recover: bool
) -> Callable[[Function], Function]:
    def judged(result: Any) -> None:  # noqa: ANN401
        if contract is not None and not contract(result):
            msg = "Function violated its output contract"
            raise ValueError(msg)

    def decorate(function: Function) -> Function:
        rungs = decorators.LADDER if recover else ()
        runs = {
            how: decorators.uses(
                kind, output=output, dtype=how.target, on_oom=rungs, contract=judged
            )(function)
            for how in DtypeConversion
        }

        def run(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            config = kwargs.pop("dtype_config", None)
            how = kwargs.pop("dtype_conversion", None)
            if how is None:
                how = getattr(config, "default_dtype_conversion", DtypeConversion.PRESERVE_INPUT)
            return runs[DtypeConversion(how)](*args, **kwargs)

        run.__dict__.update(function.__dict__)
        run.__name__, run.__doc__ = function.__name__, function.__doc__
        run.__qualname__, run.__module__ = function.__qualname__, function.__module__
        run.__wrapped__ = function
        run.__signature__ = _signature(function)
        MemoryContractAttribute.INPUT.write(run, kind)
        MemoryContractAttribute.OUTPUT.write(run, output)
        MemoryContractAttribute.EXECUTION.write(run, kind)
        decorated: Any = run
        return decorated

    return decorate


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the function's signature with the two keywords that the decorators add."""
    own = inspect.signature(function)
    parameters = list(own.parameters.values())
    at = next((i for i, p in enumerate(parameters) if p.kind is p.VAR_KEYWORD), len(parameters))
    for name, default in (("slice_by_slice", False), ("dtype_conversion", None)):
        if name not in own.parameters:
            keyword = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
            parameters.insert(at, keyword)
            at += 1
    return own.replace(parameters=parameters)


def _named(kind: str) -> Callable[..., Any]:
    def decorate(
        func: Callable[..., Any] | None = None,
        *,
        input_type: str | MemoryType = kind,
        output_type: str | MemoryType = kind,
        oom_recovery: bool = True,
        contract: Callable[[Any], bool] | None = None,
    ) -> Any:  # noqa: ANN401
        """Run a function on this framework."""
        decorator = _decorator(
            _name(input_type), _name(output_type), contract, recover=oom_recovery
        )
        return decorator if func is None else decorator(func)

    decorate.__name__ = kind
    return decorate


numpy = _named("numpy")
cupy = _named("cupy")
torch = _named("torch")
tensorflow = _named("tensorflow")
jax = _named("jax")
pyclesperanto = _named("pyclesperanto")


def run_with_oom_recovery(
    func: Callable[[], Any], max_retries: int = 2, device: Device | str | None = None
) -> Any:  # noqa: ANN401
    """Call a function; after running out of memory free what can be freed, and call it again."""
    place = device if isinstance(device, str) else None
    for attempt in range(max_retries + 1):
        try:
            return func()
        except Exception as error:
            if not oom.is_oom(error) or attempt == max_retries:
                raise
            oom.forget(error)
        for rung in oom.climb(place):
            del rung
    return None


def _execute_with_oom_recovery(
    func_callable: Callable[[], Any], memory_type: str, max_retries: int = 2
) -> Any:  # noqa: ANN401
    _name(memory_type)
    return run_with_oom_recovery(func_callable, max_retries)


def is_oom_error(error: BaseException, memory_type: str | None = None) -> bool:
    """Whether an exception says that memory ran out."""
    del memory_type
    return oom.is_oom(error)


_is_oom_error = is_oom_error


def cleanup_all_loaded(device: Device | int | None = None) -> int:
    """Give back the caches of all imported frameworks; returns bytes."""
    number = device.index if isinstance(device, AcceleratorDevice) else device
    return oom.release(f"cuda:{number}" if isinstance(number, int) else None)


def cleanup_all_gpu_frameworks(device_id: int | None = None) -> None:
    """Give back the caches of all imported frameworks."""
    cleanup_all_loaded(device_id)


cleanup_loaded = cleanup_all_loaded


def _cleanup(kind: str) -> Callable[..., None]:
    def cleanup(device_id: int | None = None) -> None:
        """Give back what this framework's cache keeps."""
        oom.release(None if device_id is None else f"cuda:{device_id}", (kind,))

    return cleanup


cleanup_numpy_gpu = _cleanup("numpy")
cleanup_cupy_gpu = _cleanup("cupy")
cleanup_torch_gpu = _cleanup("torch")
cleanup_tensorflow_gpu = _cleanup("tensorflow")
cleanup_jax_gpu = _cleanup("jax")
cleanup_pyclesperanto_gpu = _cleanup("pyclesperanto")
MEMORY_TYPE_CLEANUP_REGISTRY = {member.value: _cleanup(member.value) for member in MemoryType}


def _clear_cache_for_memory_type(memory_type: str, device_id: int | None = None) -> None:
    MEMORY_TYPE_CLEANUP_REGISTRY[_name(memory_type)](device_id)


def scale_dtype(array: Array, dtype: Any) -> Array:  # noqa: ANN401
    """Map the range of an array's values to the whole range of a dtype, as arraybridge does.

    The result depends on all values of the array: parts of an image differ from the whole.
    """
    kind = detect_memory_type(array)
    host = convert(array, "numpy")
    if host.size == 0 or host.min() == host.max():
        return convert(cast(host, dtype), kind, lossy="allow")
    found = rescale(host, in_range=(float(host.min()), float(host.max())), out_range=dtype)
    return convert(found, kind, lossy="allow")


SCALING_FUNCTIONS = {member.value: scale_dtype for member in MemoryType}


def child_environment() -> dict[str, str]:
    """Return the environment for worker processes."""
    return bridge.child_environment()


def _ensure_module(module_name: str) -> ModuleType:
    try:
        return importlib.import_module(module_name)
    except ImportError as error:
        msg = f"Module {module_name} is required for this operation but is not installed"
        raise ImportError(msg) from error


def optional_import(module_name: str) -> ModuleType | None:
    """Import a module, or return None if it is not installed."""
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if module_name == error.name or module_name.startswith(f"{error.name}."):
            return None
        raise


def _supports_dlpack(obj: object) -> bool:
    return any(callable(getattr(obj, n, None)) for n in ("__dlpack__", "toDlpack", "to_dlpack"))


def _supports_cuda_array_interface(obj: object) -> bool:
    return hasattr(obj, "__cuda_array_interface__")


_SUBMODULES = (
    "converters",
    "decorators",
    "devices",
    "dtype_scaling",
    "exceptions",
    "gpu_cleanup",
    "oom_recovery",
    "slice_processing",
    "stack_utils",
    "types",
    "utils",
)


def install() -> None:
    """Let ``import arraybridge`` lead here, with its submodules, for the rest of the process."""
    # Code that imports TensorFlow and then pyclesperanto by itself would end the process.
    keep_symbols_apart()
    own = sys.modules[__name__]
    sys.modules["arraybridge"] = own
    for name in _SUBMODULES:
        sys.modules[f"arraybridge.{name}"] = own
