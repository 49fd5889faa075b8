"""Fallbacks as errors: ``arrayloom.strict()``, ``--strict`` and ``ARRAYLOOM_STRICT``.

The native module asks about a call only where NumPy is about to do it on large arrays, so that being
strict costs the other calls nothing.
"""

import contextlib
from collections.abc import Generator
from contextvars import ContextVar
from typing import Any, cast

import numpy as np

from arrayloom import _ext
from arrayloom.errors import FallbackError, SettingError

__all__ = ["be_strict", "facts", "reasons_of", "strict"]

# What a program can do about a call, by the reason for which NumPy has to do it.
_CURES = {
    "operand": "pass arrays of NumPy's boolean, integer, float or complex dtypes in the machine's byte"
    " order, such as x.astype(np.float64)",
    "loop": "cast the operands to one dtype before, such as x.astype(np.float64)",
    "keyword": "leave the keyword out and do its part in a step of its own",
    "operation": "compose it of NumPy's own ufuncs",
    "errstate": "let np.errstate warn or ignore there",
    "delegated": "nothing is lost, since native code would do no better",
}
# Those that `FallbackWarning` is about.
_FALLBACKS = frozenset(_CURES) - {"delegated"}


class _State:
    """What is refused outside of all blocks."""

    everywhere: frozenset[str] = frozenset()


# What is refused in the innermost block of this thread or task; None outside.
_refused: ContextVar[frozenset[str] | None] = ContextVar("arrayloom_strict", default=None)


def reasons_of(text: str) -> frozenset[str]:
    """Give the reasons that a text names, separated by commas; ``1`` is all that are fallbacks, ``0`` none.

    Raises
    ------
    SettingError
        If there is no such reason.

    Examples
    --------
    >>> sorted(reasons_of("loop,keyword"))
    ['keyword', 'loop']
    """
    if text.strip() in {"0", "1"}:
        return _FALLBACKS if text.strip() == "1" else frozenset()
    named = frozenset(word.strip() for word in text.split(","))
    unknown = sorted(named - frozenset(_CURES))
    if unknown:
        message = f"{unknown[0]!r} is no reason for a fallback; there are {', '.join(_CURES)}"
        raise SettingError(message)
    return named


def be_strict(text: str) -> None:
    """Refuse fallbacks in the whole process from now on, for the reasons of a text."""
    _State.everywhere = reasons_of(text)
    _ext.refuse_fallbacks(_judge)


@contextlib.contextmanager
def strict(*reasons: str) -> Generator[None]:
    """Make fallbacks to NumPy errors in a ``with`` block, in this thread or task.

    A fallback is a call on large arrays that is not accelerated in that form, and of which
    `FallbackWarning` would tell. The error comes instead of the call.

    Parameters
    ----------
    *reasons : str
        The reasons that are errors: ``operand`` (a dtype or type), ``loop`` (a combination of dtypes),
        ``keyword``, ``operation``, ``errstate``; all of these without arguments. ``delegated`` is work
        that NumPy's own code does best, which otherwise is no fallback. Other reasons are none in
        this block, also if one around it or ``--strict`` says so.

    Raises
    ------
    FallbackError
        In the block, by the call that would fall back.
    SettingError
        If there is no such reason.

    Examples
    --------
    >>> import arrayloom as np
    >>> a = np.ones(100_000)
    >>> with np.strict():
    ...     b = (a + 1) * 2
    >>> with np.strict("operand"):
    ...     a + np.longdouble(1)
    Traceback (most recent call last):
        ...
    arrayloom.errors.FallbackError: ...
    """
    refused = reasons_of(",".join(reasons) or "1")
    _ext.refuse_fallbacks(_judge)
    before = _refused.set(refused)
    try:
        yield
    finally:
        _refused.reset(before)


def facts(operand: object) -> tuple[str, tuple[int, ...]]:
    """Give the dtype and the shape of an operand; of one that is no array, the name of its type."""
    if isinstance(operand, (np.ndarray, np.generic)):
        array = cast("np.ndarray[tuple[int, ...], Any]", operand)
        return str(array.dtype), array.shape
    return type(operand).__name__, ()


def _judge(
    op: str, reason: str, why: str, file: str, line: int, operands: tuple[object, ...]
) -> FallbackError | None:
    """Give the error that a call is, or None; the native module raises it, so no line of ours shows."""
    refused = _refused.get()
    if reason not in (_State.everywhere if refused is None else refused):
        return None
    arrays = [facts(each) for each in operands]
    of = ", ".join(f"{dtype} {shape}" if shape else dtype for dtype, shape in arrays)
    message = (
        f"{op} of {of} would run in NumPy at {file}:{line}: {why} ({reason}); {_CURES[reason]},"
        " or do not name this reason in strict"
    )
    return FallbackError(
        message,
        op=op,
        reason=reason,
        dtypes=tuple(dtype for dtype, _ in arrays),
        shapes=tuple(shape for _, shape in arrays),
        file=file,
        line=line,
    )
