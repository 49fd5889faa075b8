"""Indices: what the standard has works as in array-api-strict, what it lacks is an IndexError."""

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st
from support.strictly import agree, arrays, given

import arrayloom.array_api as xp


def bounds(extent):
    """Bounds that the standard defines; beyond the ends array-api-strict refuses what Python takes."""
    return st.none() | st.integers(-extent, extent)


@st.composite
def parts(draw, extent):
    made = draw(st.sampled_from(["integer", "slice", "array", "wrong"]))
    if made == "slice":
        step = draw(st.none() | st.integers(-2, 2).filter(bool))
        start = draw(st.none() | st.integers(-extent, max(extent - 1, -extent)))
        return slice(start, draw(bounds(extent)) if (step or 1) > 0 else None, step)
    if made == "array":
        return np.asarray(draw(st.lists(st.integers(-extent, extent), max_size=3)), dtype="int64")
    if made == "wrong" and draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from([1.5, True, "a", [0], np.asarray([0.5])]))
    return draw(st.integers(-extent - 1, extent))


@st.composite
def cases(draw):
    x = draw(arrays(shape=st.sampled_from([(), (3,), (2, 3), (2, 1, 3), (0, 2)])))
    key = [draw(parts(extent)) for extent in x.shape[: draw(st.integers(0, 3))]]
    for extra in draw(st.lists(st.sampled_from([None, Ellipsis, 0]), max_size=2)):
        key.insert(draw(st.integers(0, len(key))), extra)
    if draw(st.integers(0, 4)) == 0:
        key = [draw(arrays(dtype="bool", shape=x.shape[: draw(st.integers(0, x.ndim))]))]
    # It has no sole None, and takes None beside integer arrays.
    assume(len(key) != 1 or key[0] is not None)
    assume(not (any(part is None for part in key) and any(isinstance(p, np.ndarray) for p in key)))
    return x, tuple(key) if len(key) != 1 or draw(st.booleans()) else key[0]


@given(case=cases())
def test_reading(case):
    agree(lambda ns, x, key: x[key], *case)


@given(case=cases(), data=st.data())
def test_writing(case, data):
    x, key = case
    # It does not write to an index with None or of integer arrays.
    several = key if isinstance(key, tuple) else (key,)
    assume(not any(part is None for part in several) and sum(p is ... for p in several) < 2)
    assume(not any(isinstance(p, np.ndarray) and p.dtype.kind != "b" for p in several))
    value = data.draw(
        arrays(dtype=st.sampled_from([x.dtype.name, "int8", "complex64"]), shape=())
        | st.sampled_from([True, 1, 300, 2.5, 1j])
    )

    def body(ns, x, key, value):
        x[key] = value
        return x

    agree(body, x, key, value, several=True)


def test_parts_share_memory_and_picks_do_not():
    x = xp.zeros((3, 2))
    x[1, ...][...] = 5
    x[2, 0][...] = 7
    x[x > 6][...] = 9
    assert [[float(v) for v in row] for row in xp.unstack(x)] == [[0, 0], [5, 5], [7, 0]]


def test_slices_end_with_the_array():
    x = xp.arange(5)
    assert x[2:99].shape == (3,)
    assert x[-99 : xp.asarray(2)].shape == (2,)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (0, r"\.\.\."),
        ((0, 0, 0), "3 axes"),
        ((..., ...), r"at most one \.\.\."),
        ([0, 1], "integers, slices"),
        ((np.asarray([0]), 0), "asarray"),
    ],
)
def test_errors_name_the_cure(key, words):
    x = xp.zeros((2, 3))
    with pytest.raises(IndexError, match=words):
        x[key]
    with pytest.raises(IndexError, match=words):
        x[key] = 1


def test_integer_arrays_name_all_axes():
    x, rows = xp.zeros((2, 3)), xp.asarray([0, 1])
    assert x[rows, rows].shape == (2,)
    with pytest.raises(IndexError, match="take"):
        x[rows, :]
    with pytest.raises(IndexError, match="take"):
        x[..., rows] = 1
    # SciPy writes to such an index.
    x[rows, 1] = xp.asarray([5.0, 6.0])
    assert [float(v) for v in x[:, 1]] == [5, 6]


def test_only_vectors_are_iterated_over():
    assert [int(v) for v in xp.arange(3)] == [0, 1, 2]
    for x in (xp.asarray(1), xp.zeros((2, 2))):
        with pytest.raises(TypeError, match="unstack"):
            iter(x)
    with pytest.raises(TypeError, match="len"):
        len(xp.zeros(2))


@given(x=arrays(shape=st.sampled_from([(), (1,)])))
def test_numbers(x):
    for kind in (bool, int, float, complex, lambda x: x.__index__()):
        if x.ndim or not (x.dtype.kind in "fc" and not np.isfinite(x)):
            agree(lambda ns, x, kind=kind: kind(x) if x.ndim == 0 else kind(x[0]), x)
    if x.ndim:
        for kind in (bool, int, float, complex):
            with pytest.raises(TypeError, match="without dimensions"):
                kind(xp.asarray(x))


def test_an_index_is_an_integer():
    assert [10, 20, 30][xp.asarray(1)] == 20
    for x in (xp.asarray(1.0), xp.asarray(True)):
        with pytest.raises(TypeError, match="index"):
            x.__index__()
