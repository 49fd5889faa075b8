"""TIFF files as volumes: pages that are read, and pages at fixed places that are written.

Axes of extent one are kept: tifffile tells the shape of its own files, files of OME have it in a private tag.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false
# Objects of tifffile have no types.

import contextlib
import math
import struct
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arrayloom._volumes.manifest import ManifestSource, of_tiff
from arrayloom._volumes.ome import Scale
from arrayloom._volumes.tiff_scale import letters_of, ome_sizes, scale_in_tiff

__all__ = ["create_tiff", "open_tiff"]

# The tags in which files of OME keep their shape and its letters; numbers from 65000 on are free for everyone.
_SHAPE_TAG = 65042
_LETTERS_TAG = 65043


class _Pages:
    """Pages of a TIFF file, decoded one by one; the last few stay in memory."""

    def __init__(self, file: Any, series: Any, shape: tuple[int, ...], path: Path) -> None:
        self.path = path
        weakref.finalize(self, file.close)
        self.series = series
        self.shape = shape
        self.dtype = series.dtype
        first = next(p for p in series.pages if p is not None)
        self.outer = _outer_axes(shape, math.prod(first.shape))
        self.cache: OrderedDict[int, NDArray[Any]] = OrderedDict()

    @property
    def granule(self) -> tuple[int, ...]:
        """A page."""
        return (1,) * self.outer + self.shape[self.outer :]

    def _page(self, index: int) -> NDArray[Any]:
        if index in self.cache:
            self.cache.move_to_end(index)
        else:
            try:
                page = self.series.pages[index]
            except IndexError:
                message = f"{self.path} has no page {index}: the file is cut short"
                raise OSError(message) from None
            extents = self.shape[self.outer :]
            self.cache[index] = (
                page.asarray().reshape(extents)
                if page is not None
                else np.zeros(extents, self.dtype)
            )
            if len(self.cache) > 4:
                self.cache.popitem(last=False)
        return self.cache[index]

    def __getitem__(self, key: tuple[slice, ...]) -> NDArray[Any]:
        outer = key[: self.outer]
        inner = key[self.outer :]
        out = np.empty(
            [len(range(*s.indices(n))) for s, n in zip(key, self.shape, strict=True)], self.dtype
        )
        shape = self.shape[: self.outer]
        ranges = [range(*s.indices(n)) for s, n in zip(outer, shape, strict=True)]
        for place in np.ndindex(*[len(r) for r in ranges]):
            at = [r[i] for r, i in zip(ranges, place, strict=True)]
            index = int(np.ravel_multi_index(at, shape)) if at else 0
            out[place] = self._page(index)[inner]
        return out


def _outer_axes(shape: tuple[int, ...], page: int) -> int:
    """How many axes run over pages of so many voxels; the others lie in one."""
    ends = range(len(shape), -1, -1)
    return next((d for d in ends if math.prod(shape[d:]) == page), max(len(shape) - 2, 0))


def open_tiff(
    tifffile: Any, path: Path, dataset: str | None, level: int
) -> tuple[Any, Scale | None]:
    """What a TIFF file holds, mapped, by a manifest or page by page, and its scale if it tells its axes."""
    file = tifffile.TiffFile(path)
    try:
        return _held(file, path, dataset, level)
    except BaseException:
        file.close()
        raise


def _held(file: Any, path: Path, dataset: str | None, level: int) -> tuple[Any, Scale | None]:
    """What the open `file` holds, and its scale; a file that is mapped is closed."""
    number = _number_of(file, path, dataset)
    series = file.series[number]
    if not 0 <= level < len(series.levels):
        message = f"level {level} of an image with {len(series.levels)} levels"
        raise ValueError(message)
    _check_whole(file)
    series = series.levels[level]
    letters, shape = _layout_of(series)
    scale = scale_in_tiff(file, number, letters, shape, level)
    if level == 0 and series.dataoffset is not None:
        kind = np.dtype(file.byteorder + series.dtype.char)
        with contextlib.suppress(
            ValueError
        ):  # a file that is cut short tells so when a page is read
            mapped = np.memmap(path, kind, "r", series.dataoffset, shape)
            file.close()
            return mapped, scale
    pages = _Pages(file, series, shape, path)
    facts = of_tiff(series, shape, path)
    return (pages if facts is None else ManifestSource(facts, pages)), scale


def _number_of(file: Any, path: Path, dataset: str | None) -> int:
    """The number of the series that is meant; `dataset` is a number or a name.

    Raises
    ------
    ValueError
        If there are several, and none is named; or if there is none of this name, or several.
    """
    names = [str(series.name) for series in file.series]
    if dataset is None:
        # Small pictures of an image are no series that anybody means.
        large = [n for n, series in enumerate(file.series) if not series.keyframe.is_reduced]
        if len(large) == 1 or len(names) == 1:
            return (large or [0])[0]
    elif dataset and names.count(dataset) == 1:
        return names.index(dataset)
    elif dataset.isdecimal() and int(dataset) < len(names):
        return int(dataset)
    held = ", ".join(
        f"{n} {name!r} of shape {tuple(series.shape)}"
        if name
        else f"{n} of shape {tuple(series.shape)}"
        for n, (name, series) in enumerate(zip(names, file.series, strict=True))
    )
    what = (
        f"{path} holds the series {held}"
        if dataset is None
        else f"{path} has no series {dataset!r}; it holds {held}"
    )
    message = f"{what}; say which one with dataset=, by its number or its name"
    raise ValueError(message)


def _layout_of(series: Any) -> tuple[str, tuple[int, ...]]:
    """Letters and extents of an image, those of one among them if the file tells."""
    one = series if len(series.shape) >= 2 else series.keyframe
    letters, shape = str(one.axes), tuple(one.shape)
    tags = series.keyframe.tags
    told = tuple(int(n) for n in np.atleast_1d(tags.valueof(_SHAPE_TAG, default=())))
    if not told or [n for n in told if n != 1] != [n for n in shape if n != 1]:
        return letters, shape
    long = iter(letter for letter, n in zip(letters, shape, strict=True) if n != 1)
    found = "".join("Q" if n == 1 else next(long) for n in told)
    return tags.valueof(_LETTERS_TAG, default=found), told


def _check_whole(file: Any) -> None:
    """Refuse a file whose last page has another one behind it, beyond the end of the file."""
    tiff, handle = file.tiff, file.filehandle
    start = file.pages[-1].offset
    handle.seek(start)
    (count,) = struct.unpack(tiff.tagnoformat, handle.read(tiff.tagnosize))
    handle.seek(start + tiff.tagnosize + count * tiff.tagsize)
    behind = handle.read(tiff.offsetsize)
    if len(behind) < tiff.offsetsize or struct.unpack(tiff.offsetformat, behind)[0] >= handle.size:
        message = f"{len(file.pages)} pages, and one more beyond its end: the file is cut short"
        file.close()
        raise OSError(message)


def create_tiff(
    tifffile: Any,
    partial: Path,
    name: str,
    shape: Sequence[int],
    dtype: np.dtype[Any],
    scale: Scale | None,
    *,
    old: bool,
) -> Any:
    """A file whose pages lie at fixed places, mapped into memory; truth values become bytes."""
    if len(shape) < 2:
        message = f"a volume of shape {tuple(shape)} has no pages of two axes for TIFF; add axes with volume[None]"
        raise ValueError(message)
    if 0 in shape:
        message = f"a volume of shape {tuple(shape)} has no voxels, and TIFF no empty pages"
        raise ValueError(message)
    if dtype == np.complex128:
        message = "TIFF has no complex128; save volume.astype('complex64'), or another format"
        raise ValueError(message)
    if not old:
        ome = name.lower().endswith((".ome.tif", ".ome.tiff"))
        try:
            letters = None if scale is None else letters_of(scale, ome=ome)
            tifffile.imwrite(
                partial,
                shape=tuple(shape),
                dtype=np.uint8 if dtype.kind == "b" else dtype,
                bigtiff=math.prod(shape) * dtype.itemsize > 3 << 30,
                ome=ome,
                **_words(shape, letters, scale if ome else None),
            )
        except tifffile.OmeXmlError as error:
            message = f"{name}: {error} by OME; write .tif without .ome"
            raise ValueError(message) from None
        except ValueError as error:
            message = f"{name}: {error}"
            raise ValueError(message) from error
    return tifffile.memmap(partial, mode="r+").reshape(tuple(shape))


def _words(shape: Sequence[int], letters: str | None, scale: Scale | None) -> dict[str, Any]:
    """What tifffile is told of the axes, and with a `scale` for OME of distances."""
    single = math.prod(shape) == 1
    tags: list[tuple[Any, ...]] = []
    if single or scale is not None:
        tags.append((_SHAPE_TAG, "Q", len(shape), tuple(shape), True))
    if tags and letters is not None:
        tags.append((_LETTERS_TAG, "s", 0, letters, True))
    axes = {} if letters is None else {"axes": letters}
    sizes = {} if scale is None else ome_sizes(scale)
    colours = letters is not None and letters.endswith("S")
    return {
        # Single voxels have no metadata of tifffile, which does not read them.
        "metadata": None if single and scale is None else {**axes, **sizes},
        "extratags": tags,
        "photometric": "rgb" if colours and shape[-1] in {3, 4} else "minisblack",
        **({"planarconfig": "contig"} if colours and shape[-1] > 1 else {}),
    }
