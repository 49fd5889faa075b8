"""Lines whose results are always wanted at once: they run at once, and mean the same."""

import numpy
import pytest
from support.heard import all_warnings
from support.layouts import plain_view

from arrayloom import _ext, memory

pytestmark = pytest.mark.usefixtures("real_laziness")
SIZE = 50_000
# What a cache holds.
CACHED = 20_000


def _line(xp, a, look):
    """One line of a program; ``look`` says whether its result is wanted before anything else."""
    c = a * 2.0
    if look:
        float(c[3])
    return c


def _publishes(xp, a, times):
    before = _ext.stats()["publishes"]
    for _ in range(times):
        _line(xp, a, look=True)
    return _ext.stats()["publishes"] - before


def _learn(xp, a):
    for _ in range(10):
        _line(xp, a, look=True)


@pytest.fixture
def a(xp):
    values = xp.arange(float(SIZE))
    float(values[0])
    return values


def test_a_known_line_moves_no_pages(xp, a):
    _learn(xp, a)
    assert _publishes(xp, a, 20) == 0


def test_handing_out_the_memory_teaches_too(a):
    def run():
        c = a * 2.0
        return c.__array_interface__["data"][0], c

    for _ in range(10):
        run()
    before = _ext.stats()["publishes"]
    for _ in range(20):
        run()
    assert _ext.stats()["publishes"] == before


def test_what_a_cache_holds_is_left_to_numpy(xp_default):
    for count, left in [(20_000, True), (100_000, False)]:
        b = xp_default.arange(float(count))
        float(b[0])

        def run(b=b):
            c = b * 2.0
            return float(c[3])

        for _ in range(10):
            run()
        before = _ext.stats()["recorded"]
        for _ in range(20):
            assert run() == 6.0
        assert (_ext.stats()["recorded"] == before) == left


def test_it_runs_at_once_and_gives_the_same(xp, a):
    _learn(xp, a)
    c = _line(xp, a, look=False)
    assert not _ext.is_pending(c)
    numpy.testing.assert_array_equal(plain_view(c), numpy.arange(float(SIZE)) * 2.0)
    assert type(c) is type(a)


def test_results_are_apart(xp, a):
    _learn(xp, a)
    kept = [_line(xp, a, look=True) for _ in range(5)]
    kept[0][:] = -1.0
    assert all(float(c[7]) == 14.0 for c in kept[1:])
    view = kept[1][5:9]
    del kept
    _learn(xp, a)
    assert view.tolist() == [10.0, 12.0, 14.0, 16.0]


def test_copies_are_learned_too(a):
    plain = numpy.arange(float(SIZE))
    lines = {
        "copy": (lambda: a.copy(), plain),
        "astype": (lambda: a.astype("complex64"), plain.astype("complex64")),
        "flatten": (lambda: a.reshape(250, 200).T.flatten(), plain.reshape(250, 200).T.flatten()),
    }
    for name, (line, expected) in lines.items():
        # Python rewrites a line that ran some times, and calls of methods are then at another place.
        for _ in range(20):
            assert line()[3] == expected[3]
        kept = [line() for _ in range(3)]
        assert not any(_ext.is_pending(c) for c in kept), name
        kept[0][:] = -1.0
        a[5] = 8.0
        numpy.testing.assert_array_equal(plain_view(kept[1]), expected, name)
        numpy.testing.assert_array_equal(plain_view(kept[2]), expected, name)
        a[5] = 5.0


def test_a_line_that_meets_others_is_lazy_again(xp, a):
    def run(look):
        c = a + 1.0
        return float(c[3]) if look else float((c * c).sum())

    for _ in range(10):
        run(look=True)
    for _ in range(3 * 60):
        run(look=False)
    before = _ext.stats()["contracted"]
    run(look=False)
    assert _ext.stats()["contracted"] > before


def test_pending_operands_stay_lazy(xp, a):
    def run(b):
        c = b - 1.0
        float(c[0])
        return c

    for _ in range(10):
        run(a)
    pending = xp.sqrt(a)
    c = pending - 1.0
    assert _ext.is_pending(c)
    assert float(run(xp.sqrt(a))[4]) == 1.0


def test_warnings_name_the_line(xp, a):
    def run(zero):
        c = a / zero
        return float(c[1])

    run_line = run.__code__.co_firstlineno + 1
    with all_warnings() as seen:
        for _ in range(10):
            run(2.0)
        assert not seen
        run(0.0)
    assert {w.lineno for w in seen} == {run_line}
    assert seen[0].filename == __file__
    with numpy.errstate(all="raise"), pytest.raises(FloatingPointError):
        run(0.0)


def test_other_layouts_and_dtypes(xp):
    for dtype in ("float32", "int16", "complex128", "bool"):
        base = (numpy.arange(60_000) % 97).reshape(200, 300).astype(dtype)
        b = xp.asfortranarray(xp.array(base))
        for _ in range(12):
            c = b * b
            assert c[3, 4] == (base * base)[3, 4]
        assert c.dtype == base.dtype
        assert c.flags.f_contiguous
        numpy.testing.assert_array_equal(plain_view(c), base * base)


def test_limits_and_scopes_see_what_is_there(xp, a):
    _learn(xp, a)
    live = memory.report().live
    _learn(xp, a)
    assert memory.report().live == live
    with memory.scope("step") as scope:
        _learn(xp, a)
    assert not scope.leaked
    with memory.limit("1GiB"):
        _learn(xp, a)
        assert memory.report().live == live


def test_an_early_free_works_on_every_result(xp, a):
    for _ in range(12):
        c = a * 3.0
        float(c[1])
        c.free()
        with pytest.raises(ValueError, match="free"):
            float(c[1])


def test_parts_of_one_array_are_learned(xp_default):
    """Calls that fill one array part by part run at once too, where a cache holds it."""
    a = xp_default.arange(float(CACHED))
    float(a[0])
    plain = numpy.arange(float(CACHED))

    def lag(m, b):
        c = m.empty_like(b)
        c[1:] = b[:-1]
        c[:1] = -1.0
        return c

    lines = {
        "roll": lambda m, b: m.roll(b, 7),
        "roll back": lambda m, b: m.roll(b, -7),
        "roll two axes": lambda m, b: m.roll(b.reshape(100, 200), (3, -5), (0, 1)),
        "concatenate": lambda m, b: m.concatenate([b, b[:9]]),
        "vstack": lambda m, b: m.vstack([b.reshape(2, -1), b[:10_000]]),
        "tile": lambda m, b: m.tile(b.reshape(2, -1), (2, 1)),
        "lag": lag,
    }
    for name, line in lines.items():
        expected = line(numpy, plain)
        for _ in range(20):
            assert line(xp_default, a).item(3) == expected.item(3)
        before = _ext.stats()["publishes"]
        kept = [line(xp_default, a) for _ in range(3)]
        assert not any(_ext.is_pending(c) for c in kept), name
        assert _ext.stats()["publishes"] == before, name
        a[3] = 8.0
        for c in kept:
            numpy.testing.assert_array_equal(plain_view(c), expected, name)
        a[3] = 3.0


def _left_to_numpy(xp, line, a, name):
    """What a line gives that was looked at twenty times and records nothing then, and what NumPy gives."""
    expected = line(numpy, numpy.arange(float(CACHED)) * 3)
    for _ in range(20):
        assert line(xp, a).item(3) == expected.item(3)
    before = _ext.stats()["recorded"]
    kept = [line(xp, a) for _ in range(3)]
    assert _ext.stats()["recorded"] == before, name
    return kept, expected


def test_operands_that_wait_in_a_block_are_brought(xp_default):
    """What was computed for others only is brought to its address once, and then read there."""
    lines = {
        "roll": lambda m, b: m.roll(b, 100),
        "concatenate": lambda m, b: m.concatenate([b, b[:9]]),
        "multiply": lambda m, b: b * 2,
    }
    for name, line in lines.items():
        a = xp_default.arange(float(CACHED)) * 3
        kept, expected = _left_to_numpy(xp_default, line, a, name)
        for c in kept:
            numpy.testing.assert_array_equal(plain_view(c), expected, name)


def test_new_arrays_that_a_cache_holds_are_left_to_numpy(xp_default):
    a = xp_default.arange(float(CACHED)) * 3
    places = numpy.arange(CACHED)[::-1] % 500
    lines = {
        "arange": lambda m, b: m.arange(CACHED),
        "arange of reals": lambda m, b: m.arange(0.5, CACHED, 0.5),
        "full": lambda m, b: m.full((2, CACHED), 3.5),
        "ones": lambda m, b: m.ones((2, CACHED), "f"),
        "full_like": lambda m, b: m.full_like(b, 2),
        "take": lambda m, b: m.take(b, places),
        "index": lambda m, b: b[places],
        "copy": lambda m, b: b.copy(),
        "astype": lambda m, b: b.astype("F"),
    }
    for name, line in lines.items():
        kept, expected = _left_to_numpy(xp_default, line, a, name)
        assert kept[0].dtype == expected.dtype
        kept[0][:] = -1
        for c in kept[1:]:
            numpy.testing.assert_array_equal(plain_view(c), expected, name)


def test_choices_are_never_left_to_numpy(xp_default):
    """NumPy branches for each element, which takes ten times as long where the mask is at random."""
    a = xp_default.arange(float(CACHED)) * 3
    mask = numpy.random.default_rng(3).random(CACHED) > 0.5
    for _ in range(20):
        assert xp_default.where(mask, a, 1.0).item(0) == (0.0 if mask[0] else 1.0)
    before = _ext.stats()["recorded"]
    found = xp_default.where(mask, a, 1.0)
    assert _ext.stats()["recorded"] > before
    numpy.testing.assert_array_equal(plain_view(found), numpy.where(mask, plain_view(a), 1.0))


def test_new_arrays_that_meet_others_stay_lazy(xp_default):
    for _ in range(20):
        found = float((xp_default.arange(CACHED) * 2.0).sum())
    assert found == CACHED * (CACHED - 1.0)
    made = [xp_default.arange(CACHED) for _ in range(2)]
    assert all(map(_ext.is_pending, made))


def test_parts_that_meet_others_stay_lazy(xp_default):
    a = xp_default.arange(float(CACHED))
    float(a[0])
    for _ in range(80):
        rolled = xp_default.roll(a, 1)
        difference = rolled - a
        total = float(difference.sum())
    assert total == 0.0
    assert _ext.is_pending(xp_default.roll(a, 1))


def test_copies_by_a_few_bytes(xp_default):
    """Rows that move by less than a line of the cache, for which the C library is slow, come out right."""
    for dtype in ("float64", "int16", "uint8"):
        plain = numpy.arange(CACHED).astype(dtype)
        a = xp_default.array(plain)
        b, expected = xp_default.zeros_like(a), numpy.zeros_like(plain)
        float(b[0])
        for shift in (1, 2, 7, 63, 64, 65):
            b[shift:] = a[:-shift]
            expected[shift:] = plain[:-shift]
            numpy.testing.assert_array_equal(plain_view(b), expected)
            b[:-shift] = a[shift:]
            expected[:-shift] = plain[shift:]
            numpy.testing.assert_array_equal(plain_view(b), expected)
        b[1:] = b[:-1]
        expected[1:] = expected[:-1].copy()
        numpy.testing.assert_array_equal(plain_view(b), expected)


def test_masked_assignments_are_learned(xp_default):
    plain = numpy.arange(CACHED) - 17.0
    mask = numpy.arange(CACHED) % 3 == 0

    def fill(m, array, value, where):
        m.copyto(array, value, where=where)
        return array

    for value in (2.5, plain[::-1].copy(), 7):
        for _ in range(20):
            a = fill(xp_default, xp_default.array(plain), value, mask)
            numpy.testing.assert_array_equal(plain_view(a), fill(numpy, plain.copy(), value, mask))
        before = _ext.stats()["recorded"]
        fill(xp_default, a, value, mask)
        assert _ext.stats()["recorded"] == before
    pending = xp_default.sqrt(xp_default.arange(float(2 * CACHED))) > 100.0
    assert _ext.is_pending(pending)
    a = fill(xp_default, xp_default.array(plain), -1.0, pending[:CACHED])
    b = fill(numpy, plain.copy(), -1.0, numpy.sqrt(numpy.arange(float(CACHED))) > 100.0)
    numpy.testing.assert_array_equal(plain_view(a), b)


def _end(xp, a):
    c = (a * 2.0 + 1.0) - a
    return float(c[3])


def test_an_expression_that_is_looked_at_moves_no_pages(xp, a):
    for _ in range(10):
        assert _end(xp, a) == 4.0
    before = _ext.stats()
    for _ in range(20):
        assert _end(xp, a) == 4.0
    after = _ext.stats()
    assert after["publishes"] == before["publishes"]
    assert after["kernels"] - before["kernels"] == 20, "one kernel each"


def test_its_bits_and_warnings_are_those_of_its_lines(xp):
    values = numpy.linspace(-2.0, 2.0, SIZE)
    values[7] = 0.0
    a, plain = xp.array(values), values.copy()

    def run(of):
        with all_warnings() as heard:
            c = 3.0 / of * 2.0 - 1.0
            found = float(c[7])
        return numpy.array(c).tobytes(), found, [(w.lineno, str(w.message)) for w in heard]

    for _ in range(12):
        assert run(a) == run(plain)


def test_an_operand_that_others_hold_is_there_as_before(xp, a):
    def run():
        b = a * 2.0
        c = b + 1.0
        return float(c[3]), float(b[3])

    for _ in range(12):
        assert run() == (7.0, 6.0)


def test_operands_change_between_calls(xp, a):
    for turn in range(20):
        a[3] = turn
        assert _end(xp, a) == turn + 1.0
