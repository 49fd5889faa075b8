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
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast, overload

import numpy as np

from arrayloom import _ext
from arrayloom.bridge import dtypes, oom, registry, stacking, streams
from arrayloom.bridge.conversion import convert, convert_with
from arrayloom.bridge.registry import Array, FrameworkSpec, Options

__all__ = ["cupy", "jax", "numpy", "pyclesperanto", "tensorflow", "torch", "uses"]

Function = TypeVar("Function", bound=Callable[..., Any])
LADDER = ("release", "retry", "chunk", "cpu")


@dataclass(frozen=True, slots=True)
class Use:
    """How a decorated function is run; the keywords of :func:`uses`."""

    kind: str
    device: str = "same"
    inputs: tuple[str, ...] | None = None
    output: str | None = None
    dtype: str | None = "preserve"
    cast: str = "saturate"
    nan: Any = "raise"
    slices: int | None = None
    chunk: tuple[int, int] | None = None
    on_oom: tuple[str, ...] = LADDER
    cpu: Callable[..., Any] | str | None = None
    pure: bool = True
    contract: Callable[[Any], None] | None = None


class Payload:
    """What is known of the array arguments of one call."""

    def __init__(self, use: Use, spec: FrameworkSpec) -> None:
        self.use = use
        self.spec = spec
        self.arrays: list[Array] = []
        self.first: Array = None
        self.container: Any = None

    def take(self, name: str | None, value: Any, options: Options) -> Any:  # noqa: ANN401 - any argument
        """Convert an argument, or the arrays in a list or tuple."""
        if self.use.inputs is not None and name not in self.use.inputs:
            return value
        if isinstance(value, (list, tuple)) and any(_ext.bridge.kind(v) for v in value):
            taken = [self._array(v, options) for v in value]
            return taken if isinstance(value, list) else tuple(taken)
        if hasattr(type(value), "array_payload_data") and hasattr(type(value), "with_data"):
            self.container = self.container or value
            container: Any = value
            return self._array(container.array_payload_data(), options)
        return self._array(value, options)

    def _array(self, value: Any, options: Options) -> Any:  # noqa: ANN401 - any argument
        kind = _ext.bridge.kind(value)
        if kind is None:
            return value
        if self.first is None:
            self.first = value
        made = value
        if kind != self.spec.name or options.device is not None:
            made = convert_with(value, self.spec, options)[0]
        self.arrays.append(made)
        return made


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


def _leaves(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
    for value in (*args, *kwargs.values()):
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


@contextmanager
def _random_state(spec: FrameworkSpec) -> Generator[Callable[[], None]]:
    """Keep the state of the random generators, to run a function again with the same numbers."""
    specs = {s.name: s for s in (spec, registry.get("numpy"))}.values()
    saved = [
        (s.hooks.restore_rng, s.hooks.save_rng())
        for s in specs
        if s.hooks.save_rng is not None and s.hooks.restore_rng is not None
    ]

    def restore() -> None:
        for put_back, state in saved:
            put_back(state)

    yield restore


class Runner:
    """A decorated function with its way of being run."""

    def __init__(self, function: Callable[..., Any], use: Use) -> None:
        self.function = function
        self.use = use
        self.spec = registry.get(use.kind)
        self.learned: int | None = None
        self.names = tuple(inspect.signature(function).parameters)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any], use: Use) -> Any:  # noqa: ANN401
        """Convert, run, survive, convert back."""
        registry.require(self.spec)
        payload = Payload(use, self.spec)
        place = _device(use, list(_leaves(args, kwargs)))
        options = Options(
            device=place, borrowed=use.pure, readonly="share" if use.pure else "isolate"
        )
        taken = tuple(
            payload.take(self.names[i] if i < len(self.names) else None, value, options)
            for i, value in enumerate(args)
        )
        named = {name: payload.take(name, value, options) for name, value in kwargs.items()}
        if use.slices is not None and payload.arrays:
            result = self._by_slices(taken, named, use)
        else:
            result = self._survive(taken, named, payload)
        if use.contract is not None:
            use.contract(result)
        return self._finish(result, payload)

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ANN401
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
        for value in _leaves(args, kwargs):
            if _ext.bridge.kind(value) == self.spec.name:
                return self.spec.hooks.device(value)
        return None

    def _by_slices(self, args: tuple[Any, ...], kwargs: dict[str, Any], use: Use) -> Any:  # noqa: ANN401
        """Run on each slice of the first array along an axis, and stack the results."""
        axis = use.slices or 0
        at = next(i for i, a in enumerate(args) if _ext.bridge.kind(a) == self.spec.name)
        rank = len(args[at].shape)
        if rank <= axis:
            return self._run(args, kwargs)
        parts = [
            self._run((*args[:at], piece, *args[at + 1 :]), kwargs)
            for piece in stacking.unstack(args[at], axis=axis)
        ]
        if not isinstance(parts[0], tuple):
            return stacking.stack(parts, self.spec.name, axis=axis)
        main = stacking.stack([p[0] for p in parts], self.spec.name, axis=axis)
        rest = tuple([p[i] for p in parts] for i in range(1, len(parts[0])))
        return (main, *rest)

    def _survive(self, args: tuple[Any, ...], kwargs: dict[str, Any], payload: Payload) -> Any:  # noqa: ANN401
        use = payload.use
        if not use.on_oom:
            return self._run(args, kwargs)
        versions = [self.spec.hooks.version(x) for x in payload.arrays]
        with _random_state(self.spec) as restore:
            try:
                return self._run(args, kwargs)
            except Exception as error:
                if not oom.is_oom(error):
                    raise
                oom.forget(error)
                cause = error.with_traceback(None)
            changed = versions != [self.spec.hooks.version(x) for x in payload.arrays]
            report: list[str] = []
            if use.pure and not changed:
                restore()
                done, result = self._ladder(args, kwargs, payload, report, restore)
                if done:
                    return result
            else:
                report.append("the function is not pure or changed its arguments: it ran once")
            raise oom.gave_up(self.function.__qualname__, report, payload.arrays) from cause

    def _ladder(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        payload: Payload,
        report: list[str],
        restore: Callable[[], None],
    ) -> tuple[bool, Any]:
        use = payload.use
        place = self.spec.hooks.device(payload.arrays[0]) if payload.arrays else None
        if "release" in use.on_oom:
            report += [rung.text() for rung in oom.climb(place)]
        attempts: list[tuple[str, Callable[[], Any]]] = []
        if "retry" in use.on_oom:
            attempts.append(("run again", lambda: self._run(args, kwargs)))
        if "chunk" in use.on_oom and use.chunk is not None and payload.arrays:
            attempts.append(("chunks", lambda: self._chunks(args, kwargs, use, restore)))
        if "cpu" in use.on_oom and (use.cpu is not None or place not in (None, "cpu")):
            attempts.append(("CPU", lambda: self._on_cpu(args, kwargs, use)))
        for name, attempt in attempts:
            restore()
            try:
                result = attempt()
            except Exception as error:
                if not oom.is_oom(error):
                    raise
                oom.forget(error)
                report.append(f"{name}: out of memory again")
                continue
            report.append(f"{name}: done")
            return True, result
        return False, None

    def _chunks(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        use: Use,
        restore: Callable[[], None],
    ) -> Any:  # noqa: ANN401
        """Run on ever smaller parts along an axis; the parts overlap by the halo that was declared."""
        axis, halo = use.chunk or (0, 0)
        at = next(i for i, a in enumerate(args) if _ext.bridge.kind(a) == self.spec.name)
        extent = int(args[at].shape[axis])
        size = self.learned or max(extent // 2, 1)
        while True:
            restore()
            try:
                result = self._in_parts(args, kwargs, (at, axis, halo), size)
            except Exception as error:
                if not oom.is_oom(error) or size == 1:
                    raise
                oom.forget(error)
                size = max(size // 2, 1)
                continue
            self.learned = size
            return result

    def _in_parts(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        where: tuple[int, int, int],
        size: int,
    ) -> Any:  # noqa: ANN401
        at, axis, halo = where
        host = convert(args[at], "numpy")
        extent = host.shape[axis]
        pieces: list[Any] = []
        for start in range(0, extent, size):
            stop = min(start + size, extent)
            low, high = max(start - halo, 0), min(stop + halo, extent)
            window = np.moveaxis(np.moveaxis(host, axis, 0)[low:high], 0, axis)
            part = convert(np.ascontiguousarray(window), self.spec.name)
            result = convert(self._run((*args[:at], part, *args[at + 1 :]), kwargs), "numpy")
            if result.shape[axis] != high - low:
                msg = (
                    f"chunk=({axis}, {halo}) needs a result as long as its input along the axis; "
                    f"{high - low} became {result.shape[axis]}"
                )
                raise ValueError(msg)
            inner = np.moveaxis(result, axis, 0)[start - low : stop - low]
            pieces.append(np.moveaxis(inner, 0, axis).copy())
            del part, result
        return convert(np.concatenate(pieces, axis=axis), self.spec.name)

    def _on_cpu(self, args: tuple[Any, ...], kwargs: dict[str, Any], use: Use) -> Any:  # noqa: ANN401
        kind = use.cpu if isinstance(use.cpu, str) else None
        if callable(use.cpu):
            kind = "numpy"
        target = registry.get(kind or self.spec.name)
        options = Options(device="cpu" if kind is None else None, borrowed=True)

        def down(value: Any) -> Any:  # noqa: ANN401 - any argument
            if _ext.bridge.kind(value) is None:
                return value
            return convert_with(value, target, options)[0]

        function = use.cpu if callable(use.cpu) else self.function
        return function(*map(down, args), **{name: down(v) for name, v in kwargs.items()})

    def _finish(self, result: Any, payload: Payload) -> Any:  # noqa: ANN401
        """Cast and convert the main result; the others stay."""
        use = payload.use
        main, rest = (
            (result[0], result[1:]) if isinstance(result, tuple) and result else (result, None)
        )
        if _ext.bridge.kind(main) is not None:
            main = self._cast(main, payload)
            if use.output is not None:
                main = convert(main, use.output)
            if payload.container is not None:
                main = payload.container.with_data(main)
        return main if rest is None else (main, *rest)

    def _cast(self, main: Array, payload: Payload) -> Array:
        use = payload.use
        if use.dtype is None or payload.first is None:
            return main
        own = registry.get(_ext.bridge.kind(main) or "numpy")
        first = registry.get(_ext.bridge.kind(payload.first) or "numpy")
        wanted = first.hooks.dtype(payload.first) if use.dtype == "preserve" else use.dtype
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
        Which of 'release', 'retry', 'chunk', 'cpu' are tried; () for none.
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
