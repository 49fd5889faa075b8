"""Statistics of windows: variance, entropy, Wiener, thresholds, bilateral means, against plain NumPy."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.ndimage as nd
import scipy.signal

from arrayloom import filters as f
from arrayloom import volumes as v

MODES = ["reflect", "mirror", "nearest", "constant", "wrap"]
CASES = [((150,), 4), ((9, 11), 3), ((5, 6, 7), (1, 2, 3)), ((2, 3, 4, 5), 2)]


def data(shape, dtype="f8", seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    if dtype == "?":
        return rng.random(shape) > 0.5
    return rng.normal(10, 3, shape).astype(dtype)


def windows(x, function, **kwargs):
    """`function` of the voxels of every window, in double precision."""
    return nd.generic_filter(x.astype(float), function, output=float, **kwargs)


def clipped(x, function, size):
    """`function` of the voxels of every window that exist."""
    sizes = (size,) * x.ndim if isinstance(size, int) else size
    out = np.empty(x.shape)
    for at in np.ndindex(x.shape):
        box = [slice(max(0, i - n // 2), i - n // 2 + n) for i, n in zip(at, sizes, strict=True)]
        out[at] = function(x[tuple(box)].astype(float).ravel())
    return out


def bits(values, low, high, bins):
    places = np.clip(np.floor((values - low) / (high - low) * bins), 0, bins - 1).astype(int)
    share = np.bincount(places) / len(values)
    share = share[share > 0]
    return -(share * np.log2(share)).sum()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "u4", "i8", "f4", "f8"])
def test_spreads_are_those_of_every_window(dtype, mode):
    for shape, size in CASES:
        x = data(shape, dtype)
        common = {"size": size, "mode": mode, "cval": 1}
        near = {"rtol": 1e-6, "atol": 1e-5}
        if dtype in {"u4", "i8", "f8"}:
            near = {"rtol": 1e-11, "atol": 1e-11}
        np.testing.assert_allclose(f.var_filter(x, **common), windows(x, np.var, **common), **near)
        ours = f.std_filter(x, **common)
        np.testing.assert_allclose(ours, windows(x, np.std, **common), **near)
        assert ours.dtype == (np.float64 if dtype in {"u4", "i8", "f8"} else np.float32)
        if dtype[0] == "f":
            theirs = windows(x, lambda w: np.std(w) / np.mean(w), **common)
            np.testing.assert_allclose(f.cv_filter(x, **common), theirs, **near)


def test_footprints_origins_axes_and_clipped_windows():
    x = data((9, 10, 8))
    mask = np.random.default_rng(3).random((3, 2, 4)) > 0.4
    common = {"footprint": mask, "origin": (1, 0, -1), "mode": "mirror"}
    np.testing.assert_allclose(f.std_filter(x, **common), windows(x, np.std, **common), rtol=1e-11)
    theirs = windows(x, np.std, size=(1, 3, 5))
    np.testing.assert_allclose(f.std_filter(x, (5, 3), axes=(2, 1)), theirs, rtol=1e-11)
    for name, function in [("var_filter", np.var), ("std_filter", np.std)]:
        ours = getattr(f, name)(x, (3, 4, 2), mode="renormalize")
        np.testing.assert_allclose(ours, clipped(x, function, (3, 4, 2)), rtol=1e-11)
    ours = f.entropy_filter(x, 3, mode="renormalize", range=(0, 20), bins=9)
    np.testing.assert_allclose(ours, clipped(x, lambda w: bits(w, 0, 20, 9), 3), atol=1e-6)


def exact_windows(x, size, mode, cval):
    """The voxels of every window as Python's whole numbers."""
    pad = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge"}.get(mode, mode)
    extra = {"constant_values": cval} if mode == "constant" else {}
    wide = np.pad(x.astype(object), [(n // 2, n - 1 - n // 2) for n in size], mode=pad, **extra)
    out = np.empty(x.shape, object)
    for at in np.ndindex(x.shape):
        out[at] = wide[tuple(slice(i, i + n) for i, n in zip(at, size, strict=True))].ravel()
    return out


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "?"])
def test_means_and_variances_of_small_integers_are_rounded_once(dtype, mode):
    rng = np.random.default_rng(3)
    info = (0, 1) if dtype == "?" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for size in [(2, 3), (4, 2), (3, 5), (1, 6), (13, 2)]:
        x = rng.integers(info[0], info[1], (9, 75), endpoint=True).astype(dtype)
        # Neighbours of a large value, whose variance is small.
        x[4:] = info[1] - rng.integers(0, 2, (5, 75)).astype(dtype)
        cval = min(200, info[1])
        common = {"size": size, "mode": mode, "cval": cval}
        windows = exact_windows(x, size, mode, int(cval)).ravel()
        points = size[0] * size[1]
        means = np.array([float(Fraction(int(w.sum()), points)) for w in windows])
        means = means.reshape(x.shape)
        found = f.uniform_filter(x, output="f8", **common)
        np.testing.assert_allclose(found, means, rtol=3e-16)
        if dtype != "?":
            rounded = [round(Fraction(int(w.sum()), points)) for w in windows]
            assert f.uniform_filter(x, **common).ravel().tolist() == rounded
        spread = [
            float(Fraction(int(points * (w * w).sum() - w.sum() ** 2), points**2)) for w in windows
        ]
        found = f.var_filter(x, output="f8", **common)
        np.testing.assert_allclose(found.ravel(), spread, rtol=1e-15)


@pytest.mark.parametrize("dtype", ["u4", "i4", "u8", "i8"])
def test_means_of_wide_integers_are_rounded_once(dtype):
    rng = np.random.default_rng(4)
    info = np.iinfo(dtype)
    for low, high in [(0, 99), (info.min, info.max), (info.max - 99, info.max)]:
        x = rng.integers(low, high, (7, 75), dtype, endpoint=True)
        for size in [(2, 3), (1, 6), (13, 2), (3, 5)]:
            windows = exact_windows(x, size, "mirror", 0).ravel()
            means = [Fraction(sum(map(int, w)), len(w)) for w in windows]
            found = f.uniform_filter(x, size, mode="mirror")
            assert found.ravel().tolist() == list(map(round, means)), (low, size)
            found = f.mean_filter(x, footprint=np.ones(size), mode="mirror")
            assert found.ravel().tolist() == list(map(round, means)), (low, size)
            found = f.uniform_filter(x, size, "f8", mode="mirror").ravel()
            np.testing.assert_allclose(found, np.array(means, float), rtol=3e-16)


def test_means_keep_the_lowest_bits_of_times():
    times = 1_700_000_000_000_000_000 + np.arange(9) * 10
    assert f.uniform_filter(times, 9)[4] - times[0] == 40
    assert f.mean_filter(times, footprint=np.ones(9))[4] - times[0] == 40
    assert f.uniform_filter(times, 9, mode="constant", cval=2.0)[4] - times[0] == 40


@pytest.mark.parametrize("mode", [*MODES, "renormalize"])
@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "i4", "u8"])
def test_means_over_footprints_are_rounded_once(dtype, mode):
    x = np.random.default_rng(5).integers(0, 2 if dtype == "?" else 100, (9, 33)).astype(dtype)
    mask = np.array([[0, 1, 1], [1, 0, 1], [0, 1, 1]], bool)
    outside = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap"}
    how = {"mode": outside[mode]} if mode in outside else {"constant_values": 7}
    padded = np.pad(x.astype("i8"), 1, **how)
    there = np.pad(np.ones(x.shape, bool), 1, constant_values=mode != "renormalize")
    found = f.mean_filter(x, footprint=mask, mode=mode, cval=7, output="i4")
    for at in np.ndindex(x.shape):
        box = tuple(slice(i, i + 3) for i in at)
        points = padded[box][mask & there[box]]
        assert found[at] == round(Fraction(int(points.sum()), len(points))), at


def test_exact_halves_go_to_the_even_neighbour():
    row = np.array([81, 67, 0, 39, 85, 55])
    for dtype in ("u1", "i2", "i4", "u8"):
        assert f.mean_filter(row.astype(dtype), footprint=np.ones(6))[3] == 54
        assert f.mean_filter(row.astype(dtype), 6)[3] == 54


def test_large_values_do_not_cancel():
    x = 1e9 + np.arange(27.0).reshape(3, 3, 3) % 2
    assert f.std_filter(x, 3)[1, 1, 1] == pytest.approx(0.499657, abs=1e-6)
    assert not f.var_filter(np.full((5, 5), 0.1), 3).any()
    assert f.cv_filter(np.zeros(5), 3).tolist() == [0] * 5


def test_a_nan_or_infinity_spoils_its_windows_and_no_others():
    for value in (np.nan, np.inf):
        x = data((12, 40), "f4")
        x[5, 17] = value
        near = np.zeros(x.shape, bool)
        near[4:7, 16:19] = True
        for result in (f.std_filter(x, 3), f.wiener_filter(x, 3, noise=1.0)):
            assert np.array_equal(np.isnan(result), near)
    x[5, 17] = np.nan
    ours = f.entropy_filter(x, 3, range=(0, 20))
    assert np.array_equal(np.isnan(ours), near)
    assert np.array_equal(np.isnan(f.bilateral_filter(x, 2.0, 1.0, 3)), near)
    with pytest.raises(ValueError, match="finite range"):
        f.entropy_filter(x, 3)


@pytest.mark.parametrize("mode", [*MODES, "renormalize"])
def test_what_lies_beside_the_points_of_a_footprint_does_not_matter(mode):
    ring = np.ones((3, 3), bool)
    ring[1, 1] = False
    shifted = {"footprint": np.array([[1, 1], [0, 1]], bool), "origin": (0, -1)}
    for strange in (np.nan, np.inf, -1e300):
        for common in ({"footprint": ring}, shifted):
            x = data((8, 9))
            plain = x.copy()
            x[4, 5], plain[4, 5] = strange, 0
            for name in ("var_filter", "std_filter", "cv_filter"):
                ours = getattr(f, name)(x, mode=mode, **common)
                assert ours[4, 5] == getattr(f, name)(plain, mode=mode, **common)[4, 5]
            # The estimate of a voxel looks at the voxel, unless everything is noise.
            ours = f.wiener_filter(x, noise=1e9, mode=mode, **common)
            theirs = f.wiener_filter(plain, noise=1e9, mode=mode, **common)
            assert ours[4, 5] == theirs[4, 5]
    assert f.var_filter(np.array([1, np.nan, 2.0]), footprint=[1, 0, 1])[1] == 0.25


@pytest.mark.parametrize("mode", MODES)
def test_entropies_are_those_of_every_window(mode):
    for dtype in ("u1", "f8"):
        x = data((9, 10), dtype)
        low, high = float(x.min()), float(x.max())
        common = {"size": (3, 4), "mode": mode, "cval": 3}
        for bins in (1, 7, 256):
            theirs = windows(x, lambda w, to=(low, high, bins): bits(w, *to), **common)
            ours = f.entropy_filter(x, bins=bins, **common)
            assert ours.dtype == np.float32
            np.testing.assert_allclose(ours, theirs, atol=1e-6)
    assert not f.entropy_filter(np.full((4, 4), 7), 3).any()


def test_wiener_is_scipys():
    for shape, size in CASES[:3]:
        x = data(shape)
        for noise in (None, 0.5, 9.0):
            odd = size if isinstance(size, int) and size % 2 else 3
            theirs = scipy.signal.wiener(x, odd, noise)
            ours = f.wiener_filter(x, odd, noise, mode="constant")
            np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    flat = np.full((4, 4), 5, np.uint8)
    assert np.array_equal(f.wiener_filter(flat), flat)


def test_thresholds_are_mean_and_deviation():
    for dtype, r in [("u1", 127.5), ("f8", 1.0)]:
        x = data((20, 21), dtype)
        m, s = (windows(x, g, size=5, mode="mirror") for g in (np.mean, np.std))
        np.testing.assert_allclose(f.threshold_niblack(x, 5, 0.3), m - 0.3 * s, rtol=2e-6)
        theirs = m * (1 + 0.3 * (s / r - 1))
        np.testing.assert_allclose(f.threshold_sauvola(x, 5, 0.3), theirs, rtol=2e-6)


@pytest.mark.parametrize("mode", ["reflect", "wrap"])
def test_bilateral_means_are_those_of_every_window(mode):
    x = data((8, 9, 7))
    grid = np.stack(np.meshgrid(*[np.arange(-1, 2)] * 3, indexing="ij"))
    place = np.exp(-0.5 * ((grid[0] / 2) ** 2 + grid[1] ** 2 + grid[2] ** 2)).ravel()

    def mean(w):
        weights = place * np.exp(-0.5 * ((w - w[13]) / 1.5) ** 2)
        return (weights * w).sum() / weights.sum()

    ours = f.bilateral_filter(x, 1.5, (2, 1, 1), 3, mode=mode)
    np.testing.assert_allclose(ours, windows(x, mean, size=3, mode=mode), rtol=1e-11)
    assert f.bilateral_filter(x, 1e9, 0.5).shape == x.shape


@pytest.mark.parametrize("dtype", ["f4", "u2"])
@pytest.mark.parametrize("limit", ["140KiB", "170KiB"])
def test_blocks_do_not_change_a_bit(tmp_path, limit, dtype):
    x = data((30, 32, 40), dtype)
    np.save(tmp_path / "in.npy", x)
    source = v.open(tmp_path / "in.npy")
    for name, kwargs in [
        ("std_filter", {"size": 3}),
        ("uniform_filter", {"size": 4, "mode": "constant", "cval": 7}),
        ("cv_filter", {"size": 3, "mode": "renormalize"}),
        ("entropy_filter", {"size": 3}),
        ("wiener_filter", {"size": 3}),
        ("threshold_sauvola", {"window_size": 3}),
        ("bilateral_filter", {"sigma_color": 2.0, "size": 3}),
    ]:
        function = getattr(f, name)
        expr = function(source, memory_limit=limit, **kwargs)
        report = v.save(tmp_path / "out.npy", expr, memory_limit=limit)
        assert report["blocks"] > 1
        assert np.array_equal(np.load(tmp_path / "out.npy"), function(x, **kwargs)), name


def test_a_budget_for_few_voxels_is_enough_for_wrapped_windows():
    x = data((9, 17, 17, 17), "u4")
    part = f.std_filter(x, 5, mode="wrap", memory_limit="64KiB")
    assert np.array_equal(part, f.std_filter(x, 5, mode="wrap"))


def test_errors_say_what_is_wrong():
    x = np.zeros((4, 4))
    for call, text in [
        (lambda: f.entropy_filter(x, 3, bins=0), "at least one bin"),
        (lambda: f.entropy_filter(x, 3, range=(2, 1)), "rising range"),
        (lambda: f.bilateral_filter(x, 0.0), "positive sigma"),
        (lambda: f.bilateral_filter(x, 1.0, 0.0), "positive"),
        (lambda: f.threshold_sauvola(x, r=0.0), "range r"),
        (lambda: f.std_filter(x * 1j, 3), "complex"),
    ]:
        with pytest.raises((ValueError, TypeError), match=text):
            call()
