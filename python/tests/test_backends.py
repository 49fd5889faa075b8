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
# It catches warnings while it computes, which asks for everything that is pending.
ORACLE = "arrayloom._numpy_device:NumpyDevice"

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


@pytest.mark.parametrize("backend", ["opencl", "reference", "sim", NUMPY, NUMEXPR, ORACLE])
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
    assert "counts only" in lines["null"]
    for name in ("cpu", "opencl", "reference", "sim", "mine"):
        assert "PASS" in lines[name]
    assert "unavailable" in lines["broken"]
    assert "ModuleNotFoundError" in lines["broken"]


def test_a_program_on_the_null_device_only_costs_what_is_around_its_kernels():
    done = run("--backend", "null", "--min-bytes", "0", "-c", PROGRAM)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)) == 10
    stats = json.loads(done.stderr.splitlines()[-1])
    assert stats["native"] > 0
    assert stats["fallbacks"] == stats["uploads"] == stats["downloads"] == 0


PRODUCTS = """
import json, sys
import numpy as np
import arrayloom._ext as ext
x = (np.arange(12000.0) % 13).reshape(100, 120)
y = x[::-1].T + 1
results = [x @ y, np.matmul(y, x), np.dot(x, y), x.dot(y), x[:, ::2] @ y[::2], x @ y[:, 0], y[:, 0] @ x.T]
s, t = x.reshape(4, 25, 120), np.stack([y, y + 1, y - 2])
results += [s @ y, s.reshape(4, 1, 5, 5, 120)[:, :, 1] @ t, s.swapaxes(1, 2) @ s]
others = [np.matmul(x, y, dtype="f4"), x[:0] @ y, x.astype("i4") @ y, np.dot(s, y), y[:, 0] @ y[:, 1]]
print([(p.shape, p.dtype.str, float(p.sum()), [float(v) for v in p.ravel()[:3]]) for p in results + others])
print(json.dumps(ext.stats().get("backend")), file=sys.stderr)
"""


WITHOUT_PRODUCTS = """
from examples.backends.numpy_backend import *
def extmethod(name, *operands):
    raise NotImplementedError(name)
"""


@pytest.mark.parametrize(("backend", "lacks"), [(NUMPY, 0), ("sim", 0), ("without_products", 7)])
def test_a_backend_multiplies_matrices_if_it_can(backend, lacks, tmp_path):
    (tmp_path / "without_products.py").write_text(WITHOUT_PRODUCTS, encoding="utf-8")
    paths = os.pathsep.join([str(ROOT), str(tmp_path), *sys.path])
    found = run("--backend", backend, "--min-bytes", "0", "-c", PRODUCTS, PYTHONPATH=paths)
    assert found.returncode == 0, found.stderr
    assert found.stdout == run("--backend", "cpu", "--min-bytes", "0", "-c", PRODUCTS).stdout
    stats = json.loads(found.stderr.splitlines()[-1])
    refused = sum(count for reason, count in stats["reasons"].items() if "matmul" in reason)
    assert refused == lacks


OTHERS = """
import numpy as np
x = (np.arange(12000.0) * 7919 % 12007).reshape(100, 120)
g = np.random.Generator(np.random.Philox(3))
print(np.sort(x, axis=0)[:3, :3].tolist(), np.argsort(x)[:2, :4].tolist(), x.argsort(kind="stable")[5, :3].tolist())
print(np.fft.fft(x)[0, :2].tolist(), np.fft.rfft(x, axis=0)[1, :2].tolist(), g.random(5000)[-2:].tolist())
x.sort()
print(x[7, :5].tolist())
"""


@pytest.mark.parametrize("backend", [NUMPY, "sim"])
def test_what_only_some_devices_do_is_numpys_elsewhere(backend):
    found = run("--backend", backend, "--min-bytes", "0", "-c", OTHERS)
    assert found.returncode == 0, found.stderr
    assert found.stdout == run("--backend", "cpu", "--min-bytes", "0", "-c", OTHERS).stdout


# Written for npbackend: names, arguments and habits are those of modules that were published for it.
TARGET = """
from bohrium.target import interface
import ctypes, mmap
import numpy as np

class Base(interface.Base):
    def __init__(self, size, dtype):
        super(Base, self).__init__(size, dtype)
        self.memory = mmap.mmap(-1, size * np.dtype(self.dtype_name).itemsize, mmap.MAP_PRIVATE)

class View(interface.View):
    def __init__(self, ndim, start, shape, strides, base):
        super(View, self).__init__(ndim, start, shape, strides, base)
        flat = np.frombuffer(base.memory, dtype=self.dtype_name, offset=self.start)
        self.ndarray = np.lib.stride_tricks.as_strided(flat, shape, self.strides)

def arrays(*views):
    return [v.ndarray if isinstance(v, View) else v for v in views]

def get_data_pointer(ary, copy2host=True, allocate=False, nullify=False):
    assert copy2host
    return ary.ndarray.ctypes.data

def set_bhc_data_from_ary(self, ary):
    ctypes.memmove(get_data_pointer(self, allocate=True), ary.ctypes.data, ary.nbytes)

def ufunc(op, *args):
    out, *ins = arrays(*args)
    if op.info["name"] == "identity":
        out[...] = ins[0]
    else:
        getattr(np, op.info["name"])(*ins, out=out)

def reduce(op, out, ary, axis):
    ary, out = arrays(ary, out)
    getattr(np, op.info["name"]).reduce(ary, axis=axis, out=out, keepdims=ary.ndim == 1)

def accumulate(op, out, ary, axis):
    ary, out = arrays(ary, out)
    getattr(np, op.info["name"]).accumulate(ary, axis=axis, out=out)

def extmethod(name, out, in1, in2):
    out, in1, in2 = arrays(out, in1, in2)
    if name != "matmul":
        raise NotImplementedError("no extension method '%s'" % name)
    np.matmul(in1, in2, out=out)

def range(size, dtype):
    return np.arange(size, dtype=dtype)

def random(size, seed):
    return np.random.default_rng(seed).integers(0, 2**64, size, dtype=np.uint64)
"""


def test_a_module_for_npbackend_runs_with_its_import_changed(tmp_path, expected):
    changed = TARGET.replace(
        "from bohrium.target import interface",
        "from arrayloom.compat import npbackend as interface",
    )
    same = [old == new for old, new in zip(TARGET.split("\n"), changed.split("\n"), strict=True)]
    assert same.count(False) == 1
    (tmp_path / "their_target.py").write_text(changed)
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    done = run("--backend", "their_target", "--min-bytes", "0", "-c", PROGRAM, PYTHONPATH=paths)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected
    stats = json.loads(done.stderr.splitlines()[-1])
    assert stats["native"] > 5
    found = run("--backend", "their_target", "--min-bytes", "0", "-c", PRODUCTS, PYTHONPATH=paths)
    assert "matmul" not in str(json.loads(found.stderr.splitlines()[-1])["reasons"])
    paths = [str(tmp_path), *sys.path]
    code = "from arrayloom import conform; import sys; sys.exit(conform.main(['their_target', '--dtypes', 'int32']))"
    judged = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    assert judged.returncode == 0, judged.stdout[-2000:] + judged.stderr[-2000:]


def test_what_a_module_cannot_do_runs_on_the_cpu(tmp_path, expected):
    module = TARGET.replace("from bohrium.target", "from arrayloom.compat").replace(
        "import interface", "import npbackend as interface"
    )
    module = module.replace(
        "return np.arange(size, dtype=dtype)", "return np.arange((size,), dtype)"
    )
    module = module.replace("accumulate(ary, axis=axis, out=out)", "accumulate(ary, keepdims=True)")
    (tmp_path / "old_target.py").write_text(module)
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    done = run("--backend", "old_target", "--min-bytes", "0", "-c", PROGRAM, PYTHONPATH=paths)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected
    reasons = json.loads(done.stderr.splitlines()[-1])["reasons"]
    assert any("keepdims" in reason for reason in reasons)


def test_a_backend_that_nobody_has_is_named():
    done = run("--backend", "nonsense", "-c", "print(1)")
    assert done.returncode != 0
    assert "nonsense" in done.stderr
    assert "reference" in done.stderr


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nonsense", "it takes cpu, cuda, opencl"),
        ("opencl:x", "'x' is no number of a device of opencl"),
        ("cpu:3", "those of opencl and cuda have some"),
        ("no.such.module:Thing", "ModuleNotFoundError: No module named 'no'"),
        ("json:Thing", "AttributeError: module 'json' has no attribute 'Thing'"),
        ("json", "no arrayloom.backend.Device"),
    ],
)
def test_a_backend_that_cannot_be_used_is_a_setting(name, text):
    with pytest.raises(SettingError, match=f"ARRAYLOOM_BACKEND cannot be '{name}'") as caught:
        _backends.find(name)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    "words",
    [
        ("-m", "arrayloom", "--backend", "nonsense", "-c", "print(1)"),
        ("-m", "arrayloom", "--no-shim", "--backend", "opencl:99", "-c", "print(1)"),
        ("-m", "arrayloom.conform", "numpy"),
        ("arrayloom", "-c", "print(1)"),
    ],
    ids=["name", "number", "command", "script"],
)
def test_the_runner_says_in_one_line_that_it_has_no_such_backend(words, tmp_path):
    script = tmp_path / "arrayloom"
    script.write_text("from arrayloom._cli import entry\nentry()\n")
    words = [str(script) if word == "arrayloom" and words[0] == word else word for word in words]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    if "--backend" not in words:
        environ["ARRAYLOOM_BACKEND"] = "nonsense"
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, env=environ)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("arrayloom: ")
    assert "nonsense" in line or "99" in line


def test_a_program_that_imports_the_package_sees_the_error():
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "ARRAYLOOM_BACKEND": "no"}
    command = [sys.executable, "-c", "import arrayloom"]
    done = subprocess.run(command, capture_output=True, text=True, env=environ)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "SettingError: ARRAYLOOM_BACKEND cannot be 'no'" in done.stderr


def test_the_environment_names_backends(monkeypatch):
    monkeypatch.setenv("ARRAYLOOM_BACKENDS", "a:lib.so, b:pkg.mod:Class")
    names = [(b.name, b.target) for b in _backends.announced()[:2]]
    assert names == [("a", "lib.so"), ("b", "pkg.mod:Class")]
    assert _backends.find("a") == "lib.so"
    monkeypatch.setenv("ARRAYLOOM_BACKENDS", "nothing")
    with pytest.raises(SettingError, match="name:target"):
        _backends.announced()
    monkeypatch.setenv("ARRAYLOOM_BACKENDS", "")
    with pytest.raises(SettingError, match="cpu, cuda, opencl, reference, sim, null"):
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


@pytest.mark.parametrize("target", ["numpy", NUMPY, "cpu", "sim", "null"])
def test_the_suite_passes(target, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    report = conform.run(target, levels=[0, 1, 3, 4, 5, 8])
    assert report.failed == ()
    report = conform.run(target, levels=[2], dtypes=["float32", "int16", "bool"], seed=3)
    assert report.failed == ()
    native = sum(case.outcome == "native" for case in report.cases)
    assert native > len(report.cases) // 3


@pytest.mark.slow
@pytest.mark.parametrize("target", ["numpy", "cpu", "reference", "sim", "null"])
def test_the_whole_suite_passes(target):
    report = conform.run(target)
    assert report.failed == ()
    programs = {6, 7} if target == "null" else set()
    assert {case.level for case in report.cases} == set(conform.LEVELS) - programs


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "reference", "sim", "null"])
def test_our_devices_do_everything_themselves(target):
    assert conform.main([target, "--strict"]) == 0


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
