"""Run NumPy's own tests with arrayloom in NumPy's place, and compare with the list of expected failures.

``python run.py [--mode untouched|default|all|filters] [--jobs N] [--outcomes FILE] [NAME ...]``

Names are files and folders as ``numpy/_core/tests/test_ufunc.py``; ``scipy`` and ``scipy/signal`` run SciPy's own tests,
whose arrays are then arrayloom's and whose functions see them as those of a program. Every test file runs in a process
of its own, so that a crash is the failure of one file. Mode ``untouched`` is NumPy alone, ``default`` what a program
gets, ``all`` makes every array lazy; ``filters`` is SciPy with `arrayloom.filters` in the place of `scipy.ndimage`, for
``scipy/ndimage``. The status is 0 if all tests passed but those in ``expected.txt``.
"""

import argparse
import collections
import concurrent.futures
import importlib.util
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
MODES = ("untouched", "default", "all", "filters")

# Folders of tests that have nothing to do with arrays: compilers, installers, type checkers.
LEFT_OUT = ("_pyinstaller", "distutils", "f2py", "typing")
# Seconds for one file.
LIMIT = 1800


def test_files(folder):
    """All test files of an installed package, or of a folder of it, the long ones first."""
    package = package_of(folder)
    found = [
        file
        for file in folder.rglob("tests/test_*.py")
        if file.relative_to(package).parts[0] not in LEFT_OUT
    ]
    return sorted(found, key=lambda file: -file.stat().st_size)


def package_of(path):
    """The outermost package that has this file or folder in it, or NumPy for a file of none."""
    packages = [place for place in (path, *path.parents) if (place / "__init__.py").exists()]
    return packages[-1] if packages else NUMPY


def located(name):
    """The file or folder of an installed package that is called `name`."""
    spec = importlib.util.find_spec(Path(name).parts[0])
    if spec is None or spec.origin is None:
        sys.exit(f"{name}: there is no such package; install it with pip")
    path = Path(spec.origin).resolve().parent.parent / name
    if not path.exists():
        sys.exit(f"{path}: there is no such file or folder")
    return path


def folders(package):
    """All folders of tests."""
    return sorted({str(file.parent) for file in test_files(package)})


def command(mode, file, outcomes, selection=()):
    """The command line that runs one test file."""
    python, package = [sys.executable], package_of(file)
    if mode in {"default", "all"}:
        python += ["-m", "arrayloom", "--scope", ",".join(folders(package))]
    if mode == "all":
        python += ["--min-bytes", "0"]
    plugins = ["-p", "numpy_suite.plugin"]
    if mode == "filters":
        plugins += ["-p", "numpy_suite.filters"]
    expected = [] if mode == "untouched" else ["--expected", str(EXPECTED), "--mode", mode]
    return [
        *python, "-m", "pytest", str(file), "-q", "--tb=short", "-p", "no:cacheprovider",
        *plugins, "-c", os.devnull, "--rootdir", str(package.parent),
        "-m", "not slow and not xslow", "--outcomes", outcomes, *expected, *selection,
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
        name = str(file.relative_to(package_of(file).parent))
        rows.append({"test": name, "outcome": "crashed", "text": f"status {status}\n{text}"})
    return rows


def main():
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", choices=MODES, default="all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--outcomes", type=Path, help="write all outcomes to this file")
    parser.add_argument("names", nargs="*", default=["numpy"], help="files, folders, packages")
    options = parser.parse_args()
    paths = [located(name) for name in options.names]
    files = [f for path in paths for f in (test_files(path) if path.is_dir() else [path])]
    rows = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = {pool.submit(run, options.mode, file): file for file in files}
        for done in concurrent.futures.as_completed(runs):
            found = done.result()
            rows += found
            bad = [row for row in found if row["outcome"] in {"failed", "error", "crashed"}]
            print(
                f"{runs[done].relative_to(package_of(runs[done]).parent)}: {len(found)} tests, {len(bad)} failed",
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
