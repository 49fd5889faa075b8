"""Tests of ``arrayloom.bridge`` with the real frameworks, in an environment of their own.

The environment ``.venv-frameworks`` takes 3 GB. It is made once, by uv, which downloads all wheels at a
time, and kept as long as the list below stays the same. It looks into the environment that runs this
program for arrayloom, pytest and their like. ``--only torch`` installs and tests less.

Nothing is left out in silence: a framework that cannot be installed in time is an error, and so is a
missing OpenCL device, which Debian's package pocl-opencl-icd makes of the processor. A machine that
cannot download sets ``ARRAYLOOM_FRAMEWORKS=none``, or names those that it shall have: ``torch,jax``.
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

from stand_ins import stand_in

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".venv-frameworks"
CACHE = HOME / "cache"
UV = (
    *("-m", "uv", "pip", "install", "-q", "--system-certs"),
    *("--python", str(HOME), "--cache-dir", str(CACHE)),
)

# Packages that bring what they need.
PACKAGES: dict[str, tuple[str, ...]] = {
    "jax": ("jax==0.10.2", "ml_dtypes"),
    "tensorflow": ("tensorflow-cpu==2.21.0",),
    "pyclesperanto": ("pyclesperanto==0.25.1",),
    "torch": (
        "typing_extensions",
        "sympy",
        "networkx",
        "jinja2",
        "fsspec",
        "filelock",
        "setuptools",
    ),
    "cupy": ("fastrlock",),
}
# Packages alone. torch's wheel is made for CUDA. It needs CUDA's runtime; stand_ins.py makes the others.
ALONE: dict[str, tuple[str, ...]] = {
    "cupy": ("cupy-cuda12x==14.2.0", "cuda-pathfinder"),
    "torch": (
        "torch==2.15.0",
        "nvidia-cuda-runtime==13.2.86",
    ),
}
# The others themselves, for machines with a driver: torch does without its compiler and cuSOLVER.
CUDA = (
    "nvidia-cublas==13.4.1.3",
    "nvidia-cuda-cupti==13.2.86",
    "nvidia-cuda-nvrtc==13.2.86",
    "nvidia-cufft==12.2.0.57",
    "nvidia-cufile==1.17.1.22",
    "nvidia-cusparse==12.7.10.12",
    "nvidia-nvjitlink==13.5.37",
    "nvidia-cudnn-cu13==9.26.0.51",
    "nvidia-cusparselt-cu13==0.8.1",
    "nvidia-nccl-cu13==2.30.7",
    "nvidia-nvshmem-cu13==3.7.2",
)
# What a driver of CUDA brings.
DRIVER = Path("/dev/nvidiactl")
SETTING = "ARRAYLOOM_FRAMEWORKS"


def alone(name: str) -> tuple[str, ...]:
    """Return the packages that are installed without what they ask for."""
    more = CUDA if name == "torch" and DRIVER.exists() else ()
    return (*ALONE.get(name, ()), *more)


def python() -> Path:
    """Return the interpreter of the environment."""
    return HOME / "bin" / "python"


def wanted(names: list[str]) -> str:
    """Return what tells one state of the environment from another."""
    text = repr([(name, PACKAGES[name], alone(name)) for name in names])
    return hashlib.sha256((text + sys.version + sys.prefix).encode()).hexdigest()


def make(names: list[str], seconds: float) -> bool:
    """Make the environment unless it is there; False if that fails or takes too long."""
    stamp = HOME / "stamp"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted(names):
        return True
    shutil.rmtree(HOME, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", HOME], check=True)
    where = Path(sysconfig.get_path("purelib", vars={"base": str(HOME)}))
    (where / "main.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    end = time.monotonic() + seconds
    print(f"installing {', '.join(names)}: up to 3 GB", flush=True)
    steps = (
        ("-m", "pip", "install", "-q", "uv"),
        (*UV, *(package for name in names for package in PACKAGES[name])),
        (*UV, "--no-deps", *(package for name in names for package in alone(name))),
    )
    for step in steps:
        if step[-1] != "--no-deps" and not run(step, end - time.monotonic()):
            return False
    if "torch" in names and not DRIVER.exists():
        stand_in(where / "torch" / "lib", where / "nvidia" / "cu13" / "lib")
    # Wheels are unpacked there, and linked into the environment.
    shutil.rmtree(CACHE, ignore_errors=True)
    stamp.write_text(wanted(names), encoding="utf-8")
    return True


def run(arguments: tuple[str, ...], seconds: float) -> bool:
    """Run the environment's interpreter; False if that fails or takes too long."""
    try:
        command = [python(), *arguments]
        return subprocess.run(command, timeout=max(seconds, 1), check=False).returncode == 0
    except subprocess.TimeoutExpired:
        print(f"not done in time: {' '.join(arguments[:4])}", flush=True)
        return False


def chosen(parser: argparse.ArgumentParser, only: list[str] | None) -> list[str]:
    """Return the frameworks to test with: those of the command line, of the setting, or all."""
    setting = os.environ.get(SETTING, "")
    if only or not setting:
        return only or list(PACKAGES)
    names = [] if setting == "none" else setting.split(",")
    unknown = [name for name in names if name not in PACKAGES]
    if unknown:
        parser.error(f"{SETTING} names {', '.join(unknown)}; known are {', '.join(PACKAGES)}, none")
    return names


def main() -> int:
    """Make the environment, then run the tests that need frameworks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=list(PACKAGES))
    parser.add_argument("--seconds", type=float, default=900, help="for the installation")
    parser.add_argument("arguments", nargs="*", help="for pytest")
    options = parser.parse_args()
    names = chosen(parser, options.only)
    if not names:
        print(f"NOT TESTED with other frameworks, because {SETTING}=none says so")
        return 0
    if "pyclesperanto" in names and not any(Path("/etc/OpenCL/vendors").glob("*.icd")):
        print("no OpenCL device for pyclesperanto: apt-get install pocl-opencl-icd")
        return 1
    start = time.monotonic()
    if not make(names, options.seconds):
        print(
            f"{', '.join(names)} could not be installed within {options.seconds:.0f} s, so nothing was "
            f"tested with them; {SETTING}=none leaves them out"
        )
        return 1
    print(f"frameworks are here after {time.monotonic() - start:.0f} s", flush=True)
    environ = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [python(), "-m", "pytest", "-q", "--durations=5", "-m", "not slow"]
    tests = options.arguments or ["python/tests/bridge"]
    return subprocess.run([*command, *tests], cwd=ROOT, env=environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
