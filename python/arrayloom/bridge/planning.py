"""How an array gets from one kind to another: decided from facts, before foreign code runs.

A hazard that is known to end the process or to change values silently is a branch here.
"""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import prod
from types import ModuleType
from typing import Any

import numpy as np

from arrayloom import _ext
from arrayloom.bridge import drivers, registry
from arrayloom.bridge.dtypes import numpy_dtype, row_major
from arrayloom.bridge.errors import LossyConversionError
from arrayloom.bridge.registry import Array, FrameworkSpec, HostArray, Layouts, Mutability, Options

__all__ = ["Facts", "Plan", "plan"]


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of an array without copying or waiting.

    `apart` says why the described memory is a copy of the array already, which nobody else sees.
    """

    kind: str
    device: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int
    address: int = 0
    readonly: bool = False
    native: bool = True
    protected: bool = False
    apart: str = ""

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return prod(self.shape) * self.itemsize


@dataclass(frozen=True, slots=True)
class Plan:
    """A conversion that has not happened.

    Attributes
    ----------
    route : str
        'same', 'share', 'map' (a device computes in the host's memory), 'copy', 'upload', 'download',
        'device' or 'move'.
    nbytes : int
        Bytes that are copied.
    reason : str
        Why there is a copy, or why there is none.
    hazards : tuple of str
        What the receiver could do and should not.
    """

    route: str
    nbytes: int
    reason: str
    hazards: tuple[str, ...] = field(default=())

    @property
    def zero_copy(self) -> bool:
        """Whether the result shares the memory."""
        return self.route in ("same", "share", "device", "map")

    def __str__(self) -> str:
        """Give the plan in one line, and one more for each hazard."""
        lines = [f"{self.route}, {self.nbytes} bytes copied: {self.reason}"]
        return "\n".join([*lines, *(f"  hazard: {hazard}" for hazard in self.hazards)])

    def to_json(self) -> str:
        """Return the plan as JSON.

        Examples
        --------
        >>> Plan("share", 0, "both read the memory of the host").to_json()
        '{"route": "share", "nbytes": 0, "reason": "both read the memory of the host", "hazards": []}'
        """
        import json  # noqa: PLC0415 - takes milliseconds

        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Plan":
        """Read what :meth:`to_json` wrote."""
        import json  # noqa: PLC0415 - takes milliseconds

        facts = json.loads(text)
        return cls(**{**facts, "hazards": tuple(facts["hazards"])})


def facts_of(
    array: HostArray,
    kind: str,
    device: str = "cpu",
    *,
    mutable: bool | None = None,
    apart: str | None = None,
) -> Facts:
    """Describe an array by the memory that NumPy sees."""
    return Facts(
        kind=kind,
        device=device,
        dtype=array.dtype.name,
        shape=array.shape,
        strides=array.strides,
        itemsize=array.dtype.itemsize,
        address=array.ctypes.data if array.size else 0,
        readonly=not array.flags.writeable if mutable is None else not mutable,
        native=array.dtype.isnative,
        protected=not array.flags.writeable and not _owned_by_array(array),
        apart=apart or "",
    )


def _owned_by_array(array: HostArray) -> bool:
    """Whether read-only memory can still be written without harm to others than arrays."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if isinstance(owner, np.memmap):
            return False
        if owner.base is None:
            return bool(owner.flags.owndata)
        owner = owner.base
    # Memory of other tensors, lent by DLPack or as a view. Files, bytes and the like are protected.
    return (
        registry.resolve(type(owner)) is not None
        or "PyCapsule" in type(owner).__name__
        or (isinstance(owner, memoryview) and _lends(owner.obj))
    )


def _lends(exporter: object) -> bool:
    """Whether the memory of a buffer is an array's."""
    if isinstance(exporter, _ext.BufferExport):
        exporter = exporter.array
    return registry.resolve(type(exporter)) is not None


def _compact(facts: Facts, *, fortran: bool) -> bool:
    step = facts.itemsize
    axes = range(len(facts.shape)) if fortran else range(len(facts.shape) - 1, -1, -1)
    for axis in axes:
        if facts.shape[axis] != 1 and facts.strides[axis] != step:
            return False
        step *= facts.shape[axis]
    return True


def why_layout(facts: Facts, layouts: Layouts) -> str | None:
    """Return why these steps need a copy, or None."""
    if prod(facts.shape) == 0 or layouts is Layouts.ANY:
        return None
    if layouts is Layouts.COMPACT_C and not _compact(facts, fortran=False):
        return "not compact row-major memory"
    if layouts is Layouts.COMPACT and not (
        _compact(facts, fortran=False) or _compact(facts, fortran=True)
    ):
        return "not compact memory"
    if any(s < 0 for s in facts.strides):
        return "negative steps"
    if any(s % facts.itemsize for s in facts.strides):
        return "steps between elements"
    return None


def why_copy(facts: Facts, spec: FrameworkSpec, options: Options) -> str | None:
    """Return why a host array must be copied for a framework on the host, or None."""
    if not facts.native and spec.name != "numpy":
        return "elements in the other byte order"
    if facts.dtype in spec.by_value:
        return f"{spec.name} takes {facts.dtype} only by value"
    return (
        why_layout(facts, spec.layouts)
        or _why_address(facts, spec)
        or _why_order(facts, options)
        or _why_protected(facts, spec, options)
    )


def _why_address(facts: Facts, spec: FrameworkSpec) -> str | None:
    wanted = facts.itemsize if spec.align == 1 and spec.layouts is not Layouts.ANY else spec.align
    if facts.dtype.startswith("complex") and spec.align == 1:
        wanted = max(wanted // 2, 1)
    if prod(facts.shape) and facts.address % wanted:
        return f"address not aligned to {wanted} bytes"
    return None


def _why_order(facts: Facts, options: Options) -> str | None:
    if options.order in ("C", "F") and not _compact(facts, fortran=options.order == "F"):
        return f"order {options.order!r} asked for"
    return None


def _why_protected(facts: Facts, spec: FrameworkSpec, options: Options) -> str | None:
    if spec.mutable is Mutability.ALWAYS and facts.readonly:
        if facts.protected:
            return f"write-protected memory, which {spec.name} would write to"
        if options.readonly == "copy":
            return "readonly='copy' asked for"
        if options.borrowed is False and options.readonly == "isolate":
            return "immutable memory, and the function may write to its arguments"
    return None


def isolates(facts: Facts, spec: FrameworkSpec, options: Options) -> bool:
    """Whether memory that can still be written goes to a framework that believes it immutable."""
    return (
        spec.mutable is Mutability.NEVER
        and not facts.readonly
        and options.copy is not False
        and not options.borrowed
    )


def check_elements(facts: Facts, spec: FrameworkSpec, options: Options) -> str | None:
    """Return the element type that the target needs, None for the array's own.

    Raises
    ------
    LossyConversionError, TypeError, ValueError
        The target has no such elements, or no arrays of this shape.
    """
    if len(facts.shape) not in spec.ndim:
        msg = (
            f"{spec.name} has arrays of {spec.ndim.start} to {spec.ndim.stop - 1} axes, and this "
            f"{facts.kind} array has the shape {facts.shape}; reshape it first"
        )
        raise ValueError(msg)
    if options.order == "F" and spec.layouts is Layouts.COMPACT_C and len(facts.shape) > 1:
        msg = f"{spec.name} has row-major arrays only; order='F' is impossible"
        raise ValueError(msg)
    if not spec.empty and prod(facts.shape) == 0:
        msg = f"{spec.name} has no empty arrays, and this one has the shape {facts.shape}"
        raise ValueError(msg)
    narrowed = spec.narrowed
    if facts.dtype in narrowed and spec.hooks.narrowing is not None:
        narrowed = spec.hooks.narrowing()
    if facts.dtype in narrowed:
        if options.lossy == "allow":
            return narrowed[facts.dtype]
        cure = (
            'switch 64-bit elements on with jax.config.update("jax_enable_x64", True), or'
            if spec.name == "jax"
            else "cast it yourself with dtype=..., or"
        )
        msg = (
            f"{spec.name} would turn {facts.dtype} of this {facts.kind} array into "
            f"{narrowed[facts.dtype]}; {cure} pass lossy='allow'"
        )
        raise LossyConversionError(msg)
    if facts.dtype not in spec.dtypes:
        msg = (
            f"{spec.name} has no elements of type {facts.dtype}, which this {facts.kind} array has; "
            "cast it first with dtype=..."
        )
        raise TypeError(msg)
    return None


def _impossible(facts: Facts, spec: FrameworkSpec, reason: str) -> BufferError:
    msg = (
        f"copy=False is impossible from {facts.kind} on {facts.device} to {spec.name}: {reason}; "
        "pass copy=None to allow a copy"
    )
    return BufferError(msg)


def _hazards(facts: Facts, spec: FrameworkSpec, options: Options) -> tuple[str, ...]:
    if spec.mutable is Mutability.ALWAYS and facts.readonly:
        if options.readonly == "error":
            msg = f"{spec.name} would let you write to immutable {facts.kind} memory"
            raise BufferError(msg)
        return (f"{spec.name} lets you write to memory that {facts.kind} believes immutable",)
    if spec.mutable is Mutability.NEVER and not facts.readonly:
        return (
            f"writes to the {facts.kind} array are seen by {spec.name}, which believes it immutable",
        )
    return ()


def place_of(device: Any) -> str | None:  # noqa: ANN401 - a text, or a framework's device
    """Return the name of a device: 'cpu', 'cuda:0', ..., or None for None.

    Raises
    ------
    TypeError, ValueError
        It names no device.
    """
    if device is None:
        return None
    text = str(device) if type(device).__module__ == "torch" else device
    if not isinstance(text, str) and hasattr(device, "platform") and hasattr(device, "id"):
        text = f"{device.platform}:{device.id}"
    if not isinstance(text, str):
        msg = f"a device is a text such as 'cpu' or 'cuda:0', not {device!r}"
        raise TypeError(msg)
    family, colon, number = text.partition(":")
    if not family or (colon and not number.isdecimal()):
        msg = f"a device is a text such as 'cpu' or 'cuda:0', not {text!r}"
        raise ValueError(msg)
    family = {"gpu": "cuda"}.get(family, family)
    if family == "cpu" and int(number or 0):
        msg = f"the host is one device, 'cpu', and there is no {text!r}"
        raise ValueError(msg)
    return "cpu" if family == "cpu" else f"{family}:{int(number or 0)}"


def check_place(spec: FrameworkSpec, options: Options, place: str) -> None:
    """Say where a framework has arrays if it has none on the device that is asked for.

    Raises
    ------
    ValueError
        It has none there.
    """
    asked = options.device
    if asked is None or asked.partition(":")[0] in spec.devices:
        return
    if spec.name == "arrayloom" and asked == place:
        return
    has = ", ".join(sorted(spec.devices))
    if spec.name == "arrayloom":
        has += ", and keeps memory of other devices where it lies"
    msg = f"{spec.name} has no arrays on {asked}; it has some on {has}"
    raise ValueError(msg)


def lends(spec: FrameworkSpec, place: str, options: Options) -> bool:
    """Whether memory of a device is kept where it lies, and only lent on, so that nobody looks at it here."""
    return spec.name == "arrayloom" and options.device == place


def knows(spec: FrameworkSpec, place: str, options: Options) -> bool:
    """Whether a framework can take memory of a device as it is.

    Arrays of ours compute on the host. On another device they only lend memory on, so that is asked for.
    """
    if spec.name == "arrayloom":
        return lends(spec, place, options)
    return place.partition(":")[0] in spec.devices and options.device in (None, place)


def decide(facts: Facts, spec: FrameworkSpec, options: Options, *, across: bool = True) -> Plan:
    """Choose the route for described memory.

    With ``across=False``, memory of a device goes over the host even if both know the device.

    Raises
    ------
    BufferError
        ``copy=False`` is impossible.
    """
    if across and facts.device != "cpu" and knows(spec, facts.device, options):
        return Plan("device", 0, f"both know {facts.device}")
    found = _off_host(facts, spec, options)
    if found is None and facts.apart:
        found = Plan("copy", facts.nbytes, facts.apart)
    if found is not None:
        if options.copy is False:
            raise _impossible(facts, spec, found.reason)
        return found
    reason = why_copy(facts, spec, options)
    if reason is None and options.copy is True:
        reason = "copy=True asked for"
    if reason is None and isolates(facts, spec, options):
        reason = f"isolated, since the {facts.kind} array can still be written; copy=False shares"
    if reason is None:
        hazards = _hazards(facts, spec, options)
        return Plan("share", 0, f"{spec.name} takes this memory as it is", hazards)
    if options.copy is False:
        raise _impossible(facts, spec, reason)
    return Plan("copy", facts.nbytes, reason)


def _off_host(facts: Facts, spec: FrameworkSpec, options: Options) -> Plan | None:
    """Return the plan if memory goes from or to a device that the other side does not know."""
    if facts.device != "cpu":
        return Plan("download", facts.nbytes, f"its memory lies on {facts.device}")
    target = options.device or ("cpu" if "cpu" in spec.devices else None)
    if target == "cpu":
        return None
    place = f"{target} is asked for" if target else f"{spec.name} has no arrays on the host"
    return Plan("upload", facts.nbytes, place)


def plan(
    x: Array | Facts | Mapping[str, Any], to: str | ModuleType, *, device: str | None = None
) -> Plan:
    """Tell how a conversion would go, without doing it.

    Parameters
    ----------
    x : array, Facts or mapping
        An array; or the fields of :class:`Facts`, for arrays that do not exist here.
    to : str or module
        The target kind. It need not be installed.
    device : str, optional
        Where the result shall lie.

    Returns
    -------
    Plan
        Route, whether memory is shared, bytes copied, the reason, hazards.

    Raises
    ------
    LossyConversionError, TypeError, ValueError, BufferError, FrameworkUnavailable
        As the conversion itself would.

    Examples
    --------
    >>> import numpy as np
    >>> found = plan(np.zeros((4, 4))[::-1], "torch")
    >>> found.route, found.nbytes, found.reason
    ('copy', 128, 'negative steps')
    """
    spec = registry.of_module(to) if isinstance(to, ModuleType) else registry.get(to)
    options = Options(device=place_of(device))
    if isinstance(x, Mapping):
        fields = {"device": "cpu", "strides": None, "itemsize": None, **x}
        itemsize = fields["itemsize"] or numpy_dtype(fields["dtype"]).itemsize
        strides = fields["strides"] or row_major(fields["shape"], itemsize)
        x = Facts(**{**fields, "itemsize": itemsize, "strides": strides})
    vouched = isinstance(x, Facts)
    if not isinstance(x, Facts):
        from arrayloom.bridge import conversion  # noqa: PLC0415 - it imports this module

        found: Any = conversion.shared_plan(x, spec, options)
        if found is not None:
            return found
        x = conversion.describe(x)
        vouched = x.kind != conversion.NO_KIND or lends(spec, x.device, options)
    check_place(spec, options, x.device)
    if not vouched:
        drivers.check_there(x.device, x.nbytes)
    if x.kind == spec.name and options.device in (None, x.device):
        return Plan("same", 0, "it is of this kind already")
    check_elements(x, spec, options)
    return decide(x, spec, options)
