"""Decorated functions: conversions, dtypes, slices, stacks."""

import importlib

import numpy as np
import pytest

import arrayloom.bridge as b
from arrayloom.bridge import dtypes
from arrayloom.bridge.errors import LossyConversionError


@pytest.mark.parametrize(
    ("values", "target", "expected"),
    [
        ([0.5, 1.5, 2.5, -0.5], "uint8", [0, 2, 2, 0]),
        ([300.0, -7.0, np.inf, -np.inf], "uint8", [255, 0, 255, 0]),
        ([1e30, -1e30, 2.0**63], "int64", [2**63 - 1, -(2**63), 2**63 - 1]),
        ([70000.0, 65535.0, 65535.4], "uint16", [65535, 65535, 65535]),
        ([1e30], "float32", [np.float32(1e30)]),
        ([1e300], "float32", [np.finfo(np.float32).max]),
    ],
)
def test_casts_round_half_to_even_and_saturate(values, target, expected):
    made = dtypes.cast(np.array(values), target)
    assert made.dtype == target
    assert made.tolist() == expected


def test_half_precision_saturates_without_overflow():
    made = dtypes.cast(np.array([60000, -60000, 100.5], np.float16), "int16")
    assert made.tolist() == [32767, -32768, 100]


@pytest.mark.parametrize(
    ("values", "dtype", "target"),
    [
        ([1.5], "float64", "int32"),
        ([2**24 + 1], "int64", "float32"),
        ([300], "int16", "uint8"),
        ([2.0**63], "float64", "int64"),
        ([np.nan], "float32", "uint8"),
        ([1 + 2j], "complex64", "float32"),
        ([2**64 - 1], "uint64", "float32"),
        ([2**64 - 1], "uint64", "float64"),
        ([2**63 - 1], "int64", "float64"),
        ([2**17], "int32", "float16"),
    ],
)
def test_exact_casts_refuse_a_loss(values, dtype, target):
    with pytest.raises(LossyConversionError):
        dtypes.cast(np.array(values, dtype), target, how="exact")


def test_exact_casts_pass_what_fits():
    assert dtypes.cast(np.array([1.0, 255.0]), "uint8", how="exact").tolist() == [1, 255]
    assert np.isnan(dtypes.cast(np.array([np.nan]), "float32", how="exact")[0])
    assert b.convert(np.array([1.0]), "numpy", dtype="int8").tolist() == [1]
    with pytest.raises(LossyConversionError, match="values change"):
        b.convert(np.array([1.5]), "numpy", dtype="int8")


def test_preserve_keeps_units_and_labels():
    image = np.linspace(0.0, 65535.0, 7)
    assert dtypes.preserve(image, "uint16").tolist() == np.rint(image).astype(int).tolist()
    with pytest.raises(
        LossyConversionError, match="1 of 2 integers do not fit in uint16, such as 70000"
    ):
        dtypes.preserve(np.array([1, 70000]), "uint16")
    with pytest.raises(LossyConversionError, match="such as -1"):
        dtypes.preserve(np.array([-1, 3]), "uint8")
    mask = np.array([True, False])
    assert dtypes.preserve(mask, "uint16") is mask
    with pytest.raises(LossyConversionError, match="1 of 2 values are NaN"):
        dtypes.preserve(np.array([np.nan, 1.0]), "uint8")
    assert dtypes.preserve(np.array([np.nan, 1.0]), "uint8", nan=0).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("values", "dtype", "target"),
    [(2049, "int64", "float16"), (2**24 + 1, "int64", "float32"), (2**64 - 1, "uint64", "float64")],
)
def test_preserve_keeps_integers_exact(values, dtype, target):
    good = np.array([0, 1, 2048], dtype)
    assert dtypes.preserve(good, target).tolist() == [0, 1, 2048]
    bad = np.array([1, values, values], dtype)
    with pytest.raises(LossyConversionError, match=f"2 of 3 integers .* such as {values}; .*None"):
        dtypes.preserve(bad, target)
    with pytest.raises(LossyConversionError, match="1 of 1"):
        dtypes.preserve(np.array(values, dtype), target)


@pytest.mark.frameworks("torch", "jax")
def test_small_floats_have_limits_and_few_integers():
    torch = importlib.import_module("torch")
    small = torch.zeros(300, dtype=torch.bfloat16)
    with pytest.raises(LossyConversionError, match="do not fit in bfloat16, such as 257"):
        b.torch(lambda x: torch.arange(len(x)))(small)
    assert b.torch(lambda x: torch.arange(len(x))[:256])(small)[255] == 255
    assert float(dtypes.cast(np.array([1e300]), "bfloat16")[0]) == torch.finfo(torch.bfloat16).max
    assert float(dtypes.cast(np.array([-1e9]), "float8_e4m3fn")[0]) == -448


@pytest.mark.parametrize(
    ("first", "result"),
    [
        (np.array(["2001-02-03"], "M8[D]"), np.array([2001])),
        (np.array(["2001-02-03"], "M8[D]"), np.array([3], "m8[D]")),
        (np.zeros(2), np.array(["2001-02-03"], "M8[D]")),
        (np.zeros(2), np.array(["a", "b"])),
        (np.array(["a", "b" * 24]), np.zeros(2, np.float32)),
        (np.zeros(2), np.zeros(2, [("a", "i4"), ("b", "i4")])),
        (np.zeros(2), np.zeros(2, [("a", "i1"), ("b", "i1")])),
        (np.zeros(2, [("a", "i4"), ("b", "i4")]), np.zeros(2, np.float32)),
        (np.zeros(2), np.array([None, 1])),
    ],
    ids=lambda x: str(x.dtype),
)
def test_preserve_is_about_numbers(first, result):
    assert b.numpy(lambda _x: result)(first) is result


def test_objects_that_are_numbers_are_cast_on_request():
    assert dtypes.cast(np.array([1, 2.5], object), "float32").tolist() == [1, 2.5]
    assert b.convert(np.array([1, 2], object), "numpy", dtype="int8").tolist() == [1, 2]
    with pytest.raises(LossyConversionError):
        b.convert(np.array([1, 2.5], object), "numpy", dtype="int8")
    for values in ([None, 1], [2**70], [[1], [1, 2]], ["a"]):
        data = np.empty(len(values), object)
        data[:] = values
        with pytest.raises(TypeError, match="no numbers of a machine type"):
            dtypes.cast(data, "float32")
    with pytest.raises(TypeError, match="datetime64"):
        dtypes.cast(np.array(["2001-02-03"], "M8[D]"), "int32")


def test_rescaling_does_not_depend_on_the_values():
    whole = np.arange(256, dtype=np.uint8)
    parts = [dtypes.rescale(p, out_range="uint16") for p in np.split(whole, 4)]
    assert np.array_equal(np.concatenate(parts), dtypes.rescale(whole, out_range="uint16"))
    assert dtypes.rescale(whole, out_range="uint16")[-1] == 65535
    with pytest.raises(ValueError, match="ascending"):
        dtypes.rescale(whole, in_range=(1, 1))


def test_arguments_are_converted_and_results_cast():
    @b.numpy
    def mean(images, weight=1.0):
        assert isinstance(images, list)
        assert all(type(i) is np.ndarray for i in images)
        return sum(images) * weight / len(images), "note"

    first = b.to_arrayloom(np.array([1, 2], np.uint8))
    main, note = mean([first, np.array([2, 4], np.uint8)], weight=1.0)
    assert main.dtype == np.uint8
    assert note == "note"
    assert main.tolist() == [2, 3]


def test_output_dtype_contract_and_inputs():
    def positive(result):
        if (np.asarray(result) < 0).any():
            msg = "negative"
            raise ValueError(msg)

    @b.uses("numpy", output="arrayloom", dtype="float32", contract=positive, inputs=("x",))
    def f(x, y):
        assert b.kind(y) == "arrayloom"
        return x + 0.25

    result = f(np.array([1, 2]), b.to_arrayloom(np.zeros(2)))
    assert (b.kind(result), result.dtype) == ("arrayloom", np.float32)
    with pytest.raises(ValueError, match="negative"):
        f(np.array([-5]), b.to_arrayloom(np.zeros(1)))


def test_slice_by_slice():
    seen = []

    @b.numpy
    def blur(image, shift=0):
        seen.append(image.shape)
        return image[::-1] + shift

    volume = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    result = blur(volume, shift=1, slice_by_slice=True)
    assert seen == [(3, 4), (3, 4)]
    assert np.array_equal(result, volume[:, ::-1] + 1)

    @b.uses("numpy", slices=2)
    def total(image):
        return image * 2, int(image.sum())

    whole, sums = total(volume)
    assert np.array_equal(whole, volume * 2)
    assert sums == [int(volume[:, :, i].sum()) for i in range(4)]


class Metadata:
    """An array with a name, as image viewers have them."""

    def __init__(self, data, name):
        self.data, self.name = data, name

    def array_payload_data(self):
        return self.data

    def with_data(self, data):
        return Metadata(data, self.name)


def test_containers_keep_their_metadata():
    @b.numpy
    def invert(x):
        return -x

    result = invert(Metadata(np.array([1, 2]), "nuclei"))
    assert (result.name, result.data.tolist()) == ("nuclei", [-1, -2])


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_stacks_come_apart(axis):
    slices = [np.full((3, 4), i, np.uint16) for i in range(5)]
    volume = b.stack(slices, "numpy", axis=axis)
    assert volume.shape[axis] == 5
    assert volume.dtype == np.uint16
    for piece, original in zip(b.unstack(volume, axis=axis), slices, strict=True):
        assert np.array_equal(piece, original)
    with pytest.raises(ValueError, match="no slices"):
        b.stack([], "numpy")
    with pytest.raises(ValueError, match="different shapes"):
        b.stack([np.zeros(2), np.zeros(3)], "numpy")


@pytest.mark.parametrize("axis", [2, -3])
def test_axes_that_are_not_there_are_refused(axis):
    with pytest.raises(ValueError, match=f"axis {axis} is out of bounds for array of dimension 2"):
        b.stack([np.zeros(2)], "numpy", axis=axis)
    with pytest.raises(ValueError, match=f"axis {axis} is out of bounds for array of dimension 2"):
        b.unstack(np.zeros((2, 2)), axis=axis)


def test_several_arrays_move_together():
    x, none, y = b.move_to(b.to_arrayloom(np.zeros(2)), None, [1.0])
    assert (b.kind(x), none, b.kind(y)) == ("arrayloom", None, "arrayloom")
    assert b.array_namespace(np.zeros(1)) is np
    with pytest.raises(TypeError, match="one kind"):
        b.array_namespace(np.zeros(1), x)
