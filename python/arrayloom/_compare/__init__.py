"""``--compare``: a program with NumPy alone and accelerated, in turns, and what that says."""

import json
import os
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import IO, Any, Protocol

from arrayloom._compare.runs import Input, Run, run_once
from arrayloom._reports import is_writable, write_file
from arrayloom._runner import Kind, Program
from arrayloom._text import human_bytes, table

__all__ = ["Compared", "Difference", "compare", "compare_json", "compare_text", "main"]

_INTERRUPTED = 130
_COLUMNS, _NAME = 72, 36
_ERROR_LINES = 10
# Variables that would start a comparison again, accelerate the plain runs, or write a file for each run.
_DROPPED = ("COMPARE", "ENABLE", "COVERAGE", "HTML", "TRACE", "VERIFY")
_HINT = (
    "programs that print times, or use random numbers without a seed, differ between any two runs"
)


class Wanted(Protocol):
    """The options that a comparison needs, and those of the accelerated runs."""

    compare: int | None
    json: bool
    output: str | None
    backend: str | None
    threads: int | None
    min_bytes: int | None
    strict: str | None
    lazy: bool
    shim: bool
    scope: str


@dataclass(frozen=True)
class Difference:
    """The first line that two runs printed differently; None for a line that is not there.

    Attributes
    ----------
    between : tuple of str
        The kinds of both runs, ``plain`` or ``accelerated``.
    line : int
        Its number, from 1 on; 0 if only exit codes differ.
    first, second : str or None
        The line of both.
    """

    between: tuple[str, str]
    line: int
    first: str | None
    second: str | None


@dataclass(frozen=True)
class Compared:
    """Runs of both kinds, and whether they did the same.

    Attributes
    ----------
    program : str
        What ran, as on the command line.
    plain, accelerated : tuple of Run
        The runs, in order.
    plain_agree : bool
        Whether all plain runs printed the same and had one exit code.
    difference : Difference or None
        The first one, of plain runs if these do not agree.
    interrupted : bool
        Whether Ctrl-C ended it.
    """

    program: str
    plain: tuple[Run, ...]
    accelerated: tuple[Run, ...]
    plain_agree: bool
    difference: Difference | None
    interrupted: bool = False

    @property
    def status(self) -> int:
        """The exit status of the comparison."""
        if self.interrupted:
            return _INTERRUPTED
        if self.difference is not None and self.plain_agree:
            return 1
        code = self.plain[0].exit_code
        return code if code >= 0 else 128 - code


def compare(program: Sequence[str], options: Sequence[str], times: int) -> Compared | None:
    """Run a program `times` times plainly and accelerated, in turns.

    What the first run prints is shown while it runs.

    Parameters
    ----------
    program : sequence of str
        Its words on the command line.
    options : sequence of str
        Options of the accelerated runs.
    times : int
        How often each kind runs.

    Returns
    -------
    Compared or None
        None if the interpreter cannot be started again.
    """
    python = [sys.executable, *_flags()]
    commands = ([*python, *program], [*python, "-m", "arrayloom", *options, *program])
    dropped = {f"ARRAYLOOM_{name}" for name in _DROPPED}
    environ = {name: value for name, value in os.environ.items() if name not in dropped}
    given, plain, accelerated = Input(), list[Run](), list[Run]()
    interrupted = False
    try:
        for _ in range(times):
            for runs, command in zip((plain, accelerated), commands, strict=True):
                found = run_once(command, environ, given, shown=not plain)
                if found is None:
                    return None
                runs.append(found)
        extra = [*plain]
        if times == 1 and _difference(plain, accelerated):
            # Whether plain runs agree takes two of them.
            again = run_once(commands[0], environ, given, shown=False)
            extra += [again] if again else []
    except KeyboardInterrupt:
        interrupted, extra = True, plain
    of_plain = _difference(extra[:1], extra[1:], ("plain", "plain"))
    return Compared(
        program=" ".join(program),
        plain=tuple(plain),
        accelerated=tuple(accelerated),
        plain_agree=of_plain is None,
        difference=of_plain or _difference(plain[:1], accelerated),
        interrupted=interrupted,
    )


def main(wanted: Wanted, program: Program) -> int:
    """Compare as the options say, write the report, and return the exit status."""
    if wanted.output is not None and not is_writable("--output", wanted.output):
        return 2
    found = compare(_words(program), _options(wanted), wanted.compare or 1)
    if found is None:
        sys.stderr.write(f"arrayloom: cannot start {sys.executable} again\n")
        return 2
    text = compare_json(found) + "\n" if wanted.json else compare_text(found)
    if wanted.output is None:
        sys.stderr.write(text)
    else:
        write_file(wanted.output, text)
    return found.status


def _words(program: Program) -> list[str]:
    """Give the words that name a program, also for an interpreter without ``--``."""
    front = {Kind.MODULE: ["-m"], Kind.CODE: ["-c"]}.get(program.kind, [])
    odd = program.kind is Kind.SCRIPT and program.target.startswith("-")
    return [*front, f"./{program.target}" if odd else program.target, *program.args]


def _options(wanted: Wanted) -> list[str]:
    """Give the options of the accelerated runs."""
    named = {
        "--backend": wanted.backend,
        "--threads": wanted.threads,
        "--min-bytes": wanted.min_bytes,
        "--strict": wanted.strict,
        "--scope": wanted.scope,
    }
    words = [f"{name}={value}" for name, value in named.items() if value is not None]
    words += [] if wanted.lazy else ["--no-lazy"]
    return words if wanted.shim else [*words, "--no-shim"]


def _flags() -> list[str]:
    """Give the options that the interpreter itself was started with."""
    words = sys.orig_argv[1:]
    ends = [at for at, word in enumerate(words) if word == "-m" or word.endswith("arrayloom")]
    return words[: ends[0]] if ends else []


def _difference(
    first: Iterable[Run],
    others: Iterable[Run],
    between: tuple[str, str] = ("plain", "accelerated"),
) -> Difference | None:
    """Compare a run with others."""
    for one in first:
        for other in others:
            found = _first_line(one.output, other.output)
            if found is not None:
                return Difference(between, *found)
            if one.exit_code != other.exit_code:
                return Difference(between, 0, None, None)
    return None


def _first_line(one: IO[bytes], other: IO[bytes]) -> tuple[int, str | None, str | None] | None:
    """Give the first line that differs, with its number; None if all are the same."""
    one.seek(0)
    other.seek(0)
    for number, (a, b) in enumerate(zip_longest(one, other), 1):
        if a != b:
            return number, _shown(a), _shown(b)
    return None


def _shown(line: bytes | None) -> str | None:
    return None if line is None else line.decode("utf-8", "backslashreplace").rstrip("\n")


def _code(run: Run) -> str:
    return f"signal {-run.exit_code}" if run.exit_code < 0 else str(run.exit_code)


def _figures(runs: Sequence[Run]) -> tuple[float, float, float, float]:
    """Wall time, median and least; CPU time, median; peak memory, most."""
    walls = [run.seconds for run in runs]
    cpu = statistics.median(run.cpu_seconds for run in runs)
    return statistics.median(walls), min(walls), cpu, max(run.peak_bytes for run in runs)


def _ratios(found: Compared) -> tuple[float, ...]:
    """Give the figures of the plain runs divided by those of the accelerated ones."""
    if not (found.plain and found.accelerated):
        return ()
    pairs = zip(_figures(found.plain), _figures(found.accelerated), strict=True)
    return tuple(plain / accelerated if accelerated else 0.0 for plain, accelerated in pairs)


def compare_text(found: Compared) -> str:
    """Write the report as a table of plain text, and what it says."""
    kinds = (("plain", found.plain), ("accelerated", found.accelerated))
    body = [(name, *_cells(runs)) for name, runs in kinds if runs]
    ratios = _ratios(found)
    if ratios:
        body.append(("plain / accelerated", *(f"{ratio:.2f}" for ratio in ratios), ""))
    plain, accelerated = len(found.plain), len(found.accelerated)
    parts = [
        f"arrayloom compare: {plain} plain and {accelerated} accelerated runs, in turns, of"
        f" {_cut(' '.join(found.program.split()), _NAME)}"
    ]
    if body:
        parts.append(
            table(("", "wall, median", "wall, least", "CPU", "peak memory", "exit code"), body)
        )
    parts.append(_verdict(found))
    return "\n\n".join(parts) + "\n"


def _cells(runs: Sequence[Run]) -> tuple[str, ...]:
    wall, least, cpu, peak = _figures(runs)
    codes = ", ".join(dict.fromkeys(_code(run) for run in runs))
    return f"{wall:.3f} s", f"{least:.3f} s", f"{cpu:.3f} s", human_bytes(int(peak)), codes


def _verdict(found: Compared) -> str:
    """Say whether the runs did the same, and where they first did not."""
    if found.interrupted:
        figures = "the figures are those of the runs that were finished"
        return f"ended by Ctrl-C; {figures if found.plain else 'no run was finished'}"
    if found.difference is None:
        runs = len(found.plain) + len(found.accelerated)
        which = "both" if runs == 2 else f"all {runs}"
        return f"standard output and exit code were the same in {which} runs"
    lines = [
        "plain and accelerated runs differ, and plain runs agree among themselves:"
        if found.plain_agree
        else "plain runs differ among themselves, so a difference says nothing about acceleration:"
    ]
    lines += _told(found.difference)
    if found.plain_agree:
        lines += _errors(found)
    return "\n".join([*lines, _HINT])


def _told(found: Difference) -> list[str]:
    """Give the lines of a difference."""
    if not found.line:
        return ["  only their exit codes"]
    names = (found.between[0], "plain again" if found.between[1] == "plain" else found.between[1])
    lines = (found.first, found.second)
    # Long lines are shown from shortly before the place where they differ.
    pairs = enumerate(zip_longest(*(line or "" for line in lines)))
    begin = next((at for at, (a, b) in pairs if a != b), 0) - _COLUMNS // 2
    if begin < _COLUMNS // 2:
        begin = 0
    width = max(map(len, names))
    return [
        f"  line {found.line}, {name.ljust(width)}  "
        + ("(no such line)" if line is None else ("..." if begin else "") + _cut(line[begin:]))
        for name, line in zip(names, lines, strict=True)
    ]


def _cut(line: str, columns: int = _COLUMNS) -> str:
    return line if len(line) <= columns else f"{line[: columns - 3]}..."


def _errors(found: Compared) -> list[str]:
    """Give the end of an accelerated run's standard error if that run failed where plain ones did not."""
    failed = [run for run in found.accelerated if run.exit_code != found.plain[0].exit_code]
    if not failed:
        return []
    failed[0].errors.seek(0)
    lines = failed[0].errors.read().decode("utf-8", "backslashreplace").splitlines()
    ends = [f"    {line}" for line in lines[-_ERROR_LINES:]]
    return ["  standard error of an accelerated run, its end:", *ends] if ends else []


def compare_json(found: Compared) -> str:
    """Write the report as one JSON object."""
    names = ("wall_median", "wall_least", "cpu_median", "peak")
    report: dict[str, Any] = {
        "program": found.program,
        "plain": [_row(run) for run in found.plain],
        "accelerated": [_row(run) for run in found.accelerated],
        "ratio": dict(zip(names, _ratios(found), strict=False)),
        "same": found.difference is None and not found.interrupted,
        "plain_agree": found.plain_agree,
        "difference": None if found.difference is None else asdict(found.difference),
        "interrupted": found.interrupted,
    }
    return json.dumps({"compare": report})


def _row(run: Run) -> dict[str, Any]:
    names = ("seconds", "cpu_seconds", "peak_bytes", "exit_code")
    return {name: getattr(run, name) for name in names}
