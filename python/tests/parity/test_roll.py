"""`np.roll` against NumPy: shifts, axes, layouts, errors."""

import numpy as np
import pytest
from support.compare import differences, observe
from support.layouts import ordinary

CALLS = [
    (1, None), (-1, None), (0, None), (7, 0), (-3, 1), (10**6 + 3, -1), (2, (0, 1)), ((1, 2), (0, 1)), ((1, -2), (1, 0)),
    ((3, 4), (0, 0)), ([1, 5], [-1, -2]), ((1, 2, 3), 0), ((2,), (0, 1)), (np.int8(3), 1), (np.array([1, 2]), (0, 1)),
    (True, 0), ((1, 2), None), (0, (0, 1)), ((0, 5), (0, 1)),
]  # fmt: skip
WRONG = [(1, 5), ((1, 2), (0, 1, 0)), (1, -4), ("a", 0), (1, 0.5), ([[1, 2]], [[0, 1]]), (1, "a")]


def layouts(m):
    whole = m.array(ordinary("d", 310 * 220)).reshape(310, 220)
    yield whole
    yield whole.T
    yield whole[::2, 5:]
    yield whole[::-1]
    yield m.asfortranarray(whole)
    yield whole * 2
    yield whole.reshape(31, 10, 220)
    yield (whole + 1)[:, 3:200].astype("f4")


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_elements_are_rolled_as_in_numpy(xp_both, call):
    def body(m):
        return [m.roll(a, *call) for a in layouts(m)]

    found = differences(observe(body, np), observe(body, xp_both))
    assert not found, "\n".join(found[:12])


@pytest.mark.parametrize("call", WRONG, ids=str)
def test_errors_are_those_of_numpy(xp_default, call):
    def body(m):
        return m.roll(next(layouts(m)), *call)

    found = differences(observe(body, np), observe(body, xp_default))
    assert not found, "\n".join(found[:12])


def test_lines_that_want_each_result_at_once(xp_default):
    a = xp_default.arange(70_000.0)
    wanted = np.arange(70_000.0)
    for k in range(300):
        a[1:-1] = xp_default.roll(a, 1 + k % 3)[1:-1]
        wanted[1:-1] = np.roll(wanted, 1 + k % 3)[1:-1]
        if k % 40 == 0:
            assert np.array_equal(np.asarray(a), wanted)
        turned = xp_default.roll(a.reshape(350, 200), (k, -1), (0, 1))
        assert turned[3, 4] == np.roll(wanted.reshape(350, 200), (k, -1), (0, 1))[3, 4]
    assert np.array_equal(np.asarray(a), wanted)
