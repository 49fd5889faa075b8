"""Arrays in a cache that are new each time, updated in place and then looked at: nothing is recorded for them."""

import numpy
import pytest
from support.heard import all_warnings
from support.layouts import plain_view

from arrayloom import _ext

pytestmark = pytest.mark.usefixtures("real_laziness")
# What the second cache holds, and what the cache that processors share holds.
SIZES = (20_000, 90_000)


def _two(base):
    """New arrays that are computed, and that nobody has looked at."""
    all_of_them = numpy.ones(len(base), bool)
    return base[all_of_them], base[all_of_them]


def _scaled(base, factor):
    """New arrays, updated three times before anybody looks."""
    a, b = _two(base)
    a *= b
    a += factor
    a -= 1
    return a, float(a.sum())


def _learn(times, line, *operands):
    for _ in range(times):
        line(*operands)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["float64", "complex128", "int32"])
def test_updates_are_left_to_numpy(xp_default, size, dtype):
    values = (numpy.arange(size * 8 // numpy.dtype(dtype).itemsize) % 1000).astype(dtype)

    def line(base):
        a, b = _two(base)
        a *= b
        a += 3
        return a, float(a[7].real)

    base = xp_default.array(values)
    _learn(20, line, base)
    before = _ext.stats()["recorded"]
    found, seventh = line(base)
    assert _ext.stats()["recorded"] == before
    expected, its_seventh = line(values)
    assert seventh == its_seventh
    numpy.testing.assert_array_equal(plain_view(found), expected)


def test_kept_results_and_views_see_each_update(xp_default):
    base = xp_default.arange(40_000.0)
    _learn(20, _scaled, base, 2.0)
    a, _ = _two(base)
    view, kept = a[5:9], a + 0
    for factor in (2.0, 3.0):
        a *= factor
    assert view.tolist() == [30.0, 36.0, 42.0, 48.0]
    assert kept[:3].tolist() == [0.0, 1.0, 2.0]


def test_a_line_that_goes_on_is_recorded_again(xp_default):
    """More operations than a few make one pass, which is quicker than NumPy's many."""
    values = numpy.arange(40_000.0)
    base = xp_default.array(values)

    def line(times):
        a, b = _two(base)
        a *= b
        for _ in range(times):
            a += b
        return float(a.max())

    _learn(20, line, 1)
    _learn(140, line, 12)
    before = _ext.stats()["recorded"]
    assert line(12) == (values * values + 12 * values).max()
    assert _ext.stats()["recorded"] - before >= 13


def test_dear_updates_run_at_once_in_the_array_itself(xp_default):
    values = numpy.linspace(0.0, 3.0, 60_000)

    def line(m, base):
        a, b = _two(base)
        a -= b * 0.5
        m.sqrt(a, out=a)
        return a, float(a.sum())

    base = xp_default.array(values)
    for _ in range(30):
        found, total = line(xp_default, base)
    expected, sum_of_all = line(numpy, values)
    assert total == sum_of_all
    numpy.testing.assert_array_equal(plain_view(found), expected)


def test_warnings_and_errors_are_numpys(xp_default):
    base = xp_default.arange(40_000.0)

    def line(by):
        a, b = _two(base)
        a += b
        a /= by
        return float(a.max())

    _learn(20, line, 2.0)
    with all_warnings() as seen:
        line(0.0)
    first = line.__code__.co_firstlineno
    assert {(w.filename, w.lineno) for w in seen} == {(__file__, first + 3)}
    with numpy.errstate(all="raise"), pytest.raises(FloatingPointError):
        line(0.0)
    with pytest.raises(ValueError, match="broadcast"):
        line(numpy.ones(3))
    assert line(2.0) == 39_999.0


def test_an_updated_part_is_not_copied_to_itself(xp_default):
    """Python assigns the result of ``a[1:] += b`` to the part, which it is."""
    values = numpy.arange(100_000.0)
    a, b = xp_default.array(values), xp_default.ones(100_000)
    a[0] = 5.0

    def line(a, b):
        a[1:] += b[1:]
        a.reshape(400, 250)[3:, ::2] *= b.reshape(400, 250)[3:, ::2]
        return a

    before = _ext.stats()["recorded"]
    line(a, b)
    assert _ext.stats()["recorded"] - before <= 2
    values[0] = 5.0
    numpy.testing.assert_array_equal(plain_view(a), line(values, numpy.ones(100_000)))


def test_shrinking_arrays(xp_default):
    """Escape times: what stays is picked at each step."""

    def run(m):
        c = m.linspace(-2, 1, 300)[None, :] + 1j * m.linspace(-1, 1, 200)[:, None]
        c = c.ravel()
        z, where = m.zeros(c.shape, complex), m.arange(c.size)
        times = m.zeros(c.shape, int)
        for step in range(40):
            m.multiply(z, z, z)
            m.add(z, c, z)
            out = abs(z) > 2.0
            times[where[out]] = step + 1
            m.logical_not(out, out)
            z, where, c = z[out], where[out], c[out]
        return plain_view(times), plain_view(z)

    for found, expected in zip(run(xp_default), run(numpy), strict=True):
        numpy.testing.assert_array_equal(found, expected)
