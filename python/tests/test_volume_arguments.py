"""Arguments of filters: arrays without axes, and what SciPy refuses."""

import numpy as np
import pytest
import scipy.ndimage as nd

from arrayloom import filters as f
from arrayloom import volumes as v

FILTERS = {
    "gaussian_filter": (1,),
    "gaussian_laplace": (1,),
    "gaussian_gradient_magnitude": (1,),
    "uniform_filter": (3,),
    "minimum_filter": (3,),
    "median_filter": (3,),
    "percentile_filter": (50, 3),
    "laplace": (),
    "correlate": (np.array(2.0),),
    "grey_opening": (3,),
    "white_tophat": (3,),
    "morphological_gradient": (3,),
    "morphological_laplace": (3,),
    "binary_erosion": (),
    "binary_closing": (),
    "binary_hit_or_miss": (),
}


@pytest.mark.parametrize("name", FILTERS)
def test_arrays_without_axes_are_filtered(name):
    x, words = np.array(7.0), FILTERS[name]
    expected = getattr(nd, name)(x, *words)
    assert np.array_equal(getattr(f, name)(x, *words), expected)
    volume = getattr(f, name)(v.open(x), *words)
    assert volume.shape == ()
    assert np.array_equal(np.asarray(volume), expected)


@pytest.mark.parametrize("value", [False, True])
@pytest.mark.parametrize("shape", [(), (0, 5), (3, 0), (1,)])
def test_steps_of_least_arrays_end(shape, value):
    x = np.full(shape, value)
    for iterations in (0, 9, 50):
        for name in ("binary_erosion", "binary_dilation", "binary_opening"):
            expected = getattr(nd, name)(x, iterations=iterations)
            assert np.array_equal(getattr(f, name)(x, iterations=iterations), expected), name
    assert np.array_equal(f.binary_fill_holes(x), nd.binary_fill_holes(x))


@pytest.mark.parametrize("name", ["var_filter", "entropy_filter", "high_pass", "nl_means"])
def test_our_own_filters_take_arrays_without_axes(name):
    expected = 7.0 if name == "nl_means" else 0.0
    assert getattr(f, name)(np.array(7.0), 3) == expected


REFUSED = {
    "origin": lambda m, x: m.uniform_filter(x, 3, origin=1.0),
    "origin of ranks": lambda m, x: m.median_filter(x, 3, origin=0.5),
    "origin of dilations": lambda m, x: m.grey_dilation(x, 3, origin=0.5),
    "origin of convolutions": lambda m, x: m.convolve(x, np.ones((3, 3)), origin=0.5),
    "order": lambda m, x: m.gaussian_filter(x, 1, order=1.0),
    "radius": lambda m, x: m.gaussian_filter(x, 1, radius=2.0),
    "rank": lambda m, x: m.rank_filter(x, 1.0, 3),
    "iterations": lambda m, x: m.binary_erosion(x > 0, iterations=0.5),
    "border": lambda m, x: m.binary_erosion(x > 0, border_value=0.5),
    "axis": lambda m, x: m.sobel(x, axis=None),
    "axis beyond": lambda m, x: m.sobel(x, axis=5),
    "sigma": lambda m, x: m.gaussian_filter1d(x, -1),
    "mask": lambda m, x: m.binary_dilation(x > 0, mask=np.ones(6, bool)),
    "structure without extent": lambda m, x: m.binary_dilation(x > 0, np.ones((0, 3))),
    "weights of no axis": lambda m, x: m.correlate1d(x, 5),
    "weights of two axes": lambda m, x: m.convolve1d(x, [[1, 2]]),
    "no weights": lambda m, x: m.correlate1d(x, []),
    "no window of erosions": lambda m, x: m.grey_erosion(x),
    "no window of top-hats": lambda m, x: m.black_tophat(x),
    "no window of gradients": lambda m, x: m.morphological_gradient(x),
    "no points of medians": lambda m, x: m.median_filter(x, footprint=np.zeros((3, 3))),
    "no points of percentiles": lambda m, x: m.percentile_filter(x, 50, footprint=np.zeros((3, 3))),
    "no points of minima": lambda m, x: m.minimum_filter(x, footprint=np.zeros((3, 3))),
    "size of medians": lambda m, x: m.median_filter(x, 3.0),
    "size of ranks": lambda m, x: m.rank_filter(x, 1, 3.0),
    "no size of medians": lambda m, x: m.median_filter(x, 0),
    "size of lines": lambda m, x: m.minimum_filter1d(x, 3.0),
    "size of means": lambda m, x: m.uniform_filter1d(x, 3.0),
    "no size of lines": lambda m, x: m.maximum_filter1d(x, 0),
    "no size of means": lambda m, x: m.uniform_filter1d(x, 0),
    "origin of a point": lambda m, x: m.minimum_filter1d(x, 1, origin=1),
    "origin of a mean": lambda m, x: m.uniform_filter1d(x, 1, origin=-1),
    "origin of a median": lambda m, x: m.median_filter(x, 1, origin=1),
    "origin of a rank": lambda m, x: m.rank_filter(x, 0, 1, origin=1),
    "origin of a height": lambda m, x: m.grey_erosion(x, structure=[[0]], origin=1),
    "border of sums": lambda m, x: m.gaussian_filter(x, 1, mode="constant", cval="1"),
    "border of minima": lambda m, x: m.minimum_filter(x, 3, mode="constant", cval="1"),
    "shape of the output": lambda m, x: m.gaussian_filter(x, 1, output=np.zeros(3)),
    "output that is read only": lambda m, x: m.sobel(x, output=np.broadcast_to(0.0, x.shape)),
    "objects": lambda m, x: m.gaussian_filter(x.astype(object), 1),
    "times": lambda m, x: m.median_filter(x.astype("i8").astype("M8[s]"), 3),
    "long doubles": lambda m, x: m.minimum_filter(x.astype("g"), 3),
    "complex long doubles": lambda m, x: m.median_filter(x.astype("G"), 3),
    "texts": lambda m, x: m.uniform_filter(x.astype("U"), 3),
    "fields": lambda m, x: m.binary_erosion(np.zeros((3, 3), [("a", "f4")])),
    "negative size of medians": lambda m, x: m.median_filter(x, -1),
    "negative size of ranks": lambda m, x: m.rank_filter(x, 0, (3, -1)),
    "negative size of percentiles": lambda m, x: m.percentile_filter(x, 50, -2),
    "text as output": lambda m, x: m.median_filter(x, 3, output="nope"),
    "list as output": lambda m, x: m.minimum_filter(x, 3, output=[1, 2]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_scipy_refuses_is_refused(name):
    x = np.random.default_rng(0).normal(size=(5, 6))
    with pytest.raises(Exception) as expected:  # noqa: PT011 - whatever SciPy raises
        REFUSED[name](nd, x)
    kind = (TypeError, ValueError, RuntimeError, IndexError)
    with pytest.raises(kind) as found:
        REFUSED[name](f, x)
    assert isinstance(found.value, expected.type)


TAKEN = {
    "means of nothing": lambda m, x: m.uniform_filter(x, 0),
    "means along one axis": lambda m, x: m.uniform_filter(x, [3, 0]),
    "minima of nothing": lambda m, x: m.minimum_filter(x, 0),
    "maxima of less": lambda m, x: m.maximum_filter(x, (-1, 2)),
    "closings of nothing": lambda m, x: m.grey_closing(x, 0),
    "sizes": lambda m, x: m.uniform_filter(x, 3.0),
    "origin of a box of one point": lambda m, x: m.minimum_filter(x, 1, origin=1),
    "origin of one point": lambda m, x: m.maximum_filter(x, footprint=[[1]], origin=1),
    "weights of zero": lambda m, x: m.correlate(x * np.nan, np.zeros((3, 3))),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_scipy_takes_is_taken(name):
    x = np.random.default_rng(0).normal(size=(5, 6))
    np.testing.assert_allclose(TAKEN[name](f, x), TAKEN[name](nd, x), rtol=1e-12)


class Tensor:
    """An array of another framework."""

    shape, dtype = (5, 6), "f8"

    def __array__(self, dtype=None, copy=None):
        raise AssertionError(dtype, copy)


class Elements(Tensor):
    """One whose element type is no dtype."""

    dtype = object()


class Wrapped(Tensor):
    """One whose element type is NumPy's."""

    dtype = np.dtype("f8")


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("output", [Tensor(), Elements(), Wrapped(), object(), 3])
def test_outputs_that_are_no_arrays_of_numpy_are_refused(name, output):
    x = np.ones((5, 6))
    words = ([[1.0]],) if name == "correlate" else FILTERS[name]
    with pytest.raises(TypeError, match="is neither a dtype nor an array of NumPy; give one"):
        getattr(f, name)(x, *words, output=output)


POINTS = np.ones((1, 3))
WARNED = {
    "median_filter": lambda m, x: m.median_filter(x, 3, footprint=POINTS),
    "percentile_filter": lambda m, x: m.percentile_filter(x, 20, 3, POINTS),
    "minimum_filter": lambda m, x: m.minimum_filter(x, 3, footprint=POINTS),
    "grey_closing": lambda m, x: m.grey_closing(x, 3, footprint=POINTS),
    "white_tophat": lambda m, x: m.white_tophat(x, 3, POINTS, np.ones((1, 3))),
}


@pytest.mark.parametrize("name", WARNED)
def test_a_size_beside_a_footprint_is_ignored_and_told_at_the_callers_line(name):
    x = np.random.default_rng(0).normal(size=(5, 6))
    with pytest.warns(UserWarning, match="ignoring size because footprint is set") as told:
        found = WARNED[name](f, x)
    assert {w.filename for w in told} == {__file__}
    with pytest.warns(UserWarning, match="ignoring size"):
        assert np.array_equal(found, WARNED[name](nd, x))


def test_a_window_with_more_points_than_a_list_holds_is_refused():
    with pytest.raises(MemoryError, match="1160290625 points"):
        f.median_filter(np.zeros((2,) * 5), 65)


def test_masks_of_other_shapes_are_told_with_both_shapes():
    with pytest.raises(RuntimeError, match=r"\(2, 2\) for an array of shape \(5, 6\)"):
        f.binary_erosion(np.ones((5, 6), bool), mask=np.ones((2, 2), bool))


@pytest.mark.parametrize("radius", [-1, float("nan"), float("inf")])
def test_shapes_have_radii_from_0_on(radius):
    with pytest.raises(ValueError, match="give finite numbers from 0 on"):
        f.ball(radius)
    with pytest.raises(ValueError, match="give finite numbers from 0 on"):
        f.ellipsoid([1, radius])


FAR = {
    "uniform_filter": 10**7, "uniform_filter1d": 10**9, "mean_filter": 10**12, "gaussian_filter": 1e7,
    "gaussian_filter1d": 1e6, "gaussian_laplace": 1e6, "gaussian_gradient_magnitude": 1e6, "unsharp_mask": 1e6,
}  # fmt: skip


@pytest.mark.parametrize("name", FAR)
def test_windows_far_longer_than_their_axis_are_refused(name):
    x = np.zeros((8, 9))
    for source in (x, v.open(x)):
        with pytest.raises(
            MemoryError, match=r"axis \d, which has \d; give a smaller size or sigma"
        ):
            getattr(f, name)(source, FAR[name])
    assert np.array_equal(getattr(f, name)(x, 1000), x)
