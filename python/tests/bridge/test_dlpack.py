"""DLPack with NumPy on the other side: forms, flags, owners."""

import array
import ctypes
import gc
import mmap
import threading
import weakref

import numpy as np
import pytest
from support.tables import DELETER, Managed, Versioned

import arrayloom as al
import arrayloom.bridge as b
from arrayloom import _ext

NATIVE = "? b h i q B H I Q e f d F D".split()


def ours(data):
    return b.to_arrayloom(np.asarray(data))


class Memory(bytearray):
    """Memory that can be watched as it dies."""


def owned(n=4):
    memory = Memory(np.arange(float(n)).tobytes())
    return np.frombuffer(memory), weakref.ref(memory)


@pytest.mark.parametrize("letter", NATIVE)
@pytest.mark.parametrize("make", [np.asarray, ours])
def test_every_dtype_goes_round(letter, make):
    data = make(np.arange(6).astype(letter).reshape(2, 3)[:, ::-1])
    for version in (None, (1, 0), (1, 3)):
        capsule = b.to_dlpack(data, max_version=version)
        back = b.from_dlpack(capsule, "numpy")
        assert back.dtype == data.dtype
        assert back.strides == data.strides
        assert back.ctypes.data == b.to_numpy(data).ctypes.data
        np.testing.assert_array_equal(back, data)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1), (2, 3, 4, 5, 6)])
def test_shapes(shape):
    data = ours(np.ones(shape, np.float32))
    found = _ext.bridge.capsule_info(data.__dlpack__(max_version=(1, 0)))
    assert (found[0], found[2], found[3], found[4]) == (True, 1, 0, "float32")
    assert tuple(found[5]) == shape
    assert np.from_dlpack(data).shape == shape


def test_numpy_reads_our_capsules_and_we_read_its():
    data = ours(np.arange(12.0).reshape(3, 4))
    seen = np.from_dlpack(data)
    assert seen.ctypes.data == data.ctypes.data
    seen[0, 0] = 7
    assert data[0, 0] == 7
    assert b.from_dlpack(np.arange(3)).tolist() == [0, 1, 2]
    assert b.kind(b.from_dlpack(np.arange(3))) == "arrayloom"


@pytest.mark.parametrize("thing", [3, [1, 2], b"bytes", None])
def test_only_capsules_and_arrays_are_imported(thing):
    with pytest.raises(TypeError, match="is no capsule and has no __dlpack__"):
        b.from_dlpack(thing, "numpy")


def test_pending_work_is_done_before_export(xp):
    pending = xp.ones((64, 64)) * 3 + 1
    assert np.from_dlpack(pending).sum() == 4 * 64 * 64


def test_later_work_sees_what_the_consumer_wrote(xp):
    data = xp.ones((64, 64)) + 0
    seen = np.from_dlpack(data)
    doubled = data * 2
    seen[...] = 5
    assert float(doubled[3, 3]) == 2.0
    assert float((data * 2)[3, 3]) == 10.0
    data[...] = 8
    assert seen[0, 0] == 8


def test_case_22_forms_and_read_only_memory():
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    for data in (frozen, ours(frozen)):
        with pytest.raises(BufferError, match="max_version"):
            b.to_dlpack(data)
        capsule = b.to_dlpack(data, max_version=(1, 0))
        assert _ext.bridge.capsule_info(capsule)[1] == 1
        back = b.from_dlpack(capsule, "numpy")
        assert not back.flags.writeable
    with pytest.raises(BufferError, match="max_version"):
        ours(frozen).__dlpack__()


def test_case_20_a_copy_says_so_and_can_be_written():
    data = ours(np.arange(3.0))
    for capsule in (
        data.__dlpack__(max_version=(1, 0), copy=True),
        b.to_dlpack(data, max_version=(1, 0), copy=True),
    ):
        assert _ext.bridge.capsule_info(capsule)[1] == 2
        back = b.from_dlpack(capsule, "numpy")
        back[0] = 9
        assert data[0] == 0


@pytest.mark.parametrize("stream", [0, 1, 2, 77])
def test_case_21_the_host_has_no_streams(stream):
    data = ours(np.zeros(2))
    with pytest.raises(BufferError, match="no stream"):
        data.__dlpack__(stream=stream)
    with pytest.raises(BufferError, match="no stream"):
        b.to_dlpack(np.zeros(2), stream=stream)
    assert data.__dlpack__(stream=-1) is not None
    assert data.__dlpack__(stream=None) is not None


def test_other_devices_and_words_are_refused():
    data = ours(np.zeros(2))
    assert data.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match="lies on the host"):
        data.__dlpack__(dl_device=(2, 0))
    with pytest.raises(TypeError, match="colour"):
        data.__dlpack__(colour=1)
    with pytest.raises(BufferError, match="byte order"):
        b.to_dlpack(np.zeros(2, ">f8"))


def test_case_17_a_capsule_is_used_once():
    capsule = b.to_dlpack(np.zeros(2))
    b.from_dlpack(capsule, "numpy")
    with pytest.raises(BufferError, match="consumed before"):
        b.from_dlpack(capsule, "numpy")
    with pytest.raises(TypeError, match="not a DLPack capsule"):
        _ext.bridge.from_capsule(3)


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_owners_live_as_long_as_needed(version):
    source, alive = owned()
    capsule = b.to_dlpack(source, max_version=version)
    del source
    gc.collect()
    assert alive() is not None
    back = b.from_dlpack(capsule, "numpy")
    del capsule
    assert back.tolist() == [0, 1, 2, 3]
    part = back[1:]
    del back
    assert alive() is not None
    del part
    gc.collect()
    assert alive() is None


def test_an_unused_capsule_frees_its_owner():
    source, alive = owned()
    capsule = b.to_dlpack(source)
    del source, capsule
    gc.collect()
    assert alive() is None


def test_owners_that_die_on_another_thread():
    source, alive = owned()
    kept = [b.from_dlpack(b.to_dlpack(source), "numpy")]
    del source
    worker = threading.Thread(target=kept.clear)
    worker.start()
    worker.join()
    gc.collect()
    assert alive() is None


class Producer:
    """A tensor made by hand, with whatever fields a test wants."""

    def __init__(self, cls=Managed, **fields):
        self.calls = []
        self.memory = (ctypes.c_float * 6)(*range(6))
        self.shape = (ctypes.c_int64 * 2)(2, 3)
        self.managed = cls()
        self.managed.deleter = DELETER(self.calls.append)
        tensor = self.managed.tensor
        tensor.data = ctypes.addressof(self.memory)
        tensor.device_type, tensor.ndim = 1, 2
        tensor.code, tensor.bits, tensor.lanes = 2, 32, 1
        tensor.shape = self.shape
        for name, value in fields.items():
            setattr(tensor if hasattr(tensor, name) else self.managed, name, value)
        self.name = b"dltensor" if cls is Managed else b"dltensor_versioned"

    def capsule(self):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = (
            ctypes.py_object,
            [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
        )
        return new(ctypes.addressof(self.managed), self.name, None)


def steps_are_there(capsule):
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    versioned = _ext.bridge.capsule_info(capsule)[0]
    cls, name = (Versioned, b"dltensor_versioned") if versioned else (Managed, b"dltensor")
    return bool(cls.from_address(pointer(capsule, name)).tensor.strides)


def test_case_19_steps_that_an_older_producer_leaves_out():
    producer = Producer(byte_offset=0)
    made = b.from_dlpack(producer.capsule(), "numpy")
    assert made.tolist() == [[0, 1, 2], [3, 4, 5]]
    del made
    assert len(producer.calls) == 1
    # Ours are never missing, also where there is nothing to step over.
    for shape in ((), (0,), (2, 3)):
        for version in (None, (1, 0)):
            assert steps_are_there(ours(np.ones(shape)).__dlpack__(max_version=version))


@pytest.mark.parametrize(
    "fields",
    [
        {"ndim": -1},
        {"ndim": 65},
        {"lanes": 4},
        {"bits": 33},
        {"code": 77},
        {"device_type": 99},
        {"data": None},
        {"shape": (ctypes.c_int64 * 2)(-1, 3)},
        {"shape": (ctypes.c_int64 * 2)(2**40, 2**40)},
        {"shape": None},
        {"device_type": 4},
    ],
)
@pytest.mark.parametrize("cls", [Managed, Versioned])
def test_broken_tensors_are_errors_and_are_freed(cls, fields):
    producer = Producer(cls, **fields)
    if cls is Versioned:
        producer.managed.major = 1
    with pytest.raises(BufferError):
        b.from_dlpack(producer.capsule(), "numpy")
    assert len(producer.calls) == 1


def test_case_18_another_major_version_is_given_back():
    producer = Producer(Versioned, major=2, ndim=-5)
    with pytest.raises(BufferError, match=r"2\.0 is not known"):
        b.from_dlpack(producer.capsule(), "numpy")
    assert len(producer.calls) == 1


class Interface:
    """Only an array interface, as images of PIL have."""

    def __init__(self, data):
        self.__array_interface__ = data.__array_interface__
        self.data = data


@pytest.mark.parametrize(
    ("source", "shared"),
    [
        (np.float32(3), False),
        (4, False),
        ([[1, 2], [3, 4]], False),
        (memoryview(bytearray(b"abc")), True),
        (array.array("d", [1, 2]), True),
        ((ctypes.c_int * 3)(1, 2, 3), True),
        (Interface(np.arange(3)), True),
        (mmap.mmap(-1, 16), True),
    ],
    ids=lambda x: type(x).__name__,
)
def test_case_26_sources_without_a_framework(source, shared):
    made = b.convert(source, "numpy")
    assert made.shape == np.asarray(source).shape or shared
    assert b.device(source) == "cpu"
    if isinstance(source, array.array):
        made[0] = 7
        assert source[0] == 7


def test_the_exchange_table_of_our_type():
    capsule = _ext.LazyArray.__dlpack_c_exchange_api__
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer(capsule, b"dlpack_exchange_api")
    words = (ctypes.c_uint64 * 7).from_address(address)
    assert (words[0] & 0xFFFFFFFF, words[0] >> 32) == (1, 3)
    assert all(words[i] for i in (2, 3, 4, 6))
    data = ours(np.arange(6.0).reshape(2, 3)[:, ::2])
    give = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))(
        words[3]
    )
    take = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.py_object))(
        words[4]
    )
    tensor, back = ctypes.c_void_p(), ctypes.py_object()
    assert give(data, ctypes.byref(tensor)) == 0
    assert take(tensor, ctypes.byref(back)) == 0
    made = back.value
    assert type(made) is _ext.LazyArray
    assert made.ctypes.data == data.ctypes.data
    assert made.strides == data.strides
    # The allocator: memory like a prototype's.
    proto = Producer().managed.tensor
    allocate = ctypes.PYFUNCTYPE(
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_void_p),
        ctypes.c_void_p,
        ctypes.c_void_p,
    )(words[2])
    assert allocate(ctypes.addressof(proto), ctypes.byref(tensor), None, None) == 0
    fresh = ctypes.cast(tensor, ctypes.POINTER(Versioned)).contents
    assert fresh.tensor.data % 256 == 0
    assert (fresh.tensor.ndim, fresh.tensor.strides[0], fresh.tensor.strides[1]) == (2, 3, 1)
    fresh.deleter(tensor.value)
    proto.device_type = 2
    assert allocate(ctypes.addressof(proto), ctypes.byref(tensor), None, None) == -1
    stream = ctypes.c_void_p(5)
    ask = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p)
    )(words[6])
    assert ask(1, 0, ctypes.byref(stream)) == 0
    assert stream.value is None


def test_pages_are_given_away_and_come_back(xp):
    data = xp.ones((64, 64)) * 3
    shared = _ext.bridge.share_pages(data)
    assert not shared.flags.writeable
    assert shared.ctypes.data % 256 == 0
    data += 1
    assert shared[0, 0] == 3
    assert float(data[0, 0]) == 4
    assert float(data.sum()) == 4 * 64 * 64
    del shared
    assert float(data[63, 63]) == 4
    again = _ext.bridge.share_pages(data)
    del data
    assert again.min() == again.max() == 4


def test_the_same_pages_are_given_to_everybody_until_somebody_writes(xp):
    data = xp.ones((640, 640)) * 3
    first = _ext.bridge.share_pages(data)
    kernels = _ext.stats()["kernels"]
    second, part = _ext.bridge.share_pages(data), _ext.bridge.share_pages(data[:10])
    assert first.ctypes.data == second.ctypes.data == part.ctypes.data
    assert part.shape == (10, 640)
    del first, part
    for _ in range(5):
        again = _ext.bridge.share_pages(data)
        assert again.ctypes.data == second.ctypes.data
        del again
    del second
    for _ in range(5):
        again = _ext.bridge.share_pages(data)
        assert again[639, 639] == 3
        del again
    assert _ext.stats()["kernels"] == kernels, "no copy was made"
    assert float(data[3, 4]) == 3
    last = _ext.bridge.share_pages(data)
    data[0] = 7
    other = _ext.bridge.share_pages(data)
    assert (last[0, 0], other[0, 0], other[1, 0]) == (3, 7, 3)
    del last
    assert (other[0, 5], float(data[0, 0]), float(data[2, 2])) == (7, 7, 3)


@pytest.mark.parametrize(
    "to",
    [
        pytest.param("jax", marks=pytest.mark.frameworks("jax")),
        pytest.param("tensorflow", marks=pytest.mark.frameworks("tensorflow")),
    ],
)
def test_a_lazy_array_that_is_converted_again_is_not_copied_again(xp, to):
    data = xp.ones((640, 640), xp.float32) * 3
    kept = [b.convert(data, to) for _ in range(3)]
    kernels = _ext.stats()["kernels"]
    kept += [b.convert(data, to) for _ in range(3)]
    del kept[::2]
    for _ in range(3):
        assert float(np.asarray(b.convert(data, to))[5, 6]) == 3
    assert _ext.stats()["kernels"] == kernels
    data += 1
    assert float(np.asarray(kept[0])[0, 0]) == 3
    assert float(np.asarray(b.convert(data, to))[0, 0]) == float(data[1, 1]) == 4


def test_parts_of_an_array_keep_their_pages(xp):
    data = xp.ones((64, 64)) + 0
    assert _ext.bridge.share_pages(data[:10]) is None
    assert _ext.bridge.share_pages(data.T) is None
    assert _ext.bridge.share_pages(np.zeros(3)) is None
    assert float(data.sum()) == 64 * 64


def test_aligned_for_everybody():
    for n in (20_000, 10**5, 10**6):
        assert al.ones(n, al.float32).ctypes.data % 256 == 0


def test_case_16_a_long_chain_is_freed():
    data = np.arange(4.0)
    for _ in range(100_000):
        data = b.from_dlpack(b.to_dlpack(data), "numpy")
    assert data.tolist() == [0, 1, 2, 3]
    del data


def test_random_conversions_keep_values():
    rng = np.random.default_rng(5)
    base = rng.integers(0, 100, size=(6, 7, 8))
    for step in range(3000):
        letter = NATIVE[step % len(NATIVE)]
        data = base.astype(letter)
        cut = tuple(
            slice(None, None, int(rng.choice([1, 2, -1, 3])))
            for _ in range(int(rng.integers(0, 4)))
        )
        view = data[cut].transpose(rng.permutation(3))
        made = b.convert(view, "arrayloom", copy=[None, True][step % 2])
        back = b.from_dlpack(b.to_dlpack(made, max_version=(1, 0)), "numpy")
        assert back.dtype == view.dtype
        assert back.shape == view.shape
        assert np.array_equal(back, view)


def test_case_28_live_exports_are_counted_and_their_memory_stays():
    data = al.ones((300, 300), al.float32) * 2
    assert _ext.bridge.exports(data) == 0
    at = data.ctypes.data
    seen = b.from_dlpack(b.to_dlpack(data), "numpy")
    other = b.from_dlpack(b.to_dlpack(data[10:]), "numpy")
    assert _ext.bridge.exports(data) == 2
    work = data + 1
    data[:] = work
    assert (data.ctypes.data, seen.ctypes.data) == (at, at)
    assert float(seen[0, 0]) == 3
    seen[0, 0] = 7
    assert float(data[0, 0]) == 7
    del seen
    assert _ext.bridge.exports(data) == 1
    del other
    assert _ext.bridge.exports(data) == 0
    assert _ext.bridge.exports(np.zeros(3)) == 0


@pytest.mark.parametrize("version", [(1,), (1, 0, 0), (1, "0"), (1.5, 0), [1, 0], "a", 5])
def test_versions_that_are_no_pair_are_refused_as_in_numpy(version):
    with pytest.raises(TypeError, match="must be None or a tuple with two elements"):
        b.to_dlpack(np.arange(3), max_version=version)
