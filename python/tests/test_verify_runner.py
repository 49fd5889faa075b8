"""``--verify`` and ``ARRAYLOOM_VERIFY``: what the runner reports, how it ends, and what its options do."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("real_laziness")

PROGRAM = """
import numpy as np
a = np.arange(100_000.0)
b = np.sqrt(a + 1)
c = np.frombuffer(bytes(800_000)) * 2.0
print(float(b.sum() + c.sum()))
"""
SPOILED = """
import os, sys
import arrayloom
from arrayloom import _cli
original = vars(arrayloom.LazyArray)["__add__"]
arrayloom.LazyArray.__add__ = lambda a, b: original(original(a, b), 1)
sys.argv[0] = ""
sys.exit(_cli.main(sys.argv[1:]))
"""


@pytest.fixture
def run(tmp_path):
    """Run a program under the runner; with `spoiled` additions give too much."""

    def call(*options, text=PROGRAM, env=None, spoiled=False):
        path = tmp_path / "app.py"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        front = ["-c", SPOILED, "--no-shim"] if spoiled else ["-m", "arrayloom"]
        learnt = {"ARRAYLOOM_LEARN": "0"} if spoiled else {}
        return subprocess.run(
            [sys.executable, *front, *options, str(path)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, **learnt, **(env or {})},
            check=False,
        )

    return call


def test_the_runner_reports(run):
    plain, done = run(), run("--verify")
    assert (done.returncode, done.stdout) == (0, plain.stdout)
    first, title, unseen = done.stderr.splitlines()
    assert first == "arrayloom verify: verified 5 operations (4 functions), all equal"
    assert title == "1 not seen, since operands are plain arrays or a library made the call:"
    assert unseen == "  1 multiply at app.py:5"


def test_the_runner_stops_at_a_difference(run):
    done = run("--verify", spoiled=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert 'app.py", line 4, in <module>\n    b = np.sqrt(a + 1)' in done.stderr
    assert "VerifyError: add of float64 (100000,), int at" in done.stderr
    assert "the first at [0]: 2.0 here, 1.0 in NumPy" in done.stderr
    assert "but add at app.py:4 is not what NumPy does" in done.stderr
    assert "_verify" not in done.stderr


def test_a_difference_that_the_program_catches_is_told_in_the_end(run):
    text = (
        "import numpy as np\ntry:\n    np.ones(100_000) + 1\nexcept Exception:\n    print('on')\n"
    )
    done = run("--verify", text=text, spoiled=True)
    assert (done.returncode, done.stdout) == (1, "on\n")
    assert "but add at app.py:3 is not what NumPy does" in done.stderr
    done = run("--verify", text=f"{text}import sys\nsys.exit(7)\n", spoiled=True)
    assert done.returncode == 7


@pytest.mark.parametrize(
    ("options", "variable", "is_verified"),
    [
        ((), None, False),
        (("--verify",), None, True),
        (("--verify=1e-6",), None, True),
        (("--verify=bitwise",), "0", True),
        (("--verify=0",), "1", False),
        ((), "1", True),
        ((), "bitwise", True),
        ((), "0", False),
        ((), "", False),
        (("--verify", "--strict=keyword"), None, True),
    ],
)
def test_the_option_and_its_variable(run, options, variable, is_verified):
    env = {} if variable is None else {"ARRAYLOOM_VERIFY": variable}
    done = run(*options, env=env)
    assert done.returncode == 0
    assert ("arrayloom verify: " in done.stderr) == is_verified


WRONG_DEVICE = """
from examples.backends import numpy_backend
from examples.backends.numpy_backend import *

def ufunc(op, *args):
    numpy_backend.ufunc(op, *args)
    if op.info["name"] == "sqrt":
        args[0].ndarray.flat[-3:] += 1e-9
"""


def test_wrong_devices_are_found(run, tmp_path):
    (tmp_path / "wrong_device.py").write_text(WRONG_DEVICE, encoding="utf-8")
    root = Path(__file__).resolve().parents[2]
    env = {"PYTHONPATH": os.pathsep.join([str(root), str(tmp_path), *sys.path])}
    done = run("--backend", "wrong_device", "--verify", env=env)
    assert done.returncode == 1
    assert "VerifyError: sqrt of float64 (100000,)" in done.stderr
    assert "3 of 100,000 elements differ, the first at [99997]" in done.stderr
    assert run("--backend", "wrong_device", "--verify=1e-6", env=env).returncode == 0
    # It computes nothing.
    assert "VerifyError" in run("--backend", "null", "--verify").stderr
    done = run("--backend", "reference", "--verify")
    assert "verified 5 operations (4 functions), all equal" in done.stderr


def test_wrong_options_end_the_runner(run):
    for options, text in (
        (("--verify=speed",), "argument --verify: 'speed' is no tolerance; give a number"),
        (("--verify", "--profile"), "--verify writes a report of its own; leave --profile out"),
        (("--verify", "--no-lazy"), "--verify compares what is accelerated; leave --no-lazy out"),
        (("--verify", "--compare"), "--compare writes a report of its own; leave --verify out"),
        (("--line-profile", "--verify"), "leave --verify out"),
    ):
        done = run(*options)
        assert (done.returncode, done.stdout) == (2, "")
        assert text in done.stderr
    done = run(env={"ARRAYLOOM_VERIFY": "speed"})
    assert (done.returncode, done.stdout) == (2, "")
    assert "'speed' is no tolerance" in done.stderr


def test_operations_that_come_last_are_told_of_too(run):
    text = "import numpy as np\nc = np.frombuffer(bytes(800_000)) * 2.0\n"
    assert "  1 multiply at app.py:2" in run("--verify", text=text).stderr


def test_options_go_before_variables(run):
    text = "import os\nprint('ARRAYLOOM_VERIFY' in os.environ)\n"
    done = run("--compare=1", env={"ARRAYLOOM_VERIFY": "1"}, text=text)
    assert "arrayloom compare: " in done.stderr
    assert done.stdout == "False\n"
    assert "arrayloom verify: " in run("--verify", env={"ARRAYLOOM_COMPARE": "1"}).stderr


def test_a_report_as_json_in_a_file(run, tmp_path):
    done = run("--verify", "--json", "--output", "out.json")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["verify"]
    assert report["verified"] == {"arange": 1, "add": 1, "sqrt": 1, "sum": 2}
    assert report["unseen"] == [["multiply", str(tmp_path / "app.py"), 5, 1]]
    assert (report["skipped"], report["difference"]) == ([], None)


def test_methods_of_numpys_type_are_seen_under_the_runner(run):
    text = """
        import numpy as np
        z = np.exp(1j * np.arange(100_000))
        z.conj(), z.conjugate(), z.real.copy().clip(0, 1), z.cumsum(), abs(z), -z, z.imag.std()
    """
    done = run("--verify", text=text)
    assert (done.returncode, len(done.stderr.splitlines())) == (0, 1)
    assert "all equal" in done.stderr


def test_lines_are_not_left_to_numpy(run):
    """Results are wanted at once here, which otherwise teaches a line to leave small operations to NumPy."""
    text = """
        import numpy as np, arrayloom
        a = np.ones(40_000)
        for _ in range(40):
            b = a * 2
        print(arrayloom._ext.stats()["recorded"] >= 40)
    """
    done = run("--verify", text=text)
    assert done.stdout == "True\n", done.stderr
