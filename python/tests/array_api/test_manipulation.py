"""Shapes and places: the results of array-api-strict."""

import numpy as np
import pytest
from hypothesis import strategies as st
from support.strictly import agree, arrays, axes, given

import arrayloom.array_api as xp


def some_axes(ndim):
    return axes(ndim) | st.lists(axes(ndim), max_size=2).map(tuple)


@given(x=arrays(), data=st.data())
def test_axes(x, data):
    axis = data.draw(axes(x.ndim))
    several = data.draw(some_axes(x.ndim))
    agree(lambda ns, x: ns.expand_dims(x, axis), x)
    agree(lambda ns, x: ns.squeeze(x, several), x)
    agree(lambda ns, x: ns.flip(x, axis=several), x)
    agree(lambda ns, x: ns.flip(x), x)
    agree(lambda ns, x: ns.unstack(x, axis=axis), x)
    agree(lambda ns, x: ns.moveaxis(x, axis, 0), x)
    agree(lambda ns, x: ns.moveaxis(x, several, (0, 1)), x)
    order = data.draw(st.permutations(range(x.ndim)).map(tuple) | st.just((0, 0)))
    agree(lambda ns, x: ns.permute_dims(x, order), x)
    agree(lambda ns, x: (ns.matrix_transpose(x), x.mT), x)
    agree(lambda ns, x: x.T if x.ndim == 2 else 0, x)


def test_reshape_without_a_copy():
    x = xp.zeros((2, 3))
    xp.reshape(x, (3, 2), copy=False)[0, 0] = 1
    xp.reshape(x, (6,), copy=True)[1] = 1
    assert float(xp.sum(x)) == 1
    with pytest.raises(ValueError, match="copy"):
        xp.reshape(x.T, (6,), copy=False)


@given(x=arrays(), data=st.data(), copy=st.sampled_from([None, True]))
def test_reshape(x, data, copy):
    shape = data.draw(st.permutations([*x.shape, 1]) | st.just([-1]) | st.just([7, 2]))
    agree(lambda ns, x: ns.reshape(x, tuple(shape), copy=copy), x)


@given(x=arrays(), shape=st.lists(st.integers(0, 4), max_size=4).map(tuple))
def test_broadcasting(x, shape):
    agree(lambda ns, x: ns.broadcast_to(x, shape), x)
    agree(lambda ns, x: ns.broadcast_arrays(x, ns.ones(shape)), x)
    agree(lambda ns: ns.broadcast_shapes(x.shape, shape))


@given(x=arrays(), shift=st.integers(-3, 3), data=st.data())
def test_roll(x, shift, data):
    agree(lambda ns, x: ns.roll(x, shift), x)
    axis = data.draw(axes(x.ndim))
    agree(lambda ns, x: ns.roll(x, shift, axis=axis), x)
    agree(lambda ns, x: ns.roll(x, (shift, 1), axis=(axis, 0)), x)


@given(x=arrays(), data=st.data())
def test_repetition(x, data):
    counts = tuple(data.draw(st.lists(st.integers(0, 2), max_size=3)))
    axis = data.draw(st.none() | axes(x.ndim))
    agree(lambda ns, x: ns.tile(x, counts), x)
    agree(lambda ns, x: ns.repeat(x, 2, axis=axis), x)
    agree(lambda ns, x, c: ns.repeat(x, c, axis=axis), x, np.asarray(counts, dtype="int64"))


@given(data=st.data(), shape=st.sampled_from([(), (2,), (2, 0), (1, 3)]), axis=st.integers(-3, 2))
def test_joining(data, shape, axis):
    dtype = data.draw(st.sampled_from(["int8", "float32", "bool", "complex64"]))
    other = data.draw(st.sampled_from([dtype, "int64", "float64"]))
    parts = [data.draw(arrays(dtype=kind, shape=shape)) for kind in (dtype, other)]
    agree(lambda ns, parts: ns.concat(parts, axis=axis), parts)
    agree(lambda ns, parts: ns.concat(tuple(parts), axis=None), parts)
    agree(lambda ns, parts: ns.stack(parts, axis=axis), parts)


def test_joining_takes_several():
    for function in (xp.concat, xp.stack):
        with pytest.raises(ValueError, match="at least one"):
            function([])
        with pytest.raises(TypeError, match="not one"):
            function(xp.ones(2))


def test_wrong_arguments():
    x = xp.ones((2, 2))
    with pytest.raises(TypeError, match="tuple"):
        xp.tile(x, 2)
    with pytest.raises(TypeError, match="integer"):
        xp.repeat(x, 2.0)
    with pytest.raises(ValueError, match="two axes"):
        _ = xp.ones(2).T
    with pytest.raises(ValueError, match="two axes"):
        xp.matrix_transpose(xp.ones(2))
    with pytest.raises(TypeError, match="convert it by asarray"):
        xp.flip([1, 2])


def test_large_arrays_move(laziness):
    x = xp.reshape(xp.arange(250_000), (500, 500))
    joined = xp.concat([x, xp.flip(x, axis=0)], axis=1)
    assert int(joined[0, 500]) == 249_500
    assert int(xp.sum(xp.roll(joined, 1) - joined)) == 0
    assert xp.unstack(joined)[3].shape == (1000,)
    assert int(xp.sum(xp.broadcast_to(x[:1, :], (500, 500)))) == 500 * 124_750
