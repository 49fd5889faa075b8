"""pyclesperanto: images on an OpenCL device.

A device that computes in the host's memory shares it with arrayloom's arrays, both ways. To others, and
on other devices, images are copied.
"""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import ctypes
import os
from collections.abc import Callable

import numpy as np

from arrayloom import _ext
from arrayloom.bridge.dtypes import row_major
from arrayloom.bridge.foreign import DeviceArray
from arrayloom.bridge.opencl import Buffer, Context, Mapped
from arrayloom.bridge.registry import (
    Array,
    FrameworkSpec,
    Hooks,
    HostArray,
    Mutability,
    OomRules,
    Options,
    importer,
)

_VENDORS = "/etc/OpenCL/vendors"


def keep_symbols_apart() -> None:
    """Load PoCL with symbols of its own.

    TensorFlow exports LLVM's symbols to the whole process. PoCL, loaded after it in the usual way, would
    call TensorFlow's LLVM, and the process ends. Loaded like this it calls its own.
    """
    from pathlib import Path  # noqa: PLC0415 - takes milliseconds

    names = os.environ.get("OCL_ICD_VENDORS")
    folder = Path(names if names and Path(names).is_dir() else _VENDORS)
    for entry in sorted(folder.glob("*.icd")) if folder.is_dir() else ():
        library = entry.read_text().strip()
        if "pocl" in library:
            try:
                ctypes.CDLL(library, mode=os.RTLD_LOCAL | os.RTLD_NOW | os.RTLD_DEEPBIND)
            except OSError:
                continue


_cle = importer("pyclesperanto")


def _from_host(array: HostArray, options: Options) -> Array:
    if options.device is not None:
        current = int(_cle().get_device().index)
        if options.device != f"opencl:{current}":
            msg = (
                f"pyclesperanto uses opencl:{current} now; call pyclesperanto.select_device() for "
                f"{options.device} first"
            )
            raise ValueError(msg)
    return _cle().push(array.astype(array.dtype.newbyteorder("="), order="C", copy=False))


# How images of an element type are read, by the class of images: looked up once.
_readers: dict[type, dict[Array, Callable[..., HostArray]]] = {}


def _look_up(kind: type) -> dict[Array, Callable[..., HostArray]]:
    """Find the functions behind ``get``, which makes a table of all of them for each call."""
    found = {
        np.dtype(name): reader
        for name in SPEC.dtypes
        if (reader := getattr(kind, f"_read_{name}", None)) is not None
    }
    probe = _cle().push(np.arange(3, dtype=np.uint8))
    try:
        usable = np.array_equal(found[probe.dtype](probe, None, None), probe.get())
    except (KeyError, TypeError, ValueError, RuntimeError):
        usable = False
    return _readers.setdefault(kind, found if usable else {})


def _download(x: Array) -> HostArray:
    readers = _readers.get(type(x))
    if readers is None:
        readers = _look_up(type(x))
    read = readers.get(x.dtype)
    return np.asarray(x.get() if read is None else read(x, None, None))


def _unavailable() -> str | None:
    try:
        found = _cle().list_available_devices()
    except RuntimeError as error:
        return str(error)
    return None if found else "no OpenCL device; install an OpenCL driver such as pocl-opencl-icd"


_probes: dict[int, Array] = {}


def _probe(device: Array) -> Array:
    """Return a small image on a device: it leads to the context, and waits for the device's queue."""
    number = int(device.index)
    if number not in _probes:
        _probes[number] = _cle().create((1,), np.uint8, device=device)
    return _probes[number]


def _number(x: Array) -> int:
    return int(x.__dlpack_device__()[1])


def _wait(x: Array) -> None:
    # Commands run in order, so what was asked for before is done when this value is here.
    _download(_probe(x.device))


def _handle(x: Array) -> int:
    """Return an image's buffer; the image keeps it."""
    return _ext.bridge.take_foreign(x.__dlpack__())[1]


# The contexts of devices, None for those that are not OpenCL's: looked up once.
_contexts: dict[int, Context | None] = {}


def _home(device: Array) -> Context | None:
    """Return the context of a device's images."""
    number = int(device.index)
    if number not in _contexts:
        is_opencl = getattr(device.type, "name", "").upper() == "OPENCL"
        found = Context.of_buffer(_handle(_probe(device))) if is_opencl else None
        _contexts[number] = found
    return _contexts[number]


def _context(device: Array) -> Context | None:
    """Return a device's context if it computes in the host's memory."""
    context = _home(device)
    return context if context is not None and context.in_host_memory else None


def _context_of(x: Array) -> Context | None:
    """Return an image's context if its memory is the host's."""
    context = _context(x.device)
    return context if context is not None and str(x.mtype) == "buffer" else None


def _unified(x: Array | None) -> bool:
    """Whether an image's device, or the one in use, computes in the host's memory."""
    found = _context(_cle().get_device()) if x is None else _context_of(x)
    return found is not None


def _map(x: Array) -> object:
    context = _context_of(x)
    if context is None:
        return NotImplemented
    seen = Mapped(context, _handle(x), x, x.dtype, tuple(x.shape))
    # Both queues are at work meanwhile.
    _wait(x)
    return np.asarray(seen)


def _wrap(array: HostArray) -> Array:
    cle = _cle()
    device = cle.get_device()
    context = _context(device)
    if context is None:
        return NotImplemented
    return cle.from_dlpack(Buffer(context, int(device.index), array), copy=False)


def _taken(x: Array) -> Array:
    """Take a buffer of the context in use as an image; buffers of other contexts must be copied."""
    cle = _cle()
    fits = (
        isinstance(x, DeviceArray)
        and x.lender == SPEC.name
        and x.dtype in SPEC.dtypes
        and x.ndim in SPEC.ndim
        and x.strides == row_major(x.shape, np.dtype(x.dtype).itemsize)
    )
    if not fits:
        return NotImplemented
    if Context.of_buffer(x.handle) is not _home(cle.get_device()):
        return NotImplemented
    return cle.from_dlpack(x, copy=False)


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
        to_host=lambda x, _: _download(x),
        from_host=_from_host,
        device=lambda x: f"opencl:{_number(x)}",
        dtype=lambda x: np.dtype(x.dtype).name,
        copy=lambda x: _cle().push(_download(x)),
        take=lambda: _taken,
        place=_number,
        unavailable=_unavailable,
        synchronize=_wait,
        unified=_unified,
        map=_map,
        wrap=_wrap,
        download=_download,
        upload=lambda: _cle().push,
        before_import=keep_symbols_apart,
    ),
)
