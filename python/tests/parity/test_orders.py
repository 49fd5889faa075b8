"""Functions of ordered elements and of sets, and searches, against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.compare import differences, observe
from support.layouts import DTYPES, LAYOUTS, ordinary, values

# From here on vectors are partitioned and searched for by code of our own.
LONG = 60_000
REAL = tuple("?bBhHiIlLefd")


def check(failures, label, body, xp):
    failures += [f"{label}: {line}" for line in differences(observe(body, np), observe(body, xp))]


def report(failures):
    assert not failures, f"{len(failures)} differ\n" + "\n".join(failures[:12])


def draws(dtype, count=LONG):
    """Vectors of many values, of few, of one, in order, and with whatever is special."""
    many = ordinary(dtype, count)
    if np.dtype(dtype).kind == "f":
        many = np.where(many == 0, np.ones_like(many), many)
    one = np.full(count, many[0])
    hard = np.random.default_rng(3).permutation(np.resize(values(dtype), count))
    few = np.random.default_rng(4).permutation(np.resize(many[:7], count))
    return {"many": many, "few": few, "one": one, "ordered": np.sort(many), "hard": hard}


@pytest.mark.parametrize("dtype", REAL)
def test_quantiles_of_vectors(xp_both, dtype):
    failures = []
    for label, source in draws(dtype).items():

        def body(m, source=source):
            a = m.array(source)
            parts = m.median(a), m.median(a[1:]), m.median(a.reshape(300, -1), keepdims=True)
            if np.dtype(dtype).kind == "b":
                return parts
            shares = m.percentile(a, [0, 5, 50, 95, 100]), m.quantile(a, 0.75)
            without = m.nanmedian(a), m.nanpercentile(a, [25, 99]), a
            return *parts, *shares, *without

        check(failures, label, body, xp_both)
    report(failures)


METHODS = (
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "hazen",
    "weibull",
    "median_unbiased",
    "lower",
    "higher",
    "midpoint",
    "nearest",
)


def test_methods_and_outputs_of_quantiles(xp_both):
    failures = []
    source = draws("d")["many"]
    for method in METHODS:

        def body(m, method=method):
            a = m.array(source)
            out = m.empty((3,))
            kept = m.quantile(a, [0.1, 0.5, 0.9], method=method, out=out)
            return kept is out, out, m.quantile(a.reshape(6, -1), 0.3, method=method, axis=(0, 1))

        check(failures, method, body, xp_both)
    weights = np.random.default_rng(1).random(LONG)

    def weighed(m):
        return m.quantile(m.array(source), [0.2, 0.7], weights=weights, method="inverted_cdf")

    check(failures, "weights", weighed, xp_both)
    report(failures)


def test_a_partition_in_place_is_whole(xp_both):
    """Where the program lets a function work in its array, all elements are kept there."""
    source = draws("d")["many"]

    def body(m):
        a, b, c = m.array(source), m.array(source), m.array(source)
        found = m.median(a, overwrite_input=True), m.percentile(b, 30, overwrite_input=True)
        found += (m.median(c, None, None, True),)
        c.partition(LONG // 3)
        return found, m.sort(a), m.sort(b), m.sort(c), c[LONG // 3]

    report(differences(observe(body, np), observe(body, xp_both)))


def test_partitions_are_those_of_numpy_after_an_error(xp_both):
    source = draws("d")["many"]

    def body(m):
        a = m.array(source)
        found = []
        for call in (
            lambda: m.percentile(a, 101),
            lambda: m.quantile(a, 0.5, method="none"),
            lambda: m.median(a, axis=3),
            lambda: m.percentile(a, "5"),
        ):
            try:
                call()
            except Exception as error:
                found.append((type(error).__name__, str(error)))
        a.partition(77)
        return found, a

    report(differences(observe(body, np), observe(body, xp_both)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_unique(xp_both, dtype):
    failures = []
    for label, source in draws(dtype, 30_000).items():

        def body(m, source=source):
            a = m.array(source)
            alone = m.unique(a), m.unique(a.reshape(100, -1).T), m.unique(a[:0]), m.unique(a[:1])
            both = m.unique(a, return_inverse=True), m.unique(a, return_counts=True)
            rest = m.unique(a.reshape(100, -1), return_inverse=True, return_counts=True)
            return alone, both, rest, m.unique(a, return_index=True), m.unique(a[:12], axis=0)

        check(failures, label, body, xp_both)
    report(failures)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), dtype=st.sampled_from("bBhHiIlL"))
def test_any_whole_numbers_are_unique_as_in_numpy(data, dtype):
    info = np.iinfo(dtype)
    low = data.draw(st.integers(info.min, info.max))
    high = data.draw(st.integers(low, info.max))
    numbers = data.draw(st.lists(st.integers(low, high), max_size=80))
    check_unique(np.array(numbers, dtype))


@pytest.mark.parametrize("numbers", [[1 << 63], [(1 << 63) - 1, 1 << 63], [(1 << 64) - 1] * 2])
def test_large_numbers_without_sign_are_unique_as_in_numpy(numbers):
    check_unique(np.array(numbers, np.uint64))
    check_unique(np.array([*numbers, 0], np.uint64))


def check_unique(plain):
    import arrayloom as al
    from arrayloom import _ext

    _ext.configure(min_bytes=0)
    try:
        found = al.unique(al.array(plain), return_inverse=True, return_counts=True)
        alone = al.unique(al.array(plain))
    finally:
        _ext.configure(min_bytes=64 * 1024)
    expected = np.unique(plain, return_inverse=True, return_counts=True)
    for a, b in zip((*found, alone), (*expected, expected[0]), strict=True):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)


@pytest.mark.parametrize("dtype", "?blLfd")
def test_sets(xp_both, dtype):
    one, other = (draws(dtype, 40_000)[kind] for kind in ("many", "hard"))

    def body(m):
        a, b = m.array(one), m.array(other)
        both = m.union1d(a, b), m.intersect1d(a, b), m.setdiff1d(a, b), m.setxor1d(a, b)
        return *both, m.isin(a, b[:100])

    report(differences(observe(body, np), observe(body, xp_both)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_searches_of_every_dtype(xp_both, dtype):
    failures = []
    for label, source in draws(dtype, 30_000).items():
        for table in (np.sort(source[:50]), np.sort(source[:1]), source[:0], source[:9]):

            def body(m, source=source, table=table):
                v, t = m.array(source), m.array(table)
                found = m.searchsorted(t, v), m.searchsorted(t, v.reshape(-1, 2), "right")
                return found, t.searchsorted(v[::-2], side="right"), m.searchsorted(v[:0], v)

            check(failures, (label, table.size), body, xp_both)
    report(failures)


def test_searches_in_another_dtype(xp_both):
    failures = []
    for table in "?bHlLefdD":
        for sought in "?BhiLefdD":

            def body(m, table=table, sought=sought):
                t, v = m.array(np.sort(ordinary(table, 40))), m.array(ordinary(sought, 30_000))
                return m.searchsorted(t, v), m.searchsorted(t.tolist(), v, side="right")

            check(failures, table + sought, body, xp_both)
    report(failures)


def test_bins(xp_both):
    failures = []
    for dtype in REAL:
        for label, source in draws(dtype, 30_000).items():

            def body(m, source=source):
                v = m.array(source)
                edges = np.array([-2.5, -1, 0, 0, 1, 40])
                one = m.digitize(v, edges), m.digitize(v, edges, right=True), m.digitize(v, [1, 2])
                two = m.digitize(v, edges[::-1]), m.digitize(v, [3, 3]), m.digitize(v, [np.nan])
                return one, two, m.digitize(v, np.array([1, np.nan]))

            check(failures, (dtype, label), body, xp_both)
    report(failures)


@pytest.mark.parametrize("dtype", DTYPES)
def test_interpolation(xp_both, dtype):
    failures = []
    for label, source in draws(dtype, 30_000).items():
        for x in ([-2.0, 0, 0, 1, 9], [3], [1, np.inf], [2, 1], [0, np.nan], [-np.inf, 0, 1]):

            def body(m, source=source, x=x):
                v, y = m.array(source), np.arange(len(x)) ** 2 - 1.5
                ends = m.interp(v, x, y, left=-7), m.interp(v, x, y, right=np.nan)
                odd = m.interp(v, x, y * np.inf), m.interp(v.reshape(-1, 3), x, y.astype("i2"))
                return m.interp(v, x, y), *ends, *odd, m.interp(v, x, y, period=3.0)

            check(failures, (label, x), body, xp_both)
    report(failures)


def test_bins_of_several_axes(xp_both):
    x, y = (draws("d", 30_000)[kind] for kind in ("many", "ordered"))

    def body(m):
        a, b = m.array(x), m.array(y)
        two = m.histogram2d(a, b, bins=(7, 5)), m.histogram2d(a, b, range=[(-1, 1), (0, 2)])
        three = m.histogramdd((a, b, a), bins=4, density=True)
        more = m.histogramdd(m.array([x, y]).T, bins=3), m.histogram2d(a, b, weights=b)
        return two, three, more, m.histogram2d(a, b, bins=[[-1, 0, 2], 3])

    report(differences(observe(body, np), observe(body, xp_both)))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_quantiles_and_sets_of_every_layout(xp, layout):
    def body(m):
        a = LAYOUTS[layout](m, ordinary("d", 42))
        whole = m.rint(a).astype("i4")
        found = m.median(a), m.percentile(a, [10, 60]), m.unique(whole, return_counts=True)
        search = m.searchsorted([-1.0, 0.5], a), m.digitize(a, [0.0]), m.interp(a, [0, 1], [2, 3])
        return found, search, m.nansum(a), m.nanmean(a, axis=-1 if a.ndim else None)

    report(differences(observe(body, np), observe(body, xp)))
