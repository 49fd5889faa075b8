"""Numbers of a whole volume: sums, extremes, means, deviations, places.

They are computed at once, in passes over the volume, and have NumPy's bits: sums of floats are taken in the
order in which NumPy adds the elements of a contiguous array (pairwise, `numpy.add.reduce`). Where voxels are
left out (``where=``), they count as zeros of such a sum.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Elements of volumes are known at run time only.

from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from arrayloom._volumes.order import median, quantile
from arrayloom._volumes.passes import each_block, in_order
from arrayloom._volumes.volume import Box, Volume

__all__ = ["REDUCTIONS"]

Array = NDArray[Any]

# Elements that are summed in one call.
_PART = 1 << 20
# Elements of a buffer of NumPy, in which it converts what it sums in another dtype.
_BUFFER = 8192


class _Parts:
    """Takes elements out of a stream of arrays."""

    def __init__(self, stream: Iterator[Array]) -> None:
        self.stream = stream
        self.now: Array = np.empty(0)
        self.at = 0

    def take(self, count: int) -> Array:
        if self.at + count <= self.now.size:
            self.at += count
            return self.now[self.at - count : self.at]
        parts: list[Array] = []
        while count:
            if self.at == self.now.size:
                self.now, self.at = next(self.stream), 0
            part = self.now[self.at : self.at + count]
            self.at += part.size
            count -= part.size
            parts.append(part)
        return np.concatenate(parts) if len(parts) != 1 else parts[0]


def _pairwise(parts: _Parts, count: int, unit: int) -> Any:
    """The sum of `count` elements as NumPy takes it: halves are multiples of eight numbers long."""
    if count <= _PART:
        return np.add.reduce(parts.take(count))
    numbers = count * unit
    half = numbers // 2
    half -= half % 8
    return _pairwise(parts, half // unit, unit) + _pairwise(parts, (numbers - half) // unit, unit)


def _only(volume: Volume, where: Volume | None, instead: Any) -> Volume:
    """`volume` with `instead` where `where` is false."""
    if where is None:
        return volume
    return cast("Any", np.where(cast("Any", where), volume, volume.dtype.type(instead)))


def _number(volume: Volume, where: Volume | None) -> np.intp:
    """How many voxels count, as the integer that NumPy divides by."""
    return np.intp(volume.size if where is None else _count(where))


def _divided(total: Any, count: Any) -> Any:
    with np.errstate(all="ignore"):
        return total.dtype.type(np.true_divide(total, count))


def _sum(
    volume: Volume, dtype: Any = None, initial: Any = None, where: Volume | None = None
) -> Any:
    volume = _only(volume, where, 0)
    words = {} if initial is None else {"initial": initial}
    start: Any = np.add.reduce(np.empty(0, volume.dtype), dtype=dtype, **words)
    kind = start.dtype
    if volume.size == 0:
        return start
    if kind.kind in "biu":
        total: list[Any] = [start]

        def take(values: Array, _: Box) -> None:
            with np.errstate(over="ignore"):
                total[0] = total[0] + np.add.reduce(values, axis=None, dtype=kind)

        each_block(volume, take)
        return total[0]
    half = kind == volume.dtype == np.float16
    parts = _Parts(in_order(volume.astype(np.float32) if half else volume))
    if kind == volume.dtype:
        # Halves are added as singles and rounded once.
        total_of_all = _pairwise(parts, volume.size, 2 if kind.kind == "c" else 1)
        return kind.type(total_of_all if initial is None else start + total_of_all)
    result = start
    for at in range(0, volume.size, _BUFFER):
        part = parts.take(min(_BUFFER, volume.size - at))
        result = result + np.add.reduce(part, dtype=kind)
    return result


def _mean(volume: Volume, dtype: Any = None, where: Volume | None = None) -> Any:
    if dtype is None and volume.dtype.kind in "biu":
        dtype = np.dtype("f8")
    half = dtype is None and volume.dtype == np.float16
    total = _sum(volume, np.float32 if half else dtype, where=where)
    result = _divided(total, _number(volume, where))
    return np.float16(result) if half else result


def _var(
    volume: Volume,
    dtype: Any = None,
    ddof: float = 0,
    where: Volume | None = None,
    mean: Any = None,
) -> Any:
    kind = np.float64 if dtype is None and volume.dtype.kind in "biu" else dtype
    count = _number(volume, where)
    if mean is None:
        mean = _divided(_sum(volume, kind, where=where), count)
    far = volume - np.asarray(mean).reshape(())
    if far.dtype.kind == "c":
        real, imaginary = np.real(far), np.imag(far)
        squares = real * real + imaginary * imaginary
    else:
        squares = far * far
    return _divided(_sum(squares, kind, where=where), np.maximum(count - ddof, 0))


def _std(volume: Volume, *args: Any, **options: Any) -> Any:
    return np.sqrt(_var(volume, *args, **options))


def _folded(ufunc: np.ufunc, neutral: Any = None) -> Callable[..., Any]:
    """An associative ufunc, for which order does not matter, and a value that changes nothing."""

    def reduce(volume: Volume, initial: Any = None, where: Volume | None = None) -> Any:
        words = {} if initial is None else {"initial": initial}
        if where is not None and initial is None and neutral is None:
            message = f"{ufunc.__name__} where something is true has no value where nothing is; give initial="
            raise ValueError(message)
        nothing = np.empty(0, volume.dtype)
        if volume.size == 0:
            return ufunc.reduce(nothing, **words)
        instead = neutral if initial is None else ufunc.reduce(nothing, **words)
        found: list[Any] = [] if initial is None else [instead]
        masked = _only(volume, where, instead)
        each_block(masked, lambda values, _: found.append(ufunc.reduce(values, axis=None)))
        return ufunc.reduce(np.array(found))

    return reduce


def _prod(
    volume: Volume, dtype: Any = None, initial: Any = None, where: Volume | None = None
) -> Any:
    words = {} if initial is None else {"initial": initial}
    result = np.multiply.reduce(np.empty(0, volume.dtype), dtype=dtype, **words)
    for part in in_order(_only(volume, where, 1)):
        result = np.multiply.reduce(part, dtype=dtype, initial=result)
    return result


def _place(volume: Volume, which: Any, best: Any) -> np.intp:
    """The first place of an extreme, as NumPy counts it; the first NaN if there is one."""
    found: list[tuple[Any, int]] = []

    def take(values: Array, box: Box) -> None:
        at = np.unravel_index(int(which(values)), values.shape)
        place = np.ravel_multi_index(
            [lo + i for lo, i in zip(box[0], at, strict=True)], volume.shape
        )
        found.append((values[at], int(place)))

    if volume.size == 0:
        message = f"{volume!r} has no voxels, and so no place of an extreme"
        raise ValueError(message)
    each_block(volume, take)
    found.sort(key=lambda pair: pair[1])
    return np.intp(found[int(best(np.array([value for value, _ in found])))][1])


def _count(volume: Volume) -> Any:
    total = 0

    def take(values: Array, _: Box) -> None:
        nonlocal total
        total += int(np.count_nonzero(values))

    each_block(volume, take)
    return type(np.count_nonzero(np.empty(0)))(total)


def _known(volume: Any, instead: Any = 0) -> Any:
    """`instead` of NaN."""
    return _only(volume, ~np.isnan(volume), instead) if volume.dtype.kind in "fc" else volume


def _there(volume: Any, where: Any = None) -> Any:
    """True where a number counts: where none is NaN, and `where` is true."""
    if volume.dtype.kind not in "fc":
        return where
    there = ~np.isnan(volume)
    return there if where is None else there & where


def _nan_mean(volume: Volume, dtype: Any = None, where: Volume | None = None) -> Any:
    if volume.dtype.kind not in "fc":
        return _mean(volume, dtype, where)
    count = _number(volume, _there(volume, where))
    return _divided(_sum(_known(volume), dtype, where=where), count)


def _nan_var(
    volume: Volume,
    dtype: Any = None,
    ddof: float = 0,
    where: Volume | None = None,
    mean: Any = None,
) -> Any:
    if volume.dtype.kind not in "fc":
        return _var(volume, dtype, ddof, where, mean)
    there = _there(volume, where)
    count = _number(volume, there)
    known = _known(volume)
    if mean is None:
        mean = _divided(_sum(known, dtype, where=where), count)
    far = (known - np.asarray(mean).reshape(())).astype(volume.dtype)
    squares = np.real(far * np.conjugate(far)) if far.dtype.kind == "c" else far * far
    result = _divided(_sum(squares, dtype, where=there), count - ddof)
    return result if count > ddof else result.dtype.type(np.nan)


def _nan_place(which: Any, instead: float) -> Callable[..., Any]:
    def place(volume: Volume) -> Any:
        if volume.dtype.kind in "fc" and not _count(_there(volume)):
            message = "All-NaN slice encountered"
            raise ValueError(message)
        return _place(_known(volume, instead), which, which)

    return place


def _nan_quantile(percent: bool) -> Callable[..., Any]:
    def share(volume: Volume, q: Any, **options: Any) -> Any:
        if volume.size == 0:
            return _nan_mean(volume)
        return quantile(volume, q, percent=percent, count=_number_there(volume), **options)

    return share


def _number_there(volume: Volume) -> int:
    return int(_number(volume, _there(volume)))


_min, _max = _folded(np.minimum), _folded(np.maximum)

# Name of NumPy's function to the number of a volume.
REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": _sum,
    "mean": _mean,
    "var": _var,
    "std": _std,
    "prod": _prod,
    "min": _min,
    "max": _max,
    "amin": _min,
    "amax": _max,
    "nanmin": _folded(np.fmin),
    "nanmax": _folded(np.fmax),
    "nansum": lambda volume, *args, **options: _sum(_known(volume), *args, **options),
    "nanprod": lambda volume, *args, **options: _prod(_known(volume, 1), *args, **options),
    "nanmean": _nan_mean,
    "nanvar": _nan_var,
    "nanstd": lambda volume, *args, **options: np.sqrt(_nan_var(volume, *args, **options)),
    "ptp": lambda volume: _max(volume) - _min(volume),
    "any": _folded(np.logical_or, False),
    "all": _folded(np.logical_and, True),
    "count_nonzero": _count,
    "argmin": lambda volume: _place(volume, np.argmin, np.argmin),
    "argmax": lambda volume: _place(volume, np.argmax, np.argmax),
    "nanargmin": _nan_place(np.argmin, np.inf),
    "nanargmax": _nan_place(np.argmax, -np.inf),
    "median": median,
    "nanmedian": lambda volume: median(volume, _number_there(volume)),
    "percentile": lambda volume, q, **options: quantile(volume, q, percent=True, **options),
    "quantile": quantile,
    "nanpercentile": _nan_quantile(True),
    "nanquantile": _nan_quantile(False),
}
