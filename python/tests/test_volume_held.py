"""A file that is written belongs to one save at a time."""

import errno
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from arrayloom import volumes as v
from arrayloom._volumes.held import held

X = np.arange(60_000, dtype="u2").reshape(60, 50, 20)

HOLDS = """
import sys, time
from pathlib import Path
from arrayloom._volumes.held import held
with held(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("name", ["out.npy", "out.zarr", "out.h5"])
def test_a_second_save_is_refused_and_changes_nothing(tmp_path, name):
    pytest.importorskip({"npy": "numpy", "zarr": "zarr", "h5": "h5py"}[name.split(".")[1]])
    path = tmp_path / name
    errors = []

    def again(*_):
        for resume in (False, True):
            with pytest.raises(
                BlockingIOError, match=rf"another save is writing to .*{name}; wait"
            ):
                v.save(path, v.open(X) + 1, resume=resume)
            errors.append(resume)

    chunks = (3, 50, 20) if name == "out.zarr" else None
    v.save(path, v.open(X) * 2, memory_limit="60KiB", chunks=chunks, progress=again)
    assert len(errors) > 2
    assert np.array_equal(np.asarray(v.open(path)), X * 2)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_of_several_threads_each_saves_or_is_refused(tmp_path):
    path, results = tmp_path / "out.npy", []
    start = threading.Barrier(4)

    def save(factor):
        start.wait()
        try:
            v.save(path, v.open(X) + np.uint16(factor), memory_limit="60KiB")
        except BlockingIOError:
            return
        results.append(factor)

    threads = [threading.Thread(target=save, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results
    assert np.array_equal(np.load(path), X + np.uint16(results[-1]))
    assert [p.name for p in tmp_path.iterdir()] == ["out.npy"]


def test_other_processes_hold_a_file_until_they_end(tmp_path):
    path = tmp_path / "out.npy"
    words = [sys.executable, "-c", HOLDS, str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"held\n"
        with pytest.raises(BlockingIOError, match="another save"):
            v.save(path, X)
        child.send_signal(signal.SIGKILL)
    assert [p.name for p in tmp_path.iterdir()] == [".out.npy.arrayloom-lock"]
    v.save(path, X, resume=True)
    assert [p.name for p in tmp_path.iterdir()] == ["out.npy"]


def test_a_name_that_goes_while_it_is_locked_is_not_held(tmp_path, monkeypatch):
    lock, real, calls = tmp_path / ".out.npy.arrayloom-lock", os.open, []

    def opened(*args):
        file = real(*args)
        calls.append(file)
        if len(calls) == 1:
            lock.unlink()  # whoever held it has just ended
        return file

    monkeypatch.setattr(os, "open", opened)
    with held(tmp_path / "out.npy"):
        assert len(calls) == 2
        assert os.path.samestat(os.fstat(calls[1]), lock.stat())
    assert not list(tmp_path.iterdir())


def test_file_systems_without_locks_are_written_without(tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr("fcntl.flock", flock)
    v.save(tmp_path / "out.npy", X)
    assert [p.name for p in tmp_path.iterdir()] == ["out.npy"]


def test_places_that_cannot_be_written_are_told(tmp_path, monkeypatch):
    def refused(*_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(PermissionError, match=r"out.npy cannot be written: Permission denied"):
        v.save(tmp_path / "out.npy", X)
