"""Filters for arrays and volumes of any number of axes, with SciPy's names, defaults and modes.

Every function takes an array (NumPy's, or anything ``numpy.asarray`` takes) and returns an array, or
takes a volume of `arrayloom.volumes.open` and returns a volume that is computed when it is saved. Results
do not depend on memory limits or threads, bit for bit.

Common parameters
-----------------
mode
    What lies outside of ``a b c d``: ``reflect`` (``b a | a b c d | d c``), ``mirror``
    (``c b | a b c d | c b``), ``nearest``, ``wrap``, ``constant`` (`cval`), or ``renormalize``: windows
    are clipped, and weights scaled to what is left. One mode, or one for each filtered axis.
output
    A dtype, or an array of the result's shape.
axes
    The axes to filter; all by default.
memory_limit
    Most bytes of working memory, such as ``"512MiB"``.

Integer results are rounded once, half to even, and saturate. Filters with signed results give floats.
A window with a NaN gives NaN.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Arrays and file objects of many libraries come in; their element types are known at run time only.

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from arrayloom import volumes
from arrayloom._ext import VolumeExpr
from arrayloom._volume import Volume, as_volume, blockwise, compute, elementwise

__all__ = [
    "ball",
    "bilateral_filter",
    "black_tophat",
    "closing",
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "cv_filter",
    "difference",
    "difference_of_gaussians",
    "ellipsoid",
    "entropy_filter",
    "gaussian_filter",
    "gaussian_filter1d",
    "gaussian_gradient_magnitude",
    "gaussian_laplace",
    "grey_closing",
    "grey_dilation",
    "grey_erosion",
    "grey_opening",
    "high_pass",
    "identity",
    "laplace",
    "maximum_filter",
    "maximum_filter1d",
    "mean_filter",
    "median_filter",
    "minimum_filter",
    "minimum_filter1d",
    "morphological_gradient",
    "opening",
    "percentile_filter",
    "prewitt",
    "rank_filter",
    "sobel",
    "std_filter",
    "threshold_niblack",
    "threshold_sauvola",
    "uniform_filter",
    "uniform_filter1d",
    "unsharp_mask",
    "var_filter",
    "white_tophat",
    "wiener_filter",
]

Input: TypeAlias = ArrayLike | Volume
Result: TypeAlias = Any
Numbers: TypeAlias = float | Sequence[float]
Integers: TypeAlias = int | Sequence[int]
Modes: TypeAlias = str | Sequence[str]
Output: TypeAlias = DTypeLike | NDArray[Any] | None
Limit: TypeAlias = int | str | None

_MODES = (
    "reflect",
    "mirror",
    "nearest",
    "constant",
    "wrap",
    "renormalize",
    "grid-mirror",
    "grid-constant",
    "grid-wrap",
)


def _is_lazy(x: object) -> bool:
    """True for volumes, whose results stay volumes."""
    return isinstance(x, Volume)


def _finish(x: object, result: Volume, output: Output, memory_limit: Limit) -> Result:
    """The result as it was asked for: a volume for a volume, else an array."""
    if _is_lazy(x):
        return result
    out = output if isinstance(output, np.ndarray) else None
    return compute(result, out=out, memory_limit=memory_limit)


def _wanted(output: Output, default: DTypeLike) -> np.dtype[Any]:
    if output is None:
        return np.dtype(default)
    return output.dtype if isinstance(output, np.ndarray) else np.dtype(output)


def _float_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of signed results."""
    if dtype.kind in "fc":
        return dtype
    return np.dtype(np.float64 if dtype.kind in "iu" and dtype.itemsize >= 4 else np.float32)


def _linear_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of means and other weighted sums with positive weights."""
    return np.dtype(np.float32) if dtype.kind == "b" else dtype


def _axes(volume: Volume, axes: int | Sequence[int] | None) -> list[int]:
    if axes is None:
        return list(range(volume.ndim))
    several = [axes] if isinstance(axes, int) else list(axes)
    for axis in several:
        if not -volume.ndim <= axis < volume.ndim:
            message = f"axis {axis} is out of bounds for an array of dimension {volume.ndim}"
            raise ValueError(message)
    several = [a % volume.ndim for a in several]
    if len(set(several)) != len(several):
        message = f"axes {several} must be unique"
        raise ValueError(message)
    return several


def _each(name: str, value: Any, count: int) -> list[Any]:
    """One value for each filtered axis."""
    if isinstance(value, str) or np.ndim(value) == 0:
        return [value] * count
    values = list(value)
    if len(values) != count:
        message = f"{name} has {len(values)} entries for {count} filtered axes"
        raise RuntimeError(message)
    return values


def _modes(mode: Modes, count: int) -> list[str]:
    modes = _each("mode", mode, count)
    for one in modes:
        if one not in _MODES:
            message = f"boundary mode {one!r} not supported; use one of {', '.join(_MODES[:6])}"
            raise RuntimeError(message)
    return modes


def _before(size: int, origin: int) -> int:
    """Points of a window before its center."""
    if size < 1:
        message = "incorrect filter size: at least 1 is needed"
        raise RuntimeError(message)
    before = size // 2 + origin
    if not 0 <= before < size:
        message = f"invalid origin {origin} for a window of {size} points"
        raise ValueError(message)
    return before


_Taps: TypeAlias = tuple[int, list[float], int, str, float]


def _linear(volume: Volume, taps: list[_Taps], dtype: np.dtype[Any]) -> Volume:
    """Weighted sums along axes; complex volumes part by part."""
    if volume.dtype.kind == "c":
        part = np.dtype(f"f{volume.dtype.itemsize // 2}")
        real = blockwise(np.real, [volume], volume.shape, part, "real")
        imag = blockwise(np.imag, [volume], volume.shape, part, "imag")
        whole = volume.dtype if dtype.kind == "c" else np.result_type(dtype, np.complex64)
        parts = [_linear(v, taps, part) for v in (real, imag)]
        return blockwise(lambda a, b: a + 1j * b, parts, volume.shape, whole, "complex")
    if dtype.kind == "c":
        return _linear(volume, taps, _float_of(volume.dtype)).astype(dtype)

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.linear(of[0], taps, dtype.char)

    return Volume(volume.shape, dtype, [volume], build)


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


def _gaussian(
    volume: Volume,
    sigma: Numbers,
    order: Integers,
    mode: Modes,
    cval: float,
    truncate: float,
    radius: Any,
    axes: Any,
    dtype: np.dtype[Any],
) -> Volume:
    which = _axes(volume, axes)
    count = len(which)
    taps: list[_Taps] = []
    rows = zip(
        which,
        _each("sigma", sigma, count),
        _each("order", order, count),
        _modes(mode, count),
        _each("radius", radius, count),
        strict=True,
    )
    for axis, s, o, m, r in rows:
        if s > 1e-15:
            reach = int(truncate * float(s) + 0.5) if r is None else r
            if reach < 0 or reach != int(reach):
                message = "Radius must be a nonnegative integer."
                raise ValueError(message)
            weights = _gaussian_taps(float(s), int(o), int(reach))
            if o > 0 and m == "renormalize":
                # Clipped windows keep the sum of weights, so that of a derivative has to be none.
                weights = [w - sum(weights) / len(weights) for w in weights]
            taps.append((axis, weights, int(reach), m, cval))
    return _linear(volume, taps, dtype)


def gaussian_filter(
    input: Input,
    sigma: Numbers,
    order: Integers = 0,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Gaussian smoothing, or derivatives of it.

    Parameters
    ----------
    input
        Array or volume.
    sigma
        Standard deviation in voxels; one, or one for each filtered axis. Zero leaves an axis alone.
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
    """
    volume = as_volume(input)
    signed = np.any(np.asarray(order) > 0)
    default = _float_of(volume.dtype) if signed else _linear_of(volume.dtype)
    dtype = _wanted(output, default)
    result = _gaussian(volume, sigma, order, mode, cval, truncate, radius, axes, dtype)
    return _finish(input, result, output, memory_limit)


def gaussian_filter1d(
    input: Input,
    sigma: float,
    axis: int = -1,
    order: int = 0,
    output: Output = None,
    mode: str = "reflect",
    cval: float = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
    memory_limit: Limit = None,
) -> Result:
    """Gaussian smoothing along one axis; see `gaussian_filter`.

    Examples
    --------
    >>> gaussian_filter1d([0.0, 0.0, 1.0, 0.0, 0.0], 1, radius=1).round(3).tolist()
    [0.0, 0.274, 0.452, 0.274, 0.0]
    """
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
    )


def gaussian_laplace(
    input: Input,
    sigma: Numbers,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
    truncate: float = 4.0,
) -> Result:
    """Sum of the second derivatives of a Gaussian along all axes; floats for integers.

    Examples
    --------
    >>> import numpy as np
    >>> bool(abs(gaussian_laplace(np.ones((6, 6)), 1)).max() < 0.01)
    True
    """
    volume = as_volume(input)
    dtype = _wanted(output, _float_of(volume.dtype))
    which = _axes(volume, axes)
    orders = [[2 if a == b else 0 for b in which] for a in which]
    parts = [
        _gaussian(volume, sigma, o, mode, cval, truncate, None, which, _float_of(volume.dtype))
        for o in orders
    ]
    return _finish(input, _total(parts).astype(dtype), output, memory_limit)


def _total(parts: list[Volume]) -> Volume:
    """The sum of volumes, in order."""

    def add(first: NDArray[Any], *others: NDArray[Any]) -> NDArray[Any]:
        total = first.copy()
        for other in others:
            total += other
        return total

    return blockwise(add, parts, parts[0].shape, parts[0].dtype, "add")


def gaussian_gradient_magnitude(
    input: Input,
    sigma: Numbers,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Length of the gradient of a Gaussian-smoothed array; floats for integers.

    Examples
    --------
    >>> import numpy as np
    >>> ramp = np.arange(20.0)
    >>> float(gaussian_gradient_magnitude(ramp, 1)[10].round(3))
    1.0
    """
    volume = as_volume(input)
    which = _axes(volume, axes)
    orders = [[1 if a == b else 0 for b in which] for a in which]
    parts = [
        _gaussian(volume, sigma, o, mode, cval, 4.0, None, which, _float_of(volume.dtype))
        for o in orders
    ]
    return _finish(
        input, _length(parts, _wanted(output, _float_of(volume.dtype))), output, memory_limit
    )


def _length(parts: list[Volume], dtype: np.dtype[Any]) -> Volume:
    def length(*values: NDArray[Any]) -> NDArray[Any]:
        total = values[0] * values[0]
        for value in values[1:]:
            total += value * value
        return np.sqrt(total)

    return blockwise(length, parts, parts[0].shape, parts[0].dtype, "length").astype(dtype)


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
) -> Result:
    """Difference of two Gaussian-smoothed arrays; `high_sigma` is 1.6 times `low_sigma` by default.

    Examples
    --------
    >>> import numpy as np
    >>> bool(abs(difference_of_gaussians(np.full((4, 4), 3.0), 1)).max() < 1e-12)
    True
    """
    volume = as_volume(input)
    high = np.multiply(low_sigma, 1.6).tolist() if high_sigma is None else high_sigma
    kind = _float_of(volume.dtype)
    low, far = (
        _gaussian(volume, s, 0, mode, cval, truncate, None, axes, kind) for s in (low_sigma, high)
    )
    return _finish(
        input,
        elementwise(np.subtract, [low, far]).astype(_wanted(output, kind)),
        output,
        memory_limit,
    )


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
    )


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
) -> Result:
    """``x + amount * (x - gaussian(x))``; with `amount` None the difference alone.

    Examples
    --------
    >>> import numpy as np
    >>> unsharp_mask(np.full(5, 3.0), 1).round(6).tolist()
    [3.0, 3.0, 3.0, 3.0, 3.0]
    """
    volume = as_volume(input)
    kind = _float_of(volume.dtype)
    smooth = _gaussian(volume, sigma, 0, mode, cval, truncate, None, axes, kind)

    def sharpen(x: NDArray[Any], low: NDArray[Any]) -> NDArray[Any]:
        own = x.astype(kind)
        return own - low if amount is None else own + kind.type(amount) * (own - low)

    result = blockwise(sharpen, [volume, smooth], volume.shape, kind, "unsharp_mask")
    return _finish(input, result.astype(_wanted(output, kind)), output, memory_limit)


def uniform_filter(
    input: Input,
    size: Integers = 3,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Mean over a box of `size` voxels.

    Examples
    --------
    >>> uniform_filter([1.0, 2.0, 6.0], 3).round(3).tolist()
    [1.333, 3.0, 4.667]
    """
    volume = as_volume(input)
    which = _axes(volume, axes)
    count = len(which)
    rows = zip(
        which,
        _each("size", size, count),
        _each("origin", origin, count),
        _modes(mode, count),
        strict=True,
    )
    taps: list[_Taps] = [
        (a, [1.0 / int(s)] * int(s), _before(int(s), int(o)), m, cval)
        for a, s, o, m in rows
        if _before(int(s), int(o)) or s > 1
    ]
    result = _linear(volume, taps, _wanted(output, _linear_of(volume.dtype)))
    return _finish(input, result, output, memory_limit)


def uniform_filter1d(
    input: Input,
    size: int,
    axis: int = -1,
    output: Output = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
    *,
    memory_limit: Limit = None,
) -> Result:
    """Mean over `size` voxels along one axis.

    Examples
    --------
    >>> uniform_filter1d([3, 6, 9], 3).tolist()
    [4, 6, 8]
    """
    return uniform_filter(
        input, size, output, mode, cval, origin, axes=(axis,), memory_limit=memory_limit
    )


def mean_filter(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Mean over the true points of `footprint`, or over a box of `size`.

    Examples
    --------
    >>> mean_filter([1.0, 2.0, 6.0], footprint=[True, False, True]).tolist()
    [1.5, 3.5, 4.0]
    """
    if footprint is None:
        return uniform_filter(
            input,
            3 if size is None else size,
            output,
            mode,
            cval,
            origin,
            axes=axes,
            memory_limit=memory_limit,
        )
    volume = as_volume(input)
    mask = np.asarray(footprint, bool)
    weights = mask / max(mask.sum(), 1)
    result = _weighted(
        volume, weights, mode, cval, origin, axes, _wanted(output, _linear_of(volume.dtype))
    )
    return _finish(input, result, output, memory_limit)


def _window(
    volume: Volume, shape: Sequence[int], mode: Modes, cval: float, origin: Integers, axes: Any
) -> list[tuple[int, int, str, float]]:
    """The window along every axis of `volume`, for a footprint of `shape` on the filtered ones."""
    which = _axes(volume, axes)
    if len(shape) != len(which):
        message = f"a footprint or weights of {len(shape)} axes for {len(which)} filtered axes; the numbers must be equal"
        raise RuntimeError(message)
    full = [(1, 0, "reflect", 0.0)] * volume.ndim
    rows = zip(
        which, shape, _each("origin", origin, len(which)), _modes(mode, len(which)), strict=True
    )
    for axis, n, o, m in rows:
        full[axis] = (int(n), _before(int(n), int(o)), m, cval)
    return full


def _spread(values: NDArray[Any], volume: Volume, axes: Any) -> NDArray[Any]:
    """A footprint with an axis for every axis of `volume`."""
    which = _axes(volume, axes)
    order = np.argsort(which)
    shape = [1] * volume.ndim
    for axis, n in zip(which, values.shape, strict=True):
        shape[axis] = n
    return values.transpose(order).reshape(shape)


def _weighted(
    volume: Volume,
    weights: NDArray[Any],
    mode: Modes,
    cval: float,
    origin: Any,
    axes: Any,
    dtype: np.dtype[Any],
) -> Volume:
    window = _window(volume, weights.shape, mode, cval, origin, axes)
    values = _spread(weights, volume, axes).ravel()
    mask = values != 0
    if not mask.any():
        mask[0] = True
    if volume.dtype.kind == "c":
        part = np.dtype(f"f{volume.dtype.itemsize // 2}")
        halves = [blockwise(f, [volume], volume.shape, part, "part") for f in (np.real, np.imag)]
        parts = [_weighted(v, weights, mode, cval, origin, axes, part) for v in halves]
        return blockwise(lambda a, b: a + 1j * b, parts, volume.shape, volume.dtype, "complex")

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.correlate(of[0], window, mask.tolist(), values[mask].tolist(), dtype.char)

    return Volume(volume.shape, dtype, [volume], build)


def _weighted_dtype(volume: Volume, weights: NDArray[Any]) -> np.dtype[Any]:
    return _float_of(volume.dtype) if (weights < 0).any() else _linear_of(volume.dtype)


def correlate(
    input: Input,
    weights: ArrayLike,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Sum of the voxels of a window, times `weights`; floats for integers if a weight is negative.

    Examples
    --------
    >>> correlate([1.0, 2.0, 4.0], [-1, 0, 1]).tolist()
    [1.0, 3.0, 2.0]
    """
    volume = as_volume(input)
    values = np.asarray(weights, np.float64)
    result = _weighted(
        volume, values, mode, cval, origin, axes, _wanted(output, _weighted_dtype(volume, values))
    )
    return _finish(input, result, output, memory_limit)


def convolve(
    input: Input,
    weights: ArrayLike,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Convolution: `correlate` with mirrored weights.

    Examples
    --------
    >>> convolve([1.0, 2.0, 4.0], [1, 0, -1]).tolist()
    [1.0, 3.0, 2.0]
    """
    values = np.asarray(weights, np.float64)
    origins = _each("origin", origin, values.ndim)
    turned = [-int(o) - (n % 2 == 0) for o, n in zip(origins, values.shape, strict=True)]
    return correlate(
        input, np.flip(values), output, mode, cval, turned, axes=axes, memory_limit=memory_limit
    )


def correlate1d(
    input: Input,
    weights: ArrayLike,
    axis: int = -1,
    output: Output = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
    *,
    memory_limit: Limit = None,
) -> Result:
    """Weighted sum along one axis.

    Examples
    --------
    >>> correlate1d([2, 8, 0, 4, 1, 9, 9, 0], weights=[1, 3]).tolist()
    [8, 26, 8, 12, 7, 28, 36, 9]
    """
    volume = as_volume(input)
    values = np.asarray(weights, np.float64)
    before = _before(len(values), origin)
    taps = [(_axes(volume, axis)[0], values.tolist(), before, _modes(mode, 1)[0], cval)]
    result = _linear(volume, taps, _wanted(output, _weighted_dtype(volume, values)))
    return _finish(input, result, output, memory_limit)


def convolve1d(
    input: Input,
    weights: ArrayLike,
    axis: int = -1,
    output: Output = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
    *,
    memory_limit: Limit = None,
) -> Result:
    """Convolution along one axis.

    Examples
    --------
    >>> convolve1d([2, 8, 0, 4, 1, 9, 9, 0], weights=[1, 3]).tolist()
    [14, 24, 4, 13, 12, 36, 27, 0]
    """
    values = np.asarray(weights, np.float64)
    origin = -origin - (len(values) % 2 == 0)
    return correlate1d(
        input, values[::-1], axis, output, mode, cval, origin, memory_limit=memory_limit
    )


def _derivative(
    volume: Volume, axis: int, smooth: list[float], mode: Modes, cval: float, dtype: np.dtype[Any]
) -> Volume:
    modes = _modes(mode, volume.ndim)
    at = _axes(volume, axis)[0]
    steep: list[_Taps] = [(at, [-1.0, 0.0, 1.0], 1, modes[at], cval)]
    flat: list[_Taps] = [(d, smooth, 1, modes[d], cval) for d in range(volume.ndim) if d != at]
    if cval != 0 and "constant" in "".join(modes):
        # What a constant stands for depends on the order of the passes; SciPy's derives first.
        kind = _float_of(volume.dtype)
        return _linear(_linear(volume, steep, kind), flat, dtype)
    return _linear(volume, steep + flat, dtype)


def sobel(
    input: Input,
    axis: int = -1,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    *,
    memory_limit: Limit = None,
) -> Result:
    """Sobel's derivative along `axis`; floats for integers, so nothing wraps around.

    Examples
    --------
    >>> import numpy as np
    >>> sobel(np.array([10, 20, 5], np.uint8)).tolist()
    [10.0, -5.0, -15.0]
    """
    volume = as_volume(input)
    dtype = _wanted(output, _float_of(volume.dtype))
    return _finish(
        input, _derivative(volume, axis, [1.0, 2.0, 1.0], mode, cval, dtype), output, memory_limit
    )


def prewitt(
    input: Input,
    axis: int = -1,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    *,
    memory_limit: Limit = None,
) -> Result:
    """Prewitt's derivative along `axis`; floats for integers.

    Examples
    --------
    >>> prewitt([1.0, 2.0, 4.0]).tolist()
    [1.0, 3.0, 2.0]
    """
    volume = as_volume(input)
    dtype = _wanted(output, _float_of(volume.dtype))
    return _finish(
        input, _derivative(volume, axis, [1.0, 1.0, 1.0], mode, cval, dtype), output, memory_limit
    )


def laplace(
    input: Input,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Sum of second differences along all axes; floats for integers.

    Examples
    --------
    >>> laplace([0.0, 0.0, 1.0, 0.0, 0.0]).tolist()
    [0.0, 1.0, -2.0, 1.0, 0.0]
    """
    volume = as_volume(input)
    kind = _float_of(volume.dtype)
    which = _axes(volume, axes)
    modes = _modes(mode, len(which))
    parts = [
        _linear(volume, [(a, [1.0, -2.0, 1.0], 1, m, cval)], kind)
        for a, m in zip(which, modes, strict=True)
    ]
    return _finish(input, _total(parts).astype(_wanted(output, kind)), output, memory_limit)


def _footprint(volume: Volume, size: Any, footprint: Any, axes: Any) -> NDArray[np.bool_]:
    if footprint is not None:
        mask = np.asarray(footprint, bool)
        if not mask.any():
            message = "All-zero footprint is not supported."
            raise ValueError(message)
        return mask
    if size is None:
        message = "no footprint or filter size provided"
        raise RuntimeError(message)
    return np.ones([int(s) for s in _each("size", size, len(_axes(volume, axes)))], bool)


def _extremum(
    volume: Volume,
    maximum: bool,
    mask: NDArray[np.bool_],
    mode: Modes,
    cval: float,
    origin: Any,
    axes: Any,
) -> Volume:
    window = _window(volume, mask.shape, mode, cval, origin, axes)
    points = None if mask.all() else _spread(mask, volume, axes).ravel().tolist()

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.extremum(of[0], maximum, window, points)

    return Volume(volume.shape, volume.dtype, [volume], build)


def minimum_filter(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Smallest voxel of a window.

    Examples
    --------
    >>> minimum_filter([3, 1, 2, 5, 4], 3).tolist()
    [1, 1, 1, 2, 4]
    """
    volume = as_volume(input)
    mask = _footprint(volume, size, footprint, axes)
    result = _extremum(volume, False, mask, mode, cval, origin, axes)
    return _finish(input, _as(result, output), output, memory_limit)


def maximum_filter(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Greatest voxel of a window.

    Examples
    --------
    >>> maximum_filter([3, 1, 2, 5, 4], footprint=[True, False, True]).tolist()
    [3, 3, 5, 4, 5]
    """
    volume = as_volume(input)
    mask = _footprint(volume, size, footprint, axes)
    result = _extremum(volume, True, mask, mode, cval, origin, axes)
    return _finish(input, _as(result, output), output, memory_limit)


def _as(volume: Volume, output: Output) -> Volume:
    dtype = _wanted(output, volume.dtype)
    return volume if dtype == volume.dtype else volume.astype(dtype)


def minimum_filter1d(
    input: Input,
    size: int,
    axis: int = -1,
    output: Output = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
    *,
    memory_limit: Limit = None,
) -> Result:
    """Smallest of `size` voxels along one axis.

    Examples
    --------
    >>> minimum_filter1d([2, 8, 0, 4, 1, 9, 9, 0], size=3).tolist()
    [2, 0, 0, 0, 1, 1, 0, 0]
    """
    return minimum_filter(
        input, (size,), None, output, mode, cval, (origin,), axes=(axis,), memory_limit=memory_limit
    )


def maximum_filter1d(
    input: Input,
    size: int,
    axis: int = -1,
    output: Output = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
    *,
    memory_limit: Limit = None,
) -> Result:
    """Greatest of `size` voxels along one axis.

    Examples
    --------
    >>> maximum_filter1d([2, 8, 0, 4, 1, 9, 9, 0], size=3).tolist()
    [8, 8, 8, 4, 9, 9, 9, 9]
    """
    return maximum_filter(
        input, (size,), None, output, mode, cval, (origin,), axes=(axis,), memory_limit=memory_limit
    )


def _ranked(
    x: Input,
    rank_of: Callable[[int], int],
    mask: Any,
    output: Output,
    mode: Modes,
    cval: float,
    origin: Any,
    axes: Any,
    limit: Limit,
) -> Result:
    volume = as_volume(x)
    size, footprint = mask
    points = _footprint(volume, size, footprint, axes)
    n = int(points.sum())
    rank = rank_of(n)
    if rank in {0, n - 1}:
        result = _extremum(volume, rank == n - 1, points, mode, cval, origin, axes)
        return _finish(x, _as(result, output), output, limit)
    window = _window(volume, points.shape, mode, cval, origin, axes)
    flat = _spread(points, volume, axes).ravel().tolist()

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.rank(of[0], window, flat, rank)

    result = Volume(volume.shape, volume.dtype, [volume], build)
    return _finish(x, _as(result, output), output, limit)


def median_filter(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Median of a window: element ``n // 2`` of its ``n`` sorted voxels.

    Examples
    --------
    >>> median_filter([3, 1, 2, 50, 4], 3).tolist()
    [3, 2, 2, 4, 4]
    """
    return _ranked(
        input, lambda n: n // 2, (size, footprint), output, mode, cval, origin, axes, memory_limit
    )


def rank_filter(
    input: Input,
    rank: int,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """The voxel of a window with `rank` smaller ones; negative ranks count from the greatest.

    Examples
    --------
    >>> rank_filter([3, 1, 2, 50, 4], -2, 3).tolist()
    [3, 2, 2, 4, 4]
    """

    def of(n: int) -> int:
        at = rank + n if rank < 0 else rank
        if not 0 <= at < n:
            message = f"rank {rank} not within filter footprint size {n}"
            raise RuntimeError(message)
        return at

    return _ranked(input, of, (size, footprint), output, mode, cval, origin, axes, memory_limit)


def percentile_filter(
    input: Input,
    percentile: float,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """The voxel of a window below which `percentile` percent of it lie; negative ones count from 100.

    Examples
    --------
    >>> percentile_filter([3, 1, 2, 50, 4], 50, 3).tolist()
    [3, 2, 2, 4, 4]
    """
    share = percentile + 100.0 if percentile < 0 else percentile
    if not 0 <= share <= 100:
        message = "invalid percentile"
        raise RuntimeError(message)
    return _ranked(
        input,
        lambda n: min(int(n * share / 100.0), n - 1),
        (size, footprint),
        output,
        mode,
        cval,
        origin,
        axes,
        memory_limit,
    )


def _eroded(
    volume: Volume, mask: NDArray[np.bool_], mode: Modes, cval: float, origin: Any, axes: Any
) -> Volume:
    return _extremum(volume, False, mask, mode, cval, origin, axes)


def _dilated(
    volume: Volume, mask: NDArray[np.bool_], mode: Modes, cval: float, origin: Any, axes: Any
) -> Volume:
    origins = _each("origin", origin, mask.ndim)
    turned = [-int(o) - (n % 2 == 0) for o, n in zip(origins, mask.shape, strict=True)]
    return _extremum(volume, True, np.flip(mask), mode, cval, turned, axes)


def _steps(
    steps: str,
    volume: Volume,
    mask: NDArray[np.bool_],
    mode: Modes,
    cval: float,
    origin: Any,
    axes: Any,
) -> Volume:
    """Erosions and dilations one after the other, such as ``"ed"`` for an opening."""
    result = volume
    for step in steps:
        result = (_eroded if step == "e" else _dilated)(result, mask, mode, cval, origin, axes)
    return result


def _morphology(
    steps: str,
    x: Input,
    mask: Any,
    output: Output,
    mode: Modes,
    cval: float,
    origin: Any,
    axes: Any,
    limit: Limit,
) -> Result:
    volume = as_volume(x)
    size, footprint = mask
    points = _footprint(volume, size, footprint, axes)
    result = _steps(steps, volume, points, mode, cval, origin, axes)
    return _finish(x, _as(result, output), output, limit)


def grey_erosion(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Smallest voxel of a window.

    Examples
    --------
    >>> grey_erosion([3, 1, 2, 5, 4], 3).tolist()
    [1, 1, 1, 2, 4]
    """
    return _morphology(
        "e", input, (size, footprint), output, mode, cval, origin, axes, memory_limit
    )


def grey_dilation(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Greatest voxel of the mirrored window.

    Examples
    --------
    >>> grey_dilation([3, 1, 2, 5, 4], 3).tolist()
    [3, 3, 5, 5, 5]
    """
    return _morphology(
        "d", input, (size, footprint), output, mode, cval, origin, axes, memory_limit
    )


def grey_opening(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    iterations: int = 1,
    memory_limit: Limit = None,
) -> Result:
    """Erosion, then dilation; each `iterations` times.

    Examples
    --------
    >>> grey_opening([1, 1, 9, 1, 1], 3).tolist()
    [1, 1, 1, 1, 1]
    """
    return _morphology(
        "e" * iterations + "d" * iterations,
        input,
        (size, footprint),
        output,
        mode,
        cval,
        origin,
        axes,
        memory_limit,
    )


def grey_closing(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    iterations: int = 1,
    memory_limit: Limit = None,
) -> Result:
    """Dilation, then erosion; each `iterations` times.

    Examples
    --------
    >>> grey_closing([9, 9, 1, 9, 9], 3).tolist()
    [9, 9, 9, 9, 9]
    """
    return _morphology(
        "d" * iterations + "e" * iterations,
        input,
        (size, footprint),
        output,
        mode,
        cval,
        origin,
        axes,
        memory_limit,
    )


opening = grey_opening
closing = grey_closing


def _compared(x: Input, a: Volume, b: Volume, output: Output, limit: Limit) -> Result:
    result = elementwise(np.bitwise_xor if a.dtype.kind == "b" else np.subtract, [a, b])
    return _finish(x, _as(result, output), output, limit)


def white_tophat(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """The array minus its opening.

    Examples
    --------
    >>> white_tophat([1, 1, 9, 1, 1], 3).tolist()
    [0, 0, 8, 0, 0]
    """
    volume = as_volume(input)
    mask = _footprint(volume, size, footprint, axes)
    opened = _steps("ed", volume, mask, mode, cval, origin, axes)
    return _compared(input, volume, opened, output, memory_limit)


def black_tophat(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """The closing of an array minus itself.

    Examples
    --------
    >>> black_tophat([9, 9, 1, 9, 9], 3).tolist()
    [0, 0, 8, 0, 0]
    """
    volume = as_volume(input)
    mask = _footprint(volume, size, footprint, axes)
    closed = _steps("de", volume, mask, mode, cval, origin, axes)
    return _compared(input, closed, volume, output, memory_limit)


def morphological_gradient(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Dilation minus erosion.

    Examples
    --------
    >>> morphological_gradient([1, 1, 9, 9], 3).tolist()
    [0, 8, 8, 0]
    """
    volume = as_volume(input)
    mask = _footprint(volume, size, footprint, axes)
    high, low = (_steps(step, volume, mask, mode, cval, origin, axes) for step in "de")
    return _compared(input, high, low, output, memory_limit)


def _local(
    volume: Volume,
    statistic: tuple[str, list[float]],
    mask: NDArray[np.bool_],
    mode: Modes,
    cval: float,
    origin: Any,
    axes: Any,
    dtype: np.dtype[Any],
) -> Volume:
    """A statistic of windows: its name in the native half, and its parameters."""
    window = _window(volume, mask.shape, mode, cval, origin, axes)
    points = _spread(mask, volume, axes).ravel().tolist()
    name, numbers = statistic
    if volume.dtype.kind == "c":
        message = f"{name} filter of complex numbers; filter their parts"
        raise TypeError(message)

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.local(of[0], window, points, name, numbers, dtype.char)

    return Volume(volume.shape, dtype, [volume], build)


def _spread_of(
    name: str,
    x: Input,
    mask: Any,
    output: Output,
    mode: Modes,
    cval: float,
    origin: Any,
    axes: Any,
    limit: Limit,
) -> Result:
    volume = as_volume(x)
    size, footprint = mask
    points = _footprint(volume, size, footprint, axes)
    dtype = _wanted(output, _float_of(volume.dtype))
    result = _local(volume, (name, []), points, mode, cval, origin, axes, dtype)
    return _finish(x, result, output, limit)


def var_filter(
    input: Input,
    size: Any = 3,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Population variance of a window; floats for integers.

    Computed in double precision, in two passes, so large values with small differences do not cancel.

    Examples
    --------
    >>> var_filter([1.0, 2.0, 6.0], 2).tolist()
    [0.0, 0.25, 4.0]
    """
    return _spread_of(
        "var", input, (size, footprint), output, mode, cval, origin, axes, memory_limit
    )


def std_filter(
    input: Input,
    size: Any = 3,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Population standard deviation of a window; floats for integers. See `var_filter`.

    Examples
    --------
    >>> std_filter([1.0, 2.0, 6.0], 2).tolist()
    [0.0, 0.5, 2.0]
    """
    return _spread_of(
        "std", input, (size, footprint), output, mode, cval, origin, axes, memory_limit
    )


def cv_filter(
    input: Input,
    size: Any = 3,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Coefficient of variation: standard deviation over mean; floats for integers.

    Windows of zeros give 0; other windows with a mean of zero give infinity.

    Examples
    --------
    >>> cv_filter([1.0, 3.0, 6.0], 2).round(3).tolist()
    [0.0, 0.5, 0.333]
    """
    return _spread_of(
        "cv", input, (size, footprint), output, mode, cval, origin, axes, memory_limit
    )


def entropy_filter(
    input: Input,
    size: Any = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    bins: int = 256,
    range: tuple[float, float] | None = None,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Entropy of the values of a window in bits, as ``float32``.

    Parameters
    ----------
    bins
        Number of bins of equal width.
    range
        Where the first bin begins and the last one ends; values beyond count as the nearest bin. By
        default the smallest and the greatest voxel of the whole volume, which is read for it at once.

    Examples
    --------
    >>> entropy_filter([1, 1, 1, 5, 9], 2).tolist()
    [0.0, 0.0, 0.0, 1.0, 1.0]
    """
    volume = as_volume(input)
    points = _footprint(volume, size, footprint, axes)
    if range is None:
        low, high = _range(volume, memory_limit)
    else:
        low, high = range
    numbers = [float(low), float(high), float(bins)]
    dtype = _wanted(output, np.float32)
    result = _local(volume, ("entropy", numbers), points, mode, cval, origin, axes, dtype)
    return _finish(input, result, output, memory_limit)


def _range(volume: Volume, limit: Limit) -> tuple[float, float]:
    """The extrema of a volume; 0 and 0 of none."""
    if volume.size == 0:
        return 0.0, 0.0
    low, high = volumes.min_max(volume, memory_limit=limit)
    if not np.isfinite([float(low), float(high)]).all():
        message = f"the voxels go from {low} to {high}; give a finite range for the bins"
        raise ValueError(message)
    return float(low), float(high)


def wiener_filter(
    input: Input,
    size: Any = 3,
    noise: float | None = None,
    footprint: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    origin: Integers = 0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Wiener's adaptive filter: windows that vary less than noise give their mean, others keep detail.

    With mean ``m`` and variance ``v`` of the window it is ``m + max(0, 1 - noise / v) * (x - m)``, as in
    `scipy.signal.wiener`.

    Parameters
    ----------
    noise
        Variance of the noise; by default the mean variance over all windows of the whole volume, which
        is read for it at once.

    Returns
    -------
    array or volume
        Of the input's dtype (``float32`` for ``bool``).

    Examples
    --------
    >>> wiener_filter([1.0, 3.0, 1.0, 9.0], 3, noise=2.0).round(3).tolist()
    [1.667, 1.667, 1.577, 8.625]
    """
    volume = as_volume(input)
    points = _footprint(volume, size, footprint, axes)
    if noise is None:
        wide = np.dtype(np.float64)
        spread = _local(volume, ("var", []), points, mode, cval, origin, axes, wide)
        level = float(volumes.sum(spread, memory_limit=memory_limit)) / max(volume.size, 1)
    else:
        level = float(noise)
    dtype = _wanted(output, _linear_of(volume.dtype))
    result = _local(volume, ("wiener", [level]), points, mode, cval, origin, axes, dtype)
    return _finish(input, result, output, memory_limit)


def threshold_niblack(
    input: Input,
    window_size: Any = 15,
    k: float = 0.2,
    *,
    output: Output = None,
    mode: Modes = "mirror",
    cval: float = 0.0,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Niblack's threshold of every voxel: ``mean - k * std`` of its window, as floats.

    Names, defaults and faces are `skimage.filters.threshold_niblack`'s. Source: W. Niblack, An
    Introduction to Digital Image Processing, 1986.

    Examples
    --------
    >>> threshold_niblack([1.0, 3.0, 1.0, 3.0], 2, k=1.0).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    volume = as_volume(input)
    points = _footprint(volume, window_size, None, axes)
    dtype = _wanted(output, _float_of(volume.dtype))
    result = _local(volume, ("niblack", [float(k)]), points, mode, cval, 0, axes, dtype)
    return _finish(input, result, output, memory_limit)


def threshold_sauvola(
    input: Input,
    window_size: Any = 15,
    k: float = 0.2,
    r: float | None = None,
    *,
    output: Output = None,
    mode: Modes = "mirror",
    cval: float = 0.0,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """Sauvola's threshold of every voxel: ``mean * (1 + k * (std / r - 1))`` of its window, as floats.

    Names, defaults and faces are `skimage.filters.threshold_sauvola`'s. Source: J. Sauvola and
    M. Pietikainen, Adaptive document image binarization, Pattern Recognition 33(2), 2000.

    Parameters
    ----------
    r
        The deviation that counts as full contrast; by default half of the dtype's range, and 1 for
        floats.

    Examples
    --------
    >>> threshold_sauvola([1.0, 3.0, 1.0, 3.0], 2, k=0.5, r=2.0).tolist()
    [1.5, 1.5, 1.5, 1.5]
    """
    volume = as_volume(input)
    points = _footprint(volume, window_size, None, axes)
    if r is None:
        r = 1.0
        if volume.dtype.kind in "iu":
            info = np.iinfo(volume.dtype)
            r = 0.5 * (float(info.max) - float(info.min))
        elif volume.dtype.kind == "b":
            r = 0.5
    dtype = _wanted(output, _float_of(volume.dtype))
    numbers = [float(k), float(r)]
    result = _local(volume, ("sauvola", numbers), points, mode, cval, 0, axes, dtype)
    return _finish(input, result, output, memory_limit)


def bilateral_filter(
    input: Input,
    sigma_color: float,
    sigma_spatial: Numbers = 1.0,
    size: Any = None,
    output: Output = None,
    mode: Modes = "reflect",
    cval: float = 0.0,
    *,
    axes: Any = None,
    memory_limit: Limit = None,
) -> Result:
    """A mean that counts voxels by their distance, and by how near their value is: it keeps edges.

    Source: C. Tomasi and R. Manduchi, Bilateral filtering for gray and color images, ICCV 1998.

    Parameters
    ----------
    sigma_color
        Deviation of the weight of differences of values, in units of the values.
    sigma_spatial
        Deviation of the weight of distances, in voxels; one, or one for each filtered axis.
    size
        Voxels of the window; by default ``2 * ceil(3 * sigma_spatial) + 1``.

    Returns
    -------
    array or volume
        Of the input's dtype (``float32`` for ``bool``).

    Examples
    --------
    >>> bilateral_filter([0.0, 1.0, 0.0, 100.0, 101.0, 100.0], 5.0, 1.0, 3).round(1).tolist()
    [0.3, 0.5, 0.4, 100.4, 100.5, 100.3]
    """
    volume = as_volume(input)
    count = len(_axes(volume, axes))
    sigmas = [float(s) for s in _each("sigma_spatial", sigma_spatial, count)]
    if min(sigmas, default=1.0) <= 0:
        message = f"sigma_spatial {sigma_spatial} has to be positive"
        raise ValueError(message)
    lengths = [2 * int(np.ceil(3 * s)) + 1 for s in sigmas] if size is None else size
    mask = _footprint(volume, lengths, None, axes)
    far: Any = 0.0
    places = np.ogrid[tuple(slice(-(n // 2), n - n // 2) for n in mask.shape)]
    for s, x in zip(sigmas, places, strict=True):
        far = far + (x / s) ** 2
    weights = _spread(np.exp(-0.5 * far), volume, axes).ravel().tolist()
    dtype = _wanted(output, _linear_of(volume.dtype))
    numbers = [float(sigma_color), *weights]
    result = _local(volume, ("bilateral", numbers), mask, mode, cval, 0, axes, dtype)
    return _finish(input, result, output, memory_limit)


def difference(a: Input, b: Input, *, memory_limit: Limit = None) -> Result:
    """``a - b`` in the dtype of `a`; integers saturate instead of wrapping around.

    Examples
    --------
    >>> import numpy as np
    >>> difference(np.array([3, 200], np.uint8), np.array([5, 1], np.uint8)).tolist()
    [0, 199]
    """
    left, right = as_volume(a), as_volume(b)
    kind = left.dtype

    def subtract(x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        if kind.kind not in "iu" or kind != right.dtype:
            wide = np.subtract(x, y, dtype=np.result_type(np.float64, kind))
            if kind.kind not in "iu":
                return wide.astype(kind)
            info = np.iinfo(kind)
            return np.clip(np.rint(wide), info.min, info.max).astype(kind)
        with np.errstate(over="ignore"):
            plain = x - y
        info = np.iinfo(kind)
        if kind.kind == "u":
            return np.where(x < y, kind.type(0), plain)
        over = ((x < 0) != (y < 0)) & ((plain < 0) != (x < 0))
        return np.where(over, np.where(x < 0, info.min, info.max), plain).astype(kind)

    shape = np.broadcast_shapes(left.shape, right.shape)
    result = blockwise(subtract, [left, right], shape, kind, "difference")
    return _finish(a if _is_lazy(a) else b, result, None, memory_limit)


def identity(input: Input, *, memory_limit: Limit = None) -> Result:
    """The same voxels; for tests of what happens around them.

    Examples
    --------
    >>> identity([1, 2]).tolist()
    [1, 2]
    """
    volume = as_volume(input)
    return _finish(
        input,
        blockwise(lambda x: x, [volume], volume.shape, volume.dtype, "identity"),
        None,
        memory_limit,
    )


def ball(radius: int, ndim: int = 3) -> NDArray[np.bool_]:
    """The points at most `radius` away from the center.

    Examples
    --------
    >>> int(ball(3).sum())
    123
    """
    return ellipsoid([radius] * ndim)


def ellipsoid(radii: Sequence[float]) -> NDArray[np.bool_]:
    """The points with ``sum((x / r)**2) <= 1``; a radius of 0 is flat.

    Examples
    --------
    >>> ellipsoid([1, 0]).tolist()
    [[True], [True], [True]]
    """
    grids = np.ogrid[tuple(slice(-int(r), int(r) + 1) for r in radii)]
    total: Any = 0.0
    for x, r in zip(grids, radii, strict=True):
        total = total + (x / r) ** 2 if r > 0 else total + x * 0.0
    return np.asarray(total <= 1 + 1e-12)
