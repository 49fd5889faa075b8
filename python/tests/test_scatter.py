"""Values that go to places by number or mask on a device with memory of its own: NumPy's bits, warnings and errors."""

import pytest
from support.process import output

ENVIRON = {"ARRAYLOOM_BACKEND": "sim", "ARRAYLOOM_MIN_BYTES": "0"}

START = """
import itertools, random, sys, warnings
import numpy
import arrayloom as np
seed = int(sys.argv[1])
draw, numbers = random.Random(seed), numpy.random.default_rng(seed)
DTYPES = "?bBhHiIqQefdFD"
def values(dtype, shape):
    real = numbers.integers(-40, 40, shape) / 4
    return (real + 1j * real[::-1] if dtype in "FD" else real).astype(dtype)
def abroad(x):
    # Computed, and on the device.
    return np.array(x) + np.zeros(x.shape, x.dtype) if x.dtype != bool else np.array(x) | np.zeros(x.shape, bool)
def done(work, x, *operands):
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        try: work(x, *operands)
        except Exception as error: result = type(error), str(error)
        else: result = numpy.array(x).tobytes()
    return result, [(w.category, str(w.message)) for w in met]
def compare(work, x, *operands):
    ours = [abroad(o) if isinstance(o, numpy.ndarray) and draw.random() < 0.7 else o for o in operands]
    got, want = done(work, abroad(x), *ours), done(work, x.copy(), *operands)
    assert got == want, (seed, x.dtype, x.shape, [(getattr(o, "dtype", o), getattr(o, "shape", 0)) for o in operands], got, want)
"""

KEYS = (
    START
    + """
def indices(shape, extent, kind):
    found = numbers.integers(-extent, extent, shape).astype(kind)
    return found if kind in "bhiq" else abs(found.astype(int)).astype(kind) % numpy.array(extent, kind)
def key(shape):
    axes = len(shape)
    form = draw.choice(["first", "last", "all", "apart", "box", "list", "scalar", "none", "mask", "rows", "bad", "empty"])
    kind = draw.choice("bBhiIqq")
    if form == "mask": return numbers.random(shape) < 0.4
    if form == "rows": return numbers.random(shape[:1]) < 0.5
    if form == "first": return indices(draw.choice([(4,), (2, 3)]), shape[0], kind)
    if form == "last": return (Ellipsis, indices((5,), shape[-1], kind))
    if form == "list": return [0, -1, 0]
    if form == "empty": return numpy.zeros(0, int)
    if form == "bad": return numpy.array([0, shape[0]])
    if form == "scalar": return (numpy.array([1, 0]), *[0] * (axes - 1))
    if form == "none": return (None, indices((3,), shape[0], kind))
    if form == "box": return numpy.ix_(*[indices((3,), n, kind) for n in shape])
    if form == "all": return tuple(indices((6,), n, kind) for n in shape)
    return (indices((3,), shape[0], kind), *[slice(None, None, draw.choice([1, 2, -1]))] * (axes - 1))
for _ in range(60):
    shape = draw.choice([(7,), (5, 6), (3, 4, 5)])
    x = values(draw.choice(DTYPES), shape)
    where = key(shape)
    form = x[where].shape if not (isinstance(where, numpy.ndarray) and where.max(initial=0) >= shape[0] and where.dtype != bool) else (2, *shape[1:])
    given = draw.choice([form, form[-1:], form, (1,), (2,) + form])
    value = draw.choice([values(draw.choice(DTYPES), given), values(x.dtype.char, given), 3, 1.5, -1, True, 2 + 1j, 300, numpy.float32(2.5),
                         [1, 2, 3], numpy.int64(70000), values(x.dtype.char, form[::-1]).T])
    if isinstance(where, tuple) and not any(isinstance(w, numpy.ndarray) for w in where): continue
    def work(x, value, *where):
        where = where if isinstance(KEY, tuple) else where[0]
        x[where] = value
    KEY = where
    compare(work, x, value, *(where if isinstance(where, tuple) else (where,)))
print("equal")
"""
)

ADDED = (
    START
    + """
for ufunc, dtype in itertools.product((numpy.add, numpy.subtract, numpy.maximum, numpy.minimum, numpy.multiply), DTYPES):
    x = values(dtype, (6, 7))
    where = numbers.integers(-6, 6, 30)
    for value in (values(dtype, (30, 7)), values(draw.choice(DTYPES), (7,)), 1, 0.1, 2.5, -3, 1000, numpy.float32(0.1), numpy.int8(3), 1j):
        compare(lambda x, where, value: ufunc.at(x, where, value), x, where, value)
    other = numbers.integers(0, 7, 30)
    compare(lambda x, i, j, value: ufunc.at(x, (i, j), value), x, where, other, values(dtype, 30))
    compare(lambda x, j, value: ufunc.at(x, (slice(1, 5), j), value), x, other, values(dtype, (4, 30)))
compare(lambda x, where: numpy.add.at(x, where, 1), values("d", 5), numpy.array([4, 5]))
compare(lambda x, where: numpy.negative.at(x, where), values("d", 5), numpy.array([4, 4]))
# Sums in the order of the numbers.
x, where = numbers.random(9).astype("f"), numbers.integers(0, 9, 5000)
compare(lambda x, i, v: numpy.add.at(x, i, v), x, where, numbers.random(5000).astype("f"))
for many, weights in ((where, None), (where, numbers.random(5000)), (where.astype("B"), where), (where, where[:7]), (where - 1, None), (where, where * 1j)):
    results = []
    for lift in (lambda a: a if a is None else abroad(a)), (lambda a: a):
        try: found = numpy.bincount(lift(many), lift(weights), minlength=12)
        except Exception as error: results.append((type(error), str(error)))
        else: results.append((found.dtype, numpy.array(found).tobytes()))
    assert results[0] == results[1], results
for many, value, mode in ((where % 54, 2, "raise"), (where % 54, numbers.random(5000), "raise"), (where[:5] * 6, numbers.random(2), "raise"),
                          (where * 9, 1.5, "wrap"), (where * 9, 1.5, "raise"), ([1, 2], [3, 4], "raise")):
    compare(lambda x, i, v: x.put(i, v, mode=mode), numbers.random((6, 9)), many, value)
    compare(lambda x, i, v: numpy.put(x, i, v, mode), numbers.random((6, 9)), many, value)
    compare(lambda x, i, v: numpy.put(x.T, i, v, mode), numbers.random((6, 9)), many, value)
print("equal")
"""
)


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_values_go_where_numpy_puts_them(first):
    for seed in range(first, first + 10):
        assert output(KEYS, seed, timeout=300, env=ENVIRON) == "equal\n"


@pytest.mark.parametrize("seed", range(3))
def test_values_are_combined_as_numpy_does(seed):
    assert output(ADDED, seed, timeout=300, env=ENVIRON) == "equal\n"


def test_what_may_not_be_written_is_refused():
    program = """
import numpy, arrayloom as np
x = np.ones(9) * 2
x.flags.writeable = False
for work in (
    lambda: x.__setitem__([1, 2], 0.0),
    lambda: x.__setitem__(np.arange(9) > 3, np.arange(5.0)),
    lambda: x.put([1], 1.0),
):
    try: work()
    except ValueError as error: assert "read-only" in str(error), error
    else: raise AssertionError
print(x.sum())
"""
    assert output(program, timeout=300, env=ENVIRON) == "18.0\n"
