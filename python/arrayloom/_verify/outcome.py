"""What a call gave: a value or an error, and warnings, which the program gets at its own line."""

import contextlib
import inspect
import os
import warnings
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from arrayloom import _ext
from arrayloom._verify.arguments import lazies
from arrayloom._verify.warned import OURS, Warned
from arrayloom.errors import ArrayloomError, FallbackWarning

__all__ = ["Outcome", "attempt", "users_frame"]

_Value = Any

_PASSED = (OURS, str(Path(np.__file__).absolute().parent) + os.sep)


@dataclass(frozen=True)
class Outcome:
    """What a call gave.

    Attributes
    ----------
    value, error : object, Exception or None
        What it returned, or raised.
    heard : iterable of WarningMessage
        The warnings that were heard.
    """

    value: _Value = None
    error: Exception | None = None
    heard: Iterable[warnings.WarningMessage] = ()

    def texts(self) -> list[str]:
        """Give the warnings that NumPy gives too."""
        heard = (each for each in self.heard if not issubclass(each.category, FallbackWarning))
        return sorted({f"{each.category.__name__}: {each.message}" for each in heard})

    def raised(self) -> str:
        """Tell of the error in words."""
        return "nothing" if self.error is None else f"{type(self.error).__name__}: {self.error}"

    def handed_out(self, frame: FrameType | None, warned: Warned) -> _Value:
        """Give the program in a frame what the call gave: warnings at its line, and an error or the value."""
        warned.give(self.heard, frame)
        if self.error is not None:
            raise self.error
        return self.value


def attempt(call: Callable[[], _Value], known: Iterable[_Value], *, listens: bool) -> Outcome:
    """Do a call, and compute its result and the arrays `known`, which it may have changed.

    Raises
    ------
    ArrayloomError
        If the call raises one, which NumPy has no counterpart of.

    Examples
    --------
    >>> attempt(lambda: 1 / 0, (), listens=False).raised()
    'ZeroDivisionError: division by zero'
    """
    with _heard() if listens else contextlib.nullcontext(()) as heard:
        try:
            value = call()
            for array in (*lazies(value), *known):
                _ext.bridge.plain(array)
        except ArrayloomError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever NumPy raises is compared
            return Outcome(error=error, heard=heard)
        return Outcome(value, heard=heard)


@contextlib.contextmanager
def _heard() -> Generator[list[warnings.WarningMessage]]:
    """Collect the warnings of a block, of equal ones one; what is pending is computed before."""
    with warnings.catch_warnings(record=True) as heard:
        # Where all of them are wanted, operations are NumPy's own.
        warnings.simplefilter("default")
        yield heard


def users_frame() -> FrameType | None:
    """Give the innermost frame that is neither ours nor NumPy's."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_PASSED):
        frame = frame.f_back
    return frame
