"""Names of the package arraybridge, both generations, for code that was written for it.

``install()`` lets ``import arraybridge`` and its submodules lead here. Differences are meant: decorators
convert their arguments, element types keep their units, memory that runs out has a CPU fallback and
chunks, and a wrong source type is an error that names the actual kind.
"""

import sys

from arrayloom.bridge.arraybridge.decorating import (
    cupy,
    jax,
    memory_types,
    numpy,
    pyclesperanto,
    tensorflow,
    torch,
    wrap_dtype_preserving_callable,
)
from arrayloom.bridge.arraybridge.first import (
    MEMORY_TYPE_CUPY,
    MEMORY_TYPE_JAX,
    MEMORY_TYPE_NUMPY,
    MEMORY_TYPE_PYCLESPERANTO,
    MEMORY_TYPE_TENSORFLOW,
    MEMORY_TYPE_TORCH,
    SCALING_FUNCTIONS,
    VALID_GPU_MEMORY_TYPES,
    VALID_MEMORY_TYPES,
    ConverterBase,
    ThreadGPUContext,
    get_converter,
)
from arrayloom.bridge.arraybridge.first import (
    enforce_gpu_device_requirements as _enforce_gpu_device_requirements,
)
from arrayloom.bridge.arraybridge.first import (
    get_device_id as _get_device_id,
)
from arrayloom.bridge.arraybridge.first import (
    is_2d as _is_2d,
)
from arrayloom.bridge.arraybridge.first import (
    is_3d as _is_3d,
)
from arrayloom.bridge.arraybridge.first import (
    move_to_device as _move_to_device,
)
from arrayloom.bridge.arraybridge.first import (
    scale as _scale_generic,
)
from arrayloom.bridge.arraybridge.first import (
    validate_registry as _validate_registry,
)
from arrayloom.bridge.arraybridge.functions import (
    MEMORY_TYPE_CLEANUP_REGISTRY,
    child_environment,
    cleanup_all_gpu_frameworks,
    cleanup_all_loaded,
    cleanup_cupy_gpu,
    cleanup_jax_gpu,
    cleanup_loaded,
    cleanup_numpy_gpu,
    cleanup_pyclesperanto_gpu,
    cleanup_tensorflow_gpu,
    cleanup_torch_gpu,
    convert_memory,
    detect_memory_type,
    is_oom_error,
    optional_import,
    process_slices,
    run_with_oom_recovery,
    scale_dtype,
    stack_slices,
    unstack_slices,
)
from arrayloom.bridge.arraybridge.functions import (
    clear_cache_for_memory_type as _clear_cache_for_memory_type,
)
from arrayloom.bridge.arraybridge.functions import (
    ensure_module as _ensure_module,
)
from arrayloom.bridge.arraybridge.functions import (
    execute_with_oom_recovery as _execute_with_oom_recovery,
)
from arrayloom.bridge.arraybridge.functions import (
    is_oom_error as _is_oom_error,
)
from arrayloom.bridge.arraybridge.functions import (
    supports_cuda_array_interface as _supports_cuda_array_interface,
)
from arrayloom.bridge.arraybridge.functions import (
    supports_dlpack as _supports_dlpack,
)
from arrayloom.bridge.arraybridge.kinds import (
    CPU_MEMORY_TYPES,
    GPU_MEMORY_TYPES,
    HOST,
    PRESERVE_INPUT_DTYPE_CONFIG,
    SUPPORTED_MEMORY_TYPES,
    AcceleratorDevice,
    ArrayGeometry,
    ArrayPayload,
    Device,
    DtypeConversion,
    DtypeConversionConfig,
    HostDevice,
    MemoryContractAttribute,
    MemoryConversionError,
    MemoryType,
    NamedDevice,
    PreserveInputDtypeConfig,
    SliceBySliceRuntimeParameter,
)
from arrayloom.bridge.arraybridge.libraries import ArrayLibrary, DLPackPayload
from arrayloom.bridge.arraybridge.roles import (
    AcceleratorDevices,
    ArrayMath,
    CudaLibrary,
    CupyLibrary,
    DLPackImport,
    HostDevices,
    InPlaceAssignment,
    JaxLibrary,
    NumpyArrayApi,
    NumpyLibrary,
    PyclesperantoLibrary,
    TensorflowLibrary,
    TorchLibrary,
)
from arrayloom.bridge.arraybridge.routes import (
    ConversionCounters,
    ConversionObserver,
    ConversionRecord,
    ConversionRoute,
    ConversionTotal,
    DeviceMove,
    DLPackExchange,
    HostCopy,
    IgnoreConversions,
    RouteDeclinedError,
    SharedHostBuffer,
    StaysInPlace,
)
from arrayloom.bridge.arraybridge.scaling import SCALING_RANGES as _SCALING_RANGES
from arrayloom.bridge.frameworks.pyclesperanto import keep_symbols_apart

__all__ = [
    "CPU_MEMORY_TYPES",
    "GPU_MEMORY_TYPES",
    "HOST",
    "MEMORY_TYPE_CLEANUP_REGISTRY",
    "MEMORY_TYPE_CUPY",
    "MEMORY_TYPE_JAX",
    "MEMORY_TYPE_NUMPY",
    "MEMORY_TYPE_PYCLESPERANTO",
    "MEMORY_TYPE_TENSORFLOW",
    "MEMORY_TYPE_TORCH",
    "PRESERVE_INPUT_DTYPE_CONFIG",
    "SCALING_FUNCTIONS",
    "SUPPORTED_MEMORY_TYPES",
    "VALID_GPU_MEMORY_TYPES",
    "VALID_MEMORY_TYPES",
    "_SCALING_RANGES",
    "AcceleratorDevice",
    "AcceleratorDevices",
    "ArrayGeometry",
    "ArrayLibrary",
    "ArrayMath",
    "ArrayPayload",
    "ConversionCounters",
    "ConversionObserver",
    "ConversionRecord",
    "ConversionRoute",
    "ConversionTotal",
    "ConverterBase",
    "CudaLibrary",
    "CupyLibrary",
    "DLPackExchange",
    "DLPackImport",
    "DLPackPayload",
    "Device",
    "DeviceMove",
    "DtypeConversion",
    "DtypeConversionConfig",
    "HostCopy",
    "HostDevice",
    "HostDevices",
    "IgnoreConversions",
    "InPlaceAssignment",
    "JaxLibrary",
    "MemoryContractAttribute",
    "MemoryConversionError",
    "MemoryType",
    "NamedDevice",
    "NumpyArrayApi",
    "NumpyLibrary",
    "PreserveInputDtypeConfig",
    "PyclesperantoLibrary",
    "RouteDeclinedError",
    "SharedHostBuffer",
    "SliceBySliceRuntimeParameter",
    "StaysInPlace",
    "TensorflowLibrary",
    "ThreadGPUContext",
    "TorchLibrary",
    "_clear_cache_for_memory_type",
    "_enforce_gpu_device_requirements",
    "_ensure_module",
    "_execute_with_oom_recovery",
    "_get_device_id",
    "_is_2d",
    "_is_3d",
    "_is_oom_error",
    "_move_to_device",
    "_scale_generic",
    "_supports_cuda_array_interface",
    "_supports_dlpack",
    "_validate_registry",
    "child_environment",
    "cleanup_all_gpu_frameworks",
    "cleanup_all_loaded",
    "cleanup_cupy_gpu",
    "cleanup_jax_gpu",
    "cleanup_loaded",
    "cleanup_numpy_gpu",
    "cleanup_pyclesperanto_gpu",
    "cleanup_tensorflow_gpu",
    "cleanup_torch_gpu",
    "convert_memory",
    "cupy",
    "detect_memory_type",
    "get_converter",
    "install",
    "is_oom_error",
    "jax",
    "memory_types",
    "numpy",
    "optional_import",
    "process_slices",
    "pyclesperanto",
    "run_with_oom_recovery",
    "scale_dtype",
    "stack_slices",
    "tensorflow",
    "torch",
    "unstack_slices",
    "wrap_dtype_preserving_callable",
]

_SUBMODULES = (
    "array_geometry",
    "array_payload",
    "conversion",
    "converters",
    "converters_registry",
    "decorators",
    "devices",
    "dtype_scaling",
    "exceptions",
    "gpu_cleanup",
    "libraries",
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
        if not hasattr(own, name):
            setattr(own, name, own)
