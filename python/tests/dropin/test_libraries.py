"""Libraries that take NumPy arrays take lazy ones: same answers as with NumPy's own."""

import io

import numpy as np
import pytest
from support.compare import differences, observe
from support.layouts import ordinary
from support.process import output

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ImportWarning")


def image(m, rows=130, columns=120):
    """A result that has not been computed yet."""
    return m.array(ordinary("d", rows * columns)).reshape(rows, columns) * 2 + 1


def check(body, xp):
    found = differences(observe(body, np), observe(body, xp))
    assert not found, "\n".join(found[:8])


@pytest.fixture
def scipy():
    return pytest.importorskip("scipy", reason="SciPy is not installed")


def test_ndimage(xp_both, scipy):
    from scipy import ndimage

    check(lambda m: ndimage.gaussian_filter(image(m), 2), xp_both)
    check(lambda m: ndimage.label(image(m) > 1), xp_both)
    check(lambda m: np.array(ndimage.sobel(image(m).T, 0, output=m.empty((120, 130)))), xp_both)
    check(lambda m: ndimage.zoom(image(m)[::2], 0.5), xp_both)


def test_linear_algebra(xp_both, scipy):
    from scipy import linalg

    def square(m):
        return image(m, 110, 110) + m.eye(110) * 50

    check(lambda m: linalg.lu(square(m)), xp_both)
    check(lambda m: linalg.solve(square(m), image(m, 110, 1)), xp_both)
    check(lambda m: linalg.cholesky(square(m) @ square(m).T), xp_both)
    check(lambda m: linalg.lu_factor(square(m), overwrite_a=True)[1], xp_both)


def test_fft_signal_and_interpolation(xp_both, scipy):
    from scipy import fft, integrate, interpolate, signal, special, stats

    check(lambda m: fft.fft2(image(m)), xp_both)
    check(lambda m: signal.convolve(image(m)[0], image(m)[1]), xp_both)
    check(lambda m: signal.lfilter([1, 2], [1, 0.5], image(m)), xp_both)
    check(
        lambda m: interpolate.CubicSpline(m.arange(130.0), image(m))(m.linspace(0, 9, 50)), xp_both
    )
    check(lambda m: special.erf(image(m)), xp_both)
    check(lambda m: integrate.simpson(image(m)), xp_both)
    check(lambda m: stats.zscore(image(m)), xp_both)


def test_sparse(xp_both, scipy):
    from scipy import sparse
    from scipy.sparse import linalg

    check(lambda m: sparse.csr_array(image(m) * (image(m) > 3)) @ m.ones(120), xp_both)

    def solve(m):
        main = m.full(9000, 4.0)
        matrix = sparse.diags_array([main, main[1:] * -0.25, main[1:] * -0.25], offsets=[0, 1, -1])
        return linalg.spsolve(matrix.tocsc(), m.ones(9000) * 2)

    check(solve, xp_both)


def test_optimisers_call_back(xp_both, scipy):
    from scipy import optimize

    def body(m):
        target = image(m)[0]

        def cost(x):
            return float((((m.asarray(x) - target) ** 2) * 2).sum())

        def slope(x):
            return (m.asarray(x) - target) * 4

        found = optimize.minimize(cost, np.zeros(120), jac=slope, method="L-BFGS-B")
        return found.x, found.nit

    check(body, xp_both)


def test_kd_tree_and_distance(xp_both, scipy):
    from scipy import spatial

    check(lambda m: spatial.distance.cdist(image(m)[:50], image(m)[50:]), xp_both)
    check(lambda m: spatial.cKDTree(image(m)[:, :3]).query(image(m)[:9, :3], 2), xp_both)


def test_pandas(xp_both):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")

    def body(m):
        frame = pandas.DataFrame(image(m)[:, :4], columns=list("abcd"))
        frame["e"] = image(m)[:, 5]
        frame["f"] = frame["a"] * image(m)[:, 6]
        groups = frame.groupby(frame["a"] > 0).mean()
        return (
            frame.describe().to_numpy(), groups.to_numpy(), frame.to_csv(float_format="%.12g"),
            pandas.Series(image(m)[3]).rolling(5).mean().to_numpy(), frame.corr().to_numpy(),
        )  # fmt: skip

    check(body, xp_both)


def test_matplotlib(xp_both):
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    def body(m):
        figure, axes = pyplot.subplots(2, 2, figsize=(4, 4))
        axes[0, 0].imshow(image(m))
        axes[0, 1].plot(image(m)[0], image(m)[1])
        axes[1, 0].hist(image(m).ravel(), 30)
        axes[1, 1].contour(m.abs(image(m)) + 1)
        file = io.BytesIO()
        figure.savefig(file, format="rgba")
        pyplot.close(figure)
        return file.getvalue()

    check(body, xp_both)


def test_bars_of_matplotlib_have_arrays_of_the_exact_type():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    code = """
    import numpy as np
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    axes = pyplot.subplots()[1]
    bars = axes.bar(np.arange(70) * 0.5, np.arange(70) * 2.0, np.ones(70) * 0.4)
    counts, edges, _ = axes.hist(np.random.default_rng(0).normal(size=9000) * 2, bins=50)
    print(len(bars), counts.sum(), len(edges))
    """
    assert output(code, runner=True, options=["--min-bytes", 0]) == "70 9000.0 51\n"


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("runner", [True, False])
def test_h5py(tmp_path, direct, early, runner):
    """HDF5 reads and writes by system calls, which do not fault."""
    pytest.importorskip("h5py", reason="h5py is not installed")
    names = "h5py", "hashlib", "numpy as np"
    code = f"""
    import {", ".join(names if early else names[::-1])}
    a = np.sin(np.arange(15600.0)).reshape(130, 120) * 2 + 1
    given = a.copy() if {direct} else np.asarray(a)
    with h5py.File({str(tmp_path / "data.h5")!r}, "w") as file:
        file["plain"] = given
        file.create_dataset("lazy", data=a * 3, chunks=(10, 120), compression="gzip")
        file["lazy"][3:5] = a[:2] + 1
    with h5py.File({str(tmp_path / "data.h5")!r}) as file:
        target = np.zeros((130, 120)) + 1
        file["plain"].read_direct(target)
        for found in (target, target * 2, np.array(file["lazy"][...]) + 1):
            print(hashlib.sha256(found.tobytes()).hexdigest())
    """
    ours = code if runner else code.replace("numpy as np", "arrayloom as np")
    assert output(ours, runner=runner) == output(code)


def test_what_h5py_warns_of_has_the_users_line(tmp_path):
    """It counts its callers, and ours would be among them."""
    pytest.importorskip("h5py", reason="h5py is not installed")
    code = f"""
    import warnings, inspect, h5py
    from arrayloom import _interop
    with h5py.File({str(tmp_path / "data.h5")!r}, "w") as file:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            file.create_dataset("e", (100, 4))
    print([(w.category.__name__, w.filename, w.lineno) for w in seen])
    print(inspect.signature(h5py.Dataset.write_direct), h5py.Dataset.write_direct.__doc__)
    """
    plain = code.replace("    from arrayloom import _interop\n", "    pass\n")
    assert output(code, runner=True) == output(code) == output(plain)


@pytest.mark.parametrize("runner", [True, False])
def test_numexpr(runner):
    """Its workers block all signals: a fault there would end the process."""
    pytest.importorskip("numexpr", reason="numexpr is not installed")
    code = """
    import numpy as np, numexpr
    numexpr.set_num_threads(2)
    a = np.arange(200_000.0) + 1
    b = a * 2
    print(numexpr.evaluate("a * b + 1").sum(), numexpr.evaluate("sqrt(x)", {"x": b - a}).sum())
    """
    ours = code if runner else code.replace("numpy as np", "arrayloom as np")
    assert output(ours, runner=runner) == output(code)


def test_pillow(xp_both):
    pil = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

    def body(m):
        grey = (m.abs(image(m)) * 20).astype(np.uint8)
        picture = pil.fromarray(grey).rotate(90)
        return m.asarray(picture) + np.uint8(1), picture.tobytes()

    check(body, xp_both)


def test_masked_arrays_tell_numpys_type(xp_both):
    import copy
    import pickle

    class Named(np.ma.MaskedArray):
        pass

    def body(m):
        a = image(m)
        masked = np.ma.masked_array(a, mask=a > 3)
        kept = masked.view(Named)
        kept.name = "kept"
        copies = [pickle.loads(pickle.dumps(x, p)) for x in (masked, kept) for p in (2, 5)]
        copies += [copy.deepcopy(masked), copy.copy(kept) * 2]
        return (
            repr(masked), repr(masked[:1, :3]), repr(np.ma.array(a[0])), repr(kept[:1, :2]),
            [(np.asarray(c.data), np.ma.getmaskarray(c), repr(c), type(c).__name__) for c in copies],
        )  # fmt: skip

    check(body, xp_both)


def test_numpys_own_python_code(xp_both):
    check(lambda m: m.polyfit(m.arange(130.0), image(m)[:, 0], 3), xp_both)
    check(lambda m: m.gradient(image(m)), xp_both)
    check(lambda m: m.histogram(image(m), 20), xp_both)
    check(lambda m: m.histogram2d(image(m)[0], image(m)[1], 5), xp_both)
    check(lambda m: m.unique(m.rint(image(m)), return_counts=True), xp_both)
    check(lambda m: m.lib.stride_tricks.sliding_window_view(image(m), (3, 3)).mean((2, 3)), xp_both)
    check(lambda m: m.cov(image(m)), xp_both)
    check(lambda m: m.percentile(image(m), [5, 50, 95], axis=0), xp_both)
    check(lambda m: m.testing.assert_allclose(image(m), image(m) + 1e-12), xp_both)
    check(lambda m: m.testing.assert_array_equal(image(m), image(m) + 1), xp_both)
