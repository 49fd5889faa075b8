"""Plans and registry: they need no framework."""

import json
import subprocess
import sys

import numpy as np
import pytest

import arrayloom.bridge as b
from arrayloom.bridge import registry
from arrayloom.bridge.errors import LossyConversionError
from arrayloom.bridge.planning import facts_of


def described(**words):
    return {"kind": "torch", "dtype": "float32", "shape": (4, 8), "address": 4096, **words}


def test_import_brings_no_framework():
    code = (
        "import sys, arrayloom, time; s = time.perf_counter(); import arrayloom.bridge; "
        "print(time.perf_counter() - s); "
        "print([m for m in ('torch', 'jax', 'tensorflow', 'cupy', 'pyclesperanto') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1] == "[]"


def test_import_brings_no_slow_modules():
    code = (
        "import sys, arrayloom; before = set(sys.modules); import arrayloom.bridge; "
        "print(sorted({'numpy.random', 'random', 'ctypes.util', 'json', 'pathlib'} & (set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_facts_need_no_array():
    plan = b.plan(described(), "numpy")
    assert (plan.route, plan.zero_copy, plan.nbytes) == ("share", True, 0)


@pytest.mark.parametrize(
    ("to", "change", "route", "reason"),
    [
        ("torch", {"kind": "numpy", "strides": (-32, 4)}, "copy", "negative"),
        ("torch", {"kind": "numpy", "strides": (33, 4)}, "copy", "between elements"),
        ("torch", {"kind": "numpy", "native": False}, "copy", "byte order"),
        ("torch", {"kind": "numpy", "address": 4097}, "copy", "aligned to 4"),
        ("torch", {"kind": "numpy", "readonly": True, "protected": True}, "copy", "protected"),
        ("torch", {"kind": "numpy", "strides": (0, 4)}, "share", "as it is"),
        ("jax", {}, "copy", "isolated"),
        ("jax", {"readonly": True}, "share", "as it is"),
        ("jax", {"readonly": True, "address": 4112}, "copy", "aligned to 64"),
        ("jax", {"readonly": True, "strides": (4, 16)}, "share", "as it is"),
        ("jax", {"readonly": True, "strides": (64, 8)}, "copy", "compact"),
        ("tensorflow", {"readonly": True, "strides": (4, 16)}, "copy", "row-major"),
        ("tensorflow", {"readonly": True}, "share", "as it is"),
        ("pyclesperanto", {}, "upload", "no arrays on the host"),
        ("cupy", {}, "upload", "no arrays on the host"),
        ("cupy", {"device": "cuda:0"}, "device", "both know cuda:0"),
        ("torch", {"kind": "cupy", "device": "cuda:1"}, "device", "both know cuda:1"),
        ("numpy", {"device": "cuda:0"}, "download", "lies on cuda:0"),
        ("arrayloom", {"strides": (-32, 4), "kind": "numpy"}, "share", "as it is"),
    ],
)
def test_routes(to, change, route, reason):
    plan = b.plan(described(**change), to)
    assert plan.route == route
    assert reason in plan.reason
    assert plan.zero_copy == (plan.nbytes == 0)


def test_an_immutable_source_is_a_hazard_for_a_writer():
    plan = b.plan(described(kind="jax", readonly=True), "torch")
    assert plan.zero_copy
    assert "immutable" in plan.hazards[0]


@pytest.mark.parametrize(
    ("to", "change", "error", "text"),
    [
        ("pyclesperanto", {"dtype": "int64"}, LossyConversionError, "lossy='allow'"),
        ("pyclesperanto", {"dtype": "bool"}, LossyConversionError, "uint8"),
        ("pyclesperanto", {"dtype": "bfloat16", "itemsize": 2}, TypeError, "bfloat16"),
        ("pyclesperanto", {"shape": ()}, ValueError, "axes"),
        ("pyclesperanto", {"shape": (1, 2, 3, 4)}, ValueError, "axes"),
        ("pyclesperanto", {"shape": (0, 4)}, ValueError, "empty"),
        ("arrayloom", {"dtype": "bfloat16", "itemsize": 2}, TypeError, "cast it first"),
    ],
)
def test_refusals(to, change, error, text):
    with pytest.raises(error, match=text):
        b.plan(described(**change), to)


def test_unknown_kinds_are_named():
    with pytest.raises(TypeError, match="known are numpy, cupy"):
        b.convert(np.zeros(2), "mathematica")
    with pytest.raises(TypeError, match="no array"):
        b.convert(object(), "numpy")
    with pytest.raises(TypeError, match="no keyword blue"):
        b.convert(np.zeros(2), "numpy", blue=1)
    with pytest.raises(ValueError, match="lossy must be one of"):
        b.convert(np.zeros(2), "numpy", lossy="perhaps")


class Tensor:
    """An array of a seventh framework."""

    def __init__(self, data):
        self.data = data


class Child(Tensor):
    pass


@pytest.fixture
def seventh():
    spec = b.FrameworkSpec(
        name="seventh",
        modules=(__name__,),
        array_types=(f"{__name__}:Tensor",),
        layouts=b.Layouts.COMPACT_C,
        align=32,
        mutable=b.Mutability.NEVER,
        hooks=b.Hooks(
            to_host=lambda x, _: x.data,
            from_host=lambda a, _: Tensor(a),
            dtype=lambda x: x.data.dtype.name,
        ),
    )
    sys.modules[__name__] = sys.modules.get(__name__, sys.modules["arrayloom"])
    b.register(spec)
    yield spec
    del registry._specs["seventh"]
    registry._started.discard("seventh")
    b.register(registry.get("numpy"))


def test_a_seventh_framework_is_one_specification(seventh):
    data = np.arange(6.0).reshape(2, 3)
    made = b.convert(data, "seventh")
    assert b.kind(made) == "seventh"
    assert b.kind(Child(data)) == "seventh"
    assert made.data.ctypes.data % 32 == 0
    assert not np.shares_memory(made.data, data)
    seen = b.convert(made, "numpy")
    assert np.shares_memory(seen, made.data)
    assert not seen.flags.writeable
    assert b.to_arrayloom(made).tolist() == data.tolist()
    with pytest.raises(BufferError, match="copy=False is impossible"):
        b.convert(data[:, ::2], "seventh", copy=False)

    @b.uses("seventh", output="numpy")
    def double(x):
        return Tensor(x.data * 2)

    assert double(data).tolist() == (data * 2).tolist()


def test_types_of_a_framework_that_goes_are_forgotten():
    assert b.kind(Tensor(None)) is None


def test_an_entry_point_brings_a_framework(tmp_path):
    (tmp_path / "third.py").write_text(
        "from arrayloom.bridge import FrameworkSpec, Hooks\n"
        "class Grid:\n    def __init__(self, a):\n        self.a = a\n"
        "SPEC = FrameworkSpec(name='third', modules=('third',), array_types=('third:Grid',),\n"
        "    hooks=Hooks(to_host=lambda x, _: x.a, from_host=lambda a, _: Grid(a)))\n"
    )
    info = tmp_path / "third-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: third\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[arrayloom.frameworks]\nthird = third:SPEC\n")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import numpy as np, arrayloom.bridge as b, third\n"
        "x = b.convert(np.arange(3), 'third')\n"
        "print(type(x).__name__, b.kind(x), b.to_numpy(x).tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "Grid third [0, 1, 2]"


@pytest.mark.parametrize(
    ("change", "to", "words"),
    [
        ({}, "numpy", "share, 0 bytes copied: "),
        ({"kind": "jax", "readonly": True}, "torch", "\n  hazard: "),
    ],
)
def test_plans_are_text_and_json(change, to, words):
    plan = b.plan(described(**change), to)
    assert words in str(plan)
    assert plan.reason in str(plan)
    facts = json.loads(plan.to_json())
    assert facts == {
        "route": plan.route,
        "nbytes": plan.nbytes,
        "reason": plan.reason,
        "hazards": list(plan.hazards),
    }
    assert b.Plan.from_json(plan.to_json()) == plan


def test_observations_are_json_row_by_row():
    with b.observe() as record:
        b.convert(np.zeros((2, 2)), "arrayloom", copy=True)
    (row,) = json.loads(record.to_json())
    assert set(row) == {
        "event",
        "source",
        "target",
        "route",
        "nbytes",
        "nanoseconds",
        "reason",
        "hazards",
    }
    assert (row["source"], row["target"], row["route"]) == ("numpy", "arrayloom", "copy")
    assert row["nanoseconds"] > 0
    assert b.Record.from_json(record.to_json()).rows() == record.rows()


def test_observations_add_up():
    with b.observe() as record:
        b.to_numpy(np.zeros(3))
        b.convert([1.0], "numpy")
        b.convert(np.zeros((2, 2)), "arrayloom", copy=True)
    rows = record.rows()
    assert [(r.source, r.target, r.route) for r in rows] == [
        ("numpy", "numpy", "same"),
        ("list", "numpy", "copy"),
        ("numpy", "arrayloom", "copy"),
    ]
    assert rows[2].nbytes == 32
    assert rows[2].reason == "copy=True asked for"
    assert len(json.loads(record.to_json())) == 3
    assert len(record.merge(b.Record.from_json(record.to_json())).rows()) == 6
    assert "copy=True asked for" in record.table()
    with b.observe() as later:
        pass
    b.to_numpy(np.zeros(3))
    assert later.rows() == ()


def told(record):
    return [(r.source, r.target, r.route, r.nbytes) for r in record.rows() if r.event == "convert"]


@pytest.mark.frameworks("torch", "jax")
def test_observations_have_arguments_and_results_of_decorated_functions():
    x = np.ones((10, 100), np.float32)
    with b.observe() as record:
        b.jax(lambda x, _more: x)(x, [x])
        b.torch(output="numpy")(lambda x: x)(x)
    with b.observe() as nothing:
        b.numpy(lambda x: x)(x)
    assert told(nothing) == []
    rows = told(record)
    assert rows[:2] == [("numpy", "jax", "copy", 4000)] * 2
    assert rows[2:] == [("numpy", "torch", "share", 0), ("torch", "numpy", "share", 0)]
    assert all(row.nanoseconds > 0 for row in record.rows())


def test_observations_have_imports_and_exports_by_dlpack():
    x = np.ones(3)
    with b.observe() as record:
        b.to_dlpack(x)
        b.to_dlpack(x, copy=True)
        b.from_dlpack(b.to_dlpack([1, 2]), "numpy")
        b.from_dlpack(x, "arrayloom", copy=True)
        with pytest.raises(BufferError):
            b.to_dlpack(x, stream=5)
    assert told(record) == [
        ("numpy", "dlpack", "share", 0),
        ("numpy", "dlpack", "copy", 24),
        ("list", "dlpack", "copy", 16),
        ("numpy", "numpy", "same", 0),
        ("numpy", "arrayloom", "copy", 24),
    ]
    reasons = [row.reason for row in record.rows()]
    assert reasons[:2] == ["DLPack lends this memory as it is", "copy=True asked for"]


def test_facts_of_a_view():
    facts = facts_of(np.zeros((4, 6), np.int16)[::2, ::-1], "numpy")
    assert (facts.shape, facts.strides, facts.nbytes) == ((2, 6), (24, -2), 24)
    assert b.child_environment()["XLA_PYTHON_CLIENT_PREALLOCATE"]
