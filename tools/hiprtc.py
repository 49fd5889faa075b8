"""Compile the text of kernels for AMD's GPUs, and count registers that are spilled.

No GPU is needed, only HIP's run-time compiler: Debian's ``libamdhip64-5`` and ``libhiprtc-builtins5``. HIP's
text is CUDA's: that of ``crates/codegen/tests/golden``. A kernel that does not compile, or
spills to memory, fails.
"""

import argparse
import ctypes
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "crates" / "codegen" / "tests" / "golden"
LIBRARIES = ("libhiprtc.so", "libamdhip64.so.6", "libamdhip64.so.5")
ARCHITECTURES = ("gfx906", "gfx90a", "gfx1030")
# Vector registers are spilled to memory; scalar ones to lanes of vector registers, so that a few cost little.
SPILLED = {"vgpr_spill_count": 0, "sgpr_spill_count": 4}
OPTIONS = ("-ffp-contract=off", "-O3")

# Facts of a kernel are a map of words and numbers in the machine code (MessagePack).
_FACT = re.compile(rb"\.([sv]gpr(?:_spill)?_count)([\x00-\x7f]|\xcc.|\xcd..)", re.DOTALL)


def library() -> ctypes.CDLL | None:
    """Open the compiler; nothing if there is none."""
    for name in LIBRARIES:
        try:
            opened = ctypes.CDLL(name, ctypes.RTLD_GLOBAL)
        except OSError:
            continue
        if hasattr(opened, "hiprtcCreateProgram"):
            return opened
    return None


def compile_text(api: ctypes.CDLL, source: str, architecture: str) -> bytes:
    """Compile to machine code.

    Raises
    ------
    RuntimeError
        With the compiler's messages, if it refuses the text.
    """
    program = ctypes.c_void_p()
    api.hiprtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.hip", 0, None, None)
    options = [f"--offload-arch={architecture}", *OPTIONS]
    array = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    status = api.hiprtcCompileProgram(program, len(options), array)
    size = ctypes.c_size_t()
    api.hiprtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value + 1)
    api.hiprtcGetProgramLog(program, log)
    size.value = 0
    if status == 0:
        api.hiprtcGetCodeSize(program, ctypes.byref(size))
    code = ctypes.create_string_buffer(max(size.value, 1))
    if size.value:
        api.hiprtcGetCode(program, code)
    api.hiprtcDestroyProgram(ctypes.byref(program))
    if not size.value:
        message = f"the compiler refuses the text for {architecture}:\n{log.value.decode()}"
        raise RuntimeError(message)
    return code.raw


def facts(code: bytes) -> dict[str, list[int]]:
    """Read registers and spilled registers of each kernel in machine code, by what they count."""
    found: dict[str, list[int]] = {}
    for name, number in _FACT.findall(code):
        value = int.from_bytes(number[1:] if len(number) > 1 else number, "big")
        found.setdefault(name.decode(), []).append(value)
    return found


def complaints(api: ctypes.CDLL) -> Iterator[str]:
    """Compile every text for every GPU, and tell what spills."""
    for file in sorted(GOLDEN.glob("*.cu")):
        source = file.read_text(encoding="utf-8")
        kernels = len(re.findall(r"^KERNEL\(", source, re.MULTILINE))
        for gpu in ARCHITECTURES:
            found = facts(compile_text(api, source, gpu))
            if len(found.get("vgpr_count", [])) != kernels:
                yield f"{file.stem} on {gpu}: {kernels} kernels, and the code tells of {found}"
            for kind, most in SPILLED.items():
                if sum(found.get(kind, [])) > most:
                    yield f"{file.stem} on {gpu}: {kind} {found[kind]}"


def main() -> int:
    """Compile everything."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    api = library()
    if api is None:
        sys.stderr.write("no compiler found: apt-get install libamdhip64-5 libhiprtc-builtins5\n")
        return 2
    bad = list(complaints(api))
    sys.stdout.writelines(f"{line}\n" for line in bad)
    sys.stdout.write(f"{len(list(GOLDEN.glob('*.cu')))} texts for {', '.join(ARCHITECTURES)}\n")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
