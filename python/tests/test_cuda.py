"""Programs on a CUDA device whose driver is a fake that runs kernels on the CPU. The tests need ``g++``."""

import json
import os
import site
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import fake_cuda
from support.conditions import CONDITIONS

ROOT = Path(__file__).resolve().parents[2]
COMPILERS = [
    file
    for packages in site.getsitepackages()
    for file in Path(packages).glob("nvidia/*/lib/libnvrtc.so.*")
]
HEAT = ("examples/heat_equation.py", "--size", "200", "--iterations", "8", "--plot", "")

PROGRAM = """
import numpy as np
x = np.arange(60_000, dtype=np.float64).reshape(200, 300) / 7
print(float(x.sum()).hex(), float((x * x)[:, ::2].mean()).hex(), int(x.argmax()))
w = np.arange(90_000).reshape(300, 300) % 1009
print(int((w @ w.T).sum()), float(np.abs(x @ x.T / (x**2).sum()).max()) <= 1.0)
print((x[1:] - x[:-1]).sum(axis=0)[:3].tolist(), int((x > 100).sum()))
"""

SORTS = """
import json, sys, zlib
import numpy as np
import arrayloom._ext as ext
r = np.random.default_rng(3)
x = r.permutation(60_000).reshape(20, 3000) * 0.5
x[3, 5:9], x[4, 7] = np.nan, -np.inf
few = np.floor(x / 5000)
z = few[:, ::3] + 1j * few[:, 1::3]
def show(a): print(a.dtype, a.shape, zlib.crc32(a.tobytes()))
for a in (x, z, few.astype("i2"), x[::-2, ::7]):
    for axis in range(a.ndim):
        show(np.sort(a, axis=axis, kind="stable"))
        show(np.argsort(a, axis, kind="stable"))
flat = np.nan_to_num(x).ravel() + np.arange(60_000) / 1e6
show(flat.argsort())
flat[::2].sort()
show(flat)
for wrong in (lambda: x.sort(axis=2), lambda: x.sort(kind="no"), lambda: x.sort(kind="stable", stable=True)):
    try:
        wrong()
    except Exception as error:
        print(type(error).__name__, error)
print(json.dumps(ext.stats().get("backend")), file=sys.stderr)
"""

FILTERS = """
import os, sys, tempfile, zlib
import numpy as np
from arrayloom import filters, volumes
x = np.random.default_rng(5).normal(100, 30, (12, 21, 37))
x[3, 4, 5] = np.inf
few = x.clip(0, 255).astype("u1")
target = os.path.join(tempfile.mkdtemp(), "out.npy")
def show(made, **where):
    report = volumes.save(target, made, memory_limit="4MiB", **where)
    found = np.load(target)
    found[np.isnan(found)] = 0
    print(found.dtype, zlib.crc32(found.tobytes()), report["left_to_cpu"])
    return report["blocks"]
where = {"devices": sys.argv[1]} if sys.argv[1:] else {}
wide, narrow = volumes.open(x.astype("f4")), volumes.open(few)
blocks = [
    show(made, **where)
    for made in (
        filters.gaussian_filter(wide, (1, 2, 1)),
        filters.gaussian_laplace(narrow, 1, mode="renormalize"),
        filters.uniform_filter(narrow, 3, mode="mirror"),
        filters.median_filter(wide, 3),
        filters.rank_filter(narrow, 9, size=(3, 4, 3), mode="wrap"),
        filters.maximum_filter(wide, footprint=filters.ball(2)),
        filters.correlate(wide, x[:3, :3, :3], mode="constant", cval=2.5),
        filters.std_filter(wide, 3, mode="renormalize"),
        filters.var_filter(narrow, 5),
        filters.wiener_filter(wide, 3, noise=300.0),
        filters.bilateral_filter(narrow, 25.0, 0.7, mode="renormalize"),
        filters.grey_opening(filters.threshold_sauvola(narrow, 3), 3),
    )
]
print(max(blocks) > 1, file=sys.stderr)
"""

TRANSFORMS = """
import json, sys
import numpy as np
import arrayloom._ext as ext
x = np.random.default_rng(5).normal(size=(12, 150, 7))
z = x[:, ::2] + 1j * x[:, 1::2]
f = np.fft
found = [f.fft(x, axis=1), f.fft(z, axis=1), f.ifft(z, 97, axis=1), f.rfft(x, axis=1), f.rfft(x, 75, axis=1)]
found += [f.irfft(z, axis=1), f.irfft(z, 61, axis=1), f.fft2(z), f.fft(z.astype("c8"), axis=1, norm="ortho")]
found += [f.rfftn(x), f.hfft(z, axis=1), f.fft(z, axis=0, out=np.empty_like(z))]
for a in found:
    print(a.dtype, a.shape)
np.savez(sys.argv[1], *found)
print(json.dumps(ext.stats().get("backend")), file=sys.stderr)
"""

PRODUCTS = """
import json, sys
import numpy as np
import arrayloom._ext as ext
x = np.random.default_rng(5).normal(size=(3, 40, 60))
found = []
for dtype in ("f4", "f8", "c8", "c16"):
    a = x.astype(dtype)
    found += [a[0] @ a[1].T, a[0].T @ a[1], a[0][:, ::2] @ a[1][:, ::2].T, a[:, :, :9] @ a[0, 1:10]]
    found += [a @ a[0, 0], np.matmul(a[0][::-1], a[2].T)]
for a in found:
    print(a.dtype, a.shape)
np.savez(sys.argv[1], *found)
print(json.dumps(ext.stats().get("backend")), file=sys.stderr)
"""

RANDOM = """
import zlib
import numpy as np
g = np.random.Generator(np.random.Philox(12))
for size in (1, 50_000, 3, (40, 1001), (3, 5), 70_001, None, [2, 9000]):
    print(zlib.crc32(np.asarray(g.random(size)).tobytes()), g.bit_generator.state)
for size, dtype in ((50_001, "f4"), (3, "f4"), (40_000, "f8"), ((40, 1001), np.float32), (7, "f4"), (30_002, "float32")):
    print(zlib.crc32(np.asarray(g.random(size, dtype)).tobytes()), g.bit_generator.state)
print(g.random(9, dtype="f4"), g.normal(size=5), isinstance(g, np.random.Generator), type(g).__name__)
"""


# Operations that are no kernels, one after the other, on arrays that the program changes in between.
CHANGED = """
import numpy as np
a, b = np.arange(10_000.0).reshape(100, 100) % 7, np.ones((100, 100))
for value in (1.0, 50.0, 7.0):
    a[0, 0] = value
    print((a @ b)[0, 0])
s = np.arange(5000.0)[::-1].copy()
for place in range(3):
    s[place] = -1.0 - place
    print(np.argsort(s)[0], np.sort(s)[0], abs(np.fft.fft(s))[0])
for _ in range(3):
    kept = np.random.Generator(np.random.Philox(5)).random(15)
    print(kept.sum())
    del kept
    fresh = np.empty(15)
    memoryview(fresh)[:] = memoryview(np.arange(15.0))
    print((fresh * 2.0)[3])
    del fresh
"""


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the fake; the folder has the driver, and the compiler where packages bring it."""
    return fake_cuda.build(tmp_path_factory.mktemp("cuda"))


def run(*words: str, folder: Path | None, **environ: str) -> subprocess.CompletedProcess[str]:
    paths = [str(ROOT), *sys.path]
    if folder is not None:
        # The compiler of the fake comes before any true one.
        paths.insert(0, str(folder))
        environ["LD_LIBRARY_PATH"] = str(folder)
        environ["ARRAYLOOM_CACHE_DIR"] = str(folder / "kernels")
    return subprocess.run(
        [sys.executable, "-m", "arrayloom", *words],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environ},
        cwd=ROOT,
        check=False,
    )


def results(*words: str, folder: Path | None = None, **environ: str) -> list[str]:
    done = run("--min-bytes", "0", *words, folder=folder, **environ)
    assert done.returncode == 0, done.stderr
    assert "fake CUDA" not in done.stderr
    return [line for line in done.stdout.splitlines() if not line.startswith("heat")]


@pytest.mark.parametrize("delay", ["0", "1", "12"])
def test_heat_has_the_bits_of_the_cpu(driver: Path, delay: str):
    expected = results(*HEAT)
    found = results("--backend", "cuda", *HEAT, folder=driver, FAKE_CUDA_DELAY=delay)
    assert found == expected
    assert list((driver / "kernels").glob("*.cubin"))


def test_folds_have_the_bits_of_the_cpu(driver: Path):
    expected = results("-c", PROGRAM)
    found = results("--backend", "cuda:1", "-c", PROGRAM, folder=driver, FAKE_CUDA_DELAY="1")
    assert found == expected
    assert len(expected) == 3


def test_sorts_run_on_the_device_with_the_bits_of_numpy(driver: Path):
    expected = results("-c", SORTS)
    words = ("--min-bytes", "0", "--backend", "cuda", "-c", SORTS)
    done = run(*words, folder=driver, FAKE_CUDA_DELAY="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == expected
    assert len(expected) == 21
    reasons = json.loads(done.stderr.splitlines()[-1])["reasons"]
    assert not [reason for reason in reasons if "sort" in reason]


@pytest.mark.parametrize("libraries", ["0", "1"])
@pytest.mark.parametrize(
    ("code", "name", "count"), [(PRODUCTS, "matmul", 24), (TRANSFORMS, "fft", 12)]
)
def test_operations_run_on_the_device_as_exact_as_in_numpy(
    driver: Path, tmp_path: Path, libraries: str, code: str, name: str, count: int
):
    expected = results("-c", code, str(tmp_path / "numpy.npz"))
    words = ("--min-bytes", "0", "--backend", "cuda", "-c", code, str(tmp_path / "gpu.npz"))
    done = run(*words, folder=driver, FAKE_CUDA_DELAY="1", ARRAYLOOM_LIBRARIES=libraries)
    assert done.returncode == 0, done.stderr
    assert "fake CUDA" not in done.stderr
    assert done.stdout.splitlines() == expected
    stats = json.loads(done.stderr.splitlines()[-1])
    assert not [reason for reason in stats["reasons"] if name in reason]
    ours, theirs = np.load(tmp_path / "gpu.npz"), np.load(tmp_path / "numpy.npz")
    assert len(ours.files) == count
    for key in ours.files:
        size = float(np.abs(theirs[key]).max())
        single = theirs[key].dtype in (np.float32, np.complex64)
        unit = 1e-6 if single else 1e-14
        assert float(np.abs(ours[key] - theirs[key]).max()) <= unit * size, key


@pytest.mark.parametrize(
    ("libraries", "words"),
    [
        ("1", ["cuBLAS 120900 (", "cuFFT 11400 ("]),
        ("0", ["no cuBLAS and no cuFFT: they are turned off"]),
    ],
)
def test_libraries_are_listed(driver: Path, libraries: str, words: list[str]):
    lines = run("backends", folder=driver, ARRAYLOOM_LIBRARIES=libraries).stdout.splitlines()
    line = next(line for line in lines if line.startswith("cuda"))
    assert not [word for word in words if word not in line], line


@pytest.mark.parametrize("delay", ["0", "7"])
def test_filters_of_volumes_have_the_bits_of_the_cpu(driver: Path, delay: str):
    expected = results("-c", FILTERS)
    done = run("-c", FILTERS, "cuda:0=256KiB", folder=driver, FAKE_CUDA_DELAY=delay)
    assert done.returncode == 0, done.stderr
    assert "fake CUDA" not in done.stderr
    assert done.stdout.splitlines() == expected
    assert len(expected) == 12
    assert all(line.endswith("{}") for line in expected)
    assert "True" in done.stderr.splitlines()


def test_random_numbers_are_numpys(driver: Path):
    expected = results("-c", RANDOM)
    assert results("--backend", "cuda", "-c", RANDOM, folder=driver) == expected


def test_operations_see_what_the_program_has_written(driver: Path):
    expected = results("-c", CHANGED)
    assert len(expected) == 12
    assert results("--backend", "cuda", "-c", CHANGED, folder=driver) == expected


def test_conditions_are_told_as_by_the_cpu(driver: Path):
    expected = results("-c", CONDITIONS)
    found = results("--backend", "cuda", "-c", CONDITIONS, folder=driver, FAKE_CUDA_DELAY="1")
    assert found == expected
    assert "divide by zero" in expected[1]


@pytest.mark.skipif(not COMPILERS, reason="needs `pip install nvidia-cuda-nvrtc`")
def test_the_true_compiler_is_found_in_its_package_and_makes_machine_code(
    driver: Path, tmp_path: Path
):
    (driver_only := tmp_path / "driver").mkdir()
    os.link(driver / "libcuda.so.1", driver_only / "libcuda.so.1")
    words = ("--min-bytes", "0", "--backend", "cuda", "-c", PROGRAM)
    assert run(*words, folder=driver_only).returncode == 0
    images = list((driver_only / "kernels").glob("*.cubin"))
    assert len(images) > 3
    assert all(b"\x7fELF" in image.read_bytes() for image in images)


def test_the_device_is_listed(driver: Path):
    lines = run("backends", folder=driver).stdout.splitlines()
    line = next(line for line in lines if line.startswith("cuda"))
    assert "PASS" in line
    assert "Fake GPU 0, sm_90" in line
    assert "NVRTC 12.9" in line


def test_without_a_driver_it_is_unavailable_with_the_reason(tmp_path: Path):
    broken = tmp_path / "libcuda.so.1"
    broken.write_text("no library")
    environ = {"LD_LIBRARY_PATH": str(tmp_path)}
    lines = run("backends", folder=None, **environ).stdout.splitlines()
    line = next(line for line in lines if line.startswith("cuda"))
    assert "unavailable" in line
    assert "no CUDA driver" in line
    assert "install NVIDIA's driver" in line
    done = run("--backend", "cuda", "-c", "print(1)", folder=None, **environ)
    assert done.returncode != 0
    assert "no CUDA driver" in done.stderr
