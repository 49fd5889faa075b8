"""What is recorded, and what makes it run: seen from the counters."""

import numpy
import pytest
from support.layouts import plain_view

import arrayloom as np
from arrayloom import _ext


@pytest.fixture
def counters():
    """Counters since the start of the test."""
    _ext.flush()
    _ext.reset_stats()
    return _ext.stats


def test_operators_do_not_run(counters):
    a = np.ones(100_000)
    b = a * 2 + 1
    b[10:20] = 5.0
    b -= a
    c = np.sqrt(b)[::2].reshape(2, -1).T
    assert counters()["flushes"] == 0
    assert float(c[0, 0]) == numpy.sqrt(2.0)
    assert counters()["flushes"] == 1


def test_a_dead_result_is_not_computed(counters):
    a = np.ones(100_000)
    b = a + 1
    del b
    _ext.flush()
    assert "add" not in counters()["ops"]


def test_a_chain_is_one_kernel(counters):
    a = np.zeros(100_000) + 1
    b = (a * 2 + 3) / 4
    assert float(b.sum()) == 125_000.0
    assert counters()["kernels"] == 1


def test_small_views_of_pending_arrays_stay_lazy(counters):
    a = np.ones((300, 300)) * 2
    row = -a[0]
    assert type(row) is np.LazyArray
    assert counters()["flushes"] == 0
    assert row.tolist() == [-2.0] * 300


def test_small_results_of_computed_arrays_are_plain():
    a = np.ones((300, 300)) * 2
    assert float(a[0, 0]) == 2.0
    assert type(-a[0]) is numpy.ndarray


def test_numpys_python_functions_stay_lazy(counters):
    a = np.arange(90_000.0).reshape(300, 300) + 1
    rolled = np.roll(np.roll(a, 3, 0), -1, 1)
    steps = np.diff(np.flip(rolled, 0), axis=1)
    assert counters()["flushes"] == 0
    expected = numpy.roll(numpy.arange(90_000.0).reshape(300, 300) + 1, (3, -1), (0, 1))
    assert (steps == numpy.diff(expected[::-1], axis=1)).all()


def test_scalars_are_numpys_own():
    a = np.ones((300, 300)) + 1
    for value in (a.sum(), a[3, 4], a.mean(), a.max(), a.std()):
        assert type(value) is numpy.float64
    assert type(a.argmax()) is numpy.int64
    assert type((a > 1).all()) is numpy.bool


def test_results_of_numpys_own_functions_join(counters):
    a = np.ones((300, 300)) + 1
    product = a @ a
    assert type(product) is np.LazyArray
    assert type(np.sort(a, axis=0)) in {np.LazyArray, numpy.ndarray}
    assert float((product + 1)[0, 0]) == 1201.0
    assert [row["op"] for row in counters()["delegated"]] == ["sort"]
    assert counters()["fallbacks"] == []


def test_plain_operands_keep_their_values():
    plain = numpy.arange(100_000.0)
    lazy = np.ones(100_000)
    total = lazy + plain
    small = numpy.arange(300.0)
    rows = np.ones((300, 300)) + small
    plain[:] = -1
    small[:] = -1
    assert total[10] == 11.0
    assert rows[0].tolist() == list(numpy.arange(300.0) + 1)


def test_eager_when_switched_off():
    _ext.configure(lazy=False)
    try:
        assert type(np.ones(100_000) + 1) is numpy.ndarray
    finally:
        _ext.configure(lazy=True)


def test_nothing_leaks():
    _ext.flush()
    before = _ext.stats()["live_slots"]
    for _ in range(50):
        a = np.ones(100_000)
        b = a[::2] + a[1::2]
        b += 1
        c = numpy.arange(50_000.0) + b
        float(c.sum())
    del a, b, c
    _ext.flush()
    assert _ext.stats()["live_slots"] == before


def test_resize_keeps_the_bytes():
    a = np.arange(100_000.0) * 1
    a.resize(200_000, refcheck=False)
    assert a[99_999] == 99_999.0
    assert not a[100_000:].any()
    assert a.flags.owndata


@pytest.mark.parametrize("key", ["mask", "place", "pair"])
def test_plain_arrays_indexed_by_pending_ones_need_no_page_fault(counters, key):
    a = np.arange(100_000.0)
    mask, place = a * 2 > 150_000, (a * 3).astype(int) // 3
    plain, before = numpy.arange(100_000), counters()["faults"]
    keys = {"mask": mask, "place": place, "pair": (place,)}
    expected = {"mask": numpy.arange(75_001, 100_000)}.get(key, plain)
    assert numpy.array_equal(plain[keys[key]], expected)
    other = (a * 2 > 150_000) if key == "mask" else (a * 3).astype(int) // 3
    plain[(other,) if key == "pair" else other] = -1
    assert (plain == -1).sum() == len(expected)
    values = numpy.zeros(100_000)
    values[:] = a + 1
    assert values[-1] == 100_000
    assert counters()["faults"] == before


READERS = {
    "solve": lambda m, a: m.linalg.solve(a, numpy.ones(300)),
    "inv": lambda m, a: m.linalg.inv(a),
    "det": lambda m, a: m.linalg.det(a),
    "svd": lambda m, a: m.linalg.svd(a)[1],
    "lstsq": lambda m, a: m.linalg.lstsq(a, numpy.ones(300))[0],
    "eigh": lambda m, a: m.linalg.eigh(a=a)[0],
    "fft": lambda m, a: m.fft.fft(a),
    "irfft2": lambda m, a: m.fft.irfft2(a),
    "unique": lambda m, a: m.unique(a),
    "isin": lambda m, a: m.isin(a, [1.0, 3.0]),
    "cov": lambda m, a: m.cov(a),
    "tensordot": lambda m, a: m.tensordot(a, a),
    "nansum": lambda m, a: m.nansum(a, axis=0),
    "nan_to_num": lambda m, a: m.nan_to_num(a),
    "delete": lambda m, a: m.delete(a, 5, axis=0),
    "copy": lambda m, a: m.copy(a),
    "copy in order": lambda m, a: m.copy(a, order="F"),
}


@pytest.mark.parametrize("name", READERS)
def test_functions_that_read_pending_arrays_in_c_need_no_page_fault(counters, name):
    call = READERS[name]
    plain = numpy.linspace(1, 2, 90_000).reshape(300, 300) % 0.7 + numpy.eye(300) * 3
    pending, before = np.array(plain) * 2.0, counters()["faults"]
    found = call(np, pending)
    assert counters()["faults"] == before
    expected = call(numpy, plain * 2.0)
    assert numpy.array_equal(plain_view(found), expected)
    assert found.dtype == expected.dtype
    assert found.strides == expected.strides


def test_a_copy_is_recorded(counters):
    a = np.ones((300, 400)) * 2
    b = np.copy(a.T)
    b += 1
    assert counters()["flushes"] == 0
    assert b[3, 4] == 3.0
    assert a[4, 3] == 2.0
    assert b.flags.f_contiguous


def test_errors_of_pending_values_come_where_plain_arrays_take_them():
    plain = numpy.zeros(100_000)
    a = np.ones(100_000)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        plain[...] = a / 0
    assert numpy.isinf(plain).all()
    del a
    with pytest.raises(IndexError):
        plain[np.full(100_000, 200_000) + 1]
