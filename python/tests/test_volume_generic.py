"""Filters that call functions of the caller, against SciPy's."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.ndimage as nd

from arrayloom import filters as f
from arrayloom import volumes as v
from arrayloom.errors import BudgetError

MODES = ["reflect", "mirror", "nearest", "wrap", "constant", "grid-mirror", "grid-wrap", "grid-constant"]  # fmt: skip


def rng():
    return np.random.default_rng(3)


ARRAYS = {
    "line": rng().random(17),
    "short": rng().random((3, 2)),
    "image": rng().random((8, 9)).astype("f4"),
    "volume": rng().integers(0, 99, (5, 6, 7)).astype("u2"),
    "point": np.array(7.0),
    "one": rng().random((1, 5)),
    "nothing": np.zeros((0, 4)),
}


def weighted(values, power=1, *, scale=1.0):
    """Something that depends on the order of values."""
    return scale * float((values**power * np.arange(1.0, values.size + 1)).sum())


def smooth(line, out, first=1.0, *, last=1.0):
    out[:] = first * line[:-2] + line[1:-1] + last * line[2:]


def same(ours, theirs):
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ARRAYS)
def test_windows_are_scipys(name, mode):
    x = ARRAYS[name]
    rank = x.ndim
    cross = nd.generate_binary_structure(max(rank, 1), 1) if rank else np.array(True)
    corner = np.zeros((3, 4, 2)[:rank], bool)
    corner.reshape(-1)[::3] = True
    for words in (
        {"size": 3},
        {"size": (4, 2, 5)[:rank]},
        {"size": (1, 3, 1)[:rank], "origin": (0, -1, 0)[:rank]},
        {"footprint": cross},
        {"footprint": corner, "origin": (1, 1, -1)[:rank]},
        {"size": 7, "cval": 2.5},
    ):
        if rank == 0 and "footprint" not in words:
            words = {"size": 1}
        call = {"mode": mode, "output": "f8", **words}
        theirs = nd.generic_filter(x.astype("f8"), weighted, **call)
        same(f.generic_filter(x, weighted, **call), theirs)
        same(np.asarray(f.generic_filter(v.open(x), weighted, **call)), theirs)


@pytest.mark.parametrize("axes", [(0,), (2,), (0, 2), (-1, 1), ()])
def test_some_axes(axes):
    x = ARRAYS["volume"].astype("f8")
    for words in ({"size": 3}, {"size": 2, "mode": "wrap"}):
        theirs = nd.generic_filter(x, weighted, axes=axes, **words)
        same(f.generic_filter(x, weighted, axes=axes, **words), theirs)
    modes = ["wrap", "constant", "mirror"]
    one_by_one = f.generic_filter(x, np.max, 3, mode=modes, cval=-1)
    same(one_by_one, f.maximum_filter(x, 3, mode=modes, cval=-1))


def test_clipped_windows_have_the_voxels_inside():
    for name in ("line", "image", "volume", "short"):
        x = ARRAYS[name]
        for size in (3, 4, (1, 3, 2)[: x.ndim]):
            found = f.generic_filter(x, np.mean, size, output="f8", mode="renormalize")
            wanted = f.mean_filter(x.astype("f8"), size, mode="renormalize")
            np.testing.assert_allclose(found, wanted, rtol=1e-12)
            counts = f.generic_filter(x, np.size, size, output="i8", mode="renormalize")
            ones = np.ones(x.shape)
            assert np.array_equal(counts, nd.generic_filter(ones, np.sum, size, mode="constant"))
    for size in (3, (3, 5), (5, 3)):
        for mode in (["renormalize", "wrap"], ["wrap", "renormalize"]):
            for x in (ARRAYS["image"], ARRAYS["image"][:, :2], rng().random((3, 700))):
                found = f.generic_filter(x, np.mean, size, output="f8", mode=mode)
                wanted = f.mean_filter(x.astype("f8"), size, mode=mode)
                np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_arguments_and_kinds_of_results():
    x = ARRAYS["image"]
    words = {"extra_arguments": (2,), "extra_keywords": {"scale": 0.5}}
    same(f.generic_filter(x, weighted, 3, **words), nd.generic_filter(x, weighted, 3, **words))
    with pytest.warns(UserWarning, match="ignoring size") as told:
        f.generic_filter(x, weighted, 3, np.ones((2, 2)))
    assert told[0].filename == __file__
    out = np.zeros(x.shape)
    assert f.generic_filter(x, weighted, 3, output=out) is out
    same(out, nd.generic_filter(x, weighted, 3, output="f8"))
    # Integers are rounded once, and saturate.
    assert f.generic_filter(np.array([1, 2], "u1"), lambda a: 2.5 * a[0], 1).tolist() == [2, 5]
    assert f.generic_filter(np.array([9, 200], "u1"), lambda a: 2 * a[0], 1).tolist() == [18, 255]
    assert f.generic_filter(x > 0.5, np.max, 3).dtype == bool
    for size in (3, 5):
        given = f.generic_filter(x, lambda a: np.array(a.sum()), size)
        np.testing.assert_allclose(given, nd.generic_filter(x, np.sum, size), rtol=1e-6)


def test_values_that_are_no_numbers_and_zeros_come_as_they_are():
    x = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, 2.0**53])
    seen = []

    def function(values):
        seen.append(values.tobytes())
        return 0.0

    f.generic_filter(x, function, 2, mode="constant", cval=np.nan)
    wide = np.concatenate([[np.nan], x])
    assert seen == [wide[i : i + 2].tobytes() for i in range(x.size)]


def test_functions_may_keep_and_change_their_values():
    kept = []

    def function(values):
        kept.append(values)
        first = values[0]
        values[:] = -1
        return first

    x = ARRAYS["line"]
    same(f.generic_filter(x, function, 3), nd.generic_filter(x, lambda a: a[0], 3))
    assert len(kept) == x.size


@pytest.mark.parametrize("limit", ["40KiB", "200KiB", "4MiB"])
@pytest.mark.parametrize("mode", ["reflect", "constant", "renormalize", "wrap"])
def test_volumes_are_filtered_block_by_block(tmp_path, mode, limit):
    x = rng().random((20, 14, 12))
    np.save(tmp_path / "in.npy", x)
    source = v.open(tmp_path / "in.npy")
    for name, words in (
        ("generic_filter", (weighted, (3, 2, 3))),
        ("generic_filter1d", (smooth, 3, 1)),
    ):
        if name == "generic_filter1d" and mode == "renormalize":
            continue
        work = getattr(f, name)(source, *words, mode=mode) * 2 + source
        report = v.save(tmp_path / "out.npy", work, memory_limit=limit)
        assert report["peak"] <= {"40KiB": 40, "200KiB": 200, "4MiB": 4096}[limit] << 10
        assert limit == "4MiB" or report["blocks"] > 1
        same(np.load(tmp_path / "out.npy"), getattr(f, name)(x, *words, mode=mode) * 2 + x)


def test_blocks_of_workers(tmp_path):
    x = rng().random((20, 14, 12))
    np.save(tmp_path / "in.npy", x)
    work = f.generic_filter(v.open(tmp_path / "in.npy"), weighted, 3)
    expected = nd.generic_filter(x, weighted, 3)
    v.save(tmp_path / "a.npy", work, devices="cpu*2", memory_limit="1MiB")
    same(np.load(tmp_path / "a.npy"), expected)
    with ThreadPoolExecutor(2) as pool:
        v.save(tmp_path / "b.npy", work, client=pool)
    same(np.load(tmp_path / "b.npy"), expected)
    same(f.generic_filter(x, weighted, 3, memory_limit="100KiB", devices="cpu*2"), expected)
    with pytest.raises(BudgetError):
        f.generic_filter(x, weighted, 9, memory_limit="10KiB")


def test_errors_of_functions_come_through():
    class Mine(Exception):
        """An error of the caller."""

    def fails(*_):
        raise Mine

    x = ARRAYS["image"]
    for call in (f.generic_filter, f.generic_filter1d):
        for words in ({}, {"memory_limit": "1MiB", "devices": "cpu*2"}):
            with pytest.raises(Mine):
                call(x, fails, 3, **words)
        with pytest.raises(RuntimeError, match=r"computing .* failed: .*Mine"):
            np.asarray(call(v.open(x), fails, 3))
    with pytest.raises(TypeError):
        f.generic_filter(x, lambda _: None, 3)
    with pytest.raises(RuntimeError, match="output shape not correct"):
        f.generic_filter(x, np.max, 3, output=np.zeros(2))


def test_functions_are_called_once_for_each_window_of_an_array():
    lock, calls = threading.Lock(), []

    def function(values):
        with lock:
            calls.append(values.size)
        return 0.0

    f.generic_filter(ARRAYS["image"], function, 3)
    assert calls == [9] * 72


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["line", "short", "image", "volume", "one"])
def test_lines_are_scipys(name, mode):
    x = ARRAYS[name].astype("f8")
    words = {"mode": mode, "cval": 1.5, "extra_arguments": (2.0,), "extra_keywords": {"last": 3.0}}
    for axis in range(-1, x.ndim):
        for origin in (-1, 0, 1):
            theirs = nd.generic_filter1d(x, smooth, 3, axis, origin=origin, **words)
            same(f.generic_filter1d(x, smooth, 3, axis, origin=origin, **words), theirs)
            volume = f.generic_filter1d(v.open(x), smooth, 3, axis, origin=origin, **words)
            same(np.asarray(volume), theirs)

    def longer(line, out):
        out[:] = [line[i : i + 6].max() for i in range(out.size)]

    same(f.generic_filter1d(x, longer, 6, mode=mode), nd.generic_filter1d(x, longer, 6, mode=mode))


def test_lines_of_nothing_and_results_of_integers():
    assert f.generic_filter1d(np.zeros((0, 3)), smooth, 3).shape == (0, 3)
    assert f.generic_filter1d(np.zeros((3, 0)), smooth, 3).shape == (3, 0)
    x = ARRAYS["volume"]
    theirs = nd.generic_filter1d(x, smooth, 3, output="f8")
    same(f.generic_filter1d(x, smooth, 3, output="f8"), theirs)
    assert f.generic_filter1d(x, smooth, 3).dtype == x.dtype


REFUSED = {
    "complex windows": lambda m, x: m.generic_filter(x * 1j, np.max, 3),
    "complex lines": lambda m, x: m.generic_filter1d(x * 1j, smooth, 3),
    "no size": lambda m, x: m.generic_filter(x, np.max),
    "no filter size": lambda m, x: m.generic_filter1d(x, smooth, 0),
    "origin": lambda m, x: m.generic_filter(x, np.max, 3, origin=2),
    "origin of lines": lambda m, x: m.generic_filter1d(x, smooth, 3, origin=-2),
    "axis": lambda m, x: m.generic_filter1d(x, smooth, 3, axis=2),
    "mode": lambda m, x: m.generic_filter(x, np.max, 3, mode="round"),
    "mode of lines": lambda m, x: m.generic_filter1d(x, smooth, 3, mode="round"),
    "axes": lambda m, x: m.generic_filter(x, np.max, (3, 3), axes=0),
    "axes twice": lambda m, x: m.generic_laplace(x, m.sobel, axes=(0, 0)),
    "modes": lambda m, x: m.generic_laplace(x, m.sobel, mode=["wrap"] * 3),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_scipy_refuses_is_refused(name):
    x = np.ones((4, 5))
    with pytest.raises(Exception) as expected:  # noqa: PT011 - whatever SciPy raises
        REFUSED[name](nd, x)
    with pytest.raises((TypeError, ValueError, RuntimeError)) as found:
        REFUSED[name](f, x)
    assert isinstance(found.value, expected.type)


def test_what_is_ours_is_refused_too():
    x = np.ones((4, 5))
    with pytest.raises(RuntimeError, match="lines cannot be clipped"):
        f.generic_filter1d(x, smooth, 3, mode="renormalize")
    for name, words in (
        ("generic_filter", (3,)),
        ("generic_filter1d", (3,)),
        ("generic_laplace", ()),
    ):
        with pytest.raises(TypeError, match="is no function of Python that could be called"):
            getattr(f, name)(x, "max", *words)
    with pytest.raises(TypeError, match="is a ndarray and no volume; give a function of volumes"):
        f.generic_laplace(v.open(x), lambda *_: x)
    with pytest.raises(ValueError, match=r"a derivative of shape \(3,\)"):
        f.generic_laplace(x, lambda *_: np.zeros(3))


def second(module):
    def derivative2(x, axis, output, mode, cval, weight=-2.0, *, scale=1.0):
        return module.correlate1d(x, [scale, scale * weight, scale], axis, output, mode, cval)

    return derivative2


def first(module):
    def derivative(x, axis, output, mode, cval):
        return module.prewitt(x, axis, output, mode, cval)

    return derivative


@pytest.mark.parametrize("mode", ["reflect", "mirror", "nearest", "wrap", "constant"])
@pytest.mark.parametrize("axes", [None, (0,), (1, 0), ()])
def test_derivatives_are_scipys(axes, mode):
    x = rng().random((9, 11))
    words = {"mode": mode, "cval": 0.5, "axes": axes}
    extra = {"extra_arguments": (-3.0,), "extra_keywords": {"scale": 2.0}}
    for name, make, given in (
        ("generic_laplace", second, {**words, **extra}),
        ("generic_gradient_magnitude", first, words),
    ):
        theirs = getattr(nd, name)(x, make(nd), **given)
        np.testing.assert_allclose(
            getattr(f, name)(x, make(f), **given), theirs, rtol=1e-12, atol=1e-14
        )
        # Functions of SciPy take arrays only.
        np.testing.assert_allclose(
            getattr(f, name)(x, make(nd), **given), theirs, rtol=1e-15, atol=1e-15
        )
        ours = getattr(f, name)(x, make(f), **given)
        same(np.asarray(getattr(f, name)(v.open(x), make(f), **given)), ours)


def test_derivatives_are_filters_of_ours(tmp_path):
    x = rng().random((9, 11, 8))
    for name, derivative, wanted in (
        ("generic_laplace", second(f), f.laplace(x)),
        ("generic_gradient_magnitude", f.sobel, np.sqrt(sum(f.sobel(x, d) ** 2 for d in range(3)))),
    ):
        np.testing.assert_allclose(getattr(f, name)(x, derivative), wanted, rtol=1e-12, atol=1e-12)
        work = getattr(f, name)(v.open(x), derivative)
        v.save(tmp_path / "out.npy", work, memory_limit="40KiB")
        same(np.load(tmp_path / "out.npy"), getattr(f, name)(x, derivative))
    modes = ["wrap", "nearest", "mirror"]
    theirs = nd.generic_laplace(x, second(nd), mode=modes)
    np.testing.assert_allclose(f.generic_laplace(x, second(f), mode=modes), theirs, atol=1e-14)


def test_derivatives_of_integers_are_floats_and_may_be_written():
    x = rng().integers(0, 200, (6, 7)).astype("u1")
    wide = x.astype("f4")
    assert f.generic_laplace(x, second(f)).dtype == np.float32
    same(f.generic_laplace(x, second(f)), f.generic_laplace(wide, second(f)))
    assert f.generic_gradient_magnitude(x, f.sobel, output="u1").max() == 255

    def written(x, axis, output, *_):
        output[...] = np.flip(x, axis)

    same(f.generic_laplace(wide, written), np.flip(wide, 0) + np.flip(wide, 1))
    out = np.zeros(x.shape)
    assert f.generic_laplace(wide, written, out) is out
    large = np.full((4, 4), 300, "f2")
    large[:, 2:] = 0
    assert np.isfinite(f.generic_gradient_magnitude(large, f.sobel)).all()
