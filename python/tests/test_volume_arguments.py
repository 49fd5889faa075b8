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


def test_masks_of_other_shapes_are_told_with_both_shapes():
    with pytest.raises(RuntimeError, match=r"\(2, 2\) for an array of shape \(5, 6\)"):
        f.binary_erosion(np.ones((5, 6), bool), mask=np.ones((2, 2), bool))
