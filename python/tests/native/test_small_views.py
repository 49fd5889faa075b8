"""Rows, columns and corners of large arrays: plain, and right whatever is recorded later."""

import numpy
import pytest
from support.layouts import plain_view

from arrayloom import LazyArray, _ext

pytestmark = pytest.mark.usefixtures("real_laziness")
SHAPE = (300, 400)


@pytest.fixture
def a(xp_default):
    values = xp_default.arange(float(SHAPE[0] * SHAPE[1])).reshape(SHAPE)
    float(values[0, 0])
    return values


def expected():
    return numpy.arange(float(SHAPE[0] * SHAPE[1])).reshape(SHAPE)


def test_small_views_of_values_that_are_there_are_plain(a):
    assert type(a[5]) is numpy.ndarray
    assert type(a[:, 5]) is numpy.ndarray
    assert type(next(iter(a))) is numpy.ndarray
    assert isinstance(a[10:], LazyArray)
    assert a[5].base is not None
    numpy.testing.assert_array_equal(a[5], expected()[5])


def test_views_of_pending_values_stay_lazy(a):
    b = a + 1.0
    row = b[5]
    assert isinstance(row, LazyArray)
    assert _ext.is_pending(b)
    numpy.testing.assert_array_equal(plain_view(row), expected()[5] + 1.0)


def test_a_row_sees_what_is_recorded_later(a):
    row = a[5]
    a += 1.0
    a *= 2.0
    assert float(row[3]) == (expected()[5, 3] + 1.0) * 2.0
    a[:] = a[::-1] * 1.0
    numpy.testing.assert_array_equal(row, ((expected() + 1.0) * 2.0)[::-1][5])
    assert row.sum() == ((expected() + 1.0) * 2.0)[::-1][5].sum()


def test_pending_readers_see_the_old_values_of_a_row(a):
    b = a * 3.0
    row = a[5]
    row[:] = -1.0
    row += 0.5
    want = expected() * 3.0
    numpy.testing.assert_array_equal(plain_view(b), want)
    changed = expected()
    changed[5] = -0.5
    numpy.testing.assert_array_equal(plain_view(a), changed)


def test_rows_are_operands_of_recorded_operations(a):
    row, column = a[5], a[:, 7]
    b = a * row + column[:, None]
    assert _ext.is_pending(b)
    row[:] = 0.0
    e = expected()
    numpy.testing.assert_array_equal(plain_view(b), e * e[5] + e[:, 7][:, None])


def test_a_row_keeps_the_array_alive(a):
    row = (a + 1.0)[5]
    kept = [a[i] for i in range(3)]
    del a
    numpy.testing.assert_array_equal(plain_view(row), expected()[5] + 1.0)
    for i, view in enumerate(kept):
        numpy.testing.assert_array_equal(view, expected()[i])


def test_loops_over_rows_give_numpys_values(xp_default, a):
    e = expected()
    for m, x in ((xp_default, a), (numpy, e)):
        for i in range(1, SHAPE[0]):
            x[i] = m.maximum(x[i - 1] * 0.5, x[i]) - x[i].mean()
            x[i, 1:] += x[i - 1, :-1]
            x[i] /= m.sqrt((x[i] * x[i]).sum())
    numpy.testing.assert_array_equal(plain_view(a), e)


def test_a_row_of_an_array_that_was_freed_is_an_error_not_a_crash(a):
    row = a[5]
    a.free()
    with pytest.raises(ValueError, match=r"freed at .*test_small_views\.py"):
        numpy.isnan(row)
