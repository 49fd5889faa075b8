# Types of the native module.

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, TypeAlias, TypedDict

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
    plan_seconds: float
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

class _PlanOp(TypedDict):
    name: str
    dtype: str
    storage: str
    file: str
    line: int

class _PlanView(TypedDict):
    array: int
    shape: list[int]
    dtype: str
    bytes: int
    storage: str

class _PlanKernel(TypedDict):
    shape: list[int]
    ops: list[_PlanOp]
    reads: list[_PlanView]
    writes: list[_PlanView]
    why: str | None
    code: str

class _PlanPass(TypedDict):
    kernels: list[_PlanKernel]
    bytes_read: int
    bytes_written: int

class _Plan(TypedDict):
    passes: list[_PlanPass]
    dropped: int
    put_off: int
    bytes_needed: int

def explain(array: object = None, /) -> _Plan: ...
def refuse_fallbacks(
    judge: Callable[[str, str, str, str, int, tuple[object, ...]], Exception | None] | None, /
) -> None: ...

class _Event(TypedDict):
    start: float
    seconds: float
    kernels: int
    operations: int
    named: list[tuple[str, str, int]]

def keep_journal(keep: bool, /) -> None: ...
def take_journal() -> tuple[list[tuple[str, str, int, int]], list[_Event], int]: ...
def is_pending(array: object, /) -> bool: ...
def dump_kernels(keep: bool, /) -> None: ...
def take_dumps() -> list[tuple[_Plan, int]]: ...
def stats() -> _Stats: ...
def reset_stats() -> None: ...
def configure(
    *, threads: int | None = None, lazy: bool | None = None, min_bytes: int | None = None
) -> bool: ...
def is_lazy() -> bool: ...
def devices() -> list[_Device]: ...
def conform(
    target: object,
    levels: list[int],
    dtype_names: list[str],
    seed: int,
    oracle: object = None,
    together: bool = True,
    progress: Callable[[str, int], object] | None = None,
) -> list[tuple[int, str, str, str]]: ...
def mutants(seed: int) -> list[tuple[str, str | None]]: ...
def probe(target: object) -> tuple[str, str, int, str]: ...
def flush() -> None: ...
def min_bytes() -> int: ...
def short_moves_crawl(crawls: bool, /) -> None: ...
def stand_in(modules: list[dict[str, Any]]) -> None: ...
def warn_at_once(wanted: bool) -> None: ...
def trim(keep: int = 0) -> int: ...
def memory_report(owners: int) -> dict[str, Any]: ...
def gpus() -> list[str]: ...
def philox(state: Sequence[int], count: int, dtype: str) -> Any | None: ...  # noqa: ANN401 - an array
def lifting(
    function: Callable[..., object], method: bool, *, writes: bool = False
) -> Callable[..., object]: ...
def memory_amount(text: str) -> int: ...
def memory_limit(
    bytes: int | None,  # noqa: A002 - as the module calls it
    device: str = "cpu",
) -> int | None: ...
def memory_trace() -> list[tuple[str, int, int]]: ...
def memory_replay(trace: Sequence[tuple[str, int, int]], limit: int | None) -> dict[str, int]: ...
def memory_cached(bytes: int | None) -> int | None: ...  # noqa: A002 - as the module calls it
def memory_restart_peak() -> int: ...
def memory_free(array: object, place: str) -> bool: ...
def note_rung(name: str, bytes: int, seconds: float) -> None: ...  # noqa: A002 - as the module calls it
def scope_open() -> int: ...
def scope_figures(scope: int) -> dict[str, int]: ...
def scope_close(scope: int, outer: int) -> list[dict[str, Any]]: ...

current_scope: ContextVar[int]

def enable_runner_patches() -> None: ...
def before_fork() -> None: ...
def after_fork_parent() -> None: ...
def after_fork_child() -> None: ...
def reinstall_handler() -> None: ...
def let_threads_out() -> None: ...

# An array of any framework.
_Foreign: TypeAlias = Any

class bridge:  # noqa: N801 - a module that is made in Rust
    @staticmethod
    def kind(x: _Foreign, /) -> str | None: ...
    convert: Callable[..., Any]
    to_numpy: Callable[..., Any]
    to_cupy: Callable[..., Any]
    to_torch: Callable[..., Any]
    to_tensorflow: Callable[..., Any]
    to_jax: Callable[..., Any]
    to_pyclesperanto: Callable[..., Any]
    to_arrayloom: Callable[..., Any]
    @staticmethod
    def register_type(kind: type, name: str | None) -> bool: ...
    @staticmethod
    def forget_types() -> None: ...
    @staticmethod
    def set_hooks(resolver: Callable[[type], str | None], planner: Callable[..., Any]) -> None: ...
    @staticmethod
    def set_rule(spec: object) -> None: ...
    @staticmethod
    def set_abroad(
        streams: ContextVar[tuple[tuple[str, int], ...]],
        order: Callable[[Any, Any, Any, str], None],
        kept: type,
    ) -> None: ...
    @staticmethod
    def set_watched(watched: bool) -> None: ...
    @staticmethod
    def to_capsule(
        array: _Foreign,
        versioned: bool,
        flags: int = 0,
        element: str | None = None,
    ) -> object: ...
    @staticmethod
    def from_capsule(capsule: object) -> tuple[ndarray[Any, Any], str, bool]: ...
    @staticmethod
    def capsule_info(
        capsule: object,
    ) -> tuple[bool, int, int, int, str, list[int], list[int]]: ...
    @staticmethod
    def exports(array: _Foreign) -> int: ...
    @staticmethod
    def lies_elsewhere(tensor: object) -> bool: ...
    @staticmethod
    def take_foreign(
        tensor: object,
    ) -> tuple[object, int, str, str, tuple[int, ...], tuple[int, ...], bool]: ...
    @staticmethod
    def lend_foreign(
        owner: object,
        place: tuple[int, int, int],
        form: tuple[str, list[int], list[int]],
        flags: int,
        versioned: bool,
    ) -> object: ...
    @staticmethod
    def plain(array: _Foreign) -> ndarray[Any, Any]: ...
    @staticmethod
    def adopt(array: ndarray[Any, Any]) -> ndarray[Any, Any]: ...
    @staticmethod
    def share_pages(array: _Foreign) -> ndarray[Any, Any] | None: ...
    @staticmethod
    def torch_view(tensor: _Foreign) -> tuple[ndarray[Any, Any], str] | None: ...
    @staticmethod
    def to_table(
        array: _Foreign, kind: type, element: str | None = None, flags: int = 0
    ) -> _Foreign: ...

_Axis: TypeAlias = tuple[int, int, str, float]
_Taps: TypeAlias = tuple[int, list[float], int, str, float]
_Need: TypeAlias = tuple[int, int, int] | None
_Corners: TypeAlias = tuple[list[int], list[int]]

class BufferExport:
    @property
    def array(self) -> object: ...

class Settling:
    def __init__(self, function: Callable[..., Any]) -> None: ...
    def __call__(self, *args: object, **kwargs: object) -> object: ...
    def __get__(self, instance: object, kind: type | None = None) -> object: ...

def settle(value: object) -> None: ...
def flood(
    before: ndarray[Any, Any],
    now: ndarray[Any, Any],
    mask: ndarray[Any, Any] | None,
    axes: Sequence[tuple[int, int, str, float]],
    points: Sequence[bool],
    to: bool,
    steps: int | None,
    budget: int,
) -> bool: ...

class VolumeExpr:
    def __init__(self) -> None: ...
    def array(self, array: ndarray[Any, Any], letter: str, mapped: bool) -> int: ...
    def reader(
        self,
        function: Callable[..., object],
        shape: list[int],
        letter: str,
        granule: list[int] | None,
    ) -> int: ...
    def manifest(self, facts: dict[str, Any], threads: int) -> int: ...
    def read_box(
        self, value: int, lo: list[int], hi: list[int], out: ndarray[Any, Any]
    ) -> None: ...
    def linear(self, value: int, /, axes: list[_Taps], letter: str) -> int: ...
    def laplacian(
        self, value: int, /, axes: list[tuple[_Taps, list[float]]], letter: str
    ) -> int: ...
    def extremum(
        self, value: int, /, maximum: bool, axes: list[_Axis], mask: list[bool] | None
    ) -> int: ...
    def heights(
        self,
        value: int,
        /,
        maximum: bool,
        axes: list[_Axis],
        mask: list[bool],
        heights: list[float],
    ) -> int: ...
    def range(self, value: int, /, axes: list[_Axis]) -> int: ...
    def rank(
        self,
        value: int,
        /,
        axes: list[_Axis],
        mask: list[bool],
        rank: int,
        percent: float | None = None,
    ) -> int: ...
    def nl_means(
        self, values: list[int], reach: list[tuple[int, int, str, float]], h: float, letter: str
    ) -> int: ...
    def correlate(
        self, value: int, /, axes: list[_Axis], mask: list[bool], weights: list[float], letter: str
    ) -> int: ...
    def local(
        self,
        value: int,
        /,
        axes: list[_Axis],
        mask: list[bool],
        name: str,
        numbers: list[float],
        letter: str,
    ) -> int: ...
    def call(
        self,
        function: Callable[..., object],
        name: str,
        inputs: list[int],
        needs: list[list[_Need]] | list[list[tuple[int, int, int]]],
        shape: list[int],
        letter: str,
        work: int,
        kernel: tuple[str | None, list[int | float | None]] | None = None,
    ) -> int: ...
    def shape(self, value: int) -> list[int]: ...
    def letter(self, value: int) -> str: ...
    def plan(self, budget: int, threads: int, align: list[int]) -> dict[str, Any]: ...
    def needs(self, threads: int, lo: list[int], hi: list[int]) -> list[_Corners]: ...
    def run_to_array(
        self,
        out: ndarray[Any, Any],
        budget: int,
        threads: int,
        progress: Callable[[int, int, int], object] | None,
        workers: list[tuple[int, int, str | None, int | None]],
    ) -> dict[str, Any]: ...
    def run_again(
        self, array: ndarray[Any, Any], out: ndarray[Any, Any], budget: int, threads: int
    ) -> None: ...
    def let_go(self) -> None: ...
    def run_to_sink(
        self,
        write: Callable[..., object],
        budget: int,
        threads: int,
        align: list[int],
        done: list[tuple[tuple[int, ...], tuple[int, ...]]],
        progress: Callable[[int, int, int], object] | None,
        written: Callable[..., object] | None,
        workers: list[tuple[int, int, str | None, int | None]],
    ) -> dict[str, Any]: ...
