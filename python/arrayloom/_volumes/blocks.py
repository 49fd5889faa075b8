"""Blocks of a volume that are computed apart, as integers: boxes of whole granules of the file that is written.

A granule is what a file replaces as a whole: its shard, or its chunk. Each one belongs to one block and each block to
one task, so no two tasks write the same part of a file. Nothing here reads or computes.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Batches", "Grid", "around", "block_of", "pieces", "voxels"]

Box: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]

# Seconds that a task takes at least, if its row of blocks is long enough.
_TASK_SECONDS = 1.5
# Blocks of a place in the queue, so that all workers end together.
_SHARES = 4


@dataclass(frozen=True)
class Grid:
    """Blocks of equal extents, cut at the end of each axis, numbered in C order.

    Raises
    ------
    ValueError
        If a block is not made of whole granules: two tasks would write one of them, and one would be lost.

    Examples
    --------
    >>> grid = Grid((10, 10), (4, 6), (2, 3))
    >>> len(grid), grid.box(1, 1), grid.box(4, 2)
    (6, ((0, 6), (4, 10)), ((8, 0), (10, 10)))
    """

    shape: tuple[int, ...]
    block: tuple[int, ...]
    granule: tuple[int, ...]

    def __post_init__(self) -> None:
        for n, b, g in zip(self.shape, self.block, self.granule, strict=True):
            if b < 1 or (b % g and b < n):
                message = (
                    f"blocks of {self.block} cut granules of {self.granule}, which two tasks would write; "
                    "blocks are made of whole granules"
                )
                raise ValueError(message)

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of blocks along each axis."""
        return tuple(-(-n // b) for n, b in zip(self.shape, self.block, strict=True))

    @property
    def bounds(self) -> list[list[int]]:
        """Where blocks begin and end along each axis."""
        return [[*range(0, n, b), n] for n, b in zip(self.shape, self.block, strict=True)]

    def __len__(self) -> int:
        return math.prod(self.counts)

    def box(self, first: int, count: int = 1) -> Box:
        """The box of `count` blocks, which are neighbours along the last axis."""
        place: list[int] = []
        rest = first
        for n in reversed(self.counts):
            place.insert(0, rest % n)
            rest //= n
        lo = [p * b for p, b in zip(place, self.block, strict=True)]
        place[-1] += count - 1
        hi = [min(p * b + b, n) for p, b, n in zip(place, self.block, self.shape, strict=True)]
        return tuple(lo), tuple(hi)

    def left(self, done: Sequence[Box]) -> tuple[Sequence[int], dict[int, list[Box]]]:
        """The blocks that are not covered by `done`, boxes that do not overlap; and what of a block they cover."""
        if not done:
            return range(len(self)), {}
        found: dict[int, list[Box]] = {}
        for box in done:
            ranges = [
                range(lo // b, -(-hi // b)) for lo, hi, b in zip(*box, self.block, strict=True)
            ]
            for place in itertools.product(*ranges):
                number = 0
                for p, n in zip(place, self.counts, strict=True):
                    number = number * n + p
                found.setdefault(number, []).append(_both(box, self.box(number)))
        covered = {k for k, v in found.items() if sum(map(voxels, v)) == voxels(self.box(k))}
        left = [k for k in range(len(self)) if k not in covered]
        return left, {k: v for k, v in found.items() if k not in covered}


def voxels(box: Box) -> int:
    """Number of voxels of a box.

    Examples
    --------
    >>> voxels(((0, 1), (2, 4)))
    6
    """
    return math.prod(hi - lo for lo, hi in zip(*box, strict=True))


def _both(a: Box, b: Box) -> Box:
    lo = tuple(map(max, a[0], b[0]))
    return lo, tuple(map(min, a[1], b[1]))


def around(box: Box, inside: Box) -> list[Box]:
    """Boxes that tile `box` without `inside`, which lies in it.

    Examples
    --------
    >>> around(((0, 0), (4, 4)), ((1, 0), (4, 2)))
    [((0, 0), (1, 4)), ((1, 2), (4, 4))]
    """
    lo, hi = list(box[0]), list(box[1])
    found: list[Box] = []
    for d, (a, b) in enumerate(zip(*inside, strict=True)):
        if a > lo[d]:
            found.append((tuple(lo), (*hi[:d], a, *hi[d + 1 :])))
        if b < hi[d]:
            found.append(((*lo[:d], b, *lo[d + 1 :]), tuple(hi)))
        lo[d], hi[d] = a, b
    return found


def pieces(box: Box, holes: Sequence[Box]) -> list[Box]:
    """Boxes that tile what is left of `box` without `holes`.

    Examples
    --------
    >>> pieces(((0,), (9,)), [((2,), (4,)), ((6,), (9,))])
    [((0,), (2,)), ((4,), (6,))]
    """
    found = [box]
    for hole in holes:
        kept: list[Box] = []
        for part in found:
            inside = _both(part, hole)
            apart = any(lo >= hi for lo, hi in zip(*inside, strict=True))
            kept += [part] if apart else around(part, inside)
        found = kept
    return found


def block_of(
    shape: Sequence[int],
    granule: Sequence[int],
    cost: Callable[[Box], int],
    *,
    most: int,
    slots: int,
) -> tuple[int, ...]:
    """The extents of blocks: whole granules, joined while that saves reads.

    Parameters
    ----------
    shape, granule
        Of the volume, and of the file that is written.
    cost
        Bytes that are read and written for a box.
    most
        A block of so many voxels is large enough.
    slots
        Tasks that run at a time; there are some blocks for each if the granules allow it.

    Examples
    --------
    >>> block_of(
    ...     (64, 64),
    ...     (8, 8),
    ...     lambda box: voxels((box[0], tuple(n + 4 for n in box[1]))),
    ...     most=600,
    ...     slots=1,
    ... )
    (16, 32)
    """
    now = [min(g, n) for g, n in zip(granule, shape, strict=True)]

    def share(extents: Sequence[int]) -> float:
        """Bytes for each voxel of a block in the middle."""
        lo = [(n // b // 2) * b for n, b in zip(shape, extents, strict=True)]
        hi = [min(a + b, n) for a, b, n in zip(lo, extents, shape, strict=True)]
        box = (tuple(lo), tuple(hi))
        return cost(box) / max(voxels(box), 1)

    while True:
        larger: list[tuple[float, int, list[int]]] = []
        for d, n in enumerate(shape):
            if now[d] < n:
                grown = [min(2 * b, n) if k == d else b for k, b in enumerate(now)]
                larger.append((share(grown), grown[d], grown))
        enough = (
            math.prod(-(-n // b) for n, b in zip(shape, now, strict=True)) < 2 * _SHARES * slots
        )
        if not larger or enough or math.prod(now) * 2 > most:
            return tuple(now)
        now = min(larger)[2]


class Batches:
    """Blocks for one task after the other: first block and number, neighbours along the last axis.

    Tasks become longer until they take a second or so, and shorter towards the end.
    """

    def __init__(self, grid: Grid, left: Sequence[int], slots: int, *, joined: bool = True) -> None:
        self.grid = grid
        self.waiting = left
        self.slots = slots
        self.joined = joined
        self._seconds: float | None = None

    def __iter__(self) -> Iterator[tuple[int, int]]:
        row = self.grid.counts[-1]
        at = 0
        while at < len(self.waiting):
            first, most = self.waiting[at], self._together(len(self.waiting) - at)
            count = 1
            while (
                count < most and self.waiting[at + count] == first + count and (first + count) % row
            ):
                count += 1
            yield first, count
            at += count

    def _together(self, left: int) -> int:
        if self._seconds is None or not self.joined:
            return 1
        wanted = int(_TASK_SECONDS / max(self._seconds, 1e-4))
        return max(1, min(wanted, left, left // (_SHARES * self.slots)))

    def took(self, count: int, seconds: float) -> None:
        """A task of `count` blocks took so long."""
        one = seconds / count
        self._seconds = one if self._seconds is None else 0.7 * self._seconds + 0.3 * one
