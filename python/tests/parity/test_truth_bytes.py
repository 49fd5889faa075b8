"""Truth values whose bytes are neither 0 nor 1, such as those of a mask of 0 and 255: any byte but zero is true."""

import numpy as np
import pytest

import arrayloom

EXPRESSIONS = {
    "equals True": lambda np, m, n, x: m == True,  # noqa: E712 - the comparison is what is tested
    "equals 1": lambda np, m, n, x: (m == 1).sum(),
    "equals": lambda np, m, n, x: m == n,
    "differs": lambda np, m, n, x: m != n,
    "invert": lambda np, m, n, x: (~m).sum(),
    "and": lambda np, m, n, x: m & n,
    "or": lambda np, m, n, x: m | n,
    "xor": lambda np, m, n, x: m ^ n,
    "greater": lambda np, m, n, x: m > n,
    "maximum": lambda np, m, n, x: np.maximum(m, n),
    "logical_xor": lambda np, m, n, x: np.logical_xor(m, n),
    "astype": lambda np, m, n, x: m.astype(int).max(),
    "times": lambda np, m, n, x: (m * 2.0).max(),
    "plus": lambda np, m, n, x: x + m,
    "mean": lambda np, m, n, x: m.mean(),
    "mean of rows": lambda np, m, n, x: m.reshape(100, -1).mean(0),
    "sum": lambda np, m, n, x: m.sum(),
    "max": lambda np, m, n, x: m.max(),
    "min": lambda np, m, n, x: m.min(),
    "max of rows": lambda np, m, n, x: m.reshape(100, -1).max(1),
    "min of columns": lambda np, m, n, x: m.reshape(100, -1).min(0),
    "any and all": lambda np, m, n, x: (m.any(), m.all()),
    "product": lambda np, m, n, x: np.multiply.reduce(m.reshape(100, -1), axis=1),
    "sum as bool": lambda np, m, n, x: np.add.reduce(m, dtype=bool),
    "any of columns": lambda np, m, n, x: m.reshape(100, -1).any(0),
    "all of rows": lambda np, m, n, x: m.reshape(100, -1).all(1),
    "and of columns": lambda np, m, n, x: np.bitwise_and.reduce(m.reshape(100, -1), axis=0),
    "argmax": lambda np, m, n, x: m[::-1].argmax(),
    "argmax of rows": lambda np, m, n, x: m.reshape(100, -1).argmax(1),
    "argmin of rows": lambda np, m, n, x: m.reshape(100, -1)[:, 3:].argmin(1),
    "argmax of columns": lambda np, m, n, x: m.reshape(100, -1).argmax(0),
    "argmin": lambda np, m, n, x: m.argmin(),
    "cumsum": lambda np, m, n, x: np.cumsum(m),
    "accumulate": lambda np, m, n, x: np.logical_or.accumulate(m.reshape(100, -1), axis=1),
    "diff": lambda np, m, n, x: np.diff(m),
    "unique": lambda np, m, n, x: np.unique(m),
    "where": lambda np, m, n, x: np.where(m, x, -x),
    "where of truth": lambda np, m, n, x: np.where(x > 0, m, n) == True,  # noqa: E712 - as above
    "strided": lambda np, m, n, x: ~m[::3],
    "taken": lambda np, m, n, x: ~m[np.arange(0, m.size, 7)],
    "broadcast": lambda np, m, n, x: m.reshape(100, -1) ^ n.reshape(100, -1)[0],
    "by rows": lambda np, m, n, x: m.reshape(100, -1) ^ n.reshape(100, -1)[:, :1],
    "masked": lambda np, m, n, x: x[m],
    "count": lambda np, m, n, x: np.count_nonzero(m),
    "packed": lambda np, m, n, x: np.packbits(m),
    "dot": lambda np, m, n, x: np.dot(m, x),
}


@pytest.mark.parametrize("bytes_of", [[0, 0, 1, 2, 4, 255], [1, 2, 4, 255], [0]], ids=str)
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_any_byte_but_zero_is_true(name, bytes_of):
    draw = np.random.default_rng(3)
    first, second = (draw.choice(bytes_of, 60_000).astype("u1") for _ in "mn")
    x = draw.standard_normal(60_000)
    expected = EXPRESSIONS[name](np, first.view(bool), second.view(bool), x)
    mine = [arrayloom.array(each) for each in (first, second, x)]
    found = EXPRESSIONS[name](arrayloom, mine[0].view(bool), mine[1].view(bool), mine[2])
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(np.array(found), expected)


def test_operations_in_place_leave_zeros_and_ones():
    bytes_of = np.arange(60_000).astype("u1")
    expected, found = bytes_of.copy(), arrayloom.array(bytes_of)
    for module, array in ((np, expected), (arrayloom, found)):
        mask = array.view(bool)
        mask |= module.zeros(mask.shape, bool)
    assert np.array(found).max() == 1
    np.testing.assert_array_equal(np.array(found), expected)


def test_copies_keep_the_bytes():
    bytes_of = arrayloom.array(np.arange(60_000).astype("u1"))
    copy = bytes_of.view(bool).copy()
    assert np.array(copy.view("u1")).max() == 255
