"""Fork, spawn, signals, limits: programs in processes of their own."""

import resource
import subprocess
import sys
import textwrap

import pytest
from support.process import UNDER_TEST, output, run

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

START = """
    import arrayloom as np, os, sys
    a = np.arange(30000.0)
    b = a * 2 + 1
"""


@pytest.mark.parametrize("runner", [False, True])
def test_fork_with_pending_work(runner):
    code = (
        START
        + """
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        c = b[::2] + a[::2]
        os.write(write, repr((float(b.sum()), float(c.sum()), float(b[7]))).encode())
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    c = b[::2] + a[::2]
    print(os.read(read, 1000).decode() == repr((float(b.sum()), float(c.sum()), float(b[7]))), status)
    """
    )
    assert output(code, runner=runner) == "True 0\n"


def test_children_of_children():
    code = (
        START
        + """
    status = 0
    def child(depth):
        global b, status
        pid = os.fork()
        if pid == 0:
            b = b + 1
            status = child(depth - 1) if depth else 0
            os._exit(0 if status == 0 and float(b[3]) == 7.0 + (4 - depth) else 1)
        return os.waitpid(pid, 0)[1]

    print(child(3), float(b[3]))
    """
    )
    assert output(code) == "0 7.0\n"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(tmp_path, method):
    (tmp_path / "worker.py").write_text(
        f"import {UNDER_TEST} as np\n"
        "def total(a):\n"
        "    return float((a * 2 + np.ones(len(a))).sum()), a[::2] + 1\n"
    )
    code = f"""
    import arrayloom as np, multiprocessing, sys
    sys.path.insert(0, {str(tmp_path)!r})
    import worker
    if __name__ == "__main__":
        parts = [np.full(20000, float(i)) * 3 for i in range(4)]
        with multiprocessing.get_context({method!r}).Pool(2) as pool:
            found = pool.map(worker.total, parts)
        print([t for t, _ in found] == [worker.total(p)[0] for p in parts])
        print(all((f[1] == p[::2] + 1).all() for f, p in zip(found, parts)))
    """
    path = tmp_path / "main.py"
    path.write_text(textwrap.dedent(code).replace("import arrayloom", f"import {UNDER_TEST}"))
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout, done.returncode) == ("True\nTrue\n", 0), done.stderr


def test_fork_while_other_threads_compute():
    code = (
        START
        + """
    import threading
    stop = False
    def work():
        x = np.ones(50000)
        while not stop:
            x = x * 1.0001 + 0.5
            float(x[0])
    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads: t.start()
    good = 0
    for _ in range(15):
        c = b + 1
        pid = os.fork()
        if pid == 0:
            os._exit(0 if float(c.sum()) == 900030000.0 else 1)
        good += os.waitpid(pid, 0)[1] == 0
    stop = True
    for t in threads: t.join()
    print(good)
    """
    )
    code = code.replace(
        "import threading", "import threading, warnings; warnings.simplefilter('ignore')"
    )
    assert output(code) == "15\n"


@pytest.mark.parametrize("runner", [False, True])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "faulthandler.enable()"),
        ("faulthandler.enable()", ""),
        ("faulthandler.disable()", ""),
        ("", "faulthandler.disable()"),
        ("faulthandler.enable()", "faulthandler.disable(); faulthandler.enable()"),
        ("", "signal.signal(signal.SIGUSR1, lambda *_: None)"),
        ("", "signal.signal(signal.SIGSEGV, signal.SIG_DFL)"),
        ("", "signal.signal(signal.SIGSEGV, lambda *_: None)"),
        ("", "ctypes.CDLL(None).signal(signal.SIGSEGV, None)"),
        ("signal.signal(signal.SIGINT, signal.SIG_IGN)", ""),
    ],
)
def test_fault_handlers_of_others(before, after, runner):
    code = f"""
    import faulthandler, signal, ctypes
    {before}
    import arrayloom as np
    {after}
    a = np.arange(30000.0) * 2
    print(ctypes.c_double.from_address(a.ctypes.data + 80).value)
    b = a + 1
    ctypes.c_double.from_address(a.ctypes.data).value = 5.0
    print(float(b[0]), float(a[0]))
    # NumPy reads a plain view without asking anybody: only the fault brings the value.
    import numpy
    print(numpy.add.reduce(numpy.asarray(b * 3)))
    """
    assert output(code, runner=runner) == "20.0\n1.0 5.0\n2700000000.0\n"


@pytest.mark.parametrize("runner", [False, True])
def test_true_crashes_stay_crashes(runner):
    code = (
        START
        + """
    import ctypes, faulthandler
    faulthandler.enable()
    float(b[3])
    ctypes.string_at(8, 4)
    """
    )
    done = run(code, runner=runner)
    assert done.returncode == -11
    assert "Segmentation fault" in done.stderr


def test_touching_freed_memory_is_a_crash_and_not_a_hang():
    if UNDER_TEST == "numpy":
        pytest.skip("NumPy itself is under test")
    code = (
        START
        + """
    import ctypes
    address = b.ctypes.data
    del b
    ctypes.string_at(address, 4)
    """
    )
    assert run(code, timeout=60).returncode in (0, -11)


def test_interrupt_during_a_long_computation():
    code = """
    import arrayloom as np, os, signal, threading, time
    a = np.linspace(0.0, 1.0, 3_000_000)
    float(a[0])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    seen = False
    try:
        for _ in range(400):
            a = np.sin(a) + np.exp(-a) * 0.5
            if time.monotonic() - start > 20: break
        float(a.sum())
        time.sleep(1)
    except KeyboardInterrupt:
        seen = True
    after = np.arange(30000.0) * 2
    print(seen, float(after.sum()), bool(np.isfinite(a).all()))
    """
    assert output(code) == "True 899970000.0 True\n"


def test_python_signal_handlers_run():
    code = (
        START
        + """
    import signal
    seen = []
    signal.signal(signal.SIGALRM, lambda *_: seen.append(float((b + 1)[3])))
    signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
    x = a
    while len(seen) < 5:
        x = x * 0.5 + b
        float(x[0])
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(set(seen))
    """
    )
    assert output(code) == "{8.0}\n"


@pytest.mark.parametrize("limit_gib", [1, 2, 6])
def test_limited_address_space(limit_gib):
    done = run(
        """
        import arrayloom as np
        a = np.arange(30000.0)
        b = (a * 2 + 1)[::-1]
        print(float(b.sum()), type(b).__name__)
        """,
        limit_bytes=limit_gib * 2**30,
        env={"OPENBLAS_NUM_THREADS": "1"},
    )
    assert (done.stdout, done.returncode) == ("900000000.0 ndarray\n", 0), done.stderr


def test_too_large_results_raise_memory_error():
    code = """
    import arrayloom as np
    a = np.ones((1 << 20, 1))
    for make in (lambda: np.zeros((1 << 40, 1 << 10)), lambda: a * np.ones((1, 1 << 40)), lambda: np.empty(1 << 60)):
        try:
            b = make()
            float(b[0, 0])
            print("made")
        except (MemoryError, ValueError) as error:
            print(isinstance(error, (MemoryError, ValueError)))
    print(float(a.sum()))
    """
    assert output(code) == "True\nTrue\nTrue\n1048576.0\n"


def test_out_of_memory_in_the_middle_loses_nothing():
    code = """
    import arrayloom as np, resource
    a = np.ones(4_000_000)
    float(a[0])
    lines = open("/proc/self/status").read().splitlines()
    now = next(int(line.split()[1]) for line in lines if line.startswith("VmData")) << 10
    resource.setrlimit(resource.RLIMIT_DATA, (now + (600 << 20), now + (600 << 20)))
    kept, failed = [], None
    try:
        for i in range(60):
            b = a + i
            float(b[0])
            kept.append(b)
    except MemoryError:
        failed = True
    print(failed, all(float(b[5]) == i + 1 for i, b in enumerate(kept)))
    count = len(kept)
    del kept, b
    c = a * 3
    print(float(c[0]))
    """
    assert output(code, env={"OPENBLAS_NUM_THREADS": "1"}) == "True True\n3.0\n"


def test_exit_with_pending_work_and_daemon_threads():
    code = (
        START
        + """
    import threading, atexit
    atexit.register(lambda: print("at exit", float(c[0])))
    c = b + a
    d = c * 2
    def forever():
        x = np.ones(40000)
        while True:
            x = x * 0.5 + 1
            float(x[0])
    threading.Thread(target=forever, daemon=True).start()
    """
    )
    assert output(code) == "at exit 1.0\n"


def test_exit_while_daemon_threads_compute():
    code = """
    import numpy as np, threading, time

    def forever(n):
        x = np.ones(n)
        while True:
            x = np.sqrt(x * 0.5 + 1)
            y, z = np.sort(x)[::2], x[x > 1]
            w = x.sum(), x.max(), np.where(x > 1, x, 0).mean(), np.dot(x, x)
            x[5] = 3
            x = np.concatenate([x, x])[:n].copy()

    for k in range(3):
        threading.Thread(target=forever, args=(40_000 + 100_000 * k,), daemon=True).start()
    time.sleep(0.1)
    print("over")
    """
    for _ in range(5):
        assert output(code, runner=True) == "over\n"


def test_recursion_and_small_stacks():
    code = (
        START
        + """
    import threading
    threading.stack_size(64 * 1024)
    found = []
    def deep(n):
        return deep(n - 1) if n else float((b + 1).sum())
    t = threading.Thread(target=lambda: found.append(deep(5)))
    t.start(); t.join()
    print(found)
    """
    )
    assert output(code) == "[900030000.0]\n"


def test_descriptors_and_streams_stay_as_they_were():
    code = (
        START
        + """
    before = sorted(os.listdir("/proc/self/fd"))
    for _ in range(50):
        c = b * 2
        float(c[0])
    print(len(sorted(os.listdir("/proc/self/fd"))) - len(before))
    """
    )
    assert output(code) == "0\n"


def test_memory_is_given_back():
    code = """
    import arrayloom as np, resource, sys
    def resident():
        return int(open("/proc/self/statm").read().split()[1]) * 4096
    a = np.ones(2_000_000)
    for _ in range(5):
        b = a * 2 + 1
        float(b[0])
    start = resident()
    for _ in range(200):
        b = a * 2 + 1
        float(b[0])
    print(resident() - start < 100 << 20)
    """
    assert output(code) == "True\n"


def test_limits_of_this_process_are_untouched():
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY


# NumPy imports some of its own modules at the first use, so everything is used once before.
LAST_WORDS = """
    import numpy as np

    x = np.arange(100_000.0) + 1
    looks = [
        lambda x=x, np=np: [x.sum(), x.std(), (x + 1)[3], x.tolist()[2], (x / 0)[3], np.sum(x), x @ x],
        lambda x=x, np=np: [np.where(x > 3, x, 0)[5], x[x > 5].sum(), np.sort(x)[2], x.max(axis=0), x.cumsum()[5]],
    ]

    class Last:
        def __init__(self):
            self.looks = looks

        def __del__(self):
            print([float(value) for look in self.looks for value in look()])

    last = Last()
    for look in looks:
        look()
"""


@pytest.mark.parametrize("reader", ["runner", "import"])
def test_arrays_compute_where_the_interpreter_ends(reader):
    plain = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LAST_WORDS)],
        capture_output=True,
        text=True,
        check=True,
    )
    words = LAST_WORDS if reader == "runner" else LAST_WORDS.replace("numpy", "arrayloom")
    assert "inf" in plain.stdout
    assert output(words, runner=reader == "runner") == plain.stdout
