"""The plug-in for pytest, in a pytest of its own."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import arrayloom as np
from arrayloom import memory

kept = []

def test_limited():
    assert memory.report().limit == 64 << 20

def test_clean(no_leaks):
    assert float(np.ones((600, 600)).sum()) == 360000.0

def test_leaky(no_leaks):
    kept.append(np.ones((600, 600)))
"""


def test_leaks_are_failures_and_the_limit_holds(tmp_path: Path) -> None:
    program = tmp_path / "test_program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "arrayloom_pytest",
        "--mem-limit=64MiB",
        program,
    ]
    folder = str(Path(__file__).parents[2])
    paths = os.pathsep.join([*sys.path, folder])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert "3 passed, 1 error" in done.stdout, done.stdout
    assert "test_program.py:14" in done.stdout
    assert "600x600" in done.stdout


def test_warnings_may_be_errors_under_the_runner(tmp_path: Path) -> None:
    """pytest would like to rewrite the packages of a plug-in's distribution, and says so if one is imported."""
    program = tmp_path / "test_program.py"
    program.write_text("def test_nothing():\n    pass\n", encoding="utf-8")
    command = [sys.executable, "-m", "arrayloom", "-m", "pytest", "-W", "error", program]
    environment = {k: v for k, v in os.environ.items() if k != "PYTEST_DISABLE_PLUGIN_AUTOLOAD"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warnings summary" not in done.stdout
