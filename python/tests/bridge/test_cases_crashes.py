"""Named cases 1 to 5: what ended processes or changed signs."""

import importlib

import numpy as np
import pytest
from support.arrays import base, survives

import arrayloom.bridge as b


@pytest.mark.frameworks("torch", "tensorflow")
def test_case_1_tensorflow_never_sees_unaligned_memory():
    code = """
    import torch, tensorflow as tf, arrayloom.bridge as b
    x = b.to_tensorflow(torch.arange(100.0)[1:])
    print(float(tf.reduce_sum(tf.sqrt(x * x))))
    """
    assert survives(code) == "4950.0"


@pytest.mark.frameworks("torch")
def test_case_2_protected_pages_are_copied(tmp_path):
    code = """
    import sys, numpy as np, torch, mmap, arrayloom.bridge as b
    path = sys.argv[1]
    np.arange(1000.0).tofile(path)
    file = open(path, "rb")
    for data in (
        np.memmap(path, dtype=float, mode="r"),
        np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)),
        np.memmap(path, dtype=float, mode="r")[10:].reshape(-1, 2),
        np.frombuffer(b"12345678"),
    ):
        made = b.to_torch(data)
        made.add_(1)
        print(bool((b.to_numpy(made) == data + 1).all()))
    """
    assert survives(code, tmp_path / "data").split() == ["True"] * 4


@pytest.mark.frameworks("torch")
def test_case_3_negative_steps_are_copied():
    code = """
    import numpy as np, arrayloom.bridge as b
    for data in (np.arange(6.0), np.arange(24, dtype=np.int16).reshape(4, 6)):
        print(b.to_torch(data[::-1]).tolist() == data[::-1].tolist())
    """
    assert survives(code).split() == ["True"] * 2


@pytest.mark.frameworks("torch", "jax", "tensorflow")
def test_case_4_signs_that_memory_does_not_show():
    torch = importlib.import_module("torch")
    z = torch.tensor([1 + 2j, 3 - 1j])
    assert z.conj().imag.is_neg()
    # The quick way, by the exchange table, and the planned way, which the keyword takes.
    for words in ({}, {"readonly": "share"}):
        for to in ("numpy", "jax", "tensorflow", "arrayloom"):
            assert b.to_numpy(b.convert(z.conj().imag, to, **words)).tolist() == [-2.0, 1.0]
            assert b.to_numpy(b.convert(z.conj(), to, **words)).tolist() == [1 - 2j, 3 + 1j]
    with pytest.raises(BufferError, match="resolve_conj"):
        b.convert(z.conj(), "numpy", copy=False)


@pytest.mark.frameworks("torch")
def test_case_5_gradients():
    torch = importlib.import_module("torch")
    x = torch.ones(3, requires_grad=True)
    for to in ("numpy", "arrayloom"):
        with pytest.raises(BufferError, match="detach"):
            b.convert(x, to)
    assert b.to_numpy(x, detach=True).ctypes.data == x.data_ptr()
    layer = torch.nn.Linear(2, 2)
    assert b.kind(layer.weight) == "torch"
    assert b.to_numpy(layer.weight, detach=True).shape == (2, 2)


@pytest.mark.frameworks("tensorflow")
def test_tensorflow_gets_row_major_steps_only():
    data = base("float32")
    for part in (data[:1, ::4][:, :1], data[::2][:1], data[:0, ::2], data[:, 3:4]):
        made = b.to_tensorflow(part)
        assert tuple(made.shape) == part.shape
        assert np.array_equal(made.numpy(), part)
    with pytest.raises(ValueError, match="row-major arrays only"):
        b.to_tensorflow(data, order="F")


@pytest.mark.frameworks("tensorflow")
@pytest.mark.parametrize("dtype", ["bool", "float32", "bfloat16", "float8_e4m3fn", "complex64"])
def test_tensorflow_copies_every_element_type(dtype):
    x = b.to_tensorflow(base(dtype) if dtype == "bool" else -base(dtype))
    made = b.convert(x, "tensorflow", copy=True)
    assert made is not x
    assert b.to_numpy(made).tobytes() == b.to_numpy(x).tobytes()
    if dtype != "float8_e4m3fn":
        assert b.to_numpy(made).ctypes.data != b.to_numpy(x).ctypes.data
