"""What cannot go is refused by every function alike, with one error that names the cure."""

import importlib

import numpy as np
import pytest
from support.arrays import survives

import arrayloom.bridge as b

HOST = ("numpy", "torch", "jax", "tensorflow", "arrayloom")


def everywhere(x):
    """Calls that look at an array, by name."""
    kind = b.kind(x)
    return {
        "device": lambda: b.device(x),
        "plan": lambda: b.plan(x, "numpy" if kind != "numpy" else "torch"),
        "to_dlpack": lambda: b.to_dlpack(x),
        "from_dlpack": lambda: b.from_dlpack(x, "arrayloom"),
        "copy": lambda: b.convert(x, kind, copy=True),
        "cast": lambda: b.convert(x, kind, dtype="int32"),
        "like": lambda: b.convert(np.ones(2, np.float32), like=x),
        "unstack": lambda: b.unstack(x),
        "in a list": lambda: b.to_numpy([x, x]),
        "in lists": lambda: b.to_numpy([[x]]),
    }


@pytest.mark.frameworks("tensorflow")
def test_tensors_of_tensorflow_without_one_memory():
    tf = importlib.import_module("tensorflow")
    quantized = tf.quantization.quantize(tf.ones(3), 0.0, 1.0, tf.quint8)[0]
    for x, text in (
        (tf.ragged.constant([[1], [2, 3]]), "ragged"),
        (tf.sparse.from_dense([[1, 0]]), "sparse"),
        (tf.constant(["text"]), "not numbers"),
        (quantized, "quantized"),
    ):
        for name, call in everywhere(x).items():
            with pytest.raises(TypeError, match=text):
                raise AssertionError(name, call())
        for to in HOST:
            if to != "tensorflow":
                with pytest.raises(TypeError, match=text):
                    b.convert(x, to)


@pytest.mark.frameworks("tensorflow")
def test_symbolic_tensors():
    tf = importlib.import_module("tensorflow")
    seen = []

    @tf.function
    def traced(x):
        assert b.convert(x, "tensorflow") is x
        for name, call in everywhere(x).items():
            with pytest.raises(TypeError, match="symbolic"):
                raise AssertionError(name, call())
            seen.append(name)
        return x

    traced(tf.constant([1.0, 2.0]))
    assert len(seen) == 10


def placeholder(module):
    """Return a symbolic tensor as Keras has them, which says itself that it has no values."""

    def values(_self, dtype=None):
        msg = f"a KerasTensor is symbolic, also as {dtype}"
        raise ValueError(msg)

    words = {"__module__": module, "__array__": values, "shape": (None, 3), "dtype": "float32"}
    return type("KerasTensor", (), words)()


@pytest.mark.parametrize(
    "module",
    [
        "keras.src.backend.common.keras_tensor",
        "tf_keras.src.engine.keras_tensor",
        "tensorflow.python.keras.engine.keras_tensor",
    ],
)
def test_placeholders_of_keras(module):
    x = placeholder(module)
    derived = type("Ragged", (type(x),), {})()
    for each in (x, derived):
        calls = everywhere(each)
        # These need a kind or a capsule first.
        for name in ("copy", "cast", "like", "from_dlpack"):
            del calls[name]
        calls |= {to: lambda to=to, each=each: b.convert(each, to) for to in ("numpy", "arrayloom")}
        for name, call in calls.items():
            with pytest.raises(
                TypeError, match="is symbolic: it has no value outside of its model"
            ):
                raise AssertionError(name, call())
    assert b.uses("numpy", dtype=None)(lambda each: each)(x) is x
    # The name alone says nothing.
    with pytest.raises(ValueError, match="a KerasTensor is symbolic"):
        b.to_numpy(placeholder("mine"))


@pytest.mark.frameworks("tensorflow")
def test_inputs_of_keras():
    tf = importlib.import_module("tensorflow")
    x = tf.keras.Input((3,))
    for to in HOST:
        with pytest.raises(TypeError, match="symbolic"):
            b.convert(x, to)
    with pytest.raises(TypeError, match="symbolic"):
        b.plan(x, "numpy")


@pytest.mark.frameworks("jax")
def test_arrays_of_jax_that_are_gone_or_not_there_yet():
    jax = importlib.import_module("jax")
    gone = jax.numpy.ones((2, 2))
    gone.delete()
    for name, call in everywhere(gone).items():
        with pytest.raises(TypeError, match="deleted or donated"):
            raise AssertionError(name, call())
    seen = []

    def traced(x):
        for name, call in everywhere(x).items():
            with pytest.raises(TypeError, match="tracer"):
                raise AssertionError(name, call())
            seen.append(name)
        return (x * x).sum()

    jax.jit(traced)(jax.numpy.ones((2, 2)))
    jax.grad(traced)(jax.numpy.ones((2, 2)))
    jax.vmap(traced)(jax.numpy.ones((2, 2)))
    assert len(seen) == 30


@pytest.mark.frameworks("torch")
@pytest.mark.parametrize("to", ["numpy", "arrayloom"])
def test_tensors_of_torch_without_memory_of_their_own(to):
    code = """
    import sys, warnings, torch, arrayloom.bridge as b
    from torch._subclasses.fake_tensor import FakeTensorMode
    warnings.simplefilter("ignore")
    to = sys.argv[1]

    def look(x):
        for words in ({}, {"copy": True}, {"copy": False}):
            try:
                b.convert(x, to, **words)
                print("made")
            except (TypeError, BufferError):
                print("refused")
        return x.sum()

    with FakeTensorMode():
        fake = torch.ones(3)
    look(fake)
    torch.func.vmap(look)(torch.ones(2, 3))
    torch.func.jvp(look, (torch.ones(3),), (torch.ones(3),))
    look(torch._efficientzerotensor((3,)))
    empty = torch.ones(4)
    empty.untyped_storage().resize_(0)
    look(empty[:0])
    try:
        b.convert(empty, to)
    except BufferError:
        print("refused")
    for layout in (torch.strided, torch.jagged):
        nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=layout)
        try:
            b.convert(nested, to)
        except TypeError:
            print("refused")
    """
    assert survives(code, to).split() == ["refused"] * 12 + ["made"] * 3 + ["refused"] * 3


@pytest.mark.frameworks("torch", "jax", "tensorflow")
@pytest.mark.filterwarnings("ignore:ComplexHalf support:UserWarning")
def test_small_floats_are_themselves_or_refused():
    torch, jax = map(importlib.import_module, ("torch", "jax"))
    for x in (
        torch.ones(4).to(torch.float8_e8m0fnu),
        torch.ones(4).to(torch.float8_e5m2fnuz),
        torch.ones(4).to(torch.float8_e4m3fnuz),
        jax.numpy.ones(4, "float8_e4m3b11fnuz"),
        jax.numpy.ones(4, "float8_e3m4"),
        jax.numpy.ones(4, "bfloat16"),
    ):
        for to in HOST:
            try:
                made = b.convert(x, to)
            except TypeError as error:
                assert "no elements of type" in str(error)  # noqa: PT017 - others may succeed
                continue
            assert b.to_numpy(made).astype(np.float32).tolist() == [1.0] * 4
            assert b.to_numpy(made).dtype.name == str(x.dtype).removeprefix("torch.")
    for x in (torch.zeros(2, dtype=torch.complex32), jax.numpy.ones(2, "int4")):
        for to in ("numpy", "arrayloom", "tensorflow"):
            with pytest.raises(TypeError, match="no elements"):
                b.convert(x, to)


@pytest.mark.frameworks("torch")
@pytest.mark.filterwarnings("ignore:ComplexHalf support:UserWarning")
def test_elements_that_only_torch_has():
    torch = importlib.import_module("torch")
    half = torch.tensor([1 + 2j, 3], dtype=torch.complex32)
    with pytest.raises(TypeError, match='pass dtype="complex64"'):
        b.plan(half, "numpy")
    assert b.to_numpy(half, dtype="complex64").tolist() == [1 + 2j, 3]
    with pytest.raises(BufferError, match="only torch has"):
        b.to_numpy(half, dtype="complex64", copy=False)
    for name in ("int1", "int4", "uint1", "uint7"):
        packed = torch.zeros(4, dtype=torch.int8).view(getattr(torch, name))
        with pytest.raises(TypeError, match="less than eight bits"):
            b.plan(packed, "numpy")
        with pytest.raises(TypeError, match="less than eight bits"):
            b.to_torch(packed, copy=True)
        assert b.to_torch(packed) is packed


@pytest.mark.frameworks("torch", "jax", "tensorflow")
def test_devices_that_are_not_there():
    data = np.ones((2, 3), np.float32)
    for place in ("cuda:99", "cuda:4711", "gpu:99"):
        for to in ("torch", "jax", "tensorflow"):
            for x in (data, b.convert(data, to)):
                with pytest.raises(b.FrameworkUnavailable, match="no cuda"):
                    b.convert(x, to, device=place)
    for place in ("cuda:0", "cuda", "opencl:0"):
        for to in ("numpy", "arrayloom"):
            with pytest.raises(ValueError, match=f"{to} has no arrays on"):
                b.convert(data, to, device=place)
    with pytest.raises(
        ValueError, match="torch has no arrays on banana:0; it has some on cpu, cuda"
    ):
        b.to_torch(data, device="banana")
    with pytest.raises(ValueError, match="has no arrays on cpu"):
        b.convert(data, "pyclesperanto", device="cpu")
    for place in ("cuda:x", "", ":1"):
        with pytest.raises(ValueError, match="a device is a text such as"):
            b.to_torch(data, device=place)
    with pytest.raises(TypeError, match="not 0"):
        b.to_torch(data, device=0)
    for to in ("numpy", "torch", "arrayloom"):
        assert b.convert(data, to, device="cpu:0").shape == (2, 3)
        with pytest.raises(
            ValueError, match="the host is one device, 'cpu', and there is no 'cpu:1'"
        ):
            b.convert(data, to, device="cpu:1")
    torch, jax = map(importlib.import_module, ("torch", "jax"))
    assert b.device(b.to_torch(data, device=torch.device("cpu"))) == "cpu"
    assert b.device(b.to_jax(data, device=jax.devices("cpu")[0])) == "cpu"


def test_words_that_mean_nothing():
    data = np.ones((2, 3), np.float32)
    for copy in (1, 0, "never", "always"):
        with pytest.raises(ValueError, match="copy must be True, False or None"):
            b.convert(data, "arrayloom", copy=copy)
    with pytest.raises(BufferError, match="copy=False is impossible"):
        b.convert(data.astype(">f4"), "arrayloom", copy=np.False_)
    assert not np.shares_memory(b.convert(data, "arrayloom", copy=np.True_), data)


@pytest.mark.frameworks("torch")
@pytest.mark.parametrize(
    ("name", "text"), [("int1", "uint8"), ("uint4", "uint8"), ("complex32", "complex64")]
)
def test_elements_of_torch_that_nobody_else_has(name, text):
    torch = importlib.import_module("torch")
    x = torch.empty(4, dtype=getattr(torch, name))
    for to in ("numpy", "arrayloom", "jax"):
        with pytest.raises(TypeError, match=text):
            b.convert(x, to)
    for whole in (torch.uint8, torch.int8):
        assert str(b.to_numpy(torch.ones(4, dtype=whole)).dtype) == str(whole).removeprefix(
            "torch."
        )
