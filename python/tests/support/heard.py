"""Collect warnings while operations stay recorded."""

import contextlib
import warnings


@contextlib.contextmanager
def all_warnings():
    """Every warning of the block, in a list.

    ``warnings.catch_warnings(record=True)`` would ask that each come at its own line, so that nothing is recorded.
    """
    told = []

    def show(message, category, filename, lineno, *_):
        told.append(warnings.WarningMessage(message, category, filename, lineno))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield told
