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
from typing import Any, cast

from arrayloom._ext import lifting

# Names of every type, as they come.
_numpy: Any = importlib.import_module("numpy.random")


class _Kind(type):
    """Classes whose instances are those of the class of NumPy that they extend."""

    def __instancecheck__(cls, instance: object) -> bool:  # pyright: ignore[reportImplicitOverride]
        return isinstance(instance, cls.__bases__[0])

    def __subclasscheck__(cls, subclass: type) -> bool:  # pyright: ignore[reportImplicitOverride]
        return issubclass(subclass, cls.__bases__[0])


def _lazy(base: type) -> type:
    """Make the subclass of `base` whose methods give lazy arrays."""
    methods = {
        name: lifting(method, method=True)
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
        namespace[name] = lifting(value, method=False) if drawn else value


_fill(globals())
Generator = _lazy(_numpy.Generator)
RandomState = _lazy(_numpy.RandomState)


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
