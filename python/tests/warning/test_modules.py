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
