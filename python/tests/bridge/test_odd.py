"""Decorated functions with arrays that have no plain memory: sparse, nested, ragged, deleted ones and the like."""

import importlib

import numpy as np
import pytest

import arrayloom.bridge as b

DATA = np.array([[1, 0, 2], [0, 0, 3]], np.float32)


def tensors(torch):
    """Tensors of torch that tell little of themselves, with a word of the error elsewhere."""
    with torch.inference_mode():
        unseen = torch.ones(2, 3)
    return {
        "sparse": (torch.tensor(DATA).to_sparse(), "call x.to_dense()"),
        "rows": (torch.tensor(DATA).to_sparse_csr(), "call x.to_dense()"),
        "nested": (torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)]), "is nested"),
        "jagged": (
            torch.nested.nested_tensor([torch.ones(2), torch.ones(1)], layout=torch.jagged),
            "is nested",
        ),
        "meta": (torch.ones(2, 3, device="meta"), "move it to 'cpu' first"),
        "inference": (unseen, None),
    }


@pytest.mark.frameworks("torch")
@pytest.mark.filterwarnings("ignore:.*(beta|prototype) s.*:UserWarning")
@pytest.mark.parametrize("name", ["sparse", "rows", "nested", "jagged", "meta", "inference"])
def test_tensors_of_torch_without_plain_memory(name):
    odd, text = tensors(importlib.import_module("torch"))[name]
    check("torch", odd, text)


@pytest.mark.frameworks("tensorflow")
@pytest.mark.parametrize("name", ["ragged", "sparse", "unknown"])
def test_tensors_of_tensorflow_without_plain_memory(name):
    tf = importlib.import_module("tensorflow")
    odd, text = {
        "ragged": lambda: (tf.ragged.constant([[1.0, 2.0], [3.0]]), "call x.to_tensor"),
        "sparse": lambda: (tf.sparse.from_dense(DATA), "call tf.sparse.to_dense"),
        "unknown": lambda: (tf.Variable(DATA, shape=tf.TensorShape(None)), None),
    }[name]()
    check("tensorflow", odd, text)


@pytest.mark.frameworks("jax")
def test_arrays_of_jax_that_are_gone():
    gone = importlib.import_module("jax").numpy.ones((2, 3))
    gone.delete()
    check("jax", gone, "deleted or donated")


def check(kind, odd, text):
    """Make sure that an odd array passes between functions of its framework, and is refused elsewhere by a text."""
    same = b.uses(kind)
    assert same(lambda x: x)(odd) is odd
    assert same(lambda x: x[0])([odd]) is odd
    assert same(lambda x: odd)(DATA) is odd
    assert same(lambda x: (x, odd))(DATA)[1] is odd
    assert same(lambda x: DATA)(odd) is DATA
    fails = iter([True])

    @same
    def survives(x):
        if next(fails, False):
            raise MemoryError
        return x

    assert survives(odd) is odd
    with pytest.raises(b.OutOfMemory, match="run again: out of memory again"):
        same(exhausted)(odd)
    elsewhere = (
        lambda: b.uses(kind, output="numpy")(lambda x: odd)(DATA),
        lambda: b.uses(kind, output="numpy")(lambda x: (x, odd))(DATA),
        lambda: b.numpy(lambda x: x)(odd),
    )
    for convert in elsewhere:
        if text is None:
            convert()
            continue
        with pytest.raises(TypeError, match=text):
            convert()
    if text is not None:
        with pytest.raises(b.OutOfMemory, match=f"CPU: this .*{text}"):
            b.uses(kind, cpu="numpy")(exhausted)(odd)
        with pytest.raises(TypeError, match=text):
            same(lambda x: x)(odd, slice_by_slice=True)


def exhausted(_x):
    raise MemoryError


@pytest.mark.frameworks("torch")
def test_casts_of_sparse_tensors():
    torch = importlib.import_module("torch")
    wide = b.torch(lambda x: x.to_sparse())(torch.tensor(DATA, dtype=torch.float64))
    assert wide.dtype == torch.float64
    small = b.torch(lambda x: x.float().to_sparse())(torch.tensor(DATA, dtype=torch.float64))
    assert (small.dtype, small.to_dense().tolist()) == (torch.float64, DATA.tolist())
    for function in (lambda x: x.double().to_sparse(), lambda x: x.long().to_sparse()):
        with pytest.raises(
            TypeError, match=r"goes over all elements: .*to_dense.*or pass dtype=None"
        ):
            b.torch(function)(DATA)
        assert b.torch(dtype=None)(function)(DATA).to_dense().tolist() == DATA.tolist()
