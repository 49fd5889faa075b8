"""Searching, sorting, and sets, compared with array-api-strict."""

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st
from support.strictly import agree, arrays, axes, given

import arrayloom.array_api as xp


def without_nan(x):
    return not (x.dtype.kind in "fc" and np.isnan(x).any())


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@given(x=arrays(), keepdims=st.booleans(), data=st.data())
def test_extremes(name, x, keepdims, data):
    axis = data.draw(st.none() | axes(x.ndim))
    agree(lambda ns, x: getattr(ns, name)(x, axis=axis, keepdims=keepdims), x)


@given(x=arrays())
def test_nonzero(x):
    agree(lambda ns, x: ns.nonzero(x), x)


@pytest.mark.parametrize("name", ["sort", "argsort"])
@given(x=arrays(), descending=st.booleans(), data=st.data())
def test_orders(name, x, descending, data):
    # Where NaNs go is left open.
    assume(x.ndim and without_nan(x))
    axis = data.draw(axes(x.ndim))
    agree(lambda ns, x: getattr(ns, name)(x, axis=axis, descending=descending), x)


def test_equal_elements_keep_their_order_downwards():
    x = xp.asarray([1, 3, 1, 3, 2] * 20)
    order = [int(i) for i in xp.argsort(x, descending=True)]
    wanted = sorted(range(100), key=lambda i: -int(x[i]))
    assert order == wanted
    assert [int(i) for i in xp.argsort(x)] == sorted(range(100), key=lambda i: int(x[i]))


def test_arrays_without_dimensions_have_no_order():
    for function in (xp.sort, xp.argsort):
        with pytest.raises(IndexError):
            function(xp.asarray(1))


@given(x=arrays(shape=(5,)), y=arrays(shape=(2, 3)), right=st.booleans(), use=st.booleans())
def test_searchsorted(x, y, right, use):
    # It lets NumPy compare what does not mix.
    y = y.real.astype(x.dtype, copy=False) if y.dtype.kind in "biu" else np.full((2, 1), x[1])
    assume(without_nan(x) and without_nan(y))
    side = "right" if right else "left"
    if use:
        order = np.argsort(x, stable=True)
        agree(lambda ns, x, y, o: ns.searchsorted(x, y, side=side, sorter=o), x, y, order)
    else:
        agree(lambda ns, x, y: ns.searchsorted(x, y, side=side), np.sort(x), y)


@pytest.mark.parametrize("name", ["unique_all", "unique_counts", "unique_inverse", "unique_values"])
@given(x=arrays())
def test_sets(name, x):
    def body(ns, x):
        found = getattr(ns, name)(x)
        if name != "unique_values":
            return tuple(found)
        # Its order is free, and sorted is what both can be.
        return (
            ns.sort(found)
            if ns.isdtype(found.dtype, ("integral", "real floating"))
            else ns.all(found)
        )

    agree(body, x)


def test_fields_of_sets():
    x = xp.asarray([3, 1, 3])
    assert xp.unique_all(x)._fields == ("values", "indices", "inverse_indices", "counts")
    assert xp.unique_counts(x)._fields == ("values", "counts")
    assert xp.unique_inverse(x)._fields == ("values", "inverse_indices")


@given(x=arrays(shape=(3,)), y=arrays(shape=(2, 2)), invert=st.booleans())
def test_isin(x, y, invert):
    agree(lambda ns, x, y: ns.isin(x, y), x, y)
    if x.dtype == y.dtype and x.dtype.kind in "iu":
        found = xp.isin(xp.asarray(x), xp.asarray(y), invert=invert)
        np.testing.assert_array_equal(np.from_dlpack(found), np.isin(x, y, invert=invert))


@given(x=arrays(), data=st.data())
def test_take(x, data):
    axis = data.draw(st.none() | axes(x.ndim))
    places = np.asarray(data.draw(st.lists(st.integers(-4, 4), max_size=3)), dtype="int64")
    assume(x.ndim)
    agree(lambda ns, x, i: ns.take(x, i, axis=axis), x, places)


@given(x=arrays(shape=(2, 3)), axis=st.integers(-3, 2))
def test_take_along_axis(x, axis):
    def body(ns, x):
        order = ns.argsort(ns.real(x), axis=axis)
        return ns.take_along_axis(x, order, axis=axis)

    assume(without_nan(x))
    agree(body, x)


@pytest.mark.parametrize("name", ["searchsorted", "take", "take_along_axis"])
def test_places_are_integers(name):
    x = xp.asarray([1.0, 2.0])
    words = {"sorter": x} if name == "searchsorted" else {}
    with pytest.raises(TypeError, match="integer"):
        getattr(xp, name)(x, x, **words)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint64"])
def test_places_of_every_dtype(dtype):
    x, places = xp.asarray([3, 1, 2]), xp.asarray([1, 2, 0], dtype=getattr(xp, dtype))
    for found in (
        xp.take(x, places),
        xp.take_along_axis(x, places),
        x[places],
        xp.repeat(x, xp.ones_like(places))[places],
    ):
        assert [int(v) for v in found] == [1, 2, 3]
    assert int(xp.searchsorted(x, 2, sorter=places)) == 1


def test_large(laziness):
    x = xp.astype(xp.arange(100_000) % 1000, xp.float64)
    assert float(xp.sort(x, descending=True)[0]) == 999
    assert xp.unique_values(x).shape == (1000,)
    assert int(xp.argmax(x)) == 999
    assert int(xp.sum(xp.where(x > 500, 1, xp.astype(x, xp.int64)))) == 49_900 + 12_525_000
