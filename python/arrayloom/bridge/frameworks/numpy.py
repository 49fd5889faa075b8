"""NumPy: arrays of the host."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

from typing import Any

import numpy as np

from arrayloom.bridge.registry import (
    EXTRA,
    NATIVE,
    Array,
    FrameworkSpec,
    Hooks,
    HostArray,
    OomRules,
    Options,
    Refusal,
)

_NUMBERS = NATIVE | EXTRA


def _no_numbers(x: Array) -> bool:
    return x.dtype.name not in _NUMBERS and not _castable(x)


def _castable(x: Array) -> bool:
    return x.dtype.char in "gGO"


def _to_host(x: Array, _options: Options) -> HostArray:
    return x.view(np.ndarray) if type(x) is not np.ndarray else x


def _from_host(array: HostArray, options: Options) -> HostArray:
    if options.order in ("C", "F"):
        return np.asarray(array, order=options.order)
    return array


# How many elements of an array are looked at to see whether it was written.
_SEEN = 4096


def _version(x: Array) -> bytes | None:
    """Return the bytes of an array, of some of its elements if it is large; None for memory of a file."""
    if not x.flags.writeable or isinstance(x, np.memmap):
        return None
    left = x.size
    steps: list[Any] = []
    for extent in x.shape:
        step = max(min(extent, -(-left // _SEEN)), 1)
        steps.append(slice(None, None, step))
        left = left // max(extent, 1) * -(-extent // step)
    return np.asarray(x)[(*steps, ...)].tobytes()


def _save() -> Array:
    # NumPy imports its generators when they are used first, which takes milliseconds.
    return np.random.get_state()  # noqa: NPY002 - the state that legacy code draws from


def _restore(state: Array) -> None:
    np.random.set_state(state)  # noqa: NPY002 - the state that legacy code draws from


SPEC = FrameworkSpec(
    name="numpy",
    modules=("numpy",),
    array_types=("numpy:ndarray",),
    dtypes=_NUMBERS,
    refused=(
        Refusal(
            _castable,
            "has elements that are not numbers of a machine type",
            "cast it with dtype=...",
            abroad=True,
            cast=True,
        ),
        Refusal(
            _no_numbers,
            "has elements that are not numbers of a machine type",
            "take a field of it, or cast it with astype",
            abroad=True,
        ),
    ),
    oom=OomRules(classes=("numpy._core._exceptions:_ArrayMemoryError",)),
    hooks=Hooks(
        to_host=_to_host,
        from_host=_from_host,
        dtype=lambda x: x.dtype.name,
        copy=lambda x: x.copy(),
        version=_version,
        save_rng=_save,
        restore_rng=_restore,
    ),
)
