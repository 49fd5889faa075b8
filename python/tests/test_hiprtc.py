"""The text of kernels goes through HIP's compiler, where it is installed.

It runs in processes of its own: its LLVM and that of an OpenCL driver in one process end it.
"""

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "hiprtc.py"
sys.path.insert(0, str(TOOL.parent))

import hiprtc  # noqa: E402 - a script beside the package

REASON = "needs Debian's libamdhip64-5, libhiprtc-builtins5"


def run(code):
    """Run code that knows the tool; its exit status and what it printed."""
    text = f"import sys\nsys.path.insert(0, {str(TOOL.parent)!r})\nimport hiprtc\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=500, check=False
    )
    return done.returncode, done.stdout + done.stderr


needs_compiler = pytest.mark.skipif(
    run("sys.exit(hiprtc.library() is None)")[0] != 0, reason=REASON
)


def test_facts_of_machine_code_are_read():
    code = b"\xab.vgpr_count\x13\xb1.vgpr_spill_count\xcd\x01\x02\xab.vgpr_count\xcc\xff"
    assert hiprtc.facts(code) == {"vgpr_count": [19, 255], "vgpr_spill_count": [258]}


@needs_compiler
def test_every_kernel_compiles_without_spills():
    status, printed = run("print(list(hiprtc.complaints(hiprtc.library())))")
    assert (status, printed.strip()) == (0, "[]")


@needs_compiler
def test_what_is_wrong_is_told():
    status, printed = run(
        'hiprtc.compile_text(hiprtc.library(), "int f() { return unheard_of; }", "gfx90a")'
    )
    assert status == 1
    assert "RuntimeError" in printed
    assert "undeclared" in printed
