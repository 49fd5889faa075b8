"""Runs that the program stops by a token: they end behind a block, and go on as after Ctrl-C."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from arrayloom import filters as f
from arrayloom import volumes as v
from arrayloom.errors import ArrayloomError, CancelledError

X = np.random.default_rng(7).integers(0, 4000, (48, 20, 20)).astype("u2")
LIMIT = {"memory_limit": "40KiB"}
CHUNKS = {"chunks": (8, 20, 20)}
EXPECTED = f.maximum_filter(X, 3)
FILES = {"out.npy": {}, "out.raw": {}, "out.zarr": CHUNKS, "out.h5": CHUNKS, "out.tif": {}}


def work():
    return f.maximum_filter(v.open(X), 3)


def names(folder):
    return {path.name for path in folder.iterdir()}


def read(path):
    words = {"shape": X.shape, "dtype": "u2"} if path.suffix == ".raw" else {}
    return np.asarray(v.open(path, **words))


def skip_without(name):
    libraries = {"zarr": "zarr", "h5": "h5py", "tif": "tifffile"}
    pytest.importorskip(libraries.get(name.split(".")[1], "numpy"))


class Waits:
    """A source that says when it is read, and waits until it may go on."""

    shape, dtype = X.shape, X.dtype

    def __init__(self, at):
        self.at, self.calls = at, 0
        self.reached, self.may_go_on = threading.Event(), threading.Event()

    def __getitem__(self, key):
        self.calls += 1
        if self.calls == self.at:
            self.reached.set()
            assert self.may_go_on.wait(30)
        return X[key]


def test_a_token_that_is_cancelled_begins_nothing(tmp_path):
    token = v.CancelToken()
    assert not token.cancelled
    token.cancel()
    token.cancel()
    assert token.cancelled
    with pytest.raises(CancelledError, match="before it began, so nothing was written") as caught:
        v.save(tmp_path / "out.npy", work(), cancel=token)
    assert isinstance(caught.value, ArrayloomError)
    assert names(tmp_path) == set()
    assert repr(token) == "<CancelToken cancelled>"


@pytest.mark.parametrize("name", FILES)
def test_the_function_that_hears_of_progress_may_cancel(tmp_path, name):
    skip_without(name)
    token, seen = v.CancelToken(), []

    def progress(voxels, total, _):
        seen.append(voxels)
        if 2 * voxels > total:
            token.cancel()

    told = (
        r"cancelled when \d+ of 19200 voxels were written; what .*out\.\w+ has so far is kept, and"
    )
    with pytest.raises(CancelledError, match=told):
        v.save(tmp_path / name, work(), cancel=token, progress=progress, **LIMIT, **FILES[name])
    assert X.size / 2 < seen[-1] < X.size
    assert names(tmp_path) == {
        f".{name}.partial{(tmp_path / name).suffix}",
        f".{name}.arrayloom-journal",
    }
    first = []
    v.save(
        tmp_path / name,
        work(),
        resume=True,
        cancel=v.CancelToken(),
        progress=lambda *p: first.append(p[0]),
        **LIMIT,
        **FILES[name],
    )
    assert first[0] > seen[-1]
    assert names(tmp_path) == {name}
    assert np.array_equal(read(tmp_path / name), EXPECTED)


@pytest.mark.parametrize("devices", [None, "cpu*2"])
def test_another_thread_cancels_within_a_block(tmp_path, devices):
    token, source, seen = v.CancelToken(), Waits(2), []

    def cancels():
        assert source.reached.wait(30)
        token.cancel()
        source.may_go_on.set()

    thread = threading.Thread(target=cancels)
    thread.start()
    words = {"cancel": token, "devices": devices, "progress": lambda *p: seen.append(p)}
    with pytest.raises(CancelledError, match="cancelled when"):
        v.save(tmp_path / "out.npy", f.maximum_filter(v.open(source), 3), **words, **LIMIT)
    thread.join()
    # Blocks were on their way to each worker when it was cancelled, and no more was begun.
    calls = source.calls
    assert seen[-1][0] < X.size
    assert calls <= 2 + 2 * (1 if devices is None else 2)
    resumed = {"resume": True, "cancel": v.CancelToken()}
    v.save(tmp_path / "out.npy", f.maximum_filter(v.open(source), 3), **resumed, **LIMIT)
    assert np.array_equal(read(tmp_path / "out.npy"), EXPECTED)


def test_behind_the_end_nothing_is_stopped(tmp_path):
    token = v.CancelToken()
    v.save(tmp_path / "out.npy", work(), cancel=token, **LIMIT)
    token.cancel()
    assert np.array_equal(read(tmp_path / "out.npy"), EXPECTED)
    assert names(tmp_path) == {"out.npy"}


def test_arrays_keep_what_was_written(tmp_path):
    token, out = v.CancelToken(), np.zeros_like(X)
    with pytest.raises(CancelledError, match=r"when \d+ of 19200 voxels were written$"):
        v.save(out, work(), cancel=token, progress=lambda *_: token.cancel(), **LIMIT)
    rows = int(out.any((1, 2)).sum())
    assert 0 < rows < len(X)
    assert np.array_equal(out[:rows], EXPECTED[:rows])


def stopped_and_gone_on_with(path, client):
    np.save(path.parent / "in.npy", X)
    expression = f.maximum_filter(v.open(path.parent / "in.npy"), 3)
    token, seen = v.CancelToken(), []

    def progress(voxels, *_):
        seen.append(voxels)
        token.cancel()

    words = {"chunks": (4, 10, 10)}
    with pytest.raises(CancelledError, match="is kept, and resume=True goes on"):
        v.save(path, expression, client=client, cancel=token, progress=progress, **words)
    assert len(seen) == 1
    assert seen[0] < X.size
    v.save(path, expression, resume=True, client=client, **words)
    assert np.array_equal(read(path), EXPECTED)


def test_workers_of_a_pool_are_stopped(tmp_path):
    pytest.importorskip("zarr")
    with ThreadPoolExecutor(2) as pool:
        stopped_and_gone_on_with(tmp_path / "out.zarr", pool)


def test_workers_of_a_cluster_are_stopped(near_client, tmp_path):
    pytest.importorskip("zarr")
    stopped_and_gone_on_with(tmp_path / "out.zarr", near_client)


def test_what_is_no_token_is_refused(tmp_path):
    with pytest.raises(TypeError, match=r"cancel=True is no token; give an arrayloom\.volumes\.C"):
        v.save(tmp_path / "out.npy", work(), cancel=True)
    assert names(tmp_path) == set()


@pytest.mark.parametrize("name", ["out.npy", "out.ome.zarr"])
def test_a_run_that_is_cancelled_at_its_last_block_only_has_to_be_finished(tmp_path, name):
    skip_without(name)
    token, words = v.CancelToken(), {}
    if name.endswith("zarr"):
        words = {"chunks": (8, 10, 20), "levels": 2}

    def progress(voxels, total, _):
        if voxels == total:
            token.cancel()

    with pytest.raises(CancelledError, match="when 19200 of 19200 voxels were written"):
        v.save(tmp_path / name, work(), cancel=token, progress=progress, **LIMIT, **words)
    events = tmp_path / "run.jsonl"
    report = v.save(tmp_path / name, work(), resume=True, events=events, **LIMIT, **words)
    assert report["blocks"] == v.report(events).blocks == 0
    assert v.report(events).bottleneck == "nothing was written"
    assert np.array_equal(read(tmp_path / name), EXPECTED)
