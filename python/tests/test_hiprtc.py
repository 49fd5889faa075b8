"""The text of kernels goes through HIP's compiler, where it is installed."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import hiprtc  # noqa: E402 - a script beside the package

COMPILER = hiprtc.library()


def test_facts_of_machine_code_are_read():
    code = b"\xab.vgpr_count\x13\xb1.vgpr_spill_count\xcd\x01\x02\xab.vgpr_count\xcc\xff"
    assert hiprtc.facts(code) == {"vgpr_count": [19, 255], "vgpr_spill_count": [258]}


@pytest.mark.skipif(COMPILER is None, reason="needs Debian's libamdhip64-5, libhiprtc-builtins5")
def test_every_kernel_compiles_without_spills():
    assert COMPILER is not None
    assert list(hiprtc.complaints(COMPILER)) == []


@pytest.mark.skipif(COMPILER is None, reason="needs Debian's libamdhip64-5, libhiprtc-builtins5")
def test_what_is_wrong_is_told():
    assert COMPILER is not None
    with pytest.raises(RuntimeError, match="undeclared"):
        hiprtc.compile_text(COMPILER, "int f() { return unheard_of; }", "gfx90a")
