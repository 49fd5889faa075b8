"""Whole programs give NumPy's bits, imported as ``arrayloom`` and under the runner."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.compare import differences, observe

sys.path.insert(0, str(Path(__file__).parent))
from science import PROGRAMS

_SCRIPT = Path(__file__).parent / "science.py"
_RUNNER = [] if os.environ.get("ARRAYLOOM_TEST_MODULE") == "numpy" else ["-m", "arrayloom"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(xp_both, name):
    found = differences(observe(PROGRAMS[name], np), observe(PROGRAMS[name], xp_both))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", PROGRAMS)
def test_threads(xp_default, configured, name, threads):
    configured(threads=threads)
    found = differences(observe(PROGRAMS[name], np), observe(PROGRAMS[name], xp_default))
    assert not found, "\n".join(found)


def _digests(front, names, env):
    found = {}
    for name in names:
        done = subprocess.run(
            [sys.executable, *front, str(_SCRIPT), name],
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found[name] = done.stdout
    return found


# Programs whose operations IEEE 754 defines to the bit: the reference device's functions and products are not NumPy's.
DEFINED = ("heat", "k_means", "monte_carlo_pi", "jacobi", "conjugate_gradient", "sieve")
SOME = ("heat", "shallow_water", "life", "n_body", "k_means", "lattice_boltzmann", "wave", "sieve")


def test_runner():
    assert _digests(_RUNNER, SOME, {}) == _digests([], SOME, {})


@pytest.mark.slow
@pytest.mark.parametrize(
    "env",
    [
        {"ARRAYLOOM_MIN_BYTES": "1"},
        {"ARRAYLOOM_BACKEND": "reference"},
        {"ARRAYLOOM_FUSE": "0"},
        {"ARRAYLOOM_JIT": "0"},
        {"ARRAYLOOM_TILE": "3", "ARRAYLOOM_THREADS": "3"},
        {"ARRAYLOOM_MAX_PENDING_NODES": "2"},
        {"ARRAYLOOM_LAZY": "0"},
    ],
    ids=lambda env: " ".join(f"{k.removeprefix('ARRAYLOOM_').lower()}={v}" for k, v in env.items()),
)
def test_runner_under_every_setting(env):
    names = DEFINED if env.get("ARRAYLOOM_BACKEND") == "reference" else PROGRAMS
    env = {"ARRAYLOOM_MIN_BYTES": "16384", **env}
    assert _digests(_RUNNER, names, env) == _digests([], names, {})
