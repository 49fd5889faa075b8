"""Traces of requests for memory, and what they would take under another limit."""

from pathlib import Path

import pytest

import arrayloom as np
from arrayloom import _cli, memory
from arrayloom.errors import SettingError

HEAD = "arrayloom memory trace 1\n"
MIB = 1 << 20


def test_a_trace_tells_what_a_program_took(tmp_path: Path) -> None:
    for _ in range(5):
        a = np.ones((512, 1024)) + 1.0
        assert a[3, 4] == 2.0
    path = tmp_path / "trace"
    memory.save_trace(path)
    text = path.read_text(encoding="utf-8")
    assert text.startswith(HEAD)
    assert f" {4 * MIB}\n" in text
    found = memory.replay(path)
    assert found.refused == 0
    assert found.peak >= 4 * MIB
    assert found.peak_reserved >= found.peak
    assert found.requests >= 5
    assert 0 <= found.hit_rate <= 1


def test_a_limit_refuses_what_does_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = tmp_path / "trace"
    steps = [f"get 1 {4 * MIB}", f"get 2 {4 * MIB}", f"free 1 {4 * MIB}", f"get 3 {4 * MIB}"]
    steps += [f"shorten 3 {MIB}", f"free 2 {4 * MIB}", f"free 3 {MIB}"]
    path.write_text(HEAD + "\n".join(steps) + "\n", encoding="utf-8")
    found = memory.replay(path)
    assert (found.peak, found.requests, found.refused) == (8 * MIB, 3, 0)
    assert found.hit_rate == pytest.approx(1 / 3)
    found = memory.replay(path, "4MiB")
    assert (found.refused, found.refused_bytes, found.peak) == (1, 4 * MIB, 4 * MIB)
    assert _cli.main(["replay", str(path), "--limit", "4MiB"]) == 0
    assert "1 refused (4.0 MiB)" in capsys.readouterr().out


def test_what_is_no_trace_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = tmp_path / "trace"
    path.write_text("something else\n", encoding="utf-8")
    with pytest.raises(ValueError, match="is no trace"):
        memory.replay(path)
    path.write_bytes(b"\x93NUMPY\x01\x00\xff")
    with pytest.raises(ValueError, match="trace is no trace"):
        memory.replay(path)
    path.write_text(HEAD + "get 1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 2"):
        memory.replay(path)
    path.write_text(HEAD + "lend 1 2\n", encoding="utf-8")
    with pytest.raises(ValueError, match="lend"):
        memory.replay(path)
    with pytest.raises(SettingError):
        memory.replay(path, "lots")
    assert _cli.main(["replay", str(tmp_path / "absent")]) == 2
    assert "absent" in capsys.readouterr().err
