"""Conversions: from an array of one framework to the same values in another's.

Every conversion describes its array, plans its route, and only then runs foreign code.
"""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any, cast

import numpy as np

from arrayloom import _ext
from arrayloom.bridge import drivers, dtypes, observing, registry, streams
from arrayloom.bridge.foreign import DeviceArray, family_of
from arrayloom.bridge.planning import (
    Facts,
    Plan,
    check_elements,
    check_place,
    decide,
    facts_of,
    knows,
    lends,
    place_of,
    why_layout,
)
from arrayloom.bridge.registry import (
    Array,
    FrameworkSpec,
    HostArray,
    Layouts,
    Mutability,
    Options,
)
from arrayloom.bridge.sources import device_number, found_memory, memory_of

__all__ = [
    "convert",
    "convert_with",
    "describe",
    "home_of",
    "host_memory",
    "not_an_array",
    "placed",
    "recorded",
    "refuse",
    "spec_of",
]

NO_KIND = "object"


def refuse(x: Array, spec: FrameworkSpec, *, abroad: bool = True, cast: bool = False) -> None:
    """Raise for arrays that cannot be converted, or not even copied by their own framework.

    With `cast`, those pass that need only another element type.

    Raises
    ------
    TypeError
        Such an array.
    """
    for refusal in spec.refused:
        if (abroad or not refusal.abroad) and not (cast and refusal.cast) and refusal.test(x):
            msg = f"this {spec.name} {type(x).__name__} {refusal.message}; {refusal.cure}"
            raise TypeError(msg)


def spec_of(x: Array) -> FrameworkSpec | None:
    """Return the description of an array's framework, or None."""
    name = _ext.bridge.kind(x)
    return None if name is None else registry.get(name)


def home_of(x: Array) -> str | None:
    """Return the device to name for an array that shall lie beside another one, None if there is no choice.

    Frameworks of OpenCL use one device at a time.
    """
    spec = spec_of(x)
    place = "cpu" if spec is None else spec.hooks.device(x)
    return None if place.partition(":")[0] == "opencl" else place


def _unmask(x: Array, options: Options) -> Array:
    if not isinstance(x, np.ma.MaskedArray):
        return x
    masked = cast("Any", x)
    if options.fill is None:
        msg = (
            "a masked array would lose its mask; pass fill=VALUE for the masked elements, or call "
            "x.filled(VALUE) first"
        )
        raise TypeError(msg)
    return masked.filled(options.fill)


def host_memory(x: Array, spec: FrameworkSpec | None, options: Options) -> tuple[HostArray, Facts]:
    """Return the memory of an array of the host, or a copy of another device's, and its facts."""
    if spec is None:
        found = found_memory(_gathered(x, options) if isinstance(x, (list, tuple)) else x)
        if found is None:
            raise not_an_array(x)
        memory, apart = found
        if isinstance(memory, DeviceArray):
            facts = _facts_elsewhere(memory, NO_KIND, memory.device, memory.dtype)
            return memory.to_host(), facts
        memory = _unmask(memory, options)
        return memory, facts_of(memory, NO_KIND, apart=apart)
    refuse(x, spec, cast=options.dtype is not None)
    apart = spec.hooks.apart(x)
    if spec.hooks.prepare is not None:
        x = spec.hooks.prepare(x, options)
    array = spec.hooks.to_host(x, options)
    if spec.mutable is Mutability.NEVER and array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    mutable = {Mutability.ALWAYS: True, Mutability.NEVER: False}.get(spec.mutable)
    place = spec.hooks.device(x)
    return array, facts_of(array, spec.name, place, mutable=mutable, apart=apart)


_PLAIN = frozenset({bool, int, float, complex, str})


def _gathered(x: Array, options: Options) -> Array:
    """Replace arrays in lists by their memory: NumPy would drop masks, gradients and signs."""
    if isinstance(x, (list, tuple)):
        return [v if type(v) in _PLAIN else _gathered(v, options) for v in x]
    spec = spec_of(x)
    if spec is not None:
        return host_memory(_unmask(x, options), spec, options)[0]
    if isinstance(x, DeviceArray) or (
        hasattr(type(x), "__array__") and not isinstance(x, np.generic)
    ):
        return host_memory(x, None, options)[0]
    return x


def _facts_elsewhere(x: Array, kind: str, place: str, dtype: str) -> Facts:
    """Describe an array of another device, which is not copied for it."""
    shape = tuple(int(n) for n in x.shape)
    itemsize = dtypes.numpy_dtype(dtype).itemsize
    return Facts(kind, place, dtype, shape, dtypes.row_major(shape, itemsize), itemsize)


def not_an_array(x: object) -> TypeError:
    """Make the error for an object without memory that is known here."""
    msg = (
        f"{type(x).__module__}.{type(x).__qualname__} is no array: it is of no known framework "
        f"({', '.join(registry.names())}) and has no DLPack, array interface or buffer"
    )
    return TypeError(msg)


def describe(x: Array) -> Facts:
    """Describe an array: kind, device, dtype, shape, steps, address, whether it can be written."""
    spec = spec_of(x)
    if spec is not None:
        refuse(x, spec)
        if spec.hooks.device(x) != "cpu":
            return _facts_elsewhere(x, spec.name, spec.hooks.device(x), spec.hooks.dtype(x))
    elif isinstance(found := _known_memory(x)[0], DeviceArray):
        return _facts_elsewhere(found, NO_KIND, found.device, found.dtype)
    return host_memory(_unmask(x, Options()), spec, Options())[1]


def shared_memory(
    x: Array, source: FrameworkSpec | None, target: FrameworkSpec, options: Options
) -> tuple[Callable[[], Array], Plan] | None:
    """Return how an array of ours and a device that computes in the host's memory share it, or None."""
    plain = options.dtype is None and options.order is None and options.copy is not True
    if source is None or not plain or options.device not in (None, "cpu"):
        return None
    refuse(x, source, cast=options.dtype is not None)
    place = source.hooks.device(x)
    see, wrap = source.hooks.map, target.hooks.wrap
    if target.name == "arrayloom" and see is not None and source.hooks.unified(x):
        reason = f"{place} computes in the host's memory, which arrayloom sees as it is"
        hazard = f"{source.name} sees what is written to the array, and writes to it"
        plan = Plan("map", 0, reason, (hazard,))
        return lambda: target.hooks.from_host(see(x), options), plan
    if source.name == "arrayloom" and wrap is not None and registry.is_imported(target):
        array, facts = host_memory(x, source, options)
        check_elements(facts, target, options)
        if facts.readonly or not facts.native or why_layout(facts, Layouts.COMPACT_C) is not None:
            return None
        if facts.dtype not in target.dtypes or not target.hooks.unified(None):
            return None
        reason = f"{target.name} computes in the host's memory and uses this as it is"
        plan = Plan("map", 0, reason, (f"arrayloom sees what {target.name} writes to the array",))
        return lambda: wrap(array), plan
    return None


def shared_plan(x: Array, target: FrameworkSpec, options: Options) -> Plan | None:
    """Return the plan for memory that a device and the host share, if an array has such memory."""
    source = spec_of(x)
    way = None if source is target else shared_memory(x, source, target, options)
    return None if way is None else way[1]


def _target(to: str | ModuleType | None, like: Array, options: Options) -> tuple[str, Options]:
    if like is not None:
        spec = spec_of(like)
        if to is not None or spec is None:
            msg = "pass either a kind or like=ARRAY of a known kind"
            raise TypeError(msg)
        refuse(like, spec)
        place = options.device or spec.hooks.device(like)
        return spec.name, replace(
            options, device=place if place in ("cpu",) or ":" in place else None
        )
    if isinstance(to, ModuleType):
        return registry.of_module(to).name, options
    if not isinstance(to, str):
        msg = f"the target must be a kind's name or a module, not {type(to).__name__}"
        raise TypeError(msg)
    return to, options


def _checked(options: Options) -> Options:
    """Judge the words that choose something, and name the device."""
    allowed = {
        "cast": dtypes.CASTS,
        "lossy": ("raise", "allow"),
        "readonly": ("share", "copy", "error", "isolate"),
        "order": (None, "C", "F"),
    }
    for name, values in allowed.items():
        if getattr(options, name) not in values:
            msg = f"{name} must be one of {', '.join(map(repr, values))}, not {getattr(options, name)!r}"
            raise ValueError(msg)
    copy = options.copy
    if copy is not None and not isinstance(copy, (bool, np.bool_)):
        msg = f"copy must be True, False or None, not {copy!r}"
        raise ValueError(msg)
    place = place_of(options.device)
    if place == options.device and (copy is None or type(copy) is bool):
        return options
    return replace(options, copy=None if copy is None else bool(copy), device=place)


def convert(
    x: Array,
    to: str | ModuleType | None = None,
    *,
    like: Array = None,
    **words: Any,  # noqa: ANN401
) -> Array:
    """Convert an array; the slow half of the builtin of the same name, which documents it."""
    try:
        options = Options(**words)
    except TypeError as error:
        unknown = sorted(set(words) - set(Options.__dataclass_fields__))
        msg = f"convert() has no keyword {', '.join(unknown)}"
        raise TypeError(msg) from error
    options = _checked(options)
    name, options = _target(to, like, options)
    return convert_with(x, registry.get(name), options)[0]


def placed(array: HostArray, kind: str, place: str | None) -> Array:
    """Return what was computed on the host as an array of a kind and a device; NumPy keeps it, with its mask."""
    return array if kind == "numpy" else convert(array, kind, device=place)


def convert_with(x: Array, target: FrameworkSpec, options: Options) -> tuple[Array, Plan]:
    """Convert an array, and tell how; whoever observes gets a row."""
    return recorded(x, target.name, lambda: _converted(x, target, options))


def recorded(x: Array, target: str, work: Callable[[], tuple[Array, Plan]]) -> tuple[Array, Plan]:
    """Do a conversion, and add what it did to the record that somebody looks at."""
    record = observing.current()
    if record is None:
        return work()
    source = spec_of(x)
    name = source.name if source is not None else type(x).__name__
    start = time.perf_counter_ns()
    made, plan = work()
    took = time.perf_counter_ns() - start
    record.add(
        observing.Row(
            "convert", name, target, plan.route, plan.nbytes, took, plan.reason, plan.hazards
        )
    )
    return made, plan


def _converted(x: Array, target: FrameworkSpec, options: Options) -> tuple[Array, Plan]:
    """Convert an array by the first way that there is."""
    source = spec_of(x)
    done = None
    if source is not None and source.name == target.name:
        done = _same_kind(x, source, options)
    if done is None:
        x = _unmask(x, options)
        registry.require(target)
        if source is not None:
            refuse(x, source, cast=options.dtype is not None)
            place = source.hooks.device(x)
        else:
            x, place = _known_memory(x)
        check_place(target, options, place)
        if isinstance(x, DeviceArray) and not lends(target, place, options):
            drivers.check_there(place, x.nbytes)
        if place != "cpu":
            done = _across(x, source, target, place, options)
        if done is None and place != "cpu" and knows(target, place, options):
            # Over the host, and back to the same device.
            options = replace(options, device=place)
    if done is None:
        done = _shared(x, source, target, options) or _over_host(x, source, target, options)
    return done


def _shared(
    x: Array, source: FrameworkSpec | None, target: FrameworkSpec, options: Options
) -> tuple[Array, Plan] | None:
    way = shared_memory(x, source, target, options)
    return None if way is None else (way[0](), way[1])


def _over_host(
    x: Array, source: FrameworkSpec | None, target: FrameworkSpec, options: Options
) -> tuple[Array, Plan]:
    """Convert by the memory that the host sees, shared or copied."""
    array, facts = host_memory(x, source, options)
    if source is None:
        facts = replace(facts, kind=type(x).__name__)
    if options.dtype is not None:
        array, facts = _cast(array, facts, options)
    narrowed = check_elements(facts, target, options)
    if narrowed is not None:
        if array.dtype.kind == "c" and not narrowed.startswith("complex"):
            # Whoever allows the loss gets the real parts.
            array = array.real
        array, facts = _cast(array, facts, replace(options, dtype=narrowed, cast="saturate"))
    plan = decide(facts, target, options, across=False)
    if plan.route == "download" or (plan.route == "copy" and facts.apart):
        # That is a copy already: nobody else sees it.
        readonly = target.mutable is Mutability.NEVER
        here = replace(facts, device="cpu", readonly=readonly, protected=False, apart="")
        again = decide(here, target, replace(options, copy=None))
        if again.route == "copy":
            array = _copy(array, target, options)
    elif plan.route == "copy":
        shared = _shared_pages(x, facts, plan, options)
        array = _copy(array, target, options) if shared is None else shared
        if shared is not None:
            plan = Plan("share", 0, "pages given away; a later write takes new ones")
    return target.hooks.from_host(array, options), plan


def _shared_pages(x: Array, facts: Facts, plan: Plan, options: Options) -> HostArray | None:
    if facts.kind != "arrayloom" or not plan.reason.startswith("isolated") or options.copy is True:
        return None
    return _ext.bridge.share_pages(x)


def _copy(array: HostArray, target: FrameworkSpec, options: Options) -> HostArray:
    if target.name == "numpy":
        # NumPy keeps the byte order and the order of axes.
        order: Any = options.order or "K"
        return np.array(array, order=order, copy=True)
    return dtypes.aligned_copy(array, max(target.align, 64), options.order or "C")


def _cast(array: HostArray, facts: Facts, options: Options) -> tuple[HostArray, Facts]:
    done = dtypes.cast(array, options.dtype, how=options.cast, nan=options.nan)
    if done is array:
        return array, facts
    if options.copy is False:
        msg = f"copy=False is impossible: a cast from {facts.dtype} to {done.dtype.name} copies"
        raise BufferError(msg)
    apart = f"a cast from {facts.dtype} to {done.dtype.name}"
    return done, facts_of(done, facts.kind, "cpu", apart=apart)


def _same_kind(x: Array, spec: FrameworkSpec, options: Options) -> tuple[Array, Plan] | None:
    """Return the array itself, a copy, or None if it must go over the host."""
    nothing = (None, None, None, None)
    if (options.device, options.dtype, options.order, options.fill) == nothing and not options.copy:
        return x, Plan("same", 0, "it is of this kind already")
    if isinstance(x, np.ma.MaskedArray):
        return None
    refuse(x, spec, abroad=False)
    place = spec.hooks.device(x)
    check_place(spec, options, place)
    other = options.dtype is not None and (
        dtypes.numpy_dtype(options.dtype).name != spec.hooks.dtype(x)
    )
    moved = options.device is not None and options.device != place
    able = spec.hooks.to_device if moved else spec.hooks.copy or hasattr(x, "copy")
    if other or options.order is not None or ((moved or options.copy) and not able):
        return None
    if not moved and not options.copy:
        return x, Plan("same", 0, "it is of this kind already")
    nbytes = getattr(x, "nbytes", None)
    if nbytes is None:
        nbytes = describe(x).nbytes
    if not moved:
        made = x.copy() if spec.hooks.copy is None else spec.hooks.copy(x)
        return made, Plan("copy", nbytes, "copy=True asked for")
    if options.copy is False:
        msg = f"copy=False is impossible from {place} to {options.device}"
        raise BufferError(msg)
    made = cast("Any", spec.hooks.to_device)(x, str(options.device))
    return made, Plan("move", nbytes, f"from {place} to {options.device}")


def _known_memory(x: Array) -> tuple[Array, str]:
    """Return an object of no framework, or its memory if that lies on a device, and where it lies."""
    if isinstance(getattr(x, "__cuda_array_interface__", None), Mapping) or (
        hasattr(type(x), "__dlpack_device__") and family_of(device_number(x)) != "cpu"
    ):
        found = x if isinstance(x, DeviceArray) else memory_of(x)
        if isinstance(found, DeviceArray):
            return found, found.device
    return x, "cpu"


def _across(
    x: Array, source: FrameworkSpec | None, target: FrameworkSpec, place: str, options: Options
) -> tuple[Array, Plan] | None:
    """Go from device to device without the host, if both know it."""
    if not knows(target, place, options):
        return None
    copies = options.dtype is not None or options.copy is True
    if copies and target.name == "arrayloom":
        msg = (
            f"arrayloom lends memory of {place} on as it is: leave dtype= and copy=True out, or convert "
            "to a framework that computes there"
        )
        raise BufferError(msg)
    adopt, take, copy = target.hooks.adopt, target.hooks.take, target.hooks.copy
    if options.dtype is not None or (copies and copy is None):
        return None
    if adopt is None and take is None:
        return None
    if source is not None and source.hooks.prepare is not None:
        x = source.hooks.prepare(x, options)
    if source is not None:
        streams.order(x, source, target, place, options)
    elif not target.asks_stream:
        x.wait()
    with streams.inside(target, place, options):
        made = adopt(x, options) if adopt is not None else cast("Any", take)()(x)
        if made is NotImplemented:
            return None
        if options.copy is not True:
            return made, Plan("device", 0, f"both know {place}")
        nbytes = describe(x).nbytes
        return cast("Any", copy)(made), Plan("copy", nbytes, "copy=True asked for")
