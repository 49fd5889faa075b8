"""The usual conversions, done without a plan in Python, against the planner that they stand for."""

import gc
import importlib
import itertools
import weakref

import numpy as np
import pytest
from support.arrays import DTYPES, LAYOUTS, SMALL, WIDE, base, readonly

import arrayloom as al
import arrayloom.bridge as b
from arrayloom import _ext
from arrayloom.bridge import registry

HOST = ("numpy", "torch", "jax", "tensorflow", "arrayloom")


def start(*names):
    """Import frameworks, so that what they take is known."""
    for name in names:
        registry.require(registry.get(name))


def outcome(convert, data):
    """What became of a conversion: an error's type, or values and whether memory is shared."""
    try:
        made = convert()
    except (TypeError, ValueError, BufferError) as error:
        return type(error)
    back = b.convert(made, "numpy", detach=True)
    return (
        b.kind(made),
        back.dtype,
        back.shape,
        back.tobytes(),
        bool(data.size) and back.ctypes.data == data.ctypes.data,
    )


def planned(x, to, copy):
    with b.observe():
        return b.convert(x, to, copy=copy)


@pytest.mark.parametrize("source", HOST)
@pytest.mark.frameworks("torch", "jax", "tensorflow")
def test_usual_conversions_do_what_the_planner_does(source):
    start(*HOST)
    compared = 0
    for dtype, layout, copy in itertools.product(DTYPES, LAYOUTS, (None, False)):
        data = LAYOUTS[layout](dtype)
        if layout == "bigendian" and dtype in SMALL:
            continue
        try:
            x = data if source == "numpy" else b.convert(data, source)
        except (TypeError, ValueError):
            continue
        memory = x if source == "numpy" else b.convert(x, "numpy")
        for to in HOST:
            if to == source:
                continue
            quick = outcome(lambda x=x, to=to, copy=copy: b.convert(x, to, copy=copy), memory)
            slow = outcome(lambda x=x, to=to, copy=copy: planned(x, to, copy), memory)
            assert quick == slow, (dtype, layout, copy, source, to)
            compared += 1
    assert compared > 1000


@pytest.mark.frameworks("torch", "jax", "tensorflow")
def test_usual_pairs_need_no_planner(no_planner):
    start(*HOST)
    data = base("float32")
    made = {"numpy": data, "arrayloom": al.ones((300, 300), al.float32)}
    for to in ("torch", "jax", "tensorflow"):
        made[to] = b.convert(data, to)
    for source, to in itertools.product(HOST, HOST):
        for words in ({}, {"copy": None}, {"copy": False} if source != "arrayloom" else {}):
            found = b.convert(made[source], to, **words)
            assert b.kind(found) == to
            assert getattr(b, f"to_{to}")(made[source], **words).shape == made[source].shape
    # A name that was made just now is the same name.
    assert b.kind(b.convert(data, "".join(["to", "rch"]))) == "torch"
    assert b.convert(data, "".join(["num", "py"])) is data


@pytest.mark.frameworks("jax", "tensorflow", "torch")
def test_copies_of_the_usual_way_belong_to_the_result():
    start(*HOST)
    for to in ("jax", "tensorflow"):
        for data in (base("float32"), base("int16")[:, ::2], b.to_torch(base("uint8"))):
            before = np.array(b.to_numpy(data))
            made = b.convert(data, to)
            data[...] = 9
            del data
            gc.collect()
            assert np.array_equal(b.to_numpy(made), before)


@pytest.mark.frameworks("jax")
def test_wide_elements_follow_the_setting_of_jax():
    jax = importlib.import_module("jax")
    start("jax")
    data = readonly(base("float64"))
    assert data.dtype.name in WIDE
    with pytest.raises(b.LossyConversionError):
        b.to_jax(data)
    with jax.enable_x64(True):
        made = b.to_jax(data)
        assert made.unsafe_buffer_pointer() == data.ctypes.data
    with pytest.raises(b.LossyConversionError):
        b.to_jax(data)
    assert b.to_numpy(made).dtype == np.float64


@pytest.mark.frameworks("torch")
def test_write_protected_memory_never_goes_to_torch_by_the_usual_way(tmp_path):
    start("torch")
    np.arange(8.0).tofile(tmp_path / "data")
    data = np.memmap(tmp_path / "data", mode="r", dtype=float).view(np.ndarray)
    made = b.to_torch(data)
    assert made.data_ptr() != data.ctypes.data
    made.add_(1)
    assert data[0] == 0


class Buffer:
    """An array of a framework that lends and takes memory by functions."""

    def __init__(self, data):
        self.data = data


def taken(capsule):
    array, _, _ = _ext.bridge.from_capsule(capsule)
    return Buffer(array)


def specification(**words):
    return b.FrameworkSpec(
        name="eighth",
        modules=("numpy",),
        array_types=(f"{__name__}:Buffer",),
        hooks=b.Hooks(
            to_host=lambda x, _: x.data,
            from_host=lambda a, _: Buffer(a),
            dtype=lambda x: x.data.dtype.name,
            view=lambda x: x.data,
            accept=lambda: taken,
        ),
        **words,
    )


@pytest.fixture
def eighth():
    b.register(specification(align=128, layouts=b.Layouts.COMPACT_C, dtypes=frozenset({"float32"})))
    start("eighth")
    yield
    del registry._specs["eighth"]
    registry._started.discard("eighth")
    b.register(registry.get("numpy"))


def test_a_framework_of_others_has_the_usual_way(eighth, no_planner):
    data = np.arange(12, dtype=np.float32).reshape(3, 4)
    for x in (data[:, ::2], data.T, data[::-1], al.ones((200, 300), al.float32)[:, 1:]):
        made = b.convert(x, "eighth")
        assert made.data.ctypes.data % 64 == 0
        assert np.array_equal(made.data, np.asarray(x))
        assert b.convert(made, "numpy") is made.data
        assert np.shares_memory(b.convert(made, "arrayloom"), made.data)


def test_a_rule_that_changes_is_read_again(eighth):
    data = np.arange(3)
    with pytest.raises(TypeError, match="no elements of type int64"):
        b.convert(data, "eighth")
    b.register(specification())
    assert np.shares_memory(b.convert(data, "eighth").data, data)


def test_a_view_that_fails_is_looked_at_by_the_planner(eighth):
    with pytest.raises(AttributeError):
        b.convert(Buffer(None), "numpy")


def test_lent_memory_lives_as_long_as_the_result(eighth):
    class Memory(bytearray):
        """Memory that can be watched as it dies."""

    memory = Memory(bytes(4 * 256))
    there = weakref.ref(memory)
    array = np.frombuffer(memory, np.float32)
    start_at = -array.ctypes.data % 128 // 4
    made = b.convert(array[start_at : start_at + 32], "eighth")
    del memory, array
    gc.collect()
    assert there() is not None
    del made
    gc.collect()
    assert there() is None
