"""What a plan says of itself: words and pictures."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arrayloom._volumes.plan_picture import draw

__all__ = ["Plan"]


@dataclass(frozen=True)
class Plan:
    """How a volume would be computed.

    ``print(plan)`` tells it in words, `draw` shows it.
    """

    shape: tuple[int, ...]
    dtype: str
    limit: int
    facts: dict[str, Any]
    boxes: Any
    enough: int | None = None
    """Bytes with which nothing is read twice, if this plan reads something twice."""

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return int(self.facts["blocks"])

    @property
    def peak(self) -> int:
        """Most bytes in use."""
        return int(self.facts["peak"])

    @property
    def redundancy(self) -> float:
        """Bytes read more than once, as a share of the sources."""
        return float(self.facts["redundancy"])

    def __str__(self) -> str:  # pyright: ignore[reportImplicitOverride]
        f = self.facts
        grid = " x ".join(str(len(b) - 1) for b in f["bounds"])
        order = (
            "independent blocks"
            if f["sweep"] is None
            else f"slabs that move along axis {f['sweep']}"
        )
        bound = f["bound_bytes"] / max(f["source_bytes"], 1) - 1
        lines = [
            f"{self.shape} {self.dtype} in {self.blocks} blocks ({grid}), {order}",
            f"memory     {self.peak:,} of {self.limit:,} bytes",
            f"read       {f['read_bytes']:,} bytes, {100 * self.redundancy:.2f} % more than once",
            *([] if self.enough is None else [f"once       with {self.enough:,} bytes"]),
            f"bound      {100 * max(bound, 0.0):.2f} % for independent blocks of any grid",
            f"pipeline   {'read, compute and write overlap' if f['overlapped'] else 'one after the other'}",
            f"predicted  {f['seconds']:.2f} s",
        ]
        return "\n".join(lines)

    def draw(self, path: str | os.PathLike[str], *, axes: tuple[int, int] | None = None) -> None:
        """Draw blocks, halos and how often each voxel is read, as ``.svg`` or ``.png``.

        Parameters
        ----------
        path
            The file.
        axes
            The two axes of the picture; the last two that are cut by default.
        """
        draw(self, Path(path), axes)
