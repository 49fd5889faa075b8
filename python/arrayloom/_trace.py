"""The file of ``--trace``: what ran and when, in the format of Chrome's tracing, which Perfetto reads."""

import json
import os
from collections.abc import Mapping
from typing import Any

from arrayloom._journal import Event, Journal

__all__ = ["trace_json"]

_NAMED = 4


def trace_json(journal: Journal, start: float, seconds: float) -> str:
    """Write a journal as trace events: slices for the program, each list that ran, and its passes.

    Parameters
    ----------
    journal : Journal
        What ran. Times are those of the machine that calls: for a device that works on by itself, a
        pass takes as long as its launch, and the list as long as its results.
    start, seconds : float
        When the program began, counted from the start of the journal, and how long it took.

    Examples
    --------
    >>> from arrayloom._journal import Event, Journal
    >>> text = trace_json(Journal(events=(Event(0.5, 0.25, 0, 3, ()),)), 0.0, 1.0)
    >>> json.loads(text)["traceEvents"][-1]["dur"]
    250000.0
    """
    names = (("process_name", "arrayloom"), ("thread_name", "recorded operations"))
    slices = [
        *({"name": kind, "ph": "M", **_TRACK, "args": {"name": name}} for kind, name in names),
        _slice("program", "program", start, seconds, {}),
        *(_event(event) for event in sorted(journal.events, key=lambda event: event.start)),
    ]
    for each in slices:
        each["pid"] = os.getpid()
    return json.dumps(
        {
            "traceEvents": slices,
            "displayTimeUnit": "ms",
            "otherData": {"events left out": journal.lost},
        }
    )


# Only one list runs at a time, so that one track has room for all.
_TRACK = {"tid": 1}


def _event(event: Event) -> dict[str, Any]:
    if not event.kernels:
        facts = {"operations": event.operations}
        return _slice("list", "list", event.start, event.seconds, facts)
    names = [op.lstrip("_") for op, _, _ in event.named]
    more = event.operations - min(len(names), _NAMED)
    name = ", ".join(names[:_NAMED]) + (f" and {more} more" if more else "")
    facts = {
        "operations": event.operations,
        "kernels": event.kernels,
        "lines": list(dict.fromkeys(f"{file}:{line}" for _, file, line in event.named)),
    }
    return _slice(name, "pass", event.start, event.seconds, facts)


def _slice(
    name: str, category: str, start: float, seconds: float, facts: Mapping[str, object]
) -> dict[str, Any]:
    """Give a slice of time; the format counts microseconds."""
    return {
        "name": name,
        "cat": category,
        "ph": "X",
        **_TRACK,
        "ts": start * 1e6,
        "dur": seconds * 1e6,
        "args": facts,
    }
