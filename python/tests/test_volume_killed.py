"""A run that is killed between any two instructions goes on where it was, and nobody sees half a file."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from arrayloom import filters as f
from arrayloom import volumes as v
from arrayloom._volumes import elementwise

PROGRAM = """
import sys, time
import numpy as np
from arrayloom import filters as f, volumes as v

class Slow:
    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
    def __getitem__(self, key):
        time.sleep(0.02)
        return self.array[key]

source = v.open(Slow(np.load(sys.argv[1], mmap_mode="r")))
chunks = (8, 20, 20) if sys.argv[2].endswith("zarr") else None
v.save(sys.argv[2], f.gaussian_filter(source, 1), memory_limit="200KiB", chunks=chunks, resume=True)
"""


class Slow:
    """As in the program, but in no hurry to be stopped."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, key):
        return self.array[key]


@pytest.mark.parametrize("name", ["out.npy", "out.zarr"])
def test_after_a_kill_the_rest_is_computed_once(tmp_path, name):
    if name.endswith("zarr"):
        pytest.importorskip("zarr")
    x = np.random.default_rng(0).integers(0, 4000, (96, 40, 40)).astype(np.uint16)
    np.save(tmp_path / "in.npy", x)
    out = tmp_path / name
    journal = tmp_path / f".{name}.arrayloom-journal"
    words = [sys.executable, "-c", PROGRAM, str(tmp_path / "in.npy"), str(out)]
    kept = 0
    for _ in range(2):
        with subprocess.Popen(words) as child:
            end = time.monotonic() + 60
            while child.poll() is None and time.monotonic() < end:
                now = len(journal.read_text().splitlines()) if journal.exists() else 0
                if now > kept + 2:
                    break
                time.sleep(0.005)
            assert not out.exists()
            child.send_signal(signal.SIGKILL)
            child.wait()
        lines = len(journal.read_text().splitlines())
        assert lines > kept
        kept = lines
    # The last line may be torn by the kill itself.
    with journal.open("a") as file:
        file.write('{"lo": [0,')
        file.flush()
        os.fsync(file.fileno())
    written = []
    source = v.open(Slow(np.load(tmp_path / "in.npy", mmap_mode="r")))
    with pytest.raises(ValueError, match="cannot resume"):
        v.save(out, f.gaussian_filter(source, 1.5), memory_limit="200KiB", resume=True)
    expr = f.gaussian_filter(source, 1)
    chunks = (8, 20, 20) if name.endswith("zarr") else None
    options = {"chunks": chunks, "progress": lambda *p: written.append(p[0])}
    v.save(out, expr, memory_limit="200KiB", resume=True, **options)
    assert written[0] > x.size // 20
    assert np.array_equal(np.asarray(v.open(out)), f.gaussian_filter(x, 1))
    assert not journal.exists()


def test_only_the_same_work_goes_on(tmp_path):
    x = np.random.default_rng(0).normal(size=(30, 20, 20))
    np.save(tmp_path / "in.npy", x)
    out = tmp_path / "out.npy"

    def work(sigma=1.0, factor=2.0, name="in.npy"):
        source = v.open(tmp_path / name)
        return np.where(source > 0, f.gaussian_filter(source, sigma) * factor, 0)

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        v.save(out, work(), memory_limit="100KiB", progress=stop)
    np.save(tmp_path / "other.npy", x)
    for other in (work(sigma=1.1), work(factor=3.0), work(name="other.npy"), work() + 1):
        with pytest.raises(ValueError, match="cannot resume"):
            v.save(out, other, memory_limit="100KiB", resume=True)
    v.save(out, work(), memory_limit="100KiB", resume=True)
    assert np.array_equal(np.load(out), np.where(x > 0, f.gaussian_filter(x, 1.0) * 2.0, 0))


def half(path, volume, **options):
    """Stops after half of the voxels."""

    def stop(voxels, total, _):
        if 2 * voxels > total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        v.save(path, volume, memory_limit="40KiB", progress=stop, **options)


def first_step(path, volume, **options):
    """Voxels that are written after the first block of a run that goes on."""
    seen = []
    take = {"memory_limit": "40KiB", "progress": lambda *p: seen.append(p[0])}
    v.save(path, volume, resume=True, **take, **options)
    return seen[0]


@pytest.mark.parametrize("name", ["out.npy", "out.zarr", "out.h5"])
@pytest.mark.parametrize("lost", ["nothing", "the file", "the head of the journal"])
def test_what_was_lost_is_written_again(tmp_path, name, lost):
    pytest.importorskip({"npy": "numpy", "zarr": "zarr", "h5": "h5py"}[name.split(".")[1]])
    x = np.random.default_rng(1).integers(1, 4000, (48, 20, 20)).astype("u2")
    options = {} if name.endswith("npy") else {"chunks": (8, 20, 20)}
    half(tmp_path / name, f.maximum_filter(v.open(x), 3), **options)
    partial, journal = (tmp_path / f".{name}{end}" for end in (".partial", ".arrayloom-journal"))
    if lost == "the file":
        partial = partial.with_name(f"{partial.name}{(tmp_path / name).suffix}")
        partial.rename(tmp_path / "elsewhere")
    elif lost == "the head of the journal":
        journal.write_text('{"shape": [48, 2')
    first = first_step(tmp_path / name, f.maximum_filter(v.open(x), 3), **options)
    assert (first > x.size / 2) == (lost == "nothing")
    assert np.array_equal(np.asarray(v.open(tmp_path / name)), f.maximum_filter(x, 3))


def test_hdf5_files_of_a_killed_run_begin_anew(tmp_path):
    pytest.importorskip("h5py")
    x = np.random.default_rng(1).integers(1, 4000, (48, 20, 20)).astype("u2")
    half(tmp_path / "out.h5", f.maximum_filter(v.open(x), 3), chunks=(8, 20, 20))
    journal = tmp_path / ".out.h5.arrayloom-journal"
    # A run that is killed writes no last line, and HDF5 does not hand over what it holds.
    lines = journal.read_text().splitlines(keepends=True)
    assert lines[-1] == '"closed"\n'
    journal.write_text("".join(lines[:-1]))
    first = first_step(tmp_path / "out.h5", f.maximum_filter(v.open(x), 3), chunks=(8, 20, 20))
    assert first < x.size / 2
    assert np.array_equal(np.asarray(v.open(tmp_path / "out.h5")), f.maximum_filter(x, 3))


def test_a_disk_that_fills_is_noticed_before_hdf5_ends_the_process(tmp_path, monkeypatch):
    pytest.importorskip("h5py")
    x = np.random.default_rng(1).integers(1, 4000, (48, 20, 20)).astype("u2")
    options = {"chunks": (8, 20, 20), "compression": "gzip"}
    fresh = first_step(tmp_path / "other.h5", f.maximum_filter(v.open(x), 3), **options)
    room = iter([1 << 30])
    with monkeypatch.context() as patch:
        usage = type("Usage", (), {})
        usage.free = property(lambda _: next(room, 100))
        patch.setattr("shutil.disk_usage", lambda _: usage())
        with pytest.raises(OSError, match=r"No space left on device: \d+ bytes.*out.h5 has so far"):
            v.save(
                tmp_path / "out.h5", f.maximum_filter(v.open(x), 3), memory_limit="40KiB", **options
            )
    first = first_step(tmp_path / "out.h5", f.maximum_filter(v.open(x), 3), **options)
    assert first > fresh
    assert np.array_equal(np.asarray(v.open(tmp_path / "out.h5")), f.maximum_filter(x, 3))


class Stops:
    """A source whose third box is never read: its reader raises."""

    shape, dtype = (48, 20, 20), np.dtype("u2")

    def __init__(self, array, error):
        self.array, self.error, self.calls = array, error, 0

    def __getitem__(self, key):
        self.calls += 1
        if self.calls == 3:
            raise self.error
        return self.array[key]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
@pytest.mark.parametrize("where", ["read", "computed", "written"])
def test_a_stop_comes_out_as_itself_wherever_it_lands(tmp_path, monkeypatch, where, error):
    x = np.random.default_rng(1).integers(1, 4000, (48, 20, 20)).astype("u2")
    np.save(tmp_path / "in.npy", x)
    expected = f.maximum_filter(x, 3) + np.uint16(1)
    seen = []

    def stopping(function):
        def call(*args):
            seen.append(args)
            if len(seen) == 3:
                raise error
            return function(*args)

        return call

    def work():
        source = v.open(Stops(x, error) if where == "read" else tmp_path / "in.npy")
        return f.maximum_filter(source, 3) + np.uint16(1)

    with monkeypatch.context() as patch:
        if where == "computed":
            patch.setattr("arrayloom._volumes.elementwise.box_of", stopping(elementwise.box_of))
        if where == "written":
            patch.setattr(np.memmap, "__setitem__", stopping(np.memmap.__setitem__), raising=False)
        with pytest.raises(type(error)):
            v.save(tmp_path / "out.npy", work(), memory_limit="40KiB")
    kept = {"in.npy", ".out.npy.partial.npy", ".out.npy.arrayloom-journal"}
    assert {p.name for p in tmp_path.iterdir()} == kept
    if where != "read":
        assert first_step(tmp_path / "out.npy", work()) > x.size / 48
        assert np.array_equal(np.load(tmp_path / "out.npy"), expected)
        assert {p.name for p in tmp_path.iterdir()} == {"in.npy", "out.npy"}


def test_a_stop_while_an_array_is_computed_comes_out_as_itself():
    x = np.zeros((48, 20, 20), "u2")
    with pytest.raises(KeyboardInterrupt):
        v.save(
            np.empty_like(x),
            f.maximum_filter(v.open(Stops(x, KeyboardInterrupt())), 3),
            memory_limit="40KiB",
        )
    source = Stops(x, KeyboardInterrupt())
    source.calls = 2
    with pytest.raises(KeyboardInterrupt):
        np.asarray(v.open(source) + 1)


CHUNKS = {"chunks": (4, 10, 10)}
LAYOUTS = [
    ("out.zarr", CHUNKS, {"chunks": (8, 10, 10)}, r"chunks=\[4, 10, 10\], .* chunks=\[8, 10, 10\]"),
    ("out.zarr", CHUNKS, {}, r"chunks=\[4, 10, 10\], .* no chunks="),
    ("out.zarr", CHUNKS, {**CHUNKS, "zarr_format": 2}, "no zarr_format=, .* zarr_format=2"),
    ("out.zarr", {**CHUNKS, "levels": 2}, {**CHUNKS, "levels": 1}, "levels=2, .* levels=1"),
    ("out.h5", {"dataset": "x"}, {"dataset": "y"}, "dataset=x, .* dataset=y"),
    ("out.h5", {**CHUNKS, "compression": "gzip"}, CHUNKS, "compression=gzip, .* no compression="),
]


@pytest.mark.parametrize(("name", "before", "now", "words"), LAYOUTS)
def test_another_layout_is_no_file_to_go_on_with(tmp_path, name, before, now, words):
    pytest.importorskip({"zarr": "zarr", "h5": "h5py"}[name.split(".")[1]])
    x = np.random.default_rng(1).integers(1, 4000, (48, 20, 20)).astype("u2")
    half(tmp_path / name, f.maximum_filter(v.open(x), 3), **before)
    with pytest.raises(ValueError, match=rf"cannot resume: .*{words}.*save without resume=True"):
        v.save(tmp_path / name, f.maximum_filter(v.open(x), 3), resume=True, **now)
    v.save(tmp_path / name, f.maximum_filter(v.open(x), 3), resume=True, **before)
    assert np.array_equal(np.asarray(v.open(tmp_path / name)), f.maximum_filter(x, 3))


def test_other_shapes_and_dtypes_are_no_volume_to_go_on_with(tmp_path):
    x = np.random.default_rng(1).integers(1, 4000, (48, 20, 20)).astype("u2")
    half(tmp_path / "out.npy", f.maximum_filter(v.open(x), 3))
    with pytest.raises(
        ValueError, match=r"the shape \[48, 20, 20\], and this run has the shape \[40"
    ):
        v.save(tmp_path / "out.npy", f.maximum_filter(v.open(x[:40]), 3), resume=True)
    with pytest.raises(ValueError, match="the dtype <u2, and this run has the dtype <f4"):
        v.save(tmp_path / "out.npy", f.maximum_filter(v.open(x.astype("f4")), 3), resume=True)


@pytest.mark.parametrize("name", ["out.npy", "out.raw", "out.tif"])
@pytest.mark.parametrize("change", [-4000, 100])
def test_a_file_that_was_cut_short_is_not_gone_on_with(tmp_path, name, change):
    if name == "out.tif":
        pytest.importorskip("tifffile")
    x = np.random.default_rng(1).integers(1, 4000, (48, 20, 20)).astype("u2")
    half(tmp_path / name, f.maximum_filter(v.open(x), 3))
    partial = tmp_path / f".{name}.partial{(tmp_path / name).suffix}"
    size = partial.stat().st_size
    os.truncate(partial, size + change)
    with pytest.raises(ValueError, match=rf"has {size + change} bytes and was begun with {size}"):
        v.save(tmp_path / name, f.maximum_filter(v.open(x), 3), resume=True)
    v.save(tmp_path / name, f.maximum_filter(v.open(x), 3))
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_too_little_memory_leaves_nothing_but_what_was_there(tmp_path):
    x = np.random.default_rng(1).integers(1, 4000, (48, 20, 20)).astype("u2")
    expr = f.maximum_filter(v.open(x), 3)
    with pytest.raises(MemoryError, match="smallest block"):
        v.save(tmp_path / "out.npy", expr, memory_limit=99, resume=True)
    assert not list(tmp_path.iterdir())
    half(tmp_path / "out.npy", expr)
    with pytest.raises(MemoryError, match="smallest block"):
        v.save(tmp_path / "out.npy", expr, memory_limit=99, resume=True)
    assert first_step(tmp_path / "out.npy", expr) > x.size / 2
