"""What the events of a run say of it, when it is over or was interrupted."""

import json
import math
import os
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, cast

from arrayloom._text import human_bytes
from arrayloom._volumes.page import run_page

__all__ = ["RunReport", "report"]


class RunReport:
    """A run by its events; ``print(report)`` tells it in words, and notebooks show its page.

    Parameters
    ----------
    events
        The events, of which the first one that tells a plan counts.
    """

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self.events = events

    def _of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event.get("t") == kind]

    @cached_property
    def plan(self) -> dict[str, Any]:
        """What the run was: ``target``, ``shape``, ``dtype``, ``limit`` and others."""
        found = self._of("plan")
        return found[0] if found else {}

    @cached_property
    def _done(self) -> list[dict[str, Any]]:
        return [event for event in self._of("block") if event["s"] == "done"]

    @cached_property
    def _end(self) -> dict[str, Any]:
        found = self._of("end")
        return found[0] if found else {}

    @property
    def state(self) -> str:
        """``done``, ``stopped``, ``failed``, or ``interrupted`` if the process ended before the run told its end."""
        return str(self._end.get("s", "interrupted"))

    @property
    def blocks(self) -> int:
        """Blocks that were written."""
        return len(self._done)

    @property
    def seconds(self) -> float:
        """Seconds from the first to the last event."""
        return float(self.events[-1]["at"]) if self.events else 0.0

    @property
    def nbytes(self) -> int:
        """Bytes of the result that this run wrote."""
        boxes = (zip(event["lo"], event["hi"], strict=True) for event in self._done)
        voxels = sum(math.prod(hi - lo for lo, hi in box) for box in boxes)
        return voxels * int(self.plan.get("itemsize", 0))

    @property
    def mb_per_second(self) -> float:
        """Millions of bytes of the result that were written in a second."""
        return self.nbytes / 1e6 / max(self.seconds, 1e-9)

    @property
    def peak(self) -> int:
        """Most bytes of buffers that were in use; of one task, on a cluster."""
        used = [event["used"] for event in self._of("mem")]
        return int(max([*used, self._end.get("peak", 0)]))

    @property
    def retries(self) -> int:
        """How often memory ran out, and what was left was cut into smaller blocks."""
        told = sum(event["s"] == "retried" for event in self._of("block"))
        return max(told, int(self._end.get("halved", 0)))

    @cached_property
    def stages(self) -> dict[str, float]:
        """Seconds of all workers by stage: ``reading and computing``, as far as writing did not hide it, and ``writing``."""
        writing = math.fsum(event.get("write", 0) for event in self._done) / 1e3
        turns = math.fsum(event["ms"] for event in self._done) / 1e3
        return {"reading and computing": turns - writing, "writing": writing}

    @property
    def bottleneck(self) -> str:
        """The stage that took most of the time; reading where no processor was busy for half of it."""
        waiting, writing = self.stages.values()
        if not self._done:
            return "nothing was written"
        if writing > waiting:
            return "writing"
        if self.plan.get("threads") is None:
            return "reading and computing"
        busy = math.fsum(event.get("cpu", 0) for event in self._done) / 1e3
        return "computing" if 2 * busy > self._done[-1]["at"] - self.plan["at"] else "reading"

    def __str__(self) -> str:  # pyright: ignore[reportImplicitOverride]
        plan, error = self.plan, self._end.get("error")
        shape = tuple(plan.get("shape", ()))
        lines = [
            f"{plan.get('target', 'no plan')}: {shape} {plan.get('dtype', '')}, {self.state}",
            f"blocks      {self.blocks:,} in {self.seconds:.2f} s",
            f"rate        {self.mb_per_second:,.1f} MB/s",
            f"bottleneck  {self.bottleneck}",
            f"memory      {human_bytes(self.peak)} of {human_bytes(plan.get('limit', 0))}",
            f"retries     {self.retries}",
            *([f"error       {error}"] if error else []),
        ]
        return "\n".join(lines)

    def _page(self) -> str:
        return run_page([json.dumps(event) for event in self.events])

    def html(self, path: str | os.PathLike[str]) -> None:
        """Write the page of the run, which stands alone: blocks, memory, rate, stages and devices."""
        Path(path).write_text(self._page(), encoding="utf-8")

    def _repr_html_(self) -> str:
        # A frame without the rights of the notebook.
        page = escape(self._page(), quote=True)
        return (
            f'<iframe sandbox="allow-scripts" style="width: 100%; height: 900px; border: 0" '
            f'srcdoc="{page}"></iframe>'
        )


def report(path: str | os.PathLike[str]) -> RunReport:
    """What a run told that was saved with ``events=path``; it may have been interrupted, or still go on.

    Parameters
    ----------
    path
        The file of events.

    Raises
    ------
    ValueError
        If something else is in the file, or no event.

    Examples
    --------
    >>> import numpy as np, tempfile, os
    >>> from arrayloom import volumes
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name, events = os.path.join(folder, "out.npy"), os.path.join(folder, "run.jsonl")
    ...     facts = volumes.save(name, np.zeros((9, 9)), events=events)
    ...     found = report(events)
    >>> found.state, found.blocks == facts["blocks"], found.nbytes
    ('done', True, 648)
    """
    file = Path(path)
    lines = file.read_bytes().splitlines(keepends=True)
    # A process that was killed may have torn its last line.
    whole = [line for line in lines if line.endswith(b"\n")]
    events: list[dict[str, Any]] = []
    for number, line in enumerate(whole, 1):
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if not isinstance(event, dict) or not {"t", "at"} <= event.keys():
            message = f"line {number} of {file} is no event of a run; give a file that save(..., events=) wrote"
            raise ValueError(message)
        events.append(cast("dict[str, Any]", event))
    if not events:
        what = "has no whole line" if lines else "is empty"
        message = (
            f"{file} {what}, and so no event of a run; give a file that save(..., events=) wrote"
        )
        raise ValueError(message)
    return RunReport(events)
