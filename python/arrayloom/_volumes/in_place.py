"""Whether each voxel of an expression is made of the voxels at its own place: then it may be written over what it reads.

Nothing is tried out. Each operation says which place of its operands a place of its result reads, and these maps are
followed down to what is read; an operation that says nothing so exact reads any place.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false
# The native half takes words of many kinds.

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from arrayloom._volumes.volume import Volume, inputs_first

if TYPE_CHECKING:
    from arrayloom._ext import VolumeExpr

__all__ = ["is_in_place"]

# Of an axis of what is read: `(axis, step, start)` where place `p` reads `step * p[axis] + start`, None for any place.
_Entry: TypeAlias = tuple[int, int, int] | None
_Map: TypeAlias = tuple[_Entry, ...]

# An expression that reads in more ways than this is not followed: rolls of rolls double them.
_MOST = 64


class _Reads:
    """A native expression that is only followed: of each value, how it reads the volumes that are asked about."""

    def __init__(self, *, straight: bool) -> None:
        self.straight = straight
        self.axes_asked = 0
        self.found: list[frozenset[_Map]] = []
        self.shapes: list[Sequence[int]] = []

    def leaf(self, volume: Volume, *, asked: bool) -> int:
        """The number of a volume that is read."""
        self.axes_asked = volume.ndim if asked else self.axes_asked
        own: _Map = tuple((d, 1, 0) for d in range(volume.ndim))
        return self._new(frozenset([own] if asked else []), volume.shape)

    def call(
        self,
        _function: object,
        _name: str,
        inputs: Sequence[int],
        needs: Sequence[Sequence[_Entry]],
        shape: Sequence[int],
        *_: object,
    ) -> int:
        """An operation that says of each operand where it reads it."""
        maps: set[_Map] = set()
        for number, need in zip(inputs, needs, strict=True):
            straight = list(self.shapes[number]) == list(shape) and all(
                n == (d, 1, 0) for d, n in enumerate(need)
            )
            for read in self.found[number]:
                own = straight or not self.straight
                maps.add(tuple(_through(e, need) if own else None for e in read))
        return self._new(frozenset(maps), shape)

    def __getattr__(self, name: str) -> Callable[..., int]:
        # Windows, and whatever comes later: the first word is the number of the operand, or all numbers.
        def anywhere(of: int | Sequence[int], *_: object, **__: object) -> int:
            numbers = [of] if isinstance(of, int) else of
            reads = any(self.found[n] for n in numbers)
            unknown: _Map = (None,) * self.axes_asked
            return self._new(frozenset([unknown] if reads else []), self.shapes[numbers[0]])

        return anywhere

    def _new(self, maps: frozenset[_Map], shape: Sequence[int]) -> int:
        if len(maps) > _MOST:
            maps = frozenset([cast("_Map", (None,) * self.axes_asked)])
        self.found.append(maps)
        self.shapes.append(shape)
        return len(self.found) - 1


def _through(entry: _Entry, needs: Sequence[_Entry]) -> _Entry:
    """Where an axis is read by an operation with `needs`, of whose operand `entry` says where it reads."""
    if entry is None:
        return None
    axis, step, start = entry
    need = needs[axis]
    if need is None or need[0] < 0:
        return None
    return need[0], step * need[1], step * need[2] + start


def is_in_place(source: Volume, read: Sequence[Volume], *, straight: bool = False) -> bool:
    """True if it is certain that a voxel of `source` is made only of those at its own place in each of `read`.

    Parameters
    ----------
    source
        An expression.
    read
        Volumes that it reads, of its own shape.
    straight
        Whether all on the way to them has to have its shape and place too, so that no block reads more than its box.

    Examples
    --------
    >>> import numpy as np
    >>> from arrayloom import volumes
    >>> x = volumes.open(np.zeros((4, 3)))
    >>> is_in_place(x * 2 + 1, [x]), is_in_place(x[::-1], [x]), is_in_place(x[::-1][::-1], [x])
    (True, False, True)
    """
    reads = _Reads(straight=straight)
    asked = {id(volume) for volume in read}
    numbers: dict[int, int] = {}
    for at in inputs_first(source):
        if at.source is not None:
            numbers[id(at)] = reads.leaf(at, asked=id(at) in asked)
        else:
            of = [numbers[id(v)] for v in at.inputs]
            numbers[id(at)] = at.build(cast("VolumeExpr", cast("Any", reads)), of)
    return all(
        source.shape[d] <= 1 or entry == (d, 1, 0)
        for found in reads.found[numbers[id(source)]]
        for d, entry in enumerate(found)
    )
