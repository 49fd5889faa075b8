"""Casts of results: inside their framework where values need no look, so that gradients go on."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

from arrayloom import _ext
from arrayloom.bridge import dtypes, registry
from arrayloom.bridge.conversion import convert, home_of, placed, refuse
from arrayloom.bridge.registry import Array, FrameworkSpec
from arrayloom.bridge.use import Use

__all__ = ["cast"]


def cast(x: Array, dtype: str, use: Use) -> Array:
    """Cast a result to an element type, by the rules of a decorated function.

    Raises
    ------
    LossyConversionError
        Values that the rules do not let change.
    TypeError
        Values would have to be looked at, and there are none while a function is traced.
    """
    spec = registry.get(_ext.bridge.kind(x) or "numpy")
    own, preserve = spec.hooks.dtype(x), use.dtype == "preserve"
    if own == dtype or (preserve and dtypes.stays(own, dtype)):
        return x
    how = "saturate" if preserve else use.cast
    if spec.hooks.astype is not None and _has(spec, dtype) and _needs_no_look(own, dtype, how):
        source, target = dtypes.numpy_dtype(own), dtypes.numpy_dtype(dtype)
        limit = dtypes.limit_of(source, target) if how == "saturate" else None
        if limit is not None:
            _refuse_odd(x, spec, f"a cast from {own} to {dtype}")
        return spec.hooks.astype(x, dtype, limit)
    if spec.hooks.traced(x):
        msg = (
            f"a cast from {own} to {dtype} looks at values, and there are none while {spec.name} traces a "
            "function; pass dtype=None, or cast inside the function"
        )
        raise TypeError(msg)
    _refuse_odd(x, spec, f"a cast from {own} to {dtype}")
    host = convert(x, "numpy", detach=True)
    if preserve:
        done = dtypes.preserve(host, dtype, nan=use.nan)
    else:
        done = dtypes.cast(host, dtype, how=use.cast, nan=use.nan)
    return placed(done, spec.name, home_of(x))


def _refuse_odd(x: Array, spec: FrameworkSpec, work: str) -> None:
    """Say that a result has no plain memory, sparse ones for instance, and the work goes over all elements."""
    if spec.hooks.traced(x):
        return
    try:
        refuse(x, spec, abroad=False)
    except TypeError as error:
        msg = f"{work} goes over all elements: {error} in the function, or pass dtype=None"
        raise TypeError(msg) from None


def _has(spec: FrameworkSpec, dtype: str) -> bool:
    """Whether a framework has elements, and keeps them as they are."""
    narrowed = spec.narrowed if spec.hooks.narrowing is None else spec.hooks.narrowing()
    return dtype in spec.dtypes and dtype not in narrowed


def _needs_no_look(own: str, dtype: str, how: str) -> bool:
    """Whether a cast is right for any values, or differs only in how near floats come."""
    if how == "rescale" or not {own, dtype} <= dtypes.NUMBERS:
        return False
    source, target = dtypes.numpy_dtype(own), dtypes.numpy_dtype(dtype)
    if dtypes.keeps_all(source, target):
        return True
    floats = source.kind not in "iu" and target.kind not in "biu"
    return (
        floats and how in ("saturate", "wrap") and not (source.kind == "c" and target.kind != "c")
    )
