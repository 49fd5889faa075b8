"""Memory of CUDA devices, on a simulated one: who waits for whom, who copies, which protocol is spoken."""

import ctypes
import gc
import sys
import types
import weakref

import numpy as np
import pytest
from support.gpu import Frameworks, Sim, Unordered

import arrayloom.bridge as b
from arrayloom.bridge import drivers, registry, streams
from arrayloom.bridge.foreign import DeviceArray


@pytest.fixture
def sim():
    made = Frameworks()
    yield made
    made.close()


def lent(x, sim):
    """The value that a consumer's stream sees once it has run."""
    sim.gpu.run(x.memory._stream)
    return np.frombuffer(sim.gpu.blocks[x.memory._address], np.float32)


class Interface:
    """Only ``__cuda_array_interface__``, of a version."""

    def __init__(self, **words):
        self.__cuda_array_interface__ = words


def interface(sim, data, **words):
    data = np.asarray(data)
    address = sim.gpu.allocate(data)
    found = {"shape": data.shape, "typestr": data.dtype.str, "data": (address, False), "version": 3}
    return Interface(**{**found, **words})


def test_a_consumer_with_a_stream_waits_by_an_event(sim):
    x = sim.new(np.zeros(4, np.float32), stream=5)
    sim.gpu.fill(5, x.memory._address, 3.0)
    made = b.convert(x, "sim_ordered", device="cuda:0")
    assert made is x
    taken = b.from_dlpack(b.to_dlpack(x, stream=9), "arrayloom", device="cuda:0")
    assert sim.gpu.calls == [("record", 5), ("wait", 9, 5)]
    assert taken.shape == (4,)
    sim.gpu.run(9)
    assert np.frombuffer(sim.gpu.blocks[x.memory._address], np.float32).tolist() == [3.0] * 4


def test_a_consumer_without_a_stream_is_waited_for(sim):
    x = sim.new(np.zeros(4, np.float32), stream=None)
    sim.gpu.fill(7, x.memory._address, 2.0)
    made = b.convert(x, "sim_unordered")
    assert isinstance(made, Unordered)
    assert ("synchronize", 7) in sim.gpu.calls
    assert np.frombuffer(sim.gpu.blocks[x.memory._address], np.float32).tolist() == [2.0] * 4


def test_the_stream_of_the_block_is_used(sim):
    x = interface(sim, np.ones(4, np.float32), stream=5)
    sim.gpu.fill(5, x.__cuda_array_interface__["data"][0], 6.0)
    with b.stream("cuda:0", 11):
        made = b.convert(x, "sim_ordered")
    assert sim.entered == [("cuda:0", 11)]
    assert sim.gpu.calls == [("record", 5), ("wait", 11, 5)]
    assert lent(made, sim).tolist() == [6.0] * 4
    b.convert(x, "sim_ordered", stream=13)
    assert sim.gpu.calls[-1] == ("wait", 13, 5)


def test_no_order_is_asked_for(sim):
    x = sim.new(np.zeros(4, np.float32))
    with b.stream("cuda:0", -1):
        b.convert(x, "sim_unordered")
    assert sim.gpu.calls == []
    with pytest.raises(BufferError, match="stream 0 is not allowed"):
        b.to_dlpack(x, stream=0)


def test_a_decorated_function_runs_on_a_stream_of_its_thread(sim):
    seen = []

    @b.uses("sim_ordered", dtype=None)
    def work(x):
        seen.append(sim.current)
        return x

    x = sim.new(np.zeros(4, np.float32))
    work(x)
    work(x)
    own = seen[0]
    assert seen == [own, own]
    assert own >= 100
    assert sim.gpu.calls[:4] == [("record", 7), ("wait", own, 7), ("record", own), ("wait", 7, own)]
    assert sim.kept == [7, 7]
    with b.stream("cuda:0", 12):
        work(x)
    assert seen[-1] == 12


def test_downloads_wait_and_keep_steps(sim):
    whole = np.arange(24, dtype=np.float32).reshape(4, 6)
    address = sim.gpu.allocate(whole)
    view = whole[::-2, 1::2]
    first = view.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    x = DeviceArray(sim, address + first, "cuda:0", "float32", view.shape, view.strides, stream=5)
    for to in ("numpy", "arrayloom"):
        made = b.convert(x, to)
        assert b.kind(made) == to
        assert np.array_equal(made, view)
    assert ("synchronize", 5) in sim.gpu.calls
    with pytest.raises(BufferError, match="lies on cuda:0"):
        b.convert(x, "numpy", copy=False)
    assert b.convert(x, "numpy", dtype="int16").dtype == np.int16
    assert DeviceArray(sim, 0, "cuda:0", "int8", (0, 3), (3, 1)).to_host().shape == (0, 3)


def test_the_cuda_array_interface_comes_in(sim):
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = interface(sim, data)
    assert b.device(x) == "cuda:0"
    assert np.array_equal(b.to_numpy(x), data)
    made = b.convert(x, "sim_ordered")
    assert isinstance(made, Sim)
    assert np.array_equal(made.memory.to_host(), data)
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is not None
    del made
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"version": 1}, "too old"),
        ({"stream": 0}, "stream 0"),
        ({"mask": object()}, "mask"),
        ({"typestr": ">f4"}, "elements"),
        ({"typestr": "|O8"}, "elements"),
    ],
)
def test_a_broken_cuda_array_interface_is_refused(sim, words, text):
    with pytest.raises(BufferError, match=text):
        b.to_numpy(interface(sim, np.ones(2, np.float32), **words))


def test_version_2_waits_for_the_default_stream(sim):
    x = interface(sim, np.ones(2, np.float32), version=2)
    b.to_numpy(x)
    assert sim.gpu.calls == [("synchronize", 1)]


def test_arrays_of_devices_lend_on_by_both_protocols(sim):
    x = sim.new(np.arange(6, dtype=np.float32).reshape(2, 3))
    lends = b.to_arrayloom(x, device="cuda:0")
    assert isinstance(lends, DeviceArray)
    assert (lends.ndim, lends.nbytes, b.kind(lends)) == (2, 24, None)
    found = lends.__cuda_array_interface__
    assert found["data"] == (x.memory._address, False)
    assert (found["version"], found["strides"], found["typestr"]) == (3, (12, 4), "<f4")
    # A later consumer of the interface is told which stream to wait for.
    assert found["stream"] == 1
    assert lends.__dlpack_device__() == (2, 0)
    again = b.convert(lends, "sim_ordered")
    assert again.memory._address == x.memory._address
    assert "float32 (2, 3) on cuda:0" in repr(lends)
    with pytest.raises(BufferError, match="only there"):
        lends.__dlpack__(copy=True)
    assert b.to_arrayloom(x).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_read_only_memory_of_devices(sim):
    x = interface(sim, np.ones(2, np.float32))
    x.__cuda_array_interface__["data"] = (x.__cuda_array_interface__["data"][0], True)
    lends = b.convert(x, "arrayloom", device="cuda:0")
    assert lends.readonly
    with pytest.raises(BufferError, match="max_version"):
        lends.__dlpack__()
    again = DeviceArray.of_capsule(lends.__dlpack__(max_version=(1, 0)))
    assert again.readonly


def test_plans_touch_nothing(sim):
    x = sim.new(np.zeros((2, 2), np.float32))
    assert b.plan(x, "sim_unordered").route == "device"
    assert b.plan(x, "numpy").route == "download"
    assert b.plan(x, "arrayloom", device="cuda:0").route == "device"
    assert b.plan(x, "arrayloom").nbytes == 16
    assert sim.gpu.calls == []


def test_other_families_have_no_driver_here():
    x = DeviceArray(object(), 64, "metal:0", "float32", (2,), (4,))
    with pytest.raises(BufferError, match="no driver"):
        b.to_numpy(x)
    with pytest.raises(AttributeError, match="metal:0"):
        x.__cuda_array_interface__  # noqa: B018 - the access raises


class Library:
    """CUDA's driver library as its functions, which write down what they get."""

    def __init__(self, status=0):
        self.names = []
        self.status = status

    def __getattr__(self, name):
        if not name.startswith("cu"):
            raise AttributeError(name)

        def function(*args):
            self.names.append(name)
            if name in ("cuStreamCreate", "cuEventCreate", "cuDevicePrimaryCtxRetain"):
                args[0]._obj.value = 0x77
            if name == "cuMemcpyDtoH_v2":
                ctypes.memset(args[0]._obj, 5, args[2].value)
            if name == "cuMemGetInfo_v2":
                args[0]._obj.value, args[1]._obj.value = 10, 20
            return self.status

        return function


def test_the_driver_speaks_cuda():
    library = Library()
    driver = drivers.CudaDriver(library)
    assert driver.new_stream("cuda:0") == 0x77
    driver.wait("cuda:0", 5, driver.record("cuda:0", 3))
    driver.synchronize("cuda:0", 3)
    assert driver.read("cuda:0", 0x1000, 3) == b"\5\5\5"
    assert driver.memory("cuda:0") == (10, 20)
    assert library.names.count("cuDevicePrimaryCtxRetain") == 1
    assert library.names.count("cuEventDestroy_v2") == 1
    with pytest.raises(b.FrameworkUnavailable, match="cuInit failed with status 100"):
        drivers.CudaDriver(Library(100))
    with pytest.raises(b.FrameworkUnavailable, match="NVIDIA driver"):
        drivers.CudaDriver("libnothing_like_it.so")


@pytest.mark.parametrize(
    ("family", "number", "expected"),
    [
        ("cpu", None, None),
        ("cpu", -1, None),
        ("cuda", None, 1),
        ("cuda", 2, 2),
        ("cuda", -1, None),
        ("rocm", None, 0),
        ("rocm", 0, 0),
        ("cuda", 0, BufferError),
        ("rocm", 1, BufferError),
        ("cpu", 1, BufferError),
        ("cuda", -2, BufferError),
    ],
)
def test_stream_numbers(family, number, expected):
    if expected is BufferError:
        with pytest.raises(BufferError):
            streams.check_stream(family, number)
    else:
        assert streams.check_stream(family, number) == expected


def test_streams_nest():
    with b.stream("cuda:0", 7), b.stream("cuda:1", 8), b.stream("cuda:0", 9):
        assert (streams.current("cuda:0"), streams.current("cuda:1")) == (9, 8)
    assert streams.current("cuda:0") is None
    with b.stream("cuda", 7):
        assert streams.current("cuda:0") == 7


@pytest.mark.parametrize("place", ["foo", "opencl:0", "metal:1"])
def test_devices_without_streams_have_none_to_name(place):
    with pytest.raises(ValueError, match="has no streams that could be named; cuda, rocm have"):
        b.stream(place, 7).__enter__()


class OnGpu:
    """An array of a framework whose device is not here."""

    def __init__(self, place):
        self.place = place
        self.dtype = np.dtype("float32")


@pytest.fixture
def two_gpu_frameworks():
    log = []

    def spec(name, cls):
        sys.modules.setdefault(name, types.ModuleType(name))
        b.register(
            b.FrameworkSpec(
                name=name,
                modules=(name,),
                array_types=(f"{__name__}:{cls}",),
                devices=frozenset({"cuda"}),
                mutable=b.Mutability.ALWAYS,
                hooks=b.Hooks(
                    to_host=lambda x, _: log.append("download") or np.ones(3, np.float32),
                    from_host=lambda a, _: log.append("upload") or OnGpu("cuda:0"),
                    device=lambda x: x.place,
                    adopt=lambda x, _: log.append("adopt") or Other(x.place),
                ),
            )
        )

    spec("fake_gpu", "OnGpu")
    spec("other_gpu", "Other")
    yield log
    for name in ("fake_gpu", "other_gpu"):
        del registry._specs[name]
        registry._started.discard(name)
        del sys.modules[name]
    b.register(registry.get("numpy"))


class Other(OnGpu):
    pass


def test_device_memory_stays_on_its_device(two_gpu_frameworks):
    made = b.convert(OnGpu("cuda:1"), "other_gpu")
    assert (type(made), made.place, two_gpu_frameworks) == (Other, "cuda:1", ["adopt"])
    assert b.convert(OnGpu("cuda:1"), "numpy").tolist() == [1, 1, 1]
    assert two_gpu_frameworks[1:] == ["download"]
    with pytest.raises(BufferError, match="lies on cuda:1"):
        b.convert(OnGpu("cuda:1"), "numpy", copy=False)
    b.convert(np.ones(3, np.float32), "fake_gpu")
    assert two_gpu_frameworks[-1] == "upload"


def test_arguments_on_two_devices_are_an_error(two_gpu_frameworks):
    @b.uses("fake_gpu")
    def f(x, y):
        return x

    with pytest.raises(ValueError, match="different devices: cuda:0, cuda:1"):
        f(OnGpu("cuda:0"), OnGpu("cuda:1"))


@pytest.mark.parametrize("to", ["numpy", "torch", "jax", "tensorflow", "cupy", "arrayloom"])
def test_memory_of_a_device_without_a_driver_is_told_before_a_framework_is_asked(monkeypatch, to):
    def none():
        msg = "memory of CUDA devices needs the NVIDIA driver"
        raise b.FrameworkUnavailable(msg)

    monkeypatch.setitem(drivers._makers, "cuda", none)
    monkeypatch.setattr(drivers, "_drivers", {})
    data = {"shape": (3,), "typestr": "<f4", "data": (4096, False), "version": 3}
    x = Interface(**data)
    with pytest.raises(b.FrameworkUnavailable, match="needs the NVIDIA driver"):
        b.plan(x, to)
    with pytest.raises(b.FrameworkUnavailable):
        b.convert(x, to)
    # Without elements there is nothing to look at, and what only lends it on does not look.
    assert b.to_numpy(Interface(**{**data, "shape": (0,)})).shape == (0,)
    assert b.plan(x, "arrayloom", device="cuda:0").route == "device"
    assert b.to_arrayloom(x, device="cuda:0").shape == (3,)
