"""What ``doctor`` and ``--line-profile`` watch while a program runs: who reads large arrays piece by piece, and which lines take time.

Methods of lazy arrays are looked up through descriptors that count. They give NumPy's own method to the
caller, so no frame of ours is in a traceback and warnings keep their lines. A thread looks a few hundred
times in a second where the program is.
"""

import _thread
import bisect
import functools
import inspect
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any, cast

import numpy as np

from arrayloom import _ext, _hook
from arrayloom._journal import Journal, start_journal, take_journal

__all__ = ["Site", "Watch"]

_STEP = 0.004
# How long the last sample may take, in seconds.
_LAST_SAMPLE = 1.0
_INDEXING = ("__getitem__", "__setitem__")
# What gives values, and so makes the recorded list run if the array is pending.
_WANTING = (
    *("sum", "prod", "mean", "std", "var", "max", "min", "all", "any", "argmax", "argmin"),
    *("item", "tolist", "__float__", "__int__", "__bool__", "__complex__", "__index__"),
    *("__repr__", "__str__", "__format__", "__contains__"),
)
# From the moment in which a value is wanted to that in which the list begins.
_SOON = 0.01
_MOST = 100_000
# Code that has no file, and how the names of IPython's cells begin.
_UNFILED = frozenset({"<string>", "<stdin>"})
_CELL = "<ipython-input-"

_Method = Callable[..., Any]
_Array = Any
# Part of an index.
_Word = Any


@dataclass
class Site:
    """A place in the program that looks at large arrays.

    Attributes
    ----------
    code, at : code object, int
        Where: the instruction.
    method : str
        What it uses.
    count : int
        How often.
    kinds : Counter
        How often it was seen with which kind of index; not each time is looked at.
    nbytes, piece : int
        Bytes of the largest array, and of the largest piece that was read or written.
    lists, operations, seconds : int, int, float
        How often the recorded list ran because of it, with how many operations in all, for how long.
    """

    code: CodeType
    at: int
    method: str
    count: int = 0
    kinds: Counter[str] = field(default_factory=Counter[str])
    nbytes: int = 0
    piece: int = 0
    lists: int = 0
    operations: int = 0
    seconds: float = 0.0

    @property
    def kind(self) -> str:
        """The kind of index, or ``mixed``."""
        kinds = [kind for kind, times in self.kinds.items() if times]
        return kinds[0] if len(kinds) == 1 else "mixed"

    @functools.cached_property
    def position(self) -> tuple[int | None, int | None, int | None, int | None]:
        """First and last line, first and last column of the expression."""
        for number, position in enumerate(self.code.co_positions()):
            if number == self.at // 2:
                return position
        return None, None, None, None


class Watch:
    """Watches a program between `begin` and `end`."""

    def __init__(self) -> None:
        self.sites: dict[tuple[int, int, str], Site] = {}
        self.journal = Journal()
        self._lines: dict[tuple[str, int], float] = {}
        self._wanted: list[tuple[float, Site]] = []
        self._codes: dict[int, tuple[CodeType, bool]] = {}
        self._originals: dict[str, _Method] = {}
        self._ended = _thread.allocate_lock()
        self._sampling = _thread.allocate_lock()
        self._start = 0.0

    def begin(self) -> None:
        """Start to watch."""
        for name in (*_INDEXING, *_WANTING):
            original = self._originals[name] = vars(_ext.LazyArray)[name]
            setattr(_ext.LazyArray, name, _Counted(self, name, original))
        self._start = time.perf_counter()
        start_journal()
        self._ended.acquire()
        self._sampling.acquire()
        # A thread that `threading` does not know: the program may count its own.
        _thread.start_new_thread(self._sample, ())

    def end(self) -> None:
        """Put everything back, and find out which sites made recorded lists run."""
        self._ended.release()
        # What the last sample adds must not come while the report is made. A copy of the process has nobody
        # who takes samples.
        self._sampling.acquire(timeout=_LAST_SAMPLE)
        for name, original in self._originals.items():
            setattr(_ext.LazyArray, name, original)
        self.journal = take_journal()
        lists = sorted(
            (self._start + event.start, event.operations, event.seconds)
            for event in self.journal.events
            if not event.kernels
        )
        wanted = sorted(self._wanted, key=lambda pair: pair[0])
        for number, (moment, site) in enumerate(wanted, 1):
            following = wanted[number][0] if number < len(wanted) else float("inf")
            at = bisect.bisect_left(lists, (moment,))
            if at < len(lists) and lists[at][0] < min(following, moment + _SOON):
                site.lists += 1
                site.operations += lists[at][1]
                site.seconds += lists[at][2]

    @property
    def seconds(self) -> Mapping[tuple[str, int], float]:
        """How long the program was in each line, by file and line; see `seconds_of`."""
        return self._lines

    def seconds_of(self, file: str, lines: Iterable[int]) -> float:
        """Give how long the program was in some lines, calls included; from samples, and so roughly."""
        return sum(self._lines.get((file, line), 0.0) for line in set(lines))

    def computed(self, file: str, lines: Iterable[int]) -> float:
        """Give how long passes over memory took that had an operation of some lines in them."""
        wanted = {(file, line) for line in lines}
        return sum(
            event.seconds
            for event in self.journal.events
            if event.kernels and any((named[1], named[2]) in wanted for named in event.named)
        )

    def files(self) -> set[str]:
        """Give the files in which the program was seen."""
        return {code.co_filename for code, is_users in self._codes.values() if is_users}

    def site(self, frame: FrameType | None, method: str) -> Site | None:
        """Give the site of the program's innermost frame."""
        while frame is not None and not self._is_users(frame.f_code):
            frame = frame.f_back
        if frame is None:
            return None
        key = (id(frame.f_code), frame.f_lasti, method)
        found = self.sites.get(key)
        if found is None:
            found = self.sites[key] = Site(frame.f_code, frame.f_lasti, method)
        return found

    def wants(self, site: Site) -> None:
        """Note that a value of a pending array is wanted now."""
        if len(self._wanted) < _MOST:
            self._wanted.append((time.perf_counter(), site))

    def _is_users(self, code: CodeType) -> bool:
        known = self._codes.get(id(code))
        if known is None:
            file = code.co_filename
            # The code is kept, so that no other gets its number.
            is_users = file in _UNFILED or file.startswith(_CELL) or _hook.is_served(file)
            known = self._codes[id(code)] = (code, is_users)
        return known[1]

    def _sample(self) -> None:
        try:
            self._look()
        finally:
            self._sampling.release()

    def _look(self) -> None:
        """Add the time between two looks to all lines in which the program is."""
        own, before = _thread.get_ident(), time.perf_counter()
        while not self._ended.acquire(timeout=_STEP):
            # Frames keep their variables alive, and an array that somebody else holds is not made lazy: nothing is
            # asked here that lets the program go on, such as where a file lies.
            seen: list[tuple[CodeType, int]] = []
            for thread, top in sys._current_frames().items():  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - documented, in spite of its name
                frame = None if thread == own else top
                while frame is not None:
                    seen.append((frame.f_code, frame.f_lineno))
                    frame = frame.f_back
            frame = top = None
            lines = {(code.co_filename, line) for code, line in seen if self._is_users(code)}
            now = time.perf_counter()
            for line in lines:
                self._lines[line] = self._lines.get(line, 0.0) + now - before
            before = now


class _Counted:
    """Stands for a method of lazy arrays, counts who asks for it, and gives the method."""

    def __init__(self, watch: Watch, name: str, original: _Method) -> None:
        self._watch = watch
        self._name = name
        self._original = original
        self._indexes = name in _INDEXING

    def __get__(self, array: _Array, kind: type | None = None) -> _Method:
        bound: _Method = self._original.__get__(array, kind)
        frame = inspect.currentframe()
        site = self._watch.site(frame and frame.f_back, self._name) if array is not None else None
        if site is None:
            return bound
        site.count += 1
        if _ext.is_pending(array):
            self._watch.wants(site)
        # The first, second, fourth, eighth call and so on. Behind an index that is an array there are calls of
        # which the program knows nothing: the first look has to do.
        is_looked_at = self._indexes and not site.count & (site.count - 1)
        if is_looked_at and not (site.kinds["gather"] or site.kinds["mask"]):
            return _looking(site, array, bound)
        return bound


def _looking(site: Site, array: _Array, bound: _Method) -> _Method:
    """Give a method that notes what it is called with."""

    def called(key: object, *value: object) -> object:
        result = bound(key, *value)
        piece = value[0] if value else result
        site.kinds[_kind(array, key)] += 1
        site.nbytes = max(site.nbytes, array.nbytes)
        site.piece = max(site.piece, getattr(piece, "nbytes", array.itemsize))
        return result

    return called


def _kind(array: _Array, key: object) -> str:
    """Tell what an index picks: an element, a part, places by number, or by truth values."""
    words = cast("tuple[_Word, ...]", key) if isinstance(key, tuple) else (cast("_Word", key),)
    whole = 0
    for word in words:
        if isinstance(word, list) or (isinstance(word, np.ndarray) and word.ndim):
            return "mask" if _is_truth(cast("_Word", word)) else "gather"
        whole += isinstance(word, (int, np.integer)) and not isinstance(word, bool)
    return "element" if whole == len(words) == array.ndim else "part"


def _is_truth(places: _Word) -> bool:
    if isinstance(places, np.ndarray):
        return cast("_Word", places).dtype == bool
    return bool(places) and isinstance(places[0], (bool, np.bool_))
