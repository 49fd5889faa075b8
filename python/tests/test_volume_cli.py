"""The commands that work on volumes in files, and the examples of their modules."""

import doctest
import importlib
import json
import pkgutil
import re
import shutil
import struct
import zlib

import numpy as np
import pytest

from arrayloom import _cli, filters, volumes
from arrayloom._volumes import cancel, in_place, limits, measures, page, report, zarr_target
from arrayloom.compat import hip


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(3)
    np.save(tmp_path / "in.npy", rng.integers(0, 4000, (20, 30, 25), dtype=np.uint16))
    return tmp_path


def run(*words):
    return _cli.main([str(w) for w in words])


def read_png(path):
    """A grey picture whose lines are stored as they are."""
    data = path.read_bytes()
    columns, rows = struct.unpack(">II", data[16:24])
    lines = zlib.decompress(data[data.index(b"IDAT") + 4 :])
    return np.frombuffer(lines, np.uint8).reshape(rows, columns + 1)[:, 1:]


WITH_EXAMPLES = [
    volumes,
    cancel,
    in_place,
    limits,
    measures,
    page,
    report,
    zarr_target,
    hip,
]
PARTS = [m.name for m in pkgutil.iter_modules(filters.__path__, "arrayloom.filters.")]


@pytest.mark.parametrize("module", [*WITH_EXAMPLES, *map(importlib.import_module, PARTS)])
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


def test_workers_and_levels(folder, capsys):
    pytest.importorskip("zarr")
    x = np.load(folder / "in.npy")
    given = ["--devices", "cpu*2", "--levels", "auto", "--chunks", "8,8,8", "--memory", "300KiB"]
    assert run("filter", "maximum", folder / "in.npy", folder / "out.zarr", *given) == 0
    assert np.array_equal(
        np.asarray(volumes.open(folder / "out.zarr")), filters.maximum_filter(x, 3)
    )
    assert volumes.open(folder / "out.zarr", level=1).shape == (10, 15, 13)
    with pytest.raises(SystemExit) as stopped:
        run("convert", folder / "in.npy", folder / "no.npy", "--devices", "cuda:0")
    assert stopped.value.code == 2
    assert "no device 'cuda:0'" in capsys.readouterr().err


def test_any_parameter_can_be_set(folder):
    x = np.load(folder / "in.npy")
    words = [
        "filter",
        "grey_opening",
        folder / "in.npy",
        folder / "out.npy",
        "--set",
        "iterations=2",
    ]
    assert run(*words, "--size", "3,1,3", "--output-dtype", "f4", "--mode", "nearest") == 0
    expected = filters.grey_opening(x, (3, 1, 3), iterations=2, mode="nearest")
    result = np.load(folder / "out.npy")
    assert result.dtype == np.float32
    assert np.array_equal(result, expected)
    words = ["filter", "uniform", folder / "in.npy", folder / "out.npy", "--mode", "wrap,mirror"]
    assert run(*words, "--set", "axes=0,2") == 0
    expected = filters.uniform_filter(x, 3, mode=["wrap", "mirror"], axes=(0, 2))
    assert np.array_equal(np.load(folder / "out.npy"), expected)
    words = ["filter", "percentile", folder / "in.npy", folder / "out.npy"]
    assert run(*words, "--percentile", "20", "--size", "3") == 0
    assert np.array_equal(np.load(folder / "out.npy"), filters.percentile_filter(x, 20, 3))


def test_files_that_cannot_be_read_or_written(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    whole = (folder / "in.npy").read_bytes()
    (folder / "torn.npy").write_bytes(whole[: len(whole) // 2])
    assert run("filter", "median", "torn.npy", "out.npy") == 1
    assert capsys.readouterr().err.count("\n") == 1
    usage = shutil.disk_usage(folder)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=100))
    assert run("filter", "median", "in.npy", "out.npy") == 1
    assert "30000 bytes and the disk has 100" in capsys.readouterr().err
    assert not (folder / "out.npy").exists()


def test_a_chunk_that_is_damaged_is_named(folder, monkeypatch, capsys):
    zarr = pytest.importorskip("zarr")
    monkeypatch.chdir(folder)
    x = np.load("in.npy")
    array = zarr.create_array(store="in.zarr", shape=x.shape, chunks=(8, 8, 8), dtype=x.dtype)
    array[...] = x
    chunks = sorted(p for p in (folder / "in.zarr" / "c").rglob("*") if p.is_file())
    chunks[len(chunks) // 2].write_bytes(b"damaged")
    assert run("filter", "median", "in.zarr", "out.npy", "--memory", "200KiB") == 1
    error = capsys.readouterr().err
    assert "block" in error
    assert "[" in error
    assert not (folder / "out.npy").exists()


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
        (["filter", "gaussian", "in.npy", "out.npy"], 2, "needs --sigma"),
        (["filter", "blurr", "in.npy", "out.npy"], 2, "no filter 'blurr'"),
        (["filter", "ball", "in.npy", "out.npy"], 2, "no filter 'ball'"),
        (["filter", "nl_means", "in.npy", "out.npy"], 2, "needs --set h=..."),
        (["filter", "laplace", "in.npy", "out.npy", "--size", "3"], 2, "has no parameter size"),
        (["filter", "median", "in.npy", "out.npy", "--mode", "far"], 2, "mode 'far'"),
        (["filter", "median", "in.npy", "out.npy", "--size", "1,2"], 2, "2 entries for 3"),
        (["filter", "median", "in.npy", "nowhere/out.npy"], 1, "does not exist"),
        (["filter", "median", "in.npy", "in.npy"], 1, "another name"),
        (["filter", "median", "in.npy", "out.xyz"], 2, "unknown format"),
        (["filter", "median", "in.npy", "out.npy", "--memory", "500"], 3, "smallest block"),
        (["filter", "gaussian", "in.npy", "out.npy", "--sigma", "1,2"], 2, "2 entries for 3"),
        (["plan", "gaussian", "in.npy", "--sigma", "1,2"], 2, "2 entries for 3"),
        (["filter", "mean", "in.npy", "out.npy", "--size", "3.5"], 2, "whole numbers"),
        (
            ["filter", "median", "in.npy", "out.zarr", "--chunks", "8,8"],
            2,
            "one extent of at least 1",
        ),
        (["plan", "median", "in.npy", "--memory", "500"], 3, "smallest block"),
        (["plan", "median", "in.npy", "--chunks", "3,3"], 2, "one extent of at least 1"),
        (["filter", "median", "in.npy", "out.npy", "--chunks", "8,8,8"], 2, "is for zarr and hdf5"),
        (
            ["filter", "median", "in.npy", "out.npy", "--set", "devices=cpu"],
            2,
            "no parameter devices",
        ),
        (["filter", "percentile", "in.npy", "out.npy"], 2, "needs --percentile"),
        (["convert", "in.npy", "out.npy", "--level", "1"], 2, "--level is for"),
        (["view", "in.npy", "view.jpg"], 2, "written as .png"),
        (["filter", "rank_filter", "in.npy", "out.npy"], 2, "needs --set rank=..."),
        (["convert", "in.raw", "out.npy"], 2, "give --shape and --dtype"),
        (["convert", "groups.h5", "out.npy"], 1, "say which one with --dataset"),
        (["convert", "groups.h5", "out.npy", "--dataset", "g"], 1, "'g' in groups.h5 is a group"),
        (
            ["plan", "median", "point.npy", "--draw", "plan.svg"],
            1,
            "without axes has no blocks to draw",
        ),
    ],
)
def test_errors_have_a_line_and_an_exit_code(folder, monkeypatch, capsys, words, code, text):
    monkeypatch.chdir(folder)
    (folder / "in.raw").write_bytes(bytes(9))
    np.save("point.npy", np.float32(3))
    if "groups.h5" in words:
        with pytest.importorskip("h5py").File("groups.h5", "w") as file:
            file["g/a"], file["b"] = [1], [2]
    assert run(*words) == code
    error = capsys.readouterr().err
    assert text in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["filter", "median"], "arguments are required"),
        (["filter", "gaussian", "in.npy", "out.npy", "--sigma", "a"], "'a' is no number"),
        (["filter", "median", "in.raw", "out.npy", "--shape", "4,x"], "no list of extents"),
        (["filter", "gaussian", "in.npy", "out.npy", "--set", "order"], "write NAME=VALUE"),
        (["filter", "median", "in.npy", "out.npy", "--memory", "inf"], "no number of bytes"),
        (["convert", "in.npy", "out.zarr", "--levels", "two"], "no number of levels"),
        (["convert", "in.npy", "out.npy", "--devices", "gpu"], "no device 'gpu'"),
        (
            ["convert", "in.npy", "out.npy", "--devices", "cpu:0=lots"],
            "'lots' is no number of bytes",
        ),
        (
            ["filter", "median", "in.npy", "out.npy", "--output-dtype", "flot"],
            "'flot' not understood",
        ),
        (
            ["convert", "in.raw", "out.npy", "--shape", "3", "--dtype", "flot"],
            "'flot' not understood",
        ),
        (
            ["plan", "median", "in.npy", "--draw", "plan.jpg"],
            "plan.jpg: a plan is drawn as .svg or .png",
        ),
    ],
)
def test_usage_is_exit_code_2(capsys, words, text):
    with pytest.raises(SystemExit) as stopped:
        run(*words)
    assert stopped.value.code == 2
    assert text in capsys.readouterr().err


def test_memory_that_costs_time_is_told_with_what_is_enough(folder, capsys):
    pytest.importorskip("zarr")
    x = np.random.default_rng(2).integers(0, 99, (48, 48, 48)).astype("u1")
    volumes.save(folder / "deep.zarr", x, chunks=(16, 16, 16))
    words = ["median", folder / "deep.zarr", "--memory", "60KiB"]
    assert run("plan", *words) == 0
    once = re.search(r"once +with ([\d,]+) bytes", capsys.readouterr().out)
    assert once is not None
    assert run("filter", words[0], words[1], folder / "out.npy", *words[2:]) == 0
    error = capsys.readouterr().err
    told = re.search(r"the source is read [\d.]+ times; --memory (\d+) reads it once", error)
    assert told is not None
    enough = told.group(1)
    assert int(once.group(1).replace(",", "")) == int(enough)
    assert run("plan", words[0], words[1], "--memory", enough) == 0
    assert "0.00 % more than once" in capsys.readouterr().out
    assert run("filter", words[0], words[1], folder / "out.npy", "--memory", enough) == 0
    assert "times" not in capsys.readouterr().err


def test_info_says_what_a_file_holds(folder, capsys):
    pytest.importorskip("zarr")
    x = np.load(folder / "in.npy")
    assert run("info", folder / "in.npy") == 0
    text = capsys.readouterr().out
    assert "shape    (20, 30, 25)\ndtype    uint16\nbytes    30,000\ncodecs   none\n" in text
    told = {"spacing": (2, 0.5, 0.5), "units": ("micrometer",) * 3, "chunks": (8, 8, 8)}
    volumes.save(folder / "in.ome.zarr", x, levels=2, shards=(16, 16, 16), **told)
    assert run("info", folder / "in.ome.zarr", "--level", "0") == 0
    assert capsys.readouterr().out.splitlines()[4:] == [
        "axes     z, y, x",
        "spacing  2 micrometer, 0.5 micrometer, 0.5 micrometer",
        "chunks   (8, 8, 8)",
        "shards   (16, 16, 16)",
        "codecs   zstd",
        "levels   2: (20, 30, 25), (10, 15, 13)",
    ]
    assert run("info", "--json", folder / "in.ome.zarr", "--level", "1") == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["shape"], facts["spacing"], facts["shards"]) == ([10, 15, 13], [4, 1, 1], None)
    assert run("info", folder / "nothing.npy") == 1
    assert "does not exist" in capsys.readouterr().err


def test_info_without_a_file_is_about_the_installation(capsys):
    assert run("--no-shim", "info") == 0
    assert "self-test" in capsys.readouterr().out


def test_pictures_show_the_middle_and_the_greatest_values(folder):
    x = np.zeros((5, 30, 40), np.float32)
    x[2, 3, 4], x[4, 20, 30], x[0, 0, 0] = 10, 20, np.nan
    np.save(folder / "bright.npy", x)
    assert run("view", folder / "bright.npy", folder / "view.png") == 0
    picture = read_png(folder / "view.png")
    assert picture.shape == (30, 80)
    assert picture[:, :40].argmax() == 3 * 40 + 4
    assert (picture[20, 70], picture[3, 44]) == (255, 128)


def test_a_stop_is_exit_code_130_wherever_it_lands(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    kept = ".out.npy.partial.npy"

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(np.memmap, "__setitem__", stop, raising=False)
        assert run("filter", "median", "in.npy", "out.npy") == 130
    assert "with --resume goes on" in capsys.readouterr().err
    assert (folder / kept).exists()
    assert run("filter", "median", "in.npy", "out.npy", "--size", "5", "--resume") == 1
    assert "or save without --resume\n" in capsys.readouterr().err
    assert run("filter", "median", "in.npy", "out.npy", "--resume") == 0
    assert not (folder / kept).exists()


def test_errors_name_options(folder, monkeypatch, capsys):
    pytest.importorskip("zarr")
    monkeypatch.chdir(folder)

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(np.memmap, "__setitem__", full, raising=False)
        assert run("convert", "in.npy", "out.npy") == 1
    assert "is kept, and --resume goes on with it" in capsys.readouterr().err
    chunks = ["--chunks", "8,8,8"]
    with monkeypatch.context() as patch:
        patch.setattr("arrayloom._volumes.save.stream", full)
        assert run("convert", "in.npy", "out.zarr", *chunks) == 1
    assert run("convert", "in.npy", "out.zarr", "--resume", "--levels", "2", *chunks) == 1
    told = "was begun with no --levels, and this run has --levels 2; give"
    assert told in capsys.readouterr().err
    assert run("convert", "in.npy", "out.zarr", "--resume") == 1
    assert "with --chunks [8, 8, 8], and this run has no --chunks; give" in capsys.readouterr().err
