"""Let warnings come inside the block that is about them.

A recorded operation warns when it is computed. ``warnings.catch_warnings`` changes who hears of it, so
everything recorded before such a block is computed before its filters hold, and everything recorded in
the block before they are gone. ``pytest.warns`` and others are built on the same class.

Where filters make these warnings errors, or a block collects all of them, the program wants to know of each at
its own line, also if nobody looks at the result. There operations are not recorded.
"""

import functools
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterable
from types import FrameType, ModuleType
from typing import Any, cast

from arrayloom import _ext

__all__ = ["install"]

# Those who set filters for a whole program, in which they wait for no warning themselves.
_HOSTS = ("_pytest.config", "_pytest.warnings")

_Category = type[Warning] | tuple[type[Warning], ...]
_Filter = tuple[str, re.Pattern[str] | None, _Category, re.Pattern[str] | None, int]


class _Attention:
    """Whether warnings must come at once.

    That follows from the filters alone, whoever set them in whatever order or thread; those of a host are
    known by identity and passed over.
    """

    def __init__(self) -> None:
        self.collecting: set[int] = set()
        self.of_hosts: dict[_Filter, _Filter] = {}

    def look(self) -> None:
        """Read the filters again."""
        filters = warnings.filters
        if self.of_hosts:
            filters = (entry for entry in filters if self.of_hosts.get(entry) is not entry)
        _ext.warn_at_once(_wanted(filters, collecting=bool(self.collecting)))

    def entered(self, block: object, *, by_host: bool) -> None:
        """Note that a block has begun. Its filters have been seen when they were set."""
        if getattr(block, "_record", False) and not by_host:
            self.collecting.add(id(block))
            self.look()

    def left(self, block: object) -> None:
        if id(block) in self.collecting:
            self.collecting.discard(id(block))
            self.look()

    def host_set(self, before: Collection[_Filter]) -> None:
        """Take the filters that are not among those `before` for a host's; equal ones become one object."""
        known = {id(entry) for entry in before}
        filters = cast("list[_Filter]", warnings.filters)
        for index, entry in enumerate(filters):
            if id(entry) not in known:
                filters[index] = self.of_hosts.setdefault(entry, entry)


_attention = _Attention()


def _wanted(filters: Iterable[_Filter], *, collecting: bool) -> bool:
    """Whether the filters make a warning about numbers an error, or a block collects every one."""
    for action, message, category, module, line in filters:
        if not issubclass(RuntimeWarning, category):
            continue
        if action == "error":
            return True
        if message is None and module is None and line == 0:
            return collecting and action == "always"
    return False


def _called_by_host(wrapper: FrameType | None) -> bool:
    """Whether the caller of the function in this frame is a host."""
    caller = wrapper.f_back if wrapper is not None else None
    return caller is not None and caller.f_globals.get("__name__") in _HOSTS


def _entered(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def called(self: object) -> Any:  # noqa: ANN401 - as the method
        _ext.flush()
        entered = method(self)
        _attention.entered(self, by_host=_called_by_host(inspect.currentframe()))
        return entered

    return called


def _left(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def called(self: object, *args: object) -> Any:  # noqa: ANN401 - as the method
        try:
            # A filter may make a warning an error: the block is left all the same.
            _ext.flush()
        finally:
            method(self, *args)
            _attention.left(self)

    return called


def _changed(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - any function
        _ext.flush()
        before = tuple(warnings.filters)
        function(*args, **kwargs)
        if _called_by_host(inspect.currentframe()):
            _attention.host_set(before)
        _attention.look()

    return called


class _Watched(ModuleType):
    """The module ``warnings``, whose filters and hook may also be replaced by assignment."""

    # `override` is of Python 3.12.
    def __setattr__(self, name: str, value: object) -> None:  # pyright: ignore[reportImplicitOverride]
        if name in {"filters", "showwarning"} and value is not getattr(self, name, None):
            _ext.flush()
        super().__setattr__(name, value)
        if name == "filters":
            _attention.look()


def install() -> None:
    """Wrap both ends of ``warnings.catch_warnings``, and what changes filters or who hears of warnings."""
    block = warnings.catch_warnings
    block.__enter__ = _entered(block.__enter__)
    block.__exit__ = _left(block.__exit__)
    for name in ("simplefilter", "filterwarnings", "resetwarnings"):
        setattr(warnings, name, _changed(getattr(warnings, name)))
    sys.modules["warnings"].__class__ = _Watched
    if any(host in sys.modules for host in _HOSTS):
        _attention.host_set(())
    _attention.look()
