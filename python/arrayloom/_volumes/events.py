"""What a run tells of itself while it goes on: its plan, its blocks, its memory and its end, as lines of JSON.

Nothing of it is asked for unless a file or an open page wants it. Native threads say when a block is there and when it
is written. What is on its way follows from the order of the pipeline: behind the block that is written, one is
computed (or still read, where reading is slower), and the one behind that is read.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# Plans are dictionaries of the native half.

import contextlib
import errno
import itertools
import json
import os
import threading
import time
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from arrayloom._volumes.blocks import voxels
from arrayloom._volumes.volume import Box, Volume
from arrayloom.errors import CancelledError

__all__ = ["LISTENERS", "Recorder", "recorded"]

# Who hears the lines of all runs that begin from now on, with the event that a line has.
Listener: TypeAlias = Callable[[Mapping[str, Any], str], None]
LISTENERS: list[Listener] = []

_NUMBERS = itertools.count(1)
_Write: TypeAlias = Callable[[Box, memoryview], None]
_Written: TypeAlias = Callable[[Sequence[int], Sequence[int]], None]


class _Lines:
    """A file of lines that are whole whenever the process ends; the first error ends it, and the run goes on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.error: OSError | None = None
        try:
            self._file = path.open("wb", buffering=0)
        except OSError as error:
            message = f"events cannot be written to {path}: {error.strerror}; give a file in a folder that is there"
            raise type(error)(error.errno, message) from error

    def add(self, line: str) -> None:
        if self.error is not None:
            return
        data = f"{line}\n".encode()
        try:
            whole = self._file.write(data) == len(data)
        except OSError as error:
            self.error = error
        else:
            # What goes in part only is the end of the room.
            self.error = None if whole else OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self) -> None:
        try:
            self._file.close()
        except OSError as error:
            self.error = self.error or error


class Recorder:
    """Tells the events of one run."""

    def __init__(self, lines: _Lines | None, target: str) -> None:
        self._lines = lines
        self._listeners = tuple(LISTENERS)
        self._lock = threading.Lock()
        self._run = next(_NUMBERS)
        self._target = target
        self._start = time.monotonic()
        self._report: dict[str, Any] = {}
        # The boxes of blocks in the order in which they are written, while that is known.
        self._order: Callable[[int], Box] | None = None
        self._blocks = self._count = 0
        # True if blocks are read and computed while others are written.
        self._overlaps = False
        self._devices: list[str] = []
        # When each worker had its last block, and the processor time of the process then.
        self._turn: dict[int, float] = {}
        self._began = self._start
        self._busy: float | None = None

    def tell(self, kind: str, **facts: Any) -> None:
        """One event, with the seconds since the run began."""
        # Events stand in the order of their times.
        with self._lock:
            at = round(time.monotonic() - self._start, 4)
            event = {"t": kind, "run": self._run, "at": at, **facts}
            line = json.dumps(event)
            if self._lines is not None:
                self._lines.add(line)
            for listener in self._listeners:
                listener(event, line)

    def begin(
        self,
        source: Volume,
        limit: int,
        *,
        bounds: Sequence[Sequence[int]] | None,
        done: Sequence[Box],
        devices: Sequence[str],
        threads: int | None,
    ) -> None:
        """Tell the plan.

        Parameters
        ----------
        source
            What is computed.
        limit
            Bytes of buffers; those of one task, on a cluster.
        bounds
            Where blocks begin and end along each axis, if it is known.
        done
            Boxes that an earlier run wrote.
        devices
            One for each worker.
        threads
            Threads that compute here; None where others compute, so that times of this process say nothing.
        """
        self._devices, self._began = list(devices), time.monotonic()
        self._busy = None if threads is None else time.process_time()
        self.tell(
            "plan",
            target=self._target,
            shape=source.shape,
            dtype=str(source.dtype),
            itemsize=source.itemsize,
            limit=limit,
            bounds=bounds,
            done=sum(map(voxels, done)),
            devices=self._devices,
            threads=threads,
        )

    def expect(self, facts: Mapping[str, Any]) -> None:
        """Blocks will come in the order of this plan; some are on their way now."""
        bounds: list[list[int]] = facts["bounds"]
        axes = [d for d in range(len(bounds)) if d != facts["sweep"]]
        axes += [] if facts["sweep"] is None else [facts["sweep"]]

        def box(number: int) -> Box:
            at = [0] * len(bounds)
            for axis in reversed(axes):
                number, at[axis] = divmod(number, len(bounds[axis]) - 1)
            ends = [(b[k], b[k + 1]) for b, k in zip(bounds, at, strict=True)]
            return tuple(lo for lo, _ in ends), tuple(hi for _, hi in ends)

        self._order, self._blocks = box, facts["blocks"]
        self._overlaps = facts["overlapped"] and self._blocks > 1
        self._state(0, "reading")

    def around(self, write: _Write, written: _Written) -> tuple[_Write, _Written]:
        """The functions of a run that writes blocks one at a time; they tell each of them."""
        arrived = 0.0

        def writes(box: Box, view: memoryview) -> None:
            nonlocal arrived
            arrived = time.monotonic()
            if self._order is not None and self._order(self._count) != box:
                # Memory ran out: the rest is cut anew.
                self._state(self._count, "retried")
                self._order = None
            if self._overlaps:
                self._state(self._count + 1, "computing")
                self._state(self._count + 2, "reading")
            write(box, view)

        def wrote(lo: Sequence[int], hi: Sequence[int]) -> None:
            written(lo, hi)
            worker, now = threading.get_ident(), time.monotonic()
            before = self._turn.get(worker, self._began)
            self._turn[worker] = now
            facts: dict[str, Any] = {"write": _ms(now - arrived)}
            if self._busy is not None:
                busy = time.process_time()
                facts["cpu"], self._busy = _ms(busy - self._busy), busy
            device = self._device(list(self._turn).index(worker))
            self.done(self._count, (tuple(lo), tuple(hi)), now - before, device, **facts)
            self._count += 1
            if not self._overlaps:
                self._state(self._count, "reading")

        return writes, wrote

    def _device(self, worker: int) -> str:
        """The device of a worker by the order in which they had their first block."""
        alike = set(self._devices)
        if len(alike) > 1:
            return f"worker {worker}"
        name = self._devices[0]
        return name if len(self._devices) == 1 else f"{name} worker {worker}"

    def _state(self, number: int, state: str) -> None:
        """Tell what a block that was planned is doing."""
        if self._order is not None and number < self._blocks:
            lo, hi = self._order(number)
            self.tell("block", i=number, s=state, lo=lo, hi=hi)

    def done(self, number: int, box: Box, seconds: float, device: str, **facts: Any) -> None:
        """Tell a block that is written, which took its worker so long."""
        lo, hi = box
        self.tell("block", i=number, s="done", ms=_ms(seconds), dev=device, lo=lo, hi=hi, **facts)

    def memory(self, written: int, used: int) -> None:
        """Tell how many voxels are written, and how many bytes of buffers are in use."""
        self.tell("mem", voxels=written, used=used)

    def took(self, report: Mapping[str, Any]) -> None:
        """What the run took, for its end."""
        self._report = dict(report)

    def end(self, state: str, error: str | None = None) -> None:
        """Tell that the run is over: ``done``, ``stopped`` or ``failed``."""
        self.tell("end", s=state, error=error, **self._report)


def _ms(seconds: float) -> float:
    return round(1e3 * seconds, 3)


@contextlib.contextmanager
def recorded(path: str | os.PathLike[str] | None, target: str) -> Generator[Recorder | None]:
    """What tells the events of a run to `path` and to open pages; None if nobody wants them.

    A file that cannot be written any more ends no run: one warning comes behind it.
    """
    if path is None and not LISTENERS:
        yield None
        return
    lines = None if path is None else _Lines(Path(path))
    recorder = Recorder(lines, target)
    try:
        yield recorder
    except BaseException as error:
        stopped = isinstance(error, (KeyboardInterrupt, SystemExit, CancelledError))
        recorder.end("stopped" if stopped else "failed", str(error) or type(error).__name__)
        with contextlib.suppress(Warning):
            _close(lines)
        raise
    recorder.end("done")
    _close(lines)


def _close(lines: _Lines | None) -> None:
    if lines is None:
        return
    lines.close()
    if lines.error is not None:
        message = (
            f"events of the run are missing in {lines.path} ({lines.error.strerror}); the run itself is not "
            "touched by it"
        )
        warnings.warn(message, RuntimeWarning, stacklevel=5)
