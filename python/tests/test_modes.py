"""Blocks that turn recording off and on, and blocks with a report."""

import json
import sys

import pytest
from support import process

import arrayloom as np
from arrayloom import _ext
from arrayloom._native import Fallback, OpRow, Stats
from arrayloom._profile_block import since

pytestmark = [
    pytest.mark.usefixtures("real_laziness"),
    pytest.mark.filterwarnings("ignore::arrayloom.errors.FallbackWarning"),
]
N = 100_000


def is_lazy():
    return isinstance(np.ones(N), np.LazyArray)


@pytest.mark.parametrize(
    "name", ["_ipython", "_modes", "_profile_block", "_profile_page", "_strict", "_trace"]
)
def test_examples_of_the_docstrings(name):
    """In a process of their own, since some change how NumPy is imported."""
    process.check_examples(f"arrayloom.{name}")


def test_off_and_on_nest_and_end():
    assert is_lazy()
    with np.off():
        assert not is_lazy()
        with np.on():
            assert is_lazy()
            with pytest.raises(KeyError), np.off():
                raise KeyError(is_lazy())
            assert is_lazy()
        assert not is_lazy()
    assert is_lazy()


def test_what_is_pending_outlives_off():
    a = np.ones(N) + 1
    with np.off():
        assert _ext.is_pending(a)
        b = a * 3
        assert type(b) is not type(a)
        assert b[7] == 6
        for other in (-a, a.copy(), a.astype("f4"), np.sqrt(a), a.sum(axis=None, keepdims=True)):
            assert not _ext.is_pending(other)
        a += 1
        a[5:] = 7
        assert not _ext.is_pending(a)
    assert (a[0], a[5], b[0]) == (3, 7, 6)


def test_off_is_no_fallback():
    _ext.reset_stats()
    with np.off(), np.strict():
        assert (np.ones(N) + np.longdouble(1))[0] == 2
    assert _ext.stats()["fallbacks"] == []


def operations(report):
    return {row["op"]: row["calls"] for row in json.loads(report.json())["ops"]}


def test_a_report_is_about_its_block():
    before = np.sqrt(np.ones(N))
    with np.profile() as outer:
        a = before + 1
        with np.profile() as inner:
            b = a * 2
            np.ones(N) + np.longdouble(1)
            line = sys._getframe().f_lineno - 1
        c = b - 1
    after = np.exp(c)
    found = operations(inner)
    assert found["multiply"] == 1
    assert not {"sqrt", "add", "subtract", "exp"} & set(found)
    found = operations(outer)
    assert (found["add"], found["multiply"], found["subtract"]) == (1, 1, 1)
    assert not {"sqrt", "exp"} & set(found)
    fallbacks = json.loads(inner.json())["fallbacks"]
    assert [(row["op"], row["line"], row["calls"]) for row in fallbacks] == [("add", line, 1)]
    assert after.size == N


def test_reports_in_three_forms():
    with np.profile() as report:
        a = np.ones(N) + 1
        open_yet = operations(report)
    assert open_yet.get("add", 0) == 0
    assert str(report).startswith(f"arrayloom profile: {report.seconds:.3f} s")
    assert json.loads(report.json())["seconds"] == report.seconds > 0
    assert "<code>add</code>" in report.html()
    taken = str(report)
    assert a.sum() == 2 * N
    assert str(report) == taken


def test_an_error_in_the_block_passes():
    with pytest.raises(ZeroDivisionError), np.profile() as report:
        raise ZeroDivisionError
    assert report.seconds > 0


def test_differences():
    before = Stats(
        ops=(OpRow("add", 2, 0.5, 10), OpRow("sqrt", 1, 1.0, 5)),
        fallbacks=(Fallback("add", "why", "a.py", 1, 3),),
        counters={"flushes": 5, "kernels": 9},
        times={"flush_seconds": 1.0},
        reasons={"x": 1, "y": 1},
    )
    now = Stats(
        ops=(OpRow("add", 5, 0.75, 40), OpRow("sqrt", 1, 1.0, 5), OpRow("exp", 1, 0.1, 7)),
        fallbacks=(Fallback("add", "why", "a.py", 1, 4), Fallback("add", "why", "a.py", 2, 1)),
        counters={"flushes": 7, "kernels": 2},
        times={"flush_seconds": 1.5},
        pool={"hits": 3},
        reasons={"x": 3, "y": 1},
    )
    found = since(now, before)
    assert found.ops == (OpRow("add", 3, 0.25, 30), OpRow("exp", 1, 0.1, 7))
    assert [(row.line, row.calls) for row in found.fallbacks] == [(1, 1), (2, 1)]
    # Counters that were set to zero meanwhile do not go below it.
    assert found.counters == {"flushes": 2, "kernels": 0}
    assert found.times == {"flush_seconds": 0.5}
    assert found.pool == {"hits": 3}
    assert found.reasons == {"x": 2}
