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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from arrayloom._volumes.stamp import mapped_in

__all__ = ["Earlier", "Journal", "check_same", "earlier_in", "fingerprint", "journal_of"]

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
    mapped = mapped_in(value)
    if mapped is not None:
        # Voxels of a file are not read, which may be shorter than its mapping by now.
        place = _address(value) - _address(mapped)
        yield repr((mapped.offset, place)).encode()
        yield from _words_of_file(Path(str(mapped.filename)))
    elif value.nbytes <= _LOOKED_AT and not value.dtype.hasobject:
        yield value.tobytes()


def _address(value: Any) -> int:
    return int(value.__array_interface__["data"][0])


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


# The last line of a run that stopped, but was not killed.
_CLOSED = '"closed"\n'


@dataclass(frozen=True)
class Earlier:
    """What an earlier run wrote of itself."""

    facts: dict[str, Any]
    done: list[Box]
    closed: bool
    """True if it ended by itself; else what it had not handed over is lost."""
    text: str
    """The lines that were written whole."""


def earlier_in(journal: Path) -> Earlier | None:
    """The run that wrote `journal`; None if there was none, or it was stopped before it wrote anything."""
    if not journal.exists():
        return None
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]
    if not whole:
        return None
    facts = json.loads(whole[0])
    boxes = [json.loads(line) for line in whole[1:] if line != _CLOSED]
    done = [(tuple(lo), tuple(hi)) for lo, hi in boxes]
    return Earlier(facts, done, lines[-1] == _CLOSED, "".join(whole))


def check_same(partial: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to go on with a file that was begun as something else."""
    for name, value in now.items():
        if before.get(name) == value:
            continue
        told = f"with {_told(name, before.get(name))}, and this run has {_told(name, value)}"
        if name == "of":
            told = "from another volume: with another source, filter or number"
        message = (
            f"cannot resume: {partial} was begun {told}; give what it was begun with, "
            "or save without resume=True"
        )
        raise ValueError(message)


def _told(name: str, value: Any) -> str:
    if name in {"shape", "dtype"}:
        return f"the {name} {value}"
    return f"no {name}=" if value is None else f"{name}={value}"


class Journal:
    """Boxes that are written, one JSON line each, behind a line that says of what."""

    def __init__(self, path: Path, facts: dict[str, Any], earlier: Earlier | None) -> None:
        self.path = path
        self.done: list[Box] = [] if earlier is None else earlier.done
        self.is_empty = not self.done
        if earlier is not None:
            os.truncate(path, len(earlier.text.encode()))
        self.file = path.open("w" if earlier is None else "a", encoding="utf-8")
        if earlier is None:
            self._line(facts)

    def _line(self, value: object) -> None:
        self.file.write(json.dumps(value) + "\n")
        self.file.flush()

    def add(self, lo: Sequence[int], hi: Sequence[int]) -> None:
        """A box that is written."""
        self.is_empty = False
        self._line([list(lo), list(hi)])

    def close(self, *, remove: bool) -> None:
        """Close it; `remove` it when nothing is left to do."""
        with contextlib.suppress(OSError):  # a full disk: then it stays without this line
            self.file.write(_CLOSED)
            self.file.flush()
        with contextlib.suppress(OSError):
            self.file.close()
        if remove:
            self.path.unlink(missing_ok=True)
