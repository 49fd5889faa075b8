"""The reports of the runner: what has to be kept while the program runs, and what is written behind it."""

import sys
import time
from pathlib import Path
from typing import Protocol

from arrayloom import _native
from arrayloom._native import Stats
from arrayloom._profile import profile_json, profile_text

__all__ = ["Reports", "Wanted", "is_writable", "write_file"]


class Wanted(Protocol):
    """The options that name reports; a `coverage` of ``1`` is a table without a file."""

    profile: bool
    json: bool
    output: str | None
    dump_kernels: str | None
    coverage: str | None
    html: str | None
    trace: str | None
    verbose: bool


class Reports:
    """What one run of a program shall tell."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._table = "" if wanted.coverage == "1" else wanted.coverage
        self._journal_start = 0.0
        self._start = 0.0

    def begin(self) -> bool:
        """Start keeping what is needed; False, with a message, if a file or folder cannot be written."""
        wanted = self._wanted
        named = {"--coverage": self._table, "--html": wanted.html, "--trace": wanted.trace}
        if not all(is_writable(option, path) for option, path in named.items() if path):
            return False
        if wanted.dump_kernels is not None:
            if not _takes_files(wanted.dump_kernels):
                return False
            _native.dump_kernels()
        if wanted.coverage or wanted.html or wanted.trace:
            from arrayloom._journal import start_journal  # noqa: PLC0415 - needs the native module

            self._journal_start = time.perf_counter()
            start_journal()
        self._start = time.perf_counter()
        return True

    def end(self) -> None:
        """Write all reports; the program has ended."""
        wanted, seconds = self._wanted, time.perf_counter() - self._start
        if wanted.dump_kernels is not None:
            from arrayloom._explain import write_dumps  # noqa: PLC0415 - needs the native module

            write_dumps(wanted.dump_kernels)
        stats = _native.stats()
        if wanted.profile:
            _profile(wanted, stats, seconds)
        self._write_journal(stats, seconds)
        if wanted.verbose:
            for row in stats.fallbacks:
                sys.stderr.write(
                    f"arrayloom: {row.file}:{row.line}: {row.op} ran in NumPy, {row.reason}"
                    f" ({row.calls} calls)\n"
                )

    def _write_journal(self, stats: Stats, seconds: float) -> None:
        """Write the reports that tell of single lines and of times."""
        wanted = self._wanted
        if not (wanted.coverage or wanted.html or wanted.trace):
            return
        # Slow imports, which only these reports need.
        from arrayloom import _coverage, _profile_page, _trace  # noqa: PLC0415
        from arrayloom._journal import take_journal  # noqa: PLC0415

        journal, start = take_journal(), self._start - self._journal_start
        if wanted.coverage:
            rows = _coverage.coverage_rows(journal.calls, stats)
            text = (
                f"{_coverage.coverage_json(rows)}\n"
                if wanted.json
                else _coverage.coverage_text(rows)
            )
            sys.stderr.write(text)
            if self._table:
                write_file(self._table, _coverage.coverage_csv(rows))
        if wanted.html:
            events = journal.events_after(start)
            write_file(wanted.html, _profile_page.profile_page(stats, seconds, events))
        if wanted.trace:
            write_file(wanted.trace, _trace.trace_json(journal, start, seconds))
        if journal.lost and (wanted.html or wanted.trace):
            sys.stderr.write(f"arrayloom: {journal.lost} later events were left out\n")


def _profile(wanted: Wanted, stats: Stats, seconds: float) -> None:
    text = profile_json(stats, seconds) + "\n" if wanted.json else profile_text(stats, seconds)
    if wanted.output is None:
        sys.stderr.write(text)
    else:
        write_file(wanted.output, text)


def write_file(path: str, text: str) -> None:
    """Write a report to a file, or say why not."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        sys.stderr.write(f"arrayloom: cannot write to {path}: {error.strerror}\n")


def is_writable(option: str, path: str) -> bool:
    """Whether a file can be written, with a message if not; one that is there stays as it is."""
    try:
        with Path(path).open("a", encoding="utf-8"):
            return True
    except OSError as error:
        _refuse(option, path, error)
        return False


def _takes_files(folder: str) -> bool:
    """Whether a folder, made if need be, takes files; with a message if not."""
    import tempfile  # noqa: PLC0415 - slow, and only needed here

    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError as error:
        _refuse("--dump-kernels", folder, error)
        return False


def _refuse(option: str, path: str, error: OSError) -> None:
    sys.stderr.write(
        f"arrayloom: cannot write to {path}: {error.strerror}; name another for {option}\n"
    )
