"""Traces: the last requests for memory in a file, and the same again without memory."""

import os
from dataclasses import dataclass
from pathlib import Path

from arrayloom import _ext
from arrayloom._text import human_bytes

__all__ = ["Replay", "replay_steps", "save_trace"]

_HEAD = "arrayloom memory trace 1"


@dataclass(frozen=True)
class Replay:
    """What a trace came to when it was repeated; bytes unless said otherwise.

    Attributes
    ----------
    peak, peak_reserved
        The most in use, and the most that would have been taken from the system.
    requests, grown
        Number of blocks given out, and of those that took memory from the system.
    refused, refused_bytes
        Number and bytes of the requests beyond the limit.
    """

    peak: int
    peak_reserved: int
    requests: int
    grown: int
    refused: int
    refused_bytes: int

    @property
    def hit_rate(self) -> float:
        """Share of blocks that were served without the system, 1 if there were none."""
        return 1.0 - self.grown / self.requests if self.requests else 1.0

    def __str__(self) -> str:  # pyright: ignore[reportImplicitOverride] - `override` is of Python 3.12
        return (
            f"peak {human_bytes(self.peak)}, taken from the system {human_bytes(self.peak_reserved)}, "
            f"{self.hit_rate:.1%} of {self.requests} blocks served by reuse, "
            f"{self.refused} refused ({human_bytes(self.refused_bytes)})"
        )


def save_trace(path: str | os.PathLike[str]) -> None:
    """Write the last 65536 requests for memory to a file, for `replay`.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_trace(f"{folder}/trace")
    ...     os.path.exists(f"{folder}/trace")
    True
    """
    lines = (f"{kind} {name} {nbytes}" for kind, name, nbytes in _ext.memory_trace())
    Path(path).write_text("\n".join((_HEAD, *lines)) + "\n", encoding="utf-8")


def replay_steps(path: str | os.PathLike[str], limit: int | None) -> Replay:
    """Repeat the trace of a file under a limit in bytes."""
    # Other files may have any bytes.
    text = Path(path).read_text(encoding="utf-8", errors="backslashreplace")
    head, *lines = text.splitlines() or [""]
    if head != _HEAD:
        message = f"{os.fspath(path)} is no trace: it does not begin with {_HEAD!r}"
        raise ValueError(message)
    steps: list[tuple[str, int, int]] = []
    for number, line in enumerate(lines, 2):
        try:
            kind, name, nbytes = line.split()
            steps.append((kind, int(name), int(nbytes)))
        except ValueError:
            message = f"line {number} of {os.fspath(path)} is no step of a trace: {line!r}"
            raise ValueError(message) from None
    return Replay(**_ext.memory_replay(steps, limit))
