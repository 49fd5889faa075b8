"""A sample of NumPy's and SciPy's own tests, with every array lazy, and SciPy's tests of filters with ours in their place.

``python python/tests/numpy_suite/run.py numpy scipy`` runs all of them.
"""

import collections
import importlib.util
import os
import subprocess
import sys

import pytest
from numpy_suite.expected import Expected, read
from numpy_suite.run import EXPECTED, MODES, located, run

if os.environ.get("ARRAYLOOM_TEST_MODULE") == "numpy":
    pytest.skip("NumPy itself is under test", allow_module_level=True)

SAMPLE = {
    "numpy/_core/tests/test_indexing.py": "not Fancy",
    "numpy/_core/tests/test_ufunc.py": "TestUfunc and (broadcast or where or out or priority)",
    "scipy/ndimage/tests/test_measurements.py": "",
    "scipy/signal/tests/test_savitzky_golay.py": "",
    "scipy/ndimage/tests/test_ni_support.py": "",
}


def outcomes_of(mode, name, *selection):
    """The outcomes of a file of tests; none is bad."""
    pytest.importorskip(name.partition("/")[0])
    rows = run(mode, located(name), selection)
    bad = [row for row in rows if row["outcome"] not in {"passed", "skipped", "xfailed"}]
    assert not bad, "\n".join(f"{row['outcome']} {row['test']}\n{row['text']}" for row in bad[:5])
    return collections.Counter(row["outcome"] for row in rows)


@pytest.mark.parametrize("name", SAMPLE)
def test_sample(name):
    assert outcomes_of("all", name, "-k", SAMPLE[name]).total() >= 10


@pytest.mark.parametrize("name", ["test_filters.py", "test_morphology.py"])
def test_filters_pass_scipys_tests_of_filters(name):
    # The list names tests of this version, and older ones have no table of what functions can.
    pytest.importorskip("scipy", "1.17")
    counts = outcomes_of("filters", f"scipy/ndimage/tests/{name}")
    assert counts["passed"] > 500
    assert counts["xfailed"] < counts["passed"] / 20


def test_an_unexpected_failure_is_told(tmp_path):
    test = tmp_path / "test_wrong.py"
    test.write_text(
        "import numpy as np\n"
        "def test_right():\n    assert np.arange(3).sum() == 3\n"
        "def test_wrong():\n    assert type(np.arange(3.0) + 1) is np.ndarray\n"
        "def test_array_is_lazy():\n    assert np.__name__ == 'arrayloom'\n"
    )
    outcomes = {row["test"].split("::")[-1]: row["outcome"] for row in run("all", test)}
    assert outcomes["test_right"] == "passed"
    assert outcomes["test_wrong"] == "failed"


def test_the_list_of_expected_failures():
    entries = read(EXPECTED)
    assert entries
    for entry in entries:
        assert entry.reason
        assert set(entry.modes) <= set(MODES)
        file = entry.pattern.split("::")[0]
        if importlib.util.find_spec(file.partition("/")[0]):
            assert located(file).is_file()
    one = Expected(("all",), True, "numpy/x.py::test[a-*]", "because")
    assert one.matches("numpy/x.py::test[a-b]")
    assert not one.matches("numpy/x.py::test[b]")


def test_the_command_line():
    script = EXPECTED.parent / "run.py"
    done = subprocess.run(
        [sys.executable, str(script), "--mode", "default", "numpy/_core/tests/test_api.py"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failed" in done.stdout
