"""Large arrays are recorded and fused, as arrayloom's own are."""

import inspect

import numpy as np
import pytest

import arrayloom
import arrayloom.array_api as xp
from arrayloom import _ext

SIDE = 1000


def operations():
    """What is pending: the names of the operations of each kernel."""
    return [[op.name for op in kernel.operations] for kernel in arrayloom.explain().kernels]


@pytest.fixture
def operands():
    found = [xp.ones((SIDE, SIDE)) for _ in range(3)]
    _ext.flush()
    return found


def test_an_expression_is_one_kernel(operands):
    a, b, c = operands
    kept = xp.exp(a) * b + c
    assert operations() == [["exp", "multiply", "add"]]
    assert float(kept[0, 0]) == np.exp(1) + 1


def test_it_is_what_arrayloom_records(operands):
    a, b, c = operands
    kept = xp.where(xp.sqrt(a) < b, xp.maximum(a, c), 1 - b) ** 2
    ours = operations()
    _ext.flush()
    d, e, f = (arrayloom.ones((SIDE, SIDE)) for _ in range(3))
    _ext.flush()
    with np.errstate(all="ignore"):
        theirs = np.where(np.sqrt(d) < e, np.maximum(d, f), 1 - e) ** 2
    assert operations() == ours
    np.testing.assert_array_equal(np.from_dlpack(kept), theirs)


def test_updates_in_place_are_recorded(operands):
    a, b, _ = operands
    a += b
    a *= 2
    assert operations() == [["add", "multiply"]]
    assert float(xp.sum(a)) == 4 * SIDE**2


def test_slices_and_shapes_compute_nothing(operands):
    a, b, _ = operands
    kept = (a + b)[1:-1, ::2]
    kept = xp.permute_dims(kept, (1, 0)) * 2
    kept = xp.expand_dims(kept, 0)
    assert sum(len(names) for names in operations()) == 2
    assert kept.shape == (1, SIDE // 2, SIDE - 2)
    assert float(kept[0, 0, 0]) == 4


def test_a_sum_is_the_end_of_the_kernel(operands):
    a, b, _ = operands
    before = _ext.stats()["kernels"]
    assert float(xp.sum(xp.exp(a * 0) * b)) == SIDE**2
    assert _ext.stats()["kernels"] == before + 1


def test_nothing_falls_back(operands):
    a, b, _ = operands
    before = len(_ext.stats()["fallbacks"])
    xp.sum(xp.clip(a / b, 0, 2) + xp.abs(-a), axis=0)
    xp.any(xp.isnan(xp.round(a) // b))
    assert len(_ext.stats()["fallbacks"]) == before


def test_results_of_numpy_are_recorded_from_their_first_use():
    plain = xp.asarray(np.ones((SIDE, SIDE)))
    kept = (plain + 1) * 2
    assert any("add" in names or "multiply" in names for names in operations())
    assert float(kept[0, 0]) == 4


def test_what_is_recorded_does_not_see_later_writes(operands):
    a, b, _ = operands
    kept = a + b
    a[...] = 5
    assert float(xp.sum(kept)) == 2 * SIDE**2
    assert float(a[0, 0]) == 5


def test_operations_are_at_the_line_of_the_program(operands):
    a, b, c = operands
    first = inspect.currentframe().f_lineno + 1
    kept = xp.exp(a) * b
    kept += xp.where(b < c, a, b)
    found = [op for kernel in arrayloom.explain().kernels for op in kernel.operations]
    assert {op.file for op in found} == {__file__}
    assert [op.line - first for op in found] == [0, 0, 1, 1, 1]
    assert float(kept[0, 0]) == np.exp(1) + 1


def test_each_line_of_the_program_is_learned_for_itself():
    a = xp.ones(300_000)
    for number in range(24):
        looked = xp.negative(a)
        assert number < 10 or not _ext.is_pending(looked._held)
        assert float(looked[5]) == -1
        later = xp.negative(a)
        assert _ext.is_pending(later._held), number
        assert float(xp.sum(later)) == -300_000
        del later
