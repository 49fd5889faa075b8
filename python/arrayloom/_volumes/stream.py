"""A volume that is streamed to a target: block by block, within a memory limit."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# Targets of many libraries come in; their element types are known at run time only.

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arrayloom._volumes.events import Recorder
from arrayloom._volumes.journal import Journal
from arrayloom._volumes.limits import Worker, threads, workers
from arrayloom._volumes.run import Run
from arrayloom._volumes.volume import Box, Build, Volume
from arrayloom.errors import BudgetError

__all__ = ["align_of", "stream", "taken_by"]


def align_of(granule: Sequence[int] | None, rank: int) -> list[int]:
    """The box that a target replaces as a whole; single voxels if it has none."""
    return [1] * rank if granule is None else [int(g) for g in granule]


def stream(
    source: Volume,
    target: Any,
    align: list[int],
    run: Run,
    journal: Journal | None,
) -> dict[str, Any]:
    """Compute `source` into `target` on this machine; what the run took.

    Boxes of `journal` are left out, and those that are written are told to it.
    """
    dtype = source.dtype

    def write(box: Box, view: memoryview) -> None:
        values = np.frombuffer(view, dtype).reshape([hi - lo for lo, hi in zip(*box, strict=True)])
        target[tuple(slice(lo, hi) for lo, hi in zip(*box, strict=True))] = values

    def written(lo: Sequence[int], hi: Sequence[int]) -> None:
        if journal is not None:
            journal.add(lo, hi)

    build = Build()
    build.add(source)
    done = [] if journal is None else journal.done
    taken = taken_by(target, build, align, run.limit, run.devices)
    limit = run.limit - taken
    shared = workers(run.devices, limit)
    sink: Callable[[Box, memoryview], None] = write
    after: Callable[[Sequence[int], Sequence[int]], None] = written
    if run.recorder is not None:
        _begin(run.recorder, source, build, align, limit, done, shared)
        sink, after = run.recorder.around(write, written)
    try:
        with run.watched(source.itemsize) as told:
            report = build.expr.run_to_sink(
                sink, limit, threads(), align, done, told, after, shared
            )
    except BudgetError as error:
        if len(shared) < 2:
            raise
        message = f"{error}; {len(shared)} workers share {limit} bytes"
        raise BudgetError(message) from None
    return {**report, "peak": report["peak"] + taken}


def _begin(
    recorder: Recorder,
    source: Volume,
    build: Build,
    align: list[int],
    limit: int,
    done: Sequence[Box],
    shared: Sequence[Worker],
) -> None:
    """Tell `recorder` how the run is planned; what it will do is known of one worker that begins on the CPU."""
    devices = [device or "cpu" for _, _, device, _ in shared] or ["cpu"]
    facts = None
    if source.ndim and source.size and not done and devices == ["cpu"]:
        room, each = shared[0][:2] if shared else (limit, threads())
        facts = build.expr.plan(room, each, align)
    recorder.begin(
        source,
        limit,
        bounds=None if facts is None else facts["bounds"],
        done=done,
        devices=devices,
        threads=threads() if set(devices) == {"cpu"} else None,
    )
    if facts is not None:
        recorder.expect(facts)


def taken_by(
    target: Any, build: Build, align: list[int], limit: int, devices: str | Sequence[str] | None
) -> int:
    """Bytes of a memory limit that are left to `target` for what it makes of a block while it is written.

    None where the smallest block needs them.
    """
    if not hasattr(target, "within"):
        return 0
    taken = target.within(limit)
    shares = [room for room, *_ in workers(devices, limit - taken)]
    try:
        build.expr.plan(min(shares, default=limit - taken), threads(), align)
    except BudgetError:
        return 0
    return taken
