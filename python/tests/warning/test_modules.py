"""Warnings about computed values have the module and the registry of their line, as NumPy's have."""

import subprocess
import sys
import textwrap

import pytest

PROGRAMS = {
    "ignored by module": """
        import warnings
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="__main__")
        float((1 / np.zeros(100000))[0])
        """,
    "ignored in another": """
        import warnings
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="elsewhere")
        float((1 / np.zeros(100000))[0])
        """,
    "small and large": """
        def f(x): return 1 / x
        f(np.zeros(3))
        float(f(np.zeros(100000))[0])
        """,
    "again with another registry": """
        def f(x): return float((1 / x)[0])
        f(np.zeros(100000))
        f(np.zeros(100000))
        __warningregistry__.clear()
        f(np.zeros(100000))
        """,
    "code of no module": """
        space = {"np": np}
        exec(compile("a = 1 / np.zeros(100000)\\nfloat(a[0])", "m.py", "exec"), space)
        exec(compile("a = 1 / np.zeros(100000)\\nfloat(a[0])", "m.py", "exec"), {"np": np, "__name__": "m"})
        """,
}


# A function of NumPy's that stands in other words here warns at the line that calls it.
OURS = """
def crossed():
    a = np.full((40000, 3), 1e200)
    return np.cross(a, a[::-1] * -1)
for _ in range(9):
    float(crossed()[0, 0])
b = np.full((400, 3), 1e200)
np.cross(b, -b)
c = np.full((9000, 3), 1e200)
np.cross(c, c + c)
np.cross(np.full(3, 1e200), c + c)
"""


def errors_of(tmp_path, program, *runner):
    path = tmp_path / "program.py"
    path.write_text("import numpy as np\n" + textwrap.dedent(program))
    done = subprocess.run(
        [sys.executable, *runner, str(path)], capture_output=True, text=True, check=True
    )
    return done.stderr


@pytest.mark.parametrize("name", PROGRAMS)
def test_warnings_are_told_as_often_as_numpys(tmp_path, name):
    expected = errors_of(tmp_path, PROGRAMS[name])
    assert errors_of(tmp_path, PROGRAMS[name], "-m", "arrayloom") == expected
    assert ("RuntimeWarning" in expected) == (name != "ignored by module")


@pytest.mark.parametrize("runner", [True, False])
def test_no_warning_names_a_file_of_ours(tmp_path, runner):
    program = OURS if runner else "import arrayloom as np\n" + OURS
    told = errors_of(tmp_path, program, *(["-m", "arrayloom"] if runner else []))
    warned = [line for line in told.splitlines() if "RuntimeWarning" in line]
    assert any("program.py" in line and "multiply" in line for line in warned)
    assert any("program.py" in line and "subtract" in line for line in warned)
    assert not [line for line in warned if "arrayloom" in line], told
