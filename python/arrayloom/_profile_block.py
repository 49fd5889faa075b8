"""``arrayloom.profile()``: the report of a stretch of a program."""

import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Self

from arrayloom import _ext, _native
from arrayloom._native import Fallback, OpRow, Stats
from arrayloom._profile import profile_json, profile_text
from arrayloom._profile_page import profile_page

__all__ = ["Profile", "profile"]


class Profile:
    """What was accelerated in a ``with`` block, what was not and why, and what moved.

    ``str()`` gives the report as text, `json` and `html` as what their names say. The figures are
    those of the whole process in that time. Up to now while the block is open.

    Attributes
    ----------
    seconds : float
        How long the block took.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._stats = Stats()
        self._before = Stats()
        self._start: float | None = None

    def __enter__(self) -> Self:
        _ext.flush()
        self._before = _native.stats()
        self._start = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            _ext.flush()
        self._read()
        self._start = None

    def _read(self) -> Stats:
        if self._start is not None:
            self.seconds = time.perf_counter() - self._start
            self._stats = since(_native.stats(), self._before)
        return self._stats

    def __str__(self) -> str:  # pyright: ignore[reportImplicitOverride] - `override` is of Python 3.12
        return profile_text(self._read(), self.seconds)

    def json(self) -> str:
        """Return the report as JSON."""
        return profile_json(self._read(), self.seconds)

    def html(self) -> str:
        """Return the report as a page of HTML."""
        return profile_page(self._read(), self.seconds)


def profile() -> Profile:
    """Report what becomes of the operations in a ``with`` block.

    Both ends of the block compute what is pending, so that the work in it is that of the block.

    Returns
    -------
    Profile
        The report; ``print`` it behind the block.

    Examples
    --------
    >>> import arrayloom as np
    >>> a = np.ones(100_000)
    >>> with np.profile() as report:
    ...     b = (a + 1) * 2
    >>> import json
    >>> [row["op"] for row in json.loads(report.json())["ops"]]
    ['add', 'multiply']
    """
    return Profile()


def since(now: Stats, before: Stats) -> Stats:
    """Give what was counted between two times; blocks of memory are as they are now."""
    return Stats(
        ops=_ops(now.ops, before.ops),
        fallbacks=_calls(now.fallbacks, before.fallbacks),
        delegated=_calls(now.delegated, before.delegated),
        counters=_less(now.counters, before.counters),
        times={
            name: max(0.0, value - before.times.get(name, 0.0)) for name, value in now.times.items()
        },
        pool=now.pool,
        backend=_less(now.backend, before.backend),
        reasons={why: n for why, n in _less(now.reasons, before.reasons).items() if n},
    )


def _less(now: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    """Take away what was there before; counters may have been set to zero meanwhile."""
    return {name: max(0, value - before.get(name, 0)) for name, value in now.items()}


def _ops(now: Iterable[OpRow], before: Iterable[OpRow]) -> tuple[OpRow, ...]:
    known = {row.op: row for row in before}
    rows = ((row, known.get(row.op, OpRow(row.op, 0, 0.0, 0))) for row in now)
    return tuple(
        OpRow(
            row.op,
            row.calls - old.calls,
            max(0.0, row.seconds - old.seconds),
            max(0, row.nbytes - old.nbytes),
        )
        for row, old in rows
        if row.calls > old.calls
    )


def _calls(now: Iterable[Fallback], before: Iterable[Fallback]) -> tuple[Fallback, ...]:
    def key(row: Fallback) -> object:
        return (row.op, row.reason, row.file, row.line)

    known = {key(row): row.calls for row in before}
    rows = ((row, row.calls - known.get(key(row), 0)) for row in now)
    return tuple(
        Fallback(row.op, row.reason, row.file, row.line, calls) for row, calls in rows if calls > 0
    )
