"""What ran when, and how often each line called what, as typed records of the native module's journal."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from arrayloom import _ext

__all__ = ["Calls", "Event", "Journal", "start_journal", "take_journal"]

# An operation, the file and line that called it, and how often.
Calls = Sequence[tuple[str, str, int, int]]


@dataclass(frozen=True)
class Event:
    """The recorded list, or one pass of it over memory, that ran.

    Attributes
    ----------
    start, seconds : float
        When it began, counted from the start of the journal, and how long it took.
    kernels : int
        Kernels of the pass; 0 for the whole list, whose time has planning in it.
    operations : int
        How many there were.
    named : tuple of (str, str, int)
        The first of a pass, with file and line.
    """

    start: float
    seconds: float
    kernels: int
    operations: int
    named: tuple[tuple[str, str, int], ...]


@dataclass(frozen=True)
class Journal:
    """Calls, events in the order of their ends, and how many events found no room."""

    calls: Calls = ()
    events: tuple[Event, ...] = ()
    lost: int = 0

    def events_after(self, start: float) -> tuple[Event, ...]:
        """Give the events with times that count from `start`."""
        return tuple(replace(event, start=event.start - start) for event in self.events)


def start_journal() -> None:
    """Start a journal, or start it anew."""
    _ext.keep_journal(True)  # noqa: FBT003 - positional only


def take_journal() -> Journal:
    """Give what has come to the journal, and go on with an empty one."""
    calls, events, lost = _ext.take_journal()
    return Journal(
        calls,
        tuple(
            Event(
                each["start"],
                each["seconds"],
                each["kernels"],
                each["operations"],
                tuple(each["named"]),
            )
            for each in events
        ),
        lost,
    )
