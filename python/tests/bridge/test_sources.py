"""Objects of no framework as sources, and what plans and records say of copies that sources make."""

import importlib
import io

import numpy as np
import pytest

import arrayloom.bridge as b


def happened(x, to, **words):
    with b.observe() as record:
        made = b.convert(x, to, **words)
    row = record.rows()[0]
    return made, row.route, row.nbytes


class Table:
    """Has an array of its own, as NumPy 2 asks for it."""

    def __init__(self, data):
        self.data = data

    def __array__(self, dtype=None, copy=None):
        return np.array(self.data, dtype=dtype, copy=copy)


class File:
    """Makes a new array each time."""

    def __init__(self):
        self.reads = 0

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            msg = "a file is read"
            raise ValueError(msg)
        self.reads += 1
        return np.arange(3, dtype=dtype or np.float32)


class View(File):
    """Makes a new array each time, and gives a part of it."""

    def __array__(self, dtype=None, copy=None):
        return super().__array__(dtype)[::-1][::-1]


class Cached(File):
    """Makes an array once."""

    def __init__(self):
        self.kept = np.arange(3, dtype=np.float32)

    def __array__(self, dtype=None, copy=None):
        return self.kept[::-1][::-1]


class Old:
    """As NumPy 1 had it."""

    def __array__(self):
        return np.arange(3, dtype=np.float32)


@pytest.mark.parametrize("to", ["numpy", "arrayloom"])
def test_objects_that_have_only_the_array_method(to):
    data = np.arange(3, dtype=np.float32)
    made, route, nbytes = happened(Table(data), to)
    assert (route, nbytes) == ("share", 0)
    assert np.shares_memory(made, data)
    file = File()
    made, route, nbytes = happened(file, to)
    assert (route, nbytes, file.reads) == ("copy", 12, 1)
    assert made.tolist() == [0, 1, 2]
    for maker in (file, View()):
        with pytest.raises(BufferError, match="makes a copy"):
            b.convert(maker, to, copy=False)
    cached = Cached()
    assert np.shares_memory(b.convert(cached, to, copy=False), cached.kept)
    assert b.convert(Old(), to).tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="no elements of type object"):
        b.convert(Table(np.array(["a", None])), to)
    with pytest.raises(TypeError, match="is no array"):
        b.convert(object(), to)


@pytest.mark.frameworks("jax", "torch", "tensorflow")
def test_arrays_of_objects_are_isolated_like_others():
    data = np.arange(64, dtype=np.float32)
    for to in ("jax", "tensorflow"):
        made = b.convert(Table(data), to)
        data[0] = 9
        assert b.to_numpy(made)[0] == 0
        data[0] = 0
    assert b.to_torch(Table(data)).data_ptr() == data.ctypes.data


@pytest.mark.parametrize("to", ["numpy", "arrayloom"])
def test_tables_files_and_pictures(to):
    pandas = pytest.importorskip("pandas")
    h5py = pytest.importorskip("h5py")
    image = pytest.importorskip("PIL.Image")
    with h5py.File(io.BytesIO(), "w") as file:
        data = file.create_dataset("data", data=np.arange(6, dtype=np.int16).reshape(2, 3))
        made, route, nbytes = happened(data, to)
        assert (made.tolist(), route, nbytes) == ([[0, 1, 2], [3, 4, 5]], "copy", 12)
    series = pandas.Series([1.5, 2.5])
    assert b.convert(series, to).tolist() == [1.5, 2.5]
    assert b.convert(pandas.Index([3, 4]), to).tolist() == [3, 4]
    frame = pandas.DataFrame({"a": [1, 2], "b": [3, 4]})
    assert b.convert(frame, to).tolist() == [[1, 3], [2, 4]]
    with pytest.raises(TypeError, match="no elements of type"):
        b.convert(pandas.Series(["a", "b"], dtype=object), to)
    assert b.convert(image.new("RGB", (3, 2), (7, 8, 9)), to)[0, 0].tolist() == [7, 8, 9]


def test_ranges_are_lists_of_numbers():
    assert b.convert(range(3, 9, 2), "numpy").tolist() == [3, 5, 7]


def test_numbers_and_lists_are_copies_and_say_so():
    for x, nbytes in ((3.5, 8), (np.float32(1), 4), ([1, 2, 3], 24), (((1.0, 2.0),), 16)):
        _, route, copied = happened(x, "numpy")
        assert (route, copied) == ("copy", nbytes)
        assert b.plan(x, "numpy").route == "copy"
        with pytest.raises(BufferError, match="no memory that can be shared"):
            b.convert(x, "numpy", copy=False)


@pytest.mark.frameworks("torch")
def test_lists_of_arrays_are_as_careful_as_arrays():
    torch = importlib.import_module("torch")
    z = torch.tensor([1 + 2j])
    assert b.to_numpy([z.conj().imag, torch.ones(1)]).tolist() == [[-2.0], [1.0]]
    with pytest.raises(BufferError, match="detach"):
        b.to_numpy([torch.ones(1, requires_grad=True)])
    made = b.to_numpy([torch.ones(1, requires_grad=True)], detach=True)
    assert made.tolist() == [[1.0]]
    masked = np.ma.masked_array([1.0, 2.0], [False, True])
    with pytest.raises(TypeError, match="fill=VALUE"):
        b.to_torch([masked, masked])
    assert b.to_torch([masked, masked], fill=0).tolist() == [[1.0, 0.0]] * 2


@pytest.mark.frameworks("torch", "tensorflow")
def test_copies_that_frameworks_make_are_told():
    torch, tf = map(importlib.import_module, ("torch", "tensorflow"))
    z = torch.tensor([1 + 2j, 3j])
    for x, nbytes in ((z.conj(), 16), (z.conj().imag, 8)):
        for to in ("numpy", "arrayloom", "tensorflow"):
            _, route, copied = happened(x, to)
            assert (route, copied) == ("copy", nbytes)
    small = b.to_tensorflow(np.ones(4, np.float32), dtype="float8_e4m3fn")
    assert isinstance(small, tf.Tensor)
    assert happened(small, "numpy")[1:] == ("copy", 4)
    with pytest.raises(BufferError, match="only by value"):
        b.to_numpy(small, copy=False)
    made, route, copied = happened(np.ones(4, np.float32), "tensorflow", dtype="float64")
    assert (route, copied, made.dtype.name) == ("copy", 32, "float64")


@pytest.mark.frameworks("torch")
def test_plans_refuse_what_conversions_refuse():
    torch = importlib.import_module("torch")
    with pytest.raises(BufferError, match="detach"):
        b.plan(torch.ones(2, requires_grad=True), "numpy")
    with pytest.raises(TypeError, match="fill=VALUE"):
        b.plan(np.ma.masked_array([1.0], [True]), "torch")
    assert b.plan(torch.ones(2, dtype=torch.complex64).conj(), "numpy").nbytes == 16


def test_broken_descriptions_of_device_memory():
    class Broken:
        @property
        def __cuda_array_interface__(self):
            return {"shape": (2,), "version": 3}

    with pytest.raises(BufferError, match="lacks typestr, data"):
        b.to_numpy(Broken())


def test_exact_casts_keep_values_and_no_more():
    assert b.convert(np.array([1 + 0j]), "numpy", dtype="float64").tolist() == [1.0]
    with pytest.raises(b.LossyConversionError, match="imaginary"):
        b.convert(np.array([1 + 1j]), "numpy", dtype="float64")
    values = np.array([np.nan, 2.0])
    assert b.convert(values, "numpy", dtype="int8", nan=0).tolist() == [0, 2]
    with pytest.raises(b.LossyConversionError, match="NaN"):
        b.convert(values, "numpy", dtype="int8")


@pytest.mark.frameworks("pyclesperanto")
def test_allowed_losses_happen():
    data = np.array([[1 + 2j, 3 - 4j]], np.complex64)
    with pytest.raises(b.LossyConversionError, match="lossy='allow'"):
        b.convert(data, "pyclesperanto")
    made = b.convert(data, "pyclesperanto", lossy="allow")
    assert b.to_numpy(made).tolist() == [[1.0, 3.0]]


@pytest.mark.parametrize("to", ["numpy", "arrayloom"])
def test_arrays_of_dask_are_not_asked_for_their_memory(to):
    dask = pytest.importorskip("dask.array")
    # A warning would be an error here.
    made, route, nbytes = happened(dask.ones(5, chunks=2), to)
    assert (made.tolist(), route, nbytes) == ([1.0] * 5, "copy", 40)
    with pytest.raises(BufferError, match=r"dask.* makes a copy"):
        b.convert(dask.ones(5, chunks=2), to, copy=False)


@pytest.mark.parametrize("to", ["numpy", "arrayloom"])
def test_lists_of_what_is_no_number(to):
    for values, name in (
        ([1, "a"], "str_"),
        ([b"a"], "bytes_"),
        ([np.datetime64("now")], "datetime64"),
    ):
        for x in (values, [values]):
            with pytest.raises(
                TypeError, match=f"this list has elements of type {name}, which are no"
            ):
                b.convert(x, to)
    with pytest.raises(TypeError, match=r"no elements of type object.* dtype="):
        b.convert([2**70], to)
    assert b.convert([1, 2.5], to, dtype="float32").tolist() == [1, 2.5]


@pytest.mark.frameworks("torch", "jax")
def test_lists_of_small_floats():
    torch = importlib.import_module("torch")
    made = b.to_numpy([torch.ones(2, dtype=torch.bfloat16)])
    assert (made.dtype.name, made.shape) == ("bfloat16", (1, 2))


@pytest.mark.frameworks("torch")
def test_lists_of_any_depth_are_looked_into():
    torch = importlib.import_module("torch")
    with pytest.raises(BufferError, match="detach=True"):
        b.to_numpy([[torch.ones(2, requires_grad=True)]])
    assert b.to_numpy([[torch.ones(2, requires_grad=True)]], detach=True).tolist() == [[[1, 1]]]
    turned = (torch.ones(2) * 1j).conj()
    assert b.to_numpy([[turned], [turned]]).ravel().tolist() == [-1j] * 4
    assert b.to_numpy([[turned.imag]]).ravel().tolist() == [-1, -1]
    with pytest.raises(TypeError, match="to_dense"):
        b.to_numpy([[torch.eye(2).to_sparse()]])


def test_numbers_that_only_numpy_has_are_cast_on_request():
    for x in (np.array([1, 2], "g"), np.array([1, 2.0], object)):
        with pytest.raises(TypeError, match="dtype="):
            b.to_arrayloom(x)
        with pytest.raises(TypeError, match="dtype="):
            b.plan(x, "arrayloom")
        assert b.to_arrayloom(x, dtype="float64").tolist() == [1, 2]
    with pytest.raises(b.LossyConversionError):
        b.to_arrayloom(np.array([0.1], "g") + np.finfo("g").eps, dtype="float32")


def test_producers_that_lie_nowhere():
    class Nowhere:
        def __dlpack__(self, **_words):
            return None

        def __dlpack_device__(self):
            return None

    for call in (b.to_numpy, lambda x: b.plan(x, "numpy")):
        with pytest.raises(BufferError, match=r"Nowhere.__dlpack_device__ must give a pair"):
            call(Nowhere())
