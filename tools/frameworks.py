"""Tests of ``arrayloom.bridge`` with the real frameworks, in an environment of their own.

The environment ``.venv-frameworks`` is made once and kept as long as the list below stays the same. It
looks into the environment that runs this program for arrayloom, pytest and their like. ``--only torch``
installs less. A framework that cannot be installed in time is named, and its tests are left out.
pyclesperanto wants an OpenCL device: Debian's package pocl-opencl-icd makes one of the processor.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".venv-frameworks"

# One step of pip each. torch comes without its compiler and with the CUDA libraries that it loads.
PACKAGES: dict[str, tuple[tuple[str, ...], ...]] = {
    "jax": (("jax", "ml_dtypes"),),
    "tensorflow": (("tensorflow-cpu",),),
    "pyclesperanto": (("pyclesperanto",),),
    "cupy": (("--no-deps", "cupy-cuda12x", "cuda-pathfinder", "fastrlock"),),
    "torch": (
        ("--no-deps", "torch==2.15.0"),
        ("typing_extensions", "sympy", "networkx", "jinja2", "fsspec", "filelock", "setuptools"),
        (
            "cuda-toolkit[cublas,cudart,cufft,cufile,cupti,cusolver,cusparse,nvjitlink,nvrtc,nvtx]==13.2.2",
            "nvidia-cudnn-cu13==9.26.0.51",
            "nvidia-cusparselt-cu13==0.8.1",
            "nvidia-nccl-cu13==2.30.7",
            "nvidia-nvshmem-cu13==3.7.2",
        ),
    ),
}


def python() -> Path:
    """Return the interpreter of the environment."""
    return HOME / "bin" / "python"


def wanted(names: list[str]) -> str:
    """Return what tells one state of the environment from another."""
    text = repr([(name, PACKAGES[name]) for name in names]) + sys.version + sys.prefix
    return hashlib.sha256(text.encode()).hexdigest()


def make(names: list[str], seconds: float) -> list[str]:
    """Make the environment unless it is there; return the frameworks that could not be installed."""
    stamp = HOME / "stamp"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted(names):
        return []
    shutil.rmtree(HOME, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", HOME], check=True)
    where = Path(sysconfig.get_path("purelib", vars={"base": str(HOME)}))
    (where / "main.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    missing: list[str] = []
    end = time.monotonic() + seconds
    for name in names:
        print(f"installing {name}", flush=True)
        for packages in PACKAGES[name]:
            if not pip(packages, end - time.monotonic()):
                missing.append(name)
                break
    if not missing:
        stamp.write_text(wanted(names), encoding="utf-8")
    return missing


def pip(packages: tuple[str, ...], seconds: float) -> bool:
    """Install packages; False if that fails or takes too long."""
    command = [python(), "-m", "pip", "install", "-q", *packages]
    try:
        return subprocess.run(command, timeout=max(seconds, 1), check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def main() -> int:
    """Make the environment, then run the tests that need frameworks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=list(PACKAGES))
    parser.add_argument("--seconds", type=float, default=600, help="for the installation")
    parser.add_argument("arguments", nargs="*", help="for pytest")
    options = parser.parse_args()
    missing = make(options.only or list(PACKAGES), options.seconds)
    if missing:
        print(f"not installed, so not tested: {', '.join(missing)}", flush=True)
    if len(missing) == len(options.only or PACKAGES):
        return 1
    tests = options.arguments or ["python/tests/bridge"]
    environ = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [python(), "-m", "pytest", "-q", "-m", "not slow", *tests]
    return subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
