"""Backends by others: the examples, discovery, the conformance suite, and its mutants."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from arrayloom import _backends, _ext, conform
from arrayloom._trampoline import Adapter
from arrayloom.backend import Device, Op
from arrayloom.errors import SettingError

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "backends"
NUMPY = "examples.backends.numpy_backend"
NUMEXPR = "examples.backends.numexpr_backend:Numexpr"

PROGRAM = """
import json, sys
import numpy as np
import arrayloom._ext as ext
x = np.linspace(0.0, 1.0, 50000).reshape(100, 500)
y = x * 2.0 + x
z = np.sqrt(y) - x[::-1] * 0.5
z[::2] += 1
results = [z.sum(), z.max(), np.cumsum(z, axis=1)[3, 7], (z > 0.7).sum(), z.astype("i4").sum()]
results += [float(v) for v in z.sum(axis=0)[:4]] + [int(z.argmax())]
print(json.dumps([float(v) for v in results]))
print(json.dumps(ext.stats().get("backend")), file=sys.stderr)
"""


def run(*words, **environ):
    command = [sys.executable, "-m", "arrayloom", *words]
    paths = os.pathsep.join([str(ROOT), *sys.path])
    environ = {**os.environ, "PYTHONPATH": paths, **environ}
    return subprocess.run(command, capture_output=True, text=True, env=environ, cwd=ROOT)


def program(backend):
    done = run("--backend", backend, "--min-bytes", "0", "-c", PROGRAM)
    assert done.returncode == 0, done.stderr
    stats = json.loads(done.stderr.splitlines()[-1])
    return json.loads(done.stdout), stats


@pytest.fixture(scope="module")
def expected():
    return program("cpu")[0]


@pytest.mark.parametrize("backend", ["opencl", "reference", "sim", NUMPY, NUMEXPR])
def test_whole_programs_run_on_every_backend(backend, expected):
    found, stats = program(backend)
    assert found == expected
    assert stats["native"] > 0
    if backend in {"opencl", "reference"}:
        assert stats["uploads"] == stats["fallbacks"] == 0
    else:
        assert stats["downloads"] > 0
        assert stats["download_bytes"] > 50000
    if backend == NUMEXPR:
        assert stats["fallbacks"] > 0
        assert any("fold" in reason for reason in stats["reasons"])


def test_examples_are_short():
    for file in EXAMPLES.iterdir():
        if file.suffix in {".py", ".rs"}:
            assert len(file.read_text(encoding="utf-8").splitlines()) <= 60, file


def test_backends_are_listed_and_tried():
    done = run("backends", ARRAYLOOM_BACKENDS=f"mine:{NUMPY},broken:no.such.module:Thing")
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    for name in ("cpu", "opencl", "reference", "sim", "mine"):
        assert "PASS" in lines[name]
    assert "unavailable" in lines["broken"]
    assert "ModuleNotFoundError" in lines["broken"]


def test_a_backend_that_nobody_has_is_named():
    done = run("--backend", "nonsense", "-c", "print(1)")
    assert done.returncode != 0
    assert "nonsense" in done.stderr
    assert "reference" in done.stderr


def test_the_environment_names_backends(monkeypatch):
    monkeypatch.setenv("ARRAYLOOM_BACKENDS", "a:lib.so, b:pkg.mod:Class")
    names = [(b.name, b.target) for b in _backends.announced()[:2]]
    assert names == [("a", "lib.so"), ("b", "pkg.mod:Class")]
    assert _backends.find("a") == "lib.so"
    monkeypatch.setenv("ARRAYLOOM_BACKENDS", "nothing")
    with pytest.raises(SettingError, match="name:target"):
        _backends.announced()
    monkeypatch.setenv("ARRAYLOOM_BACKENDS", "")
    with pytest.raises(SettingError, match="cpu, opencl, reference, sim"):
        _backends.find("nonsense")
    with pytest.raises(TypeError, match="no arrayloom"):
        _backends.adapter(3)


class Wrong(Device):
    """Adds, and loses the last element."""

    name = "wrong"

    def ufunc(self, op, *args):
        if op != "add":
            raise NotImplementedError(op)
        out, x, y = (arg.ndarray for arg in args)
        out[...] = x + y
        if out.size > 5:
            out.flat[-1] = 0


def failures(report):
    return {case.name for case in report.failed}


def test_a_wrong_backend_is_found():
    report = conform.run(Wrong(), levels=[2], dtypes=["int32"])
    assert "map/Add/int32/strided" in failures(report)
    assert not any("Mul" in name for name in failures(report))
    outcomes = {case.name: case.outcome for case in report.cases}
    assert outcomes["map/Mul/int32/strided"] == "fallback"


def test_a_device_that_raises_is_found():
    class Broken(Device):
        def ufunc(self, op, *args):
            raise ZeroDivisionError(op)

    report = conform.run(Broken(), levels=[2], dtypes=["int8"])
    assert any("ZeroDivisionError" in case.what for case in report.failed)


@pytest.mark.parametrize("target", ["numpy", NUMPY, "cpu", "sim"])
def test_the_suite_passes(target, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    report = conform.run(target, levels=[0, 1, 3, 4, 5, 8])
    assert report.failed == ()
    report = conform.run(target, levels=[2], dtypes=["float32", "int16", "bool"], seed=3)
    assert report.failed == ()
    native = sum(case.outcome == "native" for case in report.cases)
    assert native > len(report.cases) // 3


@pytest.mark.slow
@pytest.mark.parametrize("target", ["numpy", "cpu", "reference", "sim"])
def test_the_whole_suite_passes(target):
    report = conform.run(target)
    assert report.failed == ()
    assert {case.level for case in report.cases} == set(conform.LEVELS)


@pytest.mark.slow
def test_every_mutant_is_killed():
    rows = _ext.mutants(1)
    assert len(rows) == 26
    assert [fault for fault, case in rows if case is None] == []


def test_reports(tmp_path, capsys):
    files = [tmp_path / "r.json", tmp_path / "r.md"]
    words = ["reference", "--level", "0", "--level", "1", "--strict"]
    assert conform.main([*words, "--json", str(files[0]), "--markdown", str(files[1])]) == 0
    cases = json.loads(files[0].read_text())["cases"]
    assert {case["level"] for case in cases} == {0, 1}
    assert "| 0 memory | 6 | 0 | 0 | 0 |" in files[1].read_text()
    assert "0 FAIL" in capsys.readouterr().out
    expect = tmp_path / "may-fail"
    expect.write_text("memory/queue\n")
    assert conform.main([*words, "--expect", str(expect)]) == 1
    assert "passes unexpectedly: memory/queue" in capsys.readouterr().out


def test_blocks_keep_their_bytes_through_changes_of_dtype():
    adapter = Adapter(Device())
    block = adapter.alloc(24)
    data = np.arange(6, dtype="i4")
    adapter.copy_in(block, 0, data.ctypes.data, 24)
    code = [("Input", "float32", 0, 0, 0, b""), ("Neg", "float32", 0, 0, 0, b"")]
    with pytest.raises(NotImplementedError):
        adapter.run(code, ["float32"], [(1, 0, 0, 0)], (6,), ([(block, 0, (4,))],) * 2, [None])
    back = np.empty(6, "i4")
    adapter.copy_out(back.ctypes.data, block, 0, 24)
    np.testing.assert_array_equal(back, data)
    assert Op("add").info == {"name": "add"}


def test_a_device_makes_numbers():
    device = Device()
    assert device.range(4, np.dtype("i8")).ndarray.tolist() == [0, 1, 2, 3]
    first, again = (device.random(5, 7).ndarray.tolist() for _ in range(2))
    assert first == again
    assert len(set(first)) == 5
