"""Functions of the program that are arrayloom's, where NumPy's are looked up, and the other way round."""

import copy
import inspect
import operator
import pickle
import subprocess
import sys
import weakref
from typing import Any

import numpy
import pytest

import arrayloom as np

# All functions of ours that NumPy has too.
NAMES = [name for name in sorted(np.__all__) if getattr(np, name) is not getattr(numpy, name)]
NAMES = [name for name in NAMES if name not in ("random", "ndarray")]
# Those that draw from the one generator of old.
DRAWN = ["choice", "normal", "permutation", "rand", "randint", "random", "shuffle", "uniform"]

# How each function that takes over by an argument is called.
BY_ARGUMENT = {
    "zeros_like": (),
    "ones_like": (),
    "empty_like": (),
    "full_like": (1,),
    "linspace": (1,),
}
BY_LIKE: dict[str, tuple[Any, ...]] = {
    "arange": (3,),
    "array": ([1],),
    "asarray": ([1],),
    "ascontiguousarray": ([1],),
    "empty": (2,),
    "eye": (2,),
    "fromfunction": (lambda i: i, (2,)),
    "full": (2, 1),
    "identity": (2,),
    "loadtxt": (["1 2"],),
    "ones": (2,),
    "zeros": (2,),
}


class Handled:
    """A class that takes over functions by a table, as NumPy's guide shows it."""

    def __init__(self, module: Any) -> None:
        self.table = {getattr(module, name): name for name in [*BY_ARGUMENT, *BY_LIKE]}

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> str:
        return self.table[function]


@pytest.mark.parametrize("module", [np, numpy], ids=["ours", "theirs"])
@pytest.mark.parametrize("caller", [np, numpy], ids=["call ours", "call theirs"])
def test_tables_of_functions_know_both(module: Any, caller: Any) -> None:
    handled = Handled(module)
    for name, rest in BY_ARGUMENT.items():
        assert getattr(caller, name)(handled, *rest) == name
    for name, args in BY_LIKE.items():
        assert getattr(caller, name)(*args, like=handled) == name


@pytest.mark.parametrize("name", NAMES)
def test_a_twin_is_like_numpys(name: str) -> None:
    ours, theirs = getattr(np, name), getattr(numpy, name)
    assert ours == theirs
    assert theirs == ours
    assert not operator.ne(ours, theirs)
    assert hash(ours) == hash(theirs)
    assert ours != getattr(numpy, "sum")  # noqa: B009 - as its neighbours
    assert ours not in (None, 1, "x")
    assert repr(ours) == repr(theirs)
    assert ours.__name__ == name
    assert ours.__doc__
    assert inspect.isbuiltin(ours)
    assert callable(ours)
    assert copy.deepcopy(ours) is ours or copy.deepcopy(ours) is theirs
    with pytest.raises(AttributeError, match="no_such"):
        _ = ours.no_such
    with pytest.raises(TypeError, match="<"):
        _ = ours < theirs


@pytest.mark.parametrize(
    ("module", "name"), [*(("", name) for name in NAMES), *(("random", name) for name in DRAWN)]
)
def test_tables_of_compilers_know_both(module: str, name: str) -> None:
    """Such as Numba's, whose keys are weak references where functions have some."""
    ours = getattr(getattr(np, module) if module else np, name)
    theirs = getattr(getattr(numpy, module) if module else numpy, name)
    assert ours is not theirs

    def key(function: Any) -> Any:
        try:
            return weakref.ref(function)
        except TypeError:
            return function

    assert {key(theirs): 1}[key(ours)] == 1
    assert {key(ours): 1}[key(theirs)] == 1


def test_signatures_are_kept() -> None:
    assert str(inspect.signature(np.full)) == str(inspect.signature(numpy.full))


def test_twins_do_not_bind() -> None:
    class Maker:
        make = np.zeros

    assert Maker().make(3).shape == (3,)
    assert Maker.make((2, 2)).shape == (2, 2)


def test_large_results_are_lazy_still() -> None:
    assert type(np.zeros(1 << 20)) is not numpy.ndarray
    assert type(np.zeros_like(np.zeros(1 << 20))) is not numpy.ndarray
    assert type(np.zeros(shape=(1 << 10, 1 << 10), dtype="i4")) is not numpy.ndarray


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_are_read_without_arrayloom(protocol: int) -> None:
    data = pickle.dumps([np.zeros, np.zeros_like], protocol)
    code = (
        "import pickle, sys, numpy; "
        "found = pickle.loads(sys.stdin.buffer.read()); "
        "assert found == [numpy.zeros, numpy.zeros_like]; "
        "assert 'arrayloom' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], input=data, check=True)


def test_the_ufunc_protocol_is_numpys_to_those_who_ask() -> None:
    lazy = np.zeros(1 << 20)
    kind = type(lazy)
    assert kind.__array_ufunc__ == numpy.ndarray.__array_ufunc__
    assert hash(kind.__array_ufunc__) == hash(numpy.ndarray.__array_ufunc__)
    assert repr(kind.__array_ufunc__) == repr(numpy.ndarray.__array_ufunc__)
    assert lazy.__array_ufunc__(numpy.add, "__call__", lazy, 1)[3] == 1
    assert kind.__array_ufunc__(lazy, numpy.add, "__call__", lazy, 1)[3] == 1
