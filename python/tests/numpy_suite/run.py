"""Run NumPy's own tests with arrayloom in NumPy's place, and compare with the list of expected failures.

``python run.py [--mode untouched|default|all] [--jobs N] [--outcomes FILE] [FILE ...]``

Every test file runs in a process of its own, so that a crash is the failure of one file. Mode
``untouched`` is NumPy alone, ``default`` what a program gets, ``all`` makes every array lazy. The status
is 0 if all tests passed but those in ``expected.txt``.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
NUMPY = Path(np.__file__).resolve().parent
EXPECTED = HERE / "expected.txt"
MODES = ("untouched", "default", "all")

# Folders of tests that have nothing to do with arrays: compilers, installers, type checkers.
LEFT_OUT = ("_pyinstaller", "distutils", "f2py", "typing")
# Seconds for one file.
LIMIT = 1800


def test_files():
    """All test files of the installed NumPy, the long ones first."""
    found = [
        file
        for file in NUMPY.rglob("tests/test_*.py")
        if file.relative_to(NUMPY).parts[0] not in LEFT_OUT
    ]
    return sorted(found, key=lambda file: -file.stat().st_size)


def folders():
    """All folders of tests."""
    return sorted({str(file.parent) for file in test_files()})


def command(mode, file, outcomes, selection=()):
    """The command line that runs one test file."""
    python = [sys.executable]
    if mode != "untouched":
        python += ["-m", "arrayloom", "--scope", ",".join(folders())]
    if mode == "all":
        python += ["--min-bytes", "0"]
    expected = [] if mode == "untouched" else ["--expected", str(EXPECTED), "--mode", mode]
    return [
        *python, "-m", "pytest", str(file), "-q", "--tb=short", "-p", "no:cacheprovider",
        "-p", "numpy_suite.plugin", "-c", os.devnull, "--rootdir", str(NUMPY.parent),
        "-m", "not slow", "--outcomes", outcomes, *expected, *selection,
    ]  # fmt: skip


def run(mode, file, selection=()):
    """Run one test file; the outcomes of its tests, as dictionaries."""
    with tempfile.TemporaryDirectory() as folder:
        outcomes = Path(folder) / "outcomes"
        outcomes.touch()
        path = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
        try:
            done = subprocess.run(
                command(mode, file, str(outcomes), selection),
                cwd=folder,
                env={**os.environ, "PYTHONPATH": path},
                capture_output=True,
                text=True,
                timeout=LIMIT,
                check=False,
            )
            status, text = done.returncode, done.stdout[-3000:] + done.stderr[-3000:]
        except subprocess.TimeoutExpired as error:
            status, text = -1, str(error)
        rows = [json.loads(line) for line in outcomes.read_text("utf-8").splitlines()]
    # 0: all passed; 1: some failed; 5: no test was selected.
    if status not in {0, 1, 5}:
        name = str(file.relative_to(NUMPY.parent))
        rows.append({"test": name, "outcome": "crashed", "text": f"status {status}\n{text}"})
    return rows


def main():
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", choices=MODES, default="all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--outcomes", type=Path, help="write all outcomes to this file")
    parser.add_argument("files", nargs="*", help="test files, as numpy/_core/tests/test_ufunc.py")
    options = parser.parse_args()
    files = [NUMPY.parent / name for name in options.files] or test_files()
    rows = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = {pool.submit(run, options.mode, file): file for file in files}
        for done in concurrent.futures.as_completed(runs):
            found = done.result()
            rows += found
            bad = [row for row in found if row["outcome"] in {"failed", "error", "crashed"}]
            print(
                f"{runs[done].relative_to(NUMPY)}: {len(found)} tests, {len(bad)} failed",
                flush=True,
            )
            for row in bad:
                print(f"  {row['outcome']} {row['test']}", flush=True)
    if options.outcomes is not None:
        options.outcomes.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    counts = collections.Counter(row["outcome"] for row in rows)
    print(options.mode, dict(counts))
    return 1 if counts["failed"] + counts["error"] + counts["crashed"] else 0


if __name__ == "__main__":
    sys.exit(main())
