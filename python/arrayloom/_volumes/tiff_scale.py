"""Axes and spacing of TIFF files: what OME's XML, ImageJ's words and tifffile's letters say, and what OME is told.

Letters that say nothing of an axis (``I`` and ``Q`` of tifffile) take the names that are free, from the last axis on, as
axes of volumes without names do; samples of a pixel are channels.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false
# Objects of tifffile have no types.

import importlib
import math
from typing import Any, TypeAlias

from arrayloom._volumes.ome import Scale

__all__ = ["letters_of", "ome_sizes", "scale_in_tiff", "unit_of"]

# Distance of voxels and its unit, by the name of the axis.
_Sizes: TypeAlias = dict[str, tuple[float, str | None]]

# Names that tools give to units, and those of OME-Zarr.
_UNITS = {
    "pm": "picometer",
    "nm": "nanometer",
    "µm": "micrometer",
    "mm": "millimeter",
    "cm": "centimeter",
    "m": "meter",
    "km": "kilometer",
    "Å": "angstrom",
    "in": "inch",
    "ft": "foot",
    "yd": "yard",
    "mi": "mile",
    "ns": "nanosecond",
    "µs": "microsecond",
    "ms": "millisecond",
    "s": "second",
    "min": "minute",
    "h": "hour",
    "d": "day",
}
_SYMBOLS = {name: symbol for symbol, name in _UNITS.items()}
# Other names that ImageJ has for them; a Greek letter looks like the micro sign.
_ALIKE = {
    "\u03bcm": "micrometer",
    "\\u00b5m": "micrometer",
    "um": "micrometer",
    "micron": "micrometer",
    "microns": "micrometer",
    "sec": "second",
}
# The unit of resolution in a tag of TIFF.
_OF_TAG = {2: "inch", 3: "centimeter"}


def scale_in_tiff(
    file: Any, number: int, letters: str, shape: tuple[int, ...], level: int
) -> Scale | None:
    """The axes of a level of the series of this number, of `shape`, and what the file says of their spacing.

    None if tifffile has no letters for them, or the same one for several.
    """
    names = _names(letters)
    if len(names) != len(shape) or len(set(names)) < len(names):
        return None
    series = file.series[number]
    told = {"ome": _sizes_of_ome, "imagej": _sizes_of_imagej}.get(series.kind)
    sizes = {} if told is None else told(file, number)
    steps = _steps(series, level) if level else {}
    found = [sizes.get(name, (1.0, None)) for name in names]
    spacing = [d * steps.get(name, 1) for name, (d, _) in zip(names, found, strict=True)]
    return Scale(names, spacing, [unit for _, unit in found])


def _names(letters: str) -> tuple[str, ...]:
    """Names of axes from the letters of tifffile."""
    known = letters if "C" in letters else letters.replace("S", "C")
    free = [name for name in "XYZCT" if name not in known]
    names = [free.pop(0) if at in "IQ" and free else at for at in reversed(known)]
    return tuple(name.lower() for name in reversed(names))


def _steps(series: Any, level: int) -> dict[str, int]:
    """How many voxels of the largest level one of `level` stands for along each axis."""
    large, small = series, series.levels[level]
    if large.axes != small.axes:
        return {}
    spans = zip(_names(large.axes), large.shape, small.shape, strict=True)
    return {name: max(round(n / m), 1) for name, n, m in spans}


def _sizes_of_ome(file: Any, number: int) -> _Sizes:
    """``PhysicalSizeX`` and others of the image of this number."""
    tifffile = importlib.import_module("tifffile")
    found = tifffile.xml2dict(file.ome_metadata).get("OME", {}).get("Image", {})
    images = list(found) if isinstance(found, (list, tuple)) else [found]
    pixels = images[number].get("Pixels", {}) if number < len(images) else {}
    words = {name: (f"PhysicalSize{name.upper()}", "µm") for name in "xyz"}
    words["t"] = ("TimeIncrement", "s")
    return {
        name: (float(pixels[word]), unit_of(pixels.get(f"{word}Unit", usual)))
        for name, (word, usual) in words.items()
        if _is_distance(pixels.get(word))
    }


def _sizes_of_imagej(file: Any, number: int) -> _Sizes:
    """Pixels per unit, the spacing of planes and the time between frames."""
    words, tags = file.imagej_metadata or {}, file.series[number].keyframe.tags
    unit = unit_of(words.get("unit")) or _OF_TAG.get(int(tags.valueof("ResolutionUnit", default=1)))
    sizes: _Sizes = {}
    for name, tag in (("x", "XResolution"), ("y", "YResolution")):
        pixels, length = tags.valueof(tag, default=(1, 1))
        if pixels and length:
            sizes[name] = length / pixels, unit
    if _is_distance(words.get("spacing")):
        sizes["z"] = float(words["spacing"]), unit
    if _is_distance(words.get("finterval")):
        sizes["t"] = float(words["finterval"]), unit_of(words.get("tunit", "s"))
    return sizes


def _is_distance(value: Any) -> bool:
    return isinstance(value, (int, float)) and 0 < value < math.inf


def unit_of(text: Any) -> str | None:
    """The name that OME-Zarr has for a unit; None for pixels and other words that are no unit."""
    word = str(text)
    if word in _SYMBOLS:
        return word
    return _UNITS.get(word) or _ALIKE.get(word.lower())


def letters_of(scale: Scale, *, ome: bool) -> str | None:
    """The letters of tifffile for axes that are written; None if they have none.

    Raises
    ------
    ValueError
        If pages of OME cannot have these axes in this order.
    """
    letters = "".join(scale.axes).upper()
    plain = len(letters) == len(scale.axes) and set(letters) <= set("TCZYX")
    if plain and letters.endswith("YXC"):
        return letters[:-1] + "S"
    if plain and (letters.endswith("YX") or not ome):
        return letters
    if not ome:
        return None
    message = (
        f"axes {scale.axes} have no place in OME's TIFF, whose pages are y, x or y, x, c behind any of t, c and z; "
        "transpose the volume, or give axes= with other names"
    )
    raise ValueError(message)


def ome_sizes(scale: Scale) -> dict[str, Any]:
    """What `scale` says of distances, in the words of OME.

    Raises
    ------
    ValueError
        For a unit that OME does not have.
    """
    words: dict[str, Any] = {}
    for name, distance, unit in zip(scale.axes, scale.spacing, scale.units, strict=True):
        if name == "c" or (distance == 1 and unit is None):
            continue
        if unit is not None and unit not in _SYMBOLS:
            message = f"OME's TIFF has no unit {unit!r}; give units= with names such as {', '.join(list(_SYMBOLS)[:3])}"
            raise ValueError(message)
        word = "TimeIncrement" if name == "t" else f"PhysicalSize{name.upper()}"
        words[word] = distance
        if unit is not None or name != "t":
            words[f"{word}Unit"] = "pixel" if unit is None else _SYMBOLS[unit]
    return words
