"""Named cases 6 to 11: what is refused, isolated or shared by name."""

import importlib

import numpy as np
import pytest
from support.arrays import base, readonly, survives

import arrayloom.bridge as b
from arrayloom.bridge import dtypes
from arrayloom.bridge.errors import LossyConversionError


@pytest.mark.frameworks("torch", "jax", "tensorflow")
def test_case_6_what_has_no_memory_is_refused():
    torch, jax, tf = map(importlib.import_module, ("torch", "jax", "tensorflow"))
    gone = jax.numpy.ones(3)
    gone.delete()
    refused = (
        (torch.eye(3).to_sparse(), "to_dense"),
        (torch.empty(3, device="meta"), "meta"),
        (jax.random.key(0), "key_data"),
        (gone, "deleted"),
        (tf.constant(["text"]), "not numbers"),
        (tf.ragged.constant([[1], [2, 3]]), "to_tensor"),
        (tf.sparse.from_dense([[1, 0]]), "to_dense"),
        (np.array([object()]), "not numbers"),
        (np.zeros(2, [("a", int)]), "not numbers"),
        (np.zeros(2, "M8[s]"), "not numbers"),
        (np.zeros(2, np.longdouble), "not numbers"),
        (np.array(["text"]), "not numbers"),
    )
    for x, text in refused:
        with pytest.raises(TypeError, match=text):
            b.convert(x, "arrayloom")
    caught = []

    def traced(x):
        try:
            b.to_numpy(x)
        except TypeError as error:
            caught.append(str(error))
        return x

    jax.jit(traced)(jax.numpy.ones(2))
    assert "tracer" in caught[0]
    assert b.to_numpy(tf.Variable([1.0, 2.0])).tolist() == [1.0, 2.0]


@pytest.mark.frameworks("torch", "jax", "tensorflow")
@pytest.mark.filterwarnings("ignore:.*quantize:UserWarning")
@pytest.mark.parametrize("to", ["numpy", "arrayloom", "jax", "tensorflow"])
def test_case_6_quantized_tensors_are_refused(to):
    torch = importlib.import_module("torch")
    x = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8)
    for words in ({}, {"copy": False}, {"copy": True}):
        with pytest.raises(TypeError, match="dequantize"):
            b.convert(x, to, **words)
    assert b.to_numpy(x.dequantize()).tolist() == [1, 1, 1]


@pytest.mark.frameworks("jax")
def test_case_6_arrays_on_several_devices_are_refused():
    code = """
    import os
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    import jax, numpy as np, arrayloom.bridge as b
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("rows",))
    places = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("rows"))
    x = jax.device_put(jax.numpy.arange(8.0), places)
    try:
        b.to_arrayloom(x)
    except TypeError as error:
        print("spread over several devices" in str(error))
    """
    assert survives(code).splitlines()[-1] == "True"


@pytest.mark.frameworks("torch")
def test_case_7_masks():
    masked = np.ma.masked_array([1.0, 2.0], [False, True])
    with pytest.raises(TypeError, match="fill=VALUE"):
        b.to_torch(masked)
    assert b.to_torch(masked, fill=-1).tolist() == [1.0, -1.0]


@pytest.mark.frameworks("torch", "jax")
def test_case_8_writers_of_immutable_memory():
    jax = importlib.import_module("jax")
    x = jax.numpy.arange(4.0)
    with b.observe() as record:
        shared = b.to_torch(x)
    assert "immutable" in record.rows()[0].hazards[0]
    assert shared.data_ptr() == x.unsafe_buffer_pointer()
    mine = b.to_torch(x, readonly="copy")
    mine.add_(1)
    assert x.tolist() == [0, 1, 2, 3]
    with pytest.raises(BufferError, match="immutable"):
        b.to_torch(x, readonly="error")

    @b.torch(pure=False, output="numpy")
    def spoil(t):
        return t.add_(1)

    assert spoil(x).tolist() == [1, 2, 3, 4]
    assert x.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("to", ["jax", "tensorflow"])
@pytest.mark.frameworks("jax", "tensorflow", "torch")
def test_case_9_isolation(to):
    for make in (lambda: base("float32"), lambda: b.to_torch(base("float32"))):
        data = make()
        made = b.convert(data, to)
        shared = b.convert(data, to, copy=False)
        before = float(made[0, 1])
        data[0, 1] = 50
        assert float(made[0, 1]) == before
        assert float(shared[0, 1]) == 50


@pytest.mark.frameworks("jax")
def test_case_10_wide_elements_and_jax():
    jax = importlib.import_module("jax")
    data = dtypes.aligned_copy(np.array([2**40, 1]), 64)
    with pytest.raises(LossyConversionError, match="jax_enable_x64"):
        b.to_jax(data)
    narrowed = b.convert(np.array([3.0, 1e300]), "jax", lossy="allow")
    assert narrowed.dtype == "float32"
    turned = b.to_jax(np.array([1 + 2j, 3 - 4j]), lossy="allow")
    assert (turned.dtype, turned.tolist()) == ("complex64", [1 + 2j, 3 - 4j])
    with jax.enable_x64(True):
        wide = b.convert(readonly(data), "jax")
        assert wide.tolist() == [2**40, 1]
        assert wide.unsafe_buffer_pointer() == data.ctypes.data


@pytest.mark.frameworks("torch")
def test_case_11_small_floats_share():
    torch = importlib.import_module("torch")
    for dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
        x = torch.ones(8).to(dtype)
        made = b.to_numpy(x)
        assert (made.ctypes.data, made.dtype.name) == (x.data_ptr(), str(dtype)[6:])
        assert b.to_torch(made).data_ptr() == x.data_ptr()
