"""A run of a program that is watched, and what is written about it when it has ended."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from arrayloom._doctor.source import Source
from arrayloom._doctor.watch import Watch
from arrayloom._reports import is_writable, write_file
from arrayloom._runner import Kind, Program

__all__ = ["Wanted", "Watched"]


class Wanted(Protocol):
    """The options of the report."""

    json: bool
    output: str | None
    threads: int | None


class Watched:
    """Watches one run of a program and reports when it has ended.

    Parameters
    ----------
    wanted : Wanted
        The options.
    program : Program
        What is run.
    """

    def __init__(self, wanted: Wanted, program: Program) -> None:
        self.wanted = wanted
        self.program = program
        self.watch = Watch()
        self._start = 0.0
        self._process = 0

    def begin(self) -> bool:
        """Start to watch; False, with a message, if the report cannot be written."""
        output = self.wanted.output
        if output is not None and not is_writable("--output", output):
            return False
        self._process = os.getpid()
        self.watch.begin()
        self._start = time.perf_counter()
        return True

    def end(self) -> None:
        """Write the report; the program has ended."""
        seconds = time.perf_counter() - self._start
        if os.getpid() != self._process:
            # A copy of the process, of which nobody took samples.
            return
        self.watch.end()
        text = self.report(seconds)
        if self.wanted.output is None:
            sys.stderr.write(text)
        else:
            write_file(self.wanted.output, text)

    def report(self, seconds: float) -> str:
        """Give the report of a run that took so long."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """What the report calls the program."""
        return self.program.target if self.program.kind is not Kind.CODE else "-c"

    def sources(self) -> Iterator[tuple[str, Source]]:
        """Read the files in which the program was seen."""
        for file in sorted(self.watch.files()):
            if file == "<string>" and self.program.kind is Kind.CODE:
                yield file, Source(self.program.target)
            elif not file.startswith("<"):
                try:
                    text = Path(file).read_text(encoding="utf-8")
                except (OSError, UnicodeError):
                    continue
                yield file, Source(text)
