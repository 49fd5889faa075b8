"""Sums, means, extremes and running sums are those of array-api-strict."""

import math

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st
from support.strictly import Named, agree, arrays, axes, dtypes, given

import arrayloom.array_api as xp

FOLDS = ["all", "any", "count_nonzero", "max", "mean", "min", "prod", "sum"]


@st.composite
def words(draw, ndim):
    found = {"keepdims": draw(st.booleans())}
    several = st.lists(axes(ndim), max_size=2).map(tuple)
    axis = draw(st.sampled_from(["absent", "one", "several"]))
    if axis != "absent":
        found["axis"] = draw(axes(ndim) if axis == "one" else several)
    return found


@pytest.mark.parametrize("name", FOLDS)
@given(x=arrays(), data=st.data())
def test_folds(name, x, data):
    agree(lambda ns, x, **words: getattr(ns, name)(x, **words), x, **data.draw(words(x.ndim)))


@pytest.mark.parametrize("name", ["std", "var"])
@given(x=arrays(), data=st.data(), correction=st.sampled_from([0, 1, 0.5, 9]))
def test_spreads(name, x, data, correction):
    more = {"correction": correction, **data.draw(words(x.ndim))}
    agree(lambda ns, x, **words: getattr(ns, name)(x, **words), x, **more)


@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
@given(x=arrays(), dtype=dtypes)
def test_sums_in_another_dtype(name, x, dtype):
    # Bools and truncated numbers are NumPy's own business, and so is what complex numbers lose.
    assume(np.can_cast(x.dtype, dtype, "same_kind") and dtype != "bool")
    axis = {"axis": -1} if name.startswith("cumulative") else {}
    assume(x.ndim or not axis)
    agree(lambda ns, x, **words: getattr(ns, name)(x, **words), x, dtype=Named(dtype), **axis)


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@given(x=arrays(), initial=st.booleans(), data=st.data())
def test_running_sums(name, x, initial, data):
    # It multiplies by the one before the first, which is no complex number's neutral if that is endless.
    assume(x.ndim and not (x.dtype.kind == "c" and not np.isfinite(x).all()))
    more = {"axis": data.draw(axes(x.ndim))} if data.draw(st.booleans()) else {}
    agree(lambda ns, x, **words: getattr(ns, name)(x, include_initial=initial, **words), x, **more)


@given(x=arrays(), n=st.integers(0, 3), data=st.data())
def test_diff(x, n, data):
    assume(x.ndim)
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    other = data.draw(arrays(dtype=st.sampled_from([x.dtype.name, "int32"]), shape=x.shape))
    agree(lambda ns, x: ns.diff(x, axis=axis, n=n), x)
    # It lets NumPy promote what does not mix.
    assume(x.dtype == other.dtype or x.dtype.name in {"int8", "uint8", "int16", "int64", "uint32"})
    agree(lambda ns, x, y: ns.diff(x, axis=axis, prepend=y, append=y[...]), x, other)


def test_sums_of_small_integers_do_not_overflow():
    for dtype, wide in ((xp.int8, xp.int64), (xp.uint8, xp.uint64)):
        x = xp.full(1000, 100, dtype=dtype)
        assert int(xp.sum(x)) == 100_000
        assert xp.sum(x).dtype == xp.cumulative_sum(x).dtype == wide


def test_sums_of_large_arrays(laziness):
    x = xp.ones((500, 500), dtype=xp.float32)
    y = (x + 1) * 2
    assert float(xp.sum(y)) == 1_000_000
    assert xp.sum(y).dtype == xp.float32
    assert float(xp.mean(y)) == 4
    assert float(xp.var(y)) == 0
    assert int(xp.count_nonzero(y)) == 250_000


def test_nothing_to_fold_does_not_warn():
    empty = xp.zeros((0, 2))
    assert math.isnan(float(xp.mean(empty)))
    assert math.isnan(float(xp.std(empty)))
    assert math.isnan(float(xp.var(xp.asarray([1.0]), correction=1)))
    assert xp.mean(empty, axis=0).shape == (2,)
    with pytest.raises(ValueError, match="zero-size"):
        xp.max(empty)


def test_complex_sums_stay_complex():
    with pytest.raises(TypeError, match="real"):
        xp.sum(xp.asarray([1j]), dtype=xp.float64)
