"""``--line-profile``: what it tells of each line, and that the program runs as ever."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from arrayloom._doctor.lines import Line, lines_json, lines_of, lines_text
from arrayloom._doctor.source import Source
from arrayloom._doctor.watch import Site, Watch
from arrayloom._journal import Event, Journal
from arrayloom._native import Fallback, Stats

TEXT = """\
import numpy as np
a = np.ones((600, 600))
total = 0
for i in range(30):
    b = np.sqrt(a) * 2 + i
    total += b.sum()
    c = np.add(a, np.longdouble(1))
print(float(total))
"""


@pytest.fixture
def run(tmp_path):
    """Run a program; gives status, standard output and error."""

    def call(*options, text=TEXT, words=()):
        path = tmp_path / "app.py"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "arrayloom", *options, str(path), *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "ARRAYLOOM_THREADS": "2"},
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return call


def test_lines_have_their_calls_lists_and_reasons(run):
    status, out, err = run("--line-profile", "--json")
    assert (status, float(out)) == (0, sum(360_000.0 * (2 + i) for i in range(30)))
    report = json.loads(err)["line_profile"]
    found = {each["line"]: each for each in report["lines"]}
    assert (found[5]["calls"], found[5]["accelerated"]) == (90, 90)
    assert found[5]["text"] == "b = np.sqrt(a) * 2 + i"
    assert found[5]["computed"] > 0
    assert found[6]["calls"] == 30
    # On a busy machine a list may begin too late to be joined with what wanted it.
    assert found[6]["lists"] <= 30
    assert found[6]["wanted"] == ["sum"] * (found[6]["lists"] > 0)
    assert (found[7]["calls"], found[7]["accelerated"]) == (30, 0)
    assert "without native support" in found[7]["reasons"][0]
    assert found[7]["seconds"] > 0
    least = report["seconds"] / 100
    assert all(
        each["calls"] or each["lists"] or each["seconds"] >= least for each in found.values()
    )


def test_calls_lists_and_passes_are_joined_by_line():
    code = compile("x = 1\na.sum()\n", "/a/app.py", "exec")
    # The only call is on the second line.
    at = next(2 * n for n, place in enumerate(code.co_positions()) if place[0] == 2)
    watch = Watch()
    watch.sites[0, at, "sum"] = Site(code, at, "sum", lists=3)
    watch.sites[0, at, "max"] = Site(code, at, "max", lists=0)
    named = (("add", "/a/app.py", 1), ("multiply", "/a/app.py", 1), ("sum", "/a/app.py", 2))
    events = (
        Event(0.0, 0.5, 1, 3, named),
        Event(0.5, 0.25, 0, 3, ()),
        Event(0.5, 0.125, 1, 1, named[2:]),
    )
    watch.journal = Journal((("add", "/a/app.py", 1, 4), ("_copy", "/a/app.py", 1, 2)), events)
    fallback = Fallback("sin", "why", "/a/app.py", 1, 5)
    stats = Stats(fallbacks=(fallback,))
    first, second = lines_of(watch, stats, {"/a/app.py": Source("x = 1\na.sum()\n")}, 1.0)
    assert (first.line, first.calls, first.accelerated, first.reasons) == (1, 11, 6, ("why",))
    assert (first.computed, second.computed) == (0.5, 0.625)
    assert (second.line, second.text, second.lists, second.wanted) == (2, "a.sum()", 3, ("sum",))


def test_a_report_for_people_goes_to_a_file(run, tmp_path):
    status, _, err = run("--line-profile", "--output", "lines.txt")
    assert (status, err) == (0, "")
    text = (tmp_path / "lines.txt").read_text(encoding="utf-8")
    assert text.startswith("arrayloom line profile:")
    assert "b = np.sqrt(a) * 2 + i" in text
    assert "for sum" in text


def test_the_exit_status_is_the_programs(run):
    status, _, err = run("--line-profile", text="import sys\nsys.exit(7)\n")
    assert status == 7
    assert "no line took time" in err


@pytest.mark.parametrize("other", ["--profile", "--coverage", "--html=x", "--compare"])
def test_other_reports_are_refused_beside_it(run, other):
    status, _, err = run("--line-profile", other)
    assert status == 2
    assert "--line-profile writes a report of its own" in err


def test_files_have_a_table_each():
    lines = [
        Line("/a/one.py", 3, "x = y", 4, 2, 0.5, 0.25, 1, ("__float__", "sum"), ("why",)),
        Line("/a/two.py", 9, "z", 0, 0, 1.0, 0.0, 0, (), ()),
    ]
    text = lines_text("app.py", 2.0, lines)
    assert [part.splitlines()[0] for part in text.split("\n\n")[1:]] == ["/a/one.py", "/a/two.py"]
    assert "50 %" in text
    assert "25 %" in text
    assert "for float, sum; why" in text
    rows = json.loads(lines_json("app.py", 2.0, lines))["line_profile"]["lines"]
    assert rows[1]["seconds"] == 1.0
