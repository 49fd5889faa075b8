"""Random programs with views, aliasing and in-place work: NumPy and arrayloom agree to the bit.

A failure prints the shortest program found that still differs; seeds are fixed.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.fuzz import first_difference

_FUZZ = Path(__file__).parent.parent / "support" / "fuzz.py"
_UNDER_TEST = os.environ.get("ARRAYLOOM_TEST_MODULE", "arrayloom")


@pytest.mark.parametrize("block", range(10))
def test_all_results_lazy(xp, block):
    found = first_difference(range(block * 100, block * 100 + 100), xp)
    assert found is None, found


@pytest.mark.parametrize("block", range(4))
def test_large_results_lazy(xp_default, block):
    found = first_difference(range(block * 25, block * 25 + 25), xp_default, large=True)
    assert found is None, found


# Settings that the engine reads when it starts, each in a process of its own.
ENGINES = {
    # Its functions are not NumPy's, so only operations that IEEE 754 defines agree to the bit.
    "reference": {"ARRAYLOOM_BACKEND": "reference"},
    "unfused": {"ARRAYLOOM_FUSE": "0"},
    "tile 3": {"ARRAYLOOM_TILE": "3", "ARRAYLOOM_THREADS": "3"},
    "tile 3 unfused": {"ARRAYLOOM_TILE": "3", "ARRAYLOOM_FUSE": "0", "ARRAYLOOM_THREADS": "2"},
    "sweeps": {
        "ARRAYLOOM_SWEEP_POINTS": "1",
        "ARRAYLOOM_SWEEP_COLUMNS": "1",
        "ARRAYLOOM_SWEEP_BYTES": "0",
        "ARRAYLOOM_SWEEP_ROWS": "2",
    },
    "flush often": {"ARRAYLOOM_MAX_PENDING_NODES": "2"},
    "one thread": {"ARRAYLOOM_THREADS": "1"},
    "interpreted": {"ARRAYLOOM_JIT": "0"},
    "avx2": {"ARRAYLOOM_ISA": "avx2"},
}


def _in_process(engine, *words, **environment):
    words += ("exact",) if engine == "reference" else ()
    done = subprocess.run(
        [sys.executable, str(_FUZZ), *map(str, words), f"module={_UNDER_TEST}"],
        env={**os.environ, **ENGINES.get(engine, {}), **environment},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_agree(engine):
    _in_process(engine, 5000, 200, "min_bytes=0")


@pytest.mark.parametrize("engine", ["unfused", "tile 3", "interpreted", "avx2"])
def test_own_functions_agree_between_engines(engine):
    """Elementary functions within an ulp of NumPy's, but the same bits however they are computed."""
    words = (7000, 80, "digest", "min_bytes=0")
    plain = _in_process("default", *words, ARRAYLOOM_MATH="own")
    assert plain.count("\n") == 80
    assert _in_process(engine, *words, ARRAYLOOM_MATH="own") == plain


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_engines_agree_on_many(engine):
    _in_process(engine, 20000, 4000, "min_bytes=0")
    _in_process(engine, 40000, 400, "large")


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_many_programs(xp, block):
    found = first_difference(range(10**6 + block * 1000, 10**6 + block * 1000 + 1000), xp)
    assert found is None, found
