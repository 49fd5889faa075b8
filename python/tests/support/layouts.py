"""Arrays of every dtype and layout, filled with ordinary and with difficult values.

Everything is built through the module under test, so that views have one of its arrays as base.
"""

import numpy as np

DTYPES = tuple("?bBhHiIlLefdFD")
FLOATS = tuple("efdFD")
INTEGERS = tuple("bBhHiIlL")

_REALS = (
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 2.0, -3.0, 7.0, 100.0, 0.1, -0.3, 1e-3,
    12345.678, np.inf, -np.inf, np.nan, 3.14159265, -1.5707963,
)  # fmt: skip


def _float_values(dtype):
    info = np.finfo(dtype)
    edges = [info.max, info.min, info.tiny, -info.tiny, info.smallest_subnormal, info.eps]
    edges += [info.smallest_subnormal * 3, info.max / 2]
    return np.array([*_REALS, *edges], dtype=dtype)


def values(dtype):
    """The difficult values of a dtype, in a plain 1-D array."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True, True, False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        found = [0, 1, 2, 3, 5, 7, 10, 63, 64, 100, info.max, info.max - 1, info.max // 2]
        found += (
            [-1, -2, -7, -100, info.min, info.min + 1] if dtype.kind == "i" else [info.max // 3]
        )
        return np.array([v for v in found if info.min <= v <= info.max], dtype=dtype)
    if dtype.kind == "f":
        return _float_values(dtype)
    part = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-3, 700.0, np.inf, -np.inf, np.nan])
    grid = part[:, None] + 1j * np.zeros_like(part)
    grid.imag = part[None, :]
    return grid.ravel().astype(dtype)


def all_pairs(left, right):
    """Two equally long arrays that together hold every pair of the values of two arrays."""
    return np.repeat(left, right.size), np.tile(right, left.size)


def ordinary(dtype, count, seed=0):
    """``count`` ordinary values: no overflow in short sums, no NaN."""
    dtype = np.dtype(dtype)
    draw = np.random.default_rng([seed, count, dtype.num])
    if dtype.kind == "b":
        return draw.random(count) < 0.5
    if dtype.kind in "iu":
        low = -50 if dtype.kind == "i" else 0
        return draw.integers(low, 100, count).astype(dtype)
    if dtype.kind == "f":
        return draw.standard_normal(count).astype(dtype)
    return (draw.standard_normal(count) + 1j * draw.standard_normal(count)).astype(dtype)


def _filled(xp, source):
    """An array of the module under test with these elements, given by a store."""
    made = xp.empty(source.shape, source.dtype)
    made[...] = source
    return made


def _strided(xp, v):
    base = _filled(xp, np.repeat(v, 2))
    return base[::2]


def _negative(xp, v):
    return _filled(xp, v[::-1].copy())[::-1]


def _square(v):
    rows = max(1, int(v.size**0.5))
    return v[: rows * (v.size // rows)].reshape(rows, -1)


def _fortran(xp, v):
    made = xp.empty(_square(v).shape, v.dtype, order="F")
    made[...] = _square(v)
    return made


def _inner(xp, v):
    square = _square(v)
    base = xp.zeros((square.shape[0] + 2, square.shape[1] + 3), v.dtype)
    base[1:-1, 1:-2] = square
    return base[1:-1, 1:-2]


def _permuted(xp, v):
    size = v.size - v.size % 2
    return _filled(xp, v[:size].reshape(2, -1, 1)).transpose(1, 2, 0)


def _broadcast(xp, v):
    return xp.broadcast_to(_filled(xp, v), (3, v.size))


def _unaligned(xp, v):
    raw = xp.zeros(v.nbytes + 1, np.uint8)
    view = raw[1:].view(v.dtype)
    view[...] = v
    return view


def _swapped(xp, v):
    return xp.array(v.astype(v.dtype.newbyteorder("S")))


LAYOUTS = {
    "C": lambda xp, v: xp.array(v),
    "pending": _filled,
    "C2": lambda xp, v: _filled(xp, _square(v).copy()),
    "F": _fortran,
    "strided": _strided,
    "negative": _negative,
    "transposed": lambda xp, v: _filled(xp, _square(v).copy()).T,
    "inner": _inner,
    "permuted": _permuted,
    "broadcast": _broadcast,
    "unaligned": _unaligned,
    "swapped": _swapped,
    "0-d": lambda xp, v: xp.array(v[v.size // 2]),
    "one": lambda xp, v: _filled(xp, v[2:3].copy()),
    "empty": lambda xp, v: xp.array(v[:0]),
    "empty2": lambda xp, v: xp.zeros((3, 0), v.dtype),
}

CONTIGUOUS = ("C", "pending", "C2", "F", "transposed")


def _plain_view():
    names = {"__name__": "numpy.tests", "asarray": np.asarray}
    exec("def plain_view(a): return asarray(a)", names)
    return names["plain_view"]


# Of a lazy array, modules of NumPy get a view of NumPy's own type; all others get the array itself.
plain_view = _plain_view()
