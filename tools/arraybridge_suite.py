"""The tests of the package arraybridge, run against ``arrayloom.bridge.arraybridge``.

Its source is fetched from the package index. Tests of what is not there on purpose fail: the count of
tests that pass is the result.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

# Later versions test their own classes of libraries, which their tests cannot be loaded without.
VERSION = "0.2.9"
START = (
    "import sys, pytest; from arrayloom.bridge import arraybridge; arraybridge.install(); "
    "sys.exit(pytest.main(sys.argv[1:]))"
)


def main() -> int:
    """Fetch the tests and run them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fetch = ["download", "-q", "--no-deps", "--no-binary", ":all:", f"arraybridge=={VERSION}"]
        subprocess.run([sys.executable, "-m", "pip", *fetch, "-d", folder], check=True)
        with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
        root = next(folder.glob("arraybridge-*/"))
        options = ["-q", "--tb=no", "-o", "addopts=", "--continue-on-collection-errors", "tests"]
        command = [sys.executable, "-c", START, *options, *sys.argv[1:]]
        return subprocess.run(command, cwd=root, env=dict(os.environ), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
