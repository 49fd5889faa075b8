"""Sigmas and sizes by the names of axes, and sigmas in physical units: the bits of the same numbers by place."""

import numpy as np
import pytest

from arrayloom import _cli
from arrayloom import filters as f
from arrayloom import volumes as v

X = np.random.default_rng(11).normal(size=(9, 14, 17)).astype("f4")
SPACING = (2.0, 0.5, 0.25)


@pytest.fixture
def image(tmp_path):
    pytest.importorskip("zarr")
    words = {"spacing": SPACING, "units": ("micrometer",) * 3, "chunks": (4, 7, 8)}
    v.save(tmp_path / "in.ome.zarr", X, **words)
    return v.open(tmp_path / "in.ome.zarr")


class Dims:
    """An object whose axes have names, as an array of xarray."""

    dims = ("z", "y", "x")
    shape, dtype = X.shape, X.dtype

    def __getitem__(self, key):
        return X[key]


def sources(image):
    return [image, image.astype("f4"), Dims(), v.open(Dims())]


def same(found, expected):
    assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()


SIGMAS = {
    "gaussian_filter": {},
    "gaussian_laplace": {},
    "gaussian_gradient_magnitude": {},
    "high_pass": {},
    "unsharp_mask": {},
    "difference_of_gaussians": {},
}


@pytest.mark.parametrize("name", SIGMAS)
@pytest.mark.parametrize("output", [None, "f8"])
def test_sigmas_by_name(image, name, output):
    call = getattr(f, name)
    expected = call(X, (1.5, 0, 0.75), output=output)
    for source in sources(image):
        same(call(source, {"x": 0.75, "z": 1.5}, output=output), expected)


def test_both_sigmas_of_a_difference(image):
    expected = f.difference_of_gaussians(X, (0, 1, 0), (1, 2, 0))
    same(f.difference_of_gaussians(image, {"y": 1}, {"y": 2, "z": 1}), expected)


SIZES = {
    "uniform_filter": (),
    "mean_filter": (),
    "minimum_filter": (),
    "maximum_filter": (),
    "median_filter": (),
    "var_filter": (),
    "std_filter": (),
    "entropy_filter": (),
    "wiener_filter": (),
    "grey_opening": (),
    "white_tophat": (),
    "morphological_gradient": (),
    "threshold_niblack": (),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_by_name(image, name):
    call = getattr(f, name)
    expected = call(X, (1, 3, 5))
    for source in sources(image):
        same(call(source, {"x": 5, "y": 3}), expected)


def test_ranks_and_bilateral_means_by_name(image):
    same(f.rank_filter(image, 2, {"y": 3}), f.rank_filter(X, 2, (1, 3, 1)))
    same(f.percentile_filter(Dims(), 30, {"y": 3}), f.percentile_filter(X, 30, (1, 3, 1)))
    expected = f.bilateral_filter(X, 1.0, (1.5, 0.5), axes=(0, 2))
    for source in sources(image):
        same(f.bilateral_filter(source, 1.0, {"x": 0.5, "z": 1.5}), expected)
    expected = f.bilateral_filter(X, 1.0, (0.5 / 2, 0.5 / 0.5, 0.5 / 0.25))
    same(f.bilateral_filter(image, 1.0, 0.5, spacing=True), expected)


def test_names_follow_transposes_and_go_with_axes(image):
    same(f.gaussian_filter(image.T, {"z": 1}), f.gaussian_filter(X.T, (0, 0, 1)))
    same(f.gaussian_filter(image[3], {"x": 1}), f.gaussian_filter(X[3], (0, 1)))
    found = f.uniform_filter(image, {"x": 3}, axes=(2, 1))
    same(found, f.uniform_filter(X, (3, 1), axes=(2, 1)))


@pytest.mark.parametrize("name", SIGMAS)
def test_sigmas_in_physical_units(image, name):
    call = getattr(f, name)
    one = [0.9 / distance for distance in SPACING]
    each = [s / d for s, d in zip((2, 0.6, 0.3), SPACING, strict=True)]
    for spacing, source in [(True, image), (SPACING, X), (list(SPACING), image), (SPACING, Dims())]:
        same(call(source, 0.9, spacing=spacing), call(X, one))
        same(call(source, (2, 0.6, 0.3), spacing=spacing), call(X, each))
    same(call(image, {"y": 0.6}, spacing=True), call(X, (0, 0.6 / 0.5, 0)))
    same(call(Dims(), {"y": 0.6}, spacing={"y": 0.5}), call(X, (0, 0.6 / 0.5, 0)))
    same(call(image, (0.6, 2), spacing=True, axes=(1, 0)), call(X, (1.2, 1.0), axes=(1, 0)))
    same(call(X, 1.5, spacing=0.5), call(X, 3.0))
    same(call(X, 1.5, spacing=False), call(X, 1.5))


def test_spacing_follows_steps(image):
    found = f.gaussian_filter(image[:, ::2], 1.0, spacing=True)
    same(found, f.gaussian_filter(X[:, ::2], (1.0 / 2, 1.0 / 1, 1.0 / 0.25)))
    found = f.gaussian_filter1d(image, 1.0, 1, spacing=True)
    same(found, f.gaussian_filter1d(X, 2.0, 1))
    low, high = (0.5 / 2, 0.5 / 0.5, 0.5 / 0.25), (1.0 / 2, 1.0 / 0.5, 1.0 / 0.25)
    found = f.difference_of_gaussians(image, 0.5, 1.0, spacing=True)
    same(found, f.difference_of_gaussians(X, low, high))


def test_arrays_of_xarray_have_names():
    xarray = pytest.importorskip("xarray")
    array = xarray.DataArray(X, dims=("depth", "row", "column"))
    same(f.gaussian_filter(array, {"row": 1}), f.gaussian_filter(X, (0, 1, 0)))
    with pytest.raises(ValueError, match="no axis is named 'y'; there are depth, row, column"):
        f.median_filter(array, {"y": 3})


ERRORS = [
    (lambda s: f.gaussian_filter(s, {"q": 1}), r"sigma=\{'q': 1\}: no axis is named 'q'; there are z, y, x"),
    (lambda s: f.median_filter(s, {"q": 1}), r"size=\{'q': 1\}: no axis is named 'q'; there are z, y, x"),
    (lambda s: f.uniform_filter(s, {"t": 3}), "no axis is named 't'; there are z, y, x"),
    (lambda s: f.gaussian_filter(s, {"z": 1}, axes=(1,)), "axis 0 is not filtered; leave it out, or"),
    (lambda s: f.gaussian_filter(X, {"z": 1}), r"shape \(9, 14, 17\) have no names; give sigma as one"),
    (lambda s: f.median_filter(X, {"z": 1}), "have no names; give size as one number for each axis"),
    (lambda s: f.gaussian_filter(X, 1, spacing=True), "says no distances of voxels; give one for each"),
    (lambda s: f.gaussian_filter(s, 1, spacing=(1, 2)), "2 distances of voxels for 3 axes; give one"),
    (lambda s: f.gaussian_filter(s, 1, spacing=(1, 0, 2)), "distances are positive and finite"),
    (lambda s: f.gaussian_filter(s, 1, spacing={"z": 2}), "no distance of voxels along axis 1, which"),
    (lambda s: f.gaussian_filter(s, 1, spacing={"q": 2}), "spacing=.*no axis is named 'q'; there are"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_names_and_distances_that_are_not_there(image, number):
    call, words = ERRORS[number]
    with pytest.raises(ValueError, match=words):
        call(image)


def run(*words):
    return _cli.main([str(word) for word in words])


def test_the_command_line_takes_names_and_units(image, tmp_path, capsys):
    source, out = tmp_path / "in.ome.zarr", tmp_path / "out.npy"
    assert run("filter", "gaussian", source, out, "--sigma", "z=2,x=1") == 0
    same(np.load(out), f.gaussian_filter(X, (2, 0, 1)))
    assert run("filter", "gaussian", source, out, "--sigma", "0.9", "--physical") == 0
    same(np.load(out), f.gaussian_filter(X, 0.9, spacing=SPACING))
    assert run("filter", "dog", source, out, "--sigma", "y=0.9", "--physical") == 0
    same(np.load(out), f.difference_of_gaussians(X, (0, 0.9 / 0.5, 0)))
    assert run("filter", "median", source, out, "--size", "y=3") == 0
    same(np.load(out), f.median_filter(X, (1, 3, 1)))
    assert run("filter", "gaussian", source, out, "--sigma", "q=2") == 2
    assert "no axis is named 'q'; there are z, y, x" in capsys.readouterr().err
    assert run("filter", "median", source, out, "--physical") == 2
    assert "has no sigma that --physical could be of" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run("filter", "gaussian", source, out, "--sigma", "z=two")
    assert "'two' is no number" in capsys.readouterr().err
