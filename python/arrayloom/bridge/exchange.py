"""Where arrays lie, their namespaces, DLPack capsules, and several arrays at a time."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

from dataclasses import replace
from types import ModuleType
from typing import Any

from arrayloom import _ext
from arrayloom.bridge import dtypes, registry
from arrayloom.bridge.conversion import (
    NO_KIND,
    convert,
    convert_with,
    host_memory,
    not_an_array,
    recorded,
    refuse,
    spec_of,
)
from arrayloom.bridge.foreign import DeviceArray, is_versioned
from arrayloom.bridge.planning import Facts, Plan, place_of
from arrayloom.bridge.registry import Array, HostArray, Options
from arrayloom.bridge.sources import memory_of, of_capsule

__all__ = ["array_namespace", "device", "from_dlpack", "move_to", "to_dlpack"]

# Flags of DLPack 1.0.
_READ_ONLY, _IS_COPIED = 1, 2


def device(x: Array) -> str:
    """Return where an array lies: ``"cpu"``, ``"cuda:0"``, ``"opencl:0"``, ...

    Raises
    ------
    TypeError
        Not an array.

    Examples
    --------
    >>> import numpy as np
    >>> device(np.zeros(3))
    'cpu'
    """
    spec = spec_of(x)
    if spec is None:
        found = memory_of(x)
        if found is None:
            raise not_an_array(x)
        return found.device if isinstance(found, DeviceArray) else "cpu"
    refuse(x, spec, abroad=False)
    return spec.hooks.device(x)


def array_namespace(*arrays: Array) -> ModuleType:
    """Return the module whose functions take these arrays.

    Raises
    ------
    TypeError
        They are of several kinds, or of none.

    Examples
    --------
    >>> import numpy as np
    >>> array_namespace(np.zeros(3), np.ones(3)).__name__
    'numpy'
    """
    found = {name for x in arrays if (name := _ext.bridge.kind(x)) is not None}
    if len(found) != 1:
        msg = f"arrays of one kind are needed, got {sorted(found) or 'none'}"
        raise TypeError(msg)
    spec = registry.get(found.pop())
    module = registry.require(spec)
    return registry.require(replace(spec, modules=("jax.numpy",))) if spec.name == "jax" else module


def to_dlpack(
    x: Array,
    *,
    stream: Any = None,  # noqa: ANN401 - an integer or a framework's stream
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> object:
    """Export an array as a DLPack capsule.

    The memory is shared, as the protocol says, and lives until the consumer's deleter ran.

    Parameters
    ----------
    x : array
        Of any kind on the host, or of a kind with ``__dlpack__``.
    stream : optional
        The consumer's stream on a device; None on the host.
    max_version : pair of int, optional
        (1, 0) or later for the versioned form; the form before 1.0 if absent.
    dl_device : pair of int, optional
        The device the consumer wants, as DLPack numbers it.
    copy : bool, optional
        True for a copy.

    Returns
    -------
    capsule
        Named ``dltensor_versioned`` or ``dltensor``.

    Raises
    ------
    BufferError
        Read-only memory in the old form, a stream on the host, or another device.
    TypeError
        A `max_version` that is no pair of numbers.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.arange(3.0)
    >>> np.shares_memory(from_dlpack(to_dlpack(a), "numpy"), a)
    True
    """
    is_versioned(max_version)
    words = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
    return recorded(x, "dlpack", lambda: _lent(x, words))[0]


def _lent(x: Array, words: dict[str, Any]) -> tuple[object, Plan]:
    """Export an array for a consumer's words, and tell how."""
    spec = spec_of(x)
    if isinstance(x, DeviceArray):
        return x.__dlpack__(**words), Plan("device", 0, f"lent on {x.device}")
    if spec is not None:
        refuse(x, spec)
    place = "cpu" if spec is None else spec.hooks.device(x)
    if spec is not None and place != "cpu":
        # Only those that order their exports by streams take one.
        ordered = spec.hooks.stream is not None
        capsule = x.__dlpack__(stream=words["stream"]) if ordered else x.__dlpack__()
        return capsule, Plan("device", 0, f"lent on {place}")
    array, facts = host_memory(x, spec, Options(copy=words["copy"]))
    _check_host(words["stream"], words["dl_device"])
    versioned = is_versioned(words["max_version"])
    return _lent_here(array, facts, versioned=versioned, copy=words["copy"] is True)


def _lent_here(
    array: HostArray, facts: Facts, *, versioned: bool, copy: bool
) -> tuple[object, Plan]:
    """Export memory of the host."""
    if not facts.native:
        msg = f"DLPack has no elements in the other byte order, such as {array.dtype.str}"
        raise BufferError(msg)
    if copy:
        array, flags = dtypes.aligned_copy(array, 256), _IS_COPIED
        plan = Plan("copy", facts.nbytes, "copy=True asked for")
    else:
        flags = _guard(facts, versioned=versioned)
        shared = Plan("share", 0, "DLPack lends this memory as it is")
        plan = Plan("copy", facts.nbytes, facts.apart) if facts.apart else shared
    carrier, element = dtypes.carried(array)
    capsule = _ext.bridge.to_capsule(carrier, versioned=versioned, flags=flags, element=element)
    return capsule, plan


def _guard(facts: Facts, *, versioned: bool) -> int:
    """Return the flags of memory that is lent as it is.

    Raises
    ------
    BufferError
        It is read-only, and the consumer could not know that.
    """
    if facts.readonly and not versioned and facts.kind in ("numpy", "arrayloom", NO_KIND):
        msg = (
            "DLPack before 1.0 cannot say that memory is read-only; pass max_version=(1, 0) or "
            "copy=True"
        )
        raise BufferError(msg)
    return _READ_ONLY if facts.readonly and versioned else 0


def _check_host(stream: Any, dl_device: tuple[int, int] | None) -> None:  # noqa: ANN401 - a number
    if stream not in (None, -1):
        msg = f"memory of the host has no stream {stream}; pass None"
        raise BufferError(msg)
    if dl_device not in (None, (1, 0)):
        msg = f"the array lies on the host, DLPack device (1, 0), not on {dl_device}"
        raise BufferError(msg)


def from_dlpack(
    x: Array, kind: str = "arrayloom", *, device: str | None = None, copy: bool | None = None
) -> Array:
    """Import a capsule, or anything with ``__dlpack__``, as an array of a kind.

    The memory is shared, as the protocol says, unless the target would misuse it.

    Parameters
    ----------
    x : capsule or array
        The producer's. A capsule can be used once.
    kind : str
        Of the result.
    device : str, optional
        Where the result shall lie.
    copy : bool, optional
        As for ``convert``. None shares where the target can use the memory.

    Returns
    -------
    array
        Of the given kind.

    Raises
    ------
    BufferError
        The tensor breaks the protocol, or the capsule was used before.
    TypeError
        Neither a capsule nor an array.

    Examples
    --------
    >>> import numpy as np
    >>> from_dlpack(np.arange(3), "numpy")
    array([0, 1, 2])
    """
    spec = registry.get(kind)
    copy = None if copy is None else bool(copy)
    options = Options(device=place_of(device), copy=copy, borrowed=True)
    if type(x).__name__ == "PyCapsule":
        x = of_capsule(x)
    elif spec_of(x) is None and not hasattr(type(x), "__dlpack__"):
        name = f"{type(x).__module__}.{type(x).__qualname__}"
        msg = (
            f"{name} is no capsule and has no __dlpack__; convert takes numbers, lists and buffers"
        )
        raise TypeError(msg)
    return convert_with(x, spec, options)[0]


def move_to(*arrays: Array, xp: Array = None, device: str | None = None) -> Any:  # noqa: ANN401
    """Bring several arrays to one kind and one device.

    Parameters
    ----------
    *arrays : array
        Of any kinds; None stays None.
    xp : module or str, optional
        The target's namespace; that of the first array if absent.
    device : str, optional
        Where the results shall lie.

    Returns
    -------
    array or tuple of array
        One result per argument; the result itself if there is one argument.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = move_to(np.zeros(2), [1.0, 2.0])
    >>> type(b).__name__
    'ndarray'
    """
    if xp is None:
        kinds = [
            name for x in arrays if x is not None and (name := _ext.bridge.kind(x)) is not None
        ]
        if not kinds:
            msg = "none of the arguments is an array of a known kind; pass xp="
            raise TypeError(msg)
        xp = kinds[0]
    moved = tuple(None if x is None else convert(x, xp, device=device) for x in arrays)
    return moved[0] if len(moved) == 1 else moved
