"""pyclesperanto: images on an OpenCL device. Memory goes there and comes back by copies."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import ctypes
import os
import sys
from pathlib import Path

import numpy as np

from arrayloom.bridge.registry import (
    Array,
    FrameworkSpec,
    Hooks,
    HostArray,
    Mutability,
    OomRules,
    Options,
)

_VENDORS = Path("/etc/OpenCL/vendors")


def keep_symbols_apart() -> None:
    """Load PoCL with symbols of its own.

    TensorFlow exports LLVM's symbols to the whole process. PoCL, loaded after it in the usual way, would
    call TensorFlow's LLVM, and the process ends. Loaded like this it calls its own.
    """
    names = os.environ.get("OCL_ICD_VENDORS")
    folder = Path(names) if names and Path(names).is_dir() else _VENDORS
    for entry in sorted(folder.glob("*.icd")) if folder.is_dir() else ():
        library = entry.read_text().strip()
        if "pocl" in library:
            try:
                ctypes.CDLL(library, mode=os.RTLD_LOCAL | os.RTLD_NOW | os.RTLD_DEEPBIND)
            except OSError:
                continue


def _cle() -> Array:
    return sys.modules.get("pyclesperanto") or __import__("pyclesperanto")


def _from_host(array: HostArray, _options: Options) -> Array:
    native = array.astype(array.dtype.newbyteorder("="), order="C", copy=False)
    return _cle().push(native)


def _to_host(x: Array, _options: Options) -> HostArray:
    return np.asarray(x.get())


def _unavailable() -> str | None:
    try:
        found = _cle().list_available_devices()
    except RuntimeError as error:
        return str(error)
    return None if found else "no OpenCL device; install an OpenCL driver such as pocl-opencl-icd"


SPEC = FrameworkSpec(
    name="pyclesperanto",
    modules=("pyclesperanto",),
    array_types=(
        "pyclesperanto._pyclesperanto:_Array",
        "pyclesperanto_opencl._pyclesperanto:_Array",
        "pyclesperanto_cuda._pyclesperanto:_Array",
        "pyclesperanto_metal._pyclesperanto:_Array",
    ),
    dtypes=frozenset({"uint8", "int8", "uint16", "int16", "uint32", "int32", "float32"}),
    narrowed={
        "bool": "uint8",
        "int64": "int32",
        "uint64": "uint32",
        "float64": "float32",
        "float16": "float32",
        "complex64": "float32",
        "complex128": "float32",
    },
    ndim=range(1, 4),
    empty=False,
    mutable=Mutability.ALWAYS,
    devices=frozenset({"opencl"}),
    oom=OomRules(
        coded=("builtins:RuntimeError",),
        patterns=(
            "CL_INVALID_BUFFER_SIZE",
            "CL_MEM_OBJECT_ALLOCATION_FAILURE",
            "CL_OUT_OF_RESOURCES",
            "CL_OUT_OF_HOST_MEMORY",
            "error code: -61",
            "error code: -4)",
            "error code: -5)",
            "error code: -6)",
        ),
    ),
    hooks=Hooks(
        to_host=_to_host,
        from_host=_from_host,
        device=lambda x: f"opencl:{x.__dlpack_device__()[1]}",
        dtype=lambda x: np.dtype(x.dtype).name,
        copy=lambda x: _cle().push(np.asarray(x.get())),
        unavailable=_unavailable,
        before_import=keep_symbols_apart,
    ),
)
