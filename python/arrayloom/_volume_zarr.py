"""Arrays of Zarr that are written, and what of a write goes on after an error."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false
# Objects of zarr have no types.

import asyncio
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["create_zarr", "settle"]

# Seconds for what was begun; a write of one chunk that takes longer hangs.
_PATIENCE = 60.0


def create_zarr(
    zarr: Any,
    partial: Path,
    shape: Sequence[int],
    dtype: np.dtype[Any],
    options: dict[str, Any],
    *,
    old: bool,
) -> tuple[Any, Sequence[int]]:
    """An array and the box that it replaces as a whole."""
    if old:
        node = zarr.open(str(partial), mode="r+")
    else:
        chunks = options.get("chunks") or [min(n, 64 if len(shape) > 2 else 512) for n in shape]
        extra: dict[str, Any] = (
            {"shards": tuple(options["shards"])} if options.get("shards") else {}
        )
        if options.get("zarr_format"):
            extra["zarr_format"] = options["zarr_format"]
        node = zarr.create_array(
            store=str(partial), shape=tuple(shape), chunks=tuple(chunks), dtype=dtype, **extra
        )
    return node, getattr(node, "shards", None) or node.chunks


def settle() -> None:
    """Wait for chunks that zarr is still writing after one of them failed, or after Ctrl-C.

    Else they are written while the file is removed or gone on with, and the interpreter complains of them when it
    ends.
    """
    sync: Any = importlib.import_module("zarr.core.sync")
    sync.sync(_ended())


async def _ended() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=_PATIENCE)
        # An error that nobody asks for is told when the interpreter ends.
        for task in others:
            if task.done() and not task.cancelled():
                task.exception()
