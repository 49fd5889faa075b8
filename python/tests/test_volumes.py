"""Filters against SciPy, and volumes in files against arrays in memory."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.ndimage as nd

from arrayloom import filters as f
from arrayloom import volumes as v
from arrayloom.errors import BudgetError

MODES = ["reflect", "mirror", "nearest", "constant", "wrap"]
DTYPES = ["?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"]
SHAPES = [(200,), (9, 11), (5, 6, 7), (3, 1, 70), (2, 3, 4, 5)]


def data(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.random(shape) > 0.5
    if kind.kind in "iu":
        info = np.iinfo(kind)
        return rng.integers(max(info.min, -1000), min(info.max, 1000), shape, dtype=kind)
    return rng.normal(size=shape).astype(kind)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_order_filters_are_scipys_bit_for_bit(dtype, mode):
    for shape in SHAPES:
        x = data(shape, dtype)
        for size in (1, 2, 3, 4):
            for name in ("minimum_filter", "maximum_filter", "median_filter"):
                ours = getattr(f, name)(x, size, mode=mode, cval=1)
                theirs = getattr(nd, name)(x, size, mode=mode, cval=1)
                assert ours.dtype == theirs.dtype
                assert np.array_equal(ours, theirs), (name, shape, size)


@pytest.mark.parametrize("mode", MODES)
def test_footprints_ranks_and_origins_are_scipys(mode):
    rng = np.random.default_rng(1)
    for case in range(30):
        x = data((9, 8, 13), DTYPES[case % len(DTYPES)], case)
        shape = rng.integers(1, 5, 3)
        mask = rng.random(shape) > 0.4
        mask.flat[0] = True
        origin = [int(rng.integers(-(n // 2), (n - 1) // 2 + 1)) for n in shape]
        rank = int(rng.integers(0, mask.sum()))
        common = {"footprint": mask, "mode": mode, "cval": 1, "origin": origin}
        assert np.array_equal(f.minimum_filter(x, **common), nd.minimum_filter(x, **common))
        assert np.array_equal(f.maximum_filter(x, **common), nd.maximum_filter(x, **common))
        assert np.array_equal(f.rank_filter(x, rank, **common), nd.rank_filter(x, rank, **common))
        percent = float(rng.integers(0, 101))
        theirs = nd.percentile_filter(x, percent, **common)
        assert np.array_equal(f.percentile_filter(x, percent, **common), theirs)


@pytest.mark.parametrize("name", ["minimum_filter", "maximum_filter", "uniform_filter"])
def test_boxes_of_one_point_have_no_origin(name):
    x = data((9, 8), "f8", 1)
    for size in (1, (1, 5), (4, 1)):
        ours = getattr(f, name)(x, size, origin=1)
        np.testing.assert_allclose(ours, getattr(nd, name)(x, size, origin=1), rtol=1e-12)
    with pytest.raises(ValueError, match="invalid origin 3"):
        getattr(f, name)(x, 3, origin=3)


@pytest.mark.parametrize("mode", MODES)
def test_weighted_sums_are_scipys_within_rounding(mode):
    for shape in SHAPES:
        x = data(shape, "f8", 3)
        near = {"rtol": 1e-11, "atol": 1e-11}
        for sigma, order in [(1, 0), (0.7, 1), (2, 2), (1.5, 3)]:
            ours = f.gaussian_filter(x, sigma, order, mode=mode, cval=1)
            np.testing.assert_allclose(
                ours, nd.gaussian_filter(x, sigma, order, mode=mode, cval=1), **near
            )
        for size in (2, 3, 6):
            ours = f.uniform_filter(x, size, mode=mode, cval=1)
            np.testing.assert_allclose(ours, nd.uniform_filter(x, size, mode=mode, cval=1), **near)
        weights = data((3,) * x.ndim, "f8", 4)
        for name in ("correlate", "convolve"):
            ours = getattr(f, name)(x, weights, mode=mode, cval=1)
            np.testing.assert_allclose(
                ours, getattr(nd, name)(x, weights, mode=mode, cval=1), **near
            )
        for name in ("sobel", "prewitt", "laplace"):
            ours = getattr(f, name)(x, mode=mode, cval=1)
            np.testing.assert_allclose(ours, getattr(nd, name)(x, mode=mode, cval=1), **near)
        ours = f.gaussian_laplace(x, 1.2, mode=mode, cval=1)
        np.testing.assert_allclose(ours, nd.gaussian_laplace(x, 1.2, mode=mode, cval=1), **near)
        ours = f.gaussian_gradient_magnitude(x, 1.2, mode=mode, cval=1)
        np.testing.assert_allclose(
            ours, nd.gaussian_gradient_magnitude(x, 1.2, mode=mode, cval=1), **near
        )


@pytest.mark.parametrize("size", [2, 3, (1, 2, 4)])
def test_morphology_is_scipys(size):
    x = data((7, 9, 8), "u2")
    for name in (
        "grey_erosion",
        "grey_dilation",
        "grey_opening",
        "grey_closing",
        "white_tophat",
        "black_tophat",
        "morphological_gradient",
    ):
        assert np.array_equal(getattr(f, name)(x, size), getattr(nd, name)(x, size)), name


def test_renormalized_windows_are_clipped():
    x = data((6, 7), "f8", 2)
    ones = np.ones_like(x)
    weights = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.1], [0.3, 0.2, 0.7]])
    inside = nd.correlate(ones, weights, mode="constant")
    expected = nd.correlate(x, weights, mode="constant") / inside * weights.sum()
    np.testing.assert_allclose(f.correlate(x, weights, mode="renormalize"), expected, rtol=1e-12)
    np.testing.assert_allclose(
        f.uniform_filter(np.full((5, 4), 10.0), 4, mode="renormalize"), 10.0, rtol=1e-14
    )
    np.testing.assert_allclose(f.sobel(ones, mode="renormalize"), 0.0, atol=1e-14)
    line = np.array([5.0, 1.0, 3.0, 2.0, 4.0])
    assert f.median_filter(line, 3, mode="renormalize").tolist() == [5.0, 3.0, 2.0, 3.0, 4.0]
    assert f.minimum_filter(line, 3, mode="renormalize").tolist() == [1.0, 1.0, 1.0, 2.0, 2.0]
    assert f.rank_filter([5, 1, 9, 2], 1, 3, mode="renormalize").tolist() == [1, 5, 2, 2]
    assert f.median_filter([5, 1, 9, 2], 3, mode="renormalize").tolist() == [5, 5, 2, 9]


@pytest.mark.parametrize("percent", [10, 33.3, 50, 70, 95, -20])
@pytest.mark.parametrize("dtype", ["u1", "u2", "f4"])
def test_percentiles_of_clipped_windows_are_of_the_voxels_that_exist(dtype, percent):
    x = data((9, 12), dtype, 3)
    share = percent % 100
    for size in (3, (4, 5), 7):
        before = [n // 2 for n in np.broadcast_to(size, 2)]
        after = [n - n // 2 for n in np.broadcast_to(size, 2)]
        found = f.percentile_filter(x, percent, size, mode="renormalize")
        for at in np.ndindex(x.shape):
            box = tuple(
                slice(max(i - b, 0), i + a) for i, b, a in zip(at, before, after, strict=True)
            )
            values = np.sort(x[box], axis=None)
            place = min(int(values.size * share / 100), values.size - 1)
            assert found[at] == values[place], (size, at)


def test_integers_are_rounded_once_and_saturate():
    rng = np.random.default_rng(5)
    x = rng.integers(0, 4000, (20, 30, 30), dtype=np.uint16)
    exact = nd.gaussian_filter(x.astype(float), 2)
    assert np.abs(f.gaussian_filter(x, 2) - exact).max() <= 0.5 + 1e-2
    assert f.sobel(np.array([10, 20, 5], np.uint8)).tolist() == [10.0, -5.0, -15.0]
    assert np.all(f.gaussian_laplace(np.eye(9, dtype=np.uint32) * 1000, 1) != 0)
    assert f.difference(np.array([-100], np.int8), np.array([100], np.int8)).tolist() == [-128]


def test_a_nan_spoils_its_windows_and_no_others():
    x = data((12, 40), "f4", 7)
    x[5, 17] = np.nan
    near = np.zeros(x.shape, bool)
    near[4:7, 16:19] = True
    for name in ("minimum_filter", "maximum_filter", "median_filter", "uniform_filter"):
        assert np.array_equal(np.isnan(getattr(f, name)(x, 3)), near), name


@pytest.mark.parametrize("shape", [(0,), (0, 5), (1,), (1, 1, 1)])
def test_empty_and_tiny_arrays(shape):
    x = np.ones(shape)
    for mode in [*MODES, "renormalize"]:
        for result in (
            f.gaussian_filter(x, 3, mode=mode, cval=1),
            f.median_filter(x, 5, mode=mode, cval=1),
        ):
            np.testing.assert_allclose(result, x)


def test_strides_byte_orders_lists_and_outputs():
    x = data((10, 12, 14), "f4")
    plain = f.gaussian_filter(x, 1)
    assert np.array_equal(
        f.gaussian_filter(x[::-1, :, ::2], 1), f.gaussian_filter(x[::-1, :, ::2].copy(), 1)
    )
    assert np.array_equal(f.gaussian_filter(np.asfortranarray(x), 1), plain)
    assert np.array_equal(f.gaussian_filter(x.astype(">f4"), 1), plain)
    out = np.empty(x.shape, np.float32)
    assert f.gaussian_filter(x, 1, output=out) is out
    assert np.array_equal(out, plain)
    assert f.gaussian_filter(x, 1, output=np.float64).dtype == np.float64
    z = x + 1j * x[::-1]
    np.testing.assert_allclose(
        f.gaussian_filter(z, 1), f.gaussian_filter(z.real, 1) + 1j * f.gaussian_filter(z.imag, 1)
    )


def test_errors_say_what_is_wrong(tmp_path):
    x = np.zeros((4, 4))
    x.tofile(tmp_path / "x.raw")
    for call, text in [
        (lambda: f.gaussian_filter(x, 1, mode="mirrored"), "mirrored"),
        (lambda: f.gaussian_filter(x, (1, 2, 3)), "3 entries for 2"),
        (lambda: f.median_filter(x), "no footprint"),
        (lambda: f.rank_filter(x, 9, 3), "rank 9"),
        (lambda: f.minimum_filter(x, 3, origin=5), "origin"),
        (lambda: f.gaussian_filter(x, 1, axes=(0, 0)), "unique"),
        (lambda: v.open("nothing.npy"), "does not exist"),
        (lambda: v.open("file:///tmp/nothing.npy"), "not a URL"),
        (lambda: v.open(tmp_path / "x.raw", shape=(-1, 4), dtype="d"), "negative extent"),
    ]:
        with pytest.raises((ValueError, RuntimeError, FileNotFoundError), match=text):
            call()


@pytest.fixture
def volume(tmp_path):
    x = data((40, 30, 50), "f4", 9)
    np.save(tmp_path / "in.npy", x)
    return x, tmp_path


@pytest.mark.parametrize("limit", ["64KiB", "200KiB", "1MiB", "1GiB"])
def test_any_expression_streams_to_a_file_with_the_bits_of_memory(volume, limit):
    x, folder = volume
    source = v.open(folder / "in.npy")
    expr = f.median_filter(f.gaussian_filter(source, (1, 0.6, 0.6)), (1, 3, 3)) - source * 2
    seen = []
    report = v.save(
        folder / "out.npy", expr, memory_limit=limit, progress=lambda *p: seen.append(p)
    )
    expected = f.median_filter(f.gaussian_filter(x, (1, 0.6, 0.6)), (1, 3, 3)) - x * 2
    assert np.array_equal(np.load(folder / "out.npy"), expected)
    assert seen[-1][:2] == (x.size, x.size)
    assert (
        report["peak"] <= {"64KiB": 64, "200KiB": 200, "1MiB": 1024, "1GiB": 1 << 20}[limit] << 10
    )
    assert sorted(p.name for p in folder.iterdir()) == ["in.npy", "out.npy"]


def test_slices_indices_transposes_and_broadcasts(volume):
    x, folder = volume
    source = v.open(folder / "in.npy")
    for expr, expected in [
        (source[5:30:2, ::-1, 3], x[5:30:2, ::-1, 3]),
        (source.T[2:9] + 1, x.T[2:9] + 1),
        (source[..., -1], x[..., -1]),
        (np.sqrt(np.abs(source)) * np.arange(50.0), np.sqrt(np.abs(x)) * np.arange(50.0)),
        (source[:, :, :1] - source, x[:, :, :1] - x),
        (source.astype("i2"), x.astype("i2")),
    ]:
        v.save(folder / "out.npy", expr, memory_limit="300KiB")
        result = np.load(folder / "out.npy")
        assert result.dtype == expected.dtype
        assert np.array_equal(result, expected)
        assert np.array_equal(np.asarray(expr), expected)


def test_a_stopped_run_goes_on_where_it_stopped(volume):
    x, folder = volume
    expr = f.maximum_filter(v.open(folder / "in.npy"), 3)

    def stop(voxels, total, used):
        if voxels * 2 > total:
            raise KeyboardInterrupt

    out = folder / "out.npy"
    with pytest.raises(KeyboardInterrupt):
        v.save(out, expr, memory_limit="100KiB", progress=stop, resume=True)
    assert not out.exists()
    journal = folder / ".out.npy.arrayloom-journal"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    assert len(lines) > 2
    seen = []
    v.save(out, expr, memory_limit="100KiB", progress=lambda *p: seen.append(p[0]), resume=True)
    assert seen[0] > x.size // 2
    assert np.array_equal(np.load(out), f.maximum_filter(x, 3))
    assert not journal.exists()


def test_limits_that_are_too_small_say_the_least_that_works(volume):
    _, folder = volume
    expr = f.gaussian_filter(v.open(folder / "in.npy"), 2)
    with pytest.raises(BudgetError, match="smallest block takes"):
        v.save(folder / "out.npy", expr, memory_limit=1000)
    assert [p.name for p in folder.iterdir()] == ["in.npy"]


def test_a_file_cannot_be_read_and_written_at_once(volume):
    _, folder = volume
    with pytest.raises(ValueError, match="another name"):
        v.save(folder / "in.npy", v.open(folder / "in.npy") + 1)


def test_hdf5_and_raw_files(volume):
    x, folder = volume
    v.convert(folder / "in.npy", folder / "a.h5", chunks=(8, 16, 16), memory_limit="400KiB")
    v.convert(folder / "a.h5", folder / "b.raw", memory_limit="300KiB")
    assert np.array_equal(v.open(folder / "b.raw", shape=x.shape, dtype="f4"), x)


def test_objects_with_slices_are_sources_and_sinks():
    class Slow:
        shape = (60, 60)
        dtype = np.dtype(">i2")
        values = np.arange(3600, dtype=">i2").reshape(60, 60)

        def __getitem__(self, key):
            return self.values[key]

    target = np.zeros((60, 60), "i2")

    boxes = []

    class Sink:
        shape = (60, 60)
        chunks = (8, 8)

        def __setitem__(self, key, value):
            boxes.append(key)
            target[key] = value

    v.save(Sink(), f.minimum_filter(v.open(Slow()), 3), memory_limit="9KiB")
    assert np.array_equal(target, nd.minimum_filter(Slow.values, 3))
    assert len(boxes) > 1
    assert all(s.start % 8 == 0 and (s.stop % 8 == 0 or s.stop == 60) for key in boxes for s in key)


def test_sums_extremes_and_thresholds():
    x = np.concatenate([data((300, 20), "f8", 1).ravel(), [1e300, -1e300, 1e-300]])
    import math

    assert v.sum(x, memory_limit="64KiB") == math.fsum(x)
    assert v.sum(np.full(10, 2**63 - 1)) == 10 * (2**63 - 1)
    assert v.min_max(x, memory_limit="64KiB") == (-1e300, 1e300)
    counts, edges = v.histogram(x[:-3], 17)
    theirs = np.histogram(x[:-3], 17)
    assert np.array_equal(counts, theirs[0])
    assert np.array_equal(edges, theirs[1])


@pytest.mark.parametrize("name", ["plan.svg", "plan.png"])
def test_plans_tell_and_draw(volume, name):
    _, folder = volume
    plan = v.plan(f.gaussian_filter(v.open(folder / "in.npy"), 2), memory_limit="128KiB")
    assert plan.peak <= 128 << 10
    assert plan.blocks > 1
    assert "blocks" in str(plan)
    plan.draw(folder / name)
    head = Path(folder / name).read_bytes()[:8]
    assert head.startswith((b"<svg", b"\x89PNG"))


def test_pictures_of_plans_show_the_axes_that_are_cut(tmp_path):
    source = v.open(np.zeros((60, 80, 100), "u2"))
    plan = v.plan(f.median_filter(source, 5), memory_limit=200_000)
    cut = [d for d, bounds in enumerate(plan.facts["bounds"]) if len(bounds) > 2]
    plan.draw(tmp_path / "plan.svg")
    text = (tmp_path / "plan.svg").read_text(encoding="utf-8")
    assert cut == [0]
    assert "axes 0 (down) and 2;" in text
    assert text.count('fill="none" stroke="black"') == plan.blocks
