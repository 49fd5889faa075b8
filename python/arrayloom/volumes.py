"""Volumes in files, larger than memory: open, compute on, save.

``open`` gives a volume that is not read yet. NumPy's element-wise functions, slices and the functions of
`arrayloom.filters` on it give volumes again. ``save`` streams the result to a file: every block is read
with the neighbours that its windows need, so the result has the bits of the whole array in memory.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false, reportImplicitOverride=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from arrayloom._volumes.cancel import CancelToken, check_token
from arrayloom._volumes.events import recorded
from arrayloom._volumes.formats import (
    check_place,
    check_words,
    create,
    is_image,
    kind_of,
    open_reader,
)
from arrayloom._volumes.held import held
from arrayloom._volumes.limits import default_limit, nbytes, threads, workers
from arrayloom._volumes.measures import histogram, min_max, otsu, sum
from arrayloom._volumes.plan import Plan
from arrayloom._volumes.progress import Shown, check_progress
from arrayloom._volumes.report import RunReport, report
from arrayloom._volumes.run import Run
from arrayloom._volumes.save import (
    begun_as,
    cluster_of,
    earlier_of,
    fits_of,
    save_to,
    save_to_object,
    scale_of,
)
from arrayloom._volumes.sources import as_volume
from arrayloom._volumes.stamp import stamp_of
from arrayloom._volumes.stream import align_of
from arrayloom._volumes.volume import Build, Volume, leaves

if TYPE_CHECKING:
    from arrayloom._volumes.live import Live

__all__ = [
    "CancelToken",
    "Plan",
    "RunReport",
    "convert",
    "histogram",
    "live",
    "min_max",
    "open",
    "otsu",
    "plan",
    "report",
    "save",
    "sum",
]

_File = str | os.PathLike[str]
_Limit = int | str | None


def open(
    path: _File | object,
    *,
    dataset: str | int | None = None,
    level: int = 0,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
) -> Volume:
    """A volume over a file, or over any object with shape, dtype and slices.

    Parameters
    ----------
    path
        ``.npy``, ``.raw``, ``.tif``, ``.zarr``, ``.h5`` and others by their ending; or an array of zarr,
        h5py, tensorstore, dask, xarray.
    dataset
        Which array of a file that holds several, by its name; of TIFF the series, by its number or its name.
    level
        Which level of a pyramid, 0 being the largest.
    shape, dtype
        For raw files.

    Examples
    --------
    >>> import numpy as np
    >>> open(np.arange(6).reshape(2, 3))
    <Volume (2, 3) int64>
    """
    if not isinstance(path, (str, os.PathLike)):
        if level or any(word is not None for word in (dataset, shape, dtype)):
            message = "dataset, level, shape and dtype are of files; an array or object has its own"
            raise ValueError(message)
        return as_volume(path)
    file = Path(path)
    dataset = None if dataset is None else str(dataset)
    stamp = stamp_of(file)
    found, scale = open_reader(file, dataset, level, shape, dtype)
    volume = as_volume(found, file)
    volume.path, volume.stamp = file.resolve(), stamp
    words = {
        "dataset": dataset,
        "level": level or None,
        "shape": None if shape is None else volume.shape,
        "dtype": None if dtype is None else np.dtype(dtype),
    }
    volume.opened = volume.path, {k: v for k, v in words.items() if v is not None}
    if scale is not None and len(scale.axes) == volume.ndim:
        volume.axes, volume.spacing, volume.units = scale.axes, scale.spacing, scale.units
    return volume


def _check_extents(name: str, extents: Sequence[int] | None, volume: Volume) -> None:
    if extents is not None and (len(extents) != volume.ndim or min(extents, default=1) < 1):
        message = f"{name} {tuple(extents)} for a volume of shape {volume.shape}; give one extent of at least 1 for each axis"
        raise ValueError(message)


def plan(
    volume: object, *, memory_limit: _Limit = None, granule: Sequence[int] | None = None
) -> Plan:
    """How `volume` would be computed within `memory_limit`.

    Parameters
    ----------
    volume
        What to compute: a volume, or an array.
    memory_limit
        Most bytes, such as ``"2GiB"``; half of the available memory by default.
    granule
        The box that the file to be written replaces as a whole: its chunk or shard.

    Raises
    ------
    BudgetError
        If nothing fits; the message has the least that works.

    Examples
    --------
    >>> import numpy as np
    >>> from arrayloom import filters
    >>> x = open(np.zeros((64, 64, 64), np.float32))
    >>> plan(filters.gaussian_filter(x, 1), memory_limit="1MiB").redundancy
    0.0
    """
    limit = default_limit() if memory_limit is None else nbytes(memory_limit)
    source = as_volume(volume)
    _check_extents("granule", granule, source)
    build = Build()
    build.add(source)
    align = align_of(granule, source.ndim)

    def facts_of(room: int) -> dict[str, Any]:
        return build.expr.plan(room, threads(), align)

    facts = facts_of(limit)
    enough = None if facts["redundancy"] == 0 else _enough(facts_of, limit)
    return Plan(source.shape, str(source.dtype), limit, facts, build.expr.needs, enough)


def _enough(facts_of: Callable[[int], dict[str, Any]], limit: int) -> int | None:
    """The least memory beyond `limit`, to a hundredth, with which every byte is read once."""
    low, high = limit, 2 * max(limit, 1)
    while facts_of(high)["redundancy"] > 0:
        low, high = high, 2 * high
        if high > 1 << 60:
            return None
    while high - low > high // 100 + 1:
        middle = (low + high) // 2
        if facts_of(middle)["redundancy"] > 0:
            low = middle
        else:
            high = middle
    return high


def save(
    path: _File | Any,
    volume: object,
    *,
    memory_limit: _Limit = None,
    progress: Shown | None = None,
    resume: bool = False,
    chunks: Sequence[int] | None = None,
    shards: Sequence[int] | None = None,
    dataset: str | None = None,
    compression: str | None = None,
    zarr_format: int | None = None,
    levels: int | Literal["auto"] | None = None,
    axes: Sequence[str] | None = None,
    spacing: Sequence[float] | None = None,
    units: Sequence[str | None] | None = None,
    devices: str | Sequence[str] | None = None,
    client: Any = None,
    cancel: CancelToken | None = None,
    durable: bool = False,
    events: _File | None = None,
) -> dict[str, Any]:
    """Compute `volume` into a file, within `memory_limit`.

    Parameters
    ----------
    path
        A file (``.npy``, ``.raw``, ``.tif``, ``.zarr``, ``.h5``), or an object that takes
        ``target[slices] = array``. A file appears under its name when it is complete. An array that `volume`
        reads itself is written over right; if windows reach beyond single voxels, the result waits in memory.
    volume
        A volume, or an array.
    memory_limit
        Most bytes of buffers, such as ``"2GiB"``; half of the available memory by default.
    progress
        True shows a bar on standard error. A function is called as ``progress(voxels, total, used_bytes)`` after
        each block. Of a class such as ``tqdm.tqdm`` one object is made for the run, with ``total=`` voxels, and
        ``update`` is called for each block.
    resume
        Go on where an earlier call with the same arguments was stopped; `memory_limit` and `devices` may differ.
    chunks, shards, zarr_format
        For ``.zarr``; `chunks` for ``.h5`` too. Chunks of ``.zarr`` that are not given are smaller than usual
        where no block of whole ones fits `memory_limit`.
    dataset, compression
        For ``.h5``: the name of the data set, and a filter of h5py such as ``"gzip"``.
    levels
        For ``.zarr``: an OME-Zarr image with so many levels, each half of the one above; ``"auto"`` ends at
        one chunk. All levels are made while the first one is written. ``.ome.zarr`` has one level by default.
    axes, spacing, units
        For OME-Zarr and ``.ome.tif``: names of axes (``t``, ``c``, ``z``, ``y``, ``x``), the distance of voxels
        along each, and its unit, such as ``"micrometer"``; by default those of `volume`, if it was opened from an
        image.
    devices
        Workers that share the blocks: ``"cpu*2"``, or ``["cpu:0", "cpu:1=256MiB"]`` with a memory limit of its
        own. Those without one share `memory_limit`. ``"opencl:0"`` and ``"cuda:0=8GiB"`` are devices, which take so
        much of their own memory; what they do not have the CPU computes. ``"sim=64MiB"`` is a device with a memory
        of its own that this machine simulates. The result does not depend on them.
    client
        Whose workers compute: a ``distributed.Client`` of Dask, or an executor of `concurrent.futures`. They read and
        write files by the names that this process uses, ``.zarr``, ``.npy`` and ``.raw``, and arrays of Zarr in
        folders; to an array in memory they send blocks back. `memory_limit` is that of one task, by default half of
        what a worker has for each of its threads. A worker that dies costs the tasks that it had.
    cancel
        A token whose ``cancel()`` ends the run from any thread. It is looked at behind each block, by every worker, and
        behind each task of `client`.
    durable
        Sync the file and its name to the disk once at the end, before `save` returns, so that it survives a loss of
        power. By default a file is atomic (it appears whole or not at all, whatever becomes of the process), but it
        reaches the disk when the system writes it.
    events
        A file for what the run does, as it does it: one JSON object a line, which `report` reads. What was in the file
        is replaced. If it cannot be written any more, the run goes on, and a warning comes at its end.

    Returns
    -------
    dict
        ``blocks``, ``peak`` (bytes), ``read_bytes``, ``halved`` (how often memory ran out), ``on_devices`` (blocks),
        ``left_to_cpu`` (blocks of operations that devices do not have, by name). With `client` also ``tasks``; the
        peak is that of one task.

    Raises
    ------
    OSError
        If the file cannot be written, or not be synced with `durable`.
    BlockingIOError
        While another `save` writes the same file.
    BudgetError
        If not even the smallest block fits; nothing is written.
    CancelledError
        If `cancel` was cancelled. What a file has so far is kept, as after Ctrl-C, and `resume` goes on with it.
    SettingError
        For a device that is not there; the message lists those that are.
    UnsupportedError
        If workers of `client` cannot write the file: TIFF and HDF5 have one writer.
    WorkerError
        If a worker of `client` could not compute or write a block; the message names it, and its box.
    ValueError
        If `resume` finds a file that was begun as something else, or changed since.

    Examples
    --------
    >>> import numpy as np, tempfile, os
    >>> from arrayloom import filters
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "out.npy")
    ...     report = save(
    ...         name, filters.maximum_filter(open(np.arange(9.0)), 3), memory_limit="64KiB"
    ...     )
    ...     np.load(name).tolist()
    [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 8.0]
    """
    source = as_volume(volume)
    check_progress(progress)
    check_token(cancel)
    cluster = cluster_of(client, source, memory_limit, devices)
    limit = default_limit() if memory_limit is None else nbytes(memory_limit)
    run = Run(limit, progress, devices, cluster, cancel, durable)
    words: dict[str, Any] = {
        "chunks": chunks,
        "shards": shards,
        "dataset": dataset,
        "compression": compression,
        "zarr_format": zarr_format,
        "levels": levels,
        "axes": axes,
        "spacing": spacing,
        "units": units,
    }
    words = {k: v for k, v in words.items() if v is not None}
    said = dict(words)
    if not isinstance(path, (str, os.PathLike)):
        if words or resume or durable:
            name = next(iter(words), "resume" if resume else "durable")
            message = (
                f"{name} is of files; the target is an object that is there already, leave it out"
            )
            raise ValueError(message)
        with recorded(events, f"a {type(path).__name__}") as recorder:
            return save_to_object(path, source, replace(run, recorder=recorder))
    file = Path(path)
    check_words(file, words, written=True)
    if cluster is not None:
        cluster.check_file(file)
        # Workers have other current directories.
        file = file.absolute()
    for read in leaves(source):
        if read.path == file.resolve():
            message = f"{file} is read and cannot be written at the same time; choose another name"
            raise ValueError(message)
    _check_extents("chunks", chunks, source)
    _check_extents("shards", shards, source)
    if zarr_format not in {None, 2, 3}:
        message = f"zarr_format {zarr_format}; there are 2 and 3"
        raise ValueError(message)
    if kind_of(file) == "zarr" and is_image(file):
        words.setdefault("levels", 1)
    if "levels" in words or is_image(file) or (kind_of(file) == "tiff" and source.axes is not None):
        words["scale"] = scale_of(source, spacing, axes, units, file)
    workers(devices, limit)
    # What the expression cannot do is told before there is a file.
    words["fits"] = fits_of(source, run)
    check_place(file)
    with held(file), recorded(events, str(file)) as recorder:
        facts = begun_as(source, said)
        earlier = earlier_of(file, facts) if resume else None
        writer = create(file, source.shape, source.dtype, old=earlier is not None, **words)
        return save_to(writer, source, replace(run, recorder=recorder), facts, earlier)


def live() -> "Live":
    """Serve a page on this machine that shows runs while they go on: blocks, memory, rate and devices.

    It listens to ``127.0.0.1`` on any free port, shows runs of this process that begin while it is open, and tells its
    address, which has a random token, on standard error. Nothing is served before it is called, and runs cost nothing.

    Returns
    -------
    Live
        A context manager that closes the page; it also has ``url`` and ``close()``.

    Examples
    --------
    >>> import numpy as np, tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder, live() as page:
    ...     facts = save(os.path.join(folder, "out.npy"), np.zeros((9, 9)))
    ...     page.url.startswith("http://127.0.0.1:")
    True
    """
    # A server takes a while to import.
    from arrayloom._volumes.live import Live  # noqa: PLC0415

    return Live()


def convert(source: _File, target: _File, **options: Any) -> dict[str, Any]:
    """Copy a volume from one file to another, in another format; options are those of `save`.

    Examples
    --------
    >>> import numpy as np, tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     a, b = os.path.join(folder, "a.npy"), os.path.join(folder, "b.raw")
    ...     np.save(a, np.arange(4, dtype=np.uint8))
    ...     report = convert(a, b)
    ...     os.path.getsize(b)
    4
    """
    return save(target, open(source), **options)
