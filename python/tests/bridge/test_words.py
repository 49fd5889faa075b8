"""The keywords of decorators: what they take, and what they say of the rest where they are written."""

import importlib

import numpy as np
import pytest

import arrayloom.bridge as b


def same(x, y=1):
    return x


WRONG = [
    ({"cast": "foo"}, ValueError, "cast= takes 'exact', 'saturate'"),
    ({"slices": "a"}, TypeError, "slices= takes the number of an axis"),
    ({"slices": True}, TypeError, "slices= takes"),
    ({"pure": "no"}, TypeError, "pure= takes True or False"),
    ({"detach": 1}, TypeError, "detach= takes True or False"),
    ({"cpu": "foo"}, TypeError, "no array framework 'foo'"),
    ({"cpu": 3}, TypeError, "cpu= takes a function, or"),
    ({"chunk": 5}, TypeError, r"chunk= takes a pair \(axis, halo\)"),
    ({"chunk": (0, 1.5)}, TypeError, "chunk= takes a pair"),
    ({"chunk": (0, -1)}, ValueError, "a halo of 0 or more"),
    ({"inputs": "y"}, TypeError, "inputs= takes a tuple of names"),
    ({"inputs": ("z",)}, ValueError, "inputs= names z, .* it has x, y"),
    ({"output": "foo"}, TypeError, "no array framework 'foo'"),
    ({"output": 3}, TypeError, "output= takes a kind's name"),
    ({"dtype": "foo"}, TypeError, "dtype= takes 'preserve', an element type or None"),
    ({"dtype": "M8[s]"}, TypeError, "an element type that has numbers"),
    ({"dtype": ("f4", -1)}, TypeError, "dtype= takes"),
    ({"cast": np.zeros(2)}, ValueError, "cast= takes"),
    ({"nan": np.zeros(2)}, TypeError, "nan= takes 'raise' or a number"),
    ({"device": np.zeros(2)}, TypeError, "a device is a text"),
    ({"nan": "zero"}, TypeError, "nan= takes 'raise' or a number"),
    ({"contract": 3}, TypeError, "contract= takes a function"),
    ({"on_oom": "retry"}, TypeError, "on_oom= takes a tuple"),
    ({"on_oom": ("pray",)}, ValueError, "on_oom= takes predict, .*, not pray"),
    ({"device": 0}, TypeError, "a device is a text"),
    ({"device": "cuda:x"}, ValueError, "a device is a text"),
    ({"device": "cpu:1"}, ValueError, "no 'cpu:1'"),
    ({"device": "cuda:0"}, ValueError, "numpy has no arrays on cuda:0"),
    ({"chunks": 3, "colour": "red"}, TypeError, r"takes device, .*, not chunks, colour$"),
]


@pytest.mark.parametrize(("words", "error", "text"), WRONG, ids=[str(w[0]) for w in WRONG])
def test_what_means_nothing_is_told_at_once(words, error, text):
    with pytest.raises(error, match=text):
        b.numpy(**words)(same)


@pytest.mark.parametrize("kind", ["matlab", 3, None])
def test_kinds_that_are_none(kind):
    with pytest.raises(TypeError, match=r"no array framework|takes a kind's name"):
        b.uses(kind)


def test_names_of_functions_that_take_any():
    assert b.numpy(inputs=("z",))(lambda **words: words["z"])(z=3) == 3
    assert b.numpy(inputs=["x"])(same)(2) == 2
    # Functions of C may not tell what they take.
    assert b.numpy(inputs=("z",))(max)(2, 3) == 3
    with pytest.raises(ValueError, match="it has none"):
        b.numpy(inputs=("z",))(lambda: 3)


def test_modules_and_dtypes_as_words():
    made = b.uses(np, dtype=np.float32, output=np)(same)(np.ones(2))
    assert made.dtype == np.float32
    assert b.numpy(dtype=np.dtype("int8"))(same)(np.ones(2)).dtype == np.int8
    made = b.numpy(dtype="float32")(lambda n: np.ones(n))(2)
    assert made.dtype == np.float32


@pytest.mark.frameworks("torch", "jax")
def test_objects_of_frameworks_as_words():
    torch, jax = map(importlib.import_module, ("torch", "jax"))
    made = b.uses(torch, device=torch.device("cpu"), dtype=torch.float16)(same)(np.ones(2))
    assert (b.kind(made), made.dtype) == ("torch", torch.float16)
    made = b.uses(torch, output=jax.numpy)(same)(np.ones(2, np.float32))
    assert b.kind(made) == "jax"
    assert b.kind(b.jax(device=jax.devices("cpu")[0])(same)(np.ones(2, np.float32))) == "jax"


def test_a_decorator_for_arrayloom():
    kinds = []

    @b.arrayloom
    def double(x):
        kinds.append(b.kind(x))
        return x * 2

    assert b.kind(double(np.ones((300, 300)))) == "arrayloom"
    assert b.kind(b.arrayloom(output="numpy")(double)(np.ones((300, 300)))) == "numpy"
    assert kinds == ["arrayloom"] * 2
