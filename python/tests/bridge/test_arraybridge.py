"""Code written for arraybridge, both generations, and the command that prints the matrix."""

import dataclasses
import importlib
import inspect
import pickle
import subprocess
import sys
import types

import numpy as np
import pytest

import arrayloom.bridge as b
from arrayloom.bridge import arraybridge as ab
from arrayloom.bridge import registry


def test_the_first_generation_of_calls():
    volume = np.arange(24, dtype=np.uint16).reshape(2, 3, 4)
    slices = ab.unstack_slices(volume, "numpy", 0)
    assert np.array_equal(ab.stack_slices(slices, "numpy", gpu_id=0), volume)
    assert ab.detect_memory_type(volume) == "numpy"
    assert ab.convert_memory(volume, "numpy", ab.MemoryType.NUMPY, 0) is volume
    with pytest.raises(TypeError, match="of kind 'numpy'"):
        ab.convert_memory(volume, "torch", "numpy", 0)
    with pytest.raises(ValueError, match="Invalid target_type 'matlab'"):
        ab.convert_memory(volume, "numpy", "matlab", 0)
    with pytest.raises(ValueError, match="not a 2D array"):
        ab.stack_slices([volume], "numpy", 0)
    with pytest.raises(ValueError, match="must be 3D"):
        ab.unstack_slices(volume[0], "numpy", 0)
    with pytest.raises(ValueError, match="Unable to detect"):
        ab.detect_memory_type([1])


def test_decorators_carry_their_types_and_cast():
    @ab.numpy
    def halve(image, amount=2):
        return image / amount

    image = np.array([[1, 3], [65535, 70]], np.uint16)
    assert halve.input_memory_type == halve.output_memory_type == "numpy"
    assert halve(image).tolist() == [[0, 2], [32768, 35]]
    assert halve(image, dtype_conversion=ab.DtypeConversion.NATIVE_OUTPUT).dtype == np.float64
    assert halve(image, dtype_conversion=ab.DtypeConversion.FLOAT32).dtype == np.float32
    assert halve(np.stack([image] * 3), slice_by_slice=True).shape == (3, 2, 2)

    @ab.numpy(contract=lambda r: r.min() >= 0)
    def negate(image):
        return -image

    with pytest.raises(ValueError, match="contract"):
        negate(np.ones(2))

    @ab.memory_types("numpy", "arrayloom")
    def same(image):
        return image

    assert b.kind(same(np.ones(3))) == "arrayloom"


def test_slices_with_several_results():
    volume = np.arange(12.0).reshape(3, 2, 2)
    main, sums = ab.process_slices(volume, lambda s, f: (s * f, s.sum()), (2,), {})
    assert np.array_equal(main, volume * 2)
    assert sums == [s.sum() for s in volume]
    with pytest.raises(TypeError, match="mix"):
        ab.process_slices(volume, lambda s: s if s[0, 0] else (s, 1), (), {})


def test_recovery_and_cleanup():
    calls = []

    def work():
        calls.append(1)
        if len(calls) < 3:
            raise MemoryError
        return "done"

    assert ab.run_with_oom_recovery(work) == "done"
    assert ab._is_oom_error(MemoryError(), "torch")
    assert not ab._is_oom_error(ValueError("out of memory"), "torch")
    ab.cleanup_all_gpu_frameworks(0)
    ab._clear_cache_for_memory_type("unknown")
    assert set(ab.MEMORY_TYPE_CLEANUP_REGISTRY) == {m.value for m in ab.MemoryType}


@pytest.mark.parametrize(("kind", "here"), [("torch", True), ("cupy", True), ("torch", False)])
def test_contexts_keep_one_stream_of_a_framework(monkeypatch, kind, here):
    module = types.ModuleType(kind)
    module.cuda = types.SimpleNamespace(Stream=object, is_available=lambda: here)
    monkeypatch.setattr(registry, "require", lambda spec: module if spec.name == kind else None)
    context = ab.ThreadGPUContext()
    assert (context.cupy_stream, context.torch_stream) == (None, None)
    stream = getattr(context, f"get_{kind}_stream")()
    assert (stream is not None) is here
    assert getattr(context, f"get_{kind}_stream")() is stream
    assert getattr(context, f"{kind}_stream") is stream


def test_contexts_have_no_stream_of_what_is_not_there(monkeypatch):
    def missing(spec):
        raise b.FrameworkUnavailable(spec.name)

    monkeypatch.setattr(registry, "require", missing)
    context = ab.ThreadGPUContext()
    assert (context.get_cupy_stream(), context.get_torch_stream()) == (None, None)
    assert (context.tensorflow_device, context.jax_device) == (None, None)


def test_stretching_happens_only_on_request():
    image = np.array([[100, 200], [300, 400]], np.float32)
    stretched = ab.SCALING_FUNCTIONS["numpy"](image, np.uint16)
    assert stretched.tolist() == [[0, 21845], [43690, 65535]]


def test_the_old_name_leads_here():
    code = (
        "from arrayloom.bridge import arraybridge; arraybridge.install()\n"
        "from arraybridge.converters import convert_memory\n"
        "from arraybridge import numpy, HOST\n"
        "import numpy as np\n"
        "print(convert_memory(np.ones(2), 'numpy', 'numpy', HOST).tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[1.0, 1.0]"


def test_the_matrix_is_printed(tmp_path, capsys):
    main = importlib.import_module("arrayloom.bridge.__main__").main
    picture = tmp_path / "matrix.svg"
    assert main(["--picture", str(picture)]) == 0
    text = capsys.readouterr().out
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines()[1:8]}
    names = text.splitlines()[0].split()[3:]
    assert len(names) == len(rows) == 7
    assert rows["numpy"][names.index("arrayloom")] == "Z"
    assert rows["arrayloom"][names.index("numpy")] == "Z"
    assert all(rows[name][i] in ("same", "error") for i, name in enumerate(names))
    assert picture.read_text().count("<rect") == 63


NUMPY = ab.ArrayLibrary.named("numpy")


class Watch(ab.ConversionObserver):
    def __init__(self):
        self.records = []

    def record(self, record):
        self.records.append(record)


def test_libraries_are_found_by_name_module_and_array():
    names = [library.name for library in ab.ArrayLibrary.all()]
    assert names[:6] == ["numpy", "cupy", "torch", "tensorflow", "jax", "pyclesperanto"]
    assert ab.ArrayLibrary.of(np.zeros(2)) is NUMPY
    assert ab.ArrayLibrary.of(b.to_arrayloom(np.zeros(2))) is NUMPY
    assert ab.ArrayLibrary.for_module_name("jaxlib.x").name == "jax"
    assert ab.MemoryType.TORCH.library is ab.ArrayLibrary.named("torch")
    assert pickle.loads(pickle.dumps(NUMPY)) is NUMPY
    assert isinstance(ab.ArrayLibrary.named("cupy"), ab.CudaLibrary)
    assert not isinstance(ab.ArrayLibrary.named("cupy"), ab.HostDevices)
    for call in (
        lambda: ab.ArrayLibrary.named("matlab"),
        lambda: ab.ArrayLibrary.for_module_name("scipy.ndimage"),
        lambda: ab.ArrayLibrary.of([1, 2]),
    ):
        with pytest.raises(ValueError, match=r"registered|No array library|Unknown memory type"):
            call()


def operations(library, device):
    """Every function of a library, compared with NumPy's."""
    host = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = library.from_numpy(host, device)
    assert library.accepts(x)
    assert library.nbytes_of(x) == 96
    found = {
        "max": (library.max(x, 0), host.max(0)),
        "min": (library.min(x, 1), host.min(1)),
        "mean": (library.mean(x, 2), host.mean(2)),
        "sum": (library.sum(x, (1, 2)), host.sum((1, 2))),
        "reshape": (library.reshape(x, (6, 4)), host.reshape(6, 4)),
        "prepend": (library.reshape(library.prepend_axis(x[0]), (3, 4)), host[0]),
        "astype": (library.astype(x, "int16"), host.astype("int16")),
        "ones": (library.ones((2, 3), "float32"), np.ones((2, 3), np.float32)),
        "ones_like": (library.ones_like(x, dtype="uint8"), np.ones((2, 3, 4), np.uint8)),
        "outer": (library.outer(x[0, 0], x[0, 1]), np.outer(host[0, 0], host[0, 1])),
        "stack": (library.stack_arrays([x[0], x[1]], device), host),
        "planes": (
            library.normalize_planes(x, "float32", [2.0, None]),
            np.stack([host[0] / 2, host[1]]),
        ),
    }
    for name, (made, expected) in found.items():
        back = library.to_numpy(made)
        assert np.array_equal(back, expected), name
        assert back.dtype == expected.dtype, name
    ramp = library.to_numpy(library.astype(library.linspace(0, 1, 4, endpoint=False), "float32"))
    assert ramp.tolist() == [0, 0.25, 0.5, 0.75]
    stored = library.assign(library.ones(4, "float32"), slice(None, 2), x[0, 0, :2])
    assert library.to_numpy(stored).tolist() == [0, 1, 1, 1]
    with pytest.raises(ValueError, match="match the leading plane"):
        library.normalize_planes(x, "float32", [1.0])


def test_operations_of_numpy():
    operations(NUMPY, ab.HOST)
    both = NUMPY.logical_and(np.array([True, False]), np.array([True, True]))
    assert both.tolist() == [True, False]
    assert NUMPY.broadcast_to(np.ones((1, 3)), (2, 3)).shape == (2, 3)
    assert NUMPY.floor(2.7) == 2
    assert NUMPY.scale_dtype(np.array([0.0, 0.5, 1.0]), np.uint8).tolist() == [0, 127, 255]
    assert NUMPY.scale_dtype(np.array([1, 2], np.uint8), np.uint16).tolist() == [1, 2]
    assert NUMPY.scale_dtype("no array", np.uint8) == "no array"


@pytest.mark.frameworks("torch", "jax", "tensorflow")
@pytest.mark.parametrize("name", ["torch", "jax", "tensorflow"])
def test_operations_of_frameworks(name):
    library = ab.ArrayLibrary.named(name)
    assert library.is_installed()
    operations(library, ab.HOST)
    assert library.device_of(library.ones(2, "float32")) == ab.HOST
    assert library.dtype_name(library.ones(2, "uint8").dtype) == "uint8"
    x = library.ones(2, "float32")
    payload = library.export_dlpack(x)
    again = library.from_dlpack(payload.capsule)
    assert library.host_address_of(again) == library.host_address_of(x)
    assert library.imports_dlpack_from(ab.HOST)
    assert library.shares_numpy_buffer_on(ab.HOST)


def test_routes_are_planned_and_recorded():
    torch, cupy = map(ab.ArrayLibrary.named, ("torch", "cupy"))
    gpu = ab.AcceleratorDevice(0)
    planned = ab.ConversionRoute.planned
    assert planned(NUMPY, ab.HOST, NUMPY, ab.HOST) is ab.StaysInPlace
    assert planned(torch, ab.HOST, torch, gpu) is ab.DeviceMove
    assert planned(torch, gpu, cupy, gpu) is ab.DLPackExchange
    assert planned(NUMPY, ab.HOST, torch, ab.HOST) is ab.SharedHostBuffer
    assert planned(NUMPY, ab.HOST, torch, gpu) is ab.HostCopy
    assert ab.ConversionRoute.candidates(torch, gpu, cupy, gpu)[-1] is ab.HostCopy
    assert next(iter(ab.ConversionRoute.__registry__)) == "stays in place"
    watch = Watch()
    with watch.installed():
        ab.convert_memory(np.zeros(3), "numpy", "numpy", ab.HOST)
    assert watch.records == []


@pytest.mark.frameworks("torch")
def test_records_say_what_happened():
    torch = ab.ArrayLibrary.named("torch")
    counters = ab.ConversionCounters()
    data = np.arange(6.0)
    with counters.installed() as installed:
        assert installed is ab.ConversionObserver.current
        torch.to_numpy(torch.from_numpy(data, ab.HOST))
        ab.convert_memory(data[::-1], "numpy", "torch", ab.HOST)
    assert type(ab.ConversionObserver.current) is ab.IgnoreConversions
    rows = {(r["source_library"], r["mechanism"]): r for r in counters.rows()}
    assert rows["numpy", "shared host buffer"]["nbytes"] == 48
    assert rows["torch", "shared host buffer"]["count"] == 1
    copied = rows["numpy", "host copy"]
    assert copied["declined_mechanisms"] == ["shared host buffer"]
    again = ab.ConversionCounters.from_json(counters.to_json())
    assert pickle.loads(pickle.dumps(counters)).rows() == counters.rows() == again.rows()
    assert again.merge(counters).rows()[0]["count"] == 2 * counters.rows()[0]["count"]
    assert "host copy" in counters.format_table()
    record = ab.ConversionRecord("numpy", "host", "torch", "host", "dlpack", 8, 0.5, ("x",))
    assert ab.ConversionRecord.from_json(record.to_json()) == record


@dataclasses.dataclass(frozen=True)
class Native(ab.DtypeConversionConfig):
    default_dtype_conversion: ab.DtypeConversion = ab.DtypeConversion.NATIVE_OUTPUT


class Plate(ab.ArrayPayload):
    def __init__(self, data, name):
        self.data = data
        self.name = name

    def array_payload_data(self):
        return self.data

    def with_data(self, data):
        return Plate(data, self.name)


def test_defaults_of_callables_and_payloads():
    @ab.numpy(dtype_config_default=Native(), slice_by_slice_default=True)
    def shift(image):
        assert image.ndim == 2
        return image.astype(np.float32) + 0.25

    volume = np.ones((3, 2, 2), np.uint16)
    assert shift(volume).dtype == np.float32
    assert shift(volume, dtype_config=ab.PreserveInputDtypeConfig()).dtype == np.uint16
    parameters = inspect.signature(shift).parameters
    assert parameters["slice_by_slice"].default is True
    assert isinstance(parameters["dtype_config"].default, Native)
    with pytest.raises(TypeError, match="DtypeConversionConfig"):
        ab.numpy(dtype_config_default="native")(lambda image: image)

    wrapped = ab.wrap_dtype_preserving_callable(lambda x: x / 2, ab.MemoryType.NUMPY)
    assert wrapped(np.array([1, 3], np.uint8)).tolist() == [0, 2]
    plate = Plate(np.array([1, 2], np.uint8), "A1")
    done = wrapped(plate)
    assert (done.name, done.data.dtype) == ("A1", np.uint8)
    assert plate.map_array_payload(lambda x: x) is plate
    assert ab.ArrayGeometry.from_value(plate).shape == (2,)
    assert ab.ArrayGeometry.from_value([[1, 2, 3]]).ndim == 2
    with pytest.raises(TypeError, match="concrete array geometry"):
        ab.ArrayGeometry.require_from_value([[1], [2, 3]])


def test_environments_of_children_keep_what_is_set():
    made = ab.ArrayLibrary.child_environment({"XLA_PYTHON_CLIENT_PREALLOCATE": "mine"})
    assert made["XLA_PYTHON_CLIENT_PREALLOCATE"] == "mine"
    assert made["TF_FORCE_GPU_ALLOW_GROWTH"] == "true"


def test_converters_of_the_first_generation():
    x = np.arange(6.0).reshape(2, 3)
    for member in ab.MemoryType:
        assert member.converter.memory_type == member.value
        assert callable(getattr(ab.get_converter("numpy"), f"to_{member.value}"))
        assert callable(getattr(ab.MemoryType.NUMPY, f"to_{member.value}"))
    assert ab.MemoryType.NUMPY.to_numpy(x, 0) is x
    assert ab.get_converter("numpy").to_numpy(x, 0) is x
    assert ab.get_converter("numpy").move_to_device(x, 0) is x
    assert np.shares_memory(ab.get_converter("numpy").from_dlpack(x, 0), x)
    with pytest.raises(ValueError, match="No converter registered for memory type 'matlab'"):
        ab.get_converter("matlab")
    ab._validate_registry()
    assert set(ab.ConverterBase.__registry__) == ab.VALID_MEMORY_TYPES


def test_stretching_is_the_first_generations():
    scale = ab.SCALING_FUNCTIONS["numpy"]
    assert scale(np.array([1, 2], np.uint8), np.uint16).tolist() == [1, 2]
    assert scale(np.array([0.0, 0.5, 1.0]), np.uint16).tolist() == [0, 32767, 65535]
    assert scale(np.array([0.0, 1.0], np.float32), np.int32).tolist() == [-(2**31), 2**31 - 128]
    assert scale(np.array([0.0, 1.0], np.float16), np.uint16).tolist() == [0, 65535]
    assert scale(np.array([-1.0, 3.0]), np.int16).tolist() == [-32768, 32767]
    assert scale(np.array([7.0, 7.0]), np.uint8).tolist() == [7, 7]
    assert scale(np.array([2, 3]), np.float32).dtype == np.float32
    assert scale("no array", np.uint8) == "no array"
    with pytest.raises(ValueError, match="zero-size"):
        scale(np.zeros(0), np.uint8)


def test_helpers_of_the_first_generation():
    x = np.zeros((2, 3))
    assert (ab._is_2d(x), ab._is_3d(x), ab._is_2d(None)) == (True, False, False)
    assert ab._get_device_id(x, "numpy") is None
    assert ab._move_to_device(x, "numpy", 0) is x
    ab._enforce_gpu_device_requirements("numpy", -1)
    with pytest.raises(ValueError, match="Invalid GPU device ID: -1"):
        ab._enforce_gpu_device_requirements("torch", -1)


def test_an_accelerator_that_is_not_there_is_an_error():
    with pytest.raises(ab.MemoryConversionError, match="NumPy device accelerator:0 is unavailable"):
        ab.convert_memory(np.ones(3), "numpy", "numpy", ab.AcceleratorDevice(0))


@pytest.mark.frameworks("cupy")
def test_cleanup_without_a_driver_is_quiet():
    importlib.import_module("cupy")
    ab.cleanup_cupy_gpu()
    ab.cleanup_all_gpu_frameworks(0)
