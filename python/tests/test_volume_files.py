"""Volumes in TIFF and Zarr files."""

import errno
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from arrayloom import filters as f
from arrayloom import volumes as v


def data(dtype="u2"):
    return np.random.default_rng(4).integers(0, 4000, (12, 30, 40)).astype(dtype)


@pytest.mark.parametrize("layout", [{}, {"tile": (16, 16)}, {"rowsperstrip": 7}])
def test_tiff_files_are_read_and_written(tmp_path, layout):
    tifffile = pytest.importorskip("tifffile")
    x = data()
    tifffile.imwrite(tmp_path / "in.tif", x, photometric="minisblack", **layout)
    source = v.open(tmp_path / "in.tif")
    assert (source.shape, source.dtype) == (x.shape, x.dtype)
    v.save(tmp_path / "out.tif", f.median_filter(source, 3), memory_limit="200KiB")
    assert np.array_equal(tifffile.imread(tmp_path / "out.tif"), f.median_filter(x, 3))


@pytest.mark.parametrize("chunks", [(12, 30, 40), (5, 8, 16)])
def test_zarr_arrays_are_read_and_written(tmp_path, chunks):
    zarr = pytest.importorskip("zarr")
    x = data("f4")
    stored = zarr.create_array(tmp_path / "in.zarr", shape=x.shape, dtype=x.dtype, chunks=chunks)
    stored[...] = x
    expr = f.gaussian_filter(v.open(tmp_path / "in.zarr"), 1)
    v.save(tmp_path / "out.zarr", expr, chunks=(6, 8, 16), memory_limit="400KiB")
    assert np.array_equal(zarr.open_array(tmp_path / "out.zarr")[...], f.gaussian_filter(x, 1))
    assert np.array_equal(v.open(stored)[2:5, 3], x[2:5, 3])


def test_boxes_of_chunked_files_are_read_where_they_are_wanted(tmp_path):
    zarr = pytest.importorskip("zarr")
    x = data()
    stored = zarr.create_array(
        tmp_path / "in.zarr", shape=x.shape, dtype=x.dtype, chunks=(5, 8, 16)
    )
    stored[...] = x
    source = v.open(tmp_path / "in.zarr")
    rng = np.random.default_rng(1)
    for _ in range(60):
        key = []
        for n in x.shape:
            lo, hi = sorted(rng.integers(0, n + 1, 2).tolist())
            key.append(
                [slice(lo, hi), slice(lo - n, None), slice(lo, hi, 2), int(rng.integers(n))][
                    rng.integers(4)
                ]
            )
        part, plain = source[tuple(key)], x[tuple(key)]
        assert np.array_equal(np.asarray(part), plain), key
        if part.ndim and part.shape[0]:
            assert np.array_equal(np.asarray(part[1:][..., :3]), plain[1:][..., :3]), key
    assert np.array_equal(np.asarray(source), x)
    assert np.array_equal(np.asarray(source[3:9])[None], np.asarray(source[None, 3:9]))


@pytest.mark.parametrize("name", ["a.npy", "a.tif", "a.zarr", "a.h5"])
def test_files_that_are_something_else_are_named(tmp_path, name):
    modules = {"a.tif": "tifffile", "a.zarr": "zarr", "a.h5": "h5py"}
    if name in modules:
        pytest.importorskip(modules[name])
    file = tmp_path / name
    file.mkdir() if name == "a.zarr" else file.write_text("junk")
    with pytest.raises((ValueError, OSError), match=name):
        v.open(file)


def test_files_that_are_cut_short_are_named(tmp_path):
    x = data()
    np.save(tmp_path / "in.npy", x)
    (tmp_path / "in.npy").write_bytes((tmp_path / "in.npy").read_bytes()[:9000])
    with pytest.raises(ValueError, match=r"in\.npy"):
        v.open(tmp_path / "in.npy")
    tifffile = pytest.importorskip("tifffile")
    tifffile.imwrite(tmp_path / "in.tif", x, photometric="minisblack")
    (tmp_path / "in.tif").write_bytes((tmp_path / "in.tif").read_bytes()[:9000])
    with pytest.raises((ValueError, OSError), match=r"in\.tif"):
        np.asarray(v.open(tmp_path / "in.tif"))


def test_directories_with_other_files_are_not_replaced(tmp_path):
    x = data()
    for name in ("out.npy", "out.zarr"):
        if name == "out.zarr":
            pytest.importorskip("zarr")
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.txt").write_text("years")
        with pytest.raises(IsADirectoryError, match=name):
            v.save(tmp_path / name, x)
        assert (tmp_path / name / "thesis.txt").read_text() == "years"


def test_an_array_of_zarr_is_replaced_as_a_whole(tmp_path):
    pytest.importorskip("zarr")
    for n in (1, 2):
        v.save(tmp_path / "out.zarr", data() * n, chunks=(12, 30, 40))
        assert np.array_equal(np.asarray(v.open(tmp_path / "out.zarr")), data() * n)
        assert [p.name for p in tmp_path.iterdir()] == ["out.zarr"]


@pytest.mark.parametrize("name", ["out.npy", "out.raw", "out.tif"])
def test_a_full_disk_is_noticed_before_anything_is_mapped(tmp_path, monkeypatch, name):
    if name == "out.tif":
        pytest.importorskip("tifffile")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(OSError, match=name) as caught:
        v.save(tmp_path / name, data())
    assert caught.value.errno == errno.ENOSPC
    assert not list(tmp_path.iterdir())


SHAPES = [(1, 30, 40), (5, 1, 40), (5, 30, 1), (2, 1, 5, 6), (1, 1, 1, 1, 1), (1, 6), (5, 6, 3)]


@pytest.mark.parametrize("name", ["a.tif", "a.ome.tif", "a.npy", "a.zarr", "a.h5"])
@pytest.mark.parametrize("shape", SHAPES)
def test_files_keep_axes_of_extent_one(tmp_path, name, shape):
    pytest.importorskip({"zarr": "zarr", "h5": "h5py"}.get(name.split(".")[-1], "tifffile"))
    x = np.arange(np.prod(shape), dtype="u2").reshape(shape)
    v.save(tmp_path / name, x)
    back = v.open(tmp_path / name)
    assert back.shape == shape
    assert np.array_equal(np.asarray(back), x)


@pytest.mark.parametrize("layout", [{}, {"tile": (16, 16)}])
@pytest.mark.parametrize("shape", SHAPES)
def test_compressed_pages_keep_axes_of_extent_one(tmp_path, shape, layout):
    tifffile = pytest.importorskip("tifffile")
    x = np.arange(np.prod(shape), dtype="u2").reshape(shape)
    if x.size == 1:
        return
    options = {"photometric": "minisblack", "compression": "zlib"}
    tifffile.imwrite(tmp_path / "a.tif", x, **options, **layout)
    back = v.open(tmp_path / "a.tif")
    assert back.shape == shape
    assert np.array_equal(np.asarray(back), x)


@pytest.mark.parametrize("layout", [{}, {"ome": True}, {"metadata": None}, {"tile": (16, 16)}])
def test_compressed_pages_that_are_cut_short_are_named(tmp_path, layout):
    tifffile = pytest.importorskip("tifffile")
    file, options = tmp_path / "in.tif", {"photometric": "minisblack", "compression": "zlib"}
    tifffile.imwrite(file, data(), **options, **layout)
    whole = file.read_bytes()
    for share in (0.3, 0.6, 0.85):
        file.write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(OSError, match=r"in\.tif.*cut short"):
            np.asarray(v.open(file))


def test_truth_values_are_bytes_of_tiff(tmp_path):
    pytest.importorskip("tifffile")
    v.save(tmp_path / "a.tif", v.open(data()) > 2000)
    assert np.array_equal(np.asarray(v.open(tmp_path / "a.tif")), (data() > 2000).astype("u1"))


@pytest.mark.parametrize(
    ("name", "x", "words"),
    [
        ("a.tif", np.zeros(9), "no pages of two axes"),
        ("a.tif", np.zeros((0, 3, 4)), "no empty pages"),
        ("a.tif", np.zeros((3, 4), "D"), "complex64"),
        ("a.ome.tif", np.zeros((3, 4), "i8"), "write .tif"),
    ],
)
def test_what_tiff_cannot_hold_is_told(tmp_path, name, x, words):
    pytest.importorskip("tifffile")
    with pytest.raises(ValueError, match=words):
        v.save(tmp_path / name, x)


def test_every_name_of_an_integer_is_written_to_zarr(tmp_path):
    pytest.importorskip("zarr")
    for letter in "lqLQ":
        v.save(tmp_path / "a.zarr", np.arange(9).astype(letter))
        assert np.array_equal(np.asarray(v.open(tmp_path / "a.zarr")), np.arange(9))


def test_chunks_that_are_too_long_are_named(tmp_path):
    zarr = pytest.importorskip("zarr")
    made = zarr.create_array(tmp_path / "in.zarr", data=data(), chunks=(5, 8, 16), compressors=None)
    chunk = tmp_path / "in.zarr" / "c" / "1" / "1" / "1"
    chunk.write_bytes(chunk.read_bytes() + b"\0\0")
    with pytest.raises(OSError, match=r"1282 bytes instead of 1280"):
        np.asarray(v.open(made))


WORDS = {
    "a.npy": ["chunks", "compression", "dataset", "levels", "axes"],
    "a.raw": ["shards", "zarr_format", "spacing"],
    "a.tif": ["chunks", "compression", "levels"],
    "a.h5": ["shards", "zarr_format", "levels", "axes"],
    "a.zarr": ["compression", "dataset"],
}
SAID = {
    "chunks": (4, 4, 4), "shards": (4, 4, 4), "compression": "gzip", "dataset": "x", "levels": 1, "axes": "zyx",
    "spacing": (1, 1, 1), "zarr_format": 2,
}  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
def test_words_that_a_format_does_not_have_are_refused(tmp_path, name):
    for word in WORDS[name]:
        with pytest.raises(ValueError, match=rf"{word}= is for .*only; leave it out"):
            v.save(tmp_path / name, data(), **{word: SAID[word]})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words", [{"level": 1}, {"dataset": "x"}, {"shape": (3, 4)}, {"dtype": "f4"}]
)
def test_words_of_files_are_refused_where_they_say_nothing(tmp_path, words):
    np.save(tmp_path / "in.npy", data())
    with pytest.raises(ValueError, match="leave it out"):
        v.open(tmp_path / "in.npy", **words)
    with pytest.raises(ValueError, match="has its own"):
        v.open(data(), **words)


@pytest.mark.parametrize(
    ("name", "words", "told"),
    [
        ("a.zarr", {"zarr_format": 9}, "there are 2 and 3"),
        ("a.zarr", {"zarr_format": 9, "levels": 1}, "there are 2 and 3"),
        ("a.zarr", {"spacing": (1, 1, 1)}, "give levels=1"),
        ("a.zarr", {"levels": 0}, "from 1 on"),
        ("a.zarr", {"levels": 1.5}, "from 1 on"),
        ("a.zarr", {"levels": 1, "axes": "yyx"}, "differ"),
        ("a.zarr", {"levels": 1, "spacing": (1, 1, 0)}, "positive"),
        ("a.zarr", {"shards": (8, 8, 8), "chunks": (3, 3, 3)}, "divisible"),
        ("a.h5", {"compression": "zz"}, "unavailable"),
        ("a.h5", {"chunks": (99, 99, 99)}, "greater"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_words_with_wrong_values_are_told_and_nothing_stays(tmp_path, name, words, told):
    pytest.importorskip("zarr" if name == "a.zarr" else "h5py")
    with pytest.raises(ValueError, match=told):
        v.save(tmp_path / name, data(), **words)
    assert not list(tmp_path.iterdir())


def test_targets_that_are_there_already_take_no_words_of_files():
    for words in ({"chunks": (4, 4, 4)}, {"resume": True}):
        with pytest.raises(ValueError, match="leave it out"):
            v.save(np.empty_like(data()), data(), **words)


@pytest.mark.parametrize("change", [
    lambda meta: meta.pop("shape"),
    lambda meta: meta.update(shape=[20]),
    lambda meta: meta.update(shape=[-1, 2, 3]),
    lambda meta: meta.update(shape="zz"),
    lambda meta: meta.update(chunks=[0, 0, 0], chunk_grid={}),
    lambda meta: meta.update(dimension_separator="zz", chunk_key_encoding={"name": "v2", "configuration": {"separator": 3}}),
    lambda meta: meta.clear(),
])  # fmt: skip
@pytest.mark.parametrize(("zarr_format", "name"), [(2, ".zarray"), (3, "zarr.json")])
@pytest.mark.filterwarnings("ignore")
def test_broken_metadata_are_named(tmp_path, change, zarr_format, name):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(tmp_path / "in.zarr", data=data(), chunks=(5, 8, 16), zarr_format=zarr_format)
    file = tmp_path / "in.zarr" / name
    meta = json.loads(file.read_text())
    change(meta)
    file.write_text(json.dumps(meta))
    with pytest.raises(ValueError, match=r"in\.zarr"):
        v.open(tmp_path / "in.zarr")


def groups(file):
    """Arrays in groups, as Zarr and HDF5 both have them."""
    file.create_group("g").create_group("inner")
    for name in ("g/inner/x", "g/y", "z"):
        make = getattr(file, "create_array", None) or file.create_dataset
        make(name, data=data())


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_groups_of_zarr_are_told_with_what_they_hold(tmp_path, zarr_format):
    zarr = pytest.importorskip("zarr")
    file = tmp_path / "a.zarr"
    groups(zarr.open_group(file, mode="w", zarr_format=zarr_format))
    assert np.array_equal(np.asarray(v.open(file, dataset="g/inner/x")), data())
    told = "the arrays g/inner/x, g/y"
    with pytest.raises(ValueError, match=rf"'g' in .*a.zarr is a group with {told}; .*dataset="):
        v.open(file, dataset="g")
    with pytest.raises(ValueError, match=rf"has no array 'q'; it holds {told}, z"):
        v.open(file, dataset="q")
    assert np.array_equal(np.asarray(v.open(file)), data())  # the only one that lies in no group
    zarr.open_group(file).create_array("w", data=data())
    with pytest.raises(ValueError, match=rf"a.zarr holds {told}, w, z; say which"):
        v.open(file)


def test_groups_and_empty_data_sets_of_hdf5_are_told(tmp_path):
    h5py = pytest.importorskip("h5py")
    file = tmp_path / "a.h5"
    with h5py.File(file, "w") as made:
        groups(made)
        made["nothing"] = h5py.Empty("f4")
    told = "the arrays g/inner/x, g/y"
    with pytest.raises(ValueError, match=rf"'g' in .*a.h5 is a group with {told}; .*dataset="):
        v.open(file, dataset="g")
    with pytest.raises(ValueError, match=rf"has no array 'q'; it holds {told}, nothing, z"):
        v.open(file, dataset="q")
    with pytest.raises(ValueError, match=r"'nothing' in .*a.h5 is empty"):
        v.open(file, dataset="nothing")


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.filterwarnings("ignore")
def test_one_array_of_zarr_has_no_names_and_levels(tmp_path, zarr_format, order):
    zarr = pytest.importorskip("zarr")
    file = tmp_path / "a.zarr"
    zarr.create_array(file, data=data(), chunks=(5, 8, 16), zarr_format=zarr_format, order=order)
    with pytest.raises(
        ValueError, match=r"a.zarr is one array, and has no 'q' in it; leave dataset= out"
    ):
        v.open(file, dataset="q")
    with pytest.raises(ValueError, match=r"a.zarr is no image with levels, and has no level 5"):
        v.open(file, level=5)
    with pytest.raises(ValueError, match="level= is of images"):
        v.open(file, dataset="q", level=1)


@pytest.mark.parametrize("name", ["e.raw", "e.npy"])
@pytest.mark.parametrize("shape", [(0, 4), (3, 0)])
def test_files_without_voxels_are_written_and_read(tmp_path, name, shape):
    v.save(tmp_path / name, np.zeros(shape, "f4"))
    words = {"shape": shape, "dtype": "f4"} if name == "e.raw" else {}
    if name == "e.raw":
        assert (tmp_path / name).stat().st_size == 0
    assert np.asarray(v.open(tmp_path / name, **words)).shape == shape


FULL = """
import sys
import numpy as np
from zarr.storage import LocalStore
from arrayloom import volumes as v

real, calls = LocalStore.set, []

async def full(self, key, value, *rest):
    calls.append(key)
    if len(calls) > 40:
        raise OSError(28, "No space left on device")
    return await real(self, key, value, *rest)

LocalStore.set = full
try:
    v.save(sys.argv[1], np.random.default_rng(0).random((64, 64, 64)), chunks=(8, 8, 8))
except OSError as error:
    print(error)
"""


def test_a_disk_that_fills_under_zarr_is_one_message(tmp_path):
    pytest.importorskip("zarr")
    words = [sys.executable, "-c", FULL, str(tmp_path / "out.zarr")]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "No space left on device; what" in ran.stdout
    assert ran.stderr == ""


LIMITED = """
import resource, sys
import numpy as np
from arrayloom import volumes as v

resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, 4 << 20))
x = np.random.default_rng(0).random((64, 128, 128))
try:
    v.save(sys.argv[1], x, chunks=(8, 64, 64), memory_limit="2MiB")
except OSError as error:
    print(error)
"""


def test_the_greatest_size_of_files_is_noticed_before_hdf5_ends_the_process(tmp_path):
    pytest.importorskip("h5py")
    words = [sys.executable, "-c", LIMITED, str(tmp_path / "out.h5")]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "File too large" in ran.stdout
    assert f"what {tmp_path / 'out.h5'} has so far is kept" in ran.stdout
    assert ran.stderr == ""


@pytest.mark.parametrize("shape", ["a", "345", 60, (3, "a"), (3, 1.5), (3, None)])
def test_shapes_are_lists_of_whole_numbers(tmp_path, shape):
    np.zeros(60).tofile(tmp_path / "a.raw")
    with pytest.raises(TypeError, match="is no list of whole numbers, such as"):
        v.open(tmp_path / "a.raw", shape=shape, dtype="f8")
    assert v.open(tmp_path / "a.raw", shape=np.array([3, 20]), dtype="f8").shape == (3, 20)


def test_a_directory_with_nothing_of_zarr_says_so(tmp_path):
    pytest.importorskip("zarr")
    (tmp_path / "a.zarr").mkdir()
    with pytest.raises(FileNotFoundError, match="has no array of Zarr and no group in it") as told:
        v.open(tmp_path / "a.zarr")
    assert type(told.value) is FileNotFoundError


def test_damaged_files_are_named(tmp_path):
    h5py = pytest.importorskip("h5py")
    tifffile = pytest.importorskip("tifffile")
    x = data()
    npy, hdf5, tiff = (tmp_path / name for name in ("a.npy", "a.h5", "a.tif"))

    def damage(path, place, byte=0):
        whole = bytearray(path.read_bytes())
        whole[whole.index(place) if isinstance(place, bytes) else place] = byte
        path.write_bytes(whole)

    np.save(npy, x)
    damage(npy, b"}", ord(" "))
    with h5py.File(hdf5, "w") as file:
        file.create_dataset("x", data=x)
    damage(hdf5, b"HEAP")
    tifffile.imwrite(tiff, x[0], photometric="minisblack")
    with tifffile.TiffFile(tiff) as file:
        place = file.pages[0].tags["ImageWidth"].valueoffset
    damage(tiff, place)
    for path, kind in ((npy, "npy"), (hdf5, "hdf5"), (tiff, "tiff")):
        with pytest.raises(ValueError, match=f"{path.name} cannot be read as {kind}") as caught:
            v.open(path)
        assert caught.value.__cause__ is not None


def test_chunks_that_a_library_cannot_read_are_told_with_their_file(tmp_path):
    h5py = pytest.importorskip("h5py")
    x = data()
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=x, chunks=x.shape, fletcher32=True)
    whole = bytearray(path.read_bytes())
    whole[whole.index(x[:2].tobytes()) + 5] ^= 1
    path.write_bytes(whole)
    with pytest.raises(OSError, match=r"reading \[.*a\.h5 cannot be read: "):
        np.asarray(v.open(path))
