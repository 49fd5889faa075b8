"""The runs of ``--compare``: each a process of its own, with what it printed and what it took."""

import contextlib
import json
import os
import select
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

__all__ = ["Input", "Run", "run_once"]

_ONE = str(Path(__file__).with_name("one.py"))
_PIECE = 1 << 16


@dataclass(frozen=True)
class Run:
    """A run that has ended.

    Attributes
    ----------
    seconds, cpu_seconds : float
        Wall time, and CPU time of the process and of those it waited for.
    peak_bytes : int
        The most memory that one of these had.
    exit_code : int
        The program's; below zero for a signal.
    output, errors : binary file
        What it wrote to standard output and error; nothing of errors that were shown.
    """

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    exit_code: int
    output: IO[bytes] = field(repr=False)
    errors: IO[bytes] = field(repr=False)


class Input:
    """Standard input, for each run from its beginning.

    Files are opened once more. What comes through a pipe goes to the first run as it comes, is kept,
    and is given to the others. A terminal is left to the runs.
    """

    def __init__(self) -> None:
        self._kept: IO[bytes] | None = None
        self._offset: int | None = None
        try:
            kind = os.fstat(0).st_mode
        except OSError:
            return
        if os.isatty(0):
            return
        if stat.S_ISREG(kind) or stat.S_ISCHR(kind):
            self._offset = os.lseek(0, 0, os.SEEK_CUR)
        else:
            self._kept = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this
        self._is_first = True

    @contextlib.contextmanager
    def opened(self) -> Generator[int | IO[bytes] | None]:
        """Give what a run gets as its standard input; None is our own."""
        if self._offset is not None:
            file = os.open("/proc/self/fd/0", os.O_RDONLY)
            try:
                os.lseek(file, self._offset, os.SEEK_SET)
                yield file
            finally:
                os.close(file)
        elif self._kept is None:
            yield None
        elif self._is_first:
            self._is_first = False
            with _passed_on(self._kept) as pipe:
                yield pipe
        else:
            with _fresh(self._kept) as file:
                yield file


@contextlib.contextmanager
def _fresh(file: IO[bytes]) -> Generator[IO[bytes]]:
    """Open a file once more, at its beginning."""
    file.flush()
    with Path(f"/proc/self/fd/{file.fileno()}").open("rb") as again:
        yield again


@contextlib.contextmanager
def _passed_on(kept: IO[bytes]) -> Generator[int]:
    """Give a pipe that gets what comes to standard input, which is kept too, until the block ends."""
    reader, writer = os.pipe()
    ended = threading.Event()

    def pass_on() -> None:
        with contextlib.suppress(OSError), os.fdopen(writer, "wb", buffering=0) as pipe:
            while not ended.is_set():
                if not select.select([0], [], [], 0.05)[0]:
                    continue
                piece = os.read(0, _PIECE)
                if not piece:
                    return
                kept.write(piece)
                pipe.write(piece)

    thread = threading.Thread(target=pass_on, daemon=True)
    thread.start()
    try:
        yield reader
    finally:
        ended.set()
        # Whoever still writes to the pipe hears that nobody reads it.
        os.close(reader)
        thread.join()


def run_once(
    command: Sequence[str], environ: Mapping[str, str], given: Input, *, shown: bool
) -> Run | None:
    """Run a command to its end.

    Parameters
    ----------
    command : sequence of str
        The command; the first word is a path.
    environ : mapping
        Its environment.
    given : Input
        Its standard input.
    shown : bool
        Whether what it prints is shown while it runs, errors included.

    Returns
    -------
    Run or None
        None if the command could not be started.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C, when the command has ended.
    """
    # Both live as long as the run.
    output, errors = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
    reader, writer = os.pipe()
    try:
        with given.opened() as stdin:
            process = subprocess.Popen(  # noqa: S603 - the user's command
                [sys.executable, "-I", "-S", _ONE, str(writer), *command],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=None if shown else errors,
                env=environ,
                pass_fds=(writer,),
            )
            os.close(writer)
            with process:
                _wait(process, output, shown=shown)
        with os.fdopen(reader, "rb", closefd=False) as pipe:
            figures = pipe.read()
    finally:
        os.close(reader)
    return Run(**json.loads(figures), output=output, errors=errors) if figures else None


def _wait(process: "subprocess.Popen[bytes]", output: IO[bytes], *, shown: bool) -> None:
    """Take what a process prints until it ends; on Ctrl-C end it first."""
    assert process.stdout is not None
    pipe = process.stdout.fileno()
    try:
        while piece := os.read(pipe, _PIECE):
            output.write(piece)
            if shown:
                shown = _show(piece)
        process.wait()
    except KeyboardInterrupt:
        _end(process)
        raise


def _show(piece: bytes) -> bool:
    """Write to standard output; False if nobody reads it any more."""
    try:
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # Nothing is left to be written when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a process that Ctrl-C may have reached too: wait, ask it, and then end it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for seconds in (1.0, 2.0, None):
            try:
                process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGTERM)
            else:
                return
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
