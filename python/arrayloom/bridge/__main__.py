"""``python -m arrayloom.bridge``: which conversions this machine can do, as a table and as a picture.

Every pair of kinds is tried once with a small array. ``Z`` shares memory, ``copy`` and its like copy, and
an error is shown with its cause below the table.
"""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import arrayloom
from arrayloom import bridge
from arrayloom.bridge import dtypes, registry
from arrayloom.bridge.registry import Array

_COLOURS = {"Z": "#7fc97f", "same": "#d9d9d9", "error": "#fb8072"}


@dataclass(frozen=True, slots=True)
class Cell:
    """What became of one pair: a word for the table, and the reason."""

    word: str
    reason: str


def _arrays() -> dict[str, Array]:
    """Make one array per kind that works here."""
    data = dtypes.aligned_copy(np.arange(12, dtype=np.float32).reshape(3, 4), 256)
    found: dict[str, Array] = {}
    for name, reason in bridge.available().items():
        if reason is None:
            found[name] = bridge.convert(data, name)
    # One that owns its pages, as computed arrays do.
    found["arrayloom"] = bridge.to_arrayloom(arrayloom.full((256, 256), 3, np.float32))
    return found


def matrix() -> dict[tuple[str, str], Cell]:
    """Try every pair of kinds."""
    arrays = _arrays()
    reasons = bridge.available()
    cells: dict[tuple[str, str], Cell] = {}
    for source in registry.names():
        for target in registry.names():
            missing = next((n for n in (source, target) if reasons[n] is not None), None)
            if missing is not None:
                cells[source, target] = Cell("error", str(reasons[missing]).splitlines()[0])
            else:
                cells[source, target] = _try(arrays[source], target)
    return cells


def _try(x: Array, target: str) -> Cell:
    try:
        with bridge.observe() as record:
            bridge.convert(x, target)
    except (TypeError, ValueError, BufferError, ImportError, RuntimeError) as error:
        return Cell("error", str(error).splitlines()[0])
    row = record.rows()[-1]
    word = {"share": "Z", "device": "Z"}.get(row.route, row.route)
    return Cell(word, "; ".join((row.reason, *row.hazards)))


def as_text(cells: dict[tuple[str, str], Cell]) -> str:
    """Return the table, and the reasons below it."""
    names = registry.names()
    lines = ["from \\ to".ljust(15) + "".join(name.ljust(14) for name in names)]
    for source in names:
        words = (cells[source, target].word.ljust(14) for target in names)
        lines.append((source.ljust(15) + "".join(words)).rstrip())
    reasons: dict[str, list[str]] = {}
    for (source, target), cell in cells.items():
        if cell.word != "same":
            reasons.setdefault(f"{cell.word}: {cell.reason}", []).append(f"{source}>{target}")
    lines.append("")
    lines += [f"{reason} ({', '.join(pairs)})" for reason, pairs in reasons.items()]
    return "\n".join(lines)


def as_picture(cells: dict[tuple[str, str], Cell]) -> str:
    """Return the table as SVG."""
    names = registry.names()
    wide, high = 104, 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide * (len(names) + 1)}" '
        f'height="{high * (len(names) + 1)}" font-family="sans-serif" font-size="13">'
    ]

    def box(column: int, row: int, text: str, colour: str) -> None:
        x, y = column * wide, row * high
        parts.append(
            f'<rect x="{x}" y="{y}" width="{wide - 2}" height="{high - 2}" fill="{colour}"/>'
            f'<text x="{x + wide / 2 - 1}" y="{y + high / 2 + 4}" text-anchor="middle">{text}</text>'
        )

    for at, name in enumerate(names, 1):
        box(at, 0, name, "#ffffff")
        box(0, at, name, "#ffffff")
    for row, source in enumerate(names, 1):
        for column, target in enumerate(names, 1):
            word = cells[source, target].word
            box(column, row, word, _COLOURS.get(word, "#fdc086"))
    return "\n".join([*parts, "</svg>\n"])


def main(arguments: list[str]) -> int:
    """Print the table, and write the picture where that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m arrayloom.bridge", description=__doc__)
    parser.add_argument("--picture", metavar="FILE", type=Path, help="write the table as SVG")
    options = parser.parse_args(arguments)
    cells = matrix()
    sys.stdout.write(as_text(cells) + "\n")
    if options.picture is not None:
        options.picture.write_text(as_picture(cells), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
