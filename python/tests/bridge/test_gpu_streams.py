"""Streams of CUDA over a driver whose queues hold their work back: who waits for whom, and on which device."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import fake_cuda

PRELUDE = """
import ctypes, gc, sys, weakref
import numpy as np
import arrayloom.bridge as b
from arrayloom.bridge import drivers
from arrayloom.bridge.foreign import DeviceArray

gpu = ctypes.CDLL(sys.argv[1])
gpu.fake.argtypes, gpu.fake.restype = [ctypes.c_char_p, ctypes.c_long], ctypes.c_long
gpu.fake_called.argtypes, gpu.fake_called.restype = [ctypes.c_long], ctypes.c_char_p
gpu.fake(b"delay", int(sys.argv[2]))
drivers.set_driver("cuda", drivers.CudaDriver(gpu))

def call(name, *args):
    status = getattr(gpu, name)(*args)
    assert status == 0, (name, status)

def new(name, *args):
    value = ctypes.c_uint64()
    call(name, ctypes.byref(value), *args)
    return value.value

def address(number):
    return ctypes.c_uint64(number)

contexts = [new("cuDevicePrimaryCtxRetain", number) for number in (0, 1)]
call("cuCtxPushCurrent_v2", address(contexts[0]))

def inside(function, *args):
    # What a library does whose arrays lie on the second device.
    call("cuCtxPushCurrent_v2", address(contexts[1]))
    try:
        return function(*args)
    finally:
        new("cuCtxPopCurrent_v2")

def stream():
    return inside(new, "cuStreamCreate", 1)

def block(count):
    return inside(new, "cuMemAlloc_v2", ctypes.c_size_t(8 * count))

def up(at, values, number):
    inside(call, "cuMemcpyHtoDAsync_v2", address(at), values.ctypes.data_as(ctypes.c_void_p),
           ctypes.c_size_t(values.nbytes), address(number))

def copied(to, at, count, number):
    inside(call, "cuMemcpyDtoDAsync_v2", address(to), address(at), ctypes.c_size_t(8 * count), address(number))

class Owner: pass

def array(values, number):
    at = block(values.size)
    up(at, values, number)
    return DeviceArray(Owner(), at, "cuda:1", "float64", values.shape, values.strides, stream=number)

def names(start=0):
    found = []
    while (name := gpu.fake_called(start + len(found))) is not None:
        found.append(name.decode())
    return found

data = np.arange(600.0).reshape(20, 30)
"""

PRODUCERS = """
for number in (stream(), 1, 2):
    x = array(data, number)
    print(np.array_equal(b.to_numpy(x), data), np.array_equal(b.to_numpy(x), data))
    up(x.handle, data + 1, number)
    print(np.array_equal(b.to_arrayloom(x), data + 1))
"""

# A consumer reads on its own stream, and only that one runs.
CONSUMERS = """
side = stream()
for number in (stream(), 1, 2, None, -1):
    x = array(data, side)
    before = len(names())
    capsule = x.__dlpack__(stream=number, max_version=(1, 0))
    asked = [name for name in names(before) if name.startswith(("cuStream", "cuEvent"))]
    reader = {None: 1, -1: stream()}.get(number, number)
    to = block(data.size)
    copied(to, x.handle, data.size, reader)
    inside(call, "cuStreamSynchronize", address(reader))
    seen = np.frombuffer(drivers.driver("cuda:1").read("cuda:1", to, data.nbytes))
    print(number if number in (1, 2, None, -1) else "own", asked, np.array_equal(seen, data.ravel()))
    inside(call, "cuStreamSynchronize", address(side))
with b.stream("cuda:1", side):
    own = drivers.own_stream("cuda:1")
print(own != side)
"""

OWNERS = """
x = array(data, stream())
owner = weakref.ref(x._owner)
capsule = x.__dlpack__(max_version=(1, 0))
again = b.from_dlpack(capsule, "arrayloom", device="cuda:1")
del x, capsule
gc.collect()
late = stream()
again.__dlpack__(stream=late)
to = block(data.size)
copied(to, again.handle, data.size, late)
inside(call, "cuStreamSynchronize", address(late))
seen = np.frombuffer(drivers.driver("cuda:1").read("cuda:1", to, data.nbytes))
print(owner() is not None, np.array_equal(seen, data.ravel()), np.array_equal(b.to_numpy(again), data))
del again
gc.collect()
print(owner() is None)
unused = array(data, stream()).__dlpack__()
live = DeviceArray.of_capsule(array(data, stream()).__dlpack__(max_version=(1, 0)))
"""

# The interface does not say which device an address belongs to.
INTERFACE = """
class Theirs:
    def __init__(self, values, number, **words):
        self.memory = array(values, number)
        found = self.memory.__cuda_array_interface__
        self.__cuda_array_interface__ = {**found, **words}

for number in (stream(), 1, 2):
    x = Theirs(data, number)
    print(b.device(x), x.__cuda_array_interface__["stream"] == number, np.array_equal(b.to_numpy(x), data))
    lends = b.convert(x, "arrayloom", device="cuda:1")
    print(lends.device, lends.__cuda_array_interface__["stream"] == number)
finished = Theirs(data, 1, stream=None)
before = len(names())
print(b.to_numpy(finished).shape, "cuStreamSynchronize" in names(before))
"""

AFTER = """
current = new("cuCtxGetCurrent")
print("faults", gpu.fake(b"faults", -1), "first device", current == contexts[0])
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake_cuda.build(tmp_path_factory.mktemp("streams")) / "libcuda.so.1"


def lines(driver: Path, delay: int, program: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + program + AFTER, str(driver), str(delay)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    *found, last = done.stdout.splitlines()
    assert last == "faults 0 first device True"
    return found


@pytest.mark.parametrize("delay", [0, 1, 7])
def test_downloads_wait_for_the_stream_that_still_works(driver: Path, delay: int):
    assert lines(driver, delay, PRODUCERS) == ["True True", "True"] * 3


def test_consumers_wait_by_an_event_and_nobody_waits_on_the_host(driver: Path):
    event = "['cuEventCreate', 'cuEventRecord', 'cuStreamWaitEvent', 'cuEventDestroy_v2'] True"
    expected = [f"{number} {event}" for number in ("own", 1, 2, None)]
    assert lines(driver, 1, CONSUMERS) == [*expected, "-1 [] False", "True"]


@pytest.mark.parametrize("delay", [0, 1])
def test_owners_live_as_long_as_exports_and_a_program_may_end_before(driver: Path, delay: int):
    assert lines(driver, delay, OWNERS) == ["True True True", "True"]


@pytest.mark.parametrize("delay", [0, 1])
def test_the_interface_names_streams_and_its_memory_the_device(driver: Path, delay: int):
    expected = ["cuda:1 True True", "cuda:1 True"] * 3
    assert lines(driver, delay, INTERFACE) == [*expected, "(20, 30) False"]
