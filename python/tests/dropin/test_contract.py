"""Small promises of NumPy that programs rely on: identity of results, dtypes to the letter, errors."""

import copy

import numpy as np
import pytest
from support.compare import differences, observe


class Giver:
    """Gives an array of its own by ``__array__``."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


class Taker:
    """Takes every ufunc over, and tells what it was given."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ufunc.__name__, method, kwargs.get("out", (None,))[0] is inputs[0]

    def __rpow__(self, other):
        return "rpow"


def resized(m, *shape, **kwargs):
    a = m.arange(6.0) + 1
    a.resize(*shape, **kwargs)
    return a, a.flags.owndata


def resized_while_held(m):
    a = m.arange(6.0) + 1
    view = a[1:]
    a.resize(12)
    return view


def power_in_place(m):
    a = m.arange(6.0) + 1
    a **= Taker()
    return a


def dtype_letters(m):
    fields = np.dtype(("i4", [("a", "i2"), ("b", "i2")]))
    tagged = np.dtype("f8", metadata={"unit": "m"})
    made = [
        m.zeros(4, "q"), m.ones(4, "Q"), m.zeros(4, fields), m.zeros(4, tagged),
        m.arange(4, dtype="q") + m.arange(4, dtype="q"), m.zeros(4).astype("q"), m.full(4, 1, tagged),
    ]  # fmt: skip
    return [(a.dtype.char, a.dtype.names, a.dtype.metadata, a.tolist()) for a in made]


def identities(m):
    a = m.arange(12.0).reshape(3, 4) + 1
    out = m.zeros((3, 3))
    row = a[1, :]
    return [
        m.asarray(Giver(a)) is a, m.array(Giver(a), copy=None) is a, m.asarray(a, dtype=float) is a,
        m.asarray(row) is row, m.array(row, copy=False) is row, m.array(a, copy=None, order="C") is a,
        m.array(a) is a, m.array(a, order="F") is a, m.ascontiguousarray(a) is a, m.asanyarray(a) is a,
        m.dot(a, a.T, out) is out, a.dot(a.T, out) is out, a.sum(0, None, row) is row,
        m.add(a, 1, a) is a, m.take(a, [0, 1, 2], 0, a) is a, a.take([0, 1, 2], 0, a) is a,
        a.clip(1, 2, a) is a, a.compress([True] * 3, 0, a) is a, m.around(a, 1, a) is a,
    ]  # fmt: skip


def bases(m):
    a = m.arange(6.0) + 1
    view = a.reshape(2, 3)
    return [
        m.einsum("...", view).base is a, m.einsum("ij->ji", view).base is a, view.T.base is a,
        m.einsum("i", a).base is a, a.byteswap(inplace=True) is a, a.getfield("f8").base is a,
    ]  # fmt: skip


class Loud(np.ndarray):
    """Has operators of its own, which Python asks before those of ``ndarray``."""

    def __radd__(self, other):
        return "radd", type(other).__name__

    def __rmatmul__(self, other):
        return "rmatmul"

    def __eq__(self, other):
        return "eq"

    def __gt__(self, other):
        return "gt"

    def __ge__(self, other):
        return NotImplemented

    __hash__ = None


def derived_classes(m):
    a, b = m.arange(4.0) + 1, np.arange(4.0).view(Loud)
    square = m.arange(4.0).reshape(2, 2) + 1
    matrix, masked = np.matrix([[1.0, 2], [3, 4]]), np.ma.array([1.0, 0, 2, 0], mask=[0, 0, 1, 0])
    return [
        a + b, a == b, a < b, a @ b, type(a * b).__name__, square * matrix, matrix * square,
        square @ matrix, a / masked, a + masked, masked / a, a // masked, a > masked,
    ]  # fmt: skip


def copies(m):
    a = m.asarray(np.arange(6.0).reshape(2, 3), order="F") + 1
    return copy.copy(a), copy.deepcopy(a), a.copy(), a.copy("K"), copy.copy(a.T), copy.copy(a[::-1])


def namespace(m):
    a = m.arange(4.0) + 1
    with pytest.raises(ValueError, match="not supported"):
        a.__array_namespace__(api_version="1900.01")
    return a.__array_namespace__() is m, a.__array_namespace__(api_version="2024.12") is m


CASES = {
    "derived classes": derived_classes,
    "bases": bases,
    "copies": copies,
    "namespace": namespace,
    "resize": lambda m: resized(m, 12),
    "resize shape": lambda m: resized(m, 2, 5),
    "resize tuple": lambda m: resized(m, (2, 2)),
    "resize refcheck": lambda m: resized(m, 3, refcheck=False),
    "resize word": lambda m: resized(m, 3, wrong=1),
    "resize negative": lambda m: resized(m, -1),
    "resize held": resized_while_held,
    "power in place": power_in_place,
    "power": lambda m: (m.arange(3.0) + 1) ** Taker(),
    "letters": dtype_letters,
    "identities": identities,
    "too large": lambda m: m.empty(2**62, "b"),
    "too large zeros": lambda m: m.zeros((2**31, 2**31)),
    "too large ones": lambda m: m.ones(2**62, "b"),
}


@pytest.mark.parametrize("name", CASES)
def test_contract(xp, name):
    found = differences(observe(CASES[name], np), observe(CASES[name], xp))
    assert not found, "\n".join(found)


def test_a_state_is_taken(xp_both):
    for count in (0, 2, 70_000):
        a = xp_both.ones(70_000)
        twice = a * 2
        state = np.arange(float(count)).__reduce__()[2]
        a.__setstate__(state)
        assert a.shape == (count,)
        assert a.tolist() == list(range(count))
        assert (a + 1).tolist() == list(range(1, count + 1))
        assert float(twice.sum()) == 140_000
        del a
        assert float(twice[-1]) == 2
