"""``python -m arrayloom doctor``: what keeps a program from being fast, where, and what is better.

Joins what was counted and timed while the program ran (`watch`, the native module's
statistics) with what its source says (`source`).
"""

import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from arrayloom import _native
from arrayloom._doctor.findings import Facts, findings
from arrayloom._doctor.report import Report, report_json, report_text
from arrayloom._doctor.source import Source
from arrayloom._doctor.watch import Watch
from arrayloom._reports import is_writable, write_file
from arrayloom._runner import Kind, Program

__all__ = ["Doctor"]

_MOST = 20


class Wanted(Protocol):
    """The options of the report."""

    json: bool
    output: str | None
    threads: int | None


class Doctor:
    """Watches one run of a program and reports when it has ended.

    Parameters
    ----------
    wanted : Wanted
        The options.
    program : Program
        What is run.
    """

    def __init__(self, wanted: Wanted, program: Program) -> None:
        self._wanted = wanted
        self._program = program
        self._watch = Watch()
        self._start = 0.0
        self._process = 0

    def begin(self) -> bool:
        """Start to watch; False, with a message, if the report cannot be written."""
        output = self._wanted.output
        if output is not None and not is_writable("--output", output):
            return False
        self._process = os.getpid()
        self._watch.begin()
        self._start = time.perf_counter()
        return True

    def end(self) -> None:
        """Write the report; the program has ended."""
        seconds = time.perf_counter() - self._start
        if os.getpid() != self._process:
            # A copy of the process, of which nobody took samples.
            return
        self._watch.end()
        facts = Facts(
            seconds=seconds,
            watch=self._watch,
            stats=_native.stats(),
            sources=dict(self._sources()),
            modules=frozenset(sys.modules),
            shares_cores=self._wanted.threads is not None or "ARRAYLOOM_THREADS" in os.environ,
        )
        found = findings(facts)
        report = Report(
            program=self._program.target if self._program.kind is not Kind.CODE else "-c",
            seconds=seconds,
            findings=tuple(found[:_MOST]),
            left_out=max(0, len(found) - _MOST),
            delegated=facts.stats.delegated,
        )
        text = report_json(report) + "\n" if self._wanted.json else report_text(report)
        if self._wanted.output is None:
            sys.stderr.write(text)
        else:
            write_file(self._wanted.output, text)

    def _sources(self) -> Iterator[tuple[str, Source]]:
        """Read the files in which the program was seen."""
        for file in self._files():
            if file == "<string>" and self._program.kind is Kind.CODE:
                yield file, Source(self._program.target)
            elif not file.startswith("<"):
                try:
                    text = Path(file).read_text(encoding="utf-8")
                except (OSError, UnicodeError):
                    continue
                yield file, Source(text)

    def _files(self) -> Iterable[str]:
        return sorted(self._watch.files())
