"""Restarting with the shim: when, with which environment, and never twice."""

import io
import sys

import pytest

from arrayloom import _preload


@pytest.fixture
def restarts(monkeypatch, tmp_path):
    """Collect what would be executed; the shim exists and is not loaded."""
    found = []
    shim = tmp_path / "libarrayloom_shim.so"
    monkeypatch.setattr(_preload._State, "done", False)
    monkeypatch.setattr(_preload._State, "told", False)
    monkeypatch.setattr(_preload, "shim_path", lambda: str(shim))
    monkeypatch.setattr(_preload, "shim_loaded", lambda: False)
    monkeypatch.setattr(_preload, "moves_bytes_slowly", lambda: False)
    monkeypatch.setattr(_preload.os, "execve", lambda *args: found.append(args))
    monkeypatch.setattr(sys, "orig_argv", ["python", "-X", "dev", "-m", "arrayloom", "app.py"])
    return found, str(shim)


def test_restarts_the_same_command(restarts):
    found, shim = restarts
    environ = {"A": "1"}
    _preload.restart_with_shim(environ)
    _preload.restart_with_shim(environ)
    ((program, argv, changed),) = found
    assert program == sys.executable
    assert argv == [sys.executable, "-X", "dev", "-m", "arrayloom", "app.py"]
    assert changed == {"A": "1", "LD_PRELOAD": shim, "ARRAYLOOM_RESTARTED": ""}
    assert environ == {"A": "1"}


def test_keeps_and_restores_the_users_preload(restarts):
    found, shim = restarts
    _preload.restart_with_shim({"LD_PRELOAD": "libx.so"})
    second = found[0][2]
    assert second["LD_PRELOAD"] == f"{shim}:libx.so"
    _preload._State.done = False
    _preload.restart_with_shim(second)
    assert second == {"LD_PRELOAD": "libx.so"}
    assert len(found) == 1


@pytest.mark.parametrize("before", ["", "glibc.malloc.check=1"])
def test_tells_the_c_library_to_move_bytes_by_vectors(restarts, monkeypatch, before):
    monkeypatch.setattr(_preload, "moves_bytes_slowly", lambda: True)
    users = {"GLIBC_TUNABLES": before} if before else {}
    _preload.restart_with_shim(dict(users))
    second = restarts[0][0][2]
    name, value = second["GLIBC_TUNABLES"].removeprefix(before).lstrip(":").split("=")
    assert name == "glibc.cpu.x86_rep_movsb_threshold"
    assert int(value) > 1 << 40
    assert second["GLIBC_TUNABLES"].startswith(before)
    assert _preload.short_moves_crawl()
    _preload._State.done = False
    _preload.restart_with_shim(second)
    assert second == users
    assert not _preload.short_moves_crawl()


def test_the_users_own_word_on_moves_stands(restarts, monkeypatch):
    monkeypatch.setattr(_preload, "moves_bytes_slowly", lambda: True)
    users = {"GLIBC_TUNABLES": "glibc.cpu.x86_rep_movsb_threshold=4096"}
    _preload.restart_with_shim(users)
    second = restarts[0][0][2]
    assert second["GLIBC_TUNABLES"] == users["GLIBC_TUNABLES"]
    _preload._State.done = False
    _preload.restart_with_shim(second)
    assert second == users


@pytest.mark.parametrize(
    ("text", "slow"),
    [
        ("processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t: 17\n", True),
        ("processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t: 2\n", True),
        ("processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel\t: 49\n", False),
        ("processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 25\n", False),
        ("processor\t: 0\nBogoMIPS\t: 50.00\n", False),
        ("vendor_id : AuthenticAMD\ncpu family : ?\n", False),
        ("", False),
    ],
)
def test_reads_the_processor(monkeypatch, tmp_path, text, slow):
    (tmp_path / "cpuinfo").write_text(text)
    monkeypatch.setattr(
        "builtins.open", lambda path, *args, **more: io.FileIO(tmp_path / "cpuinfo")
    )
    assert _preload.moves_bytes_slowly() is slow


def test_no_processor_to_read(monkeypatch):
    def refuse(*args, **more):
        raise FileNotFoundError

    monkeypatch.setattr("builtins.open", refuse)
    assert _preload.moves_bytes_slowly() is False


def test_the_second_process_never_restarts(restarts):
    found, shim = restarts
    environ = {"LD_PRELOAD": shim, "ARRAYLOOM_RESTARTED": ""}
    _preload.restart_with_shim(environ)
    _preload.restart_with_shim(environ)
    assert environ == {}
    assert found == []


@pytest.mark.parametrize("path", [None, "/with space/x.so", "/with:colon/x.so"])
def test_no_usable_shim(restarts, monkeypatch, path):
    monkeypatch.setattr(_preload, "shim_path", lambda: path)
    _preload.restart_with_shim({})
    assert restarts[0] == []


def test_loaded_already(restarts, monkeypatch):
    monkeypatch.setattr(_preload, "shim_loaded", lambda: True)
    _preload.restart_with_shim({})
    assert restarts[0] == []


def test_goes_on_if_the_restart_fails(restarts, monkeypatch, capsys):
    def refuse(*args):
        raise OSError(7, "Argument list too long")

    monkeypatch.setattr(_preload.os, "execve", refuse)
    _preload.restart_with_shim({})
    assert "continuing without" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "orig", "count"),
    [
        (["-m"], ["python", "-m", "arrayloom", "app.py"], 1),
        (["-m"], ["python", "-m", "arrayloom", "--no-shim", "app.py"], 0),
        (["-m"], ["python", "-m", "pytest"], 0),
        (["app.py"], ["python", "app.py"], 0),
        (["app.py", "-m"], ["python", "app.py", "-m", "arrayloom"], 0),
    ],
)
def test_early_restart_is_for_the_runner_only(restarts, monkeypatch, argv, orig, count):
    monkeypatch.setattr(sys, "argv", argv)
    monkeypatch.setattr(sys, "orig_argv", orig)
    _preload.restart_early()
    assert len(restarts[0]) == count
