"""What ``arrayloom info`` shows: versions, devices, settings and a self-test.

The self-test runs a few small programs under arrayloom and under NumPy and compares their bytes.
"""

import json
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module, metadata
from types import ModuleType
from typing import Any

import numpy as np

from arrayloom import _native, _preload
from arrayloom._text import human_bytes

__all__ = ["Info", "SelfTest", "collect", "info_json", "info_text", "self_test"]

_SIDE = 600
# NumPy, or any module with its names.
_Namespace = Any
_Array = Any
_Program = Callable[[_Namespace], object]


@dataclass(frozen=True)
class SelfTest:
    """One program of the self-test and how it ended: ``"ok"`` or what went wrong."""

    name: str
    outcome: str


@dataclass(frozen=True)
class Info:
    """Everything that ``arrayloom info`` shows."""

    arrayloom: str
    native: str | None
    python: str
    numpy: str
    platform: str
    cpus: int
    devices: tuple[_native.Device, ...]
    shim: str | None
    settings: dict[str, str]
    tests: tuple[SelfTest, ...]

    @property
    def healthy(self) -> bool:
        """Whether the native module is there and every test passed."""
        return self.native is not None and all(test.outcome == "ok" for test in self.tests)


def _start(xp: _Namespace) -> _Array:
    grid = xp.zeros((_SIDE, _SIDE))
    grid += xp.arange(_SIDE)
    return grid


def _elementwise(xp: _Namespace) -> object:
    grid = _start(xp)
    return (grid * 0.5 + 3) / (grid * grid + 1)


def _stencil(xp: _Namespace) -> object:
    grid = _start(xp)
    inner = grid[1:-1, 1:-1]
    for _ in range(3):
        inner[:] = 0.2 * (inner + grid[:-2, 1:-1] + grid[2:, 1:-1])
    return grid


def _reduction(xp: _Namespace) -> object:
    grid = xp.sqrt(_start(xp))
    return xp.asarray([xp.sum(grid), xp.max(grid), xp.sum(grid * 0.1)])


def _axis_sum(xp: _Namespace) -> object:
    return xp.sum(_start(xp) * 0.3, axis=0)


def _fallback(xp: _Namespace) -> object:
    return xp.sort(-_start(xp), axis=1)


_PROGRAMS: dict[str, _Program] = {
    "elementwise": _elementwise,
    "stencil in place": _stencil,
    "reduction to a scalar": _reduction,
    "sum along an axis": _axis_sum,
    "operation of NumPy": _fallback,
}


def self_test(namespace: ModuleType) -> tuple[SelfTest, ...]:
    """Run every program in `namespace` and in NumPy and compare bytes."""
    return tuple(SelfTest(name, _outcome(f, namespace)) for name, f in _PROGRAMS.items())


def _outcome(program: _Program, namespace: ModuleType) -> str:
    expected = np.asarray(program(np))
    try:
        got = np.asarray(program(namespace))
    except Exception as error:  # noqa: BLE001 - the report names it, info goes on
        return f"{type(error).__name__}: {error}"
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return f"{got.dtype}{got.shape} instead of {expected.dtype}{expected.shape}"
    return "ok" if got.tobytes() == expected.tobytes() else "other bits than NumPy"


def collect() -> Info:
    """Gather everything, self-test included."""
    namespace = import_module("arrayloom")
    return Info(
        arrayloom=_version(),
        native=_native.native_version(),
        python=platform.python_version(),
        numpy=np.__version__,
        platform=platform.platform(),
        cpus=len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1,
        devices=_native.devices(),
        shim=_preload.shim_path(),
        settings={k: v for k, v in sorted(os.environ.items()) if k.startswith("ARRAYLOOM_")},
        tests=self_test(namespace),
    )


def _version() -> str:
    try:
        return metadata.version("arrayloom")
    except metadata.PackageNotFoundError:
        return "not installed"


def info_text(info: Info) -> str:
    """Write `info` as lines of plain text."""
    shim = "none: system calls that get lazy memory may fail with EFAULT"
    lines = [
        f"arrayloom  {info.arrayloom}",
        f"native     {info.native or 'missing'}",
        f"python     {info.python}",
        f"numpy      {info.numpy}",
        f"platform   {info.platform}, {info.cpus} CPUs",
        f"shim       {info.shim or shim}",
    ]
    for device in info.devices:
        about = f"{device.threads} threads, {device.isa}, {human_bytes(device.memory)}"
        lines.append(f"device     {device.name}: {about}")
    lines += [f"setting    {name}={value}" for name, value in info.settings.items()]
    lines += [f"self-test  {test.name}: {test.outcome}" for test in info.tests]
    return "\n".join(lines) + "\n"


def info_json(info: Info) -> str:
    """Write `info` as one JSON object."""
    return json.dumps({**asdict(info), "healthy": info.healthy}, sort_keys=True)
