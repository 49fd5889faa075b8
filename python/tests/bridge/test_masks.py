"""Masks stay or are refused, wherever a masked array comes from."""

import numpy as np
import pytest

import arrayloom.bridge as b
from arrayloom.bridge import dtypes


def masked():
    return np.ma.masked_array([1.5, np.nan, 300.0], [False, True, False])


class Holder:
    """Gives a masked array when it is asked for one."""

    def __array__(self, dtype=None, copy=None):
        return masked()


@pytest.mark.parametrize("how", ["saturate", "wrap"])
def test_casts_keep_masks_and_look_at_what_they_show(how):
    made = dtypes.cast(masked(), "uint8" if how == "saturate" else "int32", how=how)
    assert made.mask.tolist() == [False, True, False]
    assert made.compressed().tolist() == ([2, 255] if how == "saturate" else [1, 300])
    same = masked()
    assert dtypes.cast(same, "float64") is same


def test_results_of_decorated_functions_keep_masks():
    made = b.numpy(lambda _x: masked())(np.zeros(3, np.uint8))
    assert (made.dtype, made.mask.tolist()) == (np.uint8, [False, True, False])
    assert made.compressed().tolist() == [2, 255]
    named = b.numpy(dtype="float32")(lambda _x: masked())(np.zeros(3))
    assert (named.dtype, named.mask.tolist()) == (np.float32, [False, True, False])


def test_parts_keep_masks():
    calls = []

    @b.numpy(chunk=(0, 0))
    def double(x):
        calls.append(len(x))
        if len(x) > 2:
            raise MemoryError
        return x * 2

    made = double(masked())
    assert made.mask.tolist() == [False, True, False]
    assert made.compressed().tolist() == [3.0, 600.0]


@pytest.mark.parametrize("to", ["numpy", "arrayloom"])
@pytest.mark.parametrize(
    "wrap", [lambda x: [x], lambda x: [[x]], lambda x: ([x], [x])], ids=["one", "nested", "two"]
)
def test_lists_of_masked_arrays(to, wrap):
    for x in (masked(), Holder()):
        with pytest.raises(TypeError, match="fill=VALUE"):
            b.convert(wrap(x), to)
        assert b.to_numpy(b.convert(wrap(x), to, fill=7)).ravel()[:3].tolist() == [1.5, 7, 300]


def test_objects_that_give_masked_arrays():
    with pytest.raises(TypeError, match="fill=VALUE"):
        b.to_numpy(Holder())
    with pytest.raises(TypeError, match="fill=VALUE"):
        b.plan(Holder(), "torch")
    assert b.convert(Holder(), "numpy", fill=0).tolist() == [1.5, 0, 300]

    class Interface:
        def __init__(self, data):
            self.__array_interface__ = {**data.__array_interface__, "mask": data}

    with pytest.raises(BufferError, match="mask"):
        b.to_numpy(Interface(np.zeros(3)))


def test_stacks_refuse_masked_slices():
    with pytest.raises(TypeError, match="lose their masks"):
        b.stack([masked(), masked()], "numpy")
