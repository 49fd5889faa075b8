"""Whose filters make operations warn at their own line: the program's, not those of the test runner."""

import logging
import threading
import warnings

import pytest

import arrayloom as np
from arrayloom import _ext

# As the test runner does around each test (and this test runs in such a block itself).
HOST = {"__name__": "_pytest.warnings", "warnings": warnings}


def recorded() -> bool:
    """Whether an operation is recorded now, for later."""
    _ext.flush()
    _ext.reset_stats()
    # Nobody looks at it: a line whose result is wanted each time would not be recorded for long.
    kept = np.ones(100_000) + 1
    return kept.size > 0 and _ext.stats()["flushes"] == 0


pytestmark = pytest.mark.usefixtures("real_laziness")


def test_filters_of_the_test_runner_are_passed_over():
    assert any(entry[0] == "error" for entry in warnings.filters)
    assert recorded()
    warnings.filterwarnings("ignore", message="nothing of this name")
    assert recorded()
    exec("warnings.filterwarnings('error', message='of a mark')", HOST)
    assert recorded()


def test_the_same_filter_set_by_the_program_counts():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not recorded()
        exec("warnings.simplefilter('error')", HOST)
        assert recorded()
    assert recorded()


def test_a_block_that_collects_counts_unless_it_is_the_test_runners():
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        assert not recorded()
    assert recorded()
    block = (
        "with warnings.catch_warnings(record=True):\n warnings.simplefilter('always')\n inside()"
    )
    seen: list[bool] = []
    exec(block, {**HOST, "inside": lambda: seen.append(recorded())})
    assert seen == [True]


def test_blocks_of_threads_that_cross():
    """A thread enters its block while another's holds and leaves it later: nothing sticks."""
    entered, left = threading.Event(), threading.Event()

    def cross():
        with warnings.catch_warnings():
            entered.set()
            assert left.wait(60)

    before = warnings.filters
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = threading.Thread(target=cross)
        other.start()
        assert entered.wait(60)
    left.set()
    other.join()
    # The other thread has put back what it found, the filter of the first: so says warnings itself.
    assert not recorded()
    warnings.filters = before
    warnings.simplefilter("default", BytesWarning)
    assert recorded()


def test_who_is_put_in_place_of_the_hook_hears_what_is_about_his_block():
    heard: list[str] = []
    before = warnings.showwarning
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        early = np.zeros(100_000) / 0
        warnings.showwarning = lambda message, *rest: heard.append(str(message))
        late = np.log(np.full(100_000, -1.0))
        warnings.showwarning = before
        assert heard == ["invalid value encountered in log"]
        assert early.size == late.size


def test_warnings_can_go_to_a_log(caplog):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        try:
            kept = np.sqrt(np.full(100_000, -1.0))
        finally:
            logging.captureWarnings(False)
        assert "invalid value encountered in sqrt" in caplog.text
        assert kept.size == 100_000


def test_filters_that_are_assigned_count():
    before = warnings.filters
    warnings.filters = [("error", None, RuntimeWarning, None, 0), *before]
    try:
        assert not recorded()
    finally:
        warnings.filters = before
    assert recorded()


def test_a_block_that_raises_at_its_start_is_forgotten():
    block = warnings.catch_warnings(record=True)
    with block:
        with pytest.raises(RuntimeError, match="Cannot enter"):
            block.__enter__()
        warnings.simplefilter("always")
        assert not recorded()
    assert recorded()
