"""Order statistics of a whole volume: percentiles, quantiles, medians.

They are found exactly, by counting leading bits of all voxels and then looking closer.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Elements of volumes are known at run time only.

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arrayloom._volumes.passes import each_block
from arrayloom._volumes.volume import Box, Volume

__all__ = ["median", "order_statistics", "quantile"]

Array = NDArray[Any]

# NumPy 2.3 takes shares in the dtype of the array, later ones in doubles.
_SHARES_OF_ARRAYS = float(np.quantile(np.arange(1001, dtype=np.float16), 0.3004)) == 300.25


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


def _parts_of(values: Array) -> list[Array]:
    """What orders `values`, the first part first: numbers, or real and imaginary parts whose zeros are equal."""
    return [np.real(values) + 0, np.imag(values) + 0] if values.dtype.kind == "c" else [values]


def _value(key: int, dtype: np.dtype[Any]) -> Any:
    bits = 8 * dtype.itemsize
    if dtype.kind == "c":
        part = dtype.type(0).real.dtype
        both = key >> bits // 2, key & ((1 << bits // 2) - 1)
        return np.array([_value(k, part) for k in both], part).view(dtype)[0]
    unsigned = np.dtype(f"u{dtype.itemsize}")
    top = 1 << bits - 1
    if dtype.kind == "i":
        key ^= top
    elif dtype.kind == "f":
        key = key ^ top if key & top else ~key & ((1 << bits) - 1)
    return np.array(key, unsigned).view(dtype)[()]


def order_statistics(volume: Volume, places: Sequence[int]) -> list[Any]:
    """The values at `places` of the sorted volume, NaN being last.

    Every pass over the volume counts 16 bits of those elements whose higher bits are settled.
    """
    parts = len(_parts_of(np.empty(0, volume.dtype)))
    bits = 8 * volume.dtype.itemsize // parts
    width = min(bits, 16)
    # For each prefix: how many elements are smaller.
    settled: dict[int, tuple[int, int]] = dict.fromkeys(places, (0, 0))
    for part, shift in product(range(parts), range(bits - width, -1, -width)):
        prefixes = sorted({prefix for prefix, _ in settled.values()})
        counts = {p: np.zeros(1 << width, np.int64) for p in prefixes}

        def take(
            values: Array,
            _: Box,
            part: int = part,
            shift: int = shift,
            counts: dict[int, Array] = counts,
        ) -> None:
            keys = [_keys(x) for x in _parts_of(values.reshape(-1))]
            known = bits - width - shift
            for prefix in counts:
                chosen = keys[part]
                if part:
                    chosen = chosen[keys[0] == prefix >> known]
                if known:
                    chosen = chosen[chosen >> (shift + width) == prefix & ((1 << known) - 1)]
                digits = (chosen >> shift & ((1 << width) - 1)).astype(np.intp)
                counts[prefix] += np.bincount(digits, minlength=1 << width)

        each_block(volume, take)
        for place, (prefix, below) in settled.items():
            sums = np.cumsum(counts[prefix])
            digit = int(np.searchsorted(sums, place - below, side="right"))
            before = int(sums[digit - 1]) if digit else 0
            settled[place] = (prefix << width | digit, below + before)
    return [_value(settled[place][0], volume.dtype) for place in places]


def _shares(q: Any, dtype: np.dtype[Any], *, percent: bool) -> Any:
    """`q` as shares of one, in the dtype in which NumPy takes them."""
    own = dtype.kind == "f" and _SHARES_OF_ARRAYS
    if percent:
        shares = np.true_divide(q, dtype.type(100) if own else 100)
    else:
        shares = np.asanyarray(q, dtype=dtype if own and type(q) in (int, float) else None)
    if not np.all((shares >= 0) & (shares <= 1)):
        end = 100 if percent else 1
        message = f"{'percentiles' if percent else 'quantiles'} lie between 0 and {end}"
        raise ValueError(message)
    return shares


def quantile(
    volume: Volume,
    q: Any,
    *,
    percent: bool = False,
    method: str = "linear",
    weights: Any = None,
    count: int | None = None,
) -> Any:
    """The quantiles of all voxels, interpolated as `numpy.quantile` does by default.

    With `count` they are those of so many voxels, NaN being left out as last ones.
    """
    if method != "linear" or weights is not None:
        message = "quantiles of volumes are linear and without weights; compute the volume first"
        raise NotImplementedError(message)
    kind, size = volume.dtype, volume.size if count is None else count
    if kind.kind == "c":
        message = f"elements of {kind} have no order for percentiles; compute the volume first"
        raise TypeError(message)
    if size == 0:
        plain: Any = np.percentile if percent else np.quantile
        return (
            np.full(np.shape(q), np.nan, kind)[()] if volume.size else plain(np.empty(0, kind), q)
        )
    shares = _shares(q, kind, percent=percent)
    weak = type(q) in (int, float)
    places = [(size - 1) * share for share in shares.reshape(-1)]
    low = [min(int(np.floor(place)), size - 1) for place in places]
    wanted = sorted({*low, *(min(at + 1, size - 1) for at in low), size - 1})
    known = dict(zip(wanted, order_statistics(volume, wanted), strict=True))
    whole = shares.dtype.kind in "biu"
    dtype = kind if whole else np.quantile(np.zeros(2, kind), 0.5 if weak else shares).dtype
    if kind.kind == "f" and np.isnan(known[size - 1]):
        return np.full(np.shape(q), np.nan, dtype if np.ndim(q) else kind)[()]
    if whole:
        return np.array([known[at] for at in low], kind).reshape(np.shape(q))[()]
    found: list[Any] = []
    for place, at in zip(places, low, strict=True):
        pair = np.array([known[at], known[min(at + 1, size - 1)]], kind)
        gamma = place - np.floor(place)
        found.append(np.quantile(pair, float(gamma) if weak else gamma))
    return np.array(found, dtype).reshape(np.shape(q))[()]


def median(volume: Volume, count: int | None = None) -> Any:
    """The median of all voxels; with `count` of so many, NaN being left out as last ones."""
    size = volume.size if count is None else count
    if size == 0:
        return volume.dtype.type(np.nan) if volume.size else np.median(np.empty(0, volume.dtype))
    places = sorted({(size - 1) // 2, size // 2, size - 1})
    known = dict(zip(places, order_statistics(volume, places), strict=True))
    if volume.dtype.kind in "fc" and np.isnan(known[size - 1]):
        return known[size - 1]
    middle = sorted({(size - 1) // 2, size // 2})
    return np.mean(np.array([known[at] for at in middle], volume.dtype))
