"""``arrayloom.verify()`` and ``--verify``: each operation is done in NumPy too, and the first that differs is an error."""

import contextlib
from collections.abc import Generator

from arrayloom._verify.check import Checker
from arrayloom._verify.judge import Tolerance, tolerance_of
from arrayloom._verify.tally import Tally
from arrayloom._verify.watch import Watch

__all__ = ["Tally", "verify"]


@contextlib.contextmanager
def verify(tolerance: float | str | None = None) -> Generator[Tally]:
    """Do each operation in a ``with`` block in NumPy as well, and stop at the first that differs.

    Every result is computed at once, so nothing is fused and the block takes a multiple of its time. It holds
    for the whole process.

    Parameters
    ----------
    tolerance : float or str, optional
        How far values may be apart, relative to NumPy's, or ``"bitwise"`` for equal bits. Without it
        elementary functions may differ in the last places.

    Returns
    -------
    Tally
        What was compared and what could not be; ``print`` it behind the block.

    Raises
    ------
    VerifyError
        In the block, by the operation that differs.
    SettingError
        If the tolerance is no number from 0 to 1.

    Examples
    --------
    >>> import arrayloom as np
    >>> a = np.ones(100_000)
    >>> with np.verify() as report:
    ...     b = (a + 1).sum()
    >>> print(report)
    arrayloom verify: verified 2 operations (2 functions), all equal
    """
    allowed = Tolerance() if tolerance is None else tolerance_of(str(tolerance)) or Tolerance(0.0)
    checker = Checker(allowed)
    watch = Watch(checker)
    watch.begin()
    try:
        yield checker.tally
    finally:
        watch.end()
