"""The suite that judges conversions: it passes what works, and finds every planted fault."""

import ctypes
import subprocess
import sys

import numpy as np
import pytest

import arrayloom.bridge as b
from arrayloom.bridge import conformance, registry
from arrayloom.bridge.errors import FrameworkUnavailable
from arrayloom.bridge.registry import NATIVE, FrameworkSpec, Hooks, Layouts, Mutability

FEW = ("C", "step2", "neg", "element", "readonly", "empty")


class Box:
    """The arrays of a framework that is nothing else."""

    def __init__(self, data):
        self.data = data
        self.dtype = data.dtype


def spec(*, to_host=None, from_host=None, **facts):
    hooks = Hooks(
        to_host=to_host or (lambda x, _: x.data),
        from_host=from_host or (lambda data, _: Box(data)),
        copy=lambda x: Box(x.data.copy()),
    )
    return FrameworkSpec("box", (__name__,), (f"{__name__}:Box",), hooks, **facts)


@pytest.fixture(name="judged")
def _judged():
    """Judge a specification of boxes with a few arrays."""

    def judged(made, dtypes=("float32", "int16"), against=("numpy", "arrayloom")):
        b.register(made)
        return conformance.run(["box"], against=against, dtypes=dtypes, layouts=FEW)

    yield judged
    registry._specs.pop("box", None)
    registry._started.discard("box")
    b.register(registry.get("numpy"))


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"align": 64, "layouts": Layouts.COMPACT_C, "mutable": Mutability.NEVER},
        {"align": 16, "layouts": Layouts.FORWARD, "mutable": Mutability.ALWAYS},
        {"empty": False, "ndim": range(1, 3)},
        {"dtypes": NATIVE - {"int16"}},
        {"dtypes": NATIVE - {"int16"}, "narrowed": {"int16": "int8"}},
    ],
)
def test_a_framework_that_is_described_truly_passes(judged, facts):
    report = judged(spec(**facts))
    assert report.failed == ()
    assert {case.outcome for case in report.cases} >= {"native", "fallback"}


def byte_steps(data, _):
    """Take steps in bytes for steps in elements."""
    steps = [step // data.itemsize for step in data.strides]
    size = data.itemsize
    if any(step % size for step in steps) or min(steps, default=0) < 0:
        steps = [size] * data.ndim
    return Box(np.lib.stride_tricks.as_strided(data, strides=steps))


def without_owner(data, _):
    """Keep the address alone."""
    if not data.flags.c_contiguous or not data.size:
        return Box(data)
    room = (ctypes.c_char * data.nbytes).from_address(data.ctypes.data)
    return Box(np.frombuffer(room, data.dtype).reshape(data.shape))


KEPT = []


def keep_forever(data, _):
    KEPT.append(data)
    return Box(data)


def silently_narrow(data, _):
    return Box(data.astype(np.float16) if data.dtype == np.float32 else data)


def unhappy(_, __):
    msg = "no"
    raise KeyError(msg)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (spec(from_host=byte_steps), "instead of"),
        (spec(from_host=lambda data, _: Box(data.copy())), "the memory is another"),
        (spec(to_host=lambda x, _: x.data.copy()), "the memory is another"),
        (spec(from_host=lambda data, _: Box(data[::-1])), "instead of"),
        (spec(from_host=without_owner), "given back while"),
        (spec(from_host=keep_forever), "never given back"),
        (spec(from_host=silently_narrow), "float16"),
        (spec(from_host=lambda data, _: data), "the result is ndarray"),
        (spec(from_host=unhappy), "KeyError"),
    ],
    ids=lambda value: "" if isinstance(value, FrameworkSpec) else value,
)
def test_every_fault_is_found(judged, fault, said):
    failed = judged(fault, dtypes=["float32"]).failed
    assert any(said in case.what for case in failed), {case.what for case in failed}
    KEPT.clear()


def test_memory_that_was_said_not_to_be_taken_is_found(judged, monkeypatch):
    monkeypatch.setattr("arrayloom.bridge.planning._why_address", lambda *_: None)
    failed = judged(spec(align=64), dtypes=["float32"]).failed
    assert any("not a multiple of 64" in case.what for case in failed)


def test_writes_to_memory_that_is_taken_as_immutable_are_found(judged, monkeypatch):
    monkeypatch.setattr("arrayloom.bridge.planning.isolates", lambda *_: False)
    failed = judged(spec(mutable=Mutability.NEVER), dtypes=["float32"]).failed
    assert any("a write to the source changed" in case.what for case in failed)


def test_arrays_that_cannot_be_made_are_findings_whoever_the_others_are(judged):
    report = judged(spec(from_host=unhappy), against=["arrayloom"])
    assert any(case.name.startswith("pair/numpy>box/int16") for case in report.failed)


def test_kinds_that_do_not_exist_are_errors():
    with pytest.raises(TypeError, match="no array framework 'nobody'"):
        conformance.run(["nobody"])
    b.register(FrameworkSpec("gone", ("gone_module",), (), spec().hooks))
    try:
        with pytest.raises(FrameworkUnavailable, match="gone is not installed"):
            conformance.run(["gone"])
    finally:
        registry._specs.pop("gone")


def test_the_command_line(tmp_path):
    (tmp_path / "third.py").write_text(
        "from arrayloom.bridge.registry import FrameworkSpec, Hooks\n"
        "class Grid:\n    def __init__(self, data):\n        self.data, self.dtype = data, data.dtype\n"
        "SPEC = FrameworkSpec('third', ('third',), ('third:Grid',),\n"
        "    Hooks(to_host=lambda x, _: x.data, from_host=lambda data, _: Grid(data),\n"
        "          copy=lambda x: Grid(x.data.copy())))\n",
        encoding="utf-8",
    )
    words = ["--bridge", "third:SPEC", "--dtypes", "uint8", "--quiet", "--markdown", "found.md"]
    done = subprocess.run(
        [sys.executable, "-m", "arrayloom.conform", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("third: ")
    assert done.stdout.endswith(", 0 FAIL\n")
    assert "| pair/numpy>third | uint8 |" in (tmp_path / "found.md").read_text(encoding="utf-8")


@pytest.mark.frameworks("torch", "jax", "tensorflow", "pyclesperanto")
def test_every_framework_that_is_here():
    report = conformance.run(dtypes=["bool", "float32", "int64", "complex64", "bfloat16"])
    assert [(case.name, case.what) for case in report.failed] == []
