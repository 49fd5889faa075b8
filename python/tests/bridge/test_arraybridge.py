"""Code written for arraybridge, both generations, and the command that prints the matrix."""

import importlib
import subprocess
import sys

import numpy as np
import pytest

import arrayloom.bridge as b
from arrayloom.bridge import arraybridge as ab


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
    assert set(ab.MEMORY_TYPE_CLEANUP_REGISTRY) == {m.value for m in ab.MemoryType}


def test_stretching_happens_only_on_request():
    image = np.array([[100, 200], [300, 400]], np.uint16)
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
