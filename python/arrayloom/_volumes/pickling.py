"""Volumes as bytes for another process: those that are read by what is read, expressions by their functions."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

import importlib
import pickle
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np

from arrayloom._volumes.sources import as_volume
from arrayloom._volumes.volume import Volume

__all__ = ["reduced"]

# True while the parts of an expression are taken, which share volumes.
_PARTS = ContextVar("parts", default=False)


def reduced(volume: Volume, protocol: Any) -> Any:
    """What `pickle` is told of a volume."""
    names = {"axes": volume.axes, "spacing": volume.spacing, "units": volume.units}
    if volume.opened is not None:
        from arrayloom import volumes  # noqa: PLC0415 - it builds on this module

        path, words = volume.opened
        return partial(volumes.open, **words), (path,), names
    if volume.source is not None:
        plain = isinstance(volume.source, np.ndarray)
        return as_volume, (np.asarray(volume.source) if plain else volume.source,), names
    if _PARTS.get():
        return object.__reduce_ex__(volume, protocol)
    token = _PARTS.set(True)
    try:
        return pickle.loads, (_cloudpickle().dumps(volume, protocol),)
    finally:
        _PARTS.reset(token)


def _cloudpickle() -> Any:
    """What takes functions that have no name of their own."""
    try:
        return importlib.import_module("cloudpickle")
    except ImportError:
        message = (
            "an expression on volumes goes to another process with the package cloudpickle only; install it "
            "(pip install cloudpickle), or save the expression and open the file there"
        )
        raise TypeError(message) from None
