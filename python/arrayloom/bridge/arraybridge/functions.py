"""Conversions, stacks, recovery and cleanup as functions, as code for arraybridge calls them."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from arrayloom import bridge
from arrayloom.bridge import oom, registry, stacking
from arrayloom.bridge.arraybridge.kinds import (
    HOST,
    AcceleratorDevice,
    Device,
    HostDevice,
    MemoryConversionError,
    MemoryType,
)
from arrayloom.bridge.arraybridge.libraries import ArrayLibrary, recover
from arrayloom.bridge.arraybridge.routes import ConversionObserver, ConversionRoute
from arrayloom.bridge.arraybridge.scaling import stretch
from arrayloom.bridge.conversion import convert
from arrayloom.bridge.drivers import number_of
from arrayloom.bridge.registry import Array


def name_of(memory_type: str | MemoryType, role: str = "memory_type") -> str:
    """Return the name of a kind.

    Raises
    ------
    ValueError
        There is no such kind.
    """
    name = memory_type.value if isinstance(memory_type, MemoryType) else memory_type
    if name not in registry.names():
        msg = f"Invalid {role} '{name}'. Available types: {sorted(registry.names())}"
        raise ValueError(msg)
    return name


def place_of(target: str, device: Device | int | None) -> str | None:
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
            f"Unknown memory type. Unable to detect memory type of {type(data).__name__}: "
            "no registered library made it"
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
    source = name_of(source_type, "source_type")
    target = name_of(target_type, "target_type")
    actual = bridge.kind(data)
    if actual != source and not (source == "numpy" and actual == "arrayloom"):
        msg = f"source_type is {source!r}, and the array is of kind {actual!r}"
        raise TypeError(msg)
    place = place_of(target, device if gpu_id is None else gpu_id)
    try:
        if isinstance(device, AcceleratorDevice):
            ArrayLibrary.named(target).require_device(device)
        if ConversionObserver.current.wants_records:
            libraries = (ArrayLibrary.of(data), ArrayLibrary.named(target))
            wanted = HOST if place in (None, "cpu") else AcceleratorDevice(number_of(str(place)))
            return ConversionRoute.run(data, *libraries, wanted)
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
    target = name_of(memory_type)
    return stacking.stack(slices, target, device=place_of(target, words.get("gpu_id", device)))


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
    return stacking.unstack(array, kind=name_of(memory_type))


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


def run_with_oom_recovery(
    func: Callable[[], Any], max_retries: int = 2, device: Device | str | None = None
) -> Any:  # noqa: ANN401
    """Call a function; after running out of memory free what can be freed, and call it again."""
    return recover(func, max_retries, device if isinstance(device, str) else None)


def execute_with_oom_recovery(
    func_callable: Callable[[], Any], memory_type: str, max_retries: int = 2
) -> Any:  # noqa: ANN401
    """Call a function; after running out of memory free what can be freed, and call it again."""
    name_of(memory_type)
    return run_with_oom_recovery(func_callable, max_retries)


def is_oom_error(error: BaseException, memory_type: str | None = None) -> bool:
    """Whether an exception says that memory ran out."""
    del memory_type
    return oom.is_oom(error)


def cleanup_all_loaded(device: Device | int | None = None) -> int:
    """Give back the caches of all imported frameworks; returns bytes."""
    number = device.index if isinstance(device, AcceleratorDevice) else device
    return oom.release(f"cuda:{number}" if isinstance(number, int) else None)


def cleanup_all_gpu_frameworks(device_id: int | None = None) -> None:
    """Clean up GPU memory for all available frameworks: their caches are given back."""
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


def clear_cache_for_memory_type(memory_type: str, device_id: int | None = None) -> None:
    """Give back what one framework's cache keeps; nothing for a name that is no framework's."""
    cleanup = MEMORY_TYPE_CLEANUP_REGISTRY.get(memory_type)
    if cleanup is not None:
        cleanup(device_id)


def scale_dtype(array: Array, dtype: Any) -> Array:  # noqa: ANN401
    """Stretch floats to the range of an integer type, as arraybridge does; see :func:`stretch`."""
    return convert(stretch(array, dtype), detect_memory_type(array), lossy="allow")


def child_environment() -> dict[str, str]:
    """Return the environment for worker processes."""
    return bridge.child_environment()


def ensure_module(module_name: str) -> ModuleType:
    """Import a module.

    Raises
    ------
    ImportError
        It is not installed.
    """
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


def supports_dlpack(obj: object) -> bool:
    """Whether an object makes DLPack capsules, under any name."""
    return any(callable(getattr(obj, n, None)) for n in ("__dlpack__", "toDlpack", "to_dlpack"))


def supports_cuda_array_interface(obj: object) -> bool:
    """Whether an object describes memory of a CUDA device."""
    return hasattr(obj, "__cuda_array_interface__")
