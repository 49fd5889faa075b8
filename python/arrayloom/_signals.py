"""Keep the handler of memory faults in force.

Lazy arrays are computed when somebody touches their memory, which the system reports as the signal
SIGSEGV. ``faulthandler`` and ``signal.signal`` put others in our place; a touch would then end the
process. After each of these calls our handler goes back on top, and passes on to theirs what is not
about a lazy array.
"""

import faulthandler
import functools
import signal
from collections.abc import Callable
from types import ModuleType
from typing import Any

from arrayloom import _ext

__all__ = ["install"]

_REPLACERS: tuple[tuple[ModuleType, str], ...] = (
    (faulthandler, "enable"),
    (faulthandler, "disable"),
    (signal, "signal"),
)


def _then_ours(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - any function
        try:
            return function(*args, **kwargs)
        finally:
            _ext.reinstall_handler()

    return called


def install() -> None:
    """Wrap the functions that change who handles SIGSEGV."""
    for module, name in _REPLACERS:
        setattr(module, name, _then_ours(getattr(module, name)))
