"""Command line: options against the program's own words, reports, and info."""

import json

import pytest

from arrayloom import _cli, _info, _native, _profile
from arrayloom._runner import Kind, Program

STATS = _native.parse_stats(
    {
        "ops": {
            "add": {"calls": 3, "seconds": 0.25, "bytes": 3 << 20},
            "sqrt": {"calls": 11, "seconds": 1.5, "bytes": 1536},
        },
        "fallbacks": [
            {"op": "sort", "reason": "not accelerated", "file": "/a/app.py", "line": 7, "calls": 2},
            {"op": "fft", "reason": "unusual", "file": "/a/app.py", "line": 9, "calls": 20},
        ],
        "kernels": 4,
        "flush_seconds": 1.5,
        "flushes": 2,
        "cache_hits": 3,
        "cache_misses": 1,
        "faults": 5,
        "pool": {"blocks": 6, "name": "ignored"},
    }
)


@pytest.mark.parametrize(
    ("argv", "program"),
    [
        (["app.py", "-v", "--profile"], Program(Kind.SCRIPT, "app.py", ["-v", "--profile"])),
        (["--threads", "3", "-m", "mod", "-c"], Program(Kind.MODULE, "mod", ["-c"])),
        (["-v", "-c", "x = 1", "a"], Program(Kind.CODE, "x = 1", ["a"])),
        (["--profile", "-", "b"], Program(Kind.STDIN, "-", ["b"])),
        (["--threads=2", "--", "-odd.py", "c"], Program(Kind.SCRIPT, "-odd.py", ["c"])),
        (["--strict", "app.py", "x.csv"], Program(Kind.SCRIPT, "app.py", ["x.csv"])),
        (["--coverage", "a.csv", "app.py"], Program(Kind.SCRIPT, "app.py", [])),
        (["--coverage", "app.py", "a.csv"], Program(Kind.SCRIPT, "app.py", ["a.csv"])),
        (["--html", "a.html", "--trace", "a.json", "-c", "1"], Program(Kind.CODE, "1", [])),
        (["info", "--json"], None),
    ],
)
def test_program_is_found_behind_the_options(argv, program):
    assert _cli.parse(argv)[1] == program


def test_options():
    options, _ = _cli.parse(
        ["--threads", "3", "--min-bytes=64", "--no-lazy", "--scope", "all", "--profile", "x.py"]
    )
    assert (options.threads, options.min_bytes, options.lazy) == (3, 64, False)
    assert (options.scope, options.profile, options.json) == ("all", True, False)
    assert _cli.parse(["info", "--json"])[0].json
    options, _ = _cli.parse(["--coverage", "a.csv", "--strict=loop,keyword", "x.py"])
    assert (options.coverage, options.strict) == ("a.csv", "loop,keyword")
    options, _ = _cli.parse(["--coverage", "--strict", "x.py"])
    assert (options.coverage, options.strict) == ("1", "1")
    assert (options.html, options.trace) == (None, None)


def test_variables_stand_for_options(monkeypatch):
    for name in ("COVERAGE", "HTML", "TRACE", "SCOPE"):
        monkeypatch.setenv(f"ARRAYLOOM_{name}", name.lower())
    options, _ = _cli.parse(["x.py"])
    assert (options.coverage, options.html) == ("coverage", "html")
    assert (options.trace, options.scope) == ("trace", "scope")
    assert _cli.parse(["--html", "b", "--scope=all", "x.py"])[0].html == "b"
    monkeypatch.setenv("ARRAYLOOM_HTML", "0")
    monkeypatch.setenv("ARRAYLOOM_SCOPE", "")
    options, _ = _cli.parse(["x.py"])
    assert (options.html, options.scope) == (None, "user")


@pytest.mark.parametrize("argv", [["--no-such", "x.py"], ["--threads", "none", "x.py"], ["-m"]])
def test_bad_options_are_refused(argv, capsys):
    with pytest.raises(SystemExit) as stop:
        _cli.parse(argv)
    assert stop.value.code == 2
    assert "usage" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["--threads=x", "x.py"], "argument --threads: 'x' is no whole number from 1 on"),
        (["--threads=0", "x.py"], "argument --threads: '0' is no whole number from 1 on"),
        (["--min-bytes=-1", "x.py"], "argument --min-bytes: '-1' is no whole number from 0 on"),
        (["--scope=", "x.py"], "argument --scope: nobody is named"),
    ],
)
def test_a_bad_option_is_named(argv, text, capsys):
    with pytest.raises(SystemExit):
        _cli.parse(argv)
    assert text in capsys.readouterr().err


def test_profile_text():
    text = _profile.profile_text(STATS, 2.0)
    lines = text.splitlines()
    assert lines[0].startswith("arrayloom profile: 2.000 s, of which 1.500 s in arrayloom")
    assert lines[2].split() == ["operation", "calls", "seconds", "moved"]
    assert lines[4].split() == ["sqrt", "11", "1.5000", "1.5", "KiB"]
    assert lines[5].split() == ["add", "3", "0.2500", "3.0", "MiB"]
    assert "fft              20  /a/app.py:9  unusual" in text
    assert text.index("fft") < text.index("sort")
    assert "kernel cache hits         75 % of 4" in text
    assert "pool blocks" in text
    assert "ignored" not in text


def test_profile_of_nothing():
    text = _profile.profile_text(_native.Stats(), 0.5)
    assert "nothing was accelerated" in text
    assert "kernel cache hits         - of 0" in text


def test_profile_json():
    report = json.loads(_profile.profile_json(STATS, 2.0))
    assert report["seconds"] == 2.0
    assert report["ops"][0] == {"op": "add", "calls": 3, "seconds": 0.25, "nbytes": 3 << 20}
    assert report["fallbacks"][1]["line"] == 9
    assert report["counters"]["faults"] == 5


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (5 << 40, "5.0 TiB"),
        (1 << 60, "1048576.0 TiB"),
    ],
)
def test_human_bytes(count, text):
    assert _profile.human_bytes(count) == text


def test_malformed_statistics_are_no_error():
    assert _native.parse_stats(None) == _native.Stats(
        counters=dict.fromkeys(_native.COUNTERS, 0), times=dict.fromkeys(_native.TIMES, 0.0)
    )
    odd = _native.parse_stats({"ops": 3, "fallbacks": "x", "kernels": "many", "pool": None})
    assert odd.ops == ()
    assert odd.counters["kernels"] == 0


def test_info_reports_the_self_test():
    info = _info.collect()
    assert [test.outcome for test in info.tests] == ["ok"] * len(info.tests)
    text = _info.info_text(info)
    assert "numpy" in text
    assert "self-test  stencil in place: ok" in text
    assert json.loads(_info.info_json(info))["healthy"] is info.healthy


def test_self_test_sees_wrong_bits_and_errors():
    from types import SimpleNamespace

    import numpy as np

    names = {
        name: getattr(np, name) for name in ("zeros", "arange", "asarray", "sort", "max", "sum")
    }
    wrong = SimpleNamespace(**names, sqrt=lambda x: np.sqrt(x) * (1 + 2**-52))
    outcomes = {test.name: test.outcome for test in _info.self_test(wrong)}
    assert outcomes["reduction to a scalar"] == "other bits than NumPy"
    assert outcomes["elementwise"] == "ok"
    del wrong.sqrt
    outcomes = {test.name: test.outcome for test in _info.self_test(wrong)}
    assert outcomes["reduction to a scalar"].startswith("AttributeError")
