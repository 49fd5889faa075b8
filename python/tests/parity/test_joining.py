"""Joining, repeating, rounding and choosing, against NumPy."""

import numpy as np
import pytest
from support.compare import differences, observe
from support.layouts import DTYPES, LAYOUTS, ordinary, values


def check(failures, label, body, xp):
    failures += [f"{label}: {line}" for line in differences(observe(body, np), observe(body, xp))]


def report(failures):
    assert not failures, f"{len(failures)} differ\n" + "\n".join(failures[:12])


@pytest.mark.parametrize("dtype", DTYPES)
def test_concatenate(xp, dtype):
    failures = []
    for layout, build in LAYOUTS.items():

        def body(m, build=build):
            a = build(m, ordinary(dtype, 42))
            if a.ndim == 0:
                return m.concatenate([a, a])
            found = [m.concatenate([a, a], axis=axis) for axis in range(-a.ndim, a.ndim)]
            found += [m.concatenate((a, a[:0], a + a)), m.concatenate([a])]
            found += [
                m.stack([a, a], axis=-1),
                m.vstack([a, a]),
                m.hstack((a, a)),
                m.dstack([a, a]),
            ]
            found += [m.append(a, a), m.append(a, a, axis=0), m.tile(a, 2), m.tile(a, (2, 1, 2))]
            found += [m.concatenate([a, a.copy()], axis=None), m.block([[a], [a]])]
            return found

        check(failures, layout, body, xp)
    report(failures)


def test_concatenate_of_unlike_parts(xp):
    def body(m):
        a = m.array(ordinary("d", 24)).reshape(2, 3, 4)
        f = m.asfortranarray(a)
        parts = [
            m.concatenate([a, f]),
            m.concatenate([f, f], axis=1),
            m.concatenate([f, a.astype("i")], axis=2),
            m.concatenate([a.transpose(2, 0, 1), a.transpose(2, 0, 1)]),
            m.concatenate([a.astype("b"), a.astype("B")]),
            m.concatenate([a.astype("F"), a[::-1]]),
            m.concatenate([a, [[[1, 2, 3, 4]] * 3]]),
            m.concatenate([a, a], dtype="f"),
            m.concatenate([a, a], axis=1, out=m.zeros((2, 6, 4))),
            m.column_stack([a[0, 0], a[1, 1]]),
        ]
        a[...] = 0
        return parts

    failures = []
    check(failures, "", body, xp)
    report(failures)


@pytest.mark.parametrize(
    "call",
    [
        lambda m, a: m.concatenate([a, a[0]]),
        lambda m, a: m.concatenate([a, a], axis=2),
        lambda m, a: m.concatenate([a, a], axis=-3),
        lambda m, a: m.concatenate([a, a[:, :2]]),
        lambda m, a: m.concatenate([]),
        lambda m, a: m.concatenate(a),
        lambda m, a: m.concatenate([a, a], axis=1.5),
        lambda m, a: m.concatenate([a, a], 0, axis=0),
        lambda m, a: m.concatenate([a, a], dtype="f", casting="safe"),
        lambda m, a: m.concatenate([a, "x"]),
        lambda m, a: m.repeat(a, -1),
        lambda m, a: m.repeat(a, [1, 2]),
        lambda m, a: a.repeat(2, axis=5),
        lambda m, a: a.round("x"),
        lambda m, a: m.copyto(a, 1j),
        lambda m, a: m.copyto(a, a[0, 0], where=m.ones(9, bool)),
        lambda m, a: m.copyto(a.astype("l"), 1.5),
        lambda m, a: m.where(a > 0, a, a[:, :2]),
    ],
)
def test_errors(xp, call):
    failures = []
    check(failures, "", lambda m: call(m, m.array(ordinary("d", 12)).reshape(3, 4)), xp)
    report(failures)


@pytest.mark.parametrize("dtype", DTYPES)
def test_repeat_round_and_order(xp, dtype):
    failures = []
    for layout, build in LAYOUTS.items():

        def body(m, build=build):
            a = build(m, ordinary(dtype, 42))
            found = [m.repeat(a, 3), a.repeat(0), a.repeat([2])]
            found += [a.repeat(2, axis=axis) for axis in range(-a.ndim, a.ndim)]
            found += [
                a.round(),
                a.round(2),
                a.round(-1),
                m.round(a, decimals=1),
                (a.T + 1).round(1),
                a.T.round(1),
            ]
            found += [m.count_nonzero(a), m.count_nonzero(a, axis=0) if a.ndim else 0]
            for order in "CFAK":
                found += [a.flatten(order), a.ravel(order), a.copy(order), m.ravel(a, order=order)]
            found += [m.where(a, a, 0), m.where(a, 1, a)]
            return found

        check(failures, layout, body, xp)
    report(failures)


@pytest.mark.parametrize("dtype", DTYPES)
def test_copyto(xp, dtype):
    def body(m):
        a = m.array(values(dtype))
        mask = m.array(np.resize(ordinary("?", 8), a.shape))
        found = []
        for value in (a[::-1], a[0], 1, True, np.float32(2), 0.5, np.nan):
            for casting in ("same_kind", "unsafe", "safe"):
                for where in (True, mask, mask[:1], False):
                    b, said = a.copy(), ""
                    try:
                        m.copyto(b, value, casting=casting, where=where)
                    except (TypeError, ValueError, OverflowError) as error:
                        said = str(error)
                    found.append((said, b))
        return found

    failures = []
    check(failures, dtype, body, xp)
    report(failures)


@pytest.mark.parametrize("dtype", "lfdFD")
@pytest.mark.parametrize(
    "name",
    "nansum nanprod nanmin nanmax nanmean nanvar nanstd nancumsum nancumprod nanargmin nanargmax"
    " nanmedian nan_to_num".split(),
)
def test_nan_functions(xp, name, dtype):
    def body(m):
        source = np.resize(values(dtype), 60).reshape(5, 12)
        a = m.array(source)
        call = getattr(m, name)
        if name == "nan_to_num":
            return call(a), call(a, nan=1, posinf=2, neginf=3), call(a[::2, ::-1])
        b = a if dtype == "l" else m.where(m.isnan(a) & (m.arange(12) % 2 == 0), 1, a)
        loose = name == "nancumprod" and dtype in "FD"
        return [call(x, axis=axis) for x in (a, b) for axis in ((None,) if loose else (None, 0, 1))]

    failures = []
    found = differences(observe(body, np), observe(body, xp), signed_zero=False)
    failures += [f"{name} {dtype}: {line}" for line in found]
    report(failures)
