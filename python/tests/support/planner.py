"""Conversions that must do without the planner in Python."""

from contextlib import contextmanager

import arrayloom.bridge as b
from arrayloom import _ext
from arrayloom.bridge import conversion, registry


class Planned(AssertionError):
    """The planner was asked."""


@contextmanager
def no_planner():
    """Make every call of the planner an error."""

    def planner(*args, **words):
        msg = f"planned: {b.kind(args[0])} to {args[1]}, {words}"
        raise Planned(msg)

    _ext.bridge.set_hooks(registry.resolve, planner)
    try:
        yield
    finally:
        _ext.bridge.set_hooks(registry.resolve, conversion.convert)
