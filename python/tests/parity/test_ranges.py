"""``arange`` against NumPy: recorded ranges have the same bits and lengths."""

import numpy as np
import pytest
from support.compare import differences, observe

CALLS = {
    "integers": lambda m: (m.arange(20_000), m.arange(3, 30_000), m.arange(30_000, -5, -1)),
    "steps": lambda m: (m.arange(0, 90_001, 3), m.arange(-7, 90_000, 4), m.arange(90_000, 0, -7)),
    "floats": lambda m: (m.arange(20_000.0), m.arange(0, 1, 1e-4 / 3), m.arange(0.1, 2e3, 0.1)),
    "backwards": lambda m: (m.arange(1.0, -1.0, -1e-4), m.arange(5, -3e4, -1.5)),
    "dtypes": lambda m: (m.arange(20_000, dtype=int), m.arange(2e4, dtype="d"), m.arange(9_000.5)),
    "whole numbers as reals": lambda m: (
        m.arange(20_000, dtype=float),
        m.arange(7, -60_001, -3, dtype="d"),
        m.arange(2**53, 2**53 + 50_000, dtype=float),
        m.arange(True, 20_000, dtype=float),
    ),
    "other dtypes": lambda m: (m.arange(20_000, dtype="i4"), m.arange(20_000, dtype="f4")),
    "none": lambda m: (
        m.arange(0),
        m.arange(5, 3),
        m.arange(1, 0, 0.5),
        m.arange(20_000, dtype=None),
    ),
    "large": lambda m: (m.arange(2**60, 2**60 + 20_000), m.arange(2.0**53, 2.0**53 + 20_000)),
    "limits": lambda m: (m.arange(-(2**63), 100 - 2**63), m.arange(2**63 - 20_000, 2**63 - 1)),
    "few": lambda m: (m.arange(1), m.arange(2), m.arange(0.5), m.arange(1.5), m.arange(3)),
    "used": lambda m: (m.arange(20_000) * 2 + 1, m.arange(30_000)[::-3], m.arange(2e4).sum()),
    "rows": lambda m: m.arange(60_000).reshape(200, 300)[1:, ::2] * 1.5,
    "two": lambda m: m.arange(20_000) + m.arange(20_000.0, 0, -1),
    "zero step": lambda m: m.arange(0, 10, 0),
    "infinite": lambda m: m.arange(0, float("inf")),
    "nan": lambda m: m.arange(0, float("nan")),
    "no argument": lambda m: m.arange(),
    "keyword": lambda m: (m.arange(start=2, stop=20_000), m.arange(2, stop=20_000, step=2)),
    "numpy scalars": lambda m: (m.arange(np.int32(20_000)), m.arange(np.float32(2e4))),
    "bool": lambda m: m.arange(True),
}


@pytest.mark.parametrize("name", CALLS)
def test_arange(xp_both, name):
    found = differences(observe(CALLS[name], np), observe(CALLS[name], xp_both))
    assert not found, found
