"""Warnings that were heard while an operation was done, given to the program at its own line."""

import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from types import FrameType

from arrayloom.errors import FallbackWarning

__all__ = ["OURS", "Warned"]

# The folder of this package.
OURS = str(Path(__file__).absolute().parents[1]) + os.sep
_ONCE = frozenset({"default", "module", "once"})


class Warned:
    """Gives warnings, and knows which were given where: listening lets Python forget that.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as heard:
    ...     warnings.warn("hm", stacklevel=1)
    >>> with warnings.catch_warnings(record=True) as again:
    ...     warnings.simplefilter("default")
    ...     warned = Warned()
    ...     warned.give(heard, None)
    ...     warned.give(heard, None)
    >>> [str(each.message) for each in again]
    ['hm']
    """

    def __init__(self) -> None:
        self._given: set[tuple[object, ...]] = set()

    def give(self, heard: Iterable[warnings.WarningMessage], frame: FrameType | None) -> None:
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
            action, about = _filter(text, each.category, module, line)
            if (
                each.category is FallbackWarning
                and action == "error"
                and about is not FallbackWarning
            ):
                # A program that takes its own warnings for errors does not fail because of ours.
                continue
            key = (text, each.category, file, line, *warnings.filters)
            if action in _ONCE and key in self._given:
                continue
            self._given.add(key)
            warnings.warn_explicit(each.message, each.category, file, line, module)


def _filter(text: str, category: type[Warning], module: str, line: int) -> tuple[str, object]:
    """Give the action of the first filter that fits, and the category that it names."""
    for action, message, kind, place, number in warnings.filters:
        if (
            issubclass(category, kind)
            and (message is None or message.match(text))
            and (place is None or place.match(module))
            and number in {0, line}
        ):
            return action, kind
    return "default", Warning
