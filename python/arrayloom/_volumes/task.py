"""What a worker does of a run: it computes a box of an expression and writes it, or halves a box of a pyramid.

`Blocks` and `Halves` go to each worker once; a task is the number of its first block and how many it has.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# Arrays and targets of many libraries come in; their element types are known at run time only.

import os
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arrayloom._volumes.blocks import Grid, around
from arrayloom._volumes.limits import few_threads, threads
from arrayloom._volumes.ome import means
from arrayloom._volumes.stream import taken_by
from arrayloom._volumes.volume import Box, Build, Volume, leaves
from arrayloom._volumes.zarr_target import ZarrTarget, check_there, parts
from arrayloom.errors import CancelledError

__all__ = ["Blocks", "Done", "Halves"]


@dataclass(frozen=True)
class Done:
    """What a task took, and its voxels if nothing was written."""

    seconds: float
    report: dict[str, Any]
    values: NDArray[Any] | None = None
    worker: str = ""
    """The machine and the process that had it."""


def _here() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def _slices(box: Box) -> tuple[slice, ...]:
    return tuple(slice(lo, hi) for lo, hi in zip(*box, strict=True))


def _check_there(*targets: Any) -> None:
    """Refuse targets that this process does not see."""
    for target in targets:
        if isinstance(target, ZarrTarget):
            check_there(target.node)


def _check_running(stop: threading.Event) -> None:
    if stop.is_set():
        message = "the run was stopped"
        raise CancelledError(message)


@dataclass
class Blocks:
    """Computes blocks of a volume, each within a limit of memory, into a target or into arrays."""

    volume: Volume
    target: Any
    """What takes ``target[slices] = array``; None if the voxels come back."""
    grid: Grid
    limit: int
    threads: int
    stop: threading.Event = field(default_factory=threading.Event)
    """Set when the run was stopped: nothing more is written."""

    def __post_init__(self) -> None:
        # A native expression has one place for errors of Python, so each thread has its own.
        self._built = threading.local()

    def __reduce__(self) -> Any:  # pyright: ignore[reportImplicitOverride]
        return Blocks, (self.volume, self.target, self.grid, self.limit, self.threads)

    def build(self) -> Build:
        """The expression of this thread."""
        found: Build | None = getattr(self._built, "build", None)
        if found is None:
            for leaf in leaves(self.volume):
                if type(leaf.source).__module__.partition(".")[0] == "zarr":
                    check_there(leaf.source)
            found = Build()
            found.add(self.volume)
            self._built.build = found
        return found

    def __call__(self, first: int, count: int) -> Done:
        """Compute `count` blocks from number `first` on, neighbours along the last axis.

        Raises
        ------
        CancelledError
            If the run was stopped.
        """
        began = time.monotonic()
        _check_there(self.target)
        box = self.grid.box(first, count)
        values, target, start = None, self.target, (0,) * len(box[0])
        if target is None:
            values = target = np.empty(
                [h - a for a, h in zip(*box, strict=True)], self.volume.dtype
            )
            start = box[0]
        dtype = self.volume.dtype

        def write(part: Box, view: memoryview) -> None:
            _check_running(self.stop)
            lo, hi = part
            at = tuple(slice(a - s, b - s) for a, b, s in zip(lo, hi, start, strict=True))
            target[at] = np.frombuffer(view, dtype).reshape(
                [b - a for a, b in zip(lo, hi, strict=True)]
            )

        with few_threads(self.threads):
            expr = self.build().expr
            align = list(self.grid.granule)
            taken = taken_by(target, self.build(), align, self.limit, None)
            rest = around(((0,) * len(start), self.grid.shape), box)
            report = expr.run_to_sink(
                write, self.limit - taken, threads(), align, rest, None, None, []
            )
        report = {**report, "peak": report["peak"] + taken}
        return Done(time.monotonic() - began, report, values, _here())


@dataclass
class Halves:
    """Makes blocks of a level of a pyramid from the level above it."""

    above: Any
    target: Any
    grid: Grid
    stop: threading.Event = field(default_factory=threading.Event)

    def __reduce__(self) -> Any:  # pyright: ignore[reportImplicitOverride]
        return Halves, (self.above, self.target, self.grid)

    def __call__(self, first: int, count: int) -> Done:
        """Write `count` blocks from number `first` on.

        Raises
        ------
        CancelledError
            If the run was stopped.
        """
        began = time.monotonic()
        _check_there(self.above, self.target)
        for key in parts(_slices(self.grid.box(first, count)), self.grid.granule, 1):
            _check_running(self.stop)
            self.target[key] = self._mean(key)
        return Done(time.monotonic() - began, {})

    def _mean(self, key: tuple[slice, ...]) -> NDArray[Any]:
        """A box of the target: means of the level above, one chunk of it at a time."""
        shapes = zip(self.above.shape, self.target.shape, strict=True)
        factors = [1 if n == m else 2 for n, m in shapes]
        result = np.empty([s.stop - s.start for s in key], self.target.dtype)
        wide = [
            slice(s.start * f, min(s.stop * f, n))
            for s, f, n in zip(key, factors, self.above.shape, strict=True)
        ]
        for part in parts(wide, self.grid.granule, 1):
            small = means(self.above[part], factors)
            at = [p.start // f - s.start for p, f, s in zip(part, factors, key, strict=True)]
            inside = tuple(slice(a, a + n) for a, n in zip(at, small.shape, strict=True))
            result[inside] = small
        return result
