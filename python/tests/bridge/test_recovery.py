"""Recovery from a lack of memory: its ladder, versions for the CPU, slices, and what is released."""

import importlib
import sys
import threading
import types
import weakref

import numpy as np
import pytest

import arrayloom.bridge as b
from arrayloom.bridge import oom, recovery, registry


class Failing:
    """A function that has no memory for the first calls, or for large inputs."""

    def __init__(self, times=0, largest=None, error=MemoryError):
        self.times, self.largest, self.error = times, largest, error
        self.sizes = []

    def check(self, x):
        self.sizes.append(len(x))
        if len(self.sizes) <= self.times or (self.largest is not None and len(x) > self.largest):
            raise self.error


def test_a_pure_function_runs_again():
    failing = Failing(times=1)

    @b.numpy
    def f(x):
        failing.check(x)
        return x + 1

    with b.observe() as record:
        assert f(np.arange(3)).tolist() == [1, 2, 3]
    assert failing.sizes == [3, 3]
    assert [r.route for r in record.rows() if r.event == "oom"] == [
        "own pool",
        "other caches",
        "garbage",
        "other caches again",
        "spill",
        "run again",
    ]


def test_random_numbers_are_the_same_again():
    def drawn(times):
        np.random.seed(3)
        failing = Failing(times=times)

        @b.numpy
        def f(x):
            noise = np.random.rand(3)
            failing.check(x)
            return x + noise

        return f(np.zeros(3)).tolist(), float(np.random.rand())

    assert drawn(0) == drawn(1)


def test_what_is_not_pure_runs_once():
    failing = Failing(times=1)
    data = np.zeros(3)

    @b.numpy(pure=False)
    def f(x):
        x += 1
        failing.check(x)
        return x

    with pytest.raises(b.OutOfMemory, match="not pure") as caught:
        f(data)
    assert data.tolist() == [1, 1, 1]
    assert isinstance(caught.value.__cause__, MemoryError)
    assert isinstance(caught.value, MemoryError)


@pytest.mark.parametrize(
    "data", [np.zeros(3), np.zeros((300, 400)), np.zeros((2, 3), "O"), np.zeros((9, 8))[:, ::2]]
)
def test_a_function_that_writes_to_arrays_of_numpy_runs_once(data):
    calls = []

    @b.numpy(dtype=None)
    def f(x):
        calls.append(1)
        x += 1
        if len(calls) == 1:
            raise MemoryError
        return x

    with pytest.raises(b.OutOfMemory, match="changed its arguments: it ran once"):
        f(data)
    assert np.all(data == 1)


@pytest.mark.parametrize("shape", [(), (0,), (5000,), (1, 10**6), (3, 0, 2), (70, 80, 90)])
def test_few_elements_tell_of_writes(shape):
    version = registry.get("numpy").hooks.version
    data = np.zeros(shape, np.uint8)
    assert len(version(data)) <= 4096
    assert len(version(data)) == data.size or data.size > 4096
    if data.size:
        before = version(data)
        data += 1
        assert version(data) != before
    data.flags.writeable = False
    assert version(data) is None


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_no_slices_are_told(shape):
    axis = shape.index(0)
    with pytest.raises(ValueError, match=f"slices along axis {axis} of an array of shape"):
        b.numpy(slices=axis)(lambda x: x + 1)(np.ones(shape))


@pytest.mark.parametrize("halo", [0, 1, 3])
def test_chunks_equal_the_whole(halo):
    weights = np.ones(2 * halo + 1)

    def smooth(x):
        padded = np.pad(x, [(halo, halo), (0, 0)], mode="edge")
        return sum(padded[i : i + len(x)] * w for i, w in enumerate(weights))

    data = np.random.default_rng(1).random((37, 4))
    failing = Failing(largest=15)

    @b.numpy(chunk=(0, halo), dtype=None)
    def f(x):
        failing.check(x)
        return smooth(x)

    assert np.array_equal(f(data), smooth(data))
    assert max(failing.sizes[2:]) >= 15
    tries = len(failing.sizes)
    assert np.array_equal(f(data), smooth(data))
    # The size that worked is remembered.
    assert len(failing.sizes) - tries < tries


def test_chunks_need_a_result_of_their_size():
    failing = Failing(largest=3)

    @b.numpy(chunk=(0, 0))
    def f(x):
        failing.check(x)
        return x[:1]

    with pytest.raises(ValueError, match="as long as its input"):
        f(np.zeros(8))


def test_the_cpu_version_is_last():
    failing = Failing(largest=0)

    @b.numpy(cpu=lambda x: x * 100)
    def f(x):
        failing.check(x)
        return x

    assert f(np.array([1, 2])).tolist() == [100, 200]


def without_memory(function, error=MemoryError):
    """A function that runs with arrays of NumPy only."""

    def run(x):
        if b.kind(x) != "numpy":
            raise error
        return function(x)

    return run


RESULTS = {
    "array": lambda x: x * 2,
    "tuple": lambda x: (x * 2, x + 1, "text"),
    "dict": lambda x: {"image": x * 2, "count": 3},
    "list": lambda x: [x * 2, None],
}


@pytest.mark.frameworks("torch", "jax")
@pytest.mark.parametrize("kind", ["torch", "jax"])
@pytest.mark.parametrize("output", [None, "numpy", "arrayloom"])
@pytest.mark.parametrize("function", RESULTS.values(), ids=RESULTS)
def test_the_cpu_version_changes_no_kind(kind, output, function):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    usual = b.uses(kind, output=output)(function)(x)
    for cpu in (function, "numpy"):
        made = b.uses(kind, output=output, cpu=cpu)(without_memory(function))(x)
        assert type(made) is type(usual)
        pairs = [(made, usual)]
        if isinstance(made, dict):
            pairs = list(zip(made.values(), usual.values(), strict=True))
        elif isinstance(made, (tuple, list)):
            pairs = list(zip(made, usual, strict=True))
        for ours, theirs in pairs:
            assert b.kind(ours) == b.kind(theirs)
            if b.kind(ours) is not None:
                assert ours.dtype == theirs.dtype
                assert np.array_equal(b.to_numpy(ours), b.to_numpy(theirs))


@pytest.mark.frameworks("torch")
def test_slices_that_the_cpu_version_made_join_the_others():
    torch = importlib.import_module("torch")
    volume = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    for full in ({0}, {1, 2}, {0, 1, 2}):

        @b.torch(cpu=lambda x: x * 2, slices=0)
        def double(x, full=full):
            if int(x[0, 0]) // 4 in full:
                raise MemoryError
            return x * 2

        made = double(volume)
        assert isinstance(made, torch.Tensor)
        assert made.tolist() == (volume * 2).tolist()


@pytest.mark.frameworks("pyclesperanto")
def test_tables_of_the_cpu_version_stay_where_the_framework_has_no_such_elements():
    def measure(x):
        return x.astype(float) * 2, np.array([1.5, 2.5]), np.float64(3)

    made = b.pyclesperanto(cpu=measure)(without_memory(measure))(np.ones((2, 2), np.float32))
    assert [b.kind(v) for v in made] == ["pyclesperanto", "numpy", None]
    assert made[0].dtype == np.float32


@pytest.mark.frameworks("torch")
def test_arrays_of_ours_from_the_cpu_version_become_the_frameworks():
    def double(x):
        return b.to_arrayloom(x) * 2, b.to_arrayloom(x)

    made = b.torch(cpu=double)(without_memory(double))(np.ones(3))
    assert [b.kind(v) for v in made] == ["torch"] * 2


def test_arguments_of_objects_reach_the_cpu_version():
    def fail(_x):
        raise MemoryError

    made = b.numpy(cpu=lambda x: x, dtype=None)(fail)(np.array([1, "a"], object))
    assert made.tolist() == [1, "a"]


def test_an_exhausted_ladder_tells_all():
    failing = Failing(largest=0)

    @b.numpy(chunk=(0, 0))
    def f(x):
        failing.check(x)
        return x

    with pytest.raises(b.OutOfMemory, match=r"inputs of \[16\] bytes") as caught:
        f(np.zeros(2))
    assert any("run again" in line for line in caught.value.report)
    assert any("chunks" in line for line in caught.value.report)


def test_other_errors_are_not_touched():
    calls = []

    @b.numpy
    def f(x):
        calls.append(1)
        msg = "CUDA out of memory, they say"
        raise ValueError(msg)

    with pytest.raises(ValueError, match="they say"):
        f(np.zeros(2))
    assert calls == [1]


def test_two_threads_recover():
    results = []

    def work():
        failing = Failing(times=1)

        @b.numpy
        def f(x):
            failing.check(x)
            return x + 1

        results.append(f(np.zeros(2)).tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert results == [[1, 1]] * 4


def test_a_call_that_cannot_fit_is_split_before_it_runs(monkeypatch):
    seen = []

    @b.numpy(chunk=(0, 1))
    def smooth(x):
        seen.append(len(x))
        return np.convolve(x, [1.0, 1.0, 1.0], "same")

    data = np.arange(64.0)
    expected = smooth(data)
    assert seen == [64]
    seen.clear()
    monkeypatch.setattr(recovery, "_SMALL", 0)
    monkeypatch.setattr(oom, "free_bytes", lambda place: 500)
    with b.observe() as record:
        assert np.array_equal(smooth(data)[1:-1], expected[1:-1])
    assert max(seen) < 64
    assert next(r.route for r in record.rows() if r.event == "oom") == "predict"
    # Learned: the same call needs its input and twice its output, a small one fits.
    seen.clear()
    smooth(np.arange(8.0))
    assert seen == [8]


def test_a_prediction_without_a_way_out_does_not_stop_a_call(monkeypatch):
    monkeypatch.setattr(recovery, "_SMALL", 0)
    monkeypatch.setattr(oom, "free_bytes", lambda place: 0)

    @b.numpy
    def double(x):
        return x * 2

    assert double(np.ones(3)).tolist() == [2, 2, 2]


def test_copies_of_arguments_are_dropped_before_the_next_run():
    failing = Failing(times=1)
    alive = []

    @b.uses("arrayloom", on_oom=("spill", "retry"))
    def f(x):
        failing.check(x)
        alive.append(weakref.ref(x))
        return x + 1

    data = np.arange(4, dtype=">f8")
    with b.observe() as record:
        assert f(data).tolist() == [1, 2, 3, 4]
    spilled = [r.nbytes for r in record.rows() if r.route == "spill"]
    assert spilled[0] >= data.nbytes


@pytest.fixture
def fake_modules(monkeypatch):
    """Modules with the error classes that the rules name, for frameworks that are not here."""

    def make(name, attribute, base):
        cls = type(attribute, (base,), {})
        module = types.ModuleType(name)
        setattr(module, attribute, cls)
        monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setitem(
            sys.modules, name.partition(".")[0], types.ModuleType(name.partition(".")[0])
        )
        return cls

    return make


def test_errors_are_known_by_class_and_code(fake_modules):
    rules = {name: registry.get(name).oom for name in registry.names()}
    runtime = fake_modules("cupy_backends.cuda.api.runtime", "CUDARuntimeError", RuntimeError)

    def says(name, error):
        return oom._says(error, rules[name])

    error = runtime("cudaErrorMemoryAllocation: out of memory")
    error.status = 2
    assert says("cupy", error)
    error = runtime("cudaErrorInsufficientDriver: out of memory is not what this is")
    error.status = 35
    assert not says("cupy", error)
    jax = fake_modules("jax.errors", "JaxRuntimeError", RuntimeError)
    assert says("jax", jax("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes"))
    assert says("jax", jax("RESOURCE_EXHAUSTED: Failed to allocate request for 1GiB"))
    assert not says("jax", jax("INVALID_ARGUMENT: shapes"))
    exhausted = fake_modules(
        "tensorflow.python.framework.errors_impl", "ResourceExhaustedError", Exception
    )
    assert says("tensorflow", exhausted("OOM when allocating tensor with shape[1]"))
    assert not says("tensorflow", Exception("InvalidArgumentError: shape, out of memory"))
    for text in (
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cuFFT error: CUFFT_ALLOC_FAILED",
    ):
        assert says("torch", RuntimeError(text))
    assert not says(
        "torch",
        RuntimeError(
            "CUDA error: an illegal memory access was encountered; CUDA error: out of memory"
        ),
    )
    assert not says("torch", ValueError("DefaultCPUAllocator: can't allocate memory"))
    for text in ("clCreateBuffer: CL_INVALID_BUFFER_SIZE error code: -61", "CL_OUT_OF_RESOURCES"):
        assert says("pyclesperanto", RuntimeError(text))
    assert not says("pyclesperanto", RuntimeError("error code: -34"))
    assert b.is_oom(MemoryError())
    assert not b.is_oom(RuntimeError("out of memory"))


def test_memory_and_release():
    found = b.memory("cpu")
    assert 0 < found["free"] <= found["total"]
    assert b.release("cpu") >= 0
    with pytest.raises(ValueError, match="cannot be asked"):
        b.memory("abacus:0")


@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        ({"device": "abacus"}, ValueError, "no framework has arrays on 'abacus'; known are cpu"),
        ({"device": "cuda:x"}, ValueError, "such as 'cpu' or 'cuda:0'"),
        ({"device": 0}, TypeError, "a device is a text"),
        ({"frameworks": ("zz",)}, TypeError, "no array framework 'zz'; known are numpy"),
        ({"frameworks": "torch"}, TypeError, r"such as \('torch',\), not 'torch'"),
    ],
)
def test_release_names_what_it_knows(words, error, text):
    with pytest.raises(error, match=text):
        b.release(**words)
    assert b.release("gpu:0", ("torch", "numpy")) >= 0
