"""Files that are read where they lie: whether they are still what they were when they were opened.

The pages of a mapped file that has been cut short end the process when they are touched, and HDF5 reads zeros there. So
the file is looked at when a run begins, and once more when it has ended.
"""

# pyright: reportUnknownVariableType=false
# Elements of arrays are known at run time only.

import mmap
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from arrayloom._volumes.volume import Volume

__all__ = ["ChangedError", "Stamp", "check_length", "check_read", "mapped_in", "stamp_of"]


class ChangedError(OSError):
    """A file was changed after it had been opened."""


@dataclass(frozen=True)
class Stamp:
    """The size and the time that a file had."""

    path: Path
    nbytes: int
    mtime_ns: int

    def check(self) -> None:
        """Refuse a file that has another size or time now.

        Raises
        ------
        ChangedError
            If it has, or if the file is gone.
        """
        try:
            now = self.path.stat()
        except FileNotFoundError:
            message = f"{self.path} is gone since it was opened; bring it back and open it again"
            raise ChangedError(message) from None
        if now.st_size != self.nbytes:
            change = f", from {self.nbytes} to {now.st_size} bytes"
        elif now.st_mtime_ns != self.mtime_ns:
            change = ""
        else:
            return
        message = f"{self.path} has changed since it was opened{change}; open it again"
        raise ChangedError(message)


def stamp_of(path: Path) -> Stamp | None:
    """The stamp of a file; none of a directory, whose chunks are files of their own."""
    if not path.is_file():
        return None
    found = path.stat()
    return Stamp(path.resolve(), found.st_size, found.st_mtime_ns)


def check_read(volumes: "list[Volume]") -> None:
    """Refuse files of `volumes` that have changed while they were read."""
    for volume in volumes:
        if volume.stamp is not None:
            volume.stamp.check()


def mapped_in(x: Any) -> "np.memmap[Any, Any] | None":
    """The mapped file that an array lies in, as it was mapped; None if it lies in none."""
    found: np.memmap[Any, Any] | None = None
    while isinstance(x, np.ndarray):
        if isinstance(x, np.memmap) and x.filename is not None:
            found = x
        x = x.base
    return found


def check_length(mapped: "np.memmap[Any, Any]") -> None:
    """Refuse a mapped file that ends before the mapping does.

    Raises
    ------
    ChangedError
        If it was cut short after it had been mapped.
    """
    pages: Any = mapped
    while isinstance(pages, np.ndarray):
        pages = pages.base
    if not isinstance(pages, mmap.mmap):
        return
    start = mapped.offset - mapped.offset % mmap.ALLOCATIONGRANULARITY
    if pages.size() < start + len(pages):
        message = (
            f"{os.fspath(mapped.filename or '')} was cut to {pages.size()} bytes after byte {start + len(pages) - 1} had been "
            "mapped; map it again"
        )
        raise ChangedError(message)
