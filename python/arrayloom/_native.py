"""The one place where the runner meets the native module ``arrayloom._ext``.

Turns its loose dictionaries into typed records, and answers with empty records when the native
module is missing or older than this file, so that the runner itself never fails because of it.
"""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import cast

__all__ = [
    "COUNTERS",
    "TIMES",
    "Device",
    "Fallback",
    "OpRow",
    "Stats",
    "configure",
    "devices",
    "dump_kernels",
    "enable_runner_patches",
    "native_version",
    "reset_stats",
    "stats",
]

COUNTERS = (
    "recorded",
    "dropped",
    "kernels",
    "flushes",
    "fused_ops",
    "contracted",
    "renamed",
    "sweeps",
    "bytes_read",
    "bytes_written",
    "cache_hits",
    "cache_misses",
    "faults",
    "write_barriers",
    "publishes",
)
TIMES = ("flush_seconds", "device_seconds")


@dataclass(frozen=True)
class OpRow:
    """What one operation did: accelerated calls, their seconds and the bytes they moved."""

    op: str
    calls: int
    seconds: float
    nbytes: int


@dataclass(frozen=True)
class Fallback:
    """An operation that ran in NumPy itself: why, from which line, how often."""

    op: str
    reason: str
    file: str
    line: int
    calls: int


@dataclass(frozen=True)
class Stats:
    """Counters of the engine since the start or the last reset."""

    ops: tuple[OpRow, ...] = ()
    fallbacks: tuple[Fallback, ...] = ()
    delegated: tuple[Fallback, ...] = ()
    counters: Mapping[str, int] = field(default_factory=dict[str, int])
    times: Mapping[str, float] = field(default_factory=dict[str, float])
    pool: Mapping[str, int] = field(default_factory=dict[str, int])
    backend: Mapping[str, int] = field(default_factory=dict[str, int])
    reasons: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class Device:
    """A device that can run kernels."""

    name: str
    threads: int
    isa: str
    memory: int


def _module() -> ModuleType | None:
    try:
        return importlib.import_module("arrayloom._ext")
    except ImportError:
        return None


def _function(name: str) -> Callable[..., object] | None:
    found = cast("object", getattr(_module(), name, None))
    return found if callable(found) else None


def _table(value: object) -> dict[str, object]:
    if not isinstance(value, Mapping):
        return {}
    items = cast("Mapping[object, object]", value)
    return {str(key): item for key, item in items.items()}


def _integer(value: object) -> int:
    return int(value) if isinstance(value, (int, float)) else 0


def _real(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _integers(value: object) -> dict[str, int]:
    return {k: _integer(v) for k, v in _table(value).items() if isinstance(v, (int, float))}


def _op_row(op: str, value: object) -> OpRow:
    row = _table(value)
    return OpRow(
        op=op,
        calls=_integer(row.get("calls")),
        seconds=_real(row.get("seconds")),
        nbytes=_integer(row.get("bytes")),
    )


def _fallback(value: object) -> Fallback:
    row = _table(value)
    return Fallback(
        op=str(row.get("op", "?")),
        reason=str(row.get("reason", "?")),
        file=str(row.get("file", "?")),
        line=_integer(row.get("line")),
        calls=_integer(row.get("calls", 1)),
    )


def _fallbacks(found: object) -> tuple[Fallback, ...]:
    rows = cast("list[object]", found) if isinstance(found, list) else []
    return tuple(_fallback(row) for row in rows)


def parse_stats(raw: object) -> Stats:
    """Typed statistics from the dictionary of the native module."""
    table = _table(raw)
    return Stats(
        ops=tuple(_op_row(op, row) for op, row in _table(table.get("ops")).items()),
        fallbacks=_fallbacks(table.get("fallbacks")),
        delegated=_fallbacks(table.get("delegated")),
        counters={name: _integer(table.get(name)) for name in COUNTERS},
        times={name: _real(table.get(name)) for name in TIMES},
        pool=_integers(table.get("pool")),
        backend=_integers(table.get("backend")),
        reasons=_integers(_table(table.get("backend")).get("reasons")),
    )


def native_version() -> str | None:
    """Version of the native module, or None when it cannot be loaded."""
    found = _module()
    return None if found is None else str(getattr(found, "version", "unknown"))


def stats() -> Stats:
    """Counters of the engine so far."""
    call = _function("stats")
    return Stats() if call is None else parse_stats(call())


def reset_stats() -> None:
    """Set every counter to zero."""
    call = _function("reset_stats")
    if call is not None:
        call()


def configure(
    *, threads: int | None = None, lazy: bool | None = None, min_bytes: int | None = None
) -> bool:
    """Change settings of the engine; False when the native module cannot."""
    call = _function("configure")
    if call is None:
        return False
    call(threads=threads, lazy=lazy, min_bytes=min_bytes)
    return True


def devices() -> tuple[Device, ...]:
    """Every device that the engine can use."""
    call = _function("devices")
    found = call() if call is not None else ()
    rows = cast("list[object]", found) if isinstance(found, list) else []
    tables = [_table(row) for row in rows]
    return tuple(
        Device(
            name=str(row.get("name", "?")),
            threads=_integer(row.get("threads")),
            isa=str(row.get("isa", "")),
            memory=_integer(row.get("memory")),
        )
        for row in tables
    )


def dump_kernels() -> bool:
    """Keep what runs, for ``--dump-kernels``; False when the native module cannot."""
    call = _function("dump_kernels")
    if call is None:
        return False
    call(True)  # noqa: FBT003 - positional only
    return True


def enable_runner_patches() -> bool:
    """Let operators of plain arrays reach the engine; False when the native module cannot."""
    call = _function("enable_runner_patches")
    if call is None:
        return False
    call()
    return True
