"""Judge a device: ``python -m arrayloom.conform TARGET``.

The suite runs every operation on the device, over dtypes, layouts and sizes, and compares the result
with NumPy, bit by bit or within units of the last place for functions that have no exact result. Each
case ends native, fallback (the device said that it does not have it, and it came out right elsewhere),
unsupported, or FAIL.

TARGET is ``cpu``, ``reference``, ``sim``, ``null``, ``numpy``, a name from ``arrayloom backends``, the path of a
shared library, or ``package.module:Class``.

With ``--bridge`` it judges conversions instead (`arrayloom.bridge.conformance`): TARGET is a kind of array such as
``torch``, or ``package.module:SPEC``, and every pair of kinds is judged if there is none.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from arrayloom import _ext
from arrayloom._backends import adapter
from arrayloom._numpy_device import NumpyDevice

__all__ = ["LEVELS", "Case", "Report", "main", "run"]

LEVELS = {
    0: "memory",
    1: "order",
    2: "maps",
    3: "folds and gathers",
    4: "fusion",
    5: "limits",
    6: "exchange",
    7: "whole programs",
    8: "threads",
}
_OUTCOMES = ("native", "fallback", "unsupported", "FAIL")
# Between two lines about progress.
_SECONDS = 5.0
_IN_PROCESS = frozenset({0, 1, 2, 3, 4, 5, 8})

# Levels 6 and 7: programs that print their results, run with the device and without.
_PROGRAMS = {
    6: {
        "exchange/dlpack": (
            "import numpy as np\nx = np.arange(40000.) * 0.5\n"
            "y = np.from_dlpack(x + 1)\nprint(y.sum(), y[7], y.shape)\n"
        ),
        "exchange/buffer": (
            "import numpy as np, hashlib\nx = np.sqrt(np.arange(40000.)) * 2\n"
            "m = memoryview(x + x)\nprint(hashlib.sha256(m).hexdigest(), m.nbytes)\n"
        ),
        "exchange/written by others": (
            "import numpy as np, ctypes\nx = np.ones(40000)\ny = x * 3\n"
            "ctypes.memset(x.ctypes.data, 0, 80)\nprint(y[0], (x + y)[:12], x.sum())\n"
        ),
    },
    7: {
        "programs/heat": (
            "import numpy as np\ng = np.zeros((200, 200)); g[0] = 100.0\nc = g[1:-1, 1:-1]\n"
            "for i in range(20):\n"
            "    w = 0.2 * (c + g[:-2, 1:-1] + g[2:, 1:-1] + g[1:-1, :-2] + g[1:-1, 2:])\n"
            "    d = np.sum(np.abs(w - c)); c[:] = w\nprint(d, g.sum(), g[5, 5])\n"
        ),
        "programs/dtypes": (
            "import numpy as np\nfor t in '?bhiqBHIQefdFD':\n"
            "    x = (np.arange(30000) % 97).astype(t)\n    y = x + x\n"
            "    print(t, y.dtype, (y * x).sum(), y[::-3][:5], (y == x).sum())\n"
        ),
        "programs/products": (
            "import numpy as np\nx = (np.arange(30000.) % 13).reshape(100, 300)\ny = x[::-1].T + 1\n"
            "p = x @ y\nprint(p.sum(), p[3, 4:9], np.dot(x, y)[7, :3], np.matmul(y, x).max())\n"
        ),
        "programs/folds": (
            "import numpy as np\nx = np.sin(np.arange(60000.)).reshape(3, 200, 100)\n"
            "for a in (None, 0, 1, 2, (0, 2)):\n    print(x.sum(a).ravel()[:3], x.max(a).ravel()[:3])\n"
            "print(np.cumsum(x, 1)[1, -1, :4], x.argmax(), np.where(x > 0, x, -x).mean())\n"
        ),
        "programs/indexing": (
            "import numpy as np\nx = np.arange(50000.)\ni = (np.arange(40000) * 7919) % 50000\n"
            "y = x[i]\ny[::2] += 1\ny[y > 20000] = 0\nprint(y.sum(), y[:9], np.take(y, i % 40000)[:5])\n"
        ),
    },
}


@dataclass(frozen=True)
class Case:
    """One case: its level, its name, how it ended, and what is wrong if it failed."""

    level: int
    name: str
    outcome: str
    what: str = ""


@dataclass(frozen=True)
class Report:
    """All cases of a device."""

    target: str
    cases: tuple[Case, ...]

    @property
    def failed(self) -> tuple[Case, ...]:
        """The cases that failed."""
        return tuple(case for case in self.cases if case.outcome == "FAIL")

    def markdown(self) -> str:
        """Write the support matrix: outcomes by level, and by operation and dtype.

        Examples
        --------
        >>> cases = (Case(2, "map/Add/float64/strided", "native"),)
        >>> print(Report("mine", cases).markdown().splitlines()[0])
        # Conformance of mine
        """
        lines = [f"# Conformance of {self.target}", ""]
        lines += _table(
            ("level", *_OUTCOMES),
            (
                (f"{level} {name}", *_counts(c for c in self.cases if c.level == level))
                for level, name in LEVELS.items()
                if any(case.level == level for case in self.cases)
            ),
        )
        groups: dict[tuple[str, str], list[Case]] = {}
        for case in self.cases:
            parts = case.name.split("/")
            if len(parts) > 2:
                groups.setdefault((f"{parts[0]}/{parts[1]}", parts[2]), []).append(case)
        lines += ["", "| case | dtype | support |", "|---|---|---|"]
        for (name, dtype), cases in groups.items():
            found = {case.outcome for case in cases}
            worst = max(found, key=_OUTCOMES.index)
            lines.append(f"| {name} | {dtype} | {worst} |")
        return "\n".join(lines) + "\n"

    def json(self) -> str:
        """Write every case as JSON."""
        return json.dumps(asdict(self), indent=1)


def _counts(cases: Iterable[Case]) -> tuple[str, ...]:
    count = Counter(case.outcome for case in cases)
    return tuple(str(count[outcome]) for outcome in _OUTCOMES)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def run(
    target: object,
    *,
    levels: Iterable[int] = tuple(LEVELS),
    dtypes: Sequence[str] = (),
    seed: int = 0,
    oracle: str = "numpy",
    together: bool = True,
    progress: Callable[[str, int], object] | None = None,
) -> Report:
    """Run the suite on a device.

    Parameters
    ----------
    target : str or Device or type or module
        A name, a path, ``package.module:Class``, or a device in Python itself.
    levels : iterable of int
        Which parts; see `LEVELS`. Levels 6 and 7 run programs and compare what they print, so they need
        a device by name, and one that computes: ``null`` only counts.
    dtypes : sequence of str
        Only cases of these dtypes; all by default.
    seed : int
        Other values for the same cases.
    oracle : {"numpy", "reference"}
        Who knows what is right.
    together : bool
        Let a device whose compiler takes long for a kernel compile those of many cases at once.
    progress : callable, optional
        Called now and then with the name of a group, such as ``"Map"``, and how many of its cases are done.

    Returns
    -------
    Report
        Every case.

    Examples
    --------
    >>> report = run("reference", levels=[0])
    >>> report.failed
    ()
    """
    wanted = set(levels)
    device: object = target
    if target == "numpy":
        device = adapter(NumpyDevice())
    elif not isinstance(target, str):
        device = adapter(target)
    judge = adapter(NumpyDevice()) if oracle == "numpy" and target != "numpy" else None
    inside = sorted(wanted & _IN_PROCESS)
    rows = _ext.conform(device, inside, list(dtypes), seed, judge, together, progress)
    cases = [Case(*row) for row in rows]
    name = target if isinstance(target, str) else type(target).__name__
    if isinstance(target, str):
        backend = "arrayloom._numpy_device:NumpyDevice" if target == "numpy" else target
        programs = wanted & set(_PROGRAMS)
        if programs and _ext.probe(backend)[3] == "counts only":
            programs = set[int]()
        for level in sorted(programs):
            cases += [
                _program(level, case, text, backend) for case, text in _PROGRAMS[level].items()
            ]
    return Report(name, tuple(cases))


def _program(level: int, name: str, text: str, backend: str) -> Case:
    """Run a program with the device and in plain Python, and compare what they print."""
    plain = [sys.executable, "-c", text]
    ours = [sys.executable, "-m", "arrayloom", "--backend", backend, "--min-bytes", "0"]
    expected, found = (
        subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - the program is ours
        for command in (plain, [*ours, *plain[1:]])
    )
    if found.returncode != 0:
        return Case(level, name, "FAIL", found.stderr.strip()[-800:])
    if found.stdout != expected.stdout:
        return Case(level, name, "FAIL", f"{found.stdout!r} instead of {expected.stdout!r}")
    return Case(level, name, "native")


class _Progress:
    """Tells on the error stream how far a run is, every few seconds."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, group: str, done: int) -> None:
        now = time.monotonic()
        if now - self._last > _SECONDS:
            self._last = now
            sys.stderr.write(f"{group}: {done} cases\n")


def _mutants(seed: int) -> int:
    rows = _ext.mutants(seed)
    for fault, case in rows:
        sys.stdout.write(f"{'killed' if case else 'SURVIVED':9} {fault:16} {case or ''}\n")
    killed = sum(case is not None for _, case in rows)
    sys.stdout.write(f"{killed} of {len(rows)} mutants killed\n")
    return 0 if killed == len(rows) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="arrayloom.conform", description=__doc__)
    add = parser.add_argument
    add("target", nargs="?", help="the device")
    add("--strict", action="store_true", help="fallbacks and unsupported cases are failures")
    add("--level", type=int, action="append", choices=sorted(LEVELS), help="only this level")
    add("--dtypes", default="", help="only these, as in float32,int64")
    add("--seed", type=int, default=0, help="other values for the same cases")
    add("--oracle", default="numpy", choices=("numpy", "reference"), help="who knows what is right")
    add("--json", metavar="FILE", help="write every case to FILE")
    add("--markdown", metavar="FILE", help="write the support matrix to FILE")
    add("--expect", metavar="FILE", help="names of cases that may fail, one a line")
    add("--apart", action="store_true", help="compile the kernel of each case by itself")
    add("--quiet", action="store_true", help="tell no progress")
    add("--mutants", action="store_true", help="run the suite on devices that are wrong in one way")
    add("--bridge", action="store_true", help="judge conversions from and to a kind of array")
    return parser


def _device(options: argparse.Namespace) -> Report:
    return run(
        options.target,
        levels=options.level or tuple(LEVELS),
        dtypes=[name for name in options.dtypes.split(",") if name],
        seed=options.seed,
        oracle=options.oracle,
        together=not options.apart,
        progress=None if options.quiet else _Progress(),
    )


def _conversions(options: argparse.Namespace) -> Report:
    from arrayloom.bridge import conformance  # noqa: PLC0415 - it imports this module

    # Checkers see this module twice: as it is here, and as it is installed.
    report: Any = conformance.run(
        [conformance.load(options.target)] if options.target else (),
        dtypes=[name for name in options.dtypes.split(",") if name],
        progress=None if options.quiet else _Progress(),
    )
    return report


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status: 0 if nothing failed."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.mutants:
        return _mutants(options.seed)
    if options.target is None and not options.bridge:
        parser.error("name a device, or give --mutants or --bridge")
    if options.bridge and (options.level or options.strict):
        parser.error("--level and --strict are for devices, not for conversions")
    report = _conversions(options) if options.bridge else _device(options)
    if options.json:
        Path(options.json).write_text(report.json(), encoding="utf-8")
    if options.markdown:
        Path(options.markdown).write_text(report.markdown(), encoding="utf-8")
    return _verdict(report, options.expect, strict=options.strict)


def _verdict(report: Report, expect: str | None, *, strict: bool) -> int:
    bad = {"FAIL", "fallback", "unsupported"} if strict else {"FAIL"}
    may: set[str] = set()
    if expect:
        may = set(Path(expect).read_text(encoding="utf-8").split("\n")) - {""}
    wrong = [case for case in report.cases if case.outcome in bad and case.name not in may]
    better = [case for case in report.cases if case.outcome not in bad and case.name in may]
    for case in wrong[:50]:
        sys.stdout.write(f"{case.outcome} {case.name}: {case.what}\n")
    for case in better:
        sys.stdout.write(f"passes unexpectedly: {case.name}\n")
    count = Counter(case.outcome for case in report.cases)
    outcomes = ", ".join(f"{count[outcome]} {outcome}" for outcome in _OUTCOMES)
    sys.stdout.write(f"{report.target}: {len(report.cases)} cases, {outcomes}\n")
    return 1 if wrong or better or not report.cases else 0


if __name__ == "__main__":
    sys.exit(main())
