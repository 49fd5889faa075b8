"""The report of ``--coverage``: which calls on large arrays were accelerated, by function and by line."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

from arrayloom._journal import Calls
from arrayloom._native import Fallback, Stats
from arrayloom._text import short_path, table

__all__ = ["Row", "coverage_csv", "coverage_json", "coverage_rows", "coverage_text"]

_ROWS = 40


@dataclass(frozen=True)
class Row:
    """Calls of one function from one line.

    Attributes
    ----------
    function, file, line : str, str, int
        What was called, and where.
    accelerated, numpy, fell_back : int
        Calls that were recorded or done by native code, that NumPy's own code does best, and that
        NumPy did although they could be faster.
    reasons : tuple of str
        Why, for the calls that fell back.
    """

    function: str
    file: str
    line: int
    accelerated: int = 0
    numpy: int = 0
    fell_back: int = 0
    reasons: tuple[str, ...] = ()

    @property
    def calls(self) -> int:
        """Calls in all."""
        return self.accelerated + self.numpy + self.fell_back

    def with_calls_of(self, other: "Row") -> "Row":
        """Give the sum of both, for the place of this one."""
        return Row(
            self.function,
            self.file,
            self.line,
            self.accelerated + other.accelerated,
            self.numpy + other.numpy,
            self.fell_back + other.fell_back,
            (*self.reasons, *(why for why in other.reasons if why not in self.reasons)),
        )


def coverage_rows(calls: Calls, stats: Stats) -> tuple[Row, ...]:
    """Join what was recorded with what NumPy did; a row for each function and line.

    Operations of the engine's own, such as copies for assignments, have a stroke before their names,
    which is left out.
    """
    recorded = (Row(op.lstrip("_"), file, line, accelerated=n) for op, file, line, n in calls)
    delegated = (_left(row, numpy=row.calls) for row in stats.delegated)
    fallbacks = (_left(row, fell_back=row.calls, reasons=(row.reason,)) for row in stats.fallbacks)
    rows = _joined(
        (*recorded, *delegated, *fallbacks), lambda row: (row.file, row.line, row.function)
    )
    return tuple(sorted(rows, key=lambda row: (row.file, row.line, row.function)))


def _left(
    found: Fallback, *, numpy: int = 0, fell_back: int = 0, reasons: tuple[str, ...] = ()
) -> Row:
    return Row(found.op, found.file, found.line, 0, numpy, fell_back, reasons)


def _joined(rows: Iterable[Row], key: Callable[[Row], object]) -> list[Row]:
    """Add up the rows that have the same key."""
    found: dict[object, Row] = {}
    for row in rows:
        known = found.get(key(row))
        found[key(row)] = row if known is None else known.with_calls_of(row)
    return list(found.values())


def coverage_text(rows: Sequence[Row]) -> str:
    """Write the report as tables of plain text: in all, by function, by line."""
    if not rows:
        return "arrayloom coverage: no call on large arrays was seen\n"
    seen, accelerated = sum(row.calls for row in rows), sum(row.accelerated for row in rows)
    numpy, fell_back = sum(row.numpy for row in rows), sum(row.fell_back for row in rows)
    head = (
        f"arrayloom coverage: {accelerated} of {seen} ({100 * accelerated / seen:.1f} %) calls on large"
        f" arrays accelerated, {numpy} done by NumPy's own code, {fell_back} fell back"
    )
    by_function = _joined(rows, lambda row: row.function)
    by_line = _joined(rows, lambda row: (row.file, row.line))
    parts = (
        head,
        _table("function", by_function, lambda row: row.function),
        _table("line", by_line, lambda row: f"{short_path(row.file)}:{row.line}"),
    )
    return "\n\n".join(parts) + "\n"


def _table(title: str, rows: Sequence[Row], name: Callable[[Row], str]) -> str:
    """Columns of text, the rows that fell back most often first."""
    worst = sorted(rows, key=lambda row: (-row.fell_back, -row.numpy, -row.calls, name(row)))
    body = [
        (name(row), str(row.calls), str(row.accelerated), str(row.numpy), str(row.fell_back))
        for row in worst[:_ROWS]
    ]
    text = table((title, "calls", "accelerated", "NumPy's own", "fell back"), body)
    hidden = len(worst) - len(body)
    return f"{text}\n... and {hidden} more" if hidden > 0 else text


def coverage_csv(rows: Sequence[Row]) -> str:
    """Write all rows as CSV, with a line of titles."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    titles = ("file", "line", "function", "calls", "accelerated", "numpy", "fell_back", "reasons")
    writer.writerow(titles)
    for row in rows:
        counts = (row.calls, row.accelerated, row.numpy, row.fell_back)
        writer.writerow((row.file, row.line, row.function, *counts, "; ".join(row.reasons)))
    return text.getvalue()


def coverage_json(rows: Sequence[Row]) -> str:
    """Write all rows as one JSON object."""
    return json.dumps({"coverage": [{**asdict(row), "calls": row.calls} for row in rows]})
