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


def converted(made, **words):
    return b.uses("arrayloom", output="numpy", **words)(lambda _x: made)(ours())


@pytest.mark.parametrize("outer", CONTAINERS)
@pytest.mark.parametrize("inner", CONTAINERS)
def test_results_in_results(outer, inner):
    made = CONTAINERS[outer]((1, CONTAINERS[inner](ours())))
    found = converted(made)
    deep, kept = (next(iter(x.values() if isinstance(x, dict) else x))[1] for x in (found, made))
    assert (type(found), type(deep)) == (type(made), type(kept))
    for value, kind in ((deep, "numpy"), (kept, "arrayloom")):
        values = list(value.values() if isinstance(value, dict) else value)
        assert b.kind(values[0]) == kind
    assert b.uses("arrayloom")(lambda _x: made)(ours()) is made


def test_results_at_any_depth():
    x, table = ours(), np.arange(2)
    found = converted({"a": [(x, {"b": Pair([x], table)})], "c": ["text", 1, None]})
    pair = found["a"][0][1]["b"]
    assert [b.kind(v) for v in (found["a"][0][0], pair.left[0])] == ["numpy"] * 2
    assert pair.right is table
    assert found["c"] == ["text", 1, None]
    # A main result is an array; what stands first in lists is not cast.
    main, (other,) = b.uses("arrayloom", output="numpy")(lambda _x: (x, [x]))(x.astype("f4"))
    assert (main.dtype, other.dtype) == ("f4", "f8")
    (first,), second = converted(([x], x))
    assert [b.kind(v) for v in (first, second)] == ["numpy"] * 2


def test_results_without_arrays_stay():
    inner, texts = [np.arange(3)], {"a": ("b", [1])}
    made = (ours(), inner, texts)
    found = converted(made)
    assert found[1] is inner
    assert found[2] is texts
    assert converted(made[1:]) == made[1:]
    assert converted(texts) is texts


def test_results_that_hold_themselves_or_one_list_twice():
    twice = [ours()]
    ring = [twice, {"again": twice}]
    ring.append(ring)
    found = converted(ring)
    assert b.kind(found[0][0]) == "numpy"
    assert found[1]["again"] is found[0]
    assert found[2] is ring
    deep = [ours()]
    for _ in range(60):
        deep = [deep, deep]
    deep = converted(deep)
    for _ in range(60):
        assert deep[0] is deep[1]
        deep = deep[0]
    assert b.kind(deep[0]) == "numpy"
    own = []
    own.append(own)
    assert converted(own) is own


def test_results_of_slices_and_of_versions_for_the_cpu():
    def parts(x):
        return x + 1, {"all": [x]}

    main, each = b.uses("arrayloom", output="numpy", slices=0)(parts)(np.ones((2, 3)))
    assert b.kind(main) == "numpy"
    assert [b.kind(one["all"][0]) for one in each] == ["numpy"] * 2

    def fails(_x):
        raise MemoryError

    main, each = b.uses("arrayloom", cpu=parts)(fails)(np.ones(3))
    assert [b.kind(x) for x in (main, each["all"][0])] == ["arrayloom"] * 2
