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
    v.save(out, expr, memory_limit="200KiB", resume=True, progress=lambda *p: written.append(p[0]))
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
