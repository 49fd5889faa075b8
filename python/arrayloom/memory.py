"""Memory of arrays: limits, reuse, scopes, reports.

arrayloom keeps the memory of large arrays in one growing range. Freed blocks wait there for the next
array, of whatever size. A limit bounds what is in use; what does not fit under it is moved to a file
and stays readable (``ARRAYLOOM_SPILL=0`` turns that off). Arrays below ``ARRAYLOOM_MIN_BYTES`` are
NumPy's own and do not count.

Sizes are bytes, as numbers or as texts: ``"2GiB"``, ``"500MB"``, or a share of main memory, ``"50%"``.

Examples
--------
>>> import arrayloom as np
>>> from arrayloom import memory
>>> with memory.scope("step") as step:
...     a = np.ones((1000, 1000))
...     total = float((a + 1).sum())
>>> total, step.allocated >= a.nbytes, step.leaked == a.nbytes
(2000000.0, True, True)
"""

import contextlib
import inspect
import json
import os
import threading
from collections.abc import Generator
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from arrayloom import _ext
from arrayloom._profile import human_bytes
from arrayloom.errors import EscapedError, SettingError

__all__ = [
    "Cache",
    "Limit",
    "Owner",
    "Report",
    "Rung",
    "Scope",
    "cached",
    "free",
    "limit",
    "report",
    "scope",
    "trim",
    "uncached",
]


@dataclass(frozen=True)
class Owner:
    """An array that holds memory.

    Attributes
    ----------
    nbytes : int
        Its bytes.
    dtype, shape
        What it was made as; ``"bytes"`` where that is not known.
    line : str or None
        ``file:line`` that wrote it last.
    spilled : bool
        Its value lies in the spill file.
    held : bool
        The program holds it; otherwise only recorded operations do.
    """

    nbytes: int
    dtype: str
    shape: tuple[int, ...]
    line: str | None
    spilled: bool
    held: bool

    def __str__(self) -> str:  # pyright: ignore[reportImplicitOverride] - `override` is of Python 3.12
        extents = "x".join(str(extent) for extent in self.shape)
        where = self.line or "an unknown line"
        more = (", spilled" if self.spilled else "") + (
            "" if self.held else ", needed by pending work"
        )
        return f"{human_bytes(self.nbytes)} {self.dtype} {extents} from {where}{more}"


@dataclass(frozen=True)
class Rung:
    """What one measure against lack of memory did: how often, bytes freed, seconds."""

    times: int
    bytes: int
    seconds: float


@dataclass(frozen=True)
class Report:
    """The use of memory at one moment; bytes unless said otherwise.

    Attributes
    ----------
    limit : int or None
        What may be in use.
    live, cached, largest_free
        In use, waiting for reuse, the longest free piece.
    peak, peak_line, peak_reserved
        The highest `live`, the line that reached it, and the most that was taken from the system.
    predicted
        The highest need that a dry run foretold; 0 without a limit.
    spilled, spilled_peak
        In the spill file now and at most.
    allocated
        Allocated in all.
    requests, grown
        Number of blocks given out, and of those that took memory from the system.
    rungs : dict of str to Rung
        What each measure against lack of memory did.
    owners : tuple of Owner
        Those who hold the most.
    """

    limit: int | None
    live: int
    cached: int
    largest_free: int
    peak: int
    peak_line: str | None
    peak_reserved: int
    predicted: int
    spilled: int
    spilled_peak: int
    allocated: int
    requests: int
    grown: int
    rungs: dict[str, Rung]
    owners: tuple[Owner, ...]

    @property
    def hit_rate(self) -> float:
        """Share of blocks that were served without the system, 1 if there were none."""
        return 1.0 - self.grown / self.requests if self.requests else 1.0

    @property
    def fragmentation(self) -> float:
        """Share of the waiting memory that is not in its longest piece."""
        return 1.0 - min(self.largest_free, self.cached) / self.cached if self.cached else 0.0

    def json(self) -> str:
        """Write it as one JSON object."""
        return json.dumps(asdict(self), sort_keys=True)

    def _rows(self) -> list[tuple[str, str]]:
        where = f" at {self.peak_line}" if self.peak_line else ""
        rows = [
            ("limit", "none" if self.limit is None else human_bytes(self.limit)),
            ("in use", human_bytes(self.live)),
            ("waiting for reuse", human_bytes(self.cached)),
            ("longest free piece", human_bytes(self.largest_free)),
            ("fragmentation", f"{self.fragmentation:.0%}"),
            ("peak", human_bytes(self.peak) + where),
            ("peak taken from the system", human_bytes(self.peak_reserved)),
            ("in the spill file", human_bytes(self.spilled)),
            ("allocated in all", human_bytes(self.allocated)),
            ("blocks served by reuse", f"{self.hit_rate:.1%} of {self.requests}"),
        ]
        if self.predicted:
            rows.insert(6, ("peak foretold", human_bytes(self.predicted)))
        for name, rung in self.rungs.items():
            if rung.times:
                what = f"{rung.times} times, {human_bytes(rung.bytes)}, {rung.seconds * 1e3:.1f} ms"
                rows.append((f"out of memory: {name}", what))
        rows += [(f"owner {place}", str(owner)) for place, owner in enumerate(self.owners, 1)]
        return rows

    def __str__(self) -> str:  # pyright: ignore[reportImplicitOverride] - `override` is of Python 3.12
        rows = self._rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name.ljust(width)}  {value}" for name, value in rows)

    def _repr_html_(self) -> str:
        cells = (f"<tr><th>{escape(n)}</th><td>{escape(v)}</td></tr>" for n, v in self._rows())
        return f"<table>{''.join(cells)}</table>"

    def html(self, path: str | os.PathLike[str]) -> None:
        """Write it to `path` as one HTML file that needs nothing else."""
        page = f"<!doctype html><meta charset=utf-8><title>Memory</title>{self._repr_html_()}"
        Path(path).write_text(page, encoding="utf-8")


def report(owners: int = 10) -> Report:
    """Return the use of memory now.

    Parameters
    ----------
    owners : int
        How many of the largest arrays it names.

    Returns
    -------
    Report
        Text by `str` and `print`, a table in notebooks, ``json()`` and ``html(path)``.

    Examples
    --------
    >>> report().live >= 0
    True
    """
    found: dict[str, Any] = dict(_ext.memory_report(owners))
    found["rungs"] = {name: Rung(**rung) for name, rung in found["rungs"].items()}
    found["owners"] = tuple(Owner(**owner) for owner in found["owners"])
    return Report(**found)


def _amount(size: int | str | None) -> int | None:
    if size is None:
        return None
    if isinstance(size, str):
        try:
            return _ext.memory_amount(size)
        except ValueError as error:
            raise SettingError(str(error)) from None
    if size < 0:
        message = f"a limit of {size} bytes is less than none; give bytes, a text, or None"
        raise SettingError(message)
    return int(size)


class Limit:
    """A limit that was set. As a context it puts the earlier one back at its end."""

    def __init__(self, nbytes: int | None) -> None:
        self.nbytes = nbytes
        self._before = _ext.memory_limit(nbytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _ext.memory_limit(self._before)

    def __repr__(self) -> str:  # pyright: ignore[reportImplicitOverride] - `override` is of Python 3.12
        return f"Limit({'none' if self.nbytes is None else human_bytes(self.nbytes)})"


def limit(size: int | str | None, device: str = "cpu") -> Limit:
    """Bound the memory of arrays: as a setting, or within a ``with`` block.

    Parameters
    ----------
    size : int, str or None
        Bytes that may be in use; None for no limit.
    device : str
        Whose memory; ``"cpu"``.

    Returns
    -------
    Limit
        A context that puts the earlier limit back.

    Raises
    ------
    SettingError
        For a text that is no amount of memory, or a device without a limit.

    Examples
    --------
    >>> with limit("512MiB"):
    ...     report().limit
    536870912
    """
    if device != "cpu":
        message = f"device {device!r} has no limit here; 'cpu' has"
        raise SettingError(message)
    return Limit(_amount(size))


def trim() -> int:
    """Give memory that waits for reuse back to the system; return the number of bytes.

    While a cache is open nothing is given back: that is what it is for.

    Examples
    --------
    >>> trim() >= 0
    True
    """
    return 0 if _policy.reserved() else _ext.trim()


def free(array: object) -> bool:
    """Give the memory of an array back now, though the array is still there.

    Every later use, also through views, raises ``ValueError`` with the line of this call. A plain NumPy
    array, or one that was freed before, is left as it is.

    Returns
    -------
    bool
        Whether memory was given back.

    Examples
    --------
    >>> import arrayloom as np
    >>> a = np.zeros((1000, 1000))
    >>> free(a), free(a)
    (True, False)
    """
    caller = inspect.currentframe()
    caller = caller.f_back if caller else None
    place = f"{caller.f_code.co_filename}:{caller.f_lineno}" if caller else "an unknown line"
    return _ext.memory_free(array, place)


class Scope:
    """What happened to memory in a ``with`` block.

    Scopes nest; what threads and tasks make in theirs does not count as left behind in others. The
    figures of use are those of the process.

    Attributes
    ----------
    name : str
        As given.
    peak, allocated, moved : int
        Bytes in use at most above those at the start, bytes allocated, bytes that went to the spill
        file. Up to now while the scope is open.
    leaked : int
        Bytes of arrays that were made in the scope and are alive at its end.
    escaped : tuple of Owner
        These arrays.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.leaked = 0
        self.escaped: tuple[Owner, ...] = ()
        self._number = 0
        self._outer = 0
        self._figures = {"peak": 0, "allocated": 0, "moved": 0}

    def _read(self, name: str) -> int:
        if self._number:
            self._figures = dict(_ext.scope_figures(self._number))
        return self._figures[name]

    @property
    def peak(self) -> int:
        """Bytes in use at most, above those at the start."""
        return self._read("peak")

    @property
    def allocated(self) -> int:
        """Bytes allocated."""
        return self._read("allocated")

    @property
    def moved(self) -> int:
        """Bytes that went to the spill file."""
        return self._read("moved")

    def __enter__(self) -> Self:
        if self._number:
            message = f"scope {self.name!r} is open already; make another one"
            raise ValueError(message)
        self._outer = _ext.current_scope.get()
        self._number = _ext.scope_open()
        _ext.current_scope.set(self._number)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._read("peak")
        number, self._number = self._number, 0
        _ext.current_scope.set(self._outer)
        self.escaped = tuple(Owner(**row) for row in _ext.scope_close(number, self._outer))
        self.leaked = sum(owner.nbytes for owner in self.escaped)

    def __repr__(self) -> str:  # pyright: ignore[reportImplicitOverride] - `override` is of Python 3.12
        parts = (f"{name}={human_bytes(self._read(name))}" for name in ("peak", "allocated"))
        return f"<scope {self.name!r} {' '.join(parts)} leaked={human_bytes(self.leaked)}>"


def scope(name: str = "") -> Scope:
    """Measure a ``with`` block; see `Scope`.

    Examples
    --------
    >>> with scope("nothing") as nothing:
    ...     pass
    >>> nothing.leaked
    0
    """
    return Scope(name)


class _Policy:
    """How much may wait for reuse, by the caches and the ``uncached`` blocks that are open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: list[bool] = []
        self._usual: int | None = None

    def push(self, *, keep: bool) -> None:
        with self._lock:
            if not self._open:
                self._usual = _ext.memory_cached(None)
            self._open.append(keep)
            self._apply()

    def pop(self, *, keep: bool) -> None:
        with self._lock:
            # Of several of one kind it does not matter which one ends.
            place = len(self._open) - 1 - self._open[::-1].index(keep)
            del self._open[place]
            self._apply()

    def _apply(self) -> None:
        _ext.memory_cached(self._usual if not self._open else None if self._open[-1] else 0)

    def reserved(self) -> bool:
        return any(self._open)


_policy = _Policy()


class _Stack(threading.local):
    """The scopes that a thread has open in a cache."""

    def __init__(self) -> None:
        self.open: list[Scope] = []


class Cache:
    """Keeps memory for reuse while it is open: a ``with`` block that may be entered again.

    A block waits for reuse as soon as its last array dies, so the peak is what lives at one time, never
    the sum of all arrays. An array that outlives the cache keeps its memory: nothing is ever shared
    with a living array. Where memory runs out, what waits is given back all the same.

    Parameters
    ----------
    escape : {'allow', 'error'}
        Whether arrays made in it may live on at its end.

    Attributes
    ----------
    peak : int
        Bytes in use at most while it was open, above those at its start.

    Examples
    --------
    >>> import arrayloom as np
    >>> cache = Cache()
    >>> for _ in range(3):
    ...     with cache:
    ...         _ = float(np.ones((500, 500)).sum())
    >>> cache.peak > 0
    True
    >>> cache.close()
    """

    def __init__(self, escape: Literal["allow", "error"] = "allow") -> None:
        if escape not in ("allow", "error"):
            message = f"escape cannot be {escape!r}: it is 'allow' or 'error'"
            raise ValueError(message)
        self._escape = escape
        self._peak = 0
        self._lock = threading.Lock()
        self._reserves = False
        self._scopes = _Stack()

    @property
    def peak(self) -> int:
        """Bytes in use at most while it was open, above those at its start."""
        return self._peak

    def __enter__(self) -> Self:
        with self._lock:
            if not self._reserves:
                self._reserves = True
                _policy.push(keep=True)
        self._scopes.open.append(Scope("cache").__enter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        scope = self._scopes.open.pop()
        scope.__exit__(kind, error, trace)
        self._peak = max(self._peak, scope.peak)
        if self._escape == "error" and scope.escaped and error is None:
            arrays = "; ".join(str(owner) for owner in scope.escaped)
            message = f"{len(scope.escaped)} arrays outlive their cache: {arrays}"
            raise EscapedError(message)

    def close(self) -> None:
        """End the reservation: what waits for reuse may be given back again."""
        with self._lock:
            if self._reserves:
                self._reserves = False
                _policy.pop(keep=True)


@contextlib.contextmanager
def cached(escape: Literal["allow", "error"] = "allow") -> Generator[Cache]:
    """Keep memory for reuse within a ``with`` block; see `Cache`.

    Raises
    ------
    EscapedError
        With ``escape="error"``, if arrays made in it live on. It names their lines.

    Examples
    --------
    >>> with cached() as cache:
    ...     pass
    >>> cache.peak
    0
    """
    cache = Cache(escape)
    try:
        with cache:
            yield cache
    finally:
        cache.close()


@contextlib.contextmanager
def uncached() -> Generator[None]:
    """Give memory back to the system as soon as its array dies, within a ``with`` block.

    Examples
    --------
    >>> with uncached():
    ...     report().cached
    0
    """
    _policy.push(keep=False)
    try:
        yield
    finally:
        _policy.pop(keep=False)
