"""Measures of a whole volume: extremes, the exact sum, histograms, Otsu's threshold."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Elements of volumes are known at run time only.

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arrayloom._volumes.limits import default_limit, nbytes
from arrayloom._volumes.passes import each_block
from arrayloom._volumes.sources import as_volume
from arrayloom._volumes.volume import Volume

__all__ = ["histogram", "min_max", "otsu", "sum"]

Array = NDArray[Any]
_Limit = int | str | None

# Voxels that are looked at in one go, so that intermediate values stay small.
_PART = 1 << 16
# Doubles are multiples of 2**-1074; a mantissa of 53 bits may reach as far below the least exponent.
_SCALE = 1127


def _each_part(volume: object, take: Callable[[Array], object], memory_limit: _Limit) -> Volume:
    """Call `take` with all voxels, some at a time."""
    source = as_volume(volume)

    def parts(values: Array, _: object) -> None:
        flat = values.reshape(-1)
        for start in range(0, flat.size, _PART):
            take(flat[start : start + _PART])

    limit = default_limit() if memory_limit is None else nbytes(memory_limit)
    each_block(source, parts, limit)
    return source


def min_max(volume: object, *, memory_limit: _Limit = None) -> tuple[Any, Any]:
    """Smallest and greatest voxel.

    Examples
    --------
    >>> import numpy as np
    >>> min_max(np.array([3.0, 1.0, 2.0]))
    (1.0, 3.0)
    """
    found: list[Any] = []

    def take(values: Array) -> None:
        found[:] = [
            np.minimum.reduce([*found[:1], values.min()]),
            np.maximum.reduce([*found[1:], values.max()]),
        ]

    source = _each_part(volume, take, memory_limit)
    if not found:
        message = f"{source!r} has no voxels, and so no extremes"
        raise ValueError(message)
    return found[0].item(), found[1].item()


class _ExactSum:
    """The sum of doubles as one integer, in units of ``2**-_SCALE``, and what is not finite."""

    def __init__(self) -> None:
        self.total = 0
        self.strange = 0.0

    def add(self, values: Array) -> None:
        wide = values.astype(np.float64)
        finite = np.isfinite(wide)
        if not finite.all():
            for value in set(wide[~finite].tolist()):
                self.strange += value
            wide = wide[finite]
        if not wide.size:
            return
        mantissa, exponent = np.frexp(wide)
        whole = (mantissa * 2.0**53).astype(np.int64)
        base = int(exponent.min())
        # Halves of mantissas add up without rounding in doubles, for as many voxels as a part has.
        for half, shift in ((whole >> 27, 27), (whole & 0x7FFFFFF, 0)):
            counts = np.bincount(exponent - base, half.astype(np.float64))
            for i in np.flatnonzero(counts).tolist():
                self.total += int(counts[i]) << (base + i - 53 + shift + _SCALE)

    def value(self) -> float:
        if self.strange != 0:
            return self.strange
        try:
            return float(Fraction(self.total, 1 << _SCALE))
        except OverflowError:
            return float("inf") if self.total > 0 else float("-inf")


def sum(volume: object, *, memory_limit: _Limit = None) -> Any:
    """The exact sum of all voxels, rounded once; an ``int`` for integers.

    Examples
    --------
    >>> import numpy as np
    >>> sum(np.array([1e16, 1.0, -1e16]))
    1.0
    """
    source = as_volume(volume)
    if source.dtype.kind in "biu":
        total = 0
        wide = np.uint64 if source.dtype == np.uint64 else np.int64

        def count(values: Array) -> None:
            nonlocal total
            whole = values.astype(wide)
            total += int((whole >> 32).sum()) << 32
            total += int((whole & 0xFFFFFFFF).sum())

        _each_part(source, count, memory_limit)
        return total
    real, imag = _ExactSum(), _ExactSum()

    def take(values: Array) -> None:
        real.add(np.real(values))
        if values.dtype.kind == "c":
            imag.add(np.imag(values))

    _each_part(source, take, memory_limit)
    return complex(real.value(), imag.value()) if source.dtype.kind == "c" else real.value()


def _counted(volume: object) -> Volume:
    """A volume whose voxels go into bins: truth values as bytes."""
    source = as_volume(volume)
    if source.dtype.kind == "c":
        message = f"voxels of {source.dtype} have no order for bins; take numpy.absolute of them"
        raise TypeError(message)
    return source.astype(np.uint8) if source.dtype.kind == "b" else source


def histogram(
    volume: object,
    bins: int | Sequence[float] = 256,
    range: tuple[float, float] | None = None,
    *,
    memory_limit: _Limit = None,
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Counts and edges of `bins` bins over `range`, which is that of the whole volume by default.

    `bins` may be the edges themselves. Counts and edges are those of `numpy.histogram`.

    Examples
    --------
    >>> import numpy as np
    >>> histogram(np.array([0, 1, 1, 4]), bins=2)[0].tolist()
    [3, 1]
    """
    source = _counted(volume)
    limits: Any = range
    if limits is None and np.ndim(bins) == 0 and source.size:
        # In their own dtype, in which NumPy reckons edges.
        limits = tuple(source.dtype.type(end) for end in min_max(source, memory_limit=memory_limit))
    nothing = np.empty(0, source.dtype)
    counts, edges = np.histogram(nothing, bins, limits)

    def take(values: Array) -> None:
        nonlocal counts
        counts = counts + np.histogram(values, bins, limits)[0]

    _each_part(source, take, memory_limit)
    return counts, edges


def otsu(volume: object, bins: int = 256, *, memory_limit: _Limit = None) -> float:
    """Otsu's threshold: it separates the histogram into two classes of the least variance.

    A volume of one value gives that value, as scikit-image does. Source: N. Otsu, A threshold selection
    method from gray-level histograms, IEEE Transactions on Systems, Man, and Cybernetics 9(1), 1979.

    Examples
    --------
    >>> import numpy as np
    >>> bool(1 < otsu(np.array([0, 1, 1, 0, 9, 8, 9])) < 8)
    True
    """
    source = _counted(volume)
    low, high = min_max(source, memory_limit=memory_limit)
    if low == high:
        return float(low)
    counts, edges = histogram(source, bins, (low, high), memory_limit=memory_limit)
    edges = edges.astype(np.float64)
    centers = (edges[:-1] + edges[1:]) / 2
    below = np.cumsum(counts)[:-1].astype(float)
    above = below[-1:] + counts[-1] - below
    weighted = np.cumsum(counts * centers)
    with np.errstate(invalid="ignore", divide="ignore"):
        between = (
            below * above * (weighted[:-1] / below - (weighted[-1] - weighted[:-1]) / above) ** 2
        )
    return float(centers[int(np.nanargmax(between))])
