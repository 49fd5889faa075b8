"""Which boxes of a file are written, for a run that goes on where another was stopped."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

__all__ = ["Journal"]

Box: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]


class Journal:
    """Boxes that are written, one JSON line each, behind a line that says of what."""

    def __init__(self, path: Path, facts: dict[str, Any], *, resume: bool) -> None:
        self.path = path
        self.done: list[Box] = []
        if resume and path.exists():
            self.done = self._read(facts)
            self.file = path.open("a", encoding="utf-8")
        else:
            self.file = path.open("w", encoding="utf-8")
            self._line(facts)

    def _read(self, facts: dict[str, Any]) -> list[Box]:
        lines = self.path.read_text(encoding="utf-8").splitlines()
        if not lines or json.loads(lines[0]) != facts:
            message = f"cannot resume: {self.path} is of another volume; remove it, or save without resume"
            raise ValueError(message)
        done: list[Box] = []
        for line in lines[1:]:
            try:
                lo, hi = json.loads(line)
            except ValueError:
                break  # the run was stopped while it wrote this line
            done.append((tuple(lo), tuple(hi)))
        return done

    def _line(self, value: object) -> None:
        self.file.write(json.dumps(value) + "\n")
        self.file.flush()

    def add(self, lo: Sequence[int], hi: Sequence[int]) -> None:
        """A box that is written."""
        self._line([list(lo), list(hi)])

    def close(self, *, remove: bool) -> None:
        """Close it; `remove` it when nothing is left to do."""
        self.file.close()
        if remove:
            self.path.unlink(missing_ok=True)
