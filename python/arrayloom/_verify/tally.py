"""What was verified and what could not be, and the report of both."""

import json
from collections import Counter
from dataclasses import dataclass, field

from arrayloom._text import short_path
from arrayloom.errors import VerifyError

__all__ = ["Tally"]

_MOST = 20


@dataclass
class Tally:
    """Counts of operations.

    Attributes
    ----------
    verified : Counter
        Operations that were compared, by name.
    skipped : Counter
        Those that could not be, by name and reason.
    unseen : Counter
        Recorded operations that were not seen, by name, file and line.
    difference : VerifyError or None
        The first one.
    """

    verified: Counter[str] = field(default_factory=Counter[str])
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    unseen: Counter[tuple[str, str, int]] = field(default_factory=Counter[tuple[str, str, int]])
    difference: VerifyError | None = None

    def __str__(self) -> str:  # pyright: ignore[reportImplicitOverride] - `override` is of Python 3.12
        count, names = self.verified.total(), len(self.verified)
        operations = (
            f"{count:,} operation{'s' * (count != 1)} ({names} function{'s' * (names != 1)})"
        )
        found = self.difference
        end = "all equal"
        if found is not None:
            end = f"but {found.op} at {short_path(found.file)}:{found.line} is not what NumPy does"
        lines = [f"arrayloom verify: verified {operations}, {end}"]
        skipped = [(count, f"{op}: {why}") for (op, why), count in self.skipped.items()]
        lines += _listed("not compared", skipped)
        unseen = [
            (count, f"{op} at {short_path(file)}:{line}")
            for (op, file, line), count in self.unseen.items()
        ]
        why = "not seen, since operands are plain arrays or a library made the call"
        return "\n".join(lines + _listed(why, unseen))

    def json(self) -> str:
        """Write the report as one JSON object."""
        report = {
            "verified": dict(self.verified),
            "skipped": [[op, why, count] for (op, why), count in self.skipped.items()],
            "unseen": [[*place, count] for place, count in self.unseen.items()],
            "difference": None if self.difference is None else str(self.difference),
        }
        return json.dumps({"verify": report})


def _listed(title: str, rows: list[tuple[int, str]]) -> list[str]:
    """Give a line with the number of calls and one for each row, the most frequent first."""
    if not rows:
        return []
    total = sum(count for count, _ in rows)
    shown = sorted(rows, key=lambda row: (-row[0], row[1]))[:_MOST]
    lines = [f"{total:,} {title}:", *(f"  {count:,} {text}" for count, text in shown)]
    hidden = len(rows) - len(shown)
    return [*lines, f"  ... and {hidden} more"] if hidden else lines
