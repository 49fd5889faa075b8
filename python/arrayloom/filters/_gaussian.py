"""Gaussian smoothing, its derivatives, and what differences of it give."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

from math import isfinite
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arrayloom._volumes.elementwise import blockwise, elementwise
from arrayloom._volumes.sources import as_volume
from arrayloom._volumes.volume import Volume
from arrayloom.filters._common import (
    Devices,
    Input,
    Integers,
    Limit,
    Modes,
    Numbers,
    Output,
    Result,
    check_weights,
    filtered_axes,
    finish,
    float_of,
    linear_of,
    modes_of,
    one_each,
    precise,
    rounded,
    wanted_dtype,
)
from arrayloom.filters._kept import kept
from arrayloom.filters._named import Spacing, in_voxels
from arrayloom.filters._sums import Taps, laplacian_sums, length_of, linear_sums, sum_of


def _gaussian_taps(sigma: float, order: int, radius: int) -> list[float]:
    """Samples of a Gaussian with sum 1, or of one of its derivatives: `scipy.ndimage`'s."""
    if order < 0:
        message = "order must be non-negative"
        raise ValueError(message)
    x = np.arange(-radius, radius + 1)
    phi = np.exp(-0.5 / (sigma * sigma) * x**2)
    phi = phi / phi.sum()
    if order:
        # The derivative of q(x) phi(x) is (q' - q x / sigma^2) phi(x).
        exponents = np.arange(order + 1)
        q = np.zeros(order + 1)
        q[0] = 1
        derive = np.diag(exponents[1:], 1) + np.diag(np.ones(order) / -(sigma * sigma), -1)
        for _ in range(order):
            q = derive.dot(q)
        phi = (x[:, None] ** exponents).dot(q) * phi
    return [float(v) for v in phi[::-1]]


def _taps(sigma: float, order: int, reach: int, mode: str) -> list[float]:
    weights = _gaussian_taps(sigma, order, reach)
    if order > 0 and mode == "renormalize":
        # Clipped windows keep the sum of weights, so that of a derivative has to be none.
        weights = [w - sum(weights) / len(weights) for w in weights]
    return weights


def _reach(sigma: float, truncate: float, radius: Any) -> int:
    reach = int(truncate * float(sigma) + 0.5) if radius is None else radius
    if not isinstance(reach, (int, np.integer)) or reach < 0:
        message = "Radius must be a nonnegative integer."
        raise ValueError(message)
    return int(reach)


def _sigmas(sigma: Numbers, count: int) -> list[float]:
    """The deviation along each filtered axis."""
    sigmas = one_each("sigma", sigma, count)
    if not all(isfinite(s) for s in sigmas):
        message = f"sigma {sigma} is not finite; give a number of voxels"
        raise ValueError(message)
    return sigmas


def _gaussian(
    volume: Volume,
    sigma: Numbers,
    order: Integers,
    mode: Modes,
    cval: complex,
    truncate: float,
    radius: Any,
    axes: Any,
    dtype: np.dtype[Any],
) -> Volume:
    which = filtered_axes(volume, axes)
    count = len(which)
    taps: list[Taps] = []
    made: dict[Any, list[float]] = {}
    rows = zip(
        which,
        _sigmas(sigma, count),
        one_each("order", order, count),
        modes_of(mode, count),
        one_each("radius", radius, count),
        strict=True,
    )
    for axis, s, o, m, r in rows:
        if s > 1e-15:
            reach = _reach(s, truncate, r)
            check_weights(2 * reach + 1, volume, axis)
            given = (float(s), index(o), reach, m)
            if given not in made:
                made[given] = _taps(*given)
            taps.append((axis, made[given], reach, m, cval))
    return linear_sums(volume, taps, dtype)


@kept
def gaussian_filter(
    input: Input,
    sigma: Numbers,
    order: Integers = 0,
    output: Output = None,
    mode: Modes = "reflect",
    cval: complex = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
    spacing: Spacing = None,
) -> Result:
    """Gaussian smoothing, or derivatives of it.

    Parameters
    ----------
    input
        Array or volume.
    sigma
        Standard deviation in voxels; one, or one for each filtered axis. Zero leaves an axis alone. By names of axes,
        as in ``{"z": 1, "y": 2}``, the others are left alone.
    spacing
        Distances of voxels along all axes, in a list or by name: `sigma` is then in their units, and each one is
        divided by the distance along its axis. True stands for the distances that the volume has.
    order
        0 smooths; n gives the n-th derivative of a Gaussian.
    truncate, radius
        The window reaches ``int(truncate * sigma + 0.5)`` voxels, or `radius`.

    Returns
    -------
    array or volume
        Of the input's dtype (``float32`` for ``bool``); floats for derivatives of integers.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.zeros((5, 5), np.float32)
    >>> x[2, 2] = 1
    >>> float(gaussian_filter(x, 1).sum().round(5))
    1.0
    >>> physical = gaussian_filter(x, 2, spacing=(2, 1))
    >>> bool((physical == gaussian_filter(x, (1, 2))).all())
    True
    """
    source = as_volume(input)
    volume = precise(source, output)
    axes = filtered_axes(source, axes)
    sigma = in_voxels("sigma", sigma, source, axes, spacing)
    signed = np.any(np.asarray(order) > 0)
    default = float_of(volume.dtype) if signed else linear_of(volume.dtype)
    dtype = wanted_dtype(output, default)
    result = _gaussian(volume, sigma, order, mode, cval, truncate, radius, axes, dtype)
    return finish(input, result, output, memory_limit, devices)


@kept
def gaussian_filter1d(
    input: Input,
    sigma: float,
    axis: int = -1,
    order: int = 0,
    output: Output = None,
    mode: str = "reflect",
    cval: complex = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
    memory_limit: Limit = None,
    devices: Devices = None,
    spacing: Spacing = None,
) -> Result:
    """Gaussian smoothing along one axis; see `gaussian_filter`.

    Examples
    --------
    >>> gaussian_filter1d([0.0, 0.0, 1.0, 0.0, 0.0], 1, radius=1).round(3).tolist()
    [0.0, 0.274, 0.452, 0.274, 0.0]
    """
    if sigma < 0:
        message = f"sigma {sigma} has to be positive"
        raise ValueError(message)
    return gaussian_filter(
        input,
        sigma,
        order,
        output,
        mode,
        cval,
        truncate,
        radius=radius,
        axes=(axis,),
        memory_limit=memory_limit,
        devices=devices,
        spacing=spacing,
    )


@kept
def gaussian_laplace(
    input: Input,
    sigma: Numbers,
    output: Output = None,
    mode: Modes = "reflect",
    cval: complex = 0.0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
    truncate: float = 4.0,
    radius: Any = None,
    spacing: Spacing = None,
) -> Result:
    """Sum of the second derivatives of a Gaussian along all axes; floats for integers.

    Where axes have modes of their own, the derivative along an axis has that axis's mode everywhere, as SciPy's.

    Examples
    --------
    >>> import numpy as np
    >>> bool(abs(gaussian_laplace(np.ones((6, 6)), 1)).max() < 0.01)
    True
    """
    source = as_volume(input)
    volume = precise(source, output)
    which = filtered_axes(source, axes)
    sigma = in_voxels("sigma", sigma, source, which, spacing)
    dtype = wanted_dtype(output, float_of(volume.dtype))
    modes = modes_of(mode, len(which))
    if len(set(modes)) > 1:
        kind = float_of(volume.dtype)
        parts = [
            _gaussian(
                volume, sigma, [2 * (a == b) for b in which], m, cval, truncate, radius, which, kind
            )
            for a, m in zip(which, modes, strict=True)
        ]
        return finish(input, rounded(sum_of(parts), dtype), output, memory_limit, devices)
    taps: list[tuple[Taps, list[float]]] = []
    for axis, s, m, r in zip(
        which,
        _sigmas(sigma, len(which)),
        modes,
        one_each("radius", radius, len(which)),
        strict=True,
    ):
        if s > 1e-15:
            reach = _reach(s, truncate, r)
            check_weights(2 * reach + 1, volume, axis)
            smooth, derive = (_taps(float(s), order, reach, m) for order in (0, 2))
        else:
            # An axis without a sigma is left alone, in the sum of the others too.
            reach, smooth, derive = 0, [1.0], [1.0]
        taps.append(((axis, smooth, reach, m, cval), derive))
    result = laplacian_sums(volume, taps, dtype) if taps else rounded(volume, dtype)
    return finish(input, result, output, memory_limit, devices)


@kept
def gaussian_gradient_magnitude(
    input: Input,
    sigma: Numbers,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    devices: Devices = None,
    truncate: float = 4.0,
    radius: Any = None,
    spacing: Spacing = None,
) -> Result:
    """Length of the gradient of a Gaussian-smoothed array; floats for integers.

    Where axes have modes of their own, the derivative along an axis has that axis's mode everywhere, as SciPy's.
    Axes that are not in `axes` are left alone, as `gaussian_laplace` leaves them; SciPy smooths them here.

    Examples
    --------
    >>> import numpy as np
    >>> ramp = np.arange(20.0)
    >>> float(gaussian_gradient_magnitude(ramp, 1)[10].round(3))
    1.0
    """
    source = as_volume(input)
    volume = precise(source, output)
    which = filtered_axes(source, axes)
    sigma = in_voxels("sigma", sigma, source, which, spacing)
    orders = [[1 if a == b else 0 for b in which] for a in which]
    kind = float_of(volume.dtype)
    dtype = wanted_dtype(output, kind)
    modes = modes_of(mode, len(which))
    # Squares of half precision soon have no room in it.
    wide = np.promote_types(kind, np.float32)
    parts = [
        _gaussian(volume, sigma, o, m, cval, truncate, radius, which, wide)
        for o, m in zip(orders, modes, strict=True)
    ]
    result = rounded(length_of(parts) if parts else volume, dtype)
    return finish(input, result, output, memory_limit, devices)


@kept
def difference_of_gaussians(
    input: Input,
    low_sigma: Numbers,
    high_sigma: Numbers | None = None,
    *,
    output: Output = None,
    mode: Modes = "nearest",
    cval: float = 0.0,
    axes: Any = None,
    truncate: float = 4.0,
    memory_limit: Limit = None,
    devices: Devices = None,
    spacing: Spacing = None,
) -> Result:
    """Difference of two Gaussian-smoothed arrays; `high_sigma` is 1.6 times `low_sigma` by default.

    Examples
    --------
    >>> import numpy as np
    >>> bool(abs(difference_of_gaussians(np.full((4, 4), 3.0), 1)).max() < 1e-12)
    True
    """
    source = as_volume(input)
    volume = precise(source, output)
    axes = filtered_axes(source, axes)
    fine = in_voxels("low_sigma", low_sigma, source, axes, spacing)
    if high_sigma is None:
        coarse = np.multiply(fine, 1.6).tolist()
    else:
        coarse = in_voxels("high_sigma", high_sigma, source, axes, spacing)
    kind = float_of(volume.dtype)
    low, far = (
        _gaussian(volume, s, 0, mode, cval, truncate, None, axes, kind) for s in (fine, coarse)
    )
    return finish(
        input,
        rounded(elementwise(np.subtract, [low, far]), wanted_dtype(output, kind)),
        output,
        memory_limit,
        devices,
    )


@kept
def high_pass(
    input: Input,
    sigma: Numbers,
    *,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    axes: Any = None,
    truncate: float = 4.0,
    memory_limit: Limit = None,
    devices: Devices = None,
    spacing: Spacing = None,
) -> Result:
    """The array minus its Gaussian-smoothed self; floats for integers.

    Examples
    --------
    >>> import numpy as np
    >>> bool(abs(high_pass(np.full(9, 3.0), 1)).max() < 1e-12)
    True
    """
    return unsharp_mask(
        input,
        sigma,
        None,
        output=output,
        mode=mode,
        cval=cval,
        axes=axes,
        truncate=truncate,
        memory_limit=memory_limit,
        devices=devices,
        spacing=spacing,
    )


@kept
def unsharp_mask(
    input: Input,
    sigma: Numbers,
    amount: float | None = 1.0,
    *,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    axes: Any = None,
    truncate: float = 4.0,
    memory_limit: Limit = None,
    devices: Devices = None,
    spacing: Spacing = None,
) -> Result:
    """``x + amount * (x - gaussian(x))``; with `amount` None the difference alone.

    Examples
    --------
    >>> import numpy as np
    >>> unsharp_mask(np.full(5, 3.0), 1).round(6).tolist()
    [3.0, 3.0, 3.0, 3.0, 3.0]
    """
    source = as_volume(input)
    volume = precise(source, output)
    axes = filtered_axes(source, axes)
    sigma = in_voxels("sigma", sigma, source, axes, spacing)
    kind = float_of(volume.dtype)
    smooth = _gaussian(volume, sigma, 0, mode, cval, truncate, None, axes, kind)

    def sharpen(x: NDArray[Any], low: NDArray[Any]) -> NDArray[Any]:
        own = x.astype(kind)
        return own - low if amount is None else own + kind.type(amount) * (own - low)

    result = blockwise(sharpen, [volume, smooth], volume.shape, kind, "unsharp_mask")
    return finish(input, rounded(result, wanted_dtype(output, kind)), output, memory_limit, devices)
