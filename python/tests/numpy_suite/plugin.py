"""A pytest plugin for NumPy's own tests: writes down outcomes, and knows which failures are expected.

``--outcomes FILE`` appends one JSON line for each test. ``--expected FILE --mode MODE`` marks the
tests that the file names for this mode as expected failures; one that passes is then an error.
"""

import json
from pathlib import Path

import pytest

from numpy_suite.expected import read

_PHASES = ("setup", "call", "teardown")


def pytest_addoption(parser):
    group = parser.getgroup("numpy-suite")
    group.addoption("--outcomes", metavar="FILE", help="append outcomes to FILE")
    group.addoption("--expected", metavar="FILE", help="the failures that are expected")
    group.addoption("--mode", metavar="MODE", default="default", help="which column of FILE holds")


def pytest_configure(config):
    if config.getoption("--outcomes"):
        config.pluginmanager.register(_Outcomes(config.getoption("--outcomes")))


def name_of(nodeid):
    """The name of a test, from the folder of NumPy on."""
    return nodeid[nodeid.rfind("numpy/") :] if "numpy/" in nodeid else nodeid


def pytest_collection_modifyitems(config, items):
    file = config.getoption("--expected")
    if not file:
        return
    known = [entry for entry in read(file) if config.getoption("--mode") in entry.modes]
    for item in items:
        name = name_of(item.nodeid)
        for entry in known:
            if entry.matches(name):
                item.add_marker(pytest.mark.xfail(reason=entry.reason, strict=entry.always))


class _Outcomes:
    """Appends the outcome of every test to a file."""

    def __init__(self, file):
        self.file = file
        self.phases = {}

    def pytest_runtest_logreport(self, report):
        phases = self.phases.setdefault(report.nodeid, {})
        phases[report.when] = report
        if report.when == "teardown":
            self._write(report.nodeid, self.phases.pop(report.nodeid))

    def pytest_collectreport(self, report):
        if report.failed:
            self._line(name_of(report.nodeid), "error", str(report.longrepr))

    def _write(self, nodeid, phases):
        reports = [phases[when] for when in _PHASES if when in phases]
        bad = next((report for report in reports if report.failed), None)
        skipped = next((report for report in reports if report.skipped), None)
        if bad is not None:
            self._line(name_of(nodeid), "failed", str(bad.longrepr))
        elif skipped is not None:
            outcome = "xfailed" if hasattr(skipped, "wasxfail") else "skipped"
            self._line(name_of(nodeid), outcome)
        else:
            self._line(name_of(nodeid), "passed")

    def _line(self, name, outcome, text=""):
        with Path(self.file).open("a", encoding="utf-8") as file:
            row = {"test": name, "outcome": outcome, "text": text}
            file.write(json.dumps(row) + "\n")
