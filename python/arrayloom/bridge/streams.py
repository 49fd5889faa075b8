"""The order of work on devices: who waits for whom when memory changes hands.

Rules are data over the operations of a driver: record an event, let a stream wait for one, wait on the
host. Devices without streams that others could name, such as OpenCL's, are waited for.
"""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

from arrayloom.bridge import drivers
from arrayloom.bridge.planning import place_of
from arrayloom.bridge.registry import Array, FrameworkSpec, Options

__all__ = ["check_stream", "current", "hand_over", "order", "own_order", "stream"]

# Families whose arrays belong to a stream.
_ORDERED = frozenset({"cuda", "rocm"})
_USUAL = Options()


def is_ordered(place: str) -> bool:
    """Whether arrays of a device belong to a stream."""
    return place.partition(":")[0] in _ORDERED


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


def hand_over(place: str, produced_on: int, used_on: int | None) -> str:
    """Order a consumer behind a producer's stream.

    Parameters
    ----------
    place : str
        The device, such as 'cuda:0'.
    produced_on : int
        The producer's stream.
    used_on : int or None
        The consumer's; None for a consumer that takes no stream, which is waited for on the host.

    Returns
    -------
    str
        'host' for a wait on the host, 'event' for an event, 'same' where nothing is needed.
    """
    if used_on is None:
        drivers.driver(place).synchronize(place, produced_on)
        return "host"
    if produced_on == used_on:
        return "same"
    work = drivers.driver(place)
    work.wait(place, used_on, work.record(place, produced_on))
    return "event"


def order(
    x: Array, source: FrameworkSpec, target: FrameworkSpec, place: str, options: Options
) -> str:
    """Order the target's work behind what the source still does to an array, before it changes hands.

    Returns
    -------
    str
        'none' where no order is asked for or needed, 'producer' where the producer's export waits, or lets
        the consumer's stream wait, 'host' for a wait on the host.
    """
    family = place.partition(":")[0]
    if not is_ordered(place):
        if source.hooks.synchronize is not None and family != "cpu":
            source.hooks.synchronize(x)
            return "host"
        return "none"
    asked = options.stream if options.stream is not None else current(place)
    if asked == -1:
        return "none"
    if asked is not None:
        check_stream(family, asked)
    if target.asks_stream and source.orders_exports:
        return "producer"
    produced_on = _of(source, place)
    if produced_on is None:
        # It manages its streams by itself: its value is waited for.
        if source.hooks.synchronize is not None:
            source.hooks.synchronize(x)
        return "host"
    return hand_over(place, produced_on, None)


def order_usual(x: Array, source: FrameworkSpec, target: FrameworkSpec, place: str) -> None:
    """Order work as :func:`order` does for a conversion without keywords."""
    order(x, source, target, place, _USUAL)


def _of(spec: FrameworkSpec, place: str) -> int | None:
    return None if spec.hooks.stream is None else spec.hooks.stream(place)


@contextmanager
def own_order(spec: FrameworkSpec, place: str | None) -> Generator[tuple[int | None, int | None]]:
    """Run a block on this thread's own stream of a device, in order with the caller's work.

    The own stream waits for what the caller's stream has to do; afterwards the caller's waits for it.
    Nothing happens for the host, and for frameworks that take no stream. Yields the caller's stream and
    the own one, or twice None.
    """
    streamed = place is not None and is_ordered(place)
    caller = _of(spec, place) if place is not None and streamed else None
    if place is None or caller is None or spec.hooks.enter is None:
        yield None, None
        return
    named = current(place)
    mine = drivers.own_stream(place) if named in (None, -1) else named
    hand_over(place, caller, mine)
    with spec.hooks.enter(place, mine):
        yield caller, mine
    hand_over(place, mine, caller)


def inside(spec: FrameworkSpec, place: str, options: Options) -> AbstractContextManager[Any]:
    """Make a device, and the stream that was asked for, the framework's current ones in a block."""
    if spec.hooks.enter is None or not is_ordered(place):
        return nullcontext()
    asked = options.stream if options.stream is not None else current(place)
    return spec.hooks.enter(place, None if asked == -1 else asked)


# Devices and streams that the blocks around a call name, the innermost last.
NAMED: ContextVar[tuple[tuple[str, int], ...]] = ContextVar("arrayloom_streams", default=())


@contextmanager
def stream(device: str, handle: int) -> Generator[None]:
    """Use a stream of a device for the conversions inside the block.

    Parameters
    ----------
    device : str
        Such as 'cuda:0'.
    handle : int
        The stream's number by the array API's rules.

    Raises
    ------
    ValueError
        A device whose family has no streams.
    BufferError
        A number that the rules forbid.

    Examples
    --------
    >>> with stream("cuda:0", 7):
    ...     current("cuda:0")
    7
    """
    place = place_of(device) or "cpu"
    if not is_ordered(place) and place != "cpu":
        msg = f"{place} has no streams that could be named; {', '.join(sorted(_ORDERED))} have"
        raise ValueError(msg)
    number = check_stream(place.partition(":")[0], handle)
    token = NAMED.set((*NAMED.get(), (place, -1 if number is None else number)))
    try:
        yield
    finally:
        NAMED.reset(token)


def current(device: str) -> int | None:
    """Return the stream that the innermost ``stream`` block names for a device, or None."""
    for place, handle in reversed(NAMED.get()):
        if place == device:
            return handle
    return None
