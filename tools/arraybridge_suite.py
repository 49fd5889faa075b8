"""The tests of the package arraybridge, run against ``arrayloom.bridge.arraybridge``.

The source of each version is fetched from the package index. Tests of what differs on purpose, and of
arraybridge's own inner parts, fail: the count of tests that pass is the result, file by file.
"""

import argparse
import collections
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

# The last of the first generation, and the second.
VERSIONS = ("0.2.9", "0.5.2")
START = (
    "import sys, pytest; from arrayloom.bridge import arraybridge; arraybridge.install(); "
    "sys.exit(pytest.main(sys.argv[1:]))"
)


def fetch(version: str, folder: Path) -> Path:
    """Unpack the source of a version; return its folder."""
    command = ["download", "-q", "--no-deps", "--no-binary", ":all:", f"arraybridge=={version}"]
    subprocess.run([sys.executable, "-m", "pip", *command, "-d", folder], check=True)
    with tarfile.open(next(folder.glob(f"arraybridge-{version}*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    return next(folder.glob(f"arraybridge-{version}*/"))


def results(root: Path, more: list[str]) -> dict[str, collections.Counter[str]]:
    """Run the tests of a source folder; count outcomes by file."""
    options = ["-rA", "-q", "--tb=no", "-o", "addopts=", "--continue-on-collection-errors"]
    command = [sys.executable, "-c", START, *options, "tests", *more]
    done = subprocess.run(
        command, cwd=root, env=dict(os.environ), capture_output=True, text=True, check=False
    )
    found: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for outcome, file in re.findall(
        r"^(PASSED|FAILED|ERROR) tests/(test_\w+)\.py", done.stdout, re.MULTILINE
    ):
        found[file][outcome] += 1
    if not found:
        print(done.stdout[-3000:], done.stderr[-3000:])
    return found


def main() -> int:
    """Fetch the tests, run them, print a table for each version."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", action="append", choices=VERSIONS)
    parser.add_argument("arguments", nargs="*", help="for pytest")
    options = parser.parse_args()
    ran = 0
    for version in options.version or VERSIONS:
        with tempfile.TemporaryDirectory() as name:
            found = results(fetch(version, Path(name)), options.arguments)
        total = sum(found.values(), collections.Counter())
        ran += bool(total)
        print(f"arraybridge {version}: {total['PASSED']} pass, {total['FAILED']} fail, "
              f"{total['ERROR']} cannot be run")  # fmt: skip
        for file, counts in sorted(found.items()):
            print(f"  {file:32}{counts['PASSED']:5}{counts['FAILED']:5}{counts['ERROR']:5}")
    return 0 if ran else 1


if __name__ == "__main__":
    sys.exit(main())
