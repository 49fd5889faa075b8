"""Files whose voxels lie at fixed places, written by several processes: each writes rows of its own by system calls."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# Elements are known at run time only.

import itertools
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["RowsTarget"]


class RowsTarget:
    r"""The voxels of a ``.npy`` or raw file in C order, from byte `offset` on.

    The file is opened for each box, so it is handed over when a box is written, and no mapping can end the process.

    Parameters
    ----------
    path
        A file that has its size already.
    offset
        Where its first voxel lies.
    shape, dtype
        Of its voxels.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "x.raw")
    ...     _ = path.write_bytes(bytes(6))
    ...     RowsTarget(path, 0, (2, 3), np.dtype("u1"))[0:2, 1:3] = np.full((2, 2), 7, "u1")
    ...     path.read_bytes()
    b'\x00\x07\x07\x00\x07\x07'
    """

    def __init__(self, path: Path, offset: int, shape: Sequence[int], dtype: np.dtype[Any]) -> None:
        self.path, self.offset = path, offset
        self.shape, self.dtype = tuple(shape), dtype

    def __setitem__(self, key: tuple[slice, ...], values: NDArray[Any]) -> None:
        # Axes behind the last one that is cut lie together.
        together = len(key)
        while together and (key[together - 1].start, key[together - 1].stop) == (
            0,
            self.shape[together - 1],
        ):
            together -= 1
        outer, cut = key[: max(together - 1, 0)], max(together - 1, 0)
        steps = [math.prod(self.shape[d + 1 :]) for d in range(len(key))]
        begin = key[cut].start * steps[cut]
        lines = np.ascontiguousarray(values, self.dtype).reshape(
            math.prod(s.stop - s.start for s in outer), -1
        )
        places = itertools.product(*(range(s.start, s.stop) for s in outer))
        file = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            for place, line in zip(places, lines, strict=True):
                first = begin + sum(p * steps[d] for d, p in enumerate(place))
                _written(file, line.tobytes(), self.offset + first * self.dtype.itemsize)
        finally:
            os.close(file)


def _written(file: int, line: bytes, place: int) -> None:
    left = memoryview(line)
    while left:
        count = os.pwrite(file, left, place)
        left, place = left[count:], place + count
