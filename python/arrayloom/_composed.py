"""NumPy's functions in other words: as operations that are recorded, or that have a quicker way here.

Each function takes what NumPy's function of its name takes, of which at least one argument is a lazy array, and gives
the same result to the bit (`einsum` to rounding: its sums go to the BLAS). It returns `NotImplemented` for arguments
that NumPy's own code is to have.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false
# Arguments are as various as NumPy takes them.

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from arrayloom import _ext
from arrayloom._transforms import TRANSFORMS

__all__ = ["FUNCTIONS"]

# Numbers that are counted one by one rather than sorted, at most.
_MOST_COUNTED = 1 << 16


def _select(condlist, choicelist, default=0) -> Any:
    conditions: list[Any] = list(condlist)
    choices: list[Any] = [*choicelist, default]
    if len(choices) != len(conditions) + 1 or not conditions or not _numeric(*conditions):
        return NotImplemented
    if any(c.dtype != np.bool for c in conditions):
        return NotImplemented
    arrays: list[Any] = [c if _numeric(c) else np.asarray(c) for c in choices]
    if not all(type(c) in (int, float, complex) or _numeric(c) for c in choices):
        return NotImplemented
    dtype = np.result_type(*choices)
    fits = all(np.can_cast(a.dtype, dtype, "same_kind") for a in arrays[:-1])
    if not fits or not _broadcast(*conditions, *arrays):
        return NotImplemented
    result, *earlier = (a.astype(dtype, copy=False) for a in reversed(arrays))
    for condition, choice in zip(reversed(conditions), earlier, strict=True):
        result = np.where(condition, choice, result)
    return result if result.flags.c_contiguous else result.copy(order="C")


def _cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None) -> Any:
    if not _numeric(a, b):
        return NotImplemented
    if axis is not None:
        axisa = axisb = axisc = axis
    try:
        a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    except ValueError:
        return NotImplemented
    rank = max(a.ndim, b.ndim)
    # Of two vectors the elements would be scalars, which warn of what arrays of integers do in silence.
    if rank == 1:
        return NotImplemented
    if a.shape[-1] != 3 or b.shape[-1] != 3 or not _broadcast(a, b) or not -rank <= axisc < rank:
        return NotImplemented
    dtype = np.promote_types(a.dtype, b.dtype)
    a0, a1, a2 = (a[..., i].astype(dtype, copy=False) for i in range(3))
    b0, b1, b2 = (b[..., i].astype(dtype, copy=False) for i in range(3))
    # NumPy's own products would warn of this file.
    large = np.broadcast(a0, b0).size * dtype.itemsize >= _ext.min_bytes()
    if not large or all(type(part) is np.ndarray for part in (a0, b0)):
        return NotImplemented
    product = (a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0)
    # NumPy fills an array in C order.
    return np.moveaxis(np.ascontiguousarray(np.stack(product, axis=-1)), -1, axisc)


def _einsum(*operands, **words) -> Any:
    """By matrix products, where indices are summed: NumPy does so when it is asked for a good order."""
    arrays = [o for o in operands if isinstance(o, np.ndarray)]
    kinds = {a.dtype for a in arrays}
    if words or len(arrays) < 2 or len(kinds) > 1 or kinds.pop().char not in "fdFD":
        return NotImplemented
    # NumPy lays the result out as the operands lie.
    if any(a.ndim > 2 and not a.flags.c_contiguous for a in arrays):
        return NotImplemented
    if not isinstance(operands[0], str) or not _is_product(operands[0].replace(" ", "")):
        return NotImplemented
    try:
        result = np.einsum(*operands, optimize=True, order="C")
    except ValueError:
        # Without an order, NumPy says what is wrong in other words.
        return NotImplemented
    if result.ndim == 0:
        return result[()]
    return result if getattr(result, "base", None) is None else result.copy()


def _is_product(subscripts: str) -> bool:
    """True for sums whose other common indices, those of a batch of matrices, come first in every operand.

    Batches of vectors are none: one small product after the other takes longer than NumPy's loop.
    """
    inputs, arrow, output = subscripts.partition("->")
    letters = [c for c in inputs if c.isalpha()]
    if not arrow:
        dots = "..." if "..." in inputs else ""
        output = dots + "".join({c for c in letters if letters.count(c) == 1})
    terms = inputs.split(",")
    batch = {c for c in output if sum(c in term for term in terms) > 1}
    if batch and (len(terms) > 2 or any(not set(term) & set(output) - batch for term in terms)):
        return False
    leading = all(
        set(term.removeprefix("...")[: len(batch & set(term))]) <= batch and "..." not in term[1:]
        for term in terms
    )
    return leading and bool(set(letters) - set(output))


def _nansum(a, axis=None, dtype=None, out=None, **words) -> Any:
    return _without_nan(a, 0, np.sum, axis, dtype=dtype, out=out, **words)


def _nanprod(a, axis=None, dtype=None, out=None, **words) -> Any:
    return _without_nan(a, 1, np.prod, axis, dtype=dtype, out=out, **words)


def _without_nan(a, neutral, fold, axis, **words) -> Any:
    if not _has_nan(a):
        return NotImplemented
    return fold(np.where(np.isnan(a), a.dtype.type(neutral), a), axis, **words)


def _nanmean(a, axis=None, dtype=None, out=None, **words) -> Any:
    if not _has_nan(a) or dtype is not None or out is not None or words.keys() - {"keepdims"}:
        return NotImplemented
    absent = np.isnan(a)
    count = np.sum(~absent, axis, dtype=np.intp, **words)
    total = np.sum(np.where(absent, a.dtype.type(0), a), axis, **words)
    if not np.all(count):
        # NumPy warns of means of nothing.
        return NotImplemented
    if isinstance(total, np.ndarray):
        return np.divide(total, count, out=total, casting="unsafe")
    return a.dtype.type(total / count)


def _has_nan(a) -> bool:
    packed = isinstance(a, np.ndarray) and (a.flags.c_contiguous or a.flags.f_contiguous)
    return packed and a.size > 0 and a.dtype.char in "fd"


def _extract(condition, arr) -> Any:
    if not (isinstance(condition, np.ndarray) and isinstance(arr, np.ndarray)):
        return NotImplemented
    if condition.shape != arr.shape or condition.dtype != np.bool:
        return NotImplemented
    return np.ravel(arr)[np.ravel(condition)]


def _histogramdd(sample, *args, **words) -> Any:
    """Of columns in a list, which NumPy joins before it looks at them."""
    if not isinstance(sample, (list, tuple)) or not all(isinstance(s, np.ndarray) for s in sample):
        return NotImplemented
    if not _numeric(*sample) or any(s.shape != t.shape or s.ndim != 1 for s, t in pairwise(sample)):
        return NotImplemented
    return np.histogramdd(np.stack(sample).T, *args, **words)


def _unique(
    ar,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    *,
    equal_nan=True,
    sorted=True,
) -> Any:
    """Of whole numbers: counted if they are few, sorted if not."""
    known = isinstance(ar, np.ndarray) and ar.dtype.kind in "biu" and ar.size > 0
    if not known or return_index or axis is not None or not sorted:
        return NotImplemented
    flat = ar.ravel()
    low, high = int(flat.min()), int(flat.max())
    if high - low < min(flat.size, _MOST_COUNTED):
        # From zero on where that is as well: numbers need not be shifted.
        low = 0 if low >= 0 and high < _MOST_COUNTED else low
        # Numbers that `intp` does not have go around, and back.
        shift = low - (1 << 64) if low > np.iinfo(np.intp).max else low
        index = flat.astype(np.intp) - shift if low or ar.dtype.char in "?LQ" else flat
        counts = np.bincount(index, minlength=high - low + 1)
        values = np.flatnonzero(counts)
        result = [(values + shift).astype(ar.dtype)]
        if return_inverse:
            result.append((np.cumsum(counts != 0) - 1)[index].reshape(ar.shape))
        if return_counts:
            result.append(counts[values])
        return tuple(result) if len(result) > 1 else result[0]
    if return_inverse or return_counts:
        return NotImplemented
    values = flat.copy()
    values.sort()
    first = np.empty(values.shape, np.bool)
    first[0] = True
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return values[first]


def _broadcast(*arrays) -> bool:
    """True if the shapes fit."""
    try:
        np.broadcast_shapes(*(a.shape for a in arrays))
    except ValueError:
        return False
    return True


def _numeric(*arrays) -> bool:
    return all(isinstance(a, np.ndarray) and a.dtype.kind in "biufc" for a in arrays)


# By the names of NumPy's functions.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cross": _cross,
    "einsum": _einsum,
    "extract": _extract,
    "histogramdd": _histogramdd,
    "nanmean": _nanmean,
    "nanprod": _nanprod,
    "nansum": _nansum,
    "select": _select,
    "unique": _unique,
    **TRANSFORMS,
}
