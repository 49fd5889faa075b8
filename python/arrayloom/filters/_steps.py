"""Steps of binary morphology, once, several times, or until nothing changes any more."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arrayloom._ext import flood
from arrayloom._volumes.compute import IN_MEMORY_LIMIT, compute
from arrayloom._volumes.elementwise import blockwise
from arrayloom._volumes.limits import default_limit, nbytes
from arrayloom._volumes.sources import as_volume
from arrayloom._volumes.volume import Volume
from arrayloom.filters._common import (
    Devices,
    Footprint,
    Input,
    Limit,
    WindowAxis,
    is_lazy,
    window_of,
)
from arrayloom.filters._rank import extremum, extremum_over

Truth = NDArray[np.bool_]

# So many steps take less than looking for what the first one changes; with a mask fewer.
_FEW, _FEW_IN_MASK = 7, 2

# Bytes for each voxel that changes in one step, and more.
_PER_VOXEL = 64


@dataclass(frozen=True)
class Step:
    """An erosion, or a dilation, by the points of a window, which may have none."""

    points: Footprint
    origin: list[int]
    border: bool
    axes: Any
    dilates: bool

    def of(self, volume: Volume) -> Volume:
        """The volume after the step."""
        if self.is_empty():
            return blockwise(self._of_nothing, [volume], volume.shape, np.bool_, "nothing")
        return extremum(
            volume, self.dilates, self.points, "constant", self.border, self.origin, self.axes
        )

    def is_empty(self) -> bool:
        """True if no voxel is looked at: all of nothing is true, and some of nothing false."""
        return not self.points.count

    def _of_nothing(self, inside: Truth) -> Truth:
        return np.full(inside.shape, not self.dilates)

    def several(self, volume: Volume, count: int) -> Volume | None:
        """The volume after `count` steps, if one does what they do: boxes of boxes are boxes."""
        if not volume.shape or self.points.mask is not None:
            return None
        # More would not see more.
        count = min(count, max(volume.shape))
        window = [
            (count * (n - 1) + 1, count * before, mode, border)
            for n, before, mode, border in self._window(volume)
        ]
        return extremum_over(volume, self.dilates, window, None)

    def follow(
        self, old: Truth, new: Truth, mask: Truth | None, steps: int | None, limit: Limit
    ) -> bool:
        """Takes the `steps` after the one from `old` to `new` in place, or all that change something.

        False, and `new` is masked only, if that step changed voxels in both directions, or there is one voxel without axes.
        """
        if not new.shape:
            return False
        volume = as_volume(new)
        points = self.points.points(volume, self.axes)
        budget = _budget(new) if limit is None else nbytes(limit)
        window = self._window(volume)
        return flood(old, new, mask, window, points, self.dilates, steps, budget)

    def _window(self, volume: Volume) -> list[WindowAxis]:
        border = float(self.border)
        return window_of(volume, self.points.shape, "constant", border, self.origin, self.axes)


def _budget(array: Truth) -> int:
    """Bytes for following changes through an array: asking the system takes longer than small arrays do."""
    return IN_MEMORY_LIMIT if array.size <= IN_MEMORY_LIMIT // _PER_VOXEL else default_limit()


def truth(x: object) -> Volume:
    """True where `x` is not zero."""
    volume = as_volume(x)
    if volume.dtype.kind == "b":
        return volume
    if volume.dtype.kind == "c":
        message = f"{volume.dtype} has no binary morphology; compare it first, as in abs(x) > 0"
        raise TypeError(message)
    return blockwise(lambda v: v != 0, [volume], volume.shape, np.bool_, "truth")


def _only(mask: Volume | None, new: Volume, old: Volume) -> Volume:
    """`new` where `mask` is true, else `old`."""
    if mask is None:
        return new
    return blockwise(np.where, [mask, new, old], new.shape, np.bool_, "where")


def repeated(
    x: Input, steps: list[Step], mask: Any, iterations: int, limit: Limit, devices: Devices
) -> Volume | Truth:
    """Each step so often; without a number until nothing changes any more. An array is a new one."""
    result: Volume | Truth = truth(x)
    inside = None if mask is None else truth(mask)
    if inside is not None and inside.shape != result.shape:
        message = f"a mask of shape {inside.shape} for an array of shape {result.shape}; both must be equal"
        raise RuntimeError(message)
    iterations = index(iterations)
    if iterations < 1 and is_lazy(x):
        message = (
            f"{iterations} iterations repeat until nothing changes any more, which takes an array; "
            "compute the volume first, or give a number of iterations"
        )
        raise ValueError(message)
    plain = not is_lazy(x) and limit is None and devices is None
    few = _FEW if inside is None else _FEW_IN_MASK
    for step in steps:
        volume = as_volume(result)
        wide = step.several(volume, iterations) if inside is None and iterations >= 1 else None
        if step.is_empty():
            result = _only(inside, step.of(volume), volume)
        elif wide is not None:
            result = wide
        elif iterations < 1 or (plain and iterations > max(few, step.points.count // 4)):
            result = _settled(volume, step, inside, iterations, limit, devices)
        else:
            for _ in range(iterations):
                volume = _only(inside, step.of(volume), volume)
            result = volume
    return result


def _settled(
    volume: Volume,
    step: Step,
    inside: Volume | None,
    iterations: int,
    limit: Limit,
    devices: Devices,
) -> Truth:
    """The volume after so many steps, or once nothing changes any more."""

    def array(volume: Volume) -> Truth:
        own = volume.source
        if type(own) is np.ndarray:
            return own
        return compute(volume, memory_limit=limit, devices=devices)

    mask = None if inside is None else array(inside)
    old, left = array(volume), iterations if iterations >= 1 else None
    # A state that comes again comes again and again: one is kept, for as many steps as were taken before it.
    kept, taken = old, 0
    while True:
        new = array(step.of(as_volume(old)))
        left = None if left is None else left - 1
        if step.follow(old, new, mask, left, limit) or left == 0 or np.array_equal(old, new):
            return new
        if left is None and np.array_equal(kept, new):
            message = (
                f"{iterations} iterations repeat until nothing changes any more, but states come again and again "
                "with this structure; give a number of iterations, or a structure with its center"
            )
            raise RuntimeError(message)
        taken += 1
        if taken & (taken - 1) == 0:
            kept = new
        old = new
