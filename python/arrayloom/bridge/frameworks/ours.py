"""arrayloom's own arrays: lazy, on the host, aligned for everybody."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

from arrayloom import _ext
from arrayloom.bridge import dtypes
from arrayloom.bridge.registry import (
    NATIVE,
    Array,
    FrameworkSpec,
    Hooks,
    HostArray,
    OomRules,
    Options,
)

_ALIGN = 256


def _to_host(x: Array, _options: Options) -> HostArray:
    return _ext.bridge.plain(x)


def _from_host(array: HostArray, _options: Options) -> Array:
    return _ext.bridge.adopt(dtypes.plain(array))


def _release(_device: str | None) -> int:
    return _ext.trim()


SPEC = FrameworkSpec(
    name="arrayloom",
    modules=("arrayloom",),
    array_types=("arrayloom._ext:LazyArray",),
    dtypes=NATIVE,
    oom=OomRules(classes=("arrayloom.errors:OutOfMemoryError",)),
    release=_release,
    hooks=Hooks(
        to_host=_to_host,
        from_host=_from_host,
        dtype=lambda x: x.dtype.name,
        copy=lambda x: x.copy(),
        direct=lambda: (("numpy", "arrayloom", _ext.bridge.adopt_plain),),
    ),
)
