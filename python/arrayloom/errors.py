"""What arrayloom raises and warns about.

Every class inherits the builtin that a caller of NumPy would catch, so existing ``except`` clauses
keep working.
"""

__all__ = [
    "ArrayloomError",
    "BudgetError",
    "CancelledError",
    "DeviceError",
    "DtypeError",
    "EscapedError",
    "FallbackError",
    "FallbackWarning",
    "InternalError",
    "OutOfMemoryError",
    "SettingError",
    "UnsupportedError",
    "VerifyError",
    "WorkerError",
]


class ArrayloomError(Exception):
    """Base of everything that arrayloom itself raises.

    Examples
    --------
    >>> issubclass(SettingError, ArrayloomError) and issubclass(SettingError, ValueError)
    True
    """


class SettingError(ArrayloomError, ValueError):
    """A setting, option or environment variable has a value that cannot be used.

    Cure: the message names the setting and the values it takes.
    """


class UnsupportedError(ArrayloomError, NotImplementedError):
    """Something that this platform or this build cannot do.

    Cure: the message names what is missing; ``python -m arrayloom info`` shows what is there.
    """


class DeviceError(ArrayloomError, RuntimeError):
    """A device failed while it ran recorded operations.

    Cure: ``ARRAYLOOM_LAZY=0`` runs the same program in NumPy alone.
    """


class OutOfMemoryError(ArrayloomError, MemoryError):
    """The memory for a result could not be had, not even after everything else was tried.

    The message has the sizes, the three largest arrays with the lines that made them, and what would
    have helped. What had been tried is in ``arrayloom.memory.report()``.

    Cure: the message names it.
    """


class EscapedError(ArrayloomError, RuntimeError):
    """Arrays outlive a block that was asked to keep none.

    Cure: drop the arrays that the message names before the block ends, or allow them.
    """


class BudgetError(ArrayloomError, MemoryError):
    """A memory limit in which not even the smallest block of a volume fits.

    Cure: the message says the least that works; smaller windows and smaller file chunks need less.
    """


class DtypeError(ArrayloomError, TypeError, RuntimeError):
    """Elements that volumes and filters do not have, such as objects, times and long doubles.

    NumPy would raise a `TypeError`, and filters of SciPy raise a `RuntimeError`.

    Cure: convert them with ``astype`` first.
    """


class CancelledError(ArrayloomError, RuntimeError):
    """A run on a volume was stopped; blocks that were written stay.

    Cure: the same call with ``resume=True`` goes on where it stopped.
    """


class WorkerError(ArrayloomError, RuntimeError):
    """A block of a volume could not be computed or written by the worker that had it.

    ``__cause__`` is the error of the worker.

    Cure: mend what the message names; the same call with ``resume=True`` goes on where it stopped.
    """


class InternalError(ArrayloomError, RuntimeError):
    """A bug of arrayloom; nothing that the caller did.

    Cure: please report it, with the output of ``python -m arrayloom info``.
    """


class FallbackError(ArrayloomError, RuntimeError):
    """A call on large arrays that would run in NumPy itself, where ``strict`` forbids that.

    Cure: the message has one for the reason; ``arrayloom.strict`` and ``--strict`` take the reasons
    that are errors.

    Attributes
    ----------
    op : str
        The operation.
    reason : str
        Why, in one word: ``operand``, ``loop``, ``keyword``, ``operation``, ``errstate`` or ``delegated``.
    dtypes : tuple of str
        The dtypes of the operands; of an operand without one, the name of its type.
    shapes : tuple of tuple of int
        Their shapes.
    file, line : str, int
        The line of the program.
    """

    def __init__(
        self,
        message: str,
        *,
        op: str = "",
        reason: str = "",
        dtypes: tuple[str, ...] = (),
        shapes: tuple[tuple[int, ...], ...] = (),
        file: str = "",
        line: int = 0,
    ) -> None:
        super().__init__(message)
        self.op = op
        self.reason = reason
        self.dtypes = dtypes
        self.shapes = shapes
        self.file = file
        self.line = line


class VerifyError(ArrayloomError, AssertionError):
    """An operation whose outcome is not NumPy's, where ``verify`` compares them.

    Cure: please report it; ``arrayloom.off`` leaves a line to NumPy, and ``--verify=RTOL`` allows larger
    differences.

    Attributes
    ----------
    op : str
        The operation.
    kind : str
        What differs: ``value``, ``dtype``, ``shape``, ``type``, ``operand``, ``warning`` or ``error``.
    dtypes : tuple of str
        The dtypes of the operands; of an operand without one, the name of its type.
    shapes : tuple of tuple of int
        Their shapes.
    index : tuple of int or None
        The first element that differs.
    value, expected : object
        What is there, and what NumPy has.
    count : int
        How many elements differ.
    largest : float
        The largest difference relative to NumPy's value.
    file, line : str, int
        The line of the program.
    """

    def __init__(  # noqa: PLR0913 - as many facts as there are
        self,
        message: str,
        *,
        op: str = "",
        kind: str = "",
        dtypes: tuple[str, ...] = (),
        shapes: tuple[tuple[int, ...], ...] = (),
        index: tuple[int, ...] | None = None,
        value: object = None,
        expected: object = None,
        count: int = 0,
        largest: float = 0.0,
        file: str = "",
        line: int = 0,
    ) -> None:
        super().__init__(message)
        self.op = op
        self.kind = kind
        self.dtypes = dtypes
        self.shapes = shapes
        self.index = index
        self.value = value
        self.expected = expected
        self.count = count
        self.largest = largest
        self.file = file
        self.line = line


class FallbackWarning(RuntimeWarning):
    """An operation on large arrays ran in NumPy itself, for the reason in the message.

    Results are NumPy's own in this case; only speed is lost. It comes once per line of the program.
    A filter that turns all warnings into errors does not apply to it; one that names it does.
    """
