"""Numbers of a whole volume: sums, extremes, means, deviations, percentiles.

They are computed at once, in passes over the volume, and have NumPy's bits: sums of floats are taken in the
order in which NumPy adds the elements of a contiguous array (pairwise, `numpy.add.reduce`), percentiles are
found exactly, by counting leading bits of all elements and then looking closer.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Elements of volumes are known at run time only.

import itertools
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from arrayloom._volume import Box, Build, Volume, default_limit, threads
from arrayloom._volume_compute import compute

__all__ = ["REDUCTIONS", "each_block", "in_order", "order_statistics", "quantile"]

Array = NDArray[Any]

# Elements that are summed in one call.
_PART = 1 << 20
# Elements of a buffer of NumPy, in which it converts what it sums in another dtype.
_BUFFER = 8192


def each_block(
    volume: Volume, take: Callable[[Array, Box], object], memory_limit: int | None = None
) -> None:
    """Call ``take(voxels, box)`` for each block of `volume`, in any order, each voxel once."""
    dtype = volume.dtype

    def write(box: Box, view: memoryview) -> None:
        shape = [hi - lo for lo, hi in zip(*box, strict=True)]
        take(np.frombuffer(view, dtype).reshape(shape), box)

    if volume.size == 0:
        return
    if volume.ndim == 0:
        take(compute(volume), ((), ()))
        return
    limit = default_limit() if memory_limit is None else memory_limit
    build = Build()
    build.add(volume)
    build.expr.run_to_sink(write, limit, threads(), [1] * volume.ndim, [], None, None, [])


def in_order(volume: Volume) -> Iterator[Array]:
    """The voxels of `volume` in C order, in parts that fit the memory."""
    most = max(default_limit() // 4 // volume.dtype.itemsize, 1)
    axis = 0
    while axis + 1 < volume.ndim and np.prod(volume.shape[axis + 1 :], dtype=object) > most:
        axis += 1
    if volume.ndim == 0:
        yield compute(volume).reshape(-1)
        return
    plane = int(np.prod(volume.shape[axis + 1 :], dtype=object))
    step = max(1, most // max(plane, 1))
    for outer in itertools.product(*[range(n) for n in volume.shape[:axis]]):
        for start in range(0, volume.shape[axis], step):
            stop = min(start + step, volume.shape[axis])
            part = volume[(*(slice(i, i + 1) for i in outer), slice(start, stop))]
            yield compute(part).reshape(-1)


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


def _sum(volume: Volume, dtype: Any = None) -> Any:
    kind = np.add.reduce(np.zeros(1, volume.dtype), dtype=dtype).dtype
    if volume.size == 0:
        return kind.type(0)
    if kind.kind in "biu":
        total: list[Any] = [kind.type(0)]

        def take(values: Array, _: Box) -> None:
            with np.errstate(over="ignore"):
                total[0] = total[0] + np.add.reduce(values, axis=None, dtype=kind)

        each_block(volume, take)
        return total[0]
    half = kind == volume.dtype == np.float16
    parts = _Parts(in_order(volume.astype(np.float32) if half else volume))
    if kind == volume.dtype:
        # Halves are added as singles and rounded once.
        total = _pairwise(parts, volume.size, 2 if kind.kind == "c" else 1)
        return kind.type(total)
    result = kind.type(0)
    for start in range(0, volume.size, _BUFFER):
        part = parts.take(min(_BUFFER, volume.size - start))
        result = result + np.add.reduce(part, dtype=kind)
    return result


def _mean(volume: Volume, dtype: Any = None) -> Any:
    if dtype is None and volume.dtype.kind in "biu":
        dtype = np.dtype("f8")
    half = dtype is None and volume.dtype == np.float16
    total = _sum(volume, np.float32 if half else dtype)
    with np.errstate(invalid="ignore", divide="ignore"):
        result = total.dtype.type(np.true_divide(total, volume.size))
    return np.float16(result) if half else result


def _var(volume: Volume, dtype: Any = None, ddof: float = 0) -> Any:
    kind = np.float64 if dtype is None and volume.dtype.kind in "biu" else dtype
    total = _sum(volume, kind)
    far = volume - total.dtype.type(np.true_divide(total, volume.size))
    far = far if kind is None else far.astype(kind)
    squares = np.real(far * np.conjugate(far)) if far.dtype.kind == "c" else far * far
    with np.errstate(invalid="ignore", divide="ignore"):
        total = _sum(squares)
        return total.dtype.type(np.true_divide(total, max(volume.size - ddof, 0)))


def _std(volume: Volume, dtype: Any = None, ddof: float = 0) -> Any:
    return np.sqrt(_var(volume, dtype, ddof))


def _folded(ufunc: np.ufunc) -> Callable[..., Any]:
    """An associative ufunc, for which order does not matter."""

    def reduce(volume: Volume) -> Any:
        if volume.size == 0:
            return ufunc.reduce(np.empty(0, volume.dtype))
        found: list[Any] = []
        each_block(volume, lambda values, _: found.append(ufunc.reduce(values, axis=None)))
        return ufunc.reduce(np.array(found))

    return reduce


def _prod(volume: Volume, dtype: Any = None) -> Any:
    result = np.multiply.reduce(np.ones(1, volume.dtype), dtype=dtype)
    for part in in_order(volume):
        result = np.multiply.reduce(part, dtype=dtype, initial=result)
    return result


def _place(volume: Volume, which: Any, best: Any) -> int:
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
    return found[int(best(np.array([value for value, _ in found])))][1]


def _count(volume: Volume) -> int:
    total = 0

    def take(values: Array, _: Box) -> None:
        nonlocal total
        total += int(np.count_nonzero(values))

    each_block(volume, take)
    return total


def _keys(values: Array) -> Array:
    """Unsigned integers in the order of `values`, NaN last."""
    kind, bits = values.dtype.kind, 8 * values.dtype.itemsize
    unsigned = np.dtype(f"u{values.dtype.itemsize}")
    if kind in "bu":
        return values.view(unsigned)
    top = unsigned.type(1 << bits - 1)
    if kind == "i":
        return values.view(unsigned) ^ top
    keys = values.view(unsigned)
    keys = np.where(keys & top, ~keys, keys | top)
    return np.where(np.isnan(values), unsigned.type(~unsigned.type(0)), keys)


def _value(key: int, dtype: np.dtype[Any]) -> Any:
    bits = 8 * dtype.itemsize
    unsigned = np.dtype(f"u{dtype.itemsize}")
    top = 1 << bits - 1
    if dtype.kind == "i":
        key ^= top
    elif dtype.kind == "f":
        key = key ^ top if key & top else ~key & ((1 << bits) - 1)
    return np.array(key, unsigned).view(dtype)[()]


def order_statistics(volume: Volume, places: list[int]) -> list[Any]:
    """The values at `places` of the sorted volume, NaN being last.

    Every pass over the volume counts 16 bits of those elements whose higher bits are settled.
    """
    bits = 8 * volume.dtype.itemsize
    if volume.dtype.kind not in "biuf":
        message = f"elements of {volume.dtype} have no order for percentiles"
        raise TypeError(message)
    width = min(bits, 16)
    # For each prefix: how many elements are smaller.
    settled: dict[int, tuple[int, int]] = dict.fromkeys(places, (0, 0))
    for shift in range(bits - width, -1, -width):
        prefixes = sorted({prefix for prefix, _ in settled.values()})
        counts = {p: np.zeros(1 << width, np.int64) for p in prefixes}

        def take(
            values: Array, _: Box, shift: int = shift, counts: dict[int, Array] = counts
        ) -> None:
            keys = _keys(values.reshape(-1))
            for prefix in counts:
                chosen = keys if shift + width == bits else keys[keys >> (shift + width) == prefix]
                part = (chosen >> shift & ((1 << width) - 1)).astype(np.intp)
                counts[prefix] += np.bincount(part, minlength=1 << width)

        each_block(volume, take)
        for place, (prefix, below) in settled.items():
            sums = np.cumsum(counts[prefix])
            digit = int(np.searchsorted(sums, place - below, side="right"))
            before = int(sums[digit - 1]) if digit else 0
            settled[place] = (prefix << width | digit, below + before)
    return [_value(settled[place][0], volume.dtype) for place in places]


def quantile(volume: Volume, q: Any, *, percent: bool = False, method: str = "linear") -> Any:
    """The quantiles of all voxels, interpolated as `numpy.quantile` does by default."""
    if method != "linear":
        message = f"quantiles of volumes are linear, not {method!r}; compute the volume first"
        raise NotImplementedError(message)
    if volume.size == 0:
        return np.quantile(np.empty(0, volume.dtype), q)
    kind = volume.dtype
    if np.ndim(q):
        each = [quantile(volume, x, percent=percent) for x in np.asarray(q).reshape(-1)]
        return np.array(each).reshape(np.shape(q))
    weak = type(q) in (int, float)
    share = np.asanyarray(q)
    if percent:
        hundred = kind.type(100) if kind.kind == "f" else 100
        share = np.true_divide(q if weak else share, hundred)
    elif weak and kind.kind == "f":
        share = np.asanyarray(q, dtype=kind)
    if not 0 <= share <= 1:
        message = (
            f"{'percentiles' if percent else 'quantiles'} lie between 0 and {100 if percent else 1}"
        )
        raise ValueError(message)
    place = (volume.size - 1) * share
    low = min(int(np.floor(place)), volume.size - 1)
    high = min(low + 1, volume.size - 1)
    values = order_statistics(volume, [low, high, volume.size - 1])
    if kind.kind == "f" and np.isnan(values[2]):
        return values[2]
    gamma = place - np.floor(place)
    pair = np.array(values[:2], kind)
    return np.quantile(pair, float(gamma) if weak else gamma)


def _median(volume: Volume) -> Any:
    if volume.size == 0:
        return np.median(np.empty(0, volume.dtype))
    middle = [(volume.size - 1) // 2, volume.size // 2]
    values = order_statistics(volume, [*middle, volume.size - 1])
    if volume.dtype.kind == "f" and np.isnan(values[2]):
        return values[2]
    return np.mean(np.array(values[: 1 if middle[0] == middle[1] else 2], volume.dtype))


def _known(volume: Any) -> Any:
    """Zeros instead of NaN."""
    return (
        np.where(np.isnan(volume), volume.dtype.type(0), volume)
        if volume.dtype.kind in "fc"
        else volume
    )


def _nan_mean(volume: Volume, dtype: Any = None) -> Any:
    if volume.dtype.kind not in "fc":
        return _mean(volume, dtype)
    count = volume.size - _count(cast("Any", np.isnan(volume)))
    with np.errstate(invalid="ignore", divide="ignore"):
        total = _sum(_known(volume), dtype)
        return total.dtype.type(np.true_divide(total, count))


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
    "nansum": lambda volume, dtype=None: _sum(_known(volume), dtype),
    "nanmean": _nan_mean,
    "ptp": lambda volume: _max(volume) - _min(volume),
    "any": _folded(np.logical_or),
    "all": _folded(np.logical_and),
    "count_nonzero": _count,
    "argmin": lambda volume: _place(volume, np.argmin, np.argmin),
    "argmax": lambda volume: _place(volume, np.argmax, np.argmax),
    "median": _median,
    "percentile": lambda volume, q, method="linear": quantile(
        volume, q, percent=True, method=method
    ),
    "quantile": lambda volume, q, method="linear": quantile(volume, q, method=method),
}
