"""What pending work would do: which operations share a pass over memory, why not more, bytes moved."""

import html
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arrayloom import _ext
from arrayloom._text import human_bytes

__all__ = ["Explanation", "Kernel", "Operation", "Pass", "View", "explain", "write_dumps"]


@dataclass(frozen=True)
class Operation:
    """One recorded operation.

    `storage` says where its result lives: ``inline`` in registers or a tile of the cache, ``ring`` in a
    few rows in the cache, ``memory`` in an array.
    """

    name: str
    dtype: str
    storage: str
    file: str
    line: int


@dataclass(frozen=True)
class View:
    """A view of an array that a kernel reads or writes; `bytes` are those of its elements."""

    array: int
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    storage: str


@dataclass(frozen=True)
class Kernel:
    """Operations that are computed together, point by point.

    `why` tells what kept it from joining an earlier kernel, or is None where they have nothing in
    common; `code` is the text of its instructions.
    """

    shape: tuple[int, ...]
    operations: tuple[Operation, ...]
    reads: tuple[View, ...]
    writes: tuple[View, ...]
    why: str | None
    code: str


@dataclass(frozen=True)
class Pass:
    """One kernel, or several that go over memory together; bytes to and from memory."""

    kernels: tuple[Kernel, ...]
    bytes_read: int
    bytes_written: int


@dataclass(frozen=True)
class Explanation:
    """A plan of pending operations. ``str()`` gives text, `svg` a graph, `json` all of it.

    Attributes
    ----------
    passes : tuple of Pass
        In the order in which they run.
    dropped : int
        Operations that need not run, because nobody can see their results.
    put_off : int
        Operations whose results need not be stored to have the value that is asked for.
    bytes_needed : int
        Bytes that any plan must move: arrays that are there and are read, and arrays that somebody can
        see and are written, each element once.
    """

    passes: tuple[Pass, ...]
    dropped: int = 0
    put_off: int = 0
    bytes_needed: int = 0
    note: str = ""

    @property
    def bytes_moved(self) -> int:
        """Bytes to and from memory in all."""
        return sum(each.bytes_read + each.bytes_written for each in self.passes)

    @property
    def ratio(self) -> float:
        """`bytes_moved` by `bytes_needed`; 1.0 is the best, also if nothing moves."""
        return self.bytes_moved / self.bytes_needed if self.bytes_needed else 1.0

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels of all passes."""
        return tuple(kernel for each in self.passes for kernel in each.kernels)

    def __str__(self) -> str:  # pyright: ignore[reportImplicitOverride] - `override` is of Python 3.12
        return "\n".join(_text(self))

    def json(self) -> str:
        """Return all of it as JSON."""
        facts = {**asdict(self), "bytes_moved": self.bytes_moved, "ratio": self.ratio}
        return json.dumps(facts)

    def svg(self) -> str:
        """Return a graph: a frame for each pass, arrays beside the kernels that read and write them."""
        return _svg(self)

    def _repr_svg_(self) -> str:
        return self.svg()


def explain(*arrays: object) -> Explanation:
    """Tell what would run if the values of `arrays` were needed now. Nothing is computed.

    Parameters
    ----------
    *arrays : ndarray
        Lazy arrays. The list of recorded operations always runs whole, so the plan is that of everything
        pending; with one array, results that need not be stored for its sake are put off. Without
        arguments: everything pending.

    Returns
    -------
    Explanation
        The plan; ``print`` it, or let a notebook draw it. It has no passes if nothing is pending, and
        its `note` says why. A store that ends a loop step, such as ``c[:] = work``, is planned as a
        copy; when it runs, blocks may change owners instead.

    Raises
    ------
    TypeError
        If an argument is no ``numpy.ndarray``.

    Examples
    --------
    >>> import arrayloom as np
    >>> a = np.ones((1000, 1000))
    >>> b = (a + 1) * 2
    >>> plan = np.explain(b)
    >>> [op.name for op in plan.kernels[0].operations][-2:], plan.ratio
    (['add', 'multiply'], 1.0)
    """
    for array in arrays:
        if not isinstance(array, np.ndarray):
            message = (
                f"explain() takes arrays, not {type(array).__name__}; call it on a lazy result"
            )
            raise TypeError(message)
    pending = [array for array in arrays if _ext.is_pending(array)]
    if arrays and not pending:
        lazy = all(type(array) is _ext.LazyArray for array in arrays)
        note = "computed already" if lazy else "a plain NumPy array: nothing was recorded for it"
        return Explanation((), note=note)
    found = _of(_ext.explain(pending[0] if len(pending) == 1 else None))
    return found if found.passes else Explanation((), found.dropped, note="nothing is pending")


def _of(plan: Mapping[str, Any]) -> Explanation:
    """Make records of the native module's dictionaries."""
    return Explanation(
        passes=tuple(
            Pass(
                tuple(_kernel(kernel) for kernel in each["kernels"]),
                each["bytes_read"],
                each["bytes_written"],
            )
            for each in plan["passes"]
        ),
        dropped=plan["dropped"],
        put_off=plan["put_off"],
        bytes_needed=plan["bytes_needed"],
    )


def _kernel(facts: Mapping[str, Any]) -> Kernel:
    return Kernel(
        shape=tuple(facts["shape"]),
        operations=tuple(Operation(**each) for each in facts["ops"]),
        reads=tuple(_view(each) for each in facts["reads"]),
        writes=tuple(_view(each) for each in facts["writes"]),
        why=facts["why"],
        code=facts["code"],
    )


def _view(facts: Mapping[str, Any]) -> View:
    rest = dict(facts)
    return View(shape=tuple(rest.pop("shape")), **rest)


def _text(plan: Explanation) -> Iterator[str]:
    if not plan.passes:
        yield plan.note or "nothing to do"
        return
    operations = sum(len(kernel.operations) for kernel in plan.kernels)
    yield (
        f"{_count(operations, 'operation')} in {_count(len(plan.kernels), 'kernel')}"
        f" and {_count(len(plan.passes), 'pass', 'passes')} over memory"
    )
    yield (
        f"moves {human_bytes(plan.bytes_moved)}, of which {human_bytes(plan.bytes_needed)} must move:"
        f" {plan.ratio:.2f} times as much"
    )
    if plan.dropped:
        yield f"{_count(plan.dropped, 'operation')} dropped: nobody can see the results"
    if plan.put_off:
        yield f"{_count(plan.put_off, 'operation')} put off: the results need not be stored now"
    number = 0
    for place, each in enumerate(plan.passes, 1):
        count = len(each.kernels)
        together = f", {count} kernels, a few rows or columns at a time" if count > 1 else ""
        yield ""
        yield (
            f"pass {place}{together}: reads {human_bytes(each.bytes_read)},"
            f" writes {human_bytes(each.bytes_written)}"
        )
        for kernel in each.kernels:
            number += 1
            yield from (f"  {line}" for line in _kernel_text(number, kernel))


def _kernel_text(number: int, kernel: Kernel) -> Iterator[str]:
    why = f"; a kernel of its own because {kernel.why}" if kernel.why else ""
    yield f"kernel {number} over {_extents(kernel.shape)}{why}"
    rows = [(_place(op), _name(op), op.dtype, op.storage) for op in kernel.operations]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield f"  {'  '.join(cells).rstrip()}"
    for title, views in (("reads", kernel.reads), ("writes", kernel.writes)):
        for view, times in Counter(views).items():
            ring = " in a ring" if view.storage == "ring" else ""
            many = f", {times} views" if times > 1 else ""
            yield f"  {title} a{view.array} {_extents(view.shape)} {view.dtype}{ring}{many}"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _extents(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape)) or "one value"


def _name(op: Operation) -> str:
    """Return the operation's name; those of our own begin with a stroke inside."""
    return op.name.lstrip("_")


def _place(op: Operation) -> str:
    return f"{Path(op.file).name}:{op.line}" if op.line else "-"


# Widths and heights of the graph, in pixels: of a letter, a line, a margin, an array, an arrow.
_LETTER, _LINE, _PAD, _SIDE, _GAP = 7, 15, 8, 240, 50


def _svg(plan: Explanation) -> str:
    """Three columns: arrays that are read, kernels in the frames of their passes, arrays written."""
    marks: list[str] = []
    longest = max((len(line) for kernel in plan.kernels for line in _lines(kernel)), default=40)
    box = _LETTER * longest + 2 * _PAD
    left, right = _SIDE + _GAP, _SIDE + _GAP + box
    head = [line for line in _text(plan) if line][: 2 + bool(plan.dropped) + bool(plan.put_off)]
    for i, line in enumerate(head):
        marks.append(_label(10, 18 + _LINE * i, line))
    top = 18 + _LINE * len(head) + _PAD
    for place, each in enumerate(plan.passes, 1):
        start = top
        top += _LINE + _PAD
        for kernel in each.kernels:
            lines = _lines(kernel)
            sides = max(_arrays(kernel.reads), _arrays(kernel.writes))
            height = max(len(lines), 2 * sides) * _LINE + _PAD
            marks.append(_rectangle(left, top, box, height, "#eef4fb", "#4878a8"))
            marks += [_label(left + 6, top + _LINE * (i + 1) - 2, s) for i, s in enumerate(lines)]
            marks += _side(kernel.reads, 10, top, (10 + _SIDE, left))
            marks += _side(kernel.writes, right + _GAP, top, (right, right + _GAP))
            top += height + _PAD
        title = f"pass {place}: {human_bytes(each.bytes_read + each.bytes_written)} moved"
        marks.append(_label(left - _PAD + 4, start + _LINE - 2, title))
        marks.insert(0, _rectangle(left - _PAD, start, box + 2 * _PAD, top - start, "none", "#999"))
        top += _PAD
    width = right + _GAP + _SIDE + 10
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top}" font-family="monospace"'
        ' font-size="11"><defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="3"'
        ' orient="auto"><path d="M0,0 L7,3 L0,6 z" fill="#555"/></marker></defs>'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(marks)}</svg>\n'
    )


def _lines(kernel: Kernel) -> list[str]:
    lines = [f"over {_extents(kernel.shape)}", *(_op_line(op) for op in kernel.operations)]
    return [*lines, f"apart: {kernel.why}"] if kernel.why else lines


def _op_line(op: Operation) -> str:
    kept = "" if op.storage == "inline" else f" -> {op.storage}"
    return f"{_place(op)} {_name(op)} {op.dtype}{kept}"


def _arrays(views: Iterable[View]) -> int:
    return len({view.array for view in views})


def _side(views: Sequence[View], left: int, top: int, line: tuple[int, int]) -> list[str]:
    """Draw the arrays of one side of a kernel, each once, with arrows."""
    marks: list[str] = []
    shown: dict[int, list[View]] = {}
    for view in views:
        shown.setdefault(view.array, []).append(view)
    for i, (array, parts) in enumerate(shown.items()):
        y = top + 2 * _LINE * i
        ring = parts[0].storage == "ring"
        fill, dash = ("#fff3d6", ' stroke-dasharray="4 3"') if ring else ("#e8f5e3", "")
        times = f" {len(parts)} views" if len(parts) > 1 else ""
        where = "ring" if ring else human_bytes(max(part.bytes for part in parts))
        marks += [
            _rectangle(left, y, _SIDE, 2 * _LINE - 4, fill, "#6a9a58"),
            _label(left + 5, y + 11, f"a{array} {parts[0].dtype} {where}{times}"),
            _label(left + 5, y + 23, _extents(parts[0].shape)),
            f'<line x1="{line[0]}" y1="{y + 13}" x2="{line[1]}" y2="{y + 13}" stroke="#555"{dash}'
            ' marker-end="url(#tip)"/>',
        ]
    return marks


def _rectangle(x: int, y: int, width: int, height: int, fill: str, stroke: str) -> str:
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="3" fill="{fill}"'
        f' stroke="{stroke}"/>'
    )


def _label(x: int, y: int, text: str) -> str:
    return f'<text x="{x}" y="{y}">{html.escape(text)}</text>'


def write_dumps(folder: str) -> int:
    """Write what has run to `folder`: ``plan-0001.txt`` and ``.svg`` for each list, and ``index.txt``.

    The lists that moved the most bytes come first. Returns their number.
    """
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    dumps = [(_of(plan), runs) for plan, runs in _ext.take_dumps()]
    dumps.sort(key=lambda dump: -dump[0].bytes_moved * dump[1])
    index: list[str] = []
    for number, (plan, runs) in enumerate(dumps, 1):
        name = f"plan-{number:04}"
        code = "\n".join(f"kernel {i}\n{kernel.code}" for i, kernel in enumerate(plan.kernels, 1))
        text = f"ran {_count(runs, 'time')}\n{plan}\n\n{code}"
        (path / f"{name}.txt").write_text(text, encoding="utf-8")
        (path / f"{name}.svg").write_text(plan.svg(), encoding="utf-8")
        index.append(
            f"{name}  {_count(runs, 'run')}, {_count(len(plan.passes), 'pass', 'passes')},"
            f" {human_bytes(plan.bytes_moved)} moved each, {plan.ratio:.2f} of what must move"
        )
    text = "\n".join(index) or "nothing was accelerated"
    (path / "index.txt").write_text(f"{text}\n", encoding="utf-8")
    return len(dumps)
