"""Pictures of plans: blocks and halos, and how often each voxel is read.

SVG is text; PNG is written with the standard library.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

import struct
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["draw", "write_png"]

_COLOURS = ((31, 119, 180), (255, 127, 14), (44, 160, 44), (148, 103, 189))
_SIZE = 480


class Plan(Protocol):
    """What a picture shows of `arrayloom.volumes.Plan`."""

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        ...

    @property
    def boxes(self) -> Any:
        """What a block reads and writes."""
        ...

    @property
    def facts(self) -> dict[str, Any]:
        """What the planner found."""
        ...

    @property
    def redundancy(self) -> float:
        """Bytes read more than once, as a share of the sources."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the result."""
        ...


def write_png(path: Path, image: NDArray[np.uint8]) -> None:
    """Write an image of shape (rows, columns) or (rows, columns, 3)."""
    rows, columns = image.shape[:2]
    colour = 2 if image.ndim == 3 else 0
    lines = b"".join(b"\0" + np.ascontiguousarray(line).tobytes() for line in image)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", columns, rows, 8, colour, 0, 0, 0)
    content = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 6)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + content)


def _axes(plan: Plan, axes: tuple[int, int] | None) -> tuple[int, int]:
    if not plan.shape:
        message = "a volume without axes has no blocks to draw"
        raise ValueError(message)
    if axes is not None:
        return axes[0] % len(plan.shape), axes[1] % len(plan.shape)
    if len(plan.shape) == 1:
        return 0, 0
    cut = sorted(range(len(plan.shape)), key=lambda d: (len(plan.facts["bounds"][d]) > 2, d))
    first, second = sorted(cut[-2:])
    return first, second


def _reads(plan: Plan, axis: int) -> list[tuple[int, int, int, int]]:
    """Along one axis, for each block: core and what it reads of the first source."""
    bounds = plan.facts["bounds"]
    out: list[tuple[int, int, int, int]] = []
    last = 0
    for i in range(len(bounds[axis]) - 1):
        lo = [b[0] for b in bounds]
        hi = [b[1] for b in bounds]
        lo[axis], hi[axis] = bounds[axis][i], bounds[axis][i + 1]
        box = plan.boxes(1, lo, hi)[0]
        d = min(axis, len(box[0]) - 1)
        first, end = box[0][d], box[1][d]
        if plan.facts["sweep"] == axis:
            first = max(first, last)
        last = end
        out.append((lo[axis], hi[axis], first, end))
    return out


def _counts(reads: list[tuple[int, int, int, int]], n: int) -> NDArray[np.int64]:
    counts = np.zeros(n, np.int64)
    for _, _, first, end in reads:
        counts[max(first, 0) : min(end, n)] += 1
    return counts


def draw(plan: Plan, path: Path, axes: tuple[int, int] | None) -> None:
    """Draw `plan`; the ending of `path` says how."""
    down, across = _axes(plan, axes)
    rows, columns = _reads(plan, down), _reads(plan, across)
    if down == across:
        rows = [(0, 1, 0, 1)]
    extents = (1 if down == across else plan.shape[down], plan.shape[across])
    if path.suffix.lower() == ".svg":
        path.write_text(_svg(plan, rows, columns, extents, (down, across)), encoding="utf-8")
    elif path.suffix.lower() == ".png":
        write_png(path, _raster(rows, columns, extents))
    else:
        message = f"{path}: a plan is drawn as .svg or .png"
        raise ValueError(message)


def _svg(
    plan: Plan,
    rows: list[Any],
    columns: list[Any],
    extents: tuple[int, int],
    axes: tuple[int, int],
) -> str:
    scale = _SIZE / max(*extents, 1)
    width, height = extents[1] * scale, max(extents[0] * scale, 12.0)
    tall = height / max(extents[0], 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * width + 90:.0f}" height="{height + 80:.0f}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        '<text x="20" y="20">blocks (lines) and what they read (colours)</text>',
        f'<text x="{width + 60:.0f}" y="20">how often each voxel is read</text>',
    ]
    for i, (_, _, r0, r1) in enumerate(rows):
        for j, (_, _, c0, c1) in enumerate(columns):
            colour = "rgb({},{},{})".format(*_COLOURS[(i % 2) * 2 + j % 2])
            parts.append(
                f'<rect x="{20 + c0 * scale:.2f}" y="{30 + r0 * tall:.2f}" width="{(c1 - c0) * scale:.2f}" '
                f'height="{(r1 - r0) * tall:.2f}" fill="{colour}" fill-opacity="0.3"/>'
            )
    for r0, r1, _, _ in rows:
        parts.extend(
            f'<rect x="{20 + c0 * scale:.2f}" y="{30 + r0 * tall:.2f}" width="{(c1 - c0) * scale:.2f}" '
            f'height="{(r1 - r0) * tall:.2f}" fill="none" stroke="black"/>'
            for c0, c1, _, _ in columns
        )
    parts.append(
        f'<rect x="{width + 60:.0f}" y="30" width="{width:.2f}" height="{height:.2f}" fill="none" stroke="grey"/>'
    )
    down, across = _counts(rows, extents[0]), _counts(columns, extents[1])
    most = max(int(down.max(initial=1)) * int(across.max(initial=1)), 1)
    for r0, r1, a in _runs(down):
        for c0, c1, b in _runs(across):
            shade = 255 - int(200 * (a * b - 1) / max(most - 1, 1))
            parts.append(
                f'<rect x="{width + 60 + c0 * scale:.2f}" y="{30 + r0 * tall:.2f}" width="{(c1 - c0) * scale:.2f}" '
                f'height="{(r1 - r0) * tall:.2f}" fill="rgb({shade},{shade},255)"><title>{a * b}</title></rect>'
            )
    text = f"axes {axes[0]} (down) and {axes[1]}; {plan.blocks} blocks, {100 * plan.redundancy:.2f} % read more than once"
    parts.append(f'<text x="20" y="{height + 55:.0f}">{text}; darkest: {most} times</text></svg>')
    return "\n".join(parts)


def _runs(counts: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    edges = [0, *(np.flatnonzero(np.diff(counts)) + 1).tolist(), len(counts)]
    return [(a, b, int(counts[a])) for a, b in pairwise(edges) if b > a]


def _raster(rows: list[Any], columns: list[Any], extents: tuple[int, int]) -> NDArray[np.uint8]:
    """Both panels as an image; every point stands for one place of the volume."""
    shape = [max(1, round(_SIZE * n / max(extents))) for n in extents]
    shape[0] = max(shape[0], 12)
    at = [np.minimum(np.arange(m) * n // m, n - 1) for m, n in zip(shape, extents, strict=True)]
    blocks = [
        np.searchsorted([r[1] for r in reads], place, "right")
        for reads, place in zip((rows, columns), at, strict=True)
    ]
    left = np.full((*shape, 3), 255.0)
    for i, (_, _, r0, r1) in enumerate(rows):
        inside = (at[0] >= r0) & (at[0] < r1)
        for j, (_, _, c0, c1) in enumerate(columns):
            here = np.outer(inside, (at[1] >= c0) & (at[1] < c1))
            left[here] = 0.7 * left[here] + 0.3 * np.array(_COLOURS[(i % 2) * 2 + j % 2])
    edge = (np.diff(blocks[0], prepend=blocks[0][:1]) != 0)[:, None] | (
        np.diff(blocks[1], prepend=blocks[1][:1]) != 0
    )[None]
    left[edge] = 0
    counts = np.outer(_counts(rows, extents[0])[at[0]], _counts(columns, extents[1])[at[1]])
    shade = 255 - 200 * (counts - 1) / max(int(counts.max()) - 1, 1)
    right = np.stack([shade, shade, np.full(shade.shape, 255.0)], -1)
    return np.concatenate([_framed(left), _framed(right)], 1).astype(np.uint8)


def _framed(panel: NDArray[np.float64]) -> NDArray[np.float64]:
    """A panel with a thin frame and a margin around it."""
    around = ((1, 1), (1, 1), (0, 0))
    frame = np.pad(panel, around, constant_values=96.0)
    return np.pad(frame, tuple((10 * a, 10 * b) for a, b in around), constant_values=255.0)
