"""How a run is stopped by the program, from any thread."""

import threading

from arrayloom.errors import CancelledError

__all__ = ["CancelToken", "check_token"]


class CancelToken:
    """Stops the runs that it was given to, as ``cancel=`` of `arrayloom.volumes.save`.

    Any thread may call `cancel`, also the function that is given as ``progress=``. A token stays cancelled.

    Examples
    --------
    >>> token = CancelToken()
    >>> token.cancelled
    False
    >>> token.cancel()
    >>> token.cancelled
    True
    """

    def __init__(self) -> None:
        self._event = threading.Event()

    def __repr__(self) -> str:  # pyright: ignore[reportImplicitOverride]
        return f"<CancelToken {'cancelled' if self.cancelled else 'running'}>"

    def cancel(self) -> None:
        """Let runs with this token end behind the block that each worker has; those that are over stay as they are."""
        self._event.set()

    @property
    def cancelled(self) -> bool:
        """True once `cancel` was called."""
        return self._event.is_set()


def check_token(token: object) -> None:
    """Refuse what is no token, and begin nothing for one that is cancelled already.

    Raises
    ------
    CancelledError
        If it is.
    TypeError
        If `token` is something else.
    """
    if token is None:
        return
    if not isinstance(token, CancelToken):
        message = f"cancel={token!r} is no token; give an arrayloom.volumes.CancelToken()"
        raise TypeError(message)
    if token.cancelled:
        message = "the token of this run was cancelled before it began, so nothing was written; give a new one"
        raise CancelledError(message)
