"""``python -m arrayloom doctor``: what keeps a program from being fast, where, and what is better.

Joins what was counted and timed while the program ran (`watch`, the native module's
statistics) with what its source says (`source`). ``--line-profile`` (`lines`) shows the same by line, without advice.
"""

import os
import sys

from arrayloom import _native
from arrayloom._doctor.findings import Facts, findings
from arrayloom._doctor.lines import LineProfile
from arrayloom._doctor.report import Report, report_json, report_text
from arrayloom._doctor.watched import Watched

__all__ = ["Doctor", "LineProfile", "Watched"]

_MOST = 20


class Doctor(Watched):
    """Watches one run of a program and says what keeps it from being fast."""

    def report(self, seconds: float) -> str:  # pyright: ignore[reportImplicitOverride] - `override` is of Python 3.12
        """Give the findings in a run that took so long."""
        facts = Facts(
            seconds=seconds,
            watch=self.watch,
            stats=_native.stats(),
            sources=dict(self.sources()),
            modules=frozenset(sys.modules),
            shares_cores=self.wanted.threads is not None or "ARRAYLOOM_THREADS" in os.environ,
        )
        found = findings(facts)
        report = Report(
            program=self.name,
            seconds=seconds,
            findings=tuple(found[:_MOST]),
            left_out=max(0, len(found) - _MOST),
            delegated=facts.stats.delegated,
        )
        return report_json(report) + "\n" if self.wanted.json else report_text(report)
