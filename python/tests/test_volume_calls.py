"""Arguments of NumPy's functions on volumes: the same results and types as on arrays, and the same errors."""

import operator

import numpy as np
import pytest

from arrayloom import volumes as v

SHAPE = (6, 9, 10)
RNG = np.random.default_rng(8)
MASK = RNG.random(SHAPE) > 0.4

CALLS = {
    "sum from": lambda x: np.sum(x, initial=5),
    "sum by place": lambda x: np.sum(x, (0, 2), None, None, True),
    "sum where along": lambda x: np.sum(x, 0, where=MASK),
    "mean where along": lambda x: np.mean(x, axis=(1, 2), where=MASK),
    "var where along": lambda x: np.var(x, 0, where=MASK[0]),
    "least where": lambda x: np.min(x, initial=5, where=MASK),
    "greatest from": lambda x: np.max(x, 1, initial=50),
    "product from": lambda x: np.prod(x[:1, :1], initial=2),
    "any where": lambda x: np.any(x, where=MASK),
    "all where along": lambda x: np.all(x, 0, where=MASK),
    "variance corrected": lambda x: np.var(x, correction=1),
    "deviation corrected along": lambda x: np.std(x, axis=0, correction=0.5),
    "variance around": lambda x: np.var(x, mean=np.mean(x)),
    "nan deviation": lambda x: np.nanstd(x, ddof=1),
    "nan product": lambda x: np.nanprod(x[:1, :1]),
    "nan median": lambda x: np.nanmedian(x),
    "nan percentiles": lambda x: np.nanpercentile(x, [3, 77.5]),
    "nan percentile of nothing": lambda x: np.nanpercentile(x[:0], 30),
    "nan place": lambda x: np.nanargmax(x),
    "percentiles kept": lambda x: np.percentile(x, [5, 6], keepdims=True),
    "least quantile": lambda x: np.quantile(x, 0),
    "place": lambda x: np.argmax(x),
    "place kept": lambda x: np.argmin(x, keepdims=True),
    "count": lambda x: np.count_nonzero(x),
    "clip by names": lambda x: np.clip(x, a_min=0, a_max=5),
    "clip from": lambda x: np.clip(a=x, min=2),
    "clip by volumes": lambda x: np.clip(x, a_min=0, a_max=x[::-1]),
    "numbers of nan": lambda x: np.nan_to_num(x, copy=False, nan=7),
    "numbers by place": lambda x: np.nan_to_num(x, False, 7),
    "close by names": lambda x: np.isclose(b=x, a=x[0], atol=9),
    "real if close": lambda x: np.real_if_close(x + 1j * (x > 40)),
    "real and close": lambda x: np.real_if_close(x + 0j),
    "places": lambda x: np.where(x > 30),
    "nonzero": lambda x: np.nonzero(x[0]),
    "argwhere": lambda x: np.argwhere(x > 30),
    "flatnonzero": lambda x: np.flatnonzero(x > 30),
    "transform by place": lambda x: np.fft.rfft(x, 8, 0),
    "transform by names": lambda x: np.fft.fft(x, n=4, axis=1, norm="ortho"),
    "running sum by place": lambda x: np.cumsum(x, 1, "f8"),
    "running sum of a line": lambda x: np.cumsum(x[0, 0]),
    "table by names": lambda x: np.digitize(x, bins=[0, 10], right=True),
    "members": lambda x: np.isin(element=x, test_elements=[0, 1], invert=True),
    "joined lines": lambda x: np.concatenate([x[0, 0], x[0, 1]], axis=None),
    "lines down": lambda x: np.vstack([x[0, 0], x[0, 1]]),
    "lines across": lambda x: np.hstack([x[0, 0], x[0, 1]]),
    "difference with ends": lambda x: np.diff(x, axis=0, prepend=x[:1], append=1),
    "pads by axes": lambda x: np.pad(x, {0: 1, -1: (2, 0)}),
    "filled by name": lambda x: np.full_like(x, fill_value=4, dtype="f4"),
    "zeros by place": lambda x: np.zeros_like(x, "f8"),
    "average of axes": lambda x: np.average(x, axis=(0, 1)),
    "average with weights of axes": lambda x: np.average(
        x, axis=(1, 0), weights=np.arange(1.0, 55).reshape(9, 6)
    ),
    "average and weights": lambda x: np.average(
        x, axis=1, weights=np.arange(1.0, 10), returned=True
    ),
    "average of all and weights": lambda x: np.average(x, returned=True),
    "square": lambda x: x**2,
    "parts": lambda x: (x + 2j).imag + (x * 1j).conj().real,
    "root": lambda x: x**0.5,
}


def data(dtype):
    x = np.random.default_rng(6).integers(-60, 100, SHAPE)
    return (x > 0 if dtype == "?" else np.abs(x) if dtype == "u1" else x * 0.75).astype(dtype)


def check(found, expected):
    if isinstance(expected, tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            check(one, other)
        return
    if type(found).__name__ != "Volume":
        assert type(found) is type(expected)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert np.array_equal(np.asarray(found), expected, equal_nan=expected.dtype.kind in "fc")


@pytest.mark.parametrize("dtype", ["f4", "f2", "i2", "u1", "?"])
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_calls_have_the_results_and_types_of_numpy(name, dtype):
    x = data(dtype)
    if dtype in "f4 f2":
        x[1, 2, 3] = np.nan
    try:
        expected = CALLS[name](x)
    except TypeError:  # what truth values do not have
        with pytest.raises(TypeError):
            CALLS[name](v.open(x))
        return
    check(CALLS[name](v.open(x)), expected)


@pytest.mark.parametrize("call", [np.sum, np.mean, np.var, np.nanmean, np.nanstd])
def test_voxels_are_left_out_within_rounding(call):
    for dtype in ("f8", "c16", "i4"):
        x = data(dtype)
        np.testing.assert_allclose(call(v.open(x), where=MASK), call(x, where=MASK), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["f2", "f4", "i8"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_of_many_voxels_are_those_of_numpy(dtype):
    rng = np.random.default_rng(1)
    for size in (130, 8200, 70_000):
        x = (rng.random(size) * 100).astype(dtype)
        s = v.open(x)
        for call in (np.mean, np.var, np.std, np.nanmean, lambda a: np.var(a, dtype="f4")):
            assert np.array_equal(call(s), call(x), equal_nan=True)
        for q in (0.3, 0.3004, np.float64(0.25), [0.1, 0.77]):
            check(np.quantile(s, q), np.quantile(x, q))
            check(np.percentile(s, np.multiply(q, 100).tolist()), np.percentile(x, np.multiply(q, 100).tolist()))  # fmt: skip


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_variances_of_complex_numbers_are_those_of_numpy(dtype):
    rng = np.random.default_rng(3)
    for shape in ((9, 18, 20), (7000,)):
        x = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
        assert np.var(v.open(x), ddof=2) == np.var(x, ddof=2)
        assert np.std(v.open(x)) == np.std(x)
        assert np.nanvar(v.open(x)) == np.nanvar(x)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "u1", "?"])
@pytest.mark.parametrize(
    "words", [{}, {"bins": 7, "range": (-3, 10)}, {"bins": [0, 1, 50.5]}, {"bins": 9, "density": True}]
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_histograms_are_numpys(dtype, words):
    x = data(dtype)
    counts, edges = np.histogram(v.open(x), **words)
    expected = np.histogram(x, **words)
    assert edges.dtype == expected[1].dtype
    assert np.array_equal(edges, expected[1])
    assert np.array_equal(counts, expected[0])
    assert np.isfinite(v.otsu(x))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.max(x, where=MASK),
        lambda x: np.var(x, ddof=1, correction=1),
        lambda x: np.sum(x, where=MASK.astype(int)),
        lambda x: np.moveaxis(x, 5, 0),
        lambda x: np.swapaxes(x, 0, 7),
        lambda x: x.transpose(0, 1, 5),
        lambda x: x[1.0],
        lambda x: np.pad(x, -1),
        lambda x: np.pad(x, 1.5),
        lambda x: np.pad(x[:0], 1, mode="edge"),
        lambda x: np.diff(x, -1),
        lambda x: np.concatenate([x, x], dtype="i1"),
        lambda x: np.average(x, 0, weights=[1, 2]),
        lambda x: np.hstack([x[0, 0], x[0]]),
        lambda x: operator.pow(x.astype(int), -1),
    ],
)
def test_errors_are_those_of_numpy(call):
    x = data("f4")
    with pytest.raises(Exception) as expected:  # noqa: PT011 - whatever NumPy raises
        call(x)
    with pytest.raises(expected.type):
        call(v.open(x))


@pytest.mark.parametrize(
    "call",
    [
        lambda s: np.concatenate([s, s], axis=None),
        lambda s: np.append(s, s),
        lambda s: np.roll(s, 1),
        lambda s: np.var(s, axis=0, mean=0.0),
        lambda s: np.isin([1, 2], s),
        lambda s: np.histogram(s, "auto"),
    ],
)
def test_what_does_not_stream_has_a_cure(call):
    with pytest.raises(TypeError, match=r"give axis=|compute"):
        call(v.open(data("f4")))
