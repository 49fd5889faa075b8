"""Our functions of the namespace: builtins with NumPy's signatures that pass small calls on."""

import inspect

import numpy
import pytest

import arrayloom as np
from arrayloom import _ext

NAMES = [name for name in vars(_ext) if name in numpy.__all__]


@pytest.mark.parametrize("name", NAMES)
def test_signatures_are_numpys(name):
    ours = inspect.signature(getattr(np, name))
    assert str(ours) == str(inspect.signature(getattr(numpy, name)))


@pytest.mark.parametrize("name", ["Generator", "RandomState"])
def test_signatures_of_generators_are_numpys(name):
    ours = inspect.signature(getattr(np.random, name))
    assert str(ours) == str(inspect.signature(getattr(numpy.random, name)))


def test_what_has_no_signature_in_numpy_has_none():
    for name in dir(numpy):
        theirs = getattr(numpy, name)
        try:
            inspect.signature(theirs)
        except (TypeError, ValueError) as error:
            with pytest.raises(type(error)):
                inspect.signature(getattr(np, name))


@pytest.mark.parametrize("name", NAMES)
def test_builtins_do_not_bind(name):
    class Holder:
        function = getattr(np, name)

    assert Holder().function is getattr(np, name)


def test_small_results_are_plain():
    for made in (np.zeros(3), np.ones((2, 2)), np.array([1, 2]), np.arange(5), np.eye(3)):
        assert type(made) is numpy.ndarray


def test_large_results_are_lazy():
    x = np.ones(100_000)
    for made in (
        np.zeros((300, 300)), np.full(100_000, 2.5), np.empty(100_000), np.array([0.5] * 100_000),
        np.arange(100_000), np.eye(300), np.zeros_like(x),
        np.full_like(x, 3), np.array(x),
    ):  # fmt: skip
        assert type(made) is np.LazyArray
        assert made.base is None
        assert made.flags.owndata


def test_large_views_that_numpy_makes_are_lazy():
    assert type(np.linspace(0, 1, 100_000)) is np.LazyArray
    assert type(np.fromfunction(lambda i: i, (100_000,))) is np.LazyArray


def test_asarray_gives_the_array_itself():
    x = np.ones(100_000) + 1
    assert np.asarray(x) is x
    assert np.ascontiguousarray(x) is x
    assert np.array(x) is not x


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.zeros(-1),
        lambda m: m.zeros((100_000, "a")),
        lambda m: m.zeros(100_000, "nonsense"),
        lambda m: m.zeros(),
        lambda m: m.full(100_000),
        lambda m: m.ones(100_000, order="X"),
        lambda m: m.zeros((1,) * 70),
        lambda m: m.empty((2**40, 2**40)),
        lambda m: m.full(100_000, 300, "u1"),
        lambda m: m.zeros_like(),
    ],
)
def test_mistakes_are_numpys(call):
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - whatever NumPy raises
        call(numpy)
    with pytest.raises(theirs.type) as ours:
        call(np)
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize("dtype", "?bhilBHILefdFD")
def test_values(dtype):
    for call in (
        lambda m: m.zeros(100_000, dtype),
        lambda m: m.ones((400, 300), dtype=dtype),
        lambda m: m.full(100_000, 1, dtype),
        lambda m: m.full((300, 400), m.dtype(dtype).type(1)),
        lambda m: m.ones_like(m.zeros((300, 400), dtype)),
    ):
        ours, theirs = call(np), call(numpy)
        assert ours.dtype == theirs.dtype
        assert ours.tobytes() == theirs.tobytes()


def test_limits_of_integers():
    low, high = -(2**63), 2**63 - 1
    for call in (
        lambda m: m.arange(low, low + 100),
        lambda m: m.arange(high - 100_000, high),
    ):
        assert call(np).tobytes() == call(numpy).tobytes()
