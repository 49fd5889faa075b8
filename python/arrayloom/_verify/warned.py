"""Warnings that were heard while an operation was done, given to the program at its own line."""

import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from types import FrameType

__all__ = ["OURS", "give"]

# The folder of this package.
OURS = str(Path(__file__).absolute().parents[1]) + os.sep


class _State:
    """What was given where. Whoever listens, as is done for each operation, lets Python forget it."""

    given: set[tuple[object, ...]] = set()  # noqa: RUF012 - one for the process, as Python's own


def give(heard: Iterable[warnings.WarningMessage], frame: FrameType | None) -> None:
    """Give warnings that seem to come from this package at the line of a frame, all others at their own.

    Raises
    ------
    Warning
        If a filter makes one an error.
    """
    for each in heard:
        file, line, module = each.filename, each.lineno, "<unknown>"
        if frame is not None and file.startswith(OURS):
            file, line = frame.f_code.co_filename, frame.f_lineno
        if frame is not None and file == frame.f_code.co_filename:
            # Code that is run in a bare namespace has no module.
            module = str(frame.f_globals.get("__name__", module))
        text = str(each.message)
        if _comes_once(text, each.category, module, line):
            key = (text, each.category, file, line, *warnings.filters)
            if key in _State.given:
                continue
            _State.given.add(key)
        warnings.warn_explicit(each.message, each.category, file, line, module)


def _comes_once(text: str, category: type[Warning], module: str, line: int) -> bool:
    """Whether the first filter that fits is one of those by which Python gives a warning once."""
    for action, message, kind, place, number in warnings.filters:
        if (
            issubclass(category, kind)
            and (message is None or message.match(text))
            and (place is None or place.match(module))
            and number in {0, line}
        ):
            return action in {"default", "module", "once"}
    return True
