"""``arrayloom.random``: NumPy's numbers, in lazy arrays where they are many."""

import copy
import inspect
import pickle

import numpy
import pytest
from support.layouts import plain_view

import arrayloom
from arrayloom import LazyArray

pytestmark = pytest.mark.usefixtures("real_laziness")
MANY = 100_000

DRAWS = {
    "random": (),
    "normal": (2.0, 3.0),
    "standard_normal": (),
    "uniform": (-1.0, 1.0),
    "exponential": (2.0,),
    "poisson": (4.0,),
    "binomial": (10, 0.3),
    "gamma": (2.0,),
    "integers": (0, 1000),
    "choice": (50,),
}


@pytest.mark.parametrize("name", DRAWS)
def test_the_stream_is_numpys_and_the_array_ours(xp_default, name):
    ours, theirs = xp_default.random.default_rng(5), numpy.random.default_rng(5)
    for size in (3, MANY, (200, 500)):
        drawn = getattr(ours, name)(*DRAWS[name], size=size)
        expected = getattr(theirs, name)(*DRAWS[name], size=size)
        assert isinstance(drawn, LazyArray) == (expected.nbytes >= 64 * 1024)
        assert drawn.dtype == expected.dtype
        numpy.testing.assert_array_equal(plain_view(drawn), expected)


def test_what_follows_is_recorded(xp_default):
    x = xp_default.random.default_rng(1).random(MANY)
    y = xp_default.sqrt(x) + 1.0
    assert arrayloom._ext.is_pending(y)
    expected = numpy.sqrt(numpy.random.default_rng(1).random(MANY)) + 1.0
    numpy.testing.assert_array_equal(plain_view(y), expected)


def test_functions_share_the_state_of_numpys(xp_default):
    random = xp_default.random
    random.seed(11)
    ours = [random.rand(MANY), random.randn(300, 300), random.randint(9, size=5), random.rand()]
    numpy.random.seed(11)
    theirs = [
        numpy.random.rand(MANY),
        numpy.random.randn(300, 300),
        numpy.random.randint(9, size=5),
        numpy.random.rand(),
    ]
    for mine, his in zip(ours, theirs, strict=True):
        numpy.testing.assert_array_equal(plain_view(mine), his)
    assert [isinstance(mine, LazyArray) for mine in ours] == [True, True, False, False]
    state = random.get_state()
    first = random.rand()
    random.set_state(state)
    assert random.rand() == first


def test_old_generators_too(xp_default):
    ours, theirs = xp_default.random.RandomState(3), numpy.random.RandomState(3)
    drawn = ours.rand(MANY)
    assert isinstance(drawn, LazyArray)
    numpy.testing.assert_array_equal(plain_view(drawn), theirs.rand(MANY))


def test_shuffle_and_permutation(xp_default):
    x = xp_default.arange(MANY) * 2
    ours, theirs = xp_default.random.default_rng(2), numpy.random.default_rng(2)
    y = numpy.arange(MANY) * 2
    ours.shuffle(x)
    theirs.shuffle(y)
    numpy.testing.assert_array_equal(plain_view(x), y)
    numpy.testing.assert_array_equal(plain_view(ours.permutation(x)), theirs.permutation(y))
    out = xp_default.empty(MANY)
    assert ours.random(out=out) is out
    numpy.testing.assert_array_equal(plain_view(out), theirs.random(MANY))


def test_classes_are_as_good_as_numpys(xp_default):
    random = xp_default.random
    ours, theirs = random.default_rng(4), numpy.random.default_rng(4)
    assert isinstance(theirs, random.Generator)
    assert isinstance(ours, numpy.random.Generator)
    assert issubclass(numpy.random.Generator, random.Generator)
    assert not isinstance(3, random.Generator)
    assert random.default_rng(ours) is ours
    assert random.default_rng(theirs) is theirs
    assert str(ours) == str(theirs) == "Generator(PCG64)"
    assert type(ours).__module__ == type(theirs).__module__
    assert random.Generator(random.PCG64(4)).random() == theirs.random()
    assert isinstance(ours.spawn(1)[0].random(MANY), LazyArray)
    with pytest.raises(AttributeError):
        ours.no_such_method()
    with pytest.raises(TypeError):
        random.default_rng("words")


def test_copies_go_on_with_the_same_numbers(xp_default):
    ours = xp_default.random.default_rng(6)
    ours.random(10)
    for twin in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        expected = copy.deepcopy(numpy.random.Generator(copy.deepcopy(ours.bit_generator)))
        numpy.testing.assert_array_equal(twin.random(20), expected.random(20))
    function = pickle.loads(pickle.dumps(xp_default.random.rand))
    assert callable(function)


def test_wrappers_look_like_what_they_stand_for(xp_default):
    random = xp_default.random
    assert random.rand.__name__ == "rand"
    assert random.rand.__doc__ == numpy.random.rand.__doc__
    method = random.Generator.normal
    assert method.__name__ == "normal"
    assert method.__doc__ == numpy.random.Generator.normal.__doc__
    bound = random.default_rng(1).normal
    assert inspect.ismethod(bound)
    assert bound(size=2).shape == (2,)
    assert random.Generator.random(random.default_rng(1)) == numpy.random.default_rng(1).random()
    assert set(numpy.random.__all__) <= set(dir(random))
    assert random.SeedSequence is numpy.random.SeedSequence
    with pytest.raises(AttributeError, match="nonsense"):
        _ = random.nonsense


def test_errors_are_numpys(xp_default):
    ours, theirs = xp_default.random.default_rng(1), numpy.random.default_rng(1)
    for call in (
        lambda r: r.normal(0, -1),
        lambda r: r.integers(5, 2, size=MANY),
        lambda r: r.random(MANY, dtype=int),
        lambda r: r.random(nonsense=1),
    ):
        messages = []
        for rng in (ours, theirs):
            with pytest.raises((ValueError, TypeError)) as caught:
                call(rng)
            messages.append((caught.type, str(caught.value)))
        assert messages[0] == messages[1]


@pytest.mark.parametrize("kind", ["Generator", "RandomState", "function"])
def test_arrays_are_shuffled_in_place(xp_default, kind):

    def shuffle(m):
        if kind == "function":
            m.random.seed(3)
            return m.random.shuffle
        made = m.random.default_rng(3) if kind == "Generator" else m.random.RandomState(3)
        return made.shuffle

    def body(m):
        line, rows = m.arange(MANY) * 2, m.arange(3.0 * MANY).reshape(-1, 3) + 1
        other, kept = m.arange(MANY) + 1, list(range(9))
        plus = other * 2
        move = shuffle(m)
        for array in (line, rows, other[::2], kept):
            move(array)
        if kind == "Generator":
            move(rows, axis=1)
            move(x=line)
        return line, rows, other, plus, kept

    for ours, theirs in zip(body(xp_default), body(numpy), strict=True):
        numpy.testing.assert_array_equal(ours, theirs)
    fixed = xp_default.arange(MANY) * 2
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        shuffle(xp_default)(fixed)
