"""Interleaved measurements: one worker process per variant, told to run in turns.

While one worker runs the others are stopped, so that they can take no time from it. The first round
is the first call (it includes whatever a variant compiles), the following ones are warm.
"""

import importlib.util
import json
import os
import signal
import statistics
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import peers

HERE = Path(__file__).resolve().parent


@dataclass
class Series:
    """What one variant of one program took, round by round."""

    variant: str
    seconds: list = field(default_factory=list)
    digests: list = field(default_factory=list)
    sums: list = field(default_factory=list)
    scales: list = field(default_factory=list)
    peak_bytes: int = 0
    error: str = ""

    @property
    def first(self):
        return self.seconds[0]

    @property
    def warm(self):
        return statistics.median(self.seconds[1:] or self.seconds)

    @property
    def spread(self):
        """Half the range of the warm rounds, as a share of their median."""
        warm = self.seconds[1:] or self.seconds
        return (max(warm) - min(warm)) / 2 / self.warm

    def equality(self, base):
        """How the results compare to those of NumPy."""
        if self.digests == base.digests:
            return "same bits"
        pairs = zip(self.sums, base.sums, base.scales, strict=True)
        worst = max(abs(a - b) / max(scale, 1e-300) for a, b, scale in pairs)
        return f"sums differ by {worst:.0e}"


class Worker:
    """A process that runs one program in one variant whenever it is told to."""

    def __init__(self, program, variant):
        front = ["-m", "arrayloom"] if variant == "arrayloom" else []
        self.process = subprocess.Popen(
            [sys.executable, *front, str(HERE / "worker.py"), program, variant],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=HERE,
        )
        self._answer()
        self._signal(signal.SIGSTOP)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._signal(signal.SIGKILL)
        self.process.communicate()

    def run(self, job):
        self._signal(signal.SIGCONT)
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        answer = self._answer()
        self._signal(signal.SIGSTOP)
        return answer

    def _signal(self, number):
        if self.process.poll() is None:
            os.kill(self.process.pid, number)

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            _, stderr = self.process.communicate()
            status = self.process.returncode
            last = (stderr.strip().splitlines() or ["no message"])[-1]
            raise RuntimeError(f"status {status}: {last}")
        return json.loads(line)


def available(variants=peers.VARIANTS):
    """Return the variants whose package is installed."""
    return [name for name in variants if importlib.util.find_spec(name) is not None]


def compare(program, variants, job, rounds, tell=lambda text: None):
    """Run `program` in every variant, `rounds` warm rounds after the first; one series each."""
    series = [Series(name) for name in variants if peers.run_of(program, name)]
    with ExitStack() as stack:
        workers = {}
        for each in series:
            try:
                workers[each.variant] = stack.enter_context(Worker(program, each.variant))
            except RuntimeError as error:
                each.error = str(error)
        for turn in range(rounds + 1):
            for each in series:
                if each.error:
                    continue
                try:
                    answer = workers[each.variant].run(job)
                except RuntimeError as error:
                    each.error = str(error)
                    continue
                each.seconds.append(answer["seconds"])
                each.digests, each.sums = answer["digests"], answer["sums"]
                each.scales = answer["scales"]
                each.peak_bytes = answer["peak_bytes"]
                tell(f"{program} {each.variant} round {turn}: {answer['seconds']:.3f} s")
    return series


def markdown(head, rows):
    widths = [max(len(str(line[i])) for line in (head, *rows)) for i in range(len(head))]

    def line(cells):
        padded = [str(cell).ljust(width) for cell, width in zip(cells, widths, strict=True)]
        return f"| {' | '.join(padded)} |"

    return "\n".join([line(head), line(["-" * w for w in widths]), *map(line, rows)])
