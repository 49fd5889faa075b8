"""Programs on an OpenCL device. The tests need a driver, such as Debian's ``pocl-opencl-icd``."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.conditions import CONDITIONS

ROOT = Path(__file__).resolve().parents[2]
HEAT = ("examples/heat_equation.py", "--size", "300", "--iterations", "12", "--plot", "")

ELEMENTARY = """
import numpy as np
x = np.linspace(-3.0, 900.0, 40_000)
for f in (np.exp, np.log, np.sin, np.cbrt, np.arctan, np.tanh):
    with np.errstate(all="ignore"):
        print(f.__name__, np.nansum(np.where(np.isfinite(y := f(x)), y, 0)).hex())
"""


def run(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(ROOT), *sys.path])
    return subprocess.run(
        [sys.executable, "-m", "arrayloom", *words],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths, **environ},
        cwd=ROOT,
        check=False,
    )


def results(*words: str, **environ: str) -> list[str]:
    done = run("--min-bytes", "0", *words, **environ)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if not line.startswith("heat")]


def test_heat_has_the_bits_of_the_cpu(tmp_path: Path):
    kept = {"ARRAYLOOM_CACHE_DIR": str(tmp_path)}
    expected = results(*HEAT)
    assert results("--backend", "opencl", *HEAT, **kept) == expected
    files = sorted(tmp_path.iterdir())
    assert files
    # From the disk, with one program broken, and with nothing kept.
    files[0].write_bytes(files[0].read_bytes()[:-100])
    assert results("--backend", "opencl:0", *HEAT, **kept) == expected
    assert sorted(tmp_path.iterdir()) == files
    assert results("--backend", "opencl", *HEAT, **kept, ARRAYLOOM_CACHE="0") == expected


def test_elementary_functions_have_the_bits_of_the_cpus_own():
    own = results("-c", ELEMENTARY, ARRAYLOOM_MATH="own")
    assert results("--backend", "opencl", "-c", ELEMENTARY) == own
    assert len(own) == 6


def test_conditions_are_told_as_by_the_cpu():
    expected = results("-c", CONDITIONS)
    assert results("--backend", "opencl", "-c", CONDITIONS) == expected
    assert len(expected) == 7
    assert "divide by zero" in expected[1]
    assert expected[6].startswith("raised")


@pytest.mark.parametrize(
    ("name", "cure"),
    [("opencl", "install an OpenCL driver"), ("opencl:99", "`arrayloom backends` lists them")],
)
def test_what_is_missing_is_named(name: str, cure: str):
    driver = {"OCL_ICD_VENDORS": "/nowhere"} if name == "opencl" else {}
    done = run("--backend", name, "-c", "print(1)", **driver)
    assert done.returncode != 0
    assert cure in done.stderr
    assert "print(1)" not in done.stdout


def test_a_missing_driver_is_listed_with_its_reason():
    lines = run("backends", OCL_ICD_VENDORS="/nowhere").stdout.splitlines()
    line = next(line for line in lines if line.startswith("opencl"))
    assert "unavailable" in line
    assert "no OpenCL driver is installed" in line
    assert any(line.startswith("cpu") and "PASS" in line for line in lines)
