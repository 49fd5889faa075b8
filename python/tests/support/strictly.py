"""Do the same in arrayloom.array_api and in array-api-strict, and compare values, dtypes and errors."""

import warnings

import array_api_strict as strict
import hypothesis
import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import arrayloom.array_api as xp
from support.standard import DTYPES

__all__ = [
    "Named",
    "agree",
    "arrays",
    "axes",
    "dtypes",
    "elements",
    "given",
    "like",
    "same",
    "shapes",
]

_ERRORS = (IndexError, OverflowError, TypeError, ValueError, ZeroDivisionError)

dtypes = st.sampled_from(DTYPES)
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


def given(*strategies, **named):
    """`hypothesis.given`, however busy the machine is."""

    def decorated(test):
        case = hypothesis.given(*strategies, **named)(test)
        return hypothesis.settings(max_examples=60, deadline=None)(case)

    return decorated


class Named(str):
    """A dtype by its name, in whichever namespace."""

    __slots__ = ()


def elements(dtype):
    """Elements of a dtype, those among them that differ between libraries for a reason being rare."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return st.booleans()
    if kind in "iu":
        limits = np.iinfo(dtype)
        few = st.integers(max(-4, limits.min), 6)
        return few | st.integers(int(limits.min), int(limits.max))
    few = st.integers(-3, 3).map(float) | st.sampled_from(
        [np.nan, np.inf, -np.inf, -0.0, 0.5, -2.5]
    )
    width = 64 if dtype in {"float64", "complex128"} else 32
    real = few | st.floats(width=width)
    return real if kind == "f" else st.builds(complex, real, real)


@st.composite
def arrays(draw, dtype=dtypes, shape=shapes):
    """Arrays of NumPy of any dtype of the standard."""
    dtype = draw(dtype) if isinstance(dtype, st.SearchStrategy) else dtype
    shape = draw(shape) if isinstance(shape, st.SearchStrategy) else shape
    return draw(hnp.arrays(dtype, shape, elements=elements(dtype)))


def like(y, x):
    """An array in the dtype of another."""
    with np.errstate(all="ignore"):
        return (y if x.dtype.kind == "c" else y.real).astype(x.dtype)


def axes(ndim):
    """An axis of so many, or one that does not exist."""
    return st.integers(-ndim - 1, ndim)


def _into(namespace, value):
    if isinstance(value, Named):
        return getattr(namespace, value)
    if isinstance(value, np.ndarray):
        return namespace.asarray(value, copy=True)
    if isinstance(value, (list, tuple)):
        return type(value)(_into(namespace, part) for part in value)
    return value


def _seen(value):
    if hasattr(value, "__array_namespace__"):
        array = np.from_dlpack(value)
        return str(value.dtype).removeprefix("array_api_strict."), array.copy()
    if isinstance(value, (list, tuple)):
        return [_seen(part) for part in value]
    if isinstance(value, np.dtype):
        return value.name
    return str(value).removeprefix("array_api_strict.")


def _outcome(namespace, body, arguments, words):
    values = [_into(namespace, value) for value in arguments]
    words = {name: _into(namespace, value) for name, value in words.items()}
    with warnings.catch_warnings():
        if namespace is strict:
            warnings.simplefilter("ignore")
        try:
            return _seen(body(namespace, *values, **words))
        except _ERRORS as error:
            return error


def same(first, second):
    """Raise an `AssertionError` unless two values of `_seen` are equal, NaNs and all."""
    assert type(first) is type(second), (first, second)
    if isinstance(first, list):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            same(one, other)
    elif isinstance(first, tuple):
        assert first[0] == second[0], (first, second)
        np.testing.assert_array_equal(first[1], second[1], strict=True)
    else:
        assert first == second


def agree(body, *arguments, several=False, **words):
    """Call ``body(namespace, ...)`` in both, with arrays of each, and compare what comes of it.

    Errors agree if ours is of a builtin class of theirs, or if there may be `several` to choose from.
    """
    ours = _outcome(xp, body, arguments, words)
    theirs = _outcome(strict, body, arguments, words)
    if isinstance(theirs, Exception):
        assert isinstance(ours, Exception), (ours, theirs)
        common = [kind for kind in _ERRORS if isinstance(theirs, kind) and isinstance(ours, kind)]
        assert common or several, (ours, theirs)
    else:
        assert not isinstance(ours, Exception), (ours, theirs)
        same(ours, theirs)
