"""JAX: immutable arrays; compact and aligned memory is taken as it is."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import importlib
import os
import sys
from collections.abc import Callable
from functools import cache

import numpy as np

from arrayloom import _ext
from arrayloom.bridge import dtypes
from arrayloom.bridge.errors import FrameworkUnavailable
from arrayloom.bridge.registry import (
    EXTRA,
    NATIVE,
    Array,
    FrameworkSpec,
    Hooks,
    HostArray,
    Layouts,
    Mutability,
    OomRules,
    Options,
    Refusal,
    importer,
)

_NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}


_jax = importer("jax")


class Lent:
    """A capsule with the two methods that JAX asks for."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_wanted: object) -> object:
        """Give the capsule, which has the only form that JAX takes."""
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        """Lie on the host."""
        return (1, 0)


@cache
def _accept() -> Callable[[object], Array]:
    """JAX's own function behind ``from_dlpack``, if it is where it was, which saves 25 microseconds."""
    public = _jax().dlpack.from_dlpack
    try:
        core = importlib.import_module("jax._src.lib")._jax  # noqa: SLF001 - that is the point
        take = core.dlpack_managed_tensor_to_buffer
        device = _jax().devices("cpu")[0]
        probe = _ext.bridge.to_capsule(
            dtypes.aligned_copy(np.arange(4, dtype=np.int32), 64), versioned=False
        )
        if [int(v) for v in take(probe, device, None, None, 1)] != [0, 1, 2, 3]:
            return lambda capsule: public(Lent(capsule))
    except (ImportError, AttributeError, TypeError, RuntimeError, ValueError):
        return lambda capsule: public(Lent(capsule))
    return lambda capsule: take(capsule, device, None, None, 1)


def _from_host(array: HostArray, options: Options) -> Array:
    # JAX reads an order of axes out of steps that are never taken.
    carrier, element = dtypes.carried(dtypes.exact(array))
    made = _accept()(_ext.bridge.to_capsule(carrier, versioned=False, element=element))
    if options.device not in (None, "cpu"):
        made = _to_device(made, str(options.device))
    return made


def _to_device(x: Array, device: str) -> Array:
    family, _, number = device.partition(":")
    try:
        place = _jax().devices(family)[int(number or 0)]
    except (RuntimeError, IndexError) as error:
        msg = f"jax has no {device} here: it knows {_jax().devices()}"
        raise FrameworkUnavailable(msg) from error
    return _jax().device_put(x, place)


def _seen(x: Array) -> memoryview | HostArray:
    """See the memory of an array. JAX shows buffers of what is row-major, and lends the rest by DLPack."""
    try:
        return memoryview(x)
    except (BufferError, TypeError):
        array = np.asarray(x)
    if array.ndim < 2 or array.flags.c_contiguous:
        return array
    # NumPy's array of what is not row-major is a copy.
    found, element, _ = _ext.bridge.from_capsule(x.__dlpack__())
    found.flags.writeable = False
    return dtypes.named(found, element)


def _to_host(x: Array, _options: Options) -> HostArray:
    return np.asarray(_seen(x))


# What JAX calls devices of CUDA.
_GPUS = ("gpu", "cuda")

# What JAX calls a place on one device, and whether all its devices are the host: looked up once.
_places: list[tuple[type, bool]] = []


def _look_up() -> tuple[type, bool]:
    jax = _jax()
    # JAX prefers accelerators. Where the host comes first, there are none, unless a list says so.
    alone = jax.default_backend() == "cpu" and jax.config.jax_platforms in (None, "", "cpu")
    _places.append((jax.sharding.SingleDeviceSharding, alone))
    return _places[0]


def _view(x: Array) -> object:
    """See an array that lies on the host as a whole."""
    single, alone = _places[0] if _places else _look_up()
    if type(x.sharding) is not single:
        return NotImplemented
    # JAX ends the process where the platform of a deleted array is asked.
    if not alone and (x.is_deleted() or x.platform() != "cpu"):
        return NotImplemented
    return _seen(x)


def _place(x: Array) -> object:
    """Tell on which GPU an array lies as a whole."""
    single, alone = _places[0] if _places else _look_up()
    # Random keys look like arrays, and have no buffer.
    if alone or type(x.sharding) is not single or _is_key(x) or x.is_deleted():
        return NotImplemented
    (place,) = x.devices()
    return place.id if place.platform in _GPUS else NotImplemented


def _device(x: Array) -> str:
    # A deleted array has no devices, and its sharding still has.
    place = next(iter(x.sharding.device_set))
    family = "cuda" if place.platform in _GPUS else place.platform
    return family if family == "cpu" else f"{family}:{place.id}"


def _synchronize(x: Array) -> None:
    if not x.is_deleted():
        x.block_until_ready()


def _is_tracer(x: Array) -> bool:
    return isinstance(x, _jax().core.Tracer)


def _astype(x: Array, dtype: str, limit: float | None) -> Array:
    jnp = importlib.import_module("jax.numpy")
    if limit is not None:
        x = jnp.where(jnp.isfinite(x), jnp.clip(x, -limit, limit), x)
    return x.astype(dtype)


def _is_key(x: Array) -> bool:
    return _jax().dtypes.issubdtype(x.dtype, _jax().dtypes.extended)


def narrowing() -> dict[str, str]:
    """Return what JAX makes of 64-bit elements: nothing else unless they are switched on."""
    jax = sys.modules.get("jax")
    if jax is None:
        wide = os.environ.get("JAX_ENABLE_X64", "").lower() in ("1", "true", "t", "yes", "y", "on")
    else:
        wide = jax.config.jax_enable_x64
    return {} if wide else _NARROW


SPEC = FrameworkSpec(
    name="jax",
    modules=("jax",),
    array_types=(
        "jaxlib._jax:ArrayImpl",
        "jaxlib.xla_extension:ArrayImpl",
        "jax:jaxlib._jax.Array",
        "jax._src.core:Tracer",
    ),
    align=64,
    layouts=Layouts.COMPACT,
    dtypes=NATIVE | EXTRA,
    narrowed=_NARROW,
    mutable=Mutability.NEVER,
    devices=frozenset({"cpu", "cuda"}),
    asks_stream=True,
    orders_exports=True,
    refused=(
        Refusal(
            _is_tracer,
            "is a tracer: a value that exists only while JAX traces a function",
            "convert outside of jit, grad and vmap, or use jax.pure_callback",
        ),
        Refusal(_is_key, "is a random key", "convert jax.random.key_data(key)"),
        Refusal(
            lambda x: x.is_deleted(), "has been deleted or donated", "keep a copy before donating"
        ),
        Refusal(
            lambda x: len(x.devices()) > 1,
            "is spread over several devices",
            "gather it with jax.device_put(x, device)",
        ),
    ),
    oom=OomRules(
        coded=("jax.errors:JaxRuntimeError", "jaxlib._jax:XlaRuntimeError"),
        patterns=(
            "RESOURCE_EXHAUSTED: Out of memory",
            "RESOURCE_EXHAUSTED: Failed to allocate request for",
        ),
    ),
    env_defaults={"XLA_PYTHON_CLIENT_PREALLOCATE": "false"},
    hooks=Hooks(
        to_host=_to_host,
        from_host=_from_host,
        device=_device,
        dtype=lambda x: x.dtype.name,
        copy=lambda x: x.copy(),
        take=lambda: _jax().dlpack.from_dlpack,
        place=_place,
        to_device=_to_device,
        synchronize=_synchronize,
        view=_view,
        accept=_accept,
        narrowing=narrowing,
        traced=_is_tracer,
        astype=_astype,
    ),
)
