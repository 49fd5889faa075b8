"""Files that are on the disk when `save` returns, and what is told if they cannot be."""

import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from arrayloom import _cli
from arrayloom import filters as f
from arrayloom import volumes as v

X = np.random.default_rng(3).integers(0, 4000, (24, 20, 20)).astype("u2")
CHUNKS = {"chunks": (8, 10, 20)}
FILES = {
    "out.npy": {},
    "out.raw": {},
    "out.tif": {},
    "out.h5": CHUNKS,
    "out.zarr": CHUNKS,
    "out.ome.zarr": {"chunks": (8, 10, 20), "levels": 2},
}


def work():
    return f.maximum_filter(v.open(X), 3)


def skip_without(name):
    libraries = {"zarr": "zarr", "h5": "h5py", "tif": "tifffile"}
    pytest.importorskip(libraries.get(name.rsplit(".", 1)[1], "numpy"))


@pytest.fixture
def synced(monkeypatch):
    """Names that were synced, relative to their folder, and renames between them, as they came."""
    seen = []
    fsync, replace = os.fsync, os.replace

    def named(file):
        seen.append(str(Path(f"/proc/self/fd/{file}").readlink()))
        fsync(file)

    def renamed(old, new):
        seen.append(f"{old} -> {new}")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", named)
    monkeypatch.setattr(os, "replace", renamed)
    return seen


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("old", [False, True])
def test_all_that_was_written_is_synced_once_and_then_its_name(tmp_path, synced, name, old):
    skip_without(name)
    out = tmp_path / name
    if old:
        v.save(out, X, **FILES[name])
        assert not [path for path in synced if "->" not in path]
        synced.clear()
    v.save(out, work(), durable=True, memory_limit="60KiB", **FILES[name])
    partial = str(tmp_path / f".{name}.partial{out.suffix}")
    rename = f"{partial} -> {out}"
    at = synced.index(rename)
    # Libraries rename files of their own before.
    before = [path for path in synced[:at] if path.startswith(partial) and "->" not in path]
    assert synced[at + 1 :] == [str(tmp_path)]
    assert len(set(before)) == len(before)
    there = {str(out), *map(str, out.rglob("*"))}
    assert {str(out) + path.removeprefix(partial) for path in before} == there
    # A folder comes behind all that is in it.
    for number, path in enumerate(before):
        assert not any(later.startswith(f"{path}/") for later in before[number:])
    words = {"shape": X.shape, "dtype": "u2"} if name.endswith("raw") else {}
    assert np.array_equal(np.asarray(v.open(out, **words)), f.maximum_filter(X, 3))


def test_by_default_nothing_is_synced(tmp_path, synced):
    v.save(tmp_path / "out.npy", work())
    assert synced == [f"{tmp_path}/.out.npy.partial.npy -> {tmp_path}/out.npy"]


@pytest.mark.parametrize("name", ["out.npy", "out.zarr", "out.h5"])
def test_a_file_that_cannot_be_synced_is_not_kept(tmp_path, monkeypatch, name):
    skip_without(name)
    out = tmp_path / name
    v.save(out, X, **FILES[name])

    def broken(file):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", broken)
        told = rf"{name} cannot be synced to the disk \(Input/output error\), which may have lost"
        with pytest.raises(OSError, match=told) as caught:
            v.save(out, work(), durable=True, **FILES[name])
    assert caught.value.errno == errno.EIO
    # The file before it is as it was.
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert np.array_equal(np.asarray(v.open(out)), X)


def fails_for_folders(number):
    fsync = os.fsync

    def call(file):
        if Path(f"/proc/self/fd/{file}").is_dir():
            raise OSError(number, os.strerror(number))
        fsync(file)

    return call


def test_a_name_that_cannot_be_synced_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", fails_for_folders(errno.ENOSPC))
    with pytest.raises(OSError, match=r"out\.npy is complete and on the disk, but its name cannot"):
        v.save(tmp_path / "out.npy", work(), durable=True)
    assert [path.name for path in tmp_path.iterdir()] == ["out.npy"]
    assert np.array_equal(np.load(tmp_path / "out.npy"), f.maximum_filter(X, 3))


def test_file_systems_that_sync_no_folders_are_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", fails_for_folders(errno.EINVAL))
    v.save(tmp_path / "out.npy", work(), durable=True)
    assert np.array_equal(np.load(tmp_path / "out.npy"), f.maximum_filter(X, 3))


def test_what_workers_wrote_is_synced_too(tmp_path, synced):
    pytest.importorskip("zarr")
    with ThreadPoolExecutor(2) as pool:
        v.save(tmp_path / "out.zarr", work(), durable=True, client=pool, **CHUNKS)
    assert sum(path.rsplit("/", 1)[-1].isdecimal() for path in synced if "/c/" in path) >= 6
    assert synced[-1] == str(tmp_path)


def test_objects_are_not_synced(tmp_path):
    with pytest.raises(ValueError, match="durable is of files; the target is an object"):
        v.save(np.empty_like(X), work(), durable=True)


def test_convert_and_the_command_line_take_it(tmp_path, synced):
    np.save(tmp_path / "in.npy", X)
    v.convert(tmp_path / "in.npy", tmp_path / "out.raw", durable=True)
    assert synced.count(str(tmp_path)) == 1
    words = ["filter", "maximum", tmp_path / "in.npy", tmp_path / "out.npy", "--durable"]
    assert _cli.main([str(word) for word in words]) == 0
    assert synced.count(str(tmp_path)) == 2
    words = ["convert", tmp_path / "in.npy", tmp_path / "out.npy", "--durable"]
    assert _cli.main([str(word) for word in words]) == 0
    assert synced.count(str(tmp_path)) == 3
