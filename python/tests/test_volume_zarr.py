"""Arrays of Zarr as targets: boxes of a few chunks, and the memory that writing them takes."""

import itertools
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from arrayloom import filters as f
from arrayloom import volumes as v
from arrayloom._volumes.zarr_target import ZarrTarget, parts
from arrayloom.errors import BudgetError, CancelledError

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


LARGE = np.random.default_rng(0).random((60, 100, 90)).astype("f4")
LARGE_WORK = {
    "voxels": lambda s: s * 2,
    "extremes": lambda s: s.max(axis=0),
    "sums": lambda s: np.cumsum(s, axis=2),
    "windows": lambda s: f.median_filter(s, 5),
}


def chunks_of(path):
    zarr = pytest.importorskip("zarr")
    found = zarr.open(path, mode="r")
    return getattr(found, "chunks", None) or found["0"].chunks


@pytest.fixture
def large(tmp_path):
    np.save(tmp_path / "in.npy", LARGE)
    return v.open(tmp_path / "in.npy")


@pytest.mark.parametrize("how", ["array", "image", "devices", "client"])
@pytest.mark.parametrize("name", LARGE_WORK)
def test_usual_chunks_fit_the_memory_limit(tmp_path, large, name, how):
    work, limit = LARGE_WORK[name](large), 1 << 20
    out = tmp_path / ("out.ome.zarr" if how == "image" else "out.zarr")
    words = {"image": {"levels": "auto"}, "devices": {"devices": "cpu*2"}}.get(how, {})
    with ThreadPoolExecutor(2) as pool:
        words = words if how != "client" else {"client": pool}
        report = v.save(out, work, memory_limit=limit, **words)
    assert report["peak"] <= limit
    assert np.array_equal(np.asarray(v.open(out)), np.asarray(work))
    assert chunks_of(out) < tuple(min(n, 64) for n in work.shape)


def test_chunks_are_smaller_only_where_they_have_to_be(tmp_path, large):
    v.save(tmp_path / "out.zarr", large * 2, memory_limit="6MiB")
    assert chunks_of(tmp_path / "out.zarr") == (60, 64, 64)
    with pytest.raises(BudgetError, match="smallest block takes 5898240 bytes"):
        v.save(tmp_path / "given.zarr", large * 2, memory_limit="2MiB", chunks=(60, 64, 64))
    with pytest.raises(BudgetError, match="smallest block takes"):
        v.save(tmp_path / "out.zarr", large * 2, memory_limit="1KiB")
    shards = {"shards": (64, 64, 64), "chunks": (32, 32, 32)}
    with pytest.raises(BudgetError, match="smallest block takes"):
        v.save(tmp_path / "given.zarr", large * 2, memory_limit="2MiB", **shards)


@pytest.mark.parametrize(("name", "words"), [("x.zarr", {}), ("x.ome.zarr", {"levels": "auto"})])
def test_a_run_goes_on_with_the_chunks_that_it_has(tmp_path, large, name, words):
    token = v.CancelToken()
    work = f.gaussian_filter(large, 1)

    def stop(done, *_):
        if done > work.size // 3:
            token.cancel()

    first = {"memory_limit": "400KiB", "progress": stop, "cancel": token}
    with pytest.raises(CancelledError):
        v.save(tmp_path / name, work, **first, **words)
    v.save(tmp_path / name, work, memory_limit="100MiB", resume=True, **words)
    assert np.array_equal(np.asarray(v.open(tmp_path / name)), np.asarray(work))
    assert max(chunks_of(tmp_path / name)) <= 32
    v.save(tmp_path / f"whole-{name}", work, memory_limit="400KiB", **words)
    for level in range(3 if words else 1):
        both = [v.open(tmp_path / n, level=level) for n in (name, f"whole-{name}")]
        assert np.array_equal(*map(np.asarray, both))


def test_extremes_along_an_axis_count_what_they_take():
    for call in (np.max, np.sum, np.mean, np.argmin, np.all):
        with pytest.raises(BudgetError) as told:
            v.plan(call(v.open(LARGE), axis=0), memory_limit=1, granule=(100, 90))
        least = int(str(told.value).split(" takes ")[1].split()[0])
        assert least < 4 * LARGE.nbytes
