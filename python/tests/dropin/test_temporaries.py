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


NEXT = None


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


def test_so_is_one_that_a_function_gets_in_a_program():
    command = [sys.executable, "-m", "arrayloom", "--min-bytes", "4096", "-c", IN_A_PROGRAM]
    here = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(command, capture_output=True, text=True, env=here, check=False)
    assert done.returncode == 0, done.stderr


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


def partial(array):
    """Call an operator through an object that goes on holding its operand."""
    held = functools.partial(operator.add, array)
    return held, lambda: held(1.0)


def spread(array):
    """Call it with a tuple that goes on holding its operands."""
    held = (array, 1.0)
    return held, lambda: operator.add(*held)


def complete(array):
    """Call a function through an object that holds all its arguments."""
    held = functools.partial(NEXT, array, 1.0)
    return held, lambda: held()


def bound(array):
    """Call a function as a method of its operand."""
    held = types.MethodType(NEXT, array)
    return held, lambda: held(1.0)


def collected(array):
    """Call a function for each of many operands."""
    held = [array]
    del array
    return held, lambda: next(map(NEXT, held, [1.0]))


def starred(array):
    """Call a function with the arguments of a tuple."""
    held = (array, 1.0)
    return held, lambda: NEXT(*held)


def compiled(array):
    """Call it from compiled code that goes on holding its operand."""
    held = ctypes.py_object(array)
    return held, lambda: ADD(held, 1.0)


class Holder:
    """Adds what it holds, from within an operator of its own."""

    __radd__ = None

    def __init__(self, array):
        self.held = [array]
        self.call = functools.partial(operator.add, array)

    def __add__(self, other):
        return self.call(other)


def within(array):
    """Call it within an operator of another object."""
    held = Holder(array)
    held.held.clear()
    return held, lambda: held + 1.0


@pytest.mark.parametrize(
    "way", [partial, spread, complete, bound, collected, starred, compiled, within]
)
def test_a_caller_that_holds_an_operand_may_write_to_it(xp_both, way, monkeypatch):
    monkeypatch.setitem(globals(), "NEXT", xp_both.add)
    array = xp_both.full((SIDE, SIDE), 2.0) * 3
    assert array[0, 0] == 6
    address, size = array.ctypes.data, array.nbytes
    held, call = way(array)
    del array
    result = call()
    ctypes.memset(address, 0, size)
    assert (result == 7).all()
    assert sys.getrefcount(held) >= 2
