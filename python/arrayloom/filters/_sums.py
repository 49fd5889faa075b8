"""Weighted sums on volumes: what linear filters are made of."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arrayloom._ext import VolumeExpr
from arrayloom._volume import Volume, blockwise
from arrayloom.filters._common import Modes, float_of, spread_mask, window_of

Taps: TypeAlias = tuple[int, list[float], int, str, float]


def linear_sums(volume: Volume, taps: list[Taps], dtype: np.dtype[Any]) -> Volume:
    """Weighted sums along axes; complex volumes part by part."""
    if volume.dtype.kind == "c":
        part = np.dtype(f"f{volume.dtype.itemsize // 2}")
        real = blockwise(np.real, [volume], volume.shape, part, "real")
        imag = blockwise(np.imag, [volume], volume.shape, part, "imag")
        whole = volume.dtype if dtype.kind == "c" else np.result_type(dtype, np.complex64)
        # Beyond a constant border there is no imaginary part.
        imaginary = [(*tap[:-1], 0.0) for tap in taps]
        parts = [linear_sums(real, taps, part), linear_sums(imag, imaginary, part)]
        return blockwise(lambda a, b: a + 1j * b, parts, volume.shape, whole, "complex")
    if dtype.kind == "c":
        return linear_sums(volume, taps, float_of(volume.dtype)).astype(dtype)

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.linear(of[0], taps, dtype.char)

    return Volume(volume.shape, dtype, [volume], build)


def laplacian_sums(
    volume: Volume, taps: list[tuple[Taps, list[float]]], dtype: np.dtype[Any]
) -> Volume:
    """The sum over axes of weights that derive along one and smooth along the others."""
    if volume.dtype.kind == "c":
        part = np.dtype(f"f{volume.dtype.itemsize // 2}")
        halves = [blockwise(f, [volume], volume.shape, part, "part") for f in (np.real, np.imag)]
        imaginary = [((*tap[:-1], 0.0), smooth) for tap, smooth in taps]
        parts = [laplacian_sums(halves[0], taps, part), laplacian_sums(halves[1], imaginary, part)]
        return blockwise(lambda a, b: a + 1j * b, parts, volume.shape, volume.dtype, "complex")

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.laplacian(of[0], taps, dtype.char)

    return Volume(volume.shape, dtype, [volume], build)


def weighted_sums(
    volume: Volume,
    weights: NDArray[Any],
    mode: Modes,
    cval: float,
    origin: Any,
    axes: Any,
    dtype: np.dtype[Any],
) -> Volume:
    window = window_of(volume, weights.shape, mode, cval, origin, axes)
    values = spread_mask(weights, volume, axes).ravel()
    mask = values != 0
    if not mask.any():
        mask[0] = True
    if volume.dtype.kind == "c":
        part = np.dtype(f"f{volume.dtype.itemsize // 2}")
        halves = [blockwise(f, [volume], volume.shape, part, "part") for f in (np.real, np.imag)]
        borders = zip(halves, (cval, 0.0), strict=True)
        parts = [weighted_sums(v, weights, mode, c, origin, axes, part) for v, c in borders]
        return blockwise(lambda a, b: a + 1j * b, parts, volume.shape, volume.dtype, "complex")

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.correlate(of[0], window, mask.tolist(), values[mask].tolist(), dtype.char)

    return Volume(volume.shape, dtype, [volume], build)


def sum_of(parts: list[Volume]) -> Volume:
    """The sum of volumes, in order."""

    def add(first: NDArray[Any], *others: NDArray[Any]) -> NDArray[Any]:
        total = first.copy()
        for other in others:
            total += other
        return total

    return blockwise(add, parts, parts[0].shape, parts[0].dtype, "add")
