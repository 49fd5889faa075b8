"""Devices by name: our own, those that packages announce, and those that the environment names.

``ARRAYLOOM_BACKENDS`` is a list ``name:target,name:target``; a package announces targets in the entry
point group ``arrayloom.backends``. A target is a shared library (a path) or ``package.module:Class``;
``package.module`` alone is a module with npbackend's functions, as is a bare name that can be imported.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module, metadata
from importlib.util import find_spec
from types import ModuleType
from typing import Any, cast

from arrayloom._trampoline import Adapter
from arrayloom.backend import Device
from arrayloom.compat import npbackend
from arrayloom.errors import SettingError

__all__ = ["OWN", "Backend", "Probe", "adapter", "announced", "cuda_folders", "find", "probe_all"]

OWN = ("cpu", "cuda", "opencl", "reference", "sim", "null")
_NUMBERED = ("opencl", "cuda")
_GROUP = "arrayloom.backends"
_VARIABLE = "ARRAYLOOM_BACKENDS"
_SUFFIXES = (".so", ".dylib", ".dll")


@dataclass(frozen=True)
class Backend:
    """A backend that somebody announced: its name, its target, and where that was said."""

    name: str
    target: str
    source: str


@dataclass(frozen=True)
class Probe:
    """A backend, and what came of computing ``[1, 2, 3] * 2`` there."""

    name: str
    outcome: str
    detail: str
    source: str


def probe_all() -> Iterator[Probe]:
    """Try every backend; one that is broken is unavailable, and no error."""
    ours = (Backend(name, name, "arrayloom") for name in OWN)
    for backend in (*ours, *announced()):
        try:
            _, detail, _, outcome = cast("Any", import_module("arrayloom._ext")).probe(backend.name)
        except Exception as error:  # noqa: BLE001 - it is somebody else's code
            outcome, detail = "unavailable", f"{type(error).__name__}: {error}"
        yield Probe(backend.name, outcome, detail, backend.source)


def announced() -> tuple[Backend, ...]:
    """Every backend that is not our own, those of the environment first."""
    found = {backend.name: backend for backend in reversed(tuple(_all()))}
    return tuple(reversed(found.values()))


def _all() -> Iterator[Backend]:
    for entry in filter(None, os.environ.get(_VARIABLE, "").split(",")):
        name, colon, target = entry.strip().partition(":")
        if not (name and colon and target):
            message = f"{_VARIABLE} cannot have {entry!r}: it takes name:target"
            raise SettingError(message)
        yield Backend(name, target, _VARIABLE)
    for point in metadata.entry_points(group=_GROUP):
        package = point.dist.name if point.dist is not None else "a package"
        yield Backend(point.name, point.value, package)


def adapter(thing: object) -> Adapter:
    """Make what the native module calls of a `Device`, a class of it, or a module of npbackend.

    Raises
    ------
    TypeError
        For anything else.
    """
    if isinstance(thing, type) and issubclass(thing, Device):
        thing = thing()
    elif isinstance(thing, ModuleType) and npbackend.is_target(thing):
        thing = npbackend.ModuleDevice(thing)
    if not isinstance(thing, Device):
        message = (
            f"{thing!r} is no arrayloom.backend.Device and no module with npbackend's functions"
        )
        raise TypeError(message)
    return Adapter(thing)


def cuda_folders() -> tuple[list[str], list[str]]:
    """Give the folders of packages, which may bring CUDA's libraries, and those of CUDA toolkits."""
    toolkits = (os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH"))
    return [path for path in sys.path if path], [path for path in toolkits if path]


def _load(target: str) -> str | Adapter:
    """Give the path of a library, or the adapter of a device in Python."""
    if target.endswith(_SUFFIXES) or os.sep in target:
        return target
    module, _, attribute = target.partition(":")
    loaded: object = import_module(module)
    for part in filter(None, attribute.split(".")):
        loaded = getattr(loaded, part)
    return adapter(loaded)


def find(name: str) -> str | Adapter:
    """Give the library or the adapter of a backend by its name or its target.

    Raises
    ------
    SettingError
        For a name that nobody has, and a target that cannot be loaded.
    """
    known = {backend.name: backend.target for backend in announced()}
    takes = ", ".join((*OWN, *known))
    family, colon, number = name.partition(":")
    if colon and family in OWN and name not in known:
        message = (
            f"ARRAYLOOM_BACKEND cannot be {name!r}: {number!r} is no number of a device of {family}; "
            f"those of {' and '.join(_NUMBERED)} have some, such as opencl:0"
        )
        raise SettingError(message)
    target = known.get(name, name)
    if name not in known and not (":" in name or "." in name or os.sep in name or find_spec(name)):
        message = f"ARRAYLOOM_BACKEND cannot be {name!r}: it takes {takes}, or package.module:Class"
        raise SettingError(message)
    try:
        return _load(target)
    except (ImportError, AttributeError, TypeError) as error:
        message = (
            f"ARRAYLOOM_BACKEND cannot be {name!r}: {type(error).__name__}: {error}; it takes {takes}, or "
            "package.module:Class"
        )
        raise SettingError(message) from error
