"""A CUDA device that is not there: memory, streams that run late, events, two frameworks that use it."""

import contextlib
import itertools
import sys
import types

import numpy as np

import arrayloom.bridge as b
from arrayloom.bridge import drivers, registry
from arrayloom.bridge.foreign import DeviceArray


class Gpu:
    """A driver whose streams do nothing until somebody waits for them."""

    def __init__(self):
        self.blocks = {}
        self.queues = {}
        self.calls = []
        self._next = itertools.count(0x1000, 0x1000)
        self._streams = itertools.count(100)

    def allocate(self, data):
        """Put data into new memory of the device; return its address."""
        address = next(self._next)
        self.blocks[address] = bytearray(np.ascontiguousarray(data).tobytes())
        return address

    def launch(self, stream, work):
        """Queue work on a stream."""
        self.queues.setdefault(stream, []).append(work)

    def device_of(self, address):
        return 0

    def fill(self, stream, address, value):
        """Queue a kernel that sets all float32 elements of a block."""
        block = self.blocks[address]

        def kernel():
            block[:] = np.full(len(block) // 4, value, np.float32).tobytes()

        self.launch(stream, kernel)

    def run(self, stream):
        """Do all work of a stream."""
        queue = self.queues.get(stream, [])
        while queue:
            queue.pop(0)()

    def record(self, place, stream):
        self.calls.append(("record", stream))
        mark = {"done": False}
        self.launch(stream, lambda: mark.update(done=True))
        return (stream, mark)

    def wait(self, place, stream, event):
        self.calls.append(("wait", stream, event[0]))

        def until_done():
            while not event[1]["done"]:
                self.queues[event[0]].pop(0)()

        self.launch(stream, until_done)

    def synchronize(self, place, stream):
        self.calls.append(("synchronize", stream))
        self.run(stream)

    def new_stream(self, place):
        return next(self._streams)

    def read(self, place, address, nbytes):
        for start, block in self.blocks.items():
            if start <= address <= start + len(block) - nbytes:
                return block[address - start : address - start + nbytes]
        msg = f"{nbytes} bytes at {address:#x} are not allocated"
        raise AssertionError(msg)

    def memory(self, place):
        return 1 << 30, 1 << 31


class Sim:
    """An array of a simulated framework."""

    def __init__(self, memory, place="cuda:0"):
        self.memory = memory
        self.place = place
        self.shape = memory.shape
        self.dtype = np.dtype(memory.dtype)

    def __dlpack__(self, *, stream=None, max_version=None):
        # It lets the consumer's stream wait for its own, as torch, CuPy and JAX do.
        return self.memory.__dlpack__(stream=stream, max_version=(1, 3))

    def __dlpack_device__(self):
        return self.memory.__dlpack_device__()


class Unordered(Sim):
    """Of a framework that takes no stream, as TensorFlow."""


class Other(Sim):
    """Of a second framework that orders its exports."""


class Frameworks:
    """Three frameworks on one simulated device: two order their exports, one has to be waited for.

    With `usual`, they have the hooks for conversions that need no plan.
    """

    NAMES = ("sim_ordered", "sim_unordered", "sim_other")

    def __init__(self, *, usual=False):
        self.gpu = Gpu()
        self.usual = usual
        self.current = 7
        self.device = 0
        self.entered = []
        self.kept = []
        drivers.set_driver("cuda", self.gpu)
        self._add("sim_ordered", "Sim", streamed=True)
        self._add("sim_unordered", "Unordered", streamed=False)
        self._add("sim_other", "Other", streamed=True)

    def _add(self, name, cls, *, streamed):
        @contextlib.contextmanager
        def enter(place, stream):
            self.entered.append((place, stream))
            before, self.current = self.current, stream or self.current
            device, self.device = self.device, drivers.number_of(place)
            yield
            self.current, self.device = before, device

        make = {"Sim": Sim, "Unordered": Unordered, "Other": Other}[cls]

        def take(x):
            stream = self.current if streamed else None
            capsule = x.__dlpack__(stream=stream) if streamed else x.__dlpack__(stream=-1)
            made = DeviceArray.of_capsule(capsule)
            made.follow(stream)
            return make(made, made.device)

        sys.modules[name] = types.ModuleType(name)
        b.register(
            b.FrameworkSpec(
                name=name,
                modules=(name,),
                array_types=(f"{__name__}:{cls}",),
                devices=frozenset({"cuda"}),
                mutable=b.Mutability.ALWAYS,
                asks_stream=streamed,
                orders_exports=streamed,
                hooks=b.Hooks(
                    to_host=lambda x, _: x.memory.to_host(),
                    from_host=lambda a, _: make(self.new(a).memory),
                    device=lambda x: x.place,
                    take=lambda: take,
                    place=(lambda x: drivers.number_of(x.place)) if self.usual else None,
                    current=(lambda: lambda: self.device) if self.usual else None,
                    stream=lambda _: self.current,
                    enter=enter if streamed else None,
                    keep=lambda x, stream: self.kept.append(stream),
                ),
            )
        )

    def new(self, data, stream=None, place="cuda:0"):
        """Make an array of the first framework, on which `stream` still works."""
        data = np.asarray(data)
        address = self.gpu.allocate(data)
        memory = DeviceArray(
            self, address, place, data.dtype.name, data.shape, data.strides, stream=stream
        )
        return Sim(memory, place)

    def close(self):
        """Take everything away again."""
        drivers.set_driver("cuda", None)
        for name in self.NAMES:
            registry._specs.pop(name)
            registry._started.discard(name)
            sys.modules.pop(name)
        b.register(registry.get("numpy"))
