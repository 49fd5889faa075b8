"""The memory of a device that is not ours: what stays there, its limit, and what happens beyond it."""

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import hashlib, json, sys
import numpy
import arrayloom as np
from arrayloom import _ext, memory

def heat(n, steps):
    grid = np.zeros((n + 2, n + 2))
    grid[0, :] = 40.0
    grid[:, 0] = -20.0
    changes = []
    for _ in range(steps):
        center = grid[1:-1, 1:-1]
        work = 0.2 * (center + grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:])
        changes.append(float(np.abs(work - center).sum()))
        grid[1:-1, 1:-1] = work
    return hashlib.sha256(numpy.asarray(grid).tobytes()).hexdigest(), changes

def shallow_water(n, steps):
    h = np.ones((n + 2, n + 2))
    u = np.zeros((n + 2, n + 2))
    v = np.zeros((n + 2, n + 2))
    h[n // 4 : n // 2, n // 4 : n // 2] += 0.5
    for _ in range(steps):
        flux = 0.5 * (h[1:, 1:-1] + h[:-1, 1:-1]) * 0.5 * (u[1:, 1:-1] + u[:-1, 1:-1])
        side = 0.5 * (h[1:-1, 1:] + h[1:-1, :-1]) * 0.5 * (v[1:-1, 1:] + v[1:-1, :-1])
        h[1:-1, 1:-1] -= 0.1 * (flux[1:] - flux[:-1] + side[:, 1:] - side[:, :-1])
        u[1:-1, 1:-1] -= 0.1 * (h[2:, 1:-1] - h[:-2, 1:-1])
        v[1:-1, 1:-1] -= 0.1 * (h[1:-1, 2:] - h[1:-1, :-2])
    fields = b"".join(numpy.asarray(field).tobytes() for field in (h, u, v))
    return hashlib.sha256(fields).hexdigest()

def relaxed(n, steps):
    grid = np.linspace(0.0, 1.0, n * n).reshape(n, n).copy()
    changes = []
    for _ in range(steps):
        inner = grid[1:-1, 1:-1]
        work = 0.25 * (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:])
        changes.append(float(np.abs(work - inner).sum()))
        grid[1:-1, 1:-1] = work
    return hashlib.sha256(numpy.asarray(grid).tobytes()).hexdigest(), changes

def table(n):
    places = (np.arange(n) * 7919) % n
    values = np.sqrt(np.arange(n) * 0.5)
    return float((values[places] * 2.0 + values).sum())

device = _ext.devices()[0]["name"]
limit = int(sys.argv[2])
if device != "cpu" and limit:
    memory.limit(limit, device=device)
name, n, steps = sys.argv[1].split(",")
programs = {"heat": heat, "shallow_water": shallow_water, "relaxed": relaxed}
result = programs.get(name, lambda n, _: table(n))
print(json.dumps(result(int(n), int(steps))))
report = memory.report()
use = report.devices[0].__dict__ if report.devices else {}
rungs = {name: rung.times for name, rung in report.rungs.items()}
print(json.dumps([_ext.stats().get("backend"), use, rungs]))
"""


def run(backend, what, limit=0):
    command = [sys.executable, "-m", "arrayloom", "--backend", backend, "--min-bytes", "0", "-c"]
    done = subprocess.run(
        [*command, PROGRAM, what, str(limit)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    result, figures = done.stdout.splitlines()
    return result, *json.loads(figures)


def test_values_stay_on_the_device_between_kernels():
    result, stats, use, _ = run("sim", "relaxed,100,6")
    assert result == run("cpu", "relaxed,100,6")[0]
    grid = 100 * 100 * 8
    assert stats["fallbacks"] == 0
    # The grid goes there at most once and comes back once; sums of one number come back each time.
    assert stats["upload_bytes"] <= grid
    assert grid <= stats["download_bytes"] <= grid + 6 * 8
    assert use["evictions"] == 0


@pytest.mark.parametrize("program", ["heat,100,3", "shallow_water,60,2"])
@pytest.mark.parametrize("share", [2, 8])
def test_a_limit_of_a_part_of_the_working_set_changes_no_bit(program, share):
    result, _, use, _ = run("sim", program)
    working_set = use["peak"]
    found, stats, use, rungs = run("sim", program, working_set // share)
    assert found == result
    assert use["limit"] == working_set // share
    assert use["peak"] <= working_set // share
    assert stats["evictions"] + stats["boxed"] + stats["on_host_for_memory"] > 0
    assert rungs["cpu"] == use["on_cpu"]


def test_a_device_without_memory_leaves_everything_to_the_cpu():
    found, stats, use, rungs = run("sim", "heat,40,2", 1)
    assert found == run("cpu", "heat,40,2")[0]
    assert stats["native"] == 0
    assert rungs["cpu"] == stats["on_host_for_memory"] == stats["fallbacks"] > 0
    assert use == {}, "nothing was ever there"
    assert all("not enough memory of the device" in why for why in stats["reasons"])


@pytest.mark.parametrize("limit", [0, 200_000])
def test_a_table_that_is_large_for_the_device_comes_before_the_cpu_looks_into_it(limit):
    found, stats, _, _ = run("sim", "table,5000,0", limit)
    assert found == run("cpu", "table,5000,0")[0]
    # More than an eighth of the limit does not go there as a whole.
    large = bool(limit)
    assert any("a table in the memory of the host" in why for why in stats["reasons"]) == large
    assert (stats["fallbacks"] > 0) == large
