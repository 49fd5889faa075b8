"""Files that change after they were opened: an error that names them, never zeros and never the end of the process."""

import os

import numpy as np
import pytest

from arrayloom import filters as f
from arrayloom import volumes as v
from arrayloom._volumes.journal import fingerprint

SHAPE = (32, 40, 50)


def data():
    return np.random.default_rng(0).integers(1, 4000, SHAPE).astype("u2")


def contiguous_hdf5(path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file["x"] = data()


def plain_tiff(path):
    pytest.importorskip("tifffile").imwrite(path, data(), photometric="minisblack")


def fortran(path):
    np.save(path, np.asfortranarray(data()))


def swapped(path):
    np.save(path, data().astype(">u2"))


FILES = {
    "a.npy": lambda path: np.save(path, data()),
    "fortran.npy": fortran,
    "swapped.npy": swapped,
    "a.raw": lambda path: data().tofile(path),
    "a.tif": plain_tiff,
    "a.h5": contiguous_hdf5,
}


def opened(path):
    raw = {"shape": SHAPE, "dtype": "u2"} if path.suffix == ".raw" else {}
    return v.open(path, **raw)


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


def gone(path):
    path.unlink()


def rewritten(path):
    content = path.read_bytes()
    path.write_bytes(content[:-2] + b"\0\0")
    os.utime(path, ns=(1, 1))


@pytest.mark.parametrize("change", [cut, gone, rewritten])
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_changed_is_named(tmp_path, name, change):
    FILES[name](tmp_path / name)
    source = opened(tmp_path / name)
    result = f.gaussian_filter(source[1:] * 2, 1)
    change(tmp_path / name)
    for run in (
        lambda: np.asarray(result),
        lambda: np.asarray(source),
        lambda: v.sum(source),
        lambda: v.save(tmp_path / "out.npy", result, memory_limit="200KiB"),
        lambda: v.save(tmp_path / "out.npy", result, resume=True),
    ):
        with pytest.raises(OSError, match=rf"{name} (has changed|is gone) since it was opened"):
            run()
    assert {p.name for p in tmp_path.iterdir()} <= {name}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_changes_while_it_is_read_leaves_no_result(tmp_path, name):
    FILES[name](tmp_path / name)
    source = opened(tmp_path / name)

    def touch(*_):
        os.utime(tmp_path / name, ns=(1, 1))

    with pytest.raises(OSError, match=rf"{name} has changed since it was opened"):
        v.save(tmp_path / "out.npy", source + 1, memory_limit="100KiB", progress=touch)
    assert {p.name for p in tmp_path.iterdir()} == {name}


@pytest.mark.parametrize("part", [slice(None), slice(3, 5)])
def test_an_array_that_is_mapped_from_a_file_cut_short_is_refused(tmp_path, part):
    np.save(tmp_path / "a.npy", data())
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")[part]
    volume = v.open(mapped)
    assert np.array_equal(np.asarray(volume + 1), data()[part] + 1)
    cut(tmp_path / "a.npy")
    with pytest.raises(OSError, match=r"a\.npy was cut to \d+ bytes .*map it again"):
        v.save(tmp_path / "out.npy", volume + 1)


def test_files_may_be_renamed_and_read_on_as_they_were_mapped(tmp_path):
    np.save(tmp_path / "a.npy", data())
    volume = v.open(np.load(tmp_path / "a.npy", mmap_mode="r"))
    (tmp_path / "a.npy").rename(tmp_path / "b.npy")
    assert np.array_equal(np.asarray(volume), data())


def test_parts_of_one_mapped_file_are_told_apart(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(1000.0))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    arrays = [np.asarray(mapped[:100]), np.asarray(mapped[100:200]), np.asarray(mapped[:100])]
    first, second, again = (fingerprint(x) for x in arrays)
    assert first == again != second


def test_a_mapped_array_is_written_over_while_it_is_read(tmp_path):
    np.save(tmp_path / "a.npy", data())
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r+")
    v.save(mapped, v.open(mapped) + 1)
    assert np.array_equal(np.load(tmp_path / "a.npy"), data() + 1)
