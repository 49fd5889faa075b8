"""Arrays of every element type and layout, for tests of the bridge."""

import os
import subprocess
import sys
import textwrap

from arrayloom.bridge import registry
from arrayloom.bridge.conformance import DTYPES, LAYOUTS, base, readonly

__all__ = [
    "CLE",
    "DTYPES",
    "KINDS",
    "LAYOUTS",
    "SMALL",
    "WIDE",
    "base",
    "pyclesperanto",
    "readonly",
    "survives",
]

KINDS = ("numpy", "torch", "jax", "tensorflow", "arrayloom", "pyclesperanto")
# What pyclesperanto has; what JAX has with 64-bit types only; what NumPy has by ml_dtypes only.
CLE = {"uint8", "int8", "uint16", "int16", "uint32", "int32", "float32"}
WIDE = {"int64", "uint64", "float64", "complex128"}
SMALL = {"bfloat16", "float8_e4m3fn"}


def survives(code, *args):
    """Run a program that a framework could end; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(code), *map(str, args)],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


def pyclesperanto():
    """The module, imported as the bridge does it, which TensorFlow in the same process survives."""
    return registry.require(registry.get("pyclesperanto"))
