"""Functions that run on the framework they were written for, whatever they are called with.

Array arguments are converted to the function's framework. The result stays there, so chains of such
functions convert nothing. Running out of memory is survived where that is possible without changing
results: a function that is declared pure runs again after memory was freed, then in chunks, then on
the CPU.
"""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast, overload

from arrayloom import _ext
from arrayloom.bridge import dtypes, recovery, registry, stacking, streams
from arrayloom.bridge.calls import LADDER, Call, Use, leaves
from arrayloom.bridge.conversion import convert
from arrayloom.bridge.registry import Array, Options

__all__ = ["cupy", "jax", "numpy", "pyclesperanto", "tensorflow", "torch", "uses"]

Function = TypeVar("Function", bound=Callable[..., Any])


def _device(use: Use, arrays: list[Array]) -> str | None:
    """Return the device that arguments go to, None for the one they are on."""
    if use.device not in ("same", "auto"):
        return use.device
    places = {
        place
        for x in arrays
        if (name := _ext.bridge.kind(x)) is not None
        and (place := registry.get(name).hooks.device(x)).partition(":")[0] not in ("cpu", "opencl")
    }
    if len(places) > 1:
        msg = (
            f"the arguments lie on different devices: {', '.join(sorted(places))}; move them first"
        )
        raise ValueError(msg)
    return None


class Runner:
    """A decorated function with its way of being run."""

    def __init__(self, function: Callable[..., Any], use: Use) -> None:
        self.function = function
        self.use = use
        self.spec = registry.get(use.kind)
        self.learned: int | None = None
        self.peaks: dict[Any, int] = {}
        self.names = tuple(inspect.signature(function).parameters)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any], use: Use) -> Any:  # noqa: ANN401
        """Convert, run, survive, convert back."""
        registry.require(self.spec)
        place = _device(use, list(leaves(args, kwargs)))
        options = Options(
            device=place, borrowed=use.pure, readonly="share" if use.pure else "isolate"
        )
        call = Call(self, (args, kwargs), use, options)
        if use.slices is not None and call.arrays:
            result = self._by_slices(call.args, call.kwargs, use)
        else:
            result = recovery.survive(self, call)
        if use.contract is not None:
            use.contract(result)
        return self._finish(result, call)

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ANN401
        """Call the function once, on a stream of its own where the device has streams."""
        place = self._place(args, kwargs)
        with streams.own_order(self.spec, place) as (caller, _):
            result = self.function(*args, **kwargs)
        keep = self.spec.hooks.keep
        if caller is not None and keep is not None:
            for leaf in result if isinstance(result, tuple) else (result,):
                if _ext.bridge.kind(leaf) == self.spec.name:
                    keep(leaf, caller)
        wait = self.spec.hooks.synchronize
        if wait is not None:
            # Errors of asynchronous frameworks come here, where they can be caught.
            for leaf in result if isinstance(result, tuple) else (result,):
                if _ext.bridge.kind(leaf) == self.spec.name:
                    wait(leaf)
        return result

    def _place(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """Return the device of the first array of the function's own framework."""
        for value in leaves(args, kwargs):
            if _ext.bridge.kind(value) == self.spec.name:
                return self.spec.hooks.device(value)
        return None

    def _by_slices(self, args: tuple[Any, ...], kwargs: dict[str, Any], use: Use) -> Any:  # noqa: ANN401
        """Run on each slice of the first array along an axis, and stack the results."""
        axis = use.slices or 0
        at = next(i for i, a in enumerate(args) if _ext.bridge.kind(a) == self.spec.name)
        rank = len(args[at].shape)
        if rank <= axis:
            return self.run(args, kwargs)
        parts = [
            self.run((*args[:at], piece, *args[at + 1 :]), kwargs)
            for piece in stacking.unstack(args[at], axis=axis)
        ]
        if not isinstance(parts[0], tuple):
            return stacking.stack(parts, self.spec.name, axis=axis)
        main = stacking.stack([p[0] for p in parts], self.spec.name, axis=axis)
        rest = tuple([p[i] for p in parts] for i in range(1, len(parts[0])))
        return (main, *rest)

    def _finish(self, result: Any, call: Call) -> Any:  # noqa: ANN401
        """Cast and convert the main result; the others stay."""
        use = call.use
        main, rest = (
            (result[0], result[1:]) if isinstance(result, tuple) and result else (result, None)
        )
        if _ext.bridge.kind(main) is not None:
            main = self._cast(main, call)
            if use.output is not None:
                main = convert(main, use.output)
            if call.container is not None:
                main = call.container.with_data(main)
        return main if rest is None else (main, *rest)

    def _cast(self, main: Array, call: Call) -> Array:
        use = call.use
        if use.dtype is None or call.first is None:
            return main
        own = registry.get(_ext.bridge.kind(main) or "numpy")
        first = registry.get(_ext.bridge.kind(call.first) or "numpy")
        wanted = first.hooks.dtype(call.first) if use.dtype == "preserve" else use.dtype
        if own.hooks.dtype(main) == wanted:
            return main
        host = convert(main, "numpy", detach=True)
        if use.dtype == "preserve":
            done = dtypes.preserve(host, wanted, nan=use.nan)
        else:
            done = dtypes.cast(host, wanted, how=use.cast, nan=use.nan)
        if done is host:
            return main
        return convert(done, own.name, copy=None)


def uses(kind: str, **words: Any) -> Callable[[Function], Function]:  # noqa: ANN401
    """Run a function on a framework, whatever kind its arguments are of.

    Parameters
    ----------
    kind : str
        The framework that the function is written for.
    device : str
        'same' (where the arguments are), 'auto', or a device such as 'cuda:0'.
    inputs : tuple of str, optional
        Parameters that are converted; all arrays if absent, also in lists and tuples.
    output : str, optional
        Kind of the result; the function's own if absent, so that chains stay there.
    dtype : str, optional
        'preserve': the main result gets the element type of the first array. A dtype's name; or None.
    cast : {'saturate', 'exact', 'wrap', 'rescale'}
        How a named dtype is reached.
    nan : 'raise' or a number
        What becomes of NaN in integers.
    slices : int, optional
        Run slice by slice along this axis.
    chunk : pair of int, optional
        Axis and halo: how the work may be split when memory runs out.
    on_oom : tuple of str
        Which of 'predict', 'release', 'spill', 'retry', 'chunk', 'cpu' are tried; () for none.
    cpu : callable or str, optional
        A version for the CPU, or the kind that runs it there.
    pure : bool
        Whether the function leaves its arguments alone. Only then does it run again.
    contract : callable, optional
        Called with the result; raises if it is not as it must be.

    Returns
    -------
    callable
        A decorator. The function gets the keyword ``slice_by_slice``, and its plain form is
        ``__wrapped__``.

    Raises
    ------
    FrameworkUnavailable, OutOfMemory, LossyConversionError
        When the decorated function is called.

    Examples
    --------
    >>> import numpy as np
    >>> @uses("numpy")
    ... def halve(image):
    ...     return image / 2
    >>> halve(np.array([1, 3, 5], np.uint8))
    array([0, 2, 2], dtype=uint8)
    """
    use = Use(kind, **words)
    unknown = [rung for rung in use.on_oom if rung not in LADDER]
    if unknown:
        msg = f"on_oom takes {', '.join(LADDER)}, not {', '.join(unknown)}"
        raise ValueError(msg)
    registry.get(kind)

    def decorate(function: Function) -> Function:
        runner = Runner(function, use)
        by_slice = Use(**{**_fields(use), "slices": 0 if use.slices is None else use.slices})
        own_keyword = "slice_by_slice" in runner.names

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            sliced = not own_keyword and kwargs.pop("slice_by_slice", False)
            return runner(args, kwargs, by_slice if sliced else use)

        setattr(run, "arrayloom_use", use)  # noqa: B010 - functions take any attribute
        return cast("Function", run)

    return decorate


def _fields(use: Use) -> dict[str, Any]:
    return {name: getattr(use, name) for name in Use.__dataclass_fields__}


class _Named:
    """A decorator with or without arguments, for one framework."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.__doc__ = f"Run a function on {kind}; keywords as for :func:`uses`."

    @overload
    def __call__(self, function: Function) -> Function: ...
    @overload
    def __call__(self, function: None = None, **words: Any) -> Callable[[Function], Function]: ...  # noqa: ANN401
    def __call__(self, function: Any = None, **words: Any) -> Any:
        """Decorate a function."""
        decorator = uses(self.kind, **words)
        return decorator if function is None else decorator(function)

    def __repr__(self) -> str:
        return f"<decorator of arrayloom.bridge for {self.kind}>"


numpy = _Named("numpy")
cupy = _Named("cupy")
torch = _Named("torch")
tensorflow = _Named("tensorflow")
jax = _Named("jax")
pyclesperanto = _Named("pyclesperanto")
