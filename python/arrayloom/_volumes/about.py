"""What ``arrayloom info FILE`` says of a volume in a file."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# Objects of other libraries have no types.

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from arrayloom._volumes.manifest import ManifestSource
from arrayloom._volumes.sources import granule_of
from arrayloom._volumes.volume import Volume

__all__ = ["About", "about", "about_json", "about_text"]


@dataclass(frozen=True)
class About:
    """The facts of a volume; None for what its file does not say."""

    file: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    axes: tuple[str, ...] | None
    spacing: tuple[float, ...] | None
    units: tuple[str | None, ...] | None
    chunks: tuple[int, ...] | None
    """What is read as a whole; None if any box can be read by itself."""
    shards: tuple[int, ...] | None
    codecs: tuple[str, ...] | None
    """In the order in which they were applied."""
    levels: tuple[tuple[int, ...], ...]
    """Extents of the levels of a pyramid, the largest first."""


def about(volume: Volume, level: Callable[[int], Volume]) -> About:
    """The facts of an opened `volume`; `level` opens another level of its file."""
    source = volume.source
    chunks = granule_of(source)
    inside = source.facts.get("shard_chunks") if isinstance(source, ManifestSource) else None
    return About(
        file=str(volume.path),
        shape=volume.shape,
        dtype=str(volume.dtype),
        nbytes=volume.nbytes,
        axes=volume.axes,
        spacing=volume.spacing,
        units=volume.units if any(volume.units) else None,
        chunks=None if chunks is None else tuple(chunks),
        shards=tuple(np.multiply(inside, chunks).tolist()) if inside and chunks else None,
        codecs=_codecs(source),
        levels=tuple(_levels(level)),
    )


def _codecs(source: Any) -> tuple[str, ...] | None:
    if isinstance(source, np.ndarray):
        return ()
    if isinstance(source, ManifestSource):
        return tuple(str(name) for name, *_ in reversed(source.facts["codecs"]))
    return None


def _levels(level: Callable[[int], Volume]) -> Iterator[tuple[int, ...]]:
    """Extents of levels, until there is no other one."""
    at = 0
    while True:
        try:
            yield level(at).shape
        except ValueError:
            return
        at += 1


def about_text(found: About) -> str:
    """Write `found` as lines of plain text; what is not known is left out."""
    names = ("file", "shape", "dtype", "bytes", "axes", "spacing", "chunks", "shards", "codecs", "levels")  # fmt: skip
    values = asdict(found) | {"bytes": f"{found.nbytes:,}"}
    values["axes"] = None if found.axes is None else ", ".join(found.axes)
    values["spacing"] = None if found.spacing is None else ", ".join(_distances(found))
    values["codecs"] = None if found.codecs is None else ", ".join(found.codecs) or "none"
    count, shapes = len(found.levels), ", ".join(map(str, found.levels))
    values["levels"] = f"{count}: {shapes}" if count > 1 else None
    lines = [f"{name:<8} {values[name]}" for name in names if values[name] is not None]
    return "\n".join(lines) + "\n"


def _distances(found: About) -> list[str]:
    units = found.units or (None,) * len(found.spacing or ())
    pairs = zip(found.spacing or (), units, strict=True)
    return [f"{distance:g}{'' if unit is None else f' {unit}'}" for distance, unit in pairs]


def about_json(found: About) -> str:
    """Write `found` as one JSON object."""
    return json.dumps(asdict(found)) + "\n"
