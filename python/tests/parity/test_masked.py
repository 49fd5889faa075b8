"""Folds with ``where=``, and the methods of ufuncs, against NumPy."""

import numpy as np
import pytest
from support.compare import differences, observe
from support.layouts import DTYPES, LAYOUTS, ordinary, values

FOLDS = "sum prod min max any all mean var std".split()
# Which zero wins is not defined.
ZEROS = frozenset(("min", "max"))
OUTER = "add subtract multiply divide power maximum equal less logical_and arctan2".split()


def check(failures, label, body, xp, *, signed_zero=True):
    found = differences(observe(body, np), observe(body, xp), signed_zero=signed_zero)
    failures += [f"{label}: {line}" for line in found]


def report(failures):
    assert not failures, f"{len(failures)} differ\n" + "\n".join(failures[:12])


def _masks(m, a):
    """Masks of the shape of ``a``, of fewer axes, and in another order of memory."""
    size = max(a.size, 1)
    mask = m.array(np.resize(ordinary("?", size), a.shape))
    yield mask
    yield mask[..., ::-1] if a.ndim else mask
    yield mask.T.copy().T
    if a.ndim > 1:
        yield mask[0]
        yield mask[:, :1]
    yield mask & False
    yield mask | True


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FOLDS)
def test_folds_where(xp, name, dtype):
    failures = []
    initial = {"initial": 3} if name in ("min", "max") else {}
    for number, (layout, build) in enumerate(LAYOUTS.items()):
        source = values(dtype) if number % 3 == 0 else ordinary(dtype, 42)

        def body(m, build=build, source=source, number=number):
            a = build(m, source)
            found = []
            for nth, mask in enumerate(_masks(m, a)):
                axis = (None, -1, 0)[(nth + number) % 3] if a.ndim else None
                found.append(getattr(m, name)(a, axis=axis, where=mask, **initial))
            return found

        check(failures, layout, body, xp, signed_zero=name not in ZEROS)
    report(failures)


@pytest.mark.parametrize("dtype", "?blfdD")
def test_folds_where_keywords(xp, dtype):
    def body(m):
        a = m.array(ordinary(dtype, 60)).reshape(5, 12)
        mask = m.array(ordinary("?", 60)).reshape(5, 12)
        out = m.zeros(12, m.sum(a[0]).dtype)
        return (
            m.sum(a, axis=0, where=mask, initial=5, out=out),
            m.prod(a, axis=1, where=mask, keepdims=True),
            m.multiply.reduce(a, where=mask, dtype="d" if dtype != "D" else "D"),
            m.logical_or.reduce(a, axis=None, where=mask),
            m.bitwise_and.reduce(a.astype("l"), where=mask),
            m.fmax.reduce(a, where=mask, initial=0),
            out,
        )

    failures = []
    check(failures, dtype, body, xp, signed_zero=False)
    report(failures)


@pytest.mark.parametrize(
    "call",
    [
        lambda m, a: m.min(a, where=a > 0),
        lambda m, a: m.sum(a, where=m.array([1, 0, 1])),
        lambda m, a: m.sum(a[0], where=a > 0),
        lambda m, a: m.sum(a, where=m.ones(7, bool)),
        lambda m, a: m.any(a, where=[True, False, True, False]),
        lambda m, a: m.sum(a, where=False),
        lambda m, a: m.sum(a, axis=9, where=a > 0),
    ],
)
def test_folds_where_errors(xp, call):
    failures = []
    check(failures, "", lambda m: call(m, m.array(ordinary("d", 12)).reshape(3, 4)), xp)
    report(failures)


@pytest.mark.parametrize("name", OUTER)
@pytest.mark.parametrize("dtype", "?bHlfdD")
def test_outer(xp, name, dtype):
    def body(m):
        a, b = m.array(ordinary(dtype, 12)), m.array(ordinary(dtype, 30))
        call = getattr(m, name).outer
        if name == "power":
            a, b = abs(a), abs(b[:6])
        return (
            call(a, b),
            call(a[::-2], b.reshape(5, -1).T),
            call(a.reshape(3, 4), b[:2]),
            call(a, b[:0]),
            call(a, 2),
            call([1, 2], b),
        )

    failures = []
    check(failures, dtype, body, xp)
    report(failures)


@pytest.mark.parametrize("name", "add multiply minimum maximum logical_or bitwise_xor".split())
@pytest.mark.parametrize("dtype", "?bHlfdD")
def test_reduceat_and_at(xp, name, dtype):
    def body(m):
        a = m.array(ordinary(dtype, 60)).reshape(6, 10)
        ufunc = getattr(m, name)
        found = [
            ufunc.reduceat(a.reshape(-1), [0, 5, 5, 3, 59]),
            ufunc.reduceat(a, [0, 3], axis=1),
            ufunc.reduceat(a[:, ::-2], m.array([1, 2, 4])),
        ]
        b = a.copy()
        ufunc.at(b, (m.array([0, 0, 5]), m.array([1, 1, 2])), a[0, :3])
        ufunc.at(b, 2, a[1])
        return found, b, b + b

    failures = []
    check(failures, dtype, body, xp, signed_zero=False)
    report(failures)


@pytest.mark.parametrize("dtype", "FD")
@pytest.mark.parametrize("name", "less less_equal greater greater_equal expm1 log1p".split())
def test_complex_of_numpy(xp, name, dtype):
    def body(m):
        a = m.array(values(dtype))
        b = m.array(values(dtype)[::-1].copy())
        nan = m.array([1 + 1j, complex(1, np.nan), complex(np.nan, 0), 2], dtype)
        call = getattr(m, name)
        if name in ("expm1", "log1p"):
            return call(a), call(nan), call(a[::2])
        return call(a, b), call(nan, nan[::-1]), call(nan[:1], a[:1]), call(a, 1j)

    failures = []
    check(failures, dtype, body, xp)
    report(failures)


@pytest.mark.parametrize("dtype", DTYPES)
def test_float_power(xp, dtype):
    def body(m):
        a = m.array(values(dtype))
        return m.float_power(a, 2), m.float_power(a, -1.5), m.float_power(2, a), m.float_power(a, a)

    failures = []
    check(failures, dtype, body, xp)
    report(failures)
