"""Weighted sums on volumes: what linear filters are made of."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arrayloom._ext import VolumeExpr
from arrayloom._volume import Volume, blockwise
from arrayloom.filters._common import Modes, native, spread_mask, window_of

Taps: TypeAlias = tuple[int, list[float], int, str, float]
Sums: TypeAlias = Callable[[Volume, np.dtype[Any], bool], Volume]


def _by_parts(volume: Volume, dtype: np.dtype[Any], sums: Sums) -> Volume:
    """`sums` of the real and the imaginary part of a volume as complex numbers of `dtype`.

    `sums` takes a part, its dtype, and whether it is the imaginary one: beyond a constant border there is none.
    """
    part = np.dtype(f"f{dtype.itemsize // 2}")
    if volume.dtype.kind != "c":
        return sums(volume, part, False).astype(dtype)
    own = np.dtype(f"f{volume.dtype.itemsize // 2}")
    real, imaginary = (
        blockwise(f, [volume], volume.shape, own, f.__name__) for f in (np.real, np.imag)
    )
    parts = [sums(real, part, False), sums(imaginary, part, True)]
    return blockwise(_joined, parts, volume.shape, dtype, "complex", writes=True)


def _joined(real: Any, imaginary: Any, out: Any) -> None:
    out.real[...] = real
    out.imag[...] = imaginary


def linear_sums(volume: Volume, taps: list[Taps], dtype: np.dtype[Any]) -> Volume:
    """Weighted sums along axes; complex ones part by part."""
    if dtype.kind == "c":

        def sums(part: Volume, kind: np.dtype[Any], imaginary: bool) -> Volume:
            own = [(*tap[:-1], 0.0) for tap in taps] if imaginary else taps
            return linear_sums(part, own, kind)

        return _by_parts(volume, dtype, sums)

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.linear(of[0], taps, dtype.char)

    return native([volume], dtype, build)


def laplacian_sums(
    volume: Volume, taps: list[tuple[Taps, list[float]]], dtype: np.dtype[Any]
) -> Volume:
    """The sum over axes of weights that derive along one and smooth along the others."""
    if dtype.kind == "c":

        def sums(part: Volume, kind: np.dtype[Any], imaginary: bool) -> Volume:
            own = [((*tap[:-1], 0.0), smooth) for tap, smooth in taps] if imaginary else taps
            return laplacian_sums(part, own, kind)

        return _by_parts(volume, dtype, sums)

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.laplacian(of[0], taps, dtype.char)

    return native([volume], dtype, build)


def weighted_sums(
    volume: Volume,
    weights: NDArray[Any],
    mode: Modes,
    cval: float,
    origin: Any,
    axes: Any,
    dtype: np.dtype[Any],
) -> Volume:
    """Weighted sums over a window; complex ones part by part."""
    window = window_of(volume, weights.shape, mode, cval, origin, axes)
    values = spread_mask(weights, volume, axes).ravel()
    mask = values != 0
    if not mask.any():
        mask[0] = True
    if dtype.kind == "c":

        def sums(part: Volume, kind: np.dtype[Any], imaginary: bool) -> Volume:
            border = 0.0 if imaginary else cval
            return weighted_sums(part, weights, mode, border, origin, axes, kind)

        return _by_parts(volume, dtype, sums)

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
