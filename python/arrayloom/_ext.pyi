# Types of the native module.

from collections.abc import Callable
from typing import Any, TypedDict

from numpy import ndarray

class _Op(TypedDict):
    calls: int
    seconds: float
    elements: int
    bytes: int

class _Fallback(TypedDict):
    op: str
    reason: str
    file: str
    line: int
    calls: int

class _Device(TypedDict):
    name: str
    threads: int
    isa: str
    memory: int

class _Stats(TypedDict):
    ops: dict[str, _Op]
    fallbacks: list[_Fallback]
    kernels: int
    flushes: int
    recorded: int
    fused_ops: int
    dropped: int
    contracted: int
    unfused_kernels: int
    bytes_read: int
    bytes_written: int
    cache_hits: int
    cache_misses: int
    faults: int
    write_barriers: int
    publishes: int
    live_slots: int
    device_seconds: float
    flush_seconds: float
    pool: dict[str, int]

version: str
LazyArray: type[ndarray[Any, Any]]

arange: Callable[..., ndarray[Any, Any]]
array: Callable[..., ndarray[Any, Any]]
asarray: Callable[..., ndarray[Any, Any]]
ascontiguousarray: Callable[..., ndarray[Any, Any]]
empty: Callable[..., ndarray[Any, Any]]
empty_like: Callable[..., ndarray[Any, Any]]
eye: Callable[..., ndarray[Any, Any]]
fromfile: Callable[..., ndarray[Any, Any]]
fromfunction: Callable[..., Any]
full: Callable[..., ndarray[Any, Any]]
full_like: Callable[..., ndarray[Any, Any]]
identity: Callable[..., ndarray[Any, Any]]
linspace: Callable[..., Any]
load: Callable[..., Any]
loadtxt: Callable[..., ndarray[Any, Any]]
ones: Callable[..., ndarray[Any, Any]]
ones_like: Callable[..., ndarray[Any, Any]]
zeros: Callable[..., ndarray[Any, Any]]
zeros_like: Callable[..., ndarray[Any, Any]]

def stats() -> _Stats: ...
def reset_stats() -> None: ...
def configure(
    *, threads: int | None = None, lazy: bool | None = None, min_bytes: int | None = None
) -> bool: ...
def devices() -> list[_Device]: ...
def flush() -> None: ...
def trim() -> int: ...
def enable_runner_patches() -> None: ...
def before_fork() -> None: ...
def after_fork_parent() -> None: ...
def after_fork_child() -> None: ...
def reinstall_handler() -> None: ...
