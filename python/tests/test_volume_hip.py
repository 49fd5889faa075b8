"""HIP's operations against its definitions, voxel by voxel in plain NumPy."""

import numpy as np
import pytest

from arrayloom import volumes as v
from arrayloom.compat import hip


def image(dtype="u1", shape=(5, 6, 7), seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 200, shape).astype(dtype)
    return rng.normal(50, 20, shape).astype(dtype)


def windows(x, kernel, function):
    """`function(voxels, weights)` of the clipped window of every voxel, for weights that are not 0."""
    kernel = np.asarray(kernel, float)
    out = np.empty(x.shape)
    for at in np.ndindex(x.shape):
        voxels, weights = [], []
        for tap in np.ndindex(kernel.shape):
            place = [i + t - n // 2 for i, t, n in zip(at, tap, kernel.shape, strict=True)]
            inside = all(0 <= p < n for p, n in zip(place, x.shape, strict=True))
            if inside and kernel[tap] != 0:
                voxels.append(float(x[tuple(place)]))
                weights.append(kernel[tap])
        out[at] = function(np.array(voxels), np.array(weights))
    return out


def stored(values, dtype):
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return values.astype(kind)
    info = np.iinfo(kind)
    return np.clip(np.trunc(values * (1 + 1e-9)), info.min, info.max).astype(kind)


KERNELS = [
    np.ones((3, 3, 3)),
    np.ones((1, 2, 4)),
    np.random.default_rng(1).random((3, 3, 3)) > 0.5,
]

DEFINITIONS = [
    ("MeanFilter", lambda x, w: (x * w).sum() / len(x)),
    ("MultiplySum", lambda x, w: (x * w).sum() / w.sum()),
    ("StdFilter", lambda x, w: np.std(x)),
    ("VarFilter", lambda x, w: np.var(x)),
    ("MedianFilter", lambda x, w: np.sort(x)[len(x) // 2]),
    ("MinFilter", lambda x, w: (x * w).min()),
    ("MaxFilter", lambda x, w: (x * w).max()),
]


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8"])
@pytest.mark.parametrize(("name", "function"), DEFINITIONS)
def test_windows_are_hips(name, function, dtype):
    x = image(dtype)
    for kernel in KERNELS:
        ours = getattr(hip, name)(x, kernel)
        theirs = stored(windows(x, kernel, function), dtype)
        assert ours.dtype == x.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-6 if dtype == "f4" else 1e-11)


@pytest.mark.parametrize(
    "name", ["MeanFilter", "MultiplySum", "MinFilter", "MaxFilter", "Closure", "Opener"]
)
def test_weights_multiply(name):
    x = image("f8", (6, 7))
    kernel = np.array([[1.0, 2.0, 0.0], [0.5, 3.0, 1.0], [0.0, 1.0, 2.0]])
    if name in {"Closure", "Opener"}:
        steps = [max, min] if name == "Closure" else [min, max]
        theirs = x
        for step in steps:
            theirs = windows(theirs, kernel, lambda a, w, step=step: step(a * w))
    else:
        theirs = windows(x, kernel, dict(DEFINITIONS)[name])
    np.testing.assert_allclose(getattr(hip, name)(x, kernel), theirs, rtol=1e-11)


def gauss(n, sigma, taps):
    reach = max(1, int(taps * sigma)) // 2
    at = np.arange(-reach, reach + 1)
    return np.exp(-0.5 * (at / sigma) ** 2)


def test_gaussians_are_cut_at_two_and_a_half_sigmas_and_x_is_last():
    x = image("f8", (9, 10, 11))
    theirs = x
    for axis, sigma in [(2, 1.5), (1, 0.8)]:
        taps = gauss(x.shape[axis], sigma, 5)
        kernel = taps.reshape([-1 if d == axis else 1 for d in range(3)])
        theirs = windows(theirs, kernel, lambda a, w: (a * w).sum() / w.sum())
    ours = hip.Gaussian(x, [1.5, 0.8, 0])
    np.testing.assert_allclose(ours, theirs, rtol=1e-11)
    np.testing.assert_allclose(hip.HighPassFilter(x, [1.5, 0.8, 0]), np.maximum(x - theirs, 0))
    twice = hip.Gaussian(hip.Gaussian(x, [1, 1, 1]), [1, 1, 1])
    np.testing.assert_allclose(hip.Gaussian(x, [1, 1, 1], 2), twice, rtol=1e-11)
    flat = np.full((6, 7, 8), 10, np.uint8)
    assert np.array_equal(hip.Gaussian(flat, [2, 2, 2]), flat)


def test_laplacians_of_constants_are_zero_and_scaled():
    flat = np.full((12, 13), 9, np.uint16)
    assert np.abs(hip.LoG(flat, [2, 1, 0])).max() < 1e-4
    assert hip.LoG(flat, [2, 1, 0]).dtype == np.float32
    line = np.zeros(81)
    line[40] = 1
    at = np.arange(-15, 16)
    taps = np.exp(-0.5 * (at / 3) ** 2)
    taps /= taps.sum()
    taps *= (at / 3) ** 2 - 1
    theirs = np.convolve(line, taps, mode="same")
    np.testing.assert_allclose(hip.LoG(line, [3, 0, 0])[20:61], theirs[20:61], atol=1e-4)
    x = image("f8", (40,))
    taps -= taps.mean()
    theirs = windows(x, taps, lambda a, w: ((w - w.mean()) * a).sum())
    np.testing.assert_allclose(hip.LoG(x, [3, 0, 0]), theirs, atol=1e-4)


def test_channels_and_times_are_not_mixed():
    x = image("u1", (2, 3, 4, 5, 6))
    kernel = np.ones((3, 3, 3))
    for name in ("MeanFilter", "MaxFilter", "StdFilter", "MedianFilter"):
        run = getattr(hip, name)
        parts = np.stack([[run(c, kernel) for c in t] for t in x])
        assert np.array_equal(run(x, kernel), parts), name
    assert np.array_equal(hip.Gaussian(x, [1, 2, 1])[1, 2], hip.Gaussian(x[1, 2], [1, 2, 1]))


def test_iterations_repeat_the_operation():
    x = image("u1")
    kernel = np.ones((3, 3, 3))
    for name in ("MeanFilter", "MultiplySum", "MedianFilter", "MinFilter", "MaxFilter"):
        run = getattr(hip, name)
        assert np.array_equal(run(x, kernel, 2), run(run(x, kernel), kernel)), name
    opened = hip.MaxFilter(hip.MinFilter(x, kernel, 2), kernel, 2)
    assert np.array_equal(hip.opener(x, kernel, 2), opened)
    assert np.array_equal(hip.closure(x, kernel), hip.MinFilter(hip.MaxFilter(x, kernel), kernel))


def test_entropy_and_wiener_are_hips():
    x = image("u1", (8, 9))
    kernel = np.ones((3, 3))

    def entropy(a, w):
        low, high = float(x.min()), float(x.max())
        share = np.bincount(np.clip((a - low) / (high - low) * 256, 0, 255).astype(int)) / len(a)
        return -(share[share > 0] * np.log2(share[share > 0])).sum()

    ours = hip.EntropyFilter(x, kernel)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, windows(x, kernel, entropy), atol=1e-6)
    y = image("f8", (8, 9)) / 100
    mean = windows(y, kernel, lambda a, w: a.mean())
    var = windows(y, kernel, lambda a, w: a.var())
    for given in (0.02, -1.0):
        noise = var.mean() * y.max() ** 2 if given == -1 else given
        theirs = mean + np.maximum(0, var - noise) / var * (y - mean)
        np.testing.assert_allclose(hip.WienerFilter(y, kernel, given), theirs, rtol=1e-9)
    flat = np.full((4, 4), 3, np.uint8)
    assert np.array_equal(hip.WienerFilter(flat, kernel), flat)


def test_known_defects_are_not_there():
    assert np.array_equal(
        hip.MeanFilter(np.full((5, 5, 3), 10, np.uint8), np.ones((4, 4, 1))),
        np.full((5, 5, 3), 10),
    )
    large = 1e9 + np.arange(27.0).reshape(3, 3, 3) % 2
    assert hip.StdFilter(large, np.ones((3, 3, 3)))[1, 1, 1] == pytest.approx(0.499657, abs=1e-6)
    edges = hip.MultiplySum(np.full((5, 5), 7.0), [[0, 1, 0], [1, -4, 1], [0, 1, 0]])
    np.testing.assert_allclose(edges, 0, atol=1e-13)
    top = np.array([2**64 - 1, 0, 2**64 - 1], np.uint64)
    assert hip.MeanFilter(top, [0, 1, 0]).tolist() == top.tolist()
    assert hip.ElementWiseDifference(np.array([-100], "i1"), np.array([100], "i1")).tolist() == [
        -128
    ]
    assert hip.Sum(image()) == int(image().astype(int).sum())
    assert hip.GetMinMax(image()) == (image().min(), image().max())


def test_blocks_do_not_change_a_bit(tmp_path):
    x = image("u2", (60, 30, 32))
    np.save(tmp_path / "in.npy", x)
    source = v.open(tmp_path / "in.npy")
    kernel = np.ones((3, 3, 3))
    for name, arguments in [
        ("Gaussian", ([2, 1, 1],)),
        ("LoG", ([1, 1, 1],)),
        ("MeanFilter", (kernel, 2)),
        ("StdFilter", (kernel,)),
        ("Closure", (kernel,)),
        ("EntropyFilter", (kernel,)),
        ("WienerFilter", (kernel, 100.0)),
    ]:
        run = getattr(hip, name)
        report = v.save(tmp_path / "out.npy", run(source, *arguments), memory_limit="200KiB")
        assert report["blocks"] > 1
        assert np.array_equal(np.load(tmp_path / "out.npy"), run(x, *arguments)), name


def test_errors_say_what_is_wrong():
    x = image()
    for call, text in [
        (lambda: hip.MeanFilter(x, np.ones((2, 2, 2, 2))), "spatial axes"),
        (lambda: hip.MeanFilter(x, np.zeros((3, 3, 3))), "not zero"),
        (lambda: hip.StdFilter(x, np.full((3, 3, 3), 2)), "0 and 1"),
        (lambda: hip.Gaussian(x, [1, 1]), "sigmas"),
        (lambda: hip.Gaussian(x, [1, 1, 1], 0), "iterations"),
        (lambda: hip.Gaussian(np.ones((1,) * 6), [1, 1, 1]), "at most 5"),
    ]:
        with pytest.raises(ValueError, match=text):
            call()


OPERATIONS = {
    "Gaussian": ([1, 1, 1],),
    "HighPassFilter": ([1, 1, 1],),
    "LoG": ([1, 1, 1],),
    "NLMeans": (0.5, 1, 1),
    **dict.fromkeys(
        ("MeanFilter", "MultiplySum", "StdFilter", "VarFilter", "MedianFilter", "MinFilter", "MaxFilter", "Closure",
         "Opener", "EntropyFilter", "WienerFilter"),
        (np.ones((3, 3, 3)),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
def test_complex_images_and_kernels_are_refused(name):
    call, words = getattr(hip, name), OPERATIONS[name]
    for x in (image("c8"), v.open(image("c16"))):
        with pytest.raises(TypeError, match="real and its imaginary part"):
            call(x, *words)
    if isinstance(words[0], np.ndarray):
        with pytest.raises(TypeError, match="kernel of complex numbers"):
            call(image("f4"), words[0] * 1j)


@pytest.mark.parametrize("sigmas", [[1], [1, 1], [1, 1, 1, 1], [1, 1, -1], []])
@pytest.mark.parametrize("operation", [hip.Gaussian, hip.HighPassFilter, hip.LoG])
def test_sigmas_that_are_not_x_y_and_z_are_told(operation, sigmas):
    with pytest.raises(ValueError, match=r"sigmas .* for 3 spatial axes; give one for each"):
        operation(image(), sigmas)
