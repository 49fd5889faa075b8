"""What programs on a device with memory of its own cost the host: recording, planning, launches, and bytes to and fro.

``python benchmarks/host_side.py`` needs no GPU but ``g++``: a CUDA driver of the tests stands in, whose kernels do nothing.
For each program it prints, an iteration (medians of ``--rounds`` processes): microseconds, those of them for planning and for
launches of fused kernels, launches, and megabytes from the host to the device and back; once for a loop that nobody looks
into, and once after the program has read an element of its array. A GPU is busy only if it takes longer than the host.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import harness

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python" / "tests"))

from support import fake_cuda  # noqa: E402 - its folder is named above

PROGRAMS = {
    "heat 3000 x 3000": """
plate = heat_equation.plate(3000)
center, north, south = plate[1:-1, 1:-1], plate[:-2, 1:-1], plate[2:, 1:-1]
east, west = plate[1:-1, :-2], plate[1:-1, 2:]
def step():
    work = 0.2 * (center + north + south + east + west)
    center[:] = work
""",
    "shallow water 2000 x 2000": """
water = shallow_water.basin(2000)
plate = water[0]
def step():
    shallow_water.step(*water)
""",
    "Black-Scholes, 4 M": """
price, strike = (np.random.default_rng(n).uniform(10, 50, 4_000_000) for n in range(2))
plate = price.reshape(2000, 2000)
def step():
    call, _ = black_scholes.step(price, strike)
    return float(call.sum())
""",
    "product and tanh, 1000 x 1000": """
plate, weights = (np.random.default_rng(n).random((1000, 1000)) for n in range(2))
def step():
    global plate
    plate = np.tanh(plate @ weights)
""",
}

MEASURE = """
import json, sys, time
sys.path[:0] = {folders!r}
import numpy as np
import black_scholes, heat_equation, shallow_water
import arrayloom._ext as ext
{program}
def measured(times):
    for _ in range(60): step()
    ext.flush()
    before, start = ext.stats(), time.perf_counter()
    for _ in range(times): step()
    ext.flush()
    seconds, after = time.perf_counter() - start, ext.stats()
    def micros(name):
        return 1e6 * (after[name] - before[name]) / times
    def per(name):
        return (after["backend"][name] - before["backend"][name]) / times
    moved = [per(name) / 1e6 for name in ("upload_bytes", "download_bytes")]
    return [1e6 * seconds / times, micros("plan_seconds"), micros("device_seconds"), per("native"), *moved]
alone = measured(200)
plate[1, 1]
print(json.dumps([alone, measured(200)]))
"""


def run(program, folder, cache):
    """Figures of one process: alone, and after a look."""
    folders = [str(ROOT / "examples"), str(ROOT / "benchmarks" / "programs")]
    code = MEASURE.format(program=program, folders=folders)
    environ = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]),
        "LD_LIBRARY_PATH": str(folder),
        "FAKE_CUDA_IDLE": "1",
        "ARRAYLOOM_CACHE_DIR": cache,
    }
    file = Path(cache) / "program.py"
    file.write_text(code)
    command = [sys.executable, "-m", "arrayloom", "--backend", "cuda", str(file)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    rows = []
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cache:
        driver = fake_cuda.build(Path(folder))
        for name, program in PROGRAMS.items():
            runs = [run(program, driver, cache) for _ in range(rounds)]
            for part, when in enumerate(("", ", after a look")):
                columns = zip(*(each[part] for each in runs), strict=True)
                *micros, launches, up, down = map(statistics.median, columns)
                row = [name + when, *(f"{n:.0f}" for n in micros), f"{launches:.1f}"]
                rows.append([*row, f"{up:.2f}", f"{down:.2f}"])
    head = ["program", "us", "planning", "kernels", "launches", "MB to the device", "MB back"]
    print(f"Medians of {rounds} processes, per iteration.\n\n{harness.markdown(head, rows)}")


if __name__ == "__main__":
    main()
