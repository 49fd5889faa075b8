"""The device's own elementary functions: how exact, what they warn of, whose bits.

The suite runs with NumPy's functions (``conftest.py``), so these tests start processes of their own.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from support import process

_TESTS = Path(__file__).parent.parent

pytestmark = pytest.mark.usefixtures("real_laziness")


def run(code, **environment):
    """What `code` prints in a process with the own functions, and these variables."""
    environ = {
        "ARRAYLOOM_MATH": "own",
        "ARRAYLOOM_MIN_BYTES": "0",
        "PYTHONPATH": os.pathsep.join([str(_TESTS), os.environ.get("PYTHONPATH", "")]),
        "PYTHONWARNINGS": "ignore::ImportWarning",
    }
    return process.output(code, timeout=600, env=environ | environment)


def test_double_precision_is_within_one_ulp():
    code = """
import arrayloom
from support.math_proof import NARROW, PAIRS, RANGES, worst
assert not NARROW
for name in (*RANGES, *PAIRS):
    far, where = worst(arrayloom, name, 20_000)
    print(name, far, where)
    assert far <= 1, (name, far, where)
"""
    lines = run(code).splitlines()
    assert len(lines) == 20
    # Some are really far: the functions are not the exact ones themselves.
    assert max(float(line.split()[1]) for line in lines) > 0.6


def test_single_precision_is_rounded_once():
    code = """
import arrayloom, numpy
from support.math_proof import PAIRS, RANGES, distances, operands
draw = numpy.random.default_rng(3)
numpy.seterr(all="ignore")
for name in (*RANGES, *PAIRS):
    args = [arg.astype("f") for arg in operands(name, 20_000, draw)]
    found = numpy.array(getattr(arrayloom, name)(*map(arrayloom.array, args)))
    assert found.dtype == "f"
    exact = getattr(numpy, name)(*(arg.astype("d") for arg in args))
    print(name, distances(found, exact).max())
"""
    for line in run(code).splitlines():
        name, far = line.split()
        assert float(far) <= 0.501, name


def test_complex_functions_are_within_their_bounds():
    code = """
import arrayloom
from support.math_proof import COMPLEX, complex_worst
for name, (_, _, bound) in COMPLEX.items():
    for dtype in "DF":
        far, where = complex_worst(arrayloom, name, 10_000, dtype)
        print(name, far, where)
        assert far <= bound, (name, dtype, far, where)
"""
    lines = run(code).splitlines()
    assert len(lines) == 22
    assert max(float(line.split()[1]) for line in lines) > 1


_COMPLEX_CORNERS = """
import numpy, arrayloom
from support.heard import all_warnings
from support.math_proof import COMPLEX
PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, numpy.inf, -numpy.inf, numpy.nan, 5e-324, 1e-310, 1e-200, 1e308, -1e308, 700.0, 2e9]
POWERS = [0, 1, 2, 3, 4, 7, 99, -1, -2, -5]
def met(module, name, z, *more):
    with all_warnings() as heard, numpy.errstate(all="warn", under="ignore"):
        found = numpy.array(getattr(module, name)(module.array([z] * 40), *more))
    assert len(set(found.tobytes()[i : i + found.itemsize] for i in range(0, found.nbytes, found.itemsize))) == 1
    return found[0], sorted(str(one.message).split(" enc")[0] for one in heard)
def alike(a, b):
    close = lambda x, y: x == y and numpy.signbit(x) == numpy.signbit(y) or abs(x - y) < 1e-14 * abs(x)
    return all(numpy.isnan(x) and numpy.isnan(y) or close(x, y) for x, y in [(a.real, b.real), (a.imag, b.imag)])
def exactly(a, b):
    return all(numpy.isnan(x) and numpy.isnan(y) or x.tobytes() == y.tobytes() for x, y in [(a.real, b.real), (a.imag, b.imag)])
for z in [complex(x, y) for x in PARTS for y in PARTS]:
    for name, more, same in [
        *((name, (), alike) for name in COMPLEX),
        *(("power", (n,), exactly) for n in POWERS),
        *((name, (), exactly) for name in ("square", "reciprocal", "absolute")),
        *((name, (z,), exactly) for name in ("multiply", "divide", "add", "subtract")),
        ("divide", (1 + 2j,), exactly), ("divide", (0j,), exactly), ("multiply", (1 - 0j,), exactly),
    ]:
        (want, warned), (got, noted) = met(numpy, name, z, *more), met(arrayloom, name, z, *more)
        if not same(want, got) or warned != noted:
            print(name, z, more, want, got, warned, noted)
"""


def test_corners_of_complex_functions_are_those_of_numpy():
    assert run(_COMPLEX_CORNERS) == ""


def test_arithmetic_of_complex_numbers_has_the_bits_of_numpy():
    code = """
import numpy, arrayloom
draw = numpy.random.default_rng(2)
for dtype in "DF":
    z, w = ((draw.standard_normal(999) + 1j * draw.standard_normal(999)).astype(dtype) for _ in "zw")
    x = draw.standard_normal(999).astype("df"[dtype == "F"])
    def all_of(module):
        z2, w2, x2 = module.array(z), module.array(w), module.array(x)
        yield z2 * w2 + x2
        yield (z2 - w2).conj() * 2 / w2
        yield z2**2 - z2**3 * w2 + 1 / z2
        yield module.where(x2 > 0, z2 * 1j, -w2)
        yield abs(z2 * w2)
        yield (z2 * w2.astype("F")).astype("D") * x2
    for found, expected in zip(all_of(arrayloom), all_of(numpy)):
        assert numpy.array(found).tobytes() == numpy.array(expected).tobytes(), dtype
print("equal")
"""
    for settings in (
        {},
        {"ARRAYLOOM_JIT": "0"},
        {"ARRAYLOOM_MATH": "numpy"},
        {"ARRAYLOOM_TILE": "3"},
    ):
        assert run(code, **settings) == "equal\n"


_EVERYTHING = """
import hashlib
import arrayloom, numpy
from support.math_proof import COMPLEX, PAIRS, RANGES, complex_operands, operands
numpy.seterr(all="ignore")
draw = numpy.random.default_rng(5)
for dtype in "df":
    for name in (*RANGES, *PAIRS):
        args = [arrayloom.array(arg.astype(dtype)) for arg in operands(name, 3000, draw)]
        found = numpy.array(getattr(arrayloom, name)(*args) * 2 + 1)
        # Only the bits of a NaN may differ.
        found[numpy.isnan(found)] = 0
        print(name, hashlib.sha256(found.tobytes()).hexdigest())
    for name in COMPLEX:
        z = arrayloom.array(complex_operands(name, 3000, draw).astype(dtype.upper()))
        found = numpy.array(getattr(arrayloom, name)(z) * z + 1)
        print(name, hashlib.sha256(found.tobytes()).hexdigest())
"""


@pytest.mark.parametrize(
    "settings",
    [
        {"ARRAYLOOM_ISA": "avx2"},
        {"ARRAYLOOM_ISA": "baseline"},
        {"ARRAYLOOM_JIT": "0"},
        {"ARRAYLOOM_TILE": "3", "ARRAYLOOM_THREADS": "3"},
        {"ARRAYLOOM_FUSE": "0", "ARRAYLOOM_THREADS": "1"},
    ],
    ids=str,
)
def test_bits_are_the_same_however_they_are_computed(settings):
    assert run(_EVERYTHING, **settings) == run(_EVERYTHING)


_CONDITIONS = """
import numpy, arrayloom
from support.heard import all_warnings
from support.math_proof import PAIRS, RANGES
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, 1.5, 1e300, -1e300, 800.0, -800.0, 40.0]
SPECIAL += [numpy.inf, -numpy.inf, numpy.nan, 5e-324, 1e-310, 2e9]
def met(module, name, args):
    with all_warnings() as heard, numpy.errstate(all="warn", under="ignore"):
        numpy.asarray(getattr(module, name)(*(module.array([arg] * 40) for arg in args))).tobytes()
    return sorted(str(one.message).split(" enc")[0] for one in heard)
for name in (*RANGES, *PAIRS):
    grid = [(x,) for x in SPECIAL] if name in RANGES else [(x, y) for x in SPECIAL for y in SPECIAL]
    for args in grid:
        want, got = met(numpy, name, args), met(arrayloom, name, args)
        if want != got:
            print(name, args, want, got)
"""


def test_warnings_are_those_of_numpy():
    # NumPy's own functions, one element at a time, tell what the C standard says.
    assert run(_CONDITIONS, NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL AVX512_SPR") == ""


def test_a_choice_that_makes_no_sense_is_named():
    done = process.run("import arrayloom", env={"ARRAYLOOM_MATH": "both"})
    assert "numpy, own" in done.stderr.strip().splitlines()[-1]


def test_numpy_is_numpy():
    code = """
import numpy, arrayloom
x = numpy.random.default_rng(1).uniform(-9, 9, 50_000)
for name in ("sin", "cos", "tanh"):
    assert numpy.array(getattr(arrayloom, name)(arrayloom.array(x))).tobytes() == getattr(numpy, name)(x).tobytes()
a = arrayloom.array(x)
assert numpy.array(arrayloom.hypot(a, a[::-1])).tobytes() == numpy.hypot(x, x[::-1]).tobytes()
print("equal")
"""
    assert run(code, ARRAYLOOM_MATH="numpy") == "equal\n"


def test_the_default_is_within_the_bounds():
    code = """
import numpy, arrayloom
from support.math_proof import PAIRS, RANGES, worst
for name in ("sin", "cos", "tanh", "hypot"):
    far, where = worst(arrayloom, name, 20_000)
    assert far <= 1, (name, far, where)
print("within")
"""
    assert run(code, ARRAYLOOM_MATH="") == "within\n"


def test_half_precision_and_other_dtypes_stay():
    x = np.linspace(-3, 3, 5000)
    code = """
import numpy, arrayloom
x = numpy.linspace(-3, 3, 5000)
a = x.astype("e")
assert numpy.array(arrayloom.exp(arrayloom.array(a))).tobytes() == numpy.exp(a).tobytes()
found = numpy.array(arrayloom.sin(arrayloom.arange(5000)))
assert found.dtype == "d" and abs(found - numpy.sin(numpy.arange(5000))).max() < 3e-16
print(len(x))
"""
    assert run(code) == f"{len(x)}\n"


_SINGLE_EXPONENTS = """
import numpy, arrayloom
from support.heard import all_warnings
CORNERS = [0.0, -0.0, 4.0, -3.0, numpy.inf, -numpy.inf, numpy.nan]
def met(module, power, dtype):
    x = module.array(numpy.tile(numpy.array(CORNERS, dtype), 30))
    with all_warnings() as heard, numpy.errstate(all="warn", under="ignore"):
        found = numpy.array(power(module, x))
    return found.dtype, found.tobytes(), sorted(str(one.message) for one in heard)
for dtype in "efdFD":
    for value in (-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0):
        numbers = [value, numpy.float32(value), numpy.float64(value), numpy.array(value)]
        if value % 1 == 0:
            numbers += [int(value), numpy.int64(value), numpy.int8(value), numpy.uint8(int(value) & 255)]
        for number in numbers:
            for name, power in {
                "operator": lambda m, x: x**number,
                "in place": lambda m, x: x.__ipow__(number),
                "function": lambda m, x: m.power(x, number),
                "into": lambda m, x: m.power(x, number, out=m.empty(x.shape, m.result_type(x, number))),
                "dtype": lambda m, x: m.power(x, number, dtype="D"),
                "many": lambda m, x: m.power(x, m.full(x.shape, number)),
                "twice": lambda m, x: (x + x) ** number + 1,
            }.items():
                want, got = met(numpy, power, dtype), met(arrayloom, power, dtype)
                if want != got:
                    print(name, dtype, repr(number), want[0], got[0], want[2], got[2])
"""


def test_single_exponents_are_not_as_many():
    # NumPy's loops of floats take roots, squares and reciprocals where the exponent is one number.
    assert run(_SINGLE_EXPONENTS, ARRAYLOOM_MATH="numpy") == ""


def test_roots_by_an_exponent_are_those_of_numpy_on_every_device():
    code = """
import numpy, arrayloom
x = numpy.array([-numpy.inf, -0.0, 4.0, -1.0] * 50)
with numpy.errstate(all="ignore"):
    for dtype in "fd":
        for module in numpy, arrayloom:
            y = module.array(x.astype(dtype))
            for found in y**0.5, module.power(y, 0.5), module.power(y, module.full(y.shape, 0.5, dtype)):
                print(module is numpy, numpy.array(found)[:4])
"""
    for backend in "cpu", "reference", "sim":
        lines = run(code, ARRAYLOOM_BACKEND=backend, ARRAYLOOM_MATH="own").splitlines()
        expected = [line[5:] for line in lines if line.startswith("True ")]
        assert expected == [line[6:] for line in lines if line.startswith("False ")], backend
        assert len(expected) == 6
