"""Volumes that workers compute: the same bits as on this machine, whatever happens to the workers."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from arrayloom import filters as f
from arrayloom import volumes as v
from arrayloom._volumes.executors import Pool
from arrayloom.errors import BudgetError, UnsupportedError, WorkerError

cloudpickle = pytest.importorskip("cloudpickle")
pytest.importorskip("zarr")
# Workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

X = np.random.default_rng(5).integers(0, 4000, (40, 36, 44)).astype("u2")
CHUNKS = {"chunks": (8, 12, 11)}


@pytest.fixture
def source(tmp_path):
    np.save(tmp_path / "in.npy", X)
    return v.open(tmp_path / "in.npy")


def read(path, **words):
    return np.asarray(v.open(path, **words))


def same(path, volume, **words):
    expected = np.asarray(volume)
    found = read(path, **words)
    assert found.dtype == expected.dtype
    assert found.tobytes() == expected.tobytes()


FILES = {
    "x.zarr": CHUNKS,
    "y.zarr": {"chunks": (4, 6, 11), "shards": (8, 12, 11)},
    "z.zarr": {**CHUNKS, "zarr_format": 2},
    "x.npy": {},
    "x.raw": {},
}


@pytest.mark.parametrize("name", FILES)
def test_files_are_written_by_processes(dask_client, tmp_path, source, name):
    work = f.median_filter(f.gaussian_filter(source, 1.5), 3) - source * 0.5
    report = v.save(tmp_path / name, work, client=dask_client, memory_limit="1MiB", **FILES[name])
    assert report["tasks"] > 4
    assert report["peak"] <= 1 << 20
    words = {"shape": work.shape, "dtype": work.dtype} if name.endswith("raw") else {}
    same(tmp_path / name, work, **words)
    assert {p.name for p in tmp_path.iterdir()} == {"in.npy", name}


def test_pyramids_are_those_of_one_machine(dask_client, tmp_path, source):
    work = f.gaussian_filter(source, 1)[1:, :-1]
    words = {"levels": 3, "chunks": (8, 12, 12), "spacing": (2, 1, 1)}
    v.save(tmp_path / "here.ome.zarr", work, **words)
    v.save(tmp_path / "there.ome.zarr", work, client=dask_client, shards=(16, 24, 24), **words)
    for level in range(3):
        here, there = (v.open(tmp_path / f"{n}.ome.zarr", level=level) for n in ("here", "there"))
        assert np.array_equal(np.asarray(here), np.asarray(there))
        assert here.spacing == there.spacing


def test_whole_volumes_are_looked_at_first(near_client, tmp_path, source):
    works = [
        (source > v.otsu(source)).astype("u1"),
        f.wiener_filter(source.astype("f4"), 3),
        f.entropy_filter(source, 2),
        (source - source.mean()) / source.std(),
        np.clip(source, *np.percentile(source, [1, 99])),
    ]
    for number, work in enumerate(works):
        v.save(tmp_path / f"{number}.zarr", work, client=near_client, **CHUNKS)
        same(tmp_path / f"{number}.zarr", work)


def test_arrays_get_their_blocks_back(dask_client, source):
    work = f.maximum_filter(source, 3)
    out = np.zeros(work.shape, work.dtype)
    v.save(out, work, client=dask_client)
    assert np.array_equal(out, np.asarray(work))
    own = X.copy()
    v.save(own, f.maximum_filter(v.open(own), 3), client=dask_client)
    assert np.array_equal(own, f.maximum_filter(X, 3))


def test_arrays_of_zarr_in_folders_are_targets(dask_client, tmp_path, source):
    import zarr

    words = {"shape": X.shape, "dtype": "u2", "chunks": (8, 9, 11)}
    node = zarr.create_array(store=str(tmp_path / "x.zarr"), shards=(16, 18, 22), **words)
    v.save(node, f.minimum_filter(source, 3), client=dask_client)
    assert np.array_equal(node[...], f.minimum_filter(X, 3))
    with pytest.raises(UnsupportedError, match=r"in a MemoryStore; save to a \.zarr"):
        v.save(zarr.create_array(store={}, **words), source, client=dask_client)


def test_what_cannot_be_cut_is_computed_here(near_client, tmp_path, source):
    v.save(tmp_path / "x.npy", source[:0], client=near_client)
    assert read(tmp_path / "x.npy").shape == (0, *X.shape[1:])


def random_case(rng):
    """A volume and a file for it."""
    rank = int(rng.integers(1, 4))
    shape = tuple(int(n) for n in rng.integers(1, (400, 50, 26)[rank - 1], rank))
    dtype = rng.choice(["u1", "u2", "i4", "f4", "f8", "?"])
    x = (rng.normal(size=shape) * 50 + 60).astype(dtype)
    chunks = tuple(int(rng.integers(1, n + 3)) for n in shape)
    mode = str(rng.choice(["reflect", "mirror", "nearest", "wrap", "constant"]))
    makers = [
        lambda s: f.gaussian_filter(s, rng.uniform(0.3, 2), mode=mode),
        lambda s: f.maximum_filter(s, int(rng.integers(1, 5)), mode=mode),
        lambda s: f.median_filter(s, 3, mode=mode),
        lambda s: f.uniform_filter(s, int(rng.integers(1, 6)), mode=mode),
        lambda s: s[::-1] + s,
        lambda s: s - s.mean(axis=0),
        lambda s: np.concatenate([s, s[:1]]),
    ]

    def make(source):
        for at in rng.integers(0, len(makers), rng.integers(1, 3)):
            source = makers[at](source)
        return source

    return x, make, chunks


def check_random(client, folder, seed):
    rng = np.random.default_rng(seed)
    x, make, chunks = random_case(rng)
    v.save(folder / f"in{seed}.zarr", x, chunks=chunks)
    work = make(v.open(folder / f"in{seed}.zarr"))
    name = folder / f"out{seed}{rng.choice(['.zarr', '.npy', '.zarr'])}"
    words = {}
    if name.suffix == ".zarr":
        inner = [int(rng.integers(1, n + 2)) for n in work.shape]
        words["chunks"] = inner
        if rng.random() < 0.4:
            words["shards"] = [c * int(rng.integers(1, 4)) for c in inner]
    v.save(name, work, client=client, **words)
    same(name, work)


@pytest.mark.parametrize("seed", range(40))
def test_random_volumes_have_the_bits_of_one_machine(near_client, tmp_path, seed):
    check_random(near_client, tmp_path, seed)


def once(marker):
    """True for the first process that asks."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


class Dies:
    """A source whose first reader ends its process."""

    def __init__(self, path, marker):
        self.path, self.marker = path, marker
        self.shape, self.dtype = X.shape, X.dtype

    def __getitem__(self, key):
        if once(self.marker):
            os._exit(1)
        return np.load(self.path, mmap_mode="r")[key]


def dying(where, marker):
    """Patches a worker."""

    def deadly(function, condition):
        def call(*args):
            if condition(args) and once(marker):
                os._exit(1)
            return function(*args)

        return call

    if where == "computed":
        from arrayloom._volumes.zarr_target import ZarrTarget

        ZarrTarget.__setitem__ = deadly(ZarrTarget.__setitem__, lambda _: True)
    else:
        Path.replace = deadly(Path.replace, lambda args: str(args[0]).endswith(".partial"))


@pytest.mark.parametrize("where", ["read", "computed", "written"])
def test_a_worker_that_dies_costs_a_retry(dask_client, tmp_path, source, where):
    marker = str(tmp_path / "died")
    if where == "read":
        source = v.open(Dies(str(tmp_path / "in.npy"), marker))
    else:
        dask_client.run(dying, where, marker)
    out = tmp_path / "out.zarr"
    v.save(out, f.maximum_filter(source, 3), client=dask_client, **CHUNKS)
    assert Path(marker).exists()
    assert np.array_equal(read(out), f.maximum_filter(X, 3))
    # What a dead writer left of a chunk is gone.
    assert not [p for p in out.rglob("*") if p.name.endswith(".partial")]
    dask_client.wait_for_workers(2, timeout=30)


class Twice:
    """Each task runs two times, at the same time."""

    def __init__(self, pool):
        self.one, self.other = Pool(pool), Pool(pool)
        self.slots, self.room = 4, 1 << 28

    def map(self, fn, items, *, retries, resources=None):
        todo = list(items)
        both = (self.one.map(fn, todo), self.other.map(fn, todo))
        results = [dict(pairs) for pairs in both]
        assert results[0].keys() == results[1].keys()
        yield from results[0].items()

    def cancel(self):
        self.one.cancel()
        self.other.cancel()


@pytest.mark.parametrize("name", FILES)
def test_blocks_that_run_twice_are_written_once(tmp_path, source, name):
    work = f.gaussian_filter(source, 2)
    with ThreadPoolExecutor(4) as pool:
        v.save(tmp_path / name, work, client=Twice(pool), **FILES[name])
    words = {"shape": work.shape, "dtype": work.dtype} if name.endswith("raw") else {}
    same(tmp_path / name, work, **words)


def test_executors_of_python_are_clients(tmp_path, source):
    work = f.gaussian_filter(source, 2)
    for number, kind in enumerate([ThreadPoolExecutor, ProcessPoolExecutor]):
        import multiprocessing

        words = {"mp_context": multiprocessing.get_context("spawn")} if number else {}
        with kind(2, **words) as pool:
            v.save(tmp_path / f"{number}.zarr", work, client=pool, **CHUNKS)
        same(tmp_path / f"{number}.zarr", work)


class Fails:
    """A source whose last planes cannot be read."""

    def __init__(self, error):
        self.error, self.shape, self.dtype = error, X.shape, X.dtype

    def __getitem__(self, key):
        if key[0].stop > 36:
            raise self.error
        return X[key]


def clients(near_client):
    yield near_client
    with ThreadPoolExecutor(2) as pool:
        yield pool


def test_errors_name_block_and_box(near_client, tmp_path, source):
    for number, client in enumerate(clients(near_client)):
        out = tmp_path / f"{number}.zarr"
        with pytest.raises(
            WorkerError,
            match=r"block \d+ of \d+, the box from \(3\d, \d+, \d+\) to \(40, .*\) of .*\.zarr, failed on a "
            r"worker: OSError: .*ValueError: no such plane.*; what is written is kept, and resume=True",
        ) as caught:
            v.save(out, v.open(Fails(ValueError("no such plane"))) + 1, client=client, **CHUNKS)
        assert isinstance(caught.value.__cause__, OSError)
        assert not out.exists()


def stop_at(share):
    def stop(voxels, total, _):
        if voxels > share * total:
            raise KeyboardInterrupt

    return stop


@pytest.mark.parametrize("name", ["out.zarr", "out.npy", "out.ome.zarr"])
@pytest.mark.parametrize("first", ["here", "there"])
def test_a_stopped_run_goes_on_anywhere(near_client, tmp_path, source, name, first):
    words = CHUNKS if name.endswith("zarr") else {}
    if "ome" in name:
        words = {"chunks": (8, 12, 22), "levels": 2}
    work = f.gaussian_filter(source, 1)
    clients = [None, near_client] if first == "here" else [near_client, None]
    limit = {"memory_limit": "300KiB"}
    with pytest.raises(KeyboardInterrupt):
        v.save(tmp_path / name, work, client=clients[0], progress=stop_at(0.4), **limit, **words)
    seen = []
    told = {"progress": lambda *p: seen.append(p[0])}
    v.save(tmp_path / name, work, client=clients[1], resume=True, **limit, **told, **words)
    assert seen[0] > 0.4 * X.size
    assert seen[-1] == X.size
    same(tmp_path / name, work)
    if "ome" in name:
        v.save(tmp_path / "other.ome.zarr", work, **words)
        levels = [read(tmp_path / n, level=1) for n in (name, "other.ome.zarr")]
        assert np.array_equal(*levels)


class Slow:
    shape, dtype = X.shape, X.dtype

    def __getitem__(self, key):
        time.sleep(0.05)
        return X[key]


def test_ctrl_c_stops_all_workers_and_leaves_what_can_go_on(dask_client, tmp_path):
    work = f.maximum_filter(v.open(Slow()), 3)
    out = tmp_path / "out.zarr"
    main = threading.get_ident()
    stop = threading.Timer(0.4, signal.pthread_kill, (main, signal.SIGINT))
    stop.start()
    with pytest.raises(KeyboardInterrupt):
        v.save(out, work, client=dask_client, **CHUNKS)
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.is_file()}
    time.sleep(0.3)
    assert before == {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.is_file()}
    v.save(out, work, client=dask_client, resume=True, **CHUNKS)
    assert np.array_equal(read(out), f.maximum_filter(X, 3))


def test_a_cluster_without_workers_is_not_waited_for_endlessly(tmp_path, source, monkeypatch):
    distributed = pytest.importorskip("distributed")
    words = {"processes": False, "protocol": "tcp://", "host": "127.0.0.1", "n_workers": 1}
    words |= {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**words) as cluster, distributed.Client(cluster) as client:
        from arrayloom._volumes import dask_executor

        monkeypatch.setattr(dask_executor, "_LOOK", 0.05)
        monkeypatch.setattr(dask_executor, "_ALONE", 0.2)
        monkeypatch.setattr(dask_executor, "_PATIENCE", 3.0)
        chunks = {"chunks": (4, 4, 44)}
        with pytest.raises(OSError, match=r"no worker for 0 seconds; start some; .*resume=True"):
            v.save(
                tmp_path / "x.zarr",
                source + 1,
                client=client,
                progress=lambda *_: cluster.scale(0),
                **chunks,
            )
    v.save(tmp_path / "x.zarr", source + 1, resume=True, **chunks)
    same(tmp_path / "x.zarr", source + 1)


def largest_task(dask_scheduler):
    tasks = [t for k, t in dask_scheduler.tasks.items() if str(k).startswith("arrayloom-")]
    return max((len(pickle.dumps(t.run_spec)) for t in tasks), default=0), len(tasks)


def test_tasks_are_integers_in_a_bounded_queue(near_client, tmp_path, source):
    sizes = []
    progress = {"progress": lambda *_: sizes.append(near_client.run_on_scheduler(largest_task))}
    weights = np.random.default_rng(0).normal(size=X.shape).astype("f4")
    words = {"chunks": (4, 4, 44), "memory_limit": "1MiB"}
    v.save(tmp_path / "x.zarr", source * weights, client=near_client, **progress, **words)
    assert 0 < max(size for size, _ in sizes) < 1000
    assert 0 < max(count for _, count in sizes) <= 8


def uss(_=None):
    import psutil

    return psutil.Process().memory_full_info().uss


def test_memory_of_workers_stays_in_the_budget(dask_client, tmp_path):
    big = np.lib.format.open_memmap(tmp_path / "big.npy", "w+", "f4", (128, 256, 256))
    big[...] = np.arange(256, dtype="f4")
    big.flush()
    v.save(tmp_path / "warm.zarr", v.open(tmp_path / "big.npy")[:64], client=dask_client)
    base = dask_client.run(uss)
    most = dict.fromkeys(base, 0)

    def look(*_):
        for worker, used in dask_client.run(uss).items():
            most[worker] = max(most[worker], used - base[worker])

    work = f.gaussian_filter(v.open(tmp_path / "big.npy"), 2)
    limit = 16 << 20
    v.save(tmp_path / "x.zarr", work, client=dask_client, memory_limit=limit, progress=look)
    assert max(most.values()) < limit + (16 << 20)


REFUSED = [
    ("x.tif", {}, UnsupportedError, r"tiff, which one process writes; save to \.zarr"),
    ("x.h5", {}, UnsupportedError, r"hdf5, which one process writes; .*convert"),
    ("x.npy", {"devices": "cpu*2"}, ValueError, "leave one of them out"),
]


@pytest.mark.parametrize(("name", "words", "error", "match"), REFUSED)
def test_what_workers_cannot_do_is_refused_with_a_cure(
    near_client, tmp_path, source, name, words, error, match
):
    with pytest.raises(error, match=match):
        v.save(tmp_path / name, source + 1, client=near_client, **words)
    assert [p.name for p in tmp_path.iterdir()] == ["in.npy"]


def test_workers_that_do_not_see_a_folder_say_so(near_client, tmp_path, source, monkeypatch):
    import zarr

    from arrayloom._volumes import task

    check = task.check_there

    def elsewhere(node):
        store = type("Store", (), {"root": tmp_path / "elsewhere"})
        check(type("Node", (), {"store": store, "path": node.path}))

    monkeypatch.setattr(task, "check_there", elsewhere)
    with pytest.raises(WorkerError, match="elsewhere has no array of Zarr where this worker runs"):
        v.save(tmp_path / "x.zarr", source + 1, client=near_client, **CHUNKS)
    node = zarr.create_array(store=str(tmp_path / "in.zarr"), data=X)
    with pytest.raises(WorkerError, match="elsewhere has no array of Zarr where this worker runs"):
        v.save(tmp_path / "x.npy", v.open(node) + 1, client=near_client)


def test_what_runs_no_tasks_is_refused(near_client, tmp_path, source):
    for client in (3, near_client.cluster):
        with pytest.raises(TypeError, match=r"distributed\.Client"):
            v.save(tmp_path / "x.npy", source, client=client)


class Locked:
    shape, dtype = X.shape, X.dtype

    def __init__(self):
        self.lock = threading.Lock()

    def __getitem__(self, key):
        return X[key]


def test_sources_that_cannot_go_to_workers_are_refused(near_client, tmp_path):
    with pytest.raises(TypeError, match=r"lock.*open files by their names"):
        v.save(tmp_path / "x.npy", v.open(Locked()) + 1, client=near_client)
    large = np.zeros((257, 1 << 20), "u1")
    with pytest.raises(BudgetError, match=r"1 arrays of 269484032 bytes.*arrayloom\.volumes\.open"):
        v.save(tmp_path / "x.npy", v.open(large) + 1, client=near_client)


def test_too_little_memory_is_told_before_anything_runs(near_client, tmp_path, source):
    with pytest.raises(BudgetError, match="smallest block"):
        v.save(tmp_path / "x.zarr", source + 1, client=near_client, memory_limit=99, **CHUNKS)
    assert [p.name for p in tmp_path.iterdir()] == ["in.npy"]


def test_a_source_that_changes_is_what_is_told(near_client, tmp_path, source):
    def change(*_):
        os.utime(tmp_path / "in.npy")

    with pytest.raises(OSError, match=r"in\.npy has changed since it was opened"):
        v.save(
            tmp_path / "x.zarr",
            source + 1,
            client=near_client,
            progress=change,
            chunks=(4, 4, 44),
            memory_limit="200KiB",
        )


def test_dask_is_imported_when_it_is_used():
    from support import process

    code = "import sys, arrayloom.volumes; print([m for m in sys.modules if m.split('.')[0] in ('dask', 'distributed')])"
    assert process.run(code).stdout.strip() == "[]"


def test_the_example_of_the_document_runs(tmp_path):
    document = Path(__file__).resolve().parents[2] / "docs" / "volumes.md"
    section = document.read_text(encoding="utf-8").split("## Clusters")[1]
    example = tmp_path / "example.py"
    example.write_text(section.split("```python\n")[1].split("```")[0])
    done = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    same(tmp_path / "out.zarr", f.gaussian_filter(v.open(tmp_path / "in.npy"), 2))
