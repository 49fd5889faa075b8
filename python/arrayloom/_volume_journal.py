"""Which boxes of a file are written, for a run that goes on where another was stopped."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# Whatever an expression was made of is looked at.

import contextlib
import functools
import hashlib
import inspect
import json
import os
import types
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

__all__ = ["Journal", "fingerprint", "is_closed", "journal_of"]

Box: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]


_PLAIN = (bool, int, float, complex, str, bytes, type, slice, range, np.generic, np.dtype)
# Arrays in memory up to this size are told apart by all of their bytes.
_LOOKED_AT = 16 << 20


def fingerprint(*parts: object) -> str:
    """A text that is equal for equal expressions on equal sources, also in another process.

    Functions count by their names and what they hold, files by their names, sizes and times, larger arrays
    by their shapes and dtypes.
    """
    digest = hashlib.sha256()
    for word in _words(parts):
        digest.update(word)
        digest.update(b"\0")
    return digest.hexdigest()[:32]


def _words(value: object) -> Iterator[bytes]:
    """What tells `value` from others, from first to last; expressions may be deep and share their parts."""
    seen: dict[int, tuple[int, object]] = {}
    waiting: list[Any] = [value]
    while waiting:
        at = waiting.pop()
        if at is None or isinstance(at, _PLAIN):
            yield repr(at).encode()
            continue
        if id(at) in seen:
            yield f"part {seen[id(at)][0]} again".encode()
            continue
        # It is kept, since another object could get the number of one that is gone.
        seen[id(at)] = (len(seen), at)
        if isinstance(at, Path):
            yield from _words_of_file(at)
        elif isinstance(at, np.ndarray):
            yield from _words_of_array(at)
        else:
            parts = _parts(at)
            yield f"{len(parts)} parts".encode()
            waiting.extend(reversed(parts))


def _words_of_array(value: Any) -> Iterator[bytes]:
    yield repr((value.shape, value.dtype.str, value.strides)).encode()
    if isinstance(value, np.memmap) and value.filename is not None:
        yield repr(value.offset).encode()
        yield from _words_of_file(Path(value.filename))
    elif value.nbytes <= _LOOKED_AT and not value.dtype.hasobject:
        yield value.tobytes()


def _parts(value: Any) -> Sequence[Any]:
    """What an object is made of."""
    if isinstance(value, (Mapping, Sequence, set, frozenset)):
        return list(value.items() if isinstance(value, Mapping) else value)
    if isinstance(value, functools.partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, types.MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, types.FunctionType):
        variables = inspect.getclosurevars(value).nonlocals
        return [value.__module__, value.__qualname__, value.__defaults__, variables]
    if type(value).__module__.startswith("arrayloom"):
        return [type(value).__qualname__, getattr(value, "__dict__", None)]
    name = getattr(value, "__name__", None) or type(value).__qualname__
    facts = (getattr(value, "shape", None), getattr(value, "dtype", None))
    return [name, str(facts), str(getattr(value, "name", None))]


def _words_of_file(path: Path) -> Iterator[bytes]:
    yield os.fsencode(path)
    if path.is_file():
        facts = path.stat()
        yield repr((facts.st_size, facts.st_mtime_ns)).encode()


def journal_of(path: Path) -> Path:
    """Where the journal of a file lies."""
    return path.with_name(f".{path.name}.arrayloom-journal")


def is_closed(journal: Path) -> bool:
    """True if the run that wrote this journal ended by itself; else what it had not handed over is lost."""
    return journal.exists() and journal.read_text(encoding="utf-8").endswith(_CLOSED)


# The last line of a run that stopped, but was not killed.
_CLOSED = '"closed"\n'


class Journal:
    """Boxes that are written, one JSON line each, behind a line that says of what."""

    def __init__(self, path: Path, facts: dict[str, Any], *, resume: bool) -> None:
        self.path = path
        self.done: list[Box] = []
        good = self._read(facts) if resume and path.exists() else ""
        if good:
            os.truncate(path, len(good.encode()))
        self.file = path.open("a" if good else "w", encoding="utf-8")
        if not good:
            self._line(facts)

    def _read(self, facts: dict[str, Any]) -> str:
        """The lines that were written whole."""
        lines = self.path.read_text(encoding="utf-8").splitlines(keepends=True)
        if not lines or not lines[0].endswith("\n"):
            return ""  # the run was stopped before it wrote anything
        if lines[0] != json.dumps(facts) + "\n":
            message = f"cannot resume: {self.path} is of another volume, file or parameter; remove it, or save without resume"
            raise ValueError(message)
        whole = 1
        for line in lines[1:]:
            if not line.endswith("\n"):
                break  # the run was stopped while it wrote this line
            whole += 1
            if line == _CLOSED:
                continue
            lo, hi = json.loads(line)
            self.done.append((tuple(lo), tuple(hi)))
        return "".join(lines[:whole])

    def _line(self, value: object) -> None:
        self.file.write(json.dumps(value) + "\n")
        self.file.flush()

    def add(self, lo: Sequence[int], hi: Sequence[int]) -> None:
        """A box that is written."""
        self._line([list(lo), list(hi)])

    def close(self, *, remove: bool) -> None:
        """Close it; `remove` it when nothing is left to do."""
        with contextlib.suppress(OSError):  # a full disk: then it stays without this line
            self.file.write(_CLOSED)
            self.file.flush()
        self.file.close()
        if remove:
            self.path.unlink(missing_ok=True)
