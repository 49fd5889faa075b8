"""The report of ``--coverage``: each call once, by function and line, as a table and as CSV."""

import csv
import json
import textwrap

import pytest
from support import process

from arrayloom._coverage import Row, coverage_csv, coverage_json, coverage_rows, coverage_text
from arrayloom._native import Fallback, Stats

CALLS = (
    ("add", "/a/app.py", 3, 20),
    ("_copy", "/a/app.py", 4, 2),
    ("add", "/a/app.py", 7, 1),
)
STATS = Stats(
    fallbacks=(
        Fallback("add", "no native loop", "/a/app.py", 7, 2),
        Fallback("add", "a keyword, or two", "/a/app.py", 7, 1),
    ),
    delegated=(Fallback("sort", "NumPy's own", "/a/app.py", 9, 4),),
)


def test_rows_join_what_was_recorded_with_what_was_not():
    assert coverage_rows(CALLS, STATS) == (
        Row("add", "/a/app.py", 3, accelerated=20),
        Row("copy", "/a/app.py", 4, accelerated=2),
        Row("add", "/a/app.py", 7, 1, 0, 3, ("no native loop", "a keyword, or two")),
        Row("sort", "/a/app.py", 9, numpy=4),
    )


def test_text():
    text = coverage_text(coverage_rows(CALLS, STATS))
    lines = [line.split() for line in text.splitlines()]
    assert "23 of 30 (76.7 %) calls on large arrays accelerated" in text
    assert "4 done by NumPy's own code, 3 fell back" in text
    # What fell back comes first.
    assert lines[4] == ["add", "24", "21", "0", "3"]
    assert lines[5] == ["sort", "4", "0", "4", "0"]
    assert ["/a/app.py:7", "4", "1", "0", "3"] in lines
    assert "1 of 1 (100.0 %)" in coverage_text((Row("add", "a.py", 1, 1),))
    assert "no call" in coverage_text(())


def test_long_tables_are_cut_and_say_so():
    rows = [Row(f"f{i}", "a.py", 1, 1) for i in range(100)]
    assert "... and 60 more" in coverage_text(rows)


def test_csv_and_json_have_all_rows():
    rows = coverage_rows(CALLS, STATS)
    found = list(csv.DictReader(coverage_csv(rows).splitlines()))
    assert [row["function"] for row in found] == ["add", "copy", "add", "sort"]
    assert found[2]["calls"] == "4"
    assert found[2]["fell_back"] == "3"
    assert found[2]["reasons"] == "no native loop; a keyword, or two"
    report = json.loads(coverage_json(rows))["coverage"]
    assert [row["calls"] for row in report] == [20, 2, 4, 4]


PROGRAM = textwrap.dedent(
    """
    import numpy as np
    a = np.ones(100_000)
    for _ in range(5):
        b = np.sqrt(a * 2)
    never = a - 1
    print(b.sum())
    a + np.longdouble(1)
    np.lexsort((a, b))
    np.ones(3) + 1
    c = np.arange(200_000.0)
    c[0]
    np.searchsorted(c, c)
    """
)


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "app.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def run(program, *options, **words):
    code = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"
    done = process.run(code, program, runner=True, options=("--scope", "user", *options), **words)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_calls_of_a_program(program, tmp_path):
    table = tmp_path / "calls.csv"
    text = run(program, f"--coverage={table}")
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["file"] for row in rows} >= {str(program)}
    found = {(row["function"], int(row["line"])): row for row in rows}

    def counts(function, line):
        row = found[function, line]
        return [int(row[name]) for name in ("calls", "accelerated", "numpy", "fell_back")]

    assert counts("multiply", 5) == [5, 5, 0, 0]
    assert counts("sqrt", 5) == [5, 5, 0, 0]
    # Recorded, though nobody wants the result.
    assert counts("subtract", 6) == [1, 1, 0, 0]
    assert counts("add", 8) == [1, 0, 0, 1]
    assert counts("lexsort", 9) == [1, 0, 1, 0]
    # Native code that records nothing.
    assert counts("searchsorted", 13) == [1, 1, 0, 0]
    assert not [key for key in found if key[1] == 10]
    total = sum(int(row["calls"]) for row in rows)
    accelerated = sum(int(row["accelerated"]) for row in rows)
    assert accelerated == total - 2
    assert f"{accelerated} of {total} ({100 * accelerated / total:.1f} %)" in text


def test_without_a_file_and_by_the_variable(program):
    assert "arrayloom coverage: " in run(program, "--coverage")
    assert "arrayloom coverage: " in run(program, env={"ARRAYLOOM_COVERAGE": "1"})
    assert "coverage" not in run(program, env={"ARRAYLOOM_COVERAGE": "0"})
    report = run(program, "--coverage", "--json").splitlines()[-1]
    assert {row["function"] for row in json.loads(report)["coverage"]} >= {"sqrt", "lexsort"}


@pytest.mark.parametrize("option", ["--coverage={}", "--html={}", "--trace={}"])
def test_a_file_that_cannot_be_written_is_refused_before_the_program_runs(option, tmp_path):
    path = tmp_path / "no" / "file"
    done = process.run("print('ran')", runner=True, options=(option.format(path),))
    assert done.returncode == 2
    assert f"cannot write to {path}" in done.stderr
    assert option.partition("=")[0] in done.stderr
    assert "ran" not in done.stdout
