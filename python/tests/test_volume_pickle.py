"""Volumes that go to another process."""

import multiprocessing
import pickle
import sys

import numpy as np
import pytest

from arrayloom import filters as f
from arrayloom import volumes as v

X = np.random.default_rng(5).integers(0, 4000, (12, 20, 18)).astype("u2")


def sent(volume):
    return pickle.loads(pickle.dumps(volume))


def npy(folder):
    np.save(folder / "x.npy", X)
    return v.open(folder / "x.npy")


def raw(folder):
    X.tofile(folder / "x.raw")
    return v.open(folder / "x.raw", shape=X.shape, dtype="u2")


def image(folder):
    pytest.importorskip("zarr")
    x = np.kron(X, np.ones((1, 2, 2), "u2"))
    v.save(folder / "x.zarr", x, levels=2, spacing=(3, 1, 1), chunks=(4, 8, 8))
    return v.open(folder / "x.zarr", level=1)


def data_set(folder):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "x.h5", "w") as file:
        file["a/x"], file["y"] = X, X + 1
    return v.open(folder / "x.h5", dataset="a/x")


@pytest.mark.parametrize("make", [npy, raw, image, data_set])
def test_files_are_opened_again(tmp_path, make):
    source = make(tmp_path)
    told = pickle.dumps(source)
    assert len(told) < 1000
    back = pickle.loads(told)
    assert np.array_equal(np.asarray(back), np.asarray(source))
    assert (back.axes, back.spacing, back.units) == (source.axes, source.spacing, source.units)
    with pytest.raises(ValueError, match="cannot be written at the same time"):
        v.save(back.path, back)


def test_arrays_go_with_their_voxels(tmp_path):
    np.save(tmp_path / "x.npy", X)
    for array in (X, X[::2, ::-1], np.load(tmp_path / "x.npy", mmap_mode="r")):
        assert np.array_equal(np.asarray(sent(v.open(array))), array)


EXPRESSIONS = {
    "voxels": lambda s: (s * 2 + 1).astype("f4"),
    "filter": lambda s: f.median_filter(f.gaussian_filter(s, 1), 3),
    "slices": lambda s: s[2:9, ::-1, None, 3],
    "along axes": lambda s: s - s.mean(axis=0),
    "pieces": lambda s: np.concatenate([s, s[:2]]),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_go_with_cloudpickle(tmp_path, name):
    pytest.importorskip("cloudpickle")
    volume = EXPRESSIONS[name](npy(tmp_path))
    back = sent(volume)
    assert np.asarray(back).tobytes() == np.asarray(volume).tobytes()
    assert np.asarray(sent(back)).tobytes() == np.asarray(volume).tobytes()


def test_shared_parts_of_expressions_go_once():
    pytest.importorskip("cloudpickle")
    volume = v.open(X.astype("f4"))
    for _ in range(40):
        volume = volume + volume
    assert len(pickle.dumps(volume)) < 2 * X.nbytes + 500_000
    assert np.array_equal(np.asarray(sent(volume)), X * np.float32(2.0**40))


def total(volume):
    return int(volume.sum())


def test_another_process_reads_the_file(tmp_path):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(total, [npy(tmp_path)]) == X.sum()


def test_without_cloudpickle_the_cure_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(TypeError, match=r"pip install cloudpickle.*or save the expression"):
        pickle.dumps(v.open(X) + 1)
