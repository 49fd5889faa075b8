"""Elements of an array that are moved by some places within it: buffers that slide, rows that scroll."""

import itertools

import numpy as np
import pytest
from support.compare import differences, observe
from support.layouts import ordinary

SHAPES = {1: (60_001,), 2: (301, 200), 3: (31, 40, 50)}


def moves(m, rank, dtype, pending, by):
    a = m.array(ordinary(dtype, int(np.prod(SHAPES[rank])))).reshape(SHAPES[rank])
    seen = [a[0].copy()]
    later = a + a
    if pending:
        a += a
    for _ in range(3):
        a[by:] = a[:-by]
        a[0] = 1
        a[:-by] = a[by:]
        a[..., :-by] = a[..., by:]
        a[::2][by:] = a[::2][:-by]
        a[by:] = a[::-1][by:]
        seen.append(a[-1].copy())
    flat = a.reshape(-1)
    flat[by:] = flat[:-by]
    flat[1 : 1 + 40_000] = flat[3 : 3 + 40_000]
    alias = flat.view("b")[: 2 * (flat.nbytes // 4)]
    alias[1:] = alias[:-1]
    return a, later, seen, a[1:] + a[:-1]


@pytest.mark.parametrize("by", [1, 7])
@pytest.mark.parametrize("dtype", "?hdD")
@pytest.mark.parametrize("rank", SHAPES)
def test_elements_are_moved_as_in_numpy(xp_default, rank, dtype, by):
    failures = []
    for pending in (False, True):
        wanted = observe(lambda m, p=pending: moves(m, rank, dtype, p, by), np)
        failures += differences(
            wanted, observe(lambda m, p=pending: moves(m, rank, dtype, p, by), xp_default)
        )
    assert not failures, "\n".join(failures[:12])


def test_what_reads_the_old_values_has_them(xp_default):
    a = xp_default.arange(300_000.0)
    assert a[1] == 1
    old = a * 2
    a[:-1] = a[1:]
    new = a * 2
    assert np.array_equal(np.asarray(old), 2 * np.arange(300_000.0))
    assert np.array_equal(np.asarray(new)[:-1], 2 * np.arange(1.0, 300_000))


def test_read_only_arrays_are_not_moved(xp_default):
    for shape, forward in itertools.product([(300_000,), (300, 1000)], [True, False]):
        a = xp_default.zeros(shape) + 1
        assert a[0].sum() > 0
        a.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            a[slice(1, None) if forward else slice(-1)] = a[
                slice(-1) if forward else slice(1, None)
            ]
