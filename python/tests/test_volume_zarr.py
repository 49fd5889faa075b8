"""Arrays of Zarr as targets: boxes of a few chunks, and the memory that writing them takes."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

from arrayloom import volumes as v
from arrayloom._volumes.zarr_target import ZarrTarget, parts

zarr = pytest.importorskip("zarr")

PROGRAM = """
import sys, threading
import numpy as np
from arrayloom import filters as f, volumes as v

def anonymous():
    with open("/proc/self/status") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

folder, limit, levels = sys.argv[1], int(sys.argv[2]), {"levels": 3} if sys.argv[3] == "levels" else {}
np.save(folder + "/in.npy", np.random.default_rng(0).random((64, 256, 512), dtype="f4"))
small = f.gaussian_filter(v.open(np.zeros((64, 64, 128), "f4")), 1)
v.save(folder + "/warm.zarr", small, **levels)
base, most, done = anonymous(), [0], threading.Event()

def watch():
    while not done.wait(0.001):
        most[0] = max(most[0], anonymous())

watcher = threading.Thread(target=watch)
watcher.start()
result = f.gaussian_filter(v.open(folder + "/in.npy"), 2)
v.save(folder + "/out.zarr", result, memory_limit=limit, **levels)
done.set()
watcher.join()
print(most[0] - base)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("levels", "limit"), [("one", 12 << 20), ("one", 32 << 20), ("levels", 32 << 20)]
)
def test_writing_stays_within_the_memory_limit(tmp_path, limit, levels):
    words = [sys.executable, "-c", PROGRAM, str(tmp_path), str(limit), levels]
    told = subprocess.run(words, capture_output=True, text=True, check=True, timeout=100)
    assert int(told.stdout) <= limit


@pytest.mark.parametrize("count", [1, 2, 3, 7, 100])
@pytest.mark.parametrize(
    ("box", "granule"),
    [
        (((0, 5), (0, 16), (3, 17)), (2, 8, 4)),
        (((4, 10), (8, 9), (0, 20)), (4, 8, 4)),
        (((1, 2),), (5,)),
        ((), ()),
    ],
)
def test_parts_tile_a_box_where_granules_end(box, granule, count):
    spans = [slice(lo, hi) for lo, hi in box]
    hits = np.zeros([hi for _, hi in box], int)
    for part in parts(spans, granule, count):
        hits[part] += 1
        cells = [-(-s.stop // g) - s.start // g for s, g in zip(part, granule, strict=True)]
        assert np.prod(cells) <= count
        for s, g, whole in zip(part, granule, spans, strict=True):
            assert s.start in {whole.start} or s.start % g == 0
            assert s.stop in {whole.stop} or s.stop % g == 0
    assert hits[tuple(spans)].min() == hits.max() == 1
    assert hits.sum() == np.prod([hi - lo for lo, hi in box])


def test_arrays_of_the_caller_are_written_a_few_chunks_at_a_time(tmp_path, monkeypatch):
    x = np.arange(32 * 40 * 48, dtype="u2").reshape(32, 40, 48)
    made = zarr.create_array(tmp_path / "a.zarr", shape=x.shape, chunks=(8, 8, 8), dtype="u2")
    seen, write = [], type(made).__setitem__

    def count(array, key, values):
        seen.append(values.shape)
        write(array, key, values)

    monkeypatch.setattr(type(made), "__setitem__", count)
    report = v.save(made, x, memory_limit="200KiB")
    assert np.array_equal(made[:], x)
    assert max(np.prod(shape) for shape in seen) <= 10 * 8**3
    assert report["peak"] <= 200 << 10


def test_more_memory_writes_more_chunks_together():
    made = zarr.create_array({}, shape=(64, 64), chunks=(8, 8), dtype="u1")
    target = ZarrTarget(made)
    taken = [target.within(limit) for limit in (100, 1 << 12, 1 << 14, 1 << 30)]
    assert all(a <= b for a, b in itertools.pairwise(taken))
    assert taken[0] <= 50
    assert target.together == zarr.config.get("async.concurrency")
