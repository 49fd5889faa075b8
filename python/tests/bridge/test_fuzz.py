"""Random conversions in a process of their own, which must not die."""

from pathlib import Path

import pytest
from support import bridge_fuzz
from support.arrays import survives

ROOT = Path(bridge_fuzz.__file__).parent.parent


def run(count, seed):
    code = """
    import sys
    sys.path.insert(0, sys.argv[3])
    from support import bridge_fuzz
    bridge_fuzz.main(int(sys.argv[1]), int(sys.argv[2]))
    """
    made, refused, kinds = survives(code, count, seed, ROOT).splitlines()[-1].split()
    assert int(made) + int(refused) >= count
    # Most arrays can go: a bridge that refuses everything does not pass.
    assert int(made) > count // 2
    return kinds


def test_random_conversions_end_well():
    assert "numpy" in run(4000, 1)


@pytest.mark.slow
@pytest.mark.frameworks("torch", "jax", "tensorflow", "pyclesperanto")
def test_a_hundred_thousand_conversions_end_well():
    assert run(100_000, 2).split(",") == list(bridge_fuzz.KINDS)
