"""Operands that only the interpreter's stack holds need no barrier; those that a compiled caller holds do."""

import ctypes
import functools
import operator
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

SIDE = 200
ADD = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object)(
    ("PyNumber_Add", ctypes.pythonapi)
)


def guarded():
    """Pieces of memory of no file that may be read only."""
    lines = Path("/proc/self/maps").read_text(encoding="ascii").splitlines()
    fields = [line.split() for line in lines]
    return {field[0] for field in fields if field[1] == "r--p" and len(field) == 5}


def squares(xp):
    """Two computed matrices, and what NumPy finds for their product plus one."""
    a, b = xp.full((SIDE, SIDE), 2.0), xp.full((SIDE, SIDE), 3.0)
    assert a[0, 0] + b[0, 0] == 5
    return a, b, 6.0 * SIDE + 1


def test_a_temporary_is_read_without_a_barrier(xp_both):
    a, b, expected = squares(xp_both)
    before = guarded()
    result = a @ b + 1.0
    assert guarded() == before
    assert (result == expected).all()


def test_so_is_one_that_is_added_to_an_array(xp_both):
    a, b, expected = squares(xp_both)
    total = xp_both.full((SIDE, SIDE), 1.0) + a * 0
    before = guarded()
    total += a @ b
    assert guarded() == before
    assert (total == expected).all()


IN_A_PROGRAM = """
import numpy as np
from test_temporaries import SIDE, guarded, squares

a, b, expected = squares(np)
before = guarded()
result = np.sqrt(a @ b)
assert guarded() == before
product = a @ b
other = np.sqrt(product)
assert guarded() != before
product[...] = 0
assert (result == other).all() and np.allclose(result * result, expected - 1)
"""


@pytest.fixture
def in_a_program():
    """Run a program whose ufuncs are arrayloom's own; what it prints."""

    def run(source):
        command = [sys.executable, "-m", "arrayloom", "--min-bytes", "4096", "-c", source]
        here = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
        done = subprocess.run(command, capture_output=True, text=True, env=here, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_so_is_one_that_a_function_gets_in_a_program(in_a_program):
    in_a_program(IN_A_PROGRAM)


def test_a_named_operand_has_a_barrier(xp_both):
    a, b, expected = squares(xp_both)
    product = a @ b
    before = guarded()
    result = product + 1.0
    assert guarded() != before
    product[...] = 0
    assert (result == expected).all()


def test_memory_of_temporaries_is_used_again_after_their_readers(xp_both):
    a, b, expected = squares(xp_both)
    results = [a @ b + float(i) for i in range(20)]
    others = [xp_both.full((SIDE, SIDE), -1.0) for _ in range(20)]
    assert all(other[0, 0] == -1 for other in others)
    for i, result in enumerate(results):
        assert (result == expected - 1 + i).all()


def partial(array, _):
    """Call an operator through an object that goes on holding its operand."""
    held = functools.partial(operator.add, array)
    return held, lambda: held(1.0)


def spread(array, _):
    """Call it with a tuple that goes on holding its operands."""
    held = (array, 1.0)
    return held, lambda: operator.add(*held)


def complete(array, add):
    """Call a function through an object that holds all its arguments."""
    held = functools.partial(add, array, 1.0)
    return held, lambda: held()


def bound(array, add):
    """Call a function as a method of its operand."""
    held = types.MethodType(add, array)
    return held, lambda: held(1.0)


def collected(array, add):
    """Call a function for each of many operands."""
    held = [array]
    return held, lambda: next(map(add, held, [1.0]))


def starred(array, add):
    """Call a function with the arguments of a tuple."""
    held = (array, 1.0)
    return held, lambda: add(*held)


def compiled(array, _):
    """Call it from compiled code that goes on holding its operand."""
    held = ctypes.py_object(array)
    return held, lambda: ADD(held, 1.0)


class Holder:
    """Adds what it holds, from within an operator of its own."""

    def __init__(self, array):
        self.call = functools.partial(operator.add, array)

    def __add__(self, other):
        return self.call(other)


def within(array, _):
    """Call it within an operator of another object."""
    held = Holder(array)
    return held, lambda: held + 1.0


WAYS = [partial, spread, complete, bound, collected, starred, compiled, within]


def written_after(xp, way):
    """True if a sum is that of the values before a write by who holds its operand."""
    array = xp.full((SIDE, SIDE), 2.0) * 3
    assert array[0, 0] == 6
    address, size = array.ctypes.data, array.nbytes
    held, call = way(array, xp.add)
    del array
    result = call()
    ctypes.memset(address, 0, size)
    del held
    return bool((result == 7).all())


@pytest.mark.parametrize("way", WAYS)
def test_a_caller_that_holds_an_operand_may_write_to_it(xp_both, way):
    assert written_after(xp_both, way)


def test_so_it_may_in_a_program(in_a_program):
    found = in_a_program("""
import numpy as np
from test_temporaries import WAYS, written_after

print([way.__name__ for way in WAYS if not written_after(np, way)])
""")
    assert found.strip() == "[]"
