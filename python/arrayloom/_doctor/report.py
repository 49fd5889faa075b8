"""How the findings of ``doctor`` are written: as text of 100 columns, and as JSON."""

import json
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from arrayloom._native import Fallback
from arrayloom._text import human_bytes, short_path

__all__ = ["Finding", "Report", "report_json", "report_text"]

_COLUMNS, _TEXT = 98, 92


@dataclass(frozen=True)
class Finding:
    """Something that keeps a program from being fast.

    Attributes
    ----------
    kind : str
        ``elements``, ``parts``, ``gather``, ``iteration``, ``wanted``, ``fallback``, ``python``, ``objects``,
        ``grows``, ``places`` or ``mpi``.
    file, line, text : str, int, str
        Where, and the line's source if it is known.
    evidence : str
        ``measured`` if it was counted in this run, ``source`` if it was only read in the source.
    what : str
        What it is.
    advice : str
        What is better.
    count, nbytes : int or None
        How often, and bytes of the largest array, where that was counted.
    seconds : float or None
        How long the statement took, from samples, with what it calls; of ``wanted`` the recorded lists.
    """

    kind: str
    file: str
    line: int
    text: str
    evidence: str
    what: str
    advice: str
    count: int | None = None
    nbytes: int | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Report:
    """All that is told of one run.

    Attributes
    ----------
    program : str
        Its name.
    seconds : float
        How long it took, watching included.
    findings : tuple of Finding
        The costliest first.
    left_out : int
        How many more there were.
    delegated : tuple of Fallback
        What NumPy's own code does best; no findings.
    """

    program: str
    seconds: float
    findings: tuple[Finding, ...]
    left_out: int = 0
    delegated: tuple[Fallback, ...] = ()


def report_text(report: Report) -> str:
    """Write a report as plain text."""
    number = len(report.findings) + report.left_out
    took = f"{report.program}, which took {report.seconds:.1f} s with what watching takes"
    if number:
        head = f"{number} finding{'s' * (number > 1)} in {took}"
    else:
        head = f"nothing was found that slows down {took}"
    lines = textwrap.wrap(f"arrayloom doctor: {head}", _COLUMNS, break_long_words=False)
    for at, found in enumerate(report.findings, 1):
        lines += ["", *_finding(at, found, report.seconds)]
    if report.left_out:
        lines += ["", f"... and {report.left_out} more, which cost less"]
    if report.delegated:
        names = sorted({row.op for row in report.delegated})
        text = f"no findings, since NumPy's own code does them best: {', '.join(names)}"
        lines += ["", *textwrap.wrap(text, _COLUMNS)]
    return "\n".join(lines) + "\n"


def _finding(at: int, found: Finding, seconds: float) -> Iterator[str]:
    place = f"{short_path(found.file)}:{found.line}"
    yield f"{at}. {place}"
    if found.text:
        yield f"      {found.text if len(found.text) <= _TEXT else found.text[: _TEXT - 3] + '...'}"
    facts = [found.what]
    if found.nbytes:
        facts.append(f"the array has {human_bytes(found.nbytes)}")
    if found.seconds is not None:
        about = "" if found.kind == "wanted" else "about "
        facts.append(f"took {about}{found.seconds:.2f}\u00a0s of {seconds:.2f}\u00a0s")
    front = "measured" if found.evidence == "measured" else "read in the source"
    yield from _wrapped(f"{front}: {'; '.join(facts)}")
    yield from _wrapped(f"better: {found.advice}")


def _wrapped(text: str) -> list[str]:
    lines = textwrap.wrap(
        text, _COLUMNS, initial_indent="   ", subsequent_indent="     ", break_on_hyphens=False
    )
    # Numbers stay with their units.
    return [line.replace("\u00a0", " ") for line in lines]


def report_json(report: Report) -> str:
    """Write a report as one JSON object."""
    return json.dumps({"doctor": asdict(report)})
