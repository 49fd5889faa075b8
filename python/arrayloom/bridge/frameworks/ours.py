"""arrayloom's own arrays: lazy, on the host, aligned for everybody."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

from arrayloom import _ext
from arrayloom.bridge import dtypes, streams
from arrayloom.bridge.foreign import DeviceArray
from arrayloom.bridge.registry import (
    NATIVE,
    Array,
    FrameworkSpec,
    Hooks,
    HostArray,
    OomRules,
    Options,
)


def _to_host(x: Array, _options: Options) -> HostArray:
    return _ext.bridge.plain(x)


def _from_host(array: HostArray, _options: Options) -> Array:
    return _ext.bridge.adopt(dtypes.plain(array))


def _copy(x: Array) -> Array:
    made = x.copy()
    # Copies of small arrays are plain ones.
    return made if type(made) is type(x) else _ext.bridge.adopt(made)


def _release(_device: str | None) -> int:
    return _ext.trim()


def _adopt(x: Array, options: Options) -> DeviceArray:
    asked = options.stream if options.stream is not None else streams.current(str(options.device))
    return _keep(x, 1 if asked is None else int(asked))


def _keep(x: Array, stream: int = 1) -> DeviceArray:
    """Keep memory of a device for others; the producer orders its work before our stream."""
    if isinstance(x, DeviceArray):
        return x
    try:
        capsule = x.__dlpack__(stream=stream)
    except (RuntimeError, TypeError):
        # TensorFlow and OpenCL take no stream: they are done when they export.
        capsule, stream = x.__dlpack__(), -1
    found = DeviceArray.of_capsule(capsule, _ext.bridge.kind(x))
    found.follow(stream if stream != -1 and streams.is_ordered(found.device) else None)
    return found


SPEC = FrameworkSpec(
    name="arrayloom",
    modules=("arrayloom",),
    array_types=("arrayloom._ext:LazyArray",),
    dtypes=NATIVE,
    oom=OomRules(classes=("arrayloom.errors:OutOfMemoryError",)),
    asks_stream=True,
    release=_release,
    hooks=Hooks(
        to_host=_to_host,
        from_host=_from_host,
        dtype=lambda x: x.dtype.name,
        copy=_copy,
        adopt=_adopt,
        take=lambda: _keep,
    ),
)
