"""Footprints."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def ball(radius: int, ndim: int = 3) -> NDArray[np.bool_]:
    """The points at most `radius` away from the center.

    Raises
    ------
    ValueError
        For a negative radius.

    Examples
    --------
    >>> int(ball(3).sum())
    123
    """
    return ellipsoid([radius] * ndim)


def ellipsoid(radii: Sequence[float]) -> NDArray[np.bool_]:
    """The points with ``sum((x / r)**2) <= 1``; a radius of 0 is flat.

    Raises
    ------
    ValueError
        For a negative radius.

    Examples
    --------
    >>> ellipsoid([1, 0]).tolist()
    [[True], [True], [True]]
    """
    if not all(0 <= r < math.inf for r in radii):
        message = f"radii {list(radii)}; give finite numbers from 0 on"
        raise ValueError(message)
    grids = np.ogrid[tuple(slice(-int(r), int(r) + 1) for r in radii)]
    total: Any = 0.0
    for x, r in zip(grids, radii, strict=True):
        total = total + (x / r) ** 2 if r > 0 else total + x * 0.0
    return np.asarray(total <= 1 + 1e-12)
