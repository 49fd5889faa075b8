"""Lists, tuples and dicts of arguments and results keep their types."""

import importlib
import os
from collections import OrderedDict, defaultdict
from typing import NamedTuple

import numpy as np
import pytest

import arrayloom.bridge as b
from arrayloom.bridge.containers import replaced


class Pair(NamedTuple):
    """Two arrays with names."""

    left: object
    right: object


class Names(list):
    """A list with a title."""

    title = "none"


class Box(dict):
    """A dict whose items are attributes too."""

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        setattr(self, key, value)


class Marked(tuple):  # noqa: SLOT001 - the mark is what is looked at
    """A tuple with a mark."""


def marked(values, mark):
    made = Marked(values)
    made.mark = mark
    return made


def box(x):
    made = Box()
    made["x"] = x
    return made


def ours(n=3):
    return b.to_arrayloom(np.arange(float(n)))


def named(x):
    made = Names([x])
    made.title = "names"
    return made


CONTAINERS = {
    "ordered": lambda x: OrderedDict(a=x, b=1),
    "default": lambda x: defaultdict(list, a=x),
    "box": box,
    "list": lambda x: [x],
    "names": named,
    "pair": lambda x: Pair(x, x),
    "marked": lambda x: marked([x, 1], "here"),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_results(name):
    made = CONTAINERS[name](ours())
    assert b.uses("arrayloom")(lambda _x: made)(ours()) is made
    found = b.uses("arrayloom", output="numpy")(lambda _x: made)(ours())
    assert type(found) is type(made)
    values = list(found.values() if isinstance(found, dict) else found)
    assert b.kind(values[0]) == "numpy"
    assert b.kind(next(iter(made.values() if isinstance(made, dict) else made))) == "arrayloom"
    for fact in ("title", "default_factory", "mark"):
        assert getattr(found, fact, None) == getattr(made, fact, None)
    if name == "box":
        assert found.x is found["x"]


@pytest.mark.parametrize("name", ["list", "names", "pair", "marked"])
def test_arguments(name):
    given = CONTAINERS[name](np.arange(3.0))
    found = []
    b.uses("numpy", dtype=None)(found.append)(given)
    assert found[0] is given
    b.uses("arrayloom", dtype=None)(found.append)(given)
    assert type(found[1]) is type(given)
    assert b.kind(found[1][0]) == "arrayloom"


@pytest.mark.frameworks("torch")
def test_named_tuples_of_torch():
    torch = importlib.import_module("torch")
    x = torch.arange(6.0).reshape(2, 3)
    assert b.torch(lambda x: torch.max(x, 0))(x).values.tolist() == [3, 4, 5]
    assert b.torch(lambda x: torch.linalg.svd(x))(x).U.shape == (2, 2)
    made = b.torch(output="numpy")(lambda x: torch.max(x, 0))(x)
    assert (b.kind(made.values), made.indices.tolist()) == ("numpy", [1, 1, 1])
    assert type(b.torch(lambda x: x.shape)(x)) is torch.Size


def test_types_of_c_that_make_theirs_themselves():
    status = os.stat("/")  # noqa: PTH116 - a tuple with names
    made = replaced(status, range(10))
    assert (type(made), made.st_size) == (type(status), 6)
