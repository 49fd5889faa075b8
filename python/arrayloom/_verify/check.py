"""One operation as it is and in NumPy alone, and what differs."""

import contextlib
import threading
from collections.abc import Generator, Iterable
from dataclasses import replace
from types import FrameType
from typing import Any, cast

import numpy as np

from arrayloom import _modes
from arrayloom._journal import take_journal
from arrayloom._strict import facts
from arrayloom._verify.arguments import Given, lazies, why_not
from arrayloom._verify.judge import Difference, Tolerance, compare
from arrayloom._verify.operation import Operation
from arrayloom._verify.outcome import Outcome, attempt, users_frame
from arrayloom._verify.tally import Tally
from arrayloom._verify.warned import Warned
from arrayloom.errors import VerifyError

__all__ = ["Checker"]

_Value = Any

# Operands that a message names.
_SHOWN = 6


class Checker:
    """Does operations twice and stops at the first that differs.

    Parameters
    ----------
    tolerance : Tolerance
        How far values may be apart.
    keeps_journal : bool
        Whether a journal is kept, which tells of operations that are not brought here.

    Examples
    --------
    >>> import arrayloom
    >>> checker = Checker(Tolerance())
    >>> a = arrayloom.arange(100_000)
    >>> checker.call(Operation("sum", type(a).sum, np.ndarray.sum, (a,), {}))
    np.int64(4999950000)
    >>> checker.tally.verified
    Counter({'sum': 1})
    """

    def __init__(self, tolerance: Tolerance, *, keeps_journal: bool = False) -> None:
        self.tally = Tally()
        self._tolerance = tolerance
        self._keeps_journal = keeps_journal
        self._warned = Warned()
        self._lock = threading.RLock()
        self._thread = threading.local()

    def call(self, operation: Operation) -> _Value:
        """Do an operation as it is, and NumPy's with copies of the arguments; give the former's result.

        What either calls in turn is not verified by itself.

        Raises
        ------
        VerifyError
            If the outcomes differ.
        """
        if getattr(self._thread, "is_busy", False):
            return operation.done()
        why = operation.why_not()
        if why is not None:
            return self._skip(operation, why)
        frame = users_frame()
        with self._alone():
            mine = self._both(operation, frame)
        return mine.handed_out(frame, self._warned)

    def note_unseen(self) -> None:
        """Count the recorded operations since the last look as unseen."""
        if self._keeps_journal:
            for op, file, line, times in take_journal().calls:
                self.tally.unseen[op.lstrip("_"), file, line] += times

    def _forget(self) -> None:
        """Drop what was recorded since the last look."""
        if self._keeps_journal:
            take_journal()

    def _skip(self, operation: Operation, why: str) -> _Value:
        """Do an operation that cannot be compared; operations that it calls may be."""
        self.note_unseen()
        try:
            value = operation.done()
        finally:
            self._forget()
        if lazies((operation.arguments(), value)):
            self.tally.skipped[operation.name, why] += 1
        return value

    @contextlib.contextmanager
    def _alone(self) -> Generator[None]:
        """Keep other threads out, and leave what is called in this one as it is."""
        with self._lock:
            self.note_unseen()
            self._thread.is_busy = True
            try:
                yield
            finally:
                self._thread.is_busy = False
                self._forget()

    def _both(self, operation: Operation, frame: FrameType | None) -> Outcome:
        """Do an operation both ways, and give what came of it as it is."""
        known = lazies(operation.arguments())
        try:
            given = None if operation.reads else Given(operation.repeated(), copied=True)
        except MemoryError:
            self.tally.skipped[operation.name, "there is no memory for copies"] += 1
            return attempt(operation.done, known, listens=True)
        mine = attempt(operation.done, known, listens=not operation.reads)
        if known or lazies(mine.value):
            with _modes.off():
                given = given or Given(operation.repeated(), copied=False)
                self._judge(operation, given, mine, frame)
        return mine

    def _judge(
        self, operation: Operation, given: Given, mine: Outcome, frame: FrameType | None
    ) -> None:
        """Do NumPy's operation, and raise if the outcomes differ."""
        args, words = given.arguments
        theirs = attempt(lambda: operation.numpys(*args, **words), (), listens=True)
        why = why_not(theirs.value)
        if isinstance(theirs.error, MemoryError):
            why = "NumPy has no memory for it"
        if why is not None:
            self.tally.skipped[operation.name, why] += 1
            return
        found = self._difference(operation, given, mine, theirs)
        if found is None:
            self.tally.verified[operation.name] += 1
            return
        error = _error(operation, found, self._tolerance, frame)
        self.tally.difference = self.tally.difference or error
        raise error

    def _difference(
        self, operation: Operation, given: Given, mine: Outcome, theirs: Outcome
    ) -> Difference | None:
        """Find the first difference: of errors, results, operands and warnings."""
        if mine.error is not None or theirs.error is not None:
            is_same = type(mine.error) is type(theirs.error)
            return None if is_same else _of("error", mine.raised(), theirs.raised(), "raises")
        found = None
        if not given.is_same(mine.value, theirs.value):
            chosen = operation.chosen(given.arguments[1], theirs.value)
            found = self._compare(operation, mine.value, theirs.value, chosen)
        if found is not None or operation.reads:
            return found
        for ours, numpys in given.written():
            found = self._compare(operation, ours, numpys)
            if found is not None:
                return replace(found, kind="operand", text=f"of an operand {found.text}")
        ours, numpys = ("; ".join(each.texts()) or "nothing" for each in (mine, theirs))
        return None if ours == numpys else _of("warning", ours, numpys, "warns of")

    def _compare(
        self, operation: Operation, ours: _Value, numpys: _Value, chosen: _Value | None = None
    ) -> Difference | None:
        return compare(ours, numpys, self._tolerance, sums=operation.sums(), chosen=chosen)


def _of(kind: str, ours: str, numpys: str, does: str) -> Difference:
    return Difference(kind, f"it {does} {ours} where NumPy {does} {numpys}", None, ours, numpys)


def _error(
    operation: Operation, found: Difference, tolerance: Tolerance, frame: FrameType | None
) -> VerifyError:
    """Give the error that tells of a difference."""
    file, line = ("<unknown>", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
    operands = [facts(each) for each in _flat(operation.args)]
    shown = [f"{dtype} {shape}" if shape else dtype for dtype, shape in operands[:_SHOWN]]
    of = ", ".join(shown) + ", ..." * (len(operands) > _SHOWN)
    message = (
        f"{operation.name} of {of} at {file}:{line} is not what NumPy does: {found.text}"
        f" (tolerance: {tolerance}); please report it; with arrayloom.off() around the line NumPy"
        " does it, and --verify=RTOL allows larger differences"
    )
    return VerifyError(
        message,
        op=operation.name,
        kind=found.kind,
        dtypes=tuple(dtype for dtype, _ in operands),
        shapes=tuple(shape for _, shape in operands),
        index=found.index,
        value=found.value,
        expected=found.expected,
        count=found.count,
        largest=found.largest,
        file=file,
        line=line,
    )


def _flat(values: Iterable[_Value]) -> Iterable[_Value]:
    """Give operands, arrays in tuples and lists one by one."""
    for value in values:
        items = cast("list[_Value]", value) if isinstance(value, (tuple, list)) else []
        is_group = any(isinstance(each, np.ndarray) for each in items)
        yield from items if is_group else [value]
