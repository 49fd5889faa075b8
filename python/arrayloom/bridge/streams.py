"""The order of work on devices: who waits for whom when memory changes hands.

Rules are data over three operations of a driver: record an event, let a stream wait for one, wait on
the host. A driver is any object with these methods, so the rules are tested without a device.
"""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

__all__ = ["Driver", "check_stream", "current", "hand_over", "stream"]

# Frameworks that take no stream when they import: the producer must have finished.
_WAITS_ON_HOST = frozenset({"tensorflow"})
# Frameworks whose exports wait by themselves for the stream that the consumer names.
_ORDERS_ITSELF = frozenset({"torch", "cupy", "jax"})


class Driver(Protocol):
    """What a device's driver must offer."""

    def record(self, stream: int) -> Any:  # noqa: ANN401 - an event of the driver's own kind
        """Record an event on a stream."""
        ...

    def wait(self, stream: int, event: Any) -> None:  # noqa: ANN401 - see above
        """Let a stream wait for an event."""
        ...

    def synchronize(self, stream: int) -> None:
        """Wait on the host until a stream is done."""
        ...


def check_stream(family: str, number: int | None) -> int | None:
    """Judge a stream number by the array API's rules.

    Parameters
    ----------
    family : str
        'cpu', 'cuda' or 'rocm'.
    number : int or None
        CUDA: None or 1 legacy default, 2 per-thread default, larger a handle, -1 no order, 0 forbidden.
        ROCm: 0 default, 1 and 2 forbidden. The host has none.

    Returns
    -------
    int or None
        The stream to wait on; None for no order.

    Raises
    ------
    BufferError
        A number that the rules forbid.

    Examples
    --------
    >>> check_stream("cuda", None), check_stream("cuda", -1)
    (1, None)
    """
    forbidden = {"cuda": (0,), "rocm": (1, 2)}.get(family, ())
    if family == "cpu" and number not in (None, -1):
        msg = f"memory of the host has no stream {number}; pass None"
        raise BufferError(msg)
    if number in forbidden or (number is not None and number < -1):
        msg = f"stream {number} is not allowed for {family}"
        raise BufferError(msg)
    if family == "cpu" or number == -1:
        return None
    if number is None:
        return 1 if family == "cuda" else 0
    return number


def hand_over(driver: Driver, source: str, target: str, produced_on: int, used_on: int) -> str:
    """Order a consumer's stream behind a producer's.

    Parameters
    ----------
    driver : Driver
        Of the device.
    source, target : str
        Kinds of the producer and the consumer.
    produced_on, used_on : int
        Their streams.

    Returns
    -------
    str
        'host' for a wait on the host, 'event' for an event, 'same' where nothing is needed.
    """
    if target in _WAITS_ON_HOST or source in _WAITS_ON_HOST:
        driver.synchronize(produced_on)
        return "host"
    if produced_on == used_on:
        return "same"
    driver.wait(used_on, driver.record(produced_on))
    return "event"


def exports_in_order(source: str) -> bool:
    """Whether a framework's ``__dlpack__(stream=...)`` orders itself behind its own work."""
    return source in _ORDERS_ITSELF


_streams: ContextVar[tuple[tuple[str, int], ...]] = ContextVar("arrayloom_streams", default=())


@contextmanager
def stream(device: str, handle: int) -> Generator[None]:
    """Use a stream of a device for the conversions inside the block.

    Parameters
    ----------
    device : str
        Such as 'cuda:0'.
    handle : int
        The stream's number by the array API's rules.

    Examples
    --------
    >>> with stream("cuda:0", 7):
    ...     current("cuda:0")
    7
    """
    number = check_stream(device.partition(":")[0], handle)
    token = _streams.set((*_streams.get(), (device, -1 if number is None else number)))
    try:
        yield
    finally:
        _streams.reset(token)


def current(device: str) -> int | None:
    """Return the stream that the innermost ``stream`` block names for a device, or None."""
    for place, handle in reversed(_streams.get()):
        if place == device:
            return handle
    return None
