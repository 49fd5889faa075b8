"""NumPy's functions on volumes: what each of them becomes, without computing anything.

Functions of single elements go block by block. Functions along axes read these axes whole and are cut along
the others (`arrayloom._volumes.along`). What only moves elements is made of slices (`arrayloom._volumes.moves`).
Functions of all elements give numbers at once (`arrayloom._volumes.whole`). Everything else is refused with what
to do instead.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Elements of volumes are known at run time only.

import inspect
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from arrayloom._volumes import moves, picks
from arrayloom._volumes.along import along, axes_of, broadcast, no_out, quiet, reduced
from arrayloom._volumes.elementwise import blockwise
from arrayloom._volumes.out import stored_alike
from arrayloom._volumes.passes import each_block
from arrayloom._volumes.sources import as_volume
from arrayloom._volumes.volume import Box, Volume

__all__ = ["array_function"]

Array = NDArray[Any]


def _given(function: Callable[..., Any], args: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Arguments by their names in `function`; `out` is refused."""
    found = dict(inspect.signature(function).bind(*args, **options).arguments)
    no_out(function.__name__, found.pop("out", None))
    return {**found, **found.pop("kwargs", {})}


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    def replacement(*args: Any, **options: Any) -> Any:
        given = _given(function, args, options)
        volume, axis = as_volume(given.pop("a")), given.pop("axis", None)
        return reduced(function, function.__name__, volume, axis, **given)

    return replacement


def _same_axes(function: Callable[..., Any], default: int | None) -> Callable[..., Any]:
    """Functions along one axis that keep it: sort, cumsum, fft, ..."""
    name = function.__name__

    def replacement(*args: Any, **options: Any) -> Volume:
        given = _given(function, args, options)
        volume, axis = as_volume(given.pop("a")), given.pop("axis", default)
        if axis is None and volume.ndim != 1:
            message = f"numpy.{name} of a volume needs axis=; all axes at once do not stream"
            raise TypeError(message)
        (at,) = axes_of(axis, volume.ndim)
        result: list[int | None] = list(range(volume.ndim))
        return along([volume], [at], lambda x: function(x, axis=at, **given), result, name)

    return replacement


def _elementwise(function: Callable[..., Any]) -> Callable[..., Volume]:
    """Functions of elements at the same place, with broadcasting."""
    name = function.__name__

    def replacement(*args: Any, **options: Any) -> Volume:
        given = _given(function, args, options)
        plain = {
            k: x if np.isscalar(x) or x is None else as_volume(x)
            for k, x in given.items()
            if k not in {"copy", "order", "subok"}
        }
        volumes = [x for x in plain.values() if isinstance(x, Volume)]

        def call(*values: Array) -> Array:
            at = iter(values)
            now = {k: next(at) if isinstance(x, Volume) else x for k, x in plain.items()}
            return np.asarray(function(**now))

        dtype = quiet(call, *(np.ones(1, v.dtype) for v in volumes)).dtype
        shape = np.broadcast_shapes(*[v.shape for v in volumes])
        return blockwise(call, volumes, shape, dtype, name)

    return replacement


def _tabled(function: Callable[..., Any]) -> Callable[..., Volume]:
    """Functions of one element and of tables: interp, digitize, isin."""
    name = function.__name__

    def replacement(*args: Any, **options: Any) -> Volume:
        first, *others = _given(function, args, options).items()
        if any(isinstance(value, Volume) for _, value in others):
            message = f"numpy.{name} takes tables as arrays; compute them first"
            raise TypeError(message)
        volume, words = as_volume(first[1]), dict(others)

        def call(values: Array) -> Any:
            return function(values, **words)

        dtype = np.asarray(call(np.ones(1, volume.dtype))).dtype
        return blockwise(call, [volume], volume.shape, dtype, name)

    return replacement


def _filled(function: Callable[..., Any], value: Any = None) -> Callable[..., Volume]:
    """Volumes of one value with the shape of another."""

    def replacement(*args: Any, **options: Any) -> Volume:
        given = _given(function, args, options)
        fill = given.get("fill_value", value)
        like = given["prototype"] if "prototype" in given else given["a"]
        return moves.filled(fill, like, given.get("dtype"), given.get("shape"))

    return replacement


def where(condition: Array, x: Any, y: Any) -> Array:
    return np.where(condition, x, y)


def _choice_or_places(condition: Any, *choices: Any) -> Any:
    return _places(as_volume(condition)) if not choices else _choice(condition, *choices)


def _places(a: Volume) -> tuple[Array, ...]:
    """`numpy.nonzero`: where voxels are not zero, found in one pass; the places have to fit the memory."""
    if a.ndim == 0:
        message = "places of a volume without axes; index it with None first"
        raise ValueError(message)
    found: list[Array] = [np.empty(0, np.intp)]

    def take(values: Array, box: Box) -> None:
        here = np.nonzero(values)
        moved = tuple(at + lo for at, lo in zip(here, box[0], strict=True))
        found.append(np.ravel_multi_index(moved, a.shape))

    each_block(a, take)
    return np.unravel_index(np.sort(np.concatenate(found)), a.shape)


def _without_parts(a: Volume, tol: float = 100) -> Volume:
    """`numpy.real_if_close`."""
    if a.dtype.kind != "c":
        return a
    if tol > 1:
        tol = np.finfo(a.dtype).eps * tol
    close = np.all(np.absolute(np.imag(cast("Any", a))) < tol)
    return np.real(cast("Any", a)) if close else a


def _average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: Any = None
) -> Any:
    volume = as_volume(a)
    words: dict[str, Any] = {"keepdims": True} if keepdims is True else {}
    at: Any = None if axis is None else tuple(axes_of(axis, volume.ndim))
    if weights is None:
        average: Any = np.mean(cast("Any", volume), axis=at, **words)
        scale = average.dtype.type(volume.size / max(average.size, 1))
    else:
        weight = _spread(weights, volume, axis)
        dtype = np.result_type(
            volume.dtype, weight.dtype, *(["d"] if volume.dtype.kind in "biu" else [])
        )
        scale = np.asarray(np.sum(weight, axis=at, dtype=dtype, **words))[()]
        if np.any(scale == 0):
            message = "Weights sum to zero, can't be normalized"
            raise ZeroDivisionError(message)
        product = np.multiply(volume, weight, dtype=dtype)
        average = np.sum(product, axis=at, **words) / scale
    if not returned:
        return average
    if isinstance(average, Volume):
        return average, broadcast(np.asarray(scale), average.shape)
    return average, np.broadcast_to(scale, np.shape(average))[()]


def _spread(weights: Any, volume: Volume, axis: Any) -> Any:
    """Weights with an axis for each of `volume`."""
    weight: Any = weights if isinstance(weights, Volume) else np.asarray(weights)
    if weight.shape == volume.shape:
        return weight
    if axis is None:
        message = "Axis must be specified when shapes of a and weights differ."
        raise TypeError(message)
    given = np.lib.array_utils.normalize_axis_tuple(axis, volume.ndim)
    if weight.shape != tuple(volume.shape[d] for d in given):
        message = "Shape of weights must be consistent with shape of a along specified axis."
        raise ValueError(message)
    weight = np.asarray(weight).transpose(np.argsort(given))
    return weight.reshape([n if d in given else 1 for d, n in enumerate(volume.shape)])


def _closeness(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    return bool(np.all(np.isclose(as_volume(a), b, rtol=rtol, atol=atol, equal_nan=equal_nan)))


def _equality(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    a, b = as_volume(a1), as_volume(a2)
    if a.shape != b.shape:
        return False
    same = a == b
    return bool(np.all(same | (np.isnan(a) & np.isnan(b)) if equal_nan else same))


def _histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    from arrayloom import volumes  # noqa: PLC0415 - it builds on this module

    if weights is not None or isinstance(bins, str):
        message = "numpy.histogram of a volume takes bins and a range, no weights; compute the volume first"
        raise TypeError(message)
    counts, edges = volumes.histogram(a, bins, range)
    if density:
        return counts / np.diff(edges).astype(float) / counts.sum(), edges
    return counts, edges


_choice = _elementwise(where)
_REDUCTIONS = (
    "sum", "mean", "std", "var", "prod", "nansum", "nanmean", "nanstd", "nanvar", "nanprod",
    "min", "max", "amin", "amax", "ptp", "any", "all", "argmin", "argmax", "nanargmin", "nanargmax",
    "nanmin", "nanmax", "median", "nanmedian", "count_nonzero",
    "percentile", "quantile", "nanpercentile", "nanquantile",
)  # fmt: skip
_ELEMENTS = (
    "clip", "round", "around", "real", "imag", "angle", "nan_to_num", "isclose", "sinc", "i0",
    "fix", "isneginf", "isposinf", "iscomplex", "isreal", "copy",
)  # fmt: skip
_ALONG = {
    "sort": -1, "argsort": -1, "cumsum": None, "cumprod": None, "nancumsum": None, "nancumprod": None,
}  # fmt: skip

FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    **{getattr(np, name): _reduction(getattr(np, name)) for name in _REDUCTIONS},
    **{getattr(np, name): _elementwise(getattr(np, name)) for name in _ELEMENTS},
    **{getattr(np, name): _same_axes(getattr(np, name), axis) for name, axis in _ALONG.items()},
    **{
        getattr(np.fft, name): _same_axes(getattr(np.fft, name), -1)
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    },
    **{function: _tabled(function) for function in (np.isin, np.interp, np.digitize)},
    np.where: _choice_or_places,
    np.nonzero: _places,
    np.flatnonzero: lambda a: np.ravel_multi_index(_places(a), a.shape),
    np.argwhere: lambda a: np.transpose(_places(a)),
    np.real_if_close: _without_parts,
    np.concatenate: moves.concatenated,
    np.stack: moves.stacked,
    np.vstack: moves.stacked_down,
    np.hstack: moves.stacked_across,
    np.append: moves.appended,
    np.transpose: lambda a, axes=None: a.transpose(*([] if axes is None else axes)),
    np.moveaxis: moves.moved,
    np.swapaxes: moves.swapped,
    np.flip: moves.flipped,
    np.flipud: lambda m: moves.flipped(m, 0),
    np.fliplr: lambda m: moves.flipped(m, 1),
    np.roll: moves.rolled,
    np.pad: moves.padded,
    np.broadcast_to: lambda array, shape, **_: broadcast(array, shape),
    np.zeros_like: _filled(np.zeros_like, 0),
    np.ones_like: _filled(np.ones_like, 1),
    np.full_like: _filled(np.full_like),
    np.empty_like: _filled(np.empty_like, 0),
    np.take: picks.picked,
    np.repeat: picks.repeated,
    np.tile: picks.tiled,
    np.split: picks.divided,
    np.array_split: picks.divided_evenly,
    np.dstack: picks.stacked_deep,
    np.rot90: picks.turned,
    np.diagonal: picks.diagonal,
    np.fft.fftshift: picks.shifted,
    np.fft.ifftshift: picks.shifted_back,
    np.gradient: moves.gradient,
    np.diff: moves.difference,
    np.squeeze: moves.squeezed,
    np.expand_dims: moves.expanded,
    np.average: _average,
    np.allclose: _closeness,
    np.array_equal: _equality,
    np.histogram: _histogram,
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a, axis=None: a.size if axis is None else a.shape[axis],
    np.iscomplexobj: lambda x: x.dtype.kind == "c",
    np.isrealobj: lambda x: x.dtype.kind != "c",
    np.result_type: lambda *args: np.result_type(
        *[x.dtype if isinstance(x, Volume) else x for x in args]
    ),
}

# With an array for their result they add in its dtype.
_SUMS = {np.sum, np.prod, np.cumsum, np.cumprod, np.nansum, np.nanprod, np.nancumsum, np.nancumprod}


def array_function(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What `function` of NumPy is on volumes.

    Raises
    ------
    TypeError
        If it does not stream; the message has what to do instead.
    """
    known = FUNCTIONS.get(function)
    if known is None:
        name = f"{function.__module__}.{function.__name__}"
        message = (
            f"{name} does not go over a volume block by block; "
            f"if the volume fits the memory, call it on numpy.asarray(volume)"
        )
        raise TypeError(message)
    out = kwargs.get("out")
    if out is None:
        return known(*args, **kwargs)
    words = {k: v for k, v in kwargs.items() if k != "out"}
    if function in _SUMS and words.get("dtype") is None and isinstance(out, np.ndarray):
        words["dtype"] = out.dtype.newbyteorder("=")
    return stored_alike(function.__name__, known(*args, **words), out)
