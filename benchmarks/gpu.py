"""What a device costs and gives: compiling, a program, and its memory, in turns with NumPy.

``python benchmarks/gpu.py --backend opencl`` (or ``cuda``, ``cuda:1``) prints, after one line about the
device:

- cold: milliseconds to compile, load and run a kernel the first time, with nothing kept on disk;
- warm: the same with compiled kernels on disk, in a fresh process (bar: 10 ms);
- heat: the heat equation, seconds an iteration beside NumPy's (bar: 4 times as fast on a CPU's OpenCL);
- chain: bytes per second of ``a * x + y - z`` on arrays that stay on the device, as a part of those of a
  plain copy there (bar on a GPU: three quarters);
- matmul, fft: milliseconds of a product of square matrices of ``float32`` and of transforms of the rows of one of
  ``complex64``, whole calls with arrays in the host's memory before and after: NumPy, the device with its vendor's
  libraries, and by arrayloom's own kernels alone;
- peers: heat, matmul and fft with CuPy, where it is installed and a GPU is there; products and transforms also of arrays
  that stay on the device.

Every figure is the median of ``--rounds`` processes, one of each kind in turn. Run it with a release
build. Nothing is fetched: on a machine without a network, carry the wheels of arrayloom, NumPy and, for
CUDA, ``nvidia-cuda-nvrtc`` of the driver's major version.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Each number of operations makes a kernel of its own.
KERNELS = """
import json, time
import numpy as np
x = np.arange(300_000, dtype=np.float64)
(x + 1.0).sum()
first, again = [], []
for times in (first, again):
    for number in range({count}):
        start = time.perf_counter()
        y = x
        for _ in range(number + 2):
            y = np.sqrt(y * 3.5 + 1.25)
        float(y[0])
        times.append(time.perf_counter() - start)
print(json.dumps([1000 * (a - b) for a, b in zip(first, again)]))
"""

HEAT = """
import json, sys, time
sys.path.insert(0, {examples!r})
import heat_equation
grid = heat_equation.plate({size})
heat_equation.solve(grid, 3)
start = time.perf_counter()
done, delta = heat_equation.solve(grid, {iterations}, epsilon=0.0)
float(delta)
print(json.dumps((time.perf_counter() - start) / done))
"""

# Results are written over the same arrays, so that neither side waits for new memory. `flush` comes back when
# the device is done, and copies nothing; looking at an element would bring its whole array.
CHAIN = """
import json, time
import numpy as np
from arrayloom._ext import flush, stats
n = {elements}
x, y, z, out = (np.full(n, float(i)) for i in range(4))
def timed(call):
    # What is recorded differs the first time, and may be compiled.
    for _ in range(2):
        start = time.perf_counter()
        for _ in range({repeats}):
            call()
            flush()
        taken = (time.perf_counter() - start) / {repeats}
    return taken
def copy(): out[:] = x + 0.0
def chain(): out[:] = 1.5 * x + y - z
def brought(): return (stats().get("backend") or {{}}).get("download_bytes", 0)
before = brought()
rates = [16 * n / timed(copy), 32 * n / timed(chain)]
print(json.dumps([*rates, brought() - before]))
"""

CUPY = """
import json, time
import cupy as np
size = {size}
grid = np.zeros((size + 2, size + 2))
grid[:, 0] = grid[:, -1] = grid[-1, :] = -273.15
grid[0, :] = 40.0
def step():
    center = grid[1:-1, 1:-1]
    work = 0.2 * (center + grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:])
    delta = np.sum(np.abs(work - center))
    center[:] = work
    return float(delta)
step()
start = time.perf_counter()
for _ in range({iterations}):
    step()
print(json.dumps((time.perf_counter() - start) / {iterations}))
"""

# With `module` CuPy, operands go to the device and results come back, as they do under arrayloom.
OPERATIONS = """
import json, time
import numpy as np
import {module} as xp
rng = np.random.default_rng(1)
a, b = (rng.random(({size}, {size}), dtype="f4") for _ in range(2))
z = a + 1j * b
on_host = xp is np
def timed(call, *arrays, stays=False):
    if stays:
        arrays = [xp.asarray(x) for x in arrays]
    times = []
    for _ in range({repeats} + 1):
        start = time.perf_counter()
        result = call(*(arrays if on_host or stays else map(xp.asarray, arrays)))
        if not on_host:
            result = xp.cuda.get_current_stream().synchronize() if stays else xp.asnumpy(result)
        times.append(time.perf_counter() - start)
    return 1000 * sorted(times[1:])[{repeats} // 2]
matmul, fft = lambda x, y: x @ y, lambda x: xp.fft.fft(x)
found = {{"matmul": timed(matmul, a, b), "fft": timed(fft, z)}}
if not on_host:
    found["matmul, stays"] = timed(matmul, a, b, stays=True)
    found["fft, stays"] = timed(fft, z, stays=True)
print(json.dumps(found))
"""


def measured(code, backend, cache, **environ):
    """Run a program in a process of its own; what it prints last, or nothing if it fails."""
    way = ["-m", "arrayloom", "--backend", backend, "--min-bytes", "0"] if backend else []
    done = subprocess.run(
        [sys.executable, *way, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "ARRAYLOOM_CACHE_DIR": str(cache), **environ},
        cwd=cache,
    )
    if done.returncode:
        sys.stderr.write(done.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def start_up(backend, rounds, count):
    """Milliseconds of a kernel, cold and warm: medians over kernels and rounds."""
    cold, warm = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            code = KERNELS.format(count=count)
            cold += measured(code, backend, cache) or []
            warm += measured(code, backend, cache) or []
    return cold, warm


def in_turns(rounds, cache, programs):
    """Figures of programs ``name: (code, backend, variables)``, one process of each in turn."""
    found = {name: [] for name in programs}
    for _ in range(rounds):
        for name, (code, backend, *environ) in programs.items():
            value = measured(code, backend, cache, **dict(*environ))
            if value is not None:
                found[name].append(value)
    return found


def operations(args, cache):
    """Print milliseconds of products and transforms, medians over rounds."""
    code = OPERATIONS.format(module="numpy", size=args.matrix, repeats=args.iterations)
    programs = {"NumPy": (code, ""), args.backend: (code, args.backend)}
    if args.backend.startswith("cuda"):
        own = {"ARRAYLOOM_LIBRARIES": "0"}
        programs["own kernels"] = (code, args.backend, own)
        peer = OPERATIONS.format(module="cupy", size=args.matrix, repeats=args.iterations)
        programs["CuPy"] = (peer, "")
    found = in_turns(args.rounds, cache, programs)
    for name, rounds in found.items():
        for what in rounds[0] if rounds else ():
            middle = statistics.median(times[what] for times in rounds)
            print(f"{what}, {args.matrix}: {name} {middle:.3f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="opencl")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kernels", type=int, default=8)
    parser.add_argument("--size", type=int, default=3000)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--elements", type=int, default=16_000_000)
    parser.add_argument("--matrix", type=int, default=4096)
    args = parser.parse_args()

    listed = subprocess.run(
        [sys.executable, "-m", "arrayloom", "backends"], capture_output=True, text=True, check=True
    ).stdout
    family = args.backend.partition(":")[0]
    print(next((line for line in listed.splitlines() if line.startswith(family)), args.backend))

    cold, warm = start_up(args.backend, args.rounds, args.kernels)
    for name, times in (("cold", cold), ("warm", warm)):
        if times:
            middle, most = statistics.median(times), max(times)
            print(f"{name}: {middle:.1f} ms a kernel, at most {most:.1f}")

    size, iterations = args.size, args.iterations
    code = HEAT.format(examples=str(ROOT / "examples"), size=size, iterations=iterations)
    programs = {"NumPy": (code, ""), args.backend: (code, args.backend)}
    if family == "cuda":
        programs["CuPy"] = (CUPY.format(size=size, iterations=iterations), "")
    with tempfile.TemporaryDirectory() as cache:
        found = in_turns(args.rounds, cache, programs)
        plain = statistics.median(found["NumPy"])
        for name, times in found.items():
            if times:
                middle = statistics.median(times)
                print(f"heat {size}: {name} {1e3 * middle:.3f} ms, {plain / middle:.2f} x NumPy")
        code = CHAIN.format(elements=args.elements, repeats=iterations)
        rates = in_turns(args.rounds, cache, {"chain": (code, args.backend)})["chain"]
        operations(args, cache)
    if rates:
        copied, chained, brought = (statistics.median(rate) for rate in zip(*rates, strict=True))
        part = f"{chained / copied:.0%} of a copy's {copied / 1e9:.1f} GB/s"
        print(f"chain: {chained / 1e9:.1f} GB/s, {part}; {brought:.0f} bytes came back meanwhile")


if __name__ == "__main__":
    main()
