"""Stretches of a program: what memory did in them, and what is kept for reuse meanwhile."""

import contextlib
import threading
from collections.abc import Generator
from types import TracebackType
from typing import Literal, Self

from arrayloom import _ext
from arrayloom._memory_report import Owner
from arrayloom._text import human_bytes
from arrayloom.errors import EscapedError

__all__ = ["Cache", "Scope", "cached", "reserved", "scope", "uncached"]


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


def reserved() -> bool:
    """Tell whether a cache is open, so that nothing that waits for reuse is given back."""
    return _policy.reserved()


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
