"""`numpy.random`, with large results that are lazy arrays like those of all other functions.

The names, the streams of numbers, and what pickles hold are NumPy's. The two classes that give numbers are
subclasses of NumPy's whose methods differ in the type of large results only; every generator of NumPy's
is an instance of them.

Examples
--------
>>> import numpy
>>> from arrayloom.random import Generator, default_rng
>>> ours, theirs = default_rng(7), numpy.random.default_rng(7)
>>> bool((ours.normal(size=100_000) == theirs.normal(size=100_000)).all())
True
>>> isinstance(theirs, Generator), isinstance(ours, numpy.random.Generator)
(True, True)
"""

import importlib
import inspect
import math
from typing import Any, cast

import numpy as np

from arrayloom._ext import lifting, philox

# Names of every type, as they come.
_numpy: Any = importlib.import_module("numpy.random")


# Methods that change their argument. NumPy has a quick way for arrays of exactly its own type.
_WRITES = ("shuffle",)


class _Kind(type):
    """Classes whose instances are those of the class of NumPy that they extend."""

    def __call__(cls, *args: object, **kwargs: object) -> object:  # pyright: ignore[reportImplicitOverride]
        """Make an instance; one that draws from `Philox` is of the class that devices can serve."""
        drawn = args[0] if args else kwargs.get("bit_generator")
        kind = _Counted if cls is Generator and isinstance(drawn, _numpy.Philox) else cls
        return type.__call__(kind, *args, **kwargs)

    @property
    def __signature__(cls) -> inspect.Signature:
        """What `inspect` tells of the class."""
        return inspect.signature(cls.__bases__[0])

    def __instancecheck__(cls, instance: object) -> bool:  # pyright: ignore[reportImplicitOverride]
        return isinstance(instance, cls.__bases__[0])

    def __subclasscheck__(cls, subclass: type) -> bool:  # pyright: ignore[reportImplicitOverride]
        return issubclass(subclass, cls.__bases__[0])


def _lazy(base: type) -> type:
    """Make the subclass of `base` whose methods give lazy arrays."""
    methods = {
        name: lifting(method, method=True, writes=name in _WRITES)
        for name, method in vars(base).items()
        if callable(method) and not name.startswith("_")
    }
    about = {"__doc__": base.__doc__, "__module__": base.__module__, "__slots__": ()}
    return _Kind(base.__name__, (base,), {**about, **methods})


def _fill(namespace: dict[str, Any]) -> None:
    """Put NumPy's names into `namespace`; functions that draw numbers are wrapped."""
    namespace["__all__"] = list(_numpy.__all__)
    for name, value in cast("dict[str, Any]", vars(_numpy)).items():
        if name.startswith("__"):
            continue
        drawn = isinstance(getattr(value, "__self__", None), _numpy.RandomState)
        namespace[name] = lifting(value, method=False, writes=name in _WRITES) if drawn else value


_fill(globals())
Generator: Any = _lazy(_numpy.Generator)
RandomState = _lazy(_numpy.RandomState)


class _Counted(Generator):
    """A generator of `Philox`: a device can make its large arrays, since words depend on a counter alone."""

    __slots__ = ()

    def random(self, size: Any = None, dtype: Any = "float64", out: Any = None) -> Any:  # noqa: ANN401
        """Draw numbers from 0 to 1, as `numpy.random.Generator.random` does."""
        if out is None and size is not None and dtype in _DTYPES:
            drawn = _by_counter(self.bit_generator, size, _DTYPES[dtype])
            if drawn is not None:
                return drawn
        numpy_own: Any = super()
        return numpy_own.random(size, dtype, out)


_DTYPES: dict[Any, str] = {
    **dict.fromkeys(("float64", "d", "f8", float, np.float64), "float64"),
    **dict.fromkeys(("float32", "f", "f4", np.float32), "float32"),
}
_Counted.__name__ = _Counted.__qualname__ = "Generator"


def _is_shape(shape: object) -> bool:
    return isinstance(shape, tuple) and all(
        isinstance(n, int) and n >= 0 for n in cast("tuple[object, ...]", shape)
    )


def _first(state: dict[str, Any], words: Any, dtype: str) -> Any:  # noqa: ANN401 - an array
    """Make the numbers of what is left of a block: of whole words, or of the halves of words for ``float32``."""
    if dtype == "float64":
        return (words >> np.uint64(11)) * 2.0**-53
    halves = np.stack((words & np.uint64(2**32 - 1), words >> np.uint64(32)), axis=1).ravel()
    if state["has_uint32"]:
        halves = np.concatenate([[np.uint64(state["uinteger"])], halves])
    return (halves >> np.uint64(8)).astype("f4") * np.float32(2.0**-24)


def _by_counter(bits: Any, size: Any, dtype: str) -> Any | None:  # noqa: ANN401 - of NumPy's types
    """Draw an array of numbers from a `Philox` by a device; `None` if there is none for it."""
    shape: Any = (size,) if isinstance(size, int) else size
    if not _is_shape(shape):
        return None
    each = 1 if dtype == "float64" else 2
    with bits.lock:
        state = bits.state
        first = _first(state, state["buffer"][state["buffer_pos"] :], dtype)
        count = math.prod(shape) - len(first)
        # Of a word that is drawn for one half only, the other one is kept.
        drawn_words = -(-count // each)
        blocks, rest = divmod(drawn_words, 4)
        if blocks <= 0:
            return None
        counter = [int(word) for word in state["state"]["counter"]]
        key = [int(word) for word in state["state"]["key"]]
        drawn = philox([*counter, *key], count, dtype)
        if drawn is None:
            return None
        if len(first):
            drawn = np.concatenate([first, drawn])
        # NumPy draws the last words itself: what is left of their block is in the buffer afterwards.
        whole = sum(word << 64 * at for at, word in enumerate(counter)) + blocks - (rest == 0)
        after = [(whole >> 64 * at) & 2**64 - 1 for at in range(4)]
        state["state"]["counter"] = np.array(after, dtype=np.uint64)
        state["buffer_pos"] = 4
        bits.state = state
        last = int(bits.random_raw(rest or 4)[-1])
        if each == 2:
            bits.state = {**bits.state, "has_uint32": count % 2, "uinteger": last >> 32}
    return drawn.reshape(shape)


def default_rng(seed: Any = None) -> Any:  # noqa: ANN401 - as NumPy's
    """Construct a `Generator` with the default bit generator (PCG64), as `numpy.random.default_rng` does.

    Parameters
    ----------
    seed
        `None` for numbers that differ each time; integers of 0 and more; a `SeedSequence`; a bit generator,
        which is wrapped; a `Generator`, which is returned as it is.

    Returns
    -------
    Generator
        With NumPy's stream of numbers for this seed.

    Raises
    ------
    TypeError, ValueError
        For other seeds, as NumPy raises them.

    Examples
    --------
    >>> from arrayloom.random import default_rng
    >>> default_rng(3).integers(10, size=4).tolist()
    [8, 0, 1, 2]
    """
    made = _numpy.default_rng(seed)
    return made if made is seed else Generator(made.bit_generator)


def __getattr__(name: str) -> Any:  # noqa: ANN401 - NumPy's names are of every type
    """Names that NumPy's module has got since."""
    return getattr(_numpy, name)
