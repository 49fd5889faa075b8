"""New arrays: their memory waits beside the address where recorded operations write to them first."""

import ctypes

import numpy
import pytest
from support.layouts import plain_view

from arrayloom import _ext

pytestmark = pytest.mark.usefixtures("real_laziness")
SIZE = 50_000
MAKERS = ["empty", "zeros", "empty_like", "zeros_like"]


def make(xp, maker):
    """A new array, always made at the same place of the program."""
    like = xp.arange(float(SIZE)) if maker.endswith("_like") else SIZE
    return getattr(xp, maker)(like)


def touch(array):
    """Look at an array as C code does."""
    ctypes.string_at(array.ctypes.data, array.nbytes)


def moves(act):
    """Pages that moved to their address."""
    before = _ext.stats()["publishes"]
    act()
    return _ext.stats()["publishes"] - before


@pytest.fixture(params=MAKERS)
def learned(request, xp):
    """A maker at a place whose arrays are written by recorded operations.

    The interpreter specialises the call after some rounds, which makes it another place.
    """
    for _ in range(20):
        a = make(xp, request.param)
        a[10:] = 1.0
        a[20:] *= 3.0
        assert float(a[30]) == 3.0
    return request.param


def test_an_array_at_a_new_place_lies_at_its_address(xp):
    a = xp.empty(SIZE)
    assert moves(lambda: touch(a)) == 0


def test_an_array_at_a_learned_place_moves_when_it_is_looked_at(xp, learned):
    a = make(xp, learned)
    assert moves(lambda: touch(a)) == 1
    if "zeros" in learned:
        assert not plain_view(a).any()


def test_one_that_was_looked_at_first_makes_the_place_forgotten(xp, learned):
    a = make(xp, learned)
    touch(a)
    del a
    b = make(xp, learned)
    assert moves(lambda: touch(b)) == 0


def test_asking_for_the_memory_is_looking(xp, learned):
    a = make(xp, learned)
    memoryview(a)[3] = 7.0
    assert a[3] == 7.0
    b = make(xp, learned)
    assert moves(lambda: touch(b)) == 0


def test_the_rest_of_zeros_stays_zero(xp, learned):
    a = make(xp, learned)
    a[SIZE // 2 :] = 2.0
    a[SIZE // 2 :] += xp.arange(SIZE / 2)
    b = a * 2
    expected = numpy.zeros(SIZE)
    expected[SIZE // 2 :] = 2.0 + numpy.arange(SIZE // 2)
    half = slice(None) if "zeros" in learned else slice(SIZE // 2, None)
    assert numpy.array_equal(plain_view(a)[half], expected[half])
    assert numpy.array_equal(plain_view(b)[half], 2 * expected[half])


def test_elements_are_set_one_by_one(xp, learned):
    a = make(xp, learned)
    for i in range(0, SIZE, 500):
        a[i] = i
    assert numpy.array_equal(plain_view(a)[::500], numpy.arange(0.0, SIZE, 500))


def test_files_are_read_into_new_arrays(xp, learned, tmp_path):
    values = numpy.random.default_rng(1).random(SIZE)
    path = tmp_path / "values"
    values.tofile(path)
    a = make(xp, learned)
    with path.open("rb", buffering=0) as file:
        assert file.readinto(a) == a.nbytes
    assert numpy.array_equal(plain_view(a), values)


def test_numpy_writes_to_new_arrays(xp, learned):
    a = make(xp, learned)
    numpy.add(numpy.arange(SIZE), 0.5, out=a)
    assert a[3] == 3.5
    generator = numpy.random.default_rng(5)
    b = make(xp, learned)
    generator.random(out=b)
    assert numpy.array_equal(plain_view(b), numpy.random.default_rng(5).random(SIZE))


def test_arrays_that_are_dropped_unseen_give_their_memory_back(xp, learned):
    _ext.flush()
    live = _ext.stats()["live_slots"]
    for _ in range(20):
        make(xp, learned)
    _ext.flush()
    assert _ext.stats()["live_slots"] == live


def test_the_steps_of_a_recorded_loop_use_one_memory(xp, learned):
    _ext.flush()
    before = _ext.stats()["pool"]["live_bytes"]
    a = xp.arange(float(SIZE))
    live = []
    for _ in range(8):
        b = make(xp, learned)
        b[10:] = a[:-10]
        b[:10] = a[-10:]
        a += xp.sqrt(b[::-1])
        live.append(_ext.stats()["pool"]["live_bytes"] - before)
    assert max(live) == 0, "nothing has run, so nothing has memory"
    assert a[3] > 3.0


@pytest.mark.parametrize("maker", ["zeros", "zeros_like"])
def test_what_is_not_written_of_late_memory_is_zero(xp, maker):
    def step(k):
        a = make(xp, maker)
        xp.sqrt(xp.arange(float(SIZE)), out=a, where=xp.arange(SIZE) % 3 == k % 3)
        return a * 2

    for k in range(20):
        expected = numpy.where(
            numpy.arange(SIZE) % 3 == k % 3, 2 * numpy.sqrt(numpy.arange(SIZE)), 0
        )
        assert numpy.array_equal(plain_view(step(k)), expected)


@pytest.mark.parametrize("maker", ["zeros", "zeros_like"])
def test_sums_of_what_is_made_of_new_zeros(xp, maker):
    def step(rows):
        a = make(xp, maker)
        a += rows
        return xp.sqrt(a)

    for k in range(8):
        b = step(xp.arange(float(SIZE)) + k)
        wanted = numpy.sqrt(numpy.arange(float(SIZE)) + k)
        assert xp.sum(b) == wanted.sum()
        assert xp.max(b) == wanted.max()
        assert xp.sum(b * 0.5) == (wanted * 0.5).sum()
        assert numpy.array_equal(plain_view(b), wanted)


def new(m, shape):
    """New zeros, always made at the same place of the program."""
    return m.zeros(shape)


def changed(m, a, draw, rows):
    """A new array after a random step."""
    at, other = draw.integers(0, 200, 2)
    changes = [
        lambda: a.__iadd__(rows),
        lambda: a.__setitem__(slice(at, None), rows),
        lambda: a[:, other:].__iadd__(2),
        lambda: m.add(a, rows, out=a, where=rows > at),
        lambda: a.__setitem__(slice(50), a[100:150] + 1),
        lambda: m.sqrt(m.abs(a)),
        lambda: a[1:].__isub__(a[:-1]),
        lambda: a[::-1] * 2 + 1,
    ]
    result = changes[draw.integers(0, len(changes))]()
    return a if result is None or result.shape != a.shape else result


def steps(m, seed):
    """What some random steps on new arrays give, looked at behind all of them or never."""
    draw = numpy.random.default_rng(seed)
    rows = m.array(numpy.arange(200.0) + seed)
    kept, seen = [], []
    for _ in range(draw.integers(2, 9)):
        a = new(m, (250, 200))
        for _ in range(draw.integers(0, 4)):
            a = changed(m, a, draw, rows)
        end = draw.integers(0, 5)
        if end == 0:
            seen.append(float(m.sum(m.abs(a))))
        elif end == 1:
            seen.append(float(a[tuple(draw.integers(0, 200, 2))]))
        elif end == 2:
            kept.append(a)
        elif end == 3:
            kept.append(m.roll(a, 3, 0) + a)
    return [numpy.array(k) for k in kept], seen


def test_random_steps_on_new_arrays(xp):
    for seed in range(300):
        (arrays, numbers), (wanted, expected) = steps(xp, seed), steps(numpy, seed)
        assert numbers == expected, seed
        assert all(map(numpy.array_equal, arrays, wanted)), seed
