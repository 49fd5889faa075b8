"""Work on whole arrays, on all cores, against NumPy: sorting, picking by masks, searching, transforms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import process
from support.compare import differences, observe
from support.layouts import DTYPES, LAYOUTS, ordinary, values

# Elements from which on work is cut into parts, and some more.
MANY = 200_000
LONG = 500_000
SORTED = tuple("bBhHiIlLfd")
KINDS = (None, "quicksort", "heapsort", "stable")


def check(failures, label, body, xp):
    failures += [f"{label}: {line}" for line in differences(observe(body, np), observe(body, xp))]


def report(failures):
    assert not failures, f"{len(failures)} differ\n" + "\n".join(failures[:12])


def draws(dtype, count):
    """Vectors with few and with many different values, with NaN and zeros of both signs."""
    few = ordinary(dtype, count) // 8 if np.dtype(dtype).kind in "iu" else ordinary(dtype, count)
    hard = np.resize(values(dtype), count)
    return {"few": few, "hard": np.random.default_rng(3).permutation(hard)}


@pytest.fixture
def fallbacks(xp_default):
    """The names of functions that NumPy did as a whole since the start of the test, counted either way."""
    module = __import__("arrayloom._ext", fromlist=["stats"])
    module.configure(threads=0)
    module.reset_stats()
    kinds = ("fallbacks", "delegated")
    return lambda: [row["op"] for kind in kinds for row in module.stats()[kind]]


@pytest.mark.parametrize("dtype", SORTED)
def test_long_vectors_are_sorted(xp_default, dtype):
    failures = []
    for label, source in draws(dtype, LONG + 77).items():
        for kind in KINDS:

            def body(m, source=source, kind=kind):
                a = m.array(source)
                places = m.argsort(a, kind=kind)
                a.sort(kind=kind)
                return a, places, m.sort(m.array(source)[::-1], kind=kind)

            check(failures, (label, kind), body, xp_default)
    report(failures)


# Threads for which long vectors are sorted here, however quick NumPy's sort is.
_EIGHT = {"ARRAYLOOM_THREADS": "8"}
_SORT = """
        import numpy, arrayloom as np
        from arrayloom import _ext, memory

        def delegated(name):
            return [row for row in _ext.stats()["delegated"] if row["op"] == name]

        def same(a, b):
            return a.dtype == b.dtype and a.tobytes() == b.tobytes()

        random = numpy.random.default_rng(1)
"""


def test_vectors_are_sorted_by_eight_threads():
    code = """
        _ext.reset_stats()
        for letter in "iIlLfd":
            source = random.standard_normal(500_077) * 100
            source = numpy.abs(source).astype(letter) if letter.isupper() else source.astype(letter)
            if source.dtype.kind == "f":
                source[source == 0] = 1.0
            for kind in ("quicksort", "stable", None):
                ours = np.array(source)
                ours.sort(kind=kind)
                assert same(ours, numpy.sort(source, kind=kind)), letter
        for nan in (numpy.nan, -numpy.nan):
            for zero in (0.0, -0.0):
                source = random.permutation(numpy.resize([3.0, nan, -numpy.inf, zero, 2.5], 600_000))
                ours, expected = np.sort(np.array(source)), numpy.sort(source)
                # NumPy's sorts with vectors give NaN the usual sign.
                assert numpy.isnan(ours[480_000:]).all() and numpy.isnan(expected[480_000:]).all()
                assert same(ours[:480_000], expected[:480_000])
        assert not delegated("sort")
    """
    process.output(_SORT + code, env=_EIGHT)


def test_vectors_with_equal_elements_of_other_bits_are_numpys():
    code = """
        for odd in ([0.0, -0.0], [numpy.nan, -numpy.nan], [numpy.uint64(0x7ff8000000000001).view("d")]):
            source = random.permutation(numpy.resize([3.0, *odd, 1.0], 600_000))
            for kind in ("quicksort", "stable"):
                _ext.reset_stats()
                ours = np.array(source)
                ours.sort(kind=kind)
                assert same(ours, numpy.sort(source, kind=kind)), odd
                assert delegated("sort")
    """
    process.output(_SORT + code, env=_EIGHT)


def test_places_are_sorted_by_eight_threads():
    code = """
        few = random.integers(-3, 3, 600_000)
        wide = random.integers(0, 1 << 62, 600_000)
        for letter in "bBhHiIlLfd":
            source = few.astype(letter)
            for stable in (False, True):
                assert same(np.array(source).argsort(stable=stable), source.argsort(stable=stable))
        for letter in "lLd":
            for n in (500_001, 600_000):
                source = wide[:n].astype(letter)
                _ext.reset_stats()
                for kind in (None, "quicksort", "heapsort", "stable"):
                    assert same(np.argsort(np.array(source), kind=kind), source.argsort())
                assert not delegated("argsort"), letter
        special = (random.permutation(600_000) - 300_000.0) * wide
        special[[5, 400_000]] = numpy.nan, numpy.inf
        assert same(np.array(special).argsort(), special.argsort())
        special[[7, 500_000]] = numpy.nan, -numpy.nan
        special[9], special[300_000] = 0.0, -0.0
        for stable in (False, True):
            assert same(np.array(special).argsort(stable=stable), special.argsort(stable=stable))
    """
    process.output(_SORT + code, env=_EIGHT)


def test_vectors_are_sorted_where_memory_is_short():
    """Room beside the vector is a wish: where there is none, NumPy sorts."""
    code = """
        source = random.random(1_000_000)
        a = np.array(source)
        _ext.reset_stats()
        with memory.limit("24MiB"):
            places = a.argsort()
        assert delegated("argsort")
        assert same(places, source.argsort())
    """
    process.output(_SORT + code, env={**_EIGHT, "ARRAYLOOM_SPILL": "0"})


@pytest.mark.parametrize("dtype", "?bHlefdD")
def test_rows_are_sorted(xp_default, dtype):
    failures = []
    source = ordinary(dtype, 3 * 400 * 201).reshape(3, 400, 201)
    for axis in (-1, 0, 1, None):
        for kind in (None, "stable"):

            def body(m, axis=axis, kind=kind):
                a = m.array(source)
                order = m.argsort(a, axis=axis, kind=kind)
                return m.sort(a, axis=axis, kind=kind), order, m.sort(a.T, axis=axis)

            check(failures, (axis, kind), body, xp_default)
    report(failures)


@pytest.mark.parametrize("kth", [0, 5, [1, 60], -1, 99])
def test_rows_are_partitioned(xp_default, kth):
    failures = []
    source = ordinary("d", MANY + 800).reshape(-1, 100)
    for axis in (1, 0, -1):

        def body(m, axis=axis):
            a = m.array(source)
            places = m.argpartition(a, kth, axis=axis)
            a.partition(kth, axis=axis)
            return a, places, m.median(a, axis=axis)

        check(failures, axis, body, xp_default)
    report(failures)


def test_errors_of_sorting_are_those_of_numpy(xp_default):
    failures = []
    source = ordinary("d", LONG)
    calls = {
        "axis": lambda a: a.sort(axis=1),
        "kind": lambda a: a.sort(kind="bubble"),
        "both": lambda a: a.sort(kind="stable", stable=True),
        "rows": lambda a: a.reshape(-1, 100).sort(axis=2),
        "kth": lambda a: a.reshape(-1, 100).partition(100),
        "none": lambda a: a.sort(axis=None),
        "order": lambda a: a.sort(order="x"),
        "argsort": lambda a: a.reshape(-1, 100).argsort(axis=5),
    }
    for label, call in calls.items():
        check(failures, label, lambda m, call=call: call(m.array(source)), xp_default)
    report(failures)


def test_read_only_arrays_are_not_sorted(xp_default):
    def body(m):
        a = m.zeros(LONG)
        a.flags.writeable = False
        a.sort()

    report(differences(observe(body, np), observe(body, xp_default)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_masks_pick_elements_and_rows(xp_both, dtype):
    failures = []
    for shape in ((MANY,), (300, 701), (7, 300, 101)):
        source = ordinary(dtype, int(np.prod(shape))).reshape(shape)
        truth = np.random.default_rng(5).random(shape) < 0.4

        def body(m, source=source, truth=truth):
            a, mask = m.array(source), m.array(truth)
            first = mask.reshape(mask.shape[0], -1)[:, 0]
            return a[mask], a[first], a[mask & False], a[~first], a.T[mask.T], a[1:][mask[1:]]

        check(failures, shape, body, xp_both)
    report(failures)


@pytest.mark.parametrize("dtype", "?bldefD")
def test_places_of_true_elements(xp_both, dtype):
    failures = []
    for shape in ((MANY,), (300, 701), (7, 300, 101), (1, MANY, 1)):
        source = ordinary(dtype, int(np.prod(shape))).reshape(shape)
        source = np.where(np.abs(source) > 1, source, np.zeros_like(source))

        def body(m, source=source):
            a = m.array(source)
            return a.nonzero(), m.nonzero(a[::-1]), m.where(a), m.flatnonzero(a), m.argwhere(a.T)

        check(failures, shape, body, xp_both)
    report(failures)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_masks_of_every_layout(xp, layout):
    def body(m):
        a = LAYOUTS[layout](m, ordinary("d", 42))
        mask = a > 0
        found = [a[mask], mask.nonzero() if mask.ndim else None, m.count_nonzero(mask)]
        return (*found, m.extract(mask, a), (a * mask)[mask])

    report(differences(observe(body, np), observe(body, xp)))


def test_masks_that_do_not_fit(xp_both):
    failures = []
    for shape in ((300, 301), (301,), (1, 300), (300, 300, 1)):

        def body(m, shape=shape):
            return m.ones((300, 300))[m.ones(shape, bool)]

        check(failures, shape, body, xp_both)
    report(failures)


def test_masks_are_native(xp_default, fallbacks):
    a = xp_default.arange(float(MANY)).reshape(400, -1)
    kept = a[a > 10.0]
    assert kept.size == MANY - 11
    assert len(xp_default.nonzero(a)) == 2
    assert fallbacks() == []


@settings(max_examples=60, deadline=None)
@given(bits=st.lists(st.booleans(), max_size=200), rank=st.integers(1, 3))
def test_any_mask(bits, rank):
    import arrayloom as al
    from arrayloom import _ext

    mask = np.array(bits, bool).reshape((-1, *[1] * (rank - 1)))
    plain = np.arange(mask.size, dtype="i4").reshape(mask.shape)
    _ext.configure(min_bytes=0)
    try:
        lazy, truth = al.array(plain), al.array(mask)
        assert np.asarray(lazy[truth]).tolist() == plain[mask].tolist()
        pairs = zip(truth.nonzero(), mask.nonzero(), strict=True)
        assert all(np.asarray(a).tolist() == b.tolist() for a, b in pairs)
    finally:
        _ext.configure(min_bytes=64 * 1024)


@pytest.mark.parametrize("side", ["left", "right"])
def test_searches(xp_default, side):
    source = draws("d", MANY + 9)["hard"]
    edges = np.linspace(-3, 3, 41)

    def body(m):
        v, e = m.array(source), m.array(edges)
        found = m.searchsorted(e, v, side=side), e.searchsorted(v.reshape(-1, 1), side)
        order = m.arange(e.size)[::-1]
        return (*found, m.searchsorted(e[::-1], v, side=side, sorter=order), m.searchsorted(e, 0.5))

    report(differences(observe(body, np), observe(body, xp_default)))


def test_bins_and_interpolation(xp_default):
    source = draws("d", MANY + 9)["few"]

    def body(m):
        v, e = m.array(source), m.linspace(-3.0, 3.0, 41)
        points = m.interp(v, e, e**2), m.interp(v, e, e * 1j, left=5.0), m.interp(v, e, e, period=2)
        return (*points, m.digitize(v, e), m.digitize(v, e[::-1], right=True))

    report(differences(observe(body, np), observe(body, xp_default)))


def test_errors_of_searches_are_those_of_numpy(xp_default):
    failures = []
    calls = {
        "side": lambda m, v: m.searchsorted(v, v, side="middle"),
        "bins": lambda m, v: m.digitize(v, [0.0, 2.0, 1.0]),
        "lengths": lambda m, v: m.interp(v, [0.0, 1.0], [1.0]),
    }
    for label, call in calls.items():
        check(failures, label, lambda m, call=call: call(m, m.arange(float(MANY))), xp_default)
    report(failures)


@pytest.mark.parametrize("dtype", "lfdFD")
def test_transforms_of_rows(xp_default, dtype):
    failures = []
    source = ordinary(dtype, 400 * 600).reshape(400, 600)
    names = ["fft", "ifft", "irfft", "hfft", "fft2", "fftn"]
    names += ["rfft", "ihfft", "rfft2"] if dtype not in "FD" else []
    for name in names:
        for norm in (None, "ortho"):

            def body(m, name=name, norm=norm):
                a, call = m.array(source), getattr(m.fft, name)
                if name.endswith(("2", "n")):
                    return call(a, norm=norm), call(a[::2], s=(100, 610))
                return call(a, norm=norm), call(a, axis=0), call(a.T[::2], n=599), call(a, n=700)

            check(failures, (name, norm), body, xp_default)
    report(failures)


@pytest.mark.parametrize("dtype", "?ilfdFD")
def test_transforms_of_axes(xp_both, dtype):
    failures = []
    source = ordinary(dtype, 30 * 41 * 36).reshape(30, 41, 36)
    names = ["fft2", "ifft2", "irfft2", "fftn", "ifftn", "irfftn"]
    names += ["rfft2", "rfftn"] if dtype not in "FD" else []
    words = [
        {"axes": (0, 1)},
        {"axes": (2, 0)},
        {"axes": (-1,)},
        {"axes": (1, 1)},
        {"axes": (0, 2, 0)},
    ]
    words += [
        {"norm": "forward"},
        {"norm": "ortho", "axes": [1, 2]},
        {"s": (20, 50), "axes": (0, 1)},
    ]
    for name in names:
        for chosen in words:

            def body(m, name=name, chosen=chosen):
                a, call = m.array(source), getattr(m.fft, name)
                return (
                    call(a, **chosen),
                    call(a[:, ::-1, 3:], **chosen),
                    call(a.transpose(2, 0, 1), **chosen),
                )

            check(failures, (name, chosen), body, xp_both)
    report(failures)


def test_errors_of_transforms_are_those_of_numpy(xp_both):
    failures = []
    calls = {
        "axis": lambda m, a: m.fft.fft(a, axis=2),
        "length": lambda m, a: m.fft.rfft(a, n=0),
        "fraction": lambda m, a: m.fft.ifft(a, n=2.5),
        "norm": lambda m, a: m.fft.irfft(a, norm="none"),
        "norm of axes": lambda m, a: m.fft.fftn(a, norm="none"),
        "axes": lambda m, a: m.fft.fft2(a, axes=(0, 5)),
        "no axes": lambda m, a: m.fft.rfftn(a, axes=()),
        "one axis": lambda m, a: m.fft.fftn(a, axes=1),
        "shape": lambda m, a: m.fft.fftn(a, s=(3, 4, 5), axes=(0, 1)),
        "no rows": lambda m, a: m.fft.irfft(a[:, :1]),
        "empty": lambda m, a: m.fft.fft(a[:0]),
        "complex": lambda m, a: m.fft.rfft(a * 1j),
        "out": lambda m, a: m.fft.fft(a, out=m.empty((3, 3), "D")),
    }
    for label, call in calls.items():
        check(failures, label, lambda m, call=call: call(m, m.ones((40, 50))), xp_both)
    report(failures)


def test_conditions_of_transforms_are_told(xp_default):
    def body(m):
        a = m.full((500, 500), 1e308)
        with np.errstate(all="warn"):
            return m.fft.fft(a)

    report(differences(observe(body, np), observe(body, xp_default)))


def test_parts_are_native(xp_default, fallbacks):
    a = xp_default.array(ordinary("d", MANY + 400).reshape(200, -1))
    xp_default.fft.rfft(a, axis=1)
    xp_default.sort(a, axis=0)
    xp_default.argsort(a, axis=1)
    xp_default.searchsorted([-1.0, 0.0, 1.0], a)
    xp_default.digitize(a, [-1.0, 0.0, 1.0])
    assert fallbacks() == []


@pytest.mark.parametrize("dtype", "bBhHiIlLefd")
def test_histograms(xp_both, dtype):
    failures = []
    for label, source in draws(dtype, MANY + 77).items():
        finite = source[np.isfinite(source)]

        def body(m, source=source, finite=finite):
            a, all_of_them = m.array(finite), m.array(source)
            wide = (
                m.histogram(all_of_them, 9, (-2, 3)),
                m.histogram(all_of_them, 200, (-1.5, 2.5)),
            )
            return (m.histogram(a), m.histogram(a, bins=77), m.histogram(a, 3, density=True), wide)

        check(failures, label, body, xp_both)
    report(failures)


def test_values_close_to_edges(xp_default, fallbacks):
    def body(m):
        edges = np.linspace(-1, 1, 334)
        a = np.concatenate([np.nextafter(edges, 9), np.nextafter(edges, -9), edges])
        a = m.array(np.resize(a, MANY + 9))
        picture = m.array(np.resize(np.arange(997) % 256, MANY).astype("u1").reshape(400, -1))
        few = (
            m.histogram(a, 333, (-1, 1)),
            m.histogram(picture, 256, (0, 256)),
            m.histogram(picture.T, 16),
        )
        return *few, m.bincount(picture.ravel())

    body(xp_default)
    assert not {"histogram", "bincount"} & set(fallbacks())
    report(differences(observe(body, np), observe(body, xp_default)))
    assert xp_default.histogram(xp_default.ones(MANY)[::2], 3)[0].sum() == MANY // 2
    assert "histogram" in fallbacks()


def test_histograms_that_numpy_judges(xp_both):
    failures = []
    odd = {
        "nan": lambda m, a: m.histogram(a * m.nan),
        "same": lambda m, a: m.histogram(a * 0),
        "range": lambda m, a: m.histogram(a, 10, (2, 1)),
        "bins": lambda m, a: m.histogram(a, 0),
        "float bins": lambda m, a: m.histogram(a, 2.5),
        "name": lambda m, a: m.histogram(a, "sqrt"),
        "edges": lambda m, a: m.histogram(a, [-1, 0, 0.25, 1]),
        "weights": lambda m, a: m.histogram(a, 10, weights=a * 2),
        "truth": lambda m, a: m.histogram(a > 0, 2),
        "infinite": lambda m, a: m.histogram(a, 10, (0, m.inf)),
        "huge": lambda m, a: m.histogram(a, 10, (-1e308, 1e308)),
        "names": lambda m, a: m.histogram(a, bin=3),
    }
    for label, make in odd.items():
        check(failures, label, lambda m, make=make: make(m, m.sin(m.arange(MANY + 5.0))), xp_both)
    report(failures)


@pytest.mark.parametrize("dtype", "bBhHiIlL")
def test_numbers_are_counted(xp_both, dtype):
    source = np.random.default_rng(2).integers(0, 100, MANY + 31).astype(dtype)
    failures = []
    for label, change in {"plain": 0, "large": 27, "negative": -1}.items():

        def body(m, change=change):
            a = m.array(source)
            shifted = a + m.array(change).astype(dtype) if change >= 0 or dtype in "bhil" else a
            return m.bincount(shifted), m.bincount(shifted, minlength=300), m.bincount(shifted[::2])

        check(failures, label, body, xp_both)
    check(
        failures,
        "weights",
        lambda m: m.bincount(m.array(source[:-1]).astype(int), m.ones(MANY + 30)),
        xp_both,
    )
    check(failures, "rows", lambda m: m.bincount(m.array(source[:-31]).reshape(2, -1)), xp_both)
    report(failures)
