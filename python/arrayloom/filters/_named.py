"""Parameters by the names of axes, and in physical units: what they are for each filtered axis, in voxels."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false
# Arrays and objects of many libraries come in.

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from arrayloom._volumes.volume import Volume

__all__ = ["Spacing", "by_name", "in_voxels", "named_axes"]

# The volume's own, or distances of voxels along each axis.
Spacing: TypeAlias = bool | float | Sequence[float] | Mapping[str, float] | None


def _names(volume: Volume) -> tuple[str, ...] | None:
    """The names of the axes of a volume, or of the object that it reads, such as an array of xarray."""
    names = volume.axes
    if names is None:
        # Names of xarray may be of any type.
        names = getattr(volume.source, "dims", None)
    if isinstance(names, str) or not isinstance(names, Sequence) or len(names) != volume.ndim:
        return None
    return tuple(map(str, names))


def _places(name: str, value: Mapping[str, Any], volume: Volume) -> dict[int, Any]:
    """The entries of `value` by axis.

    Raises
    ------
    ValueError
        For a name that no axis has.
    """
    names = _names(volume)
    if names is None:
        message = (
            f"{name}={dict(value)} names axes, and those of an input of shape {volume.shape} have no names; "
            f"give {name} as one number for each axis"
        )
        raise ValueError(message)
    for key in value:
        if key not in names:
            message = (
                f"{name}={dict(value)}: no axis is named {key!r}; there are {', '.join(names)}"
            )
            raise ValueError(message)
    return {names.index(key): found for key, found in value.items()}


def by_name(name: str, value: Any, volume: Volume, which: Sequence[int], others: float) -> Any:
    """`value` as the filters take it: by names it becomes one for each axis of `which`, `others` where none is named.

    Raises
    ------
    ValueError
        For a name that no axis has, or that of an axis which is not filtered.
    """
    if not isinstance(value, Mapping):
        return value
    found = _places(name, value, volume)
    for axis in found:
        if axis not in which:
            message = f"{name}={dict(value)}: axis {axis} is not filtered; leave it out, or name it in axes="
            raise ValueError(message)
    return [found.get(axis, others) for axis in which]


def named_axes(name: str, value: Any, volume: Volume, axes: Any) -> Any:
    """`axes`, or if it is None and `value` names some, those."""
    if axes is None and isinstance(value, Mapping):
        return sorted(_places(name, value, volume))
    return axes


def in_voxels(name: str, value: Any, volume: Volume, which: Sequence[int], spacing: Spacing) -> Any:
    """Deviations as the filters take them: by names or not, and over the distances of voxels if `spacing` has them.

    Raises
    ------
    ValueError
        For names that no axis has, and for distances that are none or that nobody knows.
    """
    given: Any = by_name(name, value, volume, which, 0)
    distances = _distances(volume, spacing)
    if distances is None:
        return given
    several = [given] * len(which) if np.ndim(given) == 0 else list(given)
    if len(several) != len(which):
        message = f"{name} has {len(several)} entries for {len(which)} filtered axes"
        raise RuntimeError(message)
    for sigma, axis in zip(several, which, strict=True):
        if sigma and distances[axis] is None:
            message = f"spacing={spacing} has no distance of voxels along axis {axis}, which is filtered; give one"
            raise ValueError(message)
    return [sigma / (distances[axis] or 1) for sigma, axis in zip(several, which, strict=True)]


def _distances(volume: Volume, spacing: Spacing) -> list[float | None] | None:
    """The distance of voxels along each axis, if it is known; None for deviations in voxels."""
    if spacing is None or spacing is False:
        return None
    if spacing is True:
        found: Any = volume.spacing
        if found is None:
            message = (
                "spacing=True, and the input says no distances of voxels; give one for each axis, or open an image "
                "that has them with arrayloom.volumes.open"
            )
            raise ValueError(message)
    elif isinstance(spacing, Mapping):
        places = _places("spacing", spacing, volume)
        found = [places.get(axis) for axis in range(volume.ndim)]
    else:
        found = [spacing] * volume.ndim if np.ndim(spacing) == 0 else spacing
    distances = [None if distance is None else float(distance) for distance in found]
    if len(distances) != volume.ndim:
        message = f"spacing has {len(distances)} distances of voxels for {volume.ndim} axes; give one for each"
        raise ValueError(message)
    if not all(distance is None or 0 < distance < math.inf for distance in distances):
        message = f"spacing {distances} of voxels; distances are positive and finite"
        raise ValueError(message)
    return distances
