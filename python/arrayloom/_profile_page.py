"""The page of ``--html``: the profile as one file of HTML with its own styles and drawings.

Nothing is fetched and no script runs; all text of the program is escaped.
"""

from collections.abc import Iterable, Sequence
from html import escape

from arrayloom._journal import Event
from arrayloom._native import Fallback, Stats
from arrayloom._page_style import STYLE
from arrayloom._profile import counters
from arrayloom._text import human_bytes

__all__ = ["profile_page"]

_WIDTH, _HEIGHT, _SLICES = 960, 60, 240


def profile_page(stats: Stats, seconds: float, events: Sequence[Event] = ()) -> str:
    """Write the report as a page.

    Parameters
    ----------
    stats : Stats
        The figures.
    seconds : float
        How long the program took.
    events : sequence of Event, optional
        What ran when, counted from the start of the program; for a drawing.

    Examples
    --------
    >>> from arrayloom._native import Stats
    >>> profile_page(Stats(), 1.5).startswith("<!doctype html>")
    True
    """
    inside, kernels = stats.times.get("flush_seconds", 0.0), stats.times.get("device_seconds", 0.0)
    parts = [
        "<h1>arrayloom profile</h1>",
        f"<p>{seconds:.3f} s, of which {inside:.3f} s in arrayloom, {kernels:.3f} s of that in kernels</p>",
        _timeline(seconds, events),
        _operations(stats),
        _left_to_numpy("Ran in NumPy", stats.fallbacks),
        _left_to_numpy("Done by NumPy's own code", stats.delegated),
        _reasons(stats),
        "<h2>Counters</h2>",
        _table(("counter", "value"), counters(stats), numbers={1}),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>arrayloom profile</title><style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body></html>\n"
    )


def _timeline(seconds: float, events: Sequence[Event]) -> str:
    """Draw for each slice of time which part of it recorded operations ran."""
    lists = [event for event in events if not event.kernels]
    if not lists or seconds <= 0:
        return ""
    step = seconds / _SLICES
    busy = [0.0] * _SLICES
    for event in lists:
        start, end = max(event.start, 0.0), min(event.start + event.seconds, seconds)
        for at in range(int(start / step), min(int(end / step), _SLICES - 1) + 1):
            busy[at] += max(0.0, min(end, (at + 1) * step) - max(start, at * step))
    width = _WIDTH / _SLICES
    bars = "".join(
        f'<rect class="bar" x="{at * width:.1f}" y="{_HEIGHT - height:.1f}" width="{width:.1f}"'
        f' height="{height:.1f}"/>'
        for at, height in ((at, _HEIGHT * min(part / step, 1.0)) for at, part in enumerate(busy))
        if height > 0
    )
    return (
        f"<h2>When recorded operations ran</h2><p>{len(lists)} lists in {seconds:.3f} s, from left to"
        f' right</p><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="part of each moment in which'
        f' recorded operations ran"><rect class="back" width="{_WIDTH}" height="{_HEIGHT}"/>{bars}</svg>'
    )


def _operations(stats: Stats) -> str:
    rows = sorted(stats.ops, key=lambda row: (-row.seconds, -row.calls, row.op))
    if not rows:
        return "<p>Nothing was accelerated: no array was large enough, or lazy mode is off.</p>"
    most = max(row.seconds for row in rows) or 1.0
    head = ("operation", "calls", "seconds", "moved")
    lines = [
        (row.op, str(row.calls), f"{row.seconds:.4f}", human_bytes(row.nbytes)) for row in rows
    ]
    bars = [_bar(row.seconds / most) for row in rows]
    return "<h2>Operations</h2>" + _table(head, lines, numbers={1, 2, 3}, drawings=bars)


def _bar(share: float) -> str:
    return (
        '<svg viewBox="0 0 200 12" width="200" height="12" aria-hidden="true"><rect class="back"'
        f' width="200" height="12"/><rect class="bar" width="{200 * share:.1f}" height="12"/></svg>'
    )


def _left_to_numpy(title: str, rows: Iterable[Fallback]) -> str:
    worst = sorted(rows, key=lambda row: (-row.calls, row.op, row.file, row.line))
    if not worst:
        return ""
    lines = [(row.op, str(row.calls), f"{row.file}:{row.line}", row.reason) for row in worst]
    head = ("operation", "calls", "line", "reason")
    return f"<h2>{escape(title)}</h2>" + _table(head, lines, numbers={1})


def _reasons(stats: Stats) -> str:
    if not stats.reasons:
        return ""
    rows = sorted(stats.reasons.items(), key=lambda row: (-row[1], row[0]))
    lines = [(why, str(times)) for why, times in rows]
    return "<h2>Not on the backend</h2>" + _table(("reason", "times"), lines, numbers={1})


def _table(
    head: Sequence[str],
    lines: Sequence[Sequence[str]],
    *,
    numbers: set[int],
    drawings: Sequence[str] = (),
) -> str:
    """Give a table of texts, and of a drawing at the end of each line."""
    side = [' class="n"' if at in numbers else "" for at in range(len(head))]
    titles = "".join(
        f"<th{kind}>{escape(text)}</th>" for kind, text in zip(side, head, strict=True)
    )
    rows = [
        "".join(
            f"<td{kind}><code>{escape(text)}</code></td>"
            for kind, text in zip(side, line, strict=True)
        )
        for line in lines
    ]
    if drawings:
        titles += "<th></th>"
        rows = [f"{row}<td>{drawn}</td>" for row, drawn in zip(rows, drawings, strict=True)]
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>\n{body}\n</tbody></table>"
