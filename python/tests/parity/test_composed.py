"""NumPy's functions that are composed of recorded operations, against NumPy."""

import numpy as np
import pytest
from support.compare import differences, observe
from support.layouts import DTYPES, ordinary, values


def check(failures, label, body, xp):
    failures += [f"{label}: {line}" for line in differences(observe(body, np), observe(body, xp))]


def report(failures):
    assert not failures, f"{len(failures)} differ\n" + "\n".join(failures[:12])


@pytest.mark.parametrize("dtype", DTYPES)
def test_select(xp_both, dtype):
    source = np.resize(values(dtype), 12_000).reshape(100, 120)

    def body(m):
        a = m.array(source)
        b = a.T.reshape(100, 120)
        low, high = a == b, m.array(ordinary("?", 120))
        found = [m.select([low], [a]), m.select([low, high], [a, b], a), m.select([high], [a], 7)]
        found += [m.select([low, high], [1, b]), m.select((low, ~low), (2.5, a), 1j)]
        found += [m.select([high, high], [1, 2.5], 3), m.select([low, high[:, None][:100]], [b, a])]
        found += [m.select([low], [a.astype("f4")], m.array(3)), m.select([low], [b[0]], a[:, :1])]
        return found

    report(differences(observe(body, np), observe(body, xp_both)))


def test_errors_of_select_are_those_of_numpy(xp_both):
    failures = []
    calls = {
        "lengths": lambda m, a: m.select([a > 0], [a, a]),
        "none": lambda m, a: m.select([], []),
        "no truth": lambda m, a: m.select([a], [a]),
        "shapes": lambda m, a: m.select([a > 0], [a[:7]]),
        "numbers": lambda m, a: m.select([a > 0, True], [a, 1]),
    }
    for label, call in calls.items():
        check(failures, label, lambda m, call=call: call(m, m.arange(9999.0)), xp_both)
    report(failures)


@pytest.mark.parametrize("dtype", DTYPES)
def test_cross(xp_both, dtype):
    source = np.resize(values(dtype), 9000)

    def body(m):
        a = m.array(source).reshape(-1, 3)
        b, line = a[::-1], a[4]
        found = [m.cross(a, b), m.cross(a, line), m.cross(line, b), m.cross(a.T, b.T, axis=0)]
        found += [m.cross(a.T, b, axisa=0), m.cross(a, b, axisc=0), m.cross(a, m.ones(3))]
        found += [m.cross(a[1], a[2]), m.cross(m.asfortranarray(a)[None], b[:, None][:1])]
        found += [m.cross(a.reshape(50, 60, 3).copy(order="F"), b[:60]).copy(order="K")]
        return [*found, m.cross(a[:, None], b[:9]), m.cross(a.reshape(50, 60, 3), b[:60])]

    report(differences(observe(body, np), observe(body, xp_both)))


def test_errors_of_cross_are_those_of_numpy(xp_both):
    failures = []
    calls = {
        "four": lambda m, a: m.cross(a.reshape(-1, 4), a.reshape(-1, 4)),
        "axis": lambda m, a: m.cross(a, a, axis=2),
        "shapes": lambda m, a: m.cross(a, a[:7]),
        "end": lambda m, a: m.cross(a, a, axisc=5),
    }
    for label, call in calls.items():
        check(failures, label, lambda m, c=call: c(m, m.arange(12_000.0).reshape(-1, 3)), xp_both)
    report(failures)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", ["nansum", "nanprod", "nanmean", "nanmax", "nanstd"])
def test_folds_without_nan(xp_both, dtype, function):
    failures = []
    hard = np.resize(values(dtype), 9000).reshape(90, 100)
    easy = ordinary(dtype, 9000).reshape(90, 100)
    absent = np.nan if np.dtype(dtype).kind in "fc" else 0
    gone = np.where(np.arange(100) % 9 == 0, absent, easy).astype(dtype)
    for label, source in {"hard": hard, "easy": easy, "gone": gone}.items():
        for axis in (None, 0, 1, (0, 1), -1):

            def body(m, source=source, axis=axis):
                a, fold = m.array(source), getattr(m, function)
                found = fold(a, axis), fold(a, axis=axis, keepdims=True), fold(a.T, axis)
                return found, fold(a[::2, 3:], axis=axis), a

            check(failures, (label, axis), body, xp_both)
    report(failures)


def test_keywords_of_folds_without_nan(xp_both):
    failures = []
    source = np.where(np.arange(9000) % 7 == 0, np.nan, ordinary("d", 9000)).reshape(90, 100)
    calls = {
        "dtype": lambda m, a: m.nansum(a, axis=0, dtype="f4"),
        "out": lambda m, a: m.nansum(a, axis=0, out=m.empty(100)),
        "where": lambda m, a: m.nansum(a, axis=0, where=a > 0),
        "initial": lambda m, a: m.nanprod(a, axis=1, initial=3.0),
        "mean where": lambda m, a: m.nanmean(a, axis=1, where=a > 0),
        "mean dtype": lambda m, a: m.nanmean(a, axis=1, dtype="f4"),
        "mean out": lambda m, a: m.nanmean(a, axis=1, out=m.empty(90)),
        "wrong axis": lambda m, a: m.nansum(a, axis=2),
        "wrong out": lambda m, a: m.nansum(a, axis=0, out=m.empty(7)),
        "mean axis": lambda m, a: m.nanmean(a, axis=5),
    }
    for label, call in calls.items():
        check(failures, label, lambda m, call=call: call(m, m.array(source)), xp_both)
    report(failures)


SUMS = (
    ("ij,jk->ik", (30, 40), (40, 20)),
    ("ij,kj", (30, 40), (20, 40)),
    ("bij,bjk->bik", (6, 30, 20), (6, 20, 10)),
    ("ij,ij->i", (60, 70), (60, 70)),
    ("ij,ij->", (60, 70), (60, 70)),
    ("ij,ij->j", (60, 70), (60, 70)),
    ("i...,i...->...", (60, 70), (60, 70)),
    ("ij,ij", (60, 70), (60, 70)),
    ("ij,j", (60, 70), (70,)),
    ("ij,j->i", (60, 70), (70,)),
    ("...ij,...j->...i", (5, 30, 40), (5, 40)),
    ("ij,jk,kl->il", (30, 40), (40, 20), (20, 50)),
    ("i,j->ij", (90,), (80,)),
    ("ij,ij->", (60, 70), (60, 70)),
    ("i,i", (6000,), (6000,)),
    ("ij,ji->", (60, 70), (70, 60)),
    ("ij->j", (60, 70)),
    ("ii->i", (60, 60)),
)


@pytest.mark.parametrize("dtype", "?ilfdFD")
def test_sums_of_products(xp_both, dtype):
    """Sums of products of floats go to the BLAS: within rounding; what has no sum, or no floats, to the bit."""
    exact = np.dtype(dtype).kind in "bi"
    for subscripts, *shapes in SUMS:
        plain = [ordinary(dtype, int(np.prod(s)), seed=3).reshape(s) for s in shapes]
        expected = np.einsum(subscripts, *plain)
        found = xp_both.einsum(subscripts, *(xp_both.array(a) for a in plain))
        assert found.dtype == expected.dtype, subscripts
        assert found.shape == expected.shape, subscripts
        assert isinstance(found, np.ndarray) == isinstance(expected, np.ndarray), subscripts
        no_sum = len(plain) == 1 or subscripts == "i,j->ij"
        if exact or no_sum:
            assert np.array_equal(found, expected), subscripts
        else:
            size = np.einsum(subscripts, *(np.abs(a).astype("d") for a in plain))
            bound = 80 * np.finfo(dtype).eps * size
            assert np.all(np.abs(np.asarray(found) - expected) <= bound), subscripts


def test_batches_of_vectors_have_the_bits_of_numpy(xp_both):
    for subscripts, *shapes in (
        ("nij,nj->ni", (9000, 3, 4), (9000, 4)),
        ("ni,ni->n", (30_000, 2), (30_000, 2)),
        ("ni,ni->n", (60, 2000), (60, 2000)),
        ("ni,nij,nj->n", (9000, 3), (9000, 3, 3), (9000, 3)),
        ("ni , ni->n", (600, 100), (600, 100)),
        ("...i,...i", (600, 100), (600, 100)),
    ):
        plain = [ordinary("d", int(np.prod(s)), seed=3).reshape(s) for s in shapes]
        found = xp_both.einsum(subscripts, *(xp_both.array(a) for a in plain))
        assert np.array_equal(found, np.einsum(subscripts, *plain)), subscripts


def test_errors_of_einsum_are_those_of_numpy(xp_both):
    failures = []
    calls = {
        "subscripts": lambda m, a: m.einsum("ij,jk,kl", a, a),
        "extents": lambda m, a: m.einsum("ij,jk", a, a[:7]),
        "rank": lambda m, a: m.einsum("ijk,jk", a, a),
        "output": lambda m, a: m.einsum("ij,jk->iz", a, a),
        "no": lambda m, a: m.einsum("ij,j?", a, a),
    }
    for label, call in calls.items():

        def body(m, call=call):
            try:
                call(m, m.ones((40, 50)))
            except ValueError:
                return True
            return False

        check(failures, label, body, xp_both)
    report(failures)


def test_put_mask_and_extract(xp_both):
    failures = []
    for dtype in DTYPES:
        source = np.resize(values(dtype), 12_000)
        for put in (0, 1, 2.5, 1j, True, 300, "same", "other", "short"):

            def body(m, source=source, put=put):
                a = m.array(source)
                mask = m.array(ordinary("?", a.size))
                made = {"same": lambda: a[::-1], "other": lambda: a.astype("f4")}
                value = made.get(put, lambda: a[:7] if put == "short" else put)()
                m.putmask(a, mask, value)
                b = m.array(source).reshape(3, -1)
                m.putmask(b, mask.reshape(3, -1), b[::-1])
                kept = m.extract(mask, a), m.extract(mask[:100], a[:50]), m.extract(a, a)
                return a, b, *kept, m.extract(mask.reshape(2, -1), a)

            check(failures, (dtype, put), body, xp_both)
    report(failures)


def test_composed_functions_are_recorded(xp_default):
    from arrayloom import _ext

    a = xp_default.linspace(-1.0, 1.0, 90_000)
    _ext.reset_stats()
    b = xp_default.select([a < -0.5, a < 0.5], [a, -a], 3.0)
    c = xp_default.cross(b.reshape(-1, 3), a.reshape(-1, 3))
    total = float(xp_default.nansum(b)) + float(c.sum()) + float(xp_default.nanmean(b))
    stats = _ext.stats()
    assert np.isfinite(total)
    assert stats["fallbacks"] == []
    assert stats["delegated"] == []
