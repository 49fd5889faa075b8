"""The CUDA driver without a GPU that the Rust tests use, compiled for tests in Python. It needs ``g++``."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCE = ROOT / "crates" / "cuda" / "tests" / "device" / "driver.cpp"
SHIM = ROOT / "crates" / "codegen" / "src" / "c" / "shim.h"
OTHERS = (
    "nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
    "nvidia/cublas/lib/libcublas.so.12",
    "nvidia/cufft/lib/libcufft.so.11",
)


def build(folder: Path) -> Path:
    """Put the driver into a folder, and the compiler and libraries where packages bring them."""
    library = folder / "libcuda.so.1"
    options = ("-std=c++17", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", f'-DSHIM="{SHIM}"')
    subprocess.run(["g++", *options, "-o", str(library), str(SOURCE)], check=True)
    for other in OTHERS:
        (folder / other).parent.mkdir(parents=True)
        os.link(library, folder / other)
    return folder
