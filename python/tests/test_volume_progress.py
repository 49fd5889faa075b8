"""How far a run is, told as the caller wants."""

import numpy as np
import pytest

from arrayloom import volumes as v

X = np.arange(9 * 64 * 64, dtype="u2").reshape(9, 64, 64)
LIMIT = {"memory_limit": "40KiB"}


MADE = []


class Bar:
    """A class such as tqdm."""

    def __init__(self, iterable=None, total=None):
        self.total, self.steps, self.closed = total, [], False
        MADE.append(self)

    def update(self, n=1):
        self.steps.append(n)

    def close(self):
        self.closed = True


def test_true_shows_the_bar_of_the_command_line(tmp_path, capsys):
    v.save(tmp_path / "a.npy", X, progress=True, **LIMIT)
    text = capsys.readouterr().err
    assert text.count("\r[") > 1
    assert "100 %" in text
    assert text.endswith("\n")
    for quiet in (False, None):
        v.save(tmp_path / "a.npy", X, progress=quiet, **LIMIT)
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize("target", ["file", "array"])
def test_a_class_gives_one_bar_for_the_run(tmp_path, target):
    MADE.clear()
    to = tmp_path / "a.npy" if target == "file" else np.empty_like(X)
    report = v.save(to, X, progress=Bar, **LIMIT)
    (bar,) = MADE
    assert report["blocks"] > 1
    assert len(bar.steps) == report["blocks"]
    assert bar.total == sum(bar.steps) == X.size
    assert bar.closed


def test_a_bar_is_closed_after_an_error(tmp_path, monkeypatch):
    MADE.clear()

    def full(self, n=1):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Bar, "update", full)
    with pytest.raises(OSError, match="No space"):
        v.save(tmp_path / "a.npy", X, progress=Bar, **LIMIT)
    assert MADE[0].closed


def test_what_shows_no_progress_is_refused_before_there_is_a_file(tmp_path):
    with pytest.raises(TypeError, match=r"progress='yes'; give True, a function"):
        v.save(tmp_path / "a.npy", X, progress="yes")
    assert not list(tmp_path.iterdir())
