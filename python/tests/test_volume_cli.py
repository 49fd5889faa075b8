"""The commands that work on volumes in files, and the examples of their modules."""

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

from arrayloom import _cli, _volume, filters, volumes
from arrayloom.compat import hip


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(3)
    np.save(tmp_path / "in.npy", rng.integers(0, 4000, (20, 30, 25), dtype=np.uint16))
    return tmp_path


def run(*words):
    return _cli.main([str(w) for w in words])


PARTS = [m.name for m in pkgutil.iter_modules(filters.__path__, "arrayloom.filters.")]


@pytest.mark.parametrize("module", [volumes, _volume, hip, *map(importlib.import_module, PARTS)])
def test_the_examples_are_right(module):
    result = doctest.testmod(module)
    assert result.failed == 0


def test_every_filter_has_an_example():
    for name in filters.__all__:
        assert ">>> " in getattr(filters, name).__doc__, name


def test_filter_and_convert(folder):
    x = np.load(folder / "in.npy")
    common = ["--sigma", "2,1,1", "--memory", "256KiB"]
    assert run("filter", "gaussian", folder / "in.npy", folder / "out.npy", *common) == 0
    assert np.array_equal(np.load(folder / "out.npy"), filters.gaussian_filter(x, (2, 1, 1)))
    assert run("convert", folder / "out.npy", folder / "out.raw") == 0
    shape = ["--shape", "20,30,25", "--dtype", "u2"]
    words = ["filter", "median", folder / "out.raw", folder / "m.npy", "--size", "3", *shape]
    assert run(*words) == 0
    expected = filters.median_filter(filters.gaussian_filter(x, (2, 1, 1)), 3)
    assert np.array_equal(np.load(folder / "m.npy"), expected)


def test_plan_and_view(folder, capsys):
    words = ["plan", "gaussian", folder / "in.npy", "--sigma", "1", "--memory", "100KiB"]
    assert run(*words, "--draw", folder / "plan.svg") == 0
    assert "blocks" in capsys.readouterr().out
    assert (folder / "plan.svg").read_text().startswith("<svg")
    assert run("view", folder / "in.npy", folder / "view.png") == 0
    assert (folder / "view.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["filter", "gaussian", "missing.npy", "out.npy", "--sigma", "1"], 1, "does not exist"),
        (["filter", "gaussian", "in.npy", "out.npy"], 1, "needs --sigma"),
        (["filter", "blurr", "in.npy", "out.npy"], 1, "no filter 'blurr'"),
        (["filter", "median", "in.npy", "out.npy", "--size", "1,2"], 1, "2 entries for 3"),
        (["filter", "median", "in.npy", "nowhere/out.npy"], 1, "does not exist"),
        (["filter", "median", "in.npy", "in.npy"], 1, "another name"),
        (["filter", "median", "in.npy", "out.xyz"], 1, "unknown format"),
        (["filter", "median", "in.npy", "out.npy", "--memory", "500"], 3, "smallest block"),
        (["plan", "median", "in.npy", "--memory", "500"], 3, "smallest block"),
    ],
)
def test_errors_have_a_line_and_an_exit_code(folder, monkeypatch, capsys, words, code, text):
    monkeypatch.chdir(folder)
    assert run(*words) == code
    error = capsys.readouterr().err
    assert text in error
    assert error.count("\n") == 1


def test_usage_is_exit_code_2(capsys):
    with pytest.raises(SystemExit) as stopped:
        run("filter", "median")
    assert stopped.value.code == 2
