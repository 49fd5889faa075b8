"""OME-Zarr: axes and scales of images, and pyramids that are made while their largest level is written.

The metadata are those of OME-NGFF 0.4 (Zarr 2) and 0.5 (Zarr 3). A level halves the axes of space that are longer
than a chunk: each of its voxels is the mean of those it covers. Finished chunks of one level become parts of chunks
of the next; a chunk is written when it is whole.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false
# Objects of zarr have no types.

import itertools
import json
import math
from collections import OrderedDict
from collections.abc import Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arrayloom._volumes.zarr_target import ZarrTarget, chunks_of, grown, parts

__all__ = [
    "Pyramid",
    "Scale",
    "attributes_of",
    "check_units",
    "create_image",
    "default_scale",
    "level_shapes",
    "means",
    "scale_of",
]

Array = NDArray[Any]
_NAMES = "tczyx"
# Units of space and time that OME-NGFF knows.
_PREFIXES = [
    "yocto", "zepto", "atto", "femto", "pico", "nano", "micro", "milli", "centi", "deci", "hecto", "kilo", "mega", "giga",
    "tera", "peta", "exa", "zetta", "yotta",
]  # fmt: skip
_UNITS = {f"{prefix}{of}" for prefix in ["", *_PREFIXES] for of in ("meter", "second")} | {
    "angstrom", "inch", "foot", "yard", "mile", "parsec", "minute", "hour", "day",
}  # fmt: skip
# Bytes for each voxel while means are taken.
_MEAN_BYTES = 24
# Axes of TIFF files such as angles, phases, lifetimes, exposures, samples and what has no name.
_OTHER = "aehilmpqrsv"


class Scale:
    """Names of axes, and the distance of voxels along each, with its unit."""

    def __init__(
        self, axes: Sequence[str], spacing: Sequence[float], units: Sequence[str | None]
    ) -> None:
        self.axes = tuple(axes)
        self.spacing = tuple(float(s) for s in spacing)
        self.units = tuple(units)


def _is_list(x: Any) -> bool:
    """True for what has an entry for each axis, and is no text."""
    return isinstance(x, (Sequence, np.ndarray)) and not isinstance(x, str)


def _words(axes: Any) -> tuple[str, ...]:
    """Names of axes as they are given: several, or letters in a row."""
    if not (_is_list(axes) or isinstance(axes, str)) or not all(isinstance(a, str) for a in axes):
        message = (
            f"axes {axes!r} are no names; give a letter or a word for each axis, such as 'zyx'"
        )
        raise TypeError(message)
    return tuple(axes)


def _numbers(spacing: Any) -> tuple[float, ...]:
    """Distances of voxels as they are given."""
    if not _is_list(spacing) or not all(isinstance(d, (Real, np.number)) for d in spacing):
        message = f"spacing {spacing!r} is no list of numbers; give the distance of voxels along each axis"
        raise TypeError(message)
    return tuple(float(d) for d in spacing)


def check_units(name: str, units: Sequence[Any]) -> None:
    """Refuse units of the file `name` that OME does not know; None is none.

    Raises
    ------
    ValueError
        For such a unit; the message has some that it knows.
    """
    for unit in units:
        if unit is not None and unit not in _UNITS:
            some = "micrometer, nanometer, millimeter, angstrom, inch, second, millisecond, minute"
            message = (
                f"{name}: OME has no unit {unit!r}; give units= with names such as {some}, or None"
            )
            raise ValueError(message)


def default_scale(
    rank: int,
    spacing: Sequence[float] | None = None,
    axes: Sequence[str] | None = None,
    units: Sequence[str | None] | None = None,
) -> Scale:
    """Axes named from the last ones of ``tczyx``."""
    names = tuple(_NAMES[len(_NAMES) - rank :]) if axes is None else _words(axes)
    if len(names) != rank:
        message = f"axes {names} for an image with {rank} axes; OME images have up to {len(_NAMES)}: {_NAMES}"
        raise ValueError(message)
    distances = (1.0,) * rank if spacing is None else _numbers(spacing)
    if len(distances) != rank:
        message = f"{len(distances)} distances of voxels for {rank} axes"
        raise ValueError(message)
    if len(set(names)) < rank or not all(0 < d < math.inf for d in distances):
        message = f"axes {names} with distances {distances}; give names that differ, and positive distances"
        raise ValueError(message)
    if units is not None and (not _is_list(units) or len(units) != rank):
        message = f"units {units!r} for {rank} axes; give one for each, or None"
        raise ValueError(message)
    return Scale(names, distances, units or (None,) * rank)


def attributes_of(path: Path) -> dict[str, Any]:
    """The attributes of a group or an array of Zarr."""
    if (path / "zarr.json").exists():
        return json.loads((path / "zarr.json").read_text(encoding="utf-8")).get("attributes") or {}
    if (path / ".zattrs").exists():
        return json.loads((path / ".zattrs").read_text(encoding="utf-8"))
    return {}


def scale_of(attributes: dict[str, Any], level: int) -> tuple[str, Scale] | None:
    """The array of a level of the first image, and its scale; None if there is no image."""
    images = attributes.get("ome", attributes).get("multiscales")
    if not images:
        return None
    try:
        levels = images[0]["datasets"]
        if 0 <= level < len(levels):
            return _scale_in(images[0], levels[level])
    except (LookupError, TypeError, ValueError) as error:
        what = f"there is no {error}" if isinstance(error, KeyError) else error
        message = f"the metadata of its image are broken, {what}; name an array with dataset="
        raise ValueError(message) from error
    message = f"level {level} of an image with {len(levels)} levels"
    raise ValueError(message)


def _scale_in(image: dict[str, Any], level: dict[str, Any]) -> tuple[str, Scale]:
    """The array of a level of an image, and its scale."""
    axes = [a if isinstance(a, dict) else {"name": a} for a in image.get("axes", list(_NAMES))]
    spacing = np.ones(len(axes))
    for transformation in level.get("coordinateTransformations", []) + image.get(
        "coordinateTransformations", []
    ):
        if transformation.get("type") == "scale":
            spacing = spacing * transformation["scale"]
    scale = Scale([a["name"] for a in axes], spacing.tolist(), [a.get("unit") for a in axes])
    return str(level["path"]), scale


def _kind(name: str) -> str:
    """The type of an axis; one letter that TIFF has for something else is neither space, time nor channel."""
    other = "other" if len(name) == 1 and name in _OTHER else "space"
    return {"t": "time", "c": "channel"}.get(name, other)


def _metadata(
    scale: Scale, shapes: Sequence[Sequence[int]], name: str, zarr_format: int
) -> dict[str, Any]:
    axes = [
        {"name": n, "type": _kind(n), **({"unit": u} if u else {})}
        for n, u in zip(scale.axes, scale.units, strict=True)
    ]
    datasets = [
        {
            "path": str(level),
            "coordinateTransformations": [
                {
                    "type": "scale",
                    # A level that was halved k times has voxels 2**k times as large.
                    "scale": [
                        s * 2.0 ** _halvings(shapes, d, level) for d, s in enumerate(scale.spacing)
                    ],
                }
            ],
        }
        for level in range(len(shapes))
    ]
    image: dict[str, Any] = {"name": name, "axes": axes, "datasets": datasets, "type": "mean"}
    if zarr_format == 2:
        return {"multiscales": [{"version": "0.4", **image}]}
    return {"ome": {"version": "0.5", "multiscales": [image]}}


def _halvings(shapes: Sequence[Sequence[int]], axis: int, level: int) -> int:
    return sum(shapes[k][axis] != shapes[k + 1][axis] for k in range(level))


def level_shapes(
    shape: Sequence[int], chunks: Sequence[int], axes: Sequence[str], levels: int | str
) -> list[list[int]]:
    """Extents of each level, the largest first; ``"auto"`` ends where a level is one chunk of space."""
    if levels != "auto" and (not isinstance(levels, (int, np.integer)) or levels < 1):
        message = f"levels {levels!r}; give a number from 1 on, or 'auto'"
        raise ValueError(message)
    shapes = [list(shape)]
    while levels == "auto" or len(shapes) < int(levels):
        now = shapes[-1]
        halved = [n > c and _kind(a) == "space" for n, c, a in zip(now, chunks, axes, strict=True)]
        if levels != "auto":
            halved = [n > 1 and _kind(a) == "space" for n, a in zip(now, axes, strict=True)]
        if not any(halved):
            break
        shapes.append([(n + 1) // 2 if h else n for n, h in zip(now, halved, strict=True)])
    return shapes


def means(values: Array, factors: Sequence[int]) -> Array:
    """Means of neighbours along the axes with factor two; the last one stands alone if their number is odd."""
    dtype = values.dtype
    # Numbers of 80 bits hold all 64-bit integers.
    exact = np.longdouble if dtype.kind in "iu" and dtype.itemsize == 8 else np.float64
    wide = values.astype(np.complex128 if dtype.kind == "c" else exact)
    for axis, factor in enumerate(factors):
        if factor == 2:
            front = (slice(None),) * axis
            first = wide[(*front, slice(0, None, 2))]
            second = wide[(*front, slice(1, None, 2))]
            pairs = second.shape[axis]
            both = (first[(*front, slice(0, pairs))] + second) / 2
            wide = np.concatenate([both, first[(*front, slice(pairs, None))]], axis)
    if dtype.kind in "iu":
        return np.rint(wide).astype(dtype)
    return (wide >= 0.5).astype(dtype) if dtype.kind == "b" else wide.astype(dtype)


class Pyramid:
    """Levels of an image as one target of a run: what is written to the largest goes on to the others.

    Parameters
    ----------
    targets
        The arrays of the levels.
    chunks
        What is written at a time.
    room
        Bytes of unfinished chunks that are kept; others wait in their file.
    """

    def __init__(self, targets: Sequence[Any], chunks: Sequence[int], room: int = 0) -> None:
        self.targets = list(targets)
        self.chunks = tuple(chunks)
        self.room = room
        self.used = 0
        # Level and place of a chunk: its voxels, or None if they wait in the file; how many are missing.
        self._open: OrderedDict[tuple[int, tuple[int, ...]], list[Any]] = OrderedDict()

    def within(self, limit: int) -> int:
        """Keep unfinished chunks in a quarter of `limit`; the bytes that this and writing take."""
        taken = [target.within(limit) for target in self.targets]
        if len(taken) == 1:
            return taken[0]
        self.room = limit // 4
        means = math.prod(self.chunks) * _MEAN_BYTES
        return self.room + min(max(taken) + means, 3 * limit // 8)

    def __setitem__(self, key: tuple[slice, ...], values: Array) -> None:
        self.targets[0][key] = values
        if len(self.targets) == 1 or not values.size:
            return
        first = [s.start for s in key]
        for part in parts(key, self.chunks, 1):
            at = [slice(s.start - f, s.stop - f) for s, f in zip(part, first, strict=True)]
            self.feed(0, [s.start for s in part], values[tuple(at)])

    def feed(self, level: int, lo: Sequence[int], values: Array) -> None:
        """Tell the levels below that a box of `level` is written."""
        if level + 1 == len(self.targets) or not values.size:
            return
        above, target = self.targets[level], self.targets[level + 1]
        factors = [1 if n == m else 2 for n, m in zip(above.shape, target.shape, strict=True)]
        small = means(values, factors)
        start = [a // f for a, f in zip(lo, factors, strict=True)]
        stop = [a + n for a, n in zip(start, small.shape, strict=True)]
        ranges = [
            range(a // c, (b - 1) // c + 1)
            for a, b, c in zip(start, stop, self.chunks, strict=True)
        ]
        for place in itertools.product(*ranges):
            self._add(level + 1, place, start, small)

    def _add(self, level: int, place: tuple[int, ...], start: Sequence[int], small: Array) -> None:
        target = self.targets[level]
        first = [p * c for p, c in zip(place, self.chunks, strict=True)]
        end = [min(f + c, n) for f, c, n in zip(first, self.chunks, target.shape, strict=True)]
        low = [max(a, f) for a, f in zip(start, first, strict=True)]
        high = [min(a + n, e) for a, n, e in zip(start, small.shape, end, strict=True)]
        box = tuple(slice(a, b) for a, b in zip(first, end, strict=True))
        held = self._open.setdefault((level, place), [None, None])
        if held[0] is None:
            size = [b - a for a, b in zip(first, end, strict=True)]
            held[0] = np.zeros(size, target.dtype) if held[1] is None else np.array(target[box])
            held[1] = held[0].size if held[1] is None else held[1]
            self.used += held[0].nbytes
        inside = tuple(slice(a - f, b - f) for a, b, f in zip(low, high, first, strict=True))
        held[0][inside] = small[
            tuple(slice(a - s, b - s) for a, b, s in zip(low, high, start, strict=True))
        ]
        held[1] -= held[0][inside].size
        if held[1] == 0:
            del self._open[level, place]
            self.used -= held[0].nbytes
            target[box] = held[0]
            self.feed(level, first, held[0])
        else:
            self._make_room()

    def _make_room(self) -> None:
        """Unfinished chunks go to their file, the oldest first."""
        for (level, place), held in self._open.items():
            if self.used <= self.room:
                return
            if held[0] is not None:
                target = self.targets[level]
                spans = zip(place, self.chunks, target.shape, strict=True)
                target[tuple(slice(p * c, min(p * c + c, n)) for p, c, n in spans)] = held[0]
                self.used -= held[0].nbytes
                held[0] = None

    def again(self, boxes: Sequence[tuple[Sequence[int], Sequence[int]]]) -> None:
        """Feed boxes of the largest level that an earlier run wrote."""
        for lo, hi in boxes:
            box = [slice(a, b) for a, b in zip(lo, hi, strict=True)]
            for part in parts(box, self.chunks, 1):
                self.feed(0, [s.start for s in part], np.asarray(self.targets[0][part]))


def _usual_chunks(shape: Sequence[int], axes: Sequence[str]) -> list[int]:
    """Chunks that are long along axes of space, and along others where those have few voxels."""
    spans = zip(shape, axes, strict=True)
    return grown([min(n, 64 if _kind(a) == "space" else 1) for n, a in spans], shape)


def create_image(
    zarr: Any,
    partial: Path,
    name: str,
    shape: Sequence[int],
    dtype: np.dtype[Any],
    options: dict[str, Any],
    *,
    old: bool,
) -> tuple[Pyramid, list[int]]:
    """A group with the levels of an image and its metadata; the largest level is written by the run."""
    scale: Scale = options.get("scale") or default_scale(len(shape))
    zarr_format = options.get("zarr_format") or 3
    group: Any = None
    if old:
        group = zarr.open_group(str(partial), mode="r+")
        chunks = list(group["0"].chunks)
    else:
        # Chunks that are halved are even.
        chunks = chunks_of(options, _usual_chunks(shape, scale.axes), 2)
    shapes = level_shapes(shape, chunks, scale.axes, options["levels"])
    for axis, (n, c) in enumerate(zip(shape, chunks, strict=True)):
        halved = any(a[axis] != b[axis] for a, b in itertools.pairwise(shapes))
        if halved and c % 2 and c < n:
            message = f"chunks of {c} voxels along axis {axis} of a pyramid; give an even number"
            raise ValueError(message)
    if old:
        nodes = [group[str(level)] for level in range(len(shapes))]
    else:
        group = zarr.open_group(str(partial), mode="w", zarr_format=zarr_format)
        group.attrs.update(_metadata(scale, shapes, name, zarr_format))
        extra: dict[str, Any] = (
            {"shards": tuple(options["shards"])} if options.get("shards") else {}
        )
        nodes = [
            group.create_array(
                str(level),
                shape=tuple(extents),
                chunks=tuple(chunks),
                dtype=dtype,
                **(extra if level == 0 else {}),
                **({} if zarr_format == 2 else {"dimension_names": scale.axes}),
                **(
                    {"chunk_key_encoding": {"name": "v2", "separator": "/"}}
                    if zarr_format == 2
                    else {}
                ),
            )
            for level, extents in enumerate(shapes)
        ]
    targets = [ZarrTarget(node) for node in nodes]
    return Pyramid(targets, chunks), list(targets[0].granule)
