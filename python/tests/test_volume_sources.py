"""Arrays of other libraries as sources and targets of volumes, and several workers."""

import time

import numpy as np
import pytest

from arrayloom import filters as f
from arrayloom import volumes as v

X = np.random.default_rng(3).integers(0, 4000, (16, 30, 26)).astype("u2")


def dask_array(_):
    return pytest.importorskip("dask.array").from_array(X, chunks=(5, 16, 8))


def xarray_array(_):
    return pytest.importorskip("xarray").DataArray(X, dims=("z", "y", "x"))


def xarray_lazy(tmp_path):
    return pytest.importorskip("xarray").DataArray(dask_array(tmp_path), dims=("z", "y", "x"))


def tensorstore_array(tmp_path):
    tensorstore = pytest.importorskip("tensorstore")
    kvstore = {"driver": "file", "path": str(tmp_path / "in.zarr")}
    spec = {"driver": "zarr", "kvstore": kvstore, "metadata": {"chunks": [5, 8, 16]}}
    opened = tensorstore.open(spec, create=True, dtype=tensorstore.uint16, shape=X.shape)
    store = opened.result()
    store[...] = X
    return store


def zarr_array(tmp_path):
    return pytest.importorskip("zarr").create_array(tmp_path / "z.zarr", data=X, chunks=(5, 8, 16))


def zarr_in_memory(_):
    zarr = pytest.importorskip("zarr")
    return zarr.create_array(zarr.storage.MemoryStore(), data=X, chunks=(5, 8, 16))


def h5py_array(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file.create_dataset("x", data=X, chunks=(5, 8, 16), compression="lzf")
    return h5py.File(tmp_path / "in.h5", "r")["x"]


@pytest.mark.parametrize(
    "make",
    [
        dask_array,
        xarray_array,
        xarray_lazy,
        tensorstore_array,
        zarr_array,
        zarr_in_memory,
        h5py_array,
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_objects_with_slices_are_sources(tmp_path, make):
    source = v.open(make(tmp_path))
    assert (source.shape, source.dtype) == (X.shape, X.dtype)
    v.save(tmp_path / "out.npy", f.median_filter(source, 3) + source[0], memory_limit="200KiB")
    assert np.array_equal(np.load(tmp_path / "out.npy"), f.median_filter(X, 3) + X[0])


@pytest.mark.parametrize("make", [tensorstore_array, zarr_array])
@pytest.mark.filterwarnings("ignore")
def test_objects_with_slices_are_targets(tmp_path, make):
    target = make(tmp_path)
    v.save(target, f.maximum_filter(X, 3), memory_limit="200KiB")
    assert np.array_equal(np.asarray(target[:, :, :]), f.maximum_filter(X, 3))


@pytest.mark.parametrize(
    "devices", ["cpu", "cpu*3", ["cpu:0", "cpu:1=64KiB"], "cpu:0=300KiB,sim=90KiB"]
)
@pytest.mark.parametrize("name", ["out.npy", "out.zarr", "out.h5"])
def test_workers_change_nothing(tmp_path, name, devices):
    pytest.importorskip({"npy": "numpy", "zarr": "zarr", "h5": "h5py"}[name.split(".")[1]])
    np.save(tmp_path / "in.npy", X)
    expr = f.gaussian_filter(f.median_filter(v.open(tmp_path / "in.npy"), 3), 1)
    chunks = None if name.endswith("npy") else (4, 8, 8)
    seen = []
    report = v.save(
        tmp_path / name, expr, devices=devices, memory_limit="400KiB", chunks=chunks, resume=True,
        progress=lambda voxels, total, used: seen.append((voxels, total)),
    )  # fmt: skip
    assert report["blocks"] == len(seen)
    assert max(seen) == (X.size, X.size)
    assert np.array_equal(
        np.asarray(v.open(tmp_path / name)), f.gaussian_filter(f.median_filter(X, 3), 1)
    )


@pytest.mark.parametrize(
    ("devices", "words"),
    [("cuda:0", "no device 'cuda:0'"), ("sim", "how large"), ([], "without a device")],
)
def test_devices_that_do_not_exist_are_refused(tmp_path, devices, words):
    with pytest.raises(ValueError, match=words):
        v.save(tmp_path / "out.npy", X, devices=devices)
    assert not list(tmp_path.iterdir())


def test_a_target_that_replaces_more_than_a_box_loses_nothing():
    class Whole:
        """Every write replaces everything, as a compressed file without chunks would."""

        def __init__(self):
            self.data = np.zeros_like(X)
            self.shape, self.dtype = X.shape, X.dtype

        def __setitem__(self, key, values):
            new = self.data.copy()
            time.sleep(0.002)
            new[key] = values
            self.data = new

    target = Whole()
    report = v.save(target, f.median_filter(v.open(X), 3), memory_limit="60KiB", devices="cpu*2")
    assert report["blocks"] > 8
    assert np.array_equal(target.data, f.median_filter(X, 3))


def test_the_least_memory_is_told_with_who_shares_it(tmp_path):
    expr = f.median_filter(v.open(X), 9)
    with pytest.raises(MemoryError, match="2 workers share 4096 bytes"):
        v.save(tmp_path / "out.npy", expr, memory_limit=4096, devices="cpu*2")


def test_an_error_of_one_worker_stops_all(tmp_path):
    class Torn:
        shape, dtype = (400, 30, 26), np.dtype("u2")

        def __getitem__(self, key):
            if key[0].start > 200:
                message = "chunk 7 is torn"
                raise OSError(message)
            return np.zeros([s.stop - s.start for s in key], "u2")

    with pytest.raises(OSError, match=r"block \d+ .*chunk 7 is torn"):
        v.save(
            tmp_path / "out.npy",
            f.maximum_filter(v.open(Torn()), 3),
            devices="cpu*2",
            memory_limit="200KiB",
        )
    assert not (tmp_path / "out.npy").exists()


class Duck:
    """An object whose slices have a dtype of their own."""

    shape = X.shape

    def __init__(self, dtype, of_slices):
        self.dtype, self.of_slices = np.dtype(dtype), of_slices

    def __getitem__(self, key):
        return X[key].astype(self.of_slices)


@pytest.mark.parametrize(("dtype", "of_slices"), [("u1", "f8"), ("f4", "f8"), ("u2", "i2")])
def test_slices_of_another_dtype_than_the_object_says_are_refused(dtype, of_slices):
    told = rf"Duck are {np.dtype(of_slices)}, and its dtype is {np.dtype(dtype)}; give"
    with pytest.raises(OSError, match=told):
        np.asarray(v.open(Duck(dtype, of_slices)) + 1)


@pytest.mark.parametrize(("dtype", "of_slices"), [("f8", "u2"), ("u2", ">u2"), ("i4", "u2")])
def test_slices_that_fit_the_dtype_of_the_object_are_taken(dtype, of_slices):
    result = np.asarray(v.open(Duck(dtype, of_slices)))
    assert result.dtype == dtype
    assert np.array_equal(result, X)
