"""A function of the caller that gets many windows at once, against NumPy's own windows."""

import threading
import warnings

import numpy as np
import pytest

from arrayloom import filters as f
from arrayloom import volumes as v
from arrayloom.errors import BudgetError

MODES = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "mirror": "reflect",
    "nearest": "edge",
    "constant": "constant",
    "grid-constant": "constant",
    "wrap": "wrap",
    "grid-wrap": "wrap",
    "valid": None,
}
DTYPES = ["?", "u1", "i2", "u4", "i8", "f2", "f4", "f8", "F", "D"]


def rng():
    return np.random.default_rng(8)


def windows_of(x, function, size, mode="reflect", cval=0, origin=None, axes=None, points=None):
    """The results for all windows at once."""
    axes = tuple(range(x.ndim)) if axes is None else axes
    origin = (0,) * len(size) if origin is None else origin
    if MODES[mode] is not None:
        widths = [(0, 0)] * x.ndim
        for axis, n, o in zip(axes, size, origin, strict=True):
            widths[axis] = (n // 2 + o, (n - 1) // 2 - o)
        words = {"constant_values": cval} if MODES[mode] == "constant" else {}
        x = np.pad(x, widths, MODES[mode], **words)
    windows = np.lib.stride_tricks.sliding_window_view(x, size, axes)
    kept = windows.reshape(*windows.shape[: -len(size)], -1)
    return function(kept if points is None else kept[..., points.ravel()], axis=-1)


def same(ours, theirs):
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    assert np.array_equal(ours, theirs, equal_nan=ours.dtype.kind in "fc")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(17,), (8, 9), (5, 6, 7)])
def test_windows_are_numpys(shape, mode):
    x = rng().random(shape)
    x.flat[::7] = np.nan
    size = (4, 3, 2)[: len(shape)]
    points = rng().random(size) < 0.6
    origins = [None] if mode == "valid" else [None, (-1, 1, 0)[: len(shape)]]
    cval = {"cval": 2.5} if MODES[mode] == "constant" else {}
    for origin in origins:
        words = {"mode": mode, "origin": origin, **cval}
        for function in (np.max, np.nanmax, np.count_nonzero):
            with warnings.catch_warnings():
                # Windows without a number.
                warnings.simplefilter("ignore")
                expected = windows_of(x, function, size, **words)
                same(f.vectorized_filter(x, function, size=size, **words), expected)
                same(
                    np.asarray(f.vectorized_filter(v.open(x), function, size=size, **words)),
                    expected,
                )
        expected = windows_of(x, np.max, size, points=points, **words)
        same(f.vectorized_filter(x, np.max, footprint=points, **words), expected)


@pytest.mark.parametrize("axes", [(0,), (2, 0), (-1, 1), (2, 1, 0)])
def test_windows_have_their_axes_in_the_order_of_those_that_are_named(axes):
    """Unlike those of other filters: SciPy's newest one does so."""
    x = rng().integers(0, 99, (5, 6, 7))
    size = (2, 3, 4)[: len(axes)]
    points = rng().random(size) < 0.6
    same(
        f.vectorized_filter(x, np.max, size=size, axes=axes), windows_of(x, np.max, size, axes=axes)
    )
    expected = windows_of(x, np.min, size, axes=axes, points=points)
    same(f.vectorized_filter(x, np.min, footprint=points, axes=axes), expected)
    seen = []

    def first(values, axis):
        seen.append((values.shape[1:], axis))
        return np.max(values, axis)

    f.vectorized_filter(x, first, size=size, axes=axes)
    assert set(seen) == {(size, tuple(range(-len(size), 0)))}
    seen.clear()
    f.vectorized_filter(x, first, footprint=points, axes=axes)
    assert set(seen) == {((int(points.sum()),), -1)}


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_get_the_dtype_of_the_input(dtype):
    x = (rng().integers(-60, 60, (9, 8)) * (1 + 2j if dtype in "FD" else 1)).astype(dtype)

    def function(values, axis):
        assert values.dtype == x.dtype
        return values.sum(axis=axis)

    words = {"size": (3, 2), "mode": "constant", "cval": 1 - 2j if dtype in "FD" else 1}
    got = f.vectorized_filter(x, function, **words)
    expected = windows_of(x, np.sum, **words)
    assert got.dtype == expected.dtype
    assert np.allclose(got, expected, rtol=1e-3 if dtype == "f2" else 1e-6)
    out = np.empty(x.shape, got.dtype)
    assert f.vectorized_filter(x, function, output=out, **words) is out
    assert np.array_equal(out, got)


def test_a_border_is_a_voxel():
    x = rng().integers(0, 9, (4, 5))
    for cval in (2.7, -1, True):
        words = {"size": (3, 4), "mode": "constant", "cval": cval}
        same(f.vectorized_filter(x, np.sum, **words), windows_of(x, np.sum, **words))
    with pytest.raises(TypeError, match="complex and the input is real"):
        f.vectorized_filter(x, np.sum, size=3, mode="constant", cval=1j)


def quartiles(values, axis):
    return np.quantile(values, [0.25, 0.5, 0.75], axis=axis)


def ends(values, axis):
    return np.stack([values.min(axis), values.max(axis)], -1)


def both(values, axis):
    return np.stack([ends(values, axis), -ends(values, axis)])


@pytest.mark.parametrize("function", [quartiles, ends, both])
@pytest.mark.parametrize("mode", ["reflect", "valid", "constant"])
def test_several_numbers_have_axes_of_their_own(tmp_path, function, mode):
    x = rng().random((9, 8, 7))
    points = rng().random((2, 3)) < 0.7
    for words in (
        {"size": (3, 2, 4)},
        {"size": (2, 3), "axes": (2, 0)},
        {"footprint": points, "axes": (0, 1)},
    ):
        size = words.get("size", points.shape)
        given = {k: w for k, w in words.items() if k == "axes"}
        given |= {"points": points} if "footprint" in words else {}
        expected = windows_of(x, function, size, mode=mode, **given)
        same(f.vectorized_filter(x, function, mode=mode, **words), expected)
        same(f.vectorized_filter(x, function, mode=mode, memory_limit="60KiB", **words), expected)
        work = f.vectorized_filter(v.open(x), function, mode=mode, **words)
        v.save(tmp_path / "out.npy", work, memory_limit="100KiB")
        same(np.load(tmp_path / "out.npy"), expected)
        same(np.asarray(work[1:2, ..., 1:2]), expected[1:2, ..., 1:2])


def test_outputs_are_rounded_and_saturate():
    x = np.array([0, 1, 250, 255], np.uint8)
    got = f.vectorized_filter(x, lambda a, axis: a.mean(axis) * 2 + 0.5, size=1, output=np.uint8)
    assert got.tolist() == [0, 2, 255, 255]


@pytest.mark.parametrize("limit", ["60KiB", "300KiB", "4MiB"])
def test_blocks_have_the_bits_of_the_whole(tmp_path, limit):
    """Sums of floats depend on how their values lie in memory: always in the same way."""
    x = rng().random((20, 14, 12)) * 1e3
    np.save(tmp_path / "in.npy", x)
    source = v.open(tmp_path / "in.npy")
    for function in (np.mean, np.std, np.median):
        work = f.vectorized_filter(source, function, size=(3, 2, 3)) * 2 + source
        report = v.save(tmp_path / "out.npy", work, memory_limit=limit)
        assert report["peak"] <= {"60KiB": 60, "300KiB": 300, "4MiB": 4096}[limit] << 10
        assert limit == "4MiB" or report["blocks"] > 1
        expected = f.vectorized_filter(x, function, size=(3, 2, 3)) * 2 + x
        same(np.load(tmp_path / "out.npy"), expected)
        for most in (144, 1000, 10**5):
            few = f.vectorized_filter(x, function, size=(3, 2, 3), batch_memory=most)
            same(few * 2 + x, expected)


def test_only_so_many_bytes_of_windows_come_at_once():
    x, lock, most = rng().random((30, 40)), threading.Lock(), []

    def function(values, axis):
        with lock:
            most.append(values.nbytes)
        return values.max(axis=axis)

    expected = f.maximum_filter(x, 3)
    for limit in (72, 1000, 10**5):
        most.clear()
        same(f.vectorized_filter(x, function, size=3, batch_memory=limit), expected)
        # The first two are windows of ones.
        assert max(most[2:]) <= limit
    with pytest.raises(ValueError, match=r"insufficient for minimum chunk size.* 72 bytes"):
        f.vectorized_filter(x, function, size=3, batch_memory=71)
    with pytest.raises(BudgetError):
        f.vectorized_filter(x, np.max, size=9, memory_limit="1KiB")


def test_a_volume_of_valid_windows_is_read_where_they_are(tmp_path):
    x = rng().random((40, 30))
    np.save(tmp_path / "in.npy", x)
    valid = f.vectorized_filter(v.open(tmp_path / "in.npy"), np.median, size=(5, 4), mode="valid")
    assert valid.shape == (36, 27)
    same(np.asarray(valid[3:9, 4:]), windows_of(x, np.median, (5, 4), mode="valid")[3:9, 4:])
    with pytest.raises(ValueError, match="a window of 41 points along axis 0, which has 40"):
        f.vectorized_filter(x, np.max, size=(41, 1), mode="valid")


def test_arrays_of_one_value_and_of_none():
    assert f.vectorized_filter(np.array(7.0), np.mean, size=()).shape == ()
    assert f.vectorized_filter(np.array(7.0), np.mean, size=()) == 7
    for shape in ((0,), (1, 0), (0, 1, 0)):
        assert f.vectorized_filter(np.empty(shape), np.mean, size=1).shape == shape
    x = rng().random((4, 5))
    assert np.array_equal(f.vectorized_filter(x, np.mean, size=(), axes=()), x)
    same(f.vectorized_filter(x, np.max, size=21), np.full(x.shape, x.max()))


REFUSED = {
    "Either `size` or `footprint` must be provided": {},
    "may be provided, not both": {"size": 2, "footprint": np.ones((2, 2))},
    "All elements of `size` must be positive integers": {"size": (1, -1)},
    "All elements of `size` must be positive integers, not 1.5": {"size": 1.5},
    "All-zero footprint": {"footprint": np.zeros((2, 2))},
    "The length of `axes` may not exceed": {"size": 1, "axes": (0, 1, 2)},
    "axes must be unique": {"size": 1, "axes": (0, 0)},
    "`axes` must be compatible with the dimensionality": {"size": (2,)},
    "All elements of `origin` must be integers": {"size": 2, "origin": (1, 1.5)},
    "`origin` must be an integer or tuple of integers with length": {
        "size": 2,
        "origin": (1, 2, 3),
    },
    "invalid origin 5": {"size": 2, "origin": 5},
    "`mode` must be one of .*valid, not 'renormalize'": {"size": 2, "mode": "renormalize"},
    "incompatible with use of `origin`": {"size": 2, "mode": "valid", "origin": 1},
    "`cval` is compatible only with": {"size": 2, "cval": 1},
    "`cval` must include only numbers": {"size": 2, "mode": "constant", "cval": "a duck"},
    "`batch_memory` must be positive number, not 0": {"size": 2, "batch_memory": 0},
    "`batch_memory` must be positive number, not 'a lot'": {"size": 2, "batch_memory": "a lot"},
    r"gives arrays of shape \(\) for a window and \(\) for two": {
        "function": lambda a, axis: 1.0,
        "size": 2,
    },
    r"gives an array of shape \(\d+, 2\) for \d+ windows, and not \(\d+, 2, 2\)": {
        "function": lambda a, axis: a if len(a) < 3 else a[:, 0],
        "size": (2, 2),
    },
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_wrong_is_told(words):
    call = {"function": np.max} | REFUSED[words]
    with pytest.raises(ValueError, match=words):
        f.vectorized_filter(np.ones((10, 10)), **call)


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="a str is no function of Python"):
        f.vectorized_filter(np.ones(3), "mean", size=3)


def test_errors_of_functions_come_through():
    class Mine(Exception):
        """An error of the caller."""

    def fails(values, axis):
        if values.max() > 1:
            raise Mine
        return values.max(axis=axis)

    x = np.arange(20.0).reshape(4, 5)
    for words in ({}, {"memory_limit": "1MiB", "devices": "cpu*2"}):
        with pytest.raises(Mine):
            f.vectorized_filter(x, fails, size=3, **words)
    with pytest.raises(RuntimeError, match=r"computing .* failed: .*Mine"):
        np.asarray(f.vectorized_filter(v.open(x), fails, size=3))
