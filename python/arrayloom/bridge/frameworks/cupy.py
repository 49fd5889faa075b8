"""CuPy: NumPy's interface on CUDA devices."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

from collections.abc import Generator
from contextlib import contextmanager

import numpy as np

from arrayloom.bridge.drivers import number_of
from arrayloom.bridge.registry import (
    NATIVE,
    Array,
    FrameworkSpec,
    Hooks,
    HostArray,
    Mutability,
    OomRules,
    Options,
    importer,
)

_cupy = importer("cupy")


def _unavailable() -> str | None:
    runtime = _cupy().cuda.runtime
    try:
        count = runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        return str(error)
    return None if count else "no CUDA device"


def _from_host(array: HostArray, options: Options) -> Array:
    cupy = _cupy()
    number = number_of(options.device or "cuda:0")
    with cupy.cuda.Device(number):
        return cupy.asarray(array)


def _release(device: str | None) -> int:
    cupy = _cupy()
    if (device or "cuda").partition(":")[0] != "cuda" or _unavailable() is not None:
        return 0
    pool = cupy.get_default_memory_pool()
    before = pool.total_bytes()
    pool.free_all_blocks()
    cupy.get_default_pinned_memory_pool().free_all_blocks()
    return before - pool.total_bytes()


def _to_device(x: Array, device: str) -> Array:
    with _cupy().cuda.Device(number_of(device)):
        return _cupy().asarray(x)


def _stream(device: str) -> int:
    with _cupy().cuda.Device(number_of(device)):
        # CUDA writes the legacy default stream as 0, the array API as 1.
        return int(_cupy().cuda.get_current_stream().ptr) or 1


@contextmanager
def _enter(device: str, stream: int | None) -> Generator[None]:
    cuda = _cupy().cuda
    with cuda.Device(number_of(device)):
        if stream is None:
            yield
        else:
            with cuda.Stream.null if stream == 1 else cuda.ExternalStream(stream):
                yield


SPEC = FrameworkSpec(
    name="cupy",
    modules=("cupy",),
    array_types=("cupy:ndarray", "cupy._core.core:ndarray"),
    dtypes=NATIVE,
    mutable=Mutability.ALWAYS,
    devices=frozenset({"cuda"}),
    asks_stream=True,
    orders_exports=True,
    oom=OomRules(
        classes=("cupy.cuda.memory:OutOfMemoryError",),
        coded=("cupy_backends.cuda.api.runtime:CUDARuntimeError",),
        codes=frozenset({2}),
        sticky=("cudaErrorIllegalAddress", "cudaErrorAssert"),
    ),
    release=_release,
    hooks=Hooks(
        to_host=lambda x, _: x.get(),
        from_host=_from_host,
        device=lambda x: f"cuda:{x.device.id}",
        dtype=lambda x: np.dtype(x.dtype).name,
        copy=lambda x: x.copy(),
        take=lambda: _cupy().from_dlpack,
        place=lambda x: x.device.id,
        current=lambda: _cupy().cuda.runtime.getDevice,
        to_device=_to_device,
        unavailable=_unavailable,
        stream=_stream,
        enter=_enter,
        synchronize=lambda _: _cupy().cuda.get_current_stream().synchronize(),
    ),
)
