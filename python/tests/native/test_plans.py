"""Long loops: their lists are planned once, and mean in each iteration what NumPy means."""

import numpy
import pytest
from support.compare import differences, observe

from arrayloom import _ext

pytestmark = pytest.mark.usefixtures("real_laziness")
SHAPE = (120, 130)


def start(m):
    return m.array(numpy.random.default_rng(3).random(SHAPE) * 3 - 1)


def scalars_change(m, a, n):
    for i in range(n):
        a = a * (1 - i / 2**12) + 0.5 * m.abs(a) - i % 3
    return a


def equal_scalars(m, a, n):
    for i in range(n):
        a = (a + i % 4) * 0.25 + (a - 2) * 0.125
    return a


def kept_now_and_then(m, a, n):
    kept = []
    for i in range(n):
        b = m.sqrt(m.abs(a))
        c = b + i
        a = c * 0.5 - a * 0.25
        if i % 37 == 5:
            kept.append(b)
    return a, *kept


def in_place(m, a, n):
    for i in range(n):
        a[1:-1, 1:-1] += 0.1 * (a[2:, 1:-1] - a[:-2, 1:-1]) + i / 1024
        a[0] = a[-2]
    return a


def shrinking(m, a, n):
    sums = []
    for _ in range(n // 8):
        if a.shape[0] < 80:
            a = m.concatenate([a, a[:40]])
        a = a[1:] * 0.75 + a[:-1] * 0.25
        sums.append(a.sum())
    return a, *sums


def branches(m, a, n):
    for i in range(n):
        a = a + 1 if i % 5 == 2 else m.minimum(a * 1.5, 4.0)
        if i % 7 == 0:
            a = m.where(a > 3, a - 3, a)
    return a


def periodic(m, a, n):
    for i in range(n // 4):
        a = 0.5 * a + 0.125 * (m.roll(a, 1, 0) + m.roll(a, -1, 1)) + i / 512
    return a


def dtypes_alternate(m, a, n):
    for i in range(n):
        a = (a * 1.25).astype("float32" if i % 2 else "float64") % 5
    return a


BODIES = [
    scalars_change,
    equal_scalars,
    kept_now_and_then,
    in_place,
    shrinking,
    branches,
    periodic,
    dtypes_alternate,
]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("n", [60, 700])
def test_loops_mean_what_numpy_means(xp, body, n):
    def run(m):
        return body(m, start(m), n)

    assert not differences(observe(run, numpy), observe(run, xp))


@pytest.mark.parametrize("body", [scalars_change, in_place, periodic])
def test_long_loops_need_no_new_code(xp, body):
    body(xp, start(xp), 900).sum()
    before = _ext.stats()
    body(xp, start(xp), 900).sum()
    after = _ext.stats()
    assert after["cache_misses"] == before["cache_misses"]
    assert after["flushes"] > before["flushes"] + 3
