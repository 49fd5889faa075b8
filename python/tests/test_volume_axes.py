"""Filters over some axes of an array, in any order: SciPy's results, and errors that say what SciPy's say."""

import numpy as np
import pytest
import scipy.ndimage as nd

from arrayloom import filters as f
from arrayloom import volumes as v

ORDERS = [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1), (-1, 0)]
POINTS = np.array([[1, 0, 1, 1, 0], [0, 1, 0, 0, 1], [1, 1, 0, 0, 1]])
HEIGHTS = np.array([[1, 0, 3, 2, 0], [0, 1, 0, 4, 1], [1, 5, 0, 0, 2]])

# Each takes a window whose axes are in the order of the array's, whatever the order of `axes`.
FILTERS = {
    "minimum": lambda m, x, **k: m.minimum_filter(x, footprint=POINTS, **k),
    "maximum": lambda m, x, **k: m.maximum_filter(x, footprint=POINTS, **k),
    "median": lambda m, x, **k: m.median_filter(x, footprint=POINTS, **k),
    "rank": lambda m, x, **k: m.rank_filter(x, 3, footprint=POINTS, **k),
    "percentile": lambda m, x, **k: m.percentile_filter(x, 70, footprint=POINTS, **k),
    "generic": lambda m, x, **k: m.generic_filter(x, np.ptp, footprint=POINTS, **k),
    "correlate": lambda m, x, **k: m.correlate(x, HEIGHTS, **k),
    "convolve": lambda m, x, **k: m.convolve(x, HEIGHTS, **k),
    "complex": lambda m, x, **k: m.convolve(x, HEIGHTS * (1 - 2j), **k),
    "erosion": lambda m, x, **k: m.grey_erosion(x, footprint=POINTS, **k),
    "closing": lambda m, x, **k: m.grey_closing(x, footprint=POINTS, **k),
    "top-hat": lambda m, x, **k: m.white_tophat(x, footprint=POINTS, **k),
    "binary erosion": lambda m, x, **k: m.binary_erosion(x > 50, POINTS, **k),
    "binary dilation": lambda m, x, **k: m.binary_dilation(x > 80, POINTS, iterations=2, **k),
}


@pytest.mark.parametrize("axes", ORDERS)
@pytest.mark.parametrize("name", FILTERS)
def test_windows_have_their_axes_in_the_order_of_the_arrays(name, axes):
    call = FILTERS[name]
    x = np.random.default_rng(1).integers(0, 100, (7, 8, 9)).astype(np.float64)
    for origin in (0, (1, 0), (-1, 1)):
        words = {"axes": axes, "origin": origin}
        expected, got = call(nd, x, **words), call(f, x, **words)
        assert np.array_equal(got, expected), origin
        assert np.array_equal(np.asarray(call(f, v.open(x), **words)), expected), origin


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
def test_all_axes_in_another_order(axes):
    """There SciPy takes the origins in the order of the array's axes; here they stay with `axes`, as everywhere."""
    x = np.random.default_rng(2).random((6, 7, 8))
    points = np.random.default_rng(3).random((2, 3, 4)) < 0.7
    origin = np.zeros(3, int)
    origin[list(axes)] = each = np.array([0, 1, -1])[list(axes)]
    expected = nd.median_filter(x, footprint=points, origin=tuple(origin))
    got = f.median_filter(x, footprint=points, origin=tuple(each), axes=axes)
    assert np.array_equal(got, expected)
    assert np.array_equal(
        f.correlate(x, points, axes=axes), f.correlate(x, points), equal_nan=False
    )


@pytest.mark.parametrize("name", ["uniform_filter", "minimum_filter", "maximum_filter"])
@pytest.mark.parametrize("axes", ORDERS)
def test_sizes_are_in_the_order_of_the_axes_that_are_named(name, axes):
    x = np.random.default_rng(4).integers(0, 99, (6, 7, 8)).astype(np.float64)
    words = {"size": (2, 5), "axes": axes, "mode": ("wrap", "nearest"), "origin": (0, -1)}
    expected, got = getattr(nd, name)(x, **words), getattr(f, name)(x, **words)
    assert np.allclose(got, expected, rtol=1e-14)


def test_heights_have_their_axes_in_the_order_of_the_arrays():
    """SciPy refuses a structure that has fewer axes than the array."""
    x = np.random.default_rng(5).integers(0, 100, (7, 8, 9))
    got = f.grey_dilation(x, structure=HEIGHTS, axes=(2, 0))
    assert np.array_equal(got, nd.grey_dilation(x, structure=HEIGHTS[:, None]))


REFUSED = {
    "axis": (lambda m, x: m.uniform_filter(x, 3, axes=(0, 3)), "specified axis: 3 is out of range"),
    "axes": (lambda m, x: m.uniform_filter(x, 3, axes=(1, -2)), "axes must be unique"),
    "footprint": (
        lambda m, x: m.median_filter(x, footprint=np.ones((3, 3)), axes=0),
        r"footprint\.ndim \(2\) must match len\(axes\) \(1\)",
    ),
    "weights": (
        lambda m, x: m.convolve(x, np.ones(3), axes=(0, 1)),
        r"weights\.ndim \(1\) must match len\(axes\) \(2\)",
    ),
    "structure": (
        lambda m, x: m.binary_erosion(x > 0, np.ones(3), axes=(0, 1)),
        r"structure\.ndim \(1\) must match len\(axes\) \(2\)",
    ),
    "sizes": (
        lambda m, x: m.minimum_filter(x, (3, 3, 3), axes=(0, 1)),
        "sequence argument must have length equal to input rank",
    ),
    "origins": (
        lambda m, x: m.gaussian_filter(x, 1, mode=["wrap"]),
        "sequence argument must have length equal to input rank",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_told_in_scipys_words(name):
    call, words = REFUSED[name]
    x = np.ones((4, 5, 6))
    with pytest.raises((RuntimeError, ValueError), match=words) as scipys:
        call(nd, x)
    with pytest.raises(scipys.type, match=words):
        call(f, x)


def test_outputs_of_complex_sums_become_complex():
    x = np.arange(6.0).reshape(2, 3).astype(np.complex64)
    weights = np.array([[1, 2j]])
    for call in (
        lambda m, **k: m.correlate(x, weights, **k),
        lambda m, **k: m.convolve1d(x, weights[0], **k),
        lambda m, **k: m.gaussian_filter1d(x, 1, **k),
    ):
        for dtype in (np.float32, float, np.dtype("f8")):
            with pytest.warns(UserWarning, match="promoting specified output dtype to complex"):
                expected = call(nd, output=dtype)
            with pytest.warns(UserWarning, match="promoting specified output") as told:
                got = call(f, output=dtype)
            assert [w.filename for w in told] == [__file__]
            assert got.dtype == expected.dtype
            assert np.allclose(got, expected, rtol=1e-6)
        for output in ("f8", np.empty((2, 3))):
            for module in (nd, f):
                with pytest.raises(RuntimeError, match="output must have complex dtype"):
                    call(module, output=output)
