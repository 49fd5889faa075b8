"""Decorated functions while gradients are recorded and while frameworks trace them."""

import importlib

import numpy as np
import pytest

import arrayloom.bridge as b


@pytest.mark.frameworks("torch")
def test_gradients_go_through_casts_of_torch():
    torch = importlib.import_module("torch")
    x = torch.ones(3, requires_grad=True)
    made = b.torch(lambda x: x.double() * 2)(x)
    assert made.dtype == torch.float32
    made.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    half = torch.ones(3, dtype=torch.float16)
    far = b.torch(lambda _x: torch.tensor([1e6, -torch.inf, torch.nan], requires_grad=True))(half)
    assert (far.dtype, far.requires_grad) == (torch.float16, True)
    assert far[:2].tolist() == [65504.0, -np.inf]
    assert torch.isnan(far[2])


@pytest.mark.frameworks("tensorflow")
def test_gradients_and_graphs_of_tensorflow():
    tf = importlib.import_module("tensorflow")
    double = b.tensorflow(lambda x: tf.cast(x, tf.float64) * 2)
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(double(x))
    assert tape.gradient(total, x).numpy().tolist() == [2, 2]
    made = tf.function(double)(tf.constant([1.0, 1e300], tf.float32))
    assert made.dtype == tf.float32
    assert made.numpy()[0] == 2


@pytest.mark.frameworks("tensorflow")
def test_branches_of_functions_of_tensorflow_become_graphs(caplog):
    tf = importlib.import_module("tensorflow")

    @b.tensorflow
    def bend(x, y):
        if tf.reduce_sum(x) > 0:
            return x + y
        return x

    made = tf.function(lambda x: bend(x, np.ones(2, np.float32)))
    assert made(tf.constant([1.0, 2.0])).numpy().tolist() == [2, 3]
    assert made(tf.constant([-1.0, 0.0])).numpy().tolist() == [-1, 0]
    assert "could not transform" not in caplog.text


@pytest.mark.frameworks("tensorflow")
def test_casts_of_tensorflow_have_limits():
    tf = importlib.import_module("tensorflow")
    far = b.tensorflow(lambda x: tf.constant([1e300, -np.inf], tf.float64))(np.ones(2, np.float32))
    assert far.numpy().tolist() == [np.finfo(np.float32).max, -np.inf]


@pytest.mark.frameworks("jax")
def test_functions_of_jax_are_traced():
    jax = importlib.import_module("jax")
    jnp = jax.numpy
    square = b.jax(lambda x: x * x)
    x = jnp.arange(3.0)
    assert jax.jit(square)(x).tolist() == [0, 1, 4]
    assert jax.vmap(square)(jnp.ones((2, 3))).shape == (2, 3)
    assert jax.grad(lambda x: square(x).sum())(x).tolist() == [0, 2, 4]
    narrow = b.jax(lambda x: x.astype("float32") * 2)
    assert jax.jit(narrow)(x.astype("float16")).dtype == "float16"
    assert float(jax.grad(lambda x: narrow(x).sum().astype("float32"))(x.astype("float16"))[0]) == 2
    # What must look at values cannot, and says so.
    with pytest.raises(TypeError, match="none while jax traces a function; pass dtype=None"):
        jax.jit(b.jax(lambda x: x / 2))(jnp.ones(3, "uint8"))
    mixed = jax.jit(lambda x: b.jax(lambda x, y: x + y)(x, np.ones(3, np.float32)))
    assert mixed(x).tolist() == [1, 2, 3]
    with pytest.raises(TypeError, match="is a tracer"):
        jax.jit(b.jax(output="numpy")(lambda x: x))(x)
    runs = []

    @b.jax
    def fail(x):
        runs.append(x)
        raise MemoryError

    with pytest.raises(MemoryError):
        jax.jit(fail)(x)
    assert len(runs) == 1


@pytest.mark.frameworks("torch")
def test_functions_of_torch_are_traced():
    torch = importlib.import_module("torch")
    double = b.torch(lambda x: (x * 2).double())
    made = torch.func.vmap(double)(torch.ones(2, 3))
    assert (made.dtype, made.tolist()) == (torch.float32, [[2.0] * 3] * 2)
    assert torch.func.grad(lambda x: double(x).sum())(torch.ones(3)).tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match="outside of the function that torch traces"):
        torch.func.vmap(lambda x: b.plan(x, "numpy"))(torch.ones(2, 3))


@pytest.mark.frameworks("torch")
def test_gradients_are_dropped_where_that_is_asked_for():
    torch = importlib.import_module("torch")
    weight = torch.ones(2, requires_grad=True)
    for words in ({"output": "numpy"}, {"output": "arrayloom"}):
        with pytest.raises(BufferError, match="detach=True"):
            b.torch(**words)(lambda x: x * weight)(np.ones(2, np.float32))
        made = b.torch(detach=True, **words)(lambda x: (x * weight, weight))(np.ones(2, np.float32))
        assert [b.kind(x) for x in made] == [words["output"]] * 2
    taken = b.numpy(detach=True)(lambda x: x + 1)(weight)
    assert taken.tolist() == [2, 2]
