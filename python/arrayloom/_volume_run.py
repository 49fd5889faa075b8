"""How a volume is computed, and who hears of it: what `arrayloom.volumes.save` was told beside the target."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# Bars of other libraries have no types here.

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arrayloom._volume import Progress
from arrayloom._volume_progress import Shown, reported

if TYPE_CHECKING:
    from arrayloom._volume_cluster import Cluster

__all__ = ["Run"]


@dataclass(frozen=True)
class Run:
    """One call of `arrayloom.volumes.save`."""

    limit: int
    """Bytes of buffers."""
    progress: Shown | None
    devices: str | Sequence[str] | None
    cluster: "Cluster | None"

    def watched(self, itemsize: int) -> AbstractContextManager[Progress | None]:
        """What is called after each block of voxels of `itemsize` bytes; None if nobody wants to know."""
        return reported(self.progress, itemsize)
