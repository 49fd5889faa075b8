"""How a volume is saved: what a file is made of, what goes on with an earlier run, and what stays after a stop."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false
# Targets and clients of many libraries come in.

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from arrayloom._volumes.durable import UnsyncedError
from arrayloom._volumes.formats import Writer, kind_of, partial_of
from arrayloom._volumes.journal import (
    Earlier,
    Journal,
    check_same,
    earlier_in,
    fingerprint,
    journal_of,
)
from arrayloom._volumes.limits import few_threads, nbytes, threads, workers
from arrayloom._volumes.ome import Pyramid, Scale, check_units, default_scale
from arrayloom._volumes.run import Run
from arrayloom._volumes.stamp import ChangedError, check_read
from arrayloom._volumes.stream import align_of, stream
from arrayloom._volumes.targets import check_target, is_overwritten, written_together
from arrayloom._volumes.tiff_scale import unit_of
from arrayloom._volumes.volume import Build, Volume, leaves
from arrayloom._volumes.zarr_target import ZarrTarget
from arrayloom.errors import BudgetError, CancelledError

if TYPE_CHECKING:
    from arrayloom._volumes.cluster import Cluster

__all__ = [
    "begun_as",
    "cluster_of",
    "earlier_of",
    "fits_of",
    "save_to",
    "save_to_object",
    "scale_of",
]

_Limit = int | str | None


def cluster_of(
    client: Any, source: Volume, memory_limit: _Limit, devices: str | Sequence[str] | None
) -> "Cluster | None":
    """The workers of a run; None for this machine, which also has what cannot be cut."""
    if client is None:
        return None
    if devices is not None:
        message = (
            "devices= are of this machine, and client= has workers elsewhere; leave one of them out"
        )
        raise ValueError(message)
    from arrayloom._volumes.cluster import Cluster  # noqa: PLC0415 - most runs have none

    cluster = Cluster.of(client, None if memory_limit is None else nbytes(memory_limit))
    return cluster if source.ndim and source.size else None


def fits_of(source: Volume, run: Run) -> Callable[[Sequence[int], int], bool]:
    """What tells whether blocks of whole chunks of some extents fit the memory of `run`, or a half, a third of it."""
    build = Build()
    build.add(source)
    count, room = threads(), run.limit
    if run.cluster is not None:
        count, room = run.cluster.threads, run.cluster.limit
    elif run.devices is not None:
        room = min(share for share, *_ in workers(run.devices, run.limit))

    def fits(chunks: Sequence[int], share: int) -> bool:
        with few_threads(count):
            try:
                build.expr.plan(room // share, threads(), align_of(chunks, source.ndim))
            except BudgetError:
                return False
        return True

    return fits


def begun_as(source: Volume, said: Mapping[str, Any]) -> dict[str, Any]:
    """What a file is made of and how: what has to be the same for a run that goes on with it."""
    names = ("chunks", "shards", "zarr_format", "dataset", "compression", "levels")
    words = {name: _plain(said.get(name)) for name in (*names, "axes", "spacing", "units")}
    facts = {"shape": list(source.shape), "dtype": source.dtype.str, **words}
    return {**facts, "of": fingerprint(source)}


def _plain(value: Any) -> Any:
    """An argument as it is read back from a journal."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    return np.asarray(value).tolist()


def earlier_of(file: Path, facts: Mapping[str, Any]) -> Earlier | None:
    """The run that left a file of these facts; None if there is nothing to go on with."""
    partial = partial_of(file)
    found = earlier_in(journal_of(file)) if partial.exists() else None
    if found is None:
        return None
    check_same(partial, found.facts, facts)
    if kind_of(file) == "hdf5" and not found.closed:
        return None
    size, now = found.facts.get("bytes"), partial.stat().st_size
    if size not in {None, now}:
        message = (
            f"cannot resume: {partial} has {now} bytes and was begun with {size}; "
            "something else has changed it, so save without resume=True"
        )
        raise ValueError(message)
    return found


def scale_of(
    source: Volume,
    spacing: Sequence[float] | None,
    axes: Sequence[str] | None,
    units: Sequence[str | None] | None,
    file: Path,
) -> Scale:
    """Axes, distances and units of `file` as they are given, or else those of `source`."""
    if isinstance(units, (list, tuple)):
        # Symbols, such as µm, are known by their names.
        units = [None if unit is None else unit_of(unit) or unit for unit in units]
    given = units
    if units is None and axes is None and source.axes is not None:
        units = source.units or None
    distances = source.spacing if spacing is None else spacing
    scale = default_scale(source.ndim, distances, source.axes if axes is None else axes, units)
    if given is not None:
        check_units(file.name, scale.units)
    return scale


def save_to_object(target: Any, source: Volume, run: Run) -> dict[str, Any]:
    """Compute `source` into an object that takes slices; what it took."""
    check_target(target, source)
    align = align_of(written_together(target), source.ndim)
    waits = is_overwritten(target, source, here=run.cluster is None)
    to = np.empty(source.shape, source.dtype) if waits else target
    if type(target).__module__.split(".")[0] == "zarr":
        to = ZarrTarget(target)
    if run.cluster is None:
        report = stream(source, to, align, run, None)
    else:
        report = run.cluster.into_object(source, to, align, run)
    run.took(report)
    if waits:
        target[...] = to
    return report


def save_to(
    writer: Writer, source: Volume, run: Run, facts: Mapping[str, Any], earlier: Earlier | None
) -> dict[str, Any]:
    """Compute `source` into a file of `facts` that was created, or that goes on where `earlier` stopped; what it took."""
    # Files whose voxels lie at fixed places have their size from the beginning.
    size = writer.partial.stat().st_size if isinstance(writer.target, np.ndarray) else None
    try:
        journal = Journal(journal_of(writer.path), {**facts, "bytes": size}, earlier)
    except BaseException:
        writer.abandon(keep=True)
        raise
    try:
        align = align_of(writer.granule, source.ndim)
        if run.cluster is not None:
            report = run.cluster.into_file(source, writer, align, run, journal)
        else:
            if isinstance(writer.target, Pyramid):
                writer.target.again(journal.done)
            report = stream(source, writer.target, align, run, journal)
        run.took(report)
        check_read(leaves(source))
        writer.finish(durable=run.durable)
    except BaseException as error:
        # If the memory is not enough for the first block, there is nothing to go on with.
        nothing = isinstance(error, BudgetError) and journal.is_empty
        keep = not (nothing or isinstance(error, (ChangedError, UnsyncedError)))
        writer.abandon(keep=keep)
        journal.close(remove=not keep)
        name = str(writer.path)
        if keep and isinstance(error, (OSError, CancelledError)) and name not in str(error):
            message = f"{error}; what {name} has so far is kept, and resume=True goes on with it"
            kind = OSError if isinstance(error, OSError) else CancelledError
            raise kind(message) from error
        raise
    journal.close(remove=True)
    return report
