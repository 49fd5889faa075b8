"""A volume that is computed by workers elsewhere: blocks are planned here, and computed and written there.

Blocks are whole granules of the file, each written by one task, so a task that runs twice or starts again changes
nothing. The journal is written here, behind what a worker has written; so a run that was stopped goes on, on any cluster
or on this machine alone.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false
# Arrays, targets and executors of many libraries come in.

import contextlib
import itertools
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arrayloom._volumes.blocks import Batches, Grid, block_of, pieces, voxels
from arrayloom._volumes.events import Recorder
from arrayloom._volumes.executors import ItemError, executor_of
from arrayloom._volumes.formats import Writer, kind_of
from arrayloom._volumes.journal import Journal
from arrayloom._volumes.limits import default_limit, few_threads, threads
from arrayloom._volumes.ome import Pyramid
from arrayloom._volumes.rows import RowsTarget
from arrayloom._volumes.run import Run
from arrayloom._volumes.sources import granule_of
from arrayloom._volumes.stamp import check_read
from arrayloom._volumes.stream import align_of, taken_by
from arrayloom._volumes.task import Blocks, Done, Halves
from arrayloom._volumes.volume import Box, Build, Volume, leaves
from arrayloom._volumes.zarr_target import ZarrTarget, remove_torn
from arrayloom.errors import BudgetError, UnsupportedError, WorkerError

__all__ = ["Cluster"]

# Bytes of a block that are written: half a second or so of quick filters.
_BLOCK_BYTES = 32 << 20
# The same for blocks that come back, which wait in the memory of workers.
_RETURNED_BYTES = 4 << 20
# Rows of files of fixed places that a block takes at least, if it takes several.
_ROWS = 16
_RETRIES = 3
# Stores of Zarr that are the same seen from another process.
_SHARED_STORES = {"LocalStore", "FsspecStore", "ObjectStore"}


def _target_of(target: Any) -> Any:
    """What workers write to for the target of a run; None for an array in memory, to which blocks come back.

    Raises
    ------
    UnsupportedError
        If workers cannot write to it.
    """
    if isinstance(target, np.ndarray):
        return None
    if isinstance(target, ZarrTarget):
        store = type(target.node.store).__name__
        if store in _SHARED_STORES:
            return target
        what = f"an array of Zarr in a {store}"
    else:
        what = f"a {type(target).__name__}"
    message = (
        f"workers cannot write to {what}; save to a .zarr, .npy or .raw file by its name, to an array of Zarr "
        "in a folder, or to an array in memory"
    )
    raise UnsupportedError(message)


def _levels_of(writer: Writer) -> list[Any]:
    """What workers write to for a file: one target, or those of all levels of a pyramid."""
    target = writer.target
    if isinstance(target, Pyramid):
        return list(target.targets)
    if isinstance(target, np.memmap):
        return [RowsTarget(writer.partial, target.offset, target.shape, target.dtype)]
    return [target]


@dataclass
class Cluster:
    """An executor, and what its tasks may take."""

    executor: Any
    slots: int
    room: int
    """Bytes that a worker has for a task."""
    limit: int
    """Bytes of buffers that a task may use."""
    threads: int

    @classmethod
    def of(cls, client: Any, limit: int | None) -> "Cluster":
        """The cluster of what a caller gave as ``client=`` and ``memory_limit=``."""
        executor = executor_of(client)
        slots = max(int(getattr(executor, "slots", None) or threads()), 1)
        room = int(getattr(executor, "room", None) or default_limit() // slots)
        few = int(getattr(executor, "threads", 1))
        return cls(executor, slots, room, room if limit is None else limit, few)

    @staticmethod
    def check_file(path: Path) -> None:
        """Refuse a file that only one process can write.

        Raises
        ------
        UnsupportedError
            For TIFF and HDF5.
        """
        kind = kind_of(path)
        if kind in {"tiff", "hdf5"}:
            message = (
                f"{path} is {kind}, which one process writes; save to .zarr, .npy or .raw with client=, "
                f"and then to {path} with arrayloom.volumes.convert"
            )
            raise UnsupportedError(message)

    def into_file(
        self,
        source: Volume,
        writer: Writer,
        granule: Sequence[int],
        run: Run,
        journal: Journal,
    ) -> dict[str, Any]:
        """Compute `source` into a file that was created or goes on; see `run`."""
        report = self.run(
            source,
            _levels_of(writer),
            granule,
            name=str(writer.path),
            run=run,
            journal=journal,
        )
        if kind_of(writer.path) == "zarr":
            remove_torn(writer.partial)
        return report

    def into_object(
        self, source: Volume, target: Any, granule: Sequence[int], run: Run
    ) -> dict[str, Any]:
        """Compute `source` into an array of Zarr or one in memory; see `run`."""
        name = f"the target of shape {source.shape}"
        written = [_target_of(target)]
        return self.run(source, written, granule, name=name, run=run, out=target)

    def run(
        self,
        source: Volume,
        targets: Sequence[Any],
        granule: Sequence[int],
        *,
        name: str,
        run: Run,
        journal: Journal | None = None,
        out: Any = None,
    ) -> dict[str, Any]:
        """Compute `source` into the first of `targets`, and the other levels from it; what it took.

        Parameters
        ----------
        source
            What to compute; it has at least one axis and one voxel.
        targets
            Arrays of Zarr or rows of a file, or None if blocks come back to the array `out`.
        granule
            What the first target replaces as a whole.
        name
            Of the target, for messages.
        run, journal
            As of a run on this machine.

        Raises
        ------
        BudgetError
            If the smallest block does not fit, or the arrays that go to the workers; before anything runs.
        WorkerError
            If a block could not be computed; the message names it.
        """
        self._check_arrays(source)
        build = Build()
        build.add(source)
        with few_threads(self.threads):
            taken = taken_by(targets[0], build, align_of(granule, source.ndim), self.limit, None)
            # What does not fit is told before anything runs.
            build.expr.plan(self.limit - taken, threads(), align_of(granule, source.ndim))
            grid = self._grid(source, build, granule, is_returned=targets[0] is None)
        done = [] if journal is None else journal.done
        report = _Report()
        left, covered = grid.left(done)
        written = sum(map(voxels, done))
        work = Blocks(source, targets[0], grid, self.limit, self.threads)
        batches = Batches(grid, left, self.slots, joined=targets[0] is not None)
        self._begin(run.recorder, source, grid, done)
        try:
            with (
                run.watched(source.itemsize) as told,
                contextlib.closing(self._ended(work, batches, name)) as ended,
            ):
                for item, found in ended:
                    report.add(found)
                    box = grid.box(*item)
                    if found.values is not None:
                        out[tuple(slice(lo, hi) for lo, hi in zip(*box, strict=True))] = (
                            found.values
                        )
                    holes = [b for n in range(item[0], sum(item)) for b in covered.get(n, ())]
                    for part in pieces(box, holes):
                        written += voxels(part)
                        if journal is not None:
                            journal.add(*part)
                    _tell(run.recorder, grid, item, found)
                    if told is not None:
                        told(written, source.size, report.peak)
            for level, (above, target) in enumerate(itertools.pairwise(targets), 1):
                self._halve(above, target, f"level {level} of {name}")
        except WorkerError as error:
            # A source that has changed explains whatever went wrong.
            check_read(leaves(source))
            if journal is None:
                raise
            message = f"{error}; what is written is kept, and resume=True goes on with it"
            raise WorkerError(message) from error.__cause__
        return report.facts

    def _begin(
        self, recorder: Recorder | None, source: Volume, grid: Grid, done: Sequence[Box]
    ) -> None:
        """Tell the plan; times of this process say nothing of the workers."""
        if recorder is None:
            return
        devices = [f"{self.slots} workers"]
        recorder.begin(
            source, self.limit, bounds=grid.bounds, done=done, devices=devices, threads=None
        )

    def _check_arrays(self, source: Volume) -> None:
        arrays = [
            leaf.source
            for leaf in leaves(source)
            if isinstance(leaf.source, np.ndarray) and leaf.opened is None
        ]
        nbytes = sum(array.nbytes for array in arrays)
        if nbytes > self.room // 2:
            message = (
                f"{len(arrays)} arrays of {nbytes} bytes go to each worker with the volume, and {self.room // 2} fit; "
                "save them to a file that all workers see, and open it by its name with arrayloom.volumes.open"
            )
            raise BudgetError(message)

    def _grid(
        self, source: Volume, build: Build, granule: Sequence[int], *, is_returned: bool
    ) -> Grid:
        """Blocks that are large enough for a task, and enough for all workers."""
        read = {
            build.add(leaf): (leaf.itemsize, granule_of(leaf.source) or [1] * leaf.ndim, leaf.shape)
            for leaf in leaves(source)
        }

        def cost(box: Box) -> int:
            needs = build.expr.needs(threads(), list(box[0]), list(box[1]))
            total = voxels(box) * source.itemsize
            for number, (itemsize, chunk, shape) in read.items():
                lo, hi = needs[number]
                if all(a < b for a, b in zip(lo, hi, strict=True)):
                    total += itemsize * voxels(_whole((lo, hi), chunk, shape))
            return total

        most = _RETURNED_BYTES if is_returned else _BLOCK_BYTES
        least = granule
        if max(granule) == 1:
            # Rows of files of fixed places: whole ones, some at a time.
            least = [min(n, _ROWS) for n in source.shape[:-1]] + [source.shape[-1]]
        block = block_of(source.shape, least, cost, most=most // source.itemsize, slots=self.slots)
        return Grid(source.shape, block, tuple(granule))

    def _halve(self, above: Any, target: Any, name: str) -> None:
        """One level of a pyramid."""

        def cost(box: Box) -> int:
            return 8 * voxels(box) * target.dtype.itemsize

        block = block_of(
            target.shape,
            target.granule,
            cost,
            most=_BLOCK_BYTES // target.dtype.itemsize,
            slots=self.slots,
        )
        grid = Grid(tuple(target.shape), block, tuple(target.granule))
        batches = Batches(grid, range(len(grid)), self.slots)
        with contextlib.closing(self._ended(Halves(above, target, grid), batches, name)) as ended:
            for _ in ended:
                pass

    def _ended(
        self, work: Any, batches: Batches, name: str
    ) -> Generator[tuple[tuple[int, int], Done]]:
        """Tasks as they end; if anything stops the run, none runs any more when this is over."""
        ended = False
        try:
            for (first, count), found in self.executor.map(work, batches, retries=_RETRIES):
                batches.took(count, found.seconds)
                yield (first, count), found
            ended = True
        except ItemError as failed:
            raise _told(failed, batches.grid, name) from failed.__cause__
        finally:
            if not ended:
                self.executor.cancel()


def _tell(recorder: Recorder | None, grid: Grid, item: tuple[int, int], found: Done) -> None:
    """Tell the blocks of a task that ended."""
    if recorder is None:
        return
    first, count = item
    for number in range(first, first + count):
        recorder.done(number, grid.box(number), found.seconds / count, found.worker)


def _whole(box: Any, chunk: Sequence[int], shape: Sequence[int]) -> Box:
    """The chunks that a box meets, which are decoded for it."""
    lo = tuple(a // c * c for a, c in zip(box[0], chunk, strict=True))
    hi = tuple(min(-(-b // c) * c, n) for b, c, n in zip(box[1], chunk, shape, strict=True))
    return lo, hi


def _told(failed: ItemError, grid: Grid, name: str) -> WorkerError:
    """What a caller is told of a task that failed."""
    lo, hi = grid.box(*failed.item)
    cause = failed.__cause__
    message = (
        f"block {failed.item[0]} of {len(grid)}, the box from {lo} to {hi} of {name}, failed on a worker: "
        f"{type(cause).__name__}: {cause}"
    )
    return WorkerError(message)


class _Report:
    """What all tasks took together; the peak is that of one of them."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {
            "blocks": 0,
            "peak": 0,
            "read_bytes": 0,
            "halved": 0,
            "on_devices": 0,
            "left_to_cpu": {},
            "tasks": 0,
        }

    @property
    def peak(self) -> int:
        """Most bytes that a task used."""
        return int(self.facts["peak"])

    def add(self, done: Done) -> None:
        """A task that ended."""
        for key in ("blocks", "read_bytes", "halved"):
            self.facts[key] += done.report[key]
        self.facts["peak"] = max(self.peak, done.report["peak"])
        self.facts["tasks"] += 1
