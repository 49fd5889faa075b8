"""Weighted sums on volumes: what linear filters are made of."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arrayloom._ext import VolumeExpr
from arrayloom._volumes.elementwise import blockwise
from arrayloom._volumes.volume import Volume
from arrayloom.filters._common import Modes, native, real_number, spread_mask, window_of

# Axis, weights, points before the center, mode, and the constant border.
Taps: TypeAlias = tuple[int, list[float], int, str, complex]
Border: TypeAlias = Callable[[complex], float]
Sums: TypeAlias = Callable[[Volume, np.dtype[Any], Border], Volume]


def parts_of(volume: Volume) -> list[Volume]:
    """The real and the imaginary part of a complex volume."""
    own = np.dtype(f"f{volume.dtype.itemsize // 2}")
    return [blockwise(f, [volume], volume.shape, own, f.__name__) for f in (np.real, np.imag)]


def _by_parts(volume: Volume, dtype: np.dtype[Any], sums: Sums) -> Volume:
    """`sums` of the real and the imaginary part of a volume as complex numbers of `dtype`.

    `sums` takes a part, its dtype, and what tells the part of a constant border.
    """
    part = np.dtype(f"f{dtype.itemsize // 2}")
    if volume.dtype.kind != "c":
        return sums(volume, part, real_number).astype(dtype)
    real, imaginary = parts_of(volume)
    parts = [
        sums(real, part, lambda cval: float(np.real(cval))),
        sums(imaginary, part, lambda cval: float(np.imag(cval))),
    ]
    return blockwise(_joined, parts, volume.shape, dtype, "complex", writes=True)


def _joined(real: Any, imaginary: Any, out: Any) -> None:
    out.real[...] = real
    out.imag[...] = imaginary


def complex_sums(
    volume: Volume,
    weights: NDArray[np.complex128],
    dtype: np.dtype[Any],
    sums: Callable[[NDArray[np.float64], np.dtype[Any]], Volume],
) -> Volume:
    """Sums with complex weights, from those with their real and with their imaginary parts."""
    kind = dtype if volume.dtype.kind == "c" else np.dtype(f"f{dtype.itemsize // 2}")
    parts = [sums(weights.real, kind), sums(weights.imag, kind)]
    return blockwise(_turned, parts, volume.shape, dtype, "complex", writes=True)


def _turned(real: Any, imaginary: Any, out: Any) -> None:
    if out.dtype == real.dtype:
        _joined(real.real - imaginary.imag, real.imag + imaginary.real, out)
    else:
        _joined(real, imaginary, out)


def linear_sums(volume: Volume, taps: list[Taps], dtype: np.dtype[Any]) -> Volume:
    """Weighted sums along axes; complex ones part by part."""
    if dtype.kind == "c":

        def sums(part: Volume, kind: np.dtype[Any], border: Border) -> Volume:
            return linear_sums(part, [(*tap[:-1], border(tap[-1])) for tap in taps], kind)

        return _by_parts(volume, dtype, sums)
    real = [(*tap[:-1], real_number(tap[-1])) for tap in taps]

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.linear(of[0], real, dtype.char)

    return native([volume], dtype, build)


def laplacian_sums(
    volume: Volume, taps: list[tuple[Taps, list[float]]], dtype: np.dtype[Any]
) -> Volume:
    """The sum over axes of weights that derive along one and smooth along the others."""
    if dtype.kind == "c":

        def sums(part: Volume, kind: np.dtype[Any], border: Border) -> Volume:
            own: list[tuple[Taps, list[float]]]
            own = [((*tap[:-1], border(tap[-1])), derive) for tap, derive in taps]
            return laplacian_sums(part, own, kind)

        return _by_parts(volume, dtype, sums)
    real = [((*tap[:-1], real_number(tap[-1])), derive) for tap, derive in taps]

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.laplacian(of[0], real, dtype.char)

    return native([volume], dtype, build)


def weighted_sums(
    volume: Volume,
    weights: NDArray[Any],
    mode: Modes,
    cval: complex,
    origin: Any,
    axes: Any,
    dtype: np.dtype[Any],
) -> Volume:
    """Weighted sums over a window; complex ones part by part."""
    if dtype.kind == "c":

        def sums(part: Volume, kind: np.dtype[Any], border: Border) -> Volume:
            return weighted_sums(part, weights, mode, border(cval), origin, axes, kind)

        return _by_parts(volume, dtype, sums)
    window = window_of(volume, weights.shape, mode, real_number(cval), origin, axes)
    values = spread_mask(weights, volume, axes).ravel()
    mask = values != 0
    if not mask.any():
        return blockwise(np.zeros_like, [volume], volume.shape, dtype, "zeros")

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.correlate(of[0], window, mask.tolist(), values[mask].tolist(), dtype.char)

    return native([volume], dtype, build)


def sum_of(parts: list[Volume]) -> Volume:
    """The sum of volumes, in order."""

    def add(first: NDArray[Any], *others: NDArray[Any]) -> NDArray[Any]:
        total = first.copy()
        for other in others:
            total += other
        return total

    return blockwise(add, parts, parts[0].shape, parts[0].dtype, "add")


def length_of(parts: list[Volume]) -> Volume:
    """The root of the sum of squares of volumes, in order."""

    def length(*values: NDArray[Any]) -> NDArray[Any]:
        total = values[0] * values[0]
        for value in values[1:]:
            total += value * value
        return np.sqrt(total)

    return blockwise(length, parts, parts[0].shape, parts[0].dtype, "length")
