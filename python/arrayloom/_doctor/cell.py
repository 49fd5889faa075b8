"""``%%arrayloom.line_profile``: what each line of a cell did, and of the functions that it called."""

import linecache
import time
from collections.abc import Callable

from arrayloom import _ext, _native
from arrayloom._doctor.lines import lines_of, lines_text
from arrayloom._doctor.source import Source
from arrayloom._doctor.watch import Watch
from arrayloom._profile_block import since

__all__ = ["cell_lines"]


def cell_lines(run: Callable[[], object]) -> str:
    """Run a cell and give the report of its lines.

    Both ends compute what is pending, so that the work is that of the cell.

    Examples
    --------
    >>> cell_lines(lambda: None).startswith("arrayloom line profile: the cell, ")
    True
    """
    _ext.flush()
    before, watch = _native.stats(), Watch()
    watch.begin()
    start = time.perf_counter()
    try:
        run()
        _ext.flush()
    finally:
        watch.end()
    seconds = time.perf_counter() - start
    # IPython gives the texts of cells to `linecache`.
    sources = {file: Source("".join(linecache.getlines(file))) for file in watch.files()}
    lines = lines_of(watch, since(_native.stats(), before), sources, seconds)
    return lines_text("the cell", seconds, lines)
