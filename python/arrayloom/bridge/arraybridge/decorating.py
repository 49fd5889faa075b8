"""Decorators of arraybridge: arguments are really converted, and element types keep their units."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from arrayloom.bridge import decorators
from arrayloom.bridge.arraybridge.functions import name_of
from arrayloom.bridge.arraybridge.kinds import (
    PRESERVE_INPUT_DTYPE_CONFIG,
    DtypeConversion,
    DtypeConversionConfig,
    MemoryContractAttribute,
    MemoryType,
    SliceBySliceRuntimeParameter,
)
from arrayloom.bridge.use import LADDER

Function = TypeVar("Function", bound=Callable[..., Any])


def memory_types(
    input_type: str | MemoryType,
    output_type: str | MemoryType,
    contract: Callable[[Any], bool] | None = None,
) -> Callable[[Function], Function]:
    """Run a function on `input_type`, and give its result as `output_type`."""
    return _decorate(_Way(name_of(input_type), name_of(output_type), contract))


@dataclass(frozen=True, slots=True)
class _Way:
    """How a decorated function is run."""

    kind: str
    output: str
    contract: Callable[[Any], bool] | None = None
    recover: bool = True
    by_slice: bool = False
    dtype: DtypeConversionConfig = PRESERVE_INPUT_DTYPE_CONFIG


def _decorate(way: _Way) -> Callable[[Function], Function]:
    if not isinstance(way.dtype, DtypeConversionConfig):
        msg = f"a default dtype policy is a DtypeConversionConfig, not {type(way.dtype).__name__}"
        raise TypeError(msg)

    def judged(result: Any) -> None:  # noqa: ANN401
        if way.contract is not None and not way.contract(result):
            msg = "Function violated its output contract"
            raise ValueError(msg)

    def decorate(function: Function) -> Function:
        rungs = LADDER if way.recover else ()
        runs = {
            how: decorators.uses(
                way.kind, output=way.output, dtype=how.target, on_oom=rungs, contract=judged
            )(function)
            for how in DtypeConversion
        }
        own_keyword = "slice_by_slice" in inspect.signature(function).parameters

        def run(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            config = kwargs.pop("dtype_config", None) or way.dtype
            how = kwargs.pop("dtype_conversion", None)
            how = config.default_dtype_conversion if how is None else how
            if not own_keyword:
                kwargs.setdefault("slice_by_slice", way.by_slice)
            return runs[DtypeConversion(how)](*args, **kwargs)

        run.__dict__.update(function.__dict__)
        run.__name__, run.__doc__ = function.__name__, function.__doc__
        run.__qualname__, run.__module__ = function.__qualname__, function.__module__
        run.__wrapped__ = function
        run.__signature__ = _signature(function, way)
        MemoryContractAttribute.INPUT.write(run, way.kind)
        MemoryContractAttribute.OUTPUT.write(run, way.output)
        MemoryContractAttribute.EXECUTION.write(run, way.kind)
        decorated: Any = run
        return decorated

    return decorate


def _signature(function: Callable[..., Any], way: _Way) -> inspect.Signature:
    """Return the function's signature with the keywords that the decorators add."""
    own = inspect.signature(function)
    parameters = list(own.parameters.values())
    at = next((i for i, p in enumerate(parameters) if p.kind is p.VAR_KEYWORD), len(parameters))
    more = (
        SliceBySliceRuntimeParameter.parameter(default_value=way.by_slice),
        DtypeConversionConfig.parameter(default_value=way.dtype),
        inspect.Parameter("dtype_conversion", inspect.Parameter.KEYWORD_ONLY, default=None),
    )
    parameters[at:at] = [keyword for keyword in more if keyword.name not in own.parameters]
    return own.replace(parameters=parameters)


def wrap_dtype_preserving_callable(
    func: Callable[..., Any],
    mem_type: MemoryType,
    *,
    slice_by_slice_default: bool = False,
    dtype_config_default: DtypeConversionConfig | None = None,
) -> Callable[..., Any]:
    """Give a callable the keywords for element types and slices.

    Its kinds are those that it was marked with, else `mem_type`.

    Raises
    ------
    TypeError
        `dtype_config_default` is no policy.
    """
    way = _Way(
        kind=MemoryContractAttribute.INPUT.read(func, mem_type.value) or mem_type.value,
        output=MemoryContractAttribute.OUTPUT.read(func, mem_type.value) or mem_type.value,
        by_slice=slice_by_slice_default,
        dtype=PRESERVE_INPUT_DTYPE_CONFIG if dtype_config_default is None else dtype_config_default,
    )
    return _decorate(way)(func)


def _named(kind: str) -> Callable[..., Any]:
    def decorate(
        func: Callable[..., Any] | None = None,
        *,
        input_type: str | MemoryType = kind,
        output_type: str | MemoryType = kind,
        oom_recovery: bool = True,
        contract: Callable[[Any], bool] | None = None,
        slice_by_slice_default: bool = False,
        dtype_config_default: DtypeConversionConfig | None = None,
    ) -> Any:  # noqa: ANN401
        """Run a function on this framework."""
        dtype = (
            PRESERVE_INPUT_DTYPE_CONFIG if dtype_config_default is None else dtype_config_default
        )
        way = _Way(
            name_of(input_type),
            name_of(output_type),
            contract,
            oom_recovery,
            slice_by_slice_default,
            dtype,
        )
        decorator = _decorate(way)
        return decorator if func is None else decorator(func)

    decorate.__name__ = kind
    return decorate


numpy = _named("numpy")
cupy = _named("cupy")
torch = _named("torch")
tensorflow = _named("tensorflow")
jax = _named("jax")
pyclesperanto = _named("pyclesperanto")
