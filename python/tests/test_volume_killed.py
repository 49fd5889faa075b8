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
v.save(sys.argv[2], f.gaussian_filter(source, 1), memory_limit="200KiB", chunks=(8, 20, 20), resume=True)
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
