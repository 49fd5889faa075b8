"""Several Python threads that compute at once, alone and on the same arrays."""

import concurrent.futures
import ctypes
import queue
import threading
import time

import numpy as np
from support.layouts import ordinary, plain_view
from support.process import output


def work(m, seed, count=20000, rounds=30):
    """A chain of lazy steps with reads in between."""
    a = m.array(ordinary("d", count, seed))
    total = 0.0
    for step in range(rounds):
        b = a * 0.5 + step
        a[1:] = b[:-1] - a[1:] * 0.25
        total += float(b.sum())
        if step % 7 == 0:
            plain_view(a)[step] = 1.0
    return total, a.tobytes()


def test_threads_with_their_own_arrays(xp_both):
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda seed: work(xp_both, seed), range(24)))
    assert found == [work(np, seed) for seed in range(24)]


def test_threads_read_the_same_pending_array(xp_both):
    for repeat in range(20):
        a = xp_both.array(ordinary("d", 30000, repeat)) * 2
        b = a + 1
        want = (np.array(ordinary("d", 30000, repeat)) * 2 + 1).tobytes()
        start = threading.Barrier(4)
        found = []

        def read(b=b, start=start, found=found):
            start.wait()
            found.append(ctypes.string_at(b.ctypes.data, b.nbytes))

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [want] * 4


def test_readers_keep_old_values_while_another_thread_writes(xp_both):
    for repeat in range(20):
        a = xp_both.array(ordinary("d", 30000, repeat)) + 0.5
        float(a[0])
        old = np.array(a)
        reader = a * 3

        def write(a=a):
            plain_view(a)[...] = -1.0

        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        assert np.array_equal(np.asarray(reader), old * 3)
        assert float(a.max()) == -1.0


def test_arrays_handed_from_thread_to_thread(xp_both):
    steps = queue.Queue()
    found = []

    def consume():
        while (array := steps.get()) is not None:
            found.append(float((array * 2).sum()))

    thread = threading.Thread(target=consume)
    thread.start()
    for number in range(50):
        steps.put(xp_both.full(10000, float(number)) + 1)
    steps.put(None)
    thread.join()
    assert found == [20000.0 * (number + 1) for number in range(50)]


def test_a_thread_that_dies_leaves_its_arrays_in_order(xp_both, monkeypatch):
    kept = {}
    monkeypatch.setattr(threading, "excepthook", lambda _: None)

    def fail():
        kept["a"] = xp_both.arange(20000.0) * 3
        kept["b"] = kept["a"] + 1
        kept["a"][::2] -= kept["b"][::2]
        raise RuntimeError("the end of this thread")

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    plain = np.arange(20000.0) * 3
    other = plain + 1
    plain[::2] -= other[::2]
    assert np.array_equal(np.asarray(kept["a"]), plain)
    assert np.array_equal(np.asarray(kept["b"]), other)


def test_other_threads_run_while_one_computes(xp_default):
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    a = xp_default.ones(4_000_000)
    start = time.monotonic()
    for _ in range(3):
        a = xp_default.sin(a) + xp_default.exp(-a)
    float(a.sum())
    end = time.monotonic()
    stop.set()
    thread.join()
    seen = [t for t in ticks if start <= t <= end]
    gaps = np.diff([start, *seen, end])
    assert gaps.max() < max(0.5 * (end - start), 0.1), (gaps.max(), end - start)


def test_others_go_on_while_a_full_list_runs():
    """The list is full within one call, which takes long; meanwhile another thread counts."""
    code = """
    import threading, time
    import arrayloom as np
    count, stop = 0, False
    def beat():
        global count
        while not stop:
            time.sleep(0.001)
            count += 1
    a = np.arange(1000000.0)
    for _ in range(62): a = np.arctan2(a, 3) % 1.5 + 1
    thread = threading.Thread(target=beat)
    thread.start()
    time.sleep(0.01)
    most = 0
    for _ in range(4):
        before = count
        a = a + 1
        most = max(most, count - before)
    stop = True
    thread.join()
    print(most > 3)
    """
    assert output(code, env={"ARRAYLOOM_MAX_PENDING_NODES": "189"}) == "True\n"
