"""The CUDA driver without a GPU that the Rust tests use, compiled for tests in Python. It needs ``g++``."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCE = ROOT / "crates" / "cuda" / "tests" / "device" / "driver.cpp"
SHIM = ROOT / "crates" / "codegen" / "src" / "c" / "shim.h"


def build(folder: Path) -> Path:
    """Put the driver into a folder, and the compiler where packages bring it."""
    compiler = folder / "nvidia" / "cuda_nvrtc" / "lib" / "libnvrtc.so.12"
    compiler.parent.mkdir(parents=True)
    library = folder / "libcuda.so.1"
    options = ("-std=c++17", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", f'-DSHIM="{SHIM}"')
    subprocess.run(["g++", *options, "-o", str(library), str(SOURCE)], check=True)
    os.link(library, compiler)
    return folder
