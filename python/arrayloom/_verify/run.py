"""``--verify``: one run of a program whose operations are done twice, and what is written about it."""

import os
import sys
from typing import Protocol

from arrayloom._journal import start_journal
from arrayloom._reports import is_writable, write_file
from arrayloom._verify.check import Checker
from arrayloom._verify.judge import Tolerance, tolerance_of
from arrayloom._verify.watch import Watch

__all__ = ["Verified"]


class Wanted(Protocol):
    """The options of the report."""

    verify: str | None
    json: bool
    output: str | None


class Verified:
    """Verifies one run of a program.

    Parameters
    ----------
    wanted : Wanted
        The options.
    """

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        tolerance = tolerance_of(wanted.verify or "1")
        self._checker = Checker(tolerance or Tolerance(), keeps_journal=True)
        self._watch = Watch(self._checker)
        self._process = 0

    def begin(self) -> bool:
        """Start to verify; False, with a message, if the report cannot be written."""
        output = self._wanted.output
        if output is not None and not is_writable("--output", output):
            return False
        self._process = os.getpid()
        start_journal()
        self._watch.begin()
        return True

    def end(self, status: int) -> int:
        """Write the report; the program has ended with a status. Give the runner's, which tells of a difference."""
        self._watch.end()
        self._checker.note_unseen()
        tally = self._checker.tally
        if os.getpid() == self._process:
            text = f"{tally.json() if self._wanted.json else tally}\n"
            if self._wanted.output is None:
                sys.stderr.write(text)
            else:
                write_file(self._wanted.output, text)
        return status or int(tally.difference is not None)
