"""Few elements picked or set by arrays of integers, on values that are there: NumPy's work, at NumPy's price."""

import numpy
import pytest
from support.layouts import plain_view

from arrayloom import LazyArray, _ext

pytestmark = pytest.mark.usefixtures("real_laziness")
SHAPE = (300, 400)
KEYS = [
    (numpy.array([3, -1, 7]),),
    (numpy.array([3, 5, 250]), numpy.array([0, -2, 9])),
    (numpy.array([[3], [5]]), numpy.array([1, 2, 3, 4])),
    (slice(10, 40, 3), numpy.array([7, 7, 7])),
    (numpy.array([9, 8], numpy.uint8), slice(None, None, -50)),
    (numpy.int64(4), numpy.array([1, 5])),
    numpy.ix_([1, 2], [3, 4, 5]),
]


def both(xp):
    plain = numpy.random.default_rng(2).random(SHAPE)
    made = xp.array(plain)
    assert made[0, 0] == plain[0, 0]
    assert isinstance(made, LazyArray)
    return made, plain


def single(key):
    return key[0] if len(key) == 1 else key


@pytest.mark.parametrize("key", KEYS)
def test_picks_and_assignments(xp_default, key):
    made, plain = both(xp_default)
    picked = made[single(key)]
    assert type(picked) is numpy.ndarray
    numpy.testing.assert_array_equal(picked, plain[single(key)])
    for value in (7.5, plain[single(key)] * 2, xp_default.array(plain[single(key)] + 1)):
        made[single(key)] = value
        plain[single(key)] = value
        numpy.testing.assert_array_equal(plain_view(made), plain)


def test_recorded_readers_keep_their_values(xp_default):
    made, plain = both(xp_default)
    doubled = made * 2
    made[numpy.array([1, 2]), numpy.array([3, 4])] = -1
    expected = plain * 2
    plain[[1, 2], [3, 4]] = -1
    numpy.testing.assert_array_equal(plain_view(doubled), expected)
    numpy.testing.assert_array_equal(plain_view(made), plain)
    pending = made * 3
    assert _ext.is_pending(pending)
    numpy.testing.assert_array_equal(pending[numpy.array([1, 5])], plain[[1, 5]] * 3)


def test_errors_are_numpys(xp_default):
    made, _ = both(xp_default)
    with pytest.raises(IndexError, match="out of bounds"):
        made[numpy.array([300])]
    with pytest.raises(IndexError, match=r"could not be broadcast|shape mismatch"):
        made[numpy.array([1, 2]), numpy.array([1, 2, 3])]
    with pytest.raises(IndexError, match="too many indices"):
        made[numpy.array([1]), 2, 3]
    with pytest.raises(ValueError, match=r"could not be broadcast|shape mismatch"):
        made[numpy.array([1, 2])] = numpy.ones(7)
    made.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        made[numpy.array([1, 2])] = 0


def test_many_elements_are_recorded(xp_default):
    made, plain = both(xp_default)
    rows = numpy.arange(0, 300, 2)
    picked = made[rows]
    assert isinstance(picked, LazyArray)
    numpy.testing.assert_array_equal(plain_view(picked), plain[rows])
