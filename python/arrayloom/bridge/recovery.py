"""How a decorated function survives running out of memory: the rungs of one call.

Before the call, what it will need is compared with what is free. After a failure the caches of all
frameworks are given back, converted arguments are dropped and made anew, and the function runs again, on
smaller parts, and at last on the CPU. Only a function that is pure, and left its arguments alone, runs
again, with the same random numbers. What is being traced is run once and not looked at.
"""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from arrayloom import _ext
from arrayloom.bridge import observing, oom, registry
from arrayloom.bridge.calls import Call, Runs
from arrayloom.bridge.containers import leaves, payload, replaced
from arrayloom.bridge.conversion import convert, convert_with, home_of, placed, refuse, spec_of
from arrayloom.bridge.registry import FrameworkSpec, Options
from arrayloom.bridge.sizes import nbytes_of, shape_of

# Without a run to learn from: a result as large as the inputs, and one value between them.
_FIRST_GUESS = 2
# Calls that need less are not worth the question: it takes tens of microseconds.
_SMALL = 1 << 24


def _key(call: Call) -> tuple[Any, ...]:
    spec = call.spec
    return tuple((shape_of(x), spec.hooks.dtype(x)) for x in call.arrays)


def _place(runner: Runs, call: Call) -> str | None:
    return runner.spec.hooks.device(call.arrays[0]) if call.arrays else None


@contextmanager
def _random_state(spec: FrameworkSpec) -> Generator[Callable[[], None]]:
    """Keep the state of the random generators, to run a function again with the same numbers."""
    import random  # noqa: PLC0415 - takes a millisecond

    specs = {s.name: s for s in (spec, registry.get("numpy"))}.values()
    saved: list[tuple[Callable[[Any], None], Any]] = [
        (s.hooks.restore_rng, s.hooks.save_rng())
        for s in specs
        if s.hooks.save_rng is not None and s.hooks.restore_rng is not None
    ]
    saved.append((random.setstate, random.getstate()))

    def restore() -> None:
        for put_back, state in saved:
            put_back(state)

    yield restore


def survive(runner: Runs, call: Call) -> Any:  # noqa: ANN401 - what the function returns
    """Run a function; climb the ladder when memory runs out.

    Raises
    ------
    OutOfMemory
        Nothing on the ladder helped.
    """
    use = call.use
    if not use.on_oom or call.traced:
        call.back()
        return runner.run(call.args, call.kwargs)
    report: list[str] = []
    done, result = _converted(runner, call, report)
    if done:
        return result
    versions = [runner.spec.hooks.version(x) for x in call.arrays]
    with _random_state(runner.spec) as restore:
        if _too_much(runner, call, report):
            done, result = _parts(runner, call, report, restore)
            if done:
                return result
        try:
            result = runner.run(call.args, call.kwargs)
        except Exception as error:
            if not oom.is_oom(error):
                raise
            oom.forget(error)
            cause = error.with_traceback(None)
        else:
            _learn(runner, call, result)
            return result
        sizes = [nbytes_of(x) for x in call.arrays]
        changed = versions != [runner.spec.hooks.version(x) for x in call.arrays]
        if use.pure and not changed:
            restore()
            done, result = _ladder(runner, call, report, restore)
            if done:
                return result
        else:
            report.append("the function is not pure or changed its arguments: it ran once")
        raise oom.gave_up(name_of(runner.function), report, sizes) from cause


def _converted(runner: Runs, call: Call, report: list[str]) -> tuple[bool, Any]:
    """Convert the arguments, after caches were given back if need be, or else run the version for the CPU."""
    cause: BaseException | None = None
    for again in (False, True):
        try:
            call.back()
        except Exception as error:
            if not oom.is_oom(error):
                raise
            oom.forget(error)
            cause = error.with_traceback(None)
        else:
            return False, None
        report.append("arguments: out of memory")
        if not again and "release" in call.use.on_oom:
            report += [rung.text() for rung in oom.climb(call.options.device)]
    if call.use.cpu is not None and "cpu" in call.use.on_oom:
        _note("CPU", 0)
        return True, _on_cpu(runner, call)
    sizes = [nbytes_of(x) for x in leaves(*call.given)]
    raise oom.gave_up(name_of(runner.function), report, sizes) from cause


def name_of(function: Callable[..., Any]) -> str:
    """Return a function's name for messages."""
    return getattr(function, "__qualname__", None) or repr(function)


def _learn(runner: Runs, call: Call, result: Any) -> None:  # noqa: ANN401 - any result
    leaves = result if isinstance(result, tuple) else (result,)
    made = sum(nbytes_of(x) for x in leaves)
    runner.peaks[_key(call)] = made + max(made, sum(nbytes_of(x) for x in call.arrays))


def _too_much(runner: Runs, call: Call, report: list[str]) -> bool:
    """Whether the call will need more than is free, after what can be freed was freed."""
    use, place = call.use, _place(runner, call)
    if "predict" not in use.on_oom or not use.pure or place is None:
        return False
    guess = _FIRST_GUESS * sum(nbytes_of(x) for x in call.arrays)
    need = runner.peaks.get(_key(call), guess)
    free = None if need < _SMALL else oom.free_bytes(place)
    if free is None or need <= free:
        return False
    report.append(f"predicted: {need} bytes needed, {free} free on {place}")
    _note("predict", need)
    if "release" in use.on_oom:
        report += [rung.text() for rung in oom.climb(place)]
        free = oom.free_bytes(place)
    return free is not None and need > free and "chunk" in use.on_oom and use.chunk is not None


def _note(rung: str, nbytes: int) -> None:
    record = observing.current()
    if record is not None:
        record.add(observing.Row("oom", "", "", rung, nbytes, 0, "memory ran out"))


def _parts(
    runner: Runs, call: Call, report: list[str], restore: Callable[[], None]
) -> tuple[bool, Any]:
    try:
        result = _chunks(runner, call, restore)
    except Exception as error:
        if not oom.is_oom(error):
            raise
        oom.forget(error)
        report.append("chunks: out of memory again")
        return False, None
    _note("chunk", 0)
    return True, result


def _spill(call: Call, place: str | None, report: list[str]) -> None:
    """Drop copies of arguments whose originals are there, and let frameworks move arrays out."""
    freed = call.drop() + sum(int(spec.spill(place)) for spec in registry.imported())
    report.append(f"spill: freed {freed} bytes")
    _note("spill", freed)


def _ladder(
    runner: Runs, call: Call, report: list[str], restore: Callable[[], None]
) -> tuple[bool, Any]:
    use, place = call.use, _place(runner, call)
    if "release" in use.on_oom:
        report += [rung.text() for rung in oom.climb(place)]
    if "spill" in use.on_oom:
        _spill(call, place, report)
    attempts: list[tuple[str, Callable[[], Any]]] = []
    if "retry" in use.on_oom:
        attempts.append(("run again", lambda: runner.run(call.args, call.kwargs)))
    if "chunk" in use.on_oom and use.chunk is not None:
        attempts.append(("chunks", lambda: _chunks(runner, call, restore)))
    if "cpu" in use.on_oom and (use.cpu is not None or place not in (None, "cpu")):
        why_not = _why_not_on_cpu(runner, call)
        if why_not is None:
            attempts.append(("CPU", lambda: _on_cpu(runner, call)))
        else:
            report.append(f"CPU: {why_not}")
    for name, attempt in attempts:
        restore()
        try:
            call.back()
            result = attempt()
        except Exception as error:
            if not oom.is_oom(error):
                raise
            oom.forget(error)
            report.append(f"{name}: out of memory again")
            continue
        report.append(f"{name}: done")
        _note(name, 0)
        return True, result
    call.back()
    return False, None


def _chunks(runner: Runs, call: Call, restore: Callable[[], None]) -> Any:  # noqa: ANN401
    """Run on ever smaller parts along an axis; the parts overlap by the halo that was declared."""
    axis, halo = call.use.chunk or (0, 0)
    at = call.main
    if at is None or axis >= len(shape_of(call.argument(at)) or ()):
        msg = f"chunk=({axis}, {halo}) needs an array argument with such an axis"
        raise ValueError(msg)
    extent = int(call.argument(at).shape[axis])
    size = runner.learned or max(extent // 2, 1)
    while True:
        restore()
        try:
            result = _in_parts(runner, call, (at, axis, halo), size)
        except Exception as error:
            if not oom.is_oom(error) or size == 1:
                raise
            oom.forget(error)
            size = max(size // 2, 1)
            continue
        runner.learned = size
        return result


def _in_parts(runner: Runs, call: Call, where: tuple[int | str, int, int], size: int) -> Any:  # noqa: ANN401 - an array
    at, axis, halo = where
    whole, name = call.argument(at), runner.spec.name
    host, place = convert(whole, "numpy", detach=call.use.detach), home_of(whole)
    extent = host.shape[axis]
    pieces: list[Any] = []
    for start in range(0, extent, size):
        stop = min(start + size, extent)
        low, high = max(start - halo, 0), min(stop + halo, extent)
        window = np.moveaxis(np.moveaxis(host, axis, 0)[low:high], 0, axis)
        part = placed(window.copy(), name, place)
        result = _result_of(runner.run(*call.replaced(at, part)), call)
        if result.shape[axis] != high - low:
            msg = (
                f"chunk=({axis}, {halo}) needs a result as long as its input along the axis; "
                f"{high - low} became {result.shape[axis]}"
            )
            raise ValueError(msg)
        inner = np.moveaxis(result, axis, 0)[start - low : stop - low]
        pieces.append(np.moveaxis(inner, 0, axis).copy())
        del part, result
    masked = any(isinstance(piece, np.ma.MaskedArray) for piece in pieces)
    join: Any = np.ma.concatenate if masked else np.concatenate
    return placed(join(pieces, axis=axis), name, place)


def _result_of(result: Any, call: Call) -> Any:  # noqa: ANN401 - any result, an array
    if _ext.bridge.kind(result) is None:
        msg = f"chunk={call.use.chunk} needs one array as a result, not {type(result).__name__}"
        raise TypeError(msg)
    return convert(result, "numpy", detach=call.use.detach)


def _for_cpu(runner: Runs, call: Call) -> tuple[FrameworkSpec, Options]:
    """Return the kind that the version for the CPU works on, and how arguments get there."""
    cpu = call.use.cpu
    kind = "numpy" if callable(cpu) else cpu
    target = registry.get(kind or runner.spec.name)
    return target, replace(call.options, device="cpu" if kind is None else None)


def _why_not_on_cpu(runner: Runs, call: Call) -> str | None:
    """Return why an argument cannot be brought to the CPU, or None."""
    target, options = _for_cpu(runner, call)
    for x in leaves(*call.given):
        spec = spec_of(x)
        if spec is None or (spec is target and options.device is None):
            continue
        try:
            refuse(x, spec, abroad=spec is not target)
        except TypeError as error:
            return str(error)
    return None


def _on_cpu(runner: Runs, call: Call) -> Any:  # noqa: ANN401 - what the function returns
    target, options = _for_cpu(runner, call)

    def down(value: Any) -> Any:  # noqa: ANN401 - any argument
        if isinstance(value, (list, tuple)):
            return replaced(value, map(down, value))
        value = payload(value)
        if _ext.bridge.kind(value) is None:
            return value
        return convert_with(value, target, options)[0]

    cpu = call.use.cpu
    function = cpu if callable(cpu) else runner.function
    # The arguments as they came need no memory of a device.
    args, kwargs = call.given
    call.own = target.name
    return function(*map(down, args), **{name: down(value) for name, value in kwargs.items()})
