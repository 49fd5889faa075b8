"""``doctor``: what it finds in programs, what it leaves alone, and that it changes nothing."""

import json
import os
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from arrayloom import _cli
from arrayloom._doctor.report import Finding, Report, report_json, report_text
from arrayloom._doctor.source import Source
from arrayloom._doctor.watch import Watch
from arrayloom._native import Fallback

FRONT = [sys.executable, "-W", "ignore", "-m", "arrayloom"]


@pytest.fixture
def run(tmp_path):
    """Run a program under the doctor, or without; gives status, standard output and error."""

    def call(text, *words, doctor=True, options=(), env=None):
        path = tmp_path / "app.py"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        done = subprocess.run(
            [*FRONT, *(["doctor"] if doctor else []), *options, str(path), *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "ARRAYLOOM_THREADS": "2", **(env or {})},
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return call


@pytest.fixture
def found(run):
    """Give the findings in a program, by kind and line."""

    def call(text, **options):
        status, _, err = run(text, options=("--json",), **options)
        assert status == 0, err
        report = json.loads(err.splitlines()[-1])["doctor"]
        return {(each["kind"], each["line"]): each for each in report["findings"]}

    return call


def test_elements_parts_and_iteration(found):
    """The loops take nearly all of the time, whatever the machine does besides."""
    text = """\
    import numpy as np
    a, out = np.ones((400, 400)), np.zeros((400, 400))
    def get(i, j):
        return a[i, j]
    for i in range(400):
        for j in range(400):
            out[i, j] = a[i, j] + get(i, j)
    v = a.ravel() + 1
    sum(v), max(v)
    for x in v:
        pass
    rows = np.ones((40000, 20))
    for i in range(40000):
        rows[i].max()
    """
    seen = found(text)
    one = seen["elements", 7]
    assert (one["count"], one["nbytes"], one["evidence"]) == (320_000, 1_280_000, "measured")
    assert one["what"] == "160,000 reads and 160,000 writes of single elements"
    assert one["text"] == "out[i, j] = a[i, j] + get(i, j)"
    assert one["seconds"] > 0
    assert seen["elements", 4]["count"] == 160_000
    assert seen["parts", 14]["count"] == 40_000
    assert "at most 160 B" in seen["parts", 14]["what"]
    assert seen["iteration", 10]["count"] >= 160_000
    assert seen["iteration", 9]["what"].startswith("Python's ")
    assert "NumPy's: a." in seen["iteration", 9]["advice"]
    assert {line for _, line in seen} == {4, 7, 9, 10, 14}


def test_what_calls_python(found):
    text = """\
    import numpy as np
    v = np.linspace(0, 1, 100_000) + 0
    g = np.vectorize(lambda x: x + 1)
    for _ in range(10):
        g(v)
    np.apply_along_axis(lambda r: r.max() - r.min(), 1, v.reshape(-1, 5))
    for _ in range(10):
        v.astype(object)
    """
    seen = found(text)
    assert seen["python", 5]["evidence"] == "measured"
    assert seen["python", 5]["count"] == 10
    assert "10 calls of __call__" in seen["python", 5]["what"]
    assert seen["python", 6]["count"] == 20_000
    assert seen["objects", 8]["count"] == 10


def test_fallbacks_and_gathers(found):
    text = """\
    import numpy as np
    v = np.linspace(0, 1, 300_000) + 0
    k = np.argsort(np.sin(v * 1000))
    for i in range(30):
        w = v[k]
        w.sum()
        np.add(v, np.longdouble(1))
    rows = k[:400] % 400
    a = v[:160_000].reshape(400, 400)
    for i in range(1000):
        a[rows]
    """
    seen = found(text)
    assert seen["gather", 11]["count"] == 1000
    assert seen["gather", 5]["count"] == 30
    assert seen["fallback", 7]["count"] == 30
    assert "without native support" in seen["fallback", 7]["what"]
    assert "astype" in seen["fallback", 7]["advice"]


def test_no_sample_comes_behind_the_end(monkeypatch):
    """A report reads the times more than once, and they must be the same."""
    looked, frames = threading.Event(), sys._current_frames

    def slow():
        found = frames()
        looked.set()
        time.sleep(0.2)
        return found

    monkeypatch.setattr(sys, "_current_frames", slow)
    watch = Watch()
    monkeypatch.setattr(watch, "_is_users", lambda code: True)
    watch.begin()
    assert looked.wait(60)
    watch.end()
    seen = dict(watch.seconds)
    assert seen
    time.sleep(0.3)
    assert watch.seconds == seen


def test_what_is_only_read_says_so(found):
    text = """\
    import numpy as np
    def grow(v):
        for _ in range(200):
            v = np.concatenate((v, np.ones(20_000)))
        return v
    grow(np.ones(1))
    """
    seen = found(text)
    assert seen.keys() == {("grows", 4)}
    assert seen["grows", 4]["evidence"] == "source"
    assert seen["grows", 4]["count"] is None


def test_values_that_are_wanted_again_and_again(found):
    text = """\
    import numpy as np
    v = np.linspace(0, 1, 200_000) + 0
    for _ in range(100):
        v = v * 0.5 + 1
        if np.abs(v).max() > 3:
            break
        w = (v + 1).reshape(400, 500).sum(axis=0)
    """
    seen = found(text)
    assert seen.keys() <= {("wanted", 5)}


def test_programs_with_nothing_to_find(run):
    text = """\
    import numpy as np
    a = np.linspace(0, 1, 1_000_000).reshape(1000, 1000)
    frames = np.ones((20, 200, 200))
    total = np.zeros((200, 200))
    for frame in frames:
        total += np.where(frame > 0.5, frame, 0)
    for _ in range(20):
        a = np.sqrt(a * a + 1) - 0.5
        a[1:-1] += a[:-2] * 0.1
        a[a > 3] = 0
    small, t = np.arange(10.0), 0.0
    for i in range(2000):
        t += small[i % 10]
    print(a.sum(), a[3, 4], total.max(), sum([1, 2]), sorted([2, 1]))
    np.lexsort((a[0], a[1]))
    """
    status, out, err = run(text)
    assert status == 0
    assert err.startswith("arrayloom doctor: nothing was found that slows down ")
    assert run(text, doctor=False)[1] == out


def test_errors_and_exits_are_the_programs(run):
    text = """\
    import sys, threading, warnings, traceback
    import numpy as np
    a = np.ones((300, 300))
    print(threading.active_count(), np.LazyArray.__getitem__, sys.argv[1:])
    for k in (1000, 0):
        try:
            for _ in range(3):
                a[1, 2]
            a[k, 0] = a[k, 1]
        except IndexError:
            print(sys.exc_info()[2].tb_frame.f_code.co_name)
    warnings.simplefilter("always")
    np.ones((200, 200)).sum() / np.zeros(100_000)
    """
    for end, status in (("sys.exit(7)", 7), ("a[0, 1000]", 1), ("raise KeyboardInterrupt", 130)):
        code, out, err = run(text + f"{end}\n", "x", "--json")
        plain = run(text + f"{end}\n", "x", "--json", doctor=False)
        before, mark, after = err.partition("arrayloom doctor: ")
        assert (code, out, before) == plain
        assert code == status
        assert mark
        assert after.startswith("nothing was found")


def test_report_in_a_file_and_mpi(run, tmp_path):
    (tmp_path / "mpi4py.py").write_text("MPI = 1")
    text = "import numpy as np\nfrom mpi4py import MPI\nnp.ones(100_000).sum()\n"
    options = ("--json", "--output", "report")
    assert run(text, options=options, env={"ARRAYLOOM_THREADS": ""})[2] == ""
    assert json.loads((tmp_path / "report").read_text())["doctor"]["findings"] == []
    env = {name: text for name, text in os.environ.items() if name != "ARRAYLOOM_THREADS"}
    words = [*FRONT, "doctor", "--output=report", str(tmp_path / "app.py")]
    subprocess.run(words, cwd=tmp_path, env=env, check=True)
    assert "from mpi4py import MPI" in (tmp_path / "report").read_text()
    assert run(text, options=("--output=no/report",))[0] == 2


def test_options(capsys):
    options, program = _cli.parse(["doctor", "--json", "--threads=3", "-c", "1", "doctor"])
    assert (options.doctor, options.json, options.threads) == (True, True, 3)
    assert program.args == ["doctor"]
    for words in (["--profile"], ["--compare"], ["--no-lazy"], ["--html=a"]):
        with pytest.raises(SystemExit):
            _cli.parse(["doctor", *words, "-c", "1"])
        assert f"leave {words[0].partition('=')[0]} out" in capsys.readouterr().err
    assert not _cli.parse(["-c", "1"])[0].doctor


SOURCE = """\
import numpy as np
from numpy import append as add, vstack
@np.vectorize
def h(x):
    return x
def f(v, w):
    while True:
        v = add(v, 1)
        w = vstack([np.ones(3), w])
        x = np.append(v, 1)
        k = np.where(v > 5)
        v[k] = w[k]
        n = np.nonzero(v)[0]
        print(n)
        h(
            v,
        )
v = np.append(v, 1)
o = np.zeros(3, dtype=object)
o + 1
from mpi4py import MPI
g = np.where(v, 1, 2)
"""


def test_patterns_of_a_source():
    source = Source(SOURCE)
    seen = [(each.kind, each.line, each.lines) for each in source.patterns]
    assert sorted(seen) == [
        ("grows", 8, (8,)),
        ("grows", 9, (9,)),
        ("mpi", 21, (21,)),
        ("objects", 19, (19, 20)),
        ("places", 11, (11, 12)),
        ("python", 15, (15, 16, 17)),
    ]
    assert source.lines(16) == (15, 16, 17)
    assert source.lines(7) == (7,)
    assert source.lines(6) == (6,)
    assert source.text(5) == "return x"
    assert source.text(99) == ""
    assert Source("x = = 1").patterns == ()


def finding(number, **words):
    text = f"x{number} = " + "a[i] + " * 30
    facts = {"seconds": 1.25, "count": 3, "nbytes": 1536, **words}
    return Finding("elements", "/a/app.py", number, text, "measured", "3 reads", "a " * 90, **facts)


def test_text_is_narrow_and_json_has_all():
    delegated = (Fallback("solve", "own", "a.py", 1, 3),)
    report = Report("app.py", 3.0, (finding(1), finding(2, seconds=None)), 4, delegated)
    text = report_text(report)
    assert text.startswith("arrayloom doctor: 6 findings in app.py, which took 3.0 s")
    assert max(map(len, text.splitlines())) <= 100
    assert "measured: 3 reads; the array has 1.5 KiB; took about 1.25 s of 3.00 s" in text
    assert "... and 4 more" in text
    assert "do them best" not in text
    assert "solve" in text
    row = json.loads(report_json(report))["doctor"]["findings"][0]
    assert list(row)[:6] == ["kind", "file", "line", "text", "evidence", "what"]
    assert list(row)[6:] == ["advice", "count", "nbytes", "seconds"]
