"""``--compare``: what is run, given and shown, and what is said about runs that differ."""

import io
import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from arrayloom import _cli
from arrayloom._compare import Compared, Difference, compare_text
from arrayloom._compare.runs import Run

OUR_OWN = "'arrayloom' in sys.modules"


def start(*words, cwd, env=None, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "arrayloom", *words],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.fixture
def run(tmp_path):
    """Run the runner in an empty folder; gives status, standard output and error."""

    def call(*words, given=None, **options):
        process = start(*words, cwd=tmp_path, stdin=subprocess.PIPE, **options)
        out, err = process.communicate(given, timeout=120)
        return process.returncode, out, err

    return call


@pytest.fixture
def report(run):
    """Run a comparison that writes JSON; gives status, standard output and the report."""

    def call(*words, times=1, **options):
        status, out, err = run(f"--compare={times}", "--json", *words, **options)
        return status, out, json.loads(err.splitlines()[-1])["compare"]

    return call


def test_both_kinds_run_in_turns_and_agree(report, tmp_path):
    code = f"""
    import sys, os
    with open("order", "a") as file:
        print({OUR_OWN}, sys.argv[1:], os.environ.get("ARRAYLOOM_THREADS"), file=file)
    print("shown"); sys.exit(3)
    """
    words = ("--threads=2", "--scope", "all", "-c", textwrap.dedent(code), "--json", "x y")
    status, out, seen = report(*words, times=2)
    assert (status, out) == (3, "shown\n")
    assert (seen["same"], seen["plain_agree"], seen["difference"]) == (True, True, None)
    plain, ours = (f"{yes} ['--json', 'x y'] {threads}" for yes, threads in ((0, None), (1, 2)))
    plain, ours = plain.replace("0 ", "False ", 1), ours.replace("1 ", "True ", 1)
    assert (tmp_path / "order").read_text().splitlines() == [plain, ours] * 2
    for kind in ("plain", "accelerated"):
        assert [row["exit_code"] for row in seen[kind]] == [3, 3]
        assert all(row["seconds"] > 0 and row["cpu_seconds"] > 0 for row in seen[kind])
    assert seen["ratio"].keys() == {"wall_median", "wall_least", "cpu_median", "peak"}


def test_peak_memory_is_that_of_the_program(report):
    """That of a process begins with what its parent had, so nothing large may start it."""
    _, _, seen = report("-c", f"import sys; x = b'1' * (50 << 20) if {OUR_OWN} else 0")
    assert seen["plain"][0]["peak_bytes"] < 20 << 20
    assert 50 << 20 < seen["accelerated"][0]["peak_bytes"] < 150 << 20


def test_text(run, tmp_path):
    (tmp_path / "app.py").write_text("import numpy as np\nprint(np.arange(1e5).sum())\n")
    status, out, err = run("--compare=1", "app.py")
    assert (status, out) == (0, "4999950000.0\n")
    head, _, titles, _, plain, ours, ratio, _, verdict = err.splitlines()
    assert head == "arrayloom compare: 1 plain and 1 accelerated runs, in turns, of app.py"
    assert titles.split("  ")[-1] == "exit code"
    assert plain.split()[0::2][0] == "plain"
    assert ours.startswith("accelerated  ")
    assert ratio.startswith("plain / accelerated  ")
    assert verdict == "standard output and exit code were the same in both runs"
    assert max(map(len, err.splitlines())) <= 100
    status, out, err = run("--compare=1", "--output", "report", "-c", "1")
    assert (status, out, err) == (0, "", "")
    assert verdict in (tmp_path / "report").read_text()
    assert run("--compare=1", "--output", "no/report", "app.py")[0] == 2


def test_runs_that_differ(report):
    code = f"import sys; print(1); print('abc' * 40 + str({OUR_OWN}))"
    status, out, seen = report("-c", code)
    assert (status, out) == (1, "1\n" + "abc" * 40 + "False\n")
    assert seen["plain_agree"]
    assert not seen["same"]
    assert seen["difference"]["line"] == 2
    assert seen["difference"]["first"] == "abc" * 40 + "False"
    assert seen["difference"]["between"] == ["plain", "accelerated"]


def test_exit_codes_that_differ(run):
    code = f"import sys; sys.exit('wrong' if {OUR_OWN} else 0)"
    status, _, err = run("--compare=1", "-c", code)
    assert status == 1
    assert "only their exit codes" in err
    assert "its end:\n    wrong" in err


def found(plain, ours, difference, *, agree=True):
    """A comparison of runs with these outputs."""
    runs = [
        tuple(Run(1.5, 1.0, 3 << 20, 0, io.BytesIO(text), io.BytesIO()) for text in texts)
        for texts in (plain, ours)
    ]
    return Compared("app.py", *runs, agree, difference)


def test_lines_that_differ():
    lines = ("ab" * 60 + "False", "ab" * 60 + "True" + "x" * 90)
    text = compare_text(found([b""], [b""], Difference(("plain", "accelerated"), 2, *lines)))
    assert "plain and accelerated runs differ" in text
    # Long lines are shown where they differ.
    assert "\n  line 2, plain        ...abab" in text
    assert "abFalse\n" in text
    assert "abTruexxx" in text
    assert "without a seed" in text
    assert max(map(len, text.splitlines())) <= 100
    missing = compare_text(
        found([b""], [b""], Difference(("plain", "accelerated"), 2, None, "more"))
    )
    assert "line 2, plain        (no such line)\n  line 2, accelerated  more" in missing


def test_plain_runs_that_differ_are_not_blamed_on_acceleration(run):
    """With one run of each, another plain one tells."""
    status, _, err = run("--compare=1", "-c", "import time; print(time.time_ns())")
    assert status == 0
    assert "plain runs differ among themselves" in err
    assert "line 1, plain again" in err
    assert "plain and accelerated runs differ" not in err


def test_standard_input_goes_to_each_run(run, report, tmp_path):
    code = "import sys; print(sys.stdin.readline(), sys.stdin.read().count('x'))"
    long = "first\n" + "x" * 1_000_000
    status, out, seen = report("-c", code, given=long)
    assert (status, out, seen["same"]) == (0, "first\n 1000000\n", True)
    assert report("-", given="print(4)")[1] == "4\n"
    (tmp_path / "given").write_text(long)
    with (tmp_path / "given").open() as file:
        file.seek(3)
        words = ("--compare=1", "--json", "-c", code)
        process = start(*words, cwd=tmp_path, stdin=file)
        out, err = process.communicate(timeout=120)
    assert out == "st\n 1000000\n"
    assert json.loads(err)["compare"]["same"]


def test_standard_input_that_nobody_ends(tmp_path):
    reader, writer = os.pipe()
    try:
        process = start("--compare=1", "-c", "print(4)", cwd=tmp_path, stdin=reader)
        assert process.communicate(timeout=60)[0] == "4\n"
    finally:
        os.close(reader)
        os.close(writer)


def test_signals_are_exit_codes(report):
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    status, _, seen = report("-c", code)
    assert status == 128 + signal.SIGKILL
    assert seen["accelerated"][0]["exit_code"] == -signal.SIGKILL


@pytest.mark.parametrize("to", ["everybody", "the runner"])
def test_ctrl_c_ends_run_and_report(tmp_path, to):
    code = "import time; print('began', flush=True); time.sleep(100)"
    process = start("--compare", "-c", code, cwd=tmp_path, start_new_session=True)
    assert process.stdout.readline() == "began\n"
    began = time.monotonic()
    (os.killpg if to == "everybody" else os.kill)(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert time.monotonic() - began < 60
    assert "ended by Ctrl-C; no run was finished" in err


def test_by_the_variable_and_not_again(report):
    env = {"ARRAYLOOM_COMPARE": "2", "ARRAYLOOM_ENABLE": "1", "ARRAYLOOM_HTML": "a.html"}
    code = "import os; print([n for n in ('COMPARE', 'ENABLE') if 'ARRAYLOOM_' + n in os.environ])"
    status, out, seen = report("-c", code, env=env)
    assert (status, out, seen["same"], len(seen["plain"])) == (0, "[]\n", True, 1)


def test_options_that_make_no_sense_together(capsys, monkeypatch):
    for option in ("--profile", "--html=a", "--coverage"):
        with pytest.raises(SystemExit):
            _cli.parse(["--compare", option, "-c", "1"])
        assert f"leave {option.partition('=')[0]} out" in capsys.readouterr().err
    for name, value in (("HTML", "a"), ("COMPARE", "4")):
        monkeypatch.setenv(f"ARRAYLOOM_{name}", value)
    options, _ = _cli.parse(["-c", "1"])
    assert (options.compare, options.html) == (4, None)
    for words in (["--compare=0"], ["--compare=x"]):
        with pytest.raises(SystemExit):
            _cli.parse([*words, "-c", "1"])
