"""``ARRAYLOOM_ENABLE=1``: plain interpreters and spawned workers get the import layer, others pay nothing."""

import importlib.metadata
import os
import subprocess
import sys
import textwrap

import pytest


@pytest.fixture
def run(tmp_path):
    """Run a script under ``python`` itself, in an empty folder."""

    def call(source, *front, **variables):
        path = tmp_path / "app.py"
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        env = {name: value for name, value in os.environ.items() if name != "ARRAYLOOM_ENABLE"}
        done = subprocess.run(
            [sys.executable, *front, str(path)],
            cwd=tmp_path,
            env={**env, **variables},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout.splitlines()

    return call


WHO = """
import numpy as np
import sys
print(np.__name__, sys.modules["numpy"].__name__)
"""
LOADED = """
import builtins, sys
print([name for name in sys.modules if name.partition(".")[0] in ("arrayloom", "arrayloom_enable", "numpy")])
print(type(builtins.__import__).__name__)
"""


def test_it_is_part_of_the_distribution():
    files = importlib.metadata.files("arrayloom")
    assert files is not None
    assert "arrayloom-enable.pth" in {file.name for file in files if len(file.parts) == 1}


@pytest.mark.parametrize("variables", [{}, {"ARRAYLOOM_ENABLE": "0"}, {"ARRAYLOOM_ENABLE": ""}])
def test_it_costs_nothing_without_the_variable(run, variables):
    assert run(LOADED, **variables) == ["[]", "builtin_function_or_method"]
    assert run(WHO, **variables) == ["numpy numpy"]


def test_user_code_gets_the_namespace(run):
    assert run(WHO, ARRAYLOOM_ENABLE="1") == ["arrayloom numpy"]


@pytest.mark.parametrize(
    "line",
    [
        "from numpy import zeros; import numpy as np",
        "import numpy.linalg; np = numpy",
        "import pandas; import numpy as np",
        "import arrayloom; import numpy as np",
        "import importlib; importlib.import_module('numpy'); import numpy as np",
        "from numpy.random import default_rng; import numpy as np",
    ],
)
def test_whatever_is_imported_first(run, line):
    source = f"{line}\nprint(np.__name__)\nprint(type(np.zeros(100_000) + 1) is type(np.zeros(3)))"
    assert run(source, ARRAYLOOM_ENABLE="1") == ["arrayloom", "False"]


def test_nothing_is_loaded_before_numpy(run):
    assert run(LOADED, ARRAYLOOM_ENABLE="1") == ["['arrayloom_enable']", "function"]


def test_spawned_workers(run):
    source = """
    import multiprocessing as mp
    import numpy as np

    def who(x):
        return np.__name__, x

    if __name__ == "__main__":
        with mp.get_context("spawn").Pool(1) as pool:
            print(pool.map(who, [1, 2]))
    """
    assert run(source, ARRAYLOOM_ENABLE="1") == ["[('arrayloom', 1), ('arrayloom', 2)]"]
    assert run(source) == ["[('numpy', 1), ('numpy', 2)]"]


def test_other_variables_hold(run):
    assert run(WHO, ARRAYLOOM_ENABLE="1", ARRAYLOOM_LAZY="0") == ["numpy numpy"]
    source = "import pandas\nprint(pandas.core.frame.np.__name__)"
    assert run(source, ARRAYLOOM_ENABLE="1") == ["numpy"]
    assert run(source, ARRAYLOOM_ENABLE="1", ARRAYLOOM_SCOPE="pandas") == ["arrayloom"]


def test_the_runner_decides_for_itself(run):
    runner = ("-m", "arrayloom")
    assert run(WHO, *runner, ARRAYLOOM_ENABLE="1") == ["arrayloom numpy"]
    assert run(WHO, *runner, "--no-lazy", ARRAYLOOM_ENABLE="1") == ["numpy numpy"]


def test_others_may_wrap_imports_too(run):
    source = """
    import builtins
    theirs = builtins.__import__
    def wrapped(name, *args, **words):
        if name == "numpy":
            print("seen")
        return theirs(name, *args, **words)
    builtins.__import__ = wrapped
    import numpy as np
    print(np.__name__)
    """
    found = run(source, ARRAYLOOM_ENABLE="1")
    assert found[0] == "seen"
    assert found[-1] == "arrayloom"
