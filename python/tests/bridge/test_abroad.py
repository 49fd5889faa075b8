"""Memory of devices between frameworks that know them, without a plan in Python, against the planner."""

import ctypes
import itertools
import sys
import types
from dataclasses import replace

import numpy as np
import pytest
from support import tables
from support.arrays import pyclesperanto
from support.gpu import Frameworks, Other
from support.planner import Planned

import arrayloom.bridge as b
from arrayloom.bridge import registry
from arrayloom.bridge.foreign import DeviceArray

KINDS = Frameworks.NAMES


@pytest.fixture
def sim():
    made = Frameworks(usual=True)
    for name in KINDS:
        registry.require(registry.get(name))
    yield made
    made.close()


def outcome(sim, source, to, words, place="cuda:0"):
    """What became of a conversion, and what the driver and the frameworks were asked for."""
    x = sim.new(np.arange(6, dtype=np.float32), stream=5, place=place)
    if source != "sim_ordered":
        x = type(x).__subclasses__()[KINDS.index(source) - 1](x.memory, place)
    sim.gpu.calls.clear()
    sim.entered.clear()
    try:
        made = b.convert(x, to, **words)
    except (BufferError, TypeError, ValueError) as error:
        return type(error), str(error)
    shared = to in KINDS and made.memory._address == x.memory._address
    return b.kind(made), type(made), list(sim.gpu.calls), list(sim.entered), made is x, shared


WORDS = (
    {},
    {"copy": False},
    {"copy": None, "device": None, "stream": None},
    {"device": "cuda:0"},
    {"device": "cuda:0", "copy": False},
    {"device": "cuda"},
    {"device": "cuda:1"},
    {"device": "cpu"},
    {"device": "cpu:0"},
    {"device": "cuda:x"},
    {"device": ""},
    {"device": 3},
)


@pytest.mark.parametrize("words", WORDS, ids=repr)
@pytest.mark.parametrize("place", ["cuda:0", "cuda:1"])
def test_devices_do_what_the_planner_does(sim, words, place):
    for source, to in itertools.product(KINDS, (*KINDS, "arrayloom")):
        if to == "arrayloom" and words.get("device") is None:
            continue
        quick = outcome(sim, source, to, words, place)
        with b.observe():
            slow = outcome(sim, source, to, words, place)
        if len(quick) > 2 and quick[3] != slow[3]:
            # The device that is current already is not made current again.
            assert (quick[3], slow[3]) == ([], [("cuda:0", None)])
            quick = (*quick[:3], slow[3], *quick[4:])
        assert quick == slow, (source, to)


@pytest.mark.parametrize("words", WORDS[:5], ids=repr)
def test_devices_need_no_planner(sim, no_planner, words):
    for source, to in itertools.product(KINDS, KINDS):
        found = outcome(sim, source, to, words)
        assert found[0] == to
        assert found[4:] == (source == to, True)
    x = sim.new(np.zeros(3, np.float32))
    kept = b.to_arrayloom(x, device="cuda:0")
    assert isinstance(kept, DeviceArray)
    assert b.to_arrayloom(kept, device="cuda:0") is kept
    for to in KINDS:
        again = b.convert(kept, to, **words)
        assert (b.kind(again), again.memory._address) == (to, x.memory._address)


def test_the_planner_keeps_what_is_peculiar(sim, no_planner):
    x = sim.new(np.zeros(3, np.float32))
    b.convert(x, "sim_other")
    with pytest.raises(Planned), b.stream("cuda:0", 9):
        b.convert(x, "sim_other")
    for words in (
        {"stream": 9},
        {"copy": True},
        {"dtype": "int8"},
        {"order": None},
        {"nonsense": 1},
    ):
        with pytest.raises(Planned):
            b.convert(x, "sim_other", **words)
    sim.device = 1
    with pytest.raises(Planned):
        b.convert(x, "sim_other")
    # A framework that makes no device current does not care.
    b.convert(x, "sim_unordered")
    for to in ("numpy", "arrayloom"):
        with pytest.raises(Planned):
            b.convert(x, to)


def test_who_takes_no_stream_is_waited_for(sim, no_planner):
    x = sim.new(np.zeros(4, np.float32))
    sim.gpu.fill(7, x.memory._address, 2.0)
    b.convert(x, "sim_unordered")
    assert sim.gpu.calls == [("synchronize", 7)]
    assert np.frombuffer(sim.gpu.blocks[x.memory._address], np.float32).tolist() == [2.0] * 4
    kept = DeviceArray(sim, x.memory._address, "cuda:0", "float32", (4,), (4,), stream=8)
    b.convert(kept, "sim_unordered")
    assert sim.gpu.calls[1:] == [("synchronize", 8)]


def test_copies_stay_on_the_device(sim):
    x = sim.new(np.arange(4, dtype=np.float32))
    with pytest.raises(BufferError, match="as it is"):
        b.to_arrayloom(x, device="cuda:0", copy=True)
    with pytest.raises(BufferError, match="as it is"):
        b.to_arrayloom(x, device="cuda:0", dtype="int8")
    with b.observe() as record:
        made = b.convert(x, "sim_other", copy=True)
    # These frameworks have no copy of their own: it goes over the host.
    assert (record.rows()[0].route, record.rows()[0].nbytes) == ("download", 16)
    assert made.memory._address != x.memory._address
    assert made.memory.to_host().tolist() == [0, 1, 2, 3]
    b.register(with_copy(registry.get("sim_other"), sim))
    with b.observe() as record:
        made = b.convert(x, "sim_other", copy=True)
    assert (record.rows()[0].route, record.rows()[0].nbytes) == ("copy", 16)
    assert isinstance(made, Other)
    assert made.memory.to_host().tolist() == [0, 1, 2, 3]


def with_copy(spec, sim):
    hooks = replace(spec.hooks, copy=lambda x: Other(sim.new(x.memory.to_host()).memory))
    return replace(spec, hooks=hooks)


class Tabled:
    """A tensor with an exchange table, as torch's: whatever its memory is, the table says so."""

    def __init__(self, device=(2, 0), code=2, bits=32, **words):
        self.tensor = (device, code, bits)
        self.requires_grad = words.get("requires_grad", False)
        self.negative = words.get("negative", False)

    def is_neg(self):
        return self.negative

    def is_conj(self):
        return False


@pytest.fixture
def tabled(sim):
    """A framework whose tensors are described by a table; how many of its tensors are out."""
    table = tables.Table(lambda x: x.tensor)
    Tabled.__dlpack_c_exchange_api__ = table.capsule
    sys.modules["tabled"] = types.ModuleType("tabled")
    b.register(
        b.FrameworkSpec(
            name="tabled",
            modules=("tabled",),
            array_types=(f"{__name__}:Tabled",),
            mutable=b.Mutability.ALWAYS,
            devices=frozenset({"cpu", "cuda"}),
            asks_stream=True,
            orders_exports=True,
            hooks=b.Hooks(
                to_host=lambda x, _: np.zeros(2, np.float32),
                from_host=lambda a, _: Tabled((1, 0)),
                device=lambda x: "cpu" if x.tensor[0][0] == 1 else f"cuda:{x.tensor[0][1]}",
                dtype=lambda _: "float32",
                take=lambda: lambda x: Tabled(x.__dlpack_device__()),
                table=lambda: Tabled,
            ),
        )
    )
    registry.require(registry.get("tabled"))
    take = registry.get("sim_other").hooks.take()

    def other(x):
        return x if isinstance(x, Tabled) else take(x)

    spec = registry.get("sim_other")
    b.register(replace(spec, hooks=replace(spec.hooks, take=lambda: other)))
    yield table
    del registry._specs["tabled"]
    registry._started.discard("tabled")
    del Tabled.__dlpack_c_exchange_api__
    b.register(registry.get("numpy"))


def test_tensors_with_a_table_on_a_device(tabled, sim, no_planner):
    x = Tabled()
    # The simulated consumer gives the tensor back as it came.
    for words in WORDS[:5]:
        assert b.convert(x, "sim_other", **words) is x
        assert b.convert(x, "tabled", **words) is x
    made = b.convert(sim.new(np.zeros(2, np.float32)), "tabled")
    assert made.tensor[0] == (2, 0)
    for peculiar in (
        Tabled((2, 1)),
        Tabled((10, 0)),
        Tabled((3, 0)),
        Tabled(requires_grad=True),
        Tabled(negative=True),
    ):
        for words in ({}, {"device": "cuda:0"}):
            with pytest.raises(Planned):
                b.convert(peculiar, "sim_other", **words)
    with pytest.raises(Planned):
        b.convert(x, "tabled", device="cuda:1")
    # The values are those that the tensor's own framework sees.
    grad = Tabled(requires_grad=True)
    assert b.convert(grad, "tabled", device="cuda:0") is grad
    assert tabled.given > 10
    assert tabled.out == 0


@pytest.mark.frameworks("pyclesperanto")
def test_buffers_stay_on_their_device(no_planner):
    cle = pyclesperanto()
    image = cle.push(np.arange(12, dtype=np.float32).reshape(3, 4))
    place = b.device(image)
    kept = b.to_arrayloom(image, device=place)
    assert (kept.shape, kept.dtype, kept.device) == ((3, 4), "float32", place)
    for words in ({}, {"copy": False}, {"device": place}):
        again = b.to_pyclesperanto(kept, **words)
        cle.set_column(again, 1, 9)
        assert image.get()[:, 1].tolist() == [9] * 3
    assert b.to_pyclesperanto(image, device=place) is image


@pytest.mark.frameworks("pyclesperanto")
def test_buffers_that_are_kept_come_to_the_host():
    cle = pyclesperanto()
    data = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    kept = b.to_arrayloom(cle.push(data), device="opencl:0")
    assert b.plan(kept, "pyclesperanto").route == "device"
    assert b.plan(kept, "numpy").nbytes == data.nbytes
    for to in ("numpy", "arrayloom"):
        assert np.array_equal(b.convert(kept, to), data)
    with b.observe() as record:
        copied = b.convert(kept, "pyclesperanto", copy=True)
    assert (record.rows()[0].route, record.rows()[0].nbytes) == ("copy", data.nbytes)
    copied.set(np.zeros_like(data))
    assert np.array_equal(b.to_numpy(kept), data)
    # Four axes are no image.
    form = ("int16", (1, 2, 3, 4), (48, 24, 8, 2))
    whole = DeviceArray(kept, kept.handle, "opencl:0", *form, lender="pyclesperanto")
    with pytest.raises(ValueError, match="reshape it first"):
        b.to_pyclesperanto(whole)
    assert b.to_numpy(whole).shape == (1, 2, 3, 4)
    # Nobody vouches for this handle, so it is not used.
    stranger = DeviceArray(kept, 64, "opencl:0", "int16", (3,), (2,))
    for to in ("numpy", "pyclesperanto"):
        with pytest.raises(BufferError, match="no driver"):
            b.convert(stranger, to)


def test_a_table_is_as_large_as_the_header_says():
    assert ctypes.sizeof(tables.ExchangeTable) == 56
