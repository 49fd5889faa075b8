"""Defects that filters of other programs have or had, by the numbers of the list that they come from.

H are those of the Hydra Image Processor 4.0.0, Q those of other libraries. H6, what happens when memory
runs out, is tested at every allocation in `crates/volume/tests/exact.rs`.
"""

import threading

import numpy as np
import pytest
import scipy.ndimage as nd

from arrayloom import filters as f
from arrayloom import volumes as v
from arrayloom.errors import BudgetError

SPACE = (0, 1, 2)


def image(shape=(20, 18, 16), dtype="f4", seed=0):
    return np.random.default_rng(seed).integers(0, 4000, shape).astype(dtype)


def streamed(path, run, x, limit):
    """The result of `run` on `x` as a volume, through a budget; and the report."""
    report = v.save(path, run(v.open(x)), memory_limit=limit)
    return np.load(path), report


ONCE = {
    "mean": lambda a: f.mean_filter(a, 5, axes=SPACE),
    "std": lambda a: f.std_filter(a, 5, axes=SPACE),
    "max": lambda a: f.maximum_filter(a, 5, axes=SPACE),
    "closing": lambda a: f.closing(a, 5, axes=SPACE),
    "gaussian": lambda a: f.gaussian_filter(a, 2, axes=SPACE),
    "median": lambda a: f.median_filter(a, (3, 5, 3), axes=SPACE),
}


@pytest.mark.parametrize("name", ONCE)
@pytest.mark.parametrize("share", [0.75, 0.5, 0.25, 0.1])
def test_h1_blocks_have_the_voxels_of_the_whole(tmp_path, name, share):
    x = image((32, 60, 40, 2))
    limit = int(share * 2 * x.nbytes)
    result, report = streamed(tmp_path / "out.npy", ONCE[name], x, limit)
    assert np.array_equal(result, ONCE[name](x))
    assert report["peak"] <= limit


@pytest.mark.parametrize("name", ONCE)
def test_h2_several_threads_give_the_same_bits(tmp_path, monkeypatch, name):
    x = image((24, 60, 40, 2))
    monkeypatch.setenv("ARRAYLOOM_THREADS", "1")
    one = ONCE[name](x)
    monkeypatch.setenv("ARRAYLOOM_THREADS", "3")
    assert np.array_equal(ONCE[name](x), one)
    result, _ = streamed(tmp_path / "out.npy", ONCE[name], x, x.nbytes // 2)
    assert np.array_equal(result, one)


def test_h3_iterations_and_searches_reach_as_far_as_they_do(tmp_path):
    x = image((40, 24, 22))

    def thrice(a):
        return f.maximum_filter(f.maximum_filter(f.maximum_filter(a, 5), 5), 5)

    result, _ = streamed(tmp_path / "max.npy", thrice, x, 300_000)
    assert np.array_equal(result, nd.maximum_filter(x, 13))
    for run in (lambda a: f.closing(a, 5, iterations=2), lambda a: f.nl_means(a, 900.0, 2, 1)):
        result, _ = streamed(tmp_path / "out.npy", run, x, 600_000)
        assert np.array_equal(result, run(x))


def test_h4_windows_longer_than_half_an_axis(tmp_path):
    x = image((400, 6, 5))
    for limit in (1 << 20, 150_000):
        result, report = streamed(
            tmp_path / "out.npy", lambda a: f.minimum_filter(a, (376, 3, 3)), x, limit
        )
        assert np.array_equal(result, nd.minimum_filter(x, (376, 3, 3)))
        assert report["peak"] <= limit
    with pytest.raises(BudgetError, match="smallest block takes"):
        v.save(tmp_path / "no.npy", f.minimum_filter(v.open(x), (376, 3, 3)), memory_limit=16)


def test_h5_no_run_takes_more_than_its_budget(tmp_path):
    rng = np.random.default_rng(5)
    ran = 0
    for _ in range(100):
        shape = tuple(int(n) for n in rng.integers(4, 40, 3))
        size = tuple(int(n) for n in rng.integers(1, 8, 3))
        x = image(shape, "u2")
        limit = int(rng.integers(10_000, 2 * x.nbytes + 20_000))
        run = (f.uniform_filter, f.maximum_filter, f.std_filter)[int(rng.integers(3))]
        try:
            report = v.save(tmp_path / "out.npy", run(v.open(x), size), memory_limit=limit)
        except BudgetError:
            continue
        assert report["peak"] <= limit
        ran += 1
    assert ran > 50


def test_h7_the_greatest_value_falls_into_the_last_bin():
    x = np.array([255, 255, 0, 255], np.uint8)
    assert f.entropy_filter(x, 2, range=(0, 255)).tolist() == [0.0, 0.0, 1.0, 1.0]
    assert f.entropy_filter(x, 2).tolist() == [0.0, 0.0, 1.0, 1.0]


def test_h8_ranges_and_noise_are_those_of_the_volume(tmp_path):
    x = np.cumsum(image((80, 40, 30)), axis=0) / 1000
    for run in (lambda a: f.entropy_filter(a, 3), lambda a: f.wiener_filter(a, 3)):
        result, report = streamed(tmp_path / "out.npy", run, x, 400_000)
        assert report["blocks"] > 1
        assert np.array_equal(result, run(x))


def test_h9_even_windows_have_a_center():
    flat = np.full((6, 6, 3), 10, np.uint8)
    assert np.array_equal(f.mean_filter(flat, (4, 4, 1)), flat)
    assert np.array_equal(f.correlate(flat, np.ones((4, 4, 1)) / 16), flat)


def test_h10_coordinates_are_integers():
    x = np.arange((1 << 24) + 64, dtype=np.uint32)
    result = f.maximum_filter(x, 3)
    assert np.array_equal(result[-70:-1], x[-69:])


def test_h11_channels_are_not_counted_in_a_byte():
    x = image((300, 6, 7), "u1")
    ours = f.median_filter(x, 3, axes=(1, 2))
    assert np.array_equal(ours, nd.median_filter(x, (1, 3, 3)))


def test_h12_large_values_do_not_cancel():
    x = 1e9 + np.arange(27.0).reshape(3, 3, 3) % 2
    assert f.std_filter(x, 3, mode="renormalize")[1, 1, 1] == pytest.approx(0.499657, abs=1e-6)
    assert f.std_filter(np.full((5, 6), 0.1), 3).max() == 0


def test_h13_medians_of_any_size():
    x = image((10, 11, 12))
    assert np.array_equal(f.median_filter(x, 9), nd.median_filter(x, 9))


def test_h14_nothing_is_divided_by_zero():
    x = image((6, 7))
    edges = np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]])
    assert np.isfinite(f.correlate(x, edges, mode="renormalize")).all()
    flat = np.full((5, 5), 3.0)
    assert np.array_equal(f.wiener_filter(flat, 3), flat)
    assert np.array_equal(f.wiener_filter(flat, 3, noise=0.0), flat)
    assert f.cv_filter(np.zeros(5), 3).tolist() == [0.0] * 5


def test_h15_more_axes_strides_and_dtypes():
    x = image((2, 3, 2, 4, 3, 5), "i8")
    assert np.array_equal(f.maximum_filter(x, 2), nd.maximum_filter(x, 2))
    y = image((12, 14))[::2, ::-3]
    assert np.array_equal(f.minimum_filter(y, 3), nd.minimum_filter(y, 3))
    for dtype in ("i1", "i8", "u8", "f2"):
        z = (image((6, 7)) % 100).astype(dtype)
        assert np.array_equal(
            f.median_filter(z, 3), nd.median_filter(z.astype("f8"), 3).astype(dtype)
        )
    z = image((6, 7)) + 1j * image((6, 7), seed=1)
    np.testing.assert_allclose(f.gaussian_filter(z, 1), nd.gaussian_filter(z, 1), rtol=1e-5)


def test_h16_results_are_rounded_half_to_even_and_saturate():
    x = np.array([1, 2, 2, 5], np.uint8)
    assert f.correlate1d(x, [0.5, 0, 0.5]).tolist() == [2, 2, 4, 4]
    assert f.correlate1d(np.array([200, 200], np.uint8), [1, 1]).tolist() == [255, 255]


def test_h17_extremes_of_any_number_of_voxels():
    for n in (1, 2, 3, 255, 1000):
        x = image((n,), "i4", n)
        assert v.min_max(x, memory_limit="64KiB") == (x.min(), x.max())


def test_h18_neighbours_are_not_read_after_they_were_written(monkeypatch):
    x = image((10, 40, 40))
    monkeypatch.setenv("ARRAYLOOM_THREADS", "1")
    one = f.nl_means(x, 1.0, 2, 1, "fisher")
    monkeypatch.setenv("ARRAYLOOM_THREADS", "4")
    assert np.array_equal(f.nl_means(x, 1.0, 2, 1, "fisher"), one)


def test_h19_other_threads_run_meanwhile():
    x = image((48, 128, 128))
    ran = threading.Event()
    stop = threading.Event()
    steps = []

    def count():
        while not stop.is_set():
            steps.append(ran.is_set())

    thread = threading.Thread(target=count)
    thread.start()
    ran.set()
    f.gaussian_filter(x, 4)
    ran.clear()
    stop.set()
    thread.join()
    assert sum(steps) > 1000


def test_q1_integers_are_rounded_once():
    x = image((20, 30, 30), "u2")
    exact = nd.gaussian_filter(x.astype(float), 2)
    far = f.gaussian_filter(x, 2).astype(float) - exact
    assert abs(far.mean()) < 0.02
    assert abs(far).max() < 0.51
    assert abs((nd.gaussian_filter(x, 2) - exact).mean()) > 1


def test_q2_derivatives_do_not_wrap_around():
    assert f.sobel(np.array([10, 20, 5], np.uint8)).tolist() == [10.0, -5.0, -15.0]
    x = np.zeros((3, 3), np.uint8)
    x[1] = [10, 20, 5]
    assert f.sobel(x)[1].tolist() == [20.0, -10.0, -30.0]


def test_q3_means_do_not_depend_on_blocks(tmp_path):
    x = np.random.default_rng(7).normal(0, 1e6, (60, 20, 20))
    for size in (7, (31, 3, 3)):
        result, report = streamed(
            tmp_path / "out.npy", lambda a, size=size: f.uniform_filter(a, size), x, 150_000
        )
        assert report["blocks"] > 1
        assert np.array_equal(result, f.uniform_filter(x, size))


@pytest.mark.parametrize("name", ["minimum_filter", "maximum_filter", "median_filter"])
def test_q4_a_nan_is_seen_wherever_it_stands(name):
    for at in range(9):
        x = np.arange(9.0)
        x[at] = np.nan
        found = np.isnan(getattr(f, name)(x, 3))
        assert found.tolist() == [abs(i - at) <= 1 for i in range(9)]


@pytest.mark.parametrize("mode", ["reflect", "mirror", "nearest", "constant", "wrap"])
def test_q5_arrays_smaller_than_the_window(mode):
    for shape in [(1,), (2, 3), (1, 4, 2)]:
        x = image(shape, "f8")
        ours = f.gaussian_filter(x, 3, mode=mode, cval=2)
        np.testing.assert_allclose(ours, nd.gaussian_filter(x, 3, mode=mode, cval=2), rtol=1e-12)
        assert np.array_equal(f.maximum_filter(x, 9, mode=mode), nd.maximum_filter(x, 9, mode=mode))


BEYOND = {
    "maximum": lambda m, x, **to: m.maximum_filter(x, 801, **to),
    "minimum": lambda m, x, **to: m.minimum_filter(x, [5, 801, 6][: x.ndim], origin=-2, **to),
    "dilation": lambda m, x, **to: m.grey_dilation(x, 42, origin=20, **to),
    "gradient": lambda m, x, **to: m.morphological_gradient(x, 41, **to),
    "mean": lambda m, x, **to: m.uniform_filter(x, 25, **to),
    "gaussian": lambda m, x, **to: m.gaussian_filter(x, 5, **to),
}


@pytest.mark.parametrize("mode", ["reflect", "mirror", "nearest", "wrap", "constant"])
@pytest.mark.parametrize("name", BEYOND)
def test_windows_reach_far_beyond_small_arrays(name, mode):
    rng = np.random.default_rng(5)
    for shape in [(3, 20, 20), (7,), (1, 5), (2, 1, 3)]:
        x = rng.normal(size=shape)
        common = {"mode": mode, "cval": 0.3}
        want = BEYOND[name](nd, x, **common)
        np.testing.assert_allclose(BEYOND[name](f, x, **common), want, rtol=0, atol=1e-12)


def test_windows_of_every_reach_see_what_scipys_see():
    x = np.random.default_rng(6).permutation(9)[:5]
    for mode in ("reflect", "mirror", "nearest", "wrap", "constant"):
        for size in range(1, 30):
            for origin in range(-(size // 2), (size - 1) // 2 + 1):
                common = {"mode": mode, "cval": 4, "origin": origin}
                want = nd.minimum_filter1d(x, size, **common)
                assert np.array_equal(f.minimum_filter1d(x, size, **common), want), (size, common)


def test_small_arrays_of_many_axes_take_little_memory():
    for x in (np.random.default_rng(7).random((2,) * 7), np.zeros((1,) * 10)):
        found = f.gaussian_filter(x, 3, memory_limit="8MB")
        np.testing.assert_allclose(found, nd.gaussian_filter(x, 3), atol=1e-12)
        found = f.uniform_filter(x, 25, memory_limit="8MB")
        np.testing.assert_allclose(found, nd.uniform_filter(x, 25), atol=1e-12)
        assert np.array_equal(
            f.maximum_filter(x, 81, memory_limit="8MB"), np.full(x.shape, x.max())
        )
    x = np.random.default_rng(8).random((1, 2, 4, 8, 8))
    assert np.array_equal(f.maximum_filter(x, 65), np.full(x.shape, x.max()))


NARROW = {
    "gaussian": lambda x, **to: f.gaussian_filter(x, 2, **to),
    "derivative": lambda x, **to: f.gaussian_filter(x, 1, order=1, mode="constant", cval=3, **to),
    "laplace": lambda x, **to: f.gaussian_laplace(x, 2, mode="wrap", **to),
    "mean": lambda x, **to: f.uniform_filter(x, 5, mode="renormalize", **to),
    "deviation": lambda x, **to: f.std_filter(x, 5, mode="mirror", **to),
    "maximum": lambda x, **to: f.maximum_filter(x, 5, **to),
    "weights": lambda x, **to: f.correlate(
        x, np.arange(7.0 * x.ndim).reshape(7, *[1] * (x.ndim - 2), x.ndim), **to
    ),
    "clipped weights": lambda x, **to: f.correlate(
        x, np.ones((3,) * x.ndim), mode="renormalize", **to
    ),
    "points": lambda x, **to: f.minimum_filter(x, footprint=f.ball(2, x.ndim), mode="wrap", **to),
    "heights": lambda x, **to: f.grey_erosion(
        x, structure=np.arange(3.0**x.ndim).reshape((3,) * x.ndim), **to
    ),
}


@pytest.mark.parametrize("dtype", ["u1", "f4", "f8"])
@pytest.mark.parametrize("name", NARROW)
def test_short_rows_have_the_bits_of_long_ones(name, dtype):
    for shape in [(5000, 2), (700, 3, 2), (40, 50, 3), (1300, 1), (90, 2, 31)]:
        x = (np.random.default_rng(9).random(shape) * 200).astype(dtype)
        whole = NARROW[name](x)
        assert np.array_equal(NARROW[name](x, memory_limit="100kB"), whole), shape
        # Beside others, rows are long.
        wide = np.stack([x] * 70, axis=-1)
        axes = {"axes": range(x.ndim)}
        if name not in {"weights", "clipped weights", "points", "heights"}:
            assert np.array_equal(NARROW[name](wide, **axes)[..., 5], whole), shape


def test_q6_laplacians_of_unsigned_integers_have_signs():
    x = image((12, 13), "u4")
    ours = f.gaussian_laplace(x, 1.5)
    assert ours.min() < 0
    np.testing.assert_allclose(ours, nd.gaussian_laplace(x.astype(float), 1.5), atol=1e-9)
