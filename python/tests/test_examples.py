"""The examples: each runs as plain NumPy and under the runner, and prints the same checksum."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def checksums(*command, cwd):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = re.findall(r"(\w+) = (\S+?)[,\s]", done.stdout)
    assert "checksum" in dict(found), done.stdout
    return found


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_same_result_as_numpy(path, tmp_path):
    args = [str(path), "--size", "300", "--iterations", "5", "--plot", "out.png"]
    plain = checksums(sys.executable, *args, cwd=tmp_path)
    picture = (tmp_path / "out.png").read_bytes()
    ours = checksums(sys.executable, "-m", "arrayloom", *args, cwd=tmp_path)
    assert ours == plain
    assert (tmp_path / "out.png").read_bytes() == picture


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_examples_are_short_and_plain_numpy(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    assert "arrayloom" not in text


def test_there_are_examples():
    assert len(EXAMPLES) >= 3
