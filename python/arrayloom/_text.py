"""How reports write tables, paths, and numbers of bytes."""

import os
from collections.abc import Sequence

__all__ = ["human_bytes", "short_path", "table"]


def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Columns of text; a column that starts with a digit everywhere is set to the right."""
    widths = [max(len(row[i]) for row in (head, *body)) for i in range(len(head))]
    right = [all(row[i][:1].isdigit() for row in body) for i in range(len(head))]
    lines: list[str] = []
    for row in (head, tuple("-" * width for width in widths), *body):
        cells = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def short_path(file: str) -> str:
    """`file` relative to the current folder if that is shorter."""
    try:
        relative = os.path.relpath(file)
    except (OSError, ValueError):
        return file
    return min(relative, file, key=len)


def human_bytes(count: int) -> str:
    """Write a number of bytes with a binary unit: ``1536`` is ``1.5 KiB``."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"
