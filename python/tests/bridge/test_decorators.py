"""Decorated functions: conversions, dtypes, slices, the ladder out of an exhausted memory, guards."""

import importlib
import sys
import threading
import types
import weakref

import numpy as np
import pytest

import arrayloom.bridge as b
from arrayloom.bridge import dtypes, oom, recovery, registry
from arrayloom.bridge.errors import LossyConversionError


@pytest.mark.parametrize(
    ("values", "target", "expected"),
    [
        ([0.5, 1.5, 2.5, -0.5], "uint8", [0, 2, 2, 0]),
        ([300.0, -7.0, np.inf, -np.inf], "uint8", [255, 0, 255, 0]),
        ([1e30, -1e30, 2.0**63], "int64", [2**63 - 1, -(2**63), 2**63 - 1]),
        ([70000.0, 65535.0, 65535.4], "uint16", [65535, 65535, 65535]),
        ([1e30], "float32", [np.float32(1e30)]),
        ([1e300], "float32", [np.finfo(np.float32).max]),
    ],
)
def test_casts_round_half_to_even_and_saturate(values, target, expected):
    made = dtypes.cast(np.array(values), target)
    assert made.dtype == target
    assert made.tolist() == expected


def test_half_precision_saturates_without_overflow():
    made = dtypes.cast(np.array([60000, -60000, 100.5], np.float16), "int16")
    assert made.tolist() == [32767, -32768, 100]


@pytest.mark.parametrize(
    ("values", "dtype", "target"),
    [
        ([1.5], "float64", "int32"),
        ([2**24 + 1], "int64", "float32"),
        ([300], "int16", "uint8"),
        ([2.0**63], "float64", "int64"),
        ([np.nan], "float32", "uint8"),
        ([1 + 2j], "complex64", "float32"),
        ([2**64 - 1], "uint64", "float32"),
        ([2**64 - 1], "uint64", "float64"),
        ([2**63 - 1], "int64", "float64"),
        ([2**17], "int32", "float16"),
    ],
)
def test_exact_casts_refuse_a_loss(values, dtype, target):
    with pytest.raises(LossyConversionError):
        dtypes.cast(np.array(values, dtype), target, how="exact")


def test_exact_casts_pass_what_fits():
    assert dtypes.cast(np.array([1.0, 255.0]), "uint8", how="exact").tolist() == [1, 255]
    assert np.isnan(dtypes.cast(np.array([np.nan]), "float32", how="exact")[0])
    assert b.convert(np.array([1.0]), "numpy", dtype="int8").tolist() == [1]
    with pytest.raises(LossyConversionError, match="values change"):
        b.convert(np.array([1.5]), "numpy", dtype="int8")


def test_preserve_keeps_units_and_labels():
    image = np.linspace(0.0, 65535.0, 7)
    assert dtypes.preserve(image, "uint16").tolist() == np.rint(image).astype(int).tolist()
    with pytest.raises(
        LossyConversionError, match="1 of 2 integers do not fit in uint16, such as 70000"
    ):
        dtypes.preserve(np.array([1, 70000]), "uint16")
    with pytest.raises(LossyConversionError, match="such as -1"):
        dtypes.preserve(np.array([-1, 3]), "uint8")
    mask = np.array([True, False])
    assert dtypes.preserve(mask, "uint16") is mask
    with pytest.raises(LossyConversionError, match="1 of 2 values are NaN"):
        dtypes.preserve(np.array([np.nan, 1.0]), "uint8")
    assert dtypes.preserve(np.array([np.nan, 1.0]), "uint8", nan=0).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("values", "dtype", "target"),
    [(2049, "int64", "float16"), (2**24 + 1, "int64", "float32"), (2**64 - 1, "uint64", "float64")],
)
def test_preserve_keeps_integers_exact(values, dtype, target):
    good = np.array([0, 1, 2048], dtype)
    assert dtypes.preserve(good, target).tolist() == [0, 1, 2048]
    bad = np.array([1, values, values], dtype)
    with pytest.raises(LossyConversionError, match=f"2 of 3 integers .* such as {values}; .*None"):
        dtypes.preserve(bad, target)
    with pytest.raises(LossyConversionError, match="1 of 1"):
        dtypes.preserve(np.array(values, dtype), target)


@pytest.mark.frameworks("torch", "jax")
def test_small_floats_have_limits_and_few_integers():
    torch = importlib.import_module("torch")
    small = torch.zeros(300, dtype=torch.bfloat16)
    with pytest.raises(LossyConversionError, match="do not fit in bfloat16, such as 257"):
        b.torch(lambda x: torch.arange(len(x)))(small)
    assert b.torch(lambda x: torch.arange(len(x))[:256])(small)[255] == 255
    assert float(dtypes.cast(np.array([1e300]), "bfloat16")[0]) == torch.finfo(torch.bfloat16).max
    assert float(dtypes.cast(np.array([-1e9]), "float8_e4m3fn")[0]) == -448


@pytest.mark.parametrize(
    ("first", "result"),
    [
        (np.array(["2001-02-03"], "M8[D]"), np.array([2001])),
        (np.array(["2001-02-03"], "M8[D]"), np.array([3], "m8[D]")),
        (np.zeros(2), np.array(["2001-02-03"], "M8[D]")),
        (np.zeros(2), np.array(["a", "b"])),
        (np.array(["a", "b" * 24]), np.zeros(2, np.float32)),
        (np.zeros(2), np.zeros(2, [("a", "i4"), ("b", "i4")])),
        (np.zeros(2), np.zeros(2, [("a", "i1"), ("b", "i1")])),
        (np.zeros(2, [("a", "i4"), ("b", "i4")]), np.zeros(2, np.float32)),
        (np.zeros(2), np.array([None, 1])),
    ],
    ids=lambda x: str(x.dtype),
)
def test_preserve_is_about_numbers(first, result):
    assert b.numpy(lambda _x: result)(first) is result


def test_objects_that_are_numbers_are_cast_on_request():
    assert dtypes.cast(np.array([1, 2.5], object), "float32").tolist() == [1, 2.5]
    assert b.convert(np.array([1, 2], object), "numpy", dtype="int8").tolist() == [1, 2]
    with pytest.raises(LossyConversionError):
        b.convert(np.array([1, 2.5], object), "numpy", dtype="int8")
    for values in ([None, 1], [2**70], [[1], [1, 2]], ["a"]):
        data = np.empty(len(values), object)
        data[:] = values
        with pytest.raises(TypeError, match="no numbers of a machine type"):
            dtypes.cast(data, "float32")
    with pytest.raises(TypeError, match="datetime64"):
        dtypes.cast(np.array(["2001-02-03"], "M8[D]"), "int32")


def test_rescaling_does_not_depend_on_the_values():
    whole = np.arange(256, dtype=np.uint8)
    parts = [dtypes.rescale(p, out_range="uint16") for p in np.split(whole, 4)]
    assert np.array_equal(np.concatenate(parts), dtypes.rescale(whole, out_range="uint16"))
    assert dtypes.rescale(whole, out_range="uint16")[-1] == 65535
    with pytest.raises(ValueError, match="ascending"):
        dtypes.rescale(whole, in_range=(1, 1))


def test_arguments_are_converted_and_results_cast():
    @b.numpy
    def mean(images, weight=1.0):
        assert isinstance(images, list)
        assert all(type(i) is np.ndarray for i in images)
        return sum(images) * weight / len(images), "note"

    first = b.to_arrayloom(np.array([1, 2], np.uint8))
    main, note = mean([first, np.array([2, 4], np.uint8)], weight=1.0)
    assert main.dtype == np.uint8
    assert note == "note"
    assert main.tolist() == [2, 3]


def test_output_dtype_contract_and_inputs():
    def positive(result):
        if (np.asarray(result) < 0).any():
            msg = "negative"
            raise ValueError(msg)

    @b.uses("numpy", output="arrayloom", dtype="float32", contract=positive, inputs=("x",))
    def f(x, y):
        assert b.kind(y) == "arrayloom"
        return x + 0.25

    result = f(np.array([1, 2]), b.to_arrayloom(np.zeros(2)))
    assert (b.kind(result), result.dtype) == ("arrayloom", np.float32)
    with pytest.raises(ValueError, match="negative"):
        f(np.array([-5]), b.to_arrayloom(np.zeros(1)))


def test_slice_by_slice():
    seen = []

    @b.numpy
    def blur(image, shift=0):
        seen.append(image.shape)
        return image[::-1] + shift

    volume = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    result = blur(volume, shift=1, slice_by_slice=True)
    assert seen == [(3, 4), (3, 4)]
    assert np.array_equal(result, volume[:, ::-1] + 1)

    @b.uses("numpy", slices=2)
    def total(image):
        return image * 2, int(image.sum())

    whole, sums = total(volume)
    assert np.array_equal(whole, volume * 2)
    assert sums == [int(volume[:, :, i].sum()) for i in range(4)]


class Metadata:
    """An array with a name, as image viewers have them."""

    def __init__(self, data, name):
        self.data, self.name = data, name

    def array_payload_data(self):
        return self.data

    def with_data(self, data):
        return Metadata(data, self.name)


def test_containers_keep_their_metadata():
    @b.numpy
    def invert(x):
        return -x

    result = invert(Metadata(np.array([1, 2]), "nuclei"))
    assert (result.name, result.data.tolist()) == ("nuclei", [-1, -2])


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


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_stacks_come_apart(axis):
    slices = [np.full((3, 4), i, np.uint16) for i in range(5)]
    volume = b.stack(slices, "numpy", axis=axis)
    assert volume.shape[axis] == 5
    assert volume.dtype == np.uint16
    for piece, original in zip(b.unstack(volume, axis=axis), slices, strict=True):
        assert np.array_equal(piece, original)
    with pytest.raises(ValueError, match="no slices"):
        b.stack([], "numpy")
    with pytest.raises(ValueError, match="different shapes"):
        b.stack([np.zeros(2), np.zeros(3)], "numpy")


@pytest.mark.parametrize("axis", [2, -3])
def test_axes_that_are_not_there_are_refused(axis):
    with pytest.raises(ValueError, match=f"axis {axis} is out of bounds for array of dimension 2"):
        b.stack([np.zeros(2)], "numpy", axis=axis)
    with pytest.raises(ValueError, match=f"axis {axis} is out of bounds for array of dimension 2"):
        b.unstack(np.zeros((2, 2)), axis=axis)


def test_several_arrays_move_together():
    x, none, y = b.move_to(b.to_arrayloom(np.zeros(2)), None, [1.0])
    assert (b.kind(x), none, b.kind(y)) == ("arrayloom", None, "arrayloom")
    assert b.array_namespace(np.zeros(1)) is np
    with pytest.raises(TypeError, match="one kind"):
        b.array_namespace(np.zeros(1), x)
