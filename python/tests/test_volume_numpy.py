"""NumPy's functions on volumes: the bits of NumPy on arrays, through a memory that holds a part of them."""

import numpy as np
import pytest

from arrayloom import filters as f
from arrayloom import volumes as v

SHAPE = (12, 18, 20)


def data(dtype):
    rng = np.random.default_rng(6)
    x = rng.integers(-99, 100, SHAPE) * rng.random(SHAPE)
    with np.errstate(invalid="ignore"):
        return x.astype(dtype)


ALONG = {
    "sum": lambda x: np.sum(x, axis=0),
    "sum of two axes": lambda x: x.sum(axis=(0, 2)),
    "sum kept": lambda x: np.sum(x, axis=1, keepdims=True),
    "mean": lambda x: x.mean(axis=0),
    "mean last": lambda x: np.mean(x, axis=-1),
    "std": lambda x: np.std(x, axis=0),
    "var": lambda x: x.var(axis=(1, 2), ddof=1),
    "normalised": lambda x: (x - x.mean(axis=0)) / (1 + x.std(axis=0)),
    "by planes": lambda x: x - x.mean(axis=(1, 2), keepdims=True),
    "projection": lambda x: x.max(axis=0),
    "argmax": lambda x: np.argmax(x, axis=1),
    "median": lambda x: np.median(x, axis=0),
    "percentiles": lambda x: np.percentile(x, [5, 50, 99.5], axis=0),
    "quantile": lambda x: np.quantile(x, 0.3, axis=2),
    "any": lambda x: np.any(x > 3, axis=0),
    "count": lambda x: np.count_nonzero(x > 0, axis=0),
    "cumsum": lambda x: np.cumsum(x, axis=1),
    "sort": lambda x: np.sort(x, axis=0),
    "reduce": lambda x: np.add.reduce(x, axis=1),
    "accumulate": lambda x: np.maximum.accumulate(x, axis=0),
    "concatenate": lambda x: np.concatenate([x, x[:3], np.ones((2, *SHAPE[1:]), x.dtype)], axis=0),
    "stack": lambda x: np.stack([x, x[::-1]], axis=1),
    "slices": lambda x: x[1:11:3, ::-2, 4],
    "new axes": lambda x: x[:, None, 3:9, ..., None],
    "crop and pad": lambda x: np.pad(x[2:9], ((1, 2), (0, 3), (4, 0)), constant_values=3),
    "reflected": lambda x: np.pad(x, 2, mode="reflect"),
    "symmetric": lambda x: np.pad(x, ((0, 3), (1, 0), (2, 2)), mode="symmetric"),
    "edges": lambda x: np.pad(x, ((1, 2), (0, 0), (3, 0)), mode="edge"),
    "wrapped": lambda x: np.pad(x, 2, mode="wrap"),
    "roll": lambda x: np.roll(x, (5, -3), axis=(0, 2)),
    "flip": lambda x: np.flip(x, 1),
    "swapped": lambda x: np.swapaxes(x, 0, 2)[3:7],
    "moved": lambda x: np.moveaxis(x, -1, 0),
    "transposed": lambda x: x.T + np.arange(12, dtype=x.dtype),
    "difference": lambda x: np.diff(x, axis=0),
    "squeezed": lambda x: np.squeeze(x[:, 4:5]),
    "mask": lambda x: np.where(x > 5, x, 0),
    "mask of masks": lambda x: ((x > 1) & (x < 50)) | ~(x == 0),
    "clip": lambda x: np.clip(x, 0, 60),
    "dtypes": lambda x: (x.astype("f8") * 0.5).astype("i2"),
    "in place": lambda x: inplace(x),
    "both results": lambda x: np.divmod(x, 7)[1],
    "table": lambda x: np.interp(x, [0, 10, 50], [0.0, 1.0, 0.0]),
    "bins": lambda x: np.digitize(x, [0, 10, 50]),
    "isin": lambda x: np.isin(x, [0, 1, 2]),
    "broadcast": lambda x: x[0] * np.ones((5, 1, 1), x.dtype),
    "whole": lambda x: (x - x.min()) / (x.max() - x.min() + 1),
    "threshold": lambda x: x > np.percentile(x, 90),
    "filter": lambda x: f.gaussian_filter(x, 1) - x[::-1].mean(axis=0),
    "spectrum": lambda x: np.abs(np.fft.rfft(x, axis=1)),
    "like": lambda x: np.zeros_like(x) + np.full_like(x, 3),
    "empty like": lambda x: np.isnan(np.empty_like(x)) & False,
    "take": lambda x: np.take(x, [3, 0, -1, 3, 3], axis=1),
    "take one": lambda x: np.take(x, 2, axis=0),
    "methods": lambda x: x.take([2, 3], axis=0).repeat(2, axis=1).diagonal(),
    "take clipped": lambda x: np.take(x, [-5, 3, 99], axis=0, mode="clip"),
    "list of places": lambda x: x[2:, [0, -3, 5, 5], None],
    "many places": lambda x: x[..., np.arange(60) * 7 % 20],
    "truth values along an axis": lambda x: x[:, np.arange(18) % 5 > 1],
    "gradient": lambda x: np.gradient(x, 0.5, axis=1),
    "gradients": lambda x: np.stack(np.gradient(x, 2, 3.0, axis=(2, 0), edge_order=2)),
    "quarter turn": lambda x: np.rot90(x, axes=(2, 1)),
    "half turn": lambda x: np.rot90(x, 2),
    "three quarters": lambda x: np.rot90(x, -1, (0, 2)),
    "repeat": lambda x: np.repeat(x, 3, axis=1),
    "repeat each": lambda x: np.repeat(x, np.arange(12) % 3, axis=0),
    "tile": lambda x: np.tile(x[:, :4], (2, 1, 3)),
    "tile more axes": lambda x: np.tile(x[0], (2, 1, 2)),
    "split": lambda x: np.stack(np.split(x, 3, axis=1)),
    "uneven parts": lambda x: np.array_split(x, 5)[1] + np.array_split(x, [3, 6])[1],
    "deep": lambda x: np.dstack([x[0], x[1]]),
    "diagonal": lambda x: np.diagonal(x, -2, 2, 0),
    "diagonal of nothing": lambda x: np.diagonal(x, 99),
    "wide reflection": lambda x: np.pad(x, ((30, 1), (0, 0), (3, 44)), mode="reflect"),
    "wide symmetry": lambda x: np.pad(x[:2], ((5, 6), (0, 0), (0, 0)), mode="symmetric"),
    "wide wrap": lambda x: np.pad(x, ((0, 29), (0, 0), (21, 0)), mode="wrap"),
    "pad of one": lambda x: np.pad(x[:1], ((2, 2), (0, 0), (0, 0)), mode="reflect"),
    "shifted": lambda x: np.fft.fftshift(x[:, :7]) + np.fft.ifftshift(x[:, :7], axes=(1,)),
}


def inplace(x):
    x = x + 1
    x *= 2
    x -= 3
    return x


@pytest.mark.parametrize("dtype", ["f4", "u2"])
@pytest.mark.parametrize("name", ALONG)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_expressions_stream_with_the_bits_of_numpy(tmp_path, name, dtype):
    x = data("i2").astype("u2") if dtype == "u2" else data(dtype)
    expected = np.asarray(ALONG[name](x))
    np.save(tmp_path / "in.npy", x)
    volume = ALONG[name](v.open(tmp_path / "in.npy"))
    assert (volume.shape, volume.dtype) == (expected.shape, expected.dtype)
    assert np.asarray(volume).tobytes() == expected.tobytes()
    report = v.save(tmp_path / "out.npy", volume, memory_limit="100KiB")
    assert np.load(tmp_path / "out.npy").tobytes() == np.ascontiguousarray(expected).tobytes()
    assert report["peak"] <= 100 << 10


NUMBERS = {
    "sum": np.sum,
    "mean": np.mean,
    "std": np.std,
    "var": lambda x: np.var(x, ddof=1),
    "prod": lambda x: np.prod(np.where(x == 0, 1, x)),
    "min": np.min,
    "ptp": np.ptp,
    "any": lambda x: np.any(x > 1),
    "all": lambda x: (x < 101).all(),
    "argmax": np.argmax,
    "argmin": lambda x: x.argmin(),
    "median": np.median,
    "median of a part": lambda x: np.median(x[:, :, 1:]),
    "percentile": lambda x: np.percentile(x, 12.5),
    "percentiles": lambda x: np.percentile(x, [0, 33, 100]),
    "quantile": lambda x: np.quantile(x, np.float64(0.77)),
    "nanmean": np.nanmean,
    "nanmax": np.nanmax,
    "count": lambda x: np.count_nonzero(x),
    "kept": lambda x: x.sum(keepdims=True),
}


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i2", "u1", "?"])
@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_of_a_volume_are_those_of_numpy(name, dtype):
    x = data(dtype)
    if dtype == "?" and name in {
        "std",
        "var",
        "ptp",
        "median",
        "median of a part",
        "percentile",
        "percentiles",
        "quantile",
    }:
        x = x.astype("u1")
    expected, found = NUMBERS[name](x), NUMBERS[name](v.open(x))
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    assert np.array_equal(found, expected, equal_nan=True), (found, expected)


def test_sums_of_large_volumes_are_taken_in_numpys_order(monkeypatch):
    monkeypatch.setattr("arrayloom._volumes.whole._PART", 1024)
    monkeypatch.setattr("arrayloom._volumes.passes.default_limit", lambda: 40_000)
    for dtype in ("f4", "c8", "f2"):
        x = np.random.default_rng(0).random((7, 31, 53)).astype(dtype)
        assert v.open(x).sum() == x.sum()
        assert v.open(x[:, ::-1])[1:].mean() == np.ascontiguousarray(x[1:, ::-1]).mean()


def test_nan_is_found_wherever_it_lies():
    x = data("f4")
    x[3, 4, 5] = np.nan
    s = v.open(x)
    assert np.isnan(s.max())
    assert np.isnan(np.percentile(s, 1))
    assert np.argmax(s) == np.argmax(x)
    assert np.nanmin(s) == np.nanmin(x)
    assert np.nansum(s) == np.nansum(x)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda s: s[s > 3], IndexError, "numpy.where"),
        (lambda s: s[[1, 2], [3, 4]], IndexError, "along one axis"),
        (lambda s: s[[1, 2], 3], IndexError, "index it twice"),
        (lambda s: s[[1, 99]], IndexError, "out of bounds for an axis of 12"),
        (lambda s: s[[True, False]], IndexError, "2 truth values for an axis of 12"),
        (lambda s: s[[1.5]], IndexError, "not float64"),
        (lambda s: np.split(s, 5), ValueError, "array_split"),
        (lambda s: np.gradient(s, np.arange(12.0), 1, 1), TypeError, "one distance"),
        (lambda s: np.take(s, 3), TypeError, "axis="),
        (lambda s: np.linalg.svd(s), TypeError, "svd does not go over a volume"),
        (lambda s: s @ s, TypeError, "matmul"),
        (lambda s: bool(s), ValueError, "any"),
        (lambda s: float(s), TypeError, "one voxel"),
        (lambda s: np.sum(s, axis=3), np.exceptions.AxisError, "3"),
        (lambda s: s.reshape(-1), AttributeError, "reshape"),
        (lambda s: np.cumsum(s), TypeError, "axis="),
        (lambda s: np.concatenate([s, s[1:]], axis=1), ValueError, "fit together"),
        (lambda s: np.add(s, s, out=np.zeros(SHAPE, "i4")), TypeError, "does not become int32"),
        (lambda s: np.add(1, 2, out=s), TypeError, "into an array, not into a Volume"),
        (lambda s: np.add(s, s, out=np.zeros(3)), ValueError, "broadcast"),
        (lambda s: np.mean(s, axis=0, out=np.zeros(18)), ValueError, r"\(18, 20\).*out \(18,\)"),
        (
            lambda s: np.add(s, s, out=np.frombuffer(bytes(17280), "f4").reshape(SHAPE)),
            ValueError,
            "only be read",
        ),
        (lambda s: np.pad(s, 1, mode="mean"), NotImplementedError, "modes"),
    ],
)
def test_what_does_not_stream_says_so(call, error, words):
    with pytest.raises(error, match=words):
        call(v.open(data("f4")))


def test_ufuncs_fold_all_axes_too():
    x = data("d")
    for ufunc in (np.add, np.maximum, np.multiply):
        assert ufunc.reduce(v.open(x), axis=None) == ufunc.reduce(x, axis=None)
    assert np.array_equal(np.add.reduce(v.open(x)), np.add.reduce(x))


def test_averages_of_integers_are_those_of_numpy():
    x = np.arange(200, 254, dtype="u1").reshape(6, 9)
    assert np.average(v.open(x), weights=x) == np.average(x, weights=x)
    for axis in (0, 1):
        weights = np.arange(1, x.shape[axis] + 1)
        expected = np.average(x, axis=axis, weights=weights)
        assert np.array_equal(np.average(v.open(x), axis=axis, weights=weights), expected)
    with pytest.raises(ZeroDivisionError, match="sum to zero"):
        np.average(v.open(x), weights=np.zeros(x.shape))


@pytest.mark.parametrize(
    "words", [{"mode": "reflect", "reflect_type": "odd"}, {"mode": "edge", "constant_values": 1}]
)
def test_pads_with_other_words_are_refused(words):
    with pytest.raises(NotImplementedError, match="takes no"):
        np.pad(v.open(data("d")), 2, **words)


INTO = {
    "add": lambda x, y, out: np.add(x, y, out=out),
    "as the operator": lambda x, y, out: np.multiply(out, x, out=out),
    "sum": lambda x, y, out: np.sum(np.stack([x, y]), axis=0, out=out),
    "method": lambda x, y, out: np.stack([x, x, y]).max(axis=0, out=out),
    "reduce": lambda x, y, out: np.add.reduce(np.stack([x, y, x]), axis=0, out=out),
    "accumulate": lambda x, y, out: np.add.accumulate(x, axis=1, out=out),
    "concatenate": lambda x, y, out: np.concatenate([x[3:], y[:3]], out=out),
}


@pytest.mark.parametrize("name", INTO)
def test_results_go_into_arrays(name):
    x, y = data("f4"), data("i2").astype("f4")
    expected, found = x.copy(), x.copy()
    INTO[name](x, y, expected)
    assert INTO[name](v.open(x.copy()), v.open(y), found) is found
    assert found.tobytes() == expected.tobytes()


def test_arrays_take_what_is_added_to_them():
    x, wide = data("i2"), np.zeros((2, *SHAPE))
    z = x.copy()
    z += v.open(x)[::-1]
    assert np.array_equal(z, x + x[::-1])
    z = x.copy()
    z -= v.open(z)[::-1]
    assert np.array_equal(z, x - x[::-1])
    wide += v.open(x)
    assert np.array_equal(wide, np.stack([x, x]))
    whole, rest = np.zeros(SHAPE), np.zeros(SHAPE)
    np.divmod(v.open(x), 7, out=(whole, rest))
    assert np.array_equal(whole, x // 7)
    assert np.array_equal(rest, x % 7)
    # Sums are taken in the dtype of the array, as in NumPy.
    single = data("f4")
    expected, found = np.zeros((18, 20)), np.zeros((18, 20))
    np.sum(single, axis=0, out=expected)
    np.sum(v.open(single), axis=0, out=found)
    assert np.array_equal(found, expected)
    with pytest.raises(TypeError, match="same_kind"):
        x += v.open(data("f4"))


@pytest.mark.parametrize("power", [-3, np.int8(-3), np.array(-1)])
def test_negative_powers_of_integers_are_refused_at_the_call(power):
    x = np.arange(1, 9)
    for call in (np.power, lambda a, b: a**b):
        with pytest.raises(ValueError, match="Integers to negative integer powers"):
            call(x, power)
        with pytest.raises(ValueError, match="Integers to negative integer powers"):
            call(v.open(x), power)
    assert np.array_equal(np.power(v.open(x * 1.0), power), np.power(x * 1.0, power))
    assert np.array_equal(np.power(v.open(x), 3), x**3)


LINES = {
    "cumsum": lambda x: np.cumsum(x, 1),
    "sort of sorted": lambda x: np.sort(np.sort(x, 1), 1),
    "sort of fft": lambda x: np.sort(np.abs(np.fft.fft(x, axis=1)), 1),
    "rolled": lambda x: np.roll(np.cumsum(x, 1), 3, 1),
    "reversed": lambda x: np.cumsum(x, 1)[:, ::-1],
    "percentiles": lambda x: np.percentile(np.sort(x, 1), [5, 50, 95], axis=1),
    "sum": lambda x: np.sum(np.cumsum(x, 1), 1),
}


@pytest.mark.parametrize("name", LINES)
def test_functions_along_an_axis_take_memory_for_its_lines(name, tmp_path):
    x = np.random.default_rng(8).random((40, 2000))
    call = LINES[name]
    limit = 64 * x[:2].nbytes
    path = tmp_path / "out.npy"
    report = v.save(path, call(v.open(x)), memory_limit=limit)
    assert report["peak"] <= limit
    assert np.array_equal(np.load(path), call(x))
    plan = v.plan(call(v.open(x)), memory_limit=limit)
    assert plan.redundancy == 0


def test_lines_are_not_computed_again_for_parts_of_them():
    x = np.random.default_rng(8).random((400, 600)).astype("f4")
    plan = v.plan(np.cumsum(v.open(x), 1), memory_limit="1MiB")
    assert len(plan.facts["bounds"][1]) == 2
    assert plan.redundancy == 0


def test_lines_of_chunks_take_memory_for_lines(tmp_path):
    pytest.importorskip("zarr")
    x = np.random.default_rng(8).integers(0, 9, 21208).astype("u1")
    v.save(tmp_path / "out.zarr", np.cumsum(v.open(x)), memory_limit="8MiB")
    assert np.array_equal(np.asarray(v.open(tmp_path / "out.zarr")), np.cumsum(x))


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_medians_of_complex_volumes(dtype):
    rng = np.random.default_rng(9)
    # Many real parts are equal.
    x = (rng.integers(-3, 3, (9, 10)) + 1j * rng.standard_normal((9, 10))).astype(dtype)
    for values in (x, x[:, :9], np.round(x), x[:1, :1]):
        found, expected = np.median(v.open(values)), np.median(values)
        assert found.dtype == expected.dtype
        assert found == expected
    for nan in (complex(np.nan, 1), complex(2, np.nan), complex(np.nan, np.nan)):
        values = x.copy()
        values[4, 5] = nan
        np.testing.assert_equal(np.median(v.open(values)), np.median(values))
        np.testing.assert_equal(np.nanmedian(v.open(values)), np.nanmedian(values))
    with pytest.raises(TypeError, match="no order"):
        np.percentile(v.open(x), 50)
