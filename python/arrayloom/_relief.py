"""The rungs of the ladder against lack of memory that only Python can climb.

The native module calls `relieve` when memory ran out, without holding any lock. First the caches of
other frameworks are emptied, if they have been imported; then garbage is collected.
"""

import gc
import importlib
import sys
import time

from arrayloom import _ext

__all__ = ["relieve"]

# A collection may take this share of the time at most.
_SHARE = 0.05

_not_before = 0.0


def relieve() -> None:
    """Free what can be freed; count what each rung gave."""
    global _not_before  # noqa: PLW0603 - the time of the process
    started = time.perf_counter()
    if started < _not_before:
        return
    emptied = _empty_caches()
    between = time.perf_counter()
    if emptied is not None:
        _ext.note_rung("frameworks", emptied, between - started)
    before = _live()
    gc.collect()
    ended = time.perf_counter()
    _ext.note_rung("collect", max(before - _live(), 0), ended - between)
    _not_before = ended + (ended - started) / _SHARE


def _empty_caches() -> int | None:
    """Empty the caches of frameworks; bytes freed, or None where no framework was imported."""
    if not {"torch", "cupy", "tensorflow", "jax", "pyclesperanto"} & set(sys.modules):
        return None
    oom = importlib.import_module("arrayloom.bridge.oom")
    return int(oom.release())


def _live() -> int:
    return int(_ext.memory_report(0)["live"])
