"""``ARRAYLOOM_ENABLE=1``: user code that imports NumPy gets arrayloom's namespace, in any interpreter.

The file ``arrayloom-enable.pth`` of this distribution calls `install` when an interpreter starts with that
variable, so workers that a program spawns are served too. It is a package of its own so that nothing
else is loaded before somebody imports NumPy.
"""

import builtins
import os
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType

__all__ = ["install"]


class _State:
    """Whether NumPy has not been imported yet."""

    waiting = False


def install() -> None:
    """Wait for the first import of NumPy, and put the import layer in place before it."""
    plain = builtins.__import__

    def first(
        name: str,
        globals: Mapping[str, object] | None = None,  # noqa: A002 - the names that callers use
        locals: Mapping[str, object] | None = None,  # noqa: A002
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        if not (_State.waiting and level == 0 and name[:5] == "numpy" and _is_time(name)):
            return plain(name, globals, locals, fromlist, level)
        _State.waiting = False
        if builtins.__import__ is first:
            builtins.__import__ = plain
        _activate()
        return builtins.__import__(name, globals, locals, fromlist, level)

    _State.waiting = True
    builtins.__import__ = first


def _is_time(name: str) -> bool:
    """Whether this is NumPy, and neither it nor arrayloom is on its way, which import it themselves."""
    begun = (getattr(sys.modules.get(each), "__spec__", None) for each in ("numpy", "arrayloom"))
    return name.partition(".")[0] == "numpy" and not any(
        getattr(spec, "_initializing", False) for spec in begun
    )


def _activate() -> None:
    """Do what the runner does, but for its shim; unless this is the runner, or nothing is to be lazy."""
    from arrayloom import _ext, _hook, _native  # noqa: PLC0415 - slow, and not needed before

    if not _hook.installed() and _ext.is_lazy():
        _hook.install(os.environ.get("ARRAYLOOM_SCOPE") or "user")
        _native.enable_runner_patches()
