"""Values of results: rounding, saturation, exact sums, results over their inputs, and equal bits in random cases."""

import numpy as np
import pytest
import scipy.ndimage as nd

from arrayloom import filters as f
from arrayloom import volumes as v
from arrayloom._volumes.journal import fingerprint
from arrayloom.errors import BudgetError

RUNS = {
    "median": lambda x, **to: f.median_filter(x, 1, **to),
    "maximum": lambda x, **to: f.maximum_filter(x, 1, **to),
    "gaussian": lambda x, **to: f.gaussian_filter(x, 0, **to),
    "unsharp": lambda x, **to: f.unsharp_mask(x, 0, **to),
    "erosion": lambda x, **to: f.grey_erosion(x, 1, **to),
}


@pytest.mark.parametrize("name", RUNS)
def test_outputs_of_integers_are_rounded_half_to_even_and_saturate(name):
    x = np.array([300.0, -5.0, 2.5, 3.5, np.nan, np.inf])
    assert RUNS[name](x, output=np.uint8)[:4].tolist() == [255, 0, 2, 4]
    assert RUNS[name](x[:4], output=np.int64).tolist() == [300, -5, 2, 4]
    wide = np.array([2**63 - 1, -(2**63), 2**40 + 1])
    if name not in {"unsharp", "gaussian"}:
        assert RUNS[name](wide, output=np.int16).tolist() == [32767, -32768, 32767]
        assert RUNS[name](wide, output=np.uint64).tolist() == [2**63 - 1, 0, 2**40 + 1]


SPOILED = {
    "sobel": lambda m, x, **to: m.sobel(x, **to),
    "derivative": lambda m, x, **to: m.gaussian_filter(x, 1, order=1, **to),
    "second derivative": lambda m, x, **to: m.gaussian_filter(x, 1, order=2, **to),
    "gradient": lambda m, x, **to: m.gaussian_gradient_magnitude(x, 1, **to),
    "odd": lambda m, x, **to: m.correlate1d(x, [-2.0, 0.0, 2.0], **to),
    "one side": lambda m, x, **to: m.correlate1d(x, [1.0, 0.0, 0.0], **to),
    "nothing": lambda m, x, **to: m.correlate1d(x, [0.0, 0.0, 0.0], **to),
    "laplace": lambda m, x, **to: m.laplace(x, **to),
    "points": lambda m, x, **to: m.correlate(x, np.diag([1.0, 0.0, -1.0]), **to),
}


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", SPOILED)
def test_what_is_no_number_spoils_the_windows_that_it_spoils_in_scipy(name, value):
    for shape, mode in [((13, 15), "reflect"), ((13, 15), "constant"), ((40, 3), "mirror")]:
        x = np.random.default_rng(6).normal(size=shape)
        x[7, 1] = x[0, 0] = value
        x[5] = 0
        with np.errstate(all="ignore"):
            want = SPOILED[name](nd, x, mode=mode)
        found = SPOILED[name](f, x, mode=mode)
        assert np.array_equal(np.isnan(found), np.isnan(want)), (shape, mode)
        inside = np.isfinite(want)
        np.testing.assert_allclose(found[inside], want[inside], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("cval", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("weights", [[-1, 0, 1], [1, 2, 1], [0, 1, 0], [0, 0, 2, 1, -3]])
def test_constants_that_are_no_numbers_do_not_cancel(weights, cval):
    for shape, axis in [((1, 4), 0), ((4, 3), 0), ((4, 3), 1), ((6,), 0)]:
        x = np.random.default_rng(7).normal(size=shape)
        common = {"axis": axis, "mode": "constant", "cval": cval}
        want = nd.correlate1d(x, weights, **common)
        np.testing.assert_allclose(f.correlate1d(x, weights, **common), want, rtol=1e-12)
    want = nd.sobel(np.ones((1, 5)), 0, mode="constant", cval=cval)
    assert np.array_equal(f.sobel(np.ones((1, 5)), 0, mode="constant", cval=cval), want, True)


def test_outputs_of_floats_that_no_integer_holds():
    x = np.array([np.nan, np.inf, -np.inf, 1e30])
    assert f.maximum_filter(x, 1, output=np.int64).tolist() == [0, 2**63 - 1, -(2**63), 2**63 - 1]
    assert f.maximum_filter(x[:3].astype("f2"), 1, output="u2").tolist() == [0, 65535, 0]


BOXES = {
    "minimum": lambda m, x, **to: m.minimum_filter(x, 3, **to),
    "maximum": lambda m, x, **to: m.maximum_filter(x, 9, **to),
    "erosion": lambda m, x, **to: m.grey_erosion(x, 5, **to),
    "dilation": lambda m, x, **to: m.grey_dilation(x, 3, **to),
    "gradient": lambda m, x, **to: m.morphological_gradient(x, 3, **to),
}


@pytest.mark.parametrize("dtype", ["u1", "i2", "u4", "f4", "f8"])
@pytest.mark.parametrize("shape", [(40, 90), (70, 64), (3, 20, 70)])
def test_each_axis_has_its_own_mode(shape, dtype):
    """Rows of 64 voxels and more are joined along themselves first; what lies beyond them is not what lies above."""
    random = np.random.default_rng(8)
    x = random.integers(20, 120, shape).astype(dtype)
    kinds = ["reflect", "constant", "nearest", "mirror", "wrap"]
    for last in kinds:
        for before in kinds:
            to = {"mode": [*random.choice(kinds, len(shape) - 2), before, last], "cval": 7}
            for name, run in BOXES.items():
                assert np.array_equal(run(f, x, **to), run(nd, x, **to)), (name, to)
            mean = nd.uniform_filter(x.astype("f8"), 3, **to)
            if dtype == "u1":
                assert np.array_equal(f.uniform_filter(x, 3, **to), np.rint(mean)), to


SQUARES = [(3, 3), (1, 3, 3), (3, 1, 3), (5, 5), (1, 5, 5), (5, 1, 5)]


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i4", "u8", "f2", "f4", "f8"])
@pytest.mark.parametrize("size", SQUARES)
def test_medians_of_squares(size, dtype):
    """Rows of a vector and more have a way of their own, some windows at a time; a NaN is every median's that sees it."""
    random = np.random.default_rng(9)
    shape = {2: (37, 131), 3: (6, 11, 70)}[len(size)]
    for mode in ["reflect", "constant", "wrap"]:
        x = random.integers(0, 100, shape).astype(dtype)
        wide = x.astype("f8")
        assert np.array_equal(
            f.median_filter(x, size, mode=mode), nd.median_filter(wide, size, mode=mode)
        ), mode
    gap = np.zeros((4, 3), bool)
    gap[[0, 1, 3]] = True
    if len(size) == 2:
        assert np.array_equal(
            f.median_filter(x, footprint=gap), nd.median_filter(wide, footprint=gap)
        )
    if np.dtype(dtype).kind == "f":
        x[random.random(shape) < 0.02] = np.nan
        padded = np.pad(x, [(n // 2, n // 2) for n in size], "symmetric")
        windows = np.lib.stride_tricks.sliding_window_view(padded, size)
        wanted = np.median(windows, axis=tuple(range(-len(size), 0)))
        assert np.array_equal(f.median_filter(x, size), wanted, equal_nan=True)


IN_DOUBLES = {
    "gaussian": lambda m, x, **to: m.gaussian_filter(x, 1.3, mode="mirror", **to),
    "gaussian1d": lambda m, x, **to: m.gaussian_filter1d(x, 2, order=1, **to),
    "gaussian_laplace": lambda m, x, **to: m.gaussian_laplace(x, 1, **to),
    "gradient": lambda m, x, **to: m.gaussian_gradient_magnitude(x, 1, **to),
    "uniform": lambda m, x, **to: m.uniform_filter(x, (3, 4), **to),
    "correlate": lambda m, x, **to: m.correlate(x, [[0.3, -1.1], [7.0, 0.1]], **to),
    "convolve1d": lambda m, x, **to: m.convolve1d(x, [0.3, -1.1, 0.7], **to),
    "sobel": lambda m, x, **to: m.sobel(x, 0, **to),
    "prewitt": lambda m, x, **to: m.prewitt(x, mode="wrap", **to),
    "laplace": lambda m, x, **to: m.laplace(x, **to),
}


@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "e", "f"])
@pytest.mark.parametrize("name", IN_DOUBLES)
def test_outputs_of_doubles_have_their_precision(name, dtype):
    x = np.random.default_rng(3).integers(0, 200, (13, 17)).astype(dtype)
    if x.dtype.kind == "f":
        x = x / x.dtype.type(7)
    source = x.astype("f") if dtype == "e" else x  # SciPy has no filters of halves.
    want = IN_DOUBLES[name](nd, source, output=np.float64)
    found = IN_DOUBLES[name](f, x, output=np.float64)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-12 * np.abs(want).max())
    place = np.empty(x.shape)
    assert IN_DOUBLES[name](f, x, output=place) is place
    assert np.array_equal(place, found)


@pytest.mark.parametrize("dtype", ["?", "u1", "i2"])
def test_means_of_integers_as_doubles_have_their_precision(dtype):
    x = np.random.default_rng(3).integers(0, 200, (30, 40)).astype(dtype)
    for border in ({"mode": "renormalize"}, {"cval": 2.5, "mode": "constant"}):
        for mean in (
            lambda x, **to: f.uniform_filter(x, (3, 5), **to),
            lambda x, **to: f.mean_filter(x, footprint=np.ones((3, 5)), **to),
        ):
            found = mean(x, output="f8", **border)
            np.testing.assert_allclose(found, mean(x.astype("f8"), **border), rtol=1e-14)
    found = f.uniform_filter(x, (3, 5), "f8", mode="constant", cval=7)
    want = nd.uniform_filter(x.astype("f8"), (3, 5), mode="constant", cval=7)
    np.testing.assert_allclose(found, want, rtol=1e-13)


@pytest.mark.parametrize("sigma", [np.nan, np.inf, -np.inf])
def test_sigmas_that_are_no_numbers_are_refused(sigma):
    x = np.ones((5, 5))
    for smooth in (f.gaussian_filter, f.gaussian_laplace, f.gaussian_gradient_magnitude):
        for given in (sigma, (1.0, sigma)):
            with pytest.raises(ValueError, match="sigma"):
                smooth(x, given)
    with pytest.raises(ValueError, match="sigma"):
        f.gaussian_filter1d(x, sigma)


@pytest.mark.parametrize("dtype", ["i2", "f", "d", "F", "D"])
@pytest.mark.parametrize("name", IN_DOUBLES)
def test_complex_outputs_are_what_was_asked_for(name, dtype):
    rng = np.random.default_rng(4)
    x = rng.integers(-99, 99, (13, 17)) * 0.37
    x = (x + 1j * rng.random(x.shape) if dtype in "FD" else x).astype(dtype)
    want = IN_DOUBLES[name](nd, x, output=np.complex128 if dtype in "FD" else np.float64)
    for output in (np.complex64, "c16", np.empty(x.shape, "c16")):
        found = IN_DOUBLES[name](f, x, output=output)
        kind = output.dtype if isinstance(output, np.ndarray) else np.dtype(output)
        assert found.dtype == kind
        near = 1e-12 if kind == np.complex128 else 1e-6
        np.testing.assert_allclose(found, want, rtol=0, atol=near * np.abs(want).max())
    for output in ("f4", np.empty(x.shape)) if dtype in "FD" else ():
        with pytest.raises(RuntimeError, match="complex dtype"):
            IN_DOUBLES[name](f, x, output=output)


def test_an_infinite_imaginary_part_leaves_the_real_one_alone():
    x = np.ones((9, 9), "F")
    x[4, 4] = complex(1, np.inf)
    assert np.isfinite(f.gaussian_filter(x, 1).real).all()


def test_volumes_take_dtypes_for_outputs_only():
    x = np.ones((5, 5), "f")
    assert f.gaussian_filter(v.open(x), 1, output="d").dtype == np.float64
    with pytest.raises(TypeError, match="save the result to the array"):
        f.gaussian_filter(v.open(x), 1, output=np.empty((5, 5)))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (np.uint8([3, 200]), np.uint8([5, 1]), [0, 199]),
        (np.int64([2**62, -(2**62)]), np.float64([-(2.0**62), 2.0**62]), [2**63 - 1, -(2**63)]),
        (np.int64([2**53 + 1]), np.int8([-2]), [2**53 + 3]),
        (np.int64([2**53 + 1, 5]), np.uint64([2, 2**64 - 1]), [2**53 - 1, -(2**63)]),
        (np.uint64([2**64 - 1, 1]), np.int64([-1, 2]), [2**64 - 1, 0]),
        (np.array([True, False, True]), np.array([False, True, True]), [True, False, False]),
        (np.float32([1.5]), np.uint8([2]), [-0.5]),
    ],
)
def test_differences_saturate(a, b, expected):
    found = f.difference(a, b)
    assert found.dtype == a.dtype
    assert found.tolist() == expected


def test_differences_of_morphology_saturate():
    x = np.array([-128, 127], np.int8)
    assert f.morphological_gradient(x, 3).tolist() == [127, 127]
    raised = f.white_tophat(np.array([0, 5, 0], np.uint8), structure=[3, 3, 3])
    assert raised.tolist() == [0, 5, 0]


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i4"])
def test_integers_are_rounded_once_behind_all_steps_with_heights(dtype):
    info = np.iinfo(dtype)
    random = np.random.default_rng(5)
    x = np.array([info.min, info.min + 1, info.max, info.max - 1, 7, 3], dtype)
    x = np.concatenate([x, random.integers(info.min, info.max, 40, dtype, endpoint=True)])
    heights = [2.0, 3.0, 1.5]
    wide = x.astype("f8")
    for name in ("grey_opening", "grey_closing", "white_tophat", "black_tophat"):
        exact = getattr(f, name)(wide, structure=heights)
        found = getattr(f, name)(x, structure=heights)
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found, np.clip(np.rint(exact), info.min, info.max), name)
    assert np.all(f.grey_opening(x, structure=[3.0, 3.0]) <= x)
    assert np.all(f.grey_closing(x, structure=[3.0, 3.0]) >= x)
    gradient = f.morphological_gradient(np.zeros(4, dtype), structure=[2, 2, 2])
    assert gradient.tolist() == [4, 4, 4, 4]


def test_lengths_of_gradients_fit_half_precision():
    step = np.array([0, 0, 1000, 1000], "f2")
    found = f.gaussian_gradient_magnitude(step, 1)
    assert found.dtype == step.dtype
    np.testing.assert_allclose(found, f.gaussian_gradient_magnitude(step.astype("f4"), 1), 1e-3)


@pytest.mark.parametrize(
    "name", ["gaussian_filter", "minimum_filter", "median_filter", "std_filter"]
)
def test_results_may_lie_over_their_input(name):
    x = np.random.default_rng(3).normal(size=(40, 30))
    expected = getattr(f, name)(x, 3)
    for make in (lambda y: y, lambda y: y[::-1], lambda y: y.T):
        y = x.copy()
        source = make(y)
        result = getattr(f, name)(source, 3, output=source)
        assert result is source
        assert np.array_equal(result, getattr(f, name)(make(x), 3))
    halves = np.concatenate([x, x])
    getattr(f, name)(halves[:40], 3, output=halves[20:60])
    assert np.array_equal(halves[20:60], expected)


def test_sums_are_exact():
    rng = np.random.default_rng(4)
    x = rng.normal(size=200_001) * 10.0 ** rng.integers(-30, 30, 200_001)
    both = np.concatenate([x, -x, [2.0**-1074, 1.0]])
    assert v.sum(rng.permutation(both), memory_limit="64KiB") == 1.0
    assert v.sum(np.array([1 + 2j, 3])) == 4 + 2j
    assert v.sum(np.array([1e308, 1e308])) == np.inf
    assert v.sum(np.array([1e308, 1e308, -1e308])) == 1e308
    assert np.isnan(v.sum(np.array([np.inf, -np.inf])))
    assert v.sum(np.full(3, 2**64 - 1, np.uint64)) == 3 * (2**64 - 1)
    assert v.sum(np.full(3, -(2**63))) == -3 * 2**63


def test_thresholds_of_one_value_and_histograms_of_none():
    assert v.otsu(np.full(5, 3)) == 3.0
    assert v.histogram(np.empty(0), 3)[0].tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="has no voxels"):
        v.otsu(np.empty(0))


def test_limits_and_inputs_that_mean_nothing_are_refused():
    with pytest.raises(ValueError, match="give a positive number"):
        f.gaussian_filter(np.ones(3), 1, memory_limit=-5)
    with pytest.raises(TypeError, match="filter their parts"):
        f.entropy_filter(np.ones(3) * 1j, 3)


def test_expressions_may_be_deep_and_share_their_parts(tmp_path):
    source = v.open(np.ones((4, 5)))
    shared, deep = source, source
    for _ in range(60):
        shared = shared * 0.5 + shared * 0.5
    for _ in range(1500):
        deep = deep + 1
    v.save(tmp_path / "out.npy", shared + deep)
    assert np.array_equal(np.load(tmp_path / "out.npy"), np.full((4, 5), 1502.0))
    other = v.open(np.zeros((4, 5)))
    both = source - other
    assert fingerprint(both - source) != fingerprint(both - other)


def _random_filter(rng, rank):
    """A filter of `rank` axes with random parameters."""
    size = [int(n) for n in rng.integers(1, 4 if rank > 3 else 6, rank)]
    origin = [int(rng.integers(-(n // 2), (n - 1) // 2 + 1)) for n in size]
    points = rng.random(size) < 0.6
    points.flat[0] = True
    sigma = rng.uniform(0.3, 1.2, rank).tolist()
    modes = ["reflect", "mirror", "nearest", "constant", "wrap", "renormalize"]
    mode = str(rng.choice(modes)) if rng.random() < 0.7 else rng.choice(modes, rank).tolist()
    at = {"mode": mode, "cval": float(rng.integers(0, 3))}
    lying = {**at, "origin": origin}
    makers = [
        lambda x: f.gaussian_filter(x, sigma, **at),
        lambda x: f.gaussian_laplace(x, sigma, **at),
        lambda x: f.uniform_filter(x, size, **lying),
        lambda x: f.correlate(x, points - 0.3, **lying),
        lambda x: f.minimum_filter(x, size, **lying),
        lambda x: f.maximum_filter(x, footprint=points, **lying),
        lambda x: f.median_filter(x, footprint=points, **lying),
        lambda x: f.percentile_filter(x, 30, size, **lying),
        lambda x: f.grey_closing(x, size, iterations=2, **at),
        lambda x: f.black_tophat(x, footprint=points, **at),
        lambda x: f.std_filter(x, footprint=points, **lying),
        lambda x: f.var_filter(x, size, **lying),
        lambda x: f.entropy_filter(x, size, **lying),
        lambda x: f.wiener_filter(x, size, **lying),
        lambda x: f.bilateral_filter(x, 20.0, 1.0, [min(n, 3) for n in size], **at),
        lambda x: f.nl_means(x, 30.0, 1, 1, **at),
        lambda x: f.anisotropic_diffusion(x, 2, **at),
        lambda x: f.threshold_sauvola(x, size, **at),
        lambda x: f.sobel(x, rank - 1, **at),
        lambda x: f.laplace(x, **at),
        lambda x: f.median_filter(f.gaussian_filter(x, sigma, **at), size, **at) - x,
    ]
    return makers[int(rng.integers(len(makers)))]


@pytest.mark.parametrize("first", range(0, 320, 40))
def test_random_filters_in_blocks_have_the_bits_of_the_whole(tmp_path, first):
    blocks = 0
    for seed in range(first, first + 40):
        rng = np.random.default_rng(seed)
        rank = int(rng.integers(1, 6))
        most = {1: 9000, 2: 130, 3: 30, 4: 13, 5: 8}[rank]
        shape = [1 if rng.random() < 0.1 else int(n) for n in rng.integers(1, most, rank)]
        x = rng.normal(20, 15, shape)
        x = x.astype(rng.choice(["u1", "i1", "u2", "i2", "u4", "i8", "f2", "f4", "f8"]))
        run = _random_filter(rng, rank)
        expected = run(x)
        limit = int(2 ** rng.uniform(12, 19))
        try:
            report = v.save(tmp_path / "out.npy", run(v.open(x)), memory_limit=limit)
        except BudgetError:
            continue
        found = np.load(tmp_path / "out.npy")
        assert found.dtype == expected.dtype, seed
        assert np.array_equal(found, expected, equal_nan=found.dtype.kind == "f"), seed
        assert report["peak"] <= limit, seed
        blocks += report["blocks"]
    assert blocks > 40


def test_integers_beyond_doubles_are_compared_exactly():
    x = 2**60 + np.random.default_rng(5).integers(0, 9, (20, 21))
    ours = f.maximum_filter(x, 3)
    assert np.array_equal(ours - 2**60, nd.maximum_filter(x - 2**60, 3))
    ours = f.median_filter(x, 3)
    assert np.array_equal(ours - 2**60, nd.median_filter(x - 2**60, 3))


LINEAR = {
    "uniform_filter": {"size": 3},
    "uniform_filter1d": {"size": 4, "axis": 0},
    "gaussian_filter": {"sigma": 1},
    "gaussian_filter1d": {"sigma": 1.4, "order": 1},
    "gaussian_laplace": {"sigma": 1.1},
    "sobel": {},
    "prewitt": {"axis": 0},
    "laplace": {},
    "correlate": {"weights": np.arange(6.0).reshape(2, 3)},
    "convolve": {"weights": np.arange(6.0).reshape(2, 3)},
    "correlate1d": {"weights": [1, 2.5, -4, 3]},
    "convolve1d": {"weights": [1, 2.5, -4, 3], "axis": 0},
}


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("cval", [2.0, 1.5 - 3j, np.complex64(2j)])
def test_a_constant_border_of_complex_arrays_is_complex(name, cval):
    draw = np.random.default_rng(1).random
    x = draw((9, 11)) + 2j * draw((9, 11))
    words = {**LINEAR[name], "mode": "constant", "cval": cval}
    ours, theirs = getattr(f, name)(x, **words), getattr(nd, name)(x, **words)
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, atol=1e-11)
    if np.iscomplexobj(cval):
        with pytest.raises(TypeError, match=r"cval .* is complex and the input is real"):
            getattr(f, name)(x.real, **words)


@pytest.mark.parametrize("name", ["correlate", "convolve", "correlate1d", "convolve1d"])
@pytest.mark.parametrize("dtype", "BhifFdD")
def test_complex_weights(name, dtype):
    """Of correlations they are conjugated."""
    draw = np.random.default_rng(2).random
    x = draw((9, 11)) * 50
    x = (x + 3j * draw((9, 11)) if dtype in "FD" else x).astype(dtype)
    weights = draw((2, 3)) - 2j * draw((2, 3))
    for words in ({}, {"mode": "wrap", "origin": -1}, {"mode": "constant", "cval": 2.5}):
        args = (x, weights if name in {"correlate", "convolve"} else weights[0])
        ours, theirs = getattr(f, name)(*args, **words), getattr(nd, name)(*args, **words)
        assert ours.dtype == theirs.dtype
        near = 1e-4 if ours.dtype == np.complex64 else 1e-10
        np.testing.assert_allclose(ours, theirs, rtol=near / 10, atol=near)
    with pytest.raises(RuntimeError, match="complex dtype"):
        getattr(f, name)(*args, output="f8")


@pytest.mark.parametrize("name", ["gaussian_laplace", "gaussian_gradient_magnitude"])
def test_windows_and_modes_of_gaussian_derivatives_are_scipys(name):
    x = np.random.default_rng(4).random((12, 14))
    reaches = ({"truncate": 2.0}, {"radius": 3}, {"radius": [2, 4]}, {})
    modes = ("mirror", ["constant", "nearest"], ["wrap", "reflect"])
    for words in ({**reach, "mode": mode} for reach in reaches for mode in modes):
        ours, theirs = (
            getattr(f, name)(x, [1, 1.7], **words),
            getattr(nd, name)(x, [1, 1.7], **words),
        )
        np.testing.assert_allclose(ours, theirs, atol=1e-13, err_msg=str(words))


def test_axes_may_be_integers_of_numpy():
    x = np.random.default_rng(1).random((9, 11))
    for axis in (np.int64(0), np.uint8(1)):
        assert np.array_equal(f.sobel(x, axis), f.sobel(x, int(axis)))
        assert np.array_equal(
            f.gaussian_filter(x, 1, axes=axis), f.gaussian_filter(x, 1, axes=int(axis))
        )


@pytest.mark.parametrize(
    ("limit", "error"),
    [("inf", ValueError), ("-5MB", ValueError), (1.5, TypeError), (b"9", TypeError)],
)
def test_memory_limits_that_are_none(limit, error):
    with pytest.raises(error, match="bytes"):
        f.median_filter(np.zeros((9, 11)), 3, memory_limit=limit)
    f.median_filter(np.zeros((9, 11)), 3, memory_limit=np.int64(1 << 20))


SWAPPED = {
    "gaussian_filter": {"sigma": 1}, "uniform_filter": {"size": 3}, "mean_filter": {"size": 3}, "sobel": {}, "laplace": {},
    "correlate1d": {"weights": [1, 2, 1]}, "std_filter": {"size": 3}, "entropy_filter": {"size": 3}, "median_filter": {"size": 3},
    "bilateral_filter": {"size": 3, "sigma_color": 9, "sigma_spatial": 1}, "wiener_filter": {"size": 3}, "unsharp_mask": {"sigma": 1}, "minimum_filter": {"size": 3},
}  # fmt: skip


SWAPPED_VOLUMES = {
    "astype": lambda x, dtype: x.astype(dtype),
    "cumsum": lambda x, dtype: np.cumsum(x, 1, dtype=dtype),
    "concatenate": lambda x, dtype: np.concatenate([x, x], 1, dtype=dtype, casting="unsafe"),
    "full_like": lambda x, dtype: x + np.full_like(x, 3, dtype=dtype),
}


@pytest.mark.parametrize("dtype", [">u2", ">i4", ">f4", ">f8"])
@pytest.mark.parametrize("name", SWAPPED_VOLUMES)
def test_volumes_have_the_byte_order_of_this_machine(name, dtype, tmp_path):
    x = np.random.default_rng(4).integers(0, 99, (9, 11)).astype("u2")
    here = np.dtype(dtype).newbyteorder("=")
    made = SWAPPED_VOLUMES[name]
    plain, volume = made(x, here), made(v.open(x), dtype)
    assert volume.dtype.isnative
    assert np.array_equal(np.asarray(volume), plain)
    for call in (f.median_filter, f.maximum_filter, f.var_filter):
        assert np.array_equal(np.asarray(call(volume, 3)), call(plain, 3))
    assert np.sum(volume) == np.sum(plain)
    assert np.array_equal(np.asarray(np.sort(volume, 0)), np.sort(plain, 0))
    v.save(tmp_path / "x.npy", f.median_filter(volume, 3))
    assert np.array_equal(np.load(tmp_path / "x.npy"), f.median_filter(plain, 3))


@pytest.mark.parametrize("dtype", [">f4", ">f8"])
@pytest.mark.parametrize("name", SWAPPED)
def test_outputs_may_have_the_other_byte_order(name, dtype):
    x = (np.random.default_rng(2).random((9, 11)) * 50).astype("f4")
    call, words = getattr(f, name), SWAPPED[name]
    expected = call(x, **words, output=np.dtype(dtype).newbyteorder("="))
    found = call(x, **words, output=dtype)
    assert found.dtype == dtype
    assert np.array_equal(found, expected)
    out = np.zeros(x.shape, dtype)
    assert call(x, **words, output=out) is out
    assert np.array_equal(out, expected)
