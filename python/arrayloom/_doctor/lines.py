"""The report of ``--line-profile``: of each line how often it called what, how long it took, and what it made run."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from arrayloom import _native
from arrayloom._coverage import coverage_rows
from arrayloom._doctor.source import Source
from arrayloom._doctor.watch import Watch
from arrayloom._doctor.watched import Watched
from arrayloom._native import Stats
from arrayloom._text import short_path, table

__all__ = ["Line", "LineProfile", "lines_json", "lines_of", "lines_text"]

# Lines without calls on large arrays are left out if they take less than this part of the time.
_LEAST = 0.01
_TEXT = 60

_Place = tuple[str, int]


@dataclass(frozen=True)
class Line:
    """What one line did.

    Attributes
    ----------
    file, line, text : str, int, str
        Where, and its source if that is known.
    calls, accelerated : int, int
        Calls on large arrays, and those of them that were recorded or done by native code.
    seconds : float
        How long the program was in it, from samples, with what it calls.
    computed : float
        How long passes over memory took that had an operation of it in them, in seconds.
    lists : int
        How often the recorded list ran because of it.
    wanted : tuple of str
        The methods that wanted a value then.
    reasons : tuple of str
        Why calls fell back.
    """

    file: str
    line: int
    text: str
    calls: int
    accelerated: int
    seconds: float
    computed: float
    lists: int
    wanted: tuple[str, ...]
    reasons: tuple[str, ...]


class LineProfile(Watched):
    """Watches one run of a program and tells what each of its lines did."""

    def report(self, seconds: float) -> str:  # pyright: ignore[reportImplicitOverride] - `override` is of Python 3.12
        """Give what the lines of a run did that took so long."""
        lines = lines_of(self.watch, _native.stats(), dict(self.sources()), seconds)
        if self.wanted.json:
            return lines_json(self.name, seconds, lines) + "\n"
        return lines_text(self.name, seconds, lines)


def lines_of(
    watch: Watch, stats: Stats, sources: Mapping[str, Source], seconds: float
) -> tuple[Line, ...]:
    """Join calls, samples and lists that ran, by file and line."""
    calls: dict[_Place, tuple[int, int, tuple[str, ...]]] = {}
    for row in coverage_rows(watch.journal.calls, stats):
        seen, accelerated, reasons = calls.get((row.file, row.line), (0, 0, ()))
        more = tuple(why for why in row.reasons if why not in reasons)
        calls[row.file, row.line] = (
            seen + row.calls,
            accelerated + row.accelerated,
            (*reasons, *more),
        )
    lists: dict[_Place, tuple[int, tuple[str, ...]]] = {}
    for site in watch.sites.values():
        place = site.code.co_filename, site.position[0] or 0
        if site.lists:
            count, methods = lists.get(place, (0, ()))
            named = () if site.method in methods else (site.method,)
            lists[place] = (count + site.lists, (*methods, *named))
    computed: dict[_Place, float] = {}
    for event in watch.journal.events:
        if event.kernels:
            for place in {(file, line) for _, file, line in event.named}:
                computed[place] = computed.get(place, 0.0) + event.seconds
    slow = {place for place, took in watch.seconds.items() if took >= _LEAST * seconds}
    found: list[Line] = []
    for file, line in sorted({*calls, *lists, *slow}):
        seen, accelerated, reasons = calls.get((file, line), (0, 0, ()))
        count, methods = lists.get((file, line), (0, ()))
        source = sources.get(file)
        found.append(
            Line(
                file=file,
                line=line,
                text=source.text(line) if source else "",
                calls=seen,
                accelerated=accelerated,
                seconds=watch.seconds_of(file, (line,)),
                computed=computed.get((file, line), 0.0),
                lists=count,
                wanted=methods,
                reasons=reasons,
            )
        )
    return tuple(found)


def lines_json(program: str, seconds: float, lines: Sequence[Line]) -> str:
    """Write the lines as one JSON object."""
    rows = [asdict(line) for line in lines]
    return json.dumps({"line_profile": {"program": program, "seconds": seconds, "lines": rows}})


def lines_text(program: str, seconds: float, lines: Sequence[Line]) -> str:
    """Write the lines as a table for each file."""
    head = (
        f"arrayloom line profile: {program}, {seconds:.2f} s with what watching takes; times of lines come from"
        " samples, with what they call"
    )
    parts = [head if lines else f"{head}\n\nno line took time or called anything on large arrays"]
    for file in dict.fromkeys(line.file for line in lines):
        own = [line for line in lines if line.file == file]
        parts.append(f"{short_path(file)}\n{_table(own, seconds)}")
    return "\n\n".join(parts) + "\n"


def _table(lines: Sequence[Line], seconds: float) -> str:
    head = ("line", "calls", "accelerated", "seconds", "of all", "in passes", "lists", "", "source")
    body = [
        (
            str(line.line),
            str(line.calls),
            f"{100 * line.accelerated / line.calls:.0f} %" if line.calls else "",
            f"{line.seconds:.3f}",
            f"{100 * line.seconds / seconds:.0f} %" if seconds else "",
            f"{line.computed:.3f}",
            str(line.lists),
            _why(line),
            line.text[:_TEXT],
        )
        for line in lines
    ]
    return table(head, body)


def _why(line: Line) -> str:
    """Tell what made the list run, and why calls fell back."""
    wanted = f"for {', '.join(name.strip('_') for name in line.wanted)}" if line.wanted else ""
    return "; ".join(part for part in (wanted, *line.reasons) if part)
