"""What filters build is kept: the next array of the same shape and dtype, with the same arguments, is computed with it.

Of a call on a small image most of the time goes into arguments, windows and the expression, none of which depends on
the voxels. A call takes what it uses out of the table and puts it back behind all others when it is done, so no two
threads run one expression, and the first of the table is the one that was not used for longest.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# Arguments of any type come in.

import inspect
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from arrayloom._ext import LazyArray, VolumeExpr
from arrayloom._volumes.compute import IN_MEMORY_LIMIT
from arrayloom._volumes.limits import threads
from arrayloom._volumes.sources import plain
from arrayloom._volumes.targets import shares_voxels
from arrayloom._volumes.volume import Volume, leaves

_P = ParamSpec("_P")
_R = TypeVar("_R")

# A loop over images uses a few filters.
_MOST = 256

# Weights and structures of more bytes, or of more entries in a list, take longer to compare than their filter to build.
_MOST_BYTES, _MOST_ENTRIES = 4096, 32


@dataclass(frozen=True)
class _Kept:
    """An expression that reads one array, and its result's kind."""

    expr: VolumeExpr
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


@dataclass
class _Call:
    """A call whose expression may be kept."""

    array: NDArray[Any]
    found: _Kept | None = None
    # What was computed with it.
    result: NDArray[Any] | None = None
    forgone: bool = False


class _Running(threading.local):
    """The innermost call of this thread."""

    call: _Call | None = None


_running = _Running()
_table: dict[object, _Kept] = {}


def kept(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Keeps what `function` builds; where voxels have an influence on that, it has to `forgo`.

    A filter that calls another on its array is kept as one.
    """
    names = list(inspect.signature(function).parameters)
    place = names.index("output") if "output" in names else len(names)

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        outer = _running.call
        inside = outer is not None and args and args[0] is outer.array
        output = args[place] if place < len(args) else kwargs.get("output")
        rest = (*args[1:place], *args[place + 1 :])
        key = None if inside else _key(function, args[0] if args else None, rest, kwargs, output)
        if key is None:
            return function(*args, **kwargs)
        array = plain(cast("NDArray[Any]", args[0]))
        out = cast("NDArray[Any]", output) if isinstance(output, np.ndarray) else None
        if out is not None and shares_voxels(out, array):
            return function(*args, **kwargs)
        found = _table.pop(key, None)
        if found is None:
            again = cast("Callable[..., _R]", function)
            return _recorded(key, array, lambda: again(array, *args[1:], **kwargs))
        try:
            out = np.empty(found.shape, found.dtype) if out is None else out
            found.expr.run_again(array, out, IN_MEMORY_LIMIT, threads())
        except MemoryError:
            # Another limit may do.
            return function(*args, **kwargs)
        _table[key] = found
        return cast("_R", out)

    return call


def _recorded(key: object, array: NDArray[Any], work: Callable[[], _R]) -> _R:
    """Does `work`, and keeps what it builds for `array`."""
    outer, own = _running.call, _Call(array)
    _running.call = own
    try:
        result = work()
    finally:
        _running.call = outer
    if own.found is not None and own.result is result and not own.forgone:
        own.found.expr.let_go()
        _table[key] = own.found
        if len(_table) > _MOST:
            _table.pop(next(iter(_table.copy())), None)
    return result


def built(result: Volume, expr: VolumeExpr, array: NDArray[Any]) -> None:
    """Says that `expr` has computed `result`, and `array` are its voxels."""
    call = _running.call
    if call is None or not result.ndim:
        return
    sources = [v.source for v in leaves(result)]
    if len(sources) == 1 and sources[0] is call.array:
        call.found, call.result = _Kept(expr, result.shape, result.dtype), array


def forgo() -> None:
    """Says that this call builds nothing to keep: it warns, which it must do again, takes much memory, or uses voxels."""
    if _running.call is not None:
        _running.call.forgone = True


def _key(
    function: object, array: object, args: Sequence[Any], kwargs: dict[str, Any], output: object
) -> object:
    """What a filter builds depends on; none if it does not say so by value, or the array is no plain one."""
    # Other types derived from NumPy's may mean something else.
    if not isinstance(array, np.ndarray) or type(array) not in {np.ndarray, LazyArray}:
        return None
    if not array.size or not array.dtype.isnative:
        return None
    try:
        named = [(name, _token(value)) for name, value in kwargs.items() if name != "output"]
        own = (array.shape, array.dtype.char)
        return (function, own, _out_token(output), *map(_token, args), *named)
    except TypeError:
        return None


def _out_token(output: object) -> object:
    """As `_token`; arrays that take results as they are computed are alike if they have a shape and dtype.

    Raises
    ------
    TypeError
        For any other array.
    """
    if not isinstance(output, np.ndarray):
        return _token(output)
    flags = output.flags
    if type(output) is np.ndarray and flags.carray and output.dtype.isnative:
        return "out", output.shape, output.dtype.char
    raise TypeError(output)


def _token(value: object) -> object:
    """Something hashable that is equal for equal arguments of one type only.

    Raises
    ------
    TypeError
        If there is no such thing.
    """
    kind = type(value)
    if value is None or kind in {str, type} or isinstance(value, np.dtype):
        return value
    if kind in {int, bool}:
        return kind, value
    if kind is float:
        return cast("float", value).hex()
    if kind in {list, tuple} and len(cast("list[object]", value)) <= _MOST_ENTRIES:
        return kind, *map(_token, cast("list[object]", value))
    if isinstance(value, (np.number, np.bool_)):
        return kind, value.tobytes()
    if kind is np.ndarray:
        array = cast("NDArray[Any]", value)
        if array.nbytes <= _MOST_BYTES and array.dtype.kind in "biufc":
            return array.shape, array.dtype.str, array.tobytes()
    raise TypeError(kind)
