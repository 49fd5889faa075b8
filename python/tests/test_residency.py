"""Copies that stay on a device with memory of its own: what they save, and that nobody sees an old one."""

import json

import pytest
from support.process import output

ENVIRON = {"ARRAYLOOM_BACKEND": "sim", "ARRAYLOOM_MIN_BYTES": "0"}


def run(code, *words):
    return output(code, *words, timeout=300, env=ENVIRON)


COUNTED = """
import json, sys
import numpy
import arrayloom as np
import arrayloom._ext as ext
def copies():
    stats = ext.stats()["backend"]
    return stats["uploads"], stats["downloads"]
def report(step, times):
    for _ in range(4): step()
    before = copies()
    for _ in range(times): step()
    print(json.dumps([b - a for a, b in zip(before, copies())]))
"""


def counted(program):
    return json.loads(run(COUNTED + program).splitlines()[-1])


MOVED = """
for _ in range(4): step()
before = ext.stats()["backend"]
for _ in range(5): step()
after = ext.stats()["backend"]
moved = [(after[name] - before[name]) // 5 for name in ("upload_bytes", "download_bytes")]
print(json.dumps([*moved, after["reasons"]]))
"""


def moved(program):
    """Bytes that a step of the program sends to the device and back, and why the host did some of it."""
    return json.loads(run(COUNTED + program + MOVED).splitlines()[-1])


def test_a_stencil_in_place_moves_nothing():
    # A store by exchange of blocks: large enough to be one.
    program = """
g = np.zeros((520, 600))
g[0] = 40.0
def step():
    work = 0.2 * (g[1:-1, 1:-1] + g[:-2, 1:-1] + g[2:, 1:-1] + g[1:-1, :-2] + g[1:-1, 2:])
    g[1:-1, 1:-1] = work
    del work
    ext.flush()
report(step, 6)
assert ext.stats()["renamed"] >= 6
"""
    assert counted(program) == [0, 0]


def test_what_is_read_again_is_there():
    program = """
a = np.array(numpy.random.default_rng(1).random((300, 400)))
b = np.array(numpy.arange(400.0))
a.sum(), b.sum()
def step():
    (a * b + 1).sum()
    (a[:-1, ::2] - a[1:, 1::2]).max()
report(step, 5)
"""
    # The sum and the maximum, twice five numbers.
    assert counted(program) == [0, 10]


def test_what_is_written_goes_there_again():
    program = """
a = np.array(numpy.random.default_rng(1).random((300, 400)))
def step():
    memoryview(a)[0, 0] = float((a * 2).max())
report(step, 5)
"""
    assert counted(program) == [5, 5]


def test_parts_of_a_new_array_stay_there():
    program = """
a = np.array(numpy.random.default_rng(1).random((300, 400)))
a.sum()
def step():
    b = np.empty((600, 400))
    b[:300] = a + 1
    b[300:] = a - 1
    (b[1:] * b[:-1]).sum()
report(step, 5)
"""
    assert counted(program) == [0, 5]


def test_results_of_operations_that_are_no_kernels_stay_there():
    program = """
w = np.array(numpy.random.default_rng(1).random((40, 40)) / 20)
h = np.array(numpy.random.default_rng(2).random((30, 40)))
def step():
    global h
    h = np.tanh(h @ w + 0.1)
    h.sort(axis=1)
    order = np.argsort(h, axis=0, kind="stable")
    h = h + order % 2
    ext.flush()
report(step, 5)
"""
    assert counted(program) == [0, 0]


def test_what_masks_and_numbers_pick_stays_there():
    program = """
a = np.array(numpy.random.default_rng(1).random((300, 400)))
b = np.array(numpy.random.default_rng(2).integers(0, 300, 500))
def step():
    z = a[a > 0.25]
    for _ in range(3):
        z = z * z + 0.01
        z = z[z < 0.9]
    rows, columns = np.nonzero(a > 0.5)
    a[:, 0] = a[b, 7][:300] * 0.5 + a[a[:, 1] > -1.0][:, 3] * 0.5
    (rows * columns + 1).min()
    ext.flush()
"""
    uploaded, downloaded, reasons = moved(program)
    assert (uploaded, reasons) == (0, {})
    # Counts, first places, and highest numbers.
    assert downloaded < 30 * 8


def test_what_goes_to_places_by_number_or_mask_stays_there():
    program = """
a = np.array(numpy.random.default_rng(1).random((300, 400)))
b = np.array(numpy.random.default_rng(2).integers(0, 300, 400))
def step():
    a[b, 3] = a[0] * 0.5
    a[b] = a[:1] + a[5]
    a[7, b] = 0.25
    np.add.at(a, (b, b), a[1])
    np.subtract.at(a, b, 0.5)
    np.minimum.at(a[2], b, a[3])
    np.put(a, b, a[4])
    a[a > 0.5] = a[a > 0.5][::-1]
    a[a[:, 1] > 0.25] = a[:1]
    a[a[:, 2] > 0.75] = 0.125
    a[1, :300] += np.bincount(b, minlength=300) + np.bincount(b, weights=a[6], minlength=300)
    ext.flush()
"""
    uploaded, downloaded, reasons = moved(program)
    # Counts of what is here, zeros that become the other sums, and the number for the rows.
    assert uploaded <= 2 * 300 * 8 + 8
    assert reasons == {}
    # Least and highest numbers, and counts.
    assert downloaded < 40 * 8


@pytest.mark.parametrize("bound", [0.4, -1, 2])
def test_of_updates_by_masks_only_counts_come_back(bound):
    # Some elements are below the bound, or none, or all.
    program = f"""
a = np.array(numpy.random.default_rng(1).random((300, 400)))
def step():
    low = a < {bound}
    a[low] += 0.25
    a[~low] = a[~low] * 0.6
    ext.flush()
"""
    uploaded, downloaded, _ = moved(program)
    assert uploaded == 0
    # How many are true, the place of the first and the element there; and where masks differ.
    assert downloaded <= 3 * 16 + 2 * 8 + 3 * 8


def test_what_an_operation_reads_is_computed_and_what_it_writes_is_not_needed():
    program = """
plain = numpy.random.default_rng(1).random((30, 40))
a = np.array(plain)
b = a * 2
product = b.T @ a
c = a + 1
a.sort(axis=0)
assert numpy.array_equal(numpy.array(c), plain + 1)
assert numpy.array_equal(numpy.array(a), numpy.sort(plain, axis=0))
assert numpy.allclose(numpy.array(product), (plain * 2).T @ plain)
assert numpy.array_equal(numpy.array(b), plain * 2)
memoryview(a)[0, 0] = 7.0
assert numpy.array(np.argsort(a, axis=0, kind="stable"))[-1, 0] == 0
print(ext.stats()["backend"]["fallbacks"])
"""
    assert run(COUNTED + program) == "0\n"


FUZZ = """
import ctypes, io, random, sys
import arrayloom.memory
import numpy
import arrayloom as np
SHAPE = (40, 50)
seed = int(sys.argv[1])
if len(sys.argv) > 2: arrayloom.memory.limit(sys.argv[2], device="sim")
draw = random.Random(seed)
numbers = numpy.random.default_rng(seed)
ours, plain = [], []
def new():
    values = numbers.random(SHAPE)
    ours.append(np.array(values)), plain.append(values.copy())
for _ in range(4): new()
def write_by_slice(x, v): x[3:9, ::2] = v
def write_one(x, v): x[5, 7] = v
def write_in_place(x, v): x *= v
def write_out(x, v): numpy.add(x, v, out=x)
def write_fill(x, v): x.fill(v)
def write_sorted(x, v): x.sort(axis=0)
def write_view(x, v): x[10:20].T[:] = v
def write_memory(x, v): ctypes.memset(x.ctypes.data + 80, 0, 160)
def write_buffer(x, v): memoryview(x)[2, 2] = v
def write_copyto(x, v): numpy.copyto(x, v, where=x > 0.5)
def write_flat(x, v): x.flat[17] = v
def write_random(x, v): numpy.random.default_rng(5).random(out=x)
def write_file(x, v): io.BytesIO(bytes(range(200)) * 4).readinto(memoryview(x).cast("B")[:800])
# One term of each sum is not zero, so that the order of the terms makes no difference.
TURN = numpy.eye(50)[draw.sample(range(50), 50)]
def write_product(x, v): x[:] = x @ TURN
def write_masked(x, v): x[x < v] *= 0.5
def write_two_masks(x, v):
    low = x < v
    x[low] += 0.25
    x[~low] = x[~low] * 0.5 + x[~low]
def write_from_other_mask(x, v): x[x > v] = x[:, ::-1][x > v]
PLACES = numpy.array(draw.choices(range(-40, 40), k=40))
def write_by_number(x, v): x[PLACES, 3] = x[:, 7] + v
def write_rows_by_list(x, v): x[[1, -1, 1]] = x[4:7, ::-1]
def write_number_by_number(x, v): x[:, (x[0] * 49).astype(int) % 50] = v
def write_added(x, v): numpy.add.at(x, (slice(None), PLACES), x[3, :40] * v)
def write_added_number(x, v): numpy.subtract.at(x, PLACES, v)
def write_largest(x, v): numpy.maximum.at(x, (PLACES, PLACES), v)
def write_put(x, v): numpy.put(x, PLACES * 7, PLACES * v)
def write_picked(x, v): x[x < v] = numpy.arange(2000.0)[: (x < v).sum()]
def write_picked_rows(x, v): x[x[:, 0] < v] = x[7] + v
def write_picked_rows_once(x, v): x[x[:, 0] < v] = v
def write_rows_by_number(x, v): x[:] = x[PLACES] + v
def write_roll(x, v): x[:] = numpy.roll(x, 3, axis=1) + v
WRITES = [f for name, f in sorted(globals().items()) if name.startswith("write_")]
def read_sum(x, y): return (x * 2 + y).sum()
def read_part(x, y): return (x[1:, :-1] - y[:-1, 1:]).max(axis=0)
def read_steps(x, y): return x[::3, ::-1] + y[::3]
def read_product(x, y): return (x @ TURN)[:, 1:] - y[:, :-1]
def read_order(x, y): return numpy.argsort(x, axis=1, kind="stable").T
def read_sorted(x, y): return numpy.sort(x, axis=0) * 2
def read_masked(x, y): return x[y > 0.5]
def read_masked_sum(x, y): return (x[y > 0.5] * 2 + y[y > 0.5]).sum()
def read_shrinking(x, y):
    z = x[y > 0.3]
    z = z[z < 0.7]
    return z[z > 0.1] * 2
def read_rows(x, y): return x[y[:, 0] > 0.5]
def read_steps_masked(x, y): return x[:, ::2][y[:, ::2] > 0.5]
def read_places(x, y): return numpy.stack(numpy.nonzero(x > y))
def read_flat_places(x, y): return numpy.flatnonzero(x[1:] < y[1:])
def read_taken(x, y): return x.take((y * 1999).astype(int) % 2000)
def read_by_two_numbers(x, y): return x[(y[0] * 39).astype(int) % 40, PLACES.repeat(2)[:50]]
def read_counts(x, y): return numpy.bincount((x[0] * 9).astype(int) % 9, minlength=12)
def read_weights(x, y): return numpy.bincount((x[0] * 9).astype(int) % 9, y[1])
def read_new(x, y): return numpy.where(x > y, x, -y)
READS = [f for name, f in sorted(globals().items()) if name.startswith("read_")]
held = []
with numpy.errstate(all="ignore"):
    for step in range(120):
        i, j = draw.randrange(len(ours)), draw.randrange(len(ours))
        what = draw.random()
        if what < 0.45:
            read = draw.choice(READS)
            held.append((step, read.__name__, read(ours[i], ours[j]), read(plain[i], plain[j])))
        elif what < 0.85:
            write, value = draw.choice(WRITES), draw.random()
            write(ours[i], value), write(plain[i], value)
        elif what < 0.93:
            ours.pop(i), plain.pop(i)
            new()
        else:
            held.append((step, "array", ours[i], plain[i].copy()))
        while held and draw.random() < 0.4:
            at, name, got, want = held.pop(draw.randrange(len(held)))
            if name != "array":
                assert numpy.array_equal(numpy.array(got), want, equal_nan=True), (seed, at, step, name)
            elif any(got is other for other in ours):
                number = next(n for n, other in enumerate(ours) if other is got)
                assert numpy.array_equal(numpy.array(got), plain[number], equal_nan=True), (seed, at, step)
print("equal", step)
"""


@pytest.mark.parametrize("first", range(0, 24, 4))
def test_nobody_sees_an_old_copy(first):
    for seed in range(first, first + 4):
        assert run(FUZZ, seed) == "equal 119\n"


@pytest.mark.parametrize("limit", ["24KiB", "48KiB", "160KiB"])
def test_nobody_sees_an_old_copy_where_memory_is_scarce(limit):
    for seed in range(4):
        assert run(FUZZ, seed, limit) == "equal 119\n"


@pytest.mark.parametrize(
    "look",
    [
        "float(g.sum())",
        "g[3, 4]",
        "str(g)",
        "g.tobytes()",
        "g.ctypes.data",
        "-g[:, 0]",
        "ext.flush()",
    ],
)
def test_a_look_in_between_costs_its_own_copies_only(look):
    program = f"""
g = np.array(numpy.random.default_rng(1).random((300, 400)))
def step():
    g[:, 0] = g[:, 1] * 0.5
    g[1:] -= 0.1 * g[:-1]
for _ in range(20): step()
{look}
report(step, 20)
"""
    assert counted(program) == [0, 0]
