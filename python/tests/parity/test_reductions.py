"""Reductions and accumulations against NumPy: the bits show the order of the sums."""

import itertools

import numpy as np
import pytest
from support.compare import differences, observe
from support.layouts import DTYPES, LAYOUTS, ordinary, plain_view, values

REDUCTIONS = (
    "sum prod min max any all mean var std argmin argmax ptp nansum nanprod nanmin nanmax nanmean"
    " nanvar nanstd nanargmin nanargmax median count_nonzero average"
).split()
METHODS = "sum prod min max any all mean var std argmin argmax cumsum cumprod".split()
ACCUMULATIONS = "cumsum cumprod nancumsum nancumprod cumulative_sum".split()
SIZES = (1, 2, 7, 8, 9, 15, 127, 128, 129, 130, 257, 1000, 8191, 8192, 8193, 20003)
SHAPES = ((3, 4, 5), (17, 33), (129, 9), (2, 300, 7), (1, 40, 1), (8, 1, 3, 5), (0, 3), (4, 0, 2))
# Which zero wins is not defined, nor which NaN.
ZEROS = frozenset("min max nanmin nanmax ptp".split())


def check(failures, label, body, xp, name=""):
    found = differences(observe(body, np), observe(body, xp), signed_zero=name not in ZEROS)
    failures += [f"{label}: {line}" for line in found]


def report(failures):
    assert not failures, f"{len(failures)} differ\n" + "\n".join(failures[:12])


def _loose_product(name, dtype):
    """Running products of complex numbers: NumPy fuses operations depending on the steps."""
    return name.endswith("cumprod") and dtype in "FD"


def axes(ndim):
    """None, every axis from both ends, and tuples of axes."""
    found = [None, *range(-ndim, ndim), ()]
    for count in range(2, ndim + 1):
        found += list(itertools.combinations(range(ndim), count))
    return found


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*REDUCTIONS, *ACCUMULATIONS])
def test_sizes(xp, name, dtype):
    failures = []
    for size in SIZES:

        def body(m, size=size):
            a = m.array(ordinary(dtype, 2 * size))
            call = getattr(m, name)
            if _loose_product(name, dtype):
                return call(a[:size])
            return call(a[:size]), call(a[::2]), call(a[::-1])

        check(failures, size, body, xp, name)
    report(failures)


@pytest.mark.parametrize("dtype", "?bBlfdeD")
@pytest.mark.parametrize("name", [*REDUCTIONS, "cumsum", "cumprod"])
def test_axes(xp, name, dtype):
    failures = []
    single = name.startswith(("arg", "nanarg", "cum"))
    for shape in SHAPES:
        source = ordinary(dtype, int(np.prod(shape))).reshape(shape)
        choices = [a for a in axes(len(shape)) if not (single and isinstance(a, tuple))]
        for axis in choices:

            def body(m, source=source, axis=axis):
                a = m.array(source)
                call = getattr(m, name)
                if _loose_product(name, dtype):
                    return call(a, axis=axis).shape
                keep = {} if name.startswith("cum") or name == "ptp" else {"keepdims": True}
                return (
                    call(a, axis=axis),
                    call(a.T, axis=axis),
                    call(a[..., ::-1], axis=axis, **keep),
                )

            check(failures, f"{shape} axis={axis}", body, xp, name)
    report(failures)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", METHODS)
def test_layouts_and_difficult_values(xp, name, dtype):
    failures = []
    for layout, build in LAYOUTS.items():
        if _loose_product(name, dtype) and layout == "permuted":
            continue
        for source in (values(dtype), ordinary(dtype, 42)):

            def body(m, build=build, source=source):
                a = build(m, source)
                last = a.ndim - 1 if a.ndim else None
                return getattr(a, name)(), getattr(a, name)(axis=last)

            check(failures, layout, body, xp, name)
    report(failures)


def _keywords(m, a, mask):
    """Every keyword of the reductions, each as a thunk."""
    out = lambda dtype="d": m.full(a.shape[1:], 5, dtype)  # noqa: E731
    return {
        "initial": lambda: m.sum(a, axis=0, initial=10),
        "initial all": lambda: a.sum(initial=-0.0),
        "initial prod": lambda: m.prod(a, axis=1, initial=2.5),
        "initial min": lambda: m.min(a, axis=0, initial=0),
        "initial max": lambda: m.max(a, initial=100),
        "initial empty": lambda: m.max(a[:0], axis=0, initial=-5),
        "where": lambda: m.sum(a, axis=0, where=mask),
        "where all": lambda: m.sum(a, where=mask),
        "where row": lambda: m.sum(a, where=mask[0]),
        "where max": lambda: m.max(a, axis=1, where=mask, initial=-9),
        "where max bare": lambda: m.max(a, where=mask),
        "where mean": lambda: m.mean(a, axis=0, where=mask),
        "where std": lambda: m.std(a, axis=0, where=mask),
        "where any": lambda: m.any(a, axis=0, where=mask),
        "dtype": lambda: m.sum(a, axis=0, dtype="f"),
        "dtype int": lambda: m.sum(a, dtype="l"),
        "dtype complex": lambda: m.sum(a, dtype="D"),
        "dtype mean": lambda: m.mean(a, axis=1, dtype="f"),
        "out": lambda: m.sum(a, axis=0, out=out()),
        "out f4": lambda: m.sum(a, axis=0, out=out("f")),
        "out int": lambda: m.sum(a, axis=0, out=out("l")),
        "out mean": lambda: m.mean(a, axis=0, out=out()),
        "out var": lambda: a.var(axis=0, out=out()),
        "out wrong": lambda: m.sum(a, axis=1, out=out()),
        "out argmax": lambda: m.argmax(a, axis=0, out=out("l")),
        "out argmax d": lambda: m.argmax(a, axis=0, out=out()),
        "out cumsum": lambda: m.cumsum(a, axis=0, out=a),
        "out cumsum shifted": lambda: m.cumsum(a[1:], axis=0, out=a[:-1]),
        "out row": lambda: m.sum(a, axis=0, out=a[0]),
        "keepdims": lambda: m.sum(a, axis=(0, 1), keepdims=True),
        "keepdims argmin": lambda: m.argmin(a, axis=0, keepdims=True),
        "ddof": lambda: m.var(a, axis=0, ddof=1),
        "ddof all": lambda: a.std(ddof=a.size),
        "mean keyword": lambda: m.std(a, axis=0, mean=m.mean(a, axis=0, keepdims=True)),
        "correction": lambda: m.var(a, axis=1, correction=1),
        "axis bad": lambda: m.sum(a, axis=3),
        "axis twice": lambda: m.sum(a, axis=(0, 0)),
        "axis float": lambda: m.sum(a, axis=1.0),
        "axis text": lambda: a.max(axis="x"),
        "empty max": lambda: m.max(a[:0]),
        "empty argmax": lambda: m.argmax(a[:0]),
        "empty mean": lambda: m.mean(a[:0]),
        "empty sum": lambda: (m.sum(a[:0], axis=0), m.prod(a[:0]), m.any(a[:0]), m.all(a[:0])),
        "generator": lambda: m.sum(list(a)),
        "nan": lambda: (m.nansum(a / 0), m.nanmax(a / 0, axis=0), m.nanmean(a * np.nan)),
        "logical": lambda: (m.logical_and.reduce(a, axis=0), m.logical_or.reduce(a > 0, axis=1)),
        "hypot": lambda: m.hypot.reduce(a, axis=1),
        "logaddexp": lambda: m.logaddexp.reduce(a[0]),
        "subtract": lambda: (m.subtract.reduce(a, axis=0), m.subtract.accumulate(a, axis=1)),
        "divide": lambda: m.divide.reduce(a, axis=1),
        "bitwise": lambda: m.bitwise_xor.reduce((a * 100).astype("l"), axis=0),
        "reduce dtype": lambda: m.add.reduce(a, axis=None, dtype="f", keepdims=True),
        "accumulate out": lambda: m.add.accumulate(a, axis=1, out=a),
        "cumulative": lambda: m.cumulative_sum(a[0], include_initial=True),
        "diff": lambda: (m.diff(a), m.diff(a, n=2, axis=0), m.ediff1d(a)),
        "trapezoid": lambda: (m.trapezoid(a), m.trapezoid(a, dx=0.5, axis=0)),
        "norm": lambda: (m.linalg.norm(a), m.linalg.norm(a, axis=0), m.linalg.norm(a, 1, axis=1)),
        "percentile": lambda: (m.percentile(a, 30), m.quantile(a, [0.1, 0.5], axis=0)),
        "extremes": lambda: (a.argmax(), a.argmin(axis=1), m.nanargmax(a, axis=0)),
        "cov": lambda: (m.cov(a), m.corrcoef(a)),
    }


@pytest.mark.parametrize("name", sorted(_keywords(np, np.ones((4, 6)), None)))
def test_keywords(xp, name):
    def body(m):
        a = m.array(ordinary("d", 24)).reshape(4, 6)
        mask = m.array(ordinary("?", 24)).reshape(4, 6)
        return _keywords(m, a, mask)[name](), a

    failures = []
    check(failures, name, body, xp)
    report(failures)


def _random_layout(draw, m, dtype, limit):
    """A random view: padded, stepped, reversed, permuted."""
    ndim = int(draw.integers(1, 5))
    shape = [int(n) for n in np.maximum(1, limit ** (1 / ndim) * draw.random(ndim) * 2)]
    pad, step = draw.integers(0, 4, ndim), draw.integers(1, 4, ndim)
    full = [n * int(s) + int(p) for n, p, s in zip(shape, pad, step, strict=True)]
    base = m.array(ordinary(dtype, int(np.prod(full)))).reshape(full)
    flips = draw.random(ndim) < 0.25
    cut = tuple(slice(None, n * int(s), int(s)) for n, s in zip(shape, step, strict=True))
    view = base[cut]
    view = view[tuple(slice(None, None, -1) if f else slice(None) for f in flips)]
    view = view.transpose(draw.permutation(ndim).tolist())
    count = int(draw.integers(0, ndim + 1))
    axis = tuple(int(i) for i in draw.permutation(ndim)[:count]) if count else None
    return view, axis


def _sum_fuzz(xp, seeds, limit):
    failures = []
    for seed in seeds:
        dtype = "ddffeDFlbBhHiI?"[seed % 15]

        def body(m, seed=seed, dtype=dtype):
            draw = np.random.default_rng(seed)
            view, axis = _random_layout(draw, m, dtype, limit)
            wide = {"dtype": "d"} if dtype == "f" and seed % 4 == 0 else {}
            return view.sum(axis, **wide), view.mean(axis), view.var(axis), view.max(axis)

        check(failures, f"seed {seed} {dtype}", body, xp, "max")
    report(failures)


def test_sums_of_random_views(xp):
    _sum_fuzz(xp, range(300), 2000)
    _sum_fuzz(xp, range(1000, 1060), 40000)


@pytest.mark.slow
def test_sums_of_many_random_views(xp):
    _sum_fuzz(xp, range(2000, 6000), 20000)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_sums_do_not_depend_on_threads(xp_default, configured, threads):
    configured(threads=threads)
    failures = []
    for dtype in "dfl":

        def body(m, dtype=dtype):
            a = m.array(ordinary(dtype, 600 * 501)).reshape(600, 501)
            b = a * 3 - a[::-1]
            inner = b[1:-1, 1:-1]
            return (
                b.sum(), b.sum(0), b.sum(1), b.mean(), inner.sum(), inner.sum(0), inner.sum(1),
                b.std(), b.var(0), b.cumsum(), b.cumsum(0), b.min(), b.argmax(), (b * b).sum(),
            )  # fmt: skip

        check(failures, dtype, body, xp_default, "max")
    report(failures)


@pytest.mark.parametrize("dtype", "?bBhHiI")
def test_sums_of_small_integers_do_not_overflow(xp_default, dtype):
    size = 64 * 2**15 + 1001
    kind = np.dtype(dtype)
    least, most = (0, 1) if dtype == "?" else (np.iinfo(kind).min, np.iinfo(kind).max)
    failures = []
    for value in (least, most):

        def body(m, value=value):
            a = m.full(size, value, dtype=kind)
            colours, columns = (
                a[: size // 3 * 3].reshape(-1, 3),
                a[: size // 37 * 37].reshape(-1, 37),
            )
            return (
                a.sum(), a[1:].sum(), a[::2].sum(), a.sum(dtype="i4"), a.sum(initial=5),
                colours.sum(axis=0), colours.sum(axis=1), columns.sum(axis=0), columns.sum(axis=1),
                columns[:, 1:].sum(axis=0), columns[::-3, 5:9].sum(axis=0), columns.T.sum(axis=0),
            )  # fmt: skip

        check(failures, value, body, xp_default)
    report(failures)


@pytest.mark.parametrize("dtype", "fd")
def test_sums_of_short_runs(xp, dtype):
    for run in (*range(1, 20), 31, 64, 65, 127, 128, 129, 200):
        rows = 15_000 // run
        data = ordinary(dtype, 2 * rows * run, seed=run).reshape(2, rows, run)

        def body(m, data=data):
            a = m.array(data)
            return (
                (a * 2 + 1).sum(axis=2),
                (a - 1)[:, ::-2].sum(axis=-1),
                (a * a).mean(axis=2, keepdims=True),
                (a + a).T.sum(axis=0),
                (-a).sum(axis=2, initial=3.5),
                (a * -0.0).sum(axis=2),
            )

        found = differences(observe(body, np), observe(body, xp))
        assert not found, (run, found)


@pytest.mark.parametrize("dtype", "bilfdFD?")
def test_columns_of_large_matrices(xp_both, dtype):
    failures = []
    for shape in ((700, 1100), (2300, 259), (97, 6007)):
        source = ordinary(dtype, int(np.prod(shape))).reshape(shape)

        def body(m, source=source):
            a = m.array(source)
            mean = a.mean(axis=0)
            centred = a - mean
            spread = (centred * m.conj(centred)).real.sum(axis=0, keepdims=True)
            shifted = a[3:] + a[:-3].sum(axis=0)
            return (
                centred / (a.std(axis=0) + 1),
                spread,
                a.max(axis=0) == a.min(0),
                shifted,
                a.var(0, ddof=1),
            )

        check(failures, shape, body, xp_both)
    report(failures)


@pytest.mark.usefixtures("real_laziness")
def test_columns_are_read_once(xp_default):
    module = __import__("arrayloom._ext", fromlist=["stats"])
    a = xp_default.sin(xp_default.arange(1.2e6)).reshape(1000, 1200)
    float(a[0, 0])
    module.reset_stats()
    found = a.std(axis=0)
    assert float(found[7]) == np.std(plain_view(a), axis=0)[7]
    stats = module.stats()
    assert stats["sweeps"] == 1
    assert stats["bytes_read"] < 1.1 * a.nbytes * 2


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "u1", "u8", "?", "f2", "f8"])
def test_initial_values_are_converted_as_elements_are(xp, dtype):
    starts = [
        1e300,
        1e10,
        300,
        -1,
        2**70,
        np.nan,
        -1.5,
        3.0,
        np.int64(300),
        np.float64(1e30),
        1j,
        True,
    ]
    folds = {
        "min": lambda m, a, v: m.min(a, initial=v),
        "max": lambda m, a, v: m.max(a, axis=0, initial=v),
        "sum": lambda m, a, v: m.sum(a, initial=v),
        "prod": lambda m, a, v: m.prod(a, axis=1, initial=v),
        "or": lambda m, a, v: m.bitwise_or.reduce(a, initial=v),
        "where": lambda m, a, v: m.max(a, axis=0, initial=v, where=a != 0),
    }
    failures = []
    for (name, fold), start in itertools.product(folds.items(), starts):

        def body(m, fold=fold, start=start):
            a = m.ones((20, 30), "i8").astype(dtype)
            with np.errstate(all="ignore"):
                return fold(m, a, start)

        check(failures, f"{name} {start}", body, xp)
    report(failures)


AXIS = {
    "sum": lambda m, a, axis: a.sum(axis=axis),
    "several": lambda m, a, axis: m.sum(a, axis=(axis,)),
    "mean": lambda m, a, axis: m.mean(a, axis=axis),
    "any": lambda m, a, axis: m.any(a, axis=axis),
    "argmax": lambda m, a, axis: m.argmax(a, axis=axis),
    "std": lambda m, a, axis: a.std(axis=axis),
    "cumsum": lambda m, a, axis: m.cumsum(a, axis=axis),
    "sort": lambda m, a, axis: m.sort(a, axis=axis),
    "reduce": lambda m, a, axis: m.add.reduce(a, axis=axis),
    "concatenate": lambda m, a, axis: m.concatenate([a, a], axis=axis),
    "repeat": lambda m, a, axis: m.repeat(a, 2, axis=axis),
    "take": lambda m, a, axis: m.take(a, m.array([1, 0]), axis=axis),
}


@pytest.mark.parametrize("axis", [True, False, np.True_, np.int8(1), 1.0])
@pytest.mark.parametrize("name", AXIS)
def test_truth_values_are_no_axes(xp, name, axis):
    failures = []
    check(failures, name, lambda m: AXIS[name](m, m.ones((20, 30)) * 2, axis), xp)
    report(failures)


@pytest.mark.parametrize("dtype", ["F", "D"])
def test_running_products_of_complex_pairs(xp, dtype):
    """NumPy makes one product of each pair, by the loop of vectors."""
    failures = []
    for shape, axis in (((9000, 2), 1), ((2, 9001), 0), ((30, 2, 40), 1), ((2,), 0), ((1, 2), 1)):
        values = ordinary(dtype, 2 * 9001)[: int(np.prod(shape))].reshape(shape)

        def body(m, values=values, axis=axis):
            a = m.array(values)
            return m.cumprod(a, axis=axis), m.multiply.accumulate(a, axis=axis), m.cumprod(a[:1])

        check(failures, shape, body, xp)
    report(failures)
