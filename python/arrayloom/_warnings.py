"""Let warnings come inside the block that is about them.

A recorded operation warns when it is computed. ``warnings.catch_warnings`` changes who hears of it, so
everything recorded before such a block is computed before its filters hold, and everything recorded in
the block before they are gone. ``pytest.warns`` and others are built on the same class.
"""

import functools
import warnings
from collections.abc import Callable
from typing import Any

from arrayloom import _ext

__all__ = ["install"]


def _after_flush(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def called(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - any method
        try:
            _ext.flush()
        except BaseException:
            # A filter made the warning an error: the block is left all the same, but not entered.
            if method.__name__ == "__exit__":
                method(*args, **kwargs)
            raise
        return method(*args, **kwargs)

    return called


def install() -> None:
    """Wrap both ends of ``warnings.catch_warnings``."""
    for name in ("__enter__", "__exit__"):
        method = getattr(warnings.catch_warnings, name)
        setattr(warnings.catch_warnings, name, _after_flush(method))
