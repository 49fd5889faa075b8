"""Build backend: maturin, after the shim of system calls was built into the package.

maturin packs one native module, `arrayloom._ext`. The shim is a second, tiny library that has to be
loaded before the interpreter starts (see `crates/shim`), so it is built here by cargo and put in
`python/arrayloom/_shim/`, from where maturin packs it like any other file of the package.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import maturin

ROOT = Path(__file__).resolve().parent.parent
CRATE = ROOT / "crates" / "shim"
TARGET = ROOT / "python" / "arrayloom" / "_shim"


def build_shim() -> Path | None:
    """Build the shim and return where it lies; None where there is no shim to build."""
    if not sys.platform.startswith("linux") or not (CRATE / "Cargo.toml").exists():
        return None
    command = ["cargo", "build", "--release", "-p", "arrayloom-shim", "--message-format=json"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") != "compiler-artifact":
            continue
        for name in message["filenames"]:
            if os.path.basename(name) == "libarrayloom_shim.so":
                TARGET.mkdir(exist_ok=True)
                return Path(shutil.copy2(name, TARGET))
    raise RuntimeError("cargo built arrayloom-shim but named no libarrayloom_shim.so")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517 hook."""
    build_shim()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 660 hook."""
    build_shim()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


build_sdist = maturin.build_sdist
get_requires_for_build_wheel = maturin.get_requires_for_build_wheel
get_requires_for_build_editable = maturin.get_requires_for_build_editable
get_requires_for_build_sdist = maturin.get_requires_for_build_sdist
prepare_metadata_for_build_wheel = maturin.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = maturin.prepare_metadata_for_build_editable

if __name__ == "__main__":
    print(build_shim())
