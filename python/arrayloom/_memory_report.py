"""What memory holds at one moment, as text, table, JSON and HTML."""

import json
import os
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any

from arrayloom import _ext
from arrayloom._text import human_bytes

__all__ = ["DeviceUse", "Owner", "Report", "Rung", "report"]


@dataclass(frozen=True)
class Owner:
    """An array that holds memory.

    Attributes
    ----------
    nbytes : int
        Its bytes.
    dtype, shape
        What it was made as; ``"bytes"`` where that is not known.
    line : str or None
        ``file:line`` that wrote it last.
    spilled : bool
        Its value lies in the spill file.
    held : bool
        The program holds it; otherwise only recorded operations do.
    """

    nbytes: int
    dtype: str
    shape: tuple[int, ...]
    line: str | None
    spilled: bool
    held: bool

    def __str__(self) -> str:  # pyright: ignore[reportImplicitOverride] - `override` is of Python 3.12
        extents = "x".join(str(extent) for extent in self.shape)
        where = self.line or "an unknown line"
        more = (", spilled" if self.spilled else "") + (
            "" if self.held else ", needed by pending work"
        )
        return f"{human_bytes(self.nbytes)} {self.dtype} {extents} from {where}{more}"


@dataclass(frozen=True)
class Rung:
    """What one measure against lack of memory did: how often, bytes freed, seconds."""

    times: int
    bytes: int
    seconds: float


@dataclass(frozen=True)
class DeviceUse:
    """The memory of a device that is not ours; bytes unless said otherwise.

    Attributes
    ----------
    name : str
        The device.
    limit : int or None
        What may be in use there.
    live, cached
        In use, and waiting for reuse.
    peak, peak_reserved
        The most in use, and the most taken from the device.
    evictions, evicted_bytes
        Number and bytes of copies that left the device to make room; their values went to main memory.
    boxed : int
        Kernels that ran in boxes of rows because the whole did not fit.
    on_cpu : int
        Kernels that the CPU ran because not even that helped.
    """

    name: str
    limit: int | None
    live: int
    cached: int
    peak: int
    peak_reserved: int
    evictions: int
    evicted_bytes: int
    boxed: int
    on_cpu: int

    def __str__(self) -> str:  # pyright: ignore[reportImplicitOverride] - `override` is of Python 3.12
        limit = "no limit" if self.limit is None else f"limit {human_bytes(self.limit)}"
        return (
            f"{human_bytes(self.live)} in use, peak {human_bytes(self.peak)}, {limit}; "
            f"{self.evictions} copies made room, {self.boxed} kernels in boxes, {self.on_cpu} on the CPU"
        )


@dataclass(frozen=True)
class Report:
    """The use of memory at one moment; bytes unless said otherwise.

    Attributes
    ----------
    limit : int or None
        What may be in use.
    live, cached, largest_free
        In use, waiting for reuse, the longest free piece.
    peak, peak_line, peak_reserved
        The highest `live`, the line that reached it, and the most that was taken from the system.
    predicted
        The highest need that a dry run foretold; 0 without a limit.
    spilled, spilled_peak
        In the spill file now and at most.
    allocated
        Allocated in all.
    requests, grown
        Number of blocks given out, and of those that took memory from the system.
    rungs : dict of str to Rung
        What each measure against lack of memory did.
    owners : tuple of Owner
        Those who hold the most.
    devices : tuple of DeviceUse
        Memory of the backend in use, if it has its own.
    """

    limit: int | None
    live: int
    cached: int
    largest_free: int
    peak: int
    peak_line: str | None
    peak_reserved: int
    predicted: int
    spilled: int
    spilled_peak: int
    allocated: int
    requests: int
    grown: int
    rungs: dict[str, Rung]
    owners: tuple[Owner, ...]
    devices: tuple[DeviceUse, ...] = ()

    @property
    def hit_rate(self) -> float:
        """Share of blocks that were served without the system, 1 if there were none."""
        return 1.0 - self.grown / self.requests if self.requests else 1.0

    @property
    def fragmentation(self) -> float:
        """Share of the waiting memory that is not in its longest piece."""
        return 1.0 - min(self.largest_free, self.cached) / self.cached if self.cached else 0.0

    def json(self) -> str:
        """Write it as one JSON object."""
        return json.dumps(asdict(self), sort_keys=True)

    def _rows(self) -> list[tuple[str, str]]:
        where = f" at {self.peak_line}" if self.peak_line else ""
        rows = [
            ("limit", "none" if self.limit is None else human_bytes(self.limit)),
            ("in use", human_bytes(self.live)),
            ("waiting for reuse", human_bytes(self.cached)),
            ("longest free piece", human_bytes(self.largest_free)),
            ("fragmentation", f"{self.fragmentation:.0%}"),
            ("peak", human_bytes(self.peak) + where),
            ("peak taken from the system", human_bytes(self.peak_reserved)),
            ("in the spill file", human_bytes(self.spilled)),
            ("allocated in all", human_bytes(self.allocated)),
            ("blocks served by reuse", f"{self.hit_rate:.1%} of {self.requests}"),
        ]
        if self.predicted:
            rows.insert(6, ("peak foretold", human_bytes(self.predicted)))
        for name, rung in self.rungs.items():
            if rung.times:
                what = f"{rung.times} times, {human_bytes(rung.bytes)}, {rung.seconds * 1e3:.1f} ms"
                rows.append((f"out of memory: {name}", what))
        rows += [(f"device {use.name}", str(use)) for use in self.devices]
        rows += [(f"owner {place}", str(owner)) for place, owner in enumerate(self.owners, 1)]
        return rows

    def __str__(self) -> str:  # pyright: ignore[reportImplicitOverride] - `override` is of Python 3.12
        rows = self._rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name.ljust(width)}  {value}" for name, value in rows)

    def _repr_html_(self) -> str:
        cells = (f"<tr><th>{escape(n)}</th><td>{escape(v)}</td></tr>" for n, v in self._rows())
        return f"<table>{''.join(cells)}</table>"

    def html(self, path: str | os.PathLike[str]) -> None:
        """Write it to `path` as one HTML file that needs nothing else."""
        page = f"<!doctype html><meta charset=utf-8><title>Memory</title>{self._repr_html_()}"
        Path(path).write_text(page, encoding="utf-8")


def report(owners: int = 10) -> Report:
    """Return the use of memory now.

    Parameters
    ----------
    owners : int
        How many of the largest arrays it names.

    Returns
    -------
    Report
        Text by `str` and `print`, a table in notebooks, ``json()`` and ``html(path)``.

    Examples
    --------
    >>> report().live >= 0
    True
    """
    found: dict[str, Any] = dict(_ext.memory_report(owners))
    found["rungs"] = {name: Rung(**rung) for name, rung in found["rungs"].items()}
    found["owners"] = tuple(Owner(**owner) for owner in found["owners"])
    found["devices"] = tuple(DeviceUse(**use) for use in found["devices"])
    return Report(**found)
