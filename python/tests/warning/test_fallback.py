"""What runs in NumPy itself says so: which operation, why, where; once for each line."""

import warnings

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("real_laziness")


@pytest.fixture
def native(xp_default):
    """The native module, without any fallback counted so far."""
    module = __import__("arrayloom._ext", fromlist=["stats"])
    module.reset_stats()
    return module


def test_a_fallback_is_counted_with_its_line(xp_default, native):
    a = xp_default.arange(20000.0) + 1
    for _ in range(3):
        line = __import__("sys")._getframe().f_lineno + 1
        xp_default.add(a, np.longdouble(1))
    rows = [row for row in native.stats()["fallbacks"] if row["op"] == "add"]
    assert [(row["file"], row["line"]) for row in rows] == [(__file__, line)]
    assert rows[0]["calls"] == 3
    assert rows[0]["reason"]


def test_the_warning_comes_once_per_line(xp_default, native):
    from arrayloom.errors import FallbackWarning

    a = xp_default.arange(20000.0) + 1
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always", FallbackWarning)
        for _ in range(3):
            xp_default.add(a, np.longdouble(1))
    found = [w for w in log if w.category is FallbackWarning]
    assert len(found) == 1
    assert found[0].filename == __file__
    assert "add" in str(found[0].message)


def test_what_is_accelerated_does_not_warn(xp_default, native):
    from arrayloom.errors import FallbackWarning

    a = xp_default.arange(40000.0).reshape(200, 200)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        b = a[1:, ::2] * 2 - a[:-1, ::2]
        b += xp_default.sqrt(b * b) + xp_default.where(b > 3, b, 0)
        a[1:-1] = (a[:-2] + a[2:]) / 2
        total = float(b.sum()) + float(a.mean()) + float(a.max()) + float(a.sum(0)[3])
    assert np.isfinite(total)
    assert native.stats()["fallbacks"] == []


def test_the_warning_comes_by_default(xp_default):
    from arrayloom.errors import FallbackWarning

    a = xp_default.arange(20000.0) + 1
    with warnings.catch_warnings(record=True) as log:
        warnings.resetwarnings()
        xp_default.add(a, np.longdouble(1))
    assert [w.category for w in log] == [FallbackWarning]


def test_programs_whose_warnings_are_errors_go_on(xp_default, native):
    a = xp_default.arange(20000.0) + 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        xp_default.add(a, np.longdouble(1))
    assert len(native.stats()["fallbacks"]) == 1


def test_a_filter_that_names_the_warning_may_make_it_an_error(xp_default):
    from arrayloom.errors import FallbackWarning

    a = xp_default.arange(20000.0) + 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        with pytest.raises(FallbackWarning, match="add"):
            xp_default.add(a, np.longdouble(1))
