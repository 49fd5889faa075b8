"""Volumes of one voxel as numbers, and volumes as arrays of NumPy in small things."""

import copy
import operator

import numpy as np
import pytest

from arrayloom import filters as f
from arrayloom import volumes as v

NUMBERS = [np.array(3), np.array(-2.75), np.array(True), np.array(1 + 2j), np.array(7, "u1")]
CALLS = {
    "complex": complex,
    "float": float,
    "int": int,
    "index": operator.index,
    "item": lambda x: x.item(),
    "format": lambda x: f"{x:.3}",
    "range": lambda x: list(range(x)),
    "key": lambda x: list("abcdefgh")[x],
    "key of a volume": lambda x: np.asarray(v.open(np.arange(9))[x]).item(),
    "iteration": list,
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("x", NUMBERS, ids=str)
def test_one_voxel_is_a_number_as_in_numpy(name, x):
    call = CALLS[name]
    try:
        expected = call(x)
    except (TypeError, ValueError, IndexError) as error:
        kind = IndexError if name == "key of a volume" else type(error)
        with pytest.raises(kind):
            call(v.open(x))
    else:
        found = call(v.open(x))
        assert (type(found), found) == (type(expected), expected)


def test_single_voxels_are_items():
    x = np.arange(12.0).reshape(3, 4)
    for place in [(5,), (-1,), (1, 2), ((2, 3),), (np.intp(3),)]:
        assert v.open(x).item(*place) == x.item(*place)
    assert v.open(x[:1, :1]).item() == 0.0
    with pytest.raises(ValueError, match="no single number; give the place"):
        v.open(x).item()
    with pytest.raises(IndexError):
        v.open(x).item(12)
    with pytest.raises(TypeError, match="format"):
        format(v.open(x), ".3f")
    assert f"{v.open(x)}" == "<Volume (3, 4) float64>"
    assert v.open(x).itemsize == 8


@pytest.mark.parametrize("other", [None, "a", b"a"])
def test_what_is_no_number_equals_no_voxel(other):
    x = np.arange(6).reshape(2, 3)
    for call in (operator.eq, operator.ne):
        for expected, found in [
            (call(x, other), call(v.open(x), other)),
            (call(other, x), call(other, v.open(x))),
        ]:
            assert found.dtype == bool
            assert np.array_equal(np.asarray(found), expected)
    with pytest.raises(TypeError):
        operator.lt(v.open(x), other)


def test_volumes_contain_their_voxels():
    x = np.array([[1, 3], [5, 7]])
    for value in (3, 4, None, [1, 7], [9, 9]):
        assert (value in v.open(x)) == (value in x)
    with pytest.raises(TypeError, match="unhashable"):
        hash(v.open(x))


def test_complex_volumes_are_refused_where_filters_are_built():
    x = np.ones((5, 6), "c8")
    for source in (v.open(x), v.open(x) * 2, v.open(x[0, 0]), np.transpose(v.open(x))):
        for name, words in [("median_filter", (3,)), ("grey_erosion", (3,)), ("var_filter", (3,))]:
            with pytest.raises(TypeError, match="filter their parts"):
                getattr(f, name)(source, *words)
    assert np.asarray(f.uniform_filter(v.open(x), 3)).dtype == x.dtype


def test_copies_of_volumes_are_volumes():
    x = np.arange(6.0)
    for made in (copy.copy, copy.deepcopy):
        assert np.array_equal(np.asarray(made(v.open(x) + 1)), x + 1)
