"""What conversions and decorated functions raise, besides Python's own classes."""

from arrayloom.errors import ArrayloomError, OutOfMemoryError, UnsupportedError

__all__ = ["FrameworkUnavailable", "LossyConversionError", "OutOfMemory"]


class LossyConversionError(ArrayloomError, ValueError):
    """A conversion would change values, and nobody asked for that.

    Cure: the message names the keyword or the cast that makes the loss your own decision.
    """


class FrameworkUnavailable(UnsupportedError, ImportError):  # noqa: N818 - a state, as its callers say it
    """A framework is not installed, or it is and cannot start.

    Cure: the message has the framework's own reason.
    """


class OutOfMemory(OutOfMemoryError):  # noqa: N818 - the name the ladder is known by
    """Memory ran out and nothing on the ladder helped.

    Attributes
    ----------
    report : tuple of str
        What was tried, rung by rung, with what it freed.

    Cure: the message ends with what would have helped.
    """

    def __init__(self, message: str, report: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.report = report
