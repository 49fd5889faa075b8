"""What conversions did: routes, bytes, nanoseconds, reasons and hazards, while somebody looks."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from threading import Lock

from arrayloom import _ext

__all__ = ["Record", "Row", "observe"]


@dataclass(frozen=True, slots=True)
class Row:
    """One conversion, or one step of the ladder out of an exhausted memory.

    Capsules of DLPack have the target 'dlpack'.
    """

    event: str
    source: str
    target: str
    route: str
    nbytes: int
    nanoseconds: int
    reason: str
    hazards: tuple[str, ...] = ()


class Record:
    """The rows of one observation; may be merged with those of other threads and processes."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._rows = list(rows)
        self._lock = Lock()

    def add(self, row: Row) -> None:
        """Append a row; threads may do so at once."""
        with self._lock:
            self._rows.append(row)

    def rows(self) -> tuple[Row, ...]:
        """Return all rows, in the order of their ends."""
        with self._lock:
            return tuple(self._rows)

    def merge(self, other: "Record") -> "Record":
        """Return a record with the rows of both."""
        return Record((*self.rows(), *other.rows()))

    def to_json(self) -> str:
        """Return the rows as JSON."""
        import json  # noqa: PLC0415 - takes milliseconds

        return json.dumps([asdict(row) for row in self.rows()])

    @classmethod
    def from_json(cls, text: str) -> "Record":
        """Read what :meth:`to_json` wrote."""
        import json  # noqa: PLC0415 - takes milliseconds

        rows = json.loads(text)
        return cls(Row(**{**row, "hazards": tuple(row["hazards"])}) for row in rows)

    def table(self) -> str:
        """Return counts, bytes and time per route and reason, as text."""
        groups: dict[tuple[str, ...], list[Row]] = {}
        for row in self.rows():
            key = (row.event, row.source, row.target, row.route, row.reason)
            groups.setdefault(key, []).append(row)
        lines = [
            f"{'what':9}{'from':14}{'to':14}{'route':10}{'calls':>6}{'bytes':>14}{'us':>10}  why"
        ]
        for (event, source, target, route, reason), rows in groups.items():
            nbytes = sum(row.nbytes for row in rows)
            micros = sum(row.nanoseconds for row in rows) / 1000
            lines.append(
                f"{event:9}{source:14}{target:14}{route:10}{len(rows):6}{nbytes:14}{micros:10.1f}  {reason}"
            )
            hazards = dict.fromkeys(h for row in rows for h in row.hazards)
            lines += [f"{'':9}hazard: {hazard}" for hazard in hazards]
        return "\n".join(lines)


_current: ContextVar[Record | None] = ContextVar("arrayloom_bridge_record", default=None)
_watchers = {"count": 0}
_watchers_lock = Lock()


def _watch(step: int) -> None:
    with _watchers_lock:
        _watchers["count"] += step
        _ext.bridge.set_watched(_watchers["count"] > 0)


@contextmanager
def observe() -> Generator[Record]:
    """Record every conversion inside the block, in this thread and its tasks.

    Arguments and results of decorated functions are conversions too, as are imports and exports by DLPack.

    Yields
    ------
    Record
        With ``rows()``, ``table()``, ``merge(other)`` and ``to_json()``.

    Examples
    --------
    >>> import numpy as np, arrayloom.bridge as b
    >>> with b.observe() as record:
    ...     _ = b.convert([1, 2, 3], "numpy")
    >>> [(row.source, row.target, row.route) for row in record.rows()]
    [('list', 'numpy', 'copy')]
    """
    record = Record()
    token = _current.set(record)
    _watch(1)
    try:
        yield record
    finally:
        _watch(-1)
        _current.reset(token)


def current() -> Record | None:
    """Return the record that rows go to, if somebody looks."""
    return _current.get()
