"""The frameworks that are known, each described by one :class:`FrameworkSpec`.

A specification is data and callables. Nothing of a framework is imported until one of its arrays is
met, or it is asked for as a target. Others add theirs with :func:`register` or with an entry point in
the group ``arrayloom.frameworks`` that names a specification.
"""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import importlib
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import Enum
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from arrayloom import _ext
from arrayloom.bridge.errors import FrameworkUnavailable

__all__ = [
    "Array",
    "FrameworkSpec",
    "Hooks",
    "Layouts",
    "Mutability",
    "OomRules",
    "Options",
    "Refusal",
    "available",
    "get",
    "names",
    "register",
    "require",
]

# An array of any framework: nothing common is known of it.
Array: TypeAlias = Any
HostArray: TypeAlias = np.ndarray[Any, Any]

_INTEGERS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
NATIVE = _INTEGERS | {"bool", "float16", "float32", "float64", "complex64", "complex128"}
# 8-bit floats that most frameworks have, and those that only some have.
FLOAT8 = frozenset(f"float8_{kind}" for kind in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz"))
_RARE = frozenset(f"float8_{kind}" for kind in ("e3m4", "e4m3", "e4m3b11fnuz", "e8m0fnu"))
# Elements that NumPy has only by the package ml_dtypes.
EXTRA = frozenset({"bfloat16"}) | FLOAT8 | _RARE


def importer(name: str) -> Callable[[], Any]:
    """Return a function that gives a framework's module, imported when it is called first."""

    def module() -> Any:  # noqa: ANN401 - a module without types
        found = _loaded(name)
        # Waits for another thread that is importing it just now.
        return importlib.import_module(name) if found is None else found

    return module


def _loaded(name: str) -> ModuleType | None:
    """Return a module that has been imported to its end."""
    found = sys.modules.get(name)
    busy = getattr(getattr(found, "__spec__", None), "_initializing", False)
    return None if busy else found


class Layouts(Enum):
    """Which steps an importer takes without a copy."""

    ANY = "any steps"
    FORWARD = "steps that are not negative"
    COMPACT = "compact row-major or column-major memory"
    COMPACT_C = "compact row-major memory"


class Mutability(Enum):
    """Whether arrays of a kind can be written."""

    FLAG = "each array says so itself"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True, eq=False)
class Refusal:
    """Arrays that have no memory like others: how to know them, what to say.

    With ``abroad``, only other frameworks cannot use them: their own copies them. With ``cast``, nothing but
    the element type is in the way, so that ``dtype=`` is a cure.
    """

    test: Callable[[Array], bool]
    message: str
    cure: str
    abroad: bool = False
    cast: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class OomRules:
    """How a framework says that memory ran out.

    ``classes`` are certain by themselves. Instances of ``coded`` count only if their code, or their
    text's first words, are among ``codes`` and ``patterns``. ``sticky`` codes mean that the device is
    broken: nothing is tried again.
    """

    classes: tuple[str, ...] = ()
    coded: tuple[str, ...] = ()
    codes: frozenset[int] = frozenset()
    patterns: tuple[str, ...] = ()
    sticky: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Options:
    """How a conversion shall be done; the keywords of ``convert``."""

    device: str | None = None
    copy: bool | None = None
    dtype: str | None = None
    order: str | None = None
    cast: str = "exact"
    lossy: str = "raise"
    nan: Any = "raise"
    readonly: str = "share"
    detach: bool = False
    fill: Any = None
    stream: Any = None
    borrowed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Hooks:
    """What is done with arrays of a framework.

    Parameters
    ----------
    to_host : callable
        ``(array, options) -> ndarray`` over the same memory where it lies on the host, else a copy.
    from_host : callable
        ``(ndarray, options) -> array``. The array fits what the specification asks for; no copy is
        made unless the framework has no other way.
    device : callable
        ``(array) -> "cpu"``, ``"cuda:0"``, ``"opencl:0"``, ...
    dtype : callable
        ``(array) -> str``, as NumPy and ml_dtypes spell it.
    copy : callable
        A copy in new memory of the same kind.
    unavailable : callable
        None, or why the installed framework cannot start.
    prepare : callable
        ``(array, options) -> array``, for arrays whose memory needs the framework's help first.
    adopt : callable
        ``(foreign array, options) -> array`` on a device that both know, by DLPack; `take` if absent.
    take : callable
        ``() -> function``, asked for once: the framework's own import of memory of a device by DLPack,
        ``(foreign array) -> array``.
    place : callable
        ``(array) -> int``: the number of the device where an array lies, for frameworks of one family
        besides the host; or NotImplemented, or an exception, for arrays of the host and those that need a closer look.
    current : callable
        ``() -> function``, asked for once: ``() -> int``, the number of the framework's current device. Where
        that is the array's, `enter` need not be called.
    to_device : callable
        ``(array, device) -> array`` of the same kind.
    synchronize : callable
        Wait until the array's value is there; late errors come here.
    stream : callable
        ``(device) -> int``, the stream that its work on the device goes to now, by the array API's
        numbers; None for frameworks that manage streams by themselves.
    enter : callable
        ``(device, stream or None) -> context manager`` that makes both current.
    keep : callable
        ``(array, stream)``: an array made on another stream is used on this one.
    unified : callable
        ``(array or None) -> bool``: whether the array's device, or the one in use, computes in the host's
        memory, so that ``map`` and ``wrap`` share it.
    map : callable
        ``(array) -> ndarray`` over the memory of a device; NotImplemented if it is not `unified`.
    wrap : callable
        ``(ndarray) -> array`` over memory of the host; NotImplemented if the device is not `unified`.
    version : callable
        Something that compares unequal once the array was written, as far as that can be told; None if it cannot.
    traced : callable
        Whether a value exists only while the framework traces a function: it has no memory and no place.
    astype : callable
        ``(array, dtype, limit) -> array`` of other elements, made by the framework's own operations, so that
        gradients and traces go on. Finite values beyond the limit become it; None for no limit.
    save_rng, restore_rng : callable
        The state of the framework's random generators, out and in.
    before_import : callable
        Run before the framework is imported by the bridge.
    view : callable
        ``(array) -> ndarray or memoryview`` of the same memory on the host, without options and refusals;
        or NotImplemented, or an exception, for arrays that need a closer look. Usual conversions take it.
    accept : callable
        ``() -> function``, asked for once, when the framework is imported: ``(capsule) -> array`` over memory
        of the host that fits the specification, lent by DLPack without a version.
    download : callable
        ``(array) -> ndarray``, a copy on the host, for frameworks without arrays there.
    upload : callable
        ``() -> function``, asked for once as `accept` is: ``(ndarray) -> array`` on the device in use, of a
        compact array of elements that the framework has.
    apart : callable
        None, or why what ``to_host`` gives is a copy already.
    table : callable
        ``() -> type`` of its arrays, if that has an exchange table of DLPack 1.3 for both directions.
    narrowing : callable
        ``() -> mapping``: which element types shrink to what now, if settings change that.
    """

    to_host: Callable[[Array, Options], HostArray]
    from_host: Callable[[HostArray, Options], Array]
    device: Callable[[Array], str] = lambda _: "cpu"
    dtype: Callable[[Array], str] = lambda x: str(x.dtype)
    copy: Callable[[Array], Array] | None = None
    unavailable: Callable[[], str | None] = lambda: None
    prepare: Callable[[Array, Options], Array] | None = None
    adopt: Callable[[Array, Options], Array] | None = None
    take: Callable[[], Callable[[Array], Array]] | None = None
    place: Callable[[Array], Any] | None = None
    current: Callable[[], Callable[[], int]] | None = None
    to_device: Callable[[Array, str], Array] | None = None
    synchronize: Callable[[Array], None] | None = None
    stream: Callable[[str], int] | None = None
    enter: Callable[[str, int | None], AbstractContextManager[Any]] | None = None
    keep: Callable[[Array, int], None] | None = None
    unified: Callable[[Array], bool] = lambda _: False
    map: Callable[[Array], Any] | None = None
    wrap: Callable[[HostArray], Array] | None = None
    version: Callable[[Array], object] = lambda _: None
    traced: Callable[[Array], bool] = lambda _: False
    astype: Callable[[Array, str, float | None], Array] | None = None
    save_rng: Callable[[], Any] | None = None
    restore_rng: Callable[[Any], None] | None = None
    before_import: Callable[[], None] = lambda: None
    view: Callable[[Array], Any] | None = None
    accept: Callable[[], Callable[[object], Array]] | None = None
    download: Callable[[Array], Any] | None = None
    upload: Callable[[], Callable[[HostArray], Array]] | None = None
    apart: Callable[[Array], str | None] = lambda _: None
    table: Callable[[], type] | None = None
    narrowing: Callable[[], Mapping[str, str]] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class FrameworkSpec:
    """A framework: how its arrays are known, and what they can be.

    Parameters
    ----------
    name : str
        The kind, as in ``convert(x, "torch")``.
    modules : tuple of str
        Import names; the first that exists is the framework.
    array_types : tuple of str
        ``"module:qualified name"`` of its array classes; subclasses count.
    hooks : Hooks
        What is done with its arrays.
    refused : tuple of Refusal
        Arrays that cannot be converted.
    align : int
        Bytes that the address must be a multiple of.
    layouts : Layouts
        Steps that are taken without a copy.
    dtypes : frozenset of str
        Element types it has.
    by_value : frozenset of str
        Element types that it takes only by a copy.
    narrowed : mapping of str to str
        Element types it lacks, and to what they shrink if that is allowed.
    ndim : range
        Numbers of axes it has.
    empty : bool
        Whether it has arrays without elements.
    mutable : Mutability
        Whether its arrays can be written.
    devices : frozenset of str
        Device families its arrays can lie on.
    asks_stream : bool
        Whether its import names its stream to the producer.
    orders_exports : bool
        Whether its export waits for its own work, or lets the consumer's stream wait.
    oom : OomRules
        How it says that memory ran out.
    release : callable
        ``(device or None) -> bytes`` given back by its caches.
    spill : callable
        ``(device or None) -> bytes`` of arrays that it moved elsewhere, to come back when they are used.
    env_defaults : mapping of str to str
        Environment variables for processes that will import it.
    """

    name: str
    modules: tuple[str, ...]
    array_types: tuple[str, ...]
    hooks: Hooks
    refused: tuple[Refusal, ...] = ()
    align: int = 1
    layouts: Layouts = Layouts.ANY
    dtypes: frozenset[str] = NATIVE
    by_value: frozenset[str] = frozenset()
    narrowed: Mapping[str, str] = field(default_factory=dict[str, str])
    ndim: range = range(65)
    empty: bool = True
    mutable: Mutability = Mutability.FLAG
    devices: frozenset[str] = frozenset({"cpu"})
    asks_stream: bool = False
    orders_exports: bool = False
    oom: OomRules = OomRules()
    release: Callable[[str | None], int] = lambda _: 0
    spill: Callable[[str | None], int] = lambda _: 0
    env_defaults: Mapping[str, str] = field(default_factory=dict[str, str])


_BUILTIN = ("numpy", "cupy", "torch", "tensorflow", "jax", "pyclesperanto", "arrayloom")
_specs: dict[str, FrameworkSpec] = {}
_started: set[str] = set()
_state = {"discovered": False}


def load_builtin() -> None:
    for name in _BUILTIN:
        # A module called arrayloom would hide the package from type checkers.
        file = "ours" if name == "arrayloom" else name
        module = importlib.import_module(f"arrayloom.bridge.frameworks.{file}")
        _specs[name] = module.SPEC
    for name in ("numpy", "arrayloom"):
        _start(_specs[name])


def _discover() -> bool:
    """Load the specifications of installed packages, once. True if there were any."""
    if _state["discovered"]:
        return False
    _state["discovered"] = True
    from importlib.metadata import entry_points  # noqa: PLC0415 - takes milliseconds

    found = False
    for point in entry_points(group="arrayloom.frameworks"):
        spec = point.load()
        if isinstance(spec, FrameworkSpec) and spec.name not in _specs:
            _specs[spec.name] = spec
            found = True
    return found


def register(spec: FrameworkSpec) -> None:
    """Add a framework, or replace one.

    Parameters
    ----------
    spec : FrameworkSpec
        Its description.

    Examples
    --------
    >>> from arrayloom.bridge import FrameworkSpec, Hooks, register, kind
    >>> class Box:
    ...     def __init__(self, data):
    ...         self.data = data
    >>> register(
    ...     FrameworkSpec(
    ...         name="box",
    ...         modules=(__name__,),
    ...         array_types=(f"{Box.__module__}:{Box.__qualname__}",),
    ...         hooks=Hooks(to_host=lambda x, _: x.data, from_host=lambda a, _: Box(a)),
    ...     )
    ... )
    >>> kind(Box(None))
    'box'
    """
    _specs[spec.name] = spec
    if spec.name in _started:
        _start(spec)
    _ext.bridge.forget_types()
    _ext.bridge.register_type(_ext.LazyArray, "arrayloom")


def names() -> tuple[str, ...]:
    """Names of all frameworks that are known, installed or not."""
    _discover()
    return tuple(_specs)


def get(name: str) -> FrameworkSpec:
    """Return the specification of a kind.

    Raises
    ------
    TypeError
        There is no such kind.
    """
    spec = _specs.get(name)
    if spec is None and _discover():
        spec = _specs.get(name)
    if spec is None:
        msg = f"no array framework {name!r}; known are {', '.join(_specs)}"
        raise TypeError(msg)
    return spec


def of_module(module: ModuleType) -> FrameworkSpec:
    """Return the specification of an imported framework, such as ``torch`` or ``jax.numpy``."""
    root = module.__name__.partition(".")[0]
    for spec in _specs.values():
        if root in spec.modules or module.__name__ in spec.modules:
            return spec
    return get(root)


def require(spec: FrameworkSpec) -> ModuleType:
    """Import a framework.

    Raises
    ------
    FrameworkUnavailable
        It is not installed, or cannot start.
    """
    module = None
    if not is_imported(spec):
        spec.hooks.before_import()
    for name in spec.modules:
        try:
            module = _loaded(name) or importlib.import_module(name)
            break
        except ImportError as error:
            if not (
                isinstance(error, ModuleNotFoundError) and error.name == name.partition(".")[0]
            ):
                msg = f"{spec.name} cannot be imported: {error}"
                raise FrameworkUnavailable(msg) from error
    if module is None:
        msg = f"{spec.name} is not installed (looked for {', '.join(spec.modules)})"
        raise FrameworkUnavailable(msg)
    if spec.name not in _started:
        reason = spec.hooks.unavailable()
        if reason is not None:
            msg = f"{spec.name} is installed but cannot start: {reason}"
            raise FrameworkUnavailable(msg)
        _start(spec)
    return module


def _start(spec: FrameworkSpec) -> None:
    """Tell what a framework that was met for the first time lends and takes."""
    _started.add(spec.name)
    _ext.bridge.set_rule(spec)


def available() -> dict[str, str | None]:
    """Tell for every framework whether it can be used: None, or the reason why not.

    This imports the frameworks.
    """
    found: dict[str, str | None] = {}
    for name in names():
        try:
            require(_specs[name])
        except FrameworkUnavailable as error:
            found[name] = str(error)
        else:
            found[name] = None
    return found


def imported() -> tuple[FrameworkSpec, ...]:
    """Return the frameworks that this process has imported already."""
    return tuple(s for s in _specs.values() if is_imported(s))


def is_imported(spec: FrameworkSpec) -> bool:
    """Whether this process has imported a framework already."""
    return any(m in sys.modules for m in spec.modules)


def resolve(kind: type) -> str | None:
    """Return the kind that instances of a type are, or None; asked once per type."""
    for again in (False, True):
        if again and not _discover():
            break
        for cls in kind.__mro__:
            if cls is _ext.LazyArray:
                return "arrayloom"
            key = f"{cls.__module__}:{cls.__qualname__}"
            for spec in _specs.values():
                if key in spec.array_types:
                    if spec.name not in _started:
                        _start(spec)
                    return spec.name
    return None
