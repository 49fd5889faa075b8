"""Grey and binary morphology against SciPy."""

import numpy as np
import pytest
import scipy.ndimage as nd

from arrayloom import filters as f
from arrayloom import volumes as v
from arrayloom._volumes.sources import as_volume

MODES = ["reflect", "mirror", "nearest", "constant", "wrap"]
GREY = [
    "grey_erosion",
    "grey_dilation",
    "grey_opening",
    "grey_closing",
    "white_tophat",
    "black_tophat",
    "morphological_gradient",
]


def image(shape, dtype="u1", seed=0):
    return np.random.default_rng(seed).integers(0, 100, shape).astype(dtype)


@pytest.mark.parametrize("name", GREY)
@pytest.mark.parametrize("mode", MODES)
def test_flat_elements_are_scipys(name, mode):
    for dtype in ("u1", "i4", "f4"):
        x = image((9, 12), dtype)
        for kwargs in ({"size": (3, 4)}, {"footprint": f.ball(2, 2)}):
            ours = getattr(f, name)(x, mode=mode, cval=7, **kwargs)
            assert ours.dtype == dtype
            # SciPy's differences of unsigned integers wrap around; ours end at 0.
            theirs = getattr(nd, name)(x.astype("i4"), mode=mode, cval=7, **kwargs)
            assert np.array_equal(ours, np.maximum(theirs, 0) if dtype == "u1" else theirs)


@pytest.mark.parametrize("name", GREY)
@pytest.mark.parametrize("mode", MODES)
def test_heights_are_scipys(name, mode):
    x = image((8, 11), "f8")
    heights = np.random.default_rng(1).integers(-3, 4, (3, 4)).astype(float)
    points = np.array([[0, 1, 1, 0], [1, 1, 1, 1], [0, 1, 0, 1]], bool)
    for footprint in (None, points):
        common = {"footprint": footprint, "structure": heights, "mode": mode, "cval": 3.0}
        ours, theirs = getattr(f, name)(x, **common), getattr(nd, name)(x, **common)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["?", "u1", "i1", "u2", "i4", "u8", "f2", "f4", "f8"])
def test_gradients_of_boxes_are_differences_of_their_steps(dtype, mode):
    # Of an array both are found together, of a volume one after the other.
    for shape, size in (((40,), 5), ((7, 90), 3), ((6, 1, 70), (3, 1, 5)), ((5, 6, 7), 1)):
        x = image(shape, dtype, 3)
        if np.dtype(dtype).kind == "f":
            x.flat[5] = np.nan
        found = f.morphological_gradient(x, size, mode=mode, cval=1)
        volume = np.asarray(f.morphological_gradient(as_volume(x), size, mode=mode, cval=1))
        assert found.dtype == x.dtype
        assert np.array_equal(found, volume, equal_nan=found.dtype.kind == "f")


def test_integers_with_heights_saturate():
    x = np.array([0, 250, 255, 3], np.uint8)
    assert f.grey_dilation(x, structure=[9.0, 9.0, 9.0]).tolist() == [255, 255, 255, 255]
    assert f.grey_erosion(x, structure=[9.0, 9.0, 9.0]).tolist() == [0, 0, 0, 0]


def test_the_laplacian_is_scipys():
    x = image((9, 10), "f8")
    ours = f.morphological_laplace(x, (3, 2))
    np.testing.assert_allclose(ours, nd.morphological_laplace(x, (3, 2)))
    assert f.morphological_laplace(np.array([0, 9, 0], np.uint8), 3).tolist() == [9.0, -9.0, 9.0]


@pytest.mark.parametrize("name", ["erosion", "dilation", "opening", "closing"])
@pytest.mark.parametrize("border_value", [0, 1])
def test_binary_steps_are_scipys(name, border_value):
    ours, theirs = getattr(f, f"binary_{name}"), getattr(nd, f"binary_{name}")
    rng = np.random.default_rng(3)
    for shape in [(40,), (9, 14), (5, 6, 7)]:
        x = rng.random(shape) > 0.4
        mask = rng.random(shape) > 0.3
        even = np.ones((2,) * x.ndim, bool)
        for structure in (None, even, f.generate_binary_structure(x.ndim, x.ndim)):
            for iterations in (1, 3):
                for inside in (None, mask):
                    common = {
                        "iterations": iterations,
                        "mask": inside,
                        "border_value": border_value,
                    }
                    a, b = ours(x, structure, **common), theirs(x, structure, **common)
                    assert np.array_equal(a, b), (shape, structure, iterations)
                    assert a.dtype == np.bool_
    x = rng.random((7, 8)) > 0.5
    even = np.ones((3, 2), bool)
    assert np.array_equal(ours(x, even, origin=(1, -1)), theirs(x, even, origin=(1, -1)))
    numbers = rng.integers(0, 2, (6, 7)) * 5.0
    assert np.array_equal(ours(numbers), theirs(numbers))


def test_what_repeats_until_nothing_changes_is_scipys():
    x = np.zeros((12, 12), bool)
    x[2:9, 3:10] = True
    x[4:6, 5:8] = False
    x[5, 7:] = False
    assert np.array_equal(f.binary_fill_holes(x), nd.binary_fill_holes(x))
    x[5, 9] = True
    assert np.array_equal(f.binary_fill_holes(x), nd.binary_fill_holes(x))
    seed = np.zeros_like(x)
    seed[2, 3] = True
    assert np.array_equal(f.binary_propagation(seed, mask=x), nd.binary_propagation(seed, mask=x))
    assert np.array_equal(f.binary_erosion(x, iterations=0), nd.binary_erosion(x, iterations=0))
    with pytest.raises(TypeError, match="complex128 has no binary morphology"):
        f.binary_erosion(x * 1j)
    with pytest.raises(ValueError, match="until nothing changes"):
        f.binary_dilation(v.open(seed), iterations=0)


def test_hit_or_miss_and_structures_are_scipys():
    x = np.random.default_rng(4).random((12, 13)) > 0.5
    corner = np.array([[0, 0, 0], [0, 1, 1], [0, 1, 0]], bool)
    assert np.array_equal(f.binary_hit_or_miss(x, corner), nd.binary_hit_or_miss(x, corner))
    other = np.array([[1, 1], [1, 0]], bool)
    ours = f.binary_hit_or_miss(x, corner, other, origin1=1, origin2=-1)
    assert np.array_equal(ours, nd.binary_hit_or_miss(x, corner, other, origin1=1, origin2=-1))
    nothing = np.zeros((3, 3), bool)
    for miss in (None, corner, nothing):
        ours = f.binary_hit_or_miss(x, nothing, miss)
        assert np.array_equal(ours, nd.binary_hit_or_miss(x, nothing, miss))
    with pytest.raises(RuntimeError, match=r"structure\.ndim \(1\) must match"):
        f.binary_hit_or_miss(x, nothing[0], corner)
    for rank in (1, 2, 3):
        for connectivity in (1, 2, 3):
            cross = f.generate_binary_structure(rank, connectivity)
            assert np.array_equal(cross, nd.generate_binary_structure(rank, connectivity))
            assert np.array_equal(f.iterate_structure(cross, 3), nd.iterate_structure(cross, 3))
    ours, theirs = f.iterate_structure(corner, 2, 1), nd.iterate_structure(corner, 2, 1)
    assert np.array_equal(ours[0], theirs[0])
    assert ours[1] == list(theirs[1])
    with pytest.raises(RuntimeError, match=r"structure\.ndim \(1\) must match"):
        f.binary_erosion(x, np.ones(3))


def test_volumes_in_blocks_have_the_same_bits(tmp_path):
    x = image((20, 22, 18), "i2")
    truth = x > 50
    heights = np.arange(27.0).reshape(3, 3, 3) % 4
    cases = {
        "grey.npy": (lambda a: f.grey_opening(a, structure=heights), x),
        "binary.npy": (lambda a: f.binary_closing(a, iterations=2), truth),
        "hit.npy": (lambda a: f.binary_hit_or_miss(a, f.ball(1)), truth),
    }
    for name, (run, source) in cases.items():
        v.save(tmp_path / name, run(v.open(source)), memory_limit="300KiB")
        assert np.array_equal(np.load(tmp_path / name), run(source))
