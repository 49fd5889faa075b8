"""Compile the CUDA text of kernels for several GPUs, and count registers and spilled bytes.

No GPU is needed, only NVIDIA's run-time compiler: ``pip install nvidia-cuda-nvrtc`` (or
``nvidia-cuda-nvrtc-cu12``). The texts are those of ``crates/codegen/tests/golden``. ``--write`` records
the counts in ``nvrtc.json`` beside them; without it they are compared with what is recorded there for
this version of the compiler: a kernel that spills, or takes more registers, fails.
"""

import argparse
import ctypes
import json
import re
import site
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "crates" / "codegen" / "tests" / "golden"
RECORD = GOLDEN / "nvrtc.json"
ARCHITECTURES = ("sm_75", "sm_80", "sm_90")
OPTIONS = ("--fmad=false", "--std=c++17", "-default-device", "--ptxas-options=-v")

Counts = dict[str, dict[str, dict[str, list[int]]]]


def libraries(folders: list[Path]) -> Iterator[Path]:
    """Find the compilers that lie in wheels below these folders."""
    for folder in folders:
        yield from sorted(folder.glob("nvidia/*/lib/libnvrtc.so.*"))


class Nvrtc:
    """One version of the compiler.

    Raises
    ------
    OSError
        If the library cannot be loaded.
    """

    def __init__(self, path: Path) -> None:
        # The library opens this one by its bare name, which some wheels do not let it find.
        for builtins in sorted(path.parent.glob("libnvrtc-builtins.so.*")):
            ctypes.CDLL(str(builtins), ctypes.RTLD_GLOBAL)
        self._api = ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._api.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = f"{major.value}.{minor.value}"

    def compile(self, source: str, architecture: str) -> str:
        """Compile to machine code, and give what the assembler says of each kernel.

        Raises
        ------
        RuntimeError
            With the compiler's messages, if it refuses the text.
        """
        program = ctypes.c_void_p()
        self._api.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None
        )
        options = [f"--gpu-architecture={architecture}", *OPTIONS]
        array = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        status = self._api.nvrtcCompileProgram(program, len(options), array)
        size = ctypes.c_size_t()
        self._api.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        self._api.nvrtcGetProgramLog(program, log)
        code = ctypes.c_size_t()
        self._api.nvrtcGetCUBINSize(program, ctypes.byref(code))
        self._api.nvrtcDestroyProgram(ctypes.byref(program))
        text = log.value.decode(errors="replace")
        if status != 0 or code.value == 0:
            message = f"nvrtc {self.version} refuses the text for {architecture}:\n{text}"
            raise RuntimeError(message)
        return text


def counts(log: str) -> dict[str, list[int]]:
    """Read registers and spilled bytes (stores and loads) of each kernel from a report."""
    found: dict[str, list[int]] = {}
    name = ""
    for line in log.splitlines():
        if entry := re.search(r"(?:entry function|Function properties for) '?(\w+)'?", line):
            name = entry[1]
            found.setdefault(name, [0, 0])
        if spilled := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            found[name][1] = int(spilled[1]) + int(spilled[2])
        if used := re.search(r"Used (\d+) registers", line):
            found[name][0] = int(used[1])
    return found


def measure(nvrtc: Nvrtc) -> Counts:
    """Compile every text for every GPU: registers and spilled bytes by file, GPU and kernel."""
    measured: Counts = {}
    for file in sorted(GOLDEN.glob("*.cu")):
        source = file.read_text(encoding="utf-8")
        measured[file.stem] = {gpu: counts(nvrtc.compile(source, gpu)) for gpu in ARCHITECTURES}
    return measured


def complaints(measured: Counts, recorded: Counts) -> Iterator[str]:
    """Tell which kernels spill, are not recorded, or take more registers than recorded."""
    for name, gpus in measured.items():
        for gpu, kernels in gpus.items():
            if not kernels:
                yield f"{name} on {gpu}: the assembler reports no kernel"
            for kernel, (registers, spilled) in kernels.items():
                known = recorded.get(name, {}).get(gpu, {}).get(kernel)
                where = f"{name} on {gpu}, {kernel}"
                if spilled:
                    yield f"{where}: {spilled} bytes spilled"
                if known is None:
                    yield f"{where}: not recorded; --write records it"
                elif registers > known[0]:
                    yield f"{where}: {registers} registers, {known[0]} are recorded"


def main() -> int:
    """Compile everything with every compiler that is found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheels", type=Path, action="append", help="a folder with wheels' files")
    parser.add_argument("--write", action="store_true", help="record the counts")
    arguments = parser.parse_args()
    found = list(libraries(arguments.wheels or [Path(path) for path in site.getsitepackages()]))
    if not found:
        sys.stderr.write("no compiler found: pip install nvidia-cuda-nvrtc\n")
        return 2
    recorded: dict[str, Counts] = {}
    if RECORD.exists():
        recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    bad: list[str] = []
    for path in found:
        nvrtc = Nvrtc(path)
        measured = measure(nvrtc)
        if arguments.write:
            recorded[nvrtc.version] = measured
        told = complaints(measured, recorded.get(nvrtc.version, {}))
        bad.extend(f"nvrtc {nvrtc.version}: {text}" for text in told)
        kernels = sum(len(found) for gpus in measured.values() for found in gpus.values())
        sys.stdout.write(f"nvrtc {nvrtc.version}: {kernels} kernels\n")
    if arguments.write:
        RECORD.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    sys.stdout.writelines(f"{line}\n" for line in bad)
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
