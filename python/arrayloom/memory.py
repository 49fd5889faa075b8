"""Memory of arrays: limits, reuse, scopes, reports.

arrayloom keeps the memory of large arrays in one growing range. Freed blocks wait there for the next
array, of whatever size. A limit bounds what is in use; what does not fit under it is moved to a file
and stays readable (``ARRAYLOOM_SPILL=0`` turns that off). Arrays below ``ARRAYLOOM_MIN_BYTES`` are
NumPy's own and do not count.

Sizes are bytes, as numbers or as texts: ``"2GiB"``, ``"500MB"``, or a share of main memory, ``"50%"``.

Examples
--------
>>> import arrayloom as np
>>> from arrayloom import memory
>>> with memory.scope("step") as step:
...     a = np.ones((1000, 1000))
...     total = float((a + 1).sum())
>>> total, step.allocated >= a.nbytes, step.leaked == a.nbytes
(2000000.0, True, True)
"""

import bisect
import inspect
import itertools
import math
import os
import threading
from numbers import Integral, Real
from operator import itemgetter
from types import TracebackType
from typing import Self

from arrayloom import _ext
from arrayloom._memory_report import DeviceUse, Owner, Report, Rung, report
from arrayloom._memory_scopes import Cache, Scope, cached, reserved, scope, uncached
from arrayloom._memory_trace import Replay, replay_steps, save_trace
from arrayloom._text import human_bytes
from arrayloom.errors import SettingError

__all__ = [
    "Cache",
    "DeviceUse",
    "Limit",
    "Owner",
    "Replay",
    "Report",
    "Rung",
    "Scope",
    "cached",
    "free",
    "limit",
    "replay",
    "report",
    "save_trace",
    "scope",
    "trim",
    "uncached",
]


_ADDRESSES = 1 << 63
_PART = "a limit of {} bytes is no whole number; with a unit, such as '1.5GiB', it is one of bytes"


def _is_part(text: str) -> bool:
    """Tell whether a text is a number without a unit that is not whole."""
    try:
        return not float(text).is_integer()
    except (ValueError, OverflowError):
        return False


def _amount(size: int | str | None) -> int | None:
    if size is None:
        return None
    if isinstance(size, str):
        if _is_part(size):
            raise SettingError(_PART.format(size))
        try:
            return _ext.memory_amount(size)
        except ValueError as error:
            raise SettingError(str(error)) from None
    number = isinstance(size, Integral) or (isinstance(size, Real) and math.isfinite(size))
    if not number or isinstance(size, bool):
        message = f"a limit is bytes, a text such as '2GiB', or None, not {size!r}"
        raise SettingError(message)
    if size != int(size):
        raise SettingError(_PART.format(size))
    if not 0 <= size < _ADDRESSES:
        what = "less than none" if size < 0 else "more than there are addresses for"
        message = f"a limit of {size} bytes is {what}; give bytes, a text, or None"
        raise SettingError(message)
    return int(size)


# Blocks that are open, in the order in which their limits were set, with the number of each limit.
_open: "list[tuple[int, Limit]]" = []
_numbers = itertools.count()
_lock = threading.RLock()
# A fork waits for whoever holds it: the child has no thread that would let go.
os.register_at_fork(
    before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
)


class Limit:
    """A limit that was set. As a context it puts the earlier one back at its end.

    Where blocks of several threads overlap, the limit is that of the block that began last of those
    that are open.

    Attributes
    ----------
    nbytes, before : int or None
        Bytes of the limit, and of the one that comes back at the end of the block; None for no limit.
    device : str
        Whose memory it is.
    """

    def __init__(self, nbytes: int | None, device: str = "cpu") -> None:
        self.nbytes = nbytes
        self.device = device
        with _lock:
            self.before = _ext.memory_limit(nbytes, device)
            self._number = next(_numbers)

    def __enter__(self) -> Self:
        with _lock:
            bisect.insort(_open, (self._number, self), key=itemgetter(0))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with _lock:
            _open.remove((self._number, self))
            later = (at for n, at in _open if n > self._number and at.device == self.device)
            follower = next(later, None)
            if follower is None:
                _ext.memory_limit(self.before, self.device)
            else:
                # Its limit stays, and what this block was to put back is left to it.
                follower.before = self.before

    def __repr__(self) -> str:  # pyright: ignore[reportImplicitOverride] - `override` is of Python 3.12
        return f"Limit({'none' if self.nbytes is None else human_bytes(self.nbytes)})"


def limit(size: int | str | None, device: str = "cpu") -> Limit:
    """Bound the memory of arrays: as a setting, or within a ``with`` block.

    Parameters
    ----------
    size : int, str or None
        Bytes that may be in use; None for no limit.
    device : str
        Whose memory: ``"cpu"``, or the name of the backend in use, whose own memory it bounds then.
        Values that do not fit there stay in main memory, kernels run in boxes of rows, or on the CPU.

    Returns
    -------
    Limit
        A context that puts the earlier limit back.

    Raises
    ------
    SettingError
        For what is no amount of memory, or a device that is not in use.

    Examples
    --------
    >>> with limit("512MiB"):
    ...     report().limit
    536870912
    """
    nbytes = _amount(size)
    try:
        return Limit(nbytes, device)
    except ValueError as error:
        raise SettingError(str(error)) from None


def replay(trace: str | os.PathLike[str], limit: int | str | None = None) -> Replay:
    """Repeat the requests of a trace without any memory, and tell what they would take under a limit.

    Parameters
    ----------
    trace : path
        A file of `save_trace`.
    limit : int, str or None
        Bytes that may be in use; None for no limit. Requests beyond it are left out and counted.

    Returns
    -------
    Replay
        Peak, what is taken from the system, requests, and those that were refused.

    Raises
    ------
    SettingError
        For what is no amount of memory.
    ValueError
        For a file that is no trace.

    Examples
    --------
    >>> import tempfile
    >>> import arrayloom as np
    >>> total = float((np.ones((500, 500)) + 1).sum())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_trace(f"{folder}/trace")
    ...     replay(f"{folder}/trace", "1GiB").refused
    0
    """
    return replay_steps(trace, _amount(limit))


def trim() -> int:
    """Give memory that waits for reuse back to the system; return the number of bytes.

    While a cache is open nothing is given back: that is what it is for.

    Examples
    --------
    >>> trim() >= 0
    True
    """
    return 0 if reserved() else _ext.trim()


def free(array: object) -> bool:
    """Give the memory of an array back now, though the array is still there.

    Every later use, also through views, raises ``ValueError`` with the line of this call. A plain NumPy
    array, or one that was freed before, is left as it is.

    Returns
    -------
    bool
        Whether memory was given back.

    Examples
    --------
    >>> import arrayloom as np
    >>> a = np.zeros((1000, 1000))
    >>> free(a), free(a)
    (True, False)
    """
    caller = inspect.currentframe()
    caller = caller.f_back if caller else None
    place = f"{caller.f_code.co_filename}:{caller.f_lineno}" if caller else "an unknown line"
    return _ext.memory_free(array, place)
