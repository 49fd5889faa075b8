"""NumPy's functions on volumes: what each of them becomes, without computing anything.

Functions of single elements go block by block. Functions along axes read these axes whole and are cut along
the others. What only moves elements (concatenate, pad, roll, ...) is made of slices. Functions of all elements
give numbers at once (`arrayloom._volume_whole`). Everything else is refused with what to do instead.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# Elements of volumes are known at run time only.

import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from arrayloom._ext import VolumeExpr
from arrayloom._volume import Box, Volume, as_volume, blockwise, box_of
from arrayloom._volume_whole import REDUCTIONS

__all__ = ["array_function", "reduced"]

Array = NDArray[Any]
Need = tuple[int, int, int] | None
# What NumPy passes for an argument that was not given.
_DEFAULT = inspect.signature(np.sum).parameters["initial"].default


def _axes(axis: Any, rank: int) -> list[int]:
    given = range(rank) if axis is None else [axis] if np.ndim(axis) == 0 else list(axis)
    for a in given:
        if not -rank <= a < rank:
            raise np.exceptions.AxisError(int(a), rank)
    return sorted({int(a) % rank for a in given})


def _quiet(call: Callable[[Array], Any], values: Array) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return call(values)


def along(
    volume: Volume,
    axes: list[int],
    call: Callable[[Array], Any],
    result: list[int | None],
    name: str,
) -> Volume:
    """The volume of `call` on arrays that are whole along `axes`.

    `result` has for each axis of the result the axis of `volume` that it runs along, or None for an axis that
    `call` makes. Sums of NumPy are taken in another order if nothing is left behind the first of `axes`, so an
    array that is thin there is doubled.
    """
    sample = _quiet(
        call, np.ones([n if d in axes else 1 for d, n in enumerate(volume.shape)], volume.dtype)
    )
    dtype = np.asarray(sample).dtype
    lengths = np.shape(sample)
    shape = [
        lengths[i] if d is None or d in axes else volume.shape[d] for i, d in enumerate(result)
    ]
    kept = [d for d in range(volume.ndim) if d not in axes]
    behind = [d for d in kept if d > axes[0] and volume.shape[d] > 1] if axes else []

    def run(boxes: list[Box], views: list[memoryview], box: Box, out: memoryview) -> None:
        values = box_of(boxes[0], views[0], volume.dtype)
        if behind and all(values.shape[d] == 1 for d in behind):
            values = np.repeat(values, 2, axis=behind[-1])
        found = np.asarray(_quiet(call, values))
        pick = [
            slice(lo, hi) if d is None or d in axes else slice(0, hi - lo)
            for d, lo, hi in zip(result, *box, strict=True)
        ]
        to = np.frombuffer(out, dtype).reshape([hi - lo for lo, hi in zip(*box, strict=True)])
        to[...] = found[tuple(pick)]

    needs: list[Need] = [None if d in axes else (result.index(d), 1, 0) for d in range(volume.ndim)]
    length = int(np.prod([volume.shape[a] for a in axes], dtype=object))
    work = 2 * length * (volume.dtype.itemsize + 16) + 2 * dtype.itemsize

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.call(run, name, of, [needs], shape, dtype.char, work)

    return Volume(shape, dtype, [volume], build).named(volume, result)


def reduced(
    function: Callable[..., Any], name: str, volume: Volume, axis: Any, **options: Any
) -> Any:
    """A function of NumPy that takes axes away, on some of them."""
    keepdims = bool(options.pop("keepdims", False))
    options = {k: v for k, v in options.items() if v is not None and v is not _DEFAULT}
    axes = _axes(axis, volume.ndim)
    if len(axes) == volume.ndim and name in REDUCTIONS:
        number = REDUCTIONS[name](volume, **options)
        return np.reshape(number, (1,) * volume.ndim) if keepdims else number
    single = name in {"argmin", "argmax", "nanargmin", "nanargmax"}
    given: Any = axes[0] if single or len(axes) == 1 else tuple(axes)
    if single and len(axes) > 1:
        message = f"numpy.{name} takes one axis of a volume"
        raise TypeError(message)
    kept: list[int | None] = [d for d in range(volume.ndim) if keepdims or d not in axes]
    vector = np.ndim(options.get("q", 0))
    kept = [None] * vector + kept

    def call(values: Array) -> Any:
        return function(values, axis=given, keepdims=keepdims, **options)

    return along(volume, axes, call, kept, name)


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    name = function.__name__

    def replacement(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any
    ) -> Any:
        _no_out(name, out)
        return reduced(function, name, as_volume(a), axis, dtype=dtype, **options)

    return replacement


def _order(function: Callable[..., Any]) -> Callable[..., Any]:
    """Reductions without a dtype, and with `out` in its place."""
    name = function.__name__

    def replacement(a: Any, axis: Any = None, out: Any = None, **options: Any) -> Any:
        _no_out(name, out)
        return reduced(function, name, as_volume(a), axis, **options)

    return replacement


def _quantile(function: Callable[..., Any]) -> Callable[..., Any]:
    name = function.__name__

    def replacement(a: Any, q: Any, axis: Any = None, out: Any = None, **options: Any) -> Any:
        _no_out(name, out)
        options.pop("overwrite_input", None)
        return reduced(function, name, as_volume(a), axis, q=q, **options)

    return replacement


def _no_out(name: str, out: Any) -> None:
    if out is not None:
        message = f"numpy.{name} with out= does not stream; use its result, and save it"
        raise TypeError(message)


def _same_shape(function: Callable[..., Any], default: int | None) -> Callable[..., Any]:
    """Functions along one axis that keep it: sort, cumsum, fft, ..."""
    name = function.__name__

    def replacement(a: Any, *args: Any, **options: Any) -> Volume:
        volume = as_volume(a)
        axis = options.pop("axis", default)
        if args and name.startswith(("cum", "nancum", "sort", "argsort")):
            axis, args = args[0], args[1:]
        if axis is None:
            message = f"numpy.{name} of a volume needs axis=; all axes at once do not stream"
            raise TypeError(message)
        axes = _axes(axis, volume.ndim)
        result: list[int | None] = list(range(volume.ndim))
        return along(
            volume, axes, lambda x: function(x, *args, axis=axes[0], **options), result, name
        )

    return replacement


def _elementwise(function: Callable[..., Any]) -> Callable[..., Volume]:
    """Functions of elements at the same place, with broadcasting."""
    name = function.__name__

    def replacement(*args: Any, **options: Any) -> Volume:
        _no_out(name, options.get("out"))
        plain = [x if np.isscalar(x) or x is None else as_volume(x) for x in args]
        volumes = [x for x in plain if isinstance(x, Volume)]

        def call(*values: Array) -> Array:
            at = iter(values)
            return np.asarray(
                function(*[next(at) if isinstance(x, Volume) else x for x in plain], **options)
            )

        dtype = _quiet(lambda _: call(*[np.ones(1, v.dtype) for v in volumes]), np.empty(0)).dtype
        return blockwise(
            call, volumes, np.broadcast_shapes(*[v.shape for v in volumes]), dtype, name
        )

    return replacement


def _tabled(function: Callable[..., Any], count: int) -> Callable[..., Volume]:
    """Functions of one element and of tables: interp, digitize, isin."""
    name = function.__name__

    def replacement(x: Any, *args: Any, **options: Any) -> Volume:
        if count > len(args) + len(options) or any(isinstance(a, Volume) for a in args):
            message = f"numpy.{name} takes tables as arrays; compute them first"
            raise TypeError(message)
        volume = as_volume(x)
        dtype = np.asarray(function(np.ones(1, volume.dtype), *args, **options)).dtype
        return blockwise(
            lambda v: function(v, *args, **options), [volume], volume.shape, dtype, name
        )

    return replacement


def _concatenate(arrays: Sequence[Any], axis: int = 0, out: Any = None, **options: Any) -> Volume:
    _no_out("concatenate", out)
    volumes = [as_volume(a) for a in arrays]
    rank = volumes[0].ndim
    (along_axis,) = _axes(axis, rank)
    for v in volumes:
        same = all(
            d == along_axis or n == m
            for d, (n, m) in enumerate(zip(v.shape, volumes[0].shape, strict=False))
        )
        if v.ndim != rank or not same:
            message = f"volumes of shapes {volumes[0].shape} and {v.shape} do not fit together along axis {along_axis}"
            raise ValueError(message)
    dtype = np.dtype(options.get("dtype") or np.result_type(*[v.dtype for v in volumes]))
    starts = np.cumsum([0] + [v.shape[along_axis] for v in volumes]).tolist()
    shape = list(volumes[0].shape)
    shape[along_axis] = starts[-1]
    needs = [
        [(d, 1, -start if d == along_axis else 0) for d in range(rank)] for start in starts[:-1]
    ]
    dtypes = [v.dtype for v in volumes]

    def join(boxes: list[Box], views: list[memoryview], box: Box, out: memoryview) -> None:
        to = np.frombuffer(out, dtype).reshape([hi - lo for lo, hi in zip(*box, strict=True)])
        for part, view, kind, start in zip(boxes, views, dtypes, starts, strict=False):
            if len(view):
                low = part[0][along_axis] + start - box[0][along_axis]
                values = box_of(part, view, kind)
                place = (slice(None),) * along_axis + (slice(low, low + values.shape[along_axis]),)
                to[place] = values

    def build(expr: VolumeExpr, of: list[int]) -> int:
        return expr.call(join, "concatenate", of, needs, shape, dtype.char, 0)

    known = next((v for v in volumes if v.axes is not None), volumes[0])
    return Volume(shape, dtype, volumes, build).named(known, range(rank))


def _stack(arrays: Sequence[Any], axis: int = 0, out: Any = None, **options: Any) -> Volume:
    _no_out("stack", out)
    volumes = [as_volume(a) for a in arrays]
    (place,) = _axes(axis, volumes[0].ndim + 1)
    key = (slice(None),) * place + (None,)
    return _concatenate([v[key] for v in volumes], place, **options)


def _moved(a: Volume, source: Any, destination: Any) -> Volume:
    from_, to = ([int(x) % a.ndim for x in np.atleast_1d(v)] for v in (source, destination))
    order = [d for d in range(a.ndim) if d not in from_]
    for place, axis in sorted(zip(to, from_, strict=True)):
        order.insert(place, axis)
    return a.transpose(order)


def _swapped(a: Volume, axis1: int, axis2: int) -> Volume:
    order = list(range(a.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return a.transpose(order)


def _flipped(m: Volume, axis: Any = None) -> Volume:
    axes = _axes(axis, m.ndim)
    return m[tuple(slice(None, None, -1) if d in axes else slice(None) for d in range(m.ndim))]


def _rolled(a: Volume, shift: Any, axis: Any = None) -> Volume:
    if axis is None:
        message = "numpy.roll of a volume needs axis="
        raise TypeError(message)
    for by, d in zip(*np.broadcast_arrays(np.atleast_1d(shift), np.atleast_1d(axis)), strict=True):
        (along_axis,) = _axes(int(d), a.ndim)
        n = a.shape[along_axis]
        at = -int(by) % n if n else 0
        front = (slice(None),) * along_axis
        if at:
            a = _concatenate(
                [a[(*front, slice(at, None))], a[(*front, slice(None, at))]], along_axis
            )
    return a


def _padded(array: Volume, pad_width: Any, mode: str = "constant", **options: Any) -> Volume:
    other = options.keys() - ({"constant_values"} if mode == "constant" else set())
    if mode in {"reflect", "symmetric"} and options.get("reflect_type") == "even":
        other -= {"reflect_type"}
    if other:
        message = f"numpy.pad of a volume in mode {mode!r} takes no {', '.join(sorted(other))}"
        raise NotImplementedError(message)
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2)).tolist()
    values = np.broadcast_to(
        np.asarray(options.get("constant_values", 0)), (array.ndim, 2)
    ).tolist()
    for d, (before, after) in enumerate(widths):
        n, front = array.shape[d], (slice(None),) * d
        if mode == "constant":
            low, high = (
                broadcast(np.asarray(v, array.dtype), (*array.shape[:d], w, *array.shape[d + 1 :]))
                for v, w in zip(values[d], (before, after), strict=True)
            )
        elif mode == "edge":
            low = _concatenate([array[(*front, slice(0, 1))]] * max(before, 1), d)[
                (*front, slice(0, before))
            ]
            high = _concatenate([array[(*front, slice(n - 1, n))]] * max(after, 1), d)[
                (*front, slice(0, after))
            ]
        elif mode in {"reflect", "symmetric", "wrap"} and max(before, after) <= n - (
            mode == "reflect"
        ):
            e = int(mode == "reflect")
            if mode == "wrap":
                low, high = array[(*front, slice(n - before, n))], array[(*front, slice(0, after))]
            else:
                low = _flipped(array[(*front, slice(e, before + e))], d)
                high = _flipped(array[(*front, slice(n - after - e, n - e))], d)
        else:
            message = f"numpy.pad of a volume takes the modes constant, edge, reflect, symmetric and wrap, with pads up to its extent; not {mode!r} with {before, after} on an axis of {n}"
            raise NotImplementedError(message)
        array = _concatenate(
            [v for v in (low, array, high) if v.shape[d]] or [array], d, dtype=array.dtype
        )
    return array


def broadcast(array: Any, shape: Any) -> Volume:
    """`array` with a larger shape, as `numpy.broadcast_to`."""
    volume = as_volume(array)
    wanted = [shape] if np.ndim(shape) == 0 else list(shape)
    if np.broadcast_shapes(volume.shape, tuple(wanted)) != tuple(wanted):
        message = f"a volume of shape {volume.shape} cannot be broadcast to {tuple(wanted)}"
        raise ValueError(message)
    return blockwise(lambda v: v, [volume], wanted, volume.dtype, "broadcast_to")


def _filled(value: Any) -> Callable[..., Volume]:
    def replacement(a: Any, *args: Any, dtype: Any = None, shape: Any = None, **_: Any) -> Volume:
        fill = args[0] if value is None else value
        return broadcast(np.asarray(fill, dtype or a.dtype), a.shape if shape is None else shape)

    return replacement


def _difference(a: Any, n: int = 1, axis: int = -1) -> Volume:
    (along_axis,) = _axes(axis, a.ndim)
    front = (slice(None),) * along_axis
    for _ in range(n):
        low, high = a[(*front, slice(None, -1))], a[(*front, slice(1, None))]
        a = np.not_equal(high, low) if a.dtype.kind == "b" else np.subtract(high, low)
    return a


def _squeezed(a: Volume, axis: Any = None) -> Volume:
    thin = [d for d, n in enumerate(a.shape) if n == 1] if axis is None else _axes(axis, a.ndim)
    if any(a.shape[d] != 1 for d in thin):
        message = f"axes {thin} of a volume of shape {a.shape} are not all of extent one"
        raise ValueError(message)
    return a[tuple(0 if d in thin else slice(None) for d in range(a.ndim))]


def _expanded(a: Volume, axis: Any) -> Volume:
    rank = a.ndim + len(np.atleast_1d(axis))
    places = _axes(axis, rank)
    return a[tuple(None if d in places else slice(None) for d in range(rank))]


def _average(a: Volume, axis: Any = None, weights: Any = None, **options: Any) -> Any:
    if weights is None:
        return np.mean(cast("Any", a), axis=axis, **options)
    weights = np.asarray(weights)
    if weights.ndim == 1 and a.ndim > 1:
        (along_axis,) = _axes(axis, a.ndim)
        weights = weights.reshape([-1 if d == along_axis else 1 for d in range(a.ndim)])
    dtype = np.result_type(a.dtype, weights.dtype, *(["d"] if a.dtype.kind in "biu" else []))
    scale = np.sum(broadcast(weights.astype(dtype), a.shape), axis=axis)
    if np.any(np.asarray(scale) == 0):
        message = "Weights sum to zero, can't be normalized"
        raise ZeroDivisionError(message)
    return np.sum(a.astype(dtype) * weights.astype(dtype), axis=axis) / scale


def _closeness(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, *, equal_nan: bool = False
) -> bool:
    return bool(np.all(np.isclose(as_volume(a), b, rtol=rtol, atol=atol, equal_nan=equal_nan)))


def _equality(a1: Any, a2: Any, *, equal_nan: bool = False) -> bool:
    a, b = as_volume(a1), as_volume(a2)
    if a.shape != b.shape:
        return False
    same = a == b
    return bool(np.all(same | (np.isnan(a) & np.isnan(b)) if equal_nan else same))


def _histogram(a: Any, bins: Any = 10, range: Any = None, **options: Any) -> Any:
    from arrayloom import volumes  # noqa: PLC0415 - it builds on this module

    if options or not isinstance(bins, (int, np.integer)):
        message = "numpy.histogram of a volume takes a number of bins and a range"
        raise TypeError(message)
    counts, edges = volumes.histogram(a, int(bins), range)
    return counts, edges


_SUMS = ("sum", "mean", "std", "var", "prod", "nansum", "nanmean", "nanstd", "nanvar", "nanprod")
_ORDERS = (
    "min", "max", "amin", "amax", "ptp", "any", "all", "argmin", "argmax", "nanargmin", "nanargmax",
    "nanmin", "nanmax", "median", "nanmedian", "count_nonzero",
)  # fmt: skip
_ELEMENTS = (
    "where", "clip", "round", "around", "real", "imag", "angle", "nan_to_num", "isclose", "sinc", "i0",
    "fix", "isneginf", "isposinf", "iscomplex", "isreal", "real_if_close", "copy",
)  # fmt: skip
_ALONG = {
    "sort": -1, "argsort": -1, "cumsum": None, "cumprod": None, "nancumsum": None, "nancumprod": None,
}  # fmt: skip

FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    **{getattr(np, name): _reduction(getattr(np, name)) for name in _SUMS},
    **{getattr(np, name): _order(getattr(np, name)) for name in _ORDERS},
    **{
        getattr(np, name): _quantile(getattr(np, name))
        for name in ("percentile", "quantile", "nanpercentile", "nanquantile")
    },
    **{getattr(np, name): _elementwise(getattr(np, name)) for name in _ELEMENTS},
    **{getattr(np, name): _same_shape(getattr(np, name), axis) for name, axis in _ALONG.items()},
    **{
        getattr(np.fft, name): _same_shape(getattr(np.fft, name), -1)
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    },
    np.isin: _tabled(np.isin, 1),
    np.interp: _tabled(np.interp, 2),
    np.digitize: _tabled(np.digitize, 1),
    np.concatenate: _concatenate,
    np.stack: _stack,
    np.vstack: lambda tup, **options: _concatenate(tup, 0, **options),
    np.hstack: lambda tup, **options: _concatenate(tup, 1, **options),
    np.append: lambda arr, values, axis: _concatenate([arr, values], axis),
    np.transpose: lambda a, axes=None: a.transpose(*([] if axes is None else axes)),
    np.moveaxis: _moved,
    np.swapaxes: _swapped,
    np.flip: _flipped,
    np.flipud: lambda m: _flipped(m, 0),
    np.fliplr: lambda m: _flipped(m, 1),
    np.roll: _rolled,
    np.pad: _padded,
    np.broadcast_to: lambda array, shape, **_: broadcast(array, shape),
    np.zeros_like: _filled(0),
    np.ones_like: _filled(1),
    np.full_like: _filled(None),
    np.diff: _difference,
    np.squeeze: _squeezed,
    np.expand_dims: _expanded,
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
    return known(*args, **kwargs)
