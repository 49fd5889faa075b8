"""How a volume is computed, and who hears of it: what `arrayloom.volumes.save` was told beside the target."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# Bars of other libraries have no types here.

import contextlib
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arrayloom._volumes.cancel import CancelToken
from arrayloom._volumes.progress import Shown, reported
from arrayloom._volumes.volume import Progress
from arrayloom.errors import CancelledError

if TYPE_CHECKING:
    from arrayloom._volumes.cluster import Cluster
    from arrayloom._volumes.events import Recorder

__all__ = ["Run"]


@dataclass(frozen=True)
class Run:
    """One call of `arrayloom.volumes.save`."""

    limit: int
    """Bytes of buffers."""
    progress: Shown | None
    devices: str | Sequence[str] | None
    cluster: "Cluster | None"
    cancel: CancelToken | None = None
    durable: bool = False
    recorder: "Recorder | None" = None

    @contextlib.contextmanager
    def watched(self, itemsize: int) -> Generator[Progress | None]:
        """What is called after each block of voxels of `itemsize` bytes, by each worker; None if nobody wants to know.

        It raises `CancelledError` where the token is cancelled, which ends the run as Ctrl-C does.
        """
        token, recorder = self.cancel, self.recorder
        with reported(self.progress, itemsize) as told:
            if token is None and recorder is None:
                yield told
                return

            def after(voxels: int, total: int, used: int) -> None:
                if told is not None:
                    told(voxels, total, used)
                if recorder is not None:
                    recorder.memory(voxels, used)
                if token is not None and token.cancelled:
                    message = f"the run was cancelled when {voxels} of {total} voxels were written"
                    raise CancelledError(message)

            yield after

    def took(self, report: Mapping[str, Any]) -> None:
        """Tell what the run took, if somebody listens."""
        if self.recorder is not None:
            self.recorder.took(report)
