"""Targets that are read by what is written to them."""

import numpy as np
import pytest

from arrayloom import filters as f
from arrayloom import volumes as v

X = np.random.default_rng(2).random((24, 24, 24)).astype("f4")
EXPRESSIONS = {
    "voxels": lambda s: s * 2 + 1,
    "windows": lambda s: f.gaussian_filter(s, 1),
    "planes": lambda s: s[::-1],
    "axes": lambda s: s.transpose(0, 2, 1),
    "sums": lambda s: s - s.mean(axis=0),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_arrays_are_written_over_right(name):
    expected = np.asarray(EXPRESSIONS[name](v.open(X)))
    for take in (lambda x: x, lambda x: v.open(x), lambda x: v.open(x[:]) + 0):
        x = X.copy()
        v.save(x, EXPRESSIONS[name](v.open(take(x))), memory_limit="100KiB")
        assert np.array_equal(x, expected)
    wide = np.zeros((30, 24, 24), "f4")
    wide[3:27] = X
    v.save(wide[3:27], EXPRESSIONS[name](v.open(wide)[3:27]), memory_limit="200KiB")
    assert np.array_equal(wide[3:27], expected)
    wide[2:26] = X
    v.save(wide[3:27], EXPRESSIONS[name](v.open(wide)[2:26]), memory_limit="200KiB")
    assert np.array_equal(wide[3:27], expected)


def mapped(folder):
    np.save(folder / "x.npy", X)
    first, second = (np.load(folder / "x.npy", mmap_mode="r+") for _ in range(2))
    return first, second


def zarr_arrays(folder):
    zarr = pytest.importorskip("zarr")
    made = zarr.create_array(folder / "x.zarr", data=X, chunks=(8, 8, 8))
    return made, folder / "x.zarr"


def zarr_in_memory(_):
    zarr = pytest.importorskip("zarr")
    made = zarr.create_array(zarr.storage.MemoryStore(), data=X, chunks=(8, 8, 8))
    return made, made


def hdf5_data(folder):
    file = pytest.importorskip("h5py").File(folder / "x.h5", "w")
    file["x"] = X
    return file["x"], file["x"]


def tensorstores(folder):
    tensorstore = pytest.importorskip("tensorstore")
    spec = {"driver": "zarr", "kvstore": {"driver": "file", "path": str(folder / "x.zarr")}}
    made = tensorstore.open(spec, create=True, dtype=tensorstore.float32, shape=X.shape).result()
    made[...] = X
    return made, tensorstore.open(spec).result()


@pytest.mark.parametrize("make", [mapped, zarr_arrays, zarr_in_memory, hdf5_data, tensorstores])
@pytest.mark.filterwarnings("ignore")
def test_files_that_are_read_are_not_written(tmp_path, make):
    target, source = make(tmp_path)
    with pytest.raises(ValueError, match="read and cannot be written at the same time"):
        v.save(target, f.gaussian_filter(v.open(source), 1), memory_limit="100KiB")
    assert np.array_equal(np.asarray(target[:, :, :]), X)


def test_mapped_files_are_written_over_voxel_by_voxel(tmp_path):
    first, second = mapped(tmp_path)
    v.save(first, v.open(first) * 2, memory_limit="60KiB")
    assert np.array_equal(first, X * 2)
    # Outputs of filters wait until everything is read.
    f.gaussian_filter(second, 1, output=first, memory_limit="60KiB")
    assert np.array_equal(first, f.gaussian_filter(X * 2, 1))


def test_targets_that_take_no_slices_are_refused():
    for target in (None, [1], 3.0):
        with pytest.raises(TypeError, match="no target; give a file name"):
            v.save(target, X)
    assert v.plan(X).shape == X.shape


def read_only_array(_):
    x = np.zeros_like(X)
    x.flags.writeable = False
    return x


def read_only_zarr(folder):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(folder / "x.zarr", data=X, chunks=(8, 8, 8))
    return zarr.open_array(folder / "x.zarr", mode="r")


def read_only_hdf5(folder):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "x.h5", "w") as file:
        file["x"] = X
    return h5py.File(folder / "x.h5", "r")["x"]


@pytest.mark.parametrize("make", [read_only_array, read_only_zarr, read_only_hdf5])
def test_targets_that_can_only_be_read_are_refused_before_the_work(tmp_path, make):
    def never(*_):
        raise AssertionError

    with pytest.raises(ValueError, match="can only be read is no target; give one that is opened"):
        v.save(make(tmp_path), v.open(X + 1), progress=never)


def test_other_data_sets_of_a_file_are_written(tmp_path):
    file = pytest.importorskip("h5py").File(tmp_path / "x.h5", "w")
    file["x"], file["y"] = X, X
    v.save(file["y"], f.gaussian_filter(v.open(file["x"]), 1))
    assert np.array_equal(file["y"][...], f.gaussian_filter(X, 1))
