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
from dataclasses import replace
from types import ModuleType
from typing import Any, TypeVar, overload

from arrayloom import _ext
from arrayloom.bridge import casting, oom, recovery, registry, stacking, streams
from arrayloom.bridge.calls import Call, Parameters, is_traced
from arrayloom.bridge.containers import held, leaves, mapped, replaced
from arrayloom.bridge.conversion import convert, home_of
from arrayloom.bridge.errors import OutOfMemory
from arrayloom.bridge.registry import Array, FrameworkSpec, Options
from arrayloom.bridge.sizes import nbytes_of, shape_of
from arrayloom.bridge.use import Use, judged

__all__ = ["arrayloom", "cupy", "jax", "numpy", "pyclesperanto", "tensorflow", "torch", "uses"]

Function = TypeVar("Function", bound=Callable[..., Any])


def _device(use: Use, spec: FrameworkSpec, arrays: list[Array]) -> str | None:
    """Return the device that arguments go to, None for the one they are on."""
    if use.device not in ("same", "auto"):
        return use.device
    kinds = [_ext.bridge.kind(x) for x in arrays]
    places = {
        registry.get(kind).hooks.device(x)
        for x, kind in zip(arrays, kinds, strict=True)
        if kind is not None and not is_traced(x)
    }
    far = sorted(p for p in places if p.partition(":")[0] not in ("cpu", "opencl"))
    if len(far) > 1:
        msg = f"the arguments lie on different devices: {', '.join(far)}; move them first"
        raise ValueError(msg)
    # Arrays of the host go where the others are.
    mixed = len(places) > 1 and far and far[0].partition(":")[0] in spec.devices
    return far[0] if mixed else None


class Runner:
    """A decorated function with its way of being run."""

    def __init__(self, function: Callable[..., Any], use: Use) -> None:
        self.function = function
        self.use = use
        self.spec = registry.get(use.kind)
        self.learned: int | None = None
        self.peaks: dict[Any, int] = {}
        self.parameters = Parameters(function)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any], use: Use) -> Any:  # noqa: ANN401
        """Convert, run, survive, convert back."""
        registry.require(self.spec)
        place = _device(use, self.spec, list(leaves(args, kwargs)))
        options = Options(
            device=place, detach=use.detach, readonly="share" if use.pure else "isolate"
        )
        call = Call(self, (args, kwargs), use, options)
        if use.slices is None:
            result = recovery.survive(self, call)
        else:
            result = self._by_slices(call, use.slices)
        if use.contract is not None:
            use.contract(result)
        return self._finish(result, call)

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ANN401
        """Call the function once, on a stream of its own where the device has streams."""
        place = self._place(args, kwargs)
        with streams.own_order(self.spec, place) as (caller, _):
            result = self.function(*args, **kwargs)
        keep, wait = self.spec.hooks.keep, self.spec.hooks.synchronize
        for leaf in held(result):
            if _ext.bridge.kind(leaf) != self.spec.name or is_traced(leaf):
                continue
            if caller is not None and keep is not None:
                keep(leaf, caller)
            if wait is not None:
                # Errors of asynchronous frameworks come here, where they can be caught.
                wait(leaf)
        return result

    def _place(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """Return the device of the first array of the function's own framework."""
        for value in leaves(args, kwargs):
            if _ext.bridge.kind(value) == self.spec.name and not is_traced(value):
                return self.spec.hooks.device(value)
        return None

    def _by_slices(self, call: Call, axis: int) -> Any:  # noqa: ANN401
        """Run on each slice of the first array along an axis, and stack the results."""
        call.back()
        at = call.main
        if at is None:
            return recovery.survive(self, call)
        shape = shape_of(call.argument(at))
        if shape is not None and len(shape) <= axis:
            return recovery.survive(self, call)
        if shape is not None and shape[axis] == 0:
            msg = (
                f"slices along axis {axis} of an array of shape {shape} are none, so "
                "nothing says what the result would be; leave the call out, or run it on the whole"
            )
            raise ValueError(msg)
        calls = [
            call.with_arguments(*call.replaced(at, piece))
            for piece in stacking.unstack(call.argument(at), axis=axis)
        ]
        parts = [recovery.survive(self, each) for each in calls]
        call.own = next((each.own for each in calls if each.own != call.own), call.own)
        if not isinstance(parts[0], tuple):
            return self._joined(parts, axis)
        main = self._joined([p[0] for p in parts], axis)
        return replaced(parts[0], (main, *([p[i] for p in parts] for i in range(1, len(parts[0])))))

    def _joined(self, parts: list[Any], axis: int) -> Any:  # noqa: ANN401
        """Stack arrays; other results of slices become a list, and nothing stays nothing."""
        if all(_ext.bridge.kind(p) is not None for p in parts):
            own = _ext.bridge.kind(parts[0]) or self.spec.name
            axis = min(axis, len(parts[0].shape))
            return stacking.stack(parts, own, axis=axis, device=home_of(parts[0]))
        return None if all(p is None for p in parts) else parts

    def _finish(self, result: Any, call: Call) -> Any:  # noqa: ANN401
        """Cast and convert the main result, and convert the other arrays of the function's framework."""
        if not isinstance(result, (dict, list, tuple)):
            return self._main(result, call)
        if isinstance(result, tuple) and _ext.bridge.kind(next(iter(result), None)) is not None:
            main, *rest = result
            done = {id(result): result}
            others = (self._others(value, call, done) for value in rest)
            return replaced(result, (self._main(main, call), *others))
        return self._others(result, call, {})

    def _others(self, value: Any, call: Call, done: dict[int, Any]) -> Any:  # noqa: ANN401
        """Convert what is no main result, at any depth; see `mapped`."""
        if call.use.output is None and call.own == self.spec.name:
            return value
        return mapped(value, lambda each: self._other(each, call), done)

    def _main(self, main: Any, call: Call) -> Any:  # noqa: ANN401
        kind = _ext.bridge.kind(main)
        if kind is None:
            return main
        main = self._cast(main, call)
        if kind == self.spec.name:
            main = self._put_out(main, call)
        elif self._is_from_cpu(kind, call):
            main = self._from_cpu(main, call)
        elif call.use.output is not None or kind not in ("numpy", "arrayloom"):
            # A function for another framework may have made it.
            main = convert(main, call.use.output or self.spec.name, detach=call.use.detach)
        return main if call.container is None else call.container.with_data(main)

    def _other(self, value: Any, call: Call) -> Any:  # noqa: ANN401
        kind = _ext.bridge.kind(value)
        if kind == self.spec.name:
            return self._put_out(value, call)
        if not self._is_from_cpu(kind, call):
            return value
        try:
            return self._from_cpu(value, call)
        except (TypeError, ValueError):
            # A table, say, of elements that the framework does not have.
            return value

    def _put_out(self, value: Any, call: Call) -> Any:  # noqa: ANN401
        """Convert an array of the function's framework, if another kind is asked for."""
        output = call.use.output
        return value if output is None else convert(value, output, detach=call.use.detach)

    def _is_from_cpu(self, kind: str | None, call: Call) -> bool:
        """Whether an array of a kind is what a version for the CPU made; arrays of ours stand for NumPy's."""
        return call.own != self.spec.name and kind in (call.own, "arrayloom")

    def _from_cpu(self, value: Any, call: Call) -> Any:  # noqa: ANN401
        """Give an array that a version for the CPU made the kind that it would have had.

        Raises
        ------
        OutOfMemory
            There is no memory for it.
        """
        kind = call.use.output or self.spec.name
        try:
            return convert(value, kind, detach=call.use.detach)
        except Exception as error:
            if not oom.is_oom(error):
                raise
            msg = (
                f"a version for the CPU made the result of {recovery.name_of(self.function)}, and {kind} has no "
                f"memory for its {nbytes_of(value)} bytes; output='numpy' leaves it on the host"
            )
            raise OutOfMemory(msg) from error

    def _cast(self, main: Array, call: Call) -> Array:
        use = call.use
        if use.dtype != "preserve":
            return main if use.dtype is None else casting.cast(main, use.dtype, use)
        # A single number that an array became is a measure of its own.
        number = shape_of(main) == () and shape_of(call.first) != ()
        if call.first is None or number:
            return main
        first = registry.get(_ext.bridge.kind(call.first) or "numpy")
        return casting.cast(main, first.hooks.dtype(call.first), use)


def _refuse(function: Any) -> None:  # noqa: ANN401
    """Say what cannot be decorated."""
    if not callable(function) or isinstance(function, type):
        msg = f"a function is decorated, not {function!r}; decorate the methods of a class"
        raise TypeError(msg)
    for code in (function, getattr(function, "__call__", None)):  # noqa: B004 - its code is asked
        if (
            inspect.isgeneratorfunction(code)
            or inspect.iscoroutinefunction(code)
            or inspect.isasyncgenfunction(code)
        ):
            msg = (
                f"{recovery.name_of(function)} is asynchronous or a generator: its work would run after the call, "
                "where nothing guards it; decorate the function that it calls for each item"
            )
            raise TypeError(msg)


def uses(kind: str | ModuleType, **words: Any) -> Callable[[Function], Function]:  # noqa: ANN401
    """Run a function on a framework, whatever kind its arguments are of.

    Parameters
    ----------
    kind : str or module
        The framework that the function is written for.
    device : str
        'same' (where the arguments are), 'auto', or a device such as 'cuda:0'; a framework's own device too.
    inputs : tuple of str, optional
        Parameters that are converted; all arrays if absent, also in lists and tuples, and defaults.
    output : str or module, optional
        Kind of the main result; the function's own if absent, so that chains stay there. Other arrays of the
        function's framework, in tuples, lists and dicts of results at any depth, go to that kind as well; everything
        else stays as it is, such as tables of NumPy.
    dtype : str, optional
        'preserve': the main result, an array or the first of a tuple, gets the element type of the first
        array, as far as both are numbers. Integers that do not fit exactly are an error. Results of True and False
        stay, results for such an input and real results for a complex one too, and single numbers for an array.
        A dtype's name; or None.
    cast : {'saturate', 'exact', 'wrap', 'rescale'}
        How a named dtype is reached.
    nan : 'raise' or a number
        What becomes of NaN in integers.
    detach : bool
        Whether arrays that leave torch drop their gradients; else that is an error.
    slices : int, optional
        Run on each slice of the first array along this axis, and stack the results; results that are no
        arrays become a list.
    chunk : pair of int, optional
        Axis and halo: how the work may be split when memory runs out.
    on_oom : tuple of str
        Which of 'predict', 'release', 'spill', 'retry', 'chunk', 'cpu' are tried; () for none.
    cpu : callable or str, optional
        A version for the CPU, which gets arrays of NumPy, or the kind that runs the function there. Its arrays
        get the kind that they would have without it, as far as the framework has their elements.
    pure : bool
        Whether the function leaves its arguments alone. Only then does it run again when memory ran out. Writes
        are noticed in tensors of torch, and in arrays of NumPy at some thousand of their elements.
    contract : callable, optional
        Called with what the function returned; raises if that is not as it must be. What it returns is not looked
        at.

    Returns
    -------
    callable
        A decorator for functions, methods, class methods and static methods. The function gets the keyword
        ``slice_by_slice``, and its plain form is ``__wrapped__``.

    Raises
    ------
    TypeError
        What is decorated is a class, a generator or asynchronous, or a keyword is not known or means nothing.
    ValueError
        A keyword with a value that it does not take.
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
    use = judged(kind, words)

    def decorate(function: Any) -> Any:  # noqa: ANN401 - of the type that comes back
        if isinstance(function, (classmethod, staticmethod)):
            return type(function)(decorate(function.__func__))
        _refuse(function)
        runner = Runner(function, use)
        runner.parameters.check(use.inputs)
        by_slice = replace(use, slices=0 if use.slices is None else use.slices)
        own_keyword = "slice_by_slice" in runner.parameters.names

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            sliced = not own_keyword and kwargs.pop("slice_by_slice", False)
            return runner(args, kwargs, by_slice if sliced else use)

        setattr(run, "arrayloom_use", use)  # noqa: B010 - functions take any attribute
        return run

    return decorate


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
arrayloom = _Named("arrayloom")
