"""How far a run is: a bar on standard error, a bar of another library, or a function of the caller."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# Bars of other libraries have no types here.

import contextlib
import sys
import time
from collections.abc import Generator
from typing import Any, TypeAlias

from arrayloom._volumes.volume import Progress

__all__ = ["Shown", "check_progress", "reported"]

Shown: TypeAlias = Progress | bool | type[Any]


class _Bar:
    """Share, rate, time left and memory, in a line on standard error."""

    def __init__(self, itemsize: int) -> None:
        self.start = time.monotonic()
        self.itemsize = itemsize

    def __call__(self, voxels: int, total: int, used: int) -> None:
        seconds = max(time.monotonic() - self.start, 1e-6)
        rate = voxels * self.itemsize / seconds
        left = seconds * (total - voxels) / max(voxels, 1)
        filled = "#" * (30 * voxels // max(total, 1))
        sys.stderr.write(
            f"\r[{filled:<30}] {100 * voxels / max(total, 1):3.0f} %  {rate / 1e6:.0f} MB/s  "
            f"{left:.0f} s left  {used / 1e6:.0f} MB "
        )
        if voxels == total:
            sys.stderr.write("\n")


class _Updated:
    """One bar of a class such as tqdm, which counts voxels."""

    def __init__(self, kind: type[Any]) -> None:
        self.kind = kind
        self.bar: Any = None
        self.voxels = 0

    def __call__(self, voxels: int, total: int, _: int) -> None:
        if self.bar is None:
            self.bar = self.kind(total=total)
        self.bar.update(voxels - self.voxels)
        self.voxels = voxels

    def close(self) -> None:
        """Leave the bar as it stands."""
        if self.bar is not None:
            self.bar.close()


def check_progress(progress: Shown | None) -> None:
    """Refuse what shows no progress."""
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        message = (
            f"progress={progress!r}; give True, a function of (voxels, total, used_bytes), "
            "or a class such as tqdm.tqdm"
        )
        raise TypeError(message)


@contextlib.contextmanager
def reported(progress: Shown | None, itemsize: int) -> Generator[Progress | None]:
    """What a run on voxels of `itemsize` bytes calls after each block; None if nobody wants to know."""
    if progress is None or isinstance(progress, bool):
        yield _Bar(itemsize) if progress else None
    elif isinstance(progress, type) and hasattr(progress, "update"):
        bar = _Updated(progress)
        with contextlib.closing(bar):
            yield bar
    else:
        yield progress
