"""The CUDA text of kernels goes through NVIDIA's compiler, where its wheel is installed."""

import site
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import nvrtc  # noqa: E402 - a script beside the package

LIBRARIES = list(nvrtc.libraries([Path(path) for path in site.getsitepackages()]))

LOG = """\
ptxas info    : Compiling entry function 'first' for 'sm_90'
ptxas info    : Function properties for first
    0 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 30 registers, used 0 barriers
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Function properties for second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 41 registers
"""


def test_the_report_is_read():
    assert nvrtc.counts(LOG) == {"first": [30, 12], "second": [41, 0]}


def test_more_registers_and_spills_are_told():
    recorded = {"case": {"sm_90": {"first": [29, 0], "second": [41, 0]}}}
    told = list(nvrtc.complaints({"case": {"sm_90": nvrtc.counts(LOG)}}, recorded))
    assert len(told) == 2
    assert "12 bytes spilled" in told[0]
    assert "30 registers, 29 are recorded" in told[1]
    assert "not recorded" in next(nvrtc.complaints({"new": {"sm_90": {"k": [1, 0]}}}, recorded))


@pytest.mark.skipif(
    not LIBRARIES, reason="needs `pip install nvidia-cuda-nvrtc`, for Linux on x86-64"
)
def test_every_kernel_compiles_without_spills():
    for path in LIBRARIES:
        compiler = nvrtc.Nvrtc(path)
        told = nvrtc.complaints(nvrtc.measure(compiler), {})
        assert [text for text in told if "not recorded" not in text] == []
