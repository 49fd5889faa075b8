"""``arrayloom.memory``: limits, the ladder, scopes, caches, early frees, reports."""

import ctypes
import gc
import io
import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy
import pytest

import arrayloom as np
from arrayloom import OutOfMemoryError, memory
from arrayloom.errors import EscapedError, SettingError

MIB = 1 << 20


def heat(n: int, steps: int) -> tuple[bytes, list[float]]:
    grid = np.zeros((n + 2, n + 2))
    grid[0, :] = 40.0
    grid[:, 0] = -20.0
    changes: list[float] = []
    for _ in range(steps):
        center = grid[1:-1, 1:-1]
        work = 0.2 * (center + grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:])
        changes.append(float(np.abs(work - center).sum()))
        grid[1:-1, 1:-1] = work
    return numpy.asarray(grid).tobytes(), changes


def shallow_water(n: int, steps: int) -> bytes:
    h = np.ones((n + 2, n + 2))
    u = np.zeros((n + 2, n + 2))
    v = np.zeros((n + 2, n + 2))
    h[n // 4 : n // 2, n // 4 : n // 2] += 0.5
    for _ in range(steps):
        flux = 0.5 * (h[1:, 1:-1] + h[:-1, 1:-1]) * 0.5 * (u[1:, 1:-1] + u[:-1, 1:-1])
        side = 0.5 * (h[1:-1, 1:] + h[1:-1, :-1]) * 0.5 * (v[1:-1, 1:] + v[1:-1, :-1])
        h[1:-1, 1:-1] -= 0.1 * (flux[1:] - flux[:-1] + side[:, 1:] - side[:, :-1])
        u[1:-1, 1:-1] -= 0.1 * (h[2:, 1:-1] - h[:-2, 1:-1])
        v[1:-1, 1:-1] -= 0.1 * (h[1:-1, 2:] - h[1:-1, :-2])
    return b"".join(numpy.asarray(field).tobytes() for field in (h, u, v))


def live() -> int:
    gc.collect()
    return memory.report().live


def test_a_limit_of_half_the_working_set_changes_no_bit() -> None:
    n = 700
    expected = heat(n, 4), shallow_water(n, 3)
    before = live()
    with memory.limit(before + (n + 2) ** 2 * 8):
        results = heat(n, 4), shallow_water(n, 3)
        report = memory.report()
    assert results == expected
    assert report.rungs["spill"].times + report.rungs["predict"].times > 0
    assert live() <= before
    assert not any(
        owner.spilled and __file__ in str(owner.line) for owner in memory.report().owners
    )


def test_many_times_the_limit_in_temporaries_runs_steadily() -> None:
    before = live()
    spilled = memory.report().rungs["spill"].bytes
    with memory.limit(before + 64 * MIB):
        for _ in range(64):
            a = np.ones((1024, 1024)) + 1.0
            assert float(a.sum()) == 2.0 * MIB
        assert memory.report().live <= before + 64 * MIB
    assert memory.report().rungs["spill"].bytes == spilled


@pytest.mark.slow
def test_eight_gigabytes_a_step_run_under_one() -> None:
    before = live()
    spilled = memory.report().rungs["spill"].times
    with memory.limit(before + 1024 * MIB):
        peaks: list[int] = []
        for step in range(3):
            with memory.scope(f"step {step}") as scope:
                for i in range(16):
                    a = np.ones((8192, 8192)) + float(i)
                    # A look at one element computes the whole array, which a sum alone would not store.
                    assert a[4095, 17] == 1.0 + i
                    assert float(a.sum()) == (1.0 + i) * 8192 * 8192
                    del a
            assert scope.allocated >= 8192 * MIB
            peaks.append(scope.peak)
        assert memory.report().rungs["spill"].times == spilled
    assert max(peaks) <= 1024 * MIB
    assert len(set(peaks[1:])) == 1, "later steps need what the one before needed"


def test_results_larger_than_the_limit_are_right() -> None:
    before = live()
    with memory.limit(before + 4 * MIB):
        kept = [np.full((512, 512), float(i)) * 2.0 for i in range(8)]
        total = [float(array.sum()) for array in kept]
        assert memory.report().live <= before + 4 * MIB
        assert memory.report().spilled > 0
    assert total == [2.0 * i * 512 * 512 for i in range(8)]
    for i, array in enumerate(kept):
        assert numpy.asarray(array)[::97, ::89].max() == 2.0 * i


def test_limits_are_amounts() -> None:
    with memory.limit("64MiB") as outer:
        assert memory.report().limit == outer.nbytes == 64 * MIB
        with memory.limit(None):
            assert memory.report().limit is None
        assert memory.report().limit == 64 * MIB
    assert memory.report().limit is None
    for wrong in (
        "lots",
        "-1",
        -1,
        float("nan"),
        float("inf"),
        True,
        [],
        object(),
        1 << 70,
        1.5,
        "1.5",
        numpy.float32(2.5),
    ):
        with pytest.raises(SettingError):
            memory.limit(wrong)  # pyright: ignore[reportArgumentType]
    with memory.limit(numpy.int64(MIB)) as exact, memory.limit(1e6) as rounded:
        assert (exact.nbytes, rounded.nbytes) == (MIB, 10**6)
    with pytest.raises(SettingError, match="cuda"):
        memory.limit(1, device="cuda:0")


def test_scopes_nest_and_name_what_is_left() -> None:
    with memory.scope("outer") as outer:
        first = np.ones((600, 600))
        with memory.scope("inner") as inner:
            second = np.ones((700, 700))
            _ = float((second + 1).sum())
        assert inner.leaked == second.nbytes
        (owner,) = inner.escaped
        assert owner.shape == (700, 700)
        assert owner.dtype == "float64"
        assert owner.line is not None
        assert "test_memory.py" in owner.line
    assert outer.leaked == first.nbytes + second.nbytes
    assert outer.peak >= inner.peak >= second.nbytes
    assert outer.allocated >= outer.leaked


def test_threads_do_not_leave_things_in_each_others_scopes() -> None:
    kept: list[object] = []
    opened, made = threading.Event(), threading.Event()

    def other() -> None:
        opened.wait()
        kept.append(np.ones((600, 600)))
        made.set()

    thread = threading.Thread(target=other)
    thread.start()
    with memory.scope() as scope:
        opened.set()
        made.wait()
    thread.join()
    assert kept
    assert scope.leaked == 0


def test_an_escaped_array_is_never_aliased() -> None:
    cache = memory.Cache()
    with cache:
        escaped = np.full((600, 600), 7.0)
        _ = float(escaped.sum())
    with cache:
        others = [np.full((600, 600), float(i)) for i in range(4)]
        _ = [float(array.sum()) for array in others]
    assert (numpy.asarray(escaped) == 7.0).all()
    cache.close()
    with pytest.raises(EscapedError, match=r"test_memory\.py"):
        leave_one()


def leave_one() -> None:
    with memory.cached(escape="error"):
        left = np.ones((600, 600))
        assert left[0, 0] == 1.0


def test_the_peak_of_a_cache_is_what_lives_not_the_sum() -> None:
    with memory.cached() as cache:
        for _ in range(20):
            a = np.ones((600, 600)) * 3.0
            _ = float(a.sum())
            del a
    assert cache.peak <= 4 * 600 * 600 * 8


def test_a_cache_may_be_entered_within_itself_and_by_threads() -> None:
    cache = memory.Cache()
    wrong: list[int] = []

    def work(value: int) -> None:
        for _ in range(5):
            with cache:
                a = np.full((600, 600), float(value)) + 0.0
                with cache:
                    b = np.full((600, 600), -1.0) + 0.0
                    _ = float(b.sum())
                if float(a.sum()) != value * 360_000.0:
                    wrong.append(value)

    threads = [threading.Thread(target=work, args=(value,)) for value in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cache.close()
    assert not wrong


def test_memory_in_a_cache_is_there_for_those_who_lack_it() -> None:
    with memory.cached():
        a = np.ones((1024, 1024)) + 1.0
        _ = float(a.sum())
        del a
        assert memory.report().cached >= 8 * MIB
        assert memory.trim() == 0
        with memory.limit(live() + 9 * MIB):
            b = np.ones((1024, 1024)) + 1.0
            assert float(b.sum()) == 2.0 * MIB
            del b
    with memory.uncached():
        c = np.ones((1024, 1024)) + 1.0
        _ = float(c.sum())
        del c
        gc.collect()
        assert memory.report().cached <= 4 * MIB


def test_an_exported_array_is_not_freed() -> None:
    a = np.ones((1000, 1000))
    capsule = a.__dlpack__()
    with pytest.raises(BufferError, match="1 exported view"):
        a.free()
    del capsule
    assert a.free()


def test_memory_that_others_have_as_a_buffer_is_not_freed() -> None:
    a = np.ones((1000, 1000)) + 1.0
    exports = [
        lambda: memoryview(a),
        lambda: memoryview(a[10:, ::2]),
        lambda: a.data,
        lambda: memoryview(memoryview(a)),
        lambda: numpy.frombuffer(memoryview(a)),
        lambda: (ctypes.c_double * 10).from_buffer(a),
        lambda: numpy.asarray(a).data,
    ]
    for number, export in enumerate(exports):
        view = export()
        with pytest.raises(BufferError, match="1 exported view: free the array when"):
            a.free()
        with pytest.raises(BufferError, match="1 exported view"):
            memory.free(a)
        assert a[3, 4] == 2.0, number
        del view
        gc.collect()
    two = memoryview(a), memoryview(a)
    with pytest.raises(BufferError, match="2 exported views"):
        a.free()
    two[0].release()
    with pytest.raises(BufferError, match="1 exported view"):
        a.free()
    assert two[1][3, 4] == 2.0
    two[1].release()
    io.BytesIO().write(a)
    assert a.free()
    with pytest.raises(ValueError, match="was freed at"):
        memoryview(a)


def test_a_buffer_keeps_its_array() -> None:
    view = memoryview(np.ones((1000, 1000)) + 1.0)
    gc.collect()
    assert view[999, 999] == 2.0
    assert view.nbytes == 8_000_000
    before = live()
    view.release()
    assert live() <= before - 8_000_000


def test_a_freed_array_cannot_be_used() -> None:
    a = np.ones((1000, 1000))
    total = (a + 1).sum()
    view = a[10:]
    before = memory.report().live
    assert memory.free(a)
    assert memory.report().live <= before - a.nbytes
    assert float(total) == 2_000_000.0
    for use in (lambda: a + 1, lambda: float(view.sum()), lambda: a.tobytes(), lambda: view.sort()):
        with pytest.raises(ValueError, match=r"freed at .*test_memory\.py:\d+"):
            use()
    assert not memory.free(a)
    assert not memory.free(numpy.ones(3))
    b = np.ones((1000, 1000))
    assert b.free()
    with pytest.raises(ValueError, match="freed"):
        _ = b * 2


def test_a_report_has_every_form(tmp_path: Path) -> None:
    kept = np.ones((900, 900))
    assert kept[0, 0] == 1.0
    report = memory.report()
    assert report.owners[0].nbytes >= kept.nbytes
    text = str(report)
    assert "test_memory.py" in text
    assert "in use" in text
    found = json.loads(report.json())
    assert found["live"] == report.live
    assert found["rungs"]["spill"].keys() == {"times", "bytes", "seconds"}
    assert report._repr_html_().startswith("<table>")
    page = tmp_path / "memory.html"
    report.html(page)
    assert "peak" in page.read_text(encoding="utf-8")
    assert 0 <= report.hit_rate <= 1
    assert 0 <= report.fragmentation <= 1


def test_numpy_catches_our_error_as_its_own() -> None:
    assert issubclass(OutOfMemoryError, MemoryError)


@pytest.mark.parametrize("last_ends_first", [False, True])
def test_blocks_of_threads_that_overlap_leave_no_limit(last_ends_first: bool) -> None:
    memory.limit("1GiB")
    try:
        first, second = memory.limit("300MiB"), memory.limit("200MiB")
        # The order in which threads get to the beginning of their blocks does not matter.
        second.__enter__()
        first.__enter__()
        assert memory.report().limit == 200 * MIB
        ends = (second, first) if last_ends_first else (first, second)
        ends[0].__exit__(None, None, None)
        assert memory.report().limit == (300 if last_ends_first else 200) * MIB
        ends[1].__exit__(None, None, None)
        assert memory.report().limit == 1024 * MIB
    finally:
        memory.limit(None)


def test_a_fork_while_another_thread_begins_and_ends_blocks_leaves_no_lock_behind() -> None:
    program = """
import os, threading
from arrayloom import memory
done = threading.Event()
def blocks():
    while not done.is_set():
        with memory.limit("1GiB"):
            pass
thread = threading.Thread(target=blocks)
thread.start()
statuses = set()
for _ in range(30):
    child = os.fork()
    if child == 0:
        with memory.limit("2GiB"):
            os._exit(0)
    statuses.add(os.waitpid(child, 0)[1])
done.set()
thread.join()
print(statuses)
"""
    # A child that waits for ever is ended by the limit of time.
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        check=True, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stdout == "{0}\n"
