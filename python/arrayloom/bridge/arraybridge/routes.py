"""How arrays go from library to library, and records of how they went."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import time
from abc import ABC, ABCMeta, abstractmethod
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Protocol

from arrayloom.bridge.arraybridge.kinds import Device, HostDevice
from arrayloom.bridge.conversion import convert_with
from arrayloom.bridge.planning import Plan
from arrayloom.bridge.registry import Array, FrameworkSpec, Options


class Library(Protocol):
    """What a route needs to know of a library."""

    name: str
    spec: FrameworkSpec

    def device_of(self, data: Array) -> Device:
        """Return where an array lies."""
        ...

    def place(self, device: Device) -> str | None:
        """Return the bridge's name of a device."""
        ...

    def nbytes_of(self, data: Array) -> int:
        """Return the bytes of an array's elements."""
        ...


class RouteDeclinedError(Exception):
    """A route cannot carry an array."""


class ConversionRoute:
    """One way from library to library; the subclasses are all there are, the first choice first."""

    __registry__: ClassVar[dict[str, type["ConversionRoute"]]] = {}
    mechanism: ClassVar[str] = ""
    writes_a_record: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        ConversionRoute.__registry__[cls.mechanism] = cls

    @classmethod
    def candidates(
        cls,
        source: Library,
        source_device: Device,
        target: Library,
        target_device: Device,
    ) -> tuple[type["ConversionRoute"], ...]:
        """Return the planned route, and what is left if an array cannot take it. Touches no device."""
        first = _planned(source, source_device, target, target_device)
        return (first,) if first is HostCopy or source is target else (first, HostCopy)

    @classmethod
    def planned(
        cls,
        source: Library,
        source_device: Device,
        target: Library,
        target_device: Device,
    ) -> type["ConversionRoute"]:
        """Return the route that a conversion tries first. Touches no device."""
        return _planned(source, source_device, target, target_device)

    @classmethod
    def run(cls, data: Array, source: Library, target: Library, target_device: Device) -> Array:
        """Convert an array, and record how it went if somebody observes."""
        observer = ConversionObserver.current
        start = time.perf_counter()
        came_from = source.device_of(data)
        options = Options(device=target.place(target_device))
        result, plan = convert_with(data, target.spec, options)
        route = _taken(plan, source, target)
        if observer.wants_records and route.writes_a_record:
            first = cls.planned(source, came_from, target, target_device)
            observer.record(
                ConversionRecord(
                    source.name,
                    came_from.label,
                    target.name,
                    target_device.label,
                    route.mechanism,
                    target.nbytes_of(result),
                    time.perf_counter() - start,
                    () if first is route else (first.mechanism,),
                )
            )
        return result


class StaysInPlace(ConversionRoute):
    """The array itself."""

    mechanism = "stays in place"
    writes_a_record = False


class DeviceMove(ConversionRoute):
    """To another device of the same library."""

    mechanism = "device move"


class DLPackExchange(ConversionRoute):
    """The same memory, lent by DLPack."""

    mechanism = "dlpack"


class SharedHostBuffer(ConversionRoute):
    """The same memory of the host, as NumPy sees it."""

    mechanism = "shared host buffer"


class HostCopy(ConversionRoute):
    """A copy that goes over the host."""

    mechanism = "host copy"


def _planned(
    source: Library, source_device: Device, target: Library, target_device: Device
) -> type[ConversionRoute]:
    if source is target:
        return StaysInPlace if source_device == target_device else DeviceMove
    on_host = isinstance(source_device, HostDevice) and isinstance(target_device, HostDevice)
    if on_host and "cpu" in source.spec.devices and "cpu" in target.spec.devices:
        return SharedHostBuffer if "numpy" in (source.name, target.name) else DLPackExchange
    both = source.spec.devices & target.spec.devices - {"cpu"}
    if both and source_device == target_device and not isinstance(source_device, HostDevice):
        return DLPackExchange
    return HostCopy


def _taken(plan: Plan, source: Library, target: Library) -> type[ConversionRoute]:
    if plan.route == "same":
        return StaysInPlace
    if plan.route == "move":
        return DeviceMove
    if plan.zero_copy:
        return SharedHostBuffer if "numpy" in (source.name, target.name) else DLPackExchange
    return HostCopy


@dataclass(frozen=True, slots=True)
class ConversionRecord:
    """One conversion: from where, to where, how, how many bytes, how long."""

    source_library: str
    source_device: str
    target_library: str
    target_device: str
    mechanism: str
    nbytes: int
    seconds: float
    declined_mechanisms: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {**asdict(self), "declined_mechanisms": list(self.declined_mechanisms)}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "ConversionRecord":
        """Read what ``to_json`` gave."""
        return cls(**{**row, "declined_mechanisms": tuple(row.get("declined_mechanisms", ()))})


class _Observers(ABCMeta):
    """Gives the class its observer of the running context."""

    @property
    def current(cls) -> "ConversionObserver":
        """The observer of this context."""
        return _observer.get() or _NOBODY

    @current.setter
    def current(cls, observer: "ConversionObserver") -> None:
        _observer.set(observer)


class ConversionObserver(ABC, metaclass=_Observers):
    """Gets a record of every conversion while it is installed."""

    wants_records: ClassVar[bool] = True

    @abstractmethod
    def record(self, record: ConversionRecord) -> None:
        """Take one record."""

    def install(self) -> "ConversionObserver":
        """Observe from now on; returns who observed before."""
        before = ConversionObserver.current
        _observer.set(self)
        return before

    @contextmanager
    def installed(self) -> Generator[Any]:
        """Observe inside a block."""
        token = _observer.set(self)
        try:
            yield self
        finally:
            _observer.reset(token)


class IgnoreConversions(ConversionObserver):
    """Wants no records."""

    wants_records = False

    def record(self, record: ConversionRecord) -> None:
        """Drop it."""


_observer: ContextVar[ConversionObserver | None] = ContextVar("conversion_observer", default=None)
_NOBODY = IgnoreConversions()
_MEASURED = ("nbytes", "seconds")
_KEYS = tuple(f.name for f in fields(ConversionRecord) if f.name not in _MEASURED)


@dataclass(slots=True)
class ConversionTotal:
    """How often, how many bytes, how long."""

    count: int = 0
    nbytes: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class ConversionCounters(ConversionObserver):
    """Totals of all conversions that are alike but for bytes and time; plain data for other processes."""

    totals: dict[tuple[Any, ...], ConversionTotal] = field(
        default_factory=dict[tuple[Any, ...], ConversionTotal]
    )

    def record(self, record: ConversionRecord) -> None:
        """Count one conversion."""
        key = tuple(getattr(record, name) for name in _KEYS)
        self._add(key, ConversionTotal(1, record.nbytes, record.seconds))

    def _add(self, key: tuple[Any, ...], more: ConversionTotal) -> None:
        total = self.totals.setdefault(key, ConversionTotal())
        total.count += more.count
        total.nbytes += more.nbytes
        total.seconds += more.seconds

    def merge(self, other: "ConversionCounters") -> "ConversionCounters":
        """Add the totals of another process."""
        for key, total in other.totals.items():
            self._add(key, total)
        return self

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per kind of conversion as JSON has it, most bytes first."""
        ranked = sorted(self.totals.items(), key=lambda item: (-item[1].nbytes, item[0]))
        return [
            {
                **dict(zip(_KEYS[:-1], key, strict=False)),
                _KEYS[-1]: list(key[-1]),
                "count": total.count,
                "nbytes": total.nbytes,
                "seconds": total.seconds,
            }
            for key, total in ranked
        ]

    def to_json(self) -> list[dict[str, Any]]:
        """Return the same as ``rows``."""
        return self.rows()

    @classmethod
    def from_json(cls, rows: list[dict[str, Any]]) -> "ConversionCounters":
        """Read what ``to_json`` gave."""
        made = cls()
        for row in rows:
            key = (*(row[name] for name in _KEYS[:-1]), tuple(row[_KEYS[-1]]))
            made._add(key, ConversionTotal(row["count"], row["nbytes"], row["seconds"]))
        return made

    def format_table(self) -> str:
        """Return the totals as text, one line per kind of conversion."""
        lines = [f"{'from':28}{'to':28}{'mechanism':20}{'count':>7}{'MB':>10}{'seconds':>10}"]
        for row in self.rows():
            source = f"{row['source_library']} {row['source_device']}"
            target = f"{row['target_library']} {row['target_device']}"
            lines.append(
                f"{source:28}{target:28}{row['mechanism']:20}{row['count']:7}"
                f"{row['nbytes'] / 1e6:10.1f}{row['seconds']:10.3f}"
            )
        return "\n".join(lines)
