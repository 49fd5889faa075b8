"""Let warnings come inside the block that is about them.

A recorded operation warns when it is computed. ``warnings.catch_warnings`` changes who hears of it, so
everything recorded before such a block is computed before its filters hold, and everything recorded in
the block before they are gone. ``pytest.warns`` and others are built on the same class.

Where filters make these warnings errors, or a block collects all of them, the program wants to know of each at
its own line, also if nobody looks at the result. There operations are not recorded.
"""

import functools
import inspect
import sys
import warnings
from collections.abc import Callable
from typing import Any

from arrayloom import _ext

__all__ = ["install"]

# Those who set filters for a whole program, in which they wait for no warning themselves.
_HOSTS = ("_pytest.config", "_pytest.warnings")


class _Attention:
    """Whether warnings must come at once, and the blocks that change it."""

    def __init__(self) -> None:
        self.at_once = False
        self.collecting = 0
        self.before: dict[int, tuple[bool, int]] = {}

    def set(self, *, at_once: bool) -> None:
        self.at_once = at_once
        _ext.warn_at_once(at_once)

    def look(self) -> None:
        """Read the filters again."""
        self.set(at_once=_wanted(collecting=self.collecting > 0))

    def enter(self, block: object) -> None:
        self.before[id(block)] = self.at_once, self.collecting
        self.collecting += bool(getattr(block, "_record", False))

    def leave(self, block: object) -> None:
        at_once, self.collecting = self.before.pop(id(block), (self.at_once, self.collecting))
        self.set(at_once=at_once)


_attention = _Attention()


def _wanted(*, collecting: bool) -> bool:
    """Whether the filters make a warning about numbers an error, or a block collects every one."""
    for action, message, category, module, line in warnings.filters:
        if not issubclass(RuntimeWarning, category):
            continue
        if action == "error":
            return True
        if message is None and module is None and line == 0:
            return collecting and action == "always"
    return False


def _entered(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def called(self: object) -> Any:  # noqa: ANN401 - as the method
        _ext.flush()
        _attention.enter(self)
        try:
            return method(self)
        except BaseException:
            _attention.leave(self)
            raise

    return called


def _left(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def called(self: object, *args: object) -> Any:  # noqa: ANN401 - as the method
        try:
            # A filter may make a warning an error: the block is left all the same.
            _ext.flush()
        finally:
            method(self, *args)
            _attention.leave(self)

    return called


def _changed(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - any function
        _ext.flush()
        function(*args, **kwargs)
        here = inspect.currentframe()
        caller = here.f_back if here is not None else None
        if caller is None or caller.f_globals.get("__name__") not in _HOSTS:
            _attention.look()

    return called


def install() -> None:
    """Wrap both ends of ``warnings.catch_warnings``, and what changes filters."""
    block = warnings.catch_warnings
    block.__enter__ = _entered(block.__enter__)
    block.__exit__ = _left(block.__exit__)
    for name in ("simplefilter", "filterwarnings", "resetwarnings"):
        setattr(warnings, name, _changed(getattr(warnings, name)))
    if not any(host in sys.modules for host in _HOSTS):
        _attention.look()
