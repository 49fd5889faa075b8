"""Indexing with arrays, against NumPy: values, order of memory, errors at the call."""

import numpy as np
import pytest
from support.compare import differences, observe
from support.layouts import DTYPES, LAYOUTS, ordinary


def check(failures, label, body, xp):
    failures += [f"{label}: {line}" for line in differences(observe(body, np), observe(body, xp))]


def report(failures):
    assert not failures, f"{len(failures)} differ\n" + "\n".join(failures[:12])


@pytest.mark.parametrize("dtype", DTYPES)
def test_layouts(xp, dtype):
    failures = []
    for layout, build in LAYOUTS.items():

        def body(m, build=build):
            a = build(m, ordinary(dtype, 42))
            if a.ndim == 0:
                return a
            n = a.shape[0]
            i = m.array([0, n - 1, 0, -1, -n, n // 2])
            last = m.array([0, -1, 0])
            return (
                a[i],
                a[i.reshape(2, 3)],
                a[..., last],
                a[last[:, None], ..., last],
                a.take(i, axis=0),
                m.take(a, [0, 1, -1]),
                m.take(a, last[None], axis=-1),
                a[i] + a[i[::-1]],
            )

        check(failures, layout, body, xp)
    report(failures)


@pytest.mark.parametrize("kind", "bBhHiIlL")
def test_dtypes_of_the_index(xp, kind):
    def body(m):
        a = m.array(ordinary("d", 60)).reshape(5, 12)
        i = m.array([0, 3, 1, 4], kind)
        j = m.array([-1, -12, 5, 0], kind) if kind.islower() else i
        return a[i], a[:, j], a[i, j], a.take(j, axis=1), a[i[::-2], j[::2]]

    failures = []
    check(failures, kind, body, xp)
    report(failures)


KEYS = {
    "rows": lambda m, i, j: i,
    "columns": lambda m, i, j: (slice(None), j),
    "middle": lambda m, i, j: (slice(None), i[:, None], slice(1, None, 2)),
    "both": lambda m, i, j: (i, j),
    "apart": lambda m, i, j: (i, slice(None), j),
    "apart with number": lambda m, i, j: (1, slice(None), j),
    "number beside": lambda m, i, j: (slice(None), 1, j),
    "number after": lambda m, i, j: (i, -1),
    "new axis": lambda m, i, j: (None, i, None, j),
    "new axis between": lambda m, i, j: (i, None, j),
    "ellipsis": lambda m, i, j: (Ellipsis, j),
    "ellipsis of nothing": lambda m, i, j: (i, Ellipsis, j, j),
    "grid": lambda m, i, j: (i[:, None], j[None, :]),
    "fortran": lambda m, i, j: m.asfortranarray(m.array([[0, 1, 2], [2, 1, 0]])),
    "two dimensions": lambda m, i, j: (slice(None), m.array([[0, 1], [3, 2], [1, 1]])),
    "transposed": lambda m, i, j: (m.array([[0, 1, 0], [1, 2, 0]]).T, slice(None, None, -1)),
    "list": lambda m, i, j: [0, 2, -1],
    "list in tuple": lambda m, i, j: (slice(None), [0, 2]),
    "open mesh": lambda m, i, j: np.ix_([0, 2], [1, 3], [0, 4]),
    "empty": lambda m, i, j: m.array([], "l"),
    "mask": lambda m, i, j: (i > 0, slice(None)),
    "mask and array": lambda m, i, j: (m.array([True, False, True]), m.array([0, 1])),
    "0-d": lambda m, i, j: m.array(1),
    "too many": lambda m, i, j: (i, j, i, j),
    "no fit": lambda m, i, j: (i, j[:2]),
    "out of bounds": lambda m, i, j: i + 1,
    "below bounds": lambda m, i, j: (slice(None), j - 5),
    "number out of bounds": lambda m, i, j: (i, 9),
    "float": lambda m, i, j: i * 1.0,
    "float list": lambda m, i, j: [0.5],
    "text": lambda m, i, j: (i, "x"),
}


@pytest.mark.parametrize("name", KEYS)
def test_keys(xp, name):
    def body(m):
        a = m.array(ordinary("d", 60)).reshape(3, 4, 5)
        i, j = m.array([2, 0, 1]), m.array([3, -1, 0])
        key = KEYS[name](m, i, j)
        if name == "mask":
            key = (m.array([True, False, True]), slice(None))
        turned = m.array(ordinary("d", 60)).reshape(5, 4, 3).transpose(2, 1, 0)
        found = [part[key] for part in (a, a[:, ::-1], turned, m.broadcast_to(a[:1], a.shape))]
        b = a.copy()
        b[key] = 7
        c = a.copy()
        c[key] = a[key] * 2
        return found, m.asfortranarray(a)[key], b, c

    failures = []
    check(failures, name, body, xp)
    report(failures)


@pytest.mark.parametrize(
    "call",
    [
        lambda m, a: a.take(9),
        lambda m, a: a.take([0, 13]),
        lambda m, a: a.take([0, 3], axis=0),
        lambda m, a: a.take([0, -4], axis=0),
        lambda m, a: a.take([0], axis=2),
        lambda m, a: a.take([0, 17, -30], mode="wrap"),
        lambda m, a: a.take([0, 17, -30], mode="clip"),
        lambda m, a: a.take([0, 1], axis=1, out=m.zeros((3, 2))),
        lambda m, a: a.take([1.5]),
        lambda m, a: a.take([]),
        lambda m, a: m.take_along_axis(a, m.argsort(a, axis=1), axis=1),
        lambda m, a: m.take_along_axis(a, m.argmin(a, axis=0, keepdims=True), axis=0),
        lambda m, a: m.choose(m.array([0, 2, 1, 0]), a),
        lambda m, a: m.compress(a[0] > 0, a, axis=1),
        lambda m, a: m.extract(a > 0, a),
        lambda m, a: (a[a > 0], a[a[:, 0] > 0], a[a > 9]),
        lambda m, a: (m.nonzero(a), m.argwhere(a > 0), m.flatnonzero(a), m.where(a > 0)),
        lambda m, a: (m.diagonal(a), m.diag(a), m.tril(a), m.triu(a, 1)),
        lambda m, a: (
            m.roll(a, 2),
            m.roll(a, (1, -1), axis=(0, 1)),
            m.pad(a, 2),
            m.pad(a, 1, "edge"),
        ),
        lambda m, a: (m.pad(a, (1, 3), "wrap"), m.pad(a, 2, "reflect"), m.pad(a, 1, "mean")),
        lambda m, a: (
            m.flip(a),
            m.rot90(a),
            m.fliplr(a),
            m.moveaxis(a, 0, 1),
            m.delete(a, 1, axis=1),
        ),
        lambda m, a: (
            m.insert(a, 1, 5, axis=1),
            m.unique(a),
            m.isin(a, a[0]),
            m.digitize(a, [0, 1]),
        ),
    ],
)
def test_calls(xp, call):
    failures = []
    check(failures, "", lambda m: call(m, m.array(ordinary("d", 12)).reshape(3, 4)), xp)
    report(failures)


def test_what_is_picked_is_what_was_there(xp):
    def body(m):
        a = m.array(ordinary("d", 40))
        i = m.array([5, 3, 39, 0])
        picked, twice = a[i], (a * 2)[i]
        a[:] = 0
        i[:] = 1
        later = a[i]
        a += 1
        a[2:6] = a[i]
        a[1:4] = a[m.array([0, 1, 2])]
        return picked, twice, later, a, m.take(a, i, out=a[:4])

    failures = []
    check(failures, "", body, xp)
    report(failures)


@pytest.mark.parametrize("dtype", "?hfdD")
@pytest.mark.parametrize("size", [60, 90_000])
def test_masks_that_pick_nothing(xp_default, dtype, size):
    def body(m):
        a = m.array(np.resize(ordinary(dtype, 60), size)).reshape(3, -1)
        none, all_ = a != a, a == a
        results = [a[none], a[none] + a[none], a[none].sum()]
        a[none] = a[none]
        a[none] = np.empty(0, dtype)
        a[none] = np.empty(0, "u1")
        a[none] = 1 / (a[none] - a[none])
        a[none, ...] = np.empty(0, dtype)
        results.append(a.copy())
        frozen = a.view()
        frozen.flags.writeable = False
        for target, mask, value in [
            (a, all_, np.empty(0, dtype)),
            (a, all_, a[none]),
            (a, none, np.empty(3, dtype)),
            (a, none, np.empty((0, 2), dtype)),
            (frozen, none, np.empty(0, dtype)),
        ]:
            try:
                target[mask] = value
                results.append("set")
            except (ValueError, IndexError, TypeError) as error:
                results.append(f"{type(error).__name__}: {error}")
        return *results, a

    failures = []
    check(failures, size, body, xp_default)
    report(failures)


@pytest.mark.parametrize("size", [1000, 20_000, 300_000])
def test_large(xp_default, size):
    def body(m):
        draw = np.random.default_rng(size)
        a = m.array(draw.standard_normal(size))
        i = m.array(draw.integers(-size, size, size))
        b = m.array(draw.standard_normal((size // 100, 100)))
        j = m.array(draw.integers(0, 100, 50))
        k = m.array(draw.integers(0, size // 100, size // 100))
        return a[i], (a + 1)[i] * a, b[k], b[:, j], b[k, k % 100], b.take(j, axis=1), a[a > 0]

    failures = []
    check(failures, size, body, xp_default)
    report(failures)
