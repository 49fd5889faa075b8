"""Volumes of one voxel as numbers, as NumPy has arrays of one element."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportImplicitOverride=false
# Elements of volumes are known at run time only.

import math
from typing import Any, cast

import numpy as np

__all__ = ["Numbers"]


class Numbers:
    """What makes a number of a volume, for those of one voxel; it is computed for that."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def _number(self) -> Any:
        if math.prod(self.shape) != 1:
            message = f"only a volume of one voxel is a number; this one has the shape {self.shape}"
            raise TypeError(message)
        return np.asarray(cast("Any", self)).reshape(-1)[0]

    def __bool__(self) -> bool:
        if math.prod(self.shape) != 1:
            message = "the truth of a volume of several voxels is unclear; use volume.any() or volume.all()"
            raise ValueError(message)
        return bool(self._number())

    def __float__(self) -> float:
        return float(self._number().item())

    def __int__(self) -> int:
        return int(self._number().item())

    def __complex__(self) -> complex:
        return complex(self._number().item())

    def __index__(self) -> int:
        if self.shape or self.dtype.kind not in "iu":
            message = "only a volume of integers without axes is an index"
            raise TypeError(message)
        return int(self._number())

    def __format__(self, format_spec: str) -> str:
        return super().__format__(format_spec) if self.shape else format(self.item(), format_spec)

    def item(self, *place: Any) -> Any:
        """The only voxel as a number of Python, or the one at `place`: indices, or one that counts all voxels."""
        if not place:
            if math.prod(self.shape) != 1:
                message = (
                    f"a volume of shape {self.shape} is no single number; give the place of a voxel"
                )
                raise ValueError(message)
            return self._number().item()
        at = place[0] if len(place) == 1 and isinstance(place[0], tuple) else place
        if len(at) == 1 and len(self.shape) != 1:
            at = np.unravel_index(range(math.prod(self.shape))[at[0]], self.shape)
        return cast("Any", self)[tuple(at)].item()
